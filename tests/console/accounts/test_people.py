from datetime import datetime

import pytest
import sqlalchemy as sa
from tests.console.offices import Office

from deniable.console import sessions, tables
from deniable.console.accounts import invitations, people
from deniable.console.accounts.people import Person
from deniable.errors import DeniableError


def test_names_are_found_however_they_are_written(connection: sa.Connection, key: bytes) -> None:
    for written in ("Ada", "ada", " ADA ", "Ａｄａ"):
        found = people.by_name(connection, key, written)
        assert found is not None
        assert found.person.id == "id-Ada"
    assert people.by_name(connection, key, "Adam") is None


@pytest.mark.parametrize("name", ["", " ", "x" * 61, "a\x07b", "a\u202eb"])
def test_names_that_are_refused(connection: sa.Connection, key: bytes, name: str) -> None:
    with pytest.raises(DeniableError, match=r"60.* characters|must not be empty"):
        people.free_name(connection, key, name)


@pytest.mark.parametrize("name", ["the terminal", "The  Terminal", "ＴＨＥ terminal", " the\tterminal "])
def test_nobody_is_called_what_the_log_calls_the_terminal(connection: sa.Connection, key: bytes, name: str) -> None:
    with pytest.raises(DeniableError, match="is kept for what is done at the terminal"):
        people.free_name(connection, key, name)


def test_no_two_people_have_the_same_name(connection: sa.Connection, key: bytes, now: datetime) -> None:
    invitations.invite(connection, key, "Berta", "auditor", now)
    for name in ("ada", "BERTA"):
        with pytest.raises(DeniableError, match="a person called"):
            people.free_name(connection, key, name)


def test_an_unknown_role() -> None:
    with pytest.raises(DeniableError, match="the role must be one of: administrator, operator, importer or auditor"):
        people.checked_role("god")


def test_one_administrator_always_stays(connection: sa.Connection, key: bytes) -> None:
    with pytest.raises(DeniableError, match="the last administrator cannot be disabled"):
        people.set_disabled(connection, key, "id-Ada", True)
    people.add(connection, key, Person("2", "Second", "administrator"), password="hash", totp_salt="salt")
    people.set_disabled(connection, key, "id-Ada", True)
    with pytest.raises(DeniableError, match="the last administrator"):
        people.set_disabled(connection, key, "2", True)
    people.set_disabled(connection, key, "id-Ada", False)


def test_an_altered_administrator_does_not_count_as_one(connection: sa.Connection, key: bytes) -> None:
    connection.execute(sa.update(tables.people).where(tables.people.c.id == "id-Otto"), {"role": "administrator"})
    with pytest.raises(DeniableError, match="the last administrator"):
        people.set_disabled(connection, key, "id-Ada", True)


def test_who_may_see_counts(connection: sa.Connection, key: bytes) -> None:
    for number, name in enumerate(("berta", "Carl", "Dora")):
        people.add(connection, key, Person(str(number), name, "auditor"), password="hash", totp_salt="salt")
    assert people.auditors(connection, key) == ["Anna", "berta", "Carl", "Dora"]
    people.set_disabled(connection, key, "1", True)
    connection.execute(sa.update(tables.people).where(tables.people.c.id == "2"), {"name": "Dorothea"})
    assert people.auditors(connection, key) == ["Anna", "berta"]


def test_a_change_leaves_the_rest_as_it_was(connection: sa.Connection, key: bytes) -> None:
    before = people.known(connection, key, "id-Anna")
    people.set_password(connection, key, "id-Anna", "another hash")
    people.set_codes(connection, key, "id-Anna", "another salt")
    after = people.known(connection, key, "id-Anna")
    assert (after.person, after.password, after.totp_salt) == (before.person, "another hash", "another salt")


def test_a_new_password_or_new_codes_end_all_sessions(office: Office, connection: sa.Connection, key: bytes) -> None:
    now = office.clock.now
    for change in (people.set_password, people.set_codes):
        anna, otto = (sessions.begin(connection, key, name, now) for name in ("id-Anna", "id-Otto"))
        change(connection, key, "id-Anna", "another")
        assert sessions.find(connection, key, anna, now) is None
        assert sessions.find(connection, key, otto, now) is not None


def test_only_who_is_disabled_can_be_removed(connection: sa.Connection, key: bytes, now: datetime) -> None:
    with pytest.raises(DeniableError, match="disable them first"):
        people.remove(connection, key, "id-Otto")
    invitations.reset_codes(connection, key, "id-Otto", now)
    people.set_disabled(connection, key, "id-Otto", True)
    assert people.remove(connection, key, "id-Otto") == "Otto"
    assert people.by_id(connection, key, "id-Otto") is None
    assert "Otto" not in [one.person.name for one in people.listed(connection, key)]
    link = invitations.invite(connection, key, "Otto", "auditor", now)
    invited = invitations.find(connection, key, link, now)
    assert invited is not None
    assert invited.person.id != "id-Otto"


def test_nobody_of_that_id(connection: sa.Connection, key: bytes, now: datetime) -> None:
    for change in (
        lambda: people.set_disabled(connection, key, "x", True),
        lambda: people.set_password(connection, key, "x", "hash"),
        lambda: invitations.reset_codes(connection, key, "x", now),
        lambda: people.remove(connection, key, "x"),
    ):
        with pytest.raises(DeniableError, match="no such person"):
            change()
