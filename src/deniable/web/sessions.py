"""Who is signed in: sessions on the server, of which the browser has a random name and the database its hash."""

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from deniable.programme import tables
from deniable.web.accounts import Person, digest, minutes

IDLE = timedelta(minutes=30)
LONGEST = timedelta(hours=12)


@dataclass(frozen=True)
class Session:
    person: Person
    is_fresh: bool
    """Whether this minute's use was noted."""


def begin(connection: sa.Connection, person: str, now: datetime, before: str | None = None) -> str:
    """A new session, which ends the one `before`: what somebody knew of it is worth nothing. Returns its cookie."""
    if before is not None:
        end(connection, before)
    _sweep(connection, now)
    token = secrets.token_urlsafe(32)
    row = {"digest": digest(token), "person": person, "began": minutes(now), "used": minutes(now)}
    connection.execute(sa.insert(tables.sessions), row)
    return token


def find(connection: sa.Connection, token: str, now: datetime) -> Session | None:
    """The session of this cookie, unless it was idle for half an hour, is half a day old, or its person is disabled."""
    both = sa.join(tables.sessions, tables.people)
    wanted = sa.select(tables.sessions.c.began, tables.sessions.c.used, tables.people).select_from(both)
    row = connection.execute(
        wanted.where(tables.sessions.c.digest == digest(token), tables.people.c.disabled == 0)
    ).one_or_none()
    if row is None or row.used <= minutes(now - IDLE) or row.began <= minutes(now - LONGEST):
        return None
    return Session(Person(row.id, row.name, row.role), row.used >= minutes(now))


def touch(connection: sa.Connection, token: str, now: datetime) -> None:
    """Note that it is in use."""
    row = sa.update(tables.sessions).where(tables.sessions.c.digest == digest(token))
    connection.execute(row, {"used": minutes(now)})


def end(connection: sa.Connection, token: str) -> None:
    connection.execute(sa.delete(tables.sessions).where(tables.sessions.c.digest == digest(token)))


def _sweep(connection: sa.Connection, now: datetime) -> None:
    used, began = tables.sessions.c.used, tables.sessions.c.began
    old = sa.or_(used <= minutes(now - IDLE), began <= minutes(now - LONGEST))
    connection.execute(sa.delete(tables.sessions).where(old))


def form_token(key: bytes, cookie: str) -> str:
    """What every form of this session, or of this visit before it, carries: other sites cannot know it."""
    return hmac.digest(key, f"form:{cookie}".encode(), "sha256").hex()


def is_form_token(key: bytes, cookie: str, given: str) -> bool:
    return hmac.compare_digest(form_token(key, cookie).encode(), given.encode())


def device(key: bytes, person: str) -> str:
    """A cookie by which a browser is known to have signed in as this person before."""
    name = secrets.token_hex(16)
    return f"{name}.{_device_mark(key, person, name)}"


def known_device(key: bytes, person: str | None, cookie: str | None) -> str | None:
    """The device's name, if the cookie was made for this person."""
    name, _, mark = (cookie or "").partition(".")
    expected = _device_mark(key, person or "", name)
    return name if hmac.compare_digest(expected.encode(), mark.encode()) and person is not None else None


def _device_mark(key: bytes, person: str, name: str) -> str:
    return hmac.digest(key, f"device:{person}:{name}".encode(), "sha256").hex()
