"""Visits by a deadline: against exact enumeration, against simulation, and at their limits."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.attack import transcript_distribution
from deniable.errors import DeniableError
from deniable.languages.voice import plain
from deniable.mechanisms import Mechanism, calibrate
from deniable.promptness import (
    Deadline,
    audits_for_certainty,
    audits_needed,
    cost,
    deadline_in_words,
    least_audits,
    least_visited_anyway,
    visit_chance,
)
from deniable.simulation.noise import SimulationNoise


def enumerated(mechanism: Mechanism[Any], rounds: int, audits: int, reports: int) -> Fraction:
    """By the draws of a real run, all of them: target 0 has the reports in the first round, and no other has any."""
    stream = np.zeros((rounds, mechanism.n_targets), dtype=np.int64)
    stream[0, 0] = reports
    law = transcript_distribution(mechanism, stream, audits)
    return sum((chance for transcript, chance in law.items() if 0 in np.ravel(transcript)), Fraction(0))


@pytest.mark.parametrize(
    ("mechanism_id", "targets", "rounds", "audits"),
    [("race", 3, 3, 1), ("race", 4, 2, 2), ("rr", 3, 3, 1), ("uniform", 3, 2, 2)],
)
def test_it_is_what_enumeration_finds(mechanism_id: str, targets: int, rounds: int, audits: int) -> None:
    """Negative control: with a report and without one it is not the same."""
    mechanism = calibrate(mechanism_id, targets, 0.3)
    exact = [enumerated(mechanism, rounds, audits, reports) for reports in (0, 1)]
    assert (exact[0] < exact[1]) == (mechanism_id != "uniform")
    for reports in (0, 1):
        found = visit_chance(mechanism, rounds, audits, reports)
        assert found is not None
        assert found.low <= exact[reports] <= found.high
        assert found.high - found.low < 1e-14


CASES = [
    (1, 7, dn.Rules()), (3, 3, dn.Rules()), (2, 6, dn.Rules(cooldown=3)), (2, 6, dn.Rules(9)), (2, 7, dn.Rules(10, 3)),
]  # fmt: skip


def simulated(mechanism: Mechanism[Any], rounds: int, audits: int, runs: int) -> float:
    """The share visited by the deadline when target 0 was audited in the round before its report."""
    noise, state = SimulationNoise(seed=3), mechanism.init(runs)
    counts = np.zeros((runs, mechanism.n_targets), dtype=np.int64)
    for _ in range(30):
        drawn, state = mechanism.step(state, counts, noise, audits)
    # By symmetry any target that was just audited may be the one.
    one, visited = drawn[:, 0], np.zeros(runs, dtype=np.bool_)
    counts[np.arange(runs), one] = 1
    for _ in range(rounds):
        drawn, state = mechanism.step(state, counts, noise, audits)
        visited |= (drawn == one[:, None]).any(axis=1)
        counts[:] = 0
    return float(visited.mean())


@pytest.mark.parametrize(("audits", "rounds", "rules"), CASES)
def test_it_is_what_simulation_finds(audits: int, rounds: int, rules: dn.Rules) -> None:
    """Failure probability 1e-6 a comparison, by Hoeffding's inequality; a deadline of one round less, and no report,
    are caught by the same check.
    """
    runs = 8000
    race = dn.Race.calibrate(12, 0.4, rules=rules)
    found, share = visit_chance(race, rounds, audits), simulated(race, rounds, audits, runs)
    off = math.sqrt(math.log(2e6) / (2 * runs))
    assert found is not None
    assert found.kind == "exact"
    assert abs(found.low - share) <= off
    for wrong in (visit_chance(race, rounds - 1, audits), visit_chance(race, rounds, audits, reports=0)):
        assert wrong is not None
        assert abs(wrong.low - share) > off


def test_the_estimate_for_many_targets_is_near() -> None:
    """As the exact chain has it for as many targets as it can follow."""
    small = dn.Race.calibrate(60, 0.2, rules=dn.Rules(40))
    large = dn.Race.calibrate(600, 0.2, rules=dn.Rules(40))
    exact, estimate = visit_chance(small, 20, 2), visit_chance(large, 20, 20)
    assert exact is not None
    assert estimate is not None
    assert (exact.kind, estimate.kind) == ("exact", "about")
    assert estimate.low == pytest.approx(exact.low, abs=0.03)


def test_as_many_audits_as_needed_and_no_fewer() -> None:
    race = dn.Race.calibrate(50, 0.1)
    for rounds, probability in ((13, 0.9), (13, 0.5), (1, 0.9), (100, 0.99)):
        needed = audits_needed(race, Deadline(rounds, probability))
        assert needed is not None
        enough, fewer = (visit_chance(race, rounds, audits) for audits in (needed, needed - 1))
        assert enough is not None
        assert enough.low >= probability
        assert needed == 1 or (fewer is not None and fewer.high < probability)
        assert needed >= least_audits(50, Deadline(rounds, probability), race.guarantee().delta)


def test_no_visit_is_more_probable_than_the_promise_allows() -> None:
    """P[visited] - P[visited anyway] is at most delta for every mechanism that has one."""
    for mechanism_id in ("race", "rr"):
        mechanism = calibrate(mechanism_id, 20, 0.2)
        for rounds in (1, 5, 25, 125):
            found = cost(mechanism, Deadline(rounds), 1)
            assert found is not None
            assert found.visited.low - found.anyway.high <= mechanism.guarantee().delta
    found = cost(dn.Greedy(20), Deadline(5), 1)
    assert found is not None
    assert found.visited.low - found.anyway.high == pytest.approx(found.forced_delta) == pytest.approx(0.95**5)


def test_limits_for_every_mechanism() -> None:
    deadline = Deadline(13)
    assert least_visited_anyway(deadline, 0.1) == Fraction(9, 10) - Fraction(0.1)
    assert least_visited_anyway(deadline, 0.95) == 0
    assert least_audits(50, deadline, 0.95) == 1
    assert least_audits(1300, deadline, 0.5) == 40
    assert audits_for_certainty(50, deadline) == 4
    assert audits_for_certainty(52, deadline) == 4


def test_a_longest_gap_of_the_deadline_makes_it_certain_even_for_counters() -> None:
    rules = dn.Rules(max_gap=13)
    for mechanism in (dn.Race.calibrate(50, 0.1, rules=rules), dn.CounterAuditing.calibrate(50, 0.1, 13, rules=rules)):
        assert audits_needed(mechanism, Deadline(13)) == 4
        assert (
            "certain, with a report and without one" in deadline_in_words(mechanism, "it", Deadline(13), 4, plain())[0]
        )


def test_what_has_no_formula_says_so() -> None:
    counters = dn.CounterAuditing.calibrate(50, 0.1, 1000)
    assert visit_chance(counters, 13, 2) is None
    assert audits_needed(counters, Deadline(13)) is None
    assert "cannot be calculated" in deadline_in_words(counters, "counter auditing", Deadline(13), 1, plain())[0]
    rr = dn.RandomizedResponse.calibrate(50, 0.1)
    assert audits_needed(rr, Deadline(13)) is None
    assert "no number of audits" in deadline_in_words(rr, "rr", Deadline(13), 1, plain())[0]


def test_a_rest_that_is_cut_short_gives_a_lower_limit() -> None:
    race = dn.Race.calibrate(5, 0.3, rules=dn.Rules(cooldown=2))
    found = visit_chance(race, 4, 2)
    assert found is not None
    assert (found.kind, found.high) == ("at least", 1.0)
    assert found.low <= simulated(race, 4, 2, 4000) + 0.05


def test_a_lower_limit_is_said_as_one() -> None:
    """How probable a visit is at most is not known, with a report or without one: 1.0 stands in its place."""
    race, deadline = dn.Race.calibrate(5, 0.1, rules=dn.Rules(cooldown=2)), Deadline(4)
    found = cost(race, deadline, 2)
    assert found is not None
    assert (found.anyway.kind, round(found.anyway.low, 4)) == ("at least", 0.64)
    enough, today, *others = deadline_in_words(race, "race", deadline, 2, plain())
    assert enough.endswith("comes in at least 90 cases of 100 after one report, and in at least 83.9 without any.")
    assert today.endswith(" it is at least 72.5 cases of 100, against at least 63.9 without any report.")
    assert not any("force delta" in sentence for sentence in (enough, today, *others))


def test_an_estimate_is_said_as_one() -> None:
    race, deadline = dn.Race.calibrate(600, 0.1, rules=dn.Rules(max_gap=40)), Deadline(13)
    found = cost(race, deadline, 15)
    assert found is not None
    assert (found.visited.kind, found.anyway.kind) == ("about", "about")
    enough, today, *_ = deadline_in_words(race, "race", deadline, 15, plain())
    assert " in about 90 cases of 100, you need about " in enough
    assert " Then the visit comes in about " in enough
    assert " after one report, and in about " in enough
    assert " would then force delta up to about " in today
    assert "at least" not in enough + today


def test_bad_deadlines() -> None:
    for rounds, probability, words in (
        (0, 0.9, "whole number of at least 1"), (1.5, 0.9, "whole number"), (13, 1.0, "less than 1"),
        (13, 0.0, "more than 0"), (13, math.nan, "probability"),
    ):  # fmt: skip
        with pytest.raises(DeniableError, match=words):
            Deadline(rounds, probability)  # type: ignore[arg-type]
    with pytest.raises(DeniableError, match="longer than the rest"):
        Deadline(3).check_rules(dn.Rules(cooldown=3), None)
    with pytest.raises(DeniableError, match="horizon"):
        Deadline(30).check_rules(dn.Rules(), 20)
    Deadline(3).check_rules(dn.Rules(max_gap=3, cooldown=3), None)  # the longest gap comes first
