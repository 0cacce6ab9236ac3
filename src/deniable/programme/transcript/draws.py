"""What all entries share that close a round with a draw."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from deniable.arrays import BoolArray, IntArray
from deniable.errors import DeniableError
from deniable.programme.calendar import Calendar
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import Days, Hash, MaybeHash
from deniable.programme.transcript.state import PublicState
from deniable.wording import count

NOT_THE_TIME = "The guarantee covers which targets were drawn, not the time at which it happened."
"""What there is to say of every round that was closed late."""


@dataclass(frozen=True, kw_only=True)
class Draw(Entry):
    """Closes the open round with a draw."""

    closes_round = True
    is_drawn = True

    commitment: Hash
    """To the next round's seed."""
    late: Days
    sealed: MaybeHash
    """Hash of the inputs, sealed for the oversight body."""

    @property
    def new_commitment(self) -> str:
        return self.commitment

    @property
    def is_usual(self) -> bool:
        return not self.late

    def _change(self, state: PublicState) -> PublicState:
        state.check_sealed(self.sealed, "the round")
        if self.late and self.reason is None:
            raise DeniableError("a round that is closed late needs a reason")
        return state

    def effect(self, calendar: Calendar) -> str:
        if self.late:
            return f"The round was closed {count(self.late, 'day')} late. {NOT_THE_TIME}"
        return "The guarantee covers it."


def without_reports(tally: IntArray, targets: Collection[int], classes: BoolArray | None = None) -> IntArray:
    """Without the reports about these targets, of these classes or of all."""
    left = tally.copy()
    gone = np.zeros_like(tally, np.bool_)
    gone[:, [*targets]] = True
    left[gone if classes is None else gone & classes[:, None]] = 0
    return left
