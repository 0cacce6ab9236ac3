"""Fast, seeded, inexact noise for studies. No mechanism, counter or run may import this package."""

from fractions import Fraction

import numpy as np

from deniable.arrays import BoolArray, ExactArray, FloatArray, IntArray
from deniable.noise import Growth, require_eligible


class SimulationNoise:
    """NumPy noise for B runs at once, the same laws as the exact noise up to floating point.

    >>> SimulationNoise(seed=0).bernoulli(Fraction(1, 2), runs=4).shape
    (4,)
    """

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._rng = np.random.default_rng(seed)

    def bernoulli(self, probability: Fraction, runs: int) -> BoolArray:
        return self._rng.random(runs) < float(probability)

    def choose(self, eligible: BoolArray) -> IntArray:
        require_eligible(eligible)
        lots = self.lots(eligible.shape)
        np.copyto(lots, -1.0, where=~eligible)
        return _largest(lots)

    def lots(self, shape: tuple[int, ...]) -> FloatArray:
        """What `choose` draws: a lot for every target, of which the eligible target with the largest is chosen."""
        return self._rng.random(shape)

    def race(self, growth: Growth, counts: IntArray, weights: IntArray) -> IntArray:
        require_eligible(weights > 0)
        # The largest of log-weights plus Gumbel noise wins with probability proportional to the weight.
        with np.errstate(divide="ignore"):  # log 0 = -inf never wins
            log_weights = np.log(weights) + growth.log(counts)
        return _largest(log_weights + self._gumbel(counts.shape))

    def _gumbel(self, shape: tuple[int, ...]) -> FloatArray:
        """What NumPy's `gumbel` draws, from the same uniform variables, but several times as fast: all logs at once."""
        exponential = -np.log(1 - self._rng.random(shape))
        return -np.log(np.maximum(exponential, 2.0**-54))  # 0, once in 2**53 draws, would win even without a weight

    def gaussian(self, variance: Fraction, shape: tuple[int, ...]) -> ExactArray:
        draws = self._rng.standard_normal(shape)
        draws *= float(variance) ** 0.5
        return draws


def _largest(scores: FloatArray) -> IntArray:
    return np.asarray(scores.argmax(axis=1), dtype=np.int64)
