"""The three curves, the Guarantee around them, and what it says in words."""

import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import expon, norm

import deniable as dn
from deniable.calibration import gaussian_sigma, race_delta, race_rho, rr_likelihood_cap, sensitivity
from deniable.errors import DeniableError
from deniable.guarantee import Curve, Exponential, Gaussian, Guarantee, TotalVariation
from deniable.streams import add_report

CURVES = st.one_of(
    st.builds(TotalVariation, st.floats(0, 1)),
    st.builds(TotalVariation, st.floats(0, 1), st.floats(1, 100)),
    st.builds(Gaussian, st.floats(0, 6)),
    st.builds(Exponential, st.floats(1, 200)),
)
UNCAPPED = CURVES.filter(lambda curve: not (isinstance(curve, TotalVariation) and curve.likelihood_cap < math.inf))
FPR = np.concatenate(([0.0], expit(np.linspace(-30, 30, 20_001)), [1.0]))


@given(CURVES)
def test_a_curve_is_a_tradeoff_curve(curve: Curve) -> None:
    """Between the diagonal and FPR + delta, never falling, and concave: tests can be mixed at random."""
    promise = Guarantee(curve)
    tpr = promise.tradeoff(FPR)
    assert np.all(tpr >= FPR - 1e-12)
    assert np.all(tpr <= np.minimum(1, FPR + promise.delta) + 1e-12)
    assert np.all(np.diff(tpr) >= -1e-12)
    middle = promise.tradeoff((FPR[:-1] + FPR[1:]) / 2)
    assert np.all(middle >= (tpr[:-1] + tpr[1:]) / 2 - 1e-12)
    if promise.likelihood_cap < math.inf:
        assert np.all(tpr <= promise.likelihood_cap * FPR + 1e-12)


@given(UNCAPPED)
def test_delta_is_the_largest_gap_of_the_curve(curve: Curve) -> None:
    promise = Guarantee(curve)
    assert (promise.tradeoff(FPR) - FPR).max() == pytest.approx(promise.delta, abs=1e-5)


def test_where_the_cap_binds_the_curve_is_below_its_delta() -> None:
    """Randomized response without a horizon: delta = cap - 1, but a cap alone keeps TPR - FPR within 1 - 1/cap."""
    promise = Guarantee(TotalVariation(0.1, likelihood_cap=1.1))
    assert (promise.tradeoff(FPR) - FPR).max() == pytest.approx(1 - 1 / 1.1, abs=1e-4)


EPSILONS = st.floats(0, 8)


@given(CURVES, EPSILONS)
def test_delta_at_is_the_largest_gap_of_the_curve_in_its_direction(curve: Curve, epsilon: float) -> None:
    """TPR - exp(epsilon) * FPR to accuse; to exonerate, the same of the test that says "not filed"."""
    promise = Guarantee(curve)
    tpr = promise.tradeoff(FPR)
    accusing = (tpr - math.exp(epsilon) * FPR).max()
    exonerating = (1 - FPR - math.exp(epsilon) * (1 - tpr)).max()
    # The grid's points are on the curve, so what they show is at most delta; and it is dense.
    near = pytest.approx(max(0.0, accusing), abs=2e-3)
    assert accusing - 1e-9 <= promise.delta_at(epsilon, accusing=True) == near
    assert max(accusing, exonerating) - 1e-9 <= promise.delta_at(epsilon)
    assert promise.delta_at(epsilon) <= max(accusing, exonerating, 0) + 2e-3


@given(UNCAPPED)
def test_at_epsilon_0_it_is_delta(curve: Curve) -> None:
    promise = Guarantee(curve)
    assert promise.delta_at(0) == pytest.approx(promise.delta, abs=1e-12)
    assert promise.delta_at(0, accusing=True) == pytest.approx(promise.delta, abs=1e-12)


@pytest.mark.parametrize("curve", [Exponential(1.3134667), TotalVariation(0.1, likelihood_cap=1.5)])
def test_beyond_the_cap_nothing_accuses_but_something_exonerates(curve: Curve) -> None:
    promise, epsilon = Guarantee(curve), math.log(curve.likelihood_cap)
    assert promise.delta_at(epsilon, accusing=True) == 0
    assert promise.delta_at(0.99 * epsilon, accusing=True) > 0
    assert promise.delta_at(epsilon) > 0.02  # negative control: one direction alone is not (epsilon, delta)-DP


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 2.0])
def test_delta_at_of_a_gaussian_is_that_of_two_normals(epsilon: float) -> None:
    """The positive part of the difference of the densities, integrated."""
    mu = 0.7
    distance, _ = quad(lambda x: max(0.0, norm.pdf(x, mu) - math.exp(epsilon) * norm.pdf(x)), -10, 12, limit=500)
    assert Guarantee(Gaussian(mu)).delta_at(epsilon) == pytest.approx(distance, abs=1e-8)


def test_delta_at_holds_for_enumerated_transcripts() -> None:
    race = dn.Race(2, 2.0)
    stream = np.array([[2, 0]] * 7)
    filed, not_filed = (dn.transcript_distribution(race, one) for one in (add_report(stream, 0, 1), stream))
    promise = race.guarantee()

    def found(one: dict[Any, Fraction], other: dict[Any, Fraction], epsilon: float) -> float:
        return sum(max(0.0, float(one[a]) - math.exp(epsilon) * float(other[a])) for a in one)

    for epsilon in (0.0, 0.2, 0.5, 1.0):
        assert found(filed, not_filed, epsilon) <= promise.delta_at(epsilon, accusing=True)
        assert found(not_filed, filed, epsilon) <= promise.delta_at(epsilon)
    # Negative control: the direction matters, and the streams are telling ones.
    assert found(not_filed, filed, 1.0) > promise.delta_at(1.0, accusing=True) == 0
    assert found(filed, not_filed, 0.0) > 0.8 * promise.delta_at(0)


def test_delta_at_at_the_ends() -> None:
    for nothing in (Exponential(1.0), Gaussian(0.0), TotalVariation(0.0)):
        assert Guarantee(nothing).delta_at(0.5) == 0
    assert Guarantee(Exponential(math.inf)).delta_at(5.0) == Guarantee(TotalVariation(1.0)).delta_at(5.0) == 1
    assert Guarantee(Gaussian(1.0)).delta_at(1e6) == 0
    for epsilon in (-0.1, math.nan, math.inf):
        with pytest.raises(DeniableError, match="epsilon must be a finite number of at least 0"):
            Guarantee(Gaussian(1.0)).delta_at(epsilon)


@pytest.mark.parametrize("rho", [1.3134667, 4.0])
def test_exponential_curve_is_reached_by_a_threshold_test(rho: float) -> None:
    threshold = np.linspace(0.01, 5, 50)
    fpr, tpr = expon.cdf(threshold), expon.cdf(threshold, scale=1 / rho)
    np.testing.assert_allclose(Guarantee(Exponential(rho)).tradeoff(fpr), tpr, atol=1e-12)


def test_gaussian_curve_is_reached_by_a_threshold_test() -> None:
    threshold = np.linspace(-3, 4, 50)
    fpr, tpr = norm.sf(threshold), norm.sf(threshold - 0.7)
    np.testing.assert_allclose(Guarantee(Gaussian(0.7)).tradeoff(fpr), tpr, atol=1e-12)


@pytest.mark.parametrize(
    ("curve", "filed", "silent"),
    [
        (Exponential(1.8), lambda x: expon.pdf(x, scale=1 / 1.8), expon.pdf),
        (Gaussian(0.6), lambda x: norm.pdf(x, 0.6), norm.pdf),
    ],
)
def test_advantage_is_that_of_the_best_guess(
    curve: Curve, filed: Callable[[float], float], silent: Callable[[float], float]
) -> None:
    """`thm:advantage` against the Bayes-optimal adversary, by integration; a missing factor 2 would show."""
    promise = Guarantee(curve)

    def best(prior: float) -> float:
        low = 0.0 if isinstance(curve, Exponential) else -12.0
        mass = 0.0
        for a, b in zip(np.linspace(low, 40, 200)[:-1], np.linspace(low, 40, 200)[1:], strict=True):
            mass += quad(lambda x: max(prior * filed(x), (1 - prior) * silent(x)), a, b)[0]
        return mass - max(prior, 1 - prior)

    found = {prior: best(prior) for prior in (0.1, 0.35, 0.5, 0.65, 0.9)}
    assert all(gain <= promise.advantage_at(prior) + 1e-6 for prior, gain in found.items())
    assert max(found.values()) == found[0.5] == pytest.approx(promise.advantage, abs=1e-6)
    # Planted bugs: delta itself is not reached, and a quarter of it is exceeded.
    assert found[0.5] != pytest.approx(promise.delta, abs=1e-3)
    assert found[0.5] > promise.delta / 4


def test_advantage_at() -> None:
    promise = Guarantee(TotalVariation(0.2))
    assert promise.advantage == promise.advantage_at(0.5) == 0.1
    assert promise.advantage_at(0.25) == promise.advantage_at(0.75) == 0.05
    assert promise.advantage_at(0.0) == promise.advantage_at(1.0) == 0


@given(st.floats(1e-6, 0.99))
def test_calibrated_mechanisms_promise_what_was_asked(delta: float) -> None:
    M = sensitivity(100)
    for curve in (Exponential(race_rho(delta)), Gaussian(M / gaussian_sigma(delta, M))):
        assert curve.delta <= delta
        assert curve.delta == pytest.approx(delta, rel=1e-6)


class TestForReports:
    def test_total_variation(self) -> None:
        grouped = Guarantee(TotalVariation(0.125, 1.5), horizon=10).for_reports(3)
        assert (grouped.delta, grouped.horizon, grouped.reports) == (0.375, 10, 3)
        assert grouped.likelihood_cap == pytest.approx(1.5**3)
        assert Guarantee(TotalVariation(0.4)).for_reports(3).delta == 1

    def test_gaussian(self) -> None:
        assert Guarantee(Gaussian(0.25)).for_reports(4).curve == Gaussian(1.0)

    def test_exponential(self) -> None:
        grouped = Guarantee(Exponential(1.5)).for_reports(2)
        assert grouped.likelihood_cap == pytest.approx(2.25)
        assert grouped.delta == pytest.approx(race_delta(2.25))

    def test_overflow_promises_nothing(self) -> None:
        grouped = Guarantee(Exponential(10.0)).for_reports(400)
        assert (grouped.delta, grouped.likelihood_cap) == (1, math.inf)
        np.testing.assert_array_equal(grouped.tradeoff(FPR), 1)
        assert "promises nothing" in grouped.in_words()
        assert Guarantee(TotalVariation(0.1, 10.0)).for_reports(400).likelihood_cap == math.inf

    @given(CURVES)
    def test_one_report_changes_nothing(self, curve: Curve) -> None:
        assert Guarantee(curve).for_reports(1) == Guarantee(curve)

    @given(CURVES, st.integers(2, 20))
    def test_group_privacy_is_never_beaten_by_the_plain_bound(self, curve: Curve, k: int) -> None:
        one = Guarantee(curve)
        assert one.delta <= one.for_reports(k).delta <= min(1, k * one.delta) + 1e-12

    def test_a_grouped_guarantee_is_not_grouped_again(self) -> None:
        with pytest.raises(DeniableError, match="this one speaks of 3"):
            Guarantee(Gaussian(0.1)).for_reports(3).for_reports(2)


class TestTradeoff:
    def test_a_number_gives_a_number(self) -> None:
        assert type(Guarantee(Gaussian(0.5)).tradeoff(0.25)) is float

    def test_an_array_keeps_its_shape(self) -> None:
        assert Guarantee(Exponential(2.0)).tradeoff(np.full((2, 3), 0.5)).shape == (2, 3)

    @pytest.mark.parametrize("curve", [TotalVariation(0.1, 1.1), Gaussian(0.5), Exponential(2.0)])
    def test_ends(self, curve: Curve) -> None:
        assert (Guarantee(curve).tradeoff(0.0), Guarantee(curve).tradeoff(1.0)) == (0, 1)

    @pytest.mark.parametrize("fpr", [-0.1, 1.1, math.nan])
    def test_refuses_what_is_no_rate(self, fpr: float) -> None:
        with pytest.raises(DeniableError, match=r"fpr must be in \[0, 1\]"):
            Guarantee(Gaussian(0.5)).tradeoff(fpr)


class TestInWords:
    EXCLUSIONS = ("access logs", "not anonymous", "narrow", "retaliates", "trusts the audit office")

    def test_race(self) -> None:
        words = Guarantee(Exponential(race_rho(0.1))).in_words()
        assert "at most 5 points in 100, whatever they believed before" in words
        assert "more than 1.32 times as likely" in words
        assert "everything else equal" in words
        assert "exactly one of two people" in words
        assert "however long the programme runs" in words
        assert "for 3 reports the improvement is at most 14.7 points in 100, and the factor at most 2.27" in words
        assert all(exclusion in words for exclusion in self.EXCLUSIONS)
        assert "\n" not in words

    def test_counter_auditing_has_no_cap(self) -> None:
        M = sensitivity(1000)
        words = Guarantee(Gaussian(M / gaussian_sigma(0.1, M)), horizon=1000).in_words()
        assert "at most 5 points in 100" in words
        assert "times as likely" not in words
        assert "first 1,000 rounds, and says nothing about later ones" in words
        assert all(exclusion in words for exclusion in self.EXCLUSIONS)

    def test_randomized_response(self) -> None:
        words = Guarantee(TotalVariation(0.1, rr_likelihood_cap(0.999, 50)), horizon=1).in_words()
        assert "first round," in words
        assert "1.06 times as likely" in words
        assert "for 3 reports the improvement is at most 15 points in 100" in words

    def test_several_reports(self) -> None:
        words = Guarantee(Exponential(race_rho(0.1))).for_reports(5).in_words()
        assert "whether you filed your 5 reports" in words
        assert "at most 23.3 points in 100" in words
        assert "promise about 5 reports by one person" in words

    def test_nothing(self) -> None:
        words = Guarantee(TotalVariation(1.0)).in_words()
        assert "promises nothing" in words
        assert "at most" not in words

    def test_everything(self) -> None:
        words = Guarantee(TotalVariation(0.0, 1.0)).in_words()
        assert "do not depend on the reports at all" in words
        assert all(exclusion in words for exclusion in self.EXCLUSIONS)

    def test_three_reports_may_be_beyond_the_promise(self) -> None:
        assert "If you file 3 reports, it promises nothing" in Guarantee(TotalVariation(0.4)).in_words()

    @given(CURVES)
    def test_printed_figures_are_upper_bounds(self, curve: Curve) -> None:
        words = Guarantee(curve).in_words()
        if "points in 100" in words:
            printed = float(words.split(" points in 100")[0].split()[-1])
            assert printed >= 50 * curve.delta * (1 - 1e-11)
            assert printed <= 50 * curve.delta * 1.0101
        if " times as likely" in words:
            printed = float(words.split(" times as likely")[0].split()[-1].replace(",", ""))
            assert printed >= curve.likelihood_cap * (1 - 1e-11)


@given(CURVES, st.one_of(st.none(), st.integers(1, 10**6)))
def test_to_dict_is_json(curve: Curve, horizon: int | None) -> None:
    promise = Guarantee(curve, horizon)
    public = json.loads(json.dumps(promise.to_dict(), allow_nan=False))
    assert public["delta"] == promise.delta
    assert public["advantage"] == promise.advantage
    assert public["horizon"] == horizon
    assert public["likelihood_cap"] == (None if math.isinf(promise.likelihood_cap) else promise.likelihood_cap)


def test_to_dict_names_the_curve() -> None:
    assert Guarantee(Gaussian(0.25), horizon=5).to_dict()["curve"] == {"kind": "gaussian", "mu": 0.25}
    assert Guarantee(Exponential(math.inf)).to_dict()["curve"] == {"kind": "exponential", "rho": None}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: TotalVariation(1.5), "delta must be in [0, 1], got 1.5"),
        (lambda: TotalVariation(math.nan), "delta must be in [0, 1], got nan"),
        (lambda: TotalVariation(0.1, 0.5), "likelihood_cap must be at least 1, got 0.5"),
        (lambda: Gaussian(-1.0), "mu must be a finite number of at least 0, got -1.0"),
        (lambda: Gaussian(math.inf), "mu must be a finite number of at least 0, got inf"),
        (lambda: Exponential(0.9), "rho must be at least 1, got 0.9"),
        (lambda: Guarantee(Gaussian(1.0), horizon=0), "horizon must be a whole number of at least 1, got 0"),
        (lambda: Guarantee(Gaussian(1.0), reports=0), "reports must be a whole number of at least 1, got 0"),
        (lambda: Guarantee(Gaussian(1.0)).for_reports(0), "reports must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_input_is_one_sentence(build: Callable[[], object], message: str) -> None:
    with pytest.raises(DeniableError) as refusal:
        build()
    assert str(refusal.value) == message
