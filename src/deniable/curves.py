"""The curves that a guarantee can have: the highest TPR of any test of the transcript at each FPR.

TPR is how often a test says "filed" when the report was, FPR how often it says so when it was not. `eq:prior-free` is
the plainest curve, TPR <= FPR + delta.

Every figure is an upper bound in floating point too: exact fractions where the formula is rational, 50 digits and a
rounding up at the end where it has exponentials, and for the normal distribution more room than SciPy's errors take
(the tests compare it with 80 digits; that SciPy is as precise everywhere is not proven).
"""

import math
import sys
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction

import numpy as np

from deniable.arrays import FloatArray
from deniable.calibration import gaussian_delta, group_privacy, power_above, product_above, race_delta
from deniable.errors import DeniableError, check_probability
from deniable.normal import log_ndtr, ndtr, ndtri
from deniable.rounding import float_above

# Relative room for the errors of an argument, of a function of the normal distribution, and of a few roundings.
_ARGUMENT, _NORMAL, _FEW = 1e-14, 1e-12, 2.0**-47
# More than the discrete noise of any Gaussian counter, under all reports of one person, differs from a rounded Gaussian
# (docs/explanation/exact-arithmetic.md).
_DISCRETE = 1e-17
# Far more than a probability that was computed to so many digits can be wrong by.
_DIGITS, _WRONG = 50, Decimal("1e-40")


@dataclass(frozen=True)
class TotalVariation:
    """TPR <= min(1, FPR + delta, likelihood_cap * FPR): (0, delta)-DP (`def:DP`, `app:prop:tv-char`), and a
    cap if there is one.

    If the cap binds, the largest TPR - FPR on the curve can be below delta.
    """

    delta: float
    likelihood_cap: float = math.inf

    def __post_init__(self) -> None:
        check_probability("delta", self.delta)
        if not self.likelihood_cap >= 1:
            raise DeniableError(f"likelihood_cap must be at least 1, got {self.likelihood_cap}")

    def tradeoff(self, fpr: FloatArray) -> FloatArray:
        tpr = np.minimum(1.0, _sum_above(fpr, self.delta))
        if math.isinf(self.likelihood_cap):
            return tpr
        return np.minimum(tpr, _just_above(self.likelihood_cap * fpr))

    def delta_at(self, epsilon: float) -> tuple[float, float]:
        """Accusing, exonerating; see `Guarantee.delta_at`. At the corners of the curve, which is made of lines."""
        if math.isinf(self.likelihood_cap):
            return self.delta, self.delta
        delta, cap = Fraction(self.delta), Fraction(self.likelihood_cap)
        # The TPR is 1 from this FPR on; before it, the curve rises at least as fast as the FPR.
        exonerating = float_above(min(delta, 1 - 1 / cap))
        steeper = cap - _exp_below(epsilon)
        if cap == 1 or steeper <= 0:
            return 0.0, exonerating
        # Up to this FPR the cap binds, and the curve rises faster than exp(epsilon) * FPR.
        corner = min(delta / (cap - 1), 1 / cap)
        return float_above(steeper * corner), exonerating

    def for_reports(self, reports: int) -> "TotalVariation":
        _, delta = group_privacy(0, self.delta, reports)  # `app:lem:group_privacy_reports`
        return TotalVariation(delta, power_above(self.likelihood_cap, reports))


@dataclass(frozen=True)
class Gaussian:
    """TPR <= Phi(Phi^-1(FPR + h) + mu) + h, the curve of a Gaussian counter with mu = M_T / sigma = 2 kappa_delta
    (`app:lem:tv-shifted`).

    h, at most _DISCRETE, is there because the noise is discrete; in `delta` the room in mu covers it. What cannot
    happen without the report cannot happen with it either, so a TPR is 0 where the FPR is.
    """

    mu: float

    def __post_init__(self) -> None:
        if not 0 <= self.mu < math.inf:
            raise DeniableError(f"mu must be a finite number of at least 0, got {self.mu}")

    @property
    def delta(self) -> float:
        """2 Phi(mu / 2) - 1, rounded up."""
        return gaussian_delta(1, self.mu)

    @property
    def likelihood_cap(self) -> float:
        return math.inf

    def tradeoff(self, fpr: FloatArray) -> FloatArray:
        x = ndtri(np.minimum(1.0, _sum_above(fpr, _DISCRETE)))
        tpr = ndtr(x + self.mu + _ARGUMENT * (1 + np.abs(x) + self.mu)) * (1 + _NORMAL) + _DISCRETE
        return np.where(fpr > 0, np.minimum(np.minimum(1.0, _just_above(tpr)), _sum_above(fpr, self.delta)), 0.0)

    def delta_at(self, epsilon: float) -> tuple[float, float]:
        """Accusing, exonerating; see `Guarantee.delta_at`. The same (Balle and Wang 2018, theorem 8).

        The largest TPR - exp(epsilon) FPR, at FPR + h = Phi(-mu / 2 - epsilon / mu), or where that is below h, at 0.
        """
        if self.mu == 0:
            return 0.0, 0.0
        middle = epsilon / self.mu
        if float(ndtr(-self.mu / 2 - middle)) < (1 - 1e-9) * _DISCRETE:
            least = float(self.tradeoff(np.array(sys.float_info.min)))
            return least, least
        room = _ARGUMENT * (1 + self.mu + middle)
        above = float(ndtr(self.mu / 2 - middle + room)) * (1 + _NORMAL)
        logarithm = float(log_ndtr(-self.mu / 2 - middle - room))
        below = math.exp(epsilon + logarithm - _ARGUMENT * (1 + epsilon - logarithm))
        discrete = _DISCRETE * (1 + math.exp(epsilon)) * (1 + _NORMAL)
        delta = min(self.delta, math.nextafter(math.nextafter(above - below, math.inf) + discrete, math.inf))
        return delta, delta

    def for_reports(self, reports: int) -> "Gaussian":
        return Gaussian(product_above(reports, self.mu))


@dataclass(frozen=True)
class Exponential:
    """TPR <= 1 - (1 - FPR)**rho, the curve of race; no transcript is more than rho times as likely with a
    report.

    An infinite rho promises nothing.
    """

    rho: float

    def __post_init__(self) -> None:
        if not self.rho >= 1:
            raise DeniableError(f"rho must be at least 1, got {self.rho}")

    @property
    def delta(self) -> float:
        """The total variation distance of Exp(1) and Exp(rho), rounded up."""
        return race_delta(self.rho)

    @property
    def likelihood_cap(self) -> float:
        return self.rho

    def tradeoff(self, fpr: FloatArray) -> FloatArray:
        if math.isinf(self.rho):
            return np.ones_like(fpr)
        with np.errstate(divide="ignore"):  # log1p(-1) = -inf gives a TPR of 1
            tpr = -np.expm1((1 + _FEW) * self.rho * np.log1p(-fpr))
        return np.minimum(1.0, _just_above((1 + _FEW) * tpr))

    def delta_at(self, epsilon: float) -> tuple[float, float]:
        """Accusing, exonerating; see `Guarantee.delta_at`. Where the derivative by y = 1 - FPR is 0."""
        if self.rho == 1 or math.isinf(self.rho):
            return (0.0, 0.0) if self.rho == 1 else (1.0, 1.0)
        rho, given = Decimal(self.rho), Decimal(epsilon)
        exact = _to_digits(_DIGITS + rho.adjusted())  # rates are multiplied by up to rho
        power, less = exact.ln(rho), exact.subtract(rho, 1)
        # The largest y - exp(epsilon) * y**rho, at y = (exp(epsilon) * rho)**(-1/(rho-1)).
        y = exact.exp(exact.minus(exact.divide(exact.add(given, power), less)))
        exonerating = _above(exact.multiply(y, exact.divide(less, rho)))
        ahead = exact.subtract(power, given)
        if ahead < -_WRONG:
            return 0.0, exonerating
        # The largest 1 - y**rho - exp(epsilon) * (1 - y), at y = (exp(epsilon) / rho)**(1/(rho-1)).
        exponent = exact.divide(exact.minus(ahead), less)
        missed = exact.exp(exact.multiply(rho, exponent))
        alarms = exact.multiply(exact.exp(given), exact.subtract(1, exact.exp(exponent)))
        return _above(exact.subtract(exact.subtract(1, missed), alarms)), exonerating

    def for_reports(self, reports: int) -> "Exponential":
        return Exponential(power_above(self.rho, reports))


Curve = TotalVariation | Gaussian | Exponential


def _sum_above(one: FloatArray, other: float) -> FloatArray:
    """The sum, rounded up: one step up where the exact error of the rounded sum (Knuth's TwoSum) is positive."""
    total = one + other
    back = total - one
    lost = (one - (total - back)) + (other - back)
    return np.where(lost > 0, np.nextafter(total, np.inf), total)


def _just_above(bound: FloatArray) -> FloatArray:
    """The next float, for a product that was rounded to nearest; 0 stays, since rates of 0 give it exactly."""
    return np.where(bound > 0, np.nextafter(bound, np.inf), bound)


def _to_digits(digits: int) -> Context:
    return Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


def _above(computed: Decimal) -> float:
    return float_above(Fraction(_to_digits(_DIGITS).add(computed, _WRONG)))


def _exp_below(epsilon: float) -> Fraction:
    """exp(epsilon) or a little less; of a large epsilon, something above every float."""
    return Fraction(_to_digits(_DIGITS).exp(Decimal(min(epsilon, 710.0)))) * (1 - Fraction(_WRONG))
