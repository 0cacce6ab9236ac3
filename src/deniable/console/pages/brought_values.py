"""The public value of a frozen round, as people bring it: a beacon, fetched or in a file, or the numbers thrown."""

from zoneinfo import ZoneInfo

from starlette.datastructures import FormData

from deniable.console.accounts.people import Person
from deniable.console.console import Console
from deniable.console.pages.field_errors import about
from deniable.console.pending_draws import EnteredNumbers
from deniable.console.security import text
from deniable.errors import DeniableError
from deniable.programme.programme import Programme
from deniable.programme.randomness.mirrors import beacon_in, fetch
from deniable.programme.randomness.source import Dice, Drand
from deniable.programme.transcript.frozen import PublicValue
from deniable.programme.transcript.waiting import Waiting, written_instant


def fetched_value(waiting: Waiting, programme: Programme, console: Console) -> PublicValue:
    source, number = _beacon_of(waiting, programme)
    zone = programme.parameters.calendar.zone
    expected = waiting.expected.astimezone(ZoneInfo(zone))
    if console.clock() < expected:
        raise DeniableError(
            "beacon {beacon} is not out before {expected} ({zone} time)",
            beacon=str(number),
            expected=expected,
            zone=zone,
        )
    return PublicValue(fetch(source.chain, number, console.mirrors).signature)


def value_in_file(waiting: Waiting, programme: Programme, content: bytes) -> PublicValue:
    _, number = _beacon_of(waiting, programme)
    beacon = beacon_in(content)
    if beacon.round != number:
        raise DeniableError(
            "the file has beacon {found}, and round {round} waits for beacon {beacon}",
            found=str(beacon.round),
            round=waiting.round,
            beacon=str(number),
        )
    return PublicValue(beacon.signature)


def entered_numbers(programme: Programme, person: Person, fields: FormData) -> EnteredNumbers:
    """The numbers of the form, in the form in which they are published."""
    source = programme.parameters.randomness
    if not isinstance(source, Dice):
        raise DeniableError("this programme draws with drand's beacons, and not with numbers that people throw")
    with about("numbers"):
        numbers = source.throws.read(text(fields, "numbers"))
    return EnteredNumbers(person=person.id, numbers=numbers, time=_time(programme, text(fields, "time")))


def _beacon_of(waiting: Waiting, programme: Programme) -> tuple[Drand, int]:
    """The source, and the number of the beacon for which the round waits."""
    source = programme.parameters.randomness
    if not isinstance(source, Drand) or waiting.beacon is None:
        raise DeniableError("this programme draws with numbers that people throw, and not with drand's beacons")
    return source, waiting.beacon


def _time(programme: Programme, typed: str) -> str:
    try:
        return written_instant(programme.parameters.calendar.instant(typed))
    except DeniableError:
        raise DeniableError("Choose the day and the time of the first throw.") from None
