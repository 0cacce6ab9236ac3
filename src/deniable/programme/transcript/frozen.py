"""Entries of a programme that draws with a public value: a round is frozen, and drawn when the value is out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from deniable.arrays import IntArray
from deniable.errors import DeniableError
from deniable.programme.calendar import Calendar, due_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.randomness.drand import Beacon, check_beacons
from deniable.programme.randomness.source import WITHOUT, Drand, Source
from deniable.programme.transcript.draws import Draw, check_hidden_names, without_reports
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
from deniable.programme.transcript.waiting import ONE_DAY, Waiting, awaited, read_instant
from deniable.run import AuditRun


@dataclass(frozen=True, kw_only=True)
class Freeze(Draw):
    """Closes the open round: what it is drawn from is fixed, and it waits for a public value that is not out yet."""

    kind = "freeze"

    inputs: Hash
    """Of the reports, the state, the seed and a salt."""
    value_at: Instant
    """When the public value is out, or thrown; not before the round was frozen, as the office says."""
    beacon: MaybeBeacon
    """Of drand; None where people throw numbers in public."""

    def _change(self, state: PublicState) -> PublicState:
        state.check_nothing_waits("another round is frozen")
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

    @property
    def deed(self) -> str:
        return f"the round was frozen, and is drawn with {self.awaited}"

    @property
    def awaited(self) -> str:
        """The public value, in words."""
        return awaited(self.beacon)

    @property
    def heading(self) -> str:
        return ""

    def follow(self, calendar: Calendar) -> str:
        """What there is to say until it is drawn."""
        return f"Frozen. The targets are drawn with {self.awaited}, which is not in this record yet."


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
            raise DeniableError(f"round {self.of} does not wait for a public value")
        if self.value is not None:
            _source(state.parameters).check(self.value, self.time)
            check_announced(state.waiting, self.time)
        elif self.reason is None:
            raise DeniableError("a round that is drawn without its public value needs a reason")
        return state

    def adopt(self, run: AuditRun, tally: IntArray, state: PublicState, drawn: Sequence[int]) -> IntArray:
        """Apply a draw of these targets whose inputs are lost to the run as it was when the round was frozen, with what
        was ordered since; returns the open round's reports after it. `state` is that before the draw.
        """
        ended = run.adopt(drawn)
        if ordered := state.hidden.ordered_since_freeze:
            run.order(ordered)
        return without_reports(tally, ended, state.parameters.in_draw)

    def mixed_in(self, parameters: Parameters) -> str:
        """What went into the draw beside the secret inputs."""
        return mixed_in(parameters, self.value)

    @property
    def with_value(self) -> str:
        """With what it was drawn, in words."""
        if self.value is None:
            return "without its public value"
        if self.time is None:
            return "with drand's beacon"
        return f"with numbers thrown in public at {read_instant(self.time):%Y-%m-%d %H:%M} UTC"

    def effect(self, calendar: Calendar) -> str:
        if self.value is None:
            return (
                "The public value did not come, or the office says so, and the round was drawn without it: the office "
                "could know the result before it froze the round. The guarantee for reports covers it all the same."
            )
        return f"Drawn {self.with_value}. The guarantee covers it."


@dataclass(frozen=True, kw_only=True)
class Drawn(FrozenDraw):
    """The audits of the frozen round, in the order drawn."""

    kind = "drawn"

    audits: SomeNames

    @property
    def audited(self) -> tuple[str, ...]:
        return self.audits

    def _change(self, state: PublicState) -> PublicState:
        if state.parameters.reveal_after:
            raise DeniableError("the programme does not publish at once whom it draws, and this draw does")
        if len(self.audits) != state.parameters.audits:
            raise DeniableError(f"a round has {state.parameters.audits} audits, got {len(self.audits)}")
        return super()._change(state).after_frozen_draw(self.audits)

    @property
    def deed(self) -> str:
        return f"{', '.join(self.audits)} selected for an audit in round {self.of}, {self.with_value}"

    @property
    def heading(self) -> str:
        return f"Round {self.of} was drawn {self.with_value}"


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

    @property
    def deed(self) -> str:
        return (
            f"targets were selected for round {self.of}, {self.with_value}; the names follow when round "
            f"{self.public_after} is closed"
        )

    @property
    def heading(self) -> str:
        return f"Round {self.of} was drawn {self.with_value}"

    def follow(self, calendar: Calendar) -> str:
        """When the names follow."""
        due = due_in_words(calendar, self.public_after).words
        return f"Selected. The names follow when round {self.public_after} is closed, due {due}."


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
        check_announced(waiting, value.time)
        if value.time is not None and read_instant(value.time) > now:
            raise DeniableError(f"the numbers cannot have been thrown in the future, at {value.time}")
        if isinstance(source, Drand) and waiting.beacon is not None:
            check_beacons(source.chain, [Beacon(waiting.beacon, value.text)])
    elif now < (first := waiting.without_from(source.days)):
        raise DeniableError(
            f"round {waiting.round} must wait for its public value until {first:%Y-%m-%d %H:%M} UTC; from then on it "
            "may be drawn without"
        )


def check_announced(waiting: Waiting, time: str | None) -> None:
    """Refuse numbers that were not thrown at the announced time or within a day after it: an office that could throw on
    several days would publish the throw that it likes.
    """
    if time is not None and not waiting.expected <= read_instant(time) <= waiting.expected + ONE_DAY:
        raise DeniableError(
            f"the numbers of round {waiting.round} are thrown at {waiting.expected:%Y-%m-%d %H:%M} UTC, as announced, "
            "or within a day after it; those of another time do not count"
        )


def _source(parameters: Parameters) -> Source:
    if parameters.randomness is None:
        raise DeniableError("the programme draws without public values, and freezes no round")
    return parameters.randomness
