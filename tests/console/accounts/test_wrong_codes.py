"""Wrong one-time codes after a right password: few, and told."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from tests.console.offices import PASSWORD, Browser, Office

from deniable.console.accounts import activity, people, totp, wrong_codes
from deniable.console.accounts.wrong_codes import A_DAY, A_MONTH
from deniable.console.limits import REFILLED_IN

ACCEPTED_AT_ONCE = 3


def guess(office: Office, browser: Browser, name: str = "Anna") -> int:
    """A wrong code after the right password, when the throttle allows one."""
    office.clock.now += REFILLED_IN
    return int(browser.sign_in(name, PASSWORD, "000000").status_code)


def gets_in(office: Office, browser: Browser, name: str = "Anna") -> bool:
    office.clock.now += REFILLED_IN
    return bool(browser.sign_in(name, PASSWORD, office.code(name)).status_code != 403)


def set_day(office: Office, day: datetime) -> None:
    office.clock.now = day


MONDAY = datetime(2031, 3, 3, 9, tzinfo=UTC)


@pytest.mark.parametrize("planted", [False, True])
def test_after_five_wrong_codes_no_code_works_until_the_next_day(
    office: Office, monkeypatch: pytest.MonkeyPatch, planted: bool
) -> None:
    if planted:
        monkeypatch.setattr(wrong_codes, "A_DAY", 10**6)
        monkeypatch.setattr(wrong_codes, "A_MONTH", 10**6)
    set_day(office, MONDAY)
    for _ in range(A_DAY):
        assert guess(office, office.browser()) == 403
    assert gets_in(office, office.browser()) is planted
    assert gets_in(office, office.browser(), "Otto")  # it holds up that person alone
    set_day(office, MONDAY + timedelta(days=1))
    assert gets_in(office, office.browser())


def test_after_ten_they_wait_for_the_next_month_whoever_signs_in_meanwhile(office: Office) -> None:
    set_day(office, MONDAY)
    own = office.browser("Anna")
    for day in range(A_MONTH // A_DAY):
        set_day(office, MONDAY + timedelta(days=day))
        assert gets_in(office, own)
        for _ in range(A_DAY):
            guess(office, office.browser())
        assert gets_in(office, own)  # a browser in which she signed in before has tries of its own
    set_day(office, datetime(2031, 3, 31, 12, tzinfo=UTC))
    assert not gets_in(office, office.browser())
    assert gets_in(office, own)
    set_day(office, datetime(2031, 4, 1, 0, tzinfo=UTC))
    assert gets_in(office, office.browser())


def test_a_year_of_guessing_has_less_than_one_chance_in_2500(office: Office) -> None:
    """Of an attacker who has the password, and tries as often as the throttle allows, on every day of a year that
    touches 13 months.
    """
    counted, first = 0, datetime(2031, 3, 15, 12, tzinfo=UTC)
    with office.console.store.writing() as connection:
        for hours in range(365 * 24):
            now = first + timedelta(hours=hours)
            if not wrong_codes.of(connection, "id-Anna", "new", now).are_too_many:
                counted += 1
            wrong_codes.note(connection, "id-Anna", "Anna", "new", now, is_guess=True)
            if hours % 24 == 0:
                wrong_codes.tell(connection, "id-Anna", now)
                wrong_codes.forgive(connection, "id-Anna", "new")
    assert counted == 13 * A_MONTH
    assert counted * ACCEPTED_AT_ONCE / 10**6 < 1 / 2500


def test_in_a_known_browser_there_are_five_a_day(office: Office) -> None:
    set_day(office, MONDAY)
    own = office.browser("Anna")
    for _ in range(A_DAY):
        guess(office, own)
    assert not gets_in(office, own)
    assert gets_in(office, office.browser())  # the others have theirs
    assert A_DAY * 366 * ACCEPTED_AT_ONCE / 10**6 < 1 / 180
    with office.console.store.reading() as connection:
        assert log(connection) == [("Anna", wrong_codes.NEXT_DAY_KNOWN.text)]


def test_codes_that_are_guessed_for_a_new_password_count_too(office: Office) -> None:
    set_day(office, MONDAY)
    anna = office.browser("Anna")
    new = {"old": PASSWORD, "password": "another password", "again": "another password"}
    for _ in range(A_DAY):
        assert anna.post("/account/password", {**new, "code": "000000"}).status_code == 422
    office.clock.now += timedelta(minutes=1)
    assert anna.post("/account/password", {**new, "code": office.code("Anna")}).status_code == 422


@pytest.mark.parametrize("how", ["new codes", "another password"])
def test_what_lifts_it(office: Office, how: str) -> None:
    set_day(office, MONDAY)
    for _ in range(A_DAY):
        guess(office, office.browser())
    with office.console.store.writing() as connection:
        key = office.console.key
        if how == "new codes":
            people.set_codes(connection, key, "id-Anna", totp.new_salt())
        else:
            people.set_password(connection, key, "id-Anna", "x")
        assert not wrong_codes.of(connection, "id-Anna", "new", office.clock.now).are_too_many


@pytest.mark.parametrize("back", [timedelta(days=1), timedelta(days=400), timedelta(hours=12)])
def test_a_clock_that_was_set_back_locks_no_person_out(office: Office, back: timedelta) -> None:
    set_day(office, MONDAY)
    for _ in range(A_DAY):
        guess(office, office.browser())
    assert not gets_in(office, office.browser())
    set_day(office, MONDAY - back)
    assert gets_in(office, office.browser())


def test_clocks_may_differ_by_half_a_minute(office: Office) -> None:
    """Of two processes, around midnight: neither forgives what the other counted."""
    with office.console.store.writing() as connection:
        midnight = datetime(2031, 4, 1, tzinfo=UTC)
        for seconds in (1, -1, 1, -1, 1):
            now = midnight + timedelta(seconds=seconds)
            wrong_codes.note(connection, "id-Anna", "Anna", "new", now, is_guess=True)
        for seconds in (1, -1):
            now = midnight + timedelta(seconds=seconds)
            assert wrong_codes.of(connection, "id-Anna", "new", now).are_too_many


def test_the_person_is_told_once_at_the_next_sign_in(office: Office) -> None:
    office.begin()
    own = office.browser("Anna")
    own.post("/logout")
    for _ in range(A_DAY + 2):  # also those that had no chance
        guess(office, office.browser())
    office.clock.now += REFILLED_IN
    told = own.sign_in("Anna", PASSWORD, office.code("Anna"))
    assert told.status_code == 200
    assert f"{A_DAY + 2} wrong one-time codes were typed after your right password" in told.text
    assert "Change your password" in told.text
    assert own.get("/account").status_code == 200
    own.post("/logout")
    office.clock.now += REFILLED_IN
    assert own.sign_in("Anna", PASSWORD, office.code("Anna")).status_code == 303


def test_a_mistake_in_ones_own_browser_is_not_told(office: Office) -> None:
    own = office.browser("Anna")
    own.post("/logout")
    guess(office, own)
    office.clock.now += REFILLED_IN
    assert own.sign_in("Anna", PASSWORD, office.code("Anna")).status_code == 303


def log(connection: sa.Connection) -> list[tuple[str, str]]:
    return [(one.who, one.action.text) for one in activity.read(connection).entries]


def test_the_log_has_it_by_the_day(office: Office) -> None:
    set_day(office, MONDAY)
    for day in range(3):
        set_day(office, MONDAY + timedelta(days=day))
        for _ in range(A_DAY):
            guess(office, office.browser())
        assert office.browser().sign_in("Anna", "not her password", "000000").status_code == 403
    first, next_day, next_month = (
        one.text for one in (wrong_codes.FIRST, wrong_codes.NEXT_DAY, wrong_codes.NEXT_MONTH)
    )
    with office.console.store.reading() as connection:
        assert [text for who, text in log(connection) if who == "Anna"] == [next_month, first, next_day, first]
    assert "wrong one-time code after the right password" in office.browser("Ada").get("/activity").text


def test_what_is_written_does_not_depend_on_what_was_wrong(office: Office) -> None:
    """An outsider cannot tell by the work, or by the answer, whether the password was right."""
    guess(office, office.browser())  # the first of a day is also in the log
    said: dict[str, tuple[Any, ...]] = {}
    statements: list[str] = []
    engine = office.console.store._engine
    sa.event.listen(engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    for how, typed in {
        "the name": ("Nobody", PASSWORD, "000000"),
        "the password": ("Anna", "not her password", "000000"),
        "the password alone": ("Anna", "not her password", office.code("Anna")),
        "the code": ("Anna", PASSWORD, "000000"),
    }.items():
        browser = office.browser()
        browser.get("/login")
        statements.clear()
        answer = browser.sign_in(*typed)
        said[how] = (answer.status_code, tuple(statements))
    assert len(set(said.values())) == 1
