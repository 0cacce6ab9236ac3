"""Mechanisms that look private and are not: the exact checker must catch each of them."""

from dataclasses import dataclass

import numpy as np

from deniable.arrays import IntArray
from deniable.guarantee import Guarantee, TotalVariation
from deniable.mechanisms import Race
from deniable.mechanisms.protocol import CountState, one_hot, reset
from deniable.noise import Noise


@dataclass(frozen=True)
class OffsetState:
    rounds: int
    counts: IntArray
    offsets: IntArray


@dataclass(frozen=True)
class UniformOffset:
    """One uniform offset from 0..width-1 a run, kept until the audit: seems (0, 1/width)-DP by a shift argument.

    It is not: that a target has survived tells what its offset cannot be.
    """

    n_targets: int
    width: int
    uniform_ties: bool

    def guarantee(self) -> Guarantee:
        return Guarantee(TotalVariation(1 / self.width))

    def init(self, runs: int = 1) -> OffsetState:
        none = np.zeros((runs, self.n_targets), dtype=np.int64)
        return OffsetState(0, none, none - 1)

    def step(self, state: OffsetState, reports: IntArray, noise: Noise) -> tuple[IntArray, OffsetState]:
        counts, offsets = state.counts + reports, state.offsets.copy()
        for c in np.flatnonzero(offsets[0] < 0):
            offsets[:, c] = noise.choose(np.ones((1, self.width), dtype=np.bool_))
        shown = counts + offsets
        best = shown == shown.max(axis=1, keepdims=True)
        audits = noise.choose(best if self.uniform_ties else one_hot(best.argmax(axis=1), self.n_targets))
        kept = np.where(one_hot(audits, self.n_targets), -1, offsets)
        return audits, OffsetState(state.rounds + 1, reset(counts, audits), kept)


@dataclass(frozen=True)
class RaceWithoutReset(Race):
    """Race whose counts are never reset: a report goes on leaking after its audit."""

    def step(self, state: CountState, reports: IntArray, noise: Noise) -> tuple[IntArray, CountState]:
        counts = state.counts + reports
        return noise.race(self.growth, counts), CountState(state.rounds + 1, counts)
