"""Which reports the promise covers, after what happened."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, Self

from deniable.languages.voice import Voice
from deniable.message import Message
from deniable.programme.calendar import Calendar, Day, due_in_words


class Lapse(NamedTuple):
    """What the promise loses by an entry: reports filed before it may be revealed."""

    entry: int
    round: int
    """The calendar's at that time, by which reporters count; the open round may be an earlier one."""
    because: Message
    """A whole sentence: what the office did, in which entry."""

    @classmethod
    def from_list(cls, stored: list[Any]) -> Self:
        """As JSON has it."""
        entry, round_, (text, values, many) = stored
        return cls(entry, round_, Message(text, tuple((name, value) for name, value in values), many))


@dataclass(frozen=True)
class Coverage:
    """The promise and what it lost: a decision that may have looked at reports may reveal those filed so far.

    Both worlds, with a report and without it, take the same decision if the report is filed only later, so the
    promise holds for reports filed from the next round on.

    >>> from datetime import date
    >>> from deniable.message import noted
    >>> lapse = Lapse(9, round=7, because=noted("The office ordered {an_audit} by hand."))
    >>> Coverage(Calendar(date(2026, 1, 5), "1W", "UTC"), (lapse,)).holds_from
    8
    """

    calendar: Calendar
    lapses: tuple[Lapse, ...] = ()
    visit_classes: tuple[str, ...] = ()
    """The names of the classes whose reports lead to a visit at once: the promise covers none of them."""
    ended_in: int | None = None
    """The round that was open when the programme ended; None where it goes on."""
    last_round: int | None = None
    """The last one that the rules of the programme have; None where it has no end."""

    @property
    def holds_from(self) -> int:
        """The first round whose reports the promise covers."""
        return max((lapse.round for lapse in self.lapses), default=0) + 1

    @property
    def is_lost(self) -> bool:
        """Whether the programme has no round whose reports the promise covers."""
        return self._final is not None and self.holds_from > self._final

    @property
    def _final(self) -> int | None:
        """The last round in which anything can be reported; None where the programme goes on without end."""
        return min((round_ for round_ in (self.ended_in, self.last_round) if round_ is not None), default=None)

    @property
    def last(self) -> Lapse | None:
        """The lapse from which it takes longest to recover."""
        return max(self.lapses, key=lambda lapse: (lapse.round, lapse.entry), default=None)

    def lost_until(self, now: datetime, say: Voice) -> Day | None:
        """The end of the time in which reports are filed that the promise does not cover; None where it covers those
        filed now.
        """
        last = self.holds_from - 1
        return due_in_words(self.calendar, last, say) if last and now < self.calendar.due(last) else None

    def after(self, lapse: Lapse | None) -> "Coverage":
        return self if lapse is None else replace(self, lapses=(*self.lapses, lapse))

    def in_words(self, say: Voice) -> str:
        """Since when the promise holds, what it does not cover, and why."""
        names, last = self.visit_classes, self.last
        if last is None and not names:
            return say("The promise holds for every report filed since the programme began.")
        if last is None:
            covered = say(
                "The promise covers every ordinary report filed since the programme began, whatever emergencies there "
                "were."
            )
            others = say.counted(
                "Only reports of class {classes} are not ordinary: they lead to a visit at once.",
                "Only reports of class {classes} are not ordinary: they lead to a visit at once.",
                len(names),
                classes=say.one_of(names),
            )
            return f"{covered} {others}"
        return " ".join([self._since(last, say), say(last.because), *self._besides(last, say)])

    def _since(self, last: Lapse, say: Voice) -> str:
        since = due_in_words(self.calendar, last.round, say).words
        lost = last.round if self._final is None else min(last.round, self._final)
        if self.ended_in is None and self.is_lost:
            return say(
                "The promise holds for no report: it does not cover reports filed in round {last} or earlier, and the "
                "programme has no round after that.",
                last=lost,
            )
        if self.ended_in is None:
            return say(
                "The promise holds for reports filed from round {first} on, that is, from {since} on. It does not "
                "cover reports filed in round {last} or earlier.",
                first=self.holds_from,
                since=since,
                last=lost,
            )
        if self.is_lost:
            return say(
                "The promise holds for no report: it does not cover reports filed in round {last} or earlier, and the "
                "programme ended in round {ended}.",
                last=lost,
                ended=self._final,
            )
        return say(
            "The promise holds for reports filed from round {first} on, that is, from {since} on, until the programme "
            "ended in round {ended}. It does not cover reports filed in round {last} or earlier.",
            first=self.holds_from,
            since=since,
            ended=self._final,
            last=lost,
        )

    def _besides(self, last: Lapse, say: Voice) -> Iterator[str]:
        others = [say.number(lapse.entry) for lapse in self.lapses if lapse != last]
        if others:
            yield say.counted(
                "It lapsed also through entry {entries}.",
                "It lapsed also through entries {entries}.",
                len(others),
                entries=say.all_of(others),
            )
        if self.visit_classes:
            yield say.counted(
                "It covers no report of class {classes}, whenever it was filed.",
                "It covers no report of class {classes}, whenever it was filed.",
                len(self.visit_classes),
                classes=say.one_of(self.visit_classes),
            )
