"""Entries of a programme that draws with a public value: a round is frozen, and drawn when the value is out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from deniable.arrays import IntArray
from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.message import why_not
from deniable.programme.calendar import Calendar, moment_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.randomness.drand import Beacon, check_beacons
from deniable.programme.randomness.source import WITHOUT, Drand, Source
from deniable.programme.transcript.closings import (
    Closing,
    check_hidden_names,
    check_shown_names,
    names_follow,
    without_reports,
)
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import (
    Hash,
    Hexadecimal,
    Instant,
    MaybeBeacon,
    MaybeInstant,
    MaybeValue,
    Number,
    SomeNames,
)
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript.waiting import ONE_DAY, Waiting, read_instant
from deniable.run import AuditRun


@dataclass(frozen=True, kw_only=True)
class Freeze(Closing):
    """Closes the open round: what it is drawn from is fixed, and it waits for a public value that is not out yet."""

    kind = "freeze"

    inputs: Hash
    """Of the reports, the state, the seed and a salt."""
    value_at: Instant
    """When the public value is out, or thrown; not before the round was frozen, as the office says."""
    beacon: MaybeBeacon
    """Of drand; None where people throw numbers in public."""

    def _change(self, state: PublicState) -> PublicState:
        state.check_nothing_waits(why_not("another round is frozen"))
        source, waiting = _source(state.parameters), self.waiting
        # By days: the calendar's instants depend on what a computer knows of time zones.
        after = (waiting.expected.date() - state.parameters.calendar.day(self.round)).days
        if not self.late - 2 <= after <= self.late + 3 or self.beacon != source.beacon(waiting.expected):
            raise DeniableError("it waits for another public value than the programme's calendar says")
        if isinstance(source, Drand) and self.beacon and source.chain.time_of(self.beacon) != waiting.expected:
            raise DeniableError("the beacon was not out yet at the time that the entry states")
        return super()._change(state).after_freeze(waiting)

    @property
    def waiting(self) -> Waiting:
        """What the public knows of the round until it is drawn."""
        return Waiting(self.round, self.number, self.inputs, self.beacon, self.value_at)

    def deed(self, say: Voice) -> str:
        if self.beacon is None:
            return say("the round was frozen, and is drawn with numbers thrown in public")
        return say(
            "the round was frozen, and is drawn with drand's beacon {beacon}", beacon=say.digits(str(self.beacon))
        )

    def heading(self, say: Voice) -> str:
        return ""


@dataclass(frozen=True, kw_only=True)
class FrozenDraw(Entry):
    """What both kinds share that draw a frozen round."""

    is_drawn = True
    keeps_entered = True

    of: Number
    """The round."""
    value: MaybeValue
    """The beacon's signature, or the numbers thrown; None where the round was drawn without."""
    time: MaybeInstant
    """When the numbers were thrown."""

    @property
    def audited_in(self) -> int:
        return self.of

    @property
    def is_usual(self) -> bool:
        return self.value is not None

    def _change(self, state: PublicState) -> PublicState:
        if state.waiting is None or state.waiting.round != self.of:
            raise DeniableError("round {of} does not wait for a public value", of=self.of)
        if self.value is not None:
            _source(state.parameters).check(self.value, self.time)
            check_announced(state.parameters.calendar, state.waiting, self.time)
        elif self.reason is None:
            raise DeniableError("a round that is drawn without its public value needs a reason")
        return state

    def adopt(self, run: AuditRun, tally: IntArray, state: PublicState, drawn: Sequence[int]) -> IntArray:
        """Apply a draw of these targets whose inputs are lost to the run as it was when the round was frozen, with what
        was ordered since; returns the open round's reports after it. `state` is that before the draw.
        """
        ended = run.adopt(drawn)
        for ordered in state.hidden.orders_since_freeze:
            run.order(ordered)
        return without_reports(tally, ended, state.parameters.in_draw)

    def mixed_in(self, parameters: Parameters) -> str:
        """What went into the draw beside the secret inputs."""
        return mixed_in(parameters, self.value)

    def _thrown(self, say: Voice) -> str:
        """When the numbers were thrown; empty where none were."""
        return "" if self.time is None else moment_in_words(read_instant(self.time), say).words

    def heading(self, say: Voice) -> str:
        if self.value is None:
            return say("Round {round} was drawn without its public value", round=self.of)
        if self.time is None:
            return say("Round {round} was drawn with drand's beacon", round=self.of)
        thrown = self._thrown(say)
        return say("Round {round} was drawn with numbers thrown in public on {thrown}", round=self.of, thrown=thrown)

    def effect(self, calendar: Calendar, say: Voice) -> str:
        if self.value is None:
            return say(
                "The public value did not come, or the office says so, and the round was drawn without it: the office "
                "could know the result before it froze the round. The promise covers it, if no report was the reason "
                "for this."
            )
        if self.time is None:
            return say("Drawn with drand's beacon. The promise covers it.")
        return say("Drawn with numbers thrown in public on {thrown}. The promise covers it.", thrown=self._thrown(say))


@dataclass(frozen=True, kw_only=True)
class Drawn(FrozenDraw):
    """The audits of the frozen round, in the order drawn."""

    kind = "drawn"

    audits: SomeNames

    @property
    def audited(self) -> tuple[str, ...]:
        return self.audits

    def _change(self, state: PublicState) -> PublicState:
        check_shown_names(state.parameters, self.audits)
        return super()._change(state).after_frozen_draw(self.audits)

    def deed(self, say: Voice) -> str:
        facts: dict[str, Any] = {"names": say.all_of(self.audits), "round": self.of}
        if self.value is None:
            return say("{names} selected for {an_audit} in round {round}, without its public value", **facts)
        if self.time is None:
            return say("{names} selected for {an_audit} in round {round}, with drand's beacon", **facts)
        return say(
            "{names} selected for {an_audit} in round {round}, with numbers thrown in public on {thrown}",
            thrown=self._thrown(say),
            **facts,
        )


@dataclass(frozen=True, kw_only=True)
class DrawnHidden(FrozenDraw):
    """The frozen round is drawn, and the names follow when round `public_after` is closed."""

    kind = "drawn hidden"

    names: Hash
    capsule: Hexadecimal
    public_after: Number

    def _change(self, state: PublicState) -> PublicState:
        check_hidden_names(state.parameters, self.of, self.public_after, self.capsule)
        return super()._change(state).after_frozen_selection(self.names, self.capsule)

    def deed(self, say: Voice) -> str:
        facts: dict[str, Any] = {"round": self.of, "later": self.public_after}
        if self.value is None:
            return say(
                "{targets} were selected for round {round}, without its public value; the names follow when round "
                "{later} is closed",
                **facts,
            )
        if self.time is None:
            return say(
                "{targets} were selected for round {round}, with drand's beacon; the names follow when round {later} "
                "is closed",
                **facts,
            )
        return say(
            "{targets} were selected for round {round}, with numbers thrown in public on {thrown}; the names follow "
            "when round {later} is closed",
            thrown=self._thrown(say),
            **facts,
        )

    def follow(self, calendar: Calendar, say: Voice) -> str:
        """When the names follow."""
        return names_follow(calendar, self.public_after, say)


class PublicValue(NamedTuple):
    """As it is brought; where there is none, the round is drawn without."""

    text: str | None = None
    """The beacon's signature, or the numbers thrown."""
    time: str | None = None
    """When they were thrown, YYYY-MM-DDTHH:MM:SSZ."""


WITHOUT_VALUE = PublicValue()


def mixed_in(parameters: Parameters, value: str | None) -> str:
    """What a public value adds to the draw."""
    return WITHOUT if value is None else _source(parameters).mixed_in(value)


def check_may_draw(parameters: Parameters, waiting: Waiting, value: PublicValue, now: datetime) -> None:
    """Refuse a draw without the public value before the days are over, and one with what is no value of its source."""
    source = _source(parameters)
    if value.text is not None:
        source.check(value.text, value.time)
        check_announced(parameters.calendar, waiting, value.time)
        if value.time is not None and read_instant(value.time) > now:
            raise DeniableError("the numbers cannot have been thrown in the future: check the day and the time")
        if isinstance(source, Drand) and waiting.beacon is not None:
            check_beacons(source.chain, [Beacon(waiting.beacon, value.text)])
    elif now < (first := waiting.without_from(source.days)):
        raise DeniableError(
            "round {round} must wait for its public value until {first} ({zone} time); from then on it may be drawn "
            "without",
            round=waiting.round,
            first=_office_time(parameters.calendar, first),
            zone=parameters.calendar.zone,
        )


def check_announced(calendar: Calendar, waiting: Waiting, time: str | None) -> None:
    """Refuse numbers that were not thrown at the announced time or within a day after it: an office that could throw on
    several days would publish the throw that it likes.
    """
    if time is not None and not waiting.expected <= read_instant(time) <= waiting.expected + ONE_DAY:
        raise DeniableError(
            "the numbers of round {round} are thrown at {expected} ({zone} time), as announced, or within a day after "
            "it; those of another time do not count",
            round=waiting.round,
            expected=_office_time(calendar, waiting.expected),
            zone=calendar.zone,
        )


def _office_time(calendar: Calendar, instant: datetime) -> datetime:
    return instant.astimezone(ZoneInfo(calendar.zone))


def _source(parameters: Parameters) -> Source:
    if parameters.randomness is None:
        raise DeniableError("the programme draws without public values, and freezes no round")
    return parameters.randomness
