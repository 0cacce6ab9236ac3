"""The activity log: who did what on which day.

An action is stored as its English text and the values in it, so that each reader is told in their own language.
"""

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal

import sqlalchemy as sa

from deniable.console import tables
from deniable.message import Listed, Message

About = Literal["programme", "people", "reports"]
"""What is about reports tells that there were some: only those read it who may see counts."""

TERMINAL = "the terminal"
"""The name under which the log keeps what is done without signing in; no person has it."""


@dataclass(frozen=True)
class LogEntry:
    day: str
    who: str
    action: Message
    """Follows the name: "closed round 3"."""


@dataclass(frozen=True)
class LogPage:
    """A page of the log, the newest entry first. The pages beside it are known by how many newer entries there are: an
    entry's own number would tell how many are left out.
    """

    entries: tuple[LogEntry, ...]
    older: int | None
    """Where the page of older entries starts; None where there are none."""
    newer: int | None


def record(
    connection: sa.Connection,
    now: datetime,
    who: str,
    action: Message,
    about: About = "programme",
    *,
    once_a_day: bool = False,
) -> None:
    """The day is enough. What is about people and tokens can be read by itself."""
    log = tables.activity
    day = f"{now.astimezone(UTC):%Y-%m-%d}"
    row = {"day": day, "who": who, "action": _stored(action), "about": about}
    if once_a_day:
        same = sa.select(log.c.number).where(*(log.c[name] == value for name, value in row.items()))
        if connection.execute(same).first() is not None:
            return
    last = connection.execute(sa.select(sa.func.max(log.c.number))).scalar()
    connection.execute(sa.insert(log), {"number": (last or 0) + 1, **row})


def read(
    connection: sa.Connection,
    most: int | None = None,
    start: int = 0,
    *,
    about: About | None = None,
    who: str | None = None,
    with_reports: bool = False,
) -> LogPage:
    """At most so many entries, or all of them, the newest first, after `start` newer ones; those about one thing or of
    one person, where that is said. What is about reports is left out unless it is asked for.
    """
    log = tables.activity
    wanted = sa.select(log) if with_reports else sa.select(log).where(log.c.about != "reports")
    if about is not None:
        wanted = wanted.where(log.c.about == about)
    if who is not None:
        wanted = wanted.where(log.c.who == who)
    newest_first = wanted.order_by(log.c.number.desc()).offset(start)
    rows = connection.execute(newest_first if most is None else newest_first.limit(most + 1)).all()
    shown = tuple(LogEntry(row.day, row.who, _read(row.action)) for row in rows[:most])
    if most is None:
        return LogPage(shown, None, None)
    return LogPage(shown, start + most if len(rows) > most else None, max(0, start - most) if start else None)


def last_day(connection: sa.Connection, action: Message, who: str | None = None) -> date | None:
    """On which this person, or anyone, did it last; None where they never did."""
    log = tables.activity
    last = sa.select(sa.func.max(log.c.day)).where(log.c.action == _stored(action))
    day = connection.execute(last if who is None else last.where(log.c.who == who)).scalar()
    return None if day is None else date.fromisoformat(day)


def names(connection: sa.Connection) -> list[str]:
    """All who are in the log with something that every reader of it may know, by name."""
    log = tables.activity
    found = connection.execute(sa.select(log.c.who).where(log.c.about != "reports").distinct()).scalars()
    return sorted(found, key=str.casefold)


def newest(connection: sa.Connection, who: str) -> Message | None:
    """What this person did last about people, tokens or hotlines; None where they never did anything of the kind."""
    entries = read(connection, 1, about="people", who=who).entries
    return entries[0].action if entries else None


def _stored(action: Message) -> str:
    return json.dumps(_plain(action), ensure_ascii=False)


def _plain(value: Any) -> Any:
    match value:
        case Message(text, values, many):
            kept = {"text": text, "values": {name: _plain(one) for name, one in values}}
            return kept if many is None else {**kept, "many": many}
        case Listed(things, word):
            return {word: list(things)}
    return value


def _read(stored: str) -> Message:
    message: Message = _value(json.loads(stored))
    return message


def _value(kept: Any) -> Any:
    match kept:
        case {"text": text, "values": values}:
            return Message(text, tuple((name, _value(one)) for name, one in values.items()), kept.get("many"))
        case {"and": things}:
            return Listed(tuple(things), "and")
        case {"or": things}:
            return Listed(tuple(things), "or")
    return kept
