"""A copy in memory of the small tables that nearly every page reads, so that opening a page asks the database nothing.

A database server counts what it is asked, and its administrator could see when people work
(docs/explanation/silent.md). A process that ticks therefore reads these tables again at every tick, used or not.
"""

import mmap
import secrets
import time
import weakref
from collections.abc import Sequence
from threading import local
from typing import Any, NoReturn

import sqlalchemy as sa
from sqlalchemy.sql.expression import UpdateBase

LONGEST = 3.0
"""Seconds for which a copy is used if no tick reads the tables again: the database is busy, or away."""
_MARK = 16
_FLUSHES = (15,)
"""The first version of PostgreSQL that can be told so."""


class NotInMemoryError(Exception):
    """What was asked for is in another table."""


class Copy:
    """The rows of one moment."""

    def __init__(self, rows: dict[sa.Table, list[sa.Row[Any]]]) -> None:
        self.rows = rows
        self.engine = sa.create_engine(
            "sqlite://", poolclass=sa.StaticPool, connect_args={"check_same_thread": False}, hide_parameters=True
        )
        weakref.finalize(self, self.engine.dispose)
        with self.engine.begin() as connection:
            for table, found in rows.items():
                connection.execute(sa.schema.CreateTable(table))
                if found:
                    connection.execute(sa.insert(table), [row._asdict() for row in found])
        sa.event.listen(self.engine, "handle_error", _not_here)


class Replica:
    """The newest copy. When this process changes one of the tables, or one that was forked from it or with it, none of
    them uses its copy until its next tick.
    """

    def __init__(self, tables: Sequence[sa.Table]) -> None:
        self._tables = tables
        self._mark = mmap.mmap(-1, _MARK)  # shared with the processes that are forked
        self._here = local()
        self._copy: Copy | None = None
        self._as_of = b"", 0.0

    def current(self) -> Copy | None:
        """None where something may have changed since the last tick."""
        mark, read = self._as_of
        is_current = mark == self._mark[:] and time.monotonic() - read < LONGEST
        return self._copy if is_current else None

    def refresh(self, connection: sa.Connection) -> None:
        """Read the tables, in a transaction that keeps others from changing them. PostgreSQL's statistics have it at
        its end, and not with the next one if this one comes a millisecond early.
        """
        as_of = self._mark[:], time.monotonic()
        rows = {table: [*connection.execute(sa.select(table))] for table in self._tables}
        if self._copy is None or self._copy.rows != rows:
            self._copy = Copy(rows)
        self._as_of = as_of
        dialect = connection.dialect
        if dialect.name == "postgresql" and (dialect.server_version_info or ()) >= _FLUSHES:
            connection.execute(sa.text("SELECT pg_stat_force_next_flush()"))

    def note(self, _: sa.Connection, statement: object, *__: object) -> None:
        """Remember of a statement that it changes one of the tables, until `outdate`."""
        if isinstance(statement, UpdateBase) and statement.table in self._tables:
            self._here.has_changed = True

    def outdate(self) -> None:
        """After a transaction of this thread: let no process use its copy if one of the tables was changed."""
        if getattr(self._here, "has_changed", False):
            self._here.has_changed = False
            self._mark[:] = secrets.token_bytes(_MARK)


def _not_here(_: sa.engine.ExceptionContext) -> NoReturn:
    raise NotInMemoryError
