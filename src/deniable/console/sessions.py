"""Who is signed in: sessions on the server, of which the browser has a random name and the database its digest.

The cookie also says, to the minute, when the session began and was last used, with a code that only the console can
make; answers bring the browser a newer one. So the database holds the day alone, opening a page writes nothing into it,
and sessions end in time whichever process looks, also after a restart.
"""

import hmac
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

import sqlalchemy as sa

from deniable.console import tables
from deniable.console.accounts import people, row_authentication
from deniable.console.accounts.people import Person
from deniable.console.tables import days

IDLE = timedelta(minutes=30)
LONGEST = timedelta(hours=12)
Over = Literal["idle", "old", "ended"]
CLOCKS_DIFFER = timedelta(minutes=2)
"""A cookie from further in the future was made before the clock was set back; how old it is cannot be said."""

# Asked with every request, so in one statement, which is made once.
_SESSION, _PERSON = ([column.name for column in table.columns] for table in (tables.sessions, tables.people))
_SESSION_AND_PERSON = (
    sa.select(*tables.sessions.columns, *tables.people.columns)
    .join(tables.people, tables.people.c.id == tables.sessions.c.person)
    .where(tables.sessions.c.digest == sa.bindparam("digest"))
)


@dataclass(frozen=True)
class Session:
    person: Person
    renewed: str | None
    """The cookie that the browser should have from now on; None where its own is of this minute."""


def begin(connection: sa.Connection, key: bytes, person: str, now: datetime, before: str | None = None) -> str:
    """A new session, which ends the one `before`: what an attacker knew of it is worth nothing. Returns its cookie."""
    if before is not None:
        end(connection, key, before)
    _delete_expired(connection, now)
    name = secrets.token_urlsafe(32)
    row = {"digest": row_authentication.digest(key, "session", name), "person": person, "began": days(now)}
    connection.execute(sa.insert(tables.sessions), row_authentication.authenticated(key, tables.sessions, row))
    return _cookie(key, name, now, now)


def name_in(cookie: str) -> str:
    """What stays the same in the cookies of a session, or of the visit of a person who is not signed in."""
    return cookie.partition(".")[0]


def open_since(key: bytes, cookie: str, now: datetime) -> datetime | None:
    """When the session of this cookie began; None where the console did not make the cookie, where the session was idle
    for half an hour or is half a day old, or where the clock was set back since. The database is not asked.
    """
    times = _times(key, cookie)
    if times is None:
        return None
    began, used = times
    is_over = now - began >= LONGEST or now - used >= IDLE or max(began, used) - now > CLOCKS_DIFFER
    return None if is_over else began


def why_over(key: bytes, cookie: str, now: datetime) -> Over | None:
    """Why the session of this cookie is over, for a person who is not signed in; None where the console did not make
    the cookie. The database is not asked: where it is not a matter of time, the session was ended.
    """
    times = _times(key, cookie)
    if times is None:
        return None
    began, used = times
    return "old" if now - began >= LONGEST else "idle" if now - used >= IDLE else "ended"


def is_ours(key: bytes, cookie: str) -> bool:
    """Whether the console made this cookie, however long ago. The database is not asked."""
    return _times(key, cookie) is not None


def find(connection: sa.Connection, key: bytes, cookie: str, now: datetime) -> Session | None:
    """The session of this cookie, unless it is over, or its person is disabled, or one of their rows was altered."""
    began = open_since(key, cookie, now)
    person = None if began is None else _person(connection, key, cookie, began)
    if began is None or person is None:
        return None
    renewed = _cookie(key, name_in(cookie), began, now)
    return Session(person, None if renewed == cookie else renewed)


def person_before(connection: sa.Connection, key: bytes, cookie: str) -> Person | None:
    """Whose session this is or was, also where it has ended because of its age; None where it was signed out."""
    times = _times(key, cookie)
    return None if times is None else _person(connection, key, cookie, times[0])


def _person(connection: sa.Connection, key: bytes, cookie: str, began: datetime) -> Person | None:
    digest = row_authentication.digest(key, "session", name_in(cookie))
    found = connection.execute(_SESSION_AND_PERSON, {"digest": digest}).first()
    if found is None:
        return None
    row = dict(zip(_SESSION, found, strict=False))
    if row["began"] != days(began) or not row_authentication.is_authentic(key, tables.sessions, row):
        return None
    known = people.account_of(key, dict(zip(_PERSON, found[len(_SESSION) :], strict=True)))
    return None if known is None or known.disabled else known.person


def end(connection: sa.Connection, key: bytes, cookie: str) -> None:
    digest = row_authentication.digest(key, "session", name_in(cookie))
    connection.execute(sa.delete(tables.sessions).where(tables.sessions.c.digest == digest))


def _cookie(key: bytes, name: str, began: datetime, used: datetime) -> str:
    told = f"{name}.{_minutes(began)}.{_minutes(used)}"
    return f"{told}.{_times_code(key, told)}"


def _minutes(moment: datetime) -> int:
    return int(moment.timestamp()) // 60


def _times(key: bytes, cookie: str) -> tuple[datetime, datetime] | None:
    """When the session began and was last used; None where the console did not make this cookie."""
    told, _, code = cookie.rpartition(".")
    if not hmac.compare_digest(_times_code(key, told).encode(), code.encode()):
        return None
    _, began, used = told.split(".")
    return datetime.fromtimestamp(60 * int(began), UTC), datetime.fromtimestamp(60 * int(used), UTC)


def _times_code(key: bytes, told: str) -> str:
    return hmac.digest(key, f"times:{told}".encode(), "sha256").hex()


def _delete_expired(connection: sa.Connection, now: datetime) -> None:
    """Those of earlier days, and of days that have not come yet since the clock was set back."""
    began = tables.sessions.c.began
    old = sa.or_(began < days(now - LONGEST), began > days(now + CLOCKS_DIFFER))
    connection.execute(sa.delete(tables.sessions).where(old))


def form_token(key: bytes, cookie: str) -> str:
    """What every form of this session, or of this visit before it, carries: other sites cannot know it."""
    return hmac.digest(key, f"form:{name_in(cookie)}".encode(), "sha256").hex()


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
