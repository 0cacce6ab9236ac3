"""Which reports the guarantee covers, after what happened."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from deniable.programme.calendar import Calendar, due_in_words
from deniable.programme.transcript.chain import Entry


class Lapse(NamedTuple):
    """A recorded decision that the office does not declare independent of the reports."""

    entry: int
    round: int
    """The calendar's at that time, by which reporters count; the open round may be an earlier one."""
    kind: str


@dataclass(frozen=True)
class Standing:
    """The guarantee and what it lost: a decision that may have looked at reports may reveal those filed so far.

    Both worlds, with a report and without it, take the same decision if the report is filed only later, so the
    guarantee holds for reports filed from the next round on.

    >>> from datetime import date
    >>> Standing(Calendar(date(2026, 1, 5), "1W", "UTC"), (Lapse(entry=9, round=7, kind="override"),)).holds_from
    8
    """

    calendar: Calendar
    lapses: tuple[Lapse, ...] = ()

    @property
    def holds_from(self) -> int:
        """The first round whose reports the guarantee covers."""
        return max((lapse.round for lapse in self.lapses), default=0) + 1

    def after(self, entry: Entry) -> "Standing":
        if not entry.lapse:
            return self
        return Standing(self.calendar, (*self.lapses, Lapse(entry.number, entry.fields["during"], entry.kind)))

    def in_words(self) -> str:
        """For the public page: since when the guarantee holds, what it does not cover, and why."""
        if not self.lapses:
            return "The guarantee holds for every report filed since the programme began."
        last = max(self.lapses, key=lambda lapse: (lapse.round, lapse.entry))
        others = ", ".join(str(lapse.entry) for lapse in self.lapses if lapse != last)
        also = f" It lapsed also through entries numbered {others}." if others else ""
        return (
            f"The guarantee holds for reports filed from round {self.holds_from} on, that is, from "
            f"{due_in_words(self.calendar, last.round).words} on. It does not cover reports filed in round "
            f"{last.round} or earlier, because before that day and hour the office {_DEEDS[last.kind]} "
            f"(entry {last.entry}) and did not declare that this had nothing to do with any report.{also}"
        )


_DEEDS = {
    "skip": "closed a round without a draw",
    "override": "ordered audits by hand",
    "targets": "changed the list of targets",
    "not-carried-out": "said that an audit was not carried out",
}


NOT_THE_TIME = "The guarantee covers which targets were drawn, not the time at which it happened."
"""What there is to say of every round that was closed late."""


def effect(entry: Entry, calendar: Calendar) -> str:
    """What the entry means for the guarantee, in a sentence or two for the public page."""
    match entry.kind:
        case "round" if entry.fields["late"]:
            days = entry.fields["late"]
            return f"The round was closed {days} {'day' if days == 1 else 'days'} late. {NOT_THE_TIME}"
        case "round":
            return "The guarantee covers it."
        case "recovery":
            waits = "Reports that its hotlines bring do not count until another entry says so. "
            return (
                f"The office lost its records from round {entry.fields['lost']} on; the audits published since then "
                "stand, and reports it had counted since then may be lost. "
                f"{waits if entry.fields['paused'] else ''}The guarantee covers this. The random number of round "
                f"{entry.round} was replaced when reports of the round could be known already; that the office did not "
                "choose the new one with them in mind rests on its word alone."
            )
        case "resumption":
            return (
                "From here on, reports that hotlines bring count again. Those that the office received from its "
                "hotlines between the recovery and this entry do not count. The guarantee covers this."
            )
        case "end":
            return (
                "No more audits are drawn. The guarantee covers the audits drawn so far, not the time at which the "
                "programme ended."
            )
    covered = "The office says this had nothing to do with any report; the guarantee covers it."
    if entry.lapse:
        during = entry.fields["during"]
        covered = (
            f"The guarantee does not cover reports filed in round {during} or earlier, that is, before "
            f"{due_in_words(calendar, during).words}."
        )
    return f"The reports of this round count in the next draw. {covered}" if entry.kind == "skip" else covered


def described(entry: Entry, calendar: Calendar) -> dict[str, Any]:
    """The entry and its effect, ready for JSON."""
    common = {"entry": entry.number, "kind": entry.kind, "round": entry.round}
    return {**common, **entry.fields, "effect": effect(entry, calendar)}
