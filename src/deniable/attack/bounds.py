"""What games prove: confidence bounds that hold whatever the score, because other games chose the event."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deniable.arrays import FloatArray
from deniable.binomial import at_least, at_most
from deniable.errors import DeniableError, check_whole

# Fewer games would prove nothing at all.
LEAST_GAMES = 40
# Below it, the bounds would be up to the rounding of tiny numbers.
LEAST_FAILURE_PROBABILITY = 1e-100
# Candidates for a threshold; more would only fit it to the games that choose it.
THRESHOLDS = 1000

Merit = Callable[[FloatArray, FloatArray], FloatArray]
"""How good events are to the adversary, from their TPRs and FPRs."""


def check_games(games: int) -> int:
    """A number of games that can prove something: at least 40."""
    return check_whole("games", games, least=LEAST_GAMES)


def check_failure_probability(value: float) -> float:
    """How often a bound may be wrong, in [1e-100, 1).

    >>> check_failure_probability(1)
    Traceback (most recent call last):
    deniable.errors.DeniableError: failure_probability must be in [1e-100, 1), got 1; 0.001, say, is once in 1000 times
    """
    if not LEAST_FAILURE_PROBABILITY <= value < 1:  # also false for NaN
        raise DeniableError(
            f"failure_probability must be in [1e-100, 1), got {value}; 0.001, say, is once in 1000 times"
        )
    return float(value)


def mean_at_least(values: FloatArray, failure_probability: float) -> float:
    """A lower bound of the mean of independent values in [0, 1], (B,), all of one law; wrong at most so often.

    The empirical Bernstein bound (Maurer and Pontil 2009, Theorem 4): the less the values vary, the closer it is.

    >>> round(mean_at_least(np.full(1000, 0.1), 0.001), 4)
    0.0822
    """
    log, games = math.log(2 / failure_probability), len(values)
    slack = math.sqrt(2 * float(values.var(ddof=1)) * log / games) + 7 * log / (3 * (games - 1))
    return max(0.0, float(values.mean()) - slack)


@dataclass(frozen=True)
class Event:
    """How often games say "filed", where it was (TPR) and where it was not (FPR)."""

    tpr: float
    fpr: float
    tpr_at_least: float
    fpr_at_most: float

    @property
    def lower_bound(self) -> float:
        """TPR - FPR, and so the total variation, is at least this."""
        return max(0.0, self.tpr_at_least - self.fpr_at_most)

    @property
    def odds_at_least(self) -> float:
        """TPR / FPR is at least this: by how much the event multiplies the odds that the report was filed."""
        return self.tpr_at_least / self.fpr_at_most


def measure(filed: FloatArray, not_filed: FloatArray, threshold: float, failure_probability: float) -> Event:
    """The event {score > threshold} on games, (B,) scores each, that had no part in choosing score or threshold.

    Each of the two bounds is wrong with at most half the failure probability.
    """
    hits, false_alarms = int((filed > threshold).sum()), int((not_filed > threshold).sum())
    return Event(
        hits / len(filed),
        false_alarms / len(not_filed),
        float(at_least(hits, len(filed), failure_probability / 2)),
        float(at_most(false_alarms, len(not_filed), failure_probability / 2)),
    )


def best_threshold(filed: FloatArray, not_filed: FloatArray, merit: Merit | None = None) -> float:
    """The threshold of the best event {score > threshold} on these games; by default the largest TPR - FPR.

    >>> best_threshold(np.array([1.0, 2.0, 2.0]), np.array([0.0, 1.0, 1.0]))
    1.0
    """
    candidates = np.unique(np.concatenate([filed, not_filed]))
    if len(candidates) > THRESHOLDS:
        candidates = candidates[np.linspace(0, len(candidates) - 1, THRESHOLDS).astype(np.int64)]
    candidates = np.concatenate([[-np.inf], candidates])
    tpr, fpr = (above(scores, candidates) for scores in (filed, not_filed))
    return float(candidates[np.argmax(tpr - fpr if merit is None else merit(tpr, fpr))])


def above(scores: FloatArray, thresholds: FloatArray) -> FloatArray:
    """The share of the scores that is above each threshold."""
    return 1 - np.searchsorted(np.sort(scores), thresholds, side="right") / len(scores)
