"""The binary-tree counter, which keeps twice as many numbers for a target as the horizon has binary digits.

Node t is released in round t of a run and holds the reports of the last lowbit(t) rounds, lowbit(t) being the
largest power of two that divides t. The active count in round t is the sum of the nodes t, t - lowbit(t), …
down to 0: one node for every binary 1 of t. These are the left nodes of the usual binary tree; the right ones
never enter a prefix, so they are not released at all.
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
class TreeState(Secret):
    """L = horizon.bit_length() levels; level l is in use while binary digit l of the age is 1."""

    age: IntArray
    """(B, C): rounds in the run, 0 right after an audit."""
    sums: IntArray
    """(L, B, C): the reports of the node in use at each level, 0 where there is none."""
    released: ExactArray
    """(L, B, C): the same with noise, on the grid."""


@dataclass(frozen=True)
class TreeCounter(GaussianCounter):
    @property
    def squared_sensitivity(self) -> int:
        return squared_sensitivity(self.horizon)

    def error_std(self) -> FloatArray:
        """Sigma times the root of the number of binary ones of the round."""
        ones = np.bitwise_count(np.arange(1, self.horizon + 1))
        return np.asarray(self.sigma * np.sqrt(ones.astype(np.float64)))

    def init(self, runs: int, n_targets: int) -> TreeState:
        zero = np.zeros((self.horizon.bit_length(), runs, n_targets), dtype=np.int64)
        return TreeState(np.zeros((runs, n_targets), dtype=np.int64), zero, zero.astype(object))

    def step(self, state: TreeState, reports: IntArray, noise: Noise) -> tuple[FloatArray, TreeState]:
        age = next_age(state.age, self.horizon)
        fresh = self.fresh(noise, reports.shape)
        power = 1 << np.arange(len(state.sums))[:, None, None]
        low = age & -age
        merged = np.where(power < low, state.sums, 0).sum(axis=0) + reports
        # Levels below the new node are merged into it; levels above stay.
        sums = np.where(power > low, state.sums, np.where(power == low, merged, 0))
        earlier = same_kind(state.released, fresh, under_way=bool(state.age.any()))
        node = merged.astype(fresh.dtype) * ONE + fresh
        released = np.where(power > low, earlier, np.where(power == low, node, 0))
        return shown(in_reports(released.sum(axis=0))), TreeState(age, sums, released)

    def restart(self, state: TreeState, audited: BoolArray) -> TreeState:
        return forget(state, audited)


def squared_sensitivity(horizon: int) -> int:
    """The most nodes that one report enters, in units of 4**-GRID_BITS.

    A report enters at most one node for every level, and level l has a node only if 2**l <= T: at most
    T.bit_length() of them. The first report of a run enters them all, the nodes 1, 2, 4, ….
    """
    return horizon.bit_length() * ONE**2


def tree(delta: float, horizon: int) -> TreeCounter:
    """The binary-tree counter calibrated to (0, delta)-DP on runs of at most `horizon` rounds.

    >>> round(tree(delta=0.1, horizon=1000).max_error, 2)
    37.75
    """
    horizon = check_horizon(horizon)
    return TreeCounter(horizon, calibrated_variance(delta, squared_sensitivity(horizon)))
