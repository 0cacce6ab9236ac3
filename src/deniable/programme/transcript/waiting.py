"""A frozen round that waits for its public value."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from deniable.programme.transcript.fields import INSTANT

ONE_DAY = timedelta(days=1)


def read_instant(written: str) -> datetime:
    """An instant of an entry."""
    return datetime.strptime(written, INSTANT).replace(tzinfo=UTC)


def written_instant(instant: datetime) -> str:
    return instant.astimezone(UTC).strftime(INSTANT)


class Waiting(NamedTuple):
    """What the public knows of it."""

    round: int
    entry: int
    """The number of the entry that froze it."""
    inputs: str
    """The hash of what it is drawn from, besides the value."""
    beacon: int | None
    """The number of drand's beacon; None where people throw numbers in public."""
    value_at: str
    """When the beacon is out, or the numbers are thrown: YYYY-MM-DDTHH:MM:SSZ."""

    @property
    def awaited(self) -> str:
        """The public value, in words."""
        return "numbers thrown in public" if self.beacon is None else f"drand's beacon {self.beacon}"

    @property
    def expected(self) -> datetime:
        return read_instant(self.value_at)

    def without_from(self, days: int) -> datetime:
        """From when on the office may draw it without the value, where the programme lets it wait so many days."""
        return self.expected + timedelta(days=days)
