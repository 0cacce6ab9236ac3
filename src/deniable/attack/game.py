"""The distinguishing game: was the report filed? Played many times, with what it proves about the leak."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deniable.arrays import FloatArray, IntArray
from deniable.attack.adversaries import Adversary, Score, strongest
from deniable.attack.bounds import (
    Event,
    above,
    at_least,
    at_most,
    best_threshold,
    check_failure_probability,
    measure,
)
from deniable.attack.pairs import Pair
from deniable.attack.particles import leak
from deniable.attack.views import EVERYTHING, View
from deniable.errors import DeniableError, check_whole
from deniable.guarantee import Guarantee, TotalVariation
from deniable.mechanisms import CounterAuditing, Mechanism
from deniable.simulation import simulate

# Counts that one call of `simulate` is given; part of the seeding.
CELLS = 2**24
POINTS = 201


@dataclass(frozen=True)
class Estimate:
    value: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class Result:
    """How well the adversary told the two worlds of a pair apart.

    All bounds together are wrong with at most `failure_probability`, however bad the adversary's score is: its events
    were chosen on one half of the games and are measured on the other. They are lower bounds of what the best
    adversary gains on this pair; what is proven, `guarantee`, bounds that from above.
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
    leak: Estimate
    """The best figure there is. The total variation of the pair, `exact` or from the likelihood ratios of all games; or
    else, and then it is at most the total variation, TPR - FPR of the event.
    """
    exact: bool
    largest_ratio: float | None
    """The largest P[seen | filed] / P[seen | not filed] of any game, where the score is a likelihood ratio."""
    roc: tuple[FloatArray, FloatArray] = field(repr=False)
    """FPR and TPR of every threshold, at most 201 of them, from the smallest FPR on."""

    @property
    def advantage(self) -> float:
        """Half the leak: what watching added to the chance of a right guess, from even odds (`thm:advantage`)."""
        return self.leak.value / 2

    @property
    def lower_bound(self) -> float:
        """The total variation is at least this."""
        return self.event.lower_bound

    @property
    def flagged(self) -> bool:
        """Whether the games refute what is proven: TPR - FPR above delta, or an event above the trade-off curve."""
        if self.exact and self.leak.value > self.guarantee.delta:
            return True
        beyond = self.telling.tpr_at_least > self.guarantee.tradeoff(self.telling.fpr_at_most)
        return beyond or self.lower_bound > self.guarantee.delta


def play(
    mechanism: Mechanism[Any],
    pair: Pair,
    games: int = 10_000,
    *,
    failure_probability: float = 1e-3,
    adversary: Adversary | None = None,
    view: View = EVERYTHING,
    seed: int = 0,
) -> Result:
    """Play the game so many times, half of them with the report, against the strongest adversary or the given one.

    games: in all, rounded up to a multiple of 4.

    >>> import deniable as dn
    >>> from deniable.attack import report_at
    >>> result = play(dn.Greedy(2), report_at("quiet", [[0, 0]] * 4, at_round=0), games=2000)
    >>> result.leak.value, result.flagged
    (0.5, False)
    """
    each = -(-check_whole("games", games, least=4) // 4)
    check_failure_probability(failure_probability)
    if mechanism.n_targets != pair.n_targets:
        raise DeniableError(
            f"mechanism and streams must have as many targets, got {mechanism.n_targets} and {pair.n_targets}"
        )
    pair = view.of_pair(pair)
    adversary = adversary or strongest(mechanism, pair, view)
    filed_seed, not_filed_seed, own_seed = np.random.SeedSequence(check_whole("seed", seed, least=0)).spawn(3)
    filed = view.of_audits(pair, _transcripts(mechanism, pair.filed, 2 * each, filed_seed))
    not_filed = view.of_audits(pair, _transcripts(mechanism, pair.not_filed, 2 * each, not_filed_seed))
    # One half of the games measures. An adversary who learns does so on most of the other; the rest chooses events.
    learnt = each * 3 // 4 if adversary.learns else 0
    score = adversary.train(mechanism, pair, filed[:learnt], not_filed[:learnt], int(own_seed.generate_state(1)[0]))
    scores = _scores(score, filed[learnt:]), _scores(score, not_filed[learnt:])
    guarantee = proven(mechanism.guarantee(), pair)
    threshold, event, telling = _events(score, scores, each, failure_probability, guarantee)

    def says_filed(audits: IntArray) -> FloatArray:
        return np.where(_scores(score, view.of_audits(pair, audits)) > threshold, 1.0, -1.0)

    return Result(
        pair,
        view,
        adversary.name,
        4 * each,
        failure_probability,
        guarantee,
        event,
        telling,
        _leak(score, scores) or _refereed(mechanism, pair, says_filed, 2 * each, seed) or _difference(event, each),
        score.total_variation is not None,
        float(np.exp(np.concatenate(scores).max())) if score.ratio else None,
        _roc(score, scores),
    )


def search(
    mechanism: Mechanism[Any],
    pairs: Sequence[Pair],
    games: int = 10_000,
    *,
    failure_probability: float = 1e-3,
    adversary: Adversary | None = None,
    view: View = EVERYTHING,
    seed: int = 0,
    done: Callable[[int], None] | None = None,
) -> list[Result]:
    """Play on every pair; the results, the largest leak first.

    So many games for each pair. All bounds of all results together are wrong with at most `failure_probability`.
    `done` is called with the number of pairs played.
    """
    if not pairs:
        raise DeniableError("there must be at least one pair of streams to play on")
    check_failure_probability(failure_probability)
    results = []
    for i, pair in enumerate(pairs):
        results.append(
            play(
                mechanism,
                pair,
                games,
                failure_probability=failure_probability / len(pairs),
                adversary=adversary,
                view=view,
                seed=seed + i,
            )
        )
        if done:
            done(i + 1)
    return sorted(results, key=lambda result: -result.leak.value)


def find_worst(
    mechanism: Mechanism[Any],
    pairs: Sequence[Pair],
    games: int = 10_000,
    *,
    failure_probability: float = 1e-3,
    adversary: Adversary | None = None,
    view: View = EVERYTHING,
    seed: int = 0,
    done: Callable[[int], None] | None = None,
) -> tuple[Result, list[Result]]:
    """The pair that leaks most, and what led to it: `search` with a tenth of the games for each pair, the worst first.

    The worst pair is then played on anew, with all the games, so that its figure is not merely the luckiest of many.
    """
    a_tenth = max(4, check_whole("games", games, least=4) // 10)
    how: dict[str, Any] = {"failure_probability": failure_probability, "adversary": adversary, "view": view}
    tried = search(mechanism, pairs, a_tenth, **how, seed=seed, done=done)
    return play(mechanism, tried[0].pair, games, **how, seed=seed + len(pairs)), tried


def proven(guarantee: Guarantee, pair: Pair) -> Guarantee:
    """What a mechanism's guarantee for one report says about this pair.

    A moved report is one removed and one added: 2 delta, by the triangle inequality, and no cap, because a transcript
    can exonerate the other person without limit.
    """
    if not pair.moved:
        return guarantee
    return Guarantee(TotalVariation(min(1.0, 2 * guarantee.delta)), horizon=guarantee.horizon)


def _transcripts(mechanism: Mechanism[Any], stream: IntArray, runs: int, seed: np.random.SeedSequence) -> IntArray:
    """(B, T): the audits of as many runs on one stream."""
    at_once = max(1, CELLS // stream.size)
    starts = range(0, runs, at_once)
    seeds = seed.generate_state(len(starts), np.uint64)
    return np.concatenate([
        simulate(mechanism, np.broadcast_to(stream, (min(at_once, runs - start), *stream.shape)), int(one)).audits
        for start, one in zip(starts, seeds, strict=True)
    ])  # fmt: skip


def _scores(score: Score, seen: IntArray) -> FloatArray:
    found = np.asarray(score.of(seen), dtype=np.float64)
    if found.shape != (len(seen),) or np.isnan(found).any():
        raise DeniableError(
            f"an adversary's score must be {len(seen)} numbers, one for each game, and none of them NaN"
        )
    return found


def _events(
    score: Score, scores: tuple[FloatArray, FloatArray], each: int, failure_probability: float, guarantee: Guarantee
) -> tuple[float, Event, Event]:
    """The threshold of the adversary's guess, that guess, and the event that would refute the guarantee's curve.

    Of the scores where it was filed and where it was not, the last `each` measure and those before them choose.
    """
    filed, not_filed = scores
    chosen_by, measured = (filed[:-each], not_filed[:-each]), (filed[-each:], not_filed[-each:])
    risk = failure_probability / 2  # for each of the two events

    def beyond_curve(tpr: FloatArray, fpr: FloatArray) -> FloatArray:
        (hits, games), (false_alarms, others) = (
            (np.rint(rate * len(world)), len(world)) for rate, world in zip((tpr, fpr), chosen_by, strict=True)
        )
        return at_least(hits, games, risk / 2) - guarantee.tradeoff(at_most(false_alarms, others, risk / 2))

    threshold = best_threshold(*chosen_by) if score.threshold is None else score.threshold
    telling = best_threshold(*chosen_by, beyond_curve)
    return threshold, measure(*measured, threshold, risk), measure(*measured, telling, risk)


def _leak(score: Score, scores: tuple[FloatArray, FloatArray]) -> Estimate | None:
    """The total variation, where the score tells it.

    With L = P / Q, the mean of |L - 1| / (L + 1) over (P + Q) / 2 is the total variation of P and Q.
    """
    if score.total_variation is not None:
        return Estimate(score.total_variation, 0.0)
    if not score.ratio:
        return None
    parts = [np.abs(np.tanh(world / 2)) for world in scores]
    variance = sum(float(part.var(ddof=1)) / len(part) for part in parts) / 4
    return Estimate(float(np.mean([part.mean() for part in parts])), math.sqrt(variance))


def _refereed(
    mechanism: Mechanism[Any], pair: Pair, says_filed: Callable[[IntArray], FloatArray], games: int, seed: int
) -> Estimate | None:
    """TPR - FPR of the guess by somebody who sees the noisy counts, where there are any: as true, and more precise."""
    own = type(mechanism)
    if not isinstance(mechanism, CounterAuditing) or any(
        getattr(own, name) is not getattr(CounterAuditing, name) for name in ("step", "tally", "forget")
    ):
        return None
    try:
        return Estimate(*leak(mechanism, pair.not_filed, pair.filed, score=says_filed, games=games, seed=seed))
    except DeniableError:  # a counter with other noise than Gaussian
        return None


def _difference(event: Event, each: int) -> Estimate:
    variance = (event.tpr * (1 - event.tpr) + event.fpr * (1 - event.fpr)) / each
    return Estimate(event.tpr - event.fpr, math.sqrt(variance))


def _roc(score: Score, scores: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """FPR and TPR of {score > threshold}; where ratios are known, every game counts for both worlds, by its odds."""
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
