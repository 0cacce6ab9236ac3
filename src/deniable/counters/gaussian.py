"""What the Gaussian counters share: an integer grid, its noise, the calibration and the guarantee.

A Gaussian counter releases y = F x + z (`eq:generic-counter`), where x are the reports of a run, F is its
encoder truncated toward zero to multiples of 2**-GRID_BITS and kept as integers, and z is integer noise. With
exact noise every operation up to y is integer arithmetic; decoding y is post-processing and may be floating
point. Decoding must start from y: adding float noise to the true count instead would let the low bits of the
sum tell the count.
"""

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from deniable.arrays import BoolArray, ExactArray, FloatArray, IntArray
from deniable.calibration import kappa
from deniable.curves import Gaussian
from deniable.errors import DeniableError, check_delta, check_whole
from deniable.guarantee import Guarantee
from deniable.noise import Noise
from deniable.rounding import as_written

S = TypeVar("S")

GRID_BITS = 32
ONE = 1 << GRID_BITS
"""One report, on the grid."""
MAX_HORIZON = 1_000_000
# Relative slack for the rounding of the few floating-point operations between sensitivity and delta.
SAFETY = 1e-12
# Outputs are rounded to this many bits after the point, so that equal counts tie when the noise is zero.
OUTPUT_BITS = 20
# Guarantees a discretisation error (see GaussianCounter) far below SAFETY.
LEAST_VARIANCE = 2**40
# With less, the noise would be far above any count there can be.
LEAST_DELTA = 1e-15

MIXED = "exact and simulated noise must not be mixed in one run; go on with the kind it began with"


@dataclass(frozen=True)
class GaussianCounter(ABC):
    """A Gaussian matrix-mechanism counter (`eq:generic-counter`): a factorization, and a noise that fits it.

    `variance` is sigma**2 of the fresh noise in units of 4**-GRID_BITS. The noise drawn is a discrete Gaussian
    of variance `variance + 1/12`, which over n draws is within n * 4.9e-4 / variance**2 in total
    variation of a rounded Gaussian of variance `variance` (docs/explanation/exact-arithmetic.md proves it for
    every variance from LEAST_VARIANCE on); a rounded Gaussian is post-processing of the
    continuous one, so `prop:base-counter-privacy` applies to it exactly. Both worlds together add
    2 n * 4.9e-4 / variance**2 < 1e-20 to delta for the n draws of a run, which SAFETY covers many times over.

    A row of the encoder must be released once, with a draw of its own, in a round when all its inputs are there. Then
    a report shifts only draws that were not made before it, and the guarantee holds given every past output of the run
    (docs/explanation/counters.md), which is what counter auditing needs.
    """

    horizon: int
    variance: int

    def __post_init__(self) -> None:
        # Plain numbers: those of NumPy could overflow, and have another repr.
        object.__setattr__(self, "horizon", check_horizon(self.horizon))
        object.__setattr__(self, "variance", check_whole("variance", self.variance, least=LEAST_VARIANCE))

    @property
    @abstractmethod
    def squared_sensitivity(self) -> int:
        """M_T**2, the largest squared column norm of the encoder (`eq:definition_mt`), in units of 4**-GRID_BITS."""

    @abstractmethod
    def error_std(self) -> FloatArray:
        """(T,): the standard deviation of the output in every round of a run, in reports."""

    @property
    def sigma(self) -> float:
        """Standard deviation of the fresh noise, in reports (`eq:def_variance`)."""
        return math.sqrt(self.variance) / ONE

    @property
    def draw_variance(self) -> Fraction:
        """The parameter of the discrete Gaussian that is drawn, on the grid."""
        return _draw_variance(self.variance)

    @property
    def max_error(self) -> float:
        """The largest standard deviation of the output over the horizon, in reports."""
        return float(self.error_std().max())

    def guarantee(self) -> Guarantee:
        """mu-GDP with mu = M_T / sigma for every run of at most `horizon` rounds, given every past output of the run
        (`prop:base-counter-privacy`).
        """
        return _guarantee(self.squared_sensitivity, self.variance, self.horizon)

    def fresh(self, noise: Noise, shape: tuple[int, ...]) -> ExactArray:
        """Integer noise on the grid; floats from a simulated source."""
        return noise.gaussian(self.draw_variance, shape)


# Every round asks for both, so they are kept.


@lru_cache(maxsize=64)
def _draw_variance(variance: int) -> Fraction:
    return Fraction(12 * variance + 1, 12)


@lru_cache(maxsize=64)
def _guarantee(squared_sensitivity: int, variance: int, horizon: int) -> Guarantee:
    mu = math.sqrt(squared_sensitivity / variance)
    return Guarantee(Gaussian(mu * (1 + SAFETY / 4)), horizon=horizon)


def calibrated_variance(delta: float, squared_sensitivity: int) -> int:
    """The least `variance` of a (0, delta)-DP counter with this sensitivity (`eq:def_variance`)."""
    if check_delta(delta) < LEAST_DELTA:
        raise DeniableError(f"delta must be at least {LEAST_DELTA} for a counter, got {delta}")
    least = Fraction(squared_sensitivity) / (4 * Fraction(kappa(as_written(delta))) ** 2)
    return math.ceil(least * (1 + Fraction(SAFETY)))


def check_horizon(horizon: int) -> int:
    if check_whole("horizon", horizon, least=1) > MAX_HORIZON:
        raise DeniableError(f"horizon must be at most {MAX_HORIZON} rounds, got {horizon}")
    return int(horizon)


def next_age(age: IntArray, horizon: int) -> IntArray:
    """(B, C): the rounds in every run, one more than before; refused beyond the horizon."""
    if int(age.max()) >= horizon:
        raise DeniableError(
            f"a run has reached the certified horizon of {horizon} rounds; "
            "start a new programme calibrated for a longer horizon, and do not count this one's reports again"
        )
    return age + 1


def same_kind(values: ExactArray, fresh: ExactArray, under_way: bool) -> ExactArray:
    """Stored values as the kind of number that the noise is; only a state without any run may change its kind."""
    if under_way and values.dtype != fresh.dtype:
        raise DeniableError(MIXED)
    return values.astype(fresh.dtype, copy=False)


def shown(noisy: FloatArray) -> FloatArray:
    """What the counter shows: its estimate in reports, on the coarser grid of outputs."""
    scaled = np.asarray(noisy * 2.0**OUTPUT_BITS)
    np.rint(scaled, out=scaled)
    scaled *= 2.0**-OUTPUT_BITS
    return scaled


def in_reports(released: ExactArray) -> FloatArray:
    """Grid units to reports."""
    return np.asarray(released.astype(np.float64, copy=False) * 2.0**-GRID_BITS)


def forget(state: S, audited: BoolArray) -> S:
    """A state of (…, B, C) arrays with everything about the audited instances, (B, C), set to zero."""
    arrays: dict[str, Any] = vars(state)
    return dataclasses.replace(  # type: ignore[type-var]  # states are dataclasses
        state, **{name: np.where(audited, 0, values) for name, values in arrays.items()}
    )
