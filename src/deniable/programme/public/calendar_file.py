"""calendar.ics: the days on which rounds were and will be due, for the calendar programs of anyone (RFC 5545).

Its bytes follow from the rules and the transcript alone. Every event is a whole day, so that they do not depend on what
a computer knows about the clocks of time zones.
"""

from collections.abc import Iterator
from datetime import timedelta

from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.programme.calendar import Calendar
from deniable.programme.parameters import Parameters
from deniable.programme.randomness.source import value_in_words
from deniable.programme.transcript.state import PublicState

AHEAD = 53
"""Rounds after the last closed one: a year of weeks."""
_LONGEST_LINE = 75
"""In bytes, without the line break."""


def calendar_file(state: PublicState, say: Voice) -> bytes:
    """The calendar after the entries that led to this state, in one language."""
    parameters = state.parameters
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        f"PRODID:-//deniable//public record//{say.language.code.upper()}",
        f"NAME:{_text(parameters.name)}",
        f"X-WR-CALNAME:{_text(parameters.name)}",
    ]
    for round_ in range(1, _last(state) + 1):
        lines += _event(parameters, round_, round_ <= state.closed, say)
    return "".join(map(_folded, [*lines, "END:VCALENDAR"])).encode()


def _last(state: PublicState) -> int:
    """The last round in the calendar."""
    if state.ended:
        return state.closed
    horizon = state.parameters.horizon
    ahead = AHEAD if horizon is None else max(0, min(AHEAD, horizon - state.closed))
    return state.closed + sum(_has_day(state.parameters.calendar, state.closed + 1 + one) for one in range(ahead))


def _has_day(calendar: Calendar, round_: int) -> bool:
    try:
        calendar.day(round_)
    except DeniableError:  # beyond the last year
        return False
    return True


def _event(parameters: Parameters, round_: int, is_closed: bool, say: Voice) -> Iterator[str]:
    calendar = parameters.calendar
    day = calendar.day(round_)
    yield "BEGIN:VEVENT"
    yield f"UID:{parameters.programme}-round-{round_}"
    yield f"DTSTAMP:{calendar.start:%Y%m%d}T000000Z"
    yield f"DTSTART;VALUE=DATE:{day:%Y%m%d}"
    yield f"DTEND;VALUE=DATE:{day + timedelta(days=1):%Y%m%d}"
    yield f"SUMMARY:{_text(_summary(parameters, round_, is_closed, say))}"
    yield "TRANSP:TRANSPARENT"
    yield "END:VEVENT"


def _summary(parameters: Parameters, round_: int, is_closed: bool, say: Voice) -> str:
    calendar, source = parameters.calendar, parameters.randomness
    told = {
        "name": parameters.name,
        "round": round_,
        "time": say.digits(f"{calendar.time:%H:%M}"),
        "zone": calendar.zone,
    }
    if is_closed:
        return say("{name}: round {round} was due at {time} ({zone} time)", **told)
    if source is None:
        return say("{name}: round {round} is due at {time} ({zone} time)", **told)
    value = value_in_words(source, say)
    return say("{name}: round {round} is due at {time} ({zone} time), and drawn with {value}", **told, value=value)


def _text(value: str) -> str:
    """With what has a meaning in the format escaped; names have no line breaks."""
    return value.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")


def _folded(line: str) -> str:
    """The line with its break, and where it is long in parts that each but the first begin with a space."""
    parts, used = [""], 0
    for letter in line:
        size = len(letter.encode())
        if used + size > _LONGEST_LINE:
            parts, used = [*parts, ""], 1
        parts[-1] += letter
        used += size
    return "\r\n ".join(parts) + "\r\n"
