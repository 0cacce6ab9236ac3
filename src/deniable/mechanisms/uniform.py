"""Uniformly random auditing (`app:alg:uniformly_random`): perfect privacy, and no use of the reports."""

from dataclasses import dataclass

import numpy as np

from deniable.arrays import IntArray
from deniable.errors import check_whole
from deniable.guarantee import Guarantee, TotalVariation
from deniable.mechanisms.protocol import CountState, next_round, no_counts
from deniable.noise import Noise


@dataclass(frozen=True)
class UniformRandom:
    """Audit a target drawn uniformly; the reports are not even kept.

    >>> UniformRandom(n_targets=3).guarantee().delta
    0.0
    """

    n_targets: int

    def __post_init__(self) -> None:
        check_whole("n_targets", self.n_targets, least=2)

    def guarantee(self) -> Guarantee:
        """(0, 0)-DP: the transcript does not depend on the reports (`app:prop:uniform_privacy`)."""
        return Guarantee(TotalVariation(0.0, likelihood_cap=1.0))

    def init(self, runs: int = 1) -> CountState:
        return no_counts(runs, self.n_targets)

    def step(self, state: CountState, reports: IntArray, noise: Noise) -> tuple[IntArray, CountState]:
        audits = noise.choose(np.ones_like(reports, dtype=np.bool_))
        return audits, CountState(next_round(state.rounds, self.guarantee()), state.counts)
