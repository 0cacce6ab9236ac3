"""Values that many threads ask for at once, each made by one of them while the others wait."""

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """The newest values by their keys, a few of them. What cannot be made raises, and is tried again the next time."""

    def __init__(self, most: int = 1) -> None:
        self._most = most
        self._lock = Lock()
        self._values: dict[Hashable, Value] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of this key, made now if it is not there."""
        try:
            return self._values[key]
        except KeyError:
            pass
        with self._lock:
            if key not in self._values:
                made = make()
                while len(self._values) >= self._most:
                    del self._values[next(iter(self._values))]
                self._values[key] = made
            return self._values[key]
