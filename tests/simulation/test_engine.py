from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.simulation.engine import RUNS_AT_ONCE
from deniable.streams import active_counts, deficit, normalized_deficit, resolved


def test_metrics_are_those_of_the_definitions() -> None:
    streams = np.random.default_rng(0).poisson(0.5, (RUNS_AT_ONCE + 3, 20, 4))
    for mechanism in (dn.Race(4, 1.3), dn.CounterAuditing.calibrate(4, 0.2, horizon=20)):
        ran = dn.simulate(mechanism, streams, seed=3)
        active = active_counts(streams, ran.audits)
        assert np.array_equal(ran.deficit, deficit(active, ran.audits))
        assert np.array_equal(ran.normalized_deficit, normalized_deficit(active, ran.audits))
        assert np.array_equal(ran.resolved, resolved(active, ran.audits))


def test_the_seed_decides() -> None:
    streams = np.zeros((3, 30, 5), dtype=np.int64)
    first, same, other = (dn.simulate(dn.UniformRandom(5), streams, seed=s).audits for s in (1, 1, 2))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_runs_of_one_stream_differ() -> None:
    audits = dn.simulate(dn.UniformRandom(5), np.zeros((RUNS_AT_ONCE + 1, 30, 5))).audits
    assert len({tuple(run) for run in audits}) == RUNS_AT_ONCE + 1


def test_one_stream_is_one_run() -> None:
    assert dn.simulate(dn.Greedy(3), np.ones((4, 3))).audits.shape == (1, 4)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3), (0, 2, 3), (1, 1, 2, 3), (3,)])
def test_bad_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(dn.DeniableError, match="streams must have shape"):
        dn.simulate(dn.Greedy(3), np.zeros(shape))


def test_streams_longer_than_the_horizon_are_refused() -> None:
    with pytest.raises(dn.DeniableError, match="covers 3 rounds, the stream has 4"):
        dn.simulate(dn.CounterAuditing.calibrate(3, 0.1, horizon=3), np.zeros((4, 3)))


@pytest.mark.parametrize("seed", [-1, "a", 1.5])
def test_bad_seeds(seed: Any) -> None:
    with pytest.raises(dn.DeniableError, match="seed must be a whole number of at least 0, got"):
        dn.simulate(dn.Greedy(3), np.ones((4, 3)), seed=seed)


def test_races_are_drawn_from_the_variables_of_numpy() -> None:
    """So that a seed gives the figures that it always gave."""
    counts, weights = np.arange(12).reshape(3, 4), np.array([[1, 2, 0, 3]] * 3)
    growth = dn.Race(4, 1.3).growth
    with np.errstate(divide="ignore"):
        scores = np.log(weights) + growth.log(counts)
    noise, rng = dn.SimulationNoise(7), np.random.default_rng(7)
    for _ in range(50):
        expected = (scores + rng.gumbel(size=counts.shape)).argmax(axis=1)
        assert noise.race(growth, counts, weights).tolist() == expected.tolist()
