"""Greedy auditing (`app:alg:greedy`): the most useful baseline, and no privacy at all."""

from dataclasses import dataclass

from deniable.arrays import IntArray
from deniable.errors import check_whole
from deniable.guarantee import Guarantee, TotalVariation
from deniable.mechanisms.protocol import CountState, next_round, no_counts, reset
from deniable.noise import Noise
from deniable.streams import leaders


@dataclass(frozen=True)
class Greedy:
    """Audit a target with the largest active count, ties broken uniformly.

    >>> Greedy(n_targets=3).guarantee().delta
    1.0
    """

    n_targets: int

    def __post_init__(self) -> None:
        check_whole("n_targets", self.n_targets, least=2)

    def guarantee(self) -> Guarantee:
        """None: over many rounds one report can change the transcript almost surely (`app:prop:greedy_no_privacy`)."""
        return Guarantee(TotalVariation(1.0))

    def init(self, runs: int = 1) -> CountState:
        return no_counts(runs, self.n_targets)

    def step(self, state: CountState, reports: IntArray, noise: Noise) -> tuple[IntArray, CountState]:
        counts = state.counts + reports
        audits = noise.choose(leaders(counts))
        return audits, CountState(next_round(state.rounds, self.guarantee()), reset(counts, audits))
