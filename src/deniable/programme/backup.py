"""A programme in a backup, and back into a new database.

The seed of the open round is not in it: it may be used after the backup was made, and a second draw with it would tell
whether a report came in between. The key is not in it either. Counts that were deleted since are, encrypted: destroy
old backups, or change the key and destroy the old one.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import sqlalchemy as sa

from deniable.errors import DeniableError
from deniable.programme.parameters import Parameters
from deniable.programme.secrets.keys import Key
from deniable.programme.secrets.lock import vault_of
from deniable.programme.secrets.vault import Kdf
from deniable.programme.transaction import SEED, Transaction
from deniable.programme.transcript.chain import check_head, parse_head
from deniable.programme.transcript.merkle import roots
from deniable.programme.transcript.replay import parse, replay
from deniable.storage import backup as files
from deniable.storage import tables
from deniable.storage.backup import Row, Rows
from deniable.storage.store import Store, is_storable


def write(store: Store, path: Path, check: Callable[[], None] = lambda: None) -> None:
    """Everything in the database at one moment, but for the seed; an existing file is never overwritten.

    `check` may refuse that what was read leaves the database.
    """
    files.write(store, path, _is_kept, check)


def nameless(store: Store, folder: Path, check: Callable[[], None]) -> BinaryIO:
    """The same in a file of this folder that has no name, and is gone when it is closed or the process is killed."""
    return files.nameless(store, folder, _is_kept, check)


def restore(
    path: Path,
    database: str,
    public: Path | None = None,
    key: Key | None = None,
    *,
    never_published: bool = False,
) -> None:
    """Fill a new database with a backup. The office goes on in public, with a new seed (`Programme.recover`).

    `public` is the folder where the programme was last published, if the backup does not know it. It needs the key,
    which seals that folder in the database; a key given alone is tried on the backup. A backup that knows of no folder
    needs `public`, or the word that nothing was ever published: a database that has nothing to compare itself with
    would draw published rounds again.
    """
    rows = files.read(path)
    _check(path, rows)
    if public is not None and key is None:
        raise DeniableError("this needs the programme's key; give its key file or its passphrase")
    if public is not None and not is_storable(str(public.absolute())):
        raise DeniableError("the public folder must have a path in UTF-8")
    if public is None and not never_published and rows[tables.standing.name][0]["folder"] is None:
        raise DeniableError(
            "{path} was made before the programme was published: give --public FOLDER, where it "
            "was published since, or --never-published",
            path=path,
        )

    def fill(connection: sa.Connection) -> None:
        files.insert(connection, {table: [row for row in rows[table] if _is_kept(table, row)] for table in rows})
        if key is None or (public is None and not rows[tables.secrets.name]):  # none after the programme's end
            return
        vault = vault_of(connection, key, f"the backup {path}")
        if public is not None:
            transaction = Transaction.read(connection, vault)
            transaction.write_folder(str(public.absolute()))
            transaction.finish()

    Store.create(database, fill).dispose()


def _is_kept(table: str, row: Row) -> bool:
    return table != tables.secrets.name or row["name"] != SEED


def _check(path: Path, rows: Rows) -> None:
    """Refuse what no database held, however right its checksum is: here, and not when the programme is opened."""
    alone = (tables.programme, tables.standing, tables.public_state, tables.lock)
    if any(len(rows[table.name]) != 1 for table in alone):
        raise files.damaged(path, "it holds no programme")
    try:
        _check_public(rows)
        kdf = rows[tables.lock.name][0]["kdf"]
        if kdf is not None:
            Kdf.from_dict(_loaded(kdf))
    except DeniableError as error:
        raise files.damaged(path, error) from None


def _check_public(rows: Rows) -> None:
    (programme,), (lock,) = rows[tables.programme.name], rows[tables.lock.name]
    (standing,), (public_state,) = rows[tables.standing.name], rows[tables.public_state.name]
    parameters = Parameters.from_bytes(programme["parameters"].encode())
    entries = [parse(row["line"], row["number"]) for row in rows[tables.entries.name]]
    state = replay(parameters, entries)
    _, *after = roots(row["line"] for row in rows[tables.entries.name])
    head = parse_head(standing["head"])
    check_head(parameters.verification_key, parameters.digest, head)
    if (
        state.to_bytes() != public_state["blob"]
        or (head.entries, head.root) != (state.entries, state.tree.root.hex())
        or [row["root"] for row in rows[tables.entries.name]] != [root.hex() for root in after]
        or [row["round"] for row in rows[tables.entries.name]] != [entry.round for entry in entries]
        or lock["programme"] != parameters.programme
    ):
        raise DeniableError("its parts do not belong together")


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise DeniableError("the stored key derivation is not JSON") from None
