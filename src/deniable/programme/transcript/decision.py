"""A decision: an entry of what the office does by itself, and what that means for the guarantee."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from deniable.errors import DeniableError
from deniable.programme.calendar import Calendar, day_in_words, due_in_words
from deniable.programme.transcript.coverage import Lapse
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import Flag, Number, Reason
from deniable.programme.transcript.state import PublicState

INDEPENDENT = "The office says this had nothing to do with any report, so it takes nothing from the guarantee."
"""Whatever the guarantee had lost before."""


@dataclass(frozen=True, kw_only=True)
class Decision(Entry):
    """What the office decides by itself, and declares to be independent of the reports or not."""

    lapses_because: ClassVar[str]
    """What the office did, to stand after "the office"."""

    reason: Reason
    independent: Flag
    during: Number
    """The round of the calendar at that time: later than the open one while rounds are overdue."""

    @property
    def lapse(self) -> Lapse | None:
        if self.independent:
            return None
        because = f"{self._did}, and a report may have been the reason (entry {self.number})"
        return Lapse(self.number, self.during, because)

    @property
    def _did(self) -> str:
        return self.lapses_because

    def _check_place(self, state: PublicState) -> None:
        super()._check_place(state)
        check_during(self.during, self.round)

    def effect(self, calendar: Calendar) -> str:
        if self.independent:
            return INDEPENDENT
        return not_covered(calendar, self.during)


class Consequence(NamedTuple):
    """What a decision that is not declared independent of the reports would do to the guarantee. Public."""

    during: int
    """The round of the calendar now."""
    words: str


def consequence(state: PublicState, during: int) -> Consequence:
    """Of a decision in this round of the calendar."""
    calendar, first = state.parameters.calendar, state.coverage.holds_from
    until = due_in_words(calendar, during).words
    if during < first:
        words = f"the guarantee lapsed before for all reports filed before {until}; this takes nothing more from it"
        return Consequence(during, words)
    since = day_in_words(calendar.first_day(first)).words
    words = (
        f"the guarantee lapses for every report filed in round {during} or earlier, that is, from {since} until "
        f"{until}, about any of the programme's {state.n_targets:,} targets, not only about those that you name; this "
        "cannot be taken back"
    )
    return Consequence(during, words)


def check_during(during: int, round_: int) -> None:
    if during < round_:
        raise DeniableError(f"it was made during round {round_} or later, not during round {during}")


def not_covered(calendar: Calendar, during: int) -> str:
    return (
        f"The guarantee does not cover reports filed in round {during} or earlier, that is, before "
        f"{due_in_words(calendar, during).words}."
    )
