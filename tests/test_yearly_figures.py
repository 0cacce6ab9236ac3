"""The noise of the yearly figures: its law, and what it costs."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from deniable.arrays import FloatArray
from deniable.errors import DeniableError
from deniable.noise import ReplayNoise
from deniable.yearly_figures import YearlyFigures, advantage_left

RISK = 1e-6
REACH = 60


def law(variance: int) -> FloatArray:
    """Of z = -REACH, …, REACH."""
    weights = np.exp(-(np.arange(-REACH, REACH + 1.0) ** 2) / (2 * variance))
    return np.asarray(weights / weights.sum())


def misfit(drawn: tuple[int, ...], variance: int) -> tuple[float, float]:
    """Chi-square of these draws against the law with this variance, and the value that is exceeded with RISK."""
    inner = math.isqrt(6 * variance)
    expected = law(variance)[REACH - inner : REACH + inner + 1]
    tails = (1 - expected.sum()) / 2
    cells = len(drawn) * np.array([tails, *expected, tails])
    seen = np.bincount(np.clip(drawn, -inner - 1, inner + 1) + inner + 1, minlength=len(cells))
    return float(((seen - cells) ** 2 / cells).sum()), float(chi2.isf(RISK, len(cells) - 1))


@pytest.mark.parametrize("variance", [1, 4, 20])
def test_the_noise_has_its_law(variance: int) -> None:
    drawn = YearlyFigures(variance).drawn(ReplayNoise(bytes([variance] * 32)), np.zeros(4000, np.int64))
    found, limit = misfit(drawn, variance)
    assert found < limit


def test_another_law_is_found() -> None:
    """Negative control."""
    drawn = YearlyFigures(5).drawn(ReplayNoise(bytes(32)), np.zeros(4000, np.int64))
    found, limit = misfit(drawn, 4)
    assert found > limit


def test_every_number_gets_noise_of_its_own() -> None:
    figures = YearlyFigures(400)
    drawn = figures.drawn(ReplayNoise(bytes(32)), np.array([1000, 1000, 0]))
    assert all(type(number) is int for number in drawn)
    assert drawn[0] != drawn[1]
    shifted = figures.drawn(ReplayNoise(bytes(32)), np.array([1000, 1001, 0]))
    assert np.subtract(shifted, drawn).tolist() == [0, 1, 0]


@pytest.mark.parametrize("variance", [1, 2, 4, 20, 60])
@pytest.mark.parametrize("reports", [1, 2, 3])
def test_the_stated_delta_is_an_upper_bound_and_tight(variance: int, reports: int) -> None:
    p = law(variance)
    distance = abs(p - np.roll(p, reports)).sum() / 2
    stated = float(YearlyFigures(variance).delta(reports))
    assert distance <= stated + 1e-12
    if reports == 1:
        assert distance == pytest.approx(stated, rel=1e-8)


@pytest.mark.parametrize("delta", [1e-6, 0.001, 0.01, 0.02, 0.1, 0.3, 0.9])
def test_the_least_noise_is_taken(delta: float) -> None:
    figures = YearlyFigures.calibrate(delta)
    assert figures.delta() <= min(Fraction(delta), Fraction(repr(delta)))
    assert figures.variance == 1 or YearlyFigures(figures.variance - 1).delta() > Fraction(repr(delta))


def test_the_deviation_is_rounded_up() -> None:
    assert [YearlyFigures(variance).deviation() for variance in (1, 2, 4, 5, 398)] == [1, 2, 2, 3, 20]


@pytest.mark.parametrize("delta", [0, -0.1, 1, 1e-7, math.nan])
def test_a_delta_that_cannot_be(delta: float) -> None:
    with pytest.raises(DeniableError, match="yearly_figures_delta must be"):
        YearlyFigures.calibrate(delta)


def test_what_is_left_for_the_audits() -> None:
    assert advantage_left(0.05, 0.02, reports=3) == 0.02
    for reports in (5, 6):
        with pytest.raises(DeniableError, match="leaves nothing for the audits"):
            advantage_left(0.05, 0.02, reports)
