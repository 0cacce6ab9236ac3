"""Rounding to the safe side: what is stated is never less than the exact value.

A float is a fraction whose denominator is a power of two. The functions for figures to be read treat it as that exact
number and work in fractions, so no step rounds on the way. Long products are decimals of 40 digits, every step of which
is rounded down (`DOWN`) or up (`UP`).
"""

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

DOWN, UP = (Context(40, rounding, MIN_EMIN, MAX_EMAX, traps=[]) for rounding in (ROUND_FLOOR, ROUND_CEILING))


def rounded_up(value: float | Fraction, scale: int = 1, *, digits: int = 3, places: int | None = None) -> str:
    """`scale * value` as a decimal that is not less, for people to read; for values of at least 0.

    With so many `places` after the point, or else with so many digits (and all digits before the point), in which case
    zeros at the end are left out.

    The proof: the product is an exact fraction, `units` is the least whole number not below it times 10**places, and
    the text is exactly units / 10**places.

    So 0.1, whose float is 0.1000000000000000055…, comes out as 0.101. A delta that an office asked for does not: what
    is calibrated to it has a delta that is not above the *decimal* (see `as_written`), and it is that delta that is
    stated.

    >>> rounded_up(0.0667, 50), rounded_up(Fraction(1, 10)), rounded_up(0.1), rounded_up(1234.5)
    ('3.34', '0.1', '0.101', '1,235')
    >>> rounded_up(Fraction(1, 20), 100, places=1)
    '5.0'
    """
    exact = Fraction(value) * scale
    given = places is not None
    if places is None:
        places = _places(exact, digits)
    units = math.ceil(exact * 10**places)
    whole, rest = divmod(units, 10**places)
    decimals = f"{rest:0{places}}" if places else ""
    if not given:
        decimals = decimals.rstrip("0")
    return f"{whole:,}.{decimals}" if decimals else f"{whole:,}"


def as_written(value: float) -> float:
    """The largest float that is not above the number as it was written: for 0.1 the one below the float 0.1.

    What was written is taken to be the shortest decimal that the float stands for. A bound that is not above the
    result is not above the decimal, so it may be stated as the decimal.

    >>> as_written(0.1) < Fraction(1, 10) < 0.1, as_written(0.3)
    (True, 0.3)
    """
    return float_below(Fraction(repr(float(value))))


def written_above(value: float | Fraction) -> Fraction:
    """The larger of a float and the decimal that it was written as, exactly; a fraction as it is.

    A limit that is computed for the result holds for the float and for the decimal, if it grows with the number.

    >>> written_above(0.1) == Fraction(0.1) > Fraction(1, 10), written_above(0.3)
    (True, Fraction(3, 10))
    """
    return value if isinstance(value, Fraction) else max(Fraction(value), Fraction(repr(float(value))))


def float_above(exact: Fraction) -> float:
    """The least float that is not below the exact value; inf beyond the largest one.

    >>> float_above(Fraction(1, 10)), float_above(Fraction(3, 10)), float_above(Fraction(10) ** 400)
    (0.1, 0.30000000000000004, inf)
    """
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


def float_below(exact: Fraction) -> float:
    """The largest float that is not above the exact value.

    >>> float_below(Fraction(1, 10)), float_below(Fraction(3, 10))
    (0.09999999999999999, 0.3)
    """
    return -float_above(-exact)


def decimal(context: Context, exact: Fraction) -> Decimal:
    """The fraction in 40 digits, rounded as the context says."""
    return context.divide(Decimal(exact.numerator), Decimal(exact.denominator))


def power(context: Context, base: Decimal, exponent: int) -> Decimal:
    """base**exponent for base >= 0, every step rounded as the context says.

    >>> power(DOWN, Decimal(2), 10)
    Decimal('1024')
    """
    result = Decimal(1)
    while exponent:
        if exponent & 1:
            result = context.multiply(result, base)
        base = context.multiply(base, base)
        exponent >>= 1
    return result


def _places(exact: Fraction, digits: int) -> int:
    """Decimal places that show at least so many digits; none for 0."""
    if exact >= 1:
        return max(0, digits - len(str(math.floor(exact))))
    return digits - 1 + len(str(math.floor(1 / exact))) if exact else 0


def nine_digits(value: float, rounding: str) -> float:
    """To so many, which all computers agree on; `rounding` is decimal's."""
    return float(Context(prec=9, rounding=rounding).create_decimal(value))
