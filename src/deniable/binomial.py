"""Clopper and Pearson's bounds of a probability, from how often an event happened in independent trials."""

import numpy as np
from scipy.special import betaincinv

from deniable.arrays import FloatArray


def at_least(hits: int | FloatArray, trials: int, failure_probability: float) -> FloatArray:
    """A lower bound of the probability, wrong at most so often.

    >>> round(float(at_least(90, 100, 0.001)), 4)
    0.7753
    """
    hits = np.asarray(hits, dtype=np.float64)
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1), trials - hits + 1, failure_probability), 0.0)


def at_most(hits: int | FloatArray, trials: int, failure_probability: float) -> FloatArray:
    """The same, from above."""
    return 1 - at_least(trials - np.asarray(hits, dtype=np.float64), trials, failure_probability)
