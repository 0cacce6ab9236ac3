"""The distinguishing game: was the report filed? Played many times, with what it proves about the leak."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deniable.arrays import FloatArray, IntArray
from deniable.attack import evidence
from deniable.attack.adversaries import Adversary, BlackBox, Score, strongest
from deniable.attack.bounds import LEAST_GAMES, Event, check_failure_probability, check_games, mean_at_least
from deniable.attack.pairs import EVERYTHING, Pair, View
from deniable.attack.particles import leak
from deniable.attack.result import LeakEstimate, Result
from deniable.errors import DeniableError, UnsuitableError, check_whole
from deniable.guarantee import Guarantee
from deniable.mechanisms import CounterAuditing, Mechanism
from deniable.simulation.engine import simulate
from deniable.simulation.parallel import chunks

# Counts that one call of `simulate` is given; part of the seeding.
CELLS = 2**24
# Beyond so many standard errors an estimate contradicts the games.
TOO_FAR = 5
# Stages of a search, part of the seeding: no two of them share a game.
PLAYED, TRIED, PLAYED_ANEW = range(3)


def play(
    mechanism: Mechanism[Any],
    pair: Pair,
    games: int = 10_000,
    *,
    failure_probability: float = 1e-3,
    adversary: Adversary | None = None,
    view: View = EVERYTHING,
    audits: int = 1,
    seed: int = 0,
) -> Result:
    """Play the game so many times, half of them with the report, against the strongest adversary or the given one.

    games: in all, at least 40, rounded up to a multiple of 4. audits: a round. If the strongest adversary turns out
    not to serve the mechanism, the black box plays.

    >>> import deniable as dn
    >>> from deniable.attack import report_at
    >>> result = play(dn.Greedy(2), report_at("quiet", [[0, 0]] * 4, at_round=0), games=2000)
    >>> result.leak.value, result.flagged
    (0.5, False)
    """
    check_games(games)
    check_failure_probability(failure_probability)
    own_seed = _seed(seed, PLAYED)
    return _play(
        mechanism, pair, games, failure_probability, adversary=adversary, view=view, audits=audits, seed=own_seed
    )


def _play(
    mechanism: Mechanism[Any],
    pair: Pair,
    games: int,
    failure_probability: float,
    *,
    adversary: Adversary | None,
    view: View,
    audits: int,
    seed: np.random.SeedSequence,
) -> Result:
    each = -(-games // 4)
    if mechanism.n_targets != pair.n_targets:
        raise DeniableError(
            f"mechanism and streams must have the same number of targets, got {mechanism.n_targets} and "
            f"{pair.n_targets}"
        )
    mechanism.check_round(0, mechanism.n_targets, audits)
    sees: View = getattr(adversary, "view", view)
    if sees.own_target != view.own_target:  # fewer rounds are fewer rounds of the streams, for any adversary
        raise DeniableError(
            f"the adversary is made for the view {sees.name!r}, the game shows {view.name!r}; give both the same view"
        )
    pair = view.of_pair(pair)
    player = adversary or strongest(mechanism, pair, view, audits)
    filed_seed, not_filed_seed, own_seed, referee_seed = seed.spawn(4)
    filed = view.of_audits(pair, _transcripts(mechanism, pair.filed, 2 * each, audits, filed_seed))
    not_filed = view.of_audits(pair, _transcripts(mechanism, pair.not_filed, 2 * each, audits, not_filed_seed))

    def trained(player: Adversary) -> tuple[Score, evidence.Scores]:
        # One half of the games measures. Who learns does so on most of the other; the rest chooses events.
        learnt = each * 3 // 4 if player.learns else 0
        seed = int(own_seed.generate_state(1)[0])
        score = player.train(mechanism, pair, filed[:learnt], not_filed[:learnt], audits=audits, seed=seed)
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
    threshold, event, telling = evidence.events(score, scores, each, risk, guarantee)
    if score.ratio and not evidence.is_ratio(scores):
        score = replace(score, ratio=False, total_variation=None, roc=None, largest_log_ratio=None)

    def says_filed(drawn: IntArray) -> FloatArray:
        return np.where(_scores(score, view.of_audits(pair, drawn)) > threshold, 1.0, -1.0)

    def refereed() -> LeakEstimate | None:
        how = {"score": says_filed, "games": 2 * each, "audits": audits}
        found = _refereed(mechanism, pair, **how, seed=int(referee_seed.generate_state(1)[0]))
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
        evidence.leak_by_score(score, scores) or refereed() or evidence.leak_by_counting(event, each),
        score.total_variation is not None,
        mean_at_least(evidence.gains(scores), risk) if score.ratio else 0.0,
        evidence.largest_ratio(score, scores),
        score.roc is not None and evidence.is_above(score.roc, guarantee),
        evidence.roc(score, scores),
    )


def search(
    mechanism: Mechanism[Any],
    pairs: Sequence[Pair],
    games: int = 10_000,
    *,
    failure_probability: float = 1e-3,
    adversary: Adversary | None = None,
    view: View = EVERYTHING,
    audits: int = 1,
    seed: int = 0,
    done: Callable[[int], None] | None = None,
) -> list[Result]:
    """Play on every pair; the results, the largest leak first.

    So many games for each pair. All bounds of all results together are wrong with at most `failure_probability`.
    `done` is called with the number of pairs played.
    """
    check_games(games)
    check_failure_probability(failure_probability)
    how: dict[str, Any] = {"adversary": adversary, "view": view, "audits": audits}
    return _search(mechanism, pairs, games, failure_probability, seed=seed, done=done, **how)


def _search(
    mechanism: Mechanism[Any],
    pairs: Sequence[Pair],
    games: int,
    failure_probability: float,
    *,
    seed: int,
    done: Callable[[int], None] | None,
    **how: Any,
) -> list[Result]:
    """`how` is as in `_play`: adversary, view and audits."""
    if not pairs:
        raise DeniableError("there must be at least one pair of streams to play on")
    risk = failure_probability / len(pairs)
    results = []
    for i, pair in enumerate(pairs):
        results.append(_play(mechanism, pair, games, risk, **how, seed=_seed(seed, TRIED, i)))
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
    audits: int = 1,
    seed: int = 0,
    done: Callable[[int], None] | None = None,
) -> tuple[Result, list[Result]]:
    """The pair that leaks most, and what led to it: `search` with a tenth of the games for each pair, the worst first.

    The worst pair is then played on anew, with all the games, so that its figure is not merely the luckiest of many.
    The bounds of both together are wrong with at most `failure_probability`, half of it for each.
    """
    a_tenth = max(LEAST_GAMES, check_games(games) // 10)
    risk = check_failure_probability(failure_probability) / 2
    how: dict[str, Any] = {"adversary": adversary, "view": view, "audits": audits}
    tried = _search(mechanism, pairs, a_tenth, risk, **how, seed=seed, done=done)
    return _play(mechanism, tried[0].pair, games, risk, **how, seed=_seed(seed, PLAYED_ANEW)), tried


def proven(guarantee: Guarantee, pair: Pair) -> Guarantee:
    """What a mechanism's guarantee for one report says about this pair."""
    return guarantee.between_two() if pair.moved else guarantee


def _seed(seed: int, stage: int, i: int = 0) -> np.random.SeedSequence:
    """Seeds of its own for every seed, stage and pair; as a key, because [1] and [1, 0] seed the same numbers."""
    return np.random.SeedSequence(check_whole("seed", seed, least=0), spawn_key=(stage, i))


def _transcripts(
    mechanism: Mechanism[Any], stream: IntArray, runs: int, audits: int, seed: np.random.SeedSequence
) -> IntArray:
    """The audits of as many runs on one stream: (B, T), or (B, T, audits) where there are several a round."""
    parts = chunks(runs, max(1, CELLS // stream.size))
    seeds = seed.generate_state(len(parts), np.uint64)
    return np.concatenate([
        simulate(mechanism, np.broadcast_to(stream, (len(part), *stream.shape)), int(one), audits).audits
        for part, one in zip(parts, seeds, strict=True)
    ])  # fmt: skip


def _scores(score: Score, seen: IntArray) -> FloatArray:
    found = np.asarray(score.of(seen), dtype=np.float64)
    if found.shape != (len(seen),) or np.isnan(found).any():
        raise DeniableError(
            f"an adversary's score must be {len(seen)} numbers, one for each game, and none of them NaN"
        )
    return found


def _refereed(mechanism: Mechanism[Any], pair: Pair, **how: Any) -> LeakEstimate | None:
    """TPR - FPR of an adversary's guess who sees the noisy counts, where there are any: as true, and more precise.

    `how` is as in `leak`.
    """
    own = type(mechanism)
    if not isinstance(mechanism, CounterAuditing) or any(
        getattr(own, name) is not getattr(CounterAuditing, name)
        for name in ("init", "start", "step", "tally", "forget")
    ):
        return None
    try:
        return LeakEstimate(*leak(mechanism, pair.not_filed, pair.filed, **how))
    except UnsuitableError:  # a counter whose outputs are not what the referee takes them for
        return None


def _agrees(refereed: LeakEstimate, event: Event, each: int) -> bool:
    """Whether the referee's figure can be that of the event; if not, the games themselves are right."""
    counted = evidence.leak_by_counting(event, each)
    error = math.hypot(refereed.standard_error, counted.standard_error) + 1 / each  # a rate of 0 or 1 has error 0
    return refereed.value >= event.lower_bound and abs(refereed.value - counted.value) <= TOO_FAR * error
