"""What the fields of the transcript's entries may hold: each check returns the value as it is kept, or refuses it."""

import datetime
import re
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from deniable.errors import DeniableError, check_hexadecimal
from deniable.message import Message, why_not
from deniable.programme.names import TARGET_NAME, check_name

MAX_REASON = 500
MAX_NUMBER = 10**9
"""Of entries, rounds and days late: beyond any programme, and exact in every JSON reader."""

MAX_FIGURE = 2**53
"""Numbers of reports with noise: exact in every JSON reader."""

INSTANT = "%Y-%m-%dT%H:%M:%SZ"
FIRST_YEAR, LAST_YEAR = 2000, 9990
"""Of an instant: room is left on both sides for what is added to it."""

MAX_BEACON = 2**53
"""Numbers of drand's beacons: exact in every JSON reader."""

Check = Callable[[str | Message, Any], Any]
"""From what errors call the field, and its value."""


def whole(least: int, most: int = MAX_NUMBER) -> Check:
    def check(name: str | Message, value: Any) -> int:
        if type(value) is int and value > most:
            raise DeniableError("{name} must be at most {most}", name=name, most=most)
        if type(value) is not int or value < least:
            raise DeniableError("{name} must be a whole number of at least {least}", name=name, least=least)
        return value

    return check


def hexadecimal(digits: int) -> Check:
    def check(name: str | Message, value: Any) -> str:
        return check_hexadecimal(name, value, digits)

    return check


def some_hexadecimal(name: str | Message, value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch("(?:[0-9a-f]{2})+", value):
        raise DeniableError("{name} must be lower-case hexadecimal digits, two a byte", name=name)
    return value


def names(least: int) -> Check:
    def check(name: str | Message, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list | tuple) or len(value) < least:
            if least:
                raise DeniableError("{name} must be a list of one or more different names of targets", name=name)
            raise DeniableError("{name} must be a list of different names of targets", name=name)
        found = tuple(check_name(TARGET_NAME, target) for target in value)
        if len(set(found)) < len(found):
            raise DeniableError("{name} has a name twice; write each name once", name=name)
        return found

    return check


def or_null(other: Check) -> Check:
    return lambda name, value: None if value is None else other(name, value)


def one_line(name: str | Message, value: Any) -> str:
    if value == "":
        raise DeniableError(
            "write {name}: at most {max_reason} characters, on one line", name=name, max_reason=MAX_REASON
        )
    if (
        not isinstance(value, str)
        or not 1 <= len(value) <= MAX_REASON
        or not value.isprintable()
        or value != value.strip()
    ):
        raise DeniableError(
            "{name} must be 1 to {max_reason} printable characters on one line, without spaces at the ends",
            name=name,
            max_reason=MAX_REASON,
        )
    return value


def flag(name: str | Message, value: Any) -> bool:
    if not isinstance(value, bool):
        raise DeniableError("{name} must be true or false", name=name)
    return value


def figures(name: str | Message, value: Any) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, list | tuple) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in value
    ):
        raise DeniableError("{name} must be pairs of a class and a number", name=name)
    return tuple((check_name(why_not("a class's name"), one), figure(name, number)) for one, number in value)


def figure(name: str | Message, value: Any) -> int:
    if type(value) is not int or not abs(value) < MAX_FIGURE:
        raise DeniableError("{name} must be a whole number, and may be below 0", name=name)
    return value


def calendar_day(name: str | Message, value: Any) -> str:
    try:
        if datetime.date.fromisoformat(value).isoformat() == value:
            return str(value)
    except (TypeError, ValueError):
        pass
    raise DeniableError("{name} must be a calendar day written YYYY-MM-DD", name=name)


def public_value(name: str | Message, value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch("[ -~]{1,2000}", value):
        raise DeniableError("{name} must be a beacon's signature or the numbers that were thrown", name=name)
    return value


def instant(name: str | Message, value: Any) -> str:
    try:
        read = datetime.datetime.strptime(value, INSTANT)
        if read.strftime(INSTANT) == value and FIRST_YEAR <= read.year <= LAST_YEAR:
            return str(value)
    except (TypeError, ValueError):
        pass
    raise DeniableError("{name} must be an instant written YYYY-MM-DDTHH:MM:SSZ", name=name)


Number = Annotated[int, whole(1)]
MaybeBeacon = Annotated[int | None, or_null(whole(1, MAX_BEACON))]
Instant = Annotated[str, instant]
Days = Annotated[int, whole(0)]
CalendarDay = Annotated[str, calendar_day]
Hash = Annotated[str, hexadecimal(64)]
Hexadecimal = Annotated[str, some_hexadecimal]
MaybeHash = Annotated[str | None, or_null(hexadecimal(64))]
Reason = Annotated[str, one_line]
MaybeReason = Annotated[str | None, or_null(one_line)]
MaybeValue = Annotated[str | None, or_null(public_value)]
MaybeInstant = Annotated[str | None, or_null(instant)]
Figure = Annotated[int, figure]
ByClass = Annotated[tuple[tuple[str, int], ...], figures]
Flag = Annotated[bool, flag]
Name = Annotated[str, check_name]
ClassName = Annotated[str, check_name]
SomeNames = Annotated[tuple[str, ...], names(1)]
AnyNames = Annotated[tuple[str, ...], names(0)]


LONGEST_CONTACT = 300
LONGEST_HOTLINE = 300

_HOST = r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]*[a-z0-9]"
_REST = r"(?::[0-9]{1,5})?(?:[/?#][!#-;=?-\[\]_a-z~]*)?"
_LINK = re.compile(rf"https://{_HOST}{_REST}|http://(?:[a-z0-9-]+\.)*[a-z2-7]{{56}}\.onion{_REST}", re.IGNORECASE)
_ANY_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|.*://", re.IGNORECASE)


class OfficeDetails(NamedTuple):
    """The newest that the public was told."""

    contact: str | None
    hotline: str | None
    day: str
    """On which the office recorded it, YYYY-MM-DD."""

    @property
    def link(self) -> str | None:
        """The hotline's address, where it is a link."""
        return self.hotline if self.hotline is not None and _LINK.fullmatch(self.hotline) else None


def check_contact(name: str | Message, value: Any) -> str:
    """Any words on one line."""
    return check_name(name, value, LONGEST_CONTACT)


def check_hotline(name: str | Message, value: Any) -> str:
    """A link that a browser may follow without harm, or words that are no address of any other kind."""
    text = check_name(name, value, LONGEST_HOTLINE)
    if _ANY_SCHEME.match(text) and not _LINK.fullmatch(text):
        raise DeniableError(
            "{name} must be a link that begins with https://, an onion link that begins with "
            "http://, or a phone number or other words that do not look like a link",
            name=name,
        )
    return text


Contact = Annotated[str | None, or_null(check_contact)]
Hotline = Annotated[str | None, or_null(check_hotline)]
