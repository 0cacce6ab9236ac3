"""What needs no simulation: the paper's table of noise scales, and how noise and needed gaps grow."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.optimize import brentq

from deniable.calibration import gaussian_sigma, race_rho, rr_p_rand, rr_p_rand_horizon, sensitivity
from deniable.counters import COUNTERS, GaussianCounter
from deniable.promptness import least_lead
from deniable.simulation.experiments.static_sweep import noise_std
from deniable.utility import operational_gap_needed, race_gap_needed, static_error


@dataclass(frozen=True)
class Calibration:
    run_length: int
    delta: float
    sigma: float
    """Of the fresh noise of the Toeplitz counter, in reports."""
    p_rand: float
    p_rand_better: float
    """At the number of targets of Experiment 2."""
    rho: float


@dataclass(frozen=True)
class NoiseGrowth:
    counter: str
    horizon: int
    sigma: float
    """Of the fresh noise, in reports."""
    noise_std: float
    """Of a count, in the round of a run where it is largest."""


@dataclass(frozen=True)
class GapNeeded:
    """How far ahead a leader must be, in reports, for an error of 5 %."""

    n_targets: int
    tca: float
    tca_bound: float
    """From the union bound (`app:sec:operationalization`), with the standard deviation of the whole noise."""
    tca_rule: float
    """sigma sqrt(2 ln C), the paper's rule of thumb, with the standard deviation of the whole noise for sigma."""
    race: float
    least: int
    """For any memoryless mechanism with this delta at every horizon (`least_lead`)."""


def calibrations(run_lengths: Sequence[int], deltas: Sequence[float], n_targets: int) -> list[Calibration]:
    """`app:tab:calibrated_noise_scales`, with the columns that the paper does not have."""
    return [
        Calibration(
            L, delta, gaussian_sigma(delta, sensitivity(L)), rr_p_rand_horizon(delta, L),
            rr_p_rand(delta, n_targets, L), race_rho(delta),
        )
        for L in run_lengths
        for delta in deltas
    ]  # fmt: skip


def noise_growth(horizons: Sequence[int], delta: float) -> list[NoiseGrowth]:
    """The noise of every counter that a longer horizon costs (`lem:tca-sensitivity`)."""
    rows = []
    for name, make in COUNTERS.items():
        for horizon in horizons:
            counter = make(delta, horizon)
            assert isinstance(counter, GaussianCounter)  # as all named counters are
            rows.append(NoiseGrowth(name, horizon, counter.sigma, counter.max_error))
    return rows


def gaps_needed(n_targets: Sequence[int], delta: float, run_length: int, error: float = 0.05) -> list[GapNeeded]:
    """In the static setting of Experiment 1."""
    std, rho = noise_std(delta, run_length), race_rho(delta)
    rows = []
    for C in n_targets:
        bound = operational_gap_needed(error, C, std)
        exact = float(brentq(lambda gap, C=C: static_error(gap, C, std) - error, 0, 2 * bound, xtol=1e-9))
        rule = std * math.sqrt(2 * math.log(C))
        rows.append(GapNeeded(C, exact, bound, rule, race_gap_needed(error, C, rho), least_lead(C, delta, error)))
    return rows
