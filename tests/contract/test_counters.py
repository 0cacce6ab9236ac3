"""Every counter through the same checks, and every check against a counter that must fail it."""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.statistical.factorizations import CASES

import deniable as dn
from deniable import testing
from deniable.arrays import BoolArray, FloatArray, IntArray
from deniable.counters import GaussianCounter
from deniable.counters.gaussian import ONE
from deniable.counters.perturbation import InputPerturbation, InputState, OutputPerturbation, OutputState
from deniable.counters.toeplitz import ToeplitzCounter
from deniable.counters.tree import TreeCounter
from deniable.noise import Noise
from deniable.state import pack

ROUNDS = 30

each_factory = pytest.mark.parametrize("factory", [factory for factory, _ in CASES.values()], ids=CASES)
Factory = Callable[[float, int], Any]


@each_factory
@pytest.mark.parametrize(("delta", "horizon"), [(0.1, ROUNDS), (0.01, 100)])
def test_contract(factory: Factory, delta: float, horizon: int) -> None:
    testing.check_counter(factory(delta, horizon), ROUNDS)


@each_factory
@pytest.mark.parametrize("horizon", [1, 2, 11])
def test_claimed_delta_covers_the_outputs(factory: Factory, horizon: int) -> None:
    testing.check_counter_sensitivity(factory(0.1, horizon))


@each_factory
def test_contract_of_counter_auditing(factory: Factory) -> None:
    testing.check_mechanism(dn.CounterAuditing(3, factory(0.1, ROUNDS)), ROUNDS)


@each_factory
def test_equal_parameters_make_equal_counters(factory: Factory) -> None:
    counter, same, other = factory(0.1, 8), factory(0.1, 8), factory(0.2, 8)
    assert counter == same
    assert hash(counter) == hash(same)
    assert repr(counter) == repr(same)
    assert counter != other
    assert repr(counter) != repr(other)


@each_factory
@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.1, 0.5, 0.999])
def test_calibration_meets_delta_from_below(factory: Factory, delta: float) -> None:
    reached = factory(delta, 20).guarantee().delta
    assert reached <= delta
    assert reached == pytest.approx(delta, abs=1e-9)


@each_factory
def test_a_smaller_variance_would_break_delta(factory: Factory) -> None:
    counter = factory(0.1, 20)
    smaller = dataclasses.replace(counter, variance=counter.variance - counter.variance // 10**9)
    assert smaller.guarantee().delta > 0.1


@each_factory
@pytest.mark.parametrize("noise", [dn.ReplayNoise(bytes(32)), dn.SimulationNoise(0)], ids=["exact", "simulated"])
def test_states_are_never_changed(factory: Factory, noise: Noise) -> None:
    counter = factory(0.1, 8)
    state = counter.init(2, 3)
    for t in range(8):
        before = copy.deepcopy(state)
        _, after = counter.step(state, np.full((2, 3), t), noise)
        assert pack(state) == pack(before)
        before = copy.deepcopy(after)
        state = counter.restart(after, np.arange(6).reshape(2, 3) == t)
        assert pack(after) == pack(before)


@each_factory
@pytest.mark.parametrize("simulated", [False, True], ids=["exact", "simulated"])
def test_runs_of_different_ages_count_side_by_side(factory: Factory, simulated: bool) -> None:
    """Without noise every instance shows its active count, whenever it was restarted."""
    counter, rng = factory(0.1, 40), np.random.default_rng(0)
    state, active = counter.init(2, 5), np.zeros((2, 5), dtype=np.int64)
    for _ in range(40):
        reports = rng.poisson(2, (2, 5))
        active += reports
        noisy, state = counter.step(state, reports, Silence(simulated))
        assert np.array_equal(noisy, active)
        audited = rng.random((2, 5)) < 0.1
        active[audited] = 0
        state = counter.restart(state, audited)


class Silence(testing.ZeroNoise):
    def __init__(self, simulated: bool) -> None:
        super().__init__()
        self.dtype = np.float64 if simulated else object

    def gaussian(self, variance: Any, shape: tuple[int, ...]) -> Any:
        return np.zeros(shape, dtype=self.dtype)


@each_factory
def test_large_counts_are_exact_without_noise(factory: Factory) -> None:
    counter = factory(0.1, 20)
    state, total = counter.init(1, 1), 0
    for t in range(20):
        noisy, state = counter.step(state, np.array([[10**9 + t]]), testing.ZeroNoise())
        total += 10**9 + t
        assert noisy[0, 0] == pytest.approx(total, rel=1e-14, abs=0)


@each_factory
def test_horizon_is_enforced_for_every_instance(factory: Factory) -> None:
    counter = factory(0.1, 2)
    state, one = counter.init(1, 2), np.array([[1, 1]])
    for _ in range(2):
        _, state = counter.step(state, one, testing.ZeroNoise())
    _, _ = counter.step(counter.restart(state, np.array([[True, True]])), one, testing.ZeroNoise())
    with pytest.raises(dn.DeniableError, match="certified horizon of 2 rounds"):
        counter.step(counter.restart(state, np.array([[True, False]])), one, testing.ZeroNoise())


@each_factory
@pytest.mark.parametrize("exact_first", [True, False])
def test_kinds_of_noise_are_not_mixed(factory: Factory, exact_first: bool) -> None:
    counter, kinds = factory(0.1, 9), [dn.ReplayNoise(bytes(32)), dn.SimulationNoise(0)]
    first, second = kinds if exact_first else kinds[::-1]
    _, state = counter.step(counter.init(1, 2), np.array([[1, 1]]), first)
    _, _ = counter.step(counter.restart(state, np.array([[True, True]])), np.array([[1, 1]]), second)
    if isinstance(counter, OutputPerturbation):
        return  # it keeps no noise to mix
    with pytest.raises(dn.DeniableError, match="must not be mixed"):
        counter.step(state, np.array([[1, 1]]), second)


@each_factory
def test_private_path_is_python_integers(factory: Factory) -> None:
    counter = factory(0.1, 5)
    state = counter.init(1, 2)
    for _ in range(3):
        _, state = counter.step(state, np.array([[10**9, 0]]), dn.ReplayNoise(bytes(32)))
    state = counter.restart(state, np.array([[False, True]]))
    exact = [array for array in arrays(state) if array.dtype == object]
    assert exact or isinstance(counter, OutputPerturbation)
    assert all(type(value) is int for array in exact for value in array.ravel())


def arrays(state: Any) -> list[Any]:
    values = vars(state).values()
    return [v for value in values for v in ([value] if isinstance(value, np.ndarray) else arrays(value))]


@each_factory
@pytest.mark.parametrize("delta", [0.0, 1.0, float("nan")])
def test_delta_must_be_a_level(factory: Factory, delta: float) -> None:
    with pytest.raises(dn.DeniableError, match=r"delta must be above 0 and below 1"):
        factory(delta, 5)


# Planted bugs: each must be caught by the sensitivity check.


class ForgottenLevel(TreeCounter):
    """Counts one node too few for a report."""

    @property
    def squared_sensitivity(self) -> int:
        return super().squared_sensitivity - ONE**2


class OneRoundOnly(OutputPerturbation):
    """Forgets that a report is in every later count."""

    @property
    def squared_sensitivity(self) -> int:
        return ONE**2


class LessNoiseThanClaimed(ToeplitzCounter):
    def fresh(self, noise: Noise, shape: tuple[int, ...]) -> Any:
        return super().fresh(noise, shape) * 99 // 100


class ThrowsNoiseAway(OutputPerturbation):
    def fresh(self, noise: Noise, shape: tuple[int, ...]) -> Any:
        return super().fresh(noise, shape) * 0


class CountsTwice(InputPerturbation):
    """Counts the reports of every second round twice while they are new."""

    def step(self, state: InputState, reports: IntArray, noise: Noise) -> tuple[FloatArray, InputState]:
        noisy, after = super().step(state, reports, noise)
        return noisy + reports * (state.age % 2), after


class DrawsWhenBusy(OutputPerturbation):
    def step(self, state: OutputState, reports: IntArray, noise: Noise) -> tuple[FloatArray, OutputState]:
        if reports.any():
            self.fresh(noise, reports.shape)
        return super().step(state, reports, noise)


class Clips(OutputPerturbation):
    def step(self, state: OutputState, reports: IntArray, noise: Noise) -> tuple[FloatArray, OutputState]:
        noisy, after = super().step(state, reports, noise)
        return np.maximum(noisy, 0), after


class FlipsCoins(OutputPerturbation):
    def step(self, state: OutputState, reports: IntArray, noise: Noise) -> tuple[FloatArray, OutputState]:
        noise.choose(np.ones(reports.shape, dtype=bool))
        return super().step(state, reports, noise)


def planted(bug: type[GaussianCounter], honest: GaussianCounter) -> Any:
    """As the author of the bug would calibrate it: the claim is delta = 0.1."""
    wrong = bug(honest.horizon, honest.variance)
    return bug(honest.horizon, honest.variance * wrong.squared_sensitivity // honest.squared_sensitivity)


@pytest.mark.parametrize(
    ("bug", "honest", "says"),
    [
        (ForgottenLevel, dn.counters.tree(0.1, 8), "but 0.1 is claimed"),
        (OneRoundOnly, dn.counters.output_perturbation(0.1, 8), "delta is 0.2"),
        (LessNoiseThanClaimed, dn.counters.toeplitz(0.1, 8), "but 0.1 is claimed"),
        (ThrowsNoiseAway, dn.counters.output_perturbation(0.1, 8), "delta is 1,"),
        (CountsTwice, dn.counters.input_perturbation(0.1, 8), "but 0.1 is claimed"),
        (DrawsWhenBusy, dn.counters.output_perturbation(0.1, 8), "depends on reports or on noise"),
        (Clips, dn.counters.output_perturbation(0.1, 8), "not linear"),
        (FlipsCoins, dn.counters.output_perturbation(0.1, 8), "only noise is Gaussian"),
    ],
)
def test_sensitivity_check_catches_planted_bugs(bug: type[GaussianCounter], honest: GaussianCounter, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        testing.check_counter_sensitivity(planted(bug, honest))


def test_sensitivity_check_needs_a_short_horizon() -> None:
    with pytest.raises(AssertionError, match="at most 200 rounds"):
        testing.check_counter_sensitivity(dn.counters.toeplitz(0.1, 201))


class NeverRestarts(TreeCounter):
    def restart(self, state: Any, audited: BoolArray) -> Any:
        return state


class RestartsEverything(TreeCounter):
    def restart(self, state: Any, audited: BoolArray) -> Any:
        return super().restart(state, np.ones_like(audited))


class LosesALevel(TreeCounter):
    def step(self, state: Any, reports: IntArray, noise: Noise) -> Any:
        noisy, after = super().step(state, reports, noise)
        return noisy, dataclasses.replace(after, sums=after.sums * (np.arange(len(after.sums)) < 2)[:, None, None])


@pytest.mark.parametrize(
    ("bug", "says"),
    [(LosesALevel, "miscounted"), (NeverRestarts, "remembers"), (RestartsEverything, "disturbed another")],
)
def test_counter_checks_catch_planted_bugs(bug: type[TreeCounter], says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        testing.check_counter(bug(1000, dn.counters.tree(0.1, 1000).variance), ROUNDS)


class SharedNoise(InputPerturbation):
    """One draw for all targets of a run: it cancels out when their counts are compared."""

    def fresh(self, noise: Noise, shape: tuple[int, ...]) -> Any:
        return np.broadcast_to(super().fresh(noise, (shape[0], 1)), shape)


class NoSmallNoise(InputPerturbation):
    """Drops every draw that could matter, and keeps those that no real run will see."""

    def fresh(self, noise: Noise, shape: tuple[int, ...]) -> Any:
        drawn = super().fresh(noise, shape)
        return np.where(np.abs(drawn) < 10**6 * ONE, 0, drawn)


class LooksAtItsNeighbour(InputPerturbation):
    def step(self, state: InputState, reports: IntArray, noise: Noise) -> tuple[FloatArray, InputState]:
        return super().step(state, reports + np.roll(reports, 1, axis=1), noise)


@pytest.mark.parametrize(
    ("planted", "says"),
    [
        (SharedNoise, "share a noise draw"),
        (NoSmallNoise, "not linear"),
        (LooksAtItsNeighbour, "follow the reports of another"),
    ],
)
def test_sensitivity_check_catches_what_one_target_and_large_values_hide(
    planted: type[InputPerturbation], says: str
) -> None:
    honest = dn.counters.input_perturbation(0.1, 8)
    with pytest.raises(AssertionError, match=says):
        testing.check_counter_sensitivity(planted(8, honest.variance))


@pytest.mark.parametrize("name", dn.counters.COUNTERS)
def test_numbers_of_numpy_become_plain_ones(name: str) -> None:
    factory = dn.counters.COUNTERS[name]
    assert repr(factory(0.1, np.int64(100))) == repr(factory(0.1, 100))  # type: ignore[arg-type]
