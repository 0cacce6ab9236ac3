"""Copies of the transcript outside the database: in the public folder, and beside the key file.

What was drawn is shown to people only when a copy has it. The public folder may lag behind what was shown, so it does
not replace a copy beside the key that is missing.
"""

import base64
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import sqlalchemy as sa

from deniable.errors import DISK_FULL, DeniableError, PlaceError, why
from deniable.message import Message, Place, why_not
from deniable.programme.parameters import Parameters
from deniable.programme.public.folder import TRANSCRIPT, read_head, read_public
from deniable.programme.secrets.keys import Key, KeyFile
from deniable.programme.transaction import Transaction
from deniable.programme.transcript.chain import Head, check_lines, digest, from_file, parse_head, to_file
from deniable.programme.transcript.entries import End
from deniable.programme.transcript.replay import parse, parsed, replay
from deniable.programme.transcript.state import PublicState
from deniable.storage import files, tables
from deniable.storage.driver_errors import PATIENCE
from deniable.storage.files import replace_file

TWO_DATABASES = why_not("two databases of this programme were used; go on with the published one, and no other")

IN_PUBLIC = why_not("move it away, and go on in public with deniable programme recover")

_REPLACED = b"This key was replaced by another one.\n"

_NOWHERE = why_not(
    "what is drawn must be kept outside the database, too, before it is shown: publish the programme (at the terminal: "
    "deniable programme publish --public FOLDER), or put the key file into a folder that can be written to"
)


NOT_FOUND = why_not(
    "no copy of the transcript found here has every entry of the database, and a draw is shown only once a copy has "
    "it: run deniable programme publish first, or name the key file with DENIABLE_KEY"
)


class NotKeptError(DeniableError):
    """Something is recorded in the database, and must not be shown yet: no copy of the transcript has it.

    It stands: to do it once more would record it a second time.
    """

    entry = 0
    """Its number, where it was just recorded; of several at once, that of the one which closes the round."""


@dataclass(frozen=True)
class StoredTranscript:
    """The transcript as the database has it at one moment, and where it is published.

    Refused where the signed head is not that of these lines: others may have written to the database.
    """

    parameters: Parameters
    lines: Sequence[str]
    head_line: str
    """The signed head."""
    folder: Path | None

    def __post_init__(self) -> None:
        try:
            check_lines(self.parameters.verification_key, self.parameters.digest, self.lines, self.head_line)
        except DeniableError as error:
            raise DeniableError(
                "the stored transcript was changed: {error}; it is neither shown nor copied; restore the last backup",
                error=error,
            ) from None

    @classmethod
    def of(cls, transaction: Transaction) -> "StoredTranscript":
        """The transaction's entries included."""
        return cls.read(transaction.connection, transaction.state.parameters)

    @classmethod
    def read(cls, connection: sa.Connection, parameters: Parameters) -> "StoredTranscript":
        row = connection.execute(tables.HEAD_AND_FOLDER).one()
        return cls(parameters, all_lines(connection), row.head, None if row.folder is None else Path(row.folder))

    @property
    def is_ended(self) -> bool:
        """Whether the programme has ended: the office signed that."""
        return bool(self.lines) and isinstance(parse(self.lines[-1]), End)

    def check_can_be_kept(self, places: "Places") -> bool:
        """Returns whether the copy beside the key can be written; refused where the transcript could not be kept."""
        is_beside = places.copy is not None and places.copy.is_writable()
        if self.folder is None:
            can_be = is_beside
        else:
            can_be = (is_beside and not places.in_folder) or _can_write_into(self.folder)
        if not can_be:
            raise_nowhere_to_keep(places)
        return is_beside


def is_kept(head_line: str, folder: Path | None, copies: Iterable["KeyCopy"]) -> bool:
    """Whether one of these copies, or the one in the public folder, has every entry: it ends with this signed head, by
    which an older database is told from this one.
    """
    head = parse_head(head_line)
    published = [] if folder is None else [folder / TRANSCRIPT]
    return not head.entries or any(_ends_with(head, file) for file in (*(copy.path for copy in copies), *published))


def _ends_with(head: Head, file: Path) -> bool:
    try:
        return read_head(file) == head
    except DeniableError:
        return False


def raise_nowhere_to_keep(places: "Places") -> NoReturn:
    """Where none of them can have the transcript."""
    if places.copy is not None and files.is_full(places.copy.path.parent):
        raise places.copy.error(
            "{copy} cannot be written, and what is drawn must be kept there before it is shown: {why}", why=DISK_FULL
        )
    raise DeniableError(_NOWHERE)


def _can_write_into(folder: Path) -> bool:
    """Tried out: what permissions say is not all."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=".deniable", dir=folder)
        os.close(descriptor)
        Path(name).unlink()
    except OSError:
        return False
    return True


def all_lines(connection: sa.Connection) -> Sequence[str]:
    """Every entry as it is published, in order."""
    return connection.execute(sa.select(tables.entries.c.line).order_by(tables.entries.c.number)).scalars().all()


@dataclass(frozen=True)
class KeyCopy:
    """The copy beside a key file. It holds nothing that will not be published."""

    path: Path

    @classmethod
    def beside(cls, key: Key) -> "KeyCopy | None":
        """A passphrase has no file to keep a copy beside: the public folder must serve."""
        return cls(key.transcript) if isinstance(key, KeyFile) else None

    def exists(self) -> bool:
        return os.path.lexists(self.path)

    @property
    def key(self) -> Path:
        """The key file."""
        return self.path.with_suffix("")

    def head(self) -> Head | None:
        """The signed head, its signature unchecked; None where the copy is missing."""
        with self._sentences():
            return read_head(self.path) if self.exists() else None

    def is_writable(self) -> bool:
        """Whether it can be replaced."""
        return _can_write_into(self.path.parent)

    def checked_lines(self, parameters: Parameters) -> Sequence[str]:
        """All entries, if they are this programme's and by its rules; none where the copy is missing."""
        lines = self._signed_lines(parameters)
        replay(parameters, parsed(lines))
        return tuple(lines)

    def _signed_lines(self, parameters: Parameters) -> Sequence[str]:
        with self._sentences():
            if not self.exists():
                return ()
            lines, head_line = from_file(read_public(self.path))
        try:
            check_lines(parameters.verification_key, parameters.digest, lines, head_line)
        except DeniableError as found:
            raise self.error("{copy} was altered: {found}; {remedy}", found=found, remedy=IN_PUBLIC) from None
        return lines

    def write(self, transcript: StoredTranscript) -> bool:
        """Put this transcript in its place, even where it has all of it; returns whether that could be done.

        Refused where the copy has anything that this transcript does not have.
        """
        there = self._signed_lines(transcript.parameters)
        if [*there] != [*transcript.lines[: len(there)]]:
            raise self.error("{copy} and the database differ: {remedy}", remedy=TWO_DATABASES)
        return self._put(to_file(transcript.lines, transcript.head_line))

    def _put(self, content: bytes) -> bool:
        """It belongs to the owner of the key, not to the caller: the office's service must be able to read it."""
        try:
            replace_file(self.path, content, mode=0o600, owned_like=self.key)
            files.sync_folder(self.path.parent)
        except OSError:
            return False
        return True

    def begin(self, transcript: StoredTranscript) -> bool:
        """Write the copy of a new programme; returns whether that could be done."""
        if self.exists():
            raise self.error("{copy} belongs to another programme: move it away, or use another key file")
        return self.write(transcript)

    def retire(self, by: Path | None) -> None:
        """Of a key that is used no more: a database that is put back with it finds a note in the copy's place, and does
        not go on. The note says where the copy beside the new key is. Refused where the note cannot be written.
        """
        was = base64.b64encode(self.content()).decode("ascii")
        note = {"was": was, "replaced_by": None if by is None else str(by)}
        if not self._put(_REPLACED + json.dumps(note).encode() + b"\n"):
            remedy = DISK_FULL if files.is_full(self.path.parent) else why_not("make its folder writable")
            raise self.error(
                "{copy} cannot be replaced, and an old database would go on with it: {remedy}", remedy=remedy
            )

    def content(self) -> bytes:
        with self._sentences():
            return read_public(self.path)

    def put_back(self, was: bytes) -> None:
        """Undo `retire`, if it was done."""
        if self.note() is not None and not self._put(was):
            raise self.error("{copy} cannot be put back: make its folder writable")

    def note(self) -> "Note | None":
        """What `retire` left in its place; None where the copy is there, or nothing."""
        try:
            content = read_public(self.path)
            told = json.loads(content.removeprefix(_REPLACED)) if content.startswith(_REPLACED) else None
        except (OSError, DeniableError, ValueError):
            return None
        if told is None:
            return None
        by = told["replaced_by"]
        return Note(base64.b64decode(told["was"]), None if by is None else Path(by))

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except (OSError, DeniableError):
            raise self._unreadable() from None

    def _unreadable(self) -> PlaceError:
        try:
            is_replaced = read_public(self.path).startswith(_REPLACED)
        except (OSError, DeniableError):
            is_replaced = False
        if is_replaced:
            return self.error(
                "{copy} says that this key was replaced by another: use that one, with the newest database; if the "
                "database does not open with it, because the change was interrupted, run deniable programme rekey "
                "again, or {remedy}",
                remedy=IN_PUBLIC,
            )
        return self.error("{copy} cannot be read: {remedy}", remedy=IN_PUBLIC)

    def error(self, text: str, /, **values: Any) -> PlaceError:
        """A refusal that has {copy} in its text."""
        path = f"the copy of the transcript beside the key, {self.path},"
        return PlaceError(text, copy=Place(path, why_not("the copy of the transcript beside the key")), **values)


@dataclass(frozen=True)
class Note:
    """In the place of a copy whose key was replaced."""

    was: bytes
    """The copy."""
    replaced_by: Path | None
    """Where the copy beside the new key is; None where there is none."""


def beside(keys: Iterable[Path]) -> list[KeyCopy]:
    """The copies beside these key files, whether they are there or not; of a key that was replaced, the one beside the
    new key, if it is there. A passphrase that replaced it has none: the public folder must serve.
    """
    newest = (_newest(KeyCopy(KeyFile(key).transcript)) for key in keys)
    return [copy for copy in newest if copy is not None]


def _newest(copy: KeyCopy) -> KeyCopy | None:
    seen = {copy.path}
    while note := copy.note():
        if note.replaced_by is None:
            return None
        following = KeyCopy(note.replaced_by)
        if following.path in seen or not following.exists():
            break
        copy = following
        seen.add(copy.path)
    return copy


@dataclass(frozen=True)
class Places:
    """Where every entry is kept before it is shown: beside the key, in the public folder, or both."""

    copy: KeyCopy | None
    """To compare with and to write: where one is kept, and any that is there, whatever this database says of it."""
    in_folder: bool
    """Whether the public folder must have it in any case."""

    @classmethod
    def of(cls, transaction: Transaction, copy: KeyCopy | None) -> "Places":
        is_used = copy is not None and (transaction.is_kept_beside_key or copy.exists())
        return cls(copy if is_used else None, transaction.is_kept_in_folder)

    @classmethod
    def after_the_end(cls, transcript: StoredTranscript, state: PublicState, copy: KeyCopy | None) -> "Places":
        """No manifest is left to say it. That the programme has ended, the signed transcript must."""
        if not transcript.is_ended or digest(transcript.lines[-1]) != state.head:
            raise DeniableError("the stored public state was changed: no entry ends the programme; restore the backup")
        return cls(copy if copy is not None and copy.exists() else None, in_folder=False)


@contextmanager
def locked(copy: KeyCopy | None) -> Iterator[None]:
    """One process at a time, from where the copy is compared until it is written; it locks the key file."""
    with ExitStack() as held:
        if copy is not None and copy.path.parent.is_dir():  # where it is away nothing can be written either
            try:
                held.enter_context(files.locked(copy.key, PATIENCE))
            except TimeoutError:
                raise PlaceError(
                    "cannot lock {key}, so nothing was done: another process has locked it for {seconds} seconds; try "
                    "again",
                    key=_key(copy),
                    seconds=PATIENCE,
                ) from None
            except OSError as error:
                raise PlaceError(
                    "cannot lock {key}, so nothing was done: {why}; it must be on a file system that has locks",
                    key=_key(copy),
                    why=why(error),
                ) from None
        yield


def _key(copy: KeyCopy) -> Place:
    return Place(f"the key file {copy.key}", why_not("the key file"))


def check_agree(some: Sequence[str], others: Sequence[str], differs: Message) -> None:
    """Refuse where two transcripts have different entries of the same number."""
    for number, (one, other) in enumerate(zip(some, others, strict=False), start=1):
        if one != other:
            remedy = TWO_DATABASES
            raise DeniableError("entry {number} {differs}: {remedy}", number=number, differs=differs, remedy=remedy)
