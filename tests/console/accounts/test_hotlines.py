import pytest
import sqlalchemy as sa

from deniable.console.accounts import hotlines, people
from deniable.console.accounts.people import Person, Role
from deniable.errors import DeniableError


def person(connection: sa.Connection, key: bytes, name: str, role: Role) -> Person:
    added = Person(f"id-{name}", name, role)
    people.add(connection, key, added, password="", totp_salt="")
    return added


def test_one_person_brings_a_hotline(connection: sa.Connection, key: bytes) -> None:
    iris, ivo = (person(connection, key, name, "importer") for name in ("Iris", "Ivo"))
    axel = person(connection, key, "Axel", "auditor")
    assert hotlines.assign(connection, key, " North  line ", iris.id) == ("North line", "Iris")
    hotlines.assign(connection, key, "south", ivo.id)
    assert hotlines.assigned_to(connection, key, iris) == ("North line",)
    assert hotlines.assigned_to(connection, key, ivo) == ("south",)
    assert hotlines.assigned_to(connection, key, axel) == ("North line", "south")


def test_a_hotline_is_handed_over_under_its_first_name(connection: sa.Connection, key: bytes) -> None:
    """Its reports are known under that name, so none of them counts again."""
    iris, ivo = (person(connection, key, name, "importer") for name in ("Iris", "Ivo"))
    hotlines.assign(connection, key, "North line", iris.id)
    assert hotlines.assign(connection, key, "NORTH LINE", ivo.id) == ("North line", "Ivo")
    assert hotlines.assigned_to(connection, key, iris) == ()
    assert hotlines.assigned_to(connection, key, ivo) == ("North line",)


def test_who_cannot_bring_one(connection: sa.Connection, key: bytes) -> None:
    ole, iris = person(connection, key, "Ole", "operator"), person(connection, key, "Iris", "importer")
    with pytest.raises(DeniableError, match="Ole must be an importer or an auditor"):
        hotlines.assign(connection, key, "north", ole.id)
    people.set_disabled(connection, key, iris.id, disabled=True)
    with pytest.raises(DeniableError, match="Iris must be an importer or an auditor who may sign in"):
        hotlines.assign(connection, key, "north", iris.id)
    with pytest.raises(DeniableError, match="no such person"):
        hotlines.assign(connection, key, "north", "id-Nobody")
    with pytest.raises(DeniableError, match="name must not be empty"):
        hotlines.assign(connection, key, " ", iris.id)
    assert hotlines.listed(connection, key) == []
