from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deniable.errors import DeniableError
from deniable.simulation.synthetic_streams import bursty, lead_rates, poisson, trending, turns_bad

RATES = lead_rates(4, lead=1.0, other=0.25)


@pytest.mark.parametrize("source", [poisson, bursty])
def test_mean_rates_are_kept(source: Callable[..., Any]) -> None:
    """Six standard errors; a burst of mean 10 has a variance of at most 20 reports for each expected one."""
    streams = source(RATES, rounds=500, runs=400, seed=1)
    assert streams.shape == (400, 500, 4)
    assert streams.dtype == np.int64
    assert np.abs(streams.mean(axis=(0, 1)) - RATES).max() < 6 * np.sqrt(20 / 200_000)


def test_bursts_come_together() -> None:
    plain, burst = (source(RATES, rounds=500, runs=100, seed=1) for source in (poisson, bursty))
    assert burst.var() > 5 * plain.var()


def test_trends_rise_and_fall() -> None:
    streams = trending(RATES, rounds=300, runs=300, seed=1, growth=3)
    first, last = streams[:, :50].mean(axis=(0, 1)), streams[:, -50:].mean(axis=(0, 1))
    assert (last[::2] > 2 * first[::2]).all()
    assert (last[1::2] < first[1::2] / 2).all()


def test_a_target_turns_bad_in_its_round() -> None:
    streams = turns_bad(np.zeros(3), rounds=20, runs=200, seed=1, since=7, rate=5.0)
    assert not streams[:, :7].any()
    assert not streams[:, :, 1:].any()
    assert streams[:, 7:, 0].mean() == pytest.approx(5, abs=0.3)


def test_the_seed_decides() -> None:
    for source in (poisson, bursty, trending):
        assert np.array_equal(source(RATES, 9, 2, seed=3), source(RATES, 9, 2, seed=3))
        assert not np.array_equal(source(RATES, 50, 2, seed=3), source(RATES, 50, 2, seed=4))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: poisson([-1, 0], 2, 2, 0), "rates must be numbers of at least 0"),
        (lambda: poisson([np.nan, 0], 2, 2, 0), "rates must be numbers of at least 0"),
        (lambda: poisson([1, 0], 0, 2, 0), "rounds must be a whole number of at least 1"),
        (lambda: poisson([1, 0], 2, 0, 0), "runs must be a whole number of at least 1"),
        (lambda: turns_bad([1, 0], 5, 2, 0, since=5), r"since must be a round in 0\.\.4, got 5"),
        (lambda: turns_bad([1, 0], 5, 2, 0, since=1, rate=-1), "rate must be a rate of at least 0"),
        (lambda: lead_rates(3, lead=-1), "lead must be a rate"),
        (lambda: lead_rates(3, lead=1e30), "lead must be a rate of at least 0 and at most 1000000 reports a round"),
        (lambda: lead_rates(10**12), "got 1000000000000 targets and 1 rounds"),
        (lambda: poisson([1, 1e7], 2, 2, 0), "rates must be numbers of at least 0 and at most 1000000"),
        (lambda: trending([1, 1], 10**12, 2, 0), "targets times rounds must be at most"),
        (lambda: turns_bad([1, 1], 10**12, 2, 0, since=1), "targets times rounds must be at most"),
        (lambda: bursty([1, 1], 10**12, 2, 0), "targets times rounds must be at most"),
        (lambda: bursty([1, 0], 5, 2, 0, mean_burst=1), "mean_burst must be above 1"),
    ],
)
def test_bad_sources(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(DeniableError, match=says):
        call()
