"""The files of a public folder. Others may have put them there: each must be an ordinary file of bounded size."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from deniable.errors import DeniableError, PlaceError, why
from deniable.message import Place, why_not
from deniable.programme.parameters import Parameters
from deniable.programme.programme_file import KEY_FILE_BEGINS
from deniable.programme.transcript.chain import LONGEST_HEAD, Head, check_head, from_file, parse_head
from deniable.programme.witness.keys import KEY_FILE_BEGINS as WITNESS_KEY_BEGINS

TRANSCRIPT = "transcript.jsonl"
PROGRAMME = "programme.json"
PUBLIC_KEY = "public_key.pem"
INSTRUCTIONS = "VERIFY.md"
PAGE = "index.html"
CALENDAR = "calendar.ics"
CHECKPOINT = "checkpoint"


def in_language(name: str, code: str, parameters: Parameters) -> str:
    """What the page, or the calendar, is called in this language: the first has the plain name."""
    stem, _, ending = name.rpartition(".")
    return name if code == parameters.languages[0] else f"{stem}.{code}.{ending}"


def in_languages(name: str, parameters: Parameters) -> dict[str, str]:
    """The languages by the file's name in each."""
    return {in_language(name, code, parameters): code for code in parameters.languages}


def published_names(parameters: Parameters) -> tuple[str, ...]:
    """The names of all files that the office publishes."""
    texts = (*in_languages(CALENDAR, parameters), *in_languages(PAGE, parameters))
    return (TRANSCRIPT, CHECKPOINT, PROGRAMME, PUBLIC_KEY, INSTRUCTIONS, *texts)


PUBLIC = 0o644
MOST_BYTES = 2**28
"""Far more than a transcript of a century of daily rounds."""

# More than what a key file begins with.
_KEY_ROOM = 64


def public_folder(folder: Path | str) -> Place:
    """As sentences name it. Only the office may see its path."""
    return Place(f"the folder {folder}", why_not("the public folder"))


def public_file(path: Path) -> Place:
    return Place(str(path), why_not("{file} in the public folder", file=path.name))


def read_public(path: Path, last: int | None = None) -> bytes:
    """The file's bytes, or its `last` ones."""
    with _opened(path) as descriptor:
        return _read(descriptor, last)


def touch(path: Path, content: bytes, modified: float) -> bool:
    """Let a file that has this content look as if it had been replaced; False where it has another, or is no file.

    What is changed is the very file that was read: by now its name may be that of a link to a key.
    """
    try:
        with _opened(path) as descriptor:
            if _read(descriptor) != content:
                return False
            os.fchmod(descriptor, PUBLIC)
            os.utime(descriptor, (modified, modified))
            return True
    except (OSError, DeniableError):  # a pipe, say, or another user's file: it is replaced
        return False


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """The descriptor of an ordinary file of bounded size."""
    # Neither a link to another file nor a pipe, which would make us wait, is followed.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise PlaceError("{path} must be an ordinary file", path=public_file(path))
        if status.st_size > MOST_BYTES:
            raise PlaceError(
                "{path} must have at most {most_bytes} bytes, got {st_size}",
                path=public_file(path),
                most_bytes=MOST_BYTES,
                st_size=status.st_size,
            )
        yield descriptor
    finally:
        os.close(descriptor)


def _read(descriptor: int, last: int | None = None) -> bytes:
    size = os.fstat(descriptor).st_size
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        if last is not None:
            file.seek(max(0, size - last))
        return file.read(size)  # a larger number would take as much memory


def read_published(path: Path) -> bytes:
    """The file's bytes, for a reader, who may have named another folder than they meant."""
    try:
        return read_public(path)
    except OSError as error:
        if error.errno == errno.ENOENT and not path.parent.is_dir():
            raise PlaceError(
                "{parent} does not exist: give the one that holds {programme} and {transcript}",
                parent=public_folder(path.parent),
                programme=PROGRAMME,
                transcript=TRANSCRIPT,
            ) from None
        if error.errno == errno.ENOENT and path.name == PROGRAMME:
            raise PlaceError(
                "{parent} has no {programme}: give the folder that holds {programme} and {transcript}",
                parent=public_folder(path.parent),
                programme=PROGRAMME,
                transcript=TRANSCRIPT,
            ) from None
        raise PlaceError("{path} cannot be read: {why}", path=public_file(path), why=why(error)) from None


def read_head(transcript: Path) -> Head:
    """The signed head in a transcript's file, its signature unchecked; however long the file is."""
    try:
        end = read_public(transcript, last=LONGEST_HEAD)
    except OSError as error:
        raise _unreadable(transcript.parent, error) from None
    return parse_head(from_file(end)[1])  # the first of these lines may be cut off, the last is not


def entries_in(transcript: Path, parameters: Parameters) -> int:
    """How many entries a transcript's file has; none where it cannot be read, or is not the programme's."""
    try:
        head = read_head(transcript)
        check_head(parameters.verification_key, parameters.digest, head)
    except DeniableError:
        return 0
    return head.entries


def _unreadable(folder: Path, error: OSError) -> DeniableError:
    return PlaceError(
        "cannot read what was published in {folder}: {why}; put it back, from a copy if need "
        "be, or, if it is gone for good, see: deniable programme publish --help",
        folder=public_folder(folder),
        why=why(error),
    )


def check_apart(folder: Path, database: Path | None, keys: Iterable[Path] = ()) -> None:
    """Refuse a folder that holds, or is above, the database or one of these keys, or that holds any key file.

    A key file that is not among them is known by how it begins, but only looked for in the folder itself: what lies
    below a web server's folder may be very much.
    """
    if database is not None and holds(folder, database):
        what = why_not("the database")
    elif any(holds(folder, key) for key in keys) or any(map(_is_key, _files(folder))):
        what = why_not("the key")
    else:
        return
    raise PlaceError(
        "{what} is in {folder}, and what is published there is for all to see; publish into a folder "
        "of its own, such as public",
        what=what,
        folder=public_folder(folder),
    )


def holds(folder: Path, file: Path) -> bool:
    """Whether the file is in the folder, or in one below it."""
    return file.resolve().is_relative_to(folder.resolve())


def _files(folder: Path) -> list[Path]:
    """Links among them, which a web server would follow."""
    return [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []


def _is_key(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe may be there by now
        try:
            return os.read(descriptor, _KEY_ROOM).startswith((KEY_FILE_BEGINS, WITNESS_KEY_BEGINS.encode("ascii")))
        finally:
            os.close(descriptor)
    except OSError:  # a web server may read what we may not, but our keys are ours to read
        return False


def exists(path: Path | str) -> bool:
    """Whether a file or a folder is there."""
    with suppress(OSError, ValueError):  # no name of a file, such as one that is too long
        return Path(path).exists()
    return False
