"""Whether what is published checks out, as any reader would find; looked at once for each state of the files."""

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from deniable.console.console import Console
from deniable.console.pages.common import refusal, sentence
from deniable.console.public_record import Record
from deniable.console.remembered import Remembered, takes_long
from deniable.errors import DeniableError
from deniable.programme.parameters import Parameters
from deniable.programme.programme import Programme
from deniable.programme.public.folder import (
    CALENDAR,
    CHECKPOINT,
    INSTRUCTIONS,
    PAGE,
    PROGRAMME,
    PUBLIC_KEY,
    TRANSCRIPT,
    read_public,
)
from deniable.programme.public.publish import contents
from deniable.programme.public.verify import verify
from deniable.programme.transcript.chain import from_file
from deniable.programme.transcript_copies import check_agree

_FILES = (TRANSCRIPT, CHECKPOINT, PROGRAMME, PUBLIC_KEY, INSTRUCTIONS, CALENDAR, PAGE)

SETTLED = 2 * 10**9
"""Nanoseconds after which another change of a file shows in its times, on any file system."""

_checks = Remembered["Verified"](most=4)
_digests: dict[Path, tuple[tuple[int, ...], str]] = {}


@dataclass(frozen=True)
class Verified:
    ok: bool
    remarks: tuple[str, ...]
    """Sentences: warnings, or why it does not check out."""


def verified(console: Console, programme: Programme, folder: Path) -> Verified:
    """What any reader would find who checks the published files now; and whether each of them is what the office wrote.

    The same files check out in the same way until another round is due. Remembered, since for some hundred rounds it
    takes a tenth of a second, in which no other person is served.
    """
    calendar = programme.parameters.calendar
    due = calendar.rounds_due(console.clock())
    now = calendar.due(due) if due else calendar.opens(1)
    record = console.public_records.current(programme.parameters)
    seen = _fingerprint(folder)
    try:
        return _checks.get(
            (folder, seen, now, record.head), lambda: _verified(folder, seen, now, programme.parameters, record)
        )
    except ChangingError:
        return Verified(False, ("The published files were changed while they were looked at. Look again.",))


class ChangingError(DeniableError):
    """The files are not those whose fingerprint was taken: what is found of them must not be remembered for those."""


def _verified(folder: Path, seen: Sequence[str], now: datetime, parameters: Parameters, record: Record) -> Verified:
    files = {name: _content(folder / name) for name in _FILES}
    if any(
        content is not None and _hash(content) != hash_ for content, hash_ in zip(files.values(), seen, strict=True)
    ):
        raise ChangingError
    try:
        warnings = verify(folder, now=now).warnings
        altered = _altered(files, parameters, record)
    except DeniableError as error:
        return Verified(False, (sentence(refusal(error)),))
    if altered:
        told = (
            f"Not as the office wrote them: {', '.join(altered)}. They were changed or taken away, or another version "
            "of deniable wrote them. Find out which, then publish again: that puts back what belongs there."
        )
        return Verified(False, (told, *map(sentence, warnings)))
    return Verified(True, tuple(map(sentence, warnings)))


def _altered(files: Mapping[str, bytes | None], parameters: Parameters, record: Record) -> tuple[str, ...]:
    """The published files that are not what this office would have written for as many entries, byte for byte."""
    transcript = files[TRANSCRIPT]
    if transcript is None:
        return (TRANSCRIPT,)
    lines, head_line = from_file(transcript)
    check_agree(lines, record.lines, "in the public folder differs from the database's")
    expected = contents(parameters, lines, head_line)
    return tuple(name for name in expected if files[name] != expected[name])


def _content(path: Path) -> bytes | None:
    try:
        return read_public(path)
    except (OSError, DeniableError):
        return None


def _fingerprint(folder: Path) -> tuple[str, ...]:
    """Of every byte that the check looks at."""
    return tuple(_digest(folder / name) for name in _FILES)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _digest(path: Path) -> str:
    """Of the file's content, which is read again where the file may have changed."""
    try:
        found = os.lstat(path)
        seen = (found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        known = _digests.get(path)
        if known is not None and known[0] == seen:
            return known[1]
        takes_long()
        is_settled = time.time_ns() - found.st_ctime_ns > SETTLED
        digest = _hash(read_public(path))
    except (OSError, DeniableError) as error:
        return f"{error}"
    if is_settled:  # a file that changes twice within a tick of the file system's clock shows the same times
        _digests[path] = (seen, digest)
    return digest
