"""People, each with a role, and the rules for their names."""

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, get_args

import sqlalchemy as sa

from deniable.console import tables
from deniable.console.accounts import row_authentication, totp, wrong_codes
from deniable.console.accounts.activity import TERMINAL
from deniable.console.accounts.row_authentication import Row
from deniable.errors import DeniableError
from deniable.message import Message, noted, one_of, why_not
from deniable.programme.names import check_name

Role = Literal["administrator", "operator", "importer", "auditor"]
ROLES: tuple[Role, ...] = get_args(Role)

ROLE_NAMES: Mapping[Role, Message] = {
    "importer": noted("importer"),
    "operator": noted("operator"),
    "auditor": noted("auditor"),
    "administrator": noted("administrator"),
}

LONGEST_NAME = 60


@dataclass(frozen=True)
class Person:
    id: str
    name: str
    role: Role


@dataclass(frozen=True)
class Account:
    """What signing in needs to know."""

    person: Person
    password: str
    totp_salt: str
    """Of their one-time codes."""
    disabled: bool


@dataclass(frozen=True)
class PersonRow:
    """A person as the administrator sees them."""

    person: Person
    disabled: bool
    has_joined: bool
    waiting: bool
    """Whether a link was made for them that they did not use yet."""
    altered: bool
    """Whether their row was written by other means than the console, and therefore opens nothing."""
    link_until: date | None
    """The last day (UTC) on which their link works; None where there is no link."""


def has_any(connection: sa.Connection) -> bool:
    """Whether there are people, also if their rows were altered: that is no reason to begin anew."""
    return connection.execute(sa.select(tables.people.c.id).limit(1)).scalar() is not None


def by_name(connection: sa.Connection, key: bytes, name: str) -> Account | None:
    """The person with this name, however its letters are cased; the same work whether or not there is one."""
    wanted = same_name(name)
    return next((one for one in _accounts(connection, key) if same_name(one.person.name) == wanted), None)


def by_id(connection: sa.Connection, key: bytes, person: str) -> Account | None:
    """The person with this id, unless their row was altered."""
    row = _row(connection, person)
    return None if row is None else account_of(key, row)


def account_of(key: bytes, row: Row) -> Account | None:
    """The person of this row, unless it was altered."""
    return _account(row) if row_authentication.is_authentic(key, tables.people, row) else None


def known(connection: sa.Connection, key: bytes, person: str) -> Account:
    """The same, where there must be one."""
    return _account(_known_row(connection, key, person))


def auditors(connection: sa.Connection, key: bytes) -> list[str]:
    """The names of all who may see counts."""
    return [one.name for one in having(connection, key, ["auditor"])]


def having(connection: sa.Connection, key: bytes, roles: Collection[Role]) -> list[Person]:
    """All who have one of these roles and can sign in, by name."""
    some = sa.select(tables.people).where(tables.people.c.role.in_(roles))
    found = [one.person for one in _accounts(connection, key, some) if not one.disabled]
    return sorted(found, key=lambda one: same_name(one.name))


def locked_out(connection: sa.Connection, key: bytes) -> set[str]:
    """The ids of those who were given new one-time codes and have not set them up: until then they cannot sign in."""
    return {one.person.id for one in listed(connection, key) if one.has_joined and one.waiting}


def listed(connection: sa.Connection, key: bytes) -> list[PersonRow]:
    """All people, by name, also those who were invited and have not come yet."""
    rows = connection.execute(_EVERYBODY).mappings().all()
    invited = {row["person"]: row for row in connection.execute(sa.select(tables.invitations)).mappings()}
    believed = {
        person: tables.day_of(row["until"])
        for person, row in invited.items()
        if row_authentication.is_authentic(key, tables.invitations, row)
    }
    joined = [
        PersonRow(
            person=_person(row),
            disabled=bool(row["disabled"]),
            has_joined=True,
            waiting=row["id"] in believed,
            altered=not row_authentication.is_authentic(key, tables.people, row),
            link_until=believed.get(row["id"]),
        )
        for row in rows
    ]
    ids = {row["id"] for row in rows}
    coming = [
        PersonRow(
            person=Person(person, row["name"], row["role"]),
            disabled=False,
            has_joined=False,
            waiting=person in believed,
            altered=person not in believed,
            link_until=believed.get(person),
        )
        for person, row in invited.items()
        if person not in ids and row["name"]
    ]
    return sorted(joined + coming, key=lambda one: same_name(one.person.name))


def add(
    connection: sa.Connection, key: bytes, person: Person, *, password: str, totp_salt: str, used: int | None = None
) -> None:
    """A new person. `password`: what is stored of it; `used`: the step of the one-time code that they typed already."""
    row = {
        "id": person.id,
        "name": free_name(connection, key, person.name, but=person.id),
        "role": checked_role(person.role),
        "password": password,
        "totp_salt": totp_salt,
        "disabled": 0,
    }
    connection.execute(sa.insert(tables.people), row_authentication.authenticated(key, tables.people, row))
    totp.set_used(connection, key, person.id, used)


def set_password(connection: sa.Connection, key: bytes, person: str, password: str) -> None:
    """What is stored of a new one. All sessions of this person end."""
    _change(connection, key, person, {"password": password})
    wrong_codes.forget(connection, person)
    sign_out(connection, person)


def set_codes(connection: sa.Connection, key: bytes, person: str, salt: str, used: int | None = None) -> None:
    """Other one-time codes; the old ones are useless. All sessions of this person end. An attacker who has the
    password still has it, so their guesses count on; the browser in which the link is opened becomes a known one.
    """
    _change(connection, key, person, {"totp_salt": salt})
    totp.set_used(connection, key, person, used)
    wrong_codes.forgive(connection, person)
    sign_out(connection, person)


def set_disabled(connection: sa.Connection, key: bytes, person: str, disabled: bool) -> None:
    """Shut a person out, or let them in again. One administrator always stays."""
    if disabled and not any(
        one.person.role == "administrator" and not one.disabled and one.person.id != person
        for one in _accounts(connection, key)
    ):
        raise DeniableError("the last administrator cannot be disabled; invite another one first")
    _change(connection, key, person, {"disabled": int(disabled)})
    if disabled:
        forget_links(connection, person)
    sign_out(connection, person)


def remove(connection: sa.Connection, key: bytes, person: str) -> str:
    """Forget a person who is disabled, or whose row was altered; returns the name, which is free again."""
    row = _row(connection, person)
    if row is None:
        raise DeniableError("there is no such person")
    if not row["disabled"] and row_authentication.is_authentic(key, tables.people, row):
        raise DeniableError("only a disabled person can be removed; disable them first")
    forget_links(connection, person)
    sign_out(connection, person)
    totp.set_used(connection, key, person, None)
    wrong_codes.forget(connection, person)
    connection.execute(sa.delete(tables.people).where(tables.people.c.id == person))
    return str(row["name"])


def sign_out(connection: sa.Connection, person: str) -> None:
    """Everywhere."""
    connection.execute(sa.delete(tables.sessions).where(tables.sessions.c.person == person))


def forget_links(connection: sa.Connection, person: str) -> None:
    connection.execute(sa.delete(tables.invitations).where(tables.invitations.c.person == person))


def same_name(name: str) -> str:
    """Equal for all spellings of a name that find the same person."""
    return unicodedata.normalize("NFKC", " ".join(name.split())).casefold()


def tidy_name(typed: str) -> str:
    """A name as it is kept, of what was typed: one space between words, and accents composed."""
    return unicodedata.normalize("NFC", " ".join(typed.split()))


def checked_name(typed: str) -> str:
    """A person's or a token's name, as it is kept and shown."""
    return check_name(why_not("the name"), tidy_name(typed), LONGEST_NAME)


def checked_role(role: str) -> Role:
    for one in ROLES:
        if role == one:
            return one
    raise DeniableError("the role must be one of: {roles}", roles=one_of(ROLE_NAMES[one] for one in ROLES))


def free_name(connection: sa.Connection, key: bytes, name: str, but: str | None = None) -> str:
    """No other person has it, not even one who is only invited."""
    called = checked_name(name)
    if same_name(called) == TERMINAL:
        raise DeniableError(
            "the name {called} is kept for what is done at the terminal; choose another name", called=called
        )
    if any(same_name(one.person.name) == same_name(called) for one in listed(connection, key) if one.person.id != but):
        raise DeniableError("there is a person called {called} already; choose another name", called=called)
    return called


_EVERYBODY = sa.select(tables.people)


def _accounts(connection: sa.Connection, key: bytes, which: sa.Select[Any] = _EVERYBODY) -> list[Account]:
    """Of those people whose rows were not altered."""
    rows = connection.execute(which).mappings().all()
    return [_account(row) for row in rows if row_authentication.is_authentic(key, tables.people, row)]


def _row(connection: sa.Connection, person: str) -> Row | None:
    return connection.execute(sa.select(tables.people).where(tables.people.c.id == person)).mappings().one_or_none()


def _change(connection: sa.Connection, key: bytes, person: str, changes: Mapping[str, str | int]) -> None:
    """Never of a row that was altered: a new authentication code would make it believed."""
    row = {**_known_row(connection, key, person), **changes}
    changed = sa.update(tables.people).where(tables.people.c.id == person)
    connection.execute(changed, row_authentication.authenticated(key, tables.people, row))


def _known_row(connection: sa.Connection, key: bytes, person: str) -> Row:
    row = _row(connection, person)
    if row is None or not row_authentication.is_authentic(key, tables.people, row):
        raise DeniableError("there is no such person, or their entry was altered outside the console")
    return row


def _person(row: Row) -> Person:
    return Person(row["id"], row["name"], row["role"])


def _account(row: Row) -> Account:
    return Account(_person(row), row["password"], row["totp_salt"], bool(row["disabled"]))
