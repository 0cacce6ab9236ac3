"""What is accepted as a public parameter, and the sentence that refuses the rest."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable.errors import DeniableError, check_delta, check_positive, check_probability, check_whole


def test_a_refusal_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="delta"):
        check_delta(2)


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (check_delta, Fraction(1, 8)),
        (check_delta, math.nextafter(0, 1)),
        (lambda value: check_probability("p", value), 0),
        (lambda value: check_probability("p", value), 1),
        (lambda value: check_positive("rate", value), np.float64(0.5)),
    ],
)
def test_good_numbers_come_back_as_floats(check: Any, value: Any) -> None:
    assert type(check(value)) is float
    assert check(value) == value


@pytest.mark.parametrize("value", [3, np.int64(3)])
def test_whole_numbers_come_back_as_int(value: Any) -> None:
    assert type(check_whole("horizon", value, least=3)) is int


@pytest.mark.parametrize("delta", [0, 1, -0.1, math.nan, math.inf])
def test_bad_delta(delta: float) -> None:
    with pytest.raises(DeniableError, match=rf"^delta must be above 0 and below 1, got {delta}; 0\.1 lets a guess "):
        check_delta(delta)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_bad_probability(value: float) -> None:
    with pytest.raises(DeniableError, match=rf"^p must be in \[0, 1\], got {value}$"):
        check_probability("p", value)


@pytest.mark.parametrize("value", [2, 3.0, True, math.nan, "3"])
def test_bad_whole_number(value: Any) -> None:
    with pytest.raises(DeniableError, match=f"^horizon must be a whole number of at least 3, got {value}$"):
        check_whole("horizon", value, least=3)


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_bad_positive_number(value: float) -> None:
    with pytest.raises(DeniableError, match=f"^rate must be a positive number, got {value}$"):
        check_positive("rate", value)
