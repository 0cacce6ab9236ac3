"""What pages read is in memory while a process ticks; what has changed is not read there."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import pytest
import sqlalchemy as sa
from tests.programme.insight import connected
from tests.storage.stores import a_row

from deniable.storage import replica, tables
from deniable.storage.replica import Replica
from deniable.storage.store import OneMomentError, Store


@pytest.fixture(autouse=True)
def _no_copy_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is."""
    monkeypatch.setattr(replica, "LONGEST", float("inf"))


@pytest.fixture
def store(database: str) -> Store:
    """There was a tick just now."""
    return keeping(database)


def keeping(database: str) -> Store:
    store = Store.create(database, a_row)
    store.keep_in_memory([tables.standing])
    tick(store)
    return store


def tick(store: Store) -> None:
    with store.writing() as connection:
        store.refresh(connection)


def move(store: Store, folder: str) -> None:
    with store.writing() as connection:
        connection.execute(sa.update(tables.standing), {"folder": folder})


def folder(store: Store) -> Any:
    with store.reading() as connection:
        return store.row(connection, tables.HEAD_AND_FOLDER)[1]


def looked_up(store: Store) -> Any:
    return store.at_one_moment(partial(folder, store))


@contextmanager
def connections(store: Store) -> Iterator[list[object]]:
    """Those to the database that are used."""
    used: list[object] = []

    def note(connection: object, *_: object) -> None:
        used.append(connection)

    sa.event.listen(store._engine, "checkout", note)
    yield used
    sa.event.remove(store._engine, "checkout", note)


def test_what_is_kept_is_read_in_memory(store: Store) -> None:
    with connections(store) as used:
        assert looked_up(store) is None
        assert used == []
        folder(store)  # and the check can fail
        assert len(used) == 1


def test_rows_are_as_the_database_has_them(store: Store) -> None:
    move(store, "Dünenhof")
    tick(store)
    with connections(store) as used:
        assert looked_up(store) == "Dünenhof"
    assert used == []


def test_what_is_not_kept_is_read_in_the_database_with_all_the_rest(store: Store, database: str) -> None:
    """At one moment: the work is begun anew."""
    begun = []

    def work() -> Any:
        begun.append(folder(store))
        with store.reading() as connection:
            return connection.execute(sa.select(tables.lock.c.id)).scalar()

    move(Store(database), "seven")
    with connections(store) as used:
        assert store.at_one_moment(work) == 1
    assert begun == [None, "seven"]
    assert len(used) == 1


def test_nothing_is_written_while_memory_is_looked_at(store: Store) -> None:
    with pytest.raises(OneMomentError):
        store.at_one_moment(partial(move, store, "seven"))
    assert folder(store) is None


@pytest.mark.parametrize("planted", [False, True])
def test_what_this_process_changed_is_seen_at_once(
    database: str, monkeypatch: pytest.MonkeyPatch, planted: bool
) -> None:
    """Planted: changes are not noticed."""
    if planted:
        monkeypatch.setattr(Replica, "note", lambda *_: None)
    store = keeping(database)
    move(store, "seven")
    assert (looked_up(store) == "seven") != planted
    tick(store)
    assert looked_up(store) == "seven"


def test_what_was_not_committed_is_not_seen(store: Store) -> None:
    with suppress(ZeroDivisionError), store.writing() as connection:
        connection.execute(sa.update(tables.standing), {"folder": "seven"})
        _ = 1 / 0
    assert looked_up(store) is None


def test_what_else_is_written_changes_nothing(store: Store) -> None:
    """A tick writes pages, and leaves what it has read."""
    with store.writing() as connection:
        connection.execute(sa.insert(tables.pages), {"place": 1, "blob": b""})
    with connections(store) as used:
        assert looked_up(store) is None
    assert used == []


def test_what_a_process_beside_this_one_changed_is_seen_at_once(store: Store) -> None:
    """They were forked from the same, and have their own memory but for one thing."""
    store.dispose()
    child = get_context("fork").Process(target=move, args=(store, "seven"))
    child.start()
    child.join()
    assert looked_up(store) == "seven"


def test_what_another_program_changed_is_seen_after_the_next_tick(store: Store, database: str) -> None:
    move(Store(database), "seven")
    assert looked_up(store) is None
    tick(store)
    assert looked_up(store) == "seven"


def test_a_copy_is_not_used_for_long_if_no_tick_comes(
    store: Store, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    move(Store(database), "seven")
    assert looked_up(store) is None
    monkeypatch.setattr(replica, "LONGEST", 0.0)
    assert looked_up(store) == "seven"


def test_where_nothing_is_kept_the_database_is_asked(database: str) -> None:
    store = Store.create(database, a_row)
    tick(store)
    with connections(store) as used:
        assert looked_up(store) is None
    assert len(used) == 1


@pytest.mark.parametrize("planted", [False, True])
def test_postgresql_counts_what_a_tick_asks_with_the_tick(
    postgres: str, monkeypatch: pytest.MonkeyPatch, planted: bool
) -> None:
    """Else its statistics would show ticks together that come within a second. Planted: it is not told to."""
    if planted:
        monkeypatch.setattr(replica, "_FLUSHES", (99,))
    store, seen = keeping(postgres), list[int]()
    scans = "SELECT seq_scan + coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = 'standing'"
    for _ in range(4):
        tick(store)
        with connected(postgres) as connection:
            seen.append(connection.execute(sa.text(scans)).scalar_one())
    asked = [after - before for before, after in pairwise(seen)]
    assert (min(asked) == max(asked) > 0) != planted
