"""Visits that one person asked for and another has not confirmed yet: in memory, for a day.

A restart forgets them, and the person asks again. Nothing is written but a line of the activity log, which says that a
visit was asked for, and not where.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from deniable.console.remembered import is_kept
from deniable.programme.calendar import Clock

KEPT_FOR = timedelta(days=1)


@dataclass(frozen=True, order=True)
class PendingVisit:
    """Confidential."""

    target: str
    report_class: str
    person: str
    """The id of who asked."""
    until: datetime


class PendingVisits:
    """One for each target and class of reports."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._visits: dict[tuple[str, str], PendingVisit] = {}
        self._refused: dict[tuple[str, str], tuple[PendingVisit, str]] = {}
        """With the name of who refused it."""

    def ask(self, target: str, report_class: str, person: str) -> bool:
        """Returns False where it was asked for before."""
        with self._lock:
            self._delete_expired()
            if (target, report_class) in self._visits:
                return False
            visit = PendingVisit(target, report_class, person, self._clock() + KEPT_FOR)
            self._visits[target, report_class] = visit
            self._refused.pop((target, report_class), None)
            return True

    def find(self, target: str, report_class: str) -> PendingVisit | None:
        with self._lock:
            self._delete_expired()
            return self._visits.get((target, report_class))

    def all(self) -> list[PendingVisit]:
        """By the target's name."""
        with self._lock:
            self._delete_expired()
            return sorted(self._visits.values())

    def forget(self, target: str, report_class: str) -> None:
        with self._lock:
            self._visits.pop((target, report_class), None)

    def refuse(self, visit: PendingVisit, by: str) -> None:
        """The person who asked is told who refused it until they ask again, or the request would have been too old."""
        with self._lock:
            self._visits.pop((visit.target, visit.report_class), None)
            self._refused[visit.target, visit.report_class] = visit, by

    def refused(self, person: str) -> dict[tuple[str, str], str]:
        """The targets and classes of this person's requests that were refused, and who refused each, by name."""
        with self._lock:
            self._delete_expired()
            return {key: by for key, (visit, by) in self._refused.items() if visit.person == person}

    def _delete_expired(self) -> None:
        now = self._clock()
        self._refused = {
            key: (visit, by) for key, (visit, by) in self._refused.items() if is_kept(visit.until, now, KEPT_FOR)
        }
        self._visits = {key: visit for key, visit in self._visits.items() if is_kept(visit.until, now, KEPT_FOR)}
