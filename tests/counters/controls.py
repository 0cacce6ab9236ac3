"""Toeplitz counters with planted bugs, for the checks that must catch them."""

from typing import Any

import numpy as np

from deniable.arrays import BoolArray, IntArray
from deniable.counters.toeplitz import ToeplitzCounter, ToeplitzState
from deniable.noise import Noise


class HalvedSigma(ToeplitzCounter):
    def step(self, state: ToeplitzState, reports: IntArray, noise: Noise) -> Any:
        return ToeplitzCounter(self.horizon, self.variance // 4).step(state, reports, noise)


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
