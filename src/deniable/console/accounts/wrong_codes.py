"""Wrong one-time codes that followed a right password: how many there may be, and whom they are told to.

A guess fits one of the three codes that are accepted at a time, of a million. In browsers in which the person has not
signed in before, ten guesses a month make 130 in the 13 months that a year may touch: less than one chance in 2,500.
In the others a hundred a month make 1,300 more: less than one chance in 250. Neither a sign-in nor new codes give more
of them, since the password stays as it is. The database counts them, for all processes and also after a restart, and
knows days alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Literal

import sqlalchemy as sa

from deniable.console import tables
from deniable.console.accounts import activity
from deniable.console.accounts.totp import STEP
from deniable.console.tables import day_of, days
from deniable.message import noted

Browser = Literal["new", "known"]
"""Known: the person signed in with it before. It has tries of its own, so that no stranger uses them up."""
A_DAY = 5
A_MONTH: Mapping[Browser, int] = {"new": 10, "known": 100}
"""They are not forgiven before the next month, unless the password is another one."""

NEXT_DAY = noted("must wait until the next day to sign in with a new browser: too many wrong codes were typed")
NEXT_MONTH = noted("must wait until the next month to sign in with a new browser: too many wrong codes were typed")
NEXT_DAY_KNOWN = noted(
    "must wait until the next day to sign in with their own browser: too many wrong codes were typed"
)
NEXT_MONTH_KNOWN = noted(
    "must wait until the next month to sign in with their own browser: too many wrong codes were typed"
)


@dataclass(frozen=True)
class WrongCodes:
    """Of one person and one kind of browser."""

    browser: Browser
    day: int
    """Of the last sign-in that failed, in days since 1970."""
    on_day: int
    in_month: int
    untold: int
    """How many the person has not been told of."""

    @property
    def are_too_many(self) -> bool:
        return self.on_day >= A_DAY or self.is_month_over

    @property
    def is_month_over(self) -> bool:
        return self.in_month >= A_MONTH[self.browser]


def of(connection: sa.Connection, person: str, browser: Browser, now: datetime) -> WrongCodes:
    """As they count now. Where the clock was set back since, none does, and no person is locked out: so `now` is read
    in the transaction, or a request that waited for it over midnight would take its own wait for a clock set back.
    """
    row = connection.execute(sa.select(tables.wrong_codes).where(*_is(person, browser))).one_or_none()
    today = days(now)
    if row is None:
        return WrongCodes(browser, today, 0, 0, 0)
    kept = WrongCodes(browser, row.day, row.on_day, row.in_month, row.untold)
    if kept.day > days(now + timedelta(seconds=STEP)) or _month(kept.day) < _month(today):
        return replace(kept, day=today, on_day=0, in_month=0)
    return kept if kept.day >= today else replace(kept, day=today, on_day=0)


def note(connection: sa.Connection, person: str, name: str, browser: Browser, now: datetime, *, is_guess: bool) -> None:
    """After every sign-in that failed, so that the work is the same; it counts where only the code was wrong. `person`
    and `name` are empty where nobody has the name that was typed. The log has an entry only where a limit is reached,
    or else its readers could try a colleague's password with a single code; and up to three entries a day: too few to
    measure the time that one takes.
    """
    before = of(connection, person, browser, now)
    counts = int(is_guess and not before.are_too_many)
    after = WrongCodes(
        browser=browser,
        day=before.day,
        on_day=before.on_day + counts,
        in_month=before.in_month + counts,
        untold=before.untold + int(is_guess and browser == "new"),
    )
    _write(connection, person, browser, after)
    if counts and after.are_too_many:
        next_day, next_month = (NEXT_DAY, NEXT_MONTH) if browser == "new" else (NEXT_DAY_KNOWN, NEXT_MONTH_KNOWN)
        action = next_month if after.is_month_over else next_day
        activity.record(connection, now, name, action, "people", once_a_day=True)


def tell(connection: sa.Connection, person: str, browser: Browser) -> int:
    """How many were typed in new browsers that the person has not been told of. They are, if they signed in with a
    known one: in a new one an attacker may be reading. The day is left alone, or it would tell when they signed in.
    """
    untold = connection.execute(sa.select(tables.wrong_codes.c.untold).where(*_is(person, "new"))).scalar()
    if browser == "known":
        connection.execute(sa.update(tables.wrong_codes).where(*_is(person, "new")).values(untold=0))
    return untold or 0


def forgive(connection: sa.Connection, person: str) -> None:
    """The person signed in with a known browser, or has other codes: those browsers have the day's tries again. The
    month's count on, and so do all of new browsers: they may be another person's, who has the password.
    """
    connection.execute(sa.update(tables.wrong_codes).where(*_is(person, "known")).values(on_day=0))


def forget(connection: sa.Connection, person: str) -> None:
    """The password is another one now, or the person is gone."""
    connection.execute(sa.delete(tables.wrong_codes).where(tables.wrong_codes.c.person == person))


def _write(connection: sa.Connection, person: str, browser: Browser, found: WrongCodes) -> None:
    connection.execute(sa.delete(tables.wrong_codes).where(*_is(person, browser)))
    row = {"day": found.day, "on_day": found.on_day, "in_month": found.in_month, "untold": found.untold}
    connection.execute(sa.insert(tables.wrong_codes), {"person": person, "browser": browser, **row})


def _is(person: str, browser: Browser) -> tuple[sa.ColumnElement[bool], sa.ColumnElement[bool]]:
    return tables.wrong_codes.c.person == person, tables.wrong_codes.c.browser == browser


def _month(day: int) -> date:
    return day_of(day).replace(day=1)
