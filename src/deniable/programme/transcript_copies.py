"""Copies of the transcript outside the database: in the public folder, and beside the key file.

What was drawn is shown to people only when a copy has it, and a database that is older than a copy refuses to go on: a
backup that was restored, or a file that was put back, must not draw a round a second time.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from deniable.errors import DeniableError, PlaceError
from deniable.programme.parameters import Parameters
from deniable.programme.public.folder import TRANSCRIPT, entries_in, folder_error, read_head, read_public, replace_file
from deniable.programme.public.verify import verify
from deniable.programme.secrets.keys import Key, KeyFile
from deniable.programme.transcript.chain import Head, check_head, digest, from_file, parse_head, to_file
from deniable.programme.transcript.replay import parse, replay
from deniable.programme.transcript.state import PublicState
from deniable.storage import tables
from deniable.storage.files import sync_folder

_TWO_DATABASES = "two databases of this programme were used; go on with the one that was published, and no other"


class NotKeptError(DeniableError):
    """Something is recorded in the database, and must not be shown yet: no copy of the transcript has it."""


NOWHERE = (
    "what is drawn must be kept outside the database, too, before it is shown: publish the programme (at the terminal: "
    "deniable programme publish --out FOLDER), or put the key file into a folder that can be written to"
)


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

    def head(self) -> Head | None:
        """The signed head, its signature unchecked; None where there is no copy yet."""
        with self._sentences():
            return read_head(self.path) if self.exists() else None

    def entries(self, parameters: Parameters) -> int:
        """How many of this programme's entries it has; none where it cannot be read."""
        return entries_in(self.path, parameters)

    def is_writable(self) -> bool:
        """Whether it can be replaced."""
        return os.access(self.path.parent, os.W_OK)

    def checked_lines(self, parameters: Parameters) -> Sequence[str]:
        """All entries, if they are this programme's; none where there is no copy yet."""
        with self._sentences():
            if not self.exists():
                return ()
            lines, head_line = from_file(read_public(self.path))
        head = parse_head(head_line)
        check_head(bytes.fromhex(parameters.public_key), parameters.digest, head)
        state = replay(parameters, [parse(line, number) for number, line in enumerate(lines, start=1)])
        if (head.entries, head.head) != (state.entries, state.head):
            raise self.error("is not whole")
        return tuple(lines)

    def bring_up_to_date(self, head_line: str, lines: Callable[[], Sequence[str]]) -> bool:
        """Replace it where it has less; returns whether it could be done."""
        there = self.head()
        try:
            if there is None or there.entries < parse_head(head_line).entries:
                replace_file(self.path, to_file(lines(), head_line), mode=0o600)
                sync_folder(self.path.parent)
        except OSError:
            return False
        return True

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except (OSError, DeniableError):
            raise self.error("cannot be read: put back the newest one") from None

    def error(self, why: str) -> PlaceError:
        place = f", {self.path},"
        return PlaceError(f"the copy of the transcript beside the key{place} {why}", place, "")


def longest_copy(folder: Path | None, copy: KeyCopy | None, parameters: Parameters) -> Sequence[str] | None:
    """The entries of the public folder or of the copy beside the key, whichever has more, all of them checked; None
    where there is neither.
    """
    if folder is None and (copy is None or not copy.exists()):
        return None
    public = () if folder is None else _public_lines(folder, parameters)
    beside = () if copy is None else copy.checked_lines(parameters)
    for number, (one, other) in enumerate(zip(public, beside, strict=False), start=1):
        if one != other:
            raise DeniableError(f"entry {number} in {folder} differs from the copy beside the key: {_TWO_DATABASES}")
    return max(public, beside, key=len)


def _public_lines(folder: Path, parameters: Parameters) -> Sequence[str]:
    checked = verify(folder)
    if checked.programme != parameters.digest:
        raise DeniableError(f"what was published in {folder} is another programme; name the folder of this one")
    return checked.lines


def check_not_behind(connection: sa.Connection, state: PublicState, copy: KeyCopy | None, must_read: bool) -> None:
    """Refuse to go on from a database that is older than a copy of its transcript, or that differs from it.

    `state` is the database's, and with the key one that the sealed manifest vouches for: what else the database says of
    its transcript, others may have written. `must_read`: refuse also where the public folder is away.
    """
    folder = connection.execute(sa.select(tables.programme.c.folder)).scalar()
    published = None if folder is None else _published(connection, state, folder, must_read)
    if copy is None:
        return
    head = copy.head()
    if head is not None:
        _check_head(connection, state, head, copy.error)
    elif copy.is_writable() and (published is None or published.head != state.head):
        raise copy.error(
            "is missing, so that nothing shows whether this database is an old one: put the copy back, or go on in "
            "public with deniable programme recover"
        )


def _published(connection: sa.Connection, state: PublicState, folder: str, must_read: bool) -> Head | None:
    try:
        head = read_head(Path(folder) / TRANSCRIPT)
    except DeniableError:
        if must_read:
            raise
        return None
    _check_head(
        connection, state, head, lambda why: folder_error(f"the transcript in the folder {folder} {why}", folder)
    )
    return head


def _check_head(
    connection: sa.Connection, state: PublicState, there: Head, error: Callable[[str], DeniableError]
) -> None:
    parameters = state.parameters
    try:
        check_head(bytes.fromhex(parameters.public_key), parameters.digest, there)
    except DeniableError as found:
        raise error(f"was altered: {found}; put back a copy of it") from None
    if there.entries > state.entries:
        raise error(
            f"has more entries ({there.entries}) than the database ({state.entries}): the database is an old one; "
            "restore a newer backup, or see: deniable programme recover --help"
        )
    if there.head != _head_after(connection, state, there.entries):
        raise error(f"and the database differ: {_TWO_DATABASES}")


def _head_after(connection: sa.Connection, state: PublicState, entries: int) -> str | None:
    """The hash of the last of so many entries, as the database has it."""
    if entries == state.entries:
        return state.head
    if not entries:
        return state.parameters.digest
    found = sa.select(tables.entries.c.line).where(tables.entries.c.number == entries)
    line = connection.execute(found).scalar()
    return None if line is None else digest(line)
