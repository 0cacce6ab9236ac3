"""Decisions that one person asked for and another has not confirmed yet: in memory, for a day.

A restart forgets them, and the person asks again. Nothing is written but a line of the activity log, which names no
target.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from deniable.console.remembered import is_kept
from deniable.programme.calendar import Clock

KEPT_FOR = timedelta(days=1)

Typed = tuple[tuple[str, str], ...]
"""The names and values of a form's fields."""


@dataclass(frozen=True)
class PendingDecision:
    """Confidential until it is published."""

    key: str
    """By which forms name it."""
    person: str
    """The id of who asked."""
    kind: str
    typed: Typed
    """The form as it was sent. It is read again whenever it matters, since the programme goes on in the meantime."""
    round: int
    """That was open when it was asked for."""
    until: datetime


class PendingDecisions:
    """One a person, so that they stay few."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._decisions: dict[str, PendingDecision] = {}
        self._refused: dict[str, tuple[str, datetime]] = {}
        """By whom, and until when that is told, by the id of who asked."""

    def ask(self, person: str, kind: str, typed: Typed, round_: int) -> bool:
        """Returns False where another request of this person still waits."""
        with self._lock:
            self._delete_expired()
            if any(pending.person == person for pending in self._decisions.values()):
                return False
            self._refused.pop(person, None)
            key, until = secrets.token_urlsafe(16), self._clock() + KEPT_FOR
            self._decisions[key] = PendingDecision(key, person, kind, typed, round_, until)
            return True

    def take(self, key: str) -> PendingDecision | None:
        """Hand it over and forget it, so that no second request does the same; None where it is not there any more."""
        with self._lock:
            self._delete_expired()
            return self._decisions.pop(key, None)

    def refuse(self, pending: PendingDecision, by: str) -> None:
        """It was taken, and the person who asked is told for a day who refused it."""
        with self._lock:
            self._refused[pending.person] = by, self._clock() + KEPT_FOR

    def refused_by(self, person: str) -> str | None:
        """Who refused the last request of this person, by name; None where none was, or they asked again."""
        with self._lock:
            by, until = self._refused.get(person, ("", None))
            return by if until is not None and is_kept(until, self._clock(), KEPT_FOR) else None

    def put_back(self, pending: PendingDecision) -> None:
        """It was taken, and could not be recorded."""
        with self._lock:
            self._decisions[pending.key] = pending

    def all(self) -> list[PendingDecision]:
        """The oldest first."""
        with self._lock:
            self._delete_expired()
            return sorted(self._decisions.values(), key=lambda pending: pending.until)

    def _delete_expired(self) -> None:
        now = self._clock()
        self._decisions = {key: one for key, one in self._decisions.items() if is_kept(one.until, now, KEPT_FOR)}
