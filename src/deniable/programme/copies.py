"""Copies of the transcript outside the database: in the public folder, and beside the key file.

What was drawn is shown to people only when a copy has it, and a database that is older than a copy refuses to go on: a
backup that was restored, or a file that was put back, must not draw a round a second time.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import sqlalchemy as sa

from deniable.errors import DeniableError
from deniable.programme import tables
from deniable.programme.key_copy import KeyCopy
from deniable.programme.parameters import Parameters
from deniable.programme.public_files import TRANSCRIPT, folder_error, read_head
from deniable.programme.public_state import PublicState
from deniable.programme.transcript import Head, check_head, digest
from deniable.programme.verification import verify

_TWO_DATABASES = "two databases of this programme were used; go on with the one that was published, and no other"


class NotKeptError(DeniableError):
    """Something is recorded in the database, and must not be shown yet: no copy of the transcript has it."""


NOWHERE = (
    "what is drawn must be kept outside the database, too, before it is shown: publish the programme (at the terminal: "
    "deniable programme publish --out FOLDER), or put the key file into a folder that can be written to"
)


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
