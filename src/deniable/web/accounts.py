"""Who may use the console: people with a role, a password and one-time codes, invited by a link; tokens for machines.

Functions on a connection of the store. Links and tokens are kept as hashes: what is in the database opens nothing.
"""

import hashlib
import hmac
import secrets
import unicodedata
from base64 import b32encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

import pyotp
import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from deniable.errors import DeniableError
from deniable.programme import tables

Role = Literal["administrator", "operator", "importer", "auditor"]
Scope = Literal["reports", "status"]
ROLES: tuple[Role, ...] = get_args(Role)
SCOPES: tuple[Scope, ...] = get_args(Scope)

LEAST_PASSWORD, LONGEST_PASSWORD, LONGEST_NAME = 12, 256, 60
INVITED_FOR = timedelta(days=3)
STEP = 30
"""Seconds a one-time code lasts; the one before and the one after are accepted too, for clocks that differ."""


@dataclass(frozen=True)
class Person:
    id: str
    name: str
    role: Role


@dataclass(frozen=True)
class Listed:
    """A person as the administrator sees them."""

    person: Person
    disabled: bool
    has_joined: bool
    waiting: bool
    """Whether a link was made for them that they did not use yet."""


@dataclass(frozen=True)
class Invitation:
    """What a link stands for: to become `person`, or, where they exist, to set up new one-time codes."""

    person: Person
    generation: int
    exists: bool

    @property
    def is_first(self) -> bool:
        """Whether it is for the first administrator, who chooses a name."""
        return not self.person.name


@dataclass(frozen=True)
class Account:
    """What signing in needs to know."""

    person: Person
    password: str
    generation: int
    disabled: bool


@dataclass(frozen=True)
class Token:
    id: str
    name: str
    scopes: tuple[Scope, ...]


@dataclass(frozen=True)
class Deed:
    day: str
    who: str
    deed: str


class Passwords:
    """Argon2id. The tests bring a cheaper hasher; the service has the library's defaults (RFC 9106)."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._nobodys = self._hasher.hash(secrets.token_hex(16))

    def hashed(self, password: str) -> str:
        """What is stored of a new password."""
        typed = _typed(password)
        if not LEAST_PASSWORD <= len(typed) <= LONGEST_PASSWORD:
            raise DeniableError(f"the password must have {LEAST_PASSWORD} to {LONGEST_PASSWORD} characters")
        return self._hasher.hash(typed)

    def fits(self, password: str, stored: str | None) -> bool:
        """Whether this is the password; where there is none to compare with, the same work for nothing."""
        try:
            self._hasher.verify(stored or self._nobodys, _typed(password)[:LONGEST_PASSWORD])
        except (VerificationError, InvalidHashError):
            return False
        return stored is not None


def _typed(password: str) -> str:
    """The same on every keyboard, however its accents are composed."""
    return unicodedata.normalize("NFC", password)


def digest(secret: str) -> str:
    """How a link, a token or a session is kept. They are random enough that no slow hash is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def minutes(now: datetime) -> int:
    return int(now.timestamp()) // 60


# One-time codes


def codes(key: bytes, person: str, generation: int) -> pyotp.TOTP:
    """Somebody's one-time codes. Their secret is derived, not stored; a new generation makes the old codes useless."""
    secret = hmac.digest(key, f"{person}:{generation}".encode(), "sha256")[:20]
    return pyotp.TOTP(b32encode(secret).decode("ascii"), interval=STEP)


def matching_step(totp: pyotp.TOTP, code: str, now: datetime) -> int | None:
    """The half minute this code belongs to, if it is this one, the one before or the one after."""
    step, typed = int(now.timestamp()) // STEP, "".join(code.split()).encode()
    found = None
    for near in (step - 1, step, step + 1):
        if hmac.compare_digest(totp.generate_otp(near).encode(), typed):
            found = near
    return found


def use_code(connection: sa.Connection, person: str, step: int | None) -> bool:
    """Accept a code once: neither it nor an older one is accepted again."""
    if step is None:
        return False
    people = tables.people.c
    unused = sa.update(tables.people).where(people.id == person, people.last_code < step)
    return connection.execute(unused, {"last_code": step}).rowcount == 1


# People


def anybody(connection: sa.Connection) -> bool:
    return connection.execute(sa.select(tables.people.c.id).limit(1)).scalar() is not None


def account(connection: sa.Connection, name: str) -> Account | None:
    """Of the person with this name, however its letters are cased."""
    wanted = same_name(name)
    rows = connection.execute(sa.select(tables.people)).all()
    return next((_account(row) for row in rows if same_name(row.name) == wanted), None)


def account_of(connection: sa.Connection, person: str) -> Account:
    row = connection.execute(sa.select(tables.people).where(tables.people.c.id == person)).one_or_none()
    if row is None:
        raise DeniableError("there is no such person")
    return _account(row)


def listed(connection: sa.Connection) -> list[Listed]:
    """Everybody, by name, also those who were invited and have not come yet."""
    rows = connection.execute(sa.select(tables.people)).all()
    invited = {row.person: row for row in connection.execute(sa.select(tables.invitations)).all()}
    known = [Listed(_person(row), bool(row.disabled), True, row.id in invited) for row in rows]
    ids = {row.id for row in rows}
    coming = [
        Listed(Person(row.person, row.name, row.role), disabled=False, has_joined=False, waiting=True)
        for row in invited.values()
        if row.person not in ids and row.name
    ]
    return sorted(known + coming, key=lambda one: same_name(one.person.name))


def add(connection: sa.Connection, person: Person, password: str, generation: int, last_code: int = 0) -> None:
    """A new person, with what `Passwords.hashed` made of their password."""
    row = {
        "id": person.id,
        "name": _free_name(connection, person.name, but=person.id),
        "role": _role(person.role),
        "password": password,
        "generation": generation,
        "last_code": last_code,
        "disabled": 0,
    }
    connection.execute(sa.insert(tables.people), row)


def set_disabled(connection: sa.Connection, person: str, disabled: bool) -> None:
    """Shut somebody out, or let them in again. One administrator always stays."""
    account_of(connection, person)
    if disabled:
        others = sa.select(tables.people.c.id).where(
            tables.people.c.role == "administrator", tables.people.c.disabled == 0, tables.people.c.id != person
        )
        if connection.execute(others.limit(1)).scalar() is None:
            raise DeniableError("the last administrator cannot be disabled; invite another one first")
        _forget_links(connection, person)
    connection.execute(sa.update(tables.people).where(tables.people.c.id == person), {"disabled": int(disabled)})
    connection.execute(sa.delete(tables.sessions).where(tables.sessions.c.person == person))


# Links


def invite(connection: sa.Connection, name: str, role: str, now: datetime) -> str:
    """What the link ends in by which this person chooses a password and sets up one-time codes. Shown once."""
    person = Person(secrets.token_hex(8), _free_name(connection, name, now=now), _role(role))
    return _link(connection, person, generation=1, now=now)


def invite_first(connection: sa.Connection, now: datetime) -> str | None:
    """The same for the first administrator; earlier links of this kind are void. None where there are people."""
    if anybody(connection):
        return None
    connection.execute(sa.delete(tables.invitations))
    return _link(connection, Person(secrets.token_hex(8), "", "administrator"), generation=1, now=now)


def reset_codes(connection: sa.Connection, person: str, now: datetime) -> str:
    """Make somebody's one-time codes useless and return what the link ends in by which they set up new ones.

    The link alone does not let anybody in: the password is asked for.
    """
    known = account_of(connection, person)
    if known.disabled:
        raise DeniableError(f"{known.person.name} is disabled and does not need new codes")
    # Beyond every generation that a link ever showed, one that was not used included, until this link is used.
    row = sa.update(tables.people).where(tables.people.c.id == person)
    connection.execute(row, {"generation": known.generation + 2})
    connection.execute(sa.delete(tables.sessions).where(tables.sessions.c.person == person))
    return _link(connection, known.person, generation=known.generation + 3, now=now)


def invitation(connection: sa.Connection, token: str, now: datetime) -> Invitation | None:
    """What a link stands for; None where it was used, has expired or never was."""
    found = sa.select(tables.invitations).where(tables.invitations.c.digest == digest(token))
    row = connection.execute(found).one_or_none()
    if row is None or minutes(now) >= row.until:
        return None
    exists = connection.execute(sa.select(tables.people.c.id).where(tables.people.c.id == row.person)).scalar()
    return Invitation(Person(row.person, row.name, row.role), row.generation, exists is not None)


def accept(connection: sa.Connection, token: str, now: datetime, *, name: str, password: str, step: int) -> Person:
    """Use up a link. `password` is what is stored of it; a person who exists keeps theirs. `step` is that of the code
    they typed, which is not accepted again.
    """
    invited = invitation(connection, token, now)
    if invited is None:
        raise DeniableError("this link was used or has expired; ask for another one")
    person = invited.person
    _forget_links(connection, person.id)
    if invited.exists:
        row = sa.update(tables.people).where(tables.people.c.id == person.id)
        connection.execute(row, {"generation": invited.generation, "last_code": step})
        return person
    if invited.is_first:
        if anybody(connection):
            raise DeniableError("there is an administrator already")
        person = Person(person.id, _free_name(connection, name), person.role)
    add(connection, person, password, invited.generation, step)
    return person


def withdraw_invitation(connection: sa.Connection, person: str) -> str:
    """Somebody's link leads nowhere any more; returns their name."""
    found = sa.select(tables.invitations.c.name).where(tables.invitations.c.person == person)
    name: str | None = connection.execute(found).scalar()
    if name is None:
        raise DeniableError("there is no such link")
    _forget_links(connection, person)
    return name


def _link(connection: sa.Connection, person: Person, generation: int, now: datetime) -> str:
    _forget_links(connection, person.id)
    token = secrets.token_urlsafe(32)
    row = {
        "digest": digest(token),
        "person": person.id,
        "name": person.name,
        "role": person.role,
        "generation": generation,
        "until": minutes(now + INVITED_FOR),
    }
    connection.execute(sa.insert(tables.invitations), row)
    return token


def _forget_links(connection: sa.Connection, person: str) -> None:
    connection.execute(sa.delete(tables.invitations).where(tables.invitations.c.person == person))


# Tokens


def make_token(connection: sa.Connection, name: str, scopes: Sequence[str]) -> str:
    """A token with which a machine may push reports or read the status. Shown once."""
    called = _checked_name(name)
    if not scopes or any(scope not in SCOPES for scope in scopes):
        raise DeniableError(f"a token must be for one or more of: {', '.join(SCOPES)}")
    if any(same_name(token.name) == same_name(called) for token in tokens(connection)):
        raise DeniableError(f"there is a token called {called} already; choose another name")
    secret = f"deniable-{secrets.token_urlsafe(32)}"
    row = {
        "id": secrets.token_hex(8),
        "name": called,
        "digest": digest(secret),
        "scopes": " ".join(scope for scope in SCOPES if scope in scopes),
    }
    connection.execute(sa.insert(tables.tokens), row)
    return secret


def token(connection: sa.Connection, secret: str) -> Token | None:
    row = connection.execute(sa.select(tables.tokens).where(tables.tokens.c.digest == digest(secret))).one_or_none()
    return None if row is None else _token(row)


def tokens(connection: sa.Connection) -> list[Token]:
    rows = connection.execute(sa.select(tables.tokens)).all()
    return sorted(map(_token, rows), key=lambda one: same_name(one.name))


def revoke_token(connection: sa.Connection, id_: str) -> str:
    """The token opens nothing any more; returns its name."""
    found = next((token for token in tokens(connection) if token.id == id_), None)
    if found is None:
        raise DeniableError("there is no such token")
    connection.execute(sa.delete(tables.tokens).where(tables.tokens.c.id == id_))
    return found.name


# Activity


def record(connection: sa.Connection, now: datetime, who: str, deed: str) -> None:
    """The day is enough."""
    last = connection.execute(sa.select(sa.func.max(tables.activity.c.number))).scalar()
    row = {"number": (last or 0) + 1, "day": f"{now.astimezone(UTC):%Y-%m-%d}", "who": who, "deed": deed}
    connection.execute(sa.insert(tables.activity), row)


def activity(connection: sa.Connection, most: int) -> list[Deed]:
    """The newest deeds first."""
    newest = sa.select(tables.activity).order_by(tables.activity.c.number.desc()).limit(most)
    return [Deed(row.day, row.who, row.deed) for row in connection.execute(newest).all()]


def _person(row: Any) -> Person:
    return Person(row.id, row.name, row.role)


def _account(row: Any) -> Account:
    return Account(_person(row), row.password, row.generation, bool(row.disabled))


def _token(row: Any) -> Token:
    return Token(row.id, row.name, tuple(row.scopes.split()))


def same_name(name: str) -> str:
    """Equal for all spellings of a name that find the same person."""
    return unicodedata.normalize("NFKC", " ".join(name.split())).casefold()


def _role(role: str) -> Role:
    for known in ROLES:
        if role == known:
            return known
    raise DeniableError(f"the role must be one of: {', '.join(ROLES)}")


def _checked_name(name: str) -> str:
    called = unicodedata.normalize("NFC", " ".join(name.split()))
    if not called or len(called) > LONGEST_NAME or not called.isprintable():
        raise DeniableError(f"the name must have 1 to {LONGEST_NAME} printable characters")
    return called


def _free_name(connection: sa.Connection, name: str, but: str | None = None, now: datetime | None = None) -> str:
    """Nobody else has it, also not somebody who was invited. Links that have expired hold no name."""
    called = _checked_name(name)
    if now is not None:
        connection.execute(sa.delete(tables.invitations).where(tables.invitations.c.until <= minutes(now)))
    if any(same_name(one.person.name) == same_name(called) for one in listed(connection) if one.person.id != but):
        raise DeniableError(f"there is somebody called {called} already; choose another name")
    return called
