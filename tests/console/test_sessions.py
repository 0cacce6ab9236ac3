"""Sessions, what forms carry, and known devices."""

from collections.abc import Iterator
from datetime import datetime, timedelta

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


def renewed(connection: sa.Connection, key: bytes, cookie: str, now: datetime) -> str:
    """The cookie that the browser has after a page was opened."""
    found = sessions.find(connection, key, cookie, now)
    assert found is not None
    return cookie if found.renewed is None else found.renewed


def test_a_session_ends_after_half_an_hour_without_use(office: Office, connection: sa.Connection) -> None:
    now, key = office.clock.now, office.console.key
    cookie = sessions.begin(connection, key, "id-Ada", now)
    found = sessions.find(connection, key, cookie, now)
    assert found is not None
    assert (found.person.name, found.renewed) == ("Ada", None)
    almost = now + sessions.IDLE - timedelta(minutes=1)
    newer = renewed(connection, key, cookie, almost)
    assert newer != cookie
    assert sessions.name_in(newer) == sessions.name_in(cookie)
    assert sessions.find(connection, key, cookie, now + sessions.IDLE) is None
    assert sessions.find(connection, key, newer, now + sessions.IDLE) is not None


def test_no_session_lasts_longer_than_a_working_day(office: Office, connection: sa.Connection) -> None:
    now, key = office.clock.now, office.console.key
    cookie = sessions.begin(connection, key, "id-Ada", now)
    for minutes in range(0, 12 * 60, 20):
        cookie = renewed(connection, key, cookie, now + timedelta(minutes=minutes))
    assert sessions.find(connection, key, cookie, now + sessions.LONGEST) is None


@pytest.mark.parametrize("back", [timedelta(minutes=3), timedelta(days=1), timedelta(days=400)])
def test_a_clock_that_was_set_back_keeps_no_session(office: Office, connection: sa.Connection, back: timedelta) -> None:
    now, key = office.clock.now, office.console.key
    cookie = sessions.begin(connection, key, "id-Ada", now)
    assert sessions.find(connection, key, cookie, now - back) is None
    again = sessions.begin(connection, key, "id-Ada", now - back)  # and locks no person out
    assert sessions.find(connection, key, again, now - back) is not None


def test_a_clock_that_is_corrected_a_little_ends_no_session(office: Office, connection: sa.Connection) -> None:
    midnight, key = office.clock.now.replace(hour=0, minute=0), office.console.key
    cookie = sessions.begin(connection, key, "id-Ada", midnight)
    sessions.begin(connection, key, "id-Otto", midnight - timedelta(seconds=1))
    assert sessions.find(connection, key, cookie, midnight - timedelta(seconds=1)) is not None


@pytest.mark.parametrize("cookie", ["", ".", "...", "a.b.c.d", "a.1.1.", "é.1.1.é"])
def test_what_is_no_cookie_of_a_session(office: Office, connection: sa.Connection, cookie: str) -> None:
    assert sessions.find(connection, office.console.key, cookie, office.clock.now) is None


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
    sessions.begin(connection, office.console.key, "id-Anna", now + timedelta(days=3))
    sessions.begin(connection, office.console.key, "id-Otto", now + timedelta(days=1))
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
