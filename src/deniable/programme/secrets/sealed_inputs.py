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
from deniable.state import Secret

_MAGIC = b"deniable-seal/2\n"
_HEADER = struct.Struct(">QHI32s32s")
_LENGTH = struct.Struct(">I")
# An age file has a header of random length, on purpose; the seal is filled up to where none reaches.
_ROOM = 2048


@dataclass(frozen=True, eq=False, repr=False)
class Inputs(Secret):
    """Everything a round's draw follows from, besides the transcript before it."""

    round: int
    reports: IntArray
    """Counted in this round, (classes in the draw, C): of every class, for every target there ever was."""
    seed: bytes
    salt: bytes = bytes(32)
    """Of the commitment to the names, where they are not public at once."""

    def sealed(self, recipient: str) -> bytes:
        """For the holder of the recipient's key alone; the length depends on the numbers of classes and targets alone.

        The length of the age file, the age file, and zeros.
        """
        header = _HEADER.pack(self.round, *self.reports.shape, self.seed, self.salt)
        packed = _MAGIC + header + _packed(self.reports)
        file = bytes(pyrage.encrypt(packed, [check_recipient(recipient)]))
        return (_LENGTH.pack(len(file)) + file).ljust(_ROOM + len(packed) + len(packed) // 1024, b"\0")

    @classmethod
    def unsealed(cls, seal: bytes, identity: pyrage.x25519.Identity) -> Self:
        try:
            (length,) = _LENGTH.unpack_from(seal)
            packed = bytes(pyrage.decrypt(seal[_LENGTH.size : _LENGTH.size + length], [identity]))
            if not packed.startswith(_MAGIC):
                raise DeniableError("the sealed inputs were written by another version")
            number, classes, targets, seed, salt = _HEADER.unpack_from(packed, len(_MAGIC))
            reports = np.frombuffer(packed, ">u4", classes * targets, len(_MAGIC) + _HEADER.size).astype(np.int64)
        except (pyrage.DecryptError, struct.error, ValueError):
            raise DeniableError("the sealed inputs cannot be opened with this key, or were changed") from None
        return cls(number, reports.reshape(classes, targets), seed, salt)


def check_recipient(text: str) -> pyrage.x25519.Recipient:
    try:
        return pyrage.x25519.Recipient.from_str(text)
    except pyrage.RecipientError:
        raise DeniableError("the oversight key must be an age recipient, which begins with age1") from None


def noise_of_round(programme: str, number: int, seed: bytes, run: bytes, reports: IntArray) -> ReplayNoise:
    """The generator of round `number`. `run` is the saved run before the round, `reports` are the round's own, as in
    `Inputs`.
    """
    inputs = hashlib.sha256(b"deniable-inputs/2\n" + hashlib.sha256(run).digest() + _packed(reports)).digest()
    bound = f"deniable-draw/1\n{programme}\n{number}\n".encode("ascii")
    return ReplayNoise(hashlib.shake_256(bound + seed + inputs).digest(32))


def noise_of_figures(programme: str, number: int, seed: bytes, received: IntArray) -> ReplayNoise:
    """The generator of the yearly figures that follow on round `number`, another than the round's own.

    `received` are the year's reports, (classes,).
    """
    bound = f"deniable-figures/1\n{programme}\n{number}\n".encode("ascii")
    return ReplayNoise(hashlib.shake_256(bound + seed + hashlib.sha256(_packed(received)).digest()).digest(32))


def _packed(reports: IntArray) -> bytes:
    return reports.astype(">u4").tobytes()
