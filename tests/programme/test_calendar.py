"""When rounds are due, where the clocks change, and what is refused."""

import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import DeniableError
from deniable.programme.calendar import Calendar

UTC = datetime.UTC
DAY = datetime.timedelta(days=1)
SECOND = datetime.timedelta(seconds=1)

ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia"]
calendars = st.builds(
    Calendar,
    st.dates(datetime.date(1990, 1, 1), datetime.date(2040, 12, 31)),
    st.builds(lambda n, unit: f"{n}{unit}", st.integers(1, 40), st.sampled_from("DWM")),
    st.sampled_from(ZONES),
    st.builds(datetime.time, st.integers(0, 23), st.integers(0, 59)),
)
rounds = st.integers(1, 400)


def calendar(start: str, period: str, zone: str = "UTC", time: str = "00:00") -> Calendar:
    return Calendar(datetime.date.fromisoformat(start), period, zone, datetime.time.fromisoformat(time))


def instant(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("period", "days"),
    [
        ("1D", ["2026-02-01", "2026-02-02", "2026-02-03"]),
        ("10D", ["2026-02-10", "2026-02-20", "2026-03-02"]),
        ("2W", ["2026-02-14", "2026-02-28", "2026-03-14"]),
        ("1M", ["2026-02-28", "2026-03-31", "2026-04-30"]),
        ("13M", ["2027-02-28", "2028-03-31", "2029-04-30"]),
    ],
)
def test_days_are_counted_from_the_start(period: str, days: list[str]) -> None:
    planned = calendar("2026-01-31", period)
    assert [planned.day(r).isoformat() for r in (1, 2, 3)] == days
    assert [planned.due(r) for r in (1, 2, 3)] == [instant(day) for day in days]


def test_a_leap_day_is_the_last_of_february() -> None:
    assert calendar("2024-01-31", "1M").day(1) == datetime.date(2024, 2, 29)
    assert calendar("2024-02-29", "12M").day(1) == datetime.date(2025, 2, 28)
    assert calendar("2024-02-29", "12M").day(4) == datetime.date(2028, 2, 29)


def test_the_first_round_opens_at_the_start() -> None:
    planned = calendar("2026-01-05", "1W", "Europe/Berlin", "09:00")
    assert planned.opens(1) == instant("2026-01-05T08:00")
    assert planned.opens(5) == planned.due(4)


@pytest.mark.parametrize(
    ("zone", "time", "day", "due"),
    [
        # The wall clock stays, the instant moves.
        ("Europe/Berlin", "09:00", "2026-03-28", "2026-03-28T08:00"),
        ("Europe/Berlin", "09:00", "2026-03-29", "2026-03-29T07:00"),
        # Skipped times: the instant of the change, whatever the minute asked for.
        ("Europe/Berlin", "02:00", "2026-03-29", "2026-03-29T01:00"),
        ("Europe/Berlin", "02:01", "2026-03-29", "2026-03-29T01:00"),
        ("Europe/Berlin", "02:59", "2026-03-29", "2026-03-29T01:00"),
        ("Europe/Berlin", "03:00", "2026-03-29", "2026-03-29T01:00"),
        ("America/Sao_Paulo", "00:00", "2018-11-04", "2018-11-04T03:00"),
        ("Australia/Lord_Howe", "02:15", "2025-10-05", "2025-10-04T15:30"),
        # A whole day that Samoa skipped.
        ("Pacific/Apia", "09:00", "2011-12-30", "2011-12-30T10:00"),
        ("Pacific/Apia", "09:00", "2011-12-31", "2011-12-30T19:00"),
        # Times shown twice: the first.
        ("Europe/Berlin", "02:30", "2026-10-25", "2026-10-25T00:30"),
        ("America/St_Johns", "00:00", "2010-11-07", "2010-11-07T02:30"),
    ],
)
def test_changing_clocks(zone: str, time: str, day: str, due: str) -> None:
    start = (datetime.date.fromisoformat(day) - DAY).isoformat()
    assert calendar(start, "1D", zone, time).due(1) == instant(due)


@given(calendars, rounds)
def test_due_times_are_utc_in_order_and_never_before_their_wall_clock(planned: Calendar, r: int) -> None:
    due = planned.due(r)
    assert due.tzinfo is UTC
    assert planned.opens(r) <= due <= planned.due(r + 1)
    wall = due.astimezone(ZoneInfo(planned.zone)).replace(tzinfo=None)
    asked = datetime.datetime.combine(planned.day(r), planned.time)
    assert wall >= asked
    if wall > asked:  # in a gap: one second earlier the clocks stood before it
        assert (due - SECOND).astimezone(ZoneInfo(planned.zone)).replace(tzinfo=None) < asked


@given(calendars, rounds)
def test_rounds_due_counts_the_due_times(planned: Calendar, r: int) -> None:
    due = planned.due(r)
    assert planned.rounds_due(due) >= r
    assert planned.rounds_due(due - SECOND) < r
    now = due + (planned.due(r + 1) - due) / 2
    assert planned.due(planned.rounds_due(now)) <= now < planned.due(planned.rounds_due(now) + 1)


def test_rounds_due_where_the_local_date_goes_back() -> None:
    """In 2010 the clocks of St John's went from 00:01 back to 23:01 of the day before, in which hour the round that
    was due at midnight stays due.
    """
    planned = calendar("2010-11-06", "1D", "America/St_Johns")
    now = planned.due(1) + datetime.timedelta(minutes=30)
    assert now.astimezone(ZoneInfo("America/St_Johns")).date() == datetime.date(2010, 11, 6)
    assert planned.rounds_due(now) == 1


def test_before_the_start_no_round_is_due() -> None:
    planned = calendar("2026-01-05", "1M")
    assert planned.rounds_due(instant("1970-01-01")) == 0
    assert planned.rounds_due(instant("2026-01-05")) == 0


def test_now_may_come_in_any_zone() -> None:
    planned = calendar("2026-01-05", "1D", "Europe/Berlin")
    assert planned.rounds_due(datetime.datetime(2026, 1, 6, tzinfo=ZoneInfo("Europe/Berlin"))) == 1
    assert planned.rounds_due(datetime.datetime(2026, 1, 6, tzinfo=ZoneInfo("America/New_York"))) == 1
    assert planned.rounds_due(datetime.datetime(2026, 1, 6, tzinfo=ZoneInfo("Asia/Tokyo"))) == 0


def test_days_late_are_whole_days_of_24_hours() -> None:
    planned = calendar("2026-03-27", "1D", "Europe/Berlin", "12:00")
    due = planned.due(1)
    assert planned.days_late(1, due - 3 * DAY) == 0
    assert planned.days_late(1, due) == 0
    assert planned.days_late(1, due + DAY - SECOND) == 0
    assert planned.days_late(1, due + DAY) == 1
    # A day of 23 hours: at noon by the clock, 24 hours are not over.
    assert planned.days_late(1, planned.due(2)) == 0


@given(calendars)
def test_a_calendar_survives_its_dictionary(planned: Calendar) -> None:
    stored = planned.to_dict()
    assert all(type(value) is str for value in stored.values())
    assert Calendar.from_dict(stored) == planned


def test_the_dictionary_has_plain_strings() -> None:
    assert calendar("2026-01-05", "1W", "Europe/Berlin", "09:00").to_dict() == {
        "start": "2026-01-05",
        "period": "1W",
        "zone": "Europe/Berlin",
        "time": "09:00",
    }


@pytest.mark.parametrize(
    "changed",
    [
        {"start": "20260105"},
        {"start": "2026-W02-1"},
        {"start": 20260105},
        {"start": None},
        {"time": "9:00"},
        {"time": "09:00:00"},
        {"time": "09"},
        {"time": "09:00+01:00"},
        {"time": "09:00:30"},
        {"period": 7},
        {"period": "1w"},
        {"zone": None},
        {"more": "x"},
    ],
)
def test_a_dictionary_written_otherwise_is_refused(changed: dict[str, Any]) -> None:
    stored: dict[str, Any] = calendar("2026-01-05", "1W", "Europe/Berlin", "09:00").to_dict()
    with pytest.raises(DeniableError):
        Calendar.from_dict(stored | changed)
    for name in stored:
        with pytest.raises(DeniableError, match="calendar must have the fields"):
            Calendar.from_dict({other: value for other, value in stored.items() if other != name})


@pytest.mark.parametrize("stored", [None, [], "1W", 1])
def test_something_else_than_a_dictionary_is_refused(stored: object) -> None:
    with pytest.raises(DeniableError, match="calendar must have the fields"):
        Calendar.from_dict(stored)


@pytest.mark.parametrize("period", ["", "W", "0W", "-1W", "1Y", "1.5W", "01W", "1w", "1 W", "1W\n", "10000D", "١W", 7])
def test_bad_periods(period: Any) -> None:
    with pytest.raises(DeniableError, match="period must be a number of days, weeks or months such as 1D, 2W or 1M"):
        Calendar(datetime.date(2026, 1, 5), period, "UTC")


@pytest.mark.parametrize(
    "zone",
    ["", "Europe", "Nowhere/Town", "../etc/passwd", "/etc/localtime", "localtime", "right/Europe/Berlin", "a\0b", 1],
)
def test_unknown_zones(zone: Any) -> None:
    with pytest.raises(DeniableError, match="zone must be the name of a time zone such as Europe/Berlin"):
        Calendar(datetime.date(2026, 1, 5), "1W", zone)


@pytest.mark.parametrize(
    "time",
    [
        datetime.time(9, 0, 1),
        datetime.time(9, 0, 0, 1),
        datetime.time(9, tzinfo=UTC),
        datetime.time(9, fold=1),
        "09:00",
        9,
    ],
)
def test_bad_times(time: Any) -> None:
    with pytest.raises(DeniableError, match="time must be a plain time of day in hours and minutes"):
        Calendar(datetime.date(2026, 1, 5), "1W", "UTC", time)


@pytest.mark.parametrize("start", [datetime.datetime(2026, 1, 5), "2026-01-05", None, datetime.date(9999, 1, 1)])
def test_bad_starts(start: Any) -> None:
    with pytest.raises(DeniableError, match="start must be a calendar day"):
        Calendar(start, "1W", "UTC")


@pytest.mark.parametrize("now", [datetime.datetime(2026, 1, 5), datetime.date(2026, 1, 5), None])
def test_now_needs_a_zone(now: Any) -> None:
    planned = calendar("2026-01-05", "1W")
    with pytest.raises(DeniableError, match="now must be a date and time with a time zone"):
        planned.rounds_due(now)
    with pytest.raises(DeniableError, match="now must be a date and time with a time zone"):
        planned.days_late(1, now)


@pytest.mark.parametrize("period", ["1D", "1W", "1M"])
@pytest.mark.parametrize("r", [0, -1, True, 1.5])
def test_rounds_are_numbered_from_one(period: str, r: Any) -> None:
    planned = calendar("2026-01-05", period)
    for ask in (planned.day, planned.due, planned.opens):
        with pytest.raises(DeniableError, match="round must be a whole number of at least 1"):
            ask(r)


@pytest.mark.parametrize("period", ["1D", "9999W", "1M", "9999M"])
def test_the_calendar_has_an_end(period: str) -> None:
    with pytest.raises(DeniableError, match="round must be due by the year 9998"):
        calendar("2026-01-05", period).due(10**9)
