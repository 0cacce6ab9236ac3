"""Which reports the guarantee covers, after what happened."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from deniable.programme.calendar import Calendar, Day, due_in_words


class Lapse(NamedTuple):
    """What the guarantee loses by an entry: reports filed before it may be revealed."""

    entry: int
    round: int
    """The calendar's at that time, by which reporters count; the open round may be an earlier one."""
    because: str
    """To stand after "the office"."""


@dataclass(frozen=True)
class Coverage:
    """The guarantee and what it lost: a decision that may have looked at reports may reveal those filed so far.

    Both worlds, with a report and without it, take the same decision if the report is filed only later, so the
    guarantee holds for reports filed from the next round on.

    >>> from datetime import date
    >>> Coverage(Calendar(date(2026, 1, 5), "1W", "UTC"), (Lapse(9, round=7, because="ordered audits"),)).holds_from
    8
    """

    calendar: Calendar
    lapses: tuple[Lapse, ...] = ()
    visit_classes: tuple[str, ...] = ()
    """The names of the classes whose reports lead to a visit at once: the guarantee covers none of them."""

    @property
    def holds_from(self) -> int:
        """The first round whose reports the guarantee covers."""
        return max((lapse.round for lapse in self.lapses), default=0) + 1

    @property
    def last(self) -> Lapse | None:
        """The lapse from which it takes longest to recover."""
        return max(self.lapses, key=lambda lapse: (lapse.round, lapse.entry), default=None)

    def lost_until(self, now: datetime) -> Day | None:
        """The end of the time in which reports are filed that the guarantee does not cover; None where it covers those
        filed now.
        """
        last = self.holds_from - 1
        return due_in_words(self.calendar, last) if last and now < self.calendar.due(last) else None

    def after(self, lapse: Lapse | None) -> "Coverage":
        return self if lapse is None else replace(self, lapses=(*self.lapses, lapse))

    def in_words(self) -> str:
        """For the public page: since when the guarantee holds, what it does not cover, and why."""
        if not self.lapses and self.visit_classes:
            return (
                "The guarantee covers every ordinary report filed since the programme began, whatever "
                f"emergencies there were. Only reports of {either_class(self.visit_classes)} are not ordinary: they "
                "lead to a visit at once."
            )
        last = self.last
        if last is None:
            return "The guarantee holds for every report filed since the programme began."
        others = ", ".join(str(lapse.entry) for lapse in self.lapses if lapse != last)
        also = f" It lapsed also through entries numbered {others}." if others else ""
        never = ""
        if self.visit_classes:
            never = f" It covers no report of {either_class(self.visit_classes)}, whenever it was filed."
        return (
            f"The guarantee holds for reports filed from round {self.holds_from} on, that is, from "
            f"{due_in_words(self.calendar, last.round).words} on. It does not cover reports filed in round "
            f"{last.round} or earlier, because in round {last.round} the office {last.because}.{also}{never}"
        )


def either_class(names: tuple[str, ...]) -> str:
    """A report of which the guarantee says nothing, to stand after "of".

    >>> either_class(("danger", "fire"))
    'class danger or fire'
    """
    return f"class {' or '.join(names)}"
