"""How much work it is to count what came in: the same with no report, with one and with some more.

Who sends reports with a token sees by the time of an answer how long the console was at work. So what is measured here
is the work itself: each operation on an array that is as long as a block of known reports, or longer.
"""

import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.programme.offices import TARGETS, Office, new_office

from deniable.programme import counting
from deniable.programme.buffer import Arrived
from deniable.programme.counting import settle
from deniable.programme.imports import imported_reports
from deniable.programme.imports.imported_reports import ROOM, Hashes, KnownReports, rows_looked_for, seen_before
from deniable.programme.receipt import new_receipt

ASH, BIRCH, *_ = TARGETS
SOME = (0, 1, 2, 64, 65)
"""Reports, among them as many as were once looked for one by one, and one more."""


class Watched(np.ndarray[Any, Any]):
    """An array that notes what is done to it, and to all that comes of it."""

    work: list[tuple[str, int]] = []  # noqa: RUF012
    """Each operation, with the elements of the longest array in it."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [_plain(one) for one in inputs]
        options = {name: tuple(map(_plain, one)) if name == "out" else one for name, one in options.items()}
        return _noted(f"{ufunc.__name__}.{method}", getattr(ufunc, method)(*plain, **options), plain)

    def __array_function__(self, function: Any, _: Any, inputs: Any, options: Any) -> Any:
        plain = [[*map(_plain, one)] if isinstance(one, list) else _plain(one) for one in inputs]
        return _noted(function.__name__, function(*plain, **options), plain)


def _plain(one: Any) -> Any:
    return one.view(np.ndarray) if isinstance(one, Watched) else one


def _noted(name: str, made: Any, inputs: Any) -> Any:
    longest = max([np.size(made), *(np.size(one) for one in inputs if isinstance(one, np.ndarray))])
    if longest >= ROOM:
        Watched.work.append((name, longest))
    return made.view(Watched) if isinstance(made, np.ndarray) and longest >= ROOM else made


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, int]]]:
    """All work on known reports meanwhile."""
    unpack = KnownReports.unpack.__func__  # type: ignore[attr-defined]
    with monkeypatch.context() as patched:
        patched.setattr(Watched, "work", [])

        def planted(cls: type[KnownReports], blocks: Any) -> KnownReports:
            known = unpack(cls, blocks)
            return KnownReports(known.hashes.view(Watched), 0)

        patched.setattr(KnownReports, "unpack", classmethod(planted))
        yield Watched.work


def entered(office: Office, number: int) -> None:
    for _ in range(number):
        office.programme.report({ASH: 1})


def pushed_about_no_target(office: Office, number: int) -> None:
    for _ in range(number):
        office.programme.push("token", new_receipt(), {"no such place": 1})


def imported(office: Office, number: int) -> None:
    office.programme.hotlines.bring("hotline", [(new_receipt(), BIRCH) for _ in range(number)], name="one")[1].result()


def withdrawn(office: Office, number: int) -> None:
    receipts = [office.programme.report({ASH: 1}) for _ in range(max(SOME))]
    office.programme._intake._count()
    for receipt in receipts[:number]:
        office.programme.withdraw([ASH], receipt)


WAYS = [entered, pushed_about_no_target, imported, withdrawn]


def work_of(
    office: Office, brings: Callable[[Office, int], None], number: int, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[str, int]]:
    brings(office, number)
    with office.programme._access.looking() as transaction, watched(monkeypatch) as work:
        settle(transaction)
    return work


def by_number(
    brings: Callable[[Office, int], None], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[int, list[tuple[str, int]]]:
    found = {}
    for number in SOME:
        (own := folder / str(number)).mkdir()
        office = new_office(str(own / "programme.db"), own)
        office.programme.hotlines.add("hotline")
        found[number] = work_of(office, brings, number, monkeypatch)
    return found


@pytest.fixture(autouse=True)
def _no_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the next multiple begins is chance, whose part is computed below."""
    fixed = SimpleNamespace(randbelow=lambda _: 0, token_bytes=secrets.token_bytes)
    monkeypatch.setattr(imported_reports, "secrets", fixed)


@pytest.mark.parametrize("brings", WAYS)
def test_counting_is_the_same_work_whatever_came_in(
    brings: Callable[[Office, int], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = by_number(brings, tmp_path, monkeypatch)
    assert all(work == found[0] for work in found.values())
    assert ("searchsorted", 2 * ROOM) in found[0] or ("searchsorted", ROOM) in found[0]


# Bugs


def few_are_looked_for_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(self: KnownReports, brought: Hashes) -> Any:
        if len(brought) <= 64:
            known = [bool((self.hashes == row).all(axis=1).any()) for row in brought]
            return ~(np.array(known, np.bool_) | seen_before(brought))
        return ~seen_before(np.concatenate([self.hashes, brought]))[len(self.hashes) :]

    monkeypatch.setattr(KnownReports, "new", planted)


def nothing_is_looked_for_where_nothing_came_in(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = counting._counted

    def planted(came: Arrived, known: KnownReports) -> Any:
        return counted(came, known) if len(came.slots) else (came.slots, came.slots["id"])

    monkeypatch.setattr(counting, "_counted", planted)


@pytest.mark.parametrize("plant", [few_are_looked_for_one_by_one, nothing_is_looked_for_where_nothing_came_in])
def test_work_that_depends_on_what_came_in_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    found = by_number(entered, tmp_path, monkeypatch)
    assert found[0] != found[1]
    assert (found[64] != found[65]) == (plant is few_are_looked_for_one_by_one)


# One report more


def distances(room: int, monkeypatch: pytest.MonkeyPatch, chances: range) -> list[Fraction]:
    """Total variation between the rows that are looked for with so many hashes, and with one more."""
    monkeypatch.setattr(imported_reports, "LOOKED_FOR", room)
    laws = []
    for brought in range(3 * room):
        law = Counter[int]()
        for chance in chances:
            monkeypatch.setattr(imported_reports, "secrets", SimpleNamespace(randbelow=lambda _, at=chance: at))
            law[rows_looked_for(brought)] += 1
        laws.append(law)
    return [
        Fraction(sum(abs(one[rows] - more[rows]) for rows in {*one, *more}), 2 * len(chances))
        for one, more in pairwise(laws)
    ]


@pytest.mark.parametrize("room", [1, 2, 5, 8])
def test_one_report_more_is_more_work_with_a_chance_of_one_in_so_many(
    room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact, however many others there are, those of an attacker among them."""
    assert {*distances(room, monkeypatch, range(room))} == {Fraction(1, room)}


def test_a_multiple_that_begins_at_a_known_number_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert max(distances(8, monkeypatch, range(1))) == 1


def test_who_confirms_an_import_does_not_wait_until_it_is_known_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.programme.hotlines.add("hotline")
    with monkeypatch.context() as patched:
        patched.setattr(KnownReports, "new", None)
        imported(office, 3)
        with pytest.raises(TypeError):
            office.programme.import_reports("hotline", [("1", ASH)])
    assert office.programme.active_counts()[BIRCH] == 3
