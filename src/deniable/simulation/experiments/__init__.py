"""The paper's two experiments and its table: frozen settings in, rows of numbers out. No files, no figures."""

from deniable.simulation.experiments.closed_forms import calibrations, gaps_needed, noise_growth
from deniable.simulation.experiments.common import MECHANISMS, PAPER_RR, calibrated
from deniable.simulation.experiments.dynamic import Dynamic, RunMean, RunningMean, Sensitivity
from deniable.simulation.experiments.static_sweep import StaticPoint, StaticSweep, exact_error

__all__ = [
    "MECHANISMS",
    "PAPER_RR",
    "Dynamic",
    "RunMean",
    "RunningMean",
    "Sensitivity",
    "StaticPoint",
    "StaticSweep",
    "calibrated",
    "calibrations",
    "exact_error",
    "gaps_needed",
    "noise_growth",
]
