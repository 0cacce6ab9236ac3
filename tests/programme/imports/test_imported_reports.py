"""Which reports are known: the same answer in whatever blocks they are kept, and blocks that tell next to nothing."""

import math
import secrets
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.errors import DeniableError
from deniable.programme.imports import imported_reports
from deniable.programme.imports.imported_reports import LONGEST_NAME, KnownReports, check_source, keyed_hashes

KEY = bytes(range(32))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imported_reports, "ROOM", 8)


def hashes(ids: Sequence[int]) -> imported_reports.Hashes:
    return keyed_hashes(KEY, [["imported", "hotline", str(one)] for one in ids])


def packed_and_unpacked(known: KnownReports) -> KnownReports:
    return KnownReports.unpack([known.pack(block) for block in range(known.blocks)])


@settings(max_examples=60)
@given(st.lists(st.lists(st.integers(0, 40), max_size=90), max_size=6))
def test_each_report_is_new_once(files: list[list[int]]) -> None:
    """In files of any length, which are compared in two ways, and over many blocks."""
    known, before = KnownReports.none(), set[int]()
    for file in files:
        rows = hashes(file)
        new = known.new(rows)
        expected = [one not in before and one not in file[:place] for place, one in enumerate(file)]
        assert new.tolist() == expected
        known = packed_and_unpacked(known.with_reports(rows[new]))
        before.update(file)
        assert not known.new(hashes(sorted(before))).any()
        assert len(known.hashes) == imported_reports.ROOM * known.blocks


def test_every_block_has_the_same_length_and_the_ones_before_the_last_do_not_change() -> None:
    known = KnownReports.none().with_reports(hashes(range(50)))
    more = known.with_reports(hashes(range(50, 60)))
    assert len({len(more.pack(block)) for block in range(more.blocks)}) == 1
    for block in range(known.blocks - 1):
        assert known.pack(block) == more.pack(block)


def test_what_no_report_took_looks_like_one() -> None:
    known = KnownReports.none()
    assert len(np.unique(known.hashes, axis=0)) == imported_reports.ROOM
    assert not (known.hashes == 0).any()


def test_ids_are_told_apart_whatever_is_in_them() -> None:
    ids: list[list[object]] = [["a", "b"], ["a b"], ['a", "b'], ["a", "b", ""], ["", "a", "b"], ["a", 1], ["a", "1"]]
    assert len(np.unique(keyed_hashes(KEY, ids), axis=0)) == len(ids)
    assert not (keyed_hashes(KEY, ids) == keyed_hashes(bytes(32), ids)).any()
    assert keyed_hashes(KEY, []).shape == (0, 2)


@pytest.mark.parametrize("name", ["", "x" * (LONGEST_NAME + 1), "hot\nline"])
def test_a_hotline_has_a_name(name: str) -> None:
    with pytest.raises(DeniableError, match="hotline's name"):
        check_source(name)


# What the number of blocks tells of one report (docs/decisions/0006-known-reports.md).


def blocks_seen(free: Sequence[int], reports: Sequence[int]) -> tuple[int, ...]:
    """The number of blocks at each look: block j has room for free[j] reports, and so many were there at each look."""
    seen = []
    for number in reports:
        blocks = 1
        while sum(free[:blocks]) < number:
            blocks += 1
        seen.append(blocks)
    return tuple(seen)


def distances(looks: int, free: Sequence[int]) -> Iterator[Fraction]:
    """Total variation between what is seen without a report and with it, wherever it comes in."""
    blocks = 4
    total = Fraction(1, len(free) ** blocks)
    for first in range(looks):
        without = list(range(looks))
        with_it = [number + (number >= first) for number in without]
        laws: list[dict[tuple[int, ...], Fraction]] = [{}, {}]
        for choice in product(free, repeat=blocks):
            for law, reports in zip(laws, (without, with_it), strict=True):
                seen = blocks_seen([*choice, looks + 1], reports)
                law[seen] = law.get(seen, Fraction(0)) + total
        seen_in_either = {*laws[0], *laws[1]}
        zero = Fraction(0)
        yield sum((abs(laws[0].get(seen, zero) - laws[1].get(seen, zero)) for seen in seen_in_either), zero) / 2


@pytest.mark.parametrize("room", [2, 3, 5, 7])
def test_the_number_of_blocks_tells_less_than_e_over_the_room(room: int) -> None:
    """Exact, for an observer who looks after every single report; four blocks, then one without end."""
    worst = max(distances(looks=2 * room, free=range(1, room + 1)))
    assert Fraction(1, room) <= worst <= Fraction(math.e) / room


def test_blocks_without_a_random_part_tell_everything() -> None:
    """The negative control."""
    assert max(distances(looks=10, free=[5])) == 1


def test_the_random_part_is_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chi-square with 15 degrees of freedom; 62.5 is exceeded with probability below 1e-6 by a uniform one."""
    monkeypatch.setattr(imported_reports, "ROOM", 16)

    def statistic() -> float:
        drawn = [KnownReports.none().taken for _ in range(1600)]
        drawn += [imported_reports.ROOM - 1 - _first_free(16) for _ in range(1600)]
        counts = np.bincount(drawn, minlength=16)
        return float(((counts - 200) ** 2 / 200).sum())

    random = Random(1)
    monkeypatch.setattr(secrets, "randbelow", random.randrange)
    assert statistic() < 62.5
    monkeypatch.setattr(secrets, "randbelow", lambda n: random.randrange(n - 1))
    assert statistic() > 62.5


def _first_free(room: int) -> int:
    """How many reports the second block takes, less one."""
    known = KnownReports(KnownReports.none().hashes, room - 1)
    second = known.with_reports(hashes([1, 2]))
    return room - second.taken
