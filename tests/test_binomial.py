"""Clopper and Pearson's bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from deniable.binomial import at_least, at_most


@given(st.integers(1, 500), st.data(), st.sampled_from([0.2, 1e-3, 1e-6]))
def test_bounds_are_those_of_scipy(trials: int, data: st.DataObject, risk: float) -> None:
    hits = data.draw(st.integers(0, trials))
    interval = binomtest(hits, trials).proportion_ci(1 - 2 * risk, method="exact")
    assert float(at_least(hits, trials, risk)) == pytest.approx(interval.low, abs=1e-9)
    assert float(at_most(hits, trials, risk)) == pytest.approx(interval.high, abs=1e-9)
