"""Links that work once: to join, or to set up new one-time codes."""

import hmac
import secrets
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import sqlalchemy as sa

from deniable.console import tables
from deniable.console.accounts import people, row_authentication, totp
from deniable.console.accounts.people import Person
from deniable.console.tables import EPOCH, day_of, days
from deniable.errors import DeniableError

VALID_FOR = timedelta(days=3)
"""And until the end of that day (UTC)."""


@dataclass(frozen=True)
class Invitation:
    """What a link stands for."""

    person: Person
    joins: bool
    """To become this person; otherwise they exist, and set up new one-time codes."""
    until: date
    """The last day (UTC) on which the link works."""

    @property
    def is_first(self) -> bool:
        """Whether it is for the first administrator, who chooses a name."""
        return not self.person.name


def last_day(now: datetime) -> date:
    """On which a link works that is made now (UTC)."""
    return day_of(days(now + VALID_FOR))


def invite(connection: sa.Connection, key: bytes, name: str, role: str, now: datetime) -> str:
    """What the link ends in by which this person chooses a password and sets up one-time codes. Shown once."""
    until = tables.invitations.c.until
    connection.execute(sa.delete(tables.invitations).where(sa.not_(until.between(days(now), days(now + VALID_FOR)))))
    called = people.free_name(connection, key, name)  # links that have expired hold none
    person = Person(secrets.token_hex(8), called, people.checked_role(role))
    return _new(connection, key, Invitation(person, joins=True, until=last_day(now)))


def invite_first(connection: sa.Connection, key: bytes, now: datetime) -> str | None:
    """The same for the first administrator; earlier links of this kind are void. None where there are people."""
    if people.has_any(connection):
        return None
    connection.execute(sa.delete(tables.invitations))
    first = Person(secrets.token_hex(8), "", "administrator")
    return _new(connection, key, Invitation(first, joins=True, until=last_day(now)))


def reset_codes(connection: sa.Connection, key: bytes, person: str, now: datetime) -> str:
    """Make a person's one-time codes useless and return what the link ends in by which they set up new ones.

    The link alone does not let anybody in: the password is asked for.
    """
    known = people.known(connection, key, person)
    if known.disabled:
        raise DeniableError("{name} is disabled and does not need new codes", name=known.person.name)
    people.set_codes(connection, key, person, totp.new_salt())
    return _new(connection, key, Invitation(known.person, joins=False, until=last_day(now)))


def find(connection: sa.Connection, key: bytes, token: str, now: datetime) -> Invitation | None:
    """What a link stands for; None where it was used or withdrawn, has expired, was altered or never was."""
    wanted = sa.select(tables.invitations).where(
        tables.invitations.c.digest == row_authentication.digest(key, "link", token)
    )
    row = connection.execute(wanted).mappings().one_or_none()
    if row is None or not row_authentication.is_authentic(key, tables.invitations, row):
        return None
    if not days(now) <= row["until"] <= days(now + VALID_FOR):
        return None  # it has expired, or was made before the clock was set back
    known = people.by_id(connection, key, row["person"])
    if bool(row["joins"]) == (known is not None):
        return None  # they are gone, or have come
    return Invitation(Person(row["person"], row["name"], row["role"]), bool(row["joins"]), day_of(row["until"]))


def salt(key: bytes, token: str, visit: str) -> str:
    """Of the one-time codes that a link shows to this visit, which is known by its cookie, and to no other."""
    return hmac.digest(key, f"salt:{row_authentication.digest(key, 'link', token)}:{visit}".encode(), "sha256").hex()


def accept(
    connection: sa.Connection, key: bytes, token: str, now: datetime, *, salt: str, step: int, name: str, password: str
) -> Person:
    """Use up a link, with the one-time codes that were set up; `step` is that of the code they typed, which is not
    accepted again. `password` is what is stored of it. A person who exists keeps name and password.
    """
    invited = find(connection, key, token, now)
    if invited is None:
        raise DeniableError("this link was used or withdrawn, or has expired; ask for another one")
    person = invited.person
    people.forget_links(connection, person.id)
    if not invited.joins:
        people.set_codes(connection, key, person.id, salt, step)
        return person
    if invited.is_first:
        if people.has_any(connection):
            raise DeniableError("there is an administrator already")
        person = Person(person.id, people.free_name(connection, key, name), person.role)
    people.add(connection, key, person, password=password, totp_salt=salt, used=step)
    return person


def withdraw(connection: sa.Connection, person: str) -> str:
    """A person's link leads nowhere any more; returns their name."""
    found = sa.select(tables.invitations.c.name).where(tables.invitations.c.person == person)
    name: str | None = connection.execute(found).scalar()
    if name is None:
        raise DeniableError("there is no such link")
    people.forget_links(connection, person)
    return name


def _new(connection: sa.Connection, key: bytes, invitation: Invitation) -> str:
    people.forget_links(connection, invitation.person.id)
    token = secrets.token_urlsafe(32)
    row = {
        "digest": row_authentication.digest(key, "link", token),
        "person": invitation.person.id,
        "name": invitation.person.name,
        "role": invitation.person.role,
        "joins": int(invitation.joins),
        "until": (invitation.until - EPOCH).days,
    }
    connection.execute(sa.insert(tables.invitations), row_authentication.authenticated(key, tables.invitations, row))
    return token
