"""Which reports from outside were counted already, so that importing a file again counts nothing twice.

A report is known by a keyed hash of its outside id while the run it was counted in goes on. When the run ends the hash
is dropped, and the source's high-water mark rises to the highest sequence number that was counted in the run: from then
on nothing up to the mark is counted. Sources number their reports in the order in which they came, and an export is
complete at the time it is made, so a report below the mark was there before.

A source has room for so many hashes, always the same. Where nothing is kept stands a random one without a target, so
that neither the stored length nor the time that an import takes tells how many reports wait. Where the room is too
small, all hashes of the source are dropped, and its mark rises as if every run had ended.

What is counted of a source follows from that source's files and the audits, and from nothing that others bring. If it
did not, one report could decide whether thousands of another file count, and noise made for one would not hide it.
"""

import hmac
import json
import secrets
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deniable.errors import DeniableError
from deniable.state import Secret

ROOM = 16_384
"""Hashes of one source."""
MOST_SOURCES = 50
LONGEST_NAME = 100
# In JSON: a letter of the name, at most two escapes of six; a target's highest sequence number; all else.
_LETTER, _TARGET, _REST = 12, 22, 100
_RECORD = np.dtype([("hash", ">u8", 2), ("target", ">u4")])
_HEADER = struct.Struct(">II")
_NO_TARGET = np.uint32(2**32 - 1)
_HIGHEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Outside:
    """A report as its source names it; its sequence number is below 2**63."""

    outside_id: str
    sequence: int
    target: int


def _random(rows: int) -> NDArray[np.uint64]:
    """Hashes of nothing, shape (rows, 2)."""
    return np.frombuffer(secrets.token_bytes(rows * 16), np.uint64).reshape(rows, 2)


def _no_targets() -> NDArray[np.uint32]:
    return np.full(ROOM, _NO_TARGET)


def _no_numbers() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


@dataclass(frozen=True, repr=False, eq=False)
class Source(Secret):
    """What is known of one source."""

    hashes: NDArray[np.uint64] = field(default_factory=lambda: _random(ROOM))
    """Keyed hashes of reports, shape (ROOM, 2)."""
    targets: NDArray[np.uint32] = field(default_factory=_no_targets)
    """The target in whose run each was counted, shape (ROOM,); `_NO_TARGET` where there is no report."""
    latest: NDArray[np.int64] = field(default_factory=_no_numbers)
    """By target the highest sequence number counted in its run, or -1."""
    mark: int = -1
    """The high-water mark."""
    unsure: bool = False
    """Whether a recovery lost rounds, in which reports may have been counted that we do not know of."""

    def count(self, reports: Iterable[Outside], keyed_hash: Callable[[str], bytes]) -> tuple[Self, Counter[int]]:
        """The source after importing these reports, and how many of them are new, by target.

        The work depends on the reports that are brought, and on nothing that is known already.
        """
        rows = list(reports)
        sequences = np.array([report.sequence for report in rows], np.int64)
        targets = np.array([report.target for report in rows], np.uint32)
        joined = b"".join(keyed_hash(report.outside_id) for report in rows)
        above = sequences > (_HIGHEST if self.unsure else self.mark)
        brought = np.where(above[:, None], np.frombuffer(joined, ">u8").reshape(-1, 2), _random(len(rows)))
        hashes = np.concatenate([self.hashes, brought])
        new = above & ~_seen_before(hashes)[ROOM:]

        latest = _lengthened(self.latest, int(targets.max(initial=0)) + 1)
        np.maximum.at(latest, targets, np.where(new, sequences, -1))
        counts = np.zeros(len(latest), np.int64)
        np.add.at(counts, targets, new)

        after = replace(self.marked(rows) if self.unsure else self, latest=latest)
        after = after._keeping(hashes, np.concatenate([self.targets, np.where(new, targets, _NO_TARGET)]))
        return after, Counter(dict(enumerate(counts.tolist())))

    def marked(self, reports: Iterable[Outside]) -> Self:
        """As if all of these were counted before, whether they were or not."""
        highest = max((report.sequence for report in reports), default=-1)
        return replace(self, mark=max(self.mark, highest), unsure=False)

    def without(self, targets: Collection[int]) -> Self:
        """After the runs of these targets ended."""
        gone = list(targets)
        ended = np.isin(np.arange(len(self.latest)), gone)
        mark = max(self.mark, int(np.where(ended, self.latest, -1).max(initial=-1)))
        after = replace(self, latest=np.where(ended, -1, self.latest), mark=mark)
        return after._keeping(self.hashes, np.where(np.isin(self.targets, gone), _NO_TARGET, self.targets))

    def _keeping(self, hashes: NDArray[np.uint64], targets: NDArray[np.uint32]) -> Self:
        """With those of these records, at least ROOM of them, that have a target; or with none and with a higher mark,
        where they are too many.
        """
        is_full = np.count_nonzero(targets != _NO_TARGET) > ROOM
        targets = np.where(is_full, _NO_TARGET, targets)
        first = np.argsort(targets == _NO_TARGET, kind="stable")[:ROOM]
        kept = targets[first]
        # Nothing is left of a report that is not kept, and whatever comes next sorts equally many random numbers.
        hashes = np.where((kept == _NO_TARGET)[:, None], _random(ROOM), hashes[first])
        highest = int(self.latest.max(initial=-1)) if is_full else -1
        return replace(self, hashes=hashes, targets=kept, mark=max(self.mark, highest))

    def pack(self, name: str, targets: int) -> bytes:
        """In a length that depends on the number of targets alone."""
        told = json.dumps([name, self.mark, self.unsure, _lengthened(self.latest, targets).tolist()]).encode()
        room = _LETTER * LONGEST_NAME + _TARGET * targets + _REST
        if len(told) > room:
            raise AssertionError("what is told of a source must fit into its room")
        records = np.empty(ROOM, _RECORD)
        records["hash"], records["target"] = self.hashes, self.targets
        return told.ljust(room) + records.tobytes()

    @classmethod
    def unpack(cls, packed: bytes) -> tuple[str, Self]:
        start = len(packed) - ROOM * _RECORD.itemsize
        name, mark, unsure, latest = json.loads(packed[:start])
        records = np.frombuffer(packed, _RECORD, offset=start)
        hashes, targets = records["hash"].astype(np.uint64), records["target"].astype(np.uint32)
        return name, cls(hashes, targets, np.array(latest, np.int64), mark, unsure)


@dataclass(frozen=True, repr=False, eq=False)
class Receipts(Secret):
    sources: Mapping[str, Source] = field(default_factory=dict)
    """By name."""
    unsure: bool = False
    """Of sources that are not known yet: whether a recovery lost rounds in which they may have come."""

    def count(
        self, name: str, reports: Iterable[Outside], keyed_hash: Callable[[str, str], bytes]
    ) -> tuple[Self, Counter[int]]:
        """The receipts after importing these reports of a source, and how many of them are new, by target."""
        source, new = self._source(name).count(reports, partial(keyed_hash, name))
        return self._with(name, source), new

    def marked(self, name: str, reports: Iterable[Outside]) -> Self:
        """As if all of these were counted before, whether they were or not."""
        return self._with(name, self._source(name).marked(reports))

    def knowing(self, name: str) -> Self:
        """With room for a source, of which nothing need have come yet."""
        return self._with(name, self._source(name))

    def _source(self, name: str) -> Source:
        return self.sources.get(name, Source(unsure=self.unsure))

    def _with(self, name: str, source: Source) -> Self:
        after = {**self.sources, name: source}
        if len(after) > MOST_SOURCES:
            raise DeniableError(f"a programme can have at most {MOST_SOURCES} sources; use one of those it has")
        return replace(self, sources=after)

    def without(self, targets: Collection[int]) -> Self:
        """After the runs of these targets ended."""
        return replace(self, sources={name: source.without(targets) for name, source in self.sources.items()})

    def after_recovery(self) -> Self:
        """Nothing of any source's next export is counted; it only sets the mark."""
        known = {name: replace(source, unsure=True) for name, source in self.sources.items()}
        return replace(self, sources=known, unsure=True)

    def pack(self, targets: int) -> bytes:
        """In a length that depends on the numbers of targets and sources alone."""
        packed = [source.pack(name, targets) for name, source in self.sources.items()]
        return _HEADER.pack(len(packed), self.unsure) + b"".join(packed)

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        number, unsure = _HEADER.unpack_from(packed)
        length = (len(packed) - _HEADER.size) // max(number, 1)
        starts = range(_HEADER.size, _HEADER.size + number * length, max(length, 1))
        return cls(dict(Source.unpack(packed[start : start + length]) for start in starts), bool(unsure))


def _seen_before(hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether the same hash stands in an earlier row, shape (rows,)."""
    order = np.lexsort(hashes.T)  # stable, so that the first of equals stays first
    ordered = hashes[order]
    again = np.zeros(len(hashes), np.bool_)
    again[order[1:]] = (ordered[1:] == ordered[:-1]).all(axis=1)
    return again


def _lengthened(numbers: NDArray[np.int64], targets: int) -> NDArray[np.int64]:
    """A copy for at least so many targets."""
    missing = max(0, targets - len(numbers))
    return np.concatenate([numbers, np.full(missing, -1, np.int64)])


def keyed_hash(key: bytes, source: str, outside_id: str) -> bytes:
    """16 bytes that tell a report from all others, and mean nothing without the key."""
    return hmac.digest(key, json.dumps([source, outside_id]).encode(), "sha256")[:16]


def check_source(name: str) -> str:
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise DeniableError(f"the source must have a name of 1 to {LONGEST_NAME} printable characters, such as hotline")
    return name
