"""The Toeplitz counter (`subsec:tca-factorization`), and what every counter with Toeplitz matrices needs."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from deniable.arrays import BoolArray, ExactArray, FloatArray, IntArray
from deniable.calibration import toeplitz_coefficients
from deniable.counters.gaussian import (
    GRID_BITS,
    GaussianCounter,
    calibrated_variance,
    check_horizon,
    forget,
    next_age,
    same_kind,
    shown,
)
from deniable.noise import Noise
from deniable.state import Secret
from deniable.utility import conditional_error_bound


@dataclass(frozen=True, repr=False)
class ToeplitzState(Secret):
    """The active runs of B x C targets, oldest round first; zeros before a run's start."""

    age: IntArray
    """(B, C): rounds in the run, 0 right after an audit."""
    reports: ExactArray
    """(W, B, C): x, the reports of the last W rounds."""
    encoded: ExactArray
    """(W, B, C): y = F x + z, in units of 2**-GRID_BITS."""

    def __post_init__(self) -> None:
        if len(self.reports) != len(self.encoded):
            raise ValueError("reports and encoded must be of the same rounds")


@dataclass(frozen=True)
class ToeplitzCounter(GaussianCounter):
    """The counter of the paper, with the factorization of `eq:def_toeplitz_matrices`.

    >>> round(toeplitz(delta=0.1, horizon=1000).sigma, 4)  # as in the paper's appendix
    7.1897
    """

    @property
    def squared_sensitivity(self) -> int:
        return squared_sensitivity(self.horizon)

    def error_std(self) -> FloatArray:
        return self.sigma * np.sqrt(np.cumsum(toeplitz_coefficients(self.horizon) ** 2))

    def init(self, runs: int, n_targets: int) -> ToeplitzState:
        return no_rounds(runs, n_targets)

    def step(self, state: ToeplitzState, reports: IntArray, noise: Noise) -> tuple[FloatArray, ToeplitzState]:
        after = encode(state, self.horizon, encoder(self.horizon), reports, self.fresh(noise, reports.shape))
        return decode(after, decoder(self.horizon)), after

    def error_bound(self, state: ToeplitzState, reports: IntArray) -> FloatArray:
        """P[the leader is not audited in the round that these reports close], given the past: at most this, (B,).

        `thm:utility` from the run's own state, for the leader of the active counts (the first, on a tie). An
        equality for two targets. Confidential: it is computed from the true counts.
        """
        silent = np.zeros(reports.shape, dtype=state.encoded.dtype)
        after = encode(state, self.horizon, encoder(self.horizon), reports, silent)
        # mu = n + G of `app:lem:fresh`: what the output would be without fresh noise
        means = decode(after, decoder(self.horizon))
        leader = after.reports.sum(axis=0).argmax(axis=1)[:, None]
        gaps = np.take_along_axis(means, leader, axis=1) - means  # `eq:eff-gap`
        challengers = leader != np.arange(reports.shape[1])
        return conditional_error_bound(gaps[challengers].reshape(len(gaps), -1), self.sigma)

    def active_counts(self, state: ToeplitzState) -> IntArray:
        return np.asarray(state.reports.sum(axis=0), dtype=np.int64)

    def restart(self, state: ToeplitzState, audited: BoolArray) -> ToeplitzState:
        return trimmed(forget(state, audited))


def toeplitz(delta: float, horizon: int) -> ToeplitzCounter:
    """The Toeplitz counter calibrated to (0, delta)-DP on runs of at most `horizon` rounds (`eq:def_variance`)."""
    horizon = check_horizon(horizon)
    return ToeplitzCounter(horizon, calibrated_variance(delta, squared_sensitivity(horizon)))


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
    return sum(f * f for f in encoder(horizon).tolist())


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


def no_rounds(runs: int, n_targets: int) -> ToeplitzState:
    empty = np.zeros((0, runs, n_targets), dtype=object)
    return ToeplitzState(np.zeros((runs, n_targets), dtype=np.int64), empty, empty)


def encode(
    state: ToeplitzState, horizon: int, coefficients: ExactArray, reports: IntArray, fresh: ExactArray
) -> ToeplitzState:
    """The state with one more round: y = F x + z, F lower-triangular Toeplitz with these coefficients, (T,)."""
    age = next_age(state.age, horizon)
    x = _append(state.reports, reports.astype(fresh.dtype))
    y_now = _weigh(coefficients[: len(x)].astype(fresh.dtype), x) + fresh
    return ToeplitzState(age, x, _append(state.encoded, y_now))


def decode(state: ToeplitzState, coefficients: FloatArray) -> FloatArray:
    """(B, C): the newest row of B y in reports, B lower-triangular Toeplitz with these coefficients, (T,)."""
    return shown(_weigh(coefficients[: len(state.encoded)], state.encoded.astype(np.float64)))


def trimmed(state: ToeplitzState) -> ToeplitzState:
    """The state without the rounds in which no run was under way."""
    keep = slice(len(state.reports) - int(state.age.max()), None)
    return ToeplitzState(state.age, state.reports[keep], state.encoded[keep])


def _append(history: ExactArray, newest: ExactArray) -> ExactArray:
    return np.concatenate([same_kind(history, newest, under_way=len(history) > 0), newest[None]])


def _weigh(coefficients: ExactArray, history: ExactArray) -> ExactArray:
    """The newest row of a lower-triangular Toeplitz product: sum_s coefficients[W-1-s] * history[s]."""
    weighed: ExactArray = coefficients[::-1] @ history.reshape(len(history), -1)
    return weighed.reshape(history.shape[1:])
