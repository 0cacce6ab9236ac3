import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.statistical.factorizations import tree_factors

import deniable as dn
from deniable.arrays import IntArray
from deniable.counters.gaussian import ONE
from deniable.counters.tree import squared_sensitivity, tree
from deniable.testing import ZeroNoise


@pytest.mark.parametrize("horizon", range(1, 41))
def test_squared_sensitivity_is_that_of_the_released_nodes(horizon: int) -> None:
    """From the explicit tree, over the nodes that some prefix uses."""
    decoder, encoder = tree_factors(horizon)
    used = encoder[decoder.any(axis=0)]
    assert len(used) == horizon  # one node is released in every round
    assert squared_sensitivity(horizon) == int((used**2).sum(axis=0).max()) * ONE**2


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40))
def test_levels_in_use_are_the_binary_digits_of_the_age(stream: list[int]) -> None:
    counter = tree(0.1, 40)
    state, rows = counter.init(1, 1), np.array(stream)
    for t in range(len(rows)):
        _, state = counter.step(state, rows[None, t : t + 1], ZeroNoise())
    age, stop = len(rows), len(rows)
    for level in range(len(state.sums)):
        size = (age >> level & 1) << level
        assert state.sums[level, 0, 0] == rows[stop - size : stop].sum()
        assert state.released[level, 0, 0] == state.sums[level, 0, 0] * ONE
        stop -= size


@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 7, 8, 9, 100])
def test_whole_horizon_fits_the_levels(horizon: int) -> None:
    counter = tree(0.1, horizon)
    state = counter.init(1, 1)
    assert len(state.sums) == horizon.bit_length()
    for t in range(horizon):
        noisy, state = counter.step(state, np.array([[2]]), ZeroNoise())
        assert noisy[0, 0] == 2 * (t + 1)


def test_it_is_the_dense_counter_of_its_matrices() -> None:
    """Same noise, same outputs, whatever the ages: the nodes of the tree that are used, row by row."""
    decoder, encoder = tree_factors(13)
    used = decoder.any(axis=0)
    by_release = np.argsort([np.flatnonzero(row).max() for row in encoder[used]])
    explicit = dn.counters.dense(0.1, decoder[:, used][:, by_release], encoder[used][by_release])
    counter = tree(0.1, 13)
    assert explicit.variance == counter.variance
    noises, states = (dn.ReplayNoise(bytes(32)), dn.ReplayNoise(bytes(32))), (counter.init(2, 3), explicit.init(2, 3))
    rng = np.random.default_rng(0)
    for _ in range(13):
        reports: IntArray = rng.poisson(2, (2, 3))
        noisy, tree_state = counter.step(states[0], reports, noises[0])
        same, dense_state = explicit.step(states[1], reports, noises[1])
        assert np.array_equal(noisy, same)
        audited = rng.random((2, 3)) < 0.2
        states = counter.restart(tree_state, audited), explicit.restart(dense_state, audited)
