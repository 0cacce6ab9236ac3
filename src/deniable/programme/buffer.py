"""What came in and is not counted yet: sealed pages of one size, written one a tick whether anything came in or not.

What is written, how much and when then follows from the clock alone (docs/explanation/silent.md). Pages are numbered
from the last time that they were counted. Each is sealed under the open round and its number, with a key that the
sealed manifest holds beside their number and a hash of them all: a page that is lost, repeated, moved or put back is
noticed, and when they are counted a new key makes the old pages unreadable.
"""

import hashlib
import secrets
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from deniable.arrays import BoolArray, IntArray
from deniable.errors import DeniableError
from deniable.programme.secrets.vault import Vault
from deniable.state import Secret
from deniable.storage import tables

ROOM = 960
"""Slots of a page."""
TOGETHER = 64
"""Slots that count together or not at all, at most."""
PAGES = 300
"""That there is room for."""

SLOT = np.dtype(
    [
        ("kind", "u1"),
        ("source", "u1"),
        ("class", "u1"),
        ("group", "<u2"),
        ("target", "<i4"),
        ("number", "<u4"),
        ("import", "<u4"),
        ("id", "<u8", (2,)),
    ]
)
Slots = NDArray[np.void]
"""Shape (slots,): see `slots`."""


class Kind(IntEnum):
    """How a report came in; an empty slot has none."""

    ENTERED = 1
    WITHDRAWN = 2
    PUSHED = 3
    IMPORTED = 4
    TAKEN_BACK = 5
    """Not a report: an import that does not count, if it is not counted yet."""


NOTHING = np.zeros(0, SLOT)


def slots(
    kind: Kind,
    ids: NDArray[np.uint64],
    targets: object,
    numbers: object,
    *,
    classes: object = 0,
    source: int = 0,
    import_: int = 0,
) -> Slots:
    """One slot for every report or number of reports about a target, of one class. import_: the number of the import
    that brings it, if it can be taken back.

    Those with the same id came in together, and count together or not at all; they are at most `TOGETHER`, next to one
    another.
    """
    made = np.zeros(len(ids), SLOT)
    made["kind"], made["source"], made["import"], made["id"] = kind, source, import_, ids
    made["target"], made["number"], made["class"] = targets, numbers, classes
    return made


def cut(brought: Slots, room: int) -> tuple[Slots, Slots]:
    """As many of the first slots as fit, and the others; those that belong together stay together."""
    if len(brought) <= room:
        return brought, brought[:0]
    is_first = np.ones(len(brought), np.bool_)
    is_first[1:] = (brought["id"][1:] != brought["id"][:-1]).any(axis=1)
    at = int(np.flatnonzero(is_first[: room + 1])[-1])
    return brought[:at], brought[at:]


@dataclass(frozen=True, repr=False)
class Arrived(Secret):
    """Everything since the pages were last counted, in the order in which it came."""

    slots: Slots
    page: IntArray
    """Of each slot."""

    def where(self, chosen: BoolArray) -> "Arrived":
        return Arrived(self.slots[chosen], self.page[chosen])

    @property
    def together(self) -> IntArray:
        """A number for each slot, the same for those that came in together and no others."""
        return np.asarray(self.page * 2**16 + self.slots["group"], np.int64)


class Buffer:
    """The pages since they were last counted, within a transaction."""

    def __init__(self, connection: sa.Connection, programme: str, key: str, pages: int, chain: str) -> None:
        self._connection = connection
        self._programme = programme
        self._key = key
        self._pages = pages
        self._chain = chain

    @classmethod
    def empty(cls, connection: sa.Connection, programme: str) -> Self:
        """With a new key: what was written with another is gone."""
        return cls(connection, programme, secrets.token_hex(32), 0, "")

    def to_dict(self) -> dict[str, str | int]:
        """What the manifest says of it."""
        return {"key": self._key, "pages": self._pages, "chain": self._chain}

    @property
    def is_full(self) -> bool:
        return self._pages == PAGES

    def write(self, round_: int, brought: Slots) -> None:
        """One more page, with these slots; there must be room."""
        page = np.zeros(ROOM, SLOT)
        page[: len(brought)] = brought
        blob = self._vault().seal(_name(round_, self._pages), page.tobytes())
        tables.put(self._connection, tables.pages, self._pages, blob)
        self._pages, self._chain = self._pages + 1, _chained(self._chain, blob)

    def read(self, round_: int) -> Arrived:
        """All of it; refused where a page is not as it was written."""
        found = sa.select(tables.pages.c.blob).where(tables.pages.c.place < self._pages).order_by(tables.pages.c.place)
        blobs = [bytes(blob) for blob in self._connection.execute(found).scalars()]
        chain = ""
        for blob in blobs:
            chain = _chained(chain, blob)
        if (len(blobs), chain) != (self._pages, self._chain):
            raise DeniableError("a stored page of reports is missing or was changed; restore the last backup")
        vault = self._vault()
        pages = b"".join(vault.open(_name(round_, number), blob) for number, blob in enumerate(blobs))
        every = np.frombuffer(pages, SLOT)
        is_taken = every["kind"] > 0
        return Arrived(every[is_taken], np.repeat(np.arange(len(blobs)), ROOM)[is_taken])

    def _vault(self) -> Vault:
        return Vault(bytes.fromhex(self._key), self._programme)


def _name(round_: int, number: int) -> str:
    return f"page/round {round_}/{number}"


def _chained(before: str, blob: bytes) -> str:
    return hashlib.sha256(before.encode("ascii") + blob).hexdigest()
