"""What only the oversight body can read: every round's reports and seed, sealed to its age key."""

import hashlib
import struct
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyrage

from deniable.arrays import IntArray
from deniable.errors import DeniableError
from deniable.noise import ReplayNoise
from deniable.programme.transcript.hidden import SALT_BYTES
from deniable.state import Secret

_MAGIC = b"deniable-seal/4\n"
_HEADER = struct.Struct(">QHI32s32s32s")
_LENGTH = struct.Struct(">I")
# An age file has a header of random length, on purpose; the seal is filled up to where none reaches.
_ROOM = 2048


@dataclass(frozen=True, eq=False, repr=False)
class Inputs(Secret):
    """Everything a round's draw follows from, besides the transcript before it and a public value."""

    round: int
    reports: IntArray
    """Counted in this round, (classes in the draw, C): of every class, for every target there ever was."""
    seed: bytes
    salt: bytes = bytes(SALT_BYTES)
    """Of the public hash of all this, where there is one; the draw does not follow from it."""
    names_salt: bytes = bytes(SALT_BYTES)
    """Of the commitment to the names, where they are not public at once."""

    def sealed(self, recipient: str) -> bytes:
        """For the holder of the recipient's key alone; the length depends on the numbers of classes and targets alone.

        The length of the age file, the age file, and zeros.
        """
        packed = self.packed()
        file = bytes(pyrage.encrypt(packed, [check_recipient(recipient)]))
        return (_LENGTH.pack(len(file)) + file).ljust(_ROOM + len(packed) + len(packed) // 1024, b"\0")

    def packed(self) -> bytes:
        header = _HEADER.pack(self.round, *self.reports.shape, self.seed, self.salt, self.names_salt)
        return _MAGIC + header + packed_reports(self.reports)

    @classmethod
    def unpacked(cls, packed: bytes) -> Self:
        """What `packed` wrote; there may be more after it."""
        if not packed.startswith(_MAGIC):
            raise DeniableError("the sealed inputs were written by another version")
        number, classes, targets, *secrets = _HEADER.unpack_from(packed, len(_MAGIC))
        reports = np.frombuffer(packed, ">u4", classes * targets, len(_MAGIC) + _HEADER.size).astype(np.int64)
        return cls(number, reports.reshape(classes, targets), *secrets)

    @classmethod
    def unsealed(cls, seal: bytes, identity: pyrage.x25519.Identity) -> Self:
        try:
            (length,) = _LENGTH.unpack_from(seal)
            packed = bytes(pyrage.decrypt(seal[_LENGTH.size : _LENGTH.size + length], [identity]))
            return cls.unpacked(packed)
        except (pyrage.DecryptError, struct.error, ValueError):
            raise DeniableError("the sealed inputs cannot be opened with this key, or were changed") from None


def check_recipient(text: str) -> pyrage.x25519.Recipient:
    try:
        return pyrage.x25519.Recipient.from_str(text)
    except pyrage.RecipientError:
        raise DeniableError("the oversight key must be an age recipient, which begins with age1") from None


def noise_of_figures(programme: str, number: int, seed: bytes, received: IntArray) -> ReplayNoise:
    """The generator of the yearly figures that follow on round `number`, another than the round's own.

    `received` are the year's reports, (classes,).
    """
    bound = f"deniable-figures/1\n{programme}\n{number}\n".encode("ascii")
    return ReplayNoise(hashlib.shake_256(bound + seed + hashlib.sha256(packed_reports(received)).digest()).digest(32))


def packed_reports(reports: IntArray) -> bytes:
    return reports.astype(">u4").tobytes()
