"""Rounding to the safe side, against exact fractions."""

import math
from collections.abc import Callable
from decimal import ROUND_UP, Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.guarantee import points
from deniable.languages.voice import plain
from deniable.rounding import as_written, float_above, rounded_up

BOUNDS = st.one_of(
    st.floats(0, 1),
    st.floats(0, 1e9),
    st.floats(-12, 6).map(lambda exponent: 10**exponent),
    st.integers(0, 10**6).map(lambda n: n / 1000),  # floats beside short decimals
    st.fractions(0, 1000),
)
SCALES = st.sampled_from([1, 2, 50, 100])
Printer = Callable[[float | Fraction, int], str]


def is_upper(printer: Printer, value: float | Fraction, scale: int) -> bool:
    return Fraction(printer(value, scale).replace(",", "")) >= Fraction(value) * scale


@given(BOUNDS, SCALES, st.integers(1, 9))
def test_so_many_digits(value: float | Fraction, scale: int, digits: int) -> None:
    text = rounded_up(value, scale, digits=digits)
    exact, shown = Fraction(value) * scale, Fraction(text.replace(",", ""))
    assert exact <= shown <= exact + max(exact / 10 ** (digits - 1), exact >= 1)
    assert "." not in text or text[-1] not in ".0"


@given(BOUNDS, SCALES, st.integers(0, 9))
def test_so_many_places(value: float | Fraction, scale: int, places: int) -> None:
    text = rounded_up(value, scale, places=places)
    exact, shown = Fraction(value) * scale, Fraction(text.replace(",", ""))
    assert exact <= shown < exact + Fraction(1, 10**places)
    assert len(text.partition(".")[2]) == places


@pytest.mark.parametrize(
    ("planted", "caught"),
    [
        (lambda value, scale: f"{value * scale:.3g}", 0.12345),
        (lambda value, scale: f"{math.ceil(round(value * scale * 1000, 6)) / 1000:,.3f}", 0.1 + 1e-12),
        (lambda value, scale: f"{_to_12_digits_first(value, scale):f}", 0.1 + 1e-14),
        (lambda value, scale: f"{math.ceil(value * scale * 1000) / 1000:f}", 0.1),  # the float product is 5
    ],
    ids=["to-nearest", "six-places-first", "twelve-digits-first", "float-product"],
)
def test_other_ways_of_rounding_are_caught(planted: Printer, caught: float) -> None:
    """Negative control: what rounds to nearest somewhere on the way prints too little."""
    assert not is_upper(planted, caught, 50)
    assert is_upper(rounded_up, caught, 50)


def _to_12_digits_first(value: float | Fraction, scale: int) -> Decimal:
    figure = Context(prec=12).create_decimal(float(value)) * scale
    return figure.quantize(Decimal("0.001"), rounding=ROUND_UP)


@pytest.mark.parametrize(
    ("value", "scale", "text"),
    [
        (0, 50, "0"),
        (0.5, 1, "0.5"),
        (Fraction(1, 3), 1, "0.334"),
        (Fraction(1, 3), 100, "33.4"),
        (0.9999, 1, "1"),
        (999.5, 1, "1,000"),
        (1234567.25, 1, "1,234,568"),
        (2.0**-30, 1, "0.000000000932"),
    ],
)
def test_as_a_person_would_write_it(value: float | Fraction, scale: int, text: str) -> None:
    assert rounded_up(value, scale) == text


@given(st.fractions(-2, 2) | st.floats(0, 1e300).map(Fraction))
def test_float_above_is_the_least_such_float(exact: Fraction) -> None:
    above = float_above(exact)
    assert Fraction(above) >= exact
    assert Fraction(math.nextafter(above, -math.inf)) < exact


def test_float_above_the_largest_float() -> None:
    largest = Fraction(math.nextafter(math.inf, 0))
    assert float_above(largest) < float_above(largest + 1) == math.inf


@given(st.floats(1e-300, 1))
def test_as_written_is_at_most_the_decimal_and_the_float(value: float) -> None:
    found = as_written(value)
    assert Fraction(found) <= min(Fraction(repr(value)), Fraction(value))
    assert found >= math.nextafter(value, 0)


@pytest.mark.parametrize("hundredths", [1, 3, 5, 7, 10, 14, 20, 29, 30, 55, 70, 99])
def test_a_delta_that_was_asked_for_is_stated_as_it_was_written(hundredths: int) -> None:
    """10 %, and not 10.1 % because the float 0.1 is a little more; for every mechanism that can be calibrated."""
    written, delta = Fraction(hundredths, 100), hundredths / 100
    for mechanism in (
        dn.Race.calibrate(5, delta),
        dn.CounterAuditing.calibrate(5, delta, horizon=100),
        dn.RandomizedResponse.calibrate(5, delta),
        dn.RandomizedResponse.calibrate(5, delta, horizon=20),
    ):
        promise = mechanism.guarantee()
        assert Fraction(promise.delta) <= written
        assert Fraction(rounded_up(promise.delta)) == written
        assert points(promise.delta, plain()) == f"{float(50 * written):g} points in 100"
        assert Fraction(rounded_up(promise.between_two().delta)) == min(1, 2 * written)


def test_a_delta_that_was_given_as_a_float_is_that_float() -> None:
    """Nobody knows that it was meant to be 1/10, so the statement does not say so."""
    assert rounded_up(dn.Guarantee(dn.curves.TotalVariation(0.1)).delta) == "0.101"
