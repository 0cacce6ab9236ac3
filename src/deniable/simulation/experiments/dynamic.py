"""Experiment 2: an online report stream, every audit resets its target (`app:dynamic_utility_experiment`)."""

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from deniable.arrays import FloatArray, IntArray
from deniable.simulation.engine import simulate
from deniable.simulation.evaluation import first_audit_after, running_mean
from deniable.simulation.experiments.common import MECHANISMS, calibrated
from deniable.simulation.parallel import RUNS_A_TASK, chunks, derived_seed, run_all
from deniable.simulation.synthetic_streams import lead_rates, poisson

METRICS = ("deficit", "normalized_deficit", "resolved")
COUNTER_IDS = ("counter:blt", "counter:tree", "counter:output_perturbation", "counter:input_perturbation")


@dataclass(frozen=True)
class Dynamic:
    """The settings of Experiment 2, by default the paper's; besides its mechanisms, race and every other counter."""

    n_targets: int = 50
    rounds: int = 1000
    delta: float = 0.10
    lead: float = 1.0
    other: float = 0.2
    runs: int = 100
    seed: int = 0
    mechanisms: tuple[str, ...] = (*MECHANISMS, *COUNTER_IDS)


@dataclass(frozen=True)
class Sensitivity:
    """One setting of Experiment 2 varied at a time; the others as in `base`."""

    # Greedy's deficit is 0 everywhere, and the paper's calibration of randomized response lies between rr and uniform.
    base: Dynamic = Dynamic(runs=30, mechanisms=("race", "tca", "rr", "uniform"))
    n_targets: tuple[int, ...] = (5, 20, 50, 200)
    rounds: tuple[int, ...] = (100, 300, 1000, 3000)
    delta: tuple[float, ...] = (0.02, 0.05, 0.10, 0.20, 0.50)
    lead: tuple[float, ...] = (0.2, 1.0, 5.0)
    other: tuple[float, ...] = (0.05, 0.2, 1.0)

    def varied(self) -> list[tuple[str, Dynamic]]:
        """Which setting is varied, and all settings with it."""
        names = ("n_targets", "rounds", "delta", "lead", "other")
        return [(name, replace(self.base, **{name: value})) for name in names for value in getattr(self, name)]


@dataclass(frozen=True)
class RunningMean:
    """The mean metrics up to a round, over the runs, each with its 95 % confidence band, for that round by itself."""

    mechanism: str
    round: int
    deficit: float
    deficit_low: float
    deficit_high: float
    normalized_deficit: float
    normalized_deficit_low: float
    normalized_deficit_high: float
    resolved: float
    resolved_low: float
    resolved_high: float


@dataclass(frozen=True)
class RunMean:
    """The mean metrics of whole runs, each with its standard error."""

    varied: str
    mechanism: str
    n_targets: int
    rounds: int
    delta: float
    lead: float
    other: float
    runs: int
    deficit: float
    deficit_error: float
    normalized_deficit: float
    normalized_deficit_error: float
    resolved: float
    resolved_error: float
    missed: float
    """Share of the rounds in which the audited target has not the most active reports (`def:error`)."""
    first_audit: float
    """Rounds until the busy target is audited for the first time, that round included."""
    first_audit_error: float


class Task(NamedTuple):
    settings: Dynamic
    mechanism: str
    runs: range


class Measured(NamedTuple):
    """Of B runs."""

    running: FloatArray
    """(3, B, T): running means of METRICS."""
    missed: FloatArray
    """(B,)"""
    first_audit: IntArray
    """(B,)"""


def streams(settings: Dynamic, runs: Sequence[int]) -> IntArray:
    """(B, T, C): the streams of these runs, by number; every mechanism is given the same."""
    rates = lead_rates(settings.n_targets, settings.lead, settings.other)
    return np.concatenate(
        [poisson(rates, settings.rounds, runs=1, seed=derived_seed(settings.seed, run)) for run in runs]
    )


def noise_seed(settings: Dynamic, mechanism_id: str, first_run: int) -> int:
    """Of a mechanism's noise in the chunk that begins with this run."""
    return derived_seed(settings.seed, first_run, zlib.crc32(mechanism_id.encode()))


def measure(task: Task) -> Measured:
    """Simulate the runs of a task, which holds all that its result depends on."""
    settings = task.settings
    mechanism = calibrated(task.mechanism, settings.n_targets, settings.delta, settings.rounds)
    seed = noise_seed(settings, task.mechanism, task.runs[0])
    done = simulate(mechanism, streams(settings, task.runs), seed=seed)
    return Measured(
        np.stack([running_mean(getattr(done, metric)) for metric in METRICS]),
        (done.deficit > 0).mean(axis=1),
        first_audit_after(done.audits, target=0, since=0) + 1,
    )


def measure_means(task: Task) -> Measured:
    """The same with the running means of the last round only, (3, B, 1), which are those of the whole run."""
    measured = measure(task)
    return measured._replace(running=measured.running[:, :, -1:])


def score(
    settings: Dynamic,
    *,
    cluster: str | None = None,
    workers: int | None = None,
    done: Callable[[int], None] | None = None,
) -> tuple[list[RunningMean], list[RunMean]]:
    """Running means, round by round, and means of whole runs, for every mechanism."""
    tasks = tasks_of(settings)
    by_mechanism = _joined(tasks, run_all(measure, tasks, cluster=cluster, workers=workers, done=done))
    running = [row for task, measured in by_mechanism for row in _running_means(task.mechanism, measured)]
    return running, [_run_mean("", task, measured) for task, measured in by_mechanism]


def score_sensitivity(
    settings: Sensitivity,
    *,
    cluster: str | None = None,
    workers: int | None = None,
    done: Callable[[int], None] | None = None,
) -> list[RunMean]:
    """Means of whole runs, for every setting and mechanism."""
    varied, tasks = settings.varied(), sensitivity_tasks(settings)
    results = run_all(measure_means, tasks, cluster=cluster, workers=workers, done=done)
    joined: dict[Dynamic, list[tuple[Task, Measured]]] = {}
    for task, measured in _joined(tasks, results):
        joined.setdefault(task.settings, []).append((task, measured))
    return [_run_mean(name, task, measured) for name, dynamic in varied for task, measured in joined[dynamic]]


def tasks_of(settings: Dynamic) -> list[Task]:
    parts = chunks(settings.runs, RUNS_A_TASK)
    return [Task(settings, name, part) for name in settings.mechanisms for part in parts]


def sensitivity_tasks(settings: Sensitivity) -> list[Task]:
    """A setting that several sweeps share is simulated once."""
    return list(dict.fromkeys(task for _, dynamic in settings.varied() for task in tasks_of(dynamic)))


def _joined(tasks: Sequence[Task], results: Sequence[Measured]) -> list[tuple[Task, Measured]]:
    """The chunks of each setting and mechanism put together; the first task of each stands for all."""
    parts: dict[tuple[Dynamic, str], list[tuple[Task, Measured]]] = {}
    for task, measured in zip(tasks, results, strict=True):
        parts.setdefault((task.settings, task.mechanism), []).append((task, measured))
    return [
        (
            chunks[0][0],
            Measured(
                np.concatenate([measured.running for _, measured in chunks], axis=1),
                np.concatenate([measured.missed for _, measured in chunks]),
                np.concatenate([measured.first_audit for _, measured in chunks]),
            ),
        )
        for chunks in parts.values()
    ]


def _running_means(mechanism_id: str, measured: Measured) -> list[RunningMean]:
    runs = measured.running.shape[1]
    mean = measured.running.mean(axis=1)
    half = stdtrit(runs - 1, 0.975) * _standard_error(measured.running, axis=1)
    columns = np.stack([mean, mean - half, mean + half], axis=1).reshape(9, -1)
    return [RunningMean(mechanism_id, t, *row) for t, row in enumerate(columns.T.tolist(), start=1)]


def _run_mean(varied: str, task: Task, measured: Measured) -> RunMean:
    s = task.settings
    ends = measured.running[:, :, -1]
    (deficit, normalized, resolved), errors = ends.mean(axis=1).tolist(), _standard_error(ends, axis=1).tolist()
    return RunMean(
        varied, task.mechanism, s.n_targets, s.rounds, s.delta, s.lead, s.other, s.runs,
        deficit, errors[0], normalized, errors[1], resolved, errors[2],
        float(measured.missed.mean()), float(measured.first_audit.mean()),
        float(_standard_error(measured.first_audit, axis=0)),
    )  # fmt: skip


def _standard_error(values: FloatArray | IntArray, axis: int) -> FloatArray:
    """Of the mean along the axis."""
    return np.asarray(values.std(axis=axis, ddof=1) / math.sqrt(values.shape[axis]))
