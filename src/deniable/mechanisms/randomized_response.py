"""Randomized response auditing (`app:alg:randomized_response`)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from deniable.arrays import BoolArray, IntArray
from deniable.calibration import rr_delta, rr_likelihood_cap, rr_p_rand
from deniable.curves import TotalVariation
from deniable.errors import DeniableError, check_delta, check_whole
from deniable.guarantee import Guarantee
from deniable.mechanisms.base import CountMechanism, largest
from deniable.noise import Noise
from deniable.rules import NO_RULES, History, Rules


@dataclass(frozen=True)
class RandomizedResponse(CountMechanism):
    """With probability `p_rand` audit a uniform target, otherwise a target with the largest active count.

    `horizon` limits the number of rounds, which lets 1 - p_rand**T (`app:prop:RR_privacy`) count as well; the
    other bound, C (1 - p_rand) / p_rand (`app:prop:RR_horizon_free`), holds for every number of rounds.

    >>> RandomizedResponse.calibrate(n_targets=50, delta=0.1).p_rand  # C / (C + delta)
    0.99800...
    """

    p_rand: float
    horizon: int | None = None

    weight_matters: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "p_rand", float(self.p_rand))
        if not 0 < self.p_rand <= 1:
            raise DeniableError(f"p_rand must be in (0, 1], got {self.p_rand}")
        if self.horizon is not None:
            object.__setattr__(self, "horizon", check_whole("horizon", self.horizon, least=1))

    @classmethod
    def calibrate(
        cls, n_targets: int, delta: float, horizon: int | None = None, *, rules: Rules = NO_RULES
    ) -> "RandomizedResponse":
        """The least `p_rand` that either sufficient condition allows at this delta."""
        check_whole("n_targets", n_targets, least=2)
        return cls(n_targets, rr_p_rand(check_delta(delta), n_targets, horizon), horizon, rules=rules)

    def guarantee(self) -> Guarantee:
        """The smaller of the two proven bounds; without a horizon where that costs nothing."""
        for_ever = rr_delta(self.p_rand, self.n_targets)
        delta = rr_delta(self.p_rand, self.n_targets, self.horizon)
        curve = TotalVariation(delta, rr_likelihood_cap(self.p_rand, self.n_targets))
        return Guarantee(curve, horizon=self.horizon if delta < for_ever else None)

    def draw(self, tallied: IntArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        explore = noise.bernoulli(Fraction(self.p_rand), len(tallied))
        return noise.choose(np.where(explore[:, None], eligible, largest(tallied, eligible)))

    def check_targets(self, present: int, ever: int) -> None:
        if present > self.n_targets:
            raise DeniableError(
                f"this randomized response is certified for at most {self.n_targets} targets; calibrate it for more"
            )
