"""The key file of a witness: one line, as other programs for signed notes write it, for its owner alone."""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from deniable.errors import DeniableError, why
from deniable.programme.transcript.signatures import KEY_BYTES, new_key, public_key
from deniable.programme.witness.notes import COSIGNATURE, VerifierKey, decoded, encoded
from deniable.state import Secret
from deniable.storage.files import write_new

KEY_FILE_BEGINS = "PRIVATE+KEY+"
_LINE = re.compile(re.escape(KEY_FILE_BEGINS) + r"([^+\n]+)\+([0-9a-f]{8})\+([^\n]+)\n?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_LONGEST_NAME = 200


@dataclass(frozen=True, repr=False)
class WitnessKey(Secret):
    """A witness's name and its Ed25519 private key."""

    name: str
    private: bytes

    def __post_init__(self) -> None:
        if (
            not _NAME.fullmatch(self.name)
            or len(self.name) > _LONGEST_NAME
            or any(map(str.isdigit, self.name.split("/")))  # as the files of notes are named
        ):
            raise DeniableError(
                "a witness's name must be like an address without https://, such as union.example or paper.example/desk"
            )

    @property
    def public(self) -> VerifierKey:
        """What others check its countersignatures with."""
        return VerifierKey(self.name, COSIGNATURE, public_key(self.private))

    @classmethod
    def new(cls, name: str) -> Self:
        return cls(name, new_key())

    def write(self, path: Path) -> None:
        """Into a new file."""
        secret = encoded(bytes([COSIGNATURE]) + self.private)
        line = f"{KEY_FILE_BEGINS}{self.name}+{self.public.id.hex()}+{secret}\n"
        try:
            write_new(path, [line.encode("ascii")])
        except FileExistsError:
            raise DeniableError(f"{path} exists already; a key file is never overwritten, so name another") from None
        except OSError as error:
            raise DeniableError(f"cannot write the key file {path}: {why(error)}") from None

    @classmethod
    def read(cls, path: Path) -> Self:
        """That in a file which only its owner can read."""
        found = _LINE.fullmatch(_content(path))
        secret = decoded(found[3]) if found else b""
        if found is None or len(secret) != 1 + KEY_BYTES or secret[0] != COSIGNATURE:
            raise DeniableError(f"{path} is not the key file of a witness, or it was changed")
        key = cls(found[1], secret[1:])
        if key.public.id.hex() != found[2]:
            raise DeniableError(f"{path} was changed: its parts do not belong together; put back the copy you keep")
        return key


def _content(path: Path) -> str:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe must not make us wait
        try:
            status = os.fstat(file)
            content = os.read(file, 1024) if stat.S_ISREG(status.st_mode) else b""
        finally:
            os.close(file)
    except FileNotFoundError:
        raise DeniableError(
            f"there is no key file {path}; put back the copy you keep or, the first time, make one with --name NAME"
        ) from None
    except OSError as error:
        raise DeniableError(f"cannot read the key file {path}: {why(error)}") from None
    if content and status.st_mode & 0o077:
        raise DeniableError(f"the key file {path} must be closed to other users; run: chmod 600 {path}")
    return content.decode("latin-1")
