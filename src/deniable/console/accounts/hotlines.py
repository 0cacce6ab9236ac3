"""Hotlines, and who brings the exports of each.

A hotline has one person who brings it. What counts of an export depends on what was brought of the same hotline before,
so a person who brought a file in the name of another person's hotline would see from the audits what it holds.
"""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from deniable.console import tables
from deniable.console.accounts import people, row_authentication
from deniable.console.accounts.people import Person, Role, same_name, tidy_name
from deniable.errors import DeniableError
from deniable.programme.imports.imported_reports import check_source


@dataclass(frozen=True)
class Hotline:
    name: str
    person: str
    """The id of who brings it."""
    altered: bool
    """Whether its row was written by other means than the console; then it is assigned to no one."""


ASSIGNABLE_ROLES: tuple[Role, ...] = ("importer", "auditor")


def assignable_people(connection: sa.Connection, key: bytes) -> list[Person]:
    """Who may be named to bring a hotline."""
    joined = [one for one in people.listed(connection, key) if one.has_joined and not one.altered]
    return [one.person for one in joined if not one.disabled and one.person.role in ASSIGNABLE_ROLES]


def new_name(connection: sa.Connection, key: bytes, typed: str) -> str:
    """The name of a new hotline, as it is kept for good."""
    called = check_source(tidy_name(typed))
    if (known := _known(connection, key, called)) is not None:
        raise DeniableError(
            "there is a hotline called {name} already; hand it over, or choose another name", name=known
        )
    return called


def check_known(connection: sa.Connection, key: bytes, name: str) -> None:
    if _known(connection, key, name) is None:
        raise DeniableError("there is no such hotline; choose one from the list")


def bringer(connection: sa.Connection, key: bytes, person: str) -> Person:
    """Who may be named to bring a hotline; refused where this person may not."""
    found = people.known(connection, key, person).person
    if found not in assignable_people(connection, key):
        raise DeniableError("{name} must be an importer or an auditor who may sign in", name=found.name)
    return found


def assign(connection: sa.Connection, key: bytes, name: str, person: str) -> tuple[str, str]:
    """Let this person, and no other, bring a hotline, which may be a new one; returns both names."""
    called, by = check_source(tidy_name(name)), bringer(connection, key, person)
    called = _known(connection, key, called) or called
    connection.execute(sa.delete(tables.hotlines).where(tables.hotlines.c.name == called))
    row = row_authentication.authenticated(key, tables.hotlines, {"name": called, "person": person})
    connection.execute(sa.insert(tables.hotlines), row)
    return called, by.name


def _known(connection: sa.Connection, key: bytes, name: str) -> str | None:
    """The hotline of this name as it is spelled; None where there is none."""
    return next((one.name for one in listed(connection, key) if same_name(one.name) == same_name(name)), None)


def listed(connection: sa.Connection, key: bytes) -> list[Hotline]:
    return _found(connection, key, sa.select(tables.hotlines))


def _found(connection: sa.Connection, key: bytes, which: sa.Select[Any]) -> list[Hotline]:
    """By name."""
    found = [
        Hotline(row["name"], row["person"], altered=not row_authentication.is_authentic(key, tables.hotlines, row))
        for row in connection.execute(which).mappings()
    ]
    return sorted(found, key=lambda one: same_name(one.name))


def assigned_to(connection: sa.Connection, key: bytes, person: Person) -> tuple[str, ...]:
    """The hotlines that this person may bring: their own, or all for auditors, who see the counts anyway."""
    which = sa.select(tables.hotlines)
    if person.role != "auditor":
        which = which.where(tables.hotlines.c.person == person.id)
    return tuple(one.name for one in _found(connection, key, which) if not one.altered)
