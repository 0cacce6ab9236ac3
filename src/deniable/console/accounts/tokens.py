"""Tokens, with which machines push reports or read the status."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import sqlalchemy as sa

from deniable.console import tables
from deniable.console.accounts import row_authentication
from deniable.console.accounts.people import checked_name, same_name
from deniable.console.accounts.row_authentication import Row
from deniable.errors import DeniableError

Scope = Literal["reports", "status"]
SCOPES: tuple[Scope, ...] = get_args(Scope)


@dataclass(frozen=True)
class Token:
    id: str
    name: str
    scopes: tuple[Scope, ...]
    altered: bool
    """Whether its row was written by other means than the console, and therefore opens nothing."""


def make(connection: sa.Connection, key: bytes, name: str, scopes: Sequence[str]) -> str:
    """A new token. Shown once."""
    called = checked_name(name)
    if not scopes or any(scope not in SCOPES for scope in scopes):
        raise DeniableError("choose what the token may do: send numbers of reports, read the status, or both")
    if any(same_name(token.name) == same_name(called) for token in listed(connection, key)):
        raise DeniableError("there is a token called {called} already; choose another name", called=called)
    secret = f"deniable-{secrets.token_urlsafe(32)}"
    row = {
        "id": secrets.token_hex(8),
        "name": called,
        "digest": row_authentication.digest(key, "token", secret),
        "scopes": " ".join(scope for scope in SCOPES if scope in scopes),
    }
    connection.execute(sa.insert(tables.tokens), row_authentication.authenticated(key, tables.tokens, row))
    return secret


def find(connection: sa.Connection, key: bytes, secret: str) -> Token | None:
    """None where it was revoked, was altered or never was."""
    wanted = sa.select(tables.tokens).where(tables.tokens.c.digest == row_authentication.digest(key, "token", secret))
    row = connection.execute(wanted).mappings().one_or_none()
    found = None if row is None else _token(key, row)
    return None if found is None or found.altered else found


def listed(connection: sa.Connection, key: bytes) -> list[Token]:
    rows = connection.execute(sa.select(tables.tokens)).mappings()
    return sorted((_token(key, row) for row in rows), key=lambda one: same_name(one.name))


def revoke(connection: sa.Connection, id_: str) -> str:
    """The token opens nothing any more; returns its name."""
    name: str | None = connection.execute(sa.select(tables.tokens.c.name).where(tables.tokens.c.id == id_)).scalar()
    if name is None:
        raise DeniableError("there is no such token")
    connection.execute(sa.delete(tables.tokens).where(tables.tokens.c.id == id_))
    return name


def _token(key: bytes, row: Row) -> Token:
    altered = not row_authentication.is_authentic(key, tables.tokens, row)
    return Token(row["id"], row["name"], tuple(row["scopes"].split()), altered)
