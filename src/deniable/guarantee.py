"""What a mechanism promises, and what that means for the person who files a report.

A *curve* bounds every test an adversary can make on the transcript: the highest true-positive rate (TPR: how
often the test says "filed" when the report was) at each false-positive rate (FPR: how often it says so when
it was not). `eq:prior-free` is the plainest curve, TPR <= FPR + delta.
"""

import math
from dataclasses import asdict, dataclass, replace
from decimal import ROUND_UP, Context, Decimal
from typing import Any, overload

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from deniable.arrays import FloatArray
from deniable.calibration import gaussian_delta, group_privacy, power_above, prior_advantage, race_delta
from deniable.errors import DeniableError, check_probability, check_whole


@dataclass(frozen=True)
class TotalVariation:
    """TPR <= min(1, FPR + delta, likelihood_cap * FPR): (0, delta)-DP (`def:DP`, `app:prop:tv-char`), and a
    cap if there is one.

    Where the cap binds, the largest TPR - FPR on the curve can be below delta.
    """

    delta: float
    likelihood_cap: float = math.inf

    def __post_init__(self) -> None:
        check_probability("delta", self.delta)
        if not self.likelihood_cap >= 1:
            raise DeniableError(f"likelihood_cap must be at least 1, got {self.likelihood_cap}")

    def tradeoff(self, fpr: FloatArray) -> FloatArray:
        tpr = np.minimum(1.0, fpr + self.delta)
        return tpr if math.isinf(self.likelihood_cap) else np.minimum(tpr, self.likelihood_cap * fpr)

    def delta_at(self, epsilon: float) -> tuple[float, float]:
        """Accusing, exonerating; see `Guarantee.delta_at`. At the corners of the curve, which is made of lines."""
        # The TPR is 1 from this FPR on; before it, the curve rises at least as fast as the FPR.
        exonerating = min(self.delta, 1 - 1 / self.likelihood_cap)
        if math.isinf(self.likelihood_cap):
            return self.delta, exonerating
        if epsilon >= math.log(self.likelihood_cap):
            return 0.0, exonerating
        # Up to this FPR the cap binds, and the curve rises faster than exp(epsilon) * FPR.
        corner = min(self.delta / (self.likelihood_cap - 1), 1 / self.likelihood_cap)
        return (self.likelihood_cap - math.exp(epsilon)) * corner, exonerating

    def for_reports(self, reports: int) -> "TotalVariation":
        _, delta = group_privacy(0, self.delta, reports)  # `app:lem:group_privacy_reports`
        return TotalVariation(delta, power_above(self.likelihood_cap, reports))


@dataclass(frozen=True)
class Gaussian:
    """TPR <= Phi(Phi^-1(FPR) + mu), the curve of a Gaussian counter with mu = M_T / sigma = 2 kappa_delta
    (`app:lem:tv-shifted`).
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
        return np.asarray(ndtr(ndtri(fpr) + self.mu), dtype=np.float64)

    def delta_at(self, epsilon: float) -> tuple[float, float]:
        """Accusing, exonerating; see `Guarantee.delta_at`. The same (Balle and Wang 2018, theorem 8)."""
        if self.mu == 0:
            return 0.0, 0.0
        middle = epsilon / self.mu
        delta = ndtr(self.mu / 2 - middle) - math.exp(epsilon + log_ndtr(-self.mu / 2 - middle))
        return float(delta), float(delta)

    def for_reports(self, reports: int) -> "Gaussian":
        return Gaussian(reports * self.mu)


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
            return -np.expm1(self.rho * np.log1p(-fpr))

    def delta_at(self, epsilon: float) -> tuple[float, float]:
        """Accusing, exonerating; see `Guarantee.delta_at`. Where the derivative by y = 1 - FPR is 0."""
        if self.rho == 1 or math.isinf(self.rho):
            return (0.0, 0.0) if self.rho == 1 else (1.0, 1.0)
        power = math.log(self.rho)
        # The largest y - exp(epsilon) * y**rho, at y = (exp(epsilon) * rho)**(-1/(rho-1)).
        exonerating = math.exp(-(epsilon + power) / (self.rho - 1)) * (1 - 1 / self.rho)
        if epsilon >= power:
            return 0.0, exonerating
        # The largest 1 - y**rho - exp(epsilon) * (1 - y), at y = (exp(epsilon) / rho)**(1/(rho-1)).
        y = math.exp((epsilon - power) / (self.rho - 1))
        return 1 - y**self.rho - math.exp(epsilon) * (1 - y), exonerating

    def for_reports(self, reports: int) -> "Exponential":
        return Exponential(power_above(self.rho, reports))


Curve = TotalVariation | Gaussian | Exponential


@dataclass(frozen=True)
class Guarantee:
    """What the transcript reveals, at most, about whether `reports` reports of one person were filed.

    It holds for every adversary who knows the mechanism and all other reports, at every moment (`rem:prefix`)
    of the first `horizon` rounds, or of all rounds where `horizon` is None.

    >>> promise = Guarantee(TotalVariation(delta=0.1))
    >>> promise.advantage, promise.for_reports(2).delta, promise.tradeoff(0.5)
    (0.05, 0.2, 0.6)
    """

    curve: Curve
    horizon: int | None = None
    reports: int = 1

    def __post_init__(self) -> None:
        if self.horizon is not None:
            check_whole("horizon", self.horizon, least=1)
        check_whole("reports", self.reports, least=1)

    @property
    def delta(self) -> float:
        """The largest TPR - FPR of any test (`eq:prior-free`), an upper bound."""
        return self.curve.delta

    @property
    def advantage(self) -> float:
        """Half of delta: what watching adds, at most, to the chance of a right guess, whatever the prior
        (`thm:advantage`).
        """
        return self.delta / 2

    @property
    def likelihood_cap(self) -> float:
        """P[transcript | filed] <= likelihood_cap * P[transcript | not filed], everything else equal; inf if
        there is no cap.

        It compares "filed" with "not filed". It does not bound the odds between two people one of whom filed,
        about different targets: those streams differ by a moved report, not by one report.
        """
        return self.curve.likelihood_cap

    @overload
    def tradeoff(self, fpr: float) -> float: ...
    @overload
    def tradeoff(self, fpr: FloatArray) -> FloatArray: ...
    def tradeoff(self, fpr: float | FloatArray) -> float | FloatArray:
        """The highest TPR of any test with this FPR, up to rounding; an array gives an array of its shape."""
        rates = np.asarray(fpr, dtype=np.float64)
        if not np.all((rates >= 0) & (rates <= 1)):
            raise DeniableError("fpr must be in [0, 1]")
        tpr = self.curve.tradeoff(rates)
        return tpr if rates.ndim else float(tpr)

    def delta_at(self, epsilon: float, *, accusing: bool = False) -> float:
        """The delta of (epsilon, delta)-DP that follows from the trade-off curve, up to rounding; epsilon >= 0.

        P[S | one] <= exp(epsilon) * P[S | other] + delta for every set S of transcripts, in both directions. With
        `accusing` only where "one" is "filed" and "other" is "not filed": the direction in which the likelihood cap
        holds, so that from log(likelihood_cap) on it is 0. In the other one, a transcript can exonerate without limit.

        >>> promise = Guarantee(Exponential(rho=1.25))
        >>> [round(delta, 4) for delta in (promise.delta_at(0), promise.delta_at(0.2))]
        [0.0819, 0.0368]
        >>> round(promise.delta_at(0.2, accusing=True), 4)
        0.0013
        """
        if not 0 <= epsilon < math.inf:
            raise DeniableError(f"epsilon must be a finite number of at least 0, got {epsilon}")
        accuse, exonerate = self.curve.delta_at(epsilon)
        return min(self.delta, max(0.0, accuse if accusing else max(accuse, exonerate)))

    def for_reports(self, k: int) -> "Guarantee":
        """The guarantee for k reports of one person, whenever filed and whatever targets they concern.

        Ask it of the guarantee for one report: on one that speaks of several, k could mean either number.
        """
        check_whole("reports", k, least=1)
        if self.reports != 1:
            raise DeniableError(
                f"for_reports must be asked of the guarantee for 1 report, this one speaks of {self.reports}"
            )
        return replace(self, curve=self.curve.for_reports(k), reports=k)

    def advantage_at(self, prior: float) -> float:
        """min(prior, 1 - prior) * delta: the same as `advantage`, for an adversary who starts from this prior
        (`thm:advantage`).
        """
        return prior_advantage(self.delta, prior)

    def in_words(self) -> str:
        """One paragraph for a reporter who knows no statistics."""
        if _promises_nothing(self.curve):
            subject = "a report" if self.reports == 1 else f"{self.reports} reports by one person"
            return (
                f"This programme promises nothing about what its audits reveal of {subject}: somebody who "
                "watches them may become certain of what was filed, so do not rely on the audits to hide "
                "it."
            )
        sentences = [_INDEPENDENT] if self.delta == 0 else self._limits()
        return " ".join([*sentences, _EXCLUSIONS])

    def to_dict(self) -> dict[str, Any]:
        """The public figures, ready for JSON: what has no limit is None.

        >>> Guarantee(TotalVariation(0.1), horizon=1000).to_dict()["curve"]
        {'kind': 'total-variation', 'delta': 0.1, 'likelihood_cap': None}
        """
        kind = {TotalVariation: "total-variation", Gaussian: "gaussian", Exponential: "exponential"}[type(self.curve)]
        return {
            "delta": self.delta,
            "advantage": self.advantage,
            "likelihood_cap": _finite(self.likelihood_cap),
            "horizon": self.horizon,
            "reports": self.reports,
            "curve": {"kind": kind} | {name: _finite(value) for name, value in asdict(self.curve).items()},
        }

    def _limits(self) -> list[str]:
        one = self.reports == 1
        filed = "you filed a report" if one else f"you filed your {self.reports} reports"
        guess = (
            "Suppose someone watches every audit, knows how targets are chosen, knows every other report, "
            f"and tries to guess whether {filed}: watching improves their chance of guessing right by at "
            f"most {points(self.delta)}, whatever they believed before."
        )
        odds = (
            f"Besides, no sequence of audits is more than {_rounded_up(self.likelihood_cap)} times as likely "
            f"if {filed} as it would be if you had not, everything else equal, so watching multiplies the "
            "odds of that suspicion by at most this factor. This second limit compares filing with not "
            "filing and does not hold between two people: for someone who is sure that exactly one of two "
            "people filed, about two different targets, the audits may shift the odds between those two by "
            "more, without a fixed limit."
            if self.likelihood_cap <= _WORTH_SAYING
            else ""
        )
        duration = (
            "This holds however long the programme runs."
            if self.horizon is None
            else f"This holds at every moment of the programme's first {_rounds(self.horizon)}, "
            "and says nothing about later ones."
        )
        scope = (
            f"It is a promise about one report. {_more_reports(self.for_reports(3))}"
            if one
            else f"It is a promise about {self.reports} reports by one person, whatever targets they concern."
        )
        return [sentence for sentence in (guess, odds, duration, scope) if sentence]


_INDEPENDENT = (
    "The audits do not depend on the reports at all, so nobody can learn anything from them about whether "
    "you filed one; nor can your report make an audit more likely."
)

_EXCLUSIONS = (
    "The promise is about what the audits show and about nothing else: it does not protect you if access "
    "logs leak, if the channel you report through is not anonymous, if an audit is so narrow that it points "
    "to the few people who could have known, or if somebody retaliates because of what they know from "
    "elsewhere; and it trusts the audit office itself, which sees the reports, to keep them confidential."
)

# A factor beyond this protects nobody, and is not put before a reporter.
_WORTH_SAYING = 1_000_000


def _promises_nothing(curve: Curve) -> bool:
    return curve.delta == 1 and curve.likelihood_cap > _WORTH_SAYING


def _more_reports(grouped: Guarantee) -> str:
    if _promises_nothing(grouped.curve):
        return f"If you file {grouped.reports} reports, it promises nothing about them taken together."
    factor = grouped.likelihood_cap
    capped = f", and the factor at most {_rounded_up(factor)}" if factor <= _WORTH_SAYING else ""
    return (
        f"If you file more, the limit for them taken together is higher: for {grouped.reports} reports the "
        f"improvement is at most {points(grouped.delta)}{capped}."
    )


def points(delta: float) -> str:
    """What watching adds to the chance of a right guess, at most: half of delta, rounded up."""
    return f"{_rounded_up(delta, scale=50)} points in 100"


def points_above_half(delta: float) -> str:
    """How often, in 100, somebody is right at most who would be right 50 times without watching.

    >>> points_above_half(0.1), points_above_half(0.0667)
    ('55', '53.34')
    """
    return f"{50 + Decimal(_rounded_up(delta, scale=50)):f}"


def _rounded_up(value: float, scale: int = 1) -> str:
    """The product to three digits, rounded up, as a person would write it."""
    figure = Context(prec=12).create_decimal(value) * scale  # 0.1 + 2e-17 is 0.1 to a reader, not 0.101
    digits = Decimal(1).scaleb(figure.adjusted() - 2)
    return f"{figure.quantize(min(digits, Decimal(1)), rounding=ROUND_UP).normalize():,f}"


def _rounds(horizon: int) -> str:
    return "round" if horizon == 1 else f"{horizon:,} rounds"


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value
