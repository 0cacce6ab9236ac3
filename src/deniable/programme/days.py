"""Days and due times in words, as everybody who reads a programme's pages sees them: no clock, no locale."""

import datetime
from dataclasses import dataclass

from deniable.programme.calendar import Calendar

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Day:
    """A day in words, and as machines read it."""

    words: str
    iso: str


def day_in_words(day: datetime.date) -> Day:
    return Day(f"{day.day} {_MONTHS[day.month - 1]} {day.year}", day.isoformat())


def due_in_words(calendar: Calendar, round_: int) -> Day:
    day = calendar.day(round_)
    return Day(
        f"{_WEEKDAYS[day.weekday()]} {day_in_words(day).words}, {calendar.time:%H:%M} ({calendar.zone} time)",
        f"{day.isoformat()}T{calendar.time:%H:%M}",
    )
