"""Targets are found by a part of their name, a page at a time, however many there are."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.console.target_search import TargetIndex, TargetSearch
from deniable.programme.names import caseless

NAMES = ("Ash Mill", "Birch Works", "Ashford", "Élan", "Straße 7", "MILL ROAD", "Ash")


def found(query: str, names: tuple[str, ...] = NAMES) -> tuple[str, ...]:
    return TargetIndex(names).search(query).names


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("mill", ("Ash Mill", "MILL ROAD")),
        ("  MILL   road ", ("MILL ROAD",)),
        ("ash", ("Ash", "Ash Mill", "Ashford")),  # the one of this very name first
        ("E\u0301LAN", ("Élan",)),
        ("STRASSE", ("Straße 7",)),
        ("millbirch", ()),
        ("mill\nbirch", ()),
        ("\x00", ()),
        ("", NAMES),
    ],
)
def test_a_part_of_the_name_is_enough_whatever_its_case(query: str, names: tuple[str, ...]) -> None:
    assert found(query) == names


def test_the_whole_name_finds_its_target_and_no_other() -> None:
    index = TargetIndex(NAMES)
    assert [index.exact(name) for name in ("ash", "ASH MILL", "Ash M", "", "nowhere")] == [
        "Ash",
        "Ash Mill",
        *[None] * 3,
    ]
    twins = TargetIndex(("ash", "Ash", "ASH"))  # which no programme has
    assert [twins.exact(name) for name in ("Ash", "ASH")] == ["Ash", "ASH"]
    assert TargetIndex(()).exact("ash") is None


@given(st.lists(st.text("aAbß é", min_size=1).map(str.strip).filter(bool), unique=True), st.text("aAbß é", max_size=2))
def test_the_pages_together_have_what_a_plain_search_finds(names: list[str], query: str) -> None:
    index, wanted = TargetIndex(tuple(names)), caseless(" ".join(query.split()))
    expected = {name for name in names if wanted in caseless(name)}
    pages = [index.search(query, 0, most=2)]
    while (start := pages[-1].later) is not None:
        pages.append(index.search(query, start, most=2))
    assert {name for page in pages for name in page.names} == expected
    assert len(pages) == max(1, -(-len(expected) // 2))
    for later, earlier in zip(pages[:0:-1], pages[-2::-1], strict=True):  # and back again
        assert later.earlier is not None
        assert index.search(query, later.earlier, most=2).names == earlier.names
    assert pages[0].earlier is None


def test_the_index_is_made_once_for_each_list() -> None:
    search, names = TargetSearch(), tuple("abc")
    first = search.of(names)
    assert search.of(names) is first
    assert search.of((*names,)) is first
    assert search.of((*names, "d")) is not first


@pytest.mark.long
def test_a_million_targets_take_little_memory() -> None:
    names = tuple(f"Depot number {number}" for number in range(10**6))
    tracemalloc.start()
    try:
        index = TargetIndex(names)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 50 * 2**20
    assert peak < 100 * 2**20
    assert index.exact("depot NUMBER 999999") == "Depot number 999999"
    assert index.search("99999").names[0] == "Depot number 99999"
