"""The law of counter auditing: fixed seeds, each test fails on correct code with probability at most 1e-6."""

import numpy as np
import pytest
from scipy.stats import binom, chi2_contingency, norm
from tests.counters.controls import HalvedSigma, LateByOneRound, NeverRestarts
from tests.statistical.reference import naive_sigma, naive_transcripts, prefix_root

import deniable as dn
from deniable.arrays import FloatArray, IntArray
from deniable.counters.toeplitz import ToeplitzCounter, ToeplitzState, toeplitz
from deniable.mechanisms import CounterAuditing
from deniable.noise import Noise

FAILURE = 1e-6
STREAM = np.array([[1, 0], [0, 2], [3, 0], [0, 1]])
HORIZON, DELTA = 4, 0.3


PLANTED = [HalvedSigma, NeverRestarts, LateByOneRound]


def outputs(counter: ToeplitzCounter, noise: Noise, instances: int) -> FloatArray:
    """(instances, T): the counter's outputs on a stream of zeros, one restart-free run each."""
    state, columns = counter.init(1, instances), []
    for _ in range(counter.horizon):
        noisy, state = counter.step(state, np.zeros((1, instances), dtype=np.int64), noise)
        columns.append(noisy[0])
    return np.stack(columns, axis=1)


def covariance_fits(sample: FloatArray, sigma: float) -> bool:
    """Whether every entry of the sample's covariance is near sigma^2 B B^T (`eq:generic-counter`)."""
    root = prefix_root(sample.shape[1])
    expected = sigma**2 * root @ root.T
    variances = np.diag(expected)
    # Variance of an entry of a Gaussian sample covariance with known zero mean.
    spread = np.sqrt((np.outer(variances, variances) + expected**2) / len(sample))
    limit = norm.isf(FAILURE / 2 / expected.size)
    return bool((np.abs(sample.T @ sample / len(sample) - expected) < limit * spread).all())


@pytest.mark.parametrize(
    ("noise", "instances"),
    [(dn.SimulationNoise(1), 100_000), (dn.ReplayNoise(bytes(32)), 3_000)],
    ids=["simulated", "exact"],
)
def test_outputs_have_covariance_of_the_matrix_mechanism(noise: Noise, instances: int) -> None:
    counter = toeplitz(DELTA, 6)
    assert covariance_fits(outputs(counter, noise, instances), counter.sigma)


def test_covariance_check_catches_planted_bugs() -> None:
    counter = toeplitz(DELTA, 6)
    noise = dn.SimulationNoise(1)
    assert not covariance_fits(outputs(HalvedSigma(6, counter.variance), noise, 3_000), counter.sigma)
    independent = counter.sigma * np.random.default_rng(1).standard_normal((3_000, 6))
    assert not covariance_fits(independent, counter.sigma)


def simulated(counter: ToeplitzCounter, runs: int, seed: int) -> IntArray:
    streams = np.broadcast_to(STREAM, (runs, *STREAM.shape))
    return dn.simulate(CounterAuditing(2, counter), streams, seed).audits


def same_law(transcripts: IntArray, others: IntArray) -> bool:
    """Two-sample chi-square test over whole transcripts."""
    codes = 2 ** np.arange(HORIZON)
    tables = [np.bincount(sample @ codes, minlength=2**HORIZON) for sample in (transcripts, others)]
    table = np.stack(tables)
    often = table.sum(axis=0) >= 20  # the rest are pooled, so that the chi-square approximation is good
    pooled = np.column_stack([table[:, often], table[:, ~often].sum(axis=1)])
    return bool(chi2_contingency(pooled[:, pooled.sum(axis=0) > 0]).pvalue >= FAILURE)


@pytest.fixture(scope="module")
def reference() -> IntArray:
    return naive_transcripts(STREAM, naive_sigma(DELTA, HORIZON), runs=20_000, seed=7)


def test_transcripts_follow_the_naive_reference(reference: IntArray) -> None:
    counter = toeplitz(DELTA, HORIZON)
    assert counter.sigma == pytest.approx(naive_sigma(DELTA, HORIZON), rel=1e-8)
    assert same_law(simulated(counter, 20_000, seed=8), reference)


@pytest.mark.parametrize("planted", PLANTED)
def test_law_check_catches_planted_bugs(planted: type[ToeplitzCounter], reference: IntArray) -> None:
    counter = planted(HORIZON, toeplitz(DELTA, HORIZON).variance)
    assert not same_law(simulated(counter, 20_000, seed=8), reference)


def exact_transcripts(counter: ToeplitzCounter, runs: int, seed: int) -> IntArray:
    mechanism, noise = CounterAuditing(2, counter), dn.ReplayNoise(bytes([seed]) * 32)
    state, rounds = mechanism.init(runs), []
    for reports in STREAM:
        audits, state = mechanism.step(state, np.broadcast_to(reports, (runs, 2)), noise)
        rounds.append(audits[:, 0])
    return np.stack(rounds, axis=1)


def test_exact_and_simulated_noise_have_one_law() -> None:
    counter = toeplitz(DELTA, HORIZON)
    assert same_law(exact_transcripts(counter, 4_000, seed=9), simulated(counter, 20_000, seed=10))


def test_exact_check_catches_a_planted_bug() -> None:
    counter = toeplitz(DELTA, HORIZON)
    halved = HalvedSigma(HORIZON, counter.variance)
    assert not same_law(exact_transcripts(halved, 4_000, seed=9), simulated(counter, 20_000, seed=10))


def past(counter: ToeplitzCounter, n_targets: int, seed: int) -> ToeplitzState:
    """A run's state after five rounds and one restart."""
    noise = dn.SimulationNoise(seed)
    state = counter.init(1, n_targets)
    for t in range(5):
        reports = np.random.default_rng(seed + t).poisson(1, (1, n_targets))
        _, state = counter.step(state, reports, noise)
        if t == 2:
            state = counter.restart(state, np.arange(n_targets)[None] == 1)
    return state


def measured_errors(counter: ToeplitzCounter, state: ToeplitzState, reports: IntArray, draws: int) -> int:
    """How often of `draws` fresh draws the leader is not the argmax."""
    many = ToeplitzState(
        *(np.repeat(getattr(state, f), draws, axis=a) for f, a in [("age", 0), ("reports", 1), ("encoded", 1)])
    )
    noisy, after = counter.step(many, np.repeat(reports, draws, axis=0), dn.SimulationNoise(99))
    leader = int(after.reports[:, 0].sum(axis=0).argmax())
    return int((noisy.argmax(axis=1) != leader).sum())


def within(errors: int, draws: int, probability: float) -> bool:
    return bool(binom.ppf(FAILURE / 2, draws, probability) <= errors <= binom.isf(FAILURE / 2, draws, probability))


@pytest.mark.parametrize("seed", range(5))
def test_utility_bound_is_an_equality_for_two_targets(seed: int) -> None:
    counter, draws = toeplitz(0.3, 20), 100_000
    state, reports = past(counter, 2, seed), np.array([[4, 1]])
    bound = float(counter.error_bound(state, reports)[0])
    assert within(measured_errors(counter, state, reports, draws), draws, bound)
    wrong = HalvedSigma(20, counter.variance)
    assert not within(measured_errors(wrong, state, reports, draws), draws, bound)


@pytest.mark.parametrize("seed", range(5))
def test_utility_bound_holds_for_more_targets(seed: int) -> None:
    counter, draws = toeplitz(0.3, 20), 100_000
    state, reports = past(counter, 6, seed), np.array([[15, 1, 0, 2, 0, 1]])
    bound = min(1.0, float(counter.error_bound(state, reports)[0]))
    errors = measured_errors(counter, state, reports, draws)
    assert errors <= binom.ppf(1 - FAILURE, draws, bound)
