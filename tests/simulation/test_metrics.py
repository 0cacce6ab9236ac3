import numpy as np
import pytest

import deniable as dn
from deniable.simulation.metrics import first_audit_after, running_mean, waiting_times


@pytest.mark.parametrize("audits", [1, 2])
def test_waiting_times_against_one_report_at_a_time(audits: int) -> None:
    streams = np.random.default_rng(0).poisson(0.6, (3, 25, 4))
    transcripts = dn.simulate(dn.Race(4, 1.3), streams, seed=1, audits=audits).audits
    expected = np.zeros((3, 25), dtype=np.int64)
    for run, t, c in np.argwhere(streams):
        later = [s for s in range(t, 25) if c in transcripts.reshape(3, 25, -1)[run, s]]
        expected[run, (later[0] if later else 24) - t] += streams[run, t, c]
    assert np.array_equal(waiting_times(streams, transcripts), expected)


def test_no_reports_have_no_wait() -> None:
    assert not waiting_times(np.zeros((1, 3, 2), dtype=np.int64), np.zeros((1, 3), dtype=np.int64)).any()


def test_first_audit_after() -> None:
    audits = np.array([[0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 1]])
    assert first_audit_after(audits, target=0, since=1).tolist() == [2, 3, 0]


def test_running_mean() -> None:
    assert running_mean(np.array([[1, 3, 5]])).tolist() == [[1, 2, 3]]
