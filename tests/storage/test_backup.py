"""The file of a backup: every row of every table, whole or refused, the same for both databases."""

import base64
import errno
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.storage.stores import a_row, lines_of, nothing, with_checksum

from deniable.console import tables as console_tables
from deniable.errors import DeniableError
from deniable.storage import backup, layout, tables
from deniable.storage.backup import Row, Rows
from deniable.storage.store import Store

HEADER = {"format": backup.FORMAT, "layout": layout.LAYOUT}


def everything(_: str, __: Row) -> bool:
    return True


def fill(connection: sa.Connection) -> None:
    """Rows of the programme and of the console, of all types, with and without NULL; and one that is transient."""
    a_row(connection)
    blobs = [{"name": name, "blob": bytes(range(256))} for name in ("check", "seed")]
    connection.execute(sa.insert(tables.secrets), blobs)
    connection.execute(sa.insert(tables.entries), {"number": 1, "round": 1, "line": "é\n", "root": "0" * 64})
    connection.execute(sa.insert(tables.seals), {"entry": 1, "blob": b""})
    connection.execute(sa.insert(tables.pages), [{"place": place, "blob": b"page"} for place in range(2)])
    person = dict.fromkeys(("name", "role", "password", "totp_salt", "authentication_code"), "x")
    connection.execute(sa.insert(console_tables.people), {"id": "ada", "disabled": 0, **person})
    connection.execute(sa.insert(console_tables.used_codes), {"person": "ada", "digest": "1"})


@pytest.fixture
def store(database: str) -> Store:
    return Store.create(database, fill)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of a backup of a database with all kinds of rows."""
    backup.write(Store.create(str(tmp_path / "source.db"), fill), tmp_path / "backup", everything)
    return tmp_path / "backup"


def restored(rows: Rows, path: Path) -> Store:
    return Store.create(str(path), lambda connection: backup.insert(connection, rows))


def test_there_and_back_again_to_the_byte(store: Store, tmp_path: Path) -> None:
    backup.write(store, tmp_path / "one", everything)
    rows = backup.read(tmp_path / "one")
    assert {table: len(rows[table]) for table in rows if rows[table]} == {
        "lock": 1,
        "programme": 1,
        "standing": 1,
        "public_state": 1,
        "secrets": 2,
        "entries": 1,
        "seals": 1,
        "pages": 2,
        "people": 1,
    }
    assert rows["secrets"][0] == {"name": "check", "blob": bytes(range(256))}
    backup.write(restored(rows, tmp_path / "new.db"), tmp_path / "two", everything)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_it_has_every_table_but_the_transient_ones(store: Store, tmp_path: Path) -> None:
    backup.write(store, tmp_path / "backup", everything)
    assert backup.read(tmp_path / "backup").keys() == {
        table.name for table in layout.tables() if not table.name.startswith(layout.TRANSIENT)
    }
    assert b"transient" not in (tmp_path / "backup").read_bytes()


def test_other_tables_of_the_same_server_are_not_ours(store: Store, tmp_path: Path) -> None:
    with store.writing() as connection:
        connection.execute(sa.text("CREATE TABLE other (id INTEGER)"))
        connection.execute(sa.text("INSERT INTO other VALUES (1)"))
    backup.write(store, tmp_path / "backup", everything)
    assert "other" not in backup.read(tmp_path / "backup")


def test_rows_may_be_left_out(store: Store, tmp_path: Path) -> None:
    backup.write(store, tmp_path / "backup", lambda table, row: (table, row.get("name")) != ("secrets", "seed"))
    assert [row["name"] for row in backup.read(tmp_path / "backup")["secrets"]] == ["check"]


def test_it_is_never_overwritten(store: Store, tmp_path: Path) -> None:
    (tmp_path / "backup").write_text("mine")
    with pytest.raises(DeniableError, match=r"exists already.*never overwritten"):
        backup.write(store, tmp_path / "backup", everything)
    assert (tmp_path / "backup").read_text() == "mine"


def test_one_without_a_name_leaves_nothing_behind(store: Store, tmp_path: Path) -> None:
    """No file is seen while it is written, so that none is left where the process is killed."""
    folder, seen = tmp_path / "folder", list[list[Path]]()
    folder.mkdir()
    with backup.nameless(store, folder, everything, lambda: seen.append(list(folder.iterdir()))) as file:
        assert os.fstat(file.fileno()).st_mode & 0o777 == 0o600
        backup.write(store, tmp_path / "named", everything)
        assert file.read() == (tmp_path / "named").read_bytes()
    assert [*seen, list(folder.iterdir())] == [[], []]
    with pytest.raises(DeniableError, match=r"cannot write the backup .*No such file"):
        backup.nameless(store, tmp_path / "away", everything, nothing_to_check)

    def refuses() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(DeniableError, match="the disk is full; make room and try again; nothing was kept of it"):
        backup.nameless(store, folder, everything, refuses)


def nothing_to_check() -> None:
    pass


def test_where_it_cannot_be_written_or_read(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeniableError, match=r"cannot write the backup .*: No such file or directory; nothing was kept"):
        backup.write(store, tmp_path / "nowhere" / "backup", everything)
    with pytest.raises(DeniableError, match=r"cannot read the backup .*: No such file or directory"):
        backup.read(tmp_path / "nothing")
    monkeypatch.setattr(os, "fsync", lambda _: os.close(-1))  # as any other OSError
    with pytest.raises(DeniableError, match="cannot write the backup"):
        backup.write(store, tmp_path / "backup", everything)
    assert not list(tmp_path.glob("backup*"))


@pytest.mark.parametrize("at", [0, 40, 1400, -90, -20, -1])
def test_a_damaged_backup_is_refused(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    with pytest.raises(DeniableError, match="is not a whole backup of deniable: its checksum is missing or wrong; use"):
        backup.read(path)


def test_a_backup_that_was_cut_off_is_refused(path: Path) -> None:
    content = path.read_bytes()
    for end in (0, 1, len(content) // 2, len(content) - 66, len(content) - 2):
        path.write_bytes(content[:end])
        with pytest.raises(DeniableError, match="is not a whole backup of deniable"):
            backup.read(path)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([HEADER | {"layout": "0000"}], "was written by another version of deniable"),
        ([HEADER | {"format": "deniable-backup/9"}], "was written by another version of deniable"),
        ([HEADER, {"table": "elsewhere", "row": {}}], "a line cannot be read"),
        ([HEADER, {"table": "alembic_version", "row": {"version_num": "1"}}], "a line cannot be read"),
        ([HEADER, {"table": "transient_used_codes", "row": {"person": "ada", "digest": "1"}}], "a line cannot be read"),
        ([HEADER, ["table"]], "a line cannot be read"),
        ([HEADER, {"table": "secrets", "row": {"blob": {"base64": "?"}}}], "a line cannot be read"),
    ],
)
def test_what_was_not_written_by_this_version(tmp_path: Path, lines: list[object], says: str) -> None:
    path = tmp_path / "backup"
    path.write_bytes(with_checksum(*lines))
    with pytest.raises(DeniableError, match=says):
        backup.read(path)


def test_a_deep_line_is_refused(tmp_path: Path) -> None:
    body = json.dumps(HEADER).encode() + b"\n" + b"[" * 100_000 + b"\n"
    path = tmp_path / "backup"
    path.write_bytes(body + json.dumps({"sha256": hashlib.sha256(body).hexdigest()}).encode() + b"\n")
    with pytest.raises(DeniableError, match="a line cannot be read"):
        backup.read(path)


CRAFTED: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "a column of its own": ("entries", lambda row: row | {"other": 1}),
    "a column less": ("entries", lambda row: {name: row[name] for name in row if name != "round"}),
    "a number no database holds": ("entries", lambda row: row | {"number": 2**70}),
    "a truth value": ("entries", lambda row: row | {"round": True}),
    "a fraction": ("entries", lambda row: row | {"number": 1.0}),
    "half a surrogate pair": ("programme", lambda row: row | {"folder": "/tmp/\ud800"}),
    "a NUL": ("programme", lambda row: row | {"folder": "/tmp/\0"}),
    "nothing": ("programme", lambda row: row | {"head": None}),
    "no primary key": ("people", lambda row: row | {"id": None}),
    "a list": ("lock", lambda row: row | {"kdf": ["x"]}),
    "text for bytes": ("secrets", lambda row: row | {"blob": "x"}),
    "bytes for text": ("lock", lambda row: row | {"kdf": {"base64": base64.b64encode(b"x").decode()}}),
    "text for a number": ("people", lambda row: row | {"disabled": "0"}),
}


@pytest.mark.parametrize("crafted", CRAFTED.values(), ids=CRAFTED.keys())
def test_a_row_that_does_not_fit_in_its_table_is_refused(
    path: Path, crafted: tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]
) -> None:
    table, change = crafted
    lines = lines_of(path)
    path.write_bytes(with_checksum(*lines))
    backup.read(path)  # the control: as it was, it is accepted
    line = next(line for line in lines if line.get("table") == table)
    line["row"] = change(line["row"])
    path.write_bytes(with_checksum(*lines))
    with pytest.raises(DeniableError, match=f"is not a whole backup of deniable: .* does not fit in {table}; use"):
        backup.read(path)


def test_rows_that_contradict_one_another_leave_no_database_behind(path: Path, tmp_path: Path) -> None:
    lines = lines_of(path)
    lines.append(next(line for line in lines if line.get("table") == "secrets"))  # the same secret twice
    path.write_bytes(with_checksum(*lines))
    with pytest.raises(DeniableError, match="it refused"):
        restored(backup.read(path), tmp_path / "restored.db")
    assert not list(tmp_path.glob("restored.db*"))


def test_an_empty_database(tmp_path: Path) -> None:
    backup.write(Store.create(str(tmp_path / "empty.db"), nothing), tmp_path / "backup", everything)
    assert not any(backup.read(tmp_path / "backup").values())
