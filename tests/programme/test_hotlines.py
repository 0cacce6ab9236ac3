"""What is kept of a hotline, and imports that are taken back: exact, in time, and without a trace of their own."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import sqlalchemy as sa
from tests.programme.insight import rows
from tests.programme.offices import TARGETS, Clock, Office, new_office

from deniable.errors import DeniableError
from deniable.programme import counting, intake
from deniable.programme.buffer import NOTHING, ROOM, Slots
from deniable.programme.imports.hotline_settings import Assigned, Kept
from deniable.programme.imports.imported_reports import KnownReports
from deniable.programme.programme import Programme
from deniable.programme.ticker import IMPORTS, Ticker
from deniable.storage import tables

ASH, BIRCH, *_ = TARGETS
EXPORT = [("1", ASH), ("2", ASH), ("3", BIRCH)]
NONE = dict.fromkeys(TARGETS, 0)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.programme.hotlines.add("hotline")
    return office


def bring(programme: Programme, name: str, reports: counting.Reports = EXPORT, *, count: bool = True) -> int:
    counted = int(programme.hotlines.look("hotline", reports).sum()) if count else 0
    programme.hotlines.bring("hotline", reports, name=name, count=count)[1].result()
    return counted


def take_back(programme: Programme, name: str) -> bool:
    """Whether it was taken back in time."""
    programme.hotlines.take_back("hotline", name).result()
    return not programme.hotlines.is_final("hotline", name)


# Taken back


@pytest.mark.parametrize("count", [True, False])
def test_an_import_that_is_taken_back_never_was(office: Office, count: bool) -> None:
    programme = office.programme
    for name in ("one", "two"):
        assert bring(programme, name, count=count) == (3 if count else 0)
        assert take_back(programme, name)
        assert programme.active_counts() == NONE
        assert programme.import_reports("hotline", EXPORT, dry_run=True) == 3
    programme.renew()
    assert bring(programme, "three") == 3
    programme.renew()
    assert not take_back(programme, "three")
    assert programme.active_counts() == NONE | {ASH: 2, BIRCH: 1}


def test_only_the_import_of_this_name_is_taken_back(office: Office) -> None:
    programme = office.programme
    bring(programme, "one", EXPORT[:1])
    programme.import_reports("hotline", EXPORT[1:2])
    programme.report({BIRCH: 5})
    bring(programme, "two", [("9", BIRCH)])
    assert take_back(programme, "one")
    assert take_back(programme, "never was")
    assert programme.active_counts() == NONE | {ASH: 1, BIRCH: 6}


@pytest.mark.parametrize("later", ["named", "at the terminal"])
def test_what_a_later_import_also_brought_stays(office: Office, later: str) -> None:
    """As if the first had never been; and where the first stays, each report counts once."""
    programme = office.programme
    for number, is_taken_back in enumerate((True, False)):
        reports = [(f"{number}/{one}", target) for one, target in EXPORT]
        bring(programme, f"first {number}", reports)
        if later == "named":
            assert bring(programme, f"second {number}", reports) == 0
        else:
            assert programme.import_reports("hotline", reports) == 0
        if is_taken_back:
            assert take_back(programme, f"first {number}")
        assert programme.active_counts() == {**NONE, ASH: 2 * (number + 1), BIRCH: number + 1}


def test_an_import_of_many_pages_is_taken_back_as_a_whole(office: Office) -> None:
    assert bring(office.programme, "one", [(str(number), ASH) for number in range(2 * ROOM + 7)]) == 2 * ROOM + 7
    assert take_back(office.programme, "one")
    assert office.programme.active_counts() == NONE


def test_an_import_of_which_a_part_is_counted_stays_as_a_whole(office: Office) -> None:
    """What takes it back is written after all of it, and then it is too late."""
    programme = office.programme
    with programme._access.looking() as transaction:
        reports = [(str(number), ASH) for number in range(ROOM + 7)]
        every, _ = counting.imported(transaction, "hotline", reports, count=True, name="one")
        gone, _ = counting.taken_back(transaction, "hotline", "one")
    programme._intake._write_page(every[:ROOM])
    programme._intake._count()
    programme._intake._write_page(every[ROOM:])
    programme._intake._write_page(gone)
    assert programme.hotlines.is_final("hotline", "one")
    assert programme.active_counts() == NONE | {ASH: ROOM + 7}


# How long it takes

PROBE = [*((f"invented {number}", BIRCH) for number in range(ROOM - 1)), ("42", ASH)]
"""With the slot that stands for the import one slot more than a page has, as long as all of it is brought."""

BEFORE: dict[str, Callable[[Programme], object]] = {
    "new": lambda programme: programme.import_reports("hotline", []),
    "known": lambda programme: programme.import_reports("hotline", PROBE[-1:]),
    "known, and can be taken back": lambda programme: bring(programme, "one", PROBE[-1:]),
    "known, and not to count": lambda programme: programme.import_reports("hotline", PROBE[-1:], count=False),
    "all known": lambda programme: programme.import_reports("hotline", PROBE),
}


def slots_by_what_was_before(folder: Callable[[], Path]) -> dict[tuple[str, bool], int]:
    """How many slots the same file brings, and so how many ticks it takes: by what came in before, and whether that is
    counted already.
    """
    found = {}
    for what, comes_before in BEFORE.items():
        at = folder()
        programme = new_office(str(at / "programme.db"), at).programme
        programme.hotlines.add("hotline")
        comes_before(programme)
        for is_counted in (False, True):
            with programme._access.looking() as transaction:
                brought, _ = counting.imported(transaction, "hotline", PROBE, count=True, name="probe")
            found[what, is_counted] = len(brought)
            programme.renew()
    return found


def test_how_long_an_import_takes_does_not_tell_which_reports_are_known(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    assert {*slots_by_what_was_before(lambda: tmp_path_factory.mktemp("office")).values()} == {ROOM + 1}


def test_the_check_catches_an_import_that_leaves_out_what_is_known(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = counting.imported

    def planted(transaction: Any, source: str, *args: Any, **options: Any) -> tuple[Slots, None]:
        brought, _ = honest(transaction, source, *args, **options)
        return brought[counting._new(transaction, source, brought)], None

    monkeypatch.setattr(counting, "imported", planted)
    found = slots_by_what_was_before(lambda: tmp_path_factory.mktemp("office"))
    assert [found[what, True] for what in ("new", "known", "all known")] == [ROOM + 1, ROOM, 1]


def test_a_file_that_comes_again_counts_once_whichever_import_is_taken_back(office: Office) -> None:
    programme, once = office.programme, NONE | {ASH: 2, BIRCH: 1}
    assert bring(programme, "one") == 3
    programme.renew()
    for name in ("two", "three"):
        assert programme.hotlines.look("hotline", EXPORT).tolist() == [False] * 3
        assert bring(programme, name) == 0
    assert take_back(programme, "two")
    programme.renew()
    assert not take_back(programme, "three")
    assert programme.active_counts() == once
    assert programme.import_reports("hotline", EXPORT, dry_run=True) == 0


def test_a_report_that_a_file_has_on_more_rows_than_a_page_has_places_counts_once(office: Office) -> None:
    reports = [("1", ASH)] * (ROOM + 7) + [("1", BIRCH), ("2", BIRCH)]
    assert office.programme.hotlines.look("hotline", reports).sum() == 2
    assert bring(office.programme, "one", reports) == 2
    assert office.programme.active_counts() == NONE | {ASH: 1, BIRCH: 1}


ENTRIES: dict[str, Callable[[Office], object]] = {
    "a round": lambda office: office.close(),
    "an order": lambda office: office.programme.override([TARGETS[-1]], "why", independent=True),
    "the clock": lambda office: office.programme._intake._count(),
}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
@pytest.mark.parametrize("reports", [EXPORT, []], ids=["new reports", "no reports"])
def test_it_is_final_once_it_is_counted_whatever_is_in_it(
    office: Office, entry: Callable[[Office], object], reports: counting.Reports
) -> None:
    bring(office.programme, "one", reports)
    assert not office.programme.hotlines.is_final("hotline", "one")
    entry(office)
    assert office.programme.hotlines.is_final("hotline", "one")


def test_the_check_catches_an_import_that_stays_open_where_nothing_in_it_is_new(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = counting.imported

    def planted(transaction: Any, source: str, *args: Any, **options: Any) -> tuple[Slots, None]:
        brought, _ = honest(transaction, source, *args, **options)
        has_new = counting._new(transaction, source, brought[1:]).any()
        return (brought if has_new else brought[:0]), None

    monkeypatch.setattr(counting, "imported", planted)
    for name in ("one", "two"):
        bring(office.programme, name)
        office.programme.renew()
    assert office.programme.hotlines.is_final("hotline", "one")
    assert not office.programme.hotlines.is_final("hotline", "two")


def stored(office: Office) -> list[tuple[str, object, int]]:
    """Which rows there are, and how long."""
    found = [("secret", row["name"], len(row["blob"])) for row in rows(office.database, tables.secrets)]
    return sorted([*found, *(("page", row["place"], len(row["blob"])) for row in rows(office.database, tables.pages))])


def with_room(office: Office, taken: int = 0) -> None:
    """Let the next reports of the hotline fit into a block."""
    with office.programme._access.counting() as transaction:
        transaction.write_known("hotline", KnownReports(KnownReports.none().hashes, taken), 0)


def pages_with(office: Office, *, is_taken_back: bool) -> list[list[tuple[str, object, int]]]:
    """What the database has after each tick, where something is imported and taken back, or nothing happens."""
    programme, seen = office.programme, []
    with programme._access.looking() as transaction:
        brought, _ = counting.imported(transaction, "hotline", EXPORT, count=True, name="one")
        gone, _ = counting.taken_back(transaction, "hotline", "one")
    for page in (brought, gone) if is_taken_back else (NOTHING, NOTHING):
        programme._intake._write_page(page)
        seen.append(stored(office))
    programme._intake._count()
    programme._intake._write_page(NOTHING)
    return [*seen, stored(office)]


def test_what_is_written_does_not_tell_that_an_import_was_taken_back(tmp_path_factory: pytest.TempPathFactory) -> None:
    seen = []
    for is_taken_back in (True, False):
        folder = tmp_path_factory.mktemp("office")
        office = new_office(str(folder / "programme.db"), folder)
        office.programme.hotlines.add("hotline")
        with_room(office)
        seen.append(pages_with(office, is_taken_back=is_taken_back))
    assert seen[0] == seen[1]


def page(programme: Programme, *, is_time_to_count: bool = False) -> None:
    """One more tick of this process."""
    ticker = programme._intake._ticker
    assert ticker is not None
    ticker._counted = -1.0 if is_time_to_count else time.time() // ticker._counted_every
    ticker._tick()


@pytest.mark.parametrize("before", [0, 1, 2], ids=["before all of it", "before the rest", "after all of it"])
@pytest.mark.parametrize("counts_first", ["the one that imports", "the one that takes back"])
def test_an_import_of_one_process_that_another_takes_back_counts_for_nothing(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, counts_first: str
) -> None:
    """However much of it is written before, and although pages are counted in between."""
    monkeypatch.setattr(intake, "Ticker", partial(Ticker, every=1e6, counted_every=1e9))
    office = new_office(database, tmp_path)
    first, reports = office.programme, [(str(number), ASH) for number in range(IMPORTS + 7)]
    first.hotlines.add("hotline")
    with closing(office.again()) as second:
        first.start_ticking()
        second.start_ticking()
        _, written = first.hotlines.bring("hotline", reports, name="one")
        for _ in range(before):
            page(first)
        gone = second.hotlines.take_back("hotline", "one")
        page(second)
        assert gone.done()
        page(first if counts_first == "the one that imports" else second, is_time_to_count=True)
        for _ in range(2):
            page(first)
        assert written.done()
        page(second, is_time_to_count=True)
        assert not second.hotlines.is_final("hotline", "one")
        assert first.active_counts() == NONE
        second.hotlines.bring("hotline", reports, name="two")
        page(second)
        page(second)
        page(second, is_time_to_count=True)
        assert second.hotlines.is_final("hotline", "two")
        assert first.active_counts() == NONE | {ASH: IMPORTS + 7}
        first.close()


@pytest.mark.parametrize("others", [0, IMPORTS])
@pytest.mark.parametrize("at", [0, 1], ids=["before its first page", "after it"])
def test_whether_an_import_is_taken_back_in_time_does_not_depend_on_how_many_reports_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int, others: int
) -> None:
    """Of its own or of another import on its way: with one report more, none or all of it would count. Pages are
    counted right after what takes it back is on the disk, or would be.
    """
    monkeypatch.setattr(intake, "Ticker", partial(Ticker, every=1e6, counted_every=1e9))
    seen = []
    worlds = [*((IMPORTS + more, others) for more in (-2, -1, 0)), (IMPORTS - 2, others + 1)]
    for world, (own, of_others) in enumerate(worlds):
        (folder := tmp_path / str(world)).mkdir()
        programme = new_office(str(folder / "programme.db"), folder).programme
        programme.hotlines.add("hotline")
        programme.start_ticking()
        programme.hotlines.bring("hotline", [(f"other {number}", BIRCH) for number in range(of_others)], name="another")
        programme.hotlines.bring("hotline", [(str(number), ASH) for number in range(own)], name="one")
        for _ in range(at):
            page(programme)
        gone = programme.hotlines.take_back("hotline", "one")
        page(programme)
        is_in_time = gone.done()
        for _ in range(3):
            page(programme, is_time_to_count=True)
        seen.append((is_in_time, programme.hotlines.is_final("hotline", "one"), programme.active_counts()[ASH]))
        programme.close()
    assert seen == [(True, False, 0)] * 4


def test_an_import_of_which_a_page_cannot_be_written_counts_for_nothing(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although others were written before, and the rest of them would come first in another file."""
    monkeypatch.setattr(intake, "Ticker", partial(Ticker, every=1e6, counted_every=1e9))
    programme = new_office(database, tmp_path).programme
    programme.hotlines.add("hotline")
    programme.start_ticking()
    page(programme, is_time_to_count=True)
    reports = [(str(number), ASH) for number in range(2 * IMPORTS + 7)]
    _, written = programme.hotlines.bring("hotline", reports, name="one", owner="Ida")
    page(programme)
    assert programme.active_counts() == NONE | {ASH: IMPORTS}
    with monkeypatch.context() as patched:
        patched.setattr(intake, "_take_in", Mock(side_effect=DeniableError("the disk is full")))
        page(programme)
    with pytest.raises(DeniableError, match="the disk is full"):
        written.result()
    page(programme, is_time_to_count=True)
    assert programme.active_counts() == NONE
    assert not programme.hotlines.is_final("hotline", "one")
    assert programme.hotlines.look("hotline", reports).all()
    programme.close()


def test_what_is_left_of_an_import_that_was_taken_back_does_not_count_after_a_restart(office: Office) -> None:
    """It is known for good, as reports are, and takes one place however often it is written."""
    programme = office.programme
    with_room(office, taken=100)
    with programme._access.looking() as transaction:
        every, _ = counting.imported(transaction, "hotline", EXPORT, count=True, name="one")
        gone, _ = counting.taken_back(transaction, "hotline", "one")
    programme._intake._write_page(gone)
    programme._intake._count()
    programme._intake._write_page(gone)
    programme._intake._count()
    programme._intake._write_page(every[:2])
    programme = office.again()
    programme._intake._count()
    programme._intake._write_page(every[2:])
    programme._intake._count()
    programme._intake._write_page(gone)
    programme._intake._count()
    programme._intake._write_page(NOTHING)
    assert programme.active_counts() == NONE
    assert not programme.hotlines.is_final("hotline", "one")
    with programme._access.looking() as transaction:
        assert transaction.known("hotline").taken == 101


def _import_and_wait(database: str, key: object, now: object, line: Connection) -> None:
    programme = Programme.open(database, key, clock=Clock(now))  # type: ignore[arg-type]
    bring(programme, "one")
    line.send("imported")
    line.recv()


@pytest.mark.parametrize("is_taken_back", [True, False])
def test_after_kill_9_an_import_is_there_and_can_be_taken_back(office: Office, is_taken_back: bool) -> None:
    office.programme.close()
    fork = get_context("fork")
    mine, theirs = fork.Pipe()
    child = fork.Process(target=_import_and_wait, args=(office.database, office.key, office.clock.now, theirs))
    child.start()
    assert mine.recv() == "imported"
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    programme = office.again()
    assert programme.active_counts() == NONE | {ASH: 2, BIRCH: 1}
    if is_taken_back:
        assert take_back(programme, "one")
        assert programme.active_counts() == NONE
    office.close()
    assert programme.import_reports("hotline", EXPORT) == (3 if is_taken_back else 0)


# Kept


def keep(programme: Programme, **channels: int | None) -> None:
    changes = {name: Assigned(target) for name, target in channels.items()}
    programme.hotlines.keep("hotline", lambda kept: kept.with_channels(changes))


def test_channels_are_kept_from_one_import_to_the_next(office: Office, tmp_path: Path) -> None:
    programme = office.programme
    assert programme.hotlines.kept("hotline") == programme.hotlines.kept("another") == Kept()
    keep(programme, north=0, test=None)
    keep(programme, south=1)
    programme.rename_target(ASH, "Ash Quarry", "a new owner", independent=True)
    programme.rekey(type(office.key)(tmp_path / "new.key"))
    mapping, _ = programme.hotlines.mappings(programme.hotlines.kept("hotline"))
    assert {name: mapping.target_of[name] for name in ("north", "south", "test")} == {
        "north": "Ash Quarry",
        "south": BIRCH,
        "test": None,
    }


def lengths(office: Office) -> list[tuple[str, int]]:
    found = rows(office.database, tables.secrets)
    return sorted((row["name"], len(row["blob"])) for row in found)


@pytest.mark.parametrize("is_padded", [True, False], ids=["as it is", "planted: as long as its channels"])
def test_the_stored_length_does_not_tell_how_many_channels_there_are(
    office: Office, monkeypatch: pytest.MonkeyPatch, is_padded: bool
) -> None:
    """With one report more, on a channel that is new, there is one channel more to keep."""
    if not is_padded:
        honest = Kept.to_bytes
        monkeypatch.setattr(Kept, "to_bytes", lambda self: honest(self).rstrip())
    seen = [lengths(office)] if is_padded else []
    for name in ("north", "south"):
        keep(office.programme, **{name: 0})
        seen.append(lengths(office))
    assert (len({str(one) for one in seen}) == 1) == is_padded


def test_what_is_kept_is_sealed_and_an_older_one_is_noticed(office: Office) -> None:
    keep(office.programme, north=0)
    old = next(row["blob"] for row in rows(office.database, tables.secrets) if row["name"] == "kept/1")
    assert b"north" not in old
    keep(office.programme, north=1)
    with office.programme._access.store.writing() as connection:
        connection.execute(sa.update(tables.secrets).where(tables.secrets.c.name == "kept/1"), {"blob": old})
    with pytest.raises(Exception, match="put back"):
        office.programme.hotlines.kept("hotline")
