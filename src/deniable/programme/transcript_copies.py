"""Copies of the transcript outside the database: in the public folder, and beside the key file.

What was drawn is shown to people only when a copy has it, and a database that is older than a copy refuses to go on: a
backup that was restored, or a file that was put back, must not draw a round a second time. The public folder may lag
behind what was shown, so it does not replace a copy beside the key that is missing.
"""

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from deniable.errors import DeniableError, PlaceError
from deniable.programme.parameters import Parameters
from deniable.programme.public.folder import TRANSCRIPT, check_apart, folder_error, read_head, read_public, replace_file
from deniable.programme.public.publish import publish
from deniable.programme.public.verify import verify
from deniable.programme.secrets.keys import Key, KeyFile
from deniable.programme.transaction import Transaction
from deniable.programme.transcript.chain import Head, check_head, digest, from_file, parse_head, to_file
from deniable.programme.transcript.replay import parse, replay
from deniable.programme.transcript.state import PublicState
from deniable.storage import tables
from deniable.storage.files import sync_folder

_TWO_DATABASES = "two databases of this programme were used; go on with the one that was published, and no other"


_NOWHERE = (
    "what is drawn must be kept outside the database, too, before it is shown: publish the programme (at the terminal: "
    "deniable programme publish --public FOLDER), or put the key file into a folder that can be written to"
)


NOT_FOUND = (
    "no copy of the transcript that is found here has every entry of the database, and what was drawn is shown only "
    "when a copy has it: run deniable programme publish first, or name the key file with DENIABLE_KEY"
)


class NotKeptError(DeniableError):
    """Something is recorded in the database, and must not be shown yet: no copy of the transcript has it.

    It stands: to do it once more would record it a second time.
    """


NOT_KEPT = (
    "this is done and recorded in the database, but could not be written outside it, so it is not shown yet: make the "
    "folder of the key file or the public folder writable, then publish; do not do it again"
)


@dataclass(frozen=True)
class StoredTranscript:
    """The transcript as the database has it at one moment, and where it is published."""

    parameters: Parameters
    lines: Sequence[str]
    head_line: str
    """The signed head."""
    folder: Path | None

    @classmethod
    def of(cls, transaction: Transaction) -> "StoredTranscript":
        """The transaction's entries included."""
        return cls.read(transaction.connection, transaction.state.parameters)

    @classmethod
    def read(cls, connection: sa.Connection, parameters: Parameters) -> "StoredTranscript":
        row = connection.execute(sa.select(tables.programme.c.head, tables.programme.c.folder)).one()
        return cls(parameters, all_lines(connection), row.head, None if row.folder is None else Path(row.folder))

    def keep(self, copy: "KeyCopy | None", database: Path | None) -> None:
        """Write it beside the key, or else into the public folder, where the database's file must not be."""
        if copy is not None and copy.write(self):
            return
        if self.folder is None:
            raise DeniableError(_NOWHERE)
        check_apart(self.folder, database)
        publish(self.parameters, self.lines, self.head_line, self.folder)

    def check_can_be_kept(self, copy: "KeyCopy | None") -> bool:
        """Returns whether the copy beside the key can be written; refused where the public folder cannot either."""
        if copy is not None and _can_write_into(copy.path.parent):
            return True
        if self.folder is None or not _can_write_into(self.folder):
            raise DeniableError(_NOWHERE)
        return False

    def is_kept(self, copies: Iterable["KeyCopy"]) -> bool:
        """Whether one of these copies, or the public folder, has every entry."""
        published = [] if self.folder is None else [self.folder / TRANSCRIPT]
        return not self.lines or any(self._stands_in(file) for file in (*(copy.path for copy in copies), *published))

    def _stands_in(self, file: Path) -> bool:
        try:
            lines, _ = from_file(read_public(file))
        except (OSError, DeniableError):
            return False
        return [*lines[: len(self.lines)]] == [*self.lines]


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

    def head(self) -> Head | None:
        """The signed head, its signature unchecked; None where the copy is missing."""
        with self._sentences():
            return read_head(self.path) if self.exists() else None

    def is_writable(self) -> bool:
        """Whether it can be replaced."""
        return _can_write_into(self.path.parent)

    def checked_lines(self, parameters: Parameters) -> Sequence[str]:
        """All entries, if they are this programme's; none where the copy is missing."""
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

    def write(self, transcript: StoredTranscript) -> bool:
        """Put this transcript in its place, even where it has all of it; returns whether that could be done.

        It belongs to the owner of the key, whoever calls: the office's service must be able to read it.
        """
        there, here = self.head(), parse_head(transcript.head_line)
        if there is not None and there.entries >= here.entries and there.head != here.head:
            raise self.error(f"and the database differ: {_TWO_DATABASES}")
        try:
            content = to_file(transcript.lines, transcript.head_line)
            replace_file(self.path, content, mode=0o600, owned_like=self.path.with_suffix(""))
            sync_folder(self.path.parent)
        except OSError:
            return False
        return True

    def begin(self, transcript: StoredTranscript) -> bool:
        """Write the copy of a new programme; returns whether that could be done."""
        if self.exists():
            raise self.error("belongs to another programme: move it away, or use another key file")
        return self.write(transcript)

    def remove(self) -> None:
        """Of a key that is used no more: a database that is put back with it finds no copy, and does not go on."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except (OSError, DeniableError):
            raise self.error("cannot be read: put back the newest one") from None

    def error(self, why: str) -> PlaceError:
        place = f", {self.path},"
        return PlaceError(f"the copy of the transcript beside the key{place} {why}", place, "")


def beside(keys: Iterable[Path]) -> list[KeyCopy]:
    """The copies beside these key files, whether they are there or not."""
    return [KeyCopy(KeyFile(key).transcript) for key in keys]


@contextmanager
def locked(copy: KeyCopy | None) -> Iterator[None]:
    """One process at a time, from where the copy is compared until it is written."""
    folder = None
    with suppress(OSError):  # where the folder is away nothing can be written either
        if copy is not None:
            folder = os.open(copy.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if folder is not None:
            os.close(folder)


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


def check_can_go_on(transaction: Transaction, copy: KeyCopy | None, *, folder_may_be_away: bool) -> None:
    """Refuse where a copy of the transcript is newer, and after a restore, until the office has recovered."""
    kept = copy if transaction.is_kept_beside_key else None
    check_not_behind(transaction.connection, transaction.state, kept, folder_may_be_away=folder_may_be_away)
    if not transaction.has_seed:
        database = "this database"
        raise PlaceError(
            f"{database} was restored from a backup, which has no random numbers to go on with; go on in public: "
            "deniable programme recover",
            database,
            database,
        )


def check_not_behind(
    connection: sa.Connection, state: PublicState, copy: KeyCopy | None, *, folder_may_be_away: bool
) -> None:
    """Refuse to go on from a database that is older than a copy of its transcript, or that differs from it.

    `state` is the database's, and with the key one that the sealed manifest vouches for: what else the database says of
    its transcript, others may have written. `copy` is that beside the key, None where none is kept.
    """
    folder = connection.execute(sa.select(tables.programme.c.folder)).scalar()
    if folder is not None:
        _check_published(connection, state, folder, folder_may_be_away)
    if copy is None:
        return
    head = copy.head()
    if head is None:
        raise copy.error(
            "is missing, so that nothing shows whether this database is an old one: put the newest copy back, or go on "
            "in public with deniable programme recover"
        )
    _check_head(connection, state, head, copy.error)


def _check_published(connection: sa.Connection, state: PublicState, folder: str, folder_may_be_away: bool) -> None:
    try:
        head = read_head(Path(folder) / TRANSCRIPT)
    except DeniableError:
        if folder_may_be_away:
            return
        raise
    _check_head(
        connection, state, head, lambda why: folder_error(f"the transcript in the folder {folder} {why}", folder)
    )


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
