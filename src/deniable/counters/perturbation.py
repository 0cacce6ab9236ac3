"""The two simplest counters: noise on every report count, or on every active count.

Both have an error of sqrt(T) / (2 kappa) at the horizon. They are here to compare with, and because their
state is one number a target.
"""

from dataclasses import dataclass

import numpy as np

from deniable.arrays import BoolArray, ExactArray, FloatArray, IntArray
from deniable.counters.gaussian import (
    ONE,
    GaussianCounter,
    calibrated_variance,
    check_horizon,
    forget,
    in_reports,
    next_age,
    same_kind,
    shown,
)
from deniable.noise import Noise
from deniable.state import Secret


@dataclass(frozen=True, repr=False)
class InputState(Secret):
    age: IntArray
    """(B, C): rounds in the run, 0 right after an audit."""
    released: ExactArray
    """(B, C): the sum of the run's noisy report counts, on the grid."""


@dataclass(frozen=True)
class InputPerturbation(GaussianCounter):
    """Noise on the reports of every round, then sums: C = I, B = A. The error grows with the run."""

    @property
    def squared_sensitivity(self) -> int:
        return ONE**2

    def error_std(self) -> FloatArray:
        return np.asarray(self.sigma * np.sqrt(np.arange(1, self.horizon + 1)))

    def init(self, runs: int, n_targets: int) -> InputState:
        zero = np.zeros((runs, n_targets), dtype=np.int64)
        return InputState(zero, zero.astype(object))

    def step(self, state: InputState, reports: IntArray, noise: Noise) -> tuple[FloatArray, InputState]:
        age = next_age(state.age, self.horizon)
        fresh = self.fresh(noise, reports.shape)
        earlier = same_kind(state.released, fresh, under_way=bool(state.age.any()))
        released = earlier + (reports.astype(fresh.dtype) * ONE + fresh)
        return shown(in_reports(released)), InputState(age, released)

    def restart(self, state: InputState, audited: BoolArray) -> InputState:
        return forget(state, audited)


@dataclass(frozen=True, repr=False)
class OutputState(Secret):
    age: IntArray
    """(B, C): rounds in the run, 0 right after an audit."""
    count: IntArray
    """(B, C): active counts."""


@dataclass(frozen=True)
class OutputPerturbation(GaussianCounter):
    """Fresh noise on the active count in every round: C = A, B = I. The error is the same in every round."""

    @property
    def squared_sensitivity(self) -> int:
        return self.horizon * ONE**2

    def error_std(self) -> FloatArray:
        return np.full(self.horizon, self.sigma)

    def init(self, runs: int, n_targets: int) -> OutputState:
        zero = np.zeros((runs, n_targets), dtype=np.int64)
        return OutputState(zero, zero)

    def step(self, state: OutputState, reports: IntArray, noise: Noise) -> tuple[FloatArray, OutputState]:
        after = OutputState(next_age(state.age, self.horizon), state.count + reports)
        fresh = self.fresh(noise, reports.shape)
        return shown(in_reports(after.count.astype(fresh.dtype) * ONE + fresh)), after

    def restart(self, state: OutputState, audited: BoolArray) -> OutputState:
        return forget(state, audited)


def input_perturbation(delta: float, horizon: int) -> InputPerturbation:
    """Input perturbation calibrated to (0, delta)-DP; its noise does not depend on the horizon, its error does.

    >>> round(input_perturbation(delta=0.1, horizon=1000).max_error, 2)
    125.83
    """
    horizon = check_horizon(horizon)
    return InputPerturbation(horizon, calibrated_variance(delta, ONE**2))


def output_perturbation(delta: float, horizon: int) -> OutputPerturbation:
    """Output perturbation calibrated to (0, delta)-DP on runs of at most `horizon` rounds.

    >>> round(output_perturbation(delta=0.1, horizon=1000).max_error, 2)
    125.83
    """
    horizon = check_horizon(horizon)
    return OutputPerturbation(horizon, calibrated_variance(delta, horizon * ONE**2))
