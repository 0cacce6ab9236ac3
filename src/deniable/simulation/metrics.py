"""What an office asks of a transcript, from the streams and the audits of simulated runs."""

import numpy as np

from deniable.arrays import FloatArray, IntArray


def running_mean(values: FloatArray | IntArray) -> FloatArray:
    """(B, T) -> (B, T): the mean up to each round (`app:dynamic_utility_experiment`)."""
    return np.asarray(np.cumsum(values, axis=1) / np.arange(1, values.shape[1] + 1))


def waiting_times(streams: IntArray, audits: IntArray) -> IntArray:
    """How many reports of each run wait 0, 1, … rounds: streams (B, T, C), audits (B, T) or (B, T, k) -> (B, T).

    A report waits from its round to the next audit of its target, or to the last round where there is none: its true
    wait is then longer, or as long.

    >>> waiting_times(np.array([[[2, 0], [0, 1], [0, 0]]]), np.array([[1, 0, 0]]))
    array([[0, 3, 0]])
    """
    runs, rounds, n_targets = streams.shape
    audited = audits.reshape(runs, rounds, -1)
    next_audit = np.full((runs, n_targets), rounds - 1)
    waiting = np.zeros((runs, rounds), dtype=np.int64)
    run = np.arange(runs)[:, None]
    for t in reversed(range(rounds)):
        np.put_along_axis(next_audit, audited[:, t], t, axis=1)
        np.add.at(waiting, (run, next_audit - t), streams[:, t])
    return waiting


def first_audit_after(audits: IntArray, target: int, since: int) -> IntArray:
    """(B,): rounds from round `since`, counted from 0, to the target's first audit; those left where there is none."""
    later = audits.reshape(*audits.shape[:2], -1)[:, since:]
    hit = (later == target).any(axis=2)
    return np.asarray(np.where(hit.any(axis=1), hit.argmax(axis=1), hit.shape[1]), dtype=np.int64)
