"""The buffered-linear-Toeplitz counter: the Toeplitz counter's error, within a thousandth, from a few buffers.

The decoder is B = Toeplitz(1, b_1, b_2, …) with b_k = sum_i omega_i theta_i**(k-1), so that noise can be
decoded with one buffer for every i. The encoder is defined as C = B**-1 A; hence B C = A whatever theta and
omega are, and their choice decides only about the error.

C has a closed form. Its first column is c_t = 1 - sum_i omega_i s_i with s_i <- theta_i s_i + c_t, a linear
recursion with the matrix diag(theta) - 1 omega^T, which is similar to the symmetric diag(theta) - w w^T with
w = sqrt(omega). With its eigenvalues phi_i,

    c_t = c_inf + sum_i a_i phi_i**t,   1 / c_inf = 1 + sum_i omega_i / (1 - theta_i),

where p = 1 - phi_i are the roots of 1 = sum_j omega_j / (p - q_j), q = 1 - theta, one between any two
neighbouring q and one above all, and 1 / a_i = p sum_j omega_j / (p - q_j)**2. All terms are positive, so
nothing cancels; the polynomials, whose roots crowd near 1, are never expanded.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from deniable.arrays import BoolArray, ExactArray, FloatArray, IntArray
from deniable.counters.gaussian import (
    MIXED,
    ONE,
    GaussianCounter,
    calibrated_variance,
    check_horizon,
    forget,
    in_reports,
    next_age,
    shown,
)
from deniable.counters.toeplitz import ToeplitzState, decode, encode, no_rounds, trimmed
from deniable.errors import DeniableError, check_whole
from deniable.noise import Noise
from deniable.state import Secret

# Ten buffers come within 0.05 % of the Toeplitz counter's error at every horizon up to MAX_HORIZON.
BUFFERS = 10


@dataclass(frozen=True, repr=False)
class BltState(Secret):
    """Exact runs keep their history, because the truncated encoder is no recursion; simulated runs need none."""

    history: ToeplitzState
    """Exact runs; in simulation only its `age` is in use."""
    count: IntArray
    """(B, C): active counts, in simulation."""
    buffers: FloatArray
    """(d, B, C): sum_k theta_i**(k-1) z_{t-k}, the decoder's view of the past noise, in simulation."""


@dataclass(frozen=True)
class BltCounter(GaussianCounter):
    """A Gaussian counter with the decoder of `theta` and `omega`, (d,) each; theta increasing, within (0, 1)."""

    theta: tuple[float, ...]
    omega: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_parameters(self.theta, self.omega)

    @property
    def squared_sensitivity(self) -> int:
        return squared_sensitivity(self.horizon, self.theta, self.omega)

    def error_std(self) -> FloatArray:
        return self.sigma * np.sqrt(np.cumsum(decoder_coefficients(self.horizon, self.theta, self.omega) ** 2))

    def init(self, runs: int, n_targets: int) -> BltState:
        count = np.zeros((runs, n_targets), dtype=np.int64)
        return BltState(no_rounds(runs, n_targets), count, np.zeros((len(self.theta), runs, n_targets)))

    def step(self, state: BltState, reports: IntArray, noise: Noise) -> tuple[FloatArray, BltState]:
        fresh = self.fresh(noise, reports.shape)
        exact = fresh.dtype == object
        if state.history.age.any() and exact != (len(state.history.encoded) > 0):
            raise DeniableError(MIXED)
        return self._step_exact(state, reports, fresh) if exact else self._step_simulated(state, reports, fresh)

    def _step_exact(self, state: BltState, reports: IntArray, fresh: ExactArray) -> tuple[FloatArray, BltState]:
        history = encode(state.history, self.horizon, encoder(self.horizon, self.theta, self.omega), reports, fresh)
        noisy = decode(history, decoder(self.horizon, self.theta, self.omega))
        return noisy, BltState(history, state.count, state.buffers)

    def _step_simulated(self, state: BltState, reports: IntArray, fresh: ExactArray) -> tuple[FloatArray, BltState]:
        """B (C x + z) = A x + B z, with B z from the buffers."""
        age, count = next_age(state.history.age, self.horizon), state.count + reports
        theta, omega = _as_arrays(self.theta, self.omega)
        decoded = (omega @ state.buffers.reshape(len(omega), -1)).reshape(fresh.shape)
        decoded += fresh
        buffers = theta[:, None, None] * state.buffers
        buffers += fresh
        history = ToeplitzState(age, state.history.reports, state.history.encoded)
        return shown(count + in_reports(decoded)), BltState(history, count, buffers)

    def restart(self, state: BltState, audited: BoolArray) -> BltState:
        history, buffers = state.history, state.buffers.copy()
        buffers.reshape(len(buffers), -1)[:, np.flatnonzero(audited)] = 0.0
        if len(history.encoded):
            history = trimmed(forget(history, audited))
        else:
            history = ToeplitzState(np.where(audited, 0, history.age), history.reports, history.encoded)
        return BltState(history, np.where(audited, 0, state.count), buffers)


def blt(delta: float, horizon: int, buffers: int = BUFFERS) -> BltCounter:
    """The BLT counter calibrated to (0, delta)-DP on runs of at most `horizon` rounds.

    >>> counter = blt(delta=0.1, horizon=1000)
    >>> from deniable.counters import toeplitz
    >>> 1 < counter.max_error / toeplitz(delta=0.1, horizon=1000).max_error < 1.001
    True
    """
    horizon = check_horizon(horizon)
    check_whole("buffers", buffers, least=4)
    theta, omega = parameters(horizon, buffers)
    return BltCounter(horizon, calibrated_variance(delta, squared_sensitivity(horizon, theta, omega)), theta, omega)


@lru_cache(maxsize=8)
def parameters(horizon: int, buffers: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Theta and omega with the smallest maximum error on a grid of quadratures.

    The Toeplitz coefficients are f_k = (1/pi) times the integral over theta from 0 to 1 of
    theta**(k - 1/2) (1 - theta)**(-1/2). With theta = 1 / (1 + exp(y)) this is an integral over all y of a
    function that vanishes fast at both ends, which the trapezoid rule approximates very well: b_k is its sum
    over equally spaced y. The two ends of y are searched.
    """
    low, high = (
        ends.reshape(-1, 1) for ends in np.meshgrid(-np.log(horizon) - np.arange(1, 8, 0.25), np.arange(-0.5, 4, 0.25))
    )
    spacing = (high - low) / (buffers - 1)
    y = high - spacing * np.arange(buffers)
    theta, q = 1 / (1 + np.exp(y)), 1 / (1 + np.exp(-y))
    omega = spacing / np.pi * theta**1.5 * np.sqrt(q)
    errors = _squared_max_error(q, omega, horizon)
    # The first of equals, and six digits, so that every machine finds the same, however it rounds exp.
    best = int(np.argmax(errors <= errors.min() * (1 + 1e-9)))
    q_digits, omega_digits = ([float(f"{value:.5e}") for value in found[best]] for found in (q, omega))
    return tuple(1 - value for value in q_digits), tuple(omega_digits)


@lru_cache(maxsize=8)
def _as_arrays(theta: tuple[float, ...], omega: tuple[float, ...]) -> tuple[FloatArray, FloatArray]:
    arrays = np.array(theta), np.array(omega)
    for array in arrays:
        array.flags.writeable = False
    return arrays


@lru_cache(maxsize=8)
def encoder(horizon: int, theta: tuple[float, ...], omega: tuple[float, ...]) -> ExactArray:
    """F_k = c_k * 2**GRID_BITS truncated toward zero, as Python integers, (T,)."""
    out = (encoder_coefficients(horizon, theta, omega) * ONE).astype(np.int64).astype(object)
    out.flags.writeable = False
    return out


@lru_cache(maxsize=8)
def squared_sensitivity(horizon: int, theta: tuple[float, ...], omega: tuple[float, ...]) -> int:
    """M_T**2 in units of 4**-GRID_BITS, exact: the first column of the encoder has the largest norm."""
    return sum(f * f for f in encoder(horizon, theta, omega).tolist())


@lru_cache(maxsize=8)
def decoder(horizon: int, theta: tuple[float, ...], omega: tuple[float, ...]) -> FloatArray:
    """First column of B' with B' F = A, in units of 2**-GRID_BITS, (T,).

    B F = A - R, where R comes from the truncation of F and is below 1e-6. One step of Newton's iteration for
    A / F, with A**-1 = 1 - X as power series, leaves R**2 (1 - X): B' = B + B R (1 - X).
    """
    b = decoder_coefficients(horizon, theta, omega)
    residual = 1 - _convolve(b, in_reports(encoder(horizon, theta, omega)))
    out = (b + _convolve(b, np.diff(residual, prepend=0.0))) / ONE
    out.flags.writeable = False
    return out


def _convolve(a: FloatArray, b: FloatArray) -> FloatArray:
    """The first entries, as many as both have, of the product of two power series."""
    n = len(a)
    # NumPy's own transform: scipy.signal takes half a second to import.
    return np.fft.irfft(np.fft.rfft(a, 2 * n) * np.fft.rfft(b, 2 * n), 2 * n)[:n]


def decoder_coefficients(horizon: int, theta: tuple[float, ...], omega: tuple[float, ...]) -> FloatArray:
    """(T,): b_0 = 1 and b_k = sum_i omega_i theta_i**(k-1)."""
    return np.concatenate([[1.0], _exponential_sum(horizon, omega, theta)[: horizon - 1]])


def encoder_coefficients(horizon: int, theta: tuple[float, ...], omega: tuple[float, ...]) -> FloatArray:
    """(T,): c_k, the first column of C = B**-1 A.

    Every machine gets the same: IEEE 754 fixes single operations, `fsum` rounds once, and no other function is used.
    """
    q = [1 - t for t in theta]
    roots = [_root(q, omega, i) for i in range(len(q))]
    limit = 1 / (1 + math.fsum(w / x for w, x in zip(omega, q, strict=True)))
    weights = [1 / (p * math.fsum(w / ((p - x) * (p - x)) for w, x in zip(omega, q, strict=True))) for p in roots]
    return limit + _exponential_sum(horizon, weights, [1 - p for p in roots])


def _exponential_sum(length: int, weights: Sequence[float], bases: Sequence[float]) -> FloatArray:
    """(length,): sum_i weights_i bases_i**k."""
    block = 1 << ((length.bit_length() + 1) // 2)
    total = np.zeros((-(-length // block), block))
    for weight, base in zip(weights, bases, strict=True):
        fine = _powers(base, block)
        coarse = _powers(float(fine[-1]) * base, len(total))
        total += weight * coarse[:, None] * fine
    return total.ravel()[:length]


def _powers(base: float, length: int) -> FloatArray:
    factors = np.full(length, base)
    factors[0] = 1.0
    return np.multiply.accumulate(factors)


def _root(q: Sequence[float], omega: Sequence[float], i: int) -> float:
    """The root p of sum_j omega_j / (p - q_j) = 1 next above q_i, by bisection; q is decreasing."""
    low, high = q[i], q[i - 1] if i else q[0] + math.fsum(omega)
    while low < (middle := (low + high) / 2) < high:
        if math.fsum(w / (middle - x) for w, x in zip(omega, q, strict=True)) > 1:
            low = middle
        else:
            high = middle
    return middle


def _squared_max_error(q: FloatArray, omega: FloatArray, horizon: int) -> FloatArray:
    """(n, d) candidates -> (n,): (sum b_k**2) (sum c_k**2) over k < T, in closed form; inf where phi_i < 0."""
    w = np.sqrt(omega)
    p = np.linalg.eigvalsh(q[:, :, None] * np.eye(q.shape[1]) + w[:, :, None] * w[:, None, :])
    a = 1 / (p * (omega[:, None, :] / (p[:, :, None] - q[:, None, :]) ** 2).sum(axis=2))
    limit = 1 / (1 + (omega / q).sum(axis=1))
    valid = p.max(axis=1) < 1
    p = np.where(valid[:, None], p, 0.5)
    decoder_norm = 1 + _sum_of_squares(omega, q, horizon - 1)
    cross = 2 * limit * (a * (1 - (1 - p) ** horizon) / p).sum(axis=1)
    encoder_norm = horizon * limit**2 + cross + _sum_of_squares(a, p, horizon)
    return np.where(valid, decoder_norm * encoder_norm, np.inf)


def _sum_of_squares(weights: FloatArray, p: FloatArray, length: int) -> FloatArray:
    """Sum over k < length of (sum_i weights_i (1 - p_i)**k)**2."""
    i, j = np.s_[:, :, None], np.s_[:, None, :]
    ratio_gap = p[i] + p[j] - p[i] * p[j]  # 1 - (1 - p_i) (1 - p_j)
    sums: FloatArray = (weights[i] * weights[j] * (1 - (1 - ratio_gap) ** length) / ratio_gap).sum(axis=(1, 2))
    return sums


def _check_parameters(theta: tuple[float, ...], omega: tuple[float, ...]) -> None:
    if not (len(theta) == len(omega) > 0 and all(w > 0 for w in omega)):
        raise DeniableError("omega must be positive numbers, as many as theta has, at least one")
    if not all(a < b for a, b in pairwise((0.0, *theta, 1.0))):
        raise DeniableError("theta must be increasing, within (0, 1)")
