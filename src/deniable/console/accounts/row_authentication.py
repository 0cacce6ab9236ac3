"""What ties accounts in the database to the console's key.

Whoever can write to the database but has no key makes no digest that a cookie, link or token of theirs fits, and no row
that is believed. They can still delete rows, and put back a row as it once was.
"""

import hmac
import json
from collections.abc import Mapping
from typing import Any, Literal

import sqlalchemy as sa

Kind = Literal["session", "link", "token"]
Row = Mapping[Any, Any]
"""By the names of the table's columns."""

NOT_COVERED = {"mark", "last_code"}
"""A backup forgets when somebody last signed in. Whoever turns back `last_code` can use a code again, if they have it
and the password, while it lasts.
"""


def digest(key: bytes, kind: Kind, secret: str) -> str:
    """How a cookie, link or token is kept. They are random enough that no slow hash is needed."""
    return hmac.digest(key, f"{kind}:{secret}".encode(), "sha256").hex()


def marked(key: bytes, table: sa.Table, row: Row) -> dict[str, Any]:
    """The row with the mark that it must carry to be believed."""
    return {**row, "mark": _mark(key, table, row)}


def fits(key: bytes, table: sa.Table, row: Row) -> bool:
    """Whether the console wrote this row as it is."""
    return hmac.compare_digest(_mark(key, table, row).encode(), str(row["mark"]).encode())


def _mark(key: bytes, table: sa.Table, row: Row) -> str:
    covered = {column.name: row[column.name] for column in table.columns if column.name not in NOT_COVERED}
    return hmac.digest(key, f"mark:{table.name}:{json.dumps(covered, sort_keys=True)}".encode(), "sha256").hex()
