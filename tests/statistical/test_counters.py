"""The law of every counter against explicit matrices: fixed seeds, each test fails with probability at most 1e-6."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.stats import norm
from tests.statistical.factorizations import CASES, Factors

import deniable as dn
from deniable.arrays import BoolArray, FloatArray, IntArray
from deniable.counters import COUNTERS, GaussianCounter
from deniable.noise import Noise

FAILURE = 1e-6
DELTA, FIRST, SECOND = 0.3, 3, 4
HORIZON = FIRST + SECOND

each_counter = pytest.mark.parametrize(("factory", "factors"), CASES.values(), ids=CASES)
Factory = Callable[[float, int], Any]


class Wrapped:
    """A counter as it is: what the planted bugs change."""

    def __init__(self, counter: GaussianCounter) -> None:
        self.counter: Any = counter

    def init(self, runs: int, n_targets: int) -> Any:
        return self.counter.init(runs, n_targets)

    def step(self, state: Any, reports: IntArray, noise: Noise) -> Any:
        return self.counter.step(state, reports, noise)

    def restart(self, state: Any, audited: BoolArray) -> Any:
        return self.counter.restart(state, audited)


class HalvedSigma(Wrapped):
    def __init__(self, counter: GaussianCounter) -> None:
        super().__init__(dataclasses.replace(counter, variance=counter.variance // 4))


class SkippedRestart(Wrapped):
    def restart(self, state: Any, audited: BoolArray) -> Any:
        return state


def two_runs(counter: Any, noise: Noise, instances: int) -> FloatArray:
    """(instances, FIRST + SECOND): outputs on zeros, with a restart of every instance in between."""
    state, columns = counter.init(1, instances), []
    for t in range(FIRST + SECOND):
        if t == FIRST:
            state = counter.restart(state, np.ones((1, instances), dtype=bool))
        noisy, state = counter.step(state, np.zeros((1, instances), dtype=np.int64), noise)
        columns.append(noisy[0])
    return np.stack(columns, axis=1)


def expected_covariance(sigma: float, factors: Callable[[int], Factors]) -> FloatArray:
    """sigma^2 B B^T for either run (`eq:generic-counter`), and independence between the two."""
    decoder = factors(HORIZON)[0]
    covariance = sigma**2 * decoder @ decoder.T
    return np.asarray(block_diag(covariance[:FIRST, :FIRST], covariance[:SECOND, :SECOND]))


def covariance_fits(sample: FloatArray, expected: FloatArray) -> bool:
    variances = np.diag(expected)
    # Variance of an entry of a Gaussian sample covariance with known zero mean.
    spread = np.sqrt((np.outer(variances, variances) + expected**2) / len(sample))
    limit = norm.isf(FAILURE / 2 / expected.size)
    return bool((np.abs(sample.T @ sample / len(sample) - expected) < limit * spread).all())


@each_counter
@pytest.mark.parametrize("exact", [False, True], ids=["simulated", "exact"])
def test_covariance(factory: Factory, factors: Callable[[int], Factors], exact: bool) -> None:
    counter = factory(DELTA, HORIZON)
    noise, instances = (dn.ReplayNoise(bytes(32)), 2_000) if exact else (dn.SimulationNoise(1), 50_000)
    assert covariance_fits(two_runs(counter, noise, instances), expected_covariance(counter.sigma, factors))


@pytest.mark.parametrize("planted", [HalvedSigma, SkippedRestart])
@pytest.mark.parametrize("name", CASES)
def test_covariance_check_catches_planted_bugs(name: str, planted: type[Wrapped]) -> None:
    if name == "output_perturbation" and planted is SkippedRestart:
        return  # it keeps no noise from round to round; the contract's check of restarts is the one for its count
    factory, factors = CASES[name]
    counter = factory(DELTA, HORIZON)
    sample = two_runs(planted(counter), dn.SimulationNoise(1), 50_000)
    assert not covariance_fits(sample, expected_covariance(counter.sigma, factors))


@each_counter
@pytest.mark.parametrize("delta", [0.001, 0.1, 0.9])
@pytest.mark.parametrize("horizon", [1, 6, 16, 23])
def test_privacy_loss_at_calibration_is_delta(
    factory: Factory, factors: Callable[[int], Factors], delta: float, horizon: int
) -> None:
    """2 Phi(largest column norm / 2 sigma) - 1, from the explicit encoder (`prop:base-counter-privacy`)."""
    columns = np.linalg.norm(factors(horizon)[1], axis=0)
    reached = 2 * norm.cdf(columns.max() / (2 * factory(delta, horizon).sigma)) - 1
    assert reached == pytest.approx(delta, abs=1e-9)


@each_counter
def test_error_is_that_of_the_explicit_decoder(factory: Factory, factors: Callable[[int], Factors]) -> None:
    counter = factory(DELTA, 23)
    rows = np.linalg.norm(factors(23)[0], axis=1)
    assert np.allclose(counter.error_std(), counter.sigma * rows, rtol=1e-7)
    assert counter.max_error == counter.error_std().max()


@pytest.mark.parametrize("factors", [factors for _, factors in CASES.values()], ids=CASES)
def test_explicit_matrices_are_factorizations(factors: Callable[[int], Factors]) -> None:
    for horizon in (1, 5, 23):
        decoder, encoder = factors(horizon)
        assert np.allclose(decoder @ encoder, np.tri(horizon), atol=1e-12)


@pytest.mark.parametrize("name", COUNTERS)
def test_max_error_by_simulation(name: str) -> None:
    """63 = 111111 in binary is the worst round of the tree as well; variance of a variance: 2 / n."""
    counter: Any = COUNTERS[name](DELTA, 63)
    n, rng, noise = 10_000, np.random.default_rng(3), dn.SimulationNoise(4)
    state, total = counter.init(1, n), np.zeros((1, n), dtype=np.int64)
    for _ in range(63):
        reports = rng.poisson(1.0, (1, n))
        total += reports
        noisy, state = counter.step(state, reports, noise)
    ratio = float(((noisy - total) ** 2).mean()) / counter.max_error**2
    limit = norm.isf(FAILURE / 2) * (2 / n) ** 0.5
    assert abs(ratio - 1) < limit
    assert abs(ratio / 4 - 1) > limit  # half the error would be noticed
