"""Every random choice of a mechanism: what is asked of a noise source, and the exact one.

`ExactNoise` works in integers only, so that each draw has exactly the distribution it names, with no
floating-point gap between the guarantee and the machine. The samplers for exp(-x), the discrete Laplace and
the discrete Gaussian follow Canonne, Kamath and Steinke (2020), algorithms 1-3. How long a draw takes depends
on the values drawn, so what is decided with it should be announced at a time fixed beforehand.
"""

import math
import os
import secrets
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from hashlib import shake_256
from itertools import accumulate
from operator import mul
from typing import NoReturn, Protocol, SupportsIndex, TypeVar
from weakref import WeakSet

import numpy as np

from deniable.arrays import BoolArray, ExactArray, FloatArray, IntArray
from deniable.errors import DeniableError, check_whole

T = TypeVar("T")

# Changing any of these, or the order of draws anywhere below, changes what a recorded seed replays to.
_DOMAIN = b"deniable.noise.1"
_SEED_BYTES = 32
_BLOCK_BYTES = 8 * 136  # a whole number of SHAKE-256's 136-byte squeezes


class Growth(Protocol):
    """The increasing weight phi of race auditing: a value for every active count."""

    def exact(self, counts: IntArray) -> ExactArray:
        """The weight of every count: positive Python integers in an object array of the same shape."""
        ...

    def log(self, counts: IntArray) -> FloatArray:
        """The natural logarithm of the weight of every count, same shape: for simulation."""
        ...


class Noise(Protocol):
    """Every random choice a mechanism makes, for B runs at once."""

    def bernoulli(self, probability: Fraction, runs: int) -> BoolArray:
        """(B,) independent coins, each True with the given probability."""
        ...

    def choose(self, eligible: BoolArray) -> IntArray:
        """(B, C) -> (B,): a target uniform among each row's True."""
        ...

    def race(self, growth: Growth, counts: IntArray, weights: IntArray) -> IntArray:
        """(B, C) and (B, C) -> (B,): target c with probability w_c phi(n_c) / sum_j w_j phi(n_j).

        Public weights are whole numbers; 0 leaves a target out.
        """
        ...

    def gaussian(self, variance: Fraction, shape: tuple[int, ...]) -> ExactArray:
        """Independent discrete Gaussians as Python integers; simulation gives float64 normals instead."""
        ...


def require_eligible(eligible: BoolArray) -> None:
    if not eligible.any(axis=1).all():
        raise DeniableError("every run needs at least one eligible target, got a run with none")


def race_weights(growth: Growth, counts: IntArray, weights: IntArray) -> list[list[int]]:
    """w_c phi(n_c) for every target of every run, exact."""
    phis = growth.exact(counts).tolist()
    # A float would end exactness, a fixed-width integer could wrap around in the sum.
    if not all(type(phi) is int and phi > 0 for row in phis for phi in row):
        raise DeniableError("growth must give a positive Python integer for every count")
    return [list(map(mul, row, phi)) for row, phi in zip(weights.tolist(), phis, strict=True)]


class ExactNoise:
    """Exact draws from 32 secret bytes expanded with SHAKE-256; use `SystemNoise` or `ReplayNoise`.

    The seed gives every draw, so a generator never shows it and cannot be copied or pickled.
    One generator belongs to one thread: two threads drawing at once could get the same bytes.
    """

    __slots__ = ("__weakref__", "_block", "_buffer", "_position", "_stream")

    def __init__(self, seed: bytes) -> None:
        self._start(seed)

    def _start(self, seed: bytes) -> None:
        if not isinstance(seed, bytes) or len(seed) != _SEED_BYTES:
            came = f"{len(seed)} bytes" if isinstance(seed, bytes) else type(seed).__name__
            raise DeniableError(f"seed must be exactly {_SEED_BYTES} bytes, got {came}")
        self._stream = shake_256(_DOMAIN + seed)  # the only trace of the seed: a hash state shows no input
        self._block = 0
        self._buffer = b""
        self._position = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise DeniableError(
            f"{type(self).__name__} cannot be copied or pickled: a copied generator would repeat its draws"
        )

    def _take(self, size: int) -> bytes:
        """The next `size` bytes of SHAKE-256(domain + seed + 0), SHAKE-256(domain + seed + 1), …"""
        while self._position + size > len(self._buffer):
            block = self._stream.copy()
            block.update(self._block.to_bytes(8, "big"))
            self._buffer = self._buffer[self._position :] + block.digest(_BLOCK_BYTES)
            self._position = 0
            self._block += 1
        start = self._position
        self._position = start + size
        return self._buffer[start : self._position]

    def below(self, n: int) -> int:
        """Uniform on 0, …, n - 1.

        >>> noise = ReplayNoise(bytes(32))
        >>> [noise.below(6) for _ in range(8)]
        [3, 5, 0, 1, 1, 5, 0, 1]
        """
        if not isinstance(n, int) or n < 1:
            raise DeniableError("n must be a whole number of at least 1")  # no value: n may come from counts
        bits = (n - 1).bit_length()
        size = (bits + 7) // 8
        spare = 8 * size - bits
        while True:
            value = int.from_bytes(self._take(size), "big") >> spare
            if value < n:  # at least every second time on average
                return value

    def pick(self, total: int, outcome: Callable[[int], T]) -> T:
        """The outcome of a point that is uniform on 0, …, total - 1; the points of each outcome must lie together.

        Every coin, choice and race, dense or sparse, is one pick, and nothing else of theirs is random: to enumerate
        them, `deniable.attack.exact` has a generator of its own with another `pick`.

        >>> ReplayNoise(bytes(32)).pick(6, lambda point: "low" if point < 2 else "high")
        'high'
        """
        return outcome(self.below(total))

    def flip(self, p: Fraction) -> bool:
        """True with probability p, in [0, 1]."""
        if not 0 <= _fraction("probability", p) <= 1:
            raise DeniableError(f"probability must be in [0, 1], got {p}")
        return self.pick(p.denominator, lambda point: point < p.numerator)

    def flip_exp(self, x: Fraction) -> bool:
        """True with probability exp(-x), x >= 0."""
        if _fraction("x", x) < 0:
            raise DeniableError("x must be at least 0")  # no value: x may come from a noise value
        return self._flip_exp(x.numerator, x.denominator)

    def _flip_exp(self, num: int, den: int) -> bool:
        """True with probability exp(-num / den)."""
        while num > den:  # exp(-x) = exp(-1) exp(-(x - 1))
            if not self._flip_exp(1, 1):
                return False
            num -= den
        # With coins of probability x/1, x/2, x/3, … the first k are all True with probability x^k / k!, so
        # the first False is at an odd place with probability 1 - x + x^2/2! - … = exp(-x).
        place = 1
        while self.below(den * place) < num:
            place += 1
        return place % 2 == 1

    def discrete_laplace(self, scale: Fraction) -> int:
        """An integer x with probability proportional to exp(-|x| / scale)."""
        _positive("scale", scale)
        return self._laplace(scale.numerator, scale.denominator)

    def _laplace(self, num: int, den: int) -> int:
        """An integer x with probability proportional to exp(-|x| den / num)."""
        while True:
            # The sum of rest and num * whole is geometric with ratio exp(-1 / num) …
            rest = self.below(num)
            if not self._flip_exp(rest, num):
                continue
            whole = 0
            while self._flip_exp(1, 1):
                whole += 1
            # … so its quotient by den is geometric with ratio exp(-den / num).
            size = (rest + num * whole) // den
            negative = self.below(2) == 1
            if size or not negative:  # -0 is 0: keep one of the two
                return -size if negative else size

    def discrete_gaussian(self, variance: Fraction) -> int:
        """An integer x with probability proportional to exp(-x^2 / (2 variance)).

        The variance of x is never above the parameter, and as good as equal to it from 1 upwards.

        >>> noise = ReplayNoise(bytes(32))
        >>> [noise.discrete_gaussian(Fraction(2**72)) for _ in range(3)]
        [10177959533, -129330114108, -61913562176]
        """
        _positive("variance", variance)
        a, b = variance.numerator, variance.denominator
        scale = math.isqrt(a // b) + 1
        while True:
            x = self._laplace(scale, 1)
            # With v the variance: exp(-|x| / scale) exp(-(|x| - v / scale)^2 / (2 v)) is a constant times
            # exp(-x^2 / (2 v)), and scale is close to sqrt(v), so that most x are kept.
            if self._flip_exp((abs(x) * b * scale - a) ** 2, 2 * a * b * scale**2):
                return x

    def bernoulli(self, probability: Fraction, runs: int) -> BoolArray:
        """(B,) independent coins, each True with the given probability."""
        check_whole("runs", runs, least=0)
        return np.array([self.flip(probability) for _ in range(runs)], dtype=np.bool_)

    def choose(self, eligible: BoolArray) -> IntArray:
        """(B, C) -> (B,): a target uniform among each row's True."""
        require_eligible(eligible)
        rows = [np.flatnonzero(row) for row in eligible]
        return np.array([self.pick(len(row), row.item) for row in rows], dtype=np.int64)

    def race(self, growth: Growth, counts: IntArray, weights: IntArray) -> IntArray:
        """(B, C) and (B, C) -> (B,): target c with probability w_c phi(n_c) / sum_j w_j phi(n_j)."""
        require_eligible(weights > 0)
        chosen = []
        for row in race_weights(growth, counts, weights):
            ends = list(accumulate(row))
            chosen.append(self.pick(ends[-1], partial(bisect_right, ends)))
        return np.array(chosen, dtype=np.int64)

    def gaussian(self, variance: Fraction, shape: tuple[int, ...]) -> ExactArray:
        """Independent discrete Gaussians: Python integers in an object array."""
        draws = [self.discrete_gaussian(variance) for _ in range(math.prod(shape))]
        return np.array(draws, dtype=object).reshape(shape)


class ReplayNoise(ExactNoise):
    """The exact generator from a known seed of 32 bytes: the same seed gives the same draws, for good.

    >>> ReplayNoise(b"too short")
    Traceback (most recent call last):
    deniable.errors.DeniableError: seed must be exactly 32 bytes, got 9 bytes
    """

    __slots__ = ()


class SystemNoise(ExactNoise):
    """The exact generator from 32 fresh bytes of the operating system's entropy, and again after a fork.

    A restored snapshot of a whole machine would repeat its draws: make a new one for every round.

    >>> SystemNoise()
    SystemNoise()
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(secrets.token_bytes(_SEED_BYTES))
        _system_noises.add(self)


_system_noises: WeakSet[SystemNoise] = WeakSet()


def _reseed_after_fork() -> None:
    """Without it, a child process would repeat the draws of its parent."""
    for noise in _system_noises:
        noise._start(secrets.token_bytes(_SEED_BYTES))


if hasattr(os, "register_at_fork"):  # where it is missing there is no fork either
    os.register_at_fork(after_in_child=_reseed_after_fork)


def _fraction(name: str, value: Fraction) -> Fraction:
    if not isinstance(value, Fraction):
        raise DeniableError(f"{name} must be a Fraction, got {type(value).__name__}")
    return value


def _positive(name: str, value: Fraction) -> None:
    if _fraction(name, value) <= 0:
        raise DeniableError(f"{name} must be positive, got {value}")
