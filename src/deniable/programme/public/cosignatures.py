"""The countersignatures of witnesses in a public folder. Anyone may have put them there, under whatever names."""

import os
import re
import reprlib
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from deniable.errors import DeniableError, PlaceError, why
from deniable.programme.parameters import Parameters
from deniable.programme.public.folder import public_file, public_folder, read_public
from deniable.programme.transcript.merkle import roots
from deniable.programme.witness.keys import KEY_FILE_BEGINS
from deniable.programme.witness.notes import COSIGNATURE, Checkpoint, Note, VerifierKey, office_key
from deniable.storage.files import replace_file, sync_folder
from deniable.wording import count

COSIGNATURES = "cosignatures"
MOST_FILES = 200_000
"""More than a century of weekly rounds and thirty witnesses."""
MOST_BYTES = 2**17
"""Of one file: more than a checkpoint with sixteen signatures of any kind takes."""
MOST_BYTES_IN_ALL = 2**28
_DEEPEST = 16
_KEY = re.compile(r"[^+]+\+[0-9a-f]{8}\+")


class Countersignature(NamedTuple):
    """How many entries a witness saw, and when."""

    size: int
    time: datetime


@dataclass(frozen=True)
class Witnessed:
    """What one witness countersigned of a transcript."""

    key: VerifierKey
    countersignatures: tuple[Countersignature, ...]
    """The shortest transcript first, each at the earliest time."""

    @property
    def name(self) -> str:
        return self.key.name

    @property
    def last(self) -> Countersignature | None:
        return self.countersignatures[-1] if self.countersignatures else None

    def has_seen(self, entries: int, before: datetime | None = None) -> bool:
        """Whether it countersigned so many entries or more, before that time where there is one."""
        return any(one.size >= entries and (before is None or one.time < before) for one in self.countersignatures)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        signed = [{"entries": one.size, "time": one.time.isoformat()} for one in self.countersignatures]
        return {"name": self.name, "key": str(self.key), "countersigned": signed}


def read_key(text: str) -> VerifierKey:
    """The public key of a witness: as text, or in the file of this name."""
    try:
        content = text if _KEY.match(text) else read_public(Path(text)).decode("ascii").strip()
    except (OSError, ValueError):
        raise DeniableError(
            "the key of a witness must be a text NAME+ID+KEY or a file that holds one, got {text}",
            text=reprlib.repr(text),
        ) from None
    if content.startswith(KEY_FILE_BEGINS):
        raise DeniableError("this is the private key of a witness; give the public one, which deniable witness prints")
    return VerifierKey.parse(content)


def check_witnesses(keys: Sequence[VerifierKey], parameters: Parameters) -> tuple[VerifierKey, ...]:
    """Each of these keys once; refused where two names stand for one key, or where it is not a witness's.

    A countersignature does not name the witness: it is the key that tells two of them apart.
    """
    found: dict[bytes, VerifierKey] = {}
    for key in keys:
        if key.type != COSIGNATURE:
            raise DeniableError(
                "the key of {name} is not one for countersignatures; ask the witness for its own", name=key.name
            )
        if key.public.hex() == parameters.public_key:
            raise DeniableError(
                "the key of {name} is the office's own, and the office cannot be its own witness", name=key.name
            )
        if (other := found.setdefault(key.public, key)) != key:
            raise DeniableError(
                "{name} and {name_2} have the same key, and so are one witness; name one",
                name=other.name,
                name_2=key.name,
            )
    return tuple(found.values())


def read_countersignatures(
    folder: Path, parameters: Parameters, lines: Sequence[str], keys: Sequence[VerifierKey]
) -> tuple[tuple[Witnessed, ...], tuple[str, ...]]:
    """What these witnesses countersigned of these entries, and why files were left aside.

    Refused where one of them countersigned anything else of this programme.
    """
    office, known = office_key(parameters), [*roots(lines)]
    times: dict[VerifierKey, dict[int, datetime]] = {key: {} for key in keys}
    left_aside = Counter[str]()
    for content in _contents(folder / COSIGNATURES):
        try:
            note = Note.parse(content)
            found = _countersigned(note, keys, office)
        except DeniableError as error:
            left_aside[str(error)] += 1
            continue
        for key, one, root in found:
            if one.size >= len(known) or root != known[one.size]:
                raise DeniableError(_other_history(key, one, len(lines), note, office))
            times[key][one.size] = min(one.time, times[key].get(one.size, one.time))
    witnessed = tuple(Witnessed(key, tuple(map(Countersignature._make, sorted(times[key].items())))) for key in keys)
    told = (
        f"{count(number, 'file')} in {COSIGNATURES} left aside: {why_not}" for why_not, number in left_aside.items()
    )
    return witnessed, tuple(told)


def _countersigned(
    note: Note, keys: Sequence[VerifierKey], office: VerifierKey
) -> list[tuple[VerifierKey, Countersignature, bytes]]:
    """What each of these witnesses countersigned in this note, with the root of the tree."""
    signed = [(key, one) for key in keys for one in note.signed_by(key)]
    if not signed:
        return []
    checkpoint = Checkpoint.parse(note.text)
    if checkpoint.origin != office.name:
        raise DeniableError("{name} countersigned another programme there", name=signed[0][0].name)
    return [
        (key, Countersignature(checkpoint.size, datetime.fromtimestamp(one.time, UTC)), checkpoint.root)
        for key, one in signed
    ]


def _other_history(key: VerifierKey, one: Countersignature, entries: int, note: Note, office: VerifierKey) -> str:
    when = f"{key.name} countersigned {{}} on {one.time:%Y-%m-%d}"
    if one.size > entries:
        return (
            f"{when.format(count(one.size, 'entry', 'entries'))}, and this transcript has {entries:,}: this is an old "
            "copy, or the office took entries back; get the newest copy"
        )
    try:
        is_signed = bool(note.signed_by(office))
    except DeniableError:
        is_signed = False
    what = f"another history of {count(one.size, 'entry', 'entries')}"
    told = (
        "the office signed that one, too, and so shows different people different transcripts"
        if is_signed
        else "the office's signature is not on that one, so ask the witness what it saw"
    )
    return f"{when.format(what)}: {told}; keep this folder"


def put_note(folder: Path, name: str, note: Note) -> Path:
    """Where a witness's note is from now on in a public folder."""
    path = folder.joinpath(COSIGNATURES, *name.split("/"), str(Checkpoint.parse(note.text).size))
    parents = [parent for parent in reversed(path.parents) if parent.is_relative_to(folder) and parent != folder]
    try:
        for parent in parents:
            if parent.is_symlink():
                raise PlaceError("{parent} must be a folder, and not a link to one", parent=public_file(parent))
            parent.mkdir(exist_ok=True)
        replace_file(path, note.to_bytes())
        for parent in path.parents[: len(parents) + 1]:
            sync_folder(parent)
    except OSError as error:
        raise PlaceError(
            "cannot write {path}: {why}; with --out FILE it is written elsewhere, to be sent to the office",
            path=public_file(path),
            why=why(error),
        ) from None
    return path


def _contents(folder: Path) -> Iterator[bytes]:
    """Those of all files below; of what is no ordinary file, or too large for a note, nothing."""
    waiting, files, size = [(folder, 0)], 0, 0
    while waiting:
        place, depth = waiting.pop()
        for entry in _scanned(place):
            files += 1
            if entry.is_dir(follow_symlinks=False) and depth < _DEEPEST:
                waiting.append((Path(entry.path), depth + 1))
                continue
            content = _content(entry.path)
            size += len(content)
            if files > MOST_FILES or size > MOST_BYTES_IN_ALL:
                raise PlaceError(
                    "{folder} must have at most {most_files} files and {most_bytes_in_all} bytes; take out what "
                    "does not belong there",
                    folder=public_folder(folder),
                    most_files=MOST_FILES,
                    most_bytes_in_all=MOST_BYTES_IN_ALL,
                )
            yield content


def _scanned(folder: Path) -> list[os.DirEntry[str]]:
    """In the order of their names; none where there is no such folder, or a link in its place."""
    try:
        if folder.is_symlink():
            return []
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise PlaceError("{folder} cannot be read: {why}", folder=public_folder(folder), why=why(error)) from None


def _content(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        status = os.fstat(descriptor)
        is_note = stat.S_ISREG(status.st_mode) and status.st_size <= MOST_BYTES
        return os.read(descriptor, MOST_BYTES) if is_note else b""
    except OSError:
        return b""
    finally:
        os.close(descriptor)
