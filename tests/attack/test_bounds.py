"""Bounds from games, and the choice of an event."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

import deniable as dn
from deniable.arrays import FloatArray
from deniable.attack.bounds import (
    Event,
    above,
    best_threshold,
    check_failure_probability,
    mean_at_least,
    measure,
)


def test_an_event_has_the_bounds_of_its_counts_each_at_half_the_risk() -> None:
    filed, not_filed = np.arange(100.0), np.arange(100.0) - 20
    event = measure(filed, not_filed, 49.0, 0.02)
    low, high = (binomtest(hits, 100).proportion_ci(0.98, method="exact") for hits in (50, 30))
    assert (event.tpr, event.fpr) == (0.5, 0.3)
    assert event.tpr_at_least == pytest.approx(low.low)
    assert event.fpr_at_most == pytest.approx(high.high)
    assert Event(0.5, 0.1, 0.4, 0.2).odds_at_least == 2


def too_high(bound: Callable[[FloatArray], float]) -> int:
    """How often, of 2,000 times, a bound is above the mean of what is 1 with probability 0.02, and else 0."""
    rng = np.random.default_rng(0)
    return sum(bound((rng.random(400) < 0.02).astype(float)) > 0.02 for _ in range(2000))


def test_the_bound_of_a_mean_is_too_high_at_most_as_often_as_stated() -> None:
    """More than `binom.isf` of 2,000 has probability below 1e-6; the control, one standard error, has more."""
    too_many = binom.isf(1e-6, 2000, 0.01)

    def careless(values: FloatArray) -> float:
        return float(values.mean() - values.std(ddof=1) / np.sqrt(len(values)))

    assert too_high(lambda values: mean_at_least(values, 0.01)) <= too_many < too_high(careless)


def test_the_bound_of_a_mean_comes_near_it() -> None:
    values = np.random.default_rng(0).uniform(0.1, 0.2, 10_000)
    log = np.log(2 / 1e-3)
    expected = values.mean() - np.sqrt(2 * values.var(ddof=1) * log / 10_000) - 7 * log / (3 * 9999)
    assert mean_at_least(values, 1e-3) == pytest.approx(expected)
    assert 0.14 < expected < values.mean()
    assert mean_at_least(np.zeros(40), 1e-3) == 0


def test_ties_belong_to_one_side() -> None:
    """Nine of ten games have the same score: the event takes all of them or none."""
    filed, not_filed = np.array([1.0] * 9 + [2.0]), np.array([1.0] * 9 + [0.0])
    threshold = best_threshold(filed, not_filed)
    event = measure(filed, not_filed, threshold, 0.1)
    assert event.tpr - event.fpr == pytest.approx(0.1)
    assert event.lower_bound == 0


def test_infinite_scores_are_scores() -> None:
    filed, not_filed = np.full(50, np.inf), np.full(50, -np.inf)
    event = measure(filed, not_filed, best_threshold(filed, not_filed), 0.01)
    assert (event.tpr, event.fpr) == (1, 0)
    assert event.lower_bound > 0.75


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20), st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_the_best_threshold_is_the_best(filed: list[int], not_filed: list[int]) -> None:
    one, other = np.array(filed, dtype=float), np.array(not_filed, dtype=float)
    at = best_threshold(one, other)
    best = max((one > t).mean() - (other > t).mean() for t in range(-1, 6))
    assert (one > at).mean() - (other > at).mean() == pytest.approx(best)
    assert above(one, np.array([at]))[0] == pytest.approx((one > at).mean())


def test_many_scores_are_thinned_out() -> None:
    scores = np.arange(10_000.0)
    assert best_threshold(scores + 2000, scores) == pytest.approx(2000, abs=2020)


@pytest.mark.parametrize("value", [0, 1, -0.1, 1e-101, float("nan")])
def test_a_failure_probability_is_a_probability(value: float) -> None:
    with pytest.raises(dn.DeniableError, match=r"failure_probability must be in \[1e-100, 1\)"):
        check_failure_probability(value)
