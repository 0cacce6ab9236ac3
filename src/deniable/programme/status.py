"""What a programme tells of itself: a round that was closed, and where everything is now."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Self

from deniable.message import why_not
from deniable.programme.parameters import Parameters
from deniable.programme.public.folder import TRANSCRIPT, entries_in
from deniable.programme.randomness.source import Source
from deniable.programme.transcript.coverage import Coverage
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import OfficeDetails
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript.waiting import Waiting
from deniable.programme.transcript.yearly_figures import Figures

PAUSED = why_not(
    "Imports are paused: the office went on from a backup, and no longer knows which reports it had counted. A report "
    "that is imported meanwhile does not count, now or later."
)
"""For the person who brings a file, before and after it is imported."""


@dataclass(frozen=True)
class Closed:
    """A closed round."""

    round: int
    audits: tuple[str, ...]
    """In the order drawn; none where the round was skipped, or is frozen and not drawn."""
    already: bool
    """Whether it was closed before, and this is the record."""
    secret_until: int | None = None
    """The round with whose closing the public learns these names; None where it knows them."""
    figures: Figures | None = None
    """Those of the year that it ended, where there are any."""
    waiting: Waiting | None = None
    """What it waits for, where it is frozen and not drawn yet."""
    source: Source | None = None
    """Of the value that it waits for."""
    is_frozen: bool = False
    """Whether it is frozen and not drawn; where it waits for nothing, it never is."""
    entry: int = 0
    """The number of the entry that drew, froze or skipped it; 0 where that does not matter."""
    visits: tuple[str, ...] = ()
    """Targets whose visits, because of reports of an emergency class, were recorded with it."""


@dataclass(frozen=True)
class NewEntry:
    """An entry that was recorded now, and may delete reports."""

    entry: Entry
    visits: tuple[str, ...] = ()
    """Targets whose visits, because of reports of an emergency class, were recorded with it."""


@dataclass(frozen=True)
class Status:
    """Where the programme stands. Public."""

    parameters: Parameters
    open_round: int
    due: datetime
    """When the open round is due."""
    has_open_round: bool
    """Not after the end, or after the last round of the horizon: `open_round` is none then."""
    overdue: int
    """Rounds that are due and not closed."""
    late: int
    """Whole days since the open round was due, which the public sees when it is closed now; 0 before."""
    entries: int
    published: int
    """Entries that stand in `folder`; more than `entries` where the database is an old one."""
    folder: Path | None
    targets: tuple[str, ...]
    """Those that take part."""
    coverage: Coverage
    is_paused: bool
    """Whether reports that hotlines bring do not count, since a recovery."""
    waiting: Waiting | None
    """The round that is frozen and not drawn yet."""
    ended: bool
    details: OfficeDetails | None
    """How to reach the office and its hotline."""

    def is_closed_late(self, round_: int) -> bool:
        """Whether this is the round that can be closed, and closing it now needs a reason for the public."""
        return round_ == self.open_round and self.waiting is None and self.late > 0

    @classmethod
    def now(cls, state: PublicState, folder: Path | None, now: datetime) -> Self:
        calendar, has_open = state.parameters.calendar, state.has_open_round
        return cls(
            parameters=state.parameters,
            open_round=state.open_round,
            due=calendar.due(state.open_round),
            has_open_round=has_open,
            overdue=max(0, state.rounds_due(now) - state.closed) if has_open else 0,
            late=calendar.days_late(state.open_round, now) if has_open else 0,
            entries=state.entries,
            published=0 if folder is None else entries_in(folder / TRANSCRIPT, state.parameters),
            folder=folder,
            targets=state.present,
            coverage=state.coverage,
            is_paused=state.is_paused,
            waiting=state.waiting,
            ended=state.ended,
            details=state.details,
        )
