from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import ExactArray
from deniable.counters.toeplitz import ToeplitzCounter, ToeplitzState, toeplitz
from deniable.simulation import engine
from deniable.simulation.engine import is_plain_toeplitz


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


def test_memory_changes_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = dn.CounterAuditing.calibrate(3, 0.3, horizon=30)
    streams = np.random.default_rng(0).poisson(0.8, (7, 30, 3))
    whole = dn.simulate(mechanism, streams, seed=4).audits
    monkeypatch.setattr(engine, "MEMORY", 1)
    assert np.array_equal(dn.simulate(mechanism, streams, seed=4).audits, whole)


def test_only_the_plain_counter_is_compiled() -> None:
    class Mine(ToeplitzCounter):
        pass

    class MyOwn(dn.CounterAuditing[ToeplitzState]):
        pass

    counter = toeplitz(0.1, 9)
    assert not is_plain_toeplitz(MyOwn(3, counter))
    assert is_plain_toeplitz(dn.CounterAuditing(3, counter))
    assert not is_plain_toeplitz(dn.CounterAuditing(3, counter, rules=dn.Rules(cooldown=1)))
    assert not is_plain_toeplitz(dn.CounterAuditing(3, Mine(9, counter.variance)))
    assert not is_plain_toeplitz(dn.Race(3, 1.5))
