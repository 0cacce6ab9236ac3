"""Every mechanism through the same checks, and every check against a mechanism that must fail it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable import testing
from deniable.arrays import BoolArray, IntArray
from deniable.counters.toeplitz import ToeplitzCounter, ToeplitzState, toeplitz
from deniable.guarantee import Guarantee, TotalVariation
from deniable.mechanisms import Mechanism
from deniable.mechanisms.protocol import CountState
from deniable.noise import Noise

ROUNDS = 30

MECHANISMS = [
    pytest.param(dn.Greedy(3), id="greedy"),
    pytest.param(dn.RandomizedResponse(3, 0.5), id="rr"),
    pytest.param(dn.RandomizedResponse.calibrate(3, 0.1, horizon=ROUNDS), id="rr-calibrated"),
    pytest.param(dn.CounterAuditing.calibrate(3, 0.1, horizon=ROUNDS), id="tca"),
    pytest.param(dn.CounterAuditing.calibrate(3, 0.9, horizon=1000), id="tca-loose"),
    pytest.param(dn.Race.calibrate(3, 0.1), id="race"),
    pytest.param(dn.Race(7, 3.0), id="race-rho-3"),
]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_contract(mechanism: Mechanism[Any]) -> None:
    testing.check_mechanism(mechanism, ROUNDS)


def test_contract_of_uniform() -> None:
    testing.check_mechanism(dn.UniformRandom(3), ROUNDS, follows_reports=False)


@pytest.mark.parametrize("counter", [toeplitz(0.1, ROUNDS), toeplitz(0.01, 1000)], ids=repr)
def test_counter_contract(counter: ToeplitzCounter) -> None:
    testing.check_counter(counter, ROUNDS)


# Planted bugs: each check must notice its own.


class LateByOneRound(ToeplitzCounter):
    """Feeds the counter last round's reports."""

    def step(self, state: ToeplitzState, reports: IntArray, noise: Noise) -> Any:
        late = state.reports[-1].astype(np.int64) if len(state.reports) else np.zeros_like(reports)
        return super().step(state, late, noise)


class NeverRestarts(ToeplitzCounter):
    def restart(self, state: ToeplitzState, audited: BoolArray) -> ToeplitzState:
        return state


class RestartsEverything(ToeplitzCounter):
    def restart(self, state: ToeplitzState, audited: BoolArray) -> ToeplitzState:
        return super().restart(state, np.ones_like(audited))


@dataclass(frozen=True)
class NeverResets(dn.Greedy):
    def step(self, state: CountState, reports: IntArray, noise: Noise) -> tuple[IntArray, CountState]:
        audits, _ = super().step(state, reports, noise)
        return audits, CountState(state.rounds + 1, state.counts + reports)


@dataclass(frozen=True)
class ChangesItsArgument(dn.Greedy):
    def step(self, state: CountState, reports: IntArray, noise: Noise) -> tuple[IntArray, CountState]:
        state.counts[:] += reports
        return super().step(state, np.zeros_like(reports), noise)


@dataclass(frozen=True)
class SharesCountsBetweenRuns(dn.Greedy):
    def step(self, state: CountState, reports: IntArray, noise: Noise) -> tuple[IntArray, CountState]:
        return super().step(state, np.broadcast_to(reports.sum(axis=0), reports.shape), noise)


class RemembersOutsideItsState(dn.Greedy):
    seen = 0

    def step(self, state: CountState, reports: IntArray, noise: Noise) -> tuple[IntArray, CountState]:
        RemembersOutsideItsState.seen += 1
        favourite = reports + 100 * (np.arange(self.n_targets) == self.seen % self.n_targets)
        return super().step(state, favourite, noise)


class GuaranteeFollowsData(dn.Greedy):
    largest = 0.0

    def step(self, state: CountState, reports: IntArray, noise: Noise) -> tuple[IntArray, CountState]:
        GuaranteeFollowsData.largest = min(1.0, self.largest + float(reports.mean()))
        return super().step(state, reports, noise)

    def guarantee(self) -> Guarantee:
        return Guarantee(TotalVariation(self.largest))


VARIANCE = toeplitz(0.1, 1000).variance


@pytest.mark.parametrize(
    ("check", "mechanism", "says"),
    [
        (
            testing.check_zero_noise_is_greedy,
            dn.CounterAuditing(3, LateByOneRound(1000, VARIANCE)),
            "did not audit a leader",
        ),
        (testing.check_zero_noise_is_greedy, dn.UniformRandom(3), "did not audit a leader"),
        (testing.check_batch_equals_loop, SharesCountsBetweenRuns(3), "differs from the same run alone"),
        (testing.check_resume_equals_uninterrupted, RemembersOutsideItsState(4), "went another way"),
        (
            testing.check_audit_forgets,
            dn.CounterAuditing(3, NeverRestarts(1000, VARIANCE)),
            "still in the state",
        ),
        (testing.check_audit_forgets, NeverResets(3), "still in the state"),
        (testing.check_guarantee_is_public, GuaranteeFollowsData(3), "changed with the data"),
    ],
)
def test_mechanism_checks_catch_planted_bugs(check: Any, mechanism: Mechanism[Any], says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check(mechanism, ROUNDS)


def test_purity_check_catches_a_changed_argument() -> None:
    with pytest.raises(AssertionError, match="changed the state"):
        testing.check_step_is_pure(ChangesItsArgument(3))


@pytest.mark.parametrize(
    ("counter", "says"),
    [(LateByOneRound, "miscounted"), (NeverRestarts, "remembers"), (RestartsEverything, "disturbed another")],
)
def test_counter_checks_catch_planted_bugs(counter: type[ToeplitzCounter], says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        testing.check_counter(counter(1000, VARIANCE), ROUNDS)
