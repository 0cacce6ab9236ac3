"""Numbers of reports with exact discrete Gaussian noise, which a programme publishes once a year, and what they cost.

The noise of each number is an integer z with probability proportional to exp(-z**2 / (2 variance)). One report changes
one number by 1, and the two laws that this leads to are as far apart as z = 0 is likely: below 1 / sqrt(2 pi variance)
in total variation (docs/explanation/yearly-figures.md). All of it is computed in whole numbers and fractions, so that
every machine finds the same noise and the same limit.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from deniable.arrays import IntArray
from deniable.errors import DeniableError, check_whole
from deniable.noise import ExactNoise
from deniable.rounding import as_written
from deniable.wording import count

LEAST_DELTA = 1e-6
"""With less, the noise would be above any number of reports there can be."""

_PI = Fraction(314159265358979323846, 10**20)
"""A little less than pi."""
_FINE = 10**20


@dataclass(frozen=True)
class YearlyFigures:
    """What is added to every number of a year: the parameter of its noise.

    >>> figures = YearlyFigures.calibrate(0.02)
    >>> figures.variance, figures.deviation(), figures.deviation(numbers=3)
    (398, 20, 35)
    >>> round(float(figures.delta()), 6), round(float(figures.delta(reports=3)), 6)
    (0.019997, 0.059992)
    """

    variance: int

    @classmethod
    def calibrate(cls, delta: float) -> Self:
        """The least noise with which the figures of a year tell at most `delta` about one report."""
        check_figures_delta(delta)
        asked = Fraction(as_written(delta))
        made = cls(math.ceil(1 / (2 * _PI * asked**2)))
        return made if made.delta() <= asked else cls(made.variance + 1)

    def delta(self, reports: int = 1) -> Fraction:
        """The largest total variation distance that so many reports of one person make, an upper bound, at most 1.

        Whatever their classes and years are.
        """
        root = math.isqrt(math.floor(_FINE**2 / (2 * _PI * self.variance))) + 1
        return min(Fraction(1), check_whole("reports", reports, least=1) * Fraction(root, _FINE))

    def deviation(self, numbers: int = 1) -> int:
        """The standard deviation of the noise in the sum of so many numbers, rounded up."""
        return math.isqrt(numbers * self.variance - 1) + 1

    def drawn(self, noise: ExactNoise, received: IntArray) -> tuple[int, ...]:
        """(classes,) -> the numbers that are published. They may be below 0."""
        fresh = noise.gaussian(Fraction(self.variance), (len(received),))
        return tuple(int(number) + int(z) for number, z in zip(received, fresh, strict=True))


def check_figures_delta(delta: float) -> float:
    """What the yearly figures may tell about one report.

    >>> check_figures_delta(0)
    Traceback (most recent call last):
    deniable.errors.DeniableError: yearly_figures_delta must be at least 1e-06 and below 1, got 0; 0.02, say, means ± 20
    """
    if not LEAST_DELTA <= delta < 1:
        raise DeniableError(
            f"yearly_figures_delta must be at least {LEAST_DELTA} and below 1, got {delta}; 0.02, say, means ± 20"
        )
    return float(delta)


def advantage_left(advantage: float, delta: float, reports: int) -> float:
    """What is left for the audits of an advantage about all reports of one person, where each costs the yearly figures
    this delta.

    >>> advantage_left(0.05, 0.02, reports=1)
    0.04
    """
    taken = Fraction(repr(check_figures_delta(delta))) * check_whole("reports", reports, least=1) / 2
    left = Fraction(repr(float(advantage))) - taken
    if left <= 0:
        raise DeniableError(
            f"yearly_figures_delta leaves nothing for the audits: an advantage of {advantage:g} for "
            f"{count(reports, 'report')} must be more than the {float(taken):g} that the "
            "yearly figures take"
        )
    return float(left)
