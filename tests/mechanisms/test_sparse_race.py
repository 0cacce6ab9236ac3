import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.arrays import BoolArray, IntArray
from deniable.mechanisms.sparse_race import WeightTree
from deniable.noise import Noise


@given(st.lists(st.integers(0, 2**70), min_size=1, max_size=40), st.data())
def test_tree_finds_what_prefix_sums_find(weights: list[int], data: st.DataObject) -> None:
    tree = WeightTree(weights)
    for _ in range(5):
        at = data.draw(st.integers(0, len(weights) - 1))
        weights[at] = data.draw(st.integers(0, 9))
        tree.set(at, weights[at])
    assert tree.total == sum(weights)
    for point in {0, tree.total // 2, tree.total - 1} if tree.total else set():
        found = tree.find(point)
        assert sum(weights[:found]) <= point < sum(weights[: found + 1])


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
def test_tree_finds_every_point_for_all_small_weights(width: int) -> None:
    """Built from the weights, and changed to them one by one."""
    for weights in itertools.product(range(3), repeat=width):
        changed = WeightTree([2] * width)
        for position, weight in enumerate(weights):
            changed.set(position, weight)
        shares = [position for position, weight in enumerate(weights) for _ in range(weight)]
        for tree in (WeightTree(list(weights)), changed):
            assert [tree.find(point) for point in range(tree.total)] == shares


def test_the_points_of_a_position_lie_together_in_every_tree() -> None:
    """Even in one whose sums do not fit its weights, so that enumeration by intervals shows it as it is."""
    for left, right, inner in itertools.product(range(4), repeat=3):
        tree = WeightTree([1, 1, 1, 1])
        tree._levels[2][:], tree._levels[1][:], tree._levels[0][2] = [9], [left, right], inner
        found = [tree.find(point) for point in range(9)]
        assert found == sorted(found)


@pytest.mark.parametrize("weights", [None, (1.0, 2.5, 0.1, 7.0, 1.0)])
@pytest.mark.parametrize("audits", [1, 2])
def test_sparse_runs_draw_what_dense_ones_draw(weights: tuple[float, ...] | None, audits: int) -> None:
    """The same seed gives the same audits and the same state, whichever way a run is kept."""
    race = dn.Race(5, 1.4, weights)
    run, noise, state = dn.AuditRun(race, dn.ReplayNoise(bytes(32))), dn.ReplayNoise(bytes(32)), race.init()
    for reports in np.random.default_rng(0).poisson(0.8, (200, 5)):
        drawn, state = race.step(state, reports[None], noise, audits)
        filed = {int(c): int(reports[c]) for c in np.flatnonzero(reports)}
        assert run.select(filed, audits=audits) == tuple(drawn[0])
    assert np.array_equal(run._state.private, state.private)
    assert np.array_equal(run._state.history.last, state.history.last)
    assert np.array_equal(run._state.history.audits, state.history.audits)


def test_a_run_with_many_targets() -> None:
    run = dn.AuditRun(dn.Race.calibrate(100_000, 0.1), dn.ReplayNoise(bytes(32)))
    assert run.step({99_999: 3000}) == 99_999
    assert run.step({5: 3000, 7: 1}) == 5


class AlwaysTheLast(dn.Race):
    def draw(self, tallied: IntArray, eligible: BoolArray, history: dn.History, noise: Noise) -> IntArray:
        return np.full(len(tallied), self.n_targets - 1)


def test_a_subclass_runs_its_own_code() -> None:
    run = dn.AuditRun(AlwaysTheLast(5, 1.5))
    assert {run.step([9, 0, 0, 0, 0]) for _ in range(20)} == {4}
