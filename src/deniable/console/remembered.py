"""What takes long: it holds up no page, and what comes of it is remembered; and for how long what waits is kept."""

import asyncio
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from datetime import datetime, timedelta
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class TakesLong(Exception):  # noqa: N818
    """The page must be made in a thread."""


def takes_long() -> None:
    """Say that what follows may take long. On the event loop, where it would hold up everything else, it is not done:
    the page is made again, in a thread (`security.quickly`).
    """
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise TakesLong


class Paced:
    """Work that takes a few milliseconds in most programmes and seconds in some. Where it took long the last time, it
    takes long.
    """

    LONG = 0.05
    """Seconds of the processor."""

    def __init__(self) -> None:
        self._last = 0.0

    def __call__(self, work: Callable[[], Value]) -> Value:
        if self._last > self.LONG:
            takes_long()
        began = time.thread_time()
        try:
            return work()
        finally:
            self._last = time.thread_time() - began


class Remembered(Generic[Value]):
    """The newest values by their keys, a few of them, each made by one thread while the others wait. What cannot be
    made raises, and is tried again the next time.
    """

    def __init__(self, most: int = 1) -> None:
        self._most = most
        self._lock = Lock()
        self._values: dict[Hashable, Value] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of this key, made now if it is not there."""
        try:
            return self._values[key]
        except KeyError:
            takes_long()
        with self._lock:
            if key not in self._values:
                made = make()
                while len(self._values) >= self._most:
                    del self._values[next(iter(self._values))]
                self._values[key] = made
            return self._values[key]


def is_kept(until: datetime, now: datetime, kept_for: timedelta) -> bool:
    """Whether its time is not over. It is over as well where the clock was set back since: it would be kept until the
    clock has caught up.
    """
    return now < until <= now + kept_for
