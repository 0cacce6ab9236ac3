"""Where a programme is kept: SQLite or PostgreSQL, one writer at a time, and errors in one sentence."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from deniable.errors import DeniableError, PlaceError
from deniable.storage import tables
from deniable.storage.layout import LAYOUT, LAYOUTS, migrate

# Seconds to wait for another process that writes; every transaction takes milliseconds.
PATIENCE = 60

_SQLITE_SETTINGS = (
    f"busy_timeout = {PATIENCE * 1000}",  # first: the others may have to wait too
    "journal_mode = WAL",
    "synchronous = FULL",  # what was acknowledged survives a power cut
    "secure_delete = ON",  # what was deleted is overwritten
    "foreign_keys = ON",
    "trusted_schema = OFF",
)


class StoreError(DeniableError):
    """The database did not do what it was asked to: it is away, full, locked. Later it may."""


class ExistsError(DeniableError):
    """Where a new database should be, there is something already."""


class Store:
    """One database. Parameters of statements never appear in its errors, since they may be secret."""

    def __init__(self, database: str) -> None:
        self.url = _url(database)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._has_remains = False
        self._engine = sa.create_engine(self.url, hide_parameters=True, **self._options())
        if self.is_sqlite:
            sa.event.listen(self._engine, "connect", _set_up_sqlite)
            sa.event.listen(self._engine, "begin", _begin_sqlite)

    @property
    def file(self) -> Path | None:
        """Where an SQLite database is; None on a server."""
        return Path(str(self.url.database)) if self.is_sqlite else None

    def _options(self) -> dict[str, Any]:
        # A snapshot for every reader: a backup must not see half of a round.
        return {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ", "pool_pre_ping": True}

    @classmethod
    def create(cls, database: str, fill: Callable[[sa.Connection], None]) -> Self:
        """The tables in a new or empty database, and what `fill` puts into them: all of it, or nothing is left."""
        store = cls(database)
        file = store.file
        if file is not None:
            _new_file(file)
        try:
            with store._changing_layout() as connection:
                store._check_empty(connection)
                migrate(connection)
                fill(connection)
        except BaseException:
            store.dispose()
            if file is not None:
                for suffix in ("", "-wal", "-shm"):  # a full disk keeps SQLite from clearing up after itself
                    file.with_name(file.name + suffix).unlink(missing_ok=True)
            raise
        return store

    @classmethod
    def found(cls, database: str) -> Self:
        """A database with a programme in it, of whatever layout."""
        store = cls(database)
        missing = DeniableError(f"there is no programme in {store}; make one with: deniable programme init")
        if store.file is not None and not store.file.is_file():
            raise missing
        with store.reading() as connection:
            if not sa.inspect(connection).has_table("alembic_version"):
                raise missing
        return store

    @classmethod
    def open(cls, database: str) -> Self:
        """A database with a programme in it, of the layout this version knows."""
        store = cls.found(database)
        with store.reading() as connection:
            layout = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
        if layout != LAYOUT:
            remedy = "back it up, then run: deniable programme upgrade"
            raise DeniableError(
                f"the database has layout {layout}, this version of deniable knows {LAYOUT}; "
                + (remedy if layout in LAYOUTS else "use the version that made it")
            )
        return store

    def upgrade(self) -> None:
        """Bring the tables to the newest layout."""
        with self._changing_layout() as connection:
            migrate(connection)

    @contextmanager
    def _changing_layout(self) -> Iterator[sa.Connection]:
        options = {"writes": True}
        with self._sentences(), self._engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    def _check_empty(self, connection: sa.Connection) -> None:
        if sa.inspect(connection).has_table("programme"):
            raise ExistsError(f"there is a programme in {self} already; choose another database")

    def __repr__(self) -> str:
        shown = str(self.url.database) if self.is_sqlite else self.url.render_as_string(hide_password=True)
        return f"database {shown}"

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees one moment of the database."""
        with self._sentences(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that has the programme to itself: all or nothing, one after the other across processes."""
        # PostgreSQL: not a snapshot from before the lock, since what the writer before us committed must be seen.
        options: dict[str, Any] = {"writes": True} if self.is_sqlite else {"isolation_level": "READ COMMITTED"}
        with self._sentences(), self._engine.connect().execution_options(**options) as connection, connection.begin():
            if not self.is_sqlite:
                connection.execute(sa.text(f"SET LOCAL lock_timeout = '{PATIENCE}s'"))
                connection.execute(sa.select(tables.lock.c.id).with_for_update())
            yield connection
        if self._has_remains:
            self.scrub()

    def scrub(self) -> None:
        """Overwrite what the last transactions deleted, as far as the database lets us; never fails.

        Where a reader is in the way, the next transaction tries again.

        SQLite: empty the write-ahead log into the file, whose freed bytes are overwritten. PostgreSQL: rewrite the
        table of secrets; the server's own write-ahead log is beyond our reach.
        """
        self._has_remains = True
        with suppress(SQLAlchemyError, sqlite3.Error):
            self._has_remains = not (self._empty_log() if self.is_sqlite else self._rewrite_secrets())

    def _empty_log(self) -> bool:
        with self._engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            driver.execute("PRAGMA busy_timeout = 1000")
            (is_busy, *_) = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            driver.execute(f"PRAGMA {_SQLITE_SETTINGS[0]}")
            return not is_busy

    def _rewrite_secrets(self) -> bool:
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(sa.text("SET lock_timeout = '2s'"))
            connection.execute(sa.text("VACUUM FULL secrets"))
            connection.execute(sa.text("RESET lock_timeout"))
        return True

    def dispose(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise StoreError(f"{self}: {_sentence(error)}") from None  # the cause may quote a row
        except SQLAlchemyError as error:
            raise PlaceError(f"{self}: {type(error).__name__} in the database layer", self, "the database") from None


def _url(database: str) -> sa.URL:
    if "://" not in database:
        return sa.URL.create("sqlite", database=str(Path(database).absolute()))
    try:
        url = sa.make_url(database)
    except ArgumentError:
        raise DeniableError("the database must be a file or a URL such as postgresql://user@host/name") from None
    backend = url.get_backend_name()
    if backend not in {"sqlite", "postgresql"}:
        raise DeniableError(f"the database must be a SQLite file or a postgresql:// URL, got {backend}://")
    if backend == "sqlite" and not url.database:
        raise DeniableError("the database must be a file, so that it outlives this process; got one in memory")
    if backend == "postgresql":
        try:
            import psycopg  # noqa: F401, PLC0415
        except ImportError:
            raise DeniableError(
                "PostgreSQL needs a driver; install it with: pip install 'deniable[postgres]'"
            ) from None
        return url.set(drivername="postgresql+psycopg")
    return url


def is_storable(text: str) -> bool:
    """Whether both databases take this text: no NUL, and no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _new_file(path: Path) -> None:
    """For its owner alone; SQLite gives the log beside it the same permissions."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise ExistsError(f"{path} exists already; choose another database") from None
    except OSError as error:
        raise DeniableError(f"cannot create {path}: {error.strerror}") from None


def _set_up_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves
    for setting in _SQLITE_SETTINGS:
        connection.execute(f"PRAGMA {setting}").close()


def _begin_sqlite(connection: sa.Connection) -> None:
    # A transaction that began as a reader could not become a writer once another has written.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


_SENTENCES = {
    "is full": "the disk is full; nothing was written, make room and try again",
    "no space left": "the disk is full; nothing was written, make room and try again",
    "readonly": "it cannot be written to; nothing was changed, check the permissions of the file and its folder",
    "read-only": "it cannot be written to; nothing was changed, check whether the server is a standby",
    "locked": f"another process has held it for {PATIENCE} seconds; nothing was written, try again",
    "lock timeout": f"another process has held it for {PATIENCE} seconds; nothing was written, try again",
    "unable to open": "it cannot be opened; check the path and its permissions",
    "not a database": "it is not a SQLite database, or it is damaged; restore the last backup",
    "malformed": "it is damaged; restore the last backup",
    "disk i/o error": "the disk does not answer as it should; nothing was acknowledged, check the disk",
    "permission denied": "its server denies this user a permission it needs",
    "password": "its server refused the user or the password",
    "connection": "its server cannot be reached, or the connection was lost; look at `status` before trying again",
}


def _sentence(error: DBAPIError) -> str:
    """One of our own sentences: the driver's text may quote a row."""
    text = str(error.orig).lower()
    for sign, sentence in _SENTENCES.items():
        if sign in text:
            return sentence
    return f"it refused ({type(error.orig).__name__}); nothing was written"
