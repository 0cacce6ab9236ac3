"""Values thrown in public: one text for each result, and nothing that is too few, too many or impossible."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import DeniableError
from deniable.languages.voice import plain
from deniable.programme.randomness.dice import Throws

DIE, LOTTERY = Throws(), Throws(6, 49)
DRAWINGS = ("1 9 17 25 33 49", "2 3 4 5 6 7", "10 20 30 40 41 42", "8 9 10 11 12 13", "44 45 46 47 48 49")


@st.composite
def thrown(draw: st.DrawFn) -> tuple[Throws, list[list[int]]]:
    of = draw(st.integers(2, 60))
    throws = Throws(draw(st.integers(1, of // 2)), of)
    how_many = throws.times
    drawing = st.lists(st.integers(1, of), min_size=throws.numbers, max_size=throws.numbers, unique=True)
    return throws, draw(st.lists(drawing, min_size=how_many, max_size=how_many))


SEPARATORS = st.sampled_from([" ", ",", ", ", ";", "\n", "\r\n", "\t", " ; "])


@given(thrown(), st.data())
def test_what_a_person_types(case: tuple[Throws, list[list[int]]], data: st.DataObject) -> None:
    throws, drawings = case
    numbers = [str(number) for drawing in drawings for number in drawing]
    typed = "".join(number + data.draw(SEPARATORS) for number in numbers)
    text = throws.read(typed)
    assert throws.check(text) == text
    assert throws.read(text) == text
    between = " " if throws.numbers == 1 else " / "
    assert [[*map(int, part.split())] for part in text.split(between)] == [sorted(drawing) for drawing in drawings]


@given(st.lists(st.integers(1, 6), min_size=39, max_size=39), st.integers(1, 10))
def test_digits_run_together(numbers: list[int], group: int) -> None:
    digits = "".join(map(str, numbers))
    spaced = " ".join(digits[start : start + group] for start in range(0, len(digits), group))
    assert DIE.read(digits) == DIE.read(spaced) == " ".join(digits)


@given(thrown(), st.data())
def test_the_order_within_a_drawing_does_not_matter(case: tuple[Throws, list[list[int]]], data: st.DataObject) -> None:
    """The order of the drawings does."""
    throws, drawings = case
    texts = [" ".join(map(str, data.draw(st.permutations(drawing)))) for drawing in drawings]
    assert throws.read(", ".join(texts)) == throws.read(" / ".join(texts))
    turned = throws.read(" ".join(reversed(texts)))
    assert (turned == throws.read(" ".join(texts))) == ([*map(sorted, drawings)] == [*map(sorted, reversed(drawings))])


@given(st.integers(2, 100), st.data())
def test_the_least_is_worth_100_bits(of: int, data: st.DataObject) -> None:
    throws = Throws(data.draw(st.integers(1, of // 2)), of)
    outcomes = math.comb(of, throws.numbers)
    assert outcomes**throws.times >= 2**100 > outcomes ** (throws.times - 1)


def test_known_ones() -> None:
    assert (DIE.times, LOTTERY.times, Throws(1, 2).times, Throws(60, 120).times) == (39, 5, 100, 1)
    assert DIE.in_words(plain()) == "a die with 6 sides, thrown 39 times"
    assert LOTTERY.in_words(plain()) == "6 numbers of 49, drawn 5 times"
    assert Throws(60, 120).in_words(plain()) == "60 numbers of 120, drawn once"


def test_leading_zeros_of_a_lottery() -> None:
    assert LOTTERY.read("49 33 25 17 09 01 " + " ".join(DRAWINGS[1:])) == " / ".join(DRAWINGS)


@pytest.mark.parametrize(
    ("throws", "text", "says"),
    [
        (DIE, "7" * 39, "from 1 to 6"),
        (DIE, "0" + "1" * 39, "from 1 to 6"),
        (DIE, "1" * 39 + " x", "from 1 to 6"),
        (DIE, "1" * 39 + " -1", "from 1 to 6"),
        (DIE, "1" * 39 + "\u0663", "from 1 to 6"),
        (DIE, "1" * 38, "39 throws"),
        (DIE, "", "39 throws"),
        (DIE, "1" * 40, "39 throws"),
        (Throws(1, 20), "21 " * 30, "from 1 to 20"),
        (Throws(1, 20), "1" * 5000, "from 1 to 20"),
        (LOTTERY, " / ".join(DRAWINGS[:4]), "5 drawings"),
        (LOTTERY, " ".join(DRAWINGS) + " 5", "incomplete"),
        (LOTTERY, " / ".join(DRAWINGS) + " /", "6 numbers"),
        (LOTTERY, " ".join(DRAWINGS).replace("8 9 10", "8 9 9"), "number 9 twice"),
        (LOTTERY, " ".join(DRAWINGS).replace("49", "50"), "from 1 to 49"),
    ],
)
def test_what_cannot_have_been_thrown(throws: Throws, text: str, says: str) -> None:
    with pytest.raises(DeniableError, match=says):
        throws.read(text)
    with pytest.raises(DeniableError):
        throws.check(text)


@pytest.mark.parametrize(
    ("throws", "text"),
    [
        (DIE, "1" * 39),
        (DIE, " ".join("1" * 39) + "\n"),
        (DIE, " / ".join("1" * 39)),
        (LOTTERY, " ".join(DRAWINGS)),
        (LOTTERY, " / ".join(DRAWINGS).replace("1 9", "01 9")),
        (LOTTERY, " / ".join(DRAWINGS).replace("1 9", "9 1")),
        (DIE, None),
    ],
)
def test_what_is_not_the_published_form(throws: Throws, text: Any) -> None:
    with pytest.raises(DeniableError, match="published"):
        throws.check(text)


@pytest.mark.parametrize(("numbers", "of"), [(0, 6), (6, 6), (7, 6), (1, 1), (1, 1001), (True, 6), (1, 6.0), ("1", 6)])
def test_throws_that_are_none(numbers: Any, of: Any) -> None:
    with pytest.raises(DeniableError, match="throw"):
        Throws(numbers, of)
