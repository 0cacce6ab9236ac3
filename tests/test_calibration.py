"""Calibration against exact arithmetic (60 decimal digits), numerical integration and exact enumeration."""

import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import expon, norm

from deniable import calibration as cal
from deniable.errors import DeniableError
from deniable.rounding import as_written

DELTAS = st.one_of(
    st.floats(1e-9, 1 - 1e-6),
    st.floats(-9, -0.31).map(lambda exponent: 10**exponent),
    st.floats(-6, -0.31).map(lambda exponent: 1 - 10**exponent),
)
TINY = Fraction(math.ulp(0.0))
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")


def exact_race_delta(rho: float) -> Decimal:
    with localcontext(prec=80):
        r = Decimal(rho)
        return (-r.ln() / (r - 1)).exp() - (-r * r.ln() / (r - 1)).exp() if r > 1 else Decimal(0)


def exact_gaussian_delta(sigma: float, sensitivity: float) -> Decimal:
    """erf(M / (2 sqrt(2) sigma)) by the series with positive terms only."""
    with localcontext(prec=80):
        x = Decimal(sensitivity) / (2 * Decimal(2).sqrt() * Decimal(sigma))
        term, total, n = x, Decimal(0), 0
        while term > total.scaleb(-75):
            total += term
            n += 1
            term *= 2 * x * x / (2 * n + 1)
        return 2 / PI.sqrt() * (-x * x).exp() * total


def exact_rr_delta(p: float, n_targets: int, horizon: int | None) -> Decimal:
    with localcontext(prec=80):
        free = n_targets * (1 - Decimal(p)) / Decimal(p)
        return min(Decimal(1), free, 1 - Decimal(p) ** horizon if horizon else Decimal(1))


def assert_just_above(stated: float, exact: Decimal) -> None:
    """An upper bound, and a tight one: in delta where it is small, in 1 - delta where that is small."""
    assert exact <= Decimal(stated)
    room = min(exact, 1 - exact)
    assert Decimal(stated) - exact <= Decimal("1e-13") * room + Decimal(2) ** -52


class TestToeplitz:
    def test_coefficients_are_central_binomials(self) -> None:
        exact = [float(Fraction(math.comb(2 * k, k), 4**k)) for k in range(300)]
        np.testing.assert_allclose(cal.toeplitz_coefficients(300), exact, rtol=1e-13)

    def test_the_factorization_counts(self) -> None:
        """B C = A: the sequence convolved with itself is all ones."""
        f = cal.toeplitz_coefficients(200)
        np.testing.assert_allclose(np.convolve(f, f)[:200], 1, atol=1e-12)

    @pytest.mark.parametrize("horizon", [1, 2, 3, 10, 100, 1000])
    def test_sensitivity_is_an_upper_bound(self, horizon: int) -> None:
        squared = sum(Fraction(math.comb(2 * k, k), 4**k) ** 2 for k in range(horizon))
        stated = cal.sensitivity(horizon)
        assert squared <= Fraction(stated) ** 2 <= squared * (1 + Fraction(1, 10**11))

    def test_sensitivity_is_the_largest_column_norm(self) -> None:
        f = cal.toeplitz_coefficients(50)
        encoder = np.array([[f[i - j] if i >= j else 0.0 for j in range(50)] for i in range(50)])
        assert cal.sensitivity(50) == pytest.approx(np.linalg.norm(encoder, axis=0).max(), rel=1e-13)

    def test_sensitivity_grows_like_the_root_of_the_logarithm(self) -> None:
        """M_T**2 = (ln T + 4 ln 2 + Euler's constant) / pi + O(1/T)."""
        expected = (math.log(10**5) + 4 * math.log(2) + np.euler_gamma) / math.pi
        assert cal.sensitivity(10**5) ** 2 == pytest.approx(expected, abs=1e-5)


class TestGaussian:
    @given(DELTAS, st.floats(0.5, 3))
    def test_calibrated_sigma_is_safe_and_not_wasteful(self, delta: float, sensitivity: float) -> None:
        sigma = cal.gaussian_sigma(delta, sensitivity)
        assert exact_gaussian_delta(sigma, sensitivity) <= Decimal(delta)
        assert cal.gaussian_delta(sigma, sensitivity) <= delta
        assert sigma == pytest.approx(sensitivity / (2 * cal.kappa(delta)), rel=1e-12)

    def test_the_safe_side_is_needed(self) -> None:
        """Negative control: the formula rounded to nearest exceeds delta in exact arithmetic somewhere."""
        nearest = [(d, 1.8 / (2 * cal.kappa(d))) for d in np.linspace(0.01, 0.99, 99).tolist()]
        assert any(exact_gaussian_delta(sigma, 1.8) > Decimal(d) for d, sigma in nearest)

    @given(st.floats(0.01, 1e6), st.floats(0.1, 3))
    def test_stated_delta_is_just_above_the_exact_one(self, sigma: float, sensitivity: float) -> None:
        if sensitivity / sigma < 16:
            assert_just_above(cal.gaussian_delta(sigma, sensitivity), exact_gaussian_delta(sigma, sensitivity))

    @pytest.mark.parametrize("sigma", [0.4, 1.0, 7.19, 60.0])
    def test_delta_is_the_area_between_two_densities(self, sigma: float) -> None:
        def between(x: float) -> float:
            return float(norm.pdf(x, 0, sigma) - norm.pdf(x, 1.8, sigma))

        area, _ = quad(between, 0.9 - 12 * sigma, 0.9)
        assert cal.gaussian_delta(sigma, 1.8) == pytest.approx(area, abs=1e-9)
        # Planted bug: the shift over sigma, not over 2 sigma.
        assert 2 * norm.cdf(1.8 / sigma) - 1 != pytest.approx(area, abs=1e-3)

    @given(DELTAS)
    def test_kappa_is_a_normal_quantile(self, delta: float) -> None:
        assert cal.kappa(delta) == pytest.approx(-norm.ppf((1 - delta) / 2), rel=1e-9, abs=1e-15)

    def test_no_shift_no_leak(self) -> None:
        assert cal.gaussian_delta(1.0, 0.0) == 0
        assert cal.gaussian_delta(1e-300, 1.0) == 1


class TestRandomizedResponse:
    @given(DELTAS, st.integers(1, 10**6))
    def test_horizon_calibration_is_safe(self, delta: float, horizon: int) -> None:
        p = cal.rr_p_rand_horizon(delta, horizon)
        with localcontext(prec=80):
            assert 1 - Decimal(p) ** horizon <= Decimal(delta)
        assert p == pytest.approx((1 - delta) ** (1 / horizon), rel=1e-9)

    @given(DELTAS, st.integers(1, 10**4))
    def test_horizon_free_calibration_is_safe(self, delta: float, n_targets: int) -> None:
        p = cal.rr_p_rand_horizon_free(delta, n_targets)
        assert exact_rr_delta(p, n_targets, None) <= Decimal(delta)
        assert p == pytest.approx(n_targets / (n_targets + delta), rel=1e-12)

    @given(DELTAS, st.integers(2, 500), st.one_of(st.none(), st.integers(1, 10**5)))
    def test_calibrated_p_rand_keeps_its_delta(self, delta: float, n: int, horizon: int | None) -> None:
        p = cal.rr_p_rand(delta, n, horizon)
        assert cal.rr_delta(p, n, horizon) <= delta
        assert p >= cal.rr_necessary_p_rand(delta, n)

    @given(st.floats(1e-6, 1), st.integers(1, 500), st.one_of(st.none(), st.integers(1, 10**5)))
    def test_stated_delta_is_just_above_the_exact_one(self, p: float, n: int, horizon: int | None) -> None:
        stated, exact = cal.rr_delta(p, n, horizon), exact_rr_delta(p, n, horizon)
        assert exact <= Decimal(stated)
        assert stated == pytest.approx(float(exact), rel=1e-12, abs=1e-15)

    def test_the_smaller_calibration_wins(self) -> None:
        assert cal.rr_p_rand(0.1, 50, horizon=1) == cal.rr_p_rand_horizon(0.1, 1)
        assert cal.rr_p_rand(0.1, 50, horizon=1000) == cal.rr_p_rand_horizon_free(0.1, 50)

    def test_ends(self) -> None:
        assert cal.rr_delta(1.0, 50, 1000) == 0
        assert cal.rr_delta(0.0, 50, 1000) == 1
        assert cal.rr_delta(0.5, 50) == 1
        assert cal.rr_likelihood_cap(1.0, 50) == 1
        assert cal.rr_likelihood_cap(0.0, 50) == math.inf
        assert cal.rr_necessary_p_rand(0.9, 2) == 0

    def test_enumerated_transcripts_obey_delta_and_cap(self) -> None:
        """Every transcript of every small stream, as fractions; and the cap without its factor C is broken."""
        p, n_targets, horizon = Fraction(9, 10), 3, 3
        worst_ratio, worst_tv = Fraction(0), Fraction(0)
        for rivals in itertools.product(range(3), repeat=2 * horizon):
            without = [(0, rivals[2 * t], rivals[2 * t + 1]) for t in range(horizon)]
            plain = _rr_transcripts(without, p)
            for t in range(horizon):
                filed = [(1, *row[1:]) if s == t else row for s, row in enumerate(without)]
                other = _rr_transcripts(filed, p)
                worst_ratio = max(worst_ratio, *(other[a] / plain[a] for a in plain))
                worst_tv = max(worst_tv, sum((abs(other[a] - plain[a]) for a in plain), Fraction(0)) / 2)
        assert worst_ratio <= cal.rr_likelihood_cap(float(p), n_targets)
        assert worst_tv <= cal.rr_delta(float(p), n_targets, horizon)
        assert worst_ratio > 1 + (1 - p) / p
        assert worst_tv >= (1 - p) * (1 - Fraction(1, n_targets))  # `thm:RR_tradeoff`, step 4


def _rr_transcripts(stream: Sequence[Sequence[int]], p: Fraction) -> dict[tuple[int, ...], Fraction]:
    """Every transcript of randomized response with its probability."""
    n_targets = len(stream[0])
    law: dict[tuple[int, ...], tuple[Fraction, tuple[int, ...]]] = {(): (Fraction(1), (0,) * n_targets)}
    for reports in stream:
        after: dict[tuple[int, ...], tuple[Fraction, tuple[int, ...]]] = {}
        for transcript, (probability, counts) in law.items():
            n = [old + new for old, new in zip(counts, reports, strict=True)]
            leaders = [c for c in range(n_targets) if n[c] == max(n)]
            for c in range(n_targets):
                chance = p / n_targets + ((1 - p) / len(leaders) if c in leaders else 0)
                rest = tuple(0 if c == other else n[other] for other in range(n_targets))
                after[(*transcript, c)] = (probability * chance, rest)
        law = after
    return {transcript: probability for transcript, (probability, _) in law.items()}


class TestRace:
    @given(DELTAS)
    def test_calibrated_rho_is_safe_and_accurate(self, delta: float) -> None:
        rho = cal.race_rho(delta)
        assert rho > 1
        assert exact_race_delta(rho) <= Decimal(delta)
        assert cal.race_delta(rho) <= delta
        # A slightly larger rho is too much: 1e-12 relative in ln rho, or two steps of the float rho.
        larger = rho * math.exp(1e-12 * math.log(rho)) + 4 * math.ulp(rho)
        assert exact_race_delta(larger) > Decimal(as_written(delta))

    @given(st.one_of(st.floats(1, 3), st.floats(1, 1e9), st.floats(-15, 0).map(lambda e: 1 + 10**e)))
    def test_stated_delta_is_just_above_the_exact_one(self, rho: float) -> None:
        assert_just_above(cal.race_delta(rho), exact_race_delta(rho))

    @pytest.mark.parametrize("rho", [1.001, 1.3134667, 2.0, 10.0, 500.0])
    def test_delta_is_the_area_between_two_densities(self, rho: float) -> None:
        def between(x: float) -> float:
            return float(expon.pdf(x, scale=1 / rho) - expon.pdf(x))

        crossing = math.log(rho) / (rho - 1)
        area, _ = quad(between, 0, crossing)
        rest, _ = quad(between, crossing, math.inf)
        assert cal.race_delta(rho) == pytest.approx(area, abs=1e-10)
        assert cal.race_delta(rho) == pytest.approx(-rest, abs=1e-7)
        # Planted bug: the cap's own bound 1 - 1/rho in place of the distance.
        assert 1 - 1 / rho != pytest.approx(area, rel=1e-3)

    def test_small_delta_is_epsilon_over_e(self) -> None:
        assert math.log(cal.race_rho(1e-4)) == pytest.approx(1e-4 * math.e, rel=1e-4)

    def test_ends(self) -> None:
        assert cal.race_delta(1.0) == 0
        assert cal.race_delta(math.inf) == 1
        with pytest.raises(DeniableError, match="at least 1e-15 for race, got 1e-17"):
            cal.race_rho(1e-17)


class TestMonotone:
    @given(DELTAS, DELTAS)
    def test_less_leak_needs_more_noise(self, one: float, other: float) -> None:
        low, high = sorted((one, other))
        assert cal.kappa(low) <= cal.kappa(high)
        assert cal.gaussian_sigma(low, 1.8) >= cal.gaussian_sigma(high, 1.8)
        assert cal.rr_p_rand(low, 50, 1000) >= cal.rr_p_rand(high, 50, 1000)
        assert cal.race_rho(low) <= cal.race_rho(high)

    @given(st.integers(1, 2000), st.integers(1, 2000))
    def test_a_longer_horizon_needs_more_noise(self, one: int, other: int) -> None:
        low, high = sorted((one, other))
        assert cal.sensitivity(low) <= cal.sensitivity(high)
        assert cal.rr_p_rand_horizon(0.1, low) <= cal.rr_p_rand_horizon(0.1, high)


class TestPersons:
    @given(st.floats(0, 3), st.floats(0, 1), st.integers(1, 60))
    def test_group_privacy_is_the_chain_of_single_reports(self, epsilon: float, delta: float, k: int) -> None:
        chained_epsilon, chained_delta = 0.0, 0.0
        for _ in range(k):
            chained_epsilon, chained_delta = (
                chained_epsilon + epsilon,
                delta + math.exp(epsilon) * chained_delta,
            )
        grouped_epsilon, grouped_delta = cal.group_privacy(epsilon, delta, k)
        assert grouped_epsilon == pytest.approx(chained_epsilon)
        assert grouped_delta == pytest.approx(min(1.0, chained_delta), rel=1e-10)

    def test_group_privacy_does_not_overflow(self) -> None:
        assert cal.group_privacy(10.0, 1e-6, 10**6) == (1e7, 1.0)
        assert cal.group_privacy(10.0, 0.0, 10**6) == (1e7, 0.0)

    @given(st.floats(0, 1), st.integers(1, 1000))
    def test_grouped_delta_is_rounded_up(self, delta: float, k: int) -> None:
        assert Fraction(cal.group_privacy(0, delta, k)[1]) >= min(Fraction(1), k * Fraction(delta))

    @given(st.floats(1e-6, 0.4999), st.integers(1, 50))
    def test_any_mechanism(self, advantage: float, k: int) -> None:
        delta = cal.delta_for_person(advantage, k)
        assert k * Fraction(delta) / 2 <= Fraction(advantage)
        assert k * delta / 2 == pytest.approx(advantage)
        # Planted bug: alpha / k, which forgets that the advantage is half of delta.
        assert k * (advantage / k) / 2 != pytest.approx(advantage)

    @given(st.floats(1e-6, 0.4999), st.integers(1, 50))
    def test_counter_auditing(self, advantage: float, k: int) -> None:
        delta = cal.gaussian_delta_for_person(advantage, k)
        mu = 1 / cal.gaussian_sigma(delta, 1.0)
        assert cal.gaussian_delta(1.0, k * mu) / 2 <= advantage
        assert cal.gaussian_delta(1.0, k * mu) / 2 == pytest.approx(advantage, rel=1e-9)
        assert delta >= cal.delta_for_person(advantage, k) * (1 - 1e-13)

    @given(st.floats(1e-6, 0.4999), st.integers(1, 50))
    def test_race(self, advantage: float, k: int) -> None:
        delta = cal.race_delta_for_person(advantage, k)
        person = cal.race_delta(cal.power_above(cal.race_rho(delta), k))
        assert person / 2 <= advantage
        assert person / 2 == pytest.approx(advantage, rel=1e-6)  # rho itself is spaced 2e-16 near 1
        assert delta >= cal.delta_for_person(advantage, k) * (1 - 1e-6)

    def test_race_refuses_what_rho_cannot_express(self) -> None:
        with pytest.raises(DeniableError, match="advantage must be larger for 1000000 reports"):
            cal.race_delta_for_person(1e-12, 10**6)

    @given(st.floats(0, 1), st.floats(0, 1))
    def test_prior_advantage(self, delta: float, prior: float) -> None:
        exact = min(Fraction(prior), 1 - Fraction(prior)) * Fraction(delta)
        assert exact <= Fraction(cal.prior_advantage(delta, prior)) <= exact * (1 + Fraction(1, 2**52)) + TINY

    def test_a_prior_advantage_to_nearest_would_be_too_low(self) -> None:
        """Negative control."""
        delta, prior = 0.1, 0.7
        exact = (1 - Fraction(prior)) * Fraction(delta)
        assert Fraction(min(prior, 1 - prior) * delta) < exact <= Fraction(cal.prior_advantage(delta, prior))

    @given(st.floats(1, 1e3), st.integers(1, 300))
    def test_powers_are_rounded_up(self, base: float, exponent: int) -> None:
        exact, stated = Fraction(base) ** exponent, cal.power_above(base, exponent)
        assert math.isinf(stated) or exact <= Fraction(stated) <= exact * (1 + Fraction(1, 2**51))

    def test_powers_to_nearest_would_be_too_low(self) -> None:
        """Negative control."""
        bases = [1 + n / 100 for n in range(1, 100)]
        assert sum(Fraction(base**3) < Fraction(base) ** 3 for base in bases) > 20


def test_greedy_and_uniform() -> None:
    assert cal.greedy_least_delta(2) == 0.5
    assert cal.uniform_delta() == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: cal.kappa(1.0),
            "delta must be above 0 and below 1, got 1.0; 0.1 lets a guess improve by at most 5 in 100",
        ),
        (
            lambda: cal.race_rho(math.nan),
            "delta must be above 0 and below 1, got nan; 0.1 lets a guess improve by at most 5 in 100",
        ),
        (lambda: cal.race_delta(0.5), "rho must be at least 1, got 0.5"),
        (lambda: cal.race_delta(math.nan), "rho must be at least 1, got nan"),
        (lambda: cal.gaussian_sigma(0.1, 0.0), "sensitivity must be a positive number, got 0.0"),
        (lambda: cal.gaussian_delta(0.0, 1.0), "sigma must be a positive number, got 0.0"),
        (
            lambda: cal.gaussian_delta(1.0, -1.0),
            "sensitivity must be a finite number of at least 0, got -1.0",
        ),
        (lambda: cal.rr_delta(1.2, 50), "p_rand must be in [0, 1], got 1.2"),
        (lambda: cal.rr_p_rand(0.1, 0), "n_targets must be a whole number of at least 1, got 0"),
        (lambda: cal.rr_p_rand(0.1, 5, 0), "horizon must be a whole number of at least 1, got 0"),
        (lambda: cal.rr_necessary_p_rand(0.1, 1), "n_targets must be a whole number of at least 2, got 1"),
        (lambda: cal.sensitivity(0), "horizon must be a whole number of at least 1, got 0"),
        (
            lambda: cal.delta_for_person(0.5, 3),
            "advantage must be above 0 and below 0.5, got 0.5; 5 points in 100 is 0.05",
        ),
        (
            lambda: cal.race_delta_for_person(0.0, 3),
            "advantage must be above 0 and below 0.5, got 0.0; 5 points in 100 is 0.05",
        ),
        (
            lambda: cal.gaussian_delta_for_person(0.1, 0),
            "max_reports must be a whole number of at least 1, got 0",
        ),
        (lambda: cal.group_privacy(-1, 0.1, 2), "epsilon must be a finite number of at least 0, got -1"),
        (lambda: cal.prior_advantage(0.1, 1.5), "prior must be in [0, 1], got 1.5"),
    ],
)
def test_bad_input_is_one_sentence(call: Callable[[], object], message: str) -> None:
    with pytest.raises(DeniableError) as refusal:
        call()
    assert str(refusal.value) == message
