"""A decision: an entry of what the office does by itself, and what that means for the promise."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.message import Message, noted
from deniable.programme.calendar import Calendar, day_in_words, due_in_words
from deniable.programme.transcript.coverage import Lapse
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import Flag, Number, Reason
from deniable.programme.transcript.state import PublicState

INDEPENDENT = noted("The office says this had nothing to do with any report, so it does not weaken the promise.")
"""Whatever the promise had lost before."""


@dataclass(frozen=True, kw_only=True)
class MadeDuring(Entry):
    """An entry that names the round of the calendar in which it was made."""

    during: Number
    """Later than the open round while rounds are overdue."""

    def _check_place(self, state: PublicState) -> None:
        super()._check_place(state)
        if self.during < self.round:
            raise DeniableError(
                "it was made during round {round} or later, not during round {during}",
                round=self.round,
                during=self.during,
            )

    def made(self, calendar: Calendar, say: Voice) -> str:
        if self.during == self.round:
            return super().made(calendar, say)
        first, last = (day_in_words(calendar.day(round_), say).words for round_ in (self.during - 1, self.during))
        return say(
            "between {first} and {last}, while round {round} was overdue", first=first, last=last, round=self.round
        )


@dataclass(frozen=True, kw_only=True)
class Decision(MadeDuring):
    """What the office decides by itself, and declares to be independent of the reports or not."""

    lapses_because: ClassVar[Message]
    """What the office did, and that it declared nothing; the number of the entry is still to come."""

    reason: Reason
    independent: Flag

    @property
    def lapse(self) -> Lapse | None:
        if self.independent:
            return None
        return Lapse(self.number, self.during, self._because._replace(values=(("entry", self.number),)))

    @property
    def _because(self) -> Message:
        return self.lapses_because

    def effect(self, calendar: Calendar, say: Voice) -> str:
        return say(INDEPENDENT) if self.independent else not_covered(calendar, self.during, say)


def decided_now(state: PublicState, now: datetime, reason: str, *, independent: bool) -> dict[str, Any]:
    """The fields that every decision has."""
    return {"reason": reason, "independent": independent, "during": state.calendar_round(now)}


class Consequence(NamedTuple):
    """What a decision that is not declared independent of the reports would do to the promise. Public."""

    during: int
    """The round of the calendar now."""
    words: str
    """In whole sentences."""


def consequence(state: PublicState, during: int, say: Voice) -> Consequence:
    """Of a decision in this round of the calendar."""
    calendar, first = state.parameters.calendar, state.coverage.holds_from
    until = due_in_words(calendar, during, say).words
    if during < first:
        words = say(
            "The promise lapsed before for all reports filed before {until}; this does not weaken it further.",
            until=until,
        )
        return Consequence(during, words)
    lapses = say(
        "The promise lapses for every report filed in round {round} or earlier, that is, from {since} until {until}.",
        round=during,
        since=day_in_words(calendar.first_day(first), say).words,
        until=until,
    )
    about = say.counted(
        "This is about reports about the programme's {number} {target}.",
        "This is about reports about any of the programme's {number} {targets}, not only about those that you name.",
        state.n_targets,
    )
    return Consequence(during, " ".join([lapses, about, say("This cannot be taken back.")]))


def not_covered(calendar: Calendar, during: int, say: Voice) -> str:
    return say(
        "The promise does not cover reports filed in round {round} or earlier, that is, before {until}.",
        round=during,
        until=due_in_words(calendar, during, say).words,
    )
