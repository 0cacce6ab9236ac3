"""The source of a programme's public values: fixed at its start, so that the office cannot look for a better one."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar

from deniable.errors import DeniableError, check_whole
from deniable.languages.voice import Voice
from deniable.message import why_not
from deniable.programme.randomness.dice import Throws
from deniable.programme.randomness.drand import QUICKNET, Beacon, Chain

LEAST_MINUTES, MOST_MINUTES = 5, 24 * 60
"""Between the due time of a round and its public value: time for witnesses to see the frozen round."""
MOST_DAYS = 365
MOST_PLACE = 200
WITHOUT = ""
"""What stands for the value of a round that is drawn without one."""


@dataclass(frozen=True)
class Drand:
    """The beacon that drand publishes some minutes after a round is due."""

    name: ClassVar[str] = "drand"

    chain: Chain = QUICKNET
    minutes: int = 60
    """Between the due time and the beacon."""
    days: int = 7
    """After the beacon's time; then the office may draw without it."""

    def __post_init__(self) -> None:
        _check_times(self.minutes, self.days)

    @property
    def is_known(self) -> bool:
        """Whether the chain is drand's own; the key of any other may be the office's."""
        return self.chain == QUICKNET

    def value_at(self, due: datetime, now: datetime) -> datetime:
        """When the beacon is out for a round that is due then and frozen now."""
        return self.chain.time_of(self.chain.round_at(_value_at(self.minutes, due, now)))

    def beacon(self, value_at: datetime) -> int:
        """The number of the beacon that is out at this instant."""
        return self.chain.round_at(value_at)

    def check(self, value: str, time: str | None) -> None:
        """Refuse what is no beacon's signature by its form; `check_beacons` tells whether it is one."""
        Beacon(1, value)
        if time is not None:
            raise DeniableError("a beacon has no time of its own; leave it out")

    def mixed_in(self, value: str) -> str:
        """What goes into the draw."""
        return Beacon(1, value).randomness

    def to_dict(self) -> dict[str, Any]:
        return {"source": self.name, "chain": self.chain.to_dict(), "minutes": self.minutes, "days": self.days}


@dataclass(frozen=True)
class Dice:
    """Numbers that people throw, or draw, in public some minutes after a round is due.

    Place and time are fixed before: an office that could throw often would publish the throw that it likes.
    """

    name: ClassVar[str] = "dice"

    place: str
    """Where people can watch: "the entrance of the town hall", or which lottery."""
    throws: Throws = field(default_factory=Throws)
    minutes: int = 60
    """Between the due time and the throw."""
    days: int = 7
    """After the time of the throw; then the office may draw without the numbers."""

    def __post_init__(self) -> None:
        place = self.place
        if not isinstance(place, str) or place != place.strip() or not 1 <= len(place) <= MOST_PLACE:
            raise DeniableError(
                "the place of the throw must have 1 to {most_place} characters, on one line", most_place=MOST_PLACE
            )
        if not place.isprintable():
            raise DeniableError("the place of the throw must be printable, and on one line")
        _check_times(self.minutes, self.days)

    def value_at(self, due: datetime, now: datetime) -> datetime:
        """When the numbers are thrown for a round that is due then and frozen now."""
        return _value_at(self.minutes, due, now)

    def beacon(self, value_at: datetime) -> None:
        """Dice have no number."""

    def check(self, value: str, time: str | None) -> None:
        self.throws.check(value)
        if time is None:
            raise DeniableError("numbers thrown in public need the time at which people saw it")

    def mixed_in(self, value: str) -> str:
        """The numbers alone: the office says when they were thrown."""
        return hashlib.sha256(value.encode("ascii")).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        throws, times = self.throws, {"minutes": self.minutes, "days": self.days}
        return {"source": self.name, "place": self.place, "numbers": throws.numbers, "of": throws.of, **times}


Source = Drand | Dice


def source_from(stored: Any) -> Source | None:
    """The source that `to_dict` wrote; None for a programme without one."""
    if stored is None:
        return None
    fields = {
        "drand": {"source", "chain", "minutes", "days"},
        "dice": {"source", "place", "numbers", "of", "minutes", "days"},
    }
    name = stored.get("source") if isinstance(stored, dict) else None
    if not isinstance(name, str) or name not in fields or stored.keys() != fields[name]:
        raise DeniableError("randomness must be null, or a source of public values: drand or dice")
    if name == "drand":
        return Drand(Chain.from_dict(stored["chain"]), stored["minutes"], stored["days"])
    throws = Throws(stored["numbers"], stored["of"])
    return Dice(stored["place"], throws, stored["minutes"], stored["days"])


def is_foreseeable(source: Source | None) -> bool:
    """Whether one person knows all values in advance: the holder of the key of a chain that is not drand's own."""
    return isinstance(source, Drand) and not source.is_known


def value_in_words(source: Source, say: Voice) -> str:
    """Which public value goes into a draw, whatever the round: a phrase of its own."""
    if isinstance(source, Dice):
        throws = source.throws.in_words(say)
        # For translators: this and the next two stand in other sentences for {value}, and after a colon.
        return say.counted(
            "numbers that people throw in public ({place}; {throws}), {number} minute after the due time",
            "numbers that people throw in public ({place}; {throws}), {number} minutes after the due time",
            source.minutes,
            place=say.apart(source.place),
            throws=throws,
        )
    if source.is_known:
        return say.counted(
            "the beacon that drand publishes {number} minute after the due time",
            "the beacon that drand publishes {number} minutes after the due time",
            source.minutes,
        )
    return say.counted(
        "the beacon that another chain than drand’s publishes {number} minute after the due time",
        "the beacon that another chain than drand’s publishes {number} minutes after the due time",
        source.minutes,
    )


def _value_at(minutes: int, due: datetime, now: datetime) -> datetime:
    """The calendar's time; later where the round is frozen so late that less than half of the minutes would be left for
    others to see it.
    """
    if now <= due + timedelta(minutes=minutes) / 2:
        return due + timedelta(minutes=minutes)
    return now.replace(second=0, microsecond=0) + timedelta(minutes=minutes + 1)


def _check_times(minutes: int, days: int) -> None:
    before, after = (
        why_not("the minutes from a round's due time to its public value"),
        why_not("the days that a round waits for its value"),
    )
    if check_whole(before, minutes, LEAST_MINUTES) > MOST_MINUTES:
        raise DeniableError(
            "{before} must be at most {most_minutes}, got {minutes}",
            before=before,
            most_minutes=MOST_MINUTES,
            minutes=minutes,
        )
    if check_whole(after, days, least=1) > MOST_DAYS:
        raise DeniableError(
            "{after} must be at most {most_days}, got {days}", after=after, most_days=MOST_DAYS, days=days
        )
