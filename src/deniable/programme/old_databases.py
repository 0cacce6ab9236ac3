"""A database that is older than a copy of its transcript refuses to go on.

A backup that was restored, or a file that was put back, must not draw a round a second time.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import sqlalchemy as sa

from deniable.errors import DeniableError, PlaceError
from deniable.message import Message, Place, why_not
from deniable.programme.public.folder import TRANSCRIPT, read_head
from deniable.programme.transaction import Transaction
from deniable.programme.transcript.chain import Head, check_head
from deniable.programme.transcript.merkle import Tree
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript_copies import IN_PUBLIC, TWO_DATABASES, KeyCopy, Places
from deniable.storage import tables


def check_can_go_on(transaction: Transaction, copy: KeyCopy | None, *, folder_may_be_away: bool) -> None:
    """Refuse where a copy of the transcript is newer, and after a restore, until the office has recovered."""
    kept = Places.of(transaction, copy).copy
    check_not_behind(transaction.connection, transaction.state, kept, folder_may_be_away=folder_may_be_away)
    if not transaction.has_seed:
        raise PlaceError(
            "this database was restored from a backup, which has no random numbers to go on with; go on in public: "
            "deniable programme recover"
        )


def check_not_behind(
    connection: sa.Connection, state: PublicState, copy: KeyCopy | None, *, folder_may_be_away: bool
) -> None:
    """Refuse to go on from a database that is older than a copy of its transcript, or that differs from it.

    `state` is the database's, and with the key one that the sealed manifest vouches for: what else the database says of
    its transcript, others may have written. `copy` is that beside the key, None where none is kept.
    """
    folder = connection.execute(sa.select(tables.standing.c.folder)).scalar()
    if folder is not None:
        _check_published(connection, state, folder, folder_may_be_away)
    if copy is None:
        return
    head = copy.head()
    if head is None:
        raise copy.error(
            "{copy} is missing, so that nothing shows whether this database is an old one: if the key was moved, move "
            "this file after it; otherwise go on in public with deniable programme recover"
        )
    _check_head(connection, state, head, copy.error, altered=IN_PUBLIC)


def _check_published(connection: sa.Connection, state: PublicState, folder: str, folder_may_be_away: bool) -> None:
    try:
        head = read_head(Path(folder) / TRANSCRIPT)
    except DeniableError:
        if folder_may_be_away:
            return
        raise
    _check_head(
        connection,
        state,
        head,
        partial(
            PlaceError,
            copy=Place(f"the transcript in the folder {folder}", why_not("the transcript in the public folder")),
        ),
        altered=why_not("put back the newest copy of the folder that its readers have"),
    )


def _check_head(
    connection: sa.Connection, state: PublicState, there: Head, error: Callable[..., DeniableError], *, altered: Message
) -> None:
    parameters = state.parameters
    try:
        check_head(parameters.verification_key, parameters.digest, there)
    except DeniableError as found:
        raise error("{copy} was altered: {found}; {remedy}", found=found, remedy=altered) from None
    if there.entries > state.entries:
        raise error(
            "{copy} has more entries ({there}) than the database ({here}): the database is an old one; restore a newer "
            "backup, or see: deniable programme recover --help",
            there=there.entries,
            here=state.entries,
        )
    if there.root != _root_after(connection, state, there.entries):
        raise error("{copy} and the database differ: {remedy}", remedy=TWO_DATABASES)


def _root_after(connection: sa.Connection, state: PublicState, entries: int) -> str | None:
    """The root of the hash tree of so many entries, as the database has it."""
    if entries == state.entries:
        return state.tree.root.hex()
    if not entries:
        return Tree().root.hex()
    found = sa.select(tables.entries.c.root).where(tables.entries.c.number == entries)
    return connection.execute(found).scalar()
