"""The activity log: who did what on which day."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import sqlalchemy as sa

from deniable.storage import tables

About = Literal["programme", "people"]

TERMINAL = "the terminal"
"""Who did what nobody signed in for; no person has this name."""


@dataclass(frozen=True)
class Deed:
    number: int
    day: str
    who: str
    deed: str


@dataclass(frozen=True)
class Sheet:
    """A page of the log, the newest deed first."""

    deeds: tuple[Deed, ...]
    older: int | None
    """Older deeds are those before this number; None where there are none."""
    newer: int | None
    """The sheet of newer ones has those before this number; None where there are none."""


def record(connection: sa.Connection, now: datetime, who: str, deed: str, about: About = "programme") -> None:
    """The day is enough. What is about people and tokens can be read by itself."""
    last = connection.execute(sa.select(sa.func.max(tables.activity.c.number))).scalar()
    day = f"{now.astimezone(UTC):%Y-%m-%d}"
    row = {"number": (last or 0) + 1, "day": day, "who": who, "deed": deed, "about": about}
    connection.execute(sa.insert(tables.activity), row)


def read(connection: sa.Connection, most: int, before: int | None = None, about: About | None = None) -> Sheet:
    """The newest deeds, at most so many; those before a number, or about one thing, where that is said."""
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
    shown = tuple(Deed(row.number, row.day, row.who, row.deed) for row in rows[:most])
    return Sheet(shown, shown[-1].number if len(rows) > most else None, newer)
