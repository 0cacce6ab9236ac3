"""What a mechanism promises, and what that means for the person who files a report."""

import math
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any, overload

import numpy as np

from deniable import guarantee_sentences as sentences
from deniable.arrays import FloatArray
from deniable.calibration import prior_advantage, product_above
from deniable.curves import Curve, Exponential, Gaussian, TotalVariation
from deniable.errors import DeniableError, check_epsilon, check_whole
from deniable.languages.voice import Voice, plain
from deniable.rounding import rounded_up, written_above
from deniable.wording import count


@dataclass(frozen=True)
class Guarantee:
    """What the transcript reveals, at most, about whether `reports` reports of one person were filed.

    It holds for every adversary who knows the mechanism and all other reports, at every moment (`rem:prefix`)
    of the first `horizon` rounds, or of all rounds where `horizon` is None. An adversary who does not know the
    other reports, but knows that exactly one of two people filed, can gain more: see `between_two`.

    >>> promise = Guarantee(TotalVariation(delta=0.125))
    >>> promise.advantage, promise.for_reports(2).delta, promise.between_two().advantage, promise.tradeoff(0.5)
    (0.0625, 0.25, 0.125, 0.625)
    """

    curve: Curve
    horizon: int | None = None
    reports: int = 1
    of_class: str = ""
    """The class of all these reports, where they have one."""
    kind: str = ""
    """What other reports they are, behind "a report" or "3 reports": "of weight 3"."""

    def __post_init__(self) -> None:
        if self.horizon is not None:
            check_whole("horizon", self.horizon, least=1)
        check_whole("reports", self.reports, least=1)

    @property
    def filed(self) -> str:
        """What was filed or not, in words.

        >>> one = Guarantee(TotalVariation(0.1), of_class="serious")
        >>> one.filed, one.for_reports(2).filed
        ('a report of class serious', '2 reports of class serious')
        """
        reports = "a report" if self.reports == 1 else count(self.reports, "report")
        return f"{reports} of class {self.of_class}" if self.of_class else f"{reports} {self.kind}".rstrip()

    @property
    def delta(self) -> float:
        """The largest TPR - FPR of any test (`eq:prior-free`), an upper bound."""
        return self.curve.delta

    @property
    def advantage(self) -> float:
        """Half of delta: what watching adds, at most, to the chance of a right guess, whatever the prior
        (`thm:advantage`).
        """
        return self.advantage_at(0.5)

    @property
    def likelihood_cap(self) -> float:
        """P[transcript | filed] <= likelihood_cap * P[transcript | not filed], everything else equal; inf if
        there is no cap.

        It compares "filed" with "not filed". It does not bound the odds between two people one of whom filed:
        see `between_two`.
        """
        return self.curve.likelihood_cap

    @property
    def has_cap(self) -> bool:
        """Whether the cap is worth telling to a reporter: a factor beyond a million protects no one."""
        return self.likelihood_cap <= _WORTH_SAYING

    @property
    def promises_nothing(self) -> bool:
        return self.delta == 1 and not self.has_cap

    @overload
    def tradeoff(self, fpr: float) -> float: ...
    @overload
    def tradeoff(self, fpr: FloatArray) -> FloatArray: ...
    def tradeoff(self, fpr: float | FloatArray) -> float | FloatArray:
        """The highest TPR of any test with this FPR, an upper bound; an array gives an array of its shape."""
        rates = np.asarray(fpr, dtype=np.float64)
        if not np.all((rates >= 0) & (rates <= 1)):
            raise DeniableError("fpr must be in [0, 1]")
        tpr = self.curve.tradeoff(rates)
        return tpr if rates.ndim else float(tpr)

    def delta_at(self, epsilon: float, *, accusing: bool = False) -> float:
        """The delta of (epsilon, delta)-DP that follows from the trade-off curve, an upper bound; epsilon >= 0.

        P[S | one] <= exp(epsilon) * P[S | other] + delta for every set S of transcripts, in both directions. With
        `accusing` only where "one" is "filed" and "other" is "not filed": the direction in which the likelihood cap
        holds, so that from log(likelihood_cap) on it is 0. In the other one, a transcript can exonerate without limit.

        >>> promise = Guarantee(Exponential(rho=1.25))
        >>> [round(delta, 4) for delta in (promise.delta_at(0), promise.delta_at(0.2))]
        [0.0819, 0.0368]
        >>> round(promise.delta_at(0.2, accusing=True), 4)
        0.0013
        """
        check_epsilon(epsilon)
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

    def between_two(self) -> "Guarantee":
        """The guarantee against an adversary who is sure that exactly one of two people filed.

        What it bounds is how well they can tell which of the two it was: twice delta, at most 1, and so an advantage
        of up to delta in place of half of it; no likelihood cap. Each of the two files up to `reports` reports.

        Proof: with P, Q and N the transcripts if the one filed, the other, and neither, TV(P, Q) <= TV(P, N) +
        TV(N, Q) <= 2 delta. No cap: exonerating the one accuses the other, and a transcript can exonerate without
        limit. If both reports would be about the same target and count from the same round on, P = Q, and nothing shows
        which it was. (docs/explanation/two-people.md)
        """
        return replace(self, curve=TotalVariation(min(1.0, product_above(2, self.delta))))

    def advantage_at(self, prior: float) -> float:
        """min(prior, 1 - prior) * delta: the same as `advantage`, for an adversary who starts from this prior
        (`thm:advantage`).
        """
        return prior_advantage(self.delta, prior)

    def posterior(self, prior: float | Fraction) -> Fraction:
        """How probable it can become, at most, to an adversary who starts from this prior, that the reports were filed.

        It holds at every moment and whatever the audits are: they multiply the odds by the likelihood cap at most
        (docs/explanation/how-sure.md). Without a cap nothing is excluded, and it is 1. It is an exact fraction: for a
        decimal, take its `float()`.

        >>> Guarantee(Exponential(rho=1.5)).posterior(Fraction(1, 2)), Guarantee(TotalVariation(0.1)).posterior(0.5)
        (Fraction(3, 5), Fraction(1, 1))
        """
        before = written_above(prior)
        if not 0 < before < 1:
            return before
        if not self.has_cap:
            return Fraction(1)
        raised = Fraction(self.likelihood_cap) * before
        return raised / (raised + 1 - before)

    def right_guesses(self, before: float | Fraction) -> Fraction:
        """How often a guess is right at most, after watching, that was right with this probability, at least a half.

        `thm:advantage`: the better of the two guesses is right with max(prior, 1 - prior) before.

        >>> Guarantee(TotalVariation(0.125)).right_guesses(Fraction(1, 2))
        Fraction(9, 16)
        """
        sure = written_above(before)
        return sure + (1 - sure) * Fraction(self.delta)

    def in_words(self) -> str:
        """One paragraph for a reporter who knows no statistics, in English."""
        about = [f"This is about {self.filed}."] if self.kind else []
        stated = [*about, *self.statements(plain())]
        return " ".join(stated if self.promises_nothing else [*stated, *_EXCLUSIONS])

    def in_short(self) -> str:
        """What watching every audit changes, at most, in one sentence; empty where `in_words` is about as short.

        >>> Guarantee(Exponential(rho=1.5)).in_short()
        'A boss who was 50 % sure that you filed a report can become at most 60 % sure by watching the audits.'
        """
        if self.promises_nothing or self.delta == 0:
            return ""
        if self.has_cap:
            sure = rounded_up(self.posterior(Fraction(1, 2)), 100, places=0)
            who = f"A boss who was 50 % sure that you filed {self.filed}"
            return f"{who} can become at most {sure} % sure by watching the audits."
        return (
            f"Watching the audits improves a boss's chance of guessing right whether you filed {self.filed} by at most "
            f"{points(self.delta, plain())}."
        )

    def statements(self, say: Voice, *, with_figures: bool = False) -> list[str]:
        """What is promised about someone who watches every audit, and reads the yearly figures where there are any, in
        sentences; what it leaves out is not among them.
        """
        reports, name = self.reports, self.of_class
        if self.promises_nothing:
            return sentences.nothing(reports, name, say)
        if self.delta == 0:
            return sentences.independent(say)
        said = [sentences.supposed(with_figures, say)]
        factor, pair = self._factor(say), self.between_two().delta
        if factor:
            sure = rounded_up(self.posterior(Fraction(1, 2)), 100)
            said.append(sentences.sure(reports, name, say.figure(sure), say))
        said.append(sentences.improvement(reports, name, points(self.delta, say), say))
        if factor:
            said.append(sentences.factor(reports, name, factor, say))
        is_classed = bool(name or self.kind)
        said += [
            sentences.two_people(reports, self.has_cap, is_classed, None if pair == 1 else points(pair, say), say),
            sentences.duration(self.horizon, say),
            sentences.scope(reports, name, say),
        ]
        if reports == 1:
            more = self.for_reports(3)
            gain = None if more.promises_nothing else points(more.delta, say)
            said.append(sentences.three_reports(gain, more._factor(say), say))
        return said

    def _factor(self, say: Voice) -> str | None:
        """The likelihood cap for readers; None where there is none."""
        return say.figure(rounded_up(self.likelihood_cap)) if self.has_cap else None

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
            "between_two": {"delta": self.between_two().delta, "advantage": self.between_two().advantage},
            "horizon": self.horizon,
            "reports": self.reports,
            "curve": {"kind": kind} | {name: _finite(value) for name, value in asdict(self.curve).items()},
        }


_EXCLUSIONS = (
    "The promise is about what the audits show, and about nothing else.",
    "It does not protect you if access logs leak, if the channel you report through is not anonymous, if an audit is "
    "so narrow that it points to the few people who could have known, or if someone retaliates because of what they "
    "know from elsewhere.",
    "It trusts the audit office itself, which sees the reports, to keep them confidential.",
)

_WORTH_SAYING = 1_000_000


def points(delta: float, say: Voice) -> str:
    """What watching adds to the chance of a right guess, at most: half of delta, rounded up."""
    figure = rounded_up(delta, 50)
    return say.counted(
        "{figure} point in 100", "{figure} points in 100", say.plural_of(figure), figure=say.figure(figure)
    )


def points_above_half(delta: float) -> str:
    """How often, in 100, a guess is right at most that would be right 50 times without watching: 50 and `points`.

    >>> points_above_half(0.125), points_above_half(0.0667), points_above_half(0.2928), points_above_half(0.9995)
    ('56.25', '53.34', '64.7', '99.98')
    """
    exact, added = 1 + Fraction(delta), Fraction(rounded_up(delta, 50))
    return rounded_up(exact, 50, digits=4) if added >= 50 else rounded_up(50 + added, digits=4)


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value
