"""What the experiments share: which mechanisms, calibrated how."""

from typing import Any

from deniable.calibration import rr_p_rand_horizon
from deniable.mechanisms import Mechanism, RandomizedResponse, calibrate

PAPER_RR = "rr:paper"
"""Randomized response as the paper's experiments calibrate it; `rr` takes the better of the two calibrations."""

MECHANISMS = ("greedy", "race", "tca", "rr", PAPER_RR, "uniform")


def calibrated(mechanism_id: str, n_targets: int, delta: float, horizon: int) -> Mechanism[Any]:
    """The mechanism with this id, or `rr:paper`, at this delta.

    >>> [round(calibrated(name, 50, 0.1, 1000).p_rand, 6) for name in ("rr", "rr:paper")]
    [0.998004, 0.999895]
    """
    if mechanism_id == PAPER_RR:
        return RandomizedResponse(n_targets, rr_p_rand_horizon(delta, horizon), horizon)
    return calibrate(mechanism_id, n_targets, delta, horizon)
