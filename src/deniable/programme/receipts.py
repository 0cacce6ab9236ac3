"""Which reports from outside were counted already, so that importing a file again counts nothing twice.

A report is known by a keyed hash of its outside id while the run it was counted in goes on. When the run ends the hash
is dropped, and the source's high-water mark rises to the highest sequence number that was counted in the run: from then
on nothing up to the mark is counted. Sources number their reports in the order in which they came, and an export is
complete at the time it is made, so a report below the mark was there before.
"""

import hmac
import json
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Self

from deniable.errors import DeniableError
from deniable.state import Secret

# The stored length tells the order of magnitude of the most that ever waited, in steps of four, and nothing below this.
LEAST_ROOM = 16_384
_STEP = 4
# A source's name, and a target's number with the highest sequence number, in JSON.
_SOURCE_ROOM, _TARGET_ROOM = 700, 40
_RECORD = struct.Struct(">16sI")
_HEADER = struct.Struct(">II")
_BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Outside:
    """A report as its source names it."""

    outside_id: str
    sequence: int
    target: int


@dataclass(frozen=True, repr=False)
class Receipts(Secret):
    active: dict[bytes, int] = field(default_factory=dict)
    """Keyed hash of a report -> the target whose run it was counted in."""
    latest: dict[str, dict[int, int]] = field(default_factory=dict)
    """Source -> target -> the highest sequence number counted in the target's run."""
    marks: dict[str, int] = field(default_factory=dict)
    """Source -> high-water mark."""
    unsure: bool = False
    """Whether a recovery lost rounds, in which reports of any source may have been counted that we do not know of."""
    settled: frozenset[str] = frozenset()
    """Sources that were marked anew since then."""
    room: int = LEAST_ROOM
    """For so many hashes; it never shrinks."""

    def count(
        self, source: str, reports: Iterable[Outside], keyed_hash: Callable[[str, str], bytes]
    ) -> tuple[Self, Counter[int]]:
        """The receipts after importing these reports, and how many of them are new, by target."""
        if self.unsure and source not in self.settled:
            return self.marked(source, reports), Counter()
        active, latest, new = dict(self.active), dict(self.latest.get(source, {})), Counter[int]()
        mark = self.marks.get(source, -1)
        for report in reports:
            known = keyed_hash(source, report.outside_id)
            if report.sequence > mark and known not in active:
                active[known] = report.target
                latest[report.target] = max(latest.get(report.target, -1), report.sequence)
                new[report.target] += 1
        return replace(self, active=active, latest=self.latest | {source: latest}), new

    def marked(self, source: str, reports: Iterable[Outside]) -> Self:
        """As if all of these were counted before, whether they were or not."""
        mark = max((report.sequence for report in reports), default=-1)
        marks = self.marks | {source: max(mark, self.marks.get(source, -1))}
        return replace(self, marks=marks, settled=self.settled | {source})

    def without(self, targets: Collection[int]) -> Self:
        """After the runs of these targets ended."""
        gone, marks, latest = set(targets), dict(self.marks), {}
        for source, numbers in self.latest.items():
            ended = [number for target, number in numbers.items() if target in gone]
            marks[source] = max([marks.get(source, -1), *ended])
            latest[source] = {target: number for target, number in numbers.items() if target not in gone}
        active = {known: target for known, target in self.active.items() if target not in gone}
        return replace(self, active=active, latest=latest, marks=marks)

    def after_recovery(self) -> Self:
        """Nothing of any source's next export is counted; it only sets the mark."""
        return replace(self, unsure=True, settled=frozenset())

    def pack(self, targets: int) -> bytes:
        """In a length that depends on the numbers of targets and sources and, coarsely, of reports."""
        room = self.room
        while room < len(self.active):
            room *= _STEP
        latest = [[source, list(numbers.items())] for source, numbers in self.latest.items()]
        header = json.dumps([latest, self.marks, self.unsure, sorted(self.settled), room]).encode()
        sources = len({*self.latest, *self.marks, *self.settled})
        header = header.ljust(_BLOCK + sources * (_SOURCE_ROOM * 3 + _TARGET_ROOM * targets))
        records = b"".join(_RECORD.pack(known, target) for known, target in self.active.items())
        return _HEADER.pack(len(header), len(self.active)) + header + records.ljust(room * _RECORD.size, b"\0")

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        length, size = _HEADER.unpack_from(packed)
        start = _HEADER.size + length
        latest, marks, unsure, settled, room = json.loads(packed[_HEADER.size : start])
        records = packed[start : start + size * _RECORD.size]
        return cls(
            dict(_RECORD.iter_unpack(records)),
            {source: dict(numbers) for source, numbers in latest},
            marks,
            unsure,
            frozenset(settled),
            room,
        )


def keyed_hash(key: bytes, source: str, outside_id: str) -> bytes:
    """16 bytes that tell a report from all others, and mean nothing without the key."""
    return hmac.digest(key, json.dumps([source, outside_id]).encode(), "sha256")[:16]


def check_source(name: str) -> str:
    if not 0 < len(name) <= 100 or not name.isprintable():
        raise DeniableError("the source must have a name of 1 to 100 printable characters, such as hotline")
    return name
