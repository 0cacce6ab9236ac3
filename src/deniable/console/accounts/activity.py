"""The activity log: who did what on which day."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import sqlalchemy as sa

from deniable.console import tables

About = Literal["programme", "people"]

TERMINAL = "the terminal"
"""The name under which the log keeps what is done without signing in; no person has it."""


@dataclass(frozen=True)
class LogEntry:
    number: int
    day: str
    who: str
    action: str


@dataclass(frozen=True)
class LogPage:
    """A page of the log, the newest entry first."""

    entries: tuple[LogEntry, ...]
    older: int | None
    """Older entries are those before this number; None where there are none."""
    newer: int | None
    """The page of newer ones has those before this number; None where there are none."""


def record(connection: sa.Connection, now: datetime, who: str, action: str, about: About = "programme") -> None:
    """The day is enough. What is about people and tokens can be read by itself."""
    last = connection.execute(sa.select(sa.func.max(tables.activity.c.number))).scalar()
    day = f"{now.astimezone(UTC):%Y-%m-%d}"
    row = {"number": (last or 0) + 1, "day": day, "who": who, "action": action, "about": about}
    connection.execute(sa.insert(tables.activity), row)


def read(connection: sa.Connection, most: int, before: int | None = None, about: About | None = None) -> LogPage:
    """The newest entries, at most so many; those before a number, or about one thing, where that is said."""
    number = tables.activity.c.number
    wanted = sa.select(tables.activity)
    if about is not None:
        wanted = wanted.where(tables.activity.c.about == about)
    here = wanted if before is None else wanted.where(number < before)
    rows = connection.execute(here.order_by(number.desc()).limit(most + 1)).all()
    newer = None
    if before is not None:
        later = connection.execute(wanted.where(number >= before).order_by(number).limit(most)).all()
        newer = later[-1].number + 1 if later else None
    shown = tuple(LogEntry(row.number, row.day, row.who, row.action) for row in rows[:most])
    return LogPage(shown, shown[-1].number if len(rows) > most else None, newer)
