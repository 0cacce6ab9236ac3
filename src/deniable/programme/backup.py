"""A backup is one file for both databases: every row as it is, secrets as ciphertext, and a checksum.

The seed of the open round is not in it: it may be used after the backup was made, and a second draw with it would tell
whether a report came in between. The key is not in it either. Counts that were deleted since are, encrypted: destroy
old backups, or change the key and destroy the old one.
"""

import base64
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import sqlalchemy as sa

from deniable.errors import DeniableError, PlaceError
from deniable.programme.parameters import Parameters
from deniable.programme.secrets.keys import Key
from deniable.programme.secrets.lock import vault_of
from deniable.programme.secrets.vault import Kdf, sync_folder
from deniable.programme.transaction import SEED, Book
from deniable.programme.transcript.chain import check_head, digest, parse_head
from deniable.programme.transcript.replay import parse, replay
from deniable.storage import tables
from deniable.storage.store import LAYOUT, Store

FORMAT = "deniable-backup/2"
_DAMAGED = "{path} is not a whole backup of deniable: {why}; use another one"


def write(store: Store, path: Path) -> None:
    """Everything in the database at one moment; an existing file is never overwritten."""
    try:
        _check_free(path)
        # For its owner alone, under a name of its own: two backups at once must not write into each other's file.
        descriptor, name = tempfile.mkstemp(suffix=".partial", prefix=f"{path.name}.", dir=path.parent)
        partial = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                _write(store, file)
            _link(partial, path)
        finally:
            partial.unlink(missing_ok=True)
        sync_folder(path.parent)
    except FileExistsError:
        raise PlaceError(
            f"{path} exists already; a backup is never overwritten, so name another", path, "the file"
        ) from None
    except OSError as error:
        raise PlaceError(
            f"cannot write the backup {path}: {error.strerror}; nothing was kept of it", path, "file"
        ) from None


def restore(
    path: Path, database: str, public: tuple[Path, Key] | None = None, *, never_published: bool = False
) -> None:
    """Fill a new database with a backup. The office goes on in public, with a new seed (`Programme.recover`).

    `public` is the folder where the programme was last published, if the backup does not know it, and the key, which
    seals that folder in the database. A backup that knows of no folder needs it, or the word that nothing was ever
    published: a database that has nothing to compare itself with would draw published rounds again.
    """
    rows = _read(path)
    _check(path, rows)
    if public is not None and not _is_text(str(public[0].absolute())):
        raise DeniableError("the public folder must have a path in UTF-8")
    if public is None and not never_published and rows[tables.programme.name][0]["folder"] is None:
        raise DeniableError(
            f"{path} was made before the programme was published: give --public FOLDER, where it was published since, "
            "or --never-published"
        )

    def fill(connection: sa.Connection) -> None:
        for table in tables.BACKED_UP:
            kept = [row for row in rows[table.name] if not _is_seed(table, row)]
            if kept:
                connection.execute(sa.insert(table), kept)
        if public is not None:
            folder, key = public
            book = Book.read(connection, vault_of(connection, key, f"the backup {path}"))
            book.write_folder(str(folder.absolute()))
            book.finish()

    Store.create(database, fill).dispose()


def _write(store: Store, file: BinaryIO) -> None:
    checksum = hashlib.sha256()
    for line in _lines(store):
        file.write(line)
        checksum.update(line)
    file.write(_line({"sha256": checksum.hexdigest()}))
    file.flush()
    os.fsync(file.fileno())


def _link(partial: Path, path: Path) -> None:
    try:
        path.hardlink_to(partial)  # fails where a rename would overwrite
    except FileExistsError:
        raise
    except OSError:  # a memory stick's file system has no links
        _check_free(path)
        partial.rename(path)


def _check_free(path: Path) -> None:
    if os.path.lexists(path):
        raise FileExistsError


def _lines(store: Store) -> Iterator[bytes]:
    yield _line({"format": FORMAT, "layout": LAYOUT})
    with store.reading() as connection:
        for table in tables.BACKED_UP:
            for row in connection.execute(sa.select(table).order_by(*table.primary_key.columns)).mappings():
                if _is_seed(table, row):
                    continue
                values = {name: _encoded(value) for name, value in row.items()}
                if table is tables.people:
                    values["last_code"] = 0  # the half minute in which somebody last signed in is nobody's business
                yield _line({"table": table.name, "row": values})


def _is_seed(table: sa.Table, row: Any) -> bool:
    return table is tables.secrets and row["name"] == SEED


def _line(values: dict[str, Any]) -> bytes:
    return json.dumps(values, sort_keys=True).encode("ascii") + b"\n"


def _encoded(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode("ascii")} if isinstance(value, bytes | memoryview) else value


def _decoded(value: Any) -> Any:
    return base64.b64decode(value["base64"], validate=True) if isinstance(value, dict) else value


def _read(path: Path) -> dict[str, list[dict[str, Any]]]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DeniableError(f"cannot read the backup {path}: {error.strerror}") from None
    body, _, last = content.removesuffix(b"\n").rpartition(b"\n")
    if last + b"\n" != _line({"sha256": hashlib.sha256(body + b"\n").hexdigest()}):
        raise DeniableError(_DAMAGED.format(path=path, why="its checksum is missing or wrong"))
    first, *lines = body.split(b"\n")
    if first + b"\n" != _line({"format": FORMAT, "layout": LAYOUT}):
        raise DeniableError(f"{path} was written by another version of deniable; restore it with that one")
    rows: dict[str, list[dict[str, Any]]] = {table.name: [] for table in tables.BACKED_UP}
    try:
        for line in lines:
            stored = json.loads(line)
            rows[stored["table"]].append({name: _decoded(value) for name, value in stored["row"].items()})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DeniableError(_DAMAGED.format(path=path, why="a line cannot be read")) from None
    if len(rows[tables.programme.name]) != 1 or len(rows[tables.lock.name]) != 1:
        raise DeniableError(_DAMAGED.format(path=path, why="it holds no programme"))
    return rows


def _check(path: Path, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Refuse what no database held, however right its checksum is: here, and not when the programme is opened."""
    for table in tables.BACKED_UP:
        columns = dict(table.columns.items())
        for row in rows[table.name]:
            if row.keys() != columns.keys() or not all(_fits(columns[name], row[name]) for name in row):
                raise DeniableError(_DAMAGED.format(path=path, why=f"it has a row that does not fit in {table.name}"))
    try:
        _check_public(rows)
        kdf = rows[tables.lock.name][0]["kdf"]
        if kdf is not None:
            Kdf.from_dict(_loaded(kdf))
    except DeniableError as error:
        raise DeniableError(_DAMAGED.format(path=path, why=error)) from None


def _check_public(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    (programme,), (lock,) = rows[tables.programme.name], rows[tables.lock.name]
    parameters = Parameters.from_bytes(programme["parameters"].encode())
    entries = [parse(row["line"], row["number"]) for row in rows[tables.entries.name]]
    state = replay(parameters, entries)
    head = parse_head(programme["head"])
    check_head(bytes.fromhex(parameters.public_key), parameters.digest, head)
    if (
        state.to_json() != programme["state"]
        or (head.entries, head.head) != (state.entries, state.head)
        or any(row["digest"] != digest(row["line"]) for row in rows[tables.entries.name])
        or [row["round"] for row in rows[tables.entries.name]] != [entry.round for entry in entries]
        or lock["programme"] != parameters.programme
    ):
        raise DeniableError("its parts do not belong together")


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise DeniableError("the stored key derivation is not JSON") from None


def _fits(column: sa.Column[Any], value: Any) -> bool:
    if value is None:
        return bool(column.nullable)
    if isinstance(column.type, sa.Integer):
        return type(value) is int and -(2**31) <= value < 2**31  # as in PostgreSQL
    if isinstance(column.type, sa.LargeBinary):
        return isinstance(value, bytes)
    return isinstance(value, str) and _is_text(value)


def _is_text(value: str) -> bool:
    """Both databases take it: no NUL, and no half of a surrogate pair."""
    return "\0" not in value and not any("\ud800" <= character <= "\udfff" for character in value)
