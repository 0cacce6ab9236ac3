"""Who is signed in: sessions on the server, of which the browser has a random name and the database its digest."""

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from deniable.console import tables
from deniable.console.accounts import people, row_authentication
from deniable.console.accounts.people import Person
from deniable.console.accounts.row_authentication import Row
from deniable.console.tables import minutes

IDLE = timedelta(minutes=30)
LONGEST = timedelta(hours=12)


@dataclass(frozen=True)
class Session:
    person: Person
    is_fresh: bool
    """Whether this minute's use was noted."""


def begin(connection: sa.Connection, key: bytes, person: str, now: datetime, before: str | None = None) -> str:
    """A new session, which ends the one `before`: what somebody knew of it is worth nothing. Returns its cookie."""
    if before is not None:
        end(connection, key, before)
    _delete_expired(connection, now)
    token = secrets.token_urlsafe(32)
    digest = row_authentication.digest(key, "session", token)
    row = {"digest": digest, "person": person, "began": minutes(now), "used": minutes(now)}
    connection.execute(sa.insert(tables.sessions), row_authentication.authenticated(key, tables.sessions, row))
    return token


def find(connection: sa.Connection, key: bytes, token: str, now: datetime) -> Session | None:
    """The session of this cookie, unless it was idle for half an hour, is half a day old, or its person is disabled; or
    unless one of their rows was altered.
    """
    row = _row(connection, key, token)
    if row is None or row["used"] <= minutes(now - IDLE) or row["began"] <= minutes(now - LONGEST):
        return None
    known = people.by_id(connection, key, row["person"])
    return None if known is None or known.disabled else Session(known.person, row["used"] >= minutes(now))


def touch(connection: sa.Connection, key: bytes, token: str, now: datetime) -> None:
    """Note that it is in use."""
    row = _row(connection, key, token)
    if row is not None:
        used = sa.update(tables.sessions).where(tables.sessions.c.digest == row["digest"])
        connection.execute(used, row_authentication.authenticated(key, tables.sessions, {**row, "used": minutes(now)}))


def end(connection: sa.Connection, key: bytes, token: str) -> None:
    digest = row_authentication.digest(key, "session", token)
    connection.execute(sa.delete(tables.sessions).where(tables.sessions.c.digest == digest))


def _row(connection: sa.Connection, key: bytes, token: str) -> Row | None:
    """None also where somebody else than the console wrote it."""
    wanted = sa.select(tables.sessions).where(
        tables.sessions.c.digest == row_authentication.digest(key, "session", token)
    )
    row = connection.execute(wanted).mappings().one_or_none()
    return row if row is not None and row_authentication.is_authentic(key, tables.sessions, row) else None


def _delete_expired(connection: sa.Connection, now: datetime) -> None:
    used, began = tables.sessions.c.used, tables.sessions.c.began
    old = sa.or_(used <= minutes(now - IDLE), began <= minutes(now - LONGEST))
    connection.execute(sa.delete(tables.sessions).where(old))


def form_token(key: bytes, cookie: str) -> str:
    """What every form of this session, or of this visit before it, carries: other sites cannot know it."""
    return hmac.digest(key, f"form:{cookie}".encode(), "sha256").hex()


def is_form_token(key: bytes, cookie: str, given: str) -> bool:
    return hmac.compare_digest(form_token(key, cookie).encode(), given.encode())


def new_device_cookie(key: bytes, person: str) -> str:
    """A cookie by which a browser is known to have signed in as this person before."""
    name = secrets.token_hex(16)
    return f"{name}.{_device_code(key, person, name)}"


def known_device(key: bytes, person: str | None, cookie: str | None) -> str | None:
    """The device's name, if the cookie was made for this person."""
    name, _, code = (cookie or "").partition(".")
    expected = _device_code(key, person or "", name)
    return name if hmac.compare_digest(expected.encode(), code.encode()) and person is not None else None


def _device_code(key: bytes, person: str, name: str) -> str:
    return hmac.digest(key, f"device:{person}:{name}".encode(), "sha256").hex()
