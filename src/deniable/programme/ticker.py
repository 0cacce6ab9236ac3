"""The ticker: a thread that writes a page at every tick of the clock, whether anything came in or not."""

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Event, Lock, Thread

import numpy as np

from deniable.errors import DeniableError
from deniable.programme.buffer import NOTHING, ROOM, Kind, Slots, cut

TICK = 1.0
"""Seconds between two pages."""
COUNTED_EVERY = 300.0
"""Seconds between two times when pages are counted."""

Write = Callable[[Slots, bool], None]
"""Writes a page with these slots; counts first what came in before, where the second is true."""


@dataclass
class _Waiting:
    """What came in and is not on the disk."""

    slots: Slots
    is_written: "Future[None]" = field(default_factory=Future)


class Ticker:
    """Writes pages until it is stopped. What is brought by many at once, by an import, lets what few bring pass. What
    takes an import back comes after all of it.
    """

    def __init__(self, write: Write, every: float = TICK, counted_every: float = COUNTED_EVERY) -> None:
        self._write = write
        self._every = every
        self._counted_every = counted_every
        self._counted = -1.0
        self._queues: tuple[deque[_Waiting], deque[_Waiting]] = (deque(), deque())
        self._lock = Lock()
        self._stop = Event()
        self._thread = Thread(target=self._run, name="ticker", daemon=True)
        self._thread.start()

    def submit(self, brought: Slots) -> "Future[None]":
        """Write these slots at the next tick, or the next ones; the future is done when they are on the disk.

        It is also where there are none: how long it takes, and whether it is refused, does not tell.
        """
        waiting = _Waiting(brought)
        waiting.is_written.set_running_or_notify_cancel()  # who waits no longer must not stop the ticker
        is_import = bool(np.isin(brought["kind"], (Kind.IMPORTED, Kind.TAKEN_BACK)).any())
        with self._lock:
            if self._stop.is_set():
                raise _stopped()
            self._queues[is_import].append(waiting)
        return waiting.is_written

    def stop(self) -> None:
        """Write what waits, as far as one page has room for it, and end."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._every - time.time() % self._every):
            self._tick()
        self._tick()
        with self._lock:
            for waiting in (*self._queues[0], *self._queues[1]):
                waiting.is_written.set_exception(_stopped())

    def _tick(self) -> None:
        page, taken = self._next_page()
        now = time.time() // self._counted_every
        try:
            self._write(page, now != self._counted)
        except Exception as error:  # those who wait are told; the next tick tries again
            for waiting in taken:
                waiting.slots = waiting.slots[:0]
            for waiting in self._drop_written():
                waiting.is_written.set_exception(error)
            return
        self._counted = now
        for waiting in self._drop_written():
            waiting.is_written.set_result(None)

    def _next_page(self) -> tuple[Slots, list[_Waiting]]:
        """What fits in it, and whose that is; what is cut off stays in its queue."""
        parts, taken, room = list[Slots](), list[_Waiting](), ROOM
        with self._lock:
            waiting_ = (*self._queues[0], *self._queues[1])
        for waiting in waiting_:
            part, rest = cut(waiting.slots, room)
            if len(part):
                part = part.copy()
                part["group"] = len(taken)
                waiting.slots, room = rest, room - len(part)
                parts.append(part)
                taken.append(waiting)
            if len(rest) or not room:
                break
        return (np.concatenate(parts) if parts else NOTHING), taken

    def _drop_written(self) -> list[_Waiting]:
        """Take those out of the queues of whom nothing is left to write."""
        written = list[_Waiting]()
        with self._lock:
            for queue in self._queues:
                while queue and not len(queue[0].slots):
                    written.append(queue.popleft())
        return written


def _stopped() -> DeniableError:
    return DeniableError("this was not counted: the process that counts reports is being stopped; try again")
