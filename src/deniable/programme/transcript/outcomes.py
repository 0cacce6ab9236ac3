"""What became of audits: the entries that say that one took place, or that it did not, and which audits they mean."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.message import noted
from deniable.programme.calendar import Calendar, day_in_words
from deniable.programme.transcript.decision import Decision, MadeDuring
from deniable.programme.transcript.entry import Entry, Outcome
from deniable.programme.transcript.fields import CalendarDay, Name, Number
from deniable.programme.transcript.state import PublicState


@dataclass(frozen=True, kw_only=True)
class CarriedOut(MadeDuring):
    """The target's audit of round `of`, its latest, took place."""

    kind = "carried-out"

    of: Number
    target: Name
    day: CalendarDay
    """In the programme's zone."""

    @property
    def outcome(self) -> Outcome:
        return Outcome(self.of, self.target, self.day)

    @property
    def is_usual(self) -> bool:
        return True

    def _change(self, state: PublicState) -> PublicState:
        changed, calendar = state.after_outcome(self.target, self.of), state.parameters.calendar
        day, first, last = datetime.date.fromisoformat(self.day), calendar.first_day(self.of), calendar.day(self.during)
        if not first <= day <= last:
            an_audit = state.parameters.terms.an_audit
            raise DeniableError(
                "{an_audit_word} of round {of} that is recorded now took place from {first} to {last}, not on {day}",
                an_audit_word=an_audit,
                of=self.of,
                first=first,
                last=last,
                day=day,
            )
        return changed

    def deed(self, say: Voice) -> str:
        return say("the {audit_of} {name}, selected in round {round}, took place on {day}", **self._facts(say))

    def heading(self, say: Voice) -> str:
        return say("The {audit_of} {name}, selected in round {round}, took place on {day}", **self._facts(say))

    def _facts(self, say: Voice) -> dict[str, Any]:
        day = day_in_words(datetime.date.fromisoformat(self.day), say).words
        return {"name": say.apart(self.target), "round": self.of, "day": day}

    def effect(self, calendar: Calendar, say: Voice) -> str:
        return say("The promise covers which {targets} were drawn, not the day on which the office went there.")


@dataclass(frozen=True, kw_only=True)
class NotCarriedOut(Decision):
    """The target's audit of round `of`, its latest, did not take place."""

    kind = "not-carried-out"
    lapses_because = noted(
        "The office said that {an_audit} was not carried out (entry {entry}). It did not declare that no report was "
        "the reason."
    )

    of: Number
    target: Name

    @property
    def outcome(self) -> Outcome:
        return Outcome(self.of, self.target, None)

    def _change(self, state: PublicState) -> PublicState:
        return state.after_outcome(self.target, self.of)

    def deed(self, say: Voice) -> str:
        return say(
            "the {audit_of} {name} in round {round} was not carried out", name=say.apart(self.target), round=self.of
        )

    def heading(self, say: Voice) -> str:
        return say(
            "The {audit_of} {name} in round {round} was not carried out", name=say.apart(self.target), round=self.of
        )


def present_names(entries: Sequence[Entry]) -> Mapping[str, str]:
    """What targets are called now, by every name that they had before. No name is used twice."""
    present: dict[str, str] = {}
    for entry in reversed(entries):
        if entry.new_name is not None:
            former, name = entry.new_name
            present[former] = present.get(name, name)
    return present


def outcomes(entries: Sequence[Entry], present: Mapping[str, str]) -> Mapping[tuple[int, str], Outcome]:
    """What became of audits, by the number of the entry that names the target and the target's present name."""
    latest: dict[tuple[int, str], int] = {}
    found = {}
    for entry in entries:
        if (outcome := entry.outcome) is not None:
            target = present.get(outcome.target, outcome.target)
            found[latest[outcome.round, target], target] = outcome
        latest |= {(entry.audited_in, present.get(name, name)): entry.number for name in entry.audited}
    return found
