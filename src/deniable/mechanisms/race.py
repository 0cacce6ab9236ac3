"""Race auditing: the exponential mechanism plus the report reset (proof: docs/explanation/race.md)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from deniable.arrays import BoolArray, ExactArray, FloatArray, IntArray
from deniable.calibration import race_rho
from deniable.curves import Exponential
from deniable.errors import DeniableError, check_delta
from deniable.guarantee import Guarantee
from deniable.mechanisms.base import CountMechanism
from deniable.noise import Noise
from deniable.rules import NO_RULES, History, Rules

# phi is held constant from MAX_COUNT reports on, or once it needs more than MAX_BITS bits: still private, since
# a step of 1 is at most rho; only the order of two targets that are both beyond is lost.
MAX_COUNT = 10_000
MAX_BITS = 20_000
# Public weights are rounded to this many bits below the largest.
WEIGHT_BITS = 32


@dataclass(frozen=True)
class GeometricGrowth:
    """phi(0) = 2**64, phi(n+1) = floor(rho * phi(n)): integers with phi(n) <= phi(n+1) <= rho * phi(n)."""

    rho: float

    @property
    def longest(self) -> int:
        """The count from which on phi is held constant."""
        return len(_growth_table(self.rho)[0]) - 1

    def exact(self, counts: IntArray) -> ExactArray:
        table, _ = _growth_table(self.rho)
        return table[np.minimum(counts, len(table) - 1)]

    def log(self, counts: IntArray) -> FloatArray:
        _, logs = _growth_table(self.rho)
        return logs[np.minimum(counts, len(logs) - 1)]


WeightRule = Callable[[History], FloatArray]
"""Public weights, (B, C), from what the past transcript says about the targets."""

Weights = Sequence[float] | FloatArray | WeightRule
"""Public weights as they are given: one number a target, or a rule."""


@dataclass(frozen=True)
class Race(CountMechanism):
    """In every round audit target c with probability proportional to weight(c) * phi(active count of c).

    There is no noise to store and no horizon. Transcripts of adjacent streams are at most
    delta(rho) = rho**(-1/(rho-1)) - rho**(-rho/(rho-1)) apart in total variation, and no transcript is more than
    rho times as likely with a report as without it, everything else equal. `weights` must be public: one number a
    target, or a function of the past transcript such as `forecast`.

    >>> race = Race.calibrate(n_targets=50, delta=0.1)
    >>> round(race.rho, 6), round(race.guarantee().delta, 9)
    (1.313467, 0.1)
    """

    rho: float
    weights: tuple[float, ...] | WeightRule | None = None

    several_audits: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rho", float(self.rho))  # table and guarantee must mean the same number
        if not 1 < self.rho < math.inf:
            raise DeniableError(f"rho must be a finite number above 1, got {self.rho}")
        if self.weights is not None and not callable(self.weights):
            weights = np.asarray(self.weights, dtype=np.float64)
            _check_weights(weights, (self.n_targets,))
            object.__setattr__(self, "weights", tuple(weights.tolist()))

    @classmethod
    def calibrate(
        cls,
        n_targets: int,
        delta: float,
        *,
        weights: Weights | None = None,
        rules: Rules = NO_RULES,
    ) -> "Race":
        """The largest rho whose delta(rho) does not exceed `delta`."""
        return cls(n_targets, race_rho(check_delta(delta)), weights, rules=rules)  # type: ignore[arg-type]

    @property
    def growth(self) -> GeometricGrowth:
        return GeometricGrowth(self.rho)

    def guarantee(self) -> Guarantee:
        return Guarantee(Exponential(self.rho))

    def check_targets(self, present: int, ever: int) -> None:
        if isinstance(self.weights, tuple) and ever > len(self.weights):
            raise DeniableError("fixed weights cannot serve targets that joined later; give weights as a function")

    def draw(self, tallied: IntArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        return noise.race(self.growth, tallied, np.where(eligible, self.whole_weights(history), 0))

    def whole_weights(self, history: History) -> IntArray:
        """The public weights as positive integers, (B, C), so that the draw can be exact."""
        shape = history.last.shape
        if self.weights is None:
            return np.ones(shape, dtype=np.int64)
        if callable(self.weights):
            weights = np.asarray(self.weights(history), dtype=np.float64)
            _check_weights(weights, shape)
        else:
            weights = np.broadcast_to(self.weights, shape)
        scaled: FloatArray = np.rint(weights / weights.max(axis=1, keepdims=True) * 2**WEIGHT_BITS)
        return np.maximum(scaled, 1).astype(np.int64)


def _check_weights(weights: FloatArray, shape: tuple[int, ...]) -> None:
    if weights.shape != shape:
        raise DeniableError(f"weights must have shape {shape}, one for each target, got {weights.shape}")
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise DeniableError("weights must be positive numbers")


@lru_cache(maxsize=8)
def _growth_table(rho: float) -> tuple[ExactArray, FloatArray]:
    ratio = Fraction(rho)  # exact: a float is a fraction
    phi = [1 << 64]
    while len(phi) <= MAX_COUNT and phi[-1].bit_length() < MAX_BITS:
        # Flooring relative to phi(n) keeps every step at most rho; flooring rho**n would not.
        phi.append(phi[-1] * ratio.numerator // ratio.denominator)
    table = np.array(phi, dtype=object)
    logs = np.array([math.log(value) for value in phi])
    table.flags.writeable = logs.flags.writeable = False
    return table, logs
