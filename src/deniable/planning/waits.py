"""Simulated waits: after a warm-up, in which every target gets its usual reports, one target gets some more, and the
rounds until its audit are counted.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.arrays import IntArray
from deniable.mechanisms import Mechanism, State
from deniable.planning.requirements import Office
from deniable.simulation.noise import SimulationNoise
from deniable.simulation.parallel import chunks
from deniable.state import of_runs

# Targets times runs in one batch; bounds memory, and is part of the seeding.
CELLS_AT_ONCE = 500_000


@dataclass(frozen=True)
class Wait:
    """Rounds until a target with `extra_reports` more than the usual is audited; 1 is the round they arrive in."""

    extra_reports: int
    rounds: float
    """The mean over the runs; at least this where some were cut short, which count as one round longer."""
    standard_error: float
    cut_short: float
    """The share of runs in which the target was not audited within `Office.longest_wait`."""
    nine_in_ten: int
    """The rounds within which the target was audited in 9 runs of 10; more than these where over a tenth were cut
    short.
    """


def simulated_waits(
    mechanism: Mechanism[Any], office: Office, extra_reports: Sequence[int], runs: int, seed: int
) -> tuple[Wait, ...]:
    """One for each number of extra reports."""
    batches = chunks(runs, max(1, CELLS_AT_ONCE // office.n_targets))
    waits = [_waits(mechanism, office, extra_reports, len(batch), seed + i) for i, batch in enumerate(batches)]
    return tuple(
        _summary(n, np.concatenate(rounds), office.longest_wait)
        for n, *rounds in zip(extra_reports, *waits, strict=True)
    )


def _waits(
    mechanism: Mechanism[Any], office: Office, extra_reports: Sequence[int], runs: int, seed: int
) -> list[IntArray]:
    """For each number of extra reports, (runs,) rounds; `longest_wait` + 1 where it was longer than that."""
    before, after = np.random.SeedSequence(seed).spawn(2)
    reports, noise = _sources(office, runs, before)
    usual = mechanism.init(runs)
    for _ in range(office.warm_up):
        _, usual = mechanism.step(usual, reports(), noise, office.audits)
    return [_wait(mechanism, usual, office, n, _sources(office, runs, after)) for n in extra_reports]


def _wait(
    mechanism: Mechanism[Any],
    state: State[Any],
    office: Office,
    extra: int,
    sources: tuple[Callable[[], IntArray], SimulationNoise],
) -> IntArray:
    reports, noise = sources
    waiting = np.arange(state.history.last.shape[0])
    rounds = np.full(len(waiting), office.longest_wait + 1)
    for elapsed in range(1, office.longest_wait + 1):
        new = reports()[waiting]
        if elapsed == 1:
            new[:, 0] += extra
        audited, state = mechanism.step(state, new, noise, office.audits)
        hit = (audited == 0).any(axis=1)
        rounds[waiting[hit]] = elapsed
        waiting = waiting[~hit]
        if not len(waiting):
            break
        if hit.any():
            state = of_runs(state, ~hit)
    return rounds


def _sources(office: Office, runs: int, seed: np.random.SeedSequence) -> tuple[Callable[[], IntArray], SimulationNoise]:
    """The usual reports, (runs, C) a round, and the noise; the same whenever the seed is."""
    # Not spawned, which would count up.
    of_reports, of_noise = (np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, i)) for i in range(2))
    rng, rate = np.random.default_rng(of_reports), office.reports_per_round / office.n_targets
    return lambda: rng.poisson(rate, (runs, office.n_targets)), SimulationNoise(of_noise)


def _summary(extra: int, rounds: IntArray, longest: int) -> Wait:
    error = float(rounds.std(ddof=1)) / math.sqrt(len(rounds))
    nine_in_ten = int(np.quantile(rounds, 0.9, method="inverted_cdf"))
    return Wait(extra, float(rounds.mean()), error, float((rounds > longest).mean()), nine_in_ten)
