"""The public transcript, read, checked and laid out once for each signed head, however many people look at it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import sqlalchemy as sa

from deniable.console.remembered import Remembered
from deniable.programme.names import caseless
from deniable.programme.parameters import Parameters
from deniable.programme.public.page import Event, events_of
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript_copies import StoredTranscript, all_lines
from deniable.storage import tables
from deniable.storage.store import Store

_parsed = lru_cache(maxsize=10_000)(parse)  # when an entry is added, the others stay as they are


@dataclass(frozen=True)
class PastAudit:
    key: str
    target: str
    round: int


@dataclass(frozen=True, eq=False)
class Record:
    """The transcript as the office signed it."""

    lines: tuple[str, ...]
    head: str
    """The line of the signed head."""
    events: tuple[Event, ...]
    """Newest first."""
    texts: tuple[str, ...]
    """The names in each of them, without case, a name a line."""
    audits: tuple[PastAudit, ...]
    """Those that can be said not to have been carried out: the latest of every target, newest first."""

    @classmethod
    def of(cls, parameters: Parameters, lines: Sequence[str], head: str) -> Self:
        """Refused where the signed head is not that of these lines."""
        StoredTranscript(parameters, lines, head, None)
        entries = [_parsed(line) for line in lines]
        events = events_of(parameters.calendar, entries)
        return cls(tuple(lines), head, events, tuple(map(_text, events)), latest_audits(entries))


def latest_audits(entries: Sequence[Entry]) -> tuple[PastAudit, ...]:
    """The latest audit of every target, unless it was not carried out; newest first."""
    latest: dict[str, int] = {}
    for entry in entries:
        for target in entry.audited:
            latest.pop(target, None)
            latest[target] = entry.round
        if entry.struck is not None:
            latest.pop(entry.struck, None)
    return tuple(PastAudit(f"{number} {target}", target, number) for target, number in reversed(latest.items()))


def _text(event: Event) -> str:
    struck = [event.heading] if event.kind == "not-carried-out" else []
    return caseless("\n".join([*(audited.name for audited in event.audited), *event.added, *event.removed, *struck]))


class PublicRecords:
    """The record of a database. Its entries are read again when there is another head."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records = Remembered[Record]()

    def current(self, parameters: Parameters) -> Record:
        """All of it at one moment."""
        with self._store.reading() as connection:
            head = connection.execute(sa.select(tables.standing.c.head)).scalar_one()
            return self._records.get(head, lambda: Record.of(parameters, all_lines(connection), head))
