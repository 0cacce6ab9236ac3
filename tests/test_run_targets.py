"""Several audits a round, and targets that come and go."""

from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.mechanisms import Mechanism

SEVERAL: list[Mechanism[Any]] = [
    dn.Greedy(5),
    dn.UniformRandom(5),
    dn.Race(5, 1.5),
    dn.Race(5, 1.5, dn.forecast),
    dn.Race(5, 1.5, dn.steady_forecast),
    dn.CounterAuditing.calibrate(5, 0.5, horizon=50),
]


def named(mechanism: Any) -> str:
    return type(mechanism).__name__


@pytest.mark.parametrize("mechanism", SEVERAL, ids=named)
def test_several_audits_are_distinct(mechanism: Mechanism[Any]) -> None:
    run = dn.AuditRun(mechanism)
    for audits in (1, 2, 5, 3):
        drawn = run.select([1, 0, 3, 0, 2], audits=audits)
        assert len(set(drawn)) == audits
    assert run.rounds == 4


def test_greedy_audits_the_largest_in_order() -> None:
    assert dn.AuditRun(dn.Greedy(4)).select([1, 9, 4, 0], audits=3) == (1, 2, 0)


@pytest.mark.parametrize("mechanism", SEVERAL, ids=named)
@pytest.mark.parametrize("audits", [0, 6, 1.5])
def test_bad_number_of_audits(mechanism: Mechanism[Any], audits: Any) -> None:
    run = dn.AuditRun(mechanism)
    with pytest.raises(dn.DeniableError, match="audits must be"):
        run.select([0] * 5, audits=audits)
    assert run.rounds == 0


def test_randomized_response_covers_one_audit() -> None:
    with pytest.raises(dn.DeniableError, match="covers one audit a round, got 2"):
        dn.AuditRun(dn.RandomizedResponse(5, 0.9)).select([0] * 5, audits=2)


@pytest.mark.parametrize("mechanism", SEVERAL, ids=named)
def test_targets_come_and_go(mechanism: Mechanism[Any]) -> None:
    noise = dn.ReplayNoise(bytes(32))
    run = dn.AuditRun(mechanism, noise)
    run.step([0, 4, 0, 0, 0])
    assert run.add_targets(2) == (5, 6)
    assert set(run.targets) == set(range(7))
    run.remove_targets([0, 5])
    assert run.targets == (1, 2, 3, 4, 6)
    run = dn.AuditRun.restore(mechanism, run.save(), noise)
    assert run.targets == (1, 2, 3, 4, 6)
    audited = {run.step([0, 1, 0, 0, 0, 0, 2]) for _ in range(40)}
    assert audited <= {1, 2, 3, 4, 6}
    assert run.step({0: 10**6}) != 0  # a late report about a removed target changes nothing
    with pytest.raises(dn.DeniableError, match="target 5 was removed before"):
        run.remove_targets([5])
    with pytest.raises(dn.DeniableError, match=r"target must be in 0\.\.6, got 7"):
        run.remove_targets([7])
    with pytest.raises(dn.DeniableError, match="a round has 7 counts"):
        run.step([0, 0])
    with pytest.raises(dn.DeniableError, match="at least two targets must be left"):
        run.remove_targets([1, 2, 3, 4])
    assert run.targets == (1, 2, 3, 4, 6)


@pytest.mark.parametrize("name", ["toeplitz", "blt", "tree", "input_perturbation", "output_perturbation"])
def test_removed_targets_do_not_age(name: str) -> None:
    """A removed target is never audited; its counter must not reach the horizon all the same."""
    run = dn.AuditRun(dn.CounterAuditing.calibrate(4, 0.3, counter=name, rules=dn.Rules(max_gap=6)))
    run.remove_targets([0])
    run.add_targets(1)
    for _ in range(20):
        run = dn.AuditRun.restore(run.mechanism, run.save())
        run.step([0, 1, 0, 2, 1])


def test_a_new_target_can_be_audited() -> None:
    run = dn.AuditRun(dn.Greedy(2))
    (new,) = run.add_targets(1)
    assert run.step({new: 3}) == new


def test_removing_a_target_deletes_what_was_known() -> None:
    for mechanism in SEVERAL:
        run = dn.AuditRun(mechanism, dn.ReplayNoise(bytes(32)))
        audited = run.step([50, 50, 50, 50, 50])
        gone = (audited + 1) % 5
        run.remove_targets([gone])
        private = run._state.private
        arrays = [private] if isinstance(private, np.ndarray) else vars(private).values()
        assert not any(array[..., gone].any() for array in arrays)


def test_randomized_response_stays_certified_for_its_number() -> None:
    run = dn.AuditRun(dn.RandomizedResponse.calibrate(4, 0.1))
    run.remove_targets([0])
    run.add_targets(1)
    run.step([0, 1, 0, 0, 0])
    with pytest.raises(dn.DeniableError, match="certified for at most 4 targets"):
        run.add_targets(1)
    run.step([0, 1, 0, 0, 0])


def test_fixed_weights_cannot_serve_new_targets() -> None:
    run = dn.AuditRun(dn.Race(3, 1.5, (1, 2, 3)))
    with pytest.raises(dn.DeniableError, match="fixed weights cannot serve"):
        run.add_targets(1)
    assert run.targets == (0, 1, 2)
    run.step([0, 0, 1])


@pytest.mark.parametrize(
    "mechanism",
    [
        dn.Race.calibrate(6, 0.2, rules=dn.Rules(max_gap=8, cooldown=2)),
        dn.CounterAuditing.calibrate(6, 0.2, rules=dn.Rules(max_gap=8)),
        dn.RandomizedResponse.calibrate(6, 0.2, rules=dn.Rules(max_gap=8)),
    ],
    ids=named,
)
def test_rules_hold_in_a_run_without_end(mechanism: Mechanism[Any]) -> None:
    """Coverage over 500 rounds; counter auditing needs no horizon with it."""
    assert mechanism.guarantee().horizon is None
    run, rng = dn.AuditRun(mechanism, dn.SimulationNoise(1)), np.random.default_rng(1)
    last = dict.fromkeys(range(6), 0)
    for t in range(1, 501):
        last[run.step(rng.poisson(0.5, 6))] = t
        assert all(t - before < 8 for before in last.values())


@pytest.mark.long
@pytest.mark.parametrize("audits", [1, 2])
def test_coverage_is_never_missed_over_many_rounds(audits: int) -> None:
    """10^5 rounds with random reports, and targets that come and go."""
    max_gap = 30
    run = dn.AuditRun(dn.Race.calibrate(20, 0.2, rules=dn.Rules(max_gap, cooldown=3)), dn.SimulationNoise(1))
    rng = np.random.default_rng(2)
    joined = dict.fromkeys(range(20), 0)
    for t in range(1, 100_001):
        if rng.random() < 0.002 and len(joined) < 25:
            joined |= dict.fromkeys(run.add_targets(1), t - 1)
        if rng.random() < 0.002 and len(joined) > 10:
            gone = int(rng.choice(list(joined)))
            run.remove_targets([gone])
            del joined[gone]
        reports = {int(c): int(n) for c, n in zip(joined, rng.poisson(0.3, len(joined)), strict=True)}
        for audited in run.select(reports, audits=audits):
            joined[audited] = t
        assert all(t - before < max_gap for before in joined.values())
