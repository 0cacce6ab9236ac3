"""The waits as they are printed, against simulation of the mechanisms that run for real."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.mechanisms import Mechanism, calibrate
from deniable.promptness import REPORTS, QuietWait, is_too_large, passed_over, quick_waits, quiet_waits
from deniable.simulation.noise import SimulationNoise

CASES = [
    (1, dn.Rules()), (3, dn.Rules()), (1, dn.Rules(cooldown=4)), (3, dn.Rules(cooldown=4)),
    (1, dn.Rules(18)), (3, dn.Rules(26)), (1, dn.Rules(26, 4)), (3, dn.Rules(6, 4)), (2, dn.Rules(9)),
]  # fmt: skip


def simulated(mechanism: Mechanism[Any], reports: int, audits: int, runs: int) -> tuple[float, float]:
    """The mean wait after 80 rounds without reports, and its standard error."""
    noise, state = SimulationNoise(seed=2), mechanism.init(runs)
    counts = np.zeros((runs, mechanism.n_targets), dtype=np.int64)
    for _ in range(80):
        _, state = mechanism.step(state, counts, noise, audits)
    counts[:, 0], waits = reports, np.zeros(runs)
    waiting = np.ones(runs, dtype=bool)
    while waiting.any():
        waits += waiting
        drawn, state = mechanism.step(state, counts, noise, audits)
        waiting &= (drawn != 0).all(axis=1)
        counts[:, 0] = 0
    return float(waits.mean()), float(waits.std(ddof=1)) / math.sqrt(runs)


@pytest.mark.parametrize(
    ("mechanism_id", "audits", "rules"),
    [("race", *case) for case in CASES]
    + [(name, *case) for name in ("greedy", "uniform") for case in CASES[5:]]
    + [("rr", *case) for case in CASES if case[0] == 1],
)
def test_waits_are_those_of_the_mechanism(mechanism_id: str, audits: int, rules: dn.Rules) -> None:
    """Failure probability 1e-6 a comparison, at 4.9 standard errors of the runs; what happens in less than 14 of them
    by a chance of 1e-6 may not have been seen at all.
    """
    runs = 1500
    mechanism = calibrate(mechanism_id, 15, 0.3, rules=rules)
    found = quiet_waits(mechanism, audits, (4,))
    assert found is not None
    mean, error = simulated(mechanism, 4, audits, runs)
    assert found[0].kind == "exact"
    assert abs(found[0].rounds - mean) <= 4.9 * error + 14 / runs


@pytest.mark.parametrize(("audits", "rules"), [case for case in CASES if case[1] not in (dn.Rules(), dn.Rules(26))])
def test_the_old_formula_is_caught_by_the_same_check(audits: int, rules: dn.Rules) -> None:
    """Negative control: 1 / (1 - missed), with neither longest gap nor rest, for many reports."""
    runs = 1500
    mechanism = calibrate("race", 15, 0.3, rules=rules)
    mean, error = simulated(mechanism, 8, audits, runs)
    old = 1 / (1 - passed_over(dn.Race.calibrate(15, 0.3), 8, audits))
    assert abs(old - mean) > 4.9 * error + 14 / runs


def test_the_rest_counts_for_a_target_that_rests_when_the_reports_come() -> None:
    """One in 20 / 3 begins its rest of 4 rounds in every round, so 3/20 * (1 + 2 + 3 + 4) rounds more on average."""
    (wait,) = quiet_waits(dn.Greedy(20, rules=dn.Rules(cooldown=4)), 3, (1,))  # type: ignore[misc]
    assert wait.rounds == pytest.approx(1 + 3 / 20 * 10)


def test_without_rules_the_wait_of_race_is_geometric() -> None:
    race = dn.Race.calibrate(50, 0.1)
    (wait,) = quiet_waits(race, 1, (10,))  # type: ignore[misc]
    assert wait.rounds == pytest.approx(1 + 49 / race.rho**10)


@pytest.mark.parametrize(("targets", "audits", "rules"), [(5, 1, dn.Rules(cooldown=9)), (6, 4, dn.Rules(5, 3))])
def test_where_the_rest_cannot_be_kept_there_is_a_limit(targets: int, audits: int, rules: dn.Rules) -> None:
    race = dn.Race.calibrate(targets, 0.3, rules=rules)
    for wait in quiet_waits(race, audits, (0, 3)) or ():
        mean, error = simulated(race, wait.reports, audits, runs=1000)
        assert wait.kind == "at most"
        assert mean <= wait.rounds + 4.9 * error


@pytest.mark.parametrize(("audits", "rules"), [(1, dn.Rules(26)), (3, dn.Rules(26, 4)), (3, dn.Rules(7))])
def test_counters_have_a_limit_with_a_longest_gap_and_no_figure_without(audits: int, rules: dn.Rules) -> None:
    counters = dn.CounterAuditing.calibrate(20, 0.1, None, "blt", rules=rules)
    (wait,) = quiet_waits(counters, audits, (0,))  # type: ignore[misc]
    mean, error = simulated(counters, 0, audits, runs=1000)
    assert wait.kind == "at most"
    assert mean <= wait.rounds + 4.9 * error
    assert wait.rounds <= rules.max_gap  # type: ignore[operator]
    assert quiet_waits(dn.CounterAuditing.calibrate(20, 0.1, 100), audits) is None


def test_a_round_that_audits_all_waits_for_nobody() -> None:
    for name in ("race", "tca", "uniform"):
        found = quiet_waits(calibrate(name, 4, 0.1, 9, rules=dn.Rules(cooldown=2)), 4)
        assert found == tuple(QuietWait(n, 1.0, "exact") for n in REPORTS)


def test_many_targets_get_an_estimate_at_once() -> None:
    (wait,) = quiet_waits(dn.Race.calibrate(2000, 0.1, rules=dn.Rules(150)), 20, (5,))  # type: ignore[misc]
    assert wait.kind == "about"
    assert 1 < wait.rounds < 150


@pytest.mark.parametrize(("audits", "gap"), [(1, 1_000_000), (400_000, 3)])
def test_what_cannot_be_estimated_at_once_is_a_limit(audits: int, gap: int) -> None:
    """A million targets: the estimate would add some million million numbers."""
    assert is_too_large(10**6, audits, gap)
    assert not is_too_large(2000, 20, 150)
    (wait,) = quiet_waits(dn.Race.calibrate(10**6, 0.1, rules=dn.Rules(gap)), audits, (5,))  # type: ignore[misc]
    assert wait == QuietWait(5, gap - (10**6 / audits - 1) / 2, "at most")


def test_very_many_audits_without_a_gap_take_no_time() -> None:
    """One product of so many factors for each number of reports, and not as many products."""
    (wait,) = quiet_waits(dn.Race.calibrate(10**6, 0.1), 400_000, (0,))  # type: ignore[misc]
    assert wait.kind == "exact"
    assert wait.rounds == pytest.approx(2.5)


@pytest.mark.parametrize("max_gap", [None, 120, 10**6])
def test_what_is_quick_is_the_same_where_that_is_cheap(max_gap: int | None) -> None:
    race = dn.Race.calibrate(100, 0.1, rules=dn.Rules(max_gap=max_gap))
    assert quick_waits(race, 1) == quiet_waits(race, 1)


def test_what_is_quick_is_a_limit_where_an_estimate_would_take_long() -> None:
    """Of the same programme, a tenth as large, the estimate is at hand."""
    large = quick_waits(dn.Race.calibrate(10_000, 0.1, rules=dn.Rules(max_gap=1500)), 10)
    small = quiet_waits(dn.Race.calibrate(1000, 0.1, rules=dn.Rules(max_gap=150)), 10)
    assert large is not None
    assert small is not None
    for limit, estimate in zip(large, small, strict=True):
        assert (limit.kind, estimate.kind) == ("at most", "about")
        assert limit.rounds >= 10 * (estimate.rounds - 1)


def test_the_kind_does_not_depend_on_how_many_are_asked_for() -> None:
    race = dn.Race.calibrate(30, 0.1, rules=dn.Rules(40))
    one, many = quiet_waits(race, 1, (3,)), quiet_waits(race, 1, tuple(range(20)))
    assert one is not None
    assert many is not None
    assert one[0] == many[3]


@pytest.mark.parametrize(
    ("wait", "text"),
    [
        (QuietWait(1, 1.0, "exact"), "1"),
        (QuietWait(1, 4.04, "exact"), "4"),
        (QuietWait(1, 4.01, "at most"), "≤ 4.1"),
        (QuietWait(1, 12.01, "at most"), "≤ 13"),
        (QuietWait(1, 1234.4, "about"), "~ 1,234"),
    ],
)
def test_a_limit_is_rounded_up_and_marked(wait: QuietWait, text: str) -> None:
    assert str(wait) == text


# One report more never makes the wait longer (docs/explanation/promptness.md, "Never later")


def chances_within(mechanism: Mechanism[Any], stream: list[list[int]]) -> list[Fraction]:
    """That the last target is audited within 1, 2, … rounds, exactly."""
    law, target = dn.transcript_distribution(mechanism, stream), mechanism.n_targets - 1
    return [
        sum((p for audits, p in law.items() if target in audits[:t]), Fraction(0)) for t in range(1, len(stream) + 1)
    ]


STREAM = [[1, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 0]]
MORE = [[1, 0, 1], *STREAM[1:]]


@pytest.mark.parametrize("rules", [dn.Rules(), dn.Rules(max_gap=4), dn.Rules(cooldown=1), dn.Rules(5, 1)])
@pytest.mark.parametrize("weights", [None, (1, 5, 2)])
def test_with_one_report_more_race_is_no_later(rules: dn.Rules, weights: tuple[int, ...] | None) -> None:
    race = dn.Race(3, rho=2, rules=rules, weights=weights)
    without, with_it = chances_within(race, STREAM), chances_within(race, MORE)
    assert all(one <= more for one, more in zip(without, with_it, strict=True))
    assert without != with_it  # so exchanged streams would be found


def first_audit(mechanism: Mechanism[Any], stream: list[list[int]], seed: int) -> int:
    """Of the last target, in rounds."""
    run = dn.AuditRun(mechanism, dn.ReplayNoise(seed.to_bytes(32, "big")))
    audits = [run.step(reports) for reports in stream]
    return audits.index(mechanism.n_targets - 1) if mechanism.n_targets - 1 in audits else len(stream)


@pytest.mark.parametrize("counter", ["toeplitz", "tree", "blt"])
def test_with_one_report_more_counter_auditing_is_no_later(counter: str) -> None:
    """With the same noise. The control is the same with the streams exchanged."""
    mechanism = dn.CounterAuditing.calibrate(3, delta=0.5, horizon=8, counter=counter)
    stream, more = STREAM + STREAM, MORE + STREAM
    first = [(first_audit(mechanism, stream, seed), first_audit(mechanism, more, seed)) for seed in range(60)]
    assert all(with_it <= without for without, with_it in first)
    assert any(with_it < without for without, with_it in first)
