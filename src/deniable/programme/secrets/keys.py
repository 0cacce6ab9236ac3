"""Where a programme's master key comes from: a key file, or a passphrase."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from deniable.errors import DeniableError
from deniable.programme.secrets.vault import Kdf, derive, new_key_file, read_key_file
from deniable.state import Secret


@dataclass(frozen=True)
class KeyFile:
    """A file of its owner's alone, outside the database."""

    path: Path

    @property
    def transcript(self) -> Path:
        """Where a copy of the transcript is kept, apart from the database; the same whatever link names the key."""
        file = Path(os.path.realpath(self.path))
        return file.with_name(f"{file.name}.transcript")

    def new(self) -> tuple[bytes, str | None]:
        """A master key for a new programme, and what the database must keep to find it again: nothing."""
        if os.path.lexists(self.transcript) and not self.path.exists():
            raise DeniableError(
                "{transcript} exists already and belongs to the key file that was here before; "
                "move it away, or name another key file",
                transcript=self.transcript,
            )
        return new_key_file(self.path), None

    def master(self, kdf: str | None) -> bytes:
        if kdf is not None:
            raise DeniableError("this programme is locked with a passphrase, not with a key file: use --passphrase")
        return read_key_file(self.path)

    def discard(self) -> None:
        """Undo `new`, when no programme came of it."""
        self.transcript.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True, repr=False)
class Passphrase(Secret):
    """Known to people, and stretched with Argon2id."""

    text: str

    def new(self) -> tuple[bytes, str | None]:
        """A master key for a new programme, and the public salt and costs that the database keeps."""
        kdf = Kdf.new()
        return derive(self.text, kdf), json.dumps(kdf.to_dict())

    def master(self, kdf: str | None) -> bytes:
        if kdf is None:
            raise DeniableError("this programme is locked with a key file, not with a passphrase: use --key FILE")
        return derive(self.text, Kdf.from_dict(json.loads(kdf)))

    def discard(self) -> None:
        """Nothing was left anywhere."""


Key = KeyFile | Passphrase
