"""Which reports the programme knows already, so that a report that comes again counts nothing.

A report is known by a keyed hash of its id for as long as the programme lasts: its hotline can bring it again at any
time, in the same export or in a longer one. So whether a report counts depends on that report and on public facts, and
on no other report (docs/explanation/end-to-end.md; what this costs is in docs/decisions/0006-known-reports.md).

Hashes are kept in blocks of `ROOM` places. A block begins with a secret random number of places that are taken by
nothing, so that the number of blocks, which is visible, tells next to nothing about one report. Places that nothing
took hold random numbers, so that finding a hash is the same work however many there are in a block.
"""

import hmac
import json
import secrets
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deniable.arrays import IntArray
from deniable.errors import DeniableError
from deniable.message import why_not
from deniable.programme.names import check_name
from deniable.state import Secret

ROOM = 16_384
"""Hashes of one block."""
MOST_SOURCES = 50
LONGEST_NAME = 100
ENTERED = ""
"""The source of reports that people enter and machines push; no hotline can have this name."""

Hashes = NDArray[np.uint64]
"""Shape (rows, 2): 128 bits each."""

_FEW = 64
_MOST_NUMBERS = np.uint64(2**30)
"""More than can be entered at once."""
_TAKEN = struct.Struct(">I")


@dataclass(frozen=True, repr=False, eq=False)
class KnownReports(Secret):
    """Those of one source."""

    hashes: Hashes
    """Whole blocks of them."""
    taken: int
    """Places of the last block that are taken, by reports or by nothing."""

    @classmethod
    def none(cls) -> Self:
        """Before the first report."""
        return cls(_random(ROOM), secrets.randbelow(ROOM))

    @property
    def blocks(self) -> int:
        return len(self.hashes) // ROOM

    def new(self, brought: Hashes) -> NDArray[np.bool_]:
        """Which of these reports are not known, shape (rows,); of equal ones the first."""
        if len(brought) <= _FEW:
            # Both are looked at in any case: a report that is known takes no less work than a new one.
            found = [_stands_in(self.hashes, row) | _stands_in(brought[:i], row) for i, row in enumerate(brought)]
            return ~np.array(found, np.bool_)
        return ~seen_before(np.concatenate([self.hashes, brought]))[len(self.hashes) :]

    def numbers(self, brought: Hashes) -> IntArray:
        """The number that stands in each of these hashes (`with_numbers`), shape (rows,); 0 where none is known."""
        found = np.zeros(len(brought), np.int64)
        for i, (first, second) in enumerate(brought):
            number = self.hashes[:, 1] ^ second
            found[i] = np.where((self.hashes[:, 0] == first) & (number < _MOST_NUMBERS), number, 0).max()
        return found

    def with_reports(self, new: Hashes) -> Self:
        """With these reports, which are not known yet."""
        hashes, taken = [self.hashes[: len(self.hashes) - ROOM + self.taken]], self.taken
        while len(new) > ROOM - taken:
            first, new = new[: ROOM - taken], new[ROOM - taken :]
            taken = secrets.randbelow(ROOM)
            hashes += [first, _random(taken)]
        return type(self)(np.concatenate([*hashes, new, _random(ROOM - taken - len(new))]), taken + len(new))

    def with_new_block(self) -> Self:
        """With a further block, into which the next reports go."""
        room = self.none()
        return type(self)(np.concatenate([self.hashes, room.hashes]), room.taken)

    def pack(self, block: int) -> bytes:
        """One of its blocks, in always the same length."""
        taken = self.taken if block == self.blocks - 1 else ROOM
        return _TAKEN.pack(taken) + self.hashes[block * ROOM : (block + 1) * ROOM].astype("<u8", copy=False).tobytes()

    @classmethod
    def unpack(cls, blocks: Sequence[bytes]) -> Self:
        hashes = [np.frombuffer(block, "<u8", offset=_TAKEN.size).reshape(ROOM, 2) for block in blocks]
        (taken,) = _TAKEN.unpack_from(blocks[-1])
        return cls(np.concatenate(hashes).astype(np.uint64, copy=False), taken)


def keyed_hashes(key: bytes, ids: Iterable[Sequence[object]]) -> Hashes:
    """What tells reports apart, and means nothing without the key. An id is a list of texts and numbers."""
    digests = bytearray()
    for id_ in ids:
        digests += hmac.digest(key, json.dumps(id_).encode(), "sha256")[:16]
    return np.frombuffer(digests, ">u8").reshape(-1, 2).astype(np.uint64)


def with_numbers(hashes: Hashes, numbers: Iterable[int]) -> Hashes:
    """Hashes of what was entered, with how many reports it was in each: of its 128 bits, 98 still tell them apart.

    The key and the id read the number again, and without either it is as random as the hash.
    """
    hidden = hashes.copy()
    hidden[:, 1] ^= np.fromiter(numbers, np.uint64, len(hashes))
    return hidden


def seen_before(hashes: Hashes) -> NDArray[np.bool_]:
    """Whether the same hash stands in an earlier row, shape (rows,)."""
    order = np.lexsort(hashes.T)  # stable, so that the first of equals stays first
    ordered = hashes[order]
    again = np.zeros(len(hashes), np.bool_)
    again[order[1:]] = (ordered[1:] == ordered[:-1]).all(axis=1)
    return again


def check_source(name: str) -> str:
    return check_name(why_not("a hotline's name"), name, LONGEST_NAME)


def pack_sources(names: Sequence[str]) -> bytes:
    """The names of all sources, in a length that depends on their number alone."""
    if len(names) > MOST_SOURCES + 1:  # what is entered has a source of its own
        raise DeniableError(
            "a programme can have at most {most_sources} hotlines; use one of those it has", most_sources=MOST_SOURCES
        )
    letter = 12  # of a name in JSON: at most two escapes of six
    return json.dumps(names).encode().ljust(len(names) * (letter * LONGEST_NAME + 4))


def _random(rows: int) -> Hashes:
    """Hashes of nothing."""
    return np.frombuffer(secrets.token_bytes(rows * 16), np.uint64).reshape(rows, 2)


def _stands_in(hashes: Hashes, row: NDArray[np.uint64]) -> bool:
    return bool((hashes == row).all(axis=1).any())
