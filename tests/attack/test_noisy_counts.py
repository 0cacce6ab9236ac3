"""The adversary who sees the noisy counts: what a counter leaks at most, and a counter with too little noise."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import multivariate_normal
from tests.attack.controls import BROKEN_COUNTERS, broken_counter_auditing, quiet_counter_auditing

import deniable as dn
from deniable.attack import UnsuitableError
from deniable.attack.noisy_counts import (
    check_counter,
    log_likelihood_ratio,
    noise_response,
    play_on_noisy_counts,
    simulate_noisy_counts,
    total_variation,
)
from deniable.counters import COUNTERS, Counter
from deniable.curves import TotalVariation
from deniable.streams import add_report

# The rival is audited in every round, so that the report's run lasts, and a report in the first round is the worst.
BUSY = np.array([[0, 10_000, 0]] * 12)


@pytest.mark.parametrize("name", COUNTERS)
@pytest.mark.parametrize("delta", [0.01, 0.1, 0.5])
def test_the_outputs_leak_exactly_delta(name: str, delta: float) -> None:
    for horizon in (1, 2, 13, 64):
        assert total_variation(COUNTERS[name](delta, horizon)) == pytest.approx(delta, rel=1e-8)


def test_other_counters_leak_exactly_delta_too() -> None:
    half = np.array([[1, 0], [0.5, 1]])
    counter = dn.counters.dense(0.1, decoder=half, encoder=half)
    assert total_variation(counter) == pytest.approx(0.1, rel=1e-8)


def test_a_shorter_run_leaks_less() -> None:
    counter = dn.counters.toeplitz(0.1, 20)
    leaks = [total_variation(counter, rounds) for rounds in (1, 5, 20)]
    assert leaks == sorted(leaks)
    assert leaks[0] < 0.08


def test_half_of_sigma_leaks_the_delta_of_twice_the_mu() -> None:
    control = quiet_counter_auditing(3, 0.1, 12, part=0.5)
    expected = 2 * ndtr(2 * dn.calibration.kappa(0.1)) - 1
    assert total_variation(control.counter) == pytest.approx(expected, rel=1e-6) == pytest.approx(0.198, abs=1e-3)


@pytest.mark.parametrize("name", COUNTERS)
def test_the_ratio_is_that_of_the_densities(name: str) -> None:
    """Against the joint density of a target's outputs, run by run, for reports that change more than one run."""
    mechanism = dn.CounterAuditing.calibrate(2, 0.4, 6, name)
    not_filed = np.array([[1, 0], [0, 2], [0, 0], [2, 1], [0, 0], [1, 0]])
    filed = add_report(add_report(not_filed, 1, 0), 4, 1)
    noisy, audits = simulate_noisy_counts(mechanism, not_filed, 8, seed=3)
    found = log_likelihood_ratio(mechanism, not_filed, filed, noisy, audits)

    def log_density(stream: Any, b: int) -> float:
        total = 0.0
        for c in range(2):
            start = 0
            for t in range(6):
                if audits[b, t] == c or t == 5:
                    response = noise_response(mechanism.counter, t + 1 - start)
                    mean = np.cumsum(stream[start : t + 1, c])
                    law = multivariate_normal(mean, response @ response.T)
                    total += float(law.logpdf(noisy[b, start : t + 1, c]))
                    start = t + 1
        return total

    expected = [log_density(filed, b) - log_density(not_filed, b) for b in range(8)]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_a_counter_with_half_its_sigma_is_flagged_and_a_right_one_is_not() -> None:
    """At failure probability 1e-6 the right counter is flagged in one of a million seeds; the control leaks 0.198."""
    pair = BUSY, add_report(BUSY, 0, 0)
    right = dn.CounterAuditing.calibrate(3, 0.1, 12)
    event = play_on_noisy_counts(right, *pair, games=20_000, failure_probability=1e-6)
    assert event.tpr - event.fpr > 0.05
    assert event.lower_bound <= 0.1
    control = quiet_counter_auditing(3, 0.1, 12, part=0.5)
    assert control.guarantee().delta == pytest.approx(0.1)
    assert play_on_noisy_counts(control, *pair, games=40_000, failure_probability=1e-3).lower_bound > 0.1


def test_simulated_outputs_are_those_the_mechanism_draws_from() -> None:
    mechanism = dn.CounterAuditing.calibrate(3, 0.3, 5)
    noisy, audits = simulate_noisy_counts(mechanism, np.ones((5, 3), dtype=np.int64), 10)
    assert noisy.shape == (10, 5, 3)
    assert np.array_equal(noisy.argmax(axis=2), audits)


def test_two_audits_a_round_are_the_two_largest_outputs_that_the_rules_allow() -> None:
    mechanism = dn.CounterAuditing.calibrate(4, 0.3, 5, rules=dn.Rules(cooldown=1))
    noisy, audits = simulate_noisy_counts(mechanism, np.ones((5, 4), dtype=np.int64), 10, audits=2)
    assert audits.shape == (10, 5, 2)
    assert np.array_equal(np.sort(noisy[:, 0], axis=1)[:, :1:-1], np.take_along_axis(noisy[:, 0], audits[:, 0], 1))
    rested = np.sort(audits[:, :2].reshape(10, 4), axis=1)  # two rounds: all four targets
    assert np.array_equal(rested, np.tile(np.arange(4), (10, 1)))


def test_half_of_sigma_is_flagged_with_two_audits_a_round() -> None:
    """Two rivals are audited in every round; failure probability 1e-6 for the right counter."""
    busy = np.array([[0, 10_000, 10_000, 0]] * 12)
    pair = busy, add_report(busy, 0, 0)
    right = dn.CounterAuditing.calibrate(4, 0.1, 12)
    assert play_on_noisy_counts(right, *pair, games=20_000, failure_probability=1e-6, audits=2).lower_bound <= 0.1
    control = quiet_counter_auditing(4, 0.1, 12, part=0.5)
    assert play_on_noisy_counts(control, *pair, games=40_000, audits=2).lower_bound > 0.1


@pytest.mark.parametrize("name", COUNTERS)
def test_our_own_counters_pass_the_probes(name: str) -> None:
    for horizon in (1, 2, 3, 40):
        check_counter(COUNTERS[name](0.1, horizon), horizon)


@pytest.mark.parametrize("counter", BROKEN_COUNTERS, ids=lambda counter: counter.__name__)
def test_counters_that_do_not_add_up_are_refused(counter: Any) -> None:
    broken = broken_counter_auditing(counter, 2, 0.1, 8)
    seen = simulate_noisy_counts(broken, [[0, 0]] * 8, 3)
    for refused in (
        lambda: check_counter(broken.counter, 8),
        lambda: total_variation(broken.counter),
        lambda: log_likelihood_ratio(broken, [[0, 0]] * 8, [[1, 0]] + [[0, 0]] * 7, *seen),
    ):
        with pytest.raises(UnsuitableError, match="black box"):
            refused()


class Coins:
    """A counter whose noise is not Gaussian."""

    horizon = 3

    def guarantee(self) -> dn.Guarantee:
        return dn.Guarantee(TotalVariation(0.5))

    def init(self, runs: int, n_targets: int) -> Any:
        return np.zeros((runs, n_targets))

    def step(self, state: Any, reports: Any, noise: Any) -> Any:
        total = state + reports + noise.bernoulli(Fraction(1, 2), len(reports))[:, None]
        return total, total

    def restart(self, state: Any, audited: Any) -> Any:
        return np.where(audited, 0, state)


def test_what_has_no_gaussian_outputs_is_refused() -> None:
    counter: Counter[Any] = Coins()
    with pytest.raises(UnsuitableError, match="Gaussian noise"):
        total_variation(counter)
    with pytest.raises(dn.DeniableError, match="only counter auditing"):
        simulate_noisy_counts(dn.Race(2, 1.5), [[0, 0]], 3)
    tca = dn.CounterAuditing.calibrate(2, 0.1, 3)
    with pytest.raises(dn.DeniableError, match="must have shape"):
        log_likelihood_ratio(tca, [[0, 0]], [[1, 0]], np.zeros((1, 2, 2)), np.array([[0]]))
    with pytest.raises(dn.DeniableError, match="at most the counter's horizon"):
        total_variation(tca.counter, rounds=4)
    with pytest.raises(dn.DeniableError, match="games must be"):
        play_on_noisy_counts(tca, [[0, 0]], [[1, 0]], games=0)
    with pytest.raises(dn.DeniableError, match="failure_probability"):
        play_on_noisy_counts(tca, [[0, 0]], [[1, 0]], failure_probability=1.0)
