"""Error bounds against exact fractions, closed forms and simulation."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from deniable import utility
from deniable.calibration import (
    gaussian_sigma,
    kappa,
    rr_necessary_p_rand,
    rr_p_rand_horizon,
    rr_p_rand_horizon_free,
    sensitivity,
)
from deniable.errors import DeniableError

SIGMAS = st.floats(0.1, 100)
RHOS = st.floats(1.01, 10)


class TestCounterAuditing:
    def test_pairwise_error_is_what_two_fresh_noises_do(self) -> None:
        """Hoeffding at failure probability 1e-6; the difference of two noises has variance 2 sigma**2, not sigma**2."""
        draws, sigma, gap = 400_000, 7.0, 5.0
        rng = np.random.default_rng(1)
        leader, challenger = sigma * rng.standard_normal((2, draws))
        rate = float(np.mean(challenger - leader >= gap))
        width = math.sqrt(math.log(2 / 1e-6) / (2 * draws))
        assert abs(rate - float(utility.pairwise_error(gap, sigma))) < width
        assert abs(rate - norm.cdf(-gap / sigma)) > width

    @given(st.floats(0.001, 0.9), st.integers(1, 2000), st.lists(st.floats(-50, 200), min_size=1, max_size=9))
    def test_both_forms_of_the_theorem_agree(self, delta: float, horizon: int, gaps: list[float]) -> None:
        M = sensitivity(horizon)
        paper = sum(norm.cdf(-math.sqrt(2) * kappa(delta) * gap / M) for gap in gaps)  # `eq:cond-utility`
        bound = utility.conditional_error_bound(gaps, gaussian_sigma(delta, M))
        assert float(bound) == pytest.approx(min(1.0, paper), rel=1e-9, abs=1e-300)

    def test_union_bound_holds_and_is_exact_for_two_targets(self) -> None:
        """Hoeffding at failure probability 1e-6; the bound without one challenger is broken."""
        draws, sigma, gaps = 400_000, 7.0, np.array([6.0, 6.0, 8.0])
        noise = sigma * np.random.default_rng(2).standard_normal((draws, 4))
        errors = noise[:, 1:] - noise[:, :1] >= gaps
        width = math.sqrt(math.log(2 / 1e-6) / (2 * draws))
        rate = errors.any(axis=1).mean()
        assert rate <= utility.conditional_error_bound(gaps, sigma) + width
        assert abs(errors[:, 0].mean() - utility.conditional_error_bound(gaps[:1], sigma)) < width
        assert rate > utility.conditional_error_bound(gaps[:1], sigma) + width

    def test_batches(self) -> None:
        gaps = np.arange(24.0).reshape(2, 3, 4) + 3
        batched = utility.conditional_error_bound(gaps, 7.0)
        assert batched.shape == (2, 3)
        for b in range(2):
            for t in range(3):
                assert batched[b, t] == utility.conditional_error_bound(gaps[b, t], 7.0)
        assert utility.unconditional_error_bound(gaps, 0.1, 1.8).shape == (2, 3)

    def test_a_bound_is_at_most_one(self) -> None:
        assert utility.conditional_error_bound(np.zeros(10), 1.0) == 1
        assert utility.unconditional_error_bound(np.zeros(1), 0.1, 1.8) == 1
        assert utility.operational_error_bound(0.0, 50, 1.0) == 1

    @given(st.floats(0.01, 0.9), st.integers(1, 1000), st.floats(0, 500))
    def test_unconditional_bound_covers_a_run_of_fixed_length(self, delta: float, length: int, gap: float) -> None:
        """With all noise drawn afresh the error of one challenger is known: Phi(-gap / (sqrt(2) sigma M_L))."""
        M = sensitivity(length)
        sigma = gaussian_sigma(delta, M)
        exact = norm.cdf(-gap / (math.sqrt(2) * sigma * M))
        assert exact <= float(utility.unconditional_error_bound([gap], delta, M)) + 1e-15

    def test_unconditional_bound_needs_both_terms(self) -> None:
        """Negative control: the fresh-noise term alone does not cover the past noise once M_T exceeds 2."""
        M = sensitivity(10**5)
        sigma, gap = gaussian_sigma(0.1, M), 100.0
        exact = norm.cdf(-gap / (math.sqrt(2) * sigma * M))
        assert norm.cdf(-(gap / 2) / (math.sqrt(2) * sigma)) < exact
        assert exact <= utility.unconditional_error_bound([gap], 0.1, M)

    def test_unconditional_bound_is_the_remarks_arithmetic(self) -> None:
        """V = 2 sigma**2 M**2 and a margin of half the gap, before kappa is substituted."""
        M = sensitivity(100)
        sigma, gap = gaussian_sigma(0.2, M), 30.0
        fresh = norm.cdf(-(gap / 2) / (math.sqrt(2) * sigma))
        past = math.exp(-((gap / 2) ** 2) / (2 * (2 * sigma**2 * M**2)))
        assert float(utility.unconditional_error_bound([gap], 0.2, M)) == pytest.approx(fresh + past)

    @given(st.floats(1e-9, 0.999), st.integers(2, 1000), SIGMAS)
    def test_operational_gap_is_the_inverse(self, error: float, n_targets: int, sigma: float) -> None:
        gap = utility.operational_gap_needed(error, n_targets, sigma)
        reached = utility.operational_error_bound(gap, n_targets, sigma)
        assert reached == pytest.approx(error) if gap > 0 else reached <= error

    @given(st.floats(-10, 100), st.integers(2, 100), SIGMAS)
    def test_operational_bound_is_the_theorem_with_equal_gaps(self, gap: float, n: int, sigma: float) -> None:
        bound = utility.conditional_error_bound(np.full(n - 1, gap), sigma)
        assert utility.operational_error_bound(gap, n, sigma) == pytest.approx(float(bound))

    @given(st.integers(1, 500), SIGMAS)
    def test_past_and_fresh_noise_make_the_whole(self, run_length: int, sigma: float) -> None:
        whole = utility.past_noise_variance(run_length, sigma) + sigma**2
        assert whole == pytest.approx((sigma * sensitivity(run_length)) ** 2)


@given(
    st.floats(min_value=0, max_value=200),
    st.integers(min_value=2, max_value=1000),
    st.floats(min_value=0.5, max_value=50),
)
def test_static_error_is_below_its_union_bound_and_uniform(gap: float, n_targets: int, std: float) -> None:
    error = utility.static_error(gap, n_targets, std)
    # Below 1e-300 the bound is rounded to 0.
    assert error <= utility.operational_error_bound(gap, n_targets, std) * (1 + 1e-12) + 1e-300
    assert 0 <= error <= utility.uniform_error(n_targets) + 1e-12


@given(st.floats(min_value=1e-6, max_value=50))
def test_static_error_of_two_targets_has_a_closed_form(gap: float) -> None:
    """The difference of two noises is Gaussian; to 1e-12 relative, down to 1e-270."""
    exact = float(utility.pairwise_error(gap, 1.0))
    assert utility.static_error(gap, 2, 1.0) == pytest.approx(exact, rel=1e-12, abs=0)


@pytest.mark.parametrize(("n_targets", "gap"), [(3, 1.0), (50, 2.0), (200, 5.0), (10**6, 6.0)])
def test_static_error_by_another_quadrature(n_targets: int, gap: float) -> None:
    def integrand(z: float) -> float:
        return float(norm.pdf(z) * norm.cdf(z + gap) ** (n_targets - 1))

    hit, _ = quad(integrand, -12, 12, epsabs=1e-12, limit=200, points=[0.0])
    assert utility.static_error(gap, n_targets, 1.0) == pytest.approx(1 - hit, abs=1e-10)
    wrong, _ = quad(lambda z: integrand(z) / norm.cdf(z + gap), -12, 12, epsabs=1e-12, limit=200, points=[0.0])
    assert abs(utility.static_error(gap, n_targets, 1.0) - (1 - wrong)) > 1e-9  # one challenger short is seen


@pytest.mark.parametrize("n_targets", [2, 5, 7, 200])
def test_static_error_without_a_gap_is_uniform(n_targets: int) -> None:
    assert utility.static_error(0, n_targets, 13.0) == (n_targets - 1) / n_targets
    assert utility.static_error(1e-12, n_targets, 13.0) == pytest.approx((n_targets - 1) / n_targets)


class TestRandomizedResponse:
    @given(st.floats(1e-6, 0.99), st.integers(2, 500), st.integers(1, 10**5))
    def test_error_lies_where_the_paper_says(self, delta: float, n_targets: int, horizon: int) -> None:
        floor, ceiling = utility.rr_error_interval(delta, n_targets)
        horizon_free = utility.rr_error(rr_p_rand_horizon_free(delta, n_targets), n_targets)
        assert horizon_free == pytest.approx(ceiling)
        assert utility.rr_error(rr_necessary_p_rand(delta, n_targets), n_targets) == pytest.approx(floor, abs=1e-12)
        assert floor <= utility.rr_error(rr_p_rand_horizon(delta, horizon), n_targets) + 1e-12
        assert floor <= ceiling <= utility.uniform_error(n_targets)

    def test_error_by_counting(self) -> None:
        """One leader among 4, p = 0.8: exploring misses it three times in four."""
        assert utility.rr_error(0.8, 4) == pytest.approx(0.6)

    def test_floor_is_not_negative(self) -> None:
        assert utility.rr_error_floor(0.9, 2) == 0


class TestGreedyAndUniform:
    def test_closed_forms(self) -> None:
        assert utility.greedy_error() == 0
        assert utility.uniform_error(50) == pytest.approx(0.98)
        assert utility.uniform_error(4, n_leaders=4) == 0
        assert utility.uniform_expected_wait(50) == 50


class TestRace:
    @given(
        st.lists(st.integers(0, 12), min_size=1, max_size=6),
        st.fractions(Fraction(11, 10), 4),
        st.lists(st.integers(1, 9), min_size=6, max_size=6),
    )
    def test_error_is_the_others_share(self, counts: list[int], rho: Fraction, weights: list[int]) -> None:
        w = weights[: len(counts)]
        v = [a * rho**n for a, n in zip(w, counts, strict=True)]
        leaders = sum(v[c] for c in range(len(v)) if counts[c] == max(counts))
        assert float(utility.race_error(counts, float(rho), w)) == pytest.approx(float(1 - leaders / sum(v)))

    def test_thousands_of_reports(self) -> None:
        assert float(utility.race_error([9000, 8990, 0], 2.0)) == pytest.approx(1 / 1025)
        assert float(utility.race_error([100_000, 0], 2.0)) == 0

    def test_ties_are_all_leaders(self) -> None:
        assert utility.race_error([7, 7, 7], 2.0) == 0

    def test_batches_and_weights(self) -> None:
        counts = np.arange(24).reshape(2, 3, 4) % 7
        weights = np.array([1.0, 2.0, 3.0, 4.0])
        batched = utility.race_error(counts, 1.5, weights)
        assert batched.shape == (2, 3)
        assert batched[1, 2] == utility.race_error(counts[1, 2], 1.5, weights)
        np.testing.assert_allclose(utility.race_error(counts, 1.5, 10 * weights), batched)

    @given(st.integers(1, 3000), st.integers(2, 100), RHOS)
    def test_static_sweep_is_a_special_case(self, gap: int, n_targets: int, rho: float) -> None:
        counts = [gap] + [0] * (n_targets - 1)
        error = utility.race_static_error(gap, n_targets, rho)
        assert error == pytest.approx(float(utility.race_error(counts, rho)), rel=1e-9, abs=1e-300)

    @given(st.floats(1e-9, 0.999), st.integers(2, 1000), RHOS)
    def test_gap_is_the_inverse(self, error: float, n_targets: int, rho: float) -> None:
        gap = utility.race_gap_needed(error, n_targets, rho)
        reached = utility.race_static_error(gap, n_targets, rho)
        assert reached == pytest.approx(error) if gap > 0 else reached <= error


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: utility.pairwise_error(1.0, 0.0), "sigma must be a positive number, got 0.0"),
        (lambda: utility.static_error(1.0, 5, 0.0), "noise_std must be a positive number, got 0.0"),
        (lambda: utility.static_error(0.0, 5, -1.0), "noise_std must be a positive number, got -1.0"),
        (lambda: utility.static_error(-1.0, 5, 1.0), "gap must be a finite number of at least 0"),
        (lambda: utility.static_error(1.0, 1, 1.0), "n_targets must be a whole number of at least 2, got 1"),
        (lambda: utility.operational_gap_needed(0.0, 5, 1.0), "error must be in (0, 1), got 0.0"),
        (
            lambda: utility.operational_error_bound(1.0, 1, 1.0),
            "n_targets must be a whole number of at least 2, got 1",
        ),
        (lambda: utility.uniform_error(3, 4), "n_leaders must be at most n_targets = 3, got 4"),
        (lambda: utility.race_error([1, 0], 1.0), "rho must be a finite number above 1, got 1.0"),
        (lambda: utility.race_error([1, 0], 2.0, [1.0, 0.0]), "weights must be positive numbers"),
        (lambda: utility.race_gap_needed(1.0, 5, 2.0), "error must be in (0, 1), got 1.0"),
    ],
)
def test_bad_input_is_one_sentence(call: Callable[[], object], message: str) -> None:
    with pytest.raises(DeniableError) as refusal:
        call()
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    "call",
    [
        lambda: utility.unconditional_error_bound([-731.0], 0.1, 1.8),
        lambda: utility.race_static_error(-731.0, 5, 2.0),
    ],
)
def test_refusals_do_not_repeat_a_count(call: Callable[[], object]) -> None:
    with pytest.raises(DeniableError) as refusal:
        call()
    assert "731" not in str(refusal.value)
