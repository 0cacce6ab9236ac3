"""The ticker: a thread that writes a page at every tick of the clock, whether anything came in or not."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import chain, islice
from threading import Event, Lock, Thread
from typing import NamedTuple

import numpy as np

from deniable.arrays import BoolArray
from deniable.errors import DeniableError
from deniable.programme.buffer import NOTHING, TOGETHER, Kind, Slots, cut

TICK = 1.0
"""Seconds between two pages."""
COUNTED_EVERY = 300.0
"""Seconds between two times when pages are counted."""

COMMANDS, PUSHES, IMPORTS = TOGETHER, 8 * TOGETHER, 5 * TOGETHER
"""Slots of a page for what commands bring and what is withdrawn, for what machines push, and for imports. None is lent:
how long one of them waits would tell what the others bring.
"""
SIGNS = TOGETHER // 8
"""Slots for the beginnings of imports, and for what takes imports back. They wait for no report, of their own import or
of another one: whether an import can still be taken back must not depend on how many reports there are.
"""
OF_PERSON = TOGETHER // 8
"""Slots for what one person enters in the console: how long a person waits does not tell what another one enters."""
PEOPLE = 7 * OF_PERSON
"""Slots for all of them."""
OF_ONE = PUSHES // 2
"""Slots for the pushes of one token, at most (`Ticker.keep_only`)."""
MOST_WAITING = 16 * OF_ONE
"""Slots of one token that may wait when it pushes more."""


class Owners(NamedTuple):
    """Who may bring what waits, by id."""

    people: Collection[str]
    tokens: Collection[str]


Write = Callable[[Slots], None]
"""Writes a page with these slots."""
Count = Callable[[], None]
"""Counts what the pages hold."""


class StillWaitingError(DeniableError):
    """One brings more before enough of what they brought is on the disk. It follows from that alone."""


@dataclass
class _Waiting:
    """What came in and is not on the disk."""

    slots: Slots
    owner: str
    """The token that pushes it, or the person who enters or imports it; none of what a command brings."""
    is_written: "Future[None]" = field(default_factory=Future)
    is_dropped: bool = False

    def __post_init__(self) -> None:
        self._first, self._number = self.slots[:1], len(self.slots)

    @property
    def has_sign(self) -> bool:
        """Whether the next slot stands for a whole import: at its beginning, or to take it back."""
        kinds, is_whole = self.slots["kind"][:1], len(self.slots) == self._number
        return bool((kinds == Kind.TAKEN_BACK).any() or (is_whole and self._is_import.any()))

    def drop(self) -> None:
        """Write no more of it. Of an import that has begun, that it is taken back."""
        has_begun = len(self.slots) < self._number
        self.slots = self._first[self._is_import & has_begun].copy()
        self.slots["kind"] = Kind.TAKEN_BACK
        self.owner, self.is_dropped = "", True

    @property
    def _is_import(self) -> BoolArray:
        """Of the first slot: whether it begins an import that can be taken back."""
        return np.asarray((self._first["kind"] == Kind.IMPORTED) & (self._first["import"] > 0))


class Ticker:
    """Writes pages until it is stopped. What commands bring, what people enter, what machines push and what is imported
    each have their part of a page. What takes an import back overtakes it: what comes after counts for nothing
    (`counting.settle`).

    Pages are counted between two ticks, after those who wait are answered: the time of no answer tells how long it
    takes, unless it takes longer than half a tick.
    """

    def __init__(self, write: Write, count: Count, every: float = TICK, counted_every: float = COUNTED_EVERY) -> None:
        self._write = write
        self._count = count
        self._every = every
        self._counted_every = counted_every
        self._counted = -1.0
        self.counting_fails = False
        """Whether the pages could not be counted when this was tried last."""
        self._queues: tuple[list[_Waiting], ...] = ([], [], [], [])
        self._commands, self._entered, self._pushed, self._imported = self._queues
        self._of_token = TOGETHER  # the least that one has, until `keep_only` knows how many there are
        self._lock = Lock()
        self._stop = Event()
        self._thread = Thread(target=self._run, name="ticker", daemon=True)
        self._thread.start()

    def submit(self, brought: Slots, owner: str = "") -> "Future[None]":
        """Write these slots at the next tick, or the next ones; the future is done when they are on the disk.

        It is also where there are none: how long it takes, and whether it is refused, does not tell.
        """
        waiting = _Waiting(brought, owner)
        waiting.is_written.set_running_or_notify_cancel()  # who waits no longer must not stop the ticker
        with self._lock:
            if self._stop.is_set():
                raise _stopped()
            queue = self._queue_of(brought, owner)
            before = sum(len(one.slots) for one in queue if one.owner == owner)
            if owner and before >= (1 if queue is self._imported else MOST_WAITING):
                raise StillWaitingError("too much that was sent before is not counted yet; try again in a minute")
            queue.append(waiting)
        return waiting.is_written

    def is_importing(self, owner: str) -> bool:
        """Whether an import of this person is not on the disk yet."""
        with self._lock:
            return any(one.owner == owner for one in self._imported)

    def keep_only(self, owners: Owners) -> None:
        """Drop what waits of all other people and tokens, and give each token an equal part of a page, in use or not.
        So what one of up to eight tokens pushes changes in no way when reports of another one are written.
        """
        self._of_token = max(TOGETHER, min(OF_ONE, PUSHES // max(1, len(owners.tokens))))
        with self._lock:
            for waiting in chain(*self._queues):
                is_known = waiting.owner in owners.people or waiting.owner in owners.tokens
                if waiting.owner and not is_known and len(waiting.slots):
                    waiting.drop()

    def _queue_of(self, brought: Slots, owner: str) -> list[_Waiting]:
        if np.isin(brought["kind"], (Kind.IMPORTED, Kind.TAKEN_BACK)).any():
            return self._imported
        if (brought["kind"] == Kind.PUSHED).any():
            return self._pushed
        return self._entered if owner else self._commands

    def stop(self) -> None:
        """Write what waits, as far as one page has room for it, and end."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._every - time.time() % self._every):
            self._write_page()
            if not self._stop.wait(self._every / 2):  # other processes write theirs meanwhile, and need not wait
                self._count_if_due()
        self._tick()
        with self._lock:
            _tell(chain(*self._queues), _stopped())

    def _tick(self) -> None:
        self._write_page()
        self._count_if_due()

    def _write_page(self) -> None:
        page, taken = self._next_page()
        try:
            self._write(page)
        except Exception as error:  # those who wait are told; the next tick tries again
            with self._lock:
                for waiting in taken:
                    waiting.drop()
            _tell([*taken, *self._drop_written()], error)
        else:
            _tell(self._drop_written(), None)

    def _count_if_due(self) -> None:
        now = time.time() // self._counted_every
        if now == self._counted:
            return
        try:
            self._count()
        except Exception as error:  # the pages are there still; the next tick tries again
            if not self.counting_fails:
                logging.getLogger(__name__).warning(_COUNTING_FAILS, type(error).__name__)
            self.counting_fails = True
        else:
            self._counted, self.counting_fails = now, False

    def _next_page(self) -> tuple[Slots, list[_Waiting]]:
        """What fits in it, and whose that is; what is cut off stays in its queue."""
        parts, taken = list[Slots](), list[_Waiting]()
        with self._lock:
            commands, entered, pushed, imported = ([*queue] for queue in self._queues)
        shares = (
            _signs(imported, SIGNS),
            _taken(commands, COMMANDS, None),
            _taken(entered, PEOPLE, OF_PERSON),
            _taken(pushed, PUSHES, self._of_token),
            _taken((one for one in imported if not one.has_sign), IMPORTS, None),
        )
        for waiting, part in chain(*shares):
            part["group"] = len(taken)
            parts.append(part)
            taken.append(waiting)
        return (np.concatenate(parts) if parts else NOTHING), taken

    def _drop_written(self) -> list[_Waiting]:
        """Take those out of the queues of whom nothing is left to write."""
        written = list[_Waiting]()
        with self._lock:
            for queue in self._queues:
                written += [waiting for waiting in queue if not len(waiting.slots)]
                queue[:] = [waiting for waiting in queue if len(waiting.slots)]
        return written


def _tell(those: Iterable[_Waiting], error: Exception | None) -> None:
    """Let all of them go on who were not told before."""
    for waiting in those:
        failed = error or (_dropped() if waiting.is_dropped else None)
        if waiting.is_written.done():
            continue
        if failed is None:
            waiting.is_written.set_result(None)
        else:
            waiting.is_written.set_exception(failed)


def _signs(queue: Iterable[_Waiting], room: int) -> Iterator[tuple[_Waiting, Slots]]:
    """Of as many of these as there is room for, the slot that stands for a whole import."""
    for waiting in islice((one for one in queue if one.has_sign), room):
        sign, waiting.slots = waiting.slots[:1].copy(), waiting.slots[1:]
        yield waiting, sign


def _taken(queue: Iterable[_Waiting], room: int, of_one: int | None) -> Iterator[tuple[_Waiting, Slots]]:
    """What a page takes of these in their order, so many slots at most; or, if there is a part for each owner, no more
    than that, first of those of whom less waits.
    """
    queue, left, brought = [*queue], dict[str, int](), Counter[str]()
    if of_one is not None:
        for waiting in queue:
            brought[waiting.owner] += len(waiting.slots)
        queue = sorted(queue, key=lambda one: brought[one.owner])
    for waiting in queue:
        owner = waiting.owner if of_one is not None else ""
        own = left.get(owner, of_one if of_one is not None and owner else room)
        part, rest = cut(waiting.slots, min(own, room))
        if len(part):
            waiting.slots, room = rest, room - len(part)
            yield waiting, part.copy()
        left[owner] = 0 if len(rest) else own - len(part)
        if not room:
            return


_COUNTING_FAILS = "reports that came in could not be counted (%s); they are kept, and this is tried again every second"
"""With the kind of the error alone: its text may be about a report."""


def _dropped() -> DeniableError:
    return DeniableError("this was not counted: the account was disabled, or the token was revoked, in the meantime")


def _stopped() -> DeniableError:
    return DeniableError("this was not counted: the process that counts reports is being stopped; try again")
