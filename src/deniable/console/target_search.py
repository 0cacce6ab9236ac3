"""Finding targets by a part of their name, among ten or a million: a page of names at a time."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from threading import Lock
from typing import Literal, Self

import numpy as np

from deniable.console.remembered import takes_long
from deniable.programme.names import caseless

FEW = 50
"""Up to so many targets, a page lists them all."""
MOST_FOUND = 20
"""Targets on a page of what was found."""
_AT_ONCE = 10_000
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


@dataclass(frozen=True)
class Found:
    """A page of what a search found. All of it is public."""

    query: str
    names: tuple[str, ...]
    earlier: int | None
    """Where the pages beside this one start; None where there is none."""
    later: int | None

    @classmethod
    def place(cls, query: str, start: int, most: int, total: int) -> Self:
        """Of a page of something else than targets: `most` of `total`, from `start` on."""
        later = start + most
        return cls(query, (), max(0, start - most) if start else None, later if later < total else None)


class TargetIndex:
    """All names in one string of bytes, which is searched as it is: some 40 bytes a target besides the names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        # A name has no line break in it, and none is composed with what stands beside it.
        parts = (names[first : first + _AT_ONCE] for first in range(0, len(names), _AT_ONCE))
        self._text = b"\n".join([b"", *(caseless("\n".join(part)).encode() for part in parts), b""])
        self._starts = array("Q", accumulate((len(line) + 1 for line in _lines(self._text)), initial=1))
        hashes = np.fromiter(map(hash, _lines(self._text)), dtype=np.int64, count=len(names))
        self._by_hash = np.argsort(hashes, kind="stable").astype(np.uint32)
        self._hashes = hashes[self._by_hash]

    def exact(self, name: str) -> str | None:
        """The target of this name, however its letters are cased; found in the same time wherever it stands."""
        wanted = _needle(name)
        first, last = (int(np.searchsorted(self._hashes, hash(wanted), side)) for side in _SIDES)
        numbers = self._by_hash[first:last].tolist()
        found = [self.names[number] for number in numbers if self._line(number) == wanted]
        return name if name in found else next(iter(found), None)

    def _line(self, number: int) -> bytes:
        return self._text[self._starts[number] : self._starts[number + 1] - 1]

    def search(self, query: str, start: int = 0, most: int = MOST_FOUND) -> Found:
        """Those from number `start` on that have this in their name, in the order of the list; the target of this very
        name before the others.
        """
        wanted, start = _needle(query), min(start, len(self.names))
        numbers = list(islice(self._onwards(wanted, start), most + 1))
        before = list(islice(self._back(wanted, start), most))
        names = [self.names[number] for number in numbers[:most]]
        exact = None if before else self.exact(query)
        if exact is not None:
            names = [exact, *(name for name in names if name != exact)]
        later = numbers[most] if len(numbers) > most else None
        return Found(query, tuple(names), before[-1] if before else None, later)

    def _onwards(self, wanted: bytes, start: int) -> Iterator[int]:
        number = start
        while number < len(self.names):
            at = self._text.find(wanted, self._starts[number])
            if at < 0:
                return
            yield (found := self._number(at))
            number = found + 1

    def _back(self, wanted: bytes, start: int) -> Iterator[int]:
        number = start
        while number > 0:
            at = self._text.rfind(wanted, 1, self._starts[number] - 1)
            if at < 0:
                return
            yield (number := self._number(min(at, self._starts[number] - 2)))

    def _number(self, at: int) -> int:
        """Of the target whose name has this byte."""
        return bisect_right(self._starts, at) - 1


def _lines(text: bytes) -> Iterator[bytes]:
    """Those of the names, one at a time: a list of a million takes more memory than all that is kept."""
    first = 1
    while first < len(text):
        end = text.index(b"\n", first)
        yield text[first:end]
        first = end + 1


def _needle(typed: str) -> bytes:
    return caseless(" ".join(typed.split())).encode()


class TargetSearch:
    """The index of the present list of targets, made once for each list."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._index = TargetIndex(())

    def of(self, targets: tuple[str, ...]) -> TargetIndex:
        index = self._index
        if index.names is targets:
            return index
        takes_long()
        with self._lock:
            if self._index.names == targets:
                self._index.names = targets  # the next look is at one pointer
            else:
                self._index = TargetIndex(targets)
            return self._index
