"""Frozen rounds in words: what each waits for, what it was drawn with, or why it is never drawn.

All of it follows from the rules and the transcript, and from nothing that a computer knows about time zones.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from deniable.programme.calendar import Calendar, Day, day_in_words, moment_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.randomness.source import Dice, Drand, Source
from deniable.programme.transcript.entries import End, Recovery
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.frozen import Freeze, FrozenDraw
from deniable.programme.transcript.waiting import read_instant
from deniable.wording import count


@dataclass(frozen=True)
class FrozenRound:
    """What there is to read of a frozen round, besides whom it selected."""

    round: int
    state: Literal["waits", "drawn", "without", "never"]
    """Drawn with its public value or without it; or it is never drawn."""
    since: Day
    awaited: str
    """The public value, in words."""
    expected: Day
    """When drand's beacon is out, or people throw the numbers."""
    is_thrown: bool
    place: str
    """Of the throw; empty with drand."""
    without_from: Day
    """From when on the office may draw without the value."""
    sentence: str
    """What became of it."""
    value: str = ""
    """The beacon's signature, or the numbers; empty where there is none."""
    value_name: str = ""
    reason: str | None = None
    """The office's, where it was drawn without."""
    number: int | None = None
    """Of the entry that drew it."""

    @property
    def is_remarkable(self) -> bool:
        return self.state in ("without", "never")

    @property
    def heading(self) -> str:
        """What a reader must see at once; empty where everything is as usual."""
        return {"without": "Drawn without its public value", "never": "Frozen, and never drawn"}.get(self.state, "")

    @property
    def now(self) -> str:
        """What there is to say of it at the top of a page, while it waits."""
        when = f"thrown on {self.expected.words}" if self.is_thrown else f"which is out on {self.expected.words}"
        return (
            f"Round {self.round} is frozen since {self.since.words}: what it is drawn from is fixed. It is drawn with "
            f"{self.awaited}, {when}. If the value does not come, the office may draw without it from "
            f"{self.without_from.words} on."
        )


def frozen_rounds(parameters: Parameters, entries: Iterable[Entry]) -> dict[int, FrozenRound]:
    """Every round that was frozen, by its number, as these entries leave it."""
    found: dict[int, FrozenRound] = {}
    source, waiting = parameters.randomness, None
    if source is None:
        return found
    for entry in entries:
        if isinstance(entry, Freeze):
            waiting = _waiting(parameters.calendar, source, entry)
        elif waiting is None:
            continue
        elif isinstance(entry, FrozenDraw):
            waiting = _drawn(parameters.calendar, waiting, entry)
        elif isinstance(entry, End) or (isinstance(entry, Recovery) and entry.inputs_lost):
            waiting = _never_drawn(waiting, entry)
        else:
            continue
        found[waiting.round] = waiting
        waiting = waiting if waiting.state == "waits" else None
    return found


def _waiting(calendar: Calendar, source: Source, freeze: Freeze) -> FrozenRound:
    frozen_on = calendar.day(freeze.round) + timedelta(days=freeze.late)
    waiting = freeze.waiting
    expected = moment_in_words(waiting.expected)
    awaited = _awaited(source, freeze.beacon)
    return FrozenRound(
        round=freeze.round,
        state="waits",
        since=day_in_words(frozen_on),
        awaited=awaited,
        expected=expected,
        is_thrown=freeze.beacon is None,
        place="" if isinstance(source, Drand) else source.place,
        without_from=moment_in_words(waiting.without_from(source.days)),
        sentence=f"Frozen; drawn with {awaited} at {expected.words}.",
    )


def _drawn(calendar: Calendar, waiting: FrozenRound, draw: FrozenDraw) -> FrozenRound:
    drawn = replace(waiting, number=draw.number, reason=draw.reason)
    if draw.value is None:
        return replace(drawn, state="without", sentence=draw.effect(calendar))
    if not waiting.is_thrown:
        sentence = f"Drawn with {waiting.awaited} of {waiting.expected.words}."
        return replace(drawn, state="drawn", sentence=sentence, value=draw.value, value_name="The beacon’s signature")
    thrown = moment_in_words(read_instant(draw.time or "")).words
    sentence = f"Drawn with numbers thrown in public on {thrown}: {waiting.place}."
    return replace(drawn, state="drawn", sentence=sentence, value=draw.value, value_name="The numbers")


def _never_drawn(waiting: FrozenRound, entry: End | Recovery) -> FrozenRound:
    sentence = (
        f"The programme ended before it was drawn (entry {entry.number})."
        if isinstance(entry, End)
        else f"What it was to be drawn from is lost, or the office says so (entry {entry.number})."
    )
    return replace(waiting, state="never", sentence=sentence)


def value_in_words(source: Source) -> str:
    """Which public value goes into a draw, whatever the round."""
    after = f"{count(source.minutes, 'minute')} after the due time"
    if isinstance(source, Drand):
        return f"the beacon that {'drand' if source.is_known else 'another chain than drand’s'} publishes {after}"
    return f"{_thrown(source)}, {after}"


def _awaited(source: Source, beacon: int | None) -> str:
    """The public value of one round."""
    if not isinstance(source, Drand):
        return _thrown(source)
    return f"drand’s beacon {beacon}" if source.is_known else f"beacon {beacon} of a chain that is not drand’s"


def _thrown(source: Dice) -> str:
    return f"numbers that people throw in public ({source.place}; {source.throws.in_words})"


def randomness_rule(parameters: Parameters) -> str:
    """Where the random numbers of the draws come from, and what that leaves open: the end of a sentence."""
    source = parameters.randomness
    if source is None:
        return "the office fixed the random numbers itself; a reader must trust that it drew them fairly"
    about = ""
    if isinstance(source, Drand):
        known = "drand is a public network, and no single member of it can choose or foresee a beacon"
        unknown = "this is not drand’s own chain, and the holder of its key, perhaps the office, knows all its beacons"
        about = f"{known if source.is_known else unknown}; the chain is {source.chain.hash}; "
    return (
        "a number that the office fixed in advance and keeps secret, together with a public value that is not out yet "
        f"when the round is frozen: {value_in_words(source)}; {about}where the value does not come within "
        f"{count(source.days, 'day')}, the office may draw without it, and the record shows that"
    )
