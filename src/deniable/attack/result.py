"""What a game showed: how well the adversary told the two worlds of a pair apart."""

from dataclasses import dataclass, field

from deniable.arrays import FloatArray
from deniable.attack.bounds import Event
from deniable.attack.pairs import Pair, View
from deniable.guarantee import Guarantee

# Floating point may exceed an exact limit by so much, relative to it.
ROUNDING = 1e-9


@dataclass(frozen=True)
class LeakEstimate:
    """How much a test leaks, TPR - FPR, and the standard error of it; 0 where it is exact."""

    value: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class Result:
    """How well the adversary told the two worlds of a pair apart.

    All bounds together are wrong with at most `failure_probability`, however bad the adversary's score is: its events
    were chosen on one half of the games and are measured on the other. They are lower bounds of what the best
    adversary gains on this pair; what is proven, `guarantee`, bounds that from above. Only `ratio_bound` relies on the
    score: that it is the logarithm of the likelihood ratio.
    """

    pair: Pair
    view: View
    adversary: str
    games: int
    failure_probability: float
    guarantee: Guarantee
    """Of the mechanism, or for a moved report the 2 delta that follow from it."""
    event: Event
    """The adversary's best guess, or the one with the largest TPR - FPR on the games that chose it."""
    telling: Event
    """The one furthest above the proven trade-off curve, or nearest to it."""
    leak: LeakEstimate
    """Of the adversary's test. The total variation of the pair where likelihoods are known, `exact` or from the ratios
    of all games; or else, and then it is at most the total variation, TPR - FPR of the event.
    """
    exact: bool
    ratio_bound: float
    """The total variation is at least this, by the likelihood ratios of all games; 0 where they are not known."""
    largest_ratio: float | None
    """The largest P[seen | filed] / P[seen | not filed] of any game, or where it is `exact` of all that can be seen;
    None where the score is no likelihood ratio.
    """
    above_curve: bool
    """Whether some test is above the proven trade-off curve by the exact law of what is seen."""
    roc: tuple[FloatArray, FloatArray] = field(repr=False)
    """FPR and TPR of every threshold, at most 201 of them, from the smallest FPR on."""

    @property
    def advantage(self) -> float:
        """Half the leak: what watching added to the chance of a right guess, from even odds (`thm:advantage`)."""
        return self.leak.value / 2

    @property
    def lower_bound(self) -> float:
        """The total variation is at least this."""
        return max(self.event.lower_bound, self.ratio_bound)

    @property
    def flagged(self) -> bool:
        """Whether what is proven is refuted: a total variation above delta, a test above the trade-off curve, or a
        likelihood ratio above the cap; exactly, or at the failure probability.
        """
        proven = self.guarantee
        return (
            (self.exact and self.leak.value > proven.delta)
            or self.above_curve
            or (self.largest_ratio is not None and self.largest_ratio > proven.likelihood_cap * (1 + ROUNDING))
            or self.lower_bound > proven.delta
            or self.telling.tpr_at_least > proven.tradeoff(self.telling.fpr_at_most)
        )
