"""calendar.ics: a function of the transcript, in the form that RFC 5545 asks for."""

import datetime
import re

import pytest
from tests.programme.public.published import NAMES, chained, drawn, frozen, made, skip

from deniable.programme.calendar import Calendar
from deniable.programme.public.calendar_file import AHEAD, calendar_file
from deniable.programme.randomness.source import Dice, Drand
from deniable.programme.transcript.replay import replay

A, B, C, D = NAMES


def unfolded(content: bytes) -> list[str]:
    """The content lines, read as the standard says."""
    text = content.decode("utf-8")
    assert text.endswith("\r\n")
    assert "\n" not in text.replace("\r\n", "")
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    return text.replace("\r\n ", "").split("\r\n")[:-1]


def values(content: bytes, name: str) -> list[str]:
    return [line.partition(":")[2] for line in unfolded(content) if re.match(f"{name}[;:]", line)]


def after(*said: tuple[str, int, dict[str, object]], **settings: object) -> bytes:
    parameters = made(**settings)
    return calendar_file(replay(parameters, chained(parameters, said)), parameters.voice())


def test_past_rounds_and_a_bounded_number_ahead() -> None:
    before, then = after(), after(drawn(1, A), drawn(2, B))
    days = values(then, "DTSTART")
    assert days[:3] == ["20260112", "20260119", "20260126"]
    assert (len(values(before, "UID")), len(days)) == (AHEAD, AHEAD + 2)
    assert values(then, "UID")[:AHEAD] == values(before, "UID")
    assert len(set(values(then, "UID"))) == AHEAD + 2
    assert values(then, "SUMMARY")[1:3] == [
        "Ports: round 2 was due at 00:00 (Europe/Berlin time)",
        "Ports: round 3 is due at 00:00 (Europe/Berlin time)",
    ]
    assert {*values(then, "DTSTAMP")} == {"20260105T000000Z"}
    assert values(then, "DTEND")[0] == "20260113"
    assert not any(name in then.decode() for name in NAMES)


def test_a_coming_round_is_drawn_with_a_public_value() -> None:
    source = Drand()
    past, coming, *_ = values(after(frozen(1, made(randomness=source)), randomness=source), "SUMMARY")
    assert "was due" in past
    assert "drand" not in past
    assert coming.endswith("drawn with the beacon that drand publishes 60 minutes after the due time")
    assert "thrown 39 times" in values(after(randomness=Dice("Town hall")), "SUMMARY")[0]


def test_it_begins_and_ends_as_the_standard_says() -> None:
    lines = unfolded(after())
    assert lines[:3] == ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//deniable//public record//EN"]
    assert lines[-1] == "END:VCALENDAR"
    assert lines.count("BEGIN:VEVENT") == lines.count("END:VEVENT") == AHEAD


@pytest.mark.parametrize(
    "name", ["Mills; docks, and \\ more", "\\;" * 100, "\u6d77" * 200, "ü" * 200, "\U0001f6a2a" * 100]
)
def test_any_name_is_folded_and_escaped(name: str) -> None:
    (read,) = values(after(name=name), "NAME")
    assert re.sub(r"\\(.)", r"\1", read) == name
    assert not re.search(r"(?<!\\)(?:\\\\)*[;,]", read)


def test_no_round_after_the_end_the_horizon_or_the_last_year() -> None:
    assert len(values(after(drawn(1, A), ("end", 2, {"reason": "repealed"})), "UID")) == 1
    for first in (drawn(1, A), skip(1)):
        assert len(values(after(first, mechanism="tca", horizon=9), "UID")) == 9
    late = Calendar(datetime.date(9997, 12, 31), "4M", "UTC")
    assert values(after(calendar=late), "DTSTART") == ["99980430", "99980831", "99981231"]


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/Adak"])
def test_days_are_those_of_the_programmes_zone(zone: str) -> None:
    calendar = Calendar(datetime.date(2026, 1, 5), "1M", zone, datetime.time(23, 30))
    assert values(after(calendar=calendar), "DTSTART")[:2] == ["20260205", "20260305"]
