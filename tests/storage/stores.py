"""What a new database is filled with where any programme will do, and the lines of a backup."""

import hashlib
import json
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from deniable.storage import tables


def nothing(_: sa.Connection) -> None:
    """An empty programme."""


def a_row(connection: sa.Connection) -> None:
    connection.execute(sa.insert(tables.lock), {"id": 1, "programme": "0" * 32})
    connection.execute(sa.insert(tables.programme), {"id": 1, "parameters": "{}"})
    connection.execute(sa.insert(tables.standing), {"id": 1, "head": "{}", "folder": None})
    connection.execute(sa.insert(tables.public_state), {"id": 1, "blob": b"{}"})


def with_checksum(*lines: object) -> bytes:
    """As an attacker writes them who knows the format."""
    body = b"".join(json.dumps(line, sort_keys=True).encode() + b"\n" for line in lines)
    return body + json.dumps({"sha256": hashlib.sha256(body).hexdigest()}).encode() + b"\n"


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()[:-1]]
