"""The Toeplitz counter (`subsec:tca-factorization`) on an integer grid.

The private release is y = F x + z, where x are the reports of a run, F is the encoder of
`eq:def_toeplitz_matrices` truncated to multiples of 2**-GRID_BITS and kept as integers, and z is integer
noise. With exact noise every operation up to y is integer arithmetic; decoding y is post-processing and may
be floating point. Decoding must start from y: adding float noise to the true count instead would let the low
bits of the sum tell the count.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from deniable.arrays import BoolArray, ExactArray, FloatArray, IntArray
from deniable.calibration import kappa, toeplitz_coefficients
from deniable.errors import DeniableError, check_delta, check_whole
from deniable.guarantee import Gaussian, Guarantee
from deniable.noise import Noise
from deniable.utility import conditional_error_bound

GRID_BITS = 32
MAX_HORIZON = 1_000_000
# Relative slack for the rounding of the few floating-point operations between sensitivity and delta.
SAFETY = 1e-12
# Outputs are rounded to this many bits after the point, so that equal counts tie when the noise is zero.
OUTPUT_BITS = 20
# Guarantees a discretisation error (see ToeplitzCounter) far below SAFETY.
LEAST_VARIANCE = 2**40


@dataclass(frozen=True)
class ToeplitzState:
    """The active runs of B x C targets, oldest round first; zeros before a run's start."""

    age: IntArray
    """(B, C): rounds in the run, 0 right after an audit."""
    reports: ExactArray
    """(W, B, C): x, the reports of the last W rounds."""
    encoded: ExactArray
    """(W, B, C): y = F x + z, in units of 2**-GRID_BITS."""


@dataclass(frozen=True)
class ToeplitzCounter:
    """A Gaussian matrix-mechanism counter (`eq:generic-counter`) with the factorization of `eq:def_toeplitz_matrices`.

    `variance` is sigma**2 of the fresh noise in units of 4**-GRID_BITS. The noise drawn is a discrete Gaussian
    of variance `variance + 1/12`, which over a run of T rounds is within T * 4.9e-4 / variance**2 in total
    variation of a rounded Gaussian of variance `variance` (docs/explanation/exact-arithmetic.md proves it for
    every variance from LEAST_VARIANCE on); a rounded Gaussian is post-processing of the
    continuous one, so `prop:base-counter-privacy` applies to it exactly. Both worlds together add
    2 T * 4.9e-4 / variance**2 < 1e-20 to delta, which SAFETY covers many times over.

    >>> round(toeplitz(delta=0.1, horizon=1000).sigma, 4)  # as in the paper's appendix
    7.1897
    """

    horizon: int
    variance: int

    def __post_init__(self) -> None:
        _check_horizon(self.horizon)
        check_whole("variance", self.variance, least=LEAST_VARIANCE)

    @property
    def sigma(self) -> float:
        """Standard deviation of the fresh noise, in reports (`eq:def_variance`)."""
        return math.sqrt(self.variance) / float(2**GRID_BITS)

    def guarantee(self) -> Guarantee:
        """mu-GDP with mu = M_T / sigma, for every run of at most `horizon` rounds (`prop:base-counter-privacy`)."""
        mu = math.sqrt(squared_sensitivity(self.horizon) / self.variance)
        return Guarantee(Gaussian(mu * (1 + SAFETY / 4)), horizon=self.horizon)

    def init(self, runs: int, n_targets: int) -> ToeplitzState:
        empty = np.zeros((0, runs, n_targets), dtype=object)
        return ToeplitzState(np.zeros((runs, n_targets), dtype=np.int64), empty, empty)

    def step(self, state: ToeplitzState, reports: IntArray, noise: Noise) -> tuple[FloatArray, ToeplitzState]:
        fresh = noise.gaussian(Fraction(12 * self.variance + 1, 12), reports.shape)
        after = self._advance(state, reports, fresh)
        return self._decode(after), after

    def error_bound(self, state: ToeplitzState, reports: IntArray) -> FloatArray:
        """P[the leader is not audited in the round that these reports close], given the past: at most this, (B,).

        `thm:utility` from the run's own state, for the leader of the active counts (the first, on a tie). An
        equality for two targets.
        """
        after = self._advance(state, reports, np.zeros(reports.shape, dtype=state.encoded.dtype))
        means = self._decode(after)  # mu = n + G of `app:lem:fresh`: what the output would be without fresh noise
        leader = after.reports.sum(axis=0).argmax(axis=1)[:, None]
        gaps = np.take_along_axis(means, leader, axis=1) - means  # `eq:eff-gap`
        challengers = leader != np.arange(reports.shape[1])
        return conditional_error_bound(gaps[challengers].reshape(len(gaps), -1), self.sigma)

    def _advance(self, state: ToeplitzState, reports: IntArray, fresh: ExactArray) -> ToeplitzState:
        age = state.age + 1
        window = int(age.max())
        if window > self.horizon:
            raise DeniableError(
                f"a run has reached the certified horizon of {self.horizon} rounds; "
                "start a new programme calibrated for a longer horizon"
            )
        x = _append(state.reports, reports.astype(fresh.dtype))
        y_now = _weigh(encoder(self.horizon)[:window].astype(fresh.dtype), x) + fresh
        return ToeplitzState(age, x, _append(state.encoded, y_now))

    def _decode(self, state: ToeplitzState) -> FloatArray:
        noisy = _weigh(decoder(self.horizon)[: len(state.encoded)], state.encoded.astype(np.float64))
        return np.asarray(np.rint(noisy * 2**OUTPUT_BITS) / 2**OUTPUT_BITS)

    def restart(self, state: ToeplitzState, audited: BoolArray) -> ToeplitzState:
        age = np.where(audited, 0, state.age)
        keep = slice(len(state.reports) - int(age.max()), None)
        return ToeplitzState(age, np.where(audited, 0, state.reports[keep]), np.where(audited, 0, state.encoded[keep]))


def toeplitz(delta: float, horizon: int) -> ToeplitzCounter:
    """The Toeplitz counter calibrated to (0, delta)-DP on runs of at most `horizon` rounds (`eq:def_variance`)."""
    check_delta(delta)
    _check_horizon(horizon)
    least = Fraction(squared_sensitivity(horizon)) / (4 * Fraction(kappa(delta)) ** 2)
    return ToeplitzCounter(horizon, math.ceil(least * (1 + Fraction(SAFETY))))


@lru_cache(maxsize=8)
def encoder(horizon: int) -> ExactArray:
    """F_k = f_k * 2**GRID_BITS rounded down, as Python integers, (T,).

    Computed in 64 more bits of fixed point, with integers only, so that every machine gets the same encoder.
    """
    guard = 64
    scaled, out = 1 << (GRID_BITS + guard), np.empty(horizon, dtype=object)
    for k in range(horizon):
        if k:
            scaled = scaled * (2 * k - 1) // (2 * k)  # f_k = (1 - 1/2k) f_{k-1}
        out[k] = scaled >> guard
    out.flags.writeable = False
    return out


@lru_cache(maxsize=8)
def squared_sensitivity(horizon: int) -> int:
    """M_T**2 in units of 4**-GRID_BITS, exact (`lem:tca-sensitivity`)."""
    return sum(int(f) ** 2 for f in encoder(horizon))


@lru_cache(maxsize=8)
def decoder(horizon: int) -> FloatArray:
    """First column of B with B F = A, in units of 2**-GRID_BITS, (T,).

    With F = f - e, e the truncation, and f * f = A: B = A / F = f + e + e*e/f + ..., and already the third
    term is below 1e-12 for every horizon allowed.
    """
    f = toeplitz_coefficients(horizon)
    truncated = np.ldexp(encoder(horizon).astype(np.float64), -GRID_BITS)
    out: FloatArray = np.ldexp(2 * f - truncated, -GRID_BITS)
    out.flags.writeable = False
    return out


def _check_horizon(horizon: int) -> None:
    if check_whole("horizon", horizon, least=1) > MAX_HORIZON:
        raise DeniableError(f"horizon must be at most {MAX_HORIZON} rounds, got {horizon}")


def _append(history: ExactArray, newest: ExactArray) -> ExactArray:
    if len(history) and history.dtype != newest.dtype:
        raise DeniableError("exact and simulated noise must not be mixed in one run; go on with the kind it began with")
    return np.concatenate([history.astype(newest.dtype, copy=False), newest[None]])


def _weigh(coefficients: ExactArray, history: ExactArray) -> ExactArray:
    """The newest row of a lower-triangular Toeplitz product: sum_s coefficients[W-1-s] * history[s]."""
    weighed: ExactArray = coefficients[::-1] @ history.reshape(len(history), -1)
    return weighed.reshape(history.shape[1:])
