"""Where a programme is kept: SQLite or PostgreSQL, one writer at a time, and errors in one sentence."""

import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import local
from typing import Any, Self, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from deniable.errors import DeniableError, PlaceError, pip_install, why
from deniable.message import Place, why_not
from deniable.storage import files, tables
from deniable.storage.driver_errors import FULL, OR_FULL, PATIENCE, SENTENCES, sentence_of
from deniable.storage.layout import LAYOUT, LAYOUTS, migrate
from deniable.storage.replica import Copy, NotInMemoryError, Replica

T = TypeVar("T")

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


class OneMomentError(Exception):
    """Nothing can be written while one moment is looked at: it would not be seen."""


class ExistsError(DeniableError):
    """Where a new database should be, there is something already."""


@dataclass
class _Moment:
    """A transaction that begins when something is read."""

    held: ExitStack
    copy: Copy | None = None
    """In memory, of what is looked at; None where that is the database itself."""
    connection: sa.Connection | None = None
    rows: dict[sa.Executable, tuple[Any, ...]] = field(default_factory=dict)
    """What was found, by what was asked: it is the same however often it is asked."""


class Store:
    """One database. Parameters of statements never appear in its errors, since they may be secret."""

    def __init__(self, database: str) -> None:
        self.url = _url(database)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._opened_file: tuple[int, int] | None = None
        self._here = local()
        self._replica: Replica | None = None
        named = self.url.set(drivername=self.url.get_backend_name())  # as it was given, without the driver
        self._shown = str(self.url.database) if self.is_sqlite else named.render_as_string(hide_password=True)
        self._engine = sa.create_engine(self.url, hide_parameters=True, **self._options())
        if self.is_sqlite:
            sa.event.listen(self._engine, "connect", _set_up_sqlite)
            sa.event.listen(self._engine, "begin", _begin_sqlite)

    @property
    def file(self) -> Path | None:
        """Where an SQLite database is; None on a server."""
        return Path(str(self.url.database)) if self.is_sqlite else None

    @property
    def place(self) -> Place:
        """As sentences name it."""
        return Place(str(self), why_not("the database"))

    def _options(self) -> dict[str, Any]:
        # A snapshot for every reader: a backup must not see half of a round.
        return {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ", "pool_pre_ping": True}

    @classmethod
    def create(cls, database: str, fill: Callable[[sa.Connection], None]) -> Self:
        """The tables in a new or empty database, and what `fill` puts into them: all of it, or nothing is left."""
        store = cls(database)
        if store.file is None:
            store._fill(fill)
            return store
        try:
            with files.new_file(store.file) as partial:
                filled = cls(str(partial))
                filled._shown = str(store.file)
                filled._fill(fill)
        except FileExistsError:
            raise ExistsError("{file} exists already; choose another database", file=store.file) from None
        except OSError as error:
            raise DeniableError("cannot create {file}: {why}", file=store.file, why=why(error)) from None
        return store

    def _fill(self, fill: Callable[[sa.Connection], None]) -> None:
        try:
            with self._changing_layout() as connection:
                self._check_empty(connection)
                migrate(connection)
                fill(connection)
        finally:
            self.dispose()

    @classmethod
    def found(cls, database: str) -> Self:
        """A database with a programme in it, of whatever layout."""
        store = cls(database)
        missing = DeniableError(
            "there is no programme in {store}; name yours with --database, or make one with: deniable programme init",
            store=str(store),
        )
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
            raise DeniableError(
                "the database has layout {layout}, this version of deniable knows {known}; {remedy}",
                layout=layout,
                known=LAYOUT,
                remedy=why_not("back it up, then run: deniable programme upgrade")
                if layout in LAYOUTS
                else why_not("use the version that made it"),
            )
        with store.reading() as connection:
            has_remains = _mark(connection) is not None
        if has_remains:
            store.scrub()
        if store.file is not None:
            files.remove_second_names(store.file)
        return store

    def upgrade(self) -> None:
        """Bring the tables to the newest layout."""
        with self._changing_layout() as connection:
            migrate(connection)

    @contextmanager
    def _changing_layout(self) -> Iterator[sa.Connection]:
        options = {"writes": True}
        self._follow_file()
        with self._sentences(), self._engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    def _check_empty(self, connection: sa.Connection) -> None:
        if sa.inspect(connection).has_table("programme"):
            raise ExistsError("there is a programme in {database} already; choose another database", database=str(self))

    def __repr__(self) -> str:
        return f"database {self._shown}"

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees one moment of the database."""
        moment = self._moment
        with self._sentences():
            if moment is None:
                with self._begun() as connection:
                    yield connection
            else:
                if moment.connection is None:
                    begun = self._begun if moment.copy is None else moment.copy.engine.connect
                    moment.connection = moment.held.enter_context(begun())
                yield moment.connection

    def row(self, connection: sa.Connection, statement: sa.Executable) -> tuple[Any, ...]:
        """The only row that this statement finds. In one moment the database is asked for it once."""
        found = {} if self._moment is None else self._moment.rows
        if statement not in found:
            found[statement] = connection.execute(statement).one()
        return found[statement]

    @property
    def _moment(self) -> _Moment | None:
        """At which this thread looks."""
        return getattr(self._here, "moment", None)

    def _begun(self) -> AbstractContextManager[sa.Connection]:
        self._follow_file()
        return self._engine.begin()

    @contextmanager
    def one_moment(self, copy: Copy | None = None) -> Iterator[None]:
        """All that this thread reads within it, it reads in one transaction. Nothing can be written within it."""
        with self._sentences(), ExitStack() as held:
            self._here.moment = _Moment(held, copy)
            try:
                yield
            finally:
                self._here.moment = None

    def at_one_moment(self, work: Callable[[], T]) -> T:
        """What this work comes to at one moment. If it reads nothing but what is kept in memory, the database is asked
        nothing; else the work is begun anew.
        """
        copy = None if self._replica is None else self._replica.current()
        if copy is not None:
            with suppress(NotInMemoryError), self.one_moment(copy):
                return work()
        with self.one_moment():
            return work()

    def keep_in_memory(self, kept: Sequence[sa.Table]) -> None:
        """From now on let `at_one_moment` read these tables as the last `refresh` found them."""
        self._replica = Replica(kept)
        sa.event.listen(self._engine, "before_execute", self._replica.note)

    def refresh(self, connection: sa.Connection) -> None:
        """Read again what is kept in memory, in a transaction that writes."""
        if self._replica is not None:
            self._replica.refresh(connection)

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that has the programme to itself: all or nothing, one after the other across processes."""
        if self._moment is not None:
            raise OneMomentError
        self._follow_file()
        try:
            with self._sentences(), self._connected_to_write() as connection, connection.begin():
                if not self.is_sqlite:
                    connection.execute(sa.text(f"SET LOCAL lock_timeout = '{PATIENCE}s'"))
                    connection.execute(sa.select(tables.lock.c.id).with_for_update())
                has_remains = _mark(connection) is not None
                yield connection
        finally:
            if self._replica is not None:
                self._replica.outdate()
        if has_remains:
            self.scrub()

    def _connected_to_write(self) -> sa.Connection:
        # PostgreSQL: not a snapshot from before the lock, since what the writer before us committed must be seen.
        options: dict[str, Any] = {"writes": True} if self.is_sqlite else {"isolation_level": "READ COMMITTED"}
        return self._engine.connect().execution_options(**options)

    def expect_scrub(self, connection: sa.Connection) -> None:
        """Note, in the transaction that deletes secrets, that `scrub` must follow.

        The note is in the database, since the process may be killed before it has scrubbed, or find a reader in its
        way: whichever process opens the database next, or writes to it, tries again. A log that is not empty would be
        no such note: every report leaves one, and PostgreSQL's cannot be seen.
        """
        connection.execute(sa.delete(tables.remains))
        connection.execute(sa.insert(tables.remains), {"id": 1, "mark": secrets.token_hex(8)})

    def scrub(self) -> None:
        """Overwrite what the last transactions deleted, as far as the database lets us; never fails.

        If a reader is in the way, the next transaction tries again, of this process or of another (`expect_scrub`).

        SQLite: empty the write-ahead log into the file, whose freed bytes are overwritten. PostgreSQL: rewrite the
        table of secrets; the server's own write-ahead log is beyond our reach.
        """
        with suppress(SQLAlchemyError, sqlite3.Error):
            with self._engine.begin() as connection:
                mark = _mark(connection)
            is_done = self._empty_log() if self.is_sqlite else self._rewrite_secrets()
            if is_done and mark is not None:
                self._forget_remains(mark)

    def _forget_remains(self, mark: str) -> None:
        """But not those of a transaction that came in the meantime, which has another mark."""
        with self._connected_to_write() as connection, connection.begin():
            connection.execute(sa.delete(tables.remains).where(tables.remains.c.mark == mark))
        if self.is_sqlite:
            self._empty_log()

    def _empty_log(self) -> bool:
        with self._engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            driver.execute("PRAGMA busy_timeout = 1000")
            try:
                (is_busy, *_) = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                driver.execute(f"PRAGMA {_SQLITE_SETTINGS[0]}")
            return not is_busy

    def _rewrite_secrets(self) -> bool:
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(sa.text("SET lock_timeout = '2s'"))
            try:
                connection.execute(sa.text("VACUUM FULL secrets"))
            finally:  # the next one who has this connection waits as long as ever
                connection.execute(sa.text("RESET lock_timeout"))
        return True

    def dispose(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _follow_file(self) -> None:
        """Let go of a file that is not the database any more: it is away, or another was put in its place."""
        if self.file is None:
            return
        try:
            status = self.file.stat()
        except OSError:
            if self._opened_file is None:
                return
            self._engine.dispose()
            raise StoreError(
                "{database}: {sentence}", database=str(self), sentence=SENTENCES["unable to open"]
            ) from None
        if self._opened_file not in (None, (status.st_dev, status.st_ino)):
            self._engine.dispose()
        self._opened_file = status.st_dev, status.st_ino

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            sentence = sentence_of(error)
            if sentence in OR_FULL and self.file is not None and files.is_full(self.file.parent):
                sentence = FULL
            raise StoreError(
                "{database}: {sentence}", database=str(self), sentence=sentence
            ) from None  # the cause may quote a row
        except SQLAlchemyError as error:
            raise PlaceError(
                "{database}: {name} in the database layer", database=self.place, name=type(error).__name__
            ) from None


def _url(database: str) -> sa.URL:
    if "://" not in database:
        return sa.URL.create("sqlite", database=str(Path(database).absolute()))
    try:
        url = sa.make_url(database)
    except ArgumentError:
        raise DeniableError("the database must be a file or a URL such as postgresql://user@host/name") from None
    backend = url.get_backend_name()
    if backend not in {"sqlite", "postgresql"}:
        raise DeniableError(
            "the database must be a SQLite file or a postgresql:// URL, got {backend}://", backend=backend
        )
    if backend == "sqlite" and not url.database:
        raise DeniableError("the database must be a file, so that it outlives this process; got one in memory")
    if backend == "postgresql":
        try:
            import psycopg  # noqa: F401, PLC0415
        except ImportError:
            raise DeniableError(
                "PostgreSQL needs a driver: run {command} in a copy of the project", command=pip_install("postgres")
            ) from None
        return url.set(drivername="postgresql+psycopg")
    return url


def _mark(connection: sa.Connection) -> str | None:
    """Of the last transaction whose deleted secrets may not be scrubbed yet."""
    return connection.execute(sa.select(tables.remains.c.mark)).scalar()


def is_storable(text: str) -> bool:
    """Whether both databases take this text: no NUL, and no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _set_up_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves
    for setting in _SQLITE_SETTINGS:
        connection.execute(f"PRAGMA {setting}").close()


def _begin_sqlite(connection: sa.Connection) -> None:
    # A transaction that began as a reader could not become a writer once another has written.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")
