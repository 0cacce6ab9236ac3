"""A counter from any factorization: decoder @ encoder = the lower-triangular matrix of ones.

For a researcher's own matrices, at horizons where T x T matrices are cheap.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from deniable.arrays import BoolArray, ExactArray, FloatArray, IntArray
from deniable.counters.gaussian import (
    GRID_BITS,
    ONE,
    GaussianCounter,
    calibrated_variance,
    check_horizon,
    forget,
    in_reports,
    next_age,
    same_kind,
    shown,
)
from deniable.errors import DeniableError
from deniable.noise import Noise
from deniable.state import Secret

# Entries beyond this have no place in a sum of report counts.
LARGEST = 1e12
# Largest error in any entry of decoder @ encoder, and largest decoder entry that is taken for a rounded zero.
TOLERANCE = 1e-9
# Largest error that the truncation of the encoder may make before it is corrected.
COARSEST = 1e-6


class Factorization:
    """A decoder (T, m) and an encoder (m, T), m >= T, checked.

    Two are equal if their matrices are; the SHA-256 in the repr stands for all entries.
    """

    def __init__(self, decoder: ArrayLike, encoder: ArrayLike) -> None:
        self.decoder = _matrix("decoder", decoder)
        self.encoder = _matrix("encoder", encoder)
        (rounds, rows), shape = self.decoder.shape, self.encoder.shape
        if shape != (rows, rounds) or not 1 <= rounds <= rows:
            raise DeniableError(
                f"decoder must be T x m and encoder m x T with m >= T >= 1, got {rounds} x {rows} and "
                f"{shape[0]} x {shape[1]}"
            )
        error = float(np.abs(self.decoder @ self.encoder - np.tri(rounds)).max())
        if error > TOLERANCE:
            raise DeniableError(
                "decoder @ encoder must be the T x T lower-triangular matrix of ones, "
                f"got a matrix with an entry off by {error:.3g}"
            )
        early = np.abs(np.where(self._unreleased, self.decoder, 0)).max(axis=0)
        if early.max() > TOLERANCE:
            row = int(early.argmax())
            raise DeniableError(
                f"decoder must use row {row} of the encoder only from round {self.released_in[row]} on, when the last "
                "of its inputs is there (both counted from 0), got a non-zero entry before"
            )
        error = float(np.abs(self._counted - np.tri(rounds)).max())
        if error > COARSEST:
            raise DeniableError(
                "encoder must have larger entries, and decoder smaller ones: truncated to multiples of "
                f"2**-{GRID_BITS} they miscount by up to {error:.3g}"
            )

    @property
    def horizon(self) -> int:
        return len(self.decoder)

    @cached_property
    def grid_encoder(self) -> ExactArray:
        """(m, T): F, the encoder truncated toward zero on the grid, as Python integers.

        Every machine gets the same, because multiplying by a power of two and truncating are exact.
        """
        flat = [int(value) for value in (self.encoder * ONE).ravel()]
        return _frozen(np.array(flat, dtype=object).reshape(self.encoder.shape))

    @cached_property
    def released_in(self) -> IntArray:
        """(m,): the round, counted from 0, in which a row is released: that of its last input."""
        used = self.grid_encoder != 0
        return np.asarray(np.where(used, np.arange(used.shape[1]), 0).max(axis=1), dtype=np.int64)

    @property
    def _unreleased(self) -> BoolArray:
        """(T, m): rows that are not there yet in a round."""
        return np.asarray(self.released_in > np.arange(self.horizon)[:, None])

    @cached_property
    def grid_decoder(self) -> FloatArray:
        """(T, m): B' with B' F = A, in units of 2**-GRID_BITS.

        B F is A up to the truncation of F, so the given decoder would miscount by that much. B F is lower
        triangular, because a row is used only when all its inputs are there; so A (B F)**-1 exists, is near
        the identity, and B' = A (B F)**-1 B gives B' F = A and still uses no row too early.
        """
        from scipy.linalg import solve_triangular  # noqa: PLC0415  (the only use; it takes longer to load than NumPy)

        correction = solve_triangular(self._counted.T, np.tri(self.horizon).T, lower=False).T
        return _frozen(np.where(self._unreleased, 0, correction @ self._causal) / ONE)

    @cached_property
    def _counted(self) -> FloatArray:
        """(T, T): 2**-GRID_BITS B F."""
        return np.tril(self._causal @ in_reports(self.grid_encoder))

    @cached_property
    def _causal(self) -> FloatArray:
        """(T, m): the decoder with true zeros for the rows that are not there yet."""
        return np.where(self._unreleased, 0, self.decoder)

    @cached_property
    def draw_of(self) -> IntArray:
        """(m,): which of a round's draws a row takes: the rows released in one round take 0, 1, 2, …."""
        earlier = self.released_in[:, None] == self.released_in
        return np.asarray(np.tril(earlier, -1).sum(axis=1), dtype=np.int64)

    @cached_property
    def _digest(self) -> str:
        matrices = (self.decoder, self.encoder)
        return hashlib.sha256(b"".join(matrix.astype("<f8").tobytes() for matrix in matrices)).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Factorization) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"Factorization({len(self.decoder)} x {len(self.encoder)}, sha256={self._digest})"


@dataclass(frozen=True, repr=False)
class DenseState(Secret):
    age: IntArray
    """(B, C): rounds in the run, 0 right after an audit."""
    encoded: ExactArray
    """(m, B, C): F x over the rounds so far, on the grid, and with noise from the row's release on."""


@dataclass(frozen=True)
class DenseCounter(GaussianCounter):
    """A Gaussian counter with any checked factorization; its state has m numbers a target.

    A row is released, with its noise, in the round of its last input, so the encoder is causal whatever its shape.
    """

    factorization: Factorization

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.horizon != self.factorization.horizon:
            raise DeniableError(
                f"horizon must be that of the factorization, {self.factorization.horizon}, got {self.horizon}"
            )

    @property
    def squared_sensitivity(self) -> int:
        return _squared_sensitivity(self.factorization)

    def error_std(self) -> FloatArray:
        gain: FloatArray = np.linalg.norm(self.factorization.grid_decoder * ONE, axis=1)
        return self.sigma * gain

    def init(self, runs: int, n_targets: int) -> DenseState:
        zero = np.zeros((len(self.factorization.encoder), runs, n_targets), dtype=object)
        return DenseState(np.zeros((runs, n_targets), dtype=np.int64), zero)

    def step(self, state: DenseState, reports: IntArray, noise: Noise) -> tuple[FloatArray, DenseState]:
        age, by = next_age(state.age, self.horizon), self.factorization
        # Every instance draws as often, whatever its age, so that no instance's noise depends on another's.
        draws = self.fresh(noise, (*reports.shape, int(by.draw_of.max()) + 1))
        released = by.released_in[:, None, None] == state.age
        fresh = np.where(released, _rows_first(draws[..., by.draw_of]), 0)
        column = _rows_first(by.grid_encoder.T[state.age]).astype(draws.dtype)
        earlier = same_kind(state.encoded, draws, under_way=bool(state.age.any()))
        encoded = earlier + column * reports.astype(draws.dtype) + fresh
        weights = _rows_first(by.grid_decoder[state.age])
        return shown((weights * encoded.astype(np.float64)).sum(axis=0)), DenseState(age, encoded)

    def restart(self, state: DenseState, audited: BoolArray) -> DenseState:
        return forget(state, audited)


def dense(delta: float, decoder: ArrayLike, encoder: ArrayLike) -> DenseCounter:
    """The counter of a factorization, decoder (T, m) and encoder (m, T), calibrated to (0, delta)-DP for T rounds.

    decoder @ encoder must be the lower-triangular matrix of ones up to 1e-9 in every entry. A row of the
    encoder is released in the round of its last non-zero input, and the decoder must not use it before.

    >>> counter = dense(0.1, decoder=[[1, 0], [0.5, 1]], encoder=[[1, 0], [0.5, 1]])
    >>> counter.horizon, round(counter.sigma, 3)
    (2, 4.449)
    """
    factorization = Factorization(decoder, encoder)
    check_horizon(factorization.horizon)
    variance = calibrated_variance(delta, _squared_sensitivity(factorization))
    return DenseCounter(factorization.horizon, variance, factorization)


def _squared_sensitivity(factorization: Factorization) -> int:
    squares: list[int] = (factorization.grid_encoder**2).sum(axis=0).tolist()
    return max(squares)


def _matrix(name: str, values: ArrayLike) -> FloatArray:
    matrix = np.array(values, dtype=np.float64) + 0.0  # no negative zeros, which are equal but hash differently
    if matrix.ndim != 2 or not (np.abs(matrix) < LARGEST).all():
        raise DeniableError(f"{name} must be a matrix of numbers below {LARGEST:g} in size")
    return _frozen(matrix)


def _frozen(array: ExactArray) -> ExactArray:
    array.flags.writeable = False
    return array


def _rows_first(array: ExactArray) -> ExactArray:
    """(B, C, m) -> (m, B, C)."""
    return np.moveaxis(array, -1, 0)
