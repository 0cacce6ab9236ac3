"""How much people may ask of the console: tries to sign in, passwords to check, and files to read, at once."""

import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from threading import Lock
from typing import TypeVar

from anyio import CapacityLimiter, Semaphore, fail_after, to_thread
from starlette.exceptions import HTTPException

from deniable.message import Message, noted
from deniable.programme.calendar import Clock

T = TypeVar("T")

QUICK, SLOW = 2, 4
"""Threads. Python runs one of them at a time, and the more of them want to run, the more time goes into taking turns.
So pages to look at are made on the event loop, in none (`routing`). Two look up people who sign in. Others do what may
take long, or wait until another process has written. With those that check passwords, and with the event loop, they are
fewer than the database has connections to give (15): nothing waits for one.
"""

TRIES = 10
REFILLED_IN = timedelta(minutes=15)
MOST_KEPT = 10_000


class Refused(HTTPException):
    """A request that is refused, in words for the person who made it."""

    def __init__(self, status: int, message: Message) -> None:
        super().__init__(status, str(message))
        self.message = message


class Throttle:
    """Ten tries in a quarter of an hour for each key.

    A key is an account and a device that signed in to it before; all unknown devices share one key an account. So
    an attacker who guesses from elsewhere uses up the strangers' budget, and the account's owner signs in as ever.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._tries: OrderedDict[bytes, tuple[int, datetime]] = OrderedDict()

    def take(self, account: str, device: str | None) -> bool:
        """Use up one try; False where none is left. Counted before the password is checked, so that tries made at the
        same time cannot share one.
        """
        key, now = _key(account, device), self._clock()
        with self._lock:
            used, since = self._tries.get(key, (0, now))
            if not timedelta(0) <= now - since < REFILLED_IN:  # also where the clock was set back
                used, since = 0, now
            if used >= TRIES:
                return False
            self._tries[key] = (used + 1, since)
            self._tries.move_to_end(key)
            while len(self._tries) > MOST_KEPT:  # each cost somebody a try, and us an Argon2 hash
                self._tries.popitem(last=False)
        return True

    def forgive(self, account: str, device: str | None) -> None:
        """A person signed in: that was no guess."""
        with self._lock:
            self._tries.pop(_key(account, device), None)


def _key(account: str, device: str | None) -> bytes:
    return hashlib.sha256(f"{account}\n{device or ''}".encode()).digest()


class PasswordQueues:
    """Argon2 is slow and takes much memory, so only a few passwords are checked at once, the others wait.

    Devices that signed in before have a queue of their own: a crowd of strangers does not hold them up. Each of several
    processes takes its share, and at least one password.
    """

    AT_ONCE, MOST_WAITING = 2, 50

    def __init__(self, processes: int = 1) -> None:
        at_once = max(1, self.AT_ONCE // processes)
        self._queues = {stranger: CapacityLimiter(at_once) for stranger in (False, True)}
        self._most_waiting = max(1, self.MOST_WAITING // processes)

    def check(self, *, stranger: bool) -> None:
        """Refuses where too many wait already; to be asked before a try is used up, which would be for nothing."""
        if self._queues[stranger].statistics().tasks_waiting >= self._most_waiting:
            raise Refused(503, noted("Too many people are signing in. Wait a minute and try again."))

    async def run(self, work: Callable[[], T], *, stranger: bool) -> T:
        """What the work returns, done in a thread."""
        self.check(stranger=stranger)
        return await to_thread.run_sync(work, limiter=self._queues[stranger])


class UploadSlots:
    """Files on their way in are kept in memory, so a few at once, and one a person. Each of several processes takes its
    share, and at least one file.
    """

    AT_ONCE, PATIENCE = 2, 30
    """Files, and seconds that another one waits."""

    def __init__(self, processes: int = 1) -> None:
        self._free = Semaphore(max(1, self.AT_ONCE // processes))
        self._people: set[str] = set()

    @asynccontextmanager
    async def slot(self, person: str) -> AsyncIterator[None]:
        """For as long as this person's file is received and read. Refused where another one of theirs is, or where
        those of others take too long.
        """
        if person in self._people:
            raise Refused(
                409, noted("Another file of yours is on its way. Wait until it has arrived, or a few minutes.")
            )
        self._people.add(person)
        try:
            try:
                with fail_after(self.PATIENCE):
                    await self._free.acquire()
            except TimeoutError:
                raise Refused(503, noted("The file cannot be taken now. Wait a few minutes and try again.")) from None
            try:
                yield
            finally:
                self._free.release()
        finally:
            self._people.discard(person)
