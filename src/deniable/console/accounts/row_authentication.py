"""What ties accounts in the database to the console's key.

An attacker who can write to the database but has no key makes no digest that a cookie, link or token of
theirs fits, and no row that is believed. They can still delete rows, and put back a row as it once was.
"""

import hmac
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import sqlalchemy as sa

Kind = Literal["session", "link", "token"]
Row = Mapping[Any, Any]
"""By the names of the table's columns."""


def digest(key: bytes, kind: Kind, secret: str) -> str:
    """How a cookie, link or token is kept. They are random enough that no slow hash is needed."""
    return hmac.digest(key, f"{kind}:{secret}".encode(), "sha256").hex()


def authenticated(key: bytes, table: sa.Table, row: Row) -> dict[str, Any]:
    """The row with the authentication code that it must carry to be believed."""
    return {**row, "authentication_code": _authentication_code(key, table, row)}


def is_authentic(key: bytes, table: sa.Table, row: Row) -> bool:
    """Whether the console wrote this row as it is."""
    expected = _authentication_code(key, table, row)
    return hmac.compare_digest(expected.encode(), str(row["authentication_code"]).encode())


def _authentication_code(key: bytes, table: sa.Table, row: Row) -> str:
    covered = json.dumps({name: row[name] for name in _covered(table)})
    return hmac.digest(key, f"row:{table.name}:{covered}".encode(), "sha256").hex()


@cache
def _covered(table: sa.Table) -> list[str]:
    """The names of its columns, in the order of the alphabet."""
    return sorted(column.name for column in table.columns if column.name != "authentication_code")
