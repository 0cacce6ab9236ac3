"""How often a mechanism audits another target than the one with the most active reports (`def:error`).

A *challenger* is any target other than the leader. Arrays have the challengers, or the targets, on their last
axis and any number of runs and rounds on the axes before it; the result has those leading axes, so it is 0-d
for one round.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from deniable.arrays import FloatArray
from deniable.calibration import kappa, toeplitz_coefficients
from deniable.errors import DeniableError, check_delta, check_positive, check_probability, check_whole
from deniable.normal import log_ndtr, ndtr, ndtri

# Counter auditing


def pairwise_error(gap: ArrayLike, sigma: float) -> FloatArray:
    """Phi(-gap / (sqrt(2) sigma)): how often the fresh noise lifts one challenger over the leader, exactly
    (`eq:exact`).

    `gap` is the effective gap (`def:eff-gap`): the true gap plus the leader's past noise minus the
    challenger's.

    >>> float(pairwise_error(0.0, sigma=7.0))
    0.5
    """
    gaps = np.asarray(gap, dtype=np.float64)
    return ndtr(-gaps / (math.sqrt(2) * check_positive("sigma", sigma)))


def conditional_error_bound(effective_gaps: ArrayLike, sigma: float) -> FloatArray:
    """(…, C-1) effective gaps -> (…): the error given all noisy counts so far is at most this (`thm:utility`,
    `eq:cond-utility`).

    The sum over challengers of `pairwise_error`, at most 1. The paper writes sqrt(2) kappa_delta gap / M_T
    for gap / (sqrt(2) sigma), which is the same with sigma = M_T / (2 kappa_delta). For C = 2 it is the error
    itself (`rem:tight`).

    >>> round(float(conditional_error_bound([20.0, 30.0], sigma=7.19)), 4)
    0.0262
    """
    return _at_most_one(pairwise_error(effective_gaps, sigma))


def unconditional_error_bound(gaps: ArrayLike, delta: float, sensitivity: float) -> FloatArray:
    """(…, C-1) true gaps -> (…): a bound that does not know the past noise (`app:rem:sufficient`), at most 1.

    The remark treats the accumulated past noise as a Gaussian with no condition on it. That is exact for a
    run of fixed length, such as the static sweep of Experiment 1. It is not exact in a running programme,
    where a run goes on only while its noisy count has lost, which conditions the past noise; there, read it
    as a guide.

    >>> round(float(unconditional_error_bound([60.0], delta=0.1, sensitivity=1.807)), 4)
    0.2653
    """
    true_gaps = np.asarray(gaps, dtype=np.float64)
    if not np.all(true_gaps >= 0):
        raise DeniableError("gaps must not be negative: they are the leader's count minus each challenger's")
    k, M = kappa(check_delta(delta)), check_positive("sensitivity", sensitivity)
    fresh = ndtr(-k * true_gaps / (math.sqrt(2) * M))
    past = np.exp(-((k * true_gaps) ** 2) / (4 * M**4))  # ME_T = M_T**2
    return _at_most_one(fresh + past)


def operational_error_bound(gap: float, n_targets: int, sigma: float) -> float:
    """(C - 1) Phi(-gap / (sqrt(2) sigma)), at most 1: the leader is ahead of everyone by `gap`
    (`app:sec:operationalization`).

    `gap` is an effective gap. With run lengths of L it may be the true gap if sigma is that of the whole
    noise, sqrt(sigma**2 + past_noise_variance(L, sigma)), under the same condition as
    `unconditional_error_bound`.

    >>> round(operational_error_bound(30.0, n_targets=50, sigma=7.19), 4)
    0.0778
    """
    challengers = check_whole("n_targets", n_targets, least=2) - 1
    return min(1.0, challengers * float(pairwise_error(gap, sigma)))


def operational_gap_needed(error: float, n_targets: int, sigma: float) -> float:
    """The smallest gap, in reports, with `operational_error_bound` at most `error`; the inverse of that
    function.

    >>> round(operational_gap_needed(0.05, n_targets=50, sigma=7.19), 2)
    31.36
    """
    challengers = check_whole("n_targets", n_targets, least=2) - 1
    quantile = float(ndtri(_check_error(error) / challengers))
    return max(0.0, -math.sqrt(2) * check_positive("sigma", sigma) * quantile)


def static_error(gap: float, n_targets: int, noise_std: float) -> float:
    """P[the leader's noisy count is not the largest], exactly, where it is ahead of everyone else by `gap` reports.

    Every count carries independent Gaussian noise of standard deviation `noise_std`, in reports, as in the static
    sweep of Experiment 1 (`app:subsec:experimenta`), where it is that of the whole noise of a run:
    sqrt(sigma**2 + past_noise_variance(L, sigma)). With g = gap / noise_std this is
    1 - E[Phi(z + g)**(C-1)] over a standard normal z: `operational_error_bound` without its union bound.

    >>> round(static_error(32, n_targets=50, noise_std=12.99), 4), static_error(0, n_targets=50, noise_std=12.99)
    (0.4173, 0.98)
    """
    challengers = check_whole("n_targets", n_targets, least=2) - 1
    _check_gap(gap)
    if gap == 0:
        check_positive("noise_std", noise_std)
        return challengers / n_targets
    g = min(gap / check_positive("noise_std", noise_std), 60.0)  # from there on it is below the smallest float
    # The trapezoid rule is as good as exact for a smooth integrand that vanishes at both ends; this one peaks between
    # -g / 2 and 0.
    z = np.arange(-g / 2 - 12, 12, 0.01)
    missed = -np.expm1(challengers * log_ndtr(z + g))  # 1 - Phi**(C-1), without cancellation where it is small
    return float(0.01 * np.sum(np.exp(-(z**2) / 2) * missed) / math.sqrt(2 * math.pi))


def past_noise_variance(run_length: int, sigma: float) -> float:
    """sigma**2 (f_1**2 + … + f_{L-1}**2), the variance of G, the past noise of a run of L rounds
    (`rem:eff-gap`, `eq:Gct`).

    >>> past_noise_variance(1, sigma=7.0), past_noise_variance(2, sigma=7.0)
    (0.0, 12.25)
    """
    past = toeplitz_coefficients(run_length)[1:]
    return check_positive("sigma", sigma) ** 2 * math.fsum(past**2)


# Randomized response


def rr_error(p_rand: float, n_targets: int) -> float:
    """(C - 1)/C p_rand: the error where one target leads, and at most that where several do
    (`app:prop:RR_error`).
    """
    C = check_whole("n_targets", n_targets, least=1)
    return (C - 1) / C * check_probability("p_rand", p_rand)


def rr_error_floor(delta: float, n_targets: int) -> float:
    """(C - 1)/C - delta, at least 0: no (0, delta)-DP randomized response errs less where one target leads
    (`thm:RR_tradeoff`).
    """
    C = check_whole("n_targets", n_targets, least=2)
    return max(0.0, (C - 1) / C - check_probability("delta", delta))


def rr_error_interval(delta: float, n_targets: int) -> tuple[float, float]:
    """Where the error of the best (0, delta)-DP randomized response lies, at every horizon
    (`rem:RR_tightness`).

    >>> [round(end, 4) for end in rr_error_interval(0.1, n_targets=50)]
    [0.88, 0.978]
    """
    floor = rr_error_floor(delta, n_targets)
    return floor, (n_targets - 1) / (n_targets + delta)


# Greedy and uniform


def greedy_error() -> float:
    """0: greedy always audits a target with the most active reports (`app:prop:greedy_utility`)."""
    return 0.0


def uniform_error(n_targets: int, n_leaders: int = 1) -> float:
    """1 - |leaders| / C (`app:prop:random_utility`).

    >>> uniform_error(4)
    0.75
    """
    C = check_whole("n_targets", n_targets, least=1)
    if check_whole("n_leaders", n_leaders, least=1) > C:
        raise DeniableError(f"n_leaders must be at most n_targets = {C}, got {n_leaders}")
    return 1 - n_leaders / C


def uniform_expected_wait(n_targets: int) -> float:
    """C: the mean number of rounds until a given target is audited, the audited round included
    (`app:prop:random_utility`).
    """
    return float(check_whole("n_targets", n_targets, least=1))


# Race


def race_error(counts: ArrayLike, rho: float, weights: ArrayLike | None = None) -> FloatArray:
    """(…, C) active counts -> (…): the exact error of race, 1 - (leaders' share of the weight w rho**n).

    `weights` are public and positive, (C,) or the shape of the counts; 1 by default.

    >>> round(float(race_error([3, 1, 0], rho=2.0)), 6)  # 3 / 11
    0.272727
    """
    n = np.asarray(counts, dtype=np.float64)
    w = np.asarray(1.0 if weights is None else weights, dtype=np.float64)
    if not (np.all(w > 0) and np.all(np.isfinite(w))):
        raise DeniableError("weights must be positive numbers")
    behind = n.max(axis=-1, keepdims=True) - n
    log_share = np.log(w) - behind * math.log(_check_rho(rho))
    share = np.exp(log_share - log_share.max(axis=-1, keepdims=True))
    return np.asarray((share * (behind > 0)).sum(axis=-1) / share.sum(axis=-1), dtype=np.float64)


def race_static_error(gap: float, n_targets: int, rho: float) -> float:
    """(C - 1) / (C - 1 + rho**gap): the error of race where the leader is ahead of everyone else by `gap`
    reports.

    >>> round(race_static_error(16, n_targets=5, rho=1.313466), 4)
    0.0485
    """
    challengers = check_whole("n_targets", n_targets, least=2) - 1
    _check_gap(gap)
    # The challengers' weight relative to the leader's; rho**gap itself could overflow.
    share = challengers * math.exp(-gap * math.log(_check_rho(rho)))
    return share / (share + 1)


def race_gap_needed(error: float, n_targets: int, rho: float) -> float:
    """ln((C - 1)(1 - q) / q) / ln rho, at least 0: the gap with `race_static_error` at most q; its inverse.

    >>> round(race_gap_needed(0.05, n_targets=50, rho=1.313466), 2)
    25.07
    """
    challengers = check_whole("n_targets", n_targets, least=2) - 1
    q = _check_error(error)
    return max(0.0, math.log(challengers * (1 - q) / q) / math.log(_check_rho(rho)))


def _at_most_one(terms: FloatArray) -> FloatArray:
    """The union bound over the last axis."""
    return np.asarray(np.minimum(1.0, terms.sum(axis=-1)), dtype=np.float64)


def _check_gap(gap: float) -> None:
    if not 0 <= gap < math.inf:
        raise DeniableError("gap must be a finite number of at least 0")


def _check_error(error: float) -> float:
    if not 0 < error < 1:
        raise DeniableError(f"error must be in (0, 1), got {error}")
    return float(error)


def _check_rho(rho: float) -> float:
    if not 1 < rho < math.inf:
        raise DeniableError(f"rho must be a finite number above 1, got {rho}")
    return float(rho)
