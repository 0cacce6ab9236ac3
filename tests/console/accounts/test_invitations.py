from datetime import datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.console.offices import CHEAP, PASSWORD, new_office

from deniable.console import tables
from deniable.console.accounts import invitations, people, totp
from deniable.console.accounts.people import Person
from deniable.errors import DeniableError


def accept(connection: sa.Connection, key: bytes, token: str, now: datetime, **given: str) -> Person:
    filled = {"salt": invitations.salt(key, token, "visit"), "name": "", "password": "hash"} | given
    return invitations.accept(connection, key, token, now, step=7, **filled)


def test_a_link_works_once(connection: sa.Connection, key: bytes, now: datetime) -> None:
    token = invitations.invite(connection, key, "Berta", "auditor", now)
    invited = invitations.find(connection, key, token, now)
    assert invited is not None
    assert (invited.person.name, invited.person.role) == ("Berta", "auditor")
    assert (invited.joins, invited.is_first) == (True, False)
    person = accept(connection, key, token, now, name="ignored")
    assert person == invited.person
    assert people.known(connection, key, person.id).person == person
    assert not totp.use(connection, key, person.id, 7)
    assert invitations.find(connection, key, token, now) is None
    with pytest.raises(DeniableError, match="this link was used or withdrawn, or has expired"):
        accept(connection, key, token, now)


def test_a_link_expires(connection: sa.Connection, key: bytes, now: datetime) -> None:
    token = invitations.invite(connection, key, "Berta", "auditor", now)
    last = (now + invitations.VALID_FOR).replace(hour=23, minute=59)
    assert invitations.find(connection, key, token, last) is not None
    later = last + timedelta(minutes=1)
    assert invitations.find(connection, key, token, later) is None
    invitations.invite(connection, key, "Berta", "auditor", later)  # its name is free again


def test_a_clock_that_was_set_back_prolongs_no_link(connection: sa.Connection, key: bytes, now: datetime) -> None:
    token = invitations.invite(connection, key, "Berta", "auditor", now)
    before = now - timedelta(days=1)
    assert invitations.find(connection, key, token, before) is None
    invitations.invite(connection, key, "Berta", "auditor", before)  # its name is free again


def test_a_link_can_be_withdrawn(connection: sa.Connection, key: bytes, now: datetime) -> None:
    token = invitations.invite(connection, key, "Berta", "auditor", now)
    berta = next(one.person for one in people.listed(connection, key) if not one.has_joined)
    assert invitations.withdraw(connection, berta.id) == "Berta"
    assert invitations.find(connection, key, token, now) is None
    with pytest.raises(DeniableError, match="no such link"):
        invitations.withdraw(connection, berta.id)


def test_a_link_shows_every_visit_other_codes(key: bytes) -> None:
    """And none that follow from those of somebody else who opened it."""
    shown = {invitations.salt(key, token, visit) for token in ("one", "two") for visit in ("a", "b")}
    shown |= {invitations.salt(bytes(32), "one", "a")}
    assert len(shown) == 5


def test_the_codes_that_were_set_up_serve_and_no_others(connection: sa.Connection, key: bytes, now: datetime) -> None:
    token = invitations.invite(connection, key, "Berta", "auditor", now)
    mine, overheard = (invitations.salt(key, token, visit) for visit in ("Berta's", "somebody's who read the mail"))
    person = accept(connection, key, token, now, salt=mine)
    assert people.known(connection, key, person.id).totp_salt == mine != overheard


def test_the_first_administrator_chooses_a_name(tmp_path: Path, now: datetime) -> None:
    office = new_office(tmp_path, people=False)
    key = office.console.key
    with office.console.store.writing() as connection:
        old = invitations.invite_first(connection, key, now)
        new = invitations.invite_first(connection, key, now)
        assert old is not None
        assert new is not None
        assert invitations.find(connection, key, old, now) is None  # printed at an earlier start
        with pytest.raises(DeniableError, match="is kept for"):
            accept(connection, key, new, now, name="The Terminal")
        new = invitations.invite_first(connection, key, now)
        assert new is not None
        person = accept(connection, key, new, now, name="Ada")
        assert (person.name, person.role) == ("Ada", "administrator")
        assert invitations.invite_first(connection, key, now) is None
    office.console.close()


def test_new_codes_make_the_old_ones_useless(connection: sa.Connection, key: bytes, now: datetime) -> None:
    before = people.known(connection, key, "id-Otto").totp_salt
    token = invitations.reset_codes(connection, key, "id-Otto", now)
    between = people.known(connection, key, "id-Otto").totp_salt
    invited = invitations.find(connection, key, token, now)
    assert invited is not None
    assert not invited.joins
    mine = invitations.salt(key, token, "visit")
    assert len({before, between, mine}) == 3  # nobody can sign in until the link is used
    accept(connection, key, token, now, password="ignored")
    after = people.known(connection, key, "id-Otto")
    assert after.totp_salt == mine
    assert CHEAP.verify(after.password, PASSWORD)


def test_a_link_that_was_replaced_shows_codes_that_never_serve(
    connection: sa.Connection, key: bytes, now: datetime
) -> None:
    """Somebody may have looked at it: what it showed must not become what signs in later."""
    shown = set()
    for _ in range(3):
        token = invitations.reset_codes(connection, key, "id-Otto", now)
        assert people.known(connection, key, "id-Otto").totp_salt not in shown
        shown.add(invitations.salt(key, token, "visit"))
    assert len(shown) == 3
    invitations.withdraw(connection, "id-Otto")
    assert people.known(connection, key, "id-Otto").totp_salt not in shown


def test_who_is_disabled_gets_no_new_codes(connection: sa.Connection, key: bytes, now: datetime) -> None:
    token = invitations.reset_codes(connection, key, "id-Otto", now)
    people.set_disabled(connection, key, "id-Otto", True)
    assert invitations.find(connection, key, token, now) is None
    with pytest.raises(DeniableError, match="Otto is disabled"):
        invitations.reset_codes(connection, key, "id-Otto", now)


def test_a_link_for_new_codes_never_lets_anybody_join(connection: sa.Connection, key: bytes, now: datetime) -> None:
    """It needs the password, also where somebody deletes from the database whose password it is."""
    token = invitations.reset_codes(connection, key, "id-Otto", now)
    connection.execute(sa.delete(tables.people).where(tables.people.c.id == "id-Otto"))
    assert invitations.find(connection, key, token, now) is None
