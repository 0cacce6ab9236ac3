"""Every mechanism through the same checks, and every check against a mechanism that must fail it."""

from typing import Any

import numpy as np
import pytest
from tests.attack.controls import UniformOffset
from tests.counters.controls import LateByOneRound, NeverRestarts, RestartsEverything

import deniable as dn
from deniable import testing
from deniable.arrays import BoolArray, IntArray
from deniable.attack import moved_report, report_at
from deniable.counters.toeplitz import ToeplitzCounter, toeplitz
from deniable.curves import Curve, Exponential, Gaussian, TotalVariation
from deniable.guarantee import Guarantee
from deniable.mechanisms import Mechanism
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


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_our_own_mechanisms_have_active_counts(mechanism: Mechanism[Any]) -> None:
    """So that the contract above says something about them."""
    assert mechanism.active_counts(mechanism.start(2)).shape == (2, mechanism.n_targets)  # type: ignore[union-attr]


# Planted bugs: each check must notice its own.


class NeverResets(dn.Greedy):
    def forget(self, private: IntArray, audited: BoolArray) -> IntArray:
        return private


class ChangesItsArgument(dn.Greedy):
    def tally(self, private: IntArray, reports: IntArray, noise: Noise) -> tuple[IntArray, IntArray]:
        private += reports
        return private, private


class SharesCountsBetweenRuns(dn.Greedy):
    def tally(self, private: IntArray, reports: IntArray, noise: Noise) -> tuple[IntArray, IntArray]:
        return super().tally(private, np.broadcast_to(reports.sum(axis=0), reports.shape), noise)


class CountsOneTooMany(dn.Greedy):
    def active_counts(self, private: IntArray) -> IntArray | None:
        return private + 1


class RemembersOutsideItsState(dn.Greedy):
    seen = 0

    def tally(self, private: IntArray, reports: IntArray, noise: Noise) -> tuple[IntArray, IntArray]:
        RemembersOutsideItsState.seen += 1
        favourite = reports + 100 * (np.arange(self.n_targets) == self.seen % self.n_targets)
        return super().tally(private, favourite, noise)


class GuaranteeFollowsData(dn.Greedy):
    largest = 0.0

    def tally(self, private: IntArray, reports: IntArray, noise: Noise) -> tuple[IntArray, IntArray]:
        GuaranteeFollowsData.largest = min(1.0, self.largest + float(reports.mean()))
        return super().tally(private, reports, noise)

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
        (testing.check_active_counts, CountsOneTooMany(3), "active counts after round 1 are wrong"),
        (testing.check_active_counts, NeverResets(3), "active counts after round 1 are wrong"),
        (
            testing.check_active_counts,
            dn.CounterAuditing(3, NeverRestarts(1000, VARIANCE)),
            "active counts after round 1 are wrong",
        ),
        (testing.check_guarantee_is_public, GuaranteeFollowsData(3), "changed with the data"),
        (testing.check_state_shows_nothing, UniformOffset(3, 3, True), "shows what was reported"),
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


def test_a_loop_over_the_runs_is_told_what_to_do() -> None:
    class DrawsOneByOne(dn.Greedy):
        def draw(self, tallied: IntArray, eligible: BoolArray, history: dn.History, noise: Noise) -> IntArray:
            rows = range(len(tallied))
            return np.concatenate(
                [super(DrawsOneByOne, self).draw(tallied[[b]], eligible[[b]], history, noise) for b in rows]
            )

    with pytest.raises(AssertionError, match="must be made for all 3 runs in one call, but a call asked for 1"):
        testing.check_mechanism(DrawsOneByOne(3), ROUNDS)


# The guarantee, by enumeration


@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param(dn.Race.calibrate(2, 0.1), id="race"),
        pytest.param(dn.Race(3, 2.0), id="race-rho-2"),
        pytest.param(dn.Race(2, 1.5, rules=dn.Rules(max_gap=3, cooldown=0)), id="race-rules"),
        pytest.param(dn.RandomizedResponse.calibrate(2, 0.1, horizon=2), id="rr-two-rounds"),
        pytest.param(dn.UniformRandom(2), id="uniform"),
        pytest.param(dn.Greedy(2), id="greedy"),
    ],
)
def test_guarantees_hold_by_enumeration(mechanism: Mechanism[Any]) -> None:
    testing.check_guarantee(mechanism)


class ClaimsLess(dn.Race):
    curve: Curve

    def guarantee(self) -> Guarantee:
        return Guarantee(self.curve)


@pytest.mark.parametrize(
    ("curve", "says"),
    [
        (Exponential(1.9), r"times as likely with the report, but at most 1\.9 times is claimed"),
        (TotalVariation(0.15), r"the total variation is 0\.\d+, but 0\.15 is claimed"),
        (Gaussian(0.5), "a test with FPR .* has TPR .*, but at most .* is claimed"),
    ],
)
def test_a_race_that_claims_less_is_refuted(curve: Curve, says: str) -> None:
    mechanism = ClaimsLess(2, 2.0)
    object.__setattr__(mechanism, "curve", curve)
    with pytest.raises(AssertionError, match=says):
        testing.check_guarantee(mechanism)


def test_the_pairs_can_be_given() -> None:
    race = dn.Race(3, 2.0)
    testing.check_guarantee(race, [moved_report("moved", [[0, 0, 1]] * 3, at_round=0)])  # 2 delta, and no cap
    mechanism = ClaimsLess(3, 2.0)
    object.__setattr__(mechanism, "curve", TotalVariation(0.0))
    testing.check_guarantee(mechanism, [])
    with pytest.raises(AssertionError, match="on 'mine' the total variation"):
        testing.check_guarantee(mechanism, [report_at("mine", [[0, 0, 0]], at_round=0, target=2)])


def test_gaussian_noise_cannot_be_enumerated() -> None:
    with pytest.raises(dn.DeniableError, match="cannot be enumerated"):
        testing.check_guarantee(dn.CounterAuditing.calibrate(2, 0.1, horizon=4))
