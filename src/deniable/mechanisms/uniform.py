"""Uniformly random auditing (`app:alg:uniformly_random`): perfect privacy, and no use of the reports."""

from dataclasses import dataclass
from typing import ClassVar

from deniable.arrays import BoolArray, IntArray
from deniable.curves import TotalVariation
from deniable.guarantee import Guarantee
from deniable.mechanisms.base import CountMechanism
from deniable.noise import Noise
from deniable.rules import History


@dataclass(frozen=True)
class UniformRandom(CountMechanism):
    """Audit a target drawn uniformly; the reports are not even kept.

    >>> UniformRandom(n_targets=3).guarantee().delta
    0.0
    """

    several_audits: ClassVar[bool] = True

    def guarantee(self) -> Guarantee:
        """(0, 0)-DP: the transcript does not depend on the reports (`app:prop:uniform_privacy`)."""
        return Guarantee(TotalVariation(0.0, likelihood_cap=1.0))

    def tally(self, private: IntArray, reports: IntArray, noise: Noise) -> tuple[None, IntArray]:  # type: ignore[override]
        return None, private

    def active_counts(self, private: IntArray) -> None:
        return None

    def draw(self, tallied: None, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        return noise.choose(eligible)
