"""What only the oversight body can read: every round's reports and seed, sealed to its age key."""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyrage

from deniable.arrays import IntArray
from deniable.errors import DeniableError
from deniable.noise import ReplayNoise
from deniable.state import Secret

_MAGIC = b"deniable-seal/1\n"
_HEADER = struct.Struct(">QI32s")
_LENGTH = struct.Struct(">I")
# An age file has a header of random length, on purpose; the seal is filled up to where none reaches.
_ROOM = 2048


@dataclass(frozen=True, repr=False)
class Inputs(Secret):
    """Everything a round's draw follows from, besides the transcript before it."""

    round: int
    reports: tuple[int, ...]
    """Counted in this round, for every target there ever was."""
    seed: bytes

    def sealed(self, recipient: str) -> bytes:
        """For the holder of the recipient's key alone; the length depends on the number of targets alone.

        The length of the age file, the age file, and zeros.
        """
        body = np.array(self.reports, ">u8").tobytes()
        packed = _MAGIC + _HEADER.pack(self.round, len(self.reports), self.seed) + body
        file = bytes(pyrage.encrypt(packed, [check_recipient(recipient)]))
        return (_LENGTH.pack(len(file)) + file).ljust(_ROOM + len(packed) + len(packed) // 1024, b"\0")

    @classmethod
    def unsealed(cls, seal: bytes, identity: pyrage.x25519.Identity) -> Self:
        try:
            (length,) = _LENGTH.unpack_from(seal)
            packed = bytes(pyrage.decrypt(seal[_LENGTH.size : _LENGTH.size + length], [identity]))
            if not packed.startswith(_MAGIC):
                raise DeniableError("the sealed inputs were written by another version")
            number, targets, seed = _HEADER.unpack_from(packed, len(_MAGIC))
            reports = np.frombuffer(packed, ">u8", targets, len(_MAGIC) + _HEADER.size).tolist()
        except (pyrage.DecryptError, struct.error, ValueError):
            raise DeniableError("the sealed inputs cannot be opened with this key, or were changed") from None
        return cls(number, tuple(reports), seed)


def check_recipient(text: str) -> pyrage.x25519.Recipient:
    try:
        return pyrage.x25519.Recipient.from_str(text)
    except pyrage.RecipientError:
        raise DeniableError("the oversight key must be an age recipient, which begins with age1") from None


def noise_of_round(
    programme: str, number: int, seed: bytes, run: bytes, reports: Sequence[int] | IntArray
) -> ReplayNoise:
    """The generator of round `number`. `run` is the saved run before the round, `reports` are the round's own."""
    inputs = hashlib.sha256(
        b"deniable-inputs/1\n" + hashlib.sha256(run).digest() + np.asarray(reports).astype(">u8").tobytes()
    ).digest()
    bound = f"deniable-draw/1\n{programme}\n{number}\n".encode("ascii")
    return ReplayNoise(hashlib.shake_256(bound + seed + inputs).digest(32))
