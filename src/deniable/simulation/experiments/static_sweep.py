"""Experiment 1: one decision, with the leader ahead of everyone else by a known gap (`app:subsec:experimenta`)."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deniable.binomial import at_least, at_most
from deniable.calibration import race_rho, rr_p_rand, rr_p_rand_horizon
from deniable.counters import toeplitz
from deniable.errors import DeniableError
from deniable.simulation.experiments.common import MECHANISMS, PAPER_RR, calibrated
from deniable.simulation.noise import SimulationNoise
from deniable.simulation.parallel import derived_seed
from deniable.utility import greedy_error, race_static_error, rr_error, static_error, uniform_error

FAILURE = 1e-6
"""How often an error bar may miss the exact value."""


@dataclass(frozen=True)
class StaticSweep:
    """The settings of Experiment 1, by default those of `app:tab:experimental_parameters`."""

    n_targets: tuple[int, ...] = (5, 20, 50, 200)
    run_lengths: tuple[int, ...] = (100, 1000)
    deltas: tuple[float, ...] = (0.05, 0.10, 0.20)
    gaps: tuple[int, ...] = (0, 1, 2, 4, 8, 16, 32, 64, 128)
    trials: int = 1000
    tca_seed: int = 42
    rr_seed: int = 123
    seed: int = 0
    """Goes into the seed of every point, beside the two of the paper."""

    def cells(self) -> "Iterator[Cell]":
        return itertools.starmap(Cell, itertools.product(self.n_targets, self.run_lengths, self.deltas, MECHANISMS))

    def seed_of(self, mechanism_id: str) -> int:
        return {"tca": self.tca_seed, "rr": self.rr_seed, PAPER_RR: self.rr_seed}.get(mechanism_id, 0)


class Cell(NamedTuple):
    n_targets: int
    run_length: int
    delta: float
    mechanism: str


@dataclass(frozen=True)
class StaticPoint:
    """A mis-selection rate: measured, with its error bar, and exact."""

    mechanism: str
    n_targets: int
    run_length: int
    delta: float
    gap: int
    trials: int
    missed: int
    estimate: float
    low: float
    high: float
    """The error bar around the estimate misses the exact value with a probability of at most FAILURE."""
    exact: float
    within: bool


@dataclass(frozen=True)
class CurvePoint:
    mechanism: str
    n_targets: int
    run_length: int
    delta: float
    gap: float
    exact: float


def score(settings: StaticSweep) -> list[StaticPoint]:
    """Every point of the sweep."""
    return [_point(settings, cell, gap) for cell in settings.cells() for gap in settings.gaps]


def curves(settings: StaticSweep) -> list[CurvePoint]:
    """The exact error between the points, for the lines of a figure."""
    most = math.log2(max(2, *settings.gaps))
    # Some mechanisms jump as soon as there is a gap.
    gaps = [0.0, 1e-9, 0.25, 0.5, 0.75, *np.exp2(np.linspace(0, most, round(8 * most) + 1)).tolist()]
    return [
        CurvePoint(name, C, L, delta, gap, exact_error(name, C, L, delta, gap))
        for C, L, delta, name in settings.cells()
        for gap in gaps
    ]


def exact_error(mechanism_id: str, n_targets: int, run_length: int, delta: float, gap: float) -> float:
    """P[a != c_0]: the leader c_0 is ahead of everyone else by `gap`, and all runs are of length `run_length`.

    The mechanisms are calibrated to delta over `run_length` rounds. If there is no gap, all targets are alike.

    >>> [round(exact_error(name, 5, 1000, 0.1, 32), 4) for name in ("race", "tca", "rr", "uniform")]
    [0.0006, 0.1206, 0.7843, 0.8]
    """
    if gap == 0 or mechanism_id == "uniform":
        return uniform_error(n_targets)
    match mechanism_id:
        case "greedy":
            return greedy_error()
        case "race":
            return race_static_error(gap, n_targets, race_rho(delta))
        case "tca":
            return static_error(gap, n_targets, noise_std(delta, run_length))
        case "rr":
            return rr_error(rr_p_rand(delta, n_targets, run_length), n_targets)
        case "rr:paper":
            return rr_error(rr_p_rand_horizon(delta, run_length), n_targets)
    raise DeniableError(f"mechanism must be one of {', '.join(MECHANISMS)}, got {mechanism_id!r}")


def noise_std(delta: float, run_length: int) -> float:
    """All the noise on a count after a run of L rounds, sigma sqrt(f_0**2 + … + f_{L-1}**2), in reports.

    >>> round(noise_std(0.1, 1000), 2)
    12.99
    """
    return float(toeplitz(delta, run_length).error_std()[-1])


def error_bar(missed: int, trials: int, failure: float = FAILURE) -> tuple[float, float]:
    """The interval of Clopper and Pearson: the rates with which this many misses, or more, or fewer, are likely.

    >>> [round(end, 3) for end in error_bar(50, 1000)]
    [0.023, 0.092]
    """
    return float(at_least(missed, trials, failure / 2)), float(at_most(missed, trials, failure / 2))


def _point(settings: StaticSweep, cell: Cell, gap: int) -> StaticPoint:
    C, L, delta, name = cell
    seed = derived_seed(settings.seed_of(name), settings.seed, C, L, round(delta * 10**9), gap)
    missed = _missed(cell, gap, settings.trials, seed)
    low, high = error_bar(missed, settings.trials)
    exact = exact_error(name, C, L, delta, gap)
    return StaticPoint(
        name, C, L, delta, gap, settings.trials, missed, missed / settings.trials, low, high, exact,
        within=low <= exact <= high,
    )  # fmt: skip


def _missed(cell: Cell, gap: int, trials: int, seed: int) -> int:
    """Of so many trials, how many do not audit the leader."""
    C, L, delta, name = cell
    counts = np.zeros((trials, C), dtype=np.int64)
    counts[:, 0] = gap
    if name == "tca":
        # As in the paper: the noise of a run of L rounds is drawn at once, since its sum is Gaussian.
        noise = np.random.default_rng(seed).normal(scale=noise_std(delta, L), size=counts.shape)
        return int(np.count_nonzero((counts + noise).argmax(axis=1)))
    mechanism = calibrated(name, C, delta, L)
    audited, _ = mechanism.step(mechanism.init(trials), counts, SimulationNoise(seed))
    return int(np.count_nonzero(audited))
