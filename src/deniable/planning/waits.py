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

Z = 1.96
"""Standard errors within which 95 of 100 normal variables are."""


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
    rounds = _all_waits(mechanism, office, extra_reports, office.longest_wait, runs=runs, seed=seed)
    return tuple(_summary(n, waits, office.longest_wait) for n, waits in zip(extra_reports, rounds, strict=True))


@dataclass(frozen=True)
class VisitedShare:
    """Of some simulated runs, those in which a target was audited by a deadline."""

    visited: int
    runs: int

    @property
    def interval(self) -> tuple[float, float]:
        """Between which the probability of a visit lies, in 95 cases of 100 (Wilson's interval)."""
        n, share = self.runs, self.visited / self.runs
        middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
        half = Z / (1 + Z**2 / n) * math.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
        return max(0.0, middle - half), min(1.0, middle + half)


def simulated_share(
    mechanism: Mechanism[Any], office: Office, rounds: int, extra_reports: int, *, runs: int, seed: int = 0
) -> VisitedShare | None:
    """Of the runs in which a target gets some reports more, those in which it is audited within so many rounds, the one
    in which they come in included; None where the horizon is too near to follow them.
    """
    if rounds > office.longest_wait:
        return None
    (waits,) = _all_waits(mechanism, office, [extra_reports], rounds, runs=runs, seed=seed)
    return VisitedShare(int((waits <= rounds).sum()), runs)


def _all_waits(
    mechanism: Mechanism[Any], office: Office, extra_reports: Sequence[int], longest: int, *, runs: int, seed: int
) -> list[IntArray]:
    """For each number of extra reports, (runs,) rounds; `longest` + 1 where it was longer than that."""
    batches = chunks(runs, max(1, CELLS_AT_ONCE // office.n_targets))
    waits = [
        _waits(mechanism, office, extra_reports, longest, runs=len(batch), seed=seed + i)
        for i, batch in enumerate(batches)
    ]
    return [np.concatenate(rounds) for rounds in zip(*waits, strict=True)]


def _waits(
    mechanism: Mechanism[Any], office: Office, extra_reports: Sequence[int], longest: int, *, runs: int, seed: int
) -> list[IntArray]:
    before, after = np.random.SeedSequence(seed).spawn(2)
    reports, noise = _sources(office, runs, before)
    usual = mechanism.init(runs)
    for _ in range(office.warm_up):
        _, usual = mechanism.step(usual, reports(), noise, office.audits)
    return [
        _wait(mechanism, usual, n, longest, audits=office.audits, sources=_sources(office, runs, after))
        for n in extra_reports
    ]


def _wait(
    mechanism: Mechanism[Any],
    state: State[Any],
    extra: int,
    longest: int,
    *,
    audits: int,
    sources: tuple[Callable[[], IntArray], SimulationNoise],
) -> IntArray:
    reports, noise = sources
    waiting = np.arange(state.history.last.shape[0])
    rounds = np.full(len(waiting), longest + 1)
    for elapsed in range(1, longest + 1):
        new = reports()[waiting]
        if elapsed == 1:
            new[:, 0] += extra
        audited, state = mechanism.step(state, new, noise, audits)
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
