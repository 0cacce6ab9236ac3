"""Games against what is deployed: several audits a round, public rules and weights, and bugs that only these have."""

from typing import Any

import numpy as np
import pytest
from tests.attack.controls import (
    LooseRace,
    RaceFallingBackOnTheLeader,
    RaceForecastingFromCounts,
    RaceForgettingOneAudit,
    RaceIgnoringEligibility,
    RaceTakingReportsForAudits,
    WithReplacement,
    quiet_counter_auditing,
)

import deniable as dn
from deniable.attack import (
    OWN_TARGET,
    BlackBox,
    ClosedForm,
    Enumeration,
    Particles,
    UnsuitableError,
    find_worst,
    hard_pairs,
    moved_pairs,
    play,
    report_at,
    rivals_needed,
    search,
    strongest,
    total_variation,
    transcript_distribution,
)
from deniable.attack.noisy_counts import simulate_noisy_counts
from deniable.mechanisms import Mechanism

RHO = dn.Race.calibrate(2, 0.1).rho
SOUND: dict[str, tuple[Mechanism[Any], int]] = {
    "two audits": (dn.Race(5, RHO), 2),
    "two audits, max_gap": (dn.Race(5, RHO, rules=dn.Rules(max_gap=3)), 2),
    "two audits, max_gap, cooldown, forecast": (dn.Race(5, RHO, dn.forecast, rules=dn.Rules(4, 1)), 2),
    "two audits, cooldown, steady forecast": (dn.Race(5, RHO, dn.steady_forecast, rules=dn.Rules(cooldown=1)), 2),
    "three audits, weights": (dn.Race(5, RHO, (1.0, 5.0, 0.2, 2.0, 1.0)), 3),
    "cooldown, weights": (dn.Race(5, RHO, (0.2, 1.0, 1.0, 1.0, 5.0), rules=dn.Rules(cooldown=2)), 1),
    "rr, max_gap, cooldown": (dn.RandomizedResponse.calibrate(5, 0.1, 12, rules=dn.Rules(8, 1)), 1),
    "uniform, two audits, max_gap": (dn.UniformRandom(5, rules=dn.Rules(max_gap=4)), 2),
}


def pairs_for(mechanism: Mechanism[Any], audits: int, horizon: int) -> Any:
    rivals = rivals_needed(mechanism.n_targets, audits, mechanism.rules.cooldown)
    return hard_pairs(mechanism.n_targets, horizon, rivals=rivals)


@pytest.mark.parametrize("name", SOUND)
def test_sound_configurations_are_not_flagged(name: str) -> None:
    """At a failure probability of 1e-6, on every third hard pair, by the likelihood of what is deployed."""
    mechanism, audits = SOUND[name]
    pairs = pairs_for(mechanism, audits, 12)[::3]
    for result in search(mechanism, pairs, 1000, failure_probability=1e-6, audits=audits):
        assert result.adversary == "likelihood"
        assert not result.flagged
        assert result.largest_ratio is not None
        assert result.largest_ratio <= mechanism.guarantee().likelihood_cap * (1 + 1e-9)


PLANTED: dict[str, tuple[Mechanism[Any], int]] = {
    "weights from private counts": (RaceForecastingFromCounts(5, RHO), 2),
    "weights from private counts, max_gap": (RaceForecastingFromCounts(5, RHO, rules=dn.Rules(max_gap=4)), 2),
    "a forecast that takes reports for audits": (RaceTakingReportsForAudits(5, RHO, dn.forecast), 2),
    "the second audit is not reset": (RaceForgettingOneAudit(5, RHO), 2),
    "drawn with replacement": (dn.Race(5, RHO, rules=WithReplacement()), 2),
    "calibrated for twice the claim": (LooseRace(5, dn.Race.calibrate(2, 0.2).rho), 2),
    "calibrated for twice the claim, forecast": (
        LooseRace(5, dn.Race.calibrate(2, 0.2).rho, dn.forecast, rules=dn.Rules(4, 1)),
        2,
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_bugs_are_flagged(name: str) -> None:
    mechanism, audits = PLANTED[name]
    assert mechanism.guarantee().delta == pytest.approx(0.1)
    worst, tried = find_worst(mechanism, pairs_for(mechanism, audits, 12), 2000, audits=audits)
    assert worst.adversary == "likelihood"
    assert worst.flagged
    assert any(result.flagged for result in tried)


@pytest.mark.parametrize("rules", [dn.Rules(max_gap=3), dn.Rules(cooldown=1)], ids=str)
def test_a_race_that_repairs_its_draw_with_the_leader_is_flagged(rules: dn.Rules) -> None:
    """The rules are kept, and reports decide whenever they forbid what was drawn; the race that heeds them is sound."""
    pair = next(pair for pair in hard_pairs(3, 4) if pair.name == "runner-up, early")
    broken = play(RaceFallingBackOnTheLeader(3, RHO, rules=rules), pair, 4000)
    assert (broken.adversary, broken.flagged) == ("exact", True)
    assert broken.leak.value > 0.14
    assert not play(dn.Race(3, RHO, rules=rules), pair, 4000).flagged


def test_a_race_that_breaks_its_rules_is_never_called_sound() -> None:
    pair = hard_pairs(3, 12)[0]
    with pytest.raises(dn.DeniableError, match="longest gap"):
        play(RaceIgnoringEligibility(3, RHO, rules=dn.Rules(max_gap=3)), pair, 400)


@pytest.mark.parametrize(
    ("mechanism", "audits"),
    [
        (dn.Race(3, 2.0, (1.0, 2.0, 0.5)), 2),
        (dn.Race(3, 2.0, dn.forecast, rules=dn.Rules(max_gap=2, cooldown=1)), 2),
        (dn.Race(2, 2.0, rules=dn.Rules(max_gap=3, cooldown=1)), 1),
        (dn.Greedy(3, rules=dn.Rules(cooldown=1)), 2),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else f"{type(value).__name__}-{value.rules}",
)
def test_likelihood_and_enumeration_agree(mechanism: Mechanism[Any], audits: int) -> None:
    """On the same games; the estimate to 5 standard errors (below 1e-6)."""
    for pair in hard_pairs(mechanism.n_targets, 3)[1::6]:
        exact = play(mechanism, pair, 2000, adversary=Enumeration(), audits=audits)
        estimated = play(mechanism, pair, 2000, adversary=ClosedForm(), audits=audits)
        assert estimated.event == exact.event
        laws = (transcript_distribution(mechanism, stream, audits) for stream in (pair.filed, pair.not_filed))
        assert exact.leak.value == float(total_variation(*laws))
        assert abs(estimated.leak.value - exact.leak.value) <= 5 * estimated.leak.standard_error + 1e-9


def test_who_sees_its_own_target_alone_adds_up_the_audits_of_a_round() -> None:
    """One round, two of three targets: own is audited with 1/2 + 1/2 * 2/3 if it has a report at rho = 2, or 2/3."""
    pair = report_at("quiet", [[0, 0, 0]], 0)
    own = play(dn.Race(3, 2.0), pair, 40, view=OWN_TARGET, audits=2)
    assert own.adversary == "exact"
    assert own.leak.value == pytest.approx(5 / 6 - 2 / 3)


def test_a_moved_report_with_two_audits_a_round_stays_below_two_delta() -> None:
    race = dn.Race.calibrate(4, 0.1)
    results = search(race, moved_pairs(4, 6, rivals=2), 1000, failure_probability=1e-6, audits=2)
    assert results[0].leak.value > 0.1
    assert not any(result.flagged for result in results)


def test_more_rivals_are_needed_to_find_the_worst_of_several_audits() -> None:
    """With one busy rival, the second audit of every round may be the target's: it does not wait, and tells less."""
    race = dn.Race.calibrate(5, 0.1)
    one, two = (
        play(race, next(p for p in hard_pairs(5, 30, rivals=n) if p.name == "busy rival, early"), 6000, audits=2)
        for n in (1, 2)
    )
    assert two.leak.value - one.leak.value > 5 * np.hypot(one.leak.standard_error, two.leak.standard_error)


# Counter auditing


def test_counter_auditing_with_rules_is_followed_by_particles() -> None:
    tca = dn.CounterAuditing.calibrate(4, 0.1, rules=dn.Rules(max_gap=6, cooldown=1))
    result = play(tca, hard_pairs(4, 10)[0], 400)
    assert result.adversary == "particles"
    assert 0 < result.leak.value <= 0.1 + 5 * result.leak.standard_error
    assert not result.flagged


def test_counter_auditing_with_two_audits_is_left_to_the_black_box() -> None:
    """And refereed by somebody who sees the noisy counts: sharper than counting; 5 standard errors (below 1e-6)."""
    tca = dn.CounterAuditing.calibrate(5, 0.1, horizon=10)
    pair = next(pair for pair in hard_pairs(5, 10, rivals=2) if pair.name == "busy rival, early")
    assert strongest(tca, pair).name == "particles"
    result = play(tca, pair, 4000, audits=2)
    assert result.adversary == "black box"
    assert result.leak.standard_error < 0.005
    assert -5 * result.leak.standard_error <= result.leak.value <= 0.1 + 5 * result.leak.standard_error
    assert not result.flagged
    with pytest.raises(UnsuitableError, match="one audit a round"):
        play(tca, pair, 40, audits=2, adversary=Particles())


def test_a_counter_with_little_noise_is_flagged_with_two_audits() -> None:
    """A tenth of the noise, by the black box."""
    quiet = quiet_counter_auditing(5, 0.1, 10, part=0.1)
    pair = next(pair for pair in hard_pairs(5, 10, rivals=2) if pair.name == "runner-up, early")
    result = play(quiet, pair, 8000, audits=2, adversary=BlackBox())
    assert result.lower_bound > 0.1


def test_simulated_noisy_counts_and_games_agree_on_two_audits() -> None:
    """How often the target is audited in the first round, in 4000 games of either kind: 5 standard errors."""
    tca = dn.CounterAuditing.calibrate(3, 0.5, horizon=2)
    stream = np.array([[2, 0, 1], [0, 0, 0]])
    _, audits = simulate_noisy_counts(tca, stream, 4000, audits=2)
    games = dn.simulate(tca, np.broadcast_to(stream, (4000, 2, 3)), audits=2).audits
    rates = [(drawn[:, 0] == 0).any(axis=1).mean() for drawn in (audits, games)]
    assert abs(rates[0] - rates[1]) < 5 * np.sqrt(0.5 / 4000)


# Refusals


@pytest.mark.parametrize(
    ("mechanism", "audits", "words"),
    [
        (dn.Race(3, 1.3), 4, "audits must be at most the number of targets, 3, got 4"),
        (dn.Race(3, 1.3), 0, "audits must be a whole number of at least 1, got 0"),
        (dn.RandomizedResponse.calibrate(3, 0.1), 2, "covers one audit a round, got 2"),
        (dn.Race(3, 1.3, rules=dn.Rules(max_gap=2)), 1, "gap, 2, cannot be kept"),
    ],
)
def test_what_is_not_covered_is_refused(mechanism: Mechanism[Any], audits: int, words: str) -> None:
    with pytest.raises(dn.DeniableError, match=words):
        play(mechanism, hard_pairs(3, 12)[0], 40, audits=audits)
