"""Whether what is published checks out, as any reader would find; looked at once for each state of the files."""

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from deniable.console.accounts import people
from deniable.console.console import Console
from deniable.console.pages.common import refusal
from deniable.console.public_record import Record
from deniable.console.remembered import Remembered, takes_long
from deniable.console.security import ALLOWED, Permission
from deniable.errors import DeniableError
from deniable.message import Message, noted, why_not
from deniable.programme.parameters import Parameters
from deniable.programme.programme import Programme
from deniable.programme.public.folder import PROGRAMME, TRANSCRIPT, published_names, read_public
from deniable.programme.public.publish import contents
from deniable.programme.public.verify import verify
from deniable.programme.secrets.lock import KeyChangedError
from deniable.programme.transcript.chain import check_lines, from_file
from deniable.programme.transcript_copies import check_agree

SETTLED = 2 * 10**9
"""Nanoseconds after which another change of a file shows in its times, on any file system."""

_checks = Remembered["Verified"](most=4)
_digests: dict[Path, tuple[tuple[int, ...], str]] = {}


Damage = Literal["", "missing", "changed"]
"""What happened to a file without which nothing can be published: the transcript, or the rules."""


Step = Literal["keep", "evidence", "copy", "download", "put back", "cause", "publish"]
"""What a person does about it. The templates say who does it, in sentences."""


@dataclass(frozen=True)
class Helpers:
    """Who puts the public files right, by name."""

    administrators: tuple[str, ...]
    """They run the computer."""
    publishers: tuple[str, ...]


def helpers_of(console: Console) -> Helpers:
    allowed: tuple[Permission, Permission] = ("people", "publish")
    with console.store.reading() as connection:
        found = (people.having(connection, console.key, ALLOWED[permission]) for permission in allowed)
        administrators, publishers = (tuple(one.name for one in able) for able in found)
    return Helpers(administrators, publishers)


@dataclass(frozen=True)
class Verified:
    ok: bool
    remarks: tuple[Message, ...]
    """Warnings, or why it does not check out."""
    steps: tuple[Step, ...] = ()
    """What to do where it does not check out, in this order."""
    file: str = ""
    """The one that people must put back."""
    folder: str = ""
    """Where it belongs."""
    damage: Damage = ""
    """Where publishing again does not mend it: people must put a file back first."""
    unpublished: tuple[int, ...] = ()
    """Rounds that are closed, and due, and not in the published files."""
    is_overdue: bool = False
    """Whether a remark says that a round is due and not closed."""
    has_other_remarks: bool = False
    """Whether there is more to remark than rounds that are due and not closed, for which Round and Health ask."""


_PUT_BACK: tuple[Step, ...] = ("copy", "download", "put back", "publish")


_UNTIL_BACK = noted("Reports still count. No round can be closed, and no decision recorded, until it is back.")
_UNTIL_RIGHT = noted(
    "Reports still count. No round can be closed here, and no decision recorded, until it is put right."
)
PUT_RIGHT_FIRST = noted(
    "Nothing was recorded. The files in the public folder must be put right first. Health says what to do."
)


def _missing(what: Message, folder: Path) -> Verified:
    return Verified(False, (what, _UNTIL_BACK), _PUT_BACK, TRANSCRIPT, str(folder), "missing")


def _changed(what: Message, file: str, folder: Path) -> Verified:
    return Verified(False, (what, _UNTIL_RIGHT), ("evidence", *_PUT_BACK), file, str(folder), "changed")


def damage_of(console: Console, programme: Programme) -> Damage:
    """Of the public folder; none where nothing is published, or the database's own record was changed, which other
    pages say.
    """
    folder = programme.status().folder
    try:
        return "" if folder is None else verified(console, programme, folder).damage
    except DeniableError:
        return ""


def behind(programme: Programme) -> Message | None:
    """Why the database must not go on: a copy of the transcript is newer, differs or is away. None if it may."""
    try:
        programme.check_current()
    except KeyChangedError:  # which the check of the key says in its own words
        return None
    except DeniableError as error:
        return refusal(error)
    return None


def is_stopped(programme: Programme, damage: Damage) -> bool:
    """Whether the programme cannot go on with its database; not where public files are damaged, which comes first.

    It asks the database: not for a page that must ask it nothing.
    """
    return not damage and behind(programme) is not None


def check_undamaged(console: Console, programme: Programme) -> None:
    """Refuse what a person wants to record while a public file is changed or missing. Rounds that `programme run`
    closes, and visits in an emergency, do not wait for the folder.
    """
    if damage_of(console, programme):
        raise DeniableError(PUT_RIGHT_FIRST)


def verified(console: Console, programme: Programme, folder: Path) -> Verified:
    """What any reader would find who checks the published files now; and whether each of them is what the office wrote.

    The same files check out in the same way until another round is due. Remembered, since for some hundred rounds it
    takes a tenth of a second, in which no other person is served.
    """
    return _looked_at(console, programme, folder)[1]


def published_file(console: Console, programme: Programme, folder: Path, name: str) -> bytes | None:
    """A file of the public folder as it was checked, byte for byte; None where the published files are not in order."""
    seen, found = _looked_at(console, programme, folder)
    content = _content(folder / name) if found.ok else None
    place = published_names(programme.parameters).index(name)
    return content if content is not None and _hash(content) == seen[place] else None


def _looked_at(console: Console, programme: Programme, folder: Path) -> tuple[tuple[str, ...], Verified]:
    """The fingerprint of the files, and what was found of the files that have it."""
    calendar = programme.parameters.calendar
    due = calendar.rounds_due(console.clock())
    now = calendar.due(due) if due else calendar.opens(1)
    record = console.public_records.current(programme.parameters)
    seen = _fingerprint(folder, programme.parameters)
    try:
        found = _checks.get(
            (folder, seen, now, record.head), lambda: _verified(folder, seen, now, programme.parameters, record)
        )
    except ChangingError:
        found = Verified(False, (_CHANGING,))
    return seen, found


_CHANGING = noted("The published files were changed while they were looked at. Look again.")


class ChangingError(Exception):
    """The files are not those whose fingerprint was taken: what is found of them must not be remembered for those."""


def _verified(folder: Path, seen: Sequence[str], now: datetime, parameters: Parameters, record: Record) -> Verified:
    files = {name: _content(folder / name) for name in published_names(parameters)}
    if any(
        content is not None and _hash(content) != hash_ for content, hash_ in zip(files.values(), seen, strict=True)
    ):
        raise ChangingError
    damaged = _damaged(files, folder, parameters, record)
    if damaged is not None:
        return damaged
    try:
        found = verify(folder, now=now)
        altered = _altered(files, parameters, record)
    except DeniableError as error:
        return Verified(False, (refusal(error),), ("keep",))
    closed = {event.round for event in record.events if event.due is not None}
    unpublished = tuple(number for number in found.overdue if number in closed)
    overdue = tuple(number for number in found.overdue if number not in closed)
    warnings = replace(found, overdue=overdue).remarks
    if altered:
        told = noted(
            "These files were changed or taken away, or another version of deniable wrote them: {files}.",
            files=", ".join(altered),
        )
        return Verified(False, (told, *warnings), ("cause", "publish"), unpublished=unpublished)
    others = replace(found, overdue=()).remarks
    return Verified(True, warnings, unpublished=unpublished, is_overdue=bool(overdue), has_other_remarks=bool(others))


def _damaged(
    files: Mapping[str, bytes | None], folder: Path, parameters: Parameters, record: Record
) -> Verified | None:
    """What is wrong with the transcript or the rules, where publishing again does not put it right."""
    rules, transcript = files[PROGRAMME], files[TRANSCRIPT]
    if not folder.is_dir():
        return _missing(noted("The public folder {folder} is gone.", folder=str(folder)), folder)
    if transcript is None:
        away = noted("The file {file} is missing from the public folder, or cannot be read.", file=TRANSCRIPT)
        return _missing(away, folder)
    if rules is not None and rules != parameters.to_bytes():
        other = noted("The file {file} in the public folder is not the one that the office published.", file=PROGRAMME)
        return _changed(other, PROGRAMME, folder)
    try:
        lines, head_line = from_file(transcript)
        check_lines(parameters.verification_key, parameters.digest, lines, head_line)
    except DeniableError:
        return _changed(_unsigned(_first_difference(transcript, record)), TRANSCRIPT, folder)
    return None


def _unsigned(entry: int | None) -> Message:
    if entry is None:
        return noted("The file {file} in the public folder is not what the office signed.", file=TRANSCRIPT)
    return noted(
        "The file {file} in the public folder is not what the office signed, from entry {entry} on.",
        file=TRANSCRIPT,
        entry=entry,
    )


def _first_difference(transcript: bytes, record: Record) -> int | None:
    """The number of the first entry that is not the office's; None where all are, and the file ends otherwise."""
    entries = transcript.split(b"\n", len(record.lines) + 2)[:-2]  # and no more: others may have put millions there
    pairs = enumerate(zip(entries, record.lines, strict=False), start=1)
    return next((number for number, (there, here) in pairs if there != here.encode("ascii")), None)


def _altered(files: Mapping[str, bytes | None], parameters: Parameters, record: Record) -> tuple[str, ...]:
    """The published files that are not what this office would have written for as many entries, byte for byte."""
    lines, head_line = from_file(files[TRANSCRIPT] or b"")
    check_agree(lines, record.lines, why_not("in the public folder differs from the database's"))
    expected = contents(parameters, lines, head_line)
    return tuple(name for name in expected if files[name] != expected[name])


def _content(path: Path) -> bytes | None:
    try:
        return read_public(path)
    except (OSError, DeniableError):
        return None


def _fingerprint(folder: Path, parameters: Parameters) -> tuple[str, ...]:
    """Of every byte that the check looks at."""
    return tuple(_digest(folder / name) for name in published_names(parameters))


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
