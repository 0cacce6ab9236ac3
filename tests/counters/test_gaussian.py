from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import deniable as dn
from deniable.arrays import FloatArray, IntArray
from deniable.counters.gaussian import (
    LEAST_VARIANCE,
    MAX_HORIZON,
    ONE,
    GaussianCounter,
    calibrated_variance,
    forget,
    in_reports,
    next_age,
    same_kind,
    shown,
)


@dataclass(frozen=True)
class Plain(GaussianCounter):
    squared: int = ONE**2

    @property
    def squared_sensitivity(self) -> int:
        return self.squared

    def error_std(self) -> FloatArray:
        return self.sigma * np.array([1.0, 3.0, 2.0])


@given(st.floats(1e-6, 0.999), st.integers(2**58, 2**90))
def test_calibration_is_tight_and_safe(delta: float, squared: int) -> None:
    """The variance of `eq:def_variance`, a little above it, and the guarantee stated from it is not above delta."""
    variance = calibrated_variance(delta, squared)
    assert variance == pytest.approx(squared / (4 * norm.ppf((1 + delta) / 2) ** 2), rel=1e-9)
    if variance >= LEAST_VARIANCE:
        assert Plain(5, variance, squared).guarantee().delta <= delta
        assert Plain(5, variance - variance // 10**9, squared).guarantee().delta > delta


def test_sigma_and_max_error_are_in_reports() -> None:
    counter = Plain(3, 4 * ONE**2)
    assert counter.sigma == 2
    assert counter.max_error == 6


def test_noise_has_the_variance_of_a_rounded_gaussian() -> None:
    asked = []

    class Recorder(dn.SimulationNoise):
        def gaussian(self, variance: Fraction, shape: tuple[int, ...]) -> FloatArray:
            asked.append(variance)
            return np.zeros(shape)

    Plain(3, LEAST_VARIANCE).fresh(Recorder(0), (2,))
    assert asked == [LEAST_VARIANCE + Fraction(1, 12)]


@pytest.mark.parametrize(
    ("horizon", "variance", "says"),
    [
        (0, LEAST_VARIANCE, "horizon must be a whole number of at least 1, got 0"),
        (MAX_HORIZON + 1, LEAST_VARIANCE, "horizon must be at most 1000000 rounds, got 1000001"),
        (5, LEAST_VARIANCE - 1, "variance must be a whole number of at least"),
    ],
)
def test_bad_parameters(horizon: int, variance: int, says: str) -> None:
    with pytest.raises(dn.DeniableError, match=says):
        Plain(horizon, variance)


@pytest.mark.parametrize("name", dn.counters.COUNTERS)
def test_an_absurd_horizon_is_refused_before_any_work(name: str) -> None:
    with pytest.raises(dn.DeniableError, match="horizon must be at most 1000000 rounds"):
        dn.counters.COUNTERS[name](0.1, 10**12)


def test_age_stops_at_the_horizon() -> None:
    assert next_age(np.array([[0, 2]]), 3).tolist() == [[1, 3]]
    with pytest.raises(dn.DeniableError, match="certified horizon of 2 rounds"):
        next_age(np.array([[0, 2]]), 2)


def test_only_an_idle_state_changes_its_kind() -> None:
    exact, simulated = np.zeros(2, dtype=object), np.zeros(2)
    assert same_kind(exact, simulated, under_way=False).dtype == np.float64
    assert same_kind(simulated, exact, under_way=False).dtype == object
    assert same_kind(exact, exact, under_way=True) is exact
    with pytest.raises(dn.DeniableError, match="must not be mixed"):
        same_kind(exact, simulated, under_way=True)


def test_outputs_are_multiples_of_their_grid() -> None:
    assert shown(np.array([3 + 1e-8, 0.1])).tolist() == [3.0, round(0.1 * 2**20) / 2**20]


def test_grid_units_to_reports() -> None:
    assert in_reports(np.array([3 * ONE, ONE // 2], dtype=object)).tolist() == [3.0, 0.5]


@dataclass(frozen=True)
class Sample:
    age: IntArray
    history: FloatArray


def test_forget_clears_every_array_of_the_audited() -> None:
    state = Sample(np.array([[1, 2]]), np.ones((3, 1, 2)))
    after = forget(state, np.array([[True, False]]))
    assert after.age.tolist() == [[0, 2]]
    assert after.history[:, 0].tolist() == [[0.0, 1.0]] * 3
    assert state.age.tolist() == [[1, 2]]
