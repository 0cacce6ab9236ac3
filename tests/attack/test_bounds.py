"""Bounds from games: Clopper and Pearson's, and the choice of an event."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import deniable as dn
from deniable.attack.bounds import above, at_least, at_most, best_threshold, check_failure_probability, measure


@given(st.integers(1, 500), st.data(), st.sampled_from([0.2, 1e-3, 1e-6]))
def test_bounds_are_those_of_scipy(games: int, data: st.DataObject, risk: float) -> None:
    hits = data.draw(st.integers(0, games))
    interval = binomtest(hits, games).proportion_ci(1 - 2 * risk, method="exact")
    assert float(at_least(hits, games, risk)) == pytest.approx(interval.low, abs=1e-9)
    assert float(at_most(hits, games, risk)) == pytest.approx(interval.high, abs=1e-9)


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


@pytest.mark.parametrize("value", [0, 1, -0.1, float("nan")])
def test_a_failure_probability_is_a_probability(value: float) -> None:
    with pytest.raises(dn.DeniableError, match=r"failure_probability must be in \(0, 1\)"):
        check_failure_probability(value)
