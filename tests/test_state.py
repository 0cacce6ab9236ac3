"""States of fewer runs; saving them and more targets are tested with the runs that do so."""

import numpy as np

import deniable as dn
from deniable.state import of_runs


def test_fewer_runs_go_on_as_before() -> None:
    mechanism = dn.CounterAuditing.calibrate(3, 0.1, 10, "blt")
    _, state = mechanism.step(mechanism.init(4), np.ones((4, 3), dtype=np.int64), dn.SimulationNoise(0))
    kept = of_runs(state, np.array([True, False, False, True]))
    assert kept.history.last.tolist() == state.history.last[[0, 3]].tolist()
    assert kept.private.buffers.tolist() == state.private.buffers[:, [0, 3]].tolist()
    assert kept.history.rounds == 1
