"""Audits that one person wants to order by hand and another has not confirmed yet: in memory, for a day.

A restart forgets them, and the person asks again. Nothing is written but a line of the activity log, which names no
target.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from deniable.console.expiry import is_kept
from deniable.programme.calendar import Clock

KEPT_FOR = timedelta(days=1)


@dataclass(frozen=True)
class PendingOrder:
    """Confidential until it is published."""

    key: str
    """By which forms name it."""
    person: str
    """The id of who asked."""
    targets: tuple[str, ...]
    reason: str
    independent: bool
    round: int
    """That was open when it was asked for."""
    until: datetime


class PendingOrders:
    """One a person, so that they stay few."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._orders: dict[str, PendingOrder] = {}

    def ask(self, person: str, targets: tuple[str, ...], reason: str, independent: bool, round_: int) -> bool:
        """Returns False where another request of this person still waits."""
        with self._lock:
            self._delete_expired()
            if any(order.person == person for order in self._orders.values()):
                return False
            key, until = secrets.token_urlsafe(16), self._clock() + KEPT_FOR
            self._orders[key] = PendingOrder(key, person, targets, reason, independent, round_, until)
            return True

    def take(self, key: str) -> PendingOrder | None:
        """Hand it over and forget it, so that no second request does the same; None where it is not there any more."""
        with self._lock:
            self._delete_expired()
            return self._orders.pop(key, None)

    def put_back(self, order: PendingOrder) -> None:
        """It was taken, and could not be recorded."""
        with self._lock:
            self._orders[order.key] = order

    def all(self) -> list[PendingOrder]:
        """The oldest first."""
        with self._lock:
            self._delete_expired()
            return sorted(self._orders.values(), key=lambda order: order.until)

    def _delete_expired(self) -> None:
        now = self._clock()
        self._orders = {key: order for key, order in self._orders.items() if is_kept(order.until, now, KEPT_FOR)}
