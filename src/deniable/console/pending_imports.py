"""Exports between their preview and the confirmation, and the names of imports that can be taken back, with what in
them has no target yet: in memory, a few, for a few minutes.
"""

import secrets
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import Enum
from threading import Lock, Timer

from deniable.console.accounts.people import Person
from deniable.console.remembered import is_kept
from deniable.errors import DeniableError
from deniable.programme.calendar import Clock
from deniable.programme.imports import Batch

KEPT_FOR = timedelta(minutes=10)
TAKEN_BACK_WITHIN = timedelta(days=1)
"""So long an import may take to come in, and what takes it back comes after it."""
MOST_KEPT = 50
"""One a person, as many as a console serves. A batch is smaller than its file unless the ids are very short, and never
twice as large. Not by their size together: a refusal would then tell how much others have brought.
"""

MOST_ACCEPTED = 50
"""Of one person: as many as there can be hotlines."""


@dataclass(frozen=True, repr=False)
class Held:
    """What is kept of a file."""

    kind: str
    source: str
    batch: Batch
    is_large: bool
    file: str
    """Its name, for the person who chose it; empty where it cannot be shown."""


@dataclass(frozen=True, repr=False)
class PendingImport:
    """A file that was read and not counted yet."""

    person: str
    session: str
    held: Held
    until: datetime


class TakeBack(Enum):
    """What became of the wish to take an import back."""

    NOT_ASKED = "not asked"
    ASKED = "asked"
    WRITTEN = "written"
    """In time or too late: the programme knows (`Hotlines.is_final`)."""
    FAILED = "failed"


@dataclass(frozen=True)
class Unassigned:
    """What in a file does not count yet, as its preview showed it."""

    channels: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    """Of the class column."""
    others: int = 0
    """How many more channels and entries were not shown."""

    def __bool__(self) -> bool:
        return bool(self.channels or self.entries or self.others)


@dataclass(frozen=True, repr=False)
class AcceptedImport:
    """An import that may be taken back, or that a person asked to take back."""

    person: str
    """The id of who brought it."""
    by: str
    """Their name."""
    source: str
    name: str
    day: date
    number: int
    """Of those that the person brought from this hotline on this day, from 1."""
    unassigned: Unassigned
    is_whole: bool
    """Whether nothing in the file waits to be assigned or corrected, so that it is not needed again."""
    outcome: str
    """What the page said of it."""
    file: str
    """The name of the file; empty where it cannot be shown, or a person asked to take the import back."""
    until: datetime
    take_back: TakeBack = TakeBack.NOT_ASKED

    @property
    def kept_for(self) -> timedelta:
        return TAKEN_BACK_WITHIN if self.take_back is TakeBack.ASKED else KEPT_FOR


class PendingImports:
    """One a person; a new one replaces the one before. A session gets back its own and no other."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._imports: dict[str, PendingImport] = {}
        self._accepted: dict[str, list[AcceptedImport]] = {}
        self._numbers: dict[tuple[str, str], tuple[date, int]] = {}
        """How many imports each person brought from each hotline on the last day on which they did."""
        self._timer: Timer | None = None

    def add(self, person: str, session: str, held: Held) -> str:
        """Keep it for now; returns the name by which it is confirmed."""
        name = secrets.token_urlsafe(16)
        with self._lock:
            self._delete_expired()
            for other in [key for key, kept in self._imports.items() if kept.person == person]:
                del self._imports[other]
            if len(self._imports) >= MOST_KEPT:
                raise DeniableError("others are importing at the moment; try again in a few minutes")
            self._imports[name] = PendingImport(person, session, held, self._clock() + KEPT_FOR)
            self._start_timer()
        return name

    def take(self, session: str, name: str) -> PendingImport | None:
        """Hand it over and forget it; None where it is not there any more."""
        with self._lock:
            self._delete_expired()
            found = self._imports.get(name)
            return self._imports.pop(name) if found is not None and found.session == session else None

    def accept(self, person: Person, held: Held, name: str, day: date, unassigned: Unassigned, *, outcome: str) -> None:
        """Remember that this person brought it on this day."""
        with self._lock:
            last, number = self._numbers.get((person.id, held.source), (day, 0))
            number = number + 1 if last == day else 1
            self._numbers[person.id, held.source] = day, number
            accepted = AcceptedImport(
                person=person.id,
                by=person.name,
                source=held.source,
                name=name,
                day=day,
                number=number,
                unassigned=unassigned,
                is_whole=not unassigned and not held.batch.n_malformed,
                outcome=outcome,
                file=held.file,
                until=self._clock() + KEPT_FOR,
            )
            self._accepted[person.id] = [*self._accepted.get(person.id, []), accepted][-MOST_ACCEPTED:]
            self._start_timer()

    def accepted_by(self, person: str) -> tuple[AcceptedImport, ...]:
        """What this person brought a short time ago, in its order."""
        with self._lock:
            self._delete_expired()
            return tuple(self._accepted.get(person, ()))

    def accepted_by_others(self, person: str) -> tuple[AcceptedImport, ...]:
        """What all others brought. For those who may see counts."""
        with self._lock:
            self._delete_expired()
            return tuple(one for other, accepted in self._accepted.items() if other != person for one in accepted)

    def ask(self, person: str, name: str) -> bool:
        """Remember that it is to be taken back; False where it was asked before, or is not known."""
        with self._lock:
            open_ = (TakeBack.NOT_ASKED, TakeBack.FAILED)
            is_open = any(one.name == name and one.take_back in open_ for one in self._accepted.get(person, []))
            if is_open:
                self._note(person, name, TakeBack.ASKED)
            return is_open

    def note(self, person: str, name: str, take_back: TakeBack) -> None:
        """Remember what became of taking it back."""
        with self._lock:
            self._note(person, name, take_back)

    def _note(self, person: str, name: str, take_back: TakeBack) -> None:
        accepted, now = self._accepted.get(person, []), self._clock()
        for place, one in enumerate(accepted):
            if one.name == name:
                noted = replace(one, take_back=take_back, file="")
                accepted[place] = replace(noted, until=now + noted.kept_for)

    def forget(self, person: str, name: str) -> None:
        """It was taken back, or is counted."""
        with self._lock:
            self._accepted[person] = [one for one in self._accepted.get(person, []) if one.name != name]

    def delete_expired(self) -> None:
        """Forget what was kept for too long."""
        with self._lock:
            self._timer = None
            self._delete_expired()
            if self._imports or self._accepted:
                self._start_timer()

    def _start_timer(self) -> None:
        """Also where the person does not come back. One timer serves all."""
        if self._timer is None:
            self._timer = Timer(60, self.delete_expired)
            self._timer.daemon = True
            self._timer.start()

    def _delete_expired(self) -> None:
        now = self._clock()
        self._imports = {name: kept for name, kept in self._imports.items() if is_kept(kept.until, now, KEPT_FOR)}
        recent = {
            person: [one for one in accepted if is_kept(one.until, now, one.kept_for)]
            for person, accepted in self._accepted.items()
        }
        self._accepted = {person: accepted for person, accepted in recent.items() if accepted}
