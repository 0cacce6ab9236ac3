"""What the adversary's scores prove about the leak: events, likelihood ratios and the trade-off curve."""

import math

import numpy as np

from deniable.arrays import FloatArray
from deniable.attack.adversaries import Score
from deniable.attack.bounds import Event, above, best_threshold, measure
from deniable.attack.result import ROUNDING, LeakEstimate
from deniable.binomial import at_least, at_most
from deniable.guarantee import Guarantee

POINTS = 201

Scores = tuple[FloatArray, FloatArray]
"""Of the games where the report was filed, and of those where it was not."""


def events(score: Score, scores: Scores, each: int, risk: float, guarantee: Guarantee) -> tuple[float, Event, Event]:
    """The threshold of the adversary's guess, that guess, and the event that would refute the guarantee's curve.

    Of the scores where it was filed and where it was not, the last `each` measure and those before them choose. Each of
    the two events is wrong with at most `risk`.
    """
    filed, not_filed = scores
    chosen_by, measured = (filed[:-each], not_filed[:-each]), (filed[-each:], not_filed[-each:])

    def beyond_curve(tpr: FloatArray, fpr: FloatArray) -> FloatArray:
        (hits, games), (false_alarms, others) = (
            (np.rint(rate * len(world)), len(world)) for rate, world in zip((tpr, fpr), chosen_by, strict=True)
        )
        return at_least(hits, games, risk / 2) - guarantee.tradeoff(at_most(false_alarms, others, risk / 2))

    threshold = best_threshold(*chosen_by) if score.threshold is None else score.threshold
    telling = best_threshold(*chosen_by, beyond_curve)
    return threshold, measure(*measured, threshold, risk), measure(*measured, telling, risk)


def is_ratio(scores: Scores) -> bool:
    """Whether the games agree that the scores are log L = log P - log Q.

    Then (L - 1) / (L + 1) has means over P and over Q that add up to 0. Six standard errors are allowed; and 40 / n,
    because what n games never showed may have a probability of 20 / n (but for once in e**20) and change them by 2.
    """
    parts = [np.tanh(world / 2) for world in scores]
    error = math.sqrt(sum(float(part.var(ddof=1)) / len(part) for part in parts))
    return abs(sum(float(part.mean()) for part in parts)) <= 6 * error + 40 / len(parts[0])


def gains(scores: Scores) -> FloatArray:
    """(n,), in [0, 1], from a game of either world each: their mean is the total variation of P and Q.

    With L = P / Q, the mean of |L - 1| / (L + 1) over (P + Q) / 2 is the total variation.
    """
    filed, not_filed = (np.abs(np.tanh(world / 2)) for world in scores)
    return np.asarray((filed + not_filed) / 2)


def leak_by_score(score: Score, scores: Scores) -> LeakEstimate | None:
    """The total variation, where the score tells it."""
    if score.total_variation is not None:
        return LeakEstimate(score.total_variation, 0.0)
    if not score.ratio:
        return None
    each = gains(scores)
    return LeakEstimate(float(each.mean()), float(each.std(ddof=1)) / math.sqrt(len(each)))


def largest_ratio(score: Score, scores: Scores) -> float | None:
    """The largest likelihood ratio of any game, or of all that can be seen where the score knows it."""
    if not score.ratio:
        return None
    top = float(np.concatenate(scores).max()) if score.largest_log_ratio is None else score.largest_log_ratio
    return math.inf if top == math.inf else math.exp(min(top, 709.0))  # the largest power that is a number


def is_above(roc: tuple[FloatArray, FloatArray], guarantee: Guarantee) -> bool:
    """Whether some test is above the proven trade-off curve by more than rounding."""
    fpr, tpr = roc
    return bool((tpr > guarantee.tradeoff(fpr) * (1 + ROUNDING) + ROUNDING).any())


def leak_by_counting(event: Event, each: int) -> LeakEstimate:
    """TPR - FPR of an event that was measured on so many games of either world."""
    variance = (event.tpr * (1 - event.tpr) + event.fpr * (1 - event.fpr)) / each
    return LeakEstimate(event.tpr - event.fpr, math.sqrt(variance))


def roc(score: Score, scores: Scores) -> tuple[FloatArray, FloatArray]:
    """FPR and TPR of {score > threshold}; where ratios are known, every game counts for both worlds, by its odds."""
    if score.roc is not None:
        fpr, tpr = score.roc
        some = np.unique(np.linspace(0, len(fpr) - 1, POINTS).astype(np.int64))
        return fpr[some], tpr[some]
    pooled = np.concatenate(scores)
    quantiles = np.quantile(pooled, np.linspace(0, 1, POINTS - 1), method="lower")
    thresholds = np.concatenate([[-np.inf], np.unique(quantiles)])[::-1]
    if not score.ratio:
        return above(scores[1], thresholds), above(scores[0], thresholds)
    order = np.argsort(-pooled)
    at = np.searchsorted(-pooled[order], -thresholds, side="left")  # so many scores are above the threshold
    rates = []
    for sign in (-1, 1):
        weights = 1 + sign * np.tanh(pooled[order] / 2)  # dQ / dM and dP / dM, with M = (P + Q) / 2
        total = np.concatenate([[0.0], np.cumsum(weights)])
        rates.append(total[at] / total[-1])
    return rates[0], rates[1]
