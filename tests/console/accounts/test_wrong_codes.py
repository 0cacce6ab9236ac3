"""Wrong one-time codes after a right password: few, and told."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pyotp
import pytest
import sqlalchemy as sa
from tests.console.offices import PASSWORD, Browser, Office

from deniable.console import tables
from deniable.console.accounts import activity, invitations, people, totp, wrong_codes
from deniable.console.accounts.wrong_codes import A_DAY, A_MONTH
from deniable.console.limits import REFILLED_IN
from deniable.console.tables import days

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
        monkeypatch.setattr(wrong_codes, "A_MONTH", {"new": 10**6, "known": 10**6})
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
    for day in range(A_MONTH["new"] // A_DAY):
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
    """Of an attacker who has the password, and tries every two hours of a year that touches 13 months; the person signs
    in every day, and gets new codes every day, which leave the password as it is.
    """
    counted, first = 0, datetime(2031, 3, 15, 12, tzinfo=UTC)
    with office.console.store.writing() as connection:
        for hours in range(0, 365 * 24, 2):
            now = first + timedelta(hours=hours)
            if not wrong_codes.of(connection, "id-Anna", "new", now).are_too_many:
                counted += 1
            wrong_codes.note(connection, "id-Anna", "Anna", "new", now, is_guess=True)
            if hours % 24 == 0:
                wrong_codes.tell(connection, "id-Anna", "known")
                wrong_codes.forgive(connection, "id-Anna")
                people.set_codes(connection, office.console.key, "id-Anna", totp.new_salt())
    assert counted == 13 * A_MONTH["new"]
    assert counted * ACCEPTED_AT_ONCE / 10**6 < 1 / 2500


def test_a_year_in_known_browsers_has_less_than_one_chance_in_250(office: Office) -> None:
    """Of an attacker who has a browser's cookie as well; the person signs in after every fourth guess, and gets new
    codes every day.
    """
    counted, first = 0, datetime(2031, 3, 15, 12, tzinfo=UTC)
    with office.console.store.writing() as connection:
        for hours in range(0, 365 * 24, 2):
            now = first + timedelta(hours=hours)
            if not wrong_codes.of(connection, "id-Anna", "known", now).are_too_many:
                counted += 1
            wrong_codes.note(connection, "id-Anna", "Anna", "known", now, is_guess=True)
            if hours % 8 == 0:
                wrong_codes.forgive(connection, "id-Anna")
            if hours % 24 == 0:
                people.set_codes(connection, office.console.key, "id-Anna", totp.new_salt())
    assert counted == 13 * A_MONTH["known"]
    assert counted * ACCEPTED_AT_ONCE / 10**6 < 1 / 250


def test_a_hundred_in_a_month_shut_known_browsers_however_often_she_signs_in(office: Office) -> None:
    set_day(office, MONDAY)
    own, stolen = office.browser("Anna"), office.browser("Anna")
    for number in range(A_MONTH["known"]):
        if number % (A_DAY - 1) == 0:
            assert gets_in(office, own)
        guess(office, stolen)
    set_day(office, datetime(2031, 3, 31, 12, tzinfo=UTC))
    assert not gets_in(office, own)
    assert gets_in(office, office.browser())  # the others have theirs
    with office.console.store.reading() as connection:
        assert log(connection) == [("Anna", wrong_codes.NEXT_MONTH_KNOWN.text)]
    set_day(office, datetime(2031, 4, 1, 0, tzinfo=UTC))
    assert gets_in(office, own)


def test_in_a_known_browser_there_are_five_a_day(office: Office) -> None:
    set_day(office, MONDAY)
    own = office.browser("Anna")
    for _ in range(A_DAY):
        guess(office, own)
    assert not gets_in(office, own)
    assert gets_in(office, office.browser())  # the others have theirs
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


@pytest.mark.parametrize(("how", "lifted"), [("new codes", {"known"}), ("another password", {"known", "new"})])
def test_what_lifts_it(office: Office, how: str, lifted: set[str]) -> None:
    set_day(office, MONDAY)
    own = office.browser("Anna")
    for _ in range(A_DAY):
        guess(office, office.browser())
        guess(office, own)
    kinds: tuple[wrong_codes.Browser, ...] = ("new", "known")
    with office.console.store.writing() as connection:
        key, now = office.console.key, office.clock.now
        assert all(wrong_codes.of(connection, "id-Anna", kind, now).are_too_many for kind in kinds)
        if how == "new codes":
            people.set_codes(connection, key, "id-Anna", totp.new_salt())
        else:
            people.set_password(connection, key, "id-Anna", "x")
        found = {kind: wrong_codes.of(connection, "id-Anna", kind, now) for kind in kinds}
    assert {kind for kind in kinds if not found[kind].are_too_many} == lifted
    kept = 0 if how == "another password" else A_DAY
    assert [(one.in_month, one.untold) for one in found.values()] == [(kept, kept), (kept, 0)]


def test_new_codes_let_her_in_with_the_browser_in_which_she_opens_the_link(office: Office) -> None:
    set_day(office, MONDAY)
    own = office.browser("Anna")
    for _ in range(A_DAY):
        guess(office, office.browser())
        guess(office, own)
    key = office.console.key
    with office.console.store.writing() as connection:
        token = invitations.reset_codes(connection, key, "id-Anna", office.clock.now)
    opened = office.browser()
    secret = re.search(r"secret=([A-Z2-7]+)", opened.get(f"/invitation/{token}").text)
    assert secret is not None
    codes = pyotp.TOTP(secret[1])
    typed = {"password": PASSWORD, "code": codes.at(office.clock.now)}
    assert opened.post(f"/invitation/{token}", typed).status_code == 303
    office.clock.now += REFILLED_IN
    assert office.browser().sign_in("Anna", PASSWORD, codes.at(office.clock.now)).status_code == 403
    told = opened.sign_in("Anna", PASSWORD, codes.at(office.clock.now))
    assert f"{A_DAY} wrong one-time codes were typed" in told.text


def waits_over_the_end_of_march(office: Office, monkeypatch: pytest.MonkeyPatch, browser: wrong_codes.Browser) -> None:
    """The next request asks in March, and has its turn in April, after four wrong codes."""
    set_day(office, datetime(2031, 3, 31, 23, 59, tzinfo=UTC))
    matches = office.console.passwords.matches

    def slowly(*args: Any) -> bool:
        office.clock.now += timedelta(minutes=2)
        with office.console.store.writing() as connection:
            for _ in range(A_DAY - 1):
                wrong_codes.note(connection, "id-Anna", "Anna", browser, office.clock.now, is_guess=True)
        return matches(*args)

    monkeypatch.setattr(office.console.passwords, "matches", slowly)


@pytest.mark.parametrize("where", ["signing in", "another password"])
def test_a_request_that_waits_over_midnight_forgives_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    browser: wrong_codes.Browser = "new" if where == "signing in" else "known"
    set_day(office, datetime(2031, 3, 31, 23, 58, tzinfo=UTC))
    anna = office.browser("Anna")
    waits_over_the_end_of_march(office, monkeypatch, browser)
    if where == "signing in":
        assert office.browser().sign_in("Anna", PASSWORD, "000000").status_code == 403
    else:
        new = {"old": PASSWORD, "password": "another password", "again": "another password", "code": "000000"}
        assert anna.post("/account/password", new).status_code == 422
    with office.console.store.reading() as connection:
        found = wrong_codes.of(connection, "id-Anna", browser, office.clock.now)
    assert (found.on_day, found.in_month) == (A_DAY, A_DAY)


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


def test_a_sign_in_with_a_new_browser_does_not_take_the_warning_away(office: Office) -> None:
    """An attacker who guessed right reads it, and so does the person."""
    own = office.browser("Anna")
    own.post("/logout")
    guess(office, office.browser())
    for browser, status in ((office.browser(), 200), (own, 200), (own, 303)):
        office.clock.now += REFILLED_IN
        told = browser.sign_in("Anna", PASSWORD, office.code("Anna"))
        assert told.status_code == status
        assert ("one wrong one-time code was typed" in told.text) is (status == 200)
        browser.post("/logout")


def test_a_sign_in_leaves_no_day_behind(office: Office) -> None:
    set_day(office, MONDAY)
    own = office.browser("Anna")
    guess(office, office.browser())
    set_day(office, MONDAY + timedelta(days=1))
    own.post("/logout")
    assert gets_in(office, own)
    with office.console.store.reading() as connection:
        assert connection.execute(sa.select(tables.wrong_codes.c.day)).scalars().all() == [days(MONDAY)]


def test_a_mistake_in_ones_own_browser_is_not_told(office: Office) -> None:
    own = office.browser("Anna")
    own.post("/logout")
    guess(office, own)
    office.clock.now += REFILLED_IN
    assert own.sign_in("Anna", PASSWORD, office.code("Anna")).status_code == 303


def log(connection: sa.Connection) -> list[tuple[str, str]]:
    return [(one.who, one.action.text) for one in activity.read(connection).entries]


def test_the_log_has_only_the_limits(office: Office) -> None:
    """Or else a colleague who reads it could try a password with a single code."""
    next_day, next_month = wrong_codes.NEXT_DAY.text, wrong_codes.NEXT_MONTH.text
    expected: list[tuple[str, str]] = []
    for day, reached in enumerate([next_day, next_month]):
        set_day(office, MONDAY + timedelta(days=day))
        for number in range(A_DAY):
            with office.console.store.reading() as connection:
                assert log(connection) == expected, number
            guess(office, office.browser())
        expected.insert(0, ("Anna", reached))
    set_day(office, MONDAY + timedelta(days=2))
    guess(office, office.browser())
    with office.console.store.reading() as connection:
        assert log(connection) == expected
    assert "too many wrong codes were typed" in office.browser("Ada").get("/activity").text


def test_what_is_written_does_not_depend_on_what_was_wrong(office: Office) -> None:
    """An outsider cannot tell by the work, or by the answer, whether the password was right."""
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
