"""What each mechanism's parameter costs in delta, and which parameter a delta needs.

delta is the largest total variation distance between the transcripts of two adjacent report streams (`def:DP`
with epsilon = 0, `app:prop:tv-char`); the adversary's advantage is at most half of it (`thm:advantage`).

Rounding is always to the safe side. A function that states a delta (`*_delta`), an advantage or a likelihood
cap returns an upper bound of the exact value, a few units in the last place above it at most; a function that
calibrates to a delta returns a parameter whose stated delta is not above the one asked for, neither the float
nor the decimal that was written: `race_delta(race_rho(0.1))` is at most 1/10, where the float 0.1 is more.
"""

import math
import sys
from collections.abc import Callable
from decimal import MAX_EMAX, ROUND_CEILING, Context, Decimal
from fractions import Fraction

import numpy as np

from deniable.arrays import FloatArray
from deniable.errors import DeniableError, check_delta, check_epsilon, check_positive, check_probability, check_whole
from deniable.normal import erfinv
from deniable.rounding import as_written, float_above, float_below

_ULP = 2.0**-52
# Relative room for the rounding of the few operations in a formula, and of the argument it is evaluated at.
_STATED = 64 * _ULP
_ARGUMENT = 4 * _ULP
_UPWARDS = Context(prec=60, rounding=ROUND_CEILING, Emax=MAX_EMAX, traps=[])


# Counter auditing


def toeplitz_coefficients(length: int) -> FloatArray:
    """(length,): f_k = binom(2k, k) / 4**k, k = 0, 1, …, of the Toeplitz factorization.

    The sequence of `subsec:tca-factorization`, first column of both matrices of `eq:def_toeplitz_matrices`.

    >>> toeplitz_coefficients(4)
    array([1.    , 0.5   , 0.375 , 0.3125])
    """
    k = np.arange(1, check_whole("length", length, least=1), dtype=np.float64)
    # (2k - 1) / 2k rounds once where 1 - 1 / 2k would round twice.
    return np.concatenate(([1.0], np.cumprod((2 * k - 1) / (2 * k))))


def sensitivity(horizon: int) -> float:
    """M_T = sqrt(f_0**2 + … + f_{T-1}**2): how far one report can move the encoded run.

    `eq:definition_mt`, `lem:tca-sensitivity`.

    >>> round(sensitivity(1000), 6)
    1.806932
    """
    squared = math.fsum(toeplitz_coefficients(check_whole("horizon", horizon, least=1)) ** 2)
    # f_k carries at most 2k roundings and f_k**2 <= 1 / (pi k), so the sum is off by less than 2 T half-ulps.
    return math.sqrt(squared) * (1 + (horizon + 8) * _ULP)


def kappa(delta: float) -> float:
    """Phi^-1((1 + delta) / 2) (`prop:base-counter-privacy`), rounded to nearest, not to the safe side.

    >>> round(kappa(0.1), 6)
    0.125661
    """
    return math.sqrt(2) * erfinv(check_delta(delta))  # Phi(x) = (1 + erf(x / sqrt 2)) / 2


def gaussian_sigma(delta: float, sensitivity: float) -> float:
    """M_T / (2 kappa), in reports: the sigma that gives a Gaussian counter this delta (`eq:def_variance`).

    >>> round(gaussian_sigma(0.1, sensitivity(1000)), 4)
    7.1897
    """
    delta = _asked(delta)
    sigma = check_positive("sensitivity", sensitivity) / (2 * kappa(delta))
    sigma = _stepped(sigma, math.inf, lambda s: gaussian_delta(s, sensitivity), delta)
    return sigma * (1 + _ARGUMENT)  # so that it also holds for who goes by the rounded ratio mu = M_T / sigma


def gaussian_delta(sigma: float, sensitivity: float) -> float:
    """2 Phi(M_T / (2 sigma)) - 1, the inverse of `gaussian_sigma` (`app:lem:tv-shifted`).

    >>> round(gaussian_delta(7.1897, sensitivity(1000)), 6)
    0.1
    """
    if not 0 <= sensitivity < math.inf:
        raise DeniableError(f"sensitivity must be a finite number of at least 0, got {sensitivity}")
    x = (1 + _ARGUMENT) * sensitivity / (2 * math.sqrt(2) * check_positive("sigma", sigma))
    if sensitivity > 0:
        x = math.nextafter(x, math.inf)  # it may have underflowed
    return _stated(math.erf(x), math.erfc(x))


# Randomized response


def rr_delta(p_rand: float, n_targets: int, horizon: int | None = None) -> float:
    """The smaller of 1 - p**T and C (1 - p) / p (`app:prop:RR_horizon_free`), at most 1.

    Without a horizon only the second term counts: it holds however long the programme runs.

    >>> [round(rr_delta(0.999, n_targets=50, horizon=T), 6) for T in (10, 1000, None)]
    [0.009955, 0.05005, 0.05005]
    """
    p = check_probability("p_rand", p_rand)
    C = check_whole("n_targets", n_targets, least=1)
    if p == 0:
        return 1.0
    horizon_free = min(1.0, (1 + _STATED) * C * (1 - p) / p)
    if horizon is None:
        return horizon_free
    return min(horizon_free, _rr_delta_horizon(p, check_whole("horizon", horizon, least=1)))


def rr_p_rand_horizon(delta: float, horizon: int) -> float:
    """(1 - delta)**(1/T), the least that `app:prop:RR_privacy` certifies; the paper's experiments use it.

    >>> round(rr_p_rand_horizon(0.1, horizon=1000), 6)
    0.999895
    """
    T, delta = check_whole("horizon", horizon, least=1), _asked(delta)
    p = math.exp(math.log1p(-delta) / T)
    return _stepped(p, 1, lambda p: _rr_delta_horizon(p, T), delta)


def rr_p_rand_horizon_free(delta: float, n_targets: int) -> float:
    """C / (C + delta), enough at every horizon (`rem:RR_tightness`, `app:prop:RR_horizon_free`).

    >>> round(rr_p_rand_horizon_free(0.1, n_targets=50), 6)
    0.998004
    """
    C, delta = check_whole("n_targets", n_targets, least=1), _asked(delta)
    return _stepped(C / (C + delta), 1, lambda p: rr_delta(p, C), delta)


def rr_p_rand(delta: float, n_targets: int, horizon: int | None = None) -> float:
    """The smaller of the two calibrations; without a horizon, the horizon-free one."""
    horizon_free = rr_p_rand_horizon_free(delta, n_targets)
    return horizon_free if horizon is None else min(horizon_free, rr_p_rand_horizon(delta, horizon))


def rr_necessary_p_rand(delta: float, n_targets: int) -> float:
    """1 - delta C / (C - 1), at least 0: with a smaller p_rand the first audit alone leaks delta
    (`thm:RR_tradeoff`).

    >>> round(rr_necessary_p_rand(0.1, n_targets=50), 6)
    0.897959
    """
    C = check_whole("n_targets", n_targets, least=2)
    return max(0.0, 1 - check_probability("delta", delta) * C / (C - 1))


def rr_likelihood_cap(p_rand: float, n_targets: int) -> float:
    """1 + C (1 - p) / p: no transcript is more than this many times as likely with a report as without it.

    Not in the paper. Filing a report about c* never raises the chance that another target is audited. In a
    round it raises the chance of c* from p/C at least to (1 - p) + p/C at most, so by this factor at most,
    and once c* is audited the two worlds coincide. So P[transcript | filed] <= cap * P[transcript | not
    filed], at every horizon. The other direction is not capped: a transcript can exonerate. This holds
    however ties are broken; where they are broken uniformly, as in `app:alg:randomized_response`, a single
    report cannot quite reach the cap.

    >>> round(rr_likelihood_cap(rr_p_rand_horizon_free(0.1, n_targets=50), n_targets=50), 9)
    1.1
    """
    p = check_probability("p_rand", p_rand)
    C = check_whole("n_targets", n_targets, least=1)
    return float_above(1 + C * (1 / Fraction(p) - 1)) if p > 0 else math.inf


# Greedy and uniform


def greedy_least_delta(n_targets: int) -> float:
    """1 - 1/C, a lower bound: the first audit of greedy already leaks it (`app:prop:greedy_no_privacy`).

    >>> greedy_least_delta(4)
    0.75
    """
    return 1 - 1 / check_whole("n_targets", n_targets, least=2)


def uniform_delta() -> float:
    """0: uniform auditing ignores the reports (`app:prop:uniform_privacy`)."""
    return 0.0


# Race


def race_delta(rho: float) -> float:
    """rho**(-1/(rho-1)) - rho**(-rho/(rho-1)), the total variation distance of Exp(1) and Exp(rho).

    0 at rho = 1, and 1 at an infinite rho.

    >>> round(race_delta(2), 6), race_delta(1)
    (0.25, 0.0)
    """
    if not rho >= 1:
        raise DeniableError(f"rho must be at least 1, got {rho}")
    return _stated(*_race_distance((1 + _ARGUMENT) * math.log(rho)))


def race_rho(delta: float) -> float:
    """The largest rho with `race_delta(rho) <= delta`, up to rounding.

    ln rho is good to 1e-12 relative, or to the spacing 2**-52 of the numbers just above 1 if that is coarser.

    >>> round(race_rho(0.1), 6)
    1.313467
    """
    # Below this, the numbers just above 1 are too far apart.
    if check_delta(delta) < 1e-15:
        raise DeniableError(f"delta must be at least 1e-15 for race, got {delta}")
    delta = _asked(delta)
    return _stepped(1 + math.expm1(_race_epsilon(delta)), 1, race_delta, delta)


# Persons


def group_privacy(epsilon: float, delta: float, reports: int) -> tuple[float, float]:
    """(epsilon, delta) for k reports of one person, from those for one report
    (`app:lem:group_privacy_reports`).

    k epsilon and delta (1 + e**epsilon + … + e**((k-1) epsilon)), the second at most 1. With epsilon = 0, as
    everywhere in the paper, that is (0, k delta) (`rem:per-report-privacy`, `rem:per-report`).

    >>> group_privacy(0, 0.125, reports=3)
    (0.0, 0.375)
    """
    check_epsilon(epsilon)
    delta = check_probability("delta", delta)
    k = check_whole("reports", reports, least=1)
    if epsilon == 0 or k == 1 or delta == 0:
        return product_above(k, epsilon), min(1.0, product_above(k, delta))
    # log-domain, because e**(k epsilon) overflows long before the bound is worth stating.
    log_sum = (k - 1) * epsilon + math.log(math.expm1(-k * epsilon) / math.expm1(-epsilon))
    log_delta = min(0.0, log_sum + math.log(delta))
    above = math.nextafter(math.exp(log_delta) * (1 + 64 * _STATED), 1)
    return product_above(k, epsilon), min(1.0, above)


def delta_for_person(advantage: float, max_reports: int) -> float:
    """2 alpha / k: the delta that keeps a person of at most k reports at advantage alpha, for any mechanism.

    `rem:per-whistleblower`, `app:cor:per_whistleblower`.

    >>> delta_for_person(0.15, max_reports=4)
    0.075
    """
    k = check_whole("max_reports", max_reports, least=1)
    return float_below(2 * Fraction(_asked_advantage(advantage)) / k)


def gaussian_delta_for_person(advantage: float, max_reports: int) -> float:
    """The delta with 2 Phi(k kappa_delta) - 1 = 2 alpha, for counter auditing: larger than
    `delta_for_person`.

    k reports of one person move a Gaussian counter by at most k M_T, wherever they fall.

    >>> round(gaussian_delta_for_person(0.25, max_reports=5), 4)  # 2 alpha / k = 0.1
    0.1073
    """
    k = check_whole("max_reports", max_reports, least=1)
    total = 2 * _asked_advantage(advantage)
    x = erfinv(total) / k  # kappa_delta / sqrt 2
    x = _stepped(x, 0, lambda x: gaussian_delta(1, k * 2 * math.sqrt(2) * x), total)
    return (1 - _STATED) * math.erf(x)


def race_delta_for_person(advantage: float, max_reports: int) -> float:
    """The delta with delta(rho**k) = 2 alpha, for race: larger than `delta_for_person`.

    The worst case of k reports is all of them on one target in one run.

    >>> round(race_delta_for_person(0.25, max_reports=5), 4)
    0.1087
    """
    k = check_whole("max_reports", max_reports, least=1)
    total = 2 * _asked_advantage(advantage)
    rho = 1 + math.expm1(_race_epsilon(total) / k)
    rho = _stepped(rho, 1, lambda rho: race_delta(power_above(rho, k)), total)
    if rho == 1:
        raise DeniableError(f"advantage must be larger for {k} reports of one person, got {advantage}")
    return (1 - _STATED) * _race_distance(math.log(rho))[0]


def prior_advantage(delta: float, prior: float) -> float:
    """min(pi, 1 - pi) delta, the most that watching adds to the success of a guess made with prior pi
    (`thm:advantage`), rounded up.

    >>> prior_advantage(0.1, prior=0.5)
    0.05
    """
    pi = Fraction(check_probability("prior", prior))
    return float_above(min(pi, 1 - pi) * Fraction(check_probability("delta", delta)))


def product_above(times: int, value: float) -> float:
    """The product, rounded up.

    >>> product_above(2, 0.1)
    0.2
    """
    return float_above(times * Fraction(value))


def power_above(base: float, exponent: int) -> float:
    """base**exponent for base >= 1, rounded up; inf where it overflows.

    >>> power_above(1.5, 2), power_above(10.0, 1000)
    (2.25, inf)
    """
    if math.isinf(base):
        return base
    power, square = Decimal(1), _UPWARDS.create_decimal(base)
    while exponent:
        if exponent & 1:
            power = _UPWARDS.multiply(power, square)
        square = _UPWARDS.multiply(square, square)
        exponent >>= 1
    return float_above(Fraction(power)) if power <= Decimal(sys.float_info.max) else math.inf


def _asked(delta: float) -> float:
    return as_written(check_delta(delta))


def _asked_advantage(advantage: float) -> float:
    if not 0 < advantage < 0.5:
        raise DeniableError(f"advantage must be above 0 and below 0.5, got {advantage}; 5 points in 100 is 0.05")
    return as_written(advantage)


def _stated(delta: float, rest: float) -> float:
    """An upper bound of a delta that was computed as `delta`, and its complement 1 - delta as `rest`.

    Close to 1 the complement is the accurate one.
    """
    if delta < 0.5:
        return math.nextafter(delta * (1 + _STATED), 1) if delta else 0.0
    rest *= 1 - _STATED
    above = 1 - rest
    # 1 - above is exact here, so this rounds towards 1 and not just to nearest.
    return above if 1 - above <= rest else math.nextafter(above, 1)


def _stepped(parameter: float, safe: float, stated: Callable[[float], float], delta: float) -> float:
    """The parameter, moved towards its safe end until the delta stated about it is not above the one asked
    for.

    A hundred steps of one unit in the last place, or so: the parameter comes in right up to rounding.
    """
    while stated(parameter) > delta:
        parameter = math.nextafter(parameter, safe)
    return parameter


def _rr_delta_horizon(p: float, horizon: int) -> float:
    """1 - p**T: nothing leaks if every round explores (`app:prop:RR_privacy`)."""
    log_all_explore = (1 + _ARGUMENT) * horizon * math.log(p)
    return _stated(-math.expm1(log_all_explore), math.exp(log_all_explore))


def _race_distance(epsilon: float) -> tuple[float, float]:
    """delta(e**epsilon) and its complement, each to a few units in the last place."""
    if epsilon == 0:
        return 0.0, 1.0
    if epsilon == math.inf:
        return 1.0, 0.0
    grown = -math.expm1(-epsilon)  # 1 - 1/rho
    cut = epsilon * math.exp(-epsilon) / grown  # ln(rho) / (rho - 1), where the two densities cross
    return math.exp(-cut) * grown, math.exp(-cut - epsilon) - math.expm1(-cut)


def _race_epsilon(delta: float) -> float:
    """The epsilon = ln rho with delta(rho) = delta, to nearest."""

    def is_below(epsilon: float) -> bool:
        distance, rest = _race_distance(epsilon)
        return distance < delta if delta < 0.5 else rest > 1 - delta

    # epsilon / 4 < delta(e**epsilon) < epsilon where delta < 1/2; above, 1 - delta decays like epsilon
    # e**-epsilon.
    low, high = (delta, 4 * delta) if delta < 0.5 else (1.0, 2 - 2 * math.log1p(-delta))
    while low < (middle := (low + high) / 2) < high:  # delta(rho) grows with rho
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low
