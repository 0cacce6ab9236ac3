"""Sessions, what forms carry, and known devices."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
import sqlalchemy as sa
from tests.console.offices import Office

from deniable.console import sessions
from deniable.console.accounts import invitations, people

KEY = bytes(range(32))


@pytest.fixture
def connection(office: Office) -> Iterator[sa.Connection]:
    with office.console.store.writing() as connection:
        yield connection


def test_a_session_ends_after_half_an_hour_without_use(office: Office, connection: sa.Connection) -> None:
    now = office.clock.now
    token = sessions.begin(connection, office.console.key, "id-Ada", now)
    almost = now + sessions.IDLE - timedelta(minutes=1)
    found = sessions.find(connection, office.console.key, token, almost)
    assert found is not None
    assert (found.person.name, found.is_fresh) == ("Ada", False)
    assert sessions.find(connection, office.console.key, token, now + sessions.IDLE) is None
    sessions.touch(connection, office.console.key, token, almost)
    found = sessions.find(connection, office.console.key, token, now + sessions.IDLE)
    assert found is not None


def test_no_session_lasts_longer_than_a_working_day(office: Office, connection: sa.Connection) -> None:
    now = office.clock.now
    token = sessions.begin(connection, office.console.key, "id-Ada", now)
    for minutes in range(0, 12 * 60, 20):
        moment = now + timedelta(minutes=minutes)
        assert sessions.find(connection, office.console.key, token, moment) is not None
        sessions.touch(connection, office.console.key, token, moment)
    assert sessions.find(connection, office.console.key, token, now + sessions.LONGEST) is None


def test_a_new_session_ends_the_one_before(office: Office, connection: sa.Connection) -> None:
    now = office.clock.now
    first = sessions.begin(connection, office.console.key, "id-Ada", now)
    second = sessions.begin(connection, office.console.key, "id-Otto", now, before=first)
    assert sessions.find(connection, office.console.key, first, now) is None
    assert sessions.find(connection, office.console.key, second, now) is not None
    sessions.end(connection, office.console.key, second)
    assert sessions.find(connection, office.console.key, second, now) is None


def test_old_sessions_are_swept_away(office: Office, connection: sa.Connection) -> None:
    now = office.clock.now
    sessions.begin(connection, office.console.key, "id-Ada", now)
    sessions.begin(connection, office.console.key, "id-Otto", now + sessions.IDLE)
    kept = connection.execute(sa.text("SELECT person FROM transient_sessions")).scalars().all()
    assert kept == ["id-Otto"]


def test_who_is_disabled_or_has_new_codes_is_signed_out(office: Office, connection: sa.Connection) -> None:
    now = office.clock.now
    otto, anna = (sessions.begin(connection, office.console.key, name, now) for name in ("id-Otto", "id-Anna"))
    people.set_disabled(connection, office.console.key, "id-Otto", True)
    invitations.reset_codes(connection, office.console.key, "id-Anna", now)
    assert sessions.find(connection, office.console.key, otto, now) is None
    assert sessions.find(connection, office.console.key, anna, now) is None


def test_a_form_belongs_to_one_session() -> None:
    token = sessions.form_token(KEY, "cookie")
    assert sessions.is_form_token(KEY, "cookie", token)
    for cookie, given in (("cookie", ""), ("cookie", "é"), ("other", token), ("cookie", token[:-1]), ("", token)):
        assert not sessions.is_form_token(KEY, cookie, given)
    assert not sessions.is_form_token(bytes(32), "cookie", token)


def test_a_device_is_known_to_one_person() -> None:
    cookie = sessions.new_device_cookie(KEY, "a")
    assert sessions.known_device(KEY, "a", cookie) == cookie.partition(".")[0]
    for person, given in (("b", cookie), (None, cookie), ("a", None), ("a", ""), ("a", "."), ("a", cookie + "0")):
        assert sessions.known_device(KEY, person, given) is None
    assert sessions.known_device(bytes(32), "a", cookie) is None
