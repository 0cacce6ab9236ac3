"""Which reports the guarantee covers, after what happened."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from deniable.programme.transcript import Entry


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

    >>> Standing((Lapse(entry=9, round=7, kind="override"),)).holds_from
    8
    """

    lapses: tuple[Lapse, ...] = ()

    @property
    def holds_from(self) -> int:
        """The first round whose reports the guarantee covers."""
        return max((lapse.round for lapse in self.lapses), default=0) + 1

    def after(self, entry: Entry) -> "Standing":
        if not entry.lapse:
            return self
        return Standing((*self.lapses, Lapse(entry.number, entry.fields["during"], entry.kind)))

    def in_words(self) -> str:
        """For the public page: since when the guarantee holds, what it does not cover, and why."""
        if not self.lapses:
            return "The guarantee holds for every report filed since the programme began."
        last = max(self.lapses, key=lambda lapse: (lapse.round, lapse.entry))
        others = ", ".join(str(lapse.entry) for lapse in self.lapses if lapse != last)
        also = f" It lapsed also through entries numbered {others}." if others else ""
        return (
            f"The guarantee holds for reports filed from round {self.holds_from} on. "
            f"It does not cover reports filed in round {last.round} or earlier, because in that round the office "
            f"{_DEEDS[last.kind]} (entry {last.entry}) "
            f"and did not declare that this had nothing to do with any report.{also}"
        )


_DEEDS = {
    "skip": "closed a round without a draw",
    "override": "ordered audits by hand",
    "targets": "changed the list of targets",
    "not-carried-out": "said that an audit was not carried out",
}


def effect(entry: Entry) -> str:
    """What the entry means for the guarantee, in a sentence or two for the public page."""
    match entry.kind:
        case "round" if entry.fields["late"]:
            days = entry.fields["late"]
            return (
                f"The round was closed {days} {'day' if days == 1 else 'days'} late. "
                "The guarantee covers which targets were drawn, not the time at which it happened."
            )
        case "round":
            return "The guarantee covers it."
        case "recovery":
            return (
                f"The office lost its records from round {entry.fields['lost']} on; the audits published since then "
                "stand, and reports it had counted since then may be lost. The guarantee covers this. The seed of "
                f"round {entry.round} was replaced; that the office did not choose the new one with a result in mind "
                "rests on its word, since it was not fixed before the round began."
            )
        case "end":
            return (
                "No more audits are drawn. The guarantee covers the audits drawn so far, not the time at which the "
                "programme ended."
            )
    if entry.lapse:
        return f"The guarantee does not cover reports filed in round {entry.fields['during']} or earlier."
    return "The office says this had nothing to do with any report; the guarantee covers it."


def described(entry: Entry) -> dict[str, Any]:
    """The entry and its effect, ready for JSON."""
    common = {"entry": entry.number, "kind": entry.kind, "round": entry.round}
    return {**common, **entry.fields, "effect": effect(entry)}
