"""What a programme tells of itself: a round that was closed, and where everything is now."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from deniable.programme.parameters import Parameters
from deniable.programme.standing import Standing


@dataclass(frozen=True)
class Closed:
    """A closed round."""

    round: int
    audits: tuple[str, ...]
    """In the order drawn; none where the round was skipped."""
    already: bool
    """Whether it was closed before, and this is the record."""


@dataclass(frozen=True)
class Status:
    """Where the programme stands. Public."""

    parameters: Parameters
    open_round: int
    due: datetime
    """When the open round is due."""
    overdue: int
    """Rounds that are due and not closed."""
    late: int
    """Whole days since the open round was due, which the public sees when it is closed now; 0 before."""
    entries: int
    published: int
    """Entries that were published in `folder`."""
    folder: Path | None
    targets: tuple[str, ...]
    """Those that take part."""
    standing: Standing
    ended: bool
