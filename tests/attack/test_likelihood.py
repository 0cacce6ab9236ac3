"""Closed-form likelihoods are those of the exact enumeration, at any size."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.attack.controls import (
    DrawsOnTiesAlone,
    EagerRandomizedResponse,
    OverruledRace,
    OwnRandomRace,
    RaceForecastingFromCounts,
    RaceForgettingOneAudit,
    RaceWithoutReset,
    UniformOffset,
    WithReplacement,
    quiet_counter_auditing,
)

import deniable as dn
from deniable.arrays import BoolArray, IntArray
from deniable.attack import UnsuitableError, transcript_distribution
from deniable.attack.likelihood import has_closed_form, log_likelihood, log_likelihood_ratio
from deniable.mechanisms import Mechanism
from deniable.noise import Noise
from deniable.rules import History
from deniable.streams import add_report

MECHANISMS = [
    dn.Greedy(3),
    dn.Greedy(3, rules=dn.Rules(cooldown=1)),
    dn.UniformRandom(3),
    dn.UniformRandom(3, rules=dn.Rules(max_gap=3)),
    dn.RandomizedResponse(3, 0.8),
    dn.RandomizedResponse(3, 1.0),
    dn.RandomizedResponse(3, 0.8, rules=dn.Rules(max_gap=4, cooldown=1)),
    dn.Race(3, 2.0),
    dn.Race(3, 2.0, (1.0, 3.0, 0.2)),
    dn.Race(3, 2.0, dn.forecast, rules=dn.Rules(max_gap=4, cooldown=1)),
    dn.Race(3, 2.0, dn.steady_forecast, rules=dn.Rules(max_gap=4, cooldown=2)),
    RaceWithoutReset(3, 2.0),
    RaceForecastingFromCounts(3, 2.0),
    EagerRandomizedResponse(3, 0.97),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{type(m).__name__}-{m.rules}")
def test_likelihoods_are_those_of_the_enumeration(mechanism: Mechanism[Any]) -> None:
    """Every transcript there is, impossible ones included."""
    stream = np.random.default_rng(5).poisson(0.8, (4, 3))
    law = transcript_distribution(mechanism, stream)
    # With a max_gap, transcripts that break it are no outcome; the rules would refuse to go on after them.
    possible = [t for t in np.ndindex(3, 3, 3, 3) if t in law or mechanism.rules.max_gap is None]
    expected = [float(law.get(transcript, 0)) for transcript in possible]
    found = np.exp(log_likelihood(mechanism, stream, np.array(possible)))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


SEVERAL = [
    dn.Greedy(3, rules=dn.Rules(cooldown=1)),
    dn.UniformRandom(3, rules=dn.Rules(max_gap=2)),
    dn.Race(3, 2.0),
    dn.Race(3, 2.0, (1.0, 3.0, 0.2), rules=dn.Rules(max_gap=2)),
    dn.Race(3, 2.0, (1.0, 3.0, 0.2), rules=dn.Rules(max_gap=3, cooldown=1)),
    dn.Race(3, 2.0, dn.forecast, rules=dn.Rules(cooldown=1)),
    RaceForecastingFromCounts(3, 2.0),
    RaceForgettingOneAudit(3, 2.0),
    dn.Race(3, 2.0, rules=WithReplacement()),
]


@pytest.mark.parametrize("mechanism", SEVERAL, ids=lambda m: f"{type(m).__name__}-{m.rules}")
def test_likelihoods_of_two_audits_a_round_are_those_of_the_enumeration(mechanism: Mechanism[Any]) -> None:
    """In the order drawn; a target twice in a round included, which is impossible but with replacement."""
    assert has_closed_form(mechanism, audits=2)
    stream = np.random.default_rng(5).poisson(0.8, (3, 3))
    law = transcript_distribution(mechanism, stream, audits=2)
    every: Any = itertools.product(itertools.product(range(3), repeat=2), repeat=3)
    possible = [t for t in every if t in law or mechanism.rules.max_gap is None]
    expected = [float(law.get(transcript, 0)) for transcript in possible]
    found = np.exp(log_likelihood(mechanism, stream, np.array(possible)))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


def by_hand(transcript: Any, stream: IntArray, weights: Sequence[float], rules: dn.Rules) -> float:
    """The probability of a transcript of race with rho = 2, from the definitions: draws in proportion to
    weight * rho**count; a draw must leave every max_gap within reach, and cooldown gives way where it leaves none.
    """
    n_targets, probability = len(weights), 1.0
    counts, since, audited = np.zeros(n_targets), [0] * n_targets, [False] * n_targets
    for reports, drawn in zip(stream, transcript, strict=True):
        counts = counts + reports
        left = set(range(n_targets))
        for j, c in enumerate(drawn):
            open_ = {i for i in left if can_be_met(left - {i}, since, rules.max_gap, len(drawn), j + 1)}
            rested = {i for i in open_ if not audited[i] or since[i] >= rules.cooldown}
            chances = {i: weights[i] * 2.0 ** counts[i] for i in rested or open_}
            probability *= chances.get(c, 0.0) / sum(chances.values())
            left -= {c}
        for c in range(n_targets):
            since[c] = 0 if c in drawn else since[c] + 1
        for c in drawn:
            counts[c], audited[c] = 0, True
    return probability


def can_be_met(left: set[int], since: Sequence[int], max_gap: int | None, audits: int, drawn: int) -> bool:
    """Whether the targets that are left can all be audited in time, when so many of this round are drawn."""
    if max_gap is None:
        return True
    due = [max_gap - since[i] for i in left]
    return all(sum(d <= m for d in due) <= audits * m - drawn for m in range(1, max_gap + 1))


@pytest.mark.parametrize("audits", [1, 2])
@pytest.mark.parametrize(
    "rules", [dn.Rules(), dn.Rules(max_gap=3), dn.Rules(cooldown=1), dn.Rules(max_gap=4, cooldown=2)], ids=str
)
def test_likelihoods_are_those_by_hand(rules: dn.Rules, audits: int) -> None:
    """Rules and draws written down once more, without the code of the mechanism."""
    weights = (2.0, 1.0, 4.0)
    race, stream = dn.Race(3, 2.0, weights, rules=rules), np.array([[1, 0, 0], [0, 2, 1], [1, 1, 0], [0, 0, 3]])
    law = transcript_distribution(race, stream[: 5 - audits], audits)
    transcripts = np.array(list(law))
    found = np.exp(log_likelihood(race, stream, transcripts))
    each = transcripts.reshape(*transcripts.shape[:2], audits).tolist()
    expected = [by_hand(transcript, stream[: 5 - audits], weights, rules) for transcript in each]
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    assert sum(expected) == pytest.approx(1)
    other = [by_hand(transcript, stream[: 5 - audits], (1.0, 1.0, 4.0), rules) for transcript in each]
    assert not np.allclose(found, other, rtol=1e-8)  # the negative control


def test_tight_rules_have_a_closed_form() -> None:
    """Where every draw is spoken for, or every target is audited in every round."""
    for n_targets, audits, max_gap in ((4, 2, 2), (5, 3, 2), (3, 3, 1), (6, 2, 3)):
        assert has_closed_form(dn.Race(n_targets, 1.5, rules=dn.Rules(max_gap=max_gap)), audits)


def test_a_coin_that_stays_in_the_state_is_refused() -> None:
    class KeepsItsCoin(dn.Race):
        def tally(self, private: IntArray, reports: IntArray, noise: Noise) -> tuple[IntArray, IntArray]:
            return super().tally(private, reports + noise.bernoulli(Fraction(1, 2), len(reports))[:, None], noise)

    assert not has_closed_form(KeepsItsCoin(2, 1.5))


def test_a_shorter_transcript_is_a_prefix() -> None:
    race, stream = dn.Race(2, 2.0), np.array([[1, 0], [0, 2], [1, 1]])
    audits = np.array([[0, 1], [1, 1]])
    both = [np.hstack([audits, np.full((2, 1), c)]) for c in range(2)]
    whole = sum(np.exp(log_likelihood(race, stream, longer)) for longer in both)
    np.testing.assert_allclose(np.exp(log_likelihood(race, stream, audits)), whole)


def test_the_number_of_runs_at_once_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    race = dn.Race(3, 2.0, dn.forecast)
    stream = np.random.default_rng(0).poisson(1, (9, 3))
    audits = np.random.default_rng(1).integers(0, 3, (20, 9))
    whole = log_likelihood(race, stream, audits)
    monkeypatch.setattr("deniable.attack.likelihood.RUNS_AT_ONCE", 7)
    assert np.array_equal(log_likelihood(race, stream, audits), whole)
    assert log_likelihood(race, stream, audits[:0]).shape == (0,)


def test_race_never_exceeds_its_cap_over_many_rounds() -> None:
    """Any transcript will do, likely or not: the cap is for all of them."""
    race = dn.Race.calibrate(50, 0.1)
    stream = np.random.default_rng(0).poisson(0.2, (300, 50))
    audits = np.random.default_rng(1).integers(0, 50, (50, 300))
    for at in (0, 150, 290):
        ratios = log_likelihood_ratio(race, stream, add_report(stream, at, 0), audits)
        assert ratios.max() <= np.log(race.rho) + 1e-9
        assert ratios.min() < 0 < ratios.max()
    without_reset = RaceWithoutReset(50, race.rho)
    ratios = log_likelihood_ratio(without_reset, stream, add_report(stream, 0, 0), audits)
    assert ratios.max() > 2 * np.log(race.rho)


def test_what_only_one_world_explains() -> None:
    ratios = log_likelihood_ratio(dn.Greedy(2), [[0, 1]] * 2, [[0, 1], [1, 1]], np.array([[1, 0], [1, 1], [0, 1]]))
    assert np.isposinf(ratios[0])
    assert ratios[1] == pytest.approx(np.log(0.5))
    assert np.isnan(ratios[2])  # in neither world


class ChangesItsMind(dn.Race):
    """Draws, and then audits the next target."""

    def draw(self, tallied: IntArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        return (super().draw(tallied, eligible, history, noise) + 1) % self.n_targets


class DrawsTwice(dn.Race):
    def draw(self, tallied: IntArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        super().draw(tallied, eligible, history, noise)
        return super().draw(tallied, eligible, history, noise)


class Deterministic(dn.Race):
    def draw(self, tallied: IntArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        return np.zeros(len(tallied), dtype=np.int64)


class AsksForMore(dn.Race):
    """Asks its noise for what there is not: a bug of its own, not an error of ours."""

    def draw(self, tallied: IntArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        return noise.shuffle(tallied)  # type: ignore[attr-defined,no-any-return]


def test_a_draw_that_does_not_decide_is_refused() -> None:
    """What comes out is what was forced, as long as nothing else is: only a second target shows it."""
    overruled, busy = OverruledRace(2, 1.5), np.array([[0, 10]])
    assert log_likelihood(overruled, [[0, 0]], np.array([[1]])) == pytest.approx(np.log(0.5))
    with pytest.raises(UnsuitableError):
        log_likelihood(overruled, busy, np.array([[1]]))


@pytest.mark.parametrize("mechanism", [OwnRandomRace(3, 1.5), DrawsOnTiesAlone(3, 1.5)])
def test_what_shows_in_several_runs_alone_is_refused(mechanism: Mechanism[Any]) -> None:
    assert not has_closed_form(mechanism)


def test_mechanisms_without_a_closed_form_are_refused() -> None:
    refused: list[Mechanism[Any]] = [
        quiet_counter_auditing(2, 0.1, 4, 0.5),
        UniformOffset(2, width=3, uniform_ties=True),
        ChangesItsMind(2, 1.5),
        DrawsTwice(2, 1.5),
        Deterministic(2, 1.5),
        AsksForMore(2, 1.5),
    ]
    for mechanism in refused:
        assert not has_closed_form(mechanism)
        with pytest.raises(dn.DeniableError, match="black box"):
            log_likelihood(mechanism, [[0, 0]], np.array([[0]]))
    assert all(map(has_closed_form, MECHANISMS))


@pytest.mark.parametrize(
    ("stream", "audits", "message"),
    [
        ([[0, 0, 0]], [[0]], "a round has 2 counts"),
        ([0, 0], [[0]], r"shape \(rounds, targets\)"),
        ([[0, 0]], [0], r"shape \(runs, rounds\)"),
        ([[0, 0]], [[0.5]], "whole numbers"),
        ([[0, 0]], [[0, 1]], "no longer than the stream"),
        ([[0, 0]], [[2]], r"targets in 0\.\.1"),
    ],
)
def test_bad_input_gets_one_sentence(stream: Any, audits: Any, message: str) -> None:
    with pytest.raises(dn.DeniableError, match=message):
        log_likelihood(dn.Greedy(2), stream, np.array(audits))
