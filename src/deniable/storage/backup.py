"""The file of a backup, the same for both databases: every row as it is, as a line of JSON, and a checksum.

Tables for what must not come to life again are left out; see `layout.TRANSIENT`.
"""

import base64
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import sqlalchemy as sa

from deniable.errors import DeniableError, PlaceError, why
from deniable.message import Place, why_not
from deniable.storage import layout
from deniable.storage.files import write_new
from deniable.storage.layout import LAYOUT
from deniable.storage.store import Store, is_storable

FORMAT = "deniable-backup/3"
_BEGINS = b'{"format": "deniable-backup/'
"""Every backup, of whatever version."""

Row = Mapping[str, Any]
Rows = Mapping[str, Sequence[Row]]
"""By the names of their tables."""


def write(
    store: Store, path: Path, keeps: Callable[[str, Row], bool], check: Callable[[], None] = lambda: None
) -> None:
    """Every row in the database at one moment of which `keeps` says so, given its table's name and the row.

    An existing file is never overwritten. What backups that were killed left in the folder is removed. `check` may
    refuse, once all is read, that it leaves the database.
    """
    try:
        write_new(path, _with_checksum(_lines(store, keeps), check), _BEGINS)
    except FileExistsError:
        raise PlaceError(
            "{path} exists already; a backup is never overwritten, so name another",
            path=_place(path),
        ) from None
    except OSError as error:
        raise _not_written(path, error) from None


def nameless(store: Store, folder: Path, keeps: Callable[[str, Row], bool], check: Callable[[], None]) -> BinaryIO:
    """The same in a file of this folder that has no name, to be read from its start. It is gone when it is closed, or
    when the process is killed.
    """
    try:
        file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed by who reads it)
        try:
            file.writelines(_with_checksum(_lines(store, keeps), check))
            file.seek(0)
        except BaseException:
            file.close()
            raise
    except OSError as error:
        raise _not_written(folder, error) from None
    return file


def _not_written(path: Path, error: OSError) -> PlaceError:
    return PlaceError(
        "cannot write the backup {path}: {why}; nothing was kept of it",
        path=_place(path),
        why=why(error),
    )


def read(path: Path) -> Rows:
    """The rows of every table, each of which fits in it."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DeniableError("cannot read the backup {path}: {why}", path=path, why=why(error)) from None
    body, _, last = content.removesuffix(b"\n").rpartition(b"\n")
    if last + b"\n" != _line({"sha256": hashlib.sha256(body + b"\n").hexdigest()}):
        raise damaged(path, "its checksum is missing or wrong")
    first, *lines = body.split(b"\n")
    if first + b"\n" != _line({"format": FORMAT, "layout": LAYOUT}):
        raise DeniableError("{path} was written by another version of deniable; restore it with that one", path=path)
    rows: dict[str, list[Row]] = {table.name: [] for table in _tables()}
    try:
        for line in lines:
            stored = json.loads(line)
            rows[stored["table"]].append({name: _decoded(value) for name, value in stored["row"].items()})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise damaged(path, "a line cannot be read") from None
    for table in _tables():
        if not all(_is_row_of(table, row) for row in rows[table.name]):
            raise damaged(path, f"it has a row that does not fit in {table.name}")
    return rows


def insert(connection: sa.Connection, rows: Rows) -> None:
    """Put them into the empty tables of a new database."""
    for table in _tables():
        if rows[table.name]:
            connection.execute(sa.insert(table), rows[table.name])


def damaged(path: Path, reason: object) -> DeniableError:
    """The error that says of a backup that it cannot be used."""
    return DeniableError("{path} is not a whole backup of deniable: {why}; use another one", path=path, why=reason)


def _tables() -> list[sa.Table]:
    return [table for table in layout.tables() if not table.name.startswith(layout.TRANSIENT)]


def _lines(store: Store, keeps: Callable[[str, Row], bool]) -> Iterator[bytes]:
    yield _line({"format": FORMAT, "layout": LAYOUT})
    with store.reading() as connection:
        for table in _tables():
            for row in connection.execute(sa.select(table).order_by(*table.primary_key.columns)).mappings():
                values = {str(name): value for name, value in row.items()}
                if keeps(table.name, values):
                    yield _line({"table": table.name, "row": {name: _encoded(values[name]) for name in values}})


def _with_checksum(lines: Iterator[bytes], check: Callable[[], None]) -> Iterator[bytes]:
    checksum = hashlib.sha256()
    for line in lines:
        checksum.update(line)
        yield line
    check()
    yield _line({"sha256": checksum.hexdigest()})


def _line(values: Row) -> bytes:
    return json.dumps(values, sort_keys=True).encode("ascii") + b"\n"


def _encoded(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode("ascii")} if isinstance(value, bytes | memoryview) else value


def _decoded(value: Any) -> Any:
    return base64.b64decode(value["base64"], validate=True) if isinstance(value, dict) else value


def _is_row_of(table: sa.Table, row: Row) -> bool:
    columns = dict(table.columns.items())
    return row.keys() == columns.keys() and all(_is_value_of(columns[name], row[name]) for name in row)


def _is_value_of(column: sa.Column[Any], value: Any) -> bool:
    if value is None:
        return bool(column.nullable)
    if isinstance(column.type, sa.Integer):
        return type(value) is int and -(2**31) <= value < 2**31  # as in PostgreSQL
    if isinstance(column.type, sa.LargeBinary):
        return isinstance(value, bytes)
    return isinstance(value, str) and is_storable(value)


def _place(path: Path) -> Place:
    return Place(str(path), why_not("the file"))
