"""The files of a public folder. Others may have put them there: each must be an ordinary file of bounded size."""

import os
import stat
from pathlib import Path

from deniable.errors import PlaceError

TRANSCRIPT = "transcript.jsonl"
PROGRAMME = "programme.json"
PUBLIC_KEY = "public_key.pem"
INSTRUCTIONS = "VERIFY.md"
PAGE = "index.html"

MOST_BYTES = 2**28
"""Far more than a transcript of a century of daily rounds."""


def folder_error(sentence: str, folder: Path | str) -> PlaceError:
    """A refusal that names a public folder, of which the path is nobody's business but the office's."""
    return PlaceError(sentence, str(folder), "the public folder")


def read_public(path: Path, last: int | None = None) -> bytes:
    """The file's bytes, or its `last` ones."""
    descriptor = None
    try:
        # Neither a link to another file nor a pipe, which would make us wait, is followed.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise folder_error(f"{path} must be an ordinary file", path.parent)
        if status.st_size > MOST_BYTES:
            raise folder_error(f"{path} must have at most {MOST_BYTES} bytes, got {status.st_size}", path.parent)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            if last is not None:
                file.seek(max(0, status.st_size - last))
            return file.read(MOST_BYTES)
    finally:
        if descriptor is not None:
            os.close(descriptor)
