"""Exports between their preview and the confirmation: in memory, a few, for a few minutes."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock, Timer

from deniable.errors import DeniableError
from deniable.programme.calendar import Clock
from deniable.programme.imports import Batch

KEPT_FOR = timedelta(minutes=10)
MOST_KEPT = 50
"""One a person, as many as a console serves. A batch is smaller than its file unless the ids are very short, and never
twice as large. Not by their size together: a refusal would then tell how much others have brought.
"""


@dataclass(frozen=True, repr=False)
class PendingImport:
    """A file that was read and not counted yet."""

    person: str
    session: str
    source: str
    batch: Batch
    until: datetime


class PendingImports:
    """One a person; a new one replaces the one before. A session gets back its own and no other."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._imports: dict[str, PendingImport] = {}
        self._timer: Timer | None = None

    def add(self, person: str, session: str, source: str, batch: Batch) -> str:
        """Keep it for now; returns the name by which it is confirmed."""
        name = secrets.token_urlsafe(16)
        with self._lock:
            self._delete_expired()
            for other in [key for key, kept in self._imports.items() if kept.person == person]:
                del self._imports[other]
            if len(self._imports) >= MOST_KEPT:
                raise DeniableError("others are importing at the moment; try again in a few minutes")
            self._imports[name] = PendingImport(person, session, source, batch, self._clock() + KEPT_FOR)
            self._start_timer()
        return name

    def take(self, session: str, name: str) -> PendingImport | None:
        """Hand it over and forget it; None where it is not there any more."""
        with self._lock:
            self._delete_expired()
            found = self._imports.get(name)
            return self._imports.pop(name) if found is not None and found.session == session else None

    def delete_expired(self) -> None:
        """Forget what was kept for too long."""
        with self._lock:
            self._timer = None
            self._delete_expired()
            if self._imports:
                self._start_timer()

    def _start_timer(self) -> None:
        """Also where the person does not come back. One timer serves all."""
        if self._timer is None:
            self._timer = Timer(60, self.delete_expired)
            self._timer.daemon = True
            self._timer.start()

    def _delete_expired(self) -> None:
        now = self._clock()
        # Also where the clock was set back: they would be kept until it has caught up.
        for name in [name for name, kept in self._imports.items() if not now < kept.until <= now + KEPT_FOR]:
            del self._imports[name]
