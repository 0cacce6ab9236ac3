import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import deniable as dn
from deniable.mechanisms.race import MAX_BITS, MAX_COUNT, GeometricGrowth

RHOS = [1 + 2**-40, 1.0000001, dn.Race.calibrate(2, 0.1).rho, 1.5, 2.0, 3.0, 7.3, 1e6]


@pytest.mark.parametrize("rho", RHOS)
def test_every_step_of_the_table_is_within_rho(rho: float) -> None:
    """phi(n) <= phi(n+1) <= rho phi(n), as exact fractions: all that the proof needs."""
    phi = GeometricGrowth(rho).exact(np.arange(MAX_COUNT + 5)).tolist()
    assert all(type(value) is int for value in phi)
    assert all(low <= high <= Fraction(rho) * low for low, high in pairwise(phi))
    assert phi[0] == 2**64


@pytest.mark.parametrize("rho", RHOS[1:])
def test_table_follows_the_powers_of_rho(rho: float) -> None:
    counts = np.arange(200)
    growth = GeometricGrowth(rho)
    within = growth.exact(counts) < 2 ** (MAX_BITS - 64)
    expected = 64 * math.log(2) + counts * math.log(rho)
    assert np.allclose(growth.log(counts)[within], expected[within], rtol=0, atol=1e-9)


def test_flooring_powers_directly_would_break_the_ratio() -> None:
    """The shortcut floor(rho**n) has steps above rho: the check above can fail."""
    rho = Fraction(3, 2)
    phi = [math.floor(rho**n) for n in range(20)]
    assert not all(high <= rho * low for low, high in pairwise(phi))


def test_a_real_day_of_1948_reports_does_not_overflow() -> None:
    for rho in (1.3134, 4.4):
        run = dn.AuditRun(dn.Race(3, rho), dn.ReplayNoise(bytes(32)))
        assert run.step([1948, 0, 1007]) == 0
        assert run.step([10**9, 10**9, 0]) in {0, 1}


def test_order_is_lost_only_beyond_the_table() -> None:
    growth = GeometricGrowth(1.5)
    last = growth.exact(np.array([MAX_COUNT, MAX_COUNT + 1, 10**9]))
    assert last[0] == last[1] == last[2] > growth.exact(np.array(MAX_COUNT - 1))


@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.1, 0.5, 0.99])
def test_calibration_meets_delta_from_below(delta: float) -> None:
    guarantee = dn.Race.calibrate(5, delta).guarantee()
    assert guarantee.delta <= delta
    assert guarantee.delta == pytest.approx(delta, abs=1e-9)
    assert guarantee.horizon is None
    assert guarantee.likelihood_cap == dn.Race.calibrate(5, delta).rho


@pytest.mark.parametrize("rho", [1.0, 0.5, math.inf, math.nan])
def test_bad_rho(rho: float) -> None:
    with pytest.raises(dn.DeniableError, match="rho must be a finite number above 1"):
        dn.Race(3, rho)


def test_an_absurd_delta_is_refused() -> None:
    with pytest.raises(dn.DeniableError, match="delta must be at least 1e-15"):
        dn.Race.calibrate(3, 1e-300)


def test_numbers_of_other_kinds_become_plain_ones() -> None:
    """Otherwise a saved run would belong to another mechanism, or table and guarantee to different numbers."""
    assert repr(dn.Race(np.int64(3), np.float64(1.5))) == repr(dn.Race(3, 1.5))  # type: ignore[arg-type]
    with pytest.raises(dn.DeniableError, match="rho must be"):
        dn.Race(2, Fraction(2**54 + 1, 2**54))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ((1, 2), "one for each target"),
        ((1, 2, 0), "positive numbers"),
        ((1, 2, -1), "positive numbers"),
        ((1, 2, math.nan), "positive numbers"),
        ((1, 2, math.inf), "positive numbers"),
    ],
)
def test_bad_weights(weights: tuple[float, ...], says: str) -> None:
    with pytest.raises(dn.DeniableError, match=says):
        dn.Race(3, 1.5, weights)
    run = dn.AuditRun(dn.Race(3, 1.5, lambda _: np.array([weights], dtype=np.float64)))
    with pytest.raises(dn.DeniableError, match=says):
        run.step([0, 0, 0])


def test_weights_decide_where_nothing_was_reported() -> None:
    law = dn.transcript_distribution(dn.Race(3, 1.5, (1, 2, 5)), [[0, 0, 0]])
    assert [float(law[(c,)]) for c in range(3)] == pytest.approx([1 / 8, 2 / 8, 5 / 8], rel=1e-9)
