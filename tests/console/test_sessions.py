"""Sessions, what forms carry, known devices, and how often somebody may try."""

from collections.abc import Iterator
from datetime import timedelta

import anyio
import pytest
import sqlalchemy as sa
from starlette.exceptions import HTTPException
from tests.console.offices import Office
from tests.programme.offices import Clock

from deniable.console import sessions
from deniable.console.accounts import invitations, people
from deniable.console.limits import MOST_KEPT, REFILLED_IN, TRIES, PasswordQueues, Throttle

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


def test_tries_run_out_and_come_back() -> None:
    clock = Clock()
    throttle = Throttle(clock)
    assert all(throttle.take("Ada", None) for _ in range(TRIES))
    assert not throttle.take("Ada", None)
    clock.now += REFILLED_IN - timedelta(seconds=1)
    assert not throttle.take("Ada", None)
    clock.now += timedelta(seconds=1)
    assert throttle.take("Ada", None)


def test_strangers_lock_nobody_out() -> None:
    throttle = Throttle(Clock())
    while throttle.take("Ada", None):
        pass
    assert throttle.take("Ada", "her own device")
    assert throttle.take("Otto", None)


def test_a_known_device_has_a_budget_too() -> None:
    throttle = Throttle(Clock())
    while throttle.take("Ada", "stolen"):
        pass
    assert throttle.take("Ada", "her own device")


def test_who_signs_in_has_all_tries_again() -> None:
    throttle = Throttle(Clock())
    while throttle.take("Ada", "device"):
        pass
    throttle.forgive("Ada", "device")
    assert throttle.take("Ada", "device")


def test_the_throttle_does_not_grow_for_ever() -> None:
    throttle = Throttle(Clock())
    for number in range(MOST_KEPT + 50):
        throttle.take(f"name {number}", None)
    assert len(throttle._tries) == MOST_KEPT


def test_few_passwords_are_checked_at_once_and_strangers_hold_up_nobody() -> None:
    """Two lanes: strangers fill theirs, and wait; then too many wait; a known device gets through at once."""
    outcomes: list[str] = []

    async def crowd() -> None:
        lanes, released = PasswordQueues(), anyio.Event()

        def waits() -> None:
            anyio.from_thread.run(released.wait)
            outcomes.append("stranger")

        async with anyio.create_task_group() as tasks:
            for _ in range(PasswordQueues.AT_ONCE + PasswordQueues.MOST_WAITING):
                tasks.start_soon(lambda: lanes.run(waits, stranger=True))
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(HTTPException) as refused:
                await lanes.run(waits, stranger=True)
            outcomes.append(str(refused.value.status_code))
            with pytest.raises(HTTPException):
                lanes.check(stranger=True)
            lanes.check(stranger=False)
            await lanes.run(lambda: outcomes.append("known"), stranger=False)
            released.set()

    anyio.run(crowd)
    assert outcomes == ["503", "known"] + ["stranger"] * (PasswordQueues.AT_ONCE + PasswordQueues.MOST_WAITING)
