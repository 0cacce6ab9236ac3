"""Two databases that behave alike: tables, transactions, and what is said when something is wrong."""

import sqlite3
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.programme.insight import connected, everything
from tests.programme.offices import new_office
from tests.storage.stores import a_row, nothing

from deniable.console import tables as console_tables
from deniable.errors import DeniableError
from deniable.programme.programme import Programme
from deniable.storage import store as module
from deniable.storage import tables
from deniable.storage.driver_errors import PATIENCE
from deniable.storage.layout import LAYOUT, LAYOUTS
from deniable.storage.store import OneMomentError, Store


@pytest.mark.parametrize("layout", ["0006", "0099"])
def test_a_database_of_an_unknown_layout_is_refused(database: str, tmp_path: Path, layout: str) -> None:
    """Made before the first release, or by a newer version."""
    office = new_office(database, tmp_path)
    with connected(database) as connection:
        connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{layout}'"))
    with pytest.raises(DeniableError, match=f"has layout {layout}, .* knows {LAYOUT}; use the version that made it"):
        office.again()
    with pytest.raises(DeniableError, match="use the version that made it"):
        Store(database).upgrade()


def test_a_database_of_an_older_layout_is_upgraded(database: str, tmp_path: Path) -> None:
    """Here one without the tables of the console."""
    office = new_office(database, tmp_path)
    before = everything(database)
    with connected(database) as connection:
        for table in reversed(console_tables.metadata.sorted_tables):
            connection.execute(sa.text(f"DROP TABLE {table.name}"))
        connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{LAYOUTS[0]}'"))
    with pytest.raises(DeniableError, match=rf"has layout {LAYOUTS[0]}, .* run: deniable programme upgrade"):
        office.again()
    Store(database).upgrade()
    assert everything(database) == before
    office.again()


def test_upgrading_what_is_up_to_date_changes_nothing(database: str, tmp_path: Path) -> None:
    new_office(database, tmp_path)
    before = everything(database)
    Store(database).upgrade()
    assert everything(database) == before


def test_where_there_is_no_programme(database: str) -> None:
    with pytest.raises(DeniableError, match=r"there is no programme in database .*; name yours with --database"):
        Store.open(database)
    Store.create(database, nothing)
    with pytest.raises(DeniableError, match=r"database .* belongs to a console, and no programme has begun in it yet"):
        Programme.open(database)


def test_a_programme_is_not_made_on_top_of_another(database: str, tmp_path: Path) -> None:
    office = new_office(database, tmp_path)
    office.programme.report({"Ash Mill": 1})
    before = everything(database)
    (tmp_path / "second").mkdir()
    with pytest.raises(DeniableError, match="already; choose another database"):
        new_office(database, tmp_path / "second")
    assert everything(database) == before
    assert not (tmp_path / "second" / "programme.key").exists()


def test_a_database_that_could_not_be_filled_leaves_nothing_behind(database: str, tmp_path: Path) -> None:
    def fails(connection: sa.Connection) -> None:
        a_row(connection)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Store.create(database, fails)
    assert list(tmp_path.iterdir()) == []
    Store.create(database, a_row)


def test_a_transaction_is_all_or_nothing(database: str) -> None:
    store = Store.create(database, a_row)

    def interrupted() -> None:
        with store.writing() as connection:
            connection.execute(sa.insert(tables.secrets), {"name": "check", "blob": b"1"})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert everything(database)["secrets"] == []


def test_one_writer_at_a_time(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.create(database, a_row)
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    monkeypatch.setattr(module, "_SQLITE_SETTINGS", ("busy_timeout = 100",))
    hurried = Store(database)
    with (
        store.writing(),
        pytest.raises(DeniableError, match="another process has held it for 60 seconds; nothing was written"),
        hurried.writing(),
    ):
        pytest.fail("two writers at once")
    with hurried.writing():
        pass


def test_a_reader_sees_one_moment(database: str) -> None:
    store = Store.create(database, a_row)
    secrets = sa.select(sa.func.count()).select_from(tables.secrets)
    with store.reading() as reader:
        assert reader.execute(secrets).scalar() == 0
        with Store(database).writing() as writer:
            writer.execute(sa.insert(tables.secrets), {"name": "check", "blob": b"1"})
        assert reader.execute(secrets).scalar() == 0
    with store.reading() as reader:
        assert reader.execute(secrets).scalar() == 1


@pytest.mark.parametrize("fails", [False, True])
def test_a_thread_reads_one_moment_in_one_transaction(database: str, fails: bool) -> None:
    """Other threads see what is new; so does this one afterwards, whatever came of it."""
    store = Store.create(database, a_row)

    def count() -> Any:
        with store.reading() as connection:
            return connection.execute(sa.select(sa.func.count()).select_from(tables.secrets)).scalar()

    with suppress(ZeroDivisionError), store.one_moment():
        assert count() == 0
        with Store(database).writing() as writer:
            writer.execute(sa.insert(tables.secrets), {"name": "check", "blob": b"1"})
        with ThreadPoolExecutor() as threads:
            assert (count(), threads.submit(count).result()) == (0, 1)
        with pytest.raises(OneMomentError), store.writing():
            pytest.fail("what is written would not be seen")
        _ = 1 / (not fails)
    assert count() == 1
    with store.writing():
        pass


def test_one_moment_asks_once_for_the_same_row(database: str) -> None:
    store, asked = Store.create(database, a_row), list[str]()
    sa.event.listen(store._engine, "before_cursor_execute", lambda _, __, statement, *___: asked.append(statement))

    def folder() -> Any:
        with store.reading() as connection:
            return store.row(connection, tables.HEAD_AND_FOLDER)[1]

    with store.one_moment():
        assert (folder(), folder()) == (None, None)
    assert len([statement for statement in asked if "standing" in statement]) == 1
    with store.writing() as connection:
        connection.execute(sa.update(tables.standing), {"folder": "seven"})
        assert store.row(connection, tables.HEAD_AND_FOLDER)[1] == "seven"
        connection.execute(sa.update(tables.standing), {"folder": "eight"})
        assert store.row(connection, tables.HEAD_AND_FOLDER)[1] == "eight"
    with store.one_moment():
        assert folder() == "eight"


def test_a_moment_in_which_nothing_is_read_asks_nothing(tmp_path: Path) -> None:
    with Store(str(tmp_path / "nowhere.db")).one_moment():
        assert list(tmp_path.iterdir()) == []


def test_a_writer_sees_what_the_one_before_committed(database: str) -> None:
    """The lock is taken before anything is read."""
    store = Store.create(database, a_row)
    with store.writing() as first:
        first.execute(sa.update(tables.standing), {"folder": "seven"})
    with store.writing() as second:
        assert second.execute(sa.select(tables.standing.c.folder)).scalar() == "seven"


def test_scrubbing_never_fails(database: str) -> None:
    """Also while another process reads or writes; there will be a next time."""
    store = Store.create(database, a_row)
    store.scrub()
    other = Store(database)
    with other.reading() as connection:
        connection.execute(sa.select(tables.secrets)).all()
        if not store.is_sqlite:  # SQLite would wait for its full patience
            store.scrub()
            assert _patience(store, "SHOW lock_timeout") == "0"  # who reads next waits as long as before
    store.dispose()
    store.scrub()


def test_a_checkpoint_that_fails_is_not_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The round is committed by then; an error would tell the office otherwise."""

    def fails(connection: Any, record: object) -> None:
        begin(connection, record)
        connection.set_authorizer(
            lambda action, first, *_: (
                sqlite3.SQLITE_DENY
                if action == sqlite3.SQLITE_PRAGMA and first == "wal_checkpoint"
                else sqlite3.SQLITE_OK
            )
        )

    begin = module._set_up_sqlite
    monkeypatch.setattr(module, "_set_up_sqlite", fails)
    store = Store.create(str(tmp_path / "programme.db"), a_row)
    with pytest.raises(DeniableError, match="it refused"), store.reading() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    store.scrub()
    assert _patience(store, "PRAGMA busy_timeout") == PATIENCE * 1000


def _patience(store: Store, asked: str) -> object:
    with store.reading() as connection:
        return connection.exec_driver_sql(asked).scalar()


def forget(store: Store, monkeypatch: pytest.MonkeyPatch, *, comes_to_scrub: bool = True) -> None:
    """Delete a secret, and fail to scrub; or be killed before."""
    with store.writing() as connection:
        connection.execute(sa.insert(tables.secrets), {"name": "seed", "blob": b"unmistakable" * 9})
    with store.writing() as connection:
        store.expect_scrub(connection)
        connection.execute(sa.delete(tables.secrets))
    if comes_to_scrub:
        with monkeypatch.context() as busy:
            busy.setattr(Store, "_empty_log", lambda _: False)
            busy.setattr(Store, "_rewrite_secrets", lambda _: False)
            store.scrub()


def is_marked(database: str) -> bool:
    return bool(everything(database)["transient_remains"])


@pytest.mark.parametrize("comes_to_scrub", [True, False])
def test_what_could_not_be_scrubbed_is_scrubbed_by_the_next_process_that_writes(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comes_to_scrub: bool
) -> None:
    failed = Store.create(database, a_row)
    other = Store(database)
    forget(failed, monkeypatch, comes_to_scrub=comes_to_scrub)
    log = tmp_path / "programme.db-wal"
    assert not failed.is_sqlite or b"unmistakable" in log.read_bytes()
    with other.writing() as connection:
        connection.execute(sa.update(tables.standing).values(folder="seven"))
    assert not failed.is_sqlite or log.stat().st_size == 0
    with other.writing() as connection:
        connection.execute(sa.update(tables.standing).values(folder="eight"))
    assert not failed.is_sqlite or log.stat().st_size > 0  # nothing was left over, so nothing is done again
    assert not is_marked(database)


def test_what_could_not_be_scrubbed_is_scrubbed_by_the_next_process_that_opens_it(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = Store.create(database, a_row)
    forget(failed, monkeypatch)
    scrubs, really = [], Store.scrub

    def noted(self: Store) -> None:
        scrubs.append(self)
        really(self)

    monkeypatch.setattr(Store, "scrub", noted)
    opened = Store.open(database)
    assert scrubs == [opened]
    if failed.is_sqlite:
        assert b"unmistakable" not in (tmp_path / "programme.db-wal").read_bytes()
    assert Store.open(database) not in scrubs
    assert not is_marked(database)


def test_what_is_deleted_while_another_process_scrubs_is_not_forgotten(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = Store.create(database, a_row), Store(database)
    forget(store, monkeypatch)

    def meanwhile(_: Store) -> bool:
        with other._engine.connect().execution_options(writes=True) as connection, connection.begin():
            other.expect_scrub(connection)
        return True

    with monkeypatch.context() as patched:
        patched.setattr(Store, "_empty_log", meanwhile)
        patched.setattr(Store, "_rewrite_secrets", meanwhile)
        store.scrub()
    with store.reading() as connection:
        assert module._mark(connection) is not None


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.programme.report({"Ash Mill": 1})
    files = sorted(tmp_path.glob("programme.db*"))
    assert [file.name for file in files] == ["programme.db", "programme.db-shm", "programme.db-wal"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_acknowledged_means_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SQLITE_SETTINGS", module._SQLITE_SETTINGS[:-1])  # without that of the tests
    store = Store.create(str(tmp_path / "programme.db"), a_row)
    with store.reading() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "secure_delete", "foreign_keys", "busy_timeout")
        }
    assert settings == {
        "journal_mode": "wal",
        "synchronous": 2,
        "secure_delete": 1,
        "foreign_keys": 1,
        "busy_timeout": 60_000,
    }


@pytest.mark.parametrize(
    ("database", "says"),
    [
        ("mysql://somewhere/else", "must be a SQLite file or a postgresql:// URL, got mysql://"),
        ("://", "must be a file or a URL such as"),
        ("sqlite://", "must be a file, so that it outlives this process"),
        ("postgresql://nobody:hidden@127.0.0.1:1/none", r"postgresql://nobody:\*+@127.0.0.1:1/none: its server cannot"),
    ],
)
def test_a_database_that_cannot_be_used(database: str, says: str) -> None:
    with pytest.raises(DeniableError, match=says) as caught:
        Store.open(database)
    assert "hidden" not in str(caught.value)


def test_postgresql_needs_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        DeniableError, match=r"pip install -c constraints\.txt '\.\[postgres\]' in a copy of the project"
    ):
        Store("postgresql://somewhere/else")


def test_files_that_are_not_databases(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_bytes(b"This is not a database, but it is longer than the header of one would be. " * 5)
    with pytest.raises(DeniableError, match="it is not a SQLite database, or it is damaged"):
        Store.open(str(text))
    with pytest.raises(DeniableError, match="there is no programme in"):
        Store.open(str(tmp_path))
    with pytest.raises(DeniableError, match=r"cannot create .*: No such file or directory"):
        Store.create(str(tmp_path / "nowhere" / "programme.db"), nothing)
    with pytest.raises(DeniableError, match="exists already; choose another database"):
        Store.create(str(text), nothing)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    database = tmp_path / "programme.db"
    office = new_office(str(database), tmp_path)
    office.programme.close()
    content = bytearray(database.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    database.write_bytes(content)
    with pytest.raises(DeniableError, match=r"restore the last backup|there is no programme"):
        office.again()


def test_an_error_of_the_database_quotes_no_row(database: str) -> None:
    store = Store.create(database, a_row)
    with store.writing() as connection:
        connection.execute(sa.insert(tables.secrets), {"name": "hidden", "blob": b"hidden"})
    with pytest.raises(DeniableError, match=r"it refused \(\w+\); nothing was written") as caught, store.writing() as c:
        c.execute(sa.insert(tables.secrets), {"name": "hidden", "blob": b"hidden"})
    assert "hidden" not in str(caught.value)
    assert caught.value.__suppress_context__
    with pytest.raises(DeniableError, match="NoResultFound in the database layer"), store.reading() as connection:
        connection.execute(sa.select(tables.entries)).one()
