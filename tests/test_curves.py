"""The three curves: what they say, and that it is an upper bound, against 60 digits."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit, ndtri
from scipy.stats import expon, norm

import deniable as dn
from deniable.curves import Curve, Exponential, Gaussian, TotalVariation
from deniable.errors import DeniableError
from deniable.guarantee import Guarantee
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
    rounded = 1e-9 + 1e-11 * math.exp(epsilon)  # the curve is rounded up, and 1 - TPR counts exp(epsilon) times
    assert max(accusing, exonerating) - rounded <= promise.delta_at(epsilon)
    assert promise.delta_at(epsilon) <= max(accusing, exonerating, 0) + 2e-3


@given(UNCAPPED)
def test_at_epsilon_0_it_is_delta(curve: Curve) -> None:
    promise = Guarantee(curve)
    assert promise.delta_at(0) == pytest.approx(promise.delta, abs=1e-12)
    assert promise.delta_at(0, accusing=True) == pytest.approx(promise.delta, abs=1e-12)


@pytest.mark.parametrize("curve", [Exponential(1.3134667), TotalVariation(0.1, likelihood_cap=1.5)])
def test_beyond_the_cap_nothing_accuses_but_something_exonerates(curve: Curve) -> None:
    promise, epsilon = Guarantee(curve), math.log(curve.likelihood_cap)
    assert promise.delta_at(math.nextafter(epsilon, 1), accusing=True) == 0
    assert promise.delta_at(epsilon, accusing=True) < 1e-15  # the float may be less than the logarithm
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
    assert 1e-17 < Guarantee(Gaussian(1.0)).delta_at(1e6) < 1e-13  # as discrete noise allows, but not none
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


# Upper bounds, against 80 digits

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")


def cdf(x: Decimal) -> Decimal:
    """Phi, by the series of erf with positive terms only; with digits to spare for the tail. 0 below 1e-430."""
    if x < -44:
        return Decimal(0)
    with localcontext(prec=80 + int(x * x / 4)):
        z = abs(x) / Decimal(2).sqrt()
        term, total, n = z, Decimal(0), 0
        while term > total.scaleb(-78 - int(x * x / 4)):
            total += term
            n += 1
            term *= 2 * z * z / (2 * n + 1)
        erf = 2 / PI.sqrt() * (-z * z).exp() * total
        return (1 + erf) / 2 if x > 0 else (1 - erf) / 2


DISCRETE = 10_000 * 10**6 * Decimal("4.9e-4") / 2**80
"""By how much the discrete noise may differ from a rounded Gaussian, in one world: under 10,000 reports."""


def quantile(rate: Decimal) -> Decimal:
    """Phi^-1, by Newton's method from SciPy's."""
    with localcontext(prec=80):
        x = Decimal(float(ndtri(min(float(rate), 1 - 2.0**-53))))
        for _ in range(4):
            x -= (cdf(x) - rate) * (2 * PI).sqrt() * (x * x / 2).exp()
        return x


def exact_tpr(curve: Curve, fpr: float) -> Decimal:
    rate = Decimal(fpr)
    with localcontext(prec=80):
        match curve:
            case TotalVariation():
                return min(Decimal(1), rate + Decimal(curve.delta), Decimal(curve.likelihood_cap) * rate)
            case Gaussian():
                return min(Decimal(1), cdf(quantile(rate + DISCRETE) + Decimal(curve.mu)) + DISCRETE)
        return 1 - (Decimal(curve.rho) * (1 - rate).ln()).exp()


def exact_deltas(curve: Curve, epsilon: float) -> tuple[Decimal, Decimal]:
    """Accusing, exonerating."""
    with localcontext(prec=80):
        given = Decimal(epsilon)
        match curve:
            case TotalVariation():
                delta, cap = Decimal(curve.delta), Decimal(curve.likelihood_cap)
                corner = min(delta / (cap - 1), 1 / cap)
                return max(Decimal(0), cap - given.exp()) * corner, min(delta, 1 - 1 / cap)
            case Gaussian():
                mu = Decimal(curve.mu)
                both = cdf(mu / 2 - given / mu) - given.exp() * cdf(-mu / 2 - given / mu)
                if cdf(-mu / 2 - given / mu) < DISCRETE:
                    both = cdf(quantile(DISCRETE) + mu)
                else:
                    both += DISCRETE * given.exp()
                both = min(both + DISCRETE, 2 * cdf(mu / 2) - 1)
                return both, both
        rho = Decimal(curve.rho)
        y = (-(given + rho.ln()) / (rho - 1)).exp()
        exonerating = y - given.exp() * y**rho
        if given >= rho.ln():
            return Decimal(0), exonerating
        y = ((given - rho.ln()) / (rho - 1)).exp()
        return 1 - y**rho - given.exp() * (1 - y), exonerating


def some_curves(kind: str) -> list[Curve]:
    rng = np.random.default_rng(20260102)
    small = 10.0 ** rng.uniform(-6, 0.5, 40)
    match kind:
        case "total-variation":
            return [TotalVariation(float(min(x, 1)), 1 + float(y)) for x, y in zip(small, small[::-1], strict=True)]
        case "gaussian":
            return [Gaussian(float(x)) for x in small]
    return [Exponential(1 + float(x)) for x in [*small, 1e3, 1e15]]


def some_rates() -> list[float]:
    rng = np.random.default_rng(20260103)
    return [*expit(rng.uniform(-12, 12, 12)).tolist(), 1e-40, 0.5, 1 - 2.0**-53]


def to_nearest(curve: Curve, fpr: float) -> float:
    """Planted: the same formulas in plain floating point."""
    match curve:
        case TotalVariation():
            return min(1.0, fpr + curve.delta, curve.likelihood_cap * fpr)
        case Gaussian():
            return float(norm.cdf(ndtri(fpr) + curve.mu))
    return -math.expm1(curve.rho * math.log1p(-fpr))


KINDS = ["total-variation", "gaussian", "exponential"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_tradeoff_is_an_upper_bound(kind: str) -> None:
    too_low = 0
    for curve in some_curves(kind):
        promise = Guarantee(curve)
        for fpr in some_rates():
            exact = exact_tpr(curve, fpr)
            is_rounded_up = isinstance(curve, Gaussian) and fpr < 1e-30  # 1e-17 for what discrete noise comes to
            room = Decimal(3) if is_rounded_up else 1 + Decimal("1e-11")
            assert exact <= Decimal(promise.tradeoff(fpr)) <= exact * room
            too_low += Decimal(to_nearest(curve, fpr)) < exact
    assert too_low > 50  # negative control


@pytest.mark.parametrize("kind", KINDS)
def test_delta_at_is_an_upper_bound(kind: str) -> None:
    for curve in some_curves(kind):
        promise = Guarantee(curve)
        for epsilon in (0.0, 1e-9, 0.01, 0.1, 0.5, 1.0, 3.0):
            accusing, exonerating = exact_deltas(curve, epsilon)
            for exact, stated in (
                (accusing, promise.delta_at(epsilon, accusing=True)),
                (max(accusing, exonerating), promise.delta_at(epsilon)),
            ):
                # The oracle's own digits end at 1e-75 or so.
                assert Fraction(exact) - Fraction(1, 10**70) <= Fraction(stated)
                assert stated <= float(exact) * (1 + 1e-12) + 1e-12


def test_delta_at_in_plain_floating_point_would_be_too_low() -> None:
    """Negative control: 1 - y**rho - exp(epsilon) (1 - y) to nearest, as above."""
    too_low = 0
    for curve in some_curves("exponential"):
        assert isinstance(curve, Exponential)
        power, epsilon = math.log(curve.rho), math.log(curve.rho) / 2
        y = math.exp((epsilon - power) / (curve.rho - 1))
        plain = 1 - y**curve.rho - math.exp(epsilon) * (1 - y)
        exact, _ = exact_deltas(curve, epsilon)
        assert exact <= Decimal(Guarantee(curve).delta_at(epsilon, accusing=True))
        too_low += Decimal(plain) < exact
    assert too_low > 5


@pytest.mark.parametrize("mu", [5e-324, 1e-310, 1e-300, 1e-20])
def test_a_leak_too_small_for_a_float_is_not_none(mu: float) -> None:
    promise = Guarantee(Gaussian(mu))
    assert Decimal(promise.delta) >= Decimal(mu) * Decimal("0.398")  # 2 phi(0) / 2, a little less
    assert 0 < promise.advantage <= promise.delta
    assert promise.delta_at(1.0) > 0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: TotalVariation(1.5), "delta must be in [0, 1], got 1.5"),
        (lambda: TotalVariation(math.nan), "delta must be in [0, 1], got nan"),
        (lambda: TotalVariation(0.1, 0.5), "likelihood_cap must be at least 1, got 0.5"),
        (lambda: Gaussian(-1.0), "mu must be a finite number of at least 0, got -1.0"),
        (lambda: Gaussian(math.inf), "mu must be a finite number of at least 0, got inf"),
        (lambda: Exponential(0.9), "rho must be at least 1, got 0.9"),
    ],
)
def test_bad_input_is_one_sentence(build: Callable[[], object], message: str) -> None:
    with pytest.raises(DeniableError) as refusal:
        build()
    assert str(refusal.value) == message
