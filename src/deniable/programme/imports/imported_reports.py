"""Which reports the programme knows already, so that a report that comes again counts nothing.

A report is known by a keyed hash of its id for as long as the programme lasts: its hotline can bring it again at any
time, in the same export or in a longer one. So whether a report counts depends on that report and on public facts, and
on no other report (docs/explanation/end-to-end.md; what this costs is in docs/decisions/0006-known-reports.md).

Hashes are kept in blocks of `ROOM` places. A block begins with a secret random number of places that are taken by
nothing, so that the number of blocks, which is visible, tells next to nothing about one report. Places that nothing
took hold random numbers, so that finding a hash is the same work however many there are in a block. What is looked for
is filled up with random numbers, too, so that the work tells next to nothing about one report (`rows_looked_for`).
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

LOOKED_FOR = 4096
"""Hashes are looked for in multiples of so many."""
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
        like = self._like(brought)
        is_known = (like >= 0) & (self.hashes[like, 1] == brought[:, 1])
        return np.asarray(~(is_known | seen_before(brought)), np.bool_)

    def numbers(self, brought: Hashes) -> IntArray:
        """The number that stands in each of these hashes (`with_numbers`), shape (rows,); 0 where none is known."""
        like = self._like(brought)
        number = self.hashes[like, 1] ^ brought[:, 1]
        return np.where((like >= 0) & (number < _MOST_NUMBERS), number, 0).astype(np.int64)

    def _like(self, brought: Hashes) -> IntArray:
        """The place of a known hash whose first half is that of each of these, shape (rows,); -1 where there is none.

        One pass over all that is known, which takes the same time whatever is found. That two reports share the first
        half, 64 bits, has a chance of less than one in ten million among a million.
        """
        filled = np.concatenate([brought, _random(rows_looked_for(len(brought)) - len(brought))])
        firsts = np.sort(filled[:, 0])
        places = np.searchsorted(firsts, self.hashes[:, 0])
        is_found = firsts[np.minimum(places, len(firsts) - 1)] == self.hashes[:, 0]
        like = np.full(len(firsts) + 1, -1, np.int64)  # the last one is for all that is not looked for
        like[np.where(is_found, places, len(firsts))] = np.arange(len(self.hashes))
        return like[np.searchsorted(firsts, brought[:, 0])]

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


def rows_looked_for(brought: int) -> int:
    """As how many so many hashes are looked for. Where the next multiple begins is secret, and another one each time:
    who sends reports up to just below it would see by the time whether another person entered one. So one hash more
    makes a difference with a chance of 1 in `LOOKED_FOR`.
    """
    return ((brought + secrets.randbelow(LOOKED_FOR)) // LOOKED_FOR + 1) * LOOKED_FOR


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
