"""The distinguishing game: was the report filed? Played many times, with what it proves about the leak."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from deniable.arrays import FloatArray, IntArray
from deniable.attack.adversaries import Adversary, BlackBox, Score, strongest
from deniable.attack.bounds import (
    LEAST_GAMES,
    Event,
    above,
    at_least,
    at_most,
    best_threshold,
    check_failure_probability,
    check_games,
    mean_at_least,
    measure,
)
from deniable.attack.pairs import Pair
from deniable.attack.particles import leak
from deniable.attack.refusal import UnsuitableError
from deniable.attack.views import EVERYTHING, View
from deniable.errors import DeniableError, check_whole
from deniable.guarantee import Guarantee, TotalVariation
from deniable.mechanisms import CounterAuditing, Mechanism
from deniable.simulation import simulate

# Counts that one call of `simulate` is given; part of the seeding.
CELLS = 2**24
POINTS = 201
# Beyond so many standard errors an estimate contradicts the games.
TOO_FAR = 5
# Floating point may exceed an exact limit by so much, relative to it.
ROUNDING = 1e-9
# Stages of a search, part of the seeding: no two of them share a game.
PLAYED, TRIED, PLAYED_ANEW = range(3)


@dataclass(frozen=True)
class Estimate:
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
    leak: Estimate
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

    games: in all, at least 40, rounded up to a multiple of 4. Where the strongest adversary turns out not to serve the
    mechanism, the black box plays.

    >>> import deniable as dn
    >>> from deniable.attack import report_at
    >>> result = play(dn.Greedy(2), report_at("quiet", [[0, 0]] * 4, at_round=0), games=2000)
    >>> result.leak.value, result.flagged
    (0.5, False)
    """
    check_games(games)
    check_failure_probability(failure_probability)
    return _play(mechanism, pair, games, failure_probability, adversary=adversary, view=view, seed=_seed(seed, PLAYED))


def _play(
    mechanism: Mechanism[Any],
    pair: Pair,
    games: int,
    failure_probability: float,
    *,
    adversary: Adversary | None,
    view: View,
    seed: np.random.SeedSequence,
) -> Result:
    each = -(-games // 4)
    if mechanism.n_targets != pair.n_targets:
        raise DeniableError(
            f"mechanism and streams must have as many targets, got {mechanism.n_targets} and {pair.n_targets}"
        )
    sees: View = getattr(adversary, "view", view)
    if sees.own_target != view.own_target:  # fewer rounds are fewer rounds of the streams, for any adversary
        raise DeniableError(
            f"the adversary is made for the view {sees.name!r}, the game shows {view.name!r}; give both the same view"
        )
    pair = view.of_pair(pair)
    player = adversary or strongest(mechanism, pair, view)
    filed_seed, not_filed_seed, own_seed, referee_seed = seed.spawn(4)
    filed = view.of_audits(pair, _transcripts(mechanism, pair.filed, 2 * each, filed_seed))
    not_filed = view.of_audits(pair, _transcripts(mechanism, pair.not_filed, 2 * each, not_filed_seed))

    def trained(player: Adversary) -> tuple[Score, tuple[FloatArray, FloatArray]]:
        # One half of the games measures. Who learns does so on most of the other; the rest chooses events.
        learnt = each * 3 // 4 if player.learns else 0
        score = player.train(mechanism, pair, filed[:learnt], not_filed[:learnt], int(own_seed.generate_state(1)[0]))
        return score, (_scores(score, filed[learnt:]), _scores(score, not_filed[learnt:]))

    try:
        score, scores = trained(player)
    except UnsuitableError:
        if adversary is not None:
            raise
        player = BlackBox(view)
        score, scores = trained(player)
    guarantee = proven(mechanism.guarantee(), pair)
    # The two events, and where there are ratios their mean, share the failure probability.
    risk = failure_probability / (3 if score.ratio else 2)
    threshold, event, telling = _events(score, scores, each, risk, guarantee)
    if score.ratio and not _is_ratio(scores):
        score = replace(score, ratio=False, total_variation=None, roc=None, largest_log_ratio=None)

    def says_filed(audits: IntArray) -> FloatArray:
        return np.where(_scores(score, view.of_audits(pair, audits)) > threshold, 1.0, -1.0)

    def refereed() -> Estimate | None:
        found = _refereed(mechanism, pair, says_filed, 2 * each, int(referee_seed.generate_state(1)[0]))
        return found if found and _agrees(found, event, each) else None

    return Result(
        pair,
        view,
        player.name,
        4 * each,
        failure_probability,
        guarantee,
        event,
        telling,
        _leak(score, scores) or refereed() or _difference(event, each),
        score.total_variation is not None,
        mean_at_least(_gains(scores), risk) if score.ratio else 0.0,
        _largest_ratio(score, scores),
        score.roc is not None and _above(score.roc, guarantee),
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
    check_games(games)
    check_failure_probability(failure_probability)
    return _search(mechanism, pairs, games, failure_probability, adversary=adversary, view=view, seed=seed, done=done)


def _search(
    mechanism: Mechanism[Any],
    pairs: Sequence[Pair],
    games: int,
    failure_probability: float,
    *,
    adversary: Adversary | None,
    view: View,
    seed: int,
    done: Callable[[int], None] | None,
) -> list[Result]:
    if not pairs:
        raise DeniableError("there must be at least one pair of streams to play on")
    risk = failure_probability / len(pairs)
    results = []
    for i, pair in enumerate(pairs):
        results.append(_play(mechanism, pair, games, risk, adversary=adversary, view=view, seed=_seed(seed, TRIED, i)))
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
    The bounds of both together are wrong with at most `failure_probability`, half of it for each.
    """
    a_tenth = max(LEAST_GAMES, check_games(games) // 10)
    risk = check_failure_probability(failure_probability) / 2
    how: dict[str, Any] = {"adversary": adversary, "view": view}
    tried = _search(mechanism, pairs, a_tenth, risk, **how, seed=seed, done=done)
    return _play(mechanism, tried[0].pair, games, risk, **how, seed=_seed(seed, PLAYED_ANEW)), tried


def proven(guarantee: Guarantee, pair: Pair) -> Guarantee:
    """What a mechanism's guarantee for one report says about this pair.

    A moved report is one removed and one added: 2 delta, by the triangle inequality, and no cap, because a transcript
    can exonerate the other person without limit.
    """
    if not pair.moved:
        return guarantee
    return Guarantee(TotalVariation(min(1.0, 2 * guarantee.delta)), horizon=guarantee.horizon)


def _seed(seed: int, stage: int, i: int = 0) -> np.random.SeedSequence:
    """Seeds of its own for every seed, stage and pair; as a key, because [1] and [1, 0] seed the same numbers."""
    return np.random.SeedSequence(check_whole("seed", seed, least=0), spawn_key=(stage, i))


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
    score: Score, scores: tuple[FloatArray, FloatArray], each: int, risk: float, guarantee: Guarantee
) -> tuple[float, Event, Event]:
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


def _is_ratio(scores: tuple[FloatArray, FloatArray]) -> bool:
    """Whether the games agree that the scores are log L = log P - log Q.

    Then (L - 1) / (L + 1) has means over P and over Q that add up to 0. Six standard errors are allowed; and 40 / n,
    because what n games never showed may have a probability of 20 / n (but for once in e**20) and change them by 2.
    """
    parts = [np.tanh(world / 2) for world in scores]
    error = math.sqrt(sum(float(part.var(ddof=1)) / len(part) for part in parts))
    return abs(sum(float(part.mean()) for part in parts)) <= 6 * error + 40 / len(parts[0])


def _gains(scores: tuple[FloatArray, FloatArray]) -> FloatArray:
    """(n,), in [0, 1], from a game of either world each: their mean is the total variation of P and Q.

    With L = P / Q, the mean of |L - 1| / (L + 1) over (P + Q) / 2 is the total variation.
    """
    filed, not_filed = (np.abs(np.tanh(world / 2)) for world in scores)
    return np.asarray((filed + not_filed) / 2)


def _leak(score: Score, scores: tuple[FloatArray, FloatArray]) -> Estimate | None:
    """The total variation, where the score tells it."""
    if score.total_variation is not None:
        return Estimate(score.total_variation, 0.0)
    if not score.ratio:
        return None
    gains = _gains(scores)
    return Estimate(float(gains.mean()), float(gains.std(ddof=1)) / math.sqrt(len(gains)))


def _largest_ratio(score: Score, scores: tuple[FloatArray, FloatArray]) -> float | None:
    if not score.ratio:
        return None
    top = float(np.concatenate(scores).max()) if score.largest_log_ratio is None else score.largest_log_ratio
    return math.inf if top == math.inf else math.exp(min(top, 709.0))  # the largest power that is a number


def _above(roc: tuple[FloatArray, FloatArray], guarantee: Guarantee) -> bool:
    fpr, tpr = roc
    return bool((tpr > guarantee.tradeoff(fpr) * (1 + ROUNDING) + ROUNDING).any())


def _refereed(
    mechanism: Mechanism[Any], pair: Pair, says_filed: Callable[[IntArray], FloatArray], games: int, seed: int
) -> Estimate | None:
    """TPR - FPR of the guess by somebody who sees the noisy counts, where there are any: as true, and more precise."""
    own = type(mechanism)
    if not isinstance(mechanism, CounterAuditing) or any(
        getattr(own, name) is not getattr(CounterAuditing, name)
        for name in ("init", "start", "step", "tally", "forget")
    ):
        return None
    try:
        return Estimate(*leak(mechanism, pair.not_filed, pair.filed, score=says_filed, games=games, seed=seed))
    except UnsuitableError:  # a counter whose outputs are not what the referee takes them for
        return None


def _agrees(refereed: Estimate, event: Event, each: int) -> bool:
    """Whether the referee's figure can be that of the event; if not, the games themselves are right."""
    counted = _difference(event, each)
    error = math.hypot(refereed.standard_error, counted.standard_error) + 1 / each  # a rate of 0 or 1 has error 0
    return refereed.value >= event.lower_bound and abs(refereed.value - counted.value) <= TOO_FAR * error


def _difference(event: Event, each: int) -> Estimate:
    variance = (event.tpr * (1 - event.tpr) + event.fpr * (1 - event.fpr)) / each
    return Estimate(event.tpr - event.fpr, math.sqrt(variance))


def _roc(score: Score, scores: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
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
