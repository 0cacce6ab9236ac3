from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import ExactArray
from deniable.counters.blt import BltCounter, blt
from deniable.counters.toeplitz import ToeplitzCounter, toeplitz
from deniable.counters.tree import tree
from deniable.simulation import engine
from deniable.simulation.engine import is_plain_blt, is_plain_toeplitz


@pytest.mark.parametrize("rounds", [1, 15, 16, 17, 33, 60])
@pytest.mark.parametrize("longer", [0, 7])
def test_the_compiled_loop_follows_the_mechanism_to_the_audit(rounds: int, longer: int) -> None:
    """The same noise gives the same audits as `CounterAuditing.step`, whatever the blocks of the loop."""
    runs, n_targets = 5, 4
    counter = toeplitz(0.3, rounds + longer)
    mechanism = dn.CounterAuditing(n_targets, counter)
    streams = np.random.default_rng(0).poisson(0.8, (runs, rounds, n_targets))
    fresh = dn.SimulationNoise(1).gaussian(counter.draw_variance, (runs, rounds, n_targets))

    class Recorded(dn.SimulationNoise):
        t = -1

        def gaussian(self, variance: Fraction, shape: tuple[int, ...]) -> ExactArray:
            self.t += 1
            return np.asarray(fresh[:, self.t])

    noise, state = Recorded(0), mechanism.init(runs)
    expected = np.empty((runs, rounds), dtype=np.int64)
    for t in range(rounds):
        audits, state = mechanism.step(state, streams[:, t], noise)
        expected[:, t] = audits[:, 0]
    drawn = engine._draw_toeplitz(counter, streams, dn.SimulationNoise(1))
    assert np.array_equal(drawn, expected)


class Silent(dn.SimulationNoise):
    """Every count is shown as it is, so that many tie."""

    def gaussian(self, variance: Fraction, shape: tuple[int, ...]) -> ExactArray:
        return np.zeros(shape)


@pytest.mark.parametrize("make", [dn.SimulationNoise, Silent])
@pytest.mark.parametrize("cells", [1, 45, 2**14])
@pytest.mark.parametrize("shape", [(1, 1, 2), (1, 60, 9), (5, 33, 4)])
def test_the_compiled_blt_loop_follows_the_mechanism_to_the_audit(
    make: type[dn.SimulationNoise], cells: int, shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same seed gives the same audits as `CounterAuditing.step`, ties included, whatever the blocks of noise."""
    runs, rounds, n_targets = shape
    mechanism = dn.CounterAuditing(n_targets, blt(0.3, rounds + 7))
    streams = np.random.default_rng(0).poisson(0.8, (runs, rounds, n_targets))
    noise, state = make(3), mechanism.init(runs)
    expected = np.empty((runs, rounds), dtype=np.int64)
    for t in range(rounds):
        audits, state = mechanism.step(state, streams[:, t], noise)
        expected[:, t] = audits[:, 0]
    monkeypatch.setattr(engine, "NOISE_CELLS", cells)
    assert np.array_equal(engine._draw_blt(mechanism.counter, streams, make(3)), expected)


@pytest.mark.parametrize("counter", ["toeplitz", "blt"])
def test_memory_changes_no_number(counter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = dn.CounterAuditing.calibrate(3, 0.3, horizon=30, counter=counter)
    streams = np.random.default_rng(0).poisson(0.8, (7, 30, 3))
    whole = dn.simulate(mechanism, streams, seed=4).audits
    monkeypatch.setattr(engine, "MEMORY", 1)
    monkeypatch.setattr(engine, "NOISE_CELLS", 1)
    assert np.array_equal(dn.simulate(mechanism, streams, seed=4).audits, whole)


class MyToeplitz(ToeplitzCounter):
    pass


class MyBlt(BltCounter):
    pass


class MyOwn(dn.CounterAuditing[Any]):
    pass


@pytest.mark.parametrize(
    ("is_plain", "counter", "subclass"),
    [(is_plain_toeplitz, toeplitz(0.1, 9), MyToeplitz), (is_plain_blt, blt(0.1, 9), MyBlt)],
)
def test_only_the_plain_counter_is_compiled(is_plain: Callable[[Any], bool], counter: Any, subclass: type) -> None:
    assert not is_plain(MyOwn(3, counter))
    assert is_plain(dn.CounterAuditing(3, counter))
    assert not is_plain(dn.CounterAuditing(3, counter, rules=dn.Rules(cooldown=1)))
    assert not is_plain(dn.CounterAuditing(3, subclass(**vars(counter))))
    assert not is_plain(dn.CounterAuditing(3, tree(0.1, 9)))
    assert not is_plain(dn.Race(3, 1.5))
