"""What a new database is filled with where any programme will do."""

import sqlalchemy as sa

from deniable.storage import tables


def nothing(_: sa.Connection) -> None:
    """An empty programme."""


def a_row(connection: sa.Connection) -> None:
    connection.execute(sa.insert(tables.lock), {"id": 1, "programme": "0" * 32})
    row = {"id": 1, "parameters": "{}", "state": "{}", "head": "{}", "published": 0}
    connection.execute(sa.insert(tables.programme), row)
