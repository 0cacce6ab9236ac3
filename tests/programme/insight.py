"""A look into a programme's database, past its ledger."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyrage
import sqlalchemy as sa

from deniable.programme.parameters import Parameters
from deniable.programme.secrets.sealed_inputs import Inputs
from deniable.programme.transaction import stored_state
from deniable.programme.transcript.state import PublicState
from deniable.storage import layout, tables
from deniable.storage.store import Store


@contextmanager
def connected(database: str) -> Iterator[sa.Connection]:
    store = Store(database)
    try:
        with store.writing() as connection:
            yield connection
    finally:
        store.dispose()


def rows(database: str, table: sa.Table) -> list[dict[str, Any]]:
    with connected(database) as connection:
        return _rows(connection, table)


def _rows(connection: sa.Connection, table: sa.Table) -> list[dict[str, Any]]:
    ordered = sa.select(table).order_by(*table.primary_key.columns)
    return [dict(row) for row in connection.execute(ordered).mappings()]


def everything(database: str) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table."""
    with connected(database) as connection:
        return {table.name: _rows(connection, table) for table in layout.tables()}


def lines_of(database: str) -> list[str]:
    return [row["line"] for row in rows(database, tables.entries)]


def blobs_of(database: str) -> dict[str, bytes]:
    """Every secret, as it is stored."""
    return {row["name"]: bytes(row["blob"]) for row in rows(database, tables.secrets)}


def standing_of(database: str) -> dict[str, Any]:
    """The signed head, and where it was published."""
    (row,) = rows(database, tables.standing)
    return row


def state_of(database: str, parameters: Parameters) -> PublicState:
    with connected(database) as connection:
        return stored_state(connection, parameters)


def put_state(database: str, state: PublicState) -> None:
    with connected(database) as connection:
        connection.execute(sa.update(tables.public_state), {"blob": state.to_bytes()})


def put(database: str, blobs: Mapping[str, bytes]) -> None:
    """Exchange stored secrets."""
    with connected(database) as connection:
        for name, blob in blobs.items():
            connection.execute(sa.update(tables.secrets).where(tables.secrets.c.name == name), {"blob": blob})


def put_page(database: str, place: int, blob: bytes) -> None:
    """Exchange a page of what came in."""
    with connected(database) as connection:
        connection.execute(sa.update(tables.pages).where(tables.pages.c.place == place), {"blob": blob})


def unsealed(database: str, identity: pyrage.x25519.Identity, after: int = 0) -> dict[int, Inputs]:
    """Entry number -> what the round was drawn from, for entries after this one."""
    with connected(database) as connection:
        later = sa.select(tables.seals).where(tables.seals.c.entry > after).order_by(tables.seals.c.entry)
        found = connection.execute(later).all()
    return {row.entry: Inputs.unsealed(bytes(row.blob), identity) for row in found}
