"""Scores: how well a mechanism's audits follow the reports of a stream, with error bars over simulated runs; and the
waits and means that they are made of.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from deniable.arrays import FloatArray, IntArray
from deniable.errors import DeniableError, check_whole
from deniable.mechanisms import NEEDS, Mechanism, calibrate
from deniable.rules import NO_RULES, Rules
from deniable.simulation.engine import simulate
from deniable.simulation.parallel import RUNS_A_TASK, chunks, derived_seed, run_all
from deniable.simulation.synthetic_streams import check_size

MAX_RUNS = 10**6


class Source(Protocol):
    """Report streams, (B, T, C), from a seed: a partial of a function in `synthetic_streams`, or a `Replay`."""

    def __call__(self, *, runs: int, seed: int) -> IntArray: ...


@dataclass(frozen=True, eq=False)
class Replay:
    """One recorded stream, (T, C), for every run. It is confidential: not shown, and not sent to a cluster.

    >>> Replay(np.array([[3, 1], [0, 2]]))
    Replay()
    """

    counts: IntArray = field(repr=False)

    def __call__(self, *, runs: int, seed: int) -> IntArray:
        return np.broadcast_to(self.counts, (runs, *self.counts.shape))


@dataclass(frozen=True)
class Study:
    """A source of streams and what the mechanisms are to do with it."""

    source: Source
    n_targets: int
    horizon: int
    """Rounds that counter auditing must cover; at least as many as the streams have."""
    rules: Rules = NO_RULES
    audits: int = 1
    turned_bad: tuple[int, int] | None = None
    """The target that turns bad, and the round, both from 0."""
    assessed: FloatArray | None = field(default=None, repr=False)
    """(C,): each target's share of substantiated reports; confidential, as a recorded stream is."""

    def __post_init__(self) -> None:
        check_size(self.n_targets, self.horizon)

    def mechanism(self, mechanism_id: str, delta: float | None) -> Mechanism[Any]:
        mechanism = calibrate(mechanism_id, self.n_targets, delta, self.horizon, rules=self.rules)
        mechanism.check_round(0, self.n_targets, self.audits)
        self.rules.check_reach(self.n_targets, self.audits)
        return mechanism


@dataclass(frozen=True)
class MeanOverRuns:
    """The mean over the runs and its standard error; NaN where there are too few runs with a report."""

    mean: float
    standard_error: float


@dataclass(frozen=True)
class Score:
    """What a mechanism did in a study. `delta` is None for greedy and uniform, which have none to choose."""

    mechanism_id: str
    delta: float | None
    metrics: Mapping[str, MeanOverRuns]
    """By the names of `measure`, without those that the study has nothing for."""


def score(
    study: Study,
    mechanisms: Iterable[tuple[str, float | None]],
    runs: int,
    seed: int = 0,
    *,
    cluster: str | None = None,
    workers: int | None = None,
    done: Callable[[int, int], None] | None = None,
) -> list[Score]:
    """Run every mechanism, an id and a delta each, on the same streams.

    `done` is called with the number of finished tasks and of all. The other arguments are those of `run_all`; a study
    with recorded reports or outcomes is not sent to a cluster.

    >>> from functools import partial
    >>> from deniable.simulation.synthetic_streams import lead_rates, poisson
    >>> study = Study(partial(poisson, lead_rates(4), 30), n_targets=4, horizon=30)
    >>> greedy, race = score(study, [("greedy", None), ("race", 0.1)], runs=10, workers=1)
    >>> greedy.metrics["deficit"]
    MeanOverRuns(mean=0.0, standard_error=0.0)
    >>> 0 < race.metrics["missed"].mean < 1
    True
    """
    if check_whole("runs", runs, least=1) > MAX_RUNS:
        raise DeniableError(f"runs must be at most {MAX_RUNS}, got {runs}")
    check_whole("seed", seed, least=0)
    if cluster is not None and (isinstance(study.source, Replay) or study.assessed is not None):
        raise DeniableError("recorded reports and outcomes do not leave this machine: use workers, not a cluster")
    wanted = [(name, delta if NEEDS.get(name, ("delta",)) else None) for name, delta in mechanisms]
    calibrated = [study.mechanism(name, delta) for name, delta in wanted]
    parts = chunks(runs, RUNS_A_TASK)
    tasks = [
        _Task(study, mechanism, len(part), (seed, number), f"{name} {delta}")
        for mechanism, (name, delta) in zip(calibrated, wanted, strict=True)
        for number, part in enumerate(parts)
    ]
    measured = run_all(
        measure,
        tasks,
        cluster=cluster,
        workers=workers,
        done=None if done is None else lambda finished: done(finished, len(tasks)),
    )
    scores = []
    for i, (name, delta) in enumerate(wanted):
        own = measured[i * len(parts) : (i + 1) * len(parts)]
        metrics = {metric: mean_over_runs(np.concatenate([part[metric] for part in own])) for metric in own[0]}
        scores.append(Score(name, delta, metrics))
    return scores


@dataclass(frozen=True)
class _Task:
    study: Study
    mechanism: Mechanism[Any]
    runs: int
    seed: tuple[int, int]
    label: str
    """Of the mechanism and its delta."""


def measure(task: _Task) -> dict[str, FloatArray]:
    """The metrics of each run, (B,), by name; NaN where a run has no report."""
    study = task.study
    # All mechanisms get the same streams, but each its own noise: otherwise their errors would go together.
    streams = study.source(runs=task.runs, seed=derived_seed(*task.seed))
    noise_seed = derived_seed(*task.seed, int.from_bytes(task.label.encode()))
    transcripts = simulate(task.mechanism, streams, seed=noise_seed, audits=study.audits)
    filed = np.asarray(streams.sum(axis=(1, 2)), dtype=np.float64)
    filed[filed == 0] = np.nan
    waiting = waiting_times(streams, transcripts.audits)
    resolved = transcripts.resolved.sum(axis=1)
    metrics = {
        "deficit": transcripts.deficit.mean(axis=1),
        "normalized_deficit": transcripts.normalized_deficit.mean(axis=1),
        "resolved": resolved / filed,
        "missed": (transcripts.deficit > 0).mean(axis=1),
        "wait": waiting @ np.arange(waiting.shape[1]) / filed,
        "wait_p95": np.where(filed > 0, (waiting.cumsum(axis=1) < 0.95 * filed[:, None]).sum(axis=1), np.nan),
    }
    if study.turned_bad is not None:
        metrics["first_audit"] = first_audit_after(transcripts.audits, *study.turned_bad).astype(np.float64)
    if study.assessed is not None:
        reached = _resolved_by_target(streams, transcripts.audits) @ study.assessed
        metrics["assessed_per_audit"] = reached / transcripts.audits[0].size
        # The share of substantiated reports at a resolved report's target, the mean over the reports.
        metrics["assessed_share"] = np.divide(reached, resolved, out=np.full(len(reached), np.nan), where=resolved > 0)
    return metrics


def mean_over_runs(values: FloatArray) -> MeanOverRuns:
    """From one value a run.

    >>> mean_over_runs(np.array([1.0, 3.0, np.nan]))
    MeanOverRuns(mean=2.0, standard_error=1.0)
    """
    known = values[~np.isnan(values)]
    mean = float(known.mean()) if known.size else np.nan
    return MeanOverRuns(mean, float(known.std(ddof=1) / np.sqrt(known.size)) if known.size > 1 else np.nan)


def _resolved_by_target(streams: IntArray, audits: IntArray) -> IntArray:
    """(B, C): the reports before each target's last audit, that round's included."""
    runs, rounds, n_targets = streams.shape
    audited = audits.reshape(runs, rounds, -1)
    last = np.full((runs, n_targets), -1)
    for t in range(rounds):
        np.put_along_axis(last, audited[:, t], t, axis=1)
    return np.asarray((streams * (np.arange(rounds)[:, None] <= last[:, None])).sum(axis=1))


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
