"""A machine for the scheduler's tests, on which time passes only while the scheduler waits."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.programme.offices import Clock

from deniable.programme.scheduler import MINUTE, Scheduler, SchedulerEvent, Trouble
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.status import Closed

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def at(hour: int, minute: int = 0, day: int = 5) -> datetime:
    return datetime(2026, 1, day, hour, minute, tzinfo=UTC)


@dataclass
class Machine:
    """What a scheduler runs on: time passes only while it waits, and ends at the time to stop."""

    clock: Clock
    stop: datetime
    pauses: list[timedelta] = field(default_factory=list)
    told: list[tuple[datetime, str]] = field(default_factory=list)
    """Rounds that were closed, and other events by their kind."""
    troubles: list[str] = field(default_factory=list)
    draw: timedelta = timedelta()
    """How long a draw takes."""
    events: dict[datetime, Callable[[], object]] = field(default_factory=dict)
    """What happens while the scheduler waits, at its time."""
    ahead: timedelta = timedelta()
    """By which the clock was set forward."""
    quiet: int = 0
    """Minutes in which nothing happened."""

    def wait(self, time: timedelta) -> bool:
        if time:
            self.pauses.append(time)
        self.clock.now += time
        self.quiet = self.quiet + 1 if time == MINUTE else 0
        if self.quiet > 5:
            self.clock.now = max(self.clock.now, self._before_something_happens())
            self.quiet = 0
        for moment in sorted(self.events):
            if moment <= self.clock.now:
                self.events.pop(moment)()
                self.quiet = 0
        return self.clock.now >= self.stop

    def _before_something_happens(self) -> datetime:
        """Two minutes before: to live through every minute of a day would take the test as long."""
        midnight = self.clock.now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        return min([midnight, self.stop, *self.events]) - 2 * MINUTE

    def tell(self, event: SchedulerEvent) -> None:
        if isinstance(event, Trouble):
            self.troubles.append(event.sentence)
            return
        self.quiet = 0
        if isinstance(event, Closed):
            self.told.append((self.clock.now, f"Round {event.round}"))
            self.clock.now += self.draw
        else:
            self.told.append((self.clock.now, type(event).__name__))

    def scheduler(self, folder: Path | None = None, database: str = "programme.db") -> Scheduler:
        key = KeyFile(Path("programme.key"))
        passed = lambda: self.clock.now - NOON - self.ahead  # noqa: E731
        return Scheduler(database, key, folder, self.clock, self.wait, self.tell, since_boot=passed)
