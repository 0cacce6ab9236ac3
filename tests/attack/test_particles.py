"""Particles against exact integration, what the transcripts of counter auditing leak, and a counter with too little
noise.
"""

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import t
from tests.attack.controls import quiet_counter_auditing
from tests.attack.declared import (
    DECLARED,
    QUIET,
    RIVAL,
    Streams,
    ahead,
    chance_of_first,
    games_of,
    learnt,
    mechanism_for,
    report,
    stream,
    transcripts,
)
from tests.attack.integration import transcript_probability

import deniable as dn
from deniable.arrays import BoolArray, IntArray
from deniable.attack import Pair, Particles, moved_report, play
from deniable.attack.particles import can_follow, leak, log_likelihood_ratio, log_likelihoods
from deniable.counters import COUNTERS
from deniable.counters.toeplitz import ToeplitzState
from deniable.mechanisms import Mechanism

SMALL = [
    pytest.param(2, "toeplitz", report([[0, 0]] * 4), id="2x4-quiet"),
    pytest.param(2, "toeplitz", report([[0, 1], [1, 0], [0, 2]], at=1, target=1), id="2x3-reports"),
    pytest.param(3, "toeplitz", report([[0, 1, 0], [1, 0, 2]]), id="3x2-reports"),
    pytest.param(2, "blt", report([[1, 0]] * 3), id="2x3-blt"),
    pytest.param(2, "input_perturbation", report([[0, 1]] * 3, at=1), id="2x3-input"),
    pytest.param(2, "output_perturbation", report([[0, 0]] * 3), id="2x3-output"),
]


@pytest.mark.parametrize(("n_targets", "counter", "streams"), SMALL)
def test_particles_agree_with_exact_integration(n_targets: int, counter: str, streams: Streams) -> None:
    """Every transcript in both worlds, by the mean of 32 seeds: fails by chance once in a million (Student's t).

    The same check tells a counter with nine tenths of the sigma apart.
    """
    rounds, seeds = len(streams[0]), 32
    mechanism = dn.CounterAuditing.calibrate(n_targets, 0.5, rounds, counter)
    audits = transcripts(n_targets, rounds)
    found = np.exp([log_likelihoods(mechanism, *streams, audits, particles=400, seed=s) for s in range(seeds)])
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(seeds)
    limit = t.isf(1e-6 / (2 * mean.size), seeds - 1)

    def agrees(other: dn.CounterAuditing[Any]) -> bool:
        exact = [[transcript_probability(other, s, a) for a in audits] for s in reversed(streams)]
        # Integrals, and the table of Phi, are good to this much.
        return bool((np.abs(mean - exact) < limit * error + 2e-5).all())

    assert agrees(mechanism)
    if counter == "toeplitz":
        assert not agrees(quiet_counter_auditing(n_targets, 0.5, rounds, part=0.9))


@pytest.mark.parametrize(
    ("streams", "leaks", "error"), [(QUIET, 0.05394, 0.00024), (RIVAL, 0.06965, 0.0013)], ids=["quiet", "rival"]
)
def test_two_targets_eight_rounds(streams: Streams, leaks: float, error: float) -> None:
    """Total variation by adding up all 256 transcripts; `leaks` is by exact integration (the long test below).

    `error` is the standard deviation over seeds at so many particles; five of them fail less than once in a million.
    """
    mechanism = dn.CounterAuditing.calibrate(2, 0.1, 8)
    filed, not_filed = np.exp(log_likelihoods(mechanism, *streams, transcripts(2, 8), particles=2000))
    assert filed.sum() == pytest.approx(1, abs=0.02)
    assert np.abs(filed - not_filed).sum() / 2 == pytest.approx(leaks, abs=5 * error)


@pytest.mark.long
@pytest.mark.parametrize(("streams", "leaks"), [(QUIET, 0.05394), (RIVAL, 0.06965)], ids=["quiet", "rival"])
def test_two_targets_eight_rounds_exactly(streams: Streams, leaks: float) -> None:
    """By integration, and by games whose referee sees the noisy counts, to 5 standard errors (below 1e-6)."""
    mechanism = dn.CounterAuditing.calibrate(2, 0.1, 8)
    audits = transcripts(2, 8)
    law = np.array([[transcript_probability(mechanism, s, a) for a in audits] for s in streams])
    np.testing.assert_allclose(law.sum(axis=1), 1, atol=1e-4)
    assert np.abs(law[1] - law[0]).sum() / 2 == pytest.approx(leaks, abs=2e-5)
    signs = dict(zip(map(tuple, audits.tolist()), law[1] - law[0], strict=True))
    value, error = leak(
        mechanism, *streams, score=lambda seen: np.array([signs[tuple(a)] for a in seen.tolist()]), games=100_000
    )
    assert abs(value - leaks) < 5 * error < 0.002


def test_exchanging_the_streams_changes_the_sign_alone() -> None:
    for n_targets, rounds in ((2, 6), (8, 20)):
        mechanism = dn.CounterAuditing.calibrate(n_targets, 0.2, rounds)
        not_filed, filed = report(np.ones((rounds, n_targets), dtype=np.int64), at=2)
        audits = np.random.default_rng(0).integers(0, n_targets, (6, rounds))
        ratio = partial(log_likelihood_ratio, mechanism, audits=audits, particles=200)
        one = ratio(not_filed, filed)
        np.testing.assert_allclose(ratio(filed, not_filed), -one, atol=1e-12)
        assert np.all(ratio(filed, filed) == 0)


def test_the_ratio_is_a_function_of_the_transcript() -> None:
    mechanism = dn.CounterAuditing.calibrate(6, 0.2, 20)
    streams = report(np.zeros((20, 6), dtype=np.int64))
    audits = np.random.default_rng(0).integers(0, 6, (8, 20))
    whole = log_likelihood_ratio(mechanism, *streams, audits)
    assert np.array_equal(log_likelihood_ratio(mechanism, *streams, audits[[5, 3, 5]]), whole[[5, 3, 5]])
    assert not np.array_equal(log_likelihood_ratio(mechanism, *streams, audits, seed=1), whole)
    assert log_likelihood_ratio(mechanism, *streams, audits[:0]).shape == (0,)


def test_one_round_of_many_targets_is_exact() -> None:
    """With nothing in the past, both worlds' probabilities are one-dimensional integrals."""
    mechanism = dn.CounterAuditing.calibrate(200, 0.1, 1)
    found = log_likelihood_ratio(mechanism, *report(ahead(200, 10)), np.array([[0], [1]]), particles=20_000)
    less, more = (chance_of_first(200, lead) for lead in (10, 11))
    expected = [np.log(more / less), np.log((1 - more) / (1 - less))]
    np.testing.assert_allclose(found, expected, atol=0.01)


def test_separate_clouds_are_as_good_a_score_as_whole_ones() -> None:
    """5 targets, 20 rounds: whole clouds still work there, and the two agree."""
    mechanism = dn.CounterAuditing.calibrate(5, 0.1, 24)
    streams = report(np.zeros((24, 5), dtype=np.int64))
    audits = dn.simulate(mechanism, np.broadcast_to(streams[0], (60, 24, 5)), seed=3).audits
    separate = log_likelihood_ratio(mechanism, *streams, audits, particles=1000)
    filed, not_filed = log_likelihoods(mechanism, *streams, audits, particles=2000)
    assert np.corrcoef(separate, filed - not_filed)[0, 1] > 0.97


def test_rules_are_followed() -> None:
    """Two targets in turn: the transcript says nothing, and the particles know."""
    rules = dn.Rules(max_gap=2)
    mechanism = dn.CounterAuditing.calibrate(2, 0.5, rules=rules)
    streams = report([[0, 0]] * 6, at=2)
    audits = np.array([[0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0]])
    np.testing.assert_allclose(log_likelihood_ratio(mechanism, *streams, audits, particles=4000), 0, atol=0.1)
    filed, _ = log_likelihoods(mechanism, *streams, audits, particles=4000)
    np.testing.assert_allclose(np.exp(filed), 0.5, atol=0.05)  # the first audit alone is drawn


def test_a_moved_report_counts_for_both_targets() -> None:
    mechanism = dn.CounterAuditing.calibrate(3, 0.5, 1)
    pair = moved_report("", np.zeros((1, 3), dtype=np.int64), 0)
    ratios = log_likelihood_ratio(mechanism, pair.not_filed, pair.filed, np.array([[0], [1], [2]]), particles=20_000)
    assert ratios[0] > 0.5
    np.testing.assert_allclose(ratios[0] + ratios[1], 0, atol=0.1)
    np.testing.assert_allclose(ratios[2], 0, atol=0.05)


def test_the_counter_with_a_quarter_of_its_sigma_is_flagged() -> None:
    """Claims 0.1 and leaks 0.206 by its transcript (by exact integration), twice the claim."""
    control = quiet_counter_auditing(2, 0.1, 8, part=0.25)
    filed, not_filed = np.exp(log_likelihoods(control, *QUIET, transcripts(2, 8), particles=1000))
    assert np.abs(filed - not_filed).sum() / 2 > 0.15
    pair = Pair("quiet", *QUIET)
    result = play(control, pair, games=8000, failure_probability=1e-3, adversary=Particles())
    assert result.lower_bound > control.guarantee().delta == pytest.approx(0.1)
    assert result.flagged
    right = play(dn.CounterAuditing.calibrate(2, 0.1, 8), pair, games=8000, failure_probability=1e-6)
    assert right.adversary == "particles"
    assert not right.flagged  # in one of a million seeds it would be


@pytest.mark.long
@pytest.mark.parametrize(("name", "streams", "share"), DECLARED, ids=[name for name, _, _ in DECLARED])
def test_declared_pairs(name: str, streams: Streams, share: float) -> None:
    """The share of delta, to 5 standard errors (below 1e-6), never above delta; and particles are no weaker than the
    black box on the same games.
    """
    mechanism, games = mechanism_for(streams), games_of(streams)
    value, error = leak(mechanism, *streams, games=games, seed=1)
    other, other_error = leak(mechanism, *streams, score=learnt(mechanism, streams), games=games, seed=1)
    print(
        f"\n{name}: {value:.4f} +- {error:.4f}, {value / 0.1:.0%} of delta; black box {other:.4f} +- {other_error:.4f}"
    )
    assert abs(value - share * 0.1) < 5 * error + 0.001
    assert value < 0.1 + 5 * error
    assert value > other - 5 * np.hypot(error, other_error)


class MyOwn(dn.CounterAuditing[ToeplitzState]):
    def draw(self, tallied: Any, eligible: BoolArray, history: Any, noise: Any) -> IntArray:
        return super().draw(-tallied, eligible, history, noise)


def test_what_particles_cannot_follow_is_refused() -> None:
    followed = {name for name in COUNTERS if can_follow(dn.CounterAuditing.calibrate(2, 0.1, 30, name))}
    assert followed == set(COUNTERS) - {"tree"}
    refused: list[Mechanism[Any]] = [
        dn.Race(2, 1.5),
        MyOwn(2, dn.counters.toeplitz(0.1, 1)),
        dn.CounterAuditing.calibrate(2, 0.1, 9, "tree"),
    ]
    for mechanism in refused:
        assert not can_follow(mechanism)
        rounds = mechanism.guarantee().horizon or 1
        with pytest.raises(dn.DeniableError, match="black box"):
            log_likelihood_ratio(mechanism, *report(stream(rounds, 2)), np.zeros((1, rounds), dtype=np.int64))
    tca = dn.CounterAuditing.calibrate(2, 0.1, 1)
    with pytest.raises(dn.DeniableError, match="particles must be"):
        log_likelihood_ratio(tca, [[0, 0]], [[1, 0]], np.array([[0]]), particles=0)
    with pytest.raises(dn.DeniableError, match="covers 1 rounds"):
        log_likelihood_ratio(tca, *report(stream(2, 2)), np.array([[0, 0]]))
