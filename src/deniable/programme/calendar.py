"""When each round of a programme opens and is due: a public timetable, fixed at the start.

A round is closed at its due time whatever came in, so that nothing can be read from when an audit takes place.
"""

import datetime
import math
import re
from bisect import bisect_left
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Self
from zoneinfo import ZoneInfo, available_timezones

from deniable.errors import DeniableError, check_whole
from deniable.languages.voice import Voice, plain

Clock = Callable[[], datetime.datetime]

_LAST_YEAR = 9998  # one year before Python's last, so that no zone's offset leads out of its range
_FIELDS = {"start", "period", "zone", "time"}
_DAYS_OF_MONTH = 365.2425 / 12


def system_clock() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@dataclass(frozen=True)
class Calendar:
    """Round r is due at `time`, by the clocks of `zone`, on the day `start` + r * `period`.

    `period` is a number of days, weeks or months: 1D, 2W, 1M. Months are counted from `start`, not from the round
    before: rounds of one month from 31 January on are due on 28 February and 31 March. If the clocks skip the
    time, the round is due at the first instant after the gap; if they show it twice, at the first.

    >>> weekly = Calendar(datetime.date(2026, 1, 5), "1W", "Europe/Berlin", datetime.time(9))
    >>> weekly.due(1).isoformat(), weekly.due(26).isoformat()
    ('2026-01-12T08:00:00+00:00', '2026-07-06T07:00:00+00:00')
    """

    start: datetime.date
    period: str
    zone: str
    time: datetime.time = datetime.time()

    def __post_init__(self) -> None:
        if type(self.start) is not datetime.date or self.start.year >= _LAST_YEAR:
            raise DeniableError(
                "start must be a calendar day before the year {last_year}, got {start}",
                last_year=str(_LAST_YEAR),
                start=self.start,
            )
        if not isinstance(self.period, str) or not re.fullmatch("[1-9][0-9]{0,3}[DWM]", self.period):
            raise DeniableError(
                "period must be a number of days, weeks or months such as 1D, 2W or 1M, got {period}",
                period=self.period,
            )
        if not isinstance(self.zone, str) or self.zone not in _zones():
            raise DeniableError(
                "zone must be the name of a time zone such as Europe/Berlin, got {zone}", zone=self.zone
            )
        if not isinstance(self.time, datetime.time) or self.time != _whole_minute(self.time) or self.time.fold:
            raise DeniableError("time must be a plain time of day in hours and minutes, got {time}", time=self.time)

    @property
    def unit(self) -> str:
        """Of the period: D, W or M."""
        return self.period[-1]

    @property
    def units(self) -> int:
        """In one period."""
        return int(self.period[:-1])

    def day(self, round_: int) -> datetime.date:
        """The day on which the round is due, in the programme's zone. It needs no knowledge of the zone's clocks."""
        return self._day(check_whole("round", round_, least=1))

    def due(self, round_: int) -> datetime.datetime:
        """The instant at which the round is due, in UTC."""
        return self._instant(check_whole("round", round_, least=1))

    def ends_year(self, round_: int) -> bool:
        """Whether the round is the last that is due in its calendar year.

        >>> weekly = Calendar(datetime.date(2026, 1, 5), "1W", "Europe/Berlin", datetime.time(9))
        >>> [round_ for round_ in range(1, 110) if weekly.ends_year(round_)]
        [51, 103]
        """
        return self.day(round_).year < self.day(round_ + 1).year

    def last_of_year(self, round_: int) -> int:
        """The last round that is due in the same calendar year as this one."""
        while not self.ends_year(round_):
            round_ += 1
        return round_

    def opens(self, round_: int) -> datetime.datetime:
        """The instant from which on reports belong to the round, in UTC: the due time of the round before.

        The first round opens on the start day, at the same time of day as the others.
        """
        return self._instant(check_whole("round", round_, least=1) - 1)

    def first_day(self, round_: int) -> datetime.date:
        """The day on which the round opens, in the programme's zone."""
        return self._day(check_whole("round", round_, least=1) - 1)

    def today(self, now: datetime.datetime) -> datetime.date:
        """The day in the programme's zone."""
        return _utc(now).astimezone(ZoneInfo(self.zone)).date()

    def instant(self, shown: str) -> datetime.datetime:
        """When the clocks of the zone show this, YYYY-MM-DDTHH:MM, in UTC; the first time, where they show it twice.

        >>> weekly = Calendar(datetime.date(2026, 1, 5), "1W", "Europe/Berlin")
        >>> weekly.instant("2026-10-25T02:30").hour
        0
        """
        try:
            wall = datetime.datetime.fromisoformat(shown).replace(tzinfo=ZoneInfo(self.zone))
            return min(wall.replace(fold=fold).astimezone(datetime.UTC) for fold in (0, 1))
        except (ValueError, OverflowError):
            raise DeniableError(
                "a day and a time must be written YYYY-MM-DDTHH:MM, got {shown}", shown=ascii(shown[:20])
            ) from None

    def rounds_due(self, now: datetime.datetime) -> int:
        """How many rounds are due at this instant.

        >>> daily = Calendar(datetime.date(2026, 1, 5), "1D", "UTC")
        >>> daily.rounds_due(datetime.datetime(2026, 1, 8, tzinfo=datetime.UTC))
        3
        """
        # Offsets are below a day, so no round that is due by now belongs to a later day than this.
        latest = _utc(now).date() + datetime.timedelta(days=1)
        if self.unit == "M":
            elapsed = 12 * (latest.year - self.start.year) + latest.month - self.start.month
        else:
            elapsed = (latest - self.start).days
        rounds = max(0, elapsed // self._step)
        while rounds and self._instant(rounds) > now:
            rounds -= 1
        return rounds

    def days_late(self, round_: int, now: datetime.datetime) -> int:
        """Whole days of 24 hours since the round was due; 0 before."""
        return max(0, (_utc(now) - self.due(round_)) // datetime.timedelta(days=1))

    def length(self, rounds: float, say: Voice | None = None) -> str:
        """How long so many rounds are, in days, or in years from one year on; months are taken to be equally long.

        >>> Calendar(datetime.date(2026, 1, 5), "1W", "UTC").length(13)
        '91 days'
        >>> Calendar(datetime.date(2026, 1, 5), "1M", "UTC").length(3)
        'about 92 days'
        >>> Calendar(datetime.date(2026, 1, 5), "1W", "UTC").length(520)
        'about 10 years'
        """
        say, days = say or plain(), self.days(rounds)
        if (years := self.years(rounds)) >= 1:
            figure = in_tenths(years)
            return say.counted(
                "about {figure} year", "about {figure} years", say.plural_of(figure), figure=say.figure(figure)
            )
        if self.unit == "M" or rounds != int(rounds):
            return say.counted("about {number} day", "about {number} days", days)
        return say.counted("{number} day", "{number} days", days)

    def days(self, rounds: float) -> int:
        """How long so many rounds are, rounded up."""
        days = self._step * (_DAYS_OF_MONTH if self.unit == "M" else 1)
        return math.ceil(rounds * days - 1e-9)

    def years(self, rounds: float) -> float:
        """How long so many rounds are, in years of 12 months or 365 days."""
        return rounds * self._step / (12 if self.unit == "M" else 365)

    def in_units(self, rounds: float) -> tuple[str, float]:
        """How long so many rounds are in the unit of the period, D, W or M; from one year on in years, Y.

        >>> fortnights = Calendar(datetime.date(2026, 1, 5), "2W", "UTC")
        >>> fortnights.in_units(3), fortnights.in_units(36.5)
        (('W', 6), ('Y', 1.4))
        """
        years = self.years(rounds)
        return ("Y", years) if years >= 1 else (self.unit, rounds * self.units)

    def to_dict(self) -> dict[str, str]:
        """Plain strings, ready for JSON."""
        return {
            "start": self.start.isoformat(),
            "period": self.period,
            "zone": self.zone,
            "time": self.time.isoformat("minutes"),
        }

    @classmethod
    def from_dict(cls, stored: Any) -> Self:
        """The calendar that `to_dict` wrote; anything that it would not write is refused."""
        if not isinstance(stored, dict) or set(stored) != _FIELDS:
            raise DeniableError("calendar must have the fields start, period, zone and time, and no others")
        try:
            start = datetime.date.fromisoformat(stored["start"])
            time = datetime.time.fromisoformat(stored["time"])
        except (TypeError, ValueError):
            raise DeniableError("calendar must have a start written YYYY-MM-DD and a time written HH:MM") from None
        calendar = cls(start, stored["period"], stored["zone"], time)
        if calendar.to_dict() != stored:
            raise DeniableError("calendar must have a start written YYYY-MM-DD and a time written HH:MM")
        return calendar

    @property
    def _step(self) -> int:
        """The period in days or months."""
        return self.units * (7 if self.unit == "W" else 1)

    def _day(self, round_: int) -> datetime.date:
        try:
            if self.unit == "M":
                years, month = divmod(self.start.month - 1 + round_ * self._step, 12)
                year = self.start.year + years
                day = datetime.date(year, month + 1, min(self.start.day, monthrange(year, month + 1)[1]))
            else:
                day = self.start + datetime.timedelta(days=round_ * self._step)
        except (ValueError, OverflowError):
            day = datetime.date.max
        if day.year > _LAST_YEAR:
            raise DeniableError(
                "round must be due by the year {last_year}, but round {round} is not",
                last_year=str(_LAST_YEAR),
                round=round_,
            )
        return day

    def _instant(self, round_: int) -> datetime.datetime:
        zone = ZoneInfo(self.zone)
        wall = datetime.datetime.combine(self._day(round_), self.time, zone)  # fold = 0: the first of two
        instant = wall.astimezone(datetime.UTC)
        if instant.astimezone(zone).replace(tzinfo=None) == wall.replace(tzinfo=None):
            return instant
        # In a gap: read with the offset after it, the time is before the change; with the one before it, after.
        before = wall.replace(fold=1).astimezone(datetime.UTC)
        seconds = range(int((instant - before).total_seconds()))
        old = before.astimezone(zone).utcoffset()
        changed = bisect_left(
            seconds,
            True,
            key=lambda second: (before + datetime.timedelta(seconds=second)).astimezone(zone).utcoffset() != old,
        )
        return before + datetime.timedelta(seconds=changed)


def in_tenths(number: float) -> str:
    """Rounded up: '4.2'; from 10 on whole."""
    tenths = math.ceil(10 * number - 1e-9) / 10
    return f"{tenths:.1f}".removesuffix(".0") if tenths < 10 else f"{math.ceil(number - 1e-9):,}"


@cache
def _zones() -> frozenset[str]:
    """The zones by name; what "localtime" means depends on the machine."""
    return frozenset(available_timezones() - {"localtime"})


def _whole_minute(time: datetime.time) -> datetime.time:
    return datetime.time(time.hour, time.minute)


def _utc(now: datetime.datetime) -> datetime.datetime:
    if not isinstance(now, datetime.datetime) or now.utcoffset() is None:
        raise DeniableError("now must be a date and time with a time zone, got {now}", now=now)
    return now.astimezone(datetime.UTC)


@dataclass(frozen=True)
class Day:
    """A day in words, and as machines read it."""

    words: str
    iso: str


def day_in_words(day: datetime.date, say: Voice | None = None) -> Day:
    return Day((say or plain()).day(day), day.isoformat())


def moment_in_words(instant: datetime.datetime, say: Voice | None = None) -> Day:
    """To the minute, by the clocks that the instant is given in; UTC is named.

    >>> moment_in_words(datetime.datetime(2026, 1, 5, 8, 10, tzinfo=datetime.UTC))
    Day(words='5 January 2026, 08:10 UTC', iso='2026-01-05T08:10Z')
    """
    say, iso = say or plain(), f"{instant:%Y-%m-%dT%H:%M}"
    day, time = say.day(instant.date()), say.digits(f"{instant:%H:%M}")
    if instant.tzinfo is datetime.UTC:
        return Day(say("{day}, {time} UTC", day=day, time=time), f"{iso}Z")
    return Day(say("{day}, {time}", day=day, time=time), iso)


def rounds_in_words(calendar: Calendar, rounds: int, say: Voice | None = None) -> str:
    """'13 rounds (91 days)'; where a round is a day, less than a year of them is '13 rounds'."""
    say = say or plain()
    if calendar.period == "1D" and calendar.years(rounds) < 1:
        return say.counted("{number} round", "{number} rounds", rounds)
    length = calendar.length(rounds, say)
    return say.counted("{number} round ({length})", "{number} rounds ({length})", rounds, length=length)


def due_in_words(calendar: Calendar, round_: int, say: Voice | None = None) -> Day:
    return _shown(datetime.datetime.combine(calendar.day(round_), calendar.time), calendar.zone, say or plain())


def office_time_in_words(calendar: Calendar, instant: datetime.datetime, say: Voice | None = None) -> Day:
    """By the office's own clocks, to the minute. What is published must not depend on what a computer knows of zones.

    >>> weekly = Calendar(datetime.date(2026, 1, 5), "1W", "Europe/Berlin")
    >>> office_time_in_words(weekly, datetime.datetime(2026, 1, 5, 8, 10, tzinfo=datetime.UTC)).words
    'Monday 5 January 2026, 09:10 (Europe/Berlin time)'
    """
    return _shown(_utc(instant).astimezone(ZoneInfo(calendar.zone)), calendar.zone, say or plain())


def _shown(wall: datetime.datetime, zone: str, say: Voice) -> Day:
    words = say(
        "{weekday} {day}, {time} ({zone} time)",
        weekday=say.weekday(wall.date()),
        day=say.day(wall.date()),
        time=say.digits(f"{wall:%H:%M}"),
        zone=zone,
    )
    return Day(words, f"{wall:%Y-%m-%dT%H:%M}")
