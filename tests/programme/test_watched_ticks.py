"""What a watcher of the database sees of a tick: the same, whether reports came in or not."""

import secrets
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import psycopg
import pytest
from tests.programme.insight import everything
from tests.programme.offices import TARGETS, Office, new_office

from deniable.programme import buffer, counting, intake
from deniable.programme.buffer import Buffer, Slots
from deniable.programme.imports import imported_reports
from deniable.programme.intake import Intake
from deniable.programme.receipt import new_receipt
from deniable.programme.ticker import Ticker
from deniable.programme.transaction import Transaction
from deniable.storage import tables

ASH, BIRCH, *_ = TARGETS
FLUSHES = 150_000
"""The first version of PostgreSQL that can be told to count at once what a tick writes."""

BROUGHT = 200
"""Reports about the first target in a tick: more than one block of the disk holds, and fewer than a page does."""

Plant = Callable[[pytest.MonkeyPatch], None]


# Bugs


def nothing(_: pytest.MonkeyPatch) -> None:
    pass


def written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in 0.1.0: what comes in does not wait for the tick."""

    def submit(self: Ticker, brought: Slots, owner: str = "") -> "Future[None]":  # noqa: ARG001
        self._write(brought)
        written = Future[None]()
        written.set_result(None)
        return written

    monkeypatch.setattr(Ticker, "submit", submit)


def no_empty_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    write = Intake._write_page

    def planted(self: Intake, brought: Slots) -> None:
        if len(brought):
            write(self, brought)

    monkeypatch.setattr(Intake, "_write_page", planted)


def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as what is on them."""
    write = Buffer.write

    def planted(self: Buffer, round_: int, brought: Slots) -> None:
        with mock.patch.object(buffer, "ROOM", len(brought)):
            write(self, round_, brought)

    monkeypatch.setattr(Buffer, "write", planted)
    monkeypatch.setattr(Buffer, "read", lambda *_: buffer.Arrived(buffer.NOTHING, np.zeros(0, np.int64)))


def counted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page with reports is counted when it is written."""
    take_in = intake._take_in

    def planted(transaction: Transaction, brought: Slots) -> None:
        take_in(transaction, brought)
        if len(brought):
            counting.fold(transaction)

    monkeypatch.setattr(intake, "_take_in", planted)


def counted_if_there_is_something(monkeypatch: pytest.MonkeyPatch) -> None:
    fold = counting.fold

    def planted(transaction: Transaction) -> None:
        if len(transaction.arrived().slots):
            fold(transaction)
        else:
            transaction.empty_buffer()

    monkeypatch.setattr(counting, "fold", planted)


BUGS: list[Plant] = [written_at_once, no_empty_pages, short_pages, counted_at_once, counted_if_there_is_something]


# What is watched


class Look(NamedTuple):
    """What a watcher has who looks once."""

    rows: dict[str, list[Any]]
    """Of each table."""
    told: dict[str, int]
    """The length of SQLite's log and the transactions in it, or what PostgreSQL counts for each table."""
    places: dict[str, tuple[str, ...]]
    """Of the secrets by name, in the order of a dump: PostgreSQL alone tells."""


def look(database: str) -> Look:
    rows = everything(database)
    if "://" in database:
        return Look(rows, *_of_server(database))
    return Look(rows, _of_log(Path(f"{database}-wal").read_bytes()), {})


def _of_log(log: bytes) -> dict[str, int]:
    """A frame for every page that was changed; the last one of a transaction says how large the database is."""
    (page,) = struct.unpack(">I", log[8:12]) if log else (0,)
    frames = range(32, len(log), 24 + page)
    ends = [at for at in frames if struct.unpack(">I", log[at + 4 : at + 8]) != (0,)]
    return {"bytes": len(log), "transactions": len(ends)}


def _of_server(database: str) -> tuple[dict[str, int], dict[str, tuple[str, ...]]]:
    """What lies beside a table since it is long (TOAST) is counted with it."""
    with psycopg.connect(database, autocommit=True) as connection:
        counted = connection.execute(
            "SELECT pg_class.relname, sum(n_tup_ins), sum(n_tup_upd), sum(n_tup_del) FROM pg_class "
            "JOIN pg_stat_all_tables ON relid IN (pg_class.oid, reltoastrelid) "
            "WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' GROUP BY 1"
        ).fetchall()
        places = connection.execute("SELECT name, ctid::text, xmin::text FROM secrets").fetchall()
    kinds = ("inserted", "updated", "deleted")
    told = {f"{kind} in {table}": int(n) for table, *numbers in counted for kind, n in zip(kinds, numbers, strict=True)}
    return told, {name: tuple(place) for name, *place in places}


class Change(NamedTuple):
    """Between two looks."""

    rows: dict[str, int]
    """How many are new or changed."""
    told: dict[str, int]
    moved: set[str]
    """Secrets that are in another place, or were written there anew."""


def change(before: Look, after: Look) -> Change:
    rows = {table: sum(row not in before.rows[table] for row in found) for table, found in after.rows.items()}
    told = {name: number - before.told[name] for name, number in after.told.items()}
    return Change(rows, told, {name for name, place in after.places.items() if before.places.get(name) != place})


@contextmanager
def ticking(database: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    """An office like one whose console runs, but it ticks, and counts, when the test says so."""
    monkeypatch.setattr(intake, "Ticker", partial(Ticker, every=1e6, counted_every=1e12))
    # When a block of known reports is full is random, and the one thing that may be seen (decision 6).
    fixed = SimpleNamespace(randbelow=lambda _: 0, token_bytes=secrets.token_bytes)
    monkeypatch.setattr(imported_reports, "secrets", fixed)
    office = new_office(database, folder)
    office.programme.hotlines.add("hotline")
    office.programme._access.store.keep_in_memory([tables.standing])  # PostgreSQL counts a tick at its end
    with closing(office.programme):
        office.programme.start_ticking()
        yield office


def bring(office: Office) -> None:
    """Reports by all ways."""
    office.programme.bring_reports({ASH: 1, BIRCH: 900_000}, new_receipt())
    office.programme.bring_push("token", new_receipt(), {BIRCH: 1})
    export = [(new_receipt(), ASH) for _ in range(BROUGHT - 1)]
    office.programme._intake.bring(partial(counting.imported, source="hotline", reports=export, count=True))


def watched(office: Office, *, is_busy: bool) -> list[Change]:
    """What is seen when reports come in, or none; at the next tick; and at the one after it, which counts them."""
    ticker = office.programme._intake._ticker
    assert ticker is not None
    store = office.programme._access.store
    if store.is_sqlite:  # its log is empty then, and none of these ticks begins it anew
        store.scrub()
    looks = [look(office.database)]
    if is_busy:
        bring(office)
    looks.append(look(office.database))
    ticker._tick()
    looks.append(look(office.database))
    ticker._counted = -1.0
    ticker._tick()
    looks.append(look(office.database))
    return [change(before, after) for before, after in pairwise(looks)]


@pytest.fixture
def _counts_at_once(database: str) -> None:
    if "://" in database:
        with psycopg.connect(database) as connection:
            if connection.info.server_version < FLUSHES:
                pytest.skip("this server does not count at once")


@pytest.mark.usefixtures("_counts_at_once")
@pytest.mark.parametrize("planted", [nothing, *BUGS])
def test_a_tick_looks_the_same_with_reports_and_without(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: Plant
) -> None:
    """The length of SQLite's log, PostgreSQL's statistics, how many rows change in which tables, and where they are."""
    planted(monkeypatch)
    with ticking(database, tmp_path, monkeypatch) as office:
        for _ in range(2):  # afterwards all pages are written in the places of others
            watched(office, is_busy=True)
        idle, *seen = [watched(office, is_busy=is_busy) for is_busy in (False, True, True, False, True)]
        is_counted = office.programme.active_counts()[ASH] == 5 * BROUGHT
    assert all(one == idle for one in seen) == (planted is nothing)
    assert is_counted or planted is not nothing


@pytest.mark.parametrize("planted", [nothing, counted_at_once])
def test_in_postgresql_no_count_moves_before_it_is_counted(
    postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: Plant
) -> None:
    """A dump has the rows in the order in which they were written."""
    planted(monkeypatch)
    with ticking(postgres, tmp_path, monkeypatch) as office:
        watched(office, is_busy=False)
        came_in, written, counted = (seen.moved for seen in watched(office, is_busy=True))
    assert came_in == set()
    assert (written == {"manifest"}) == (planted is nothing)
    assert counted >= {"manifest", "tally", "known/0/0"}  # so that it would be seen
