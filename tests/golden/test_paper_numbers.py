"""Every figure that the paper, and the theory of race beside it, prints about calibration."""

import math

import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import gamma

from deniable.calibration import (
    gaussian_sigma,
    race_delta,
    race_rho,
    rr_p_rand_horizon,
    rr_p_rand_horizon_free,
    sensitivity,
)
from deniable.curves import Exponential, Gaussian
from deniable.guarantee import Guarantee
from deniable.utility import race_static_error, rr_error_interval, uniform_error

# `app:tab:calibrated_noise_scales`: L, delta, sigma, p_rand, as printed.
NOISE_SCALES = [
    (100, 0.05, "12.6862", "0.999487"),
    (100, 0.10, "6.3306", "0.998947"),
    (100, 0.20, "3.1400", "0.997771"),
    (1000, 0.05, "14.4078", "0.999949"),
    (1000, 0.10, "7.1897", "0.999895"),
    (1000, 0.20, "3.5661", "0.999777"),
]


@pytest.mark.parametrize(("length", "delta", "sigma", "p_rand"), NOISE_SCALES)
def test_calibrated_noise_scales(length: int, delta: float, sigma: str, p_rand: str) -> None:
    assert f"{gaussian_sigma(delta, sensitivity(length)):.4f}" == sigma
    assert f"{rr_p_rand_horizon(delta, length):.6f}" == p_rand


@pytest.mark.parametrize(("length", "delta", "sigma", "p_rand"), NOISE_SCALES)
def test_the_printed_digits_tell_plausible_mistakes_apart(length: int, delta: float, sigma: str, p_rand: str) -> None:
    """Negative control: a sum one term short or long, and the advantage in place of delta, print other digits."""
    assert f"{gaussian_sigma(delta, sensitivity(length - 1)):.4f}" != sigma
    assert f"{gaussian_sigma(delta, sensitivity(length + 1)):.4f}" != sigma
    assert f"{gaussian_sigma(delta / 2, sensitivity(length)):.4f}" != sigma
    assert f"{rr_p_rand_horizon(delta / 2, length):.6f}" != p_rand


@pytest.mark.parametrize(
    ("delta", "epsilon"),
    [(0.01, 0.02718366), (0.05, 0.13601886), (0.10, 0.27267001), (0.20, 0.55051276), (0.50, 1.48239920)],
)
def test_race_table(delta: float, epsilon: float) -> None:
    assert math.log(race_rho(delta)) == pytest.approx(epsilon, abs=1e-7)


@pytest.mark.parametrize(
    ("reports", "one_target", "spread"), [(2, 0.1982, 0.1467), (5, 0.4658, 0.2356), (10, 0.7721, 0.3309)]
)
def test_race_persons(reports: int, one_target: float, spread: float) -> None:
    """All reports on one target are worse than one each on k targets, which is Gamma(k) against Gamma(k) / rho."""
    rho = race_rho(0.1)
    assert Guarantee(Exponential(rho)).for_reports(reports).delta == pytest.approx(one_target, abs=5e-5)

    def apart(x: float) -> float:
        return float(gamma.cdf(x, reports) - gamma.cdf(rho * x, reports))

    found = -minimize_scalar(apart, bounds=(0, 5 * reports), method="bounded").fun
    assert found == pytest.approx(spread, abs=5e-5)
    assert found < one_target


def test_counters_persons() -> None:
    """delta_k = 2 Phi(k kappa) - 1, below k delta."""
    M = sensitivity(1000)
    promise = Guarantee(Gaussian(M / gaussian_sigma(0.1, M)), horizon=1000)
    assert promise.for_reports(2).delta == pytest.approx(0.198436, abs=1e-6)
    assert promise.for_reports(10).delta == pytest.approx(0.791106, abs=1e-6)


def test_rr_error_interval() -> None:
    """`rem:RR_tightness` at the defaults of Experiment 2."""
    floor, ceiling = rr_error_interval(0.1, n_targets=50)
    assert floor == pytest.approx(0.88)
    assert ceiling == pytest.approx(49 / 50.1)
    assert uniform_error(50) == pytest.approx(0.98)
    assert rr_p_rand_horizon_free(0.1, 50) == pytest.approx(50 / 50.1)


def test_advantage_is_half_of_delta() -> None:
    """`thm:advantage`: delta = 0.1 promises an advantage of 0.05."""
    assert Guarantee(Exponential(race_rho(0.1))).advantage == pytest.approx(0.05)


def test_small_race_delta() -> None:
    """About epsilon / e."""
    assert race_delta(math.exp(1e-6)) == pytest.approx(1e-6 / math.e, rel=1e-6)


def test_race_static_error_at_no_gap_is_uniform() -> None:
    assert race_static_error(0, 50, race_rho(0.1)) == pytest.approx(uniform_error(50))
