"""Greedy auditing (`app:alg:greedy`): the most useful baseline, and no privacy at all."""

from dataclasses import dataclass
from typing import ClassVar

from deniable.arrays import BoolArray, IntArray
from deniable.curves import TotalVariation
from deniable.guarantee import Guarantee
from deniable.mechanisms.base import CountMechanism, largest
from deniable.noise import Noise
from deniable.rules import History


@dataclass(frozen=True)
class Greedy(CountMechanism):
    """Audit a target with the largest active count, ties broken uniformly.

    >>> Greedy(n_targets=3).guarantee().delta
    1.0
    """

    several_audits: ClassVar[bool] = True

    def guarantee(self) -> Guarantee:
        """None: over many rounds one report can change the transcript almost surely (`app:prop:greedy_no_privacy`)."""
        return Guarantee(TotalVariation(1.0))

    def draw(self, tallied: IntArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        return noise.choose(largest(tallied, eligible))
