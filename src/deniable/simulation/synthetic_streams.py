"""Report streams to study mechanisms on, (B, T, C) each, from a seed."""

import numpy as np
from numpy.typing import ArrayLike

from deniable.arrays import FloatArray, IntArray
from deniable.errors import DeniableError, check_positive, check_whole

MAX_RATE = 10**6
"""Mean reports a round and target."""
MAX_CELLS = 2**28
"""Counts of one run: 2 GiB."""


def check_size(n_targets: int, rounds: int) -> None:
    """Refuse a stream that would not fit in memory."""
    if n_targets * rounds > MAX_CELLS:
        raise DeniableError(
            f"targets times rounds must be at most {MAX_CELLS} (2 GiB of counts a run), "
            f"got {n_targets} targets and {rounds} rounds"
        )


def lead_rates(n_targets: int, lead: float = 1.0, other: float = 0.2) -> FloatArray:
    """(C,): mean reports a round, one busy target and the others alike, as in the paper's second experiment."""
    check_size(check_whole("n_targets", n_targets, least=2), 1)
    return np.where(np.arange(n_targets) == 0, _rate("lead", lead), _rate("other", other))


def poisson(rates: ArrayLike, rounds: int, runs: int, seed: int) -> IntArray:
    """Independent Poisson reports (`app:dynamic_utility_experiment`). `rates`: (C,), or (T, C) where they change.

    >>> poisson(lead_rates(3), rounds=4, runs=2, seed=0).shape
    (2, 4, 3)
    """
    rates = np.asarray(rates, dtype=np.float64)
    if rates.ndim not in (1, 2) or not ((rates >= 0) & (rates <= MAX_RATE)).all():
        raise DeniableError(f"rates must be numbers of at least 0 and at most {MAX_RATE}, one for each target")
    check_size(rates.shape[-1], check_whole("rounds", rounds, least=1))
    check_whole("runs", runs, least=1)
    return np.random.default_rng(seed).poisson(rates, (runs, rounds, rates.shape[-1])).astype(np.int64)


def bursty(rates: ArrayLike, rounds: int, runs: int, seed: int, mean_burst: float = 10.0) -> IntArray:
    """The same mean, but reports come in bursts of `mean_burst` on average (geometric), such as mass filings."""
    if not 1 < mean_burst < np.inf:
        raise DeniableError(f"mean_burst must be above 1, got {mean_burst}")
    rng = np.random.default_rng(seed)
    bursts = poisson(np.asarray(rates) / mean_burst, rounds, runs, int(rng.integers(2**62)))
    # A negative binomial is a sum of geometric numbers from 0; every burst has at least one report.
    extra = rng.negative_binomial(np.maximum(bursts, 1), 1 / mean_burst)
    return np.where(bursts > 0, bursts + extra, 0).astype(np.int64)


def trending(rates: ArrayLike, rounds: int, runs: int, seed: int, growth: float = 3.0) -> IntArray:
    """Rates that grow evenly to `growth` times `rates` for every second target, and fall as much for the others."""
    start = np.asarray(rates, dtype=np.float64)
    check_size(start.size, check_whole("rounds", rounds, least=1))
    end = np.where(np.arange(len(start)) % 2 == 0, start * check_positive("growth", growth), start / growth)
    at = np.linspace(0, 1, rounds)[:, None]
    return poisson((1 - at) * start + at * end, rounds, runs, seed)


def turns_bad(rates: ArrayLike, rounds: int, runs: int, seed: int, *, since: int, rate: float = 2.0) -> IntArray:
    """Target 0 turns bad in round `since`, counted from 0, and draws `rate` reports a round from then on."""
    before = np.asarray(rates, dtype=np.float64)
    check_size(before.size, check_whole("rounds", rounds, least=1))
    changing = np.repeat(before[None], rounds, axis=0)
    if check_whole("since", since, least=0) >= rounds:
        raise DeniableError(f"since must be a round in 0..{rounds - 1}, got {since}")
    changing[since:, 0] = _rate("rate", rate)
    return poisson(changing, rounds, runs, seed)


def _rate(name: str, rate: float) -> float:
    if not 0 <= rate <= MAX_RATE:
        raise DeniableError(f"{name} must be a rate of at least 0 and at most {MAX_RATE} reports a round, got {rate}")
    return float(rate)
