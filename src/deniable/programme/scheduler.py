"""The scheduler: it closes and draws each round at its time, publishes what is new, and tries again where it cannot."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from deniable.errors import DeniableError
from deniable.programme.calendar import Clock
from deniable.programme.programme import Programme
from deniable.programme.public.folder import check_apart
from deniable.programme.randomness.mirrors import MIRRORS, fetch
from deniable.programme.randomness.source import Drand
from deniable.programme.secrets.keys import Key, KeyFile
from deniable.programme.status import Closed, Status
from deniable.programme.transcript.frozen import PublicValue
from deniable.programme.transcript.waiting import Waiting
from deniable.storage.store import Store, StoreError

MINUTE = timedelta(minutes=1)
MOST_OVERDUE = 2
"""Rounds that are closed unasked: more of them come of a clock that is wrong, more often than of an outage."""
MOST_AHEAD = timedelta(hours=1)
"""By which the clock may go forward more than time passes before a round is not closed by it alone."""
LATE = "the round is closed automatically, and that could not be done in time"

Wait = Callable[[timedelta], bool]
"""Waits that long; returns whether to stop, perhaps sooner."""


def since_boot() -> timedelta:
    """A clock that cannot be set, and that goes on while the machine sleeps."""
    return timedelta(seconds=time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)))


@dataclass(frozen=True)
class Published:
    """What is new is in the public folder."""

    entries: int
    folder: Path


@dataclass(frozen=True)
class Ended:
    """The programme has ended, and the scheduler with it."""


@dataclass(frozen=True)
class Trouble:
    """Something cannot be done now, and is tried again every minute; told once for as long as it lasts."""

    sentence: str


SchedulerEvent = Closed | Published | Ended | Trouble


@dataclass
class Scheduler:
    """Closes and publishes what is due. `now`, `wait` and `tell` are its clock, its pauses and its voice.

    While it runs, the programme's pages are written at every tick.
    """

    database: str
    key: Key
    folder: Path | None
    now: Clock
    wait: Wait
    tell: Callable[[SchedulerEvent], None]
    catch_up: bool = False
    """Whether to close more than `MOST_OVERDUE` rounds, until none is overdue."""
    mirrors: Sequence[str] = MIRRORS
    """Where drand's beacons are looked for."""
    since_boot: Callable[[], timedelta] = since_boot
    """How much time has passed, whatever `now` says."""
    _booted: datetime | None = field(default=None, init=False)
    """By the clock as it was when the scheduler began; None where it works once and has nothing to compare with."""

    def __post_init__(self) -> None:
        if self.folder is not None:
            check_apart(self.folder, Store(self.database).file, self._key_files)  # now, and not at the next full minute

    def forever(self) -> None:
        """Until the programme ends, or `wait` says to stop. Refuses only where it cannot begin."""
        programme, trouble = None, None
        self._booted = self.now() - self.since_boot()
        pause: timedelta | None = timedelta()
        try:
            while pause is not None and not self.wait(pause):
                try:
                    if programme is None:
                        programme = self._opened()
                        programme.start_ticking()
                    pause = self._once(programme)
                    trouble = None
                except DeniableError as error:
                    if programme is None and not isinstance(error, StoreError):
                        raise
                    if str(error) != trouble:
                        self.tell(Trouble(str(error)))
                    pause, trouble = MINUTE, str(error)
        finally:
            if programme is not None:
                programme.close()

    def once(self) -> timedelta | None:
        """Close and publish what is due; returns how long to wait, at most a minute, and None where nothing follows."""
        with closing(self._opened()) as programme:
            return self._once(programme)

    def _once(self, programme: Programme) -> timedelta | None:
        # Publishing comes first: what a draw's seed is must be settled in public before the draw.
        while (news := self._has_news(status := programme.status())) or self._can_go_on(status):
            if self.wait(_next_minute(self.now()) - self.now() if news else timedelta()):
                return None
            if news:
                folder = programme.publish(self.folder, keys=self._key_files)
                self.tell(Published(programme.status().published, folder))
            elif status.waiting is not None:
                self._draw_round(programme, status.waiting)
            else:
                self._close_round(programme, status)
        self.catch_up = self.catch_up and status.overdue > 0
        if status.ended:
            self.tell(Ended())
            return None
        next_ = status.due if status.waiting is None else status.waiting.expected
        return min(MINUTE, max(timedelta(), next_ - self.now())) if next_ > self.now() else MINUTE

    def _opened(self) -> Programme:
        return Programme.open(self.database, self.key, clock=self.now)

    @property
    def _key_files(self) -> list[Path]:
        return [self.key.path] if isinstance(self.key, KeyFile) else []

    def _has_news(self, status: Status) -> bool:
        return self.folder is not None and (status.folder != self.folder or status.published < status.entries)

    def _can_go_on(self, status: Status) -> bool:
        """Whether a round can be drawn, or closed, now. Numbers that people throw are entered by people."""
        if status.waiting is None:
            return status.overdue > 0
        return status.waiting.beacon is not None and self.now() >= status.waiting.expected

    def _draw_round(self, programme: Programme, waiting: Waiting) -> None:
        source = programme.parameters.randomness
        assert isinstance(source, Drand)
        assert waiting.beacon is not None
        beacon = fetch(source.chain, waiting.beacon, self.mirrors)
        self.tell(programme.draw_round(PublicValue(beacon.signature)))

    def _close_round(self, programme: Programme, status: Status) -> None:
        if status.overdue > MOST_OVERDUE and not self.catch_up:
            raise DeniableError(
                "{overdue} rounds are overdue, and run closes no more than {most_overdue} unasked: "
                "check this computer's clock, then use run --catch-up, or close-round for each",
                overdue=status.overdue,
                most_overdue=MOST_OVERDUE,
            )
        self._check_clock(status)
        self.tell(programme.close_round(status.open_round, LATE))

    def _check_clock(self, status: Status) -> None:
        """Refuse a round that is due only because the clock was set forward: it would stay closed."""
        if self._booted is None:
            return
        steady = self._booted + self.since_boot()
        if self.now() - steady > MOST_AHEAD and status.due > steady:
            raise DeniableError(
                "round {round} is not closed: this computer's clock jumped forward; set it right, or start run again "
                "if it is right now",
                round=status.open_round,
            )


def _next_minute(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0) + MINUTE
