"""Frozen rounds in words: what each waits for, what it was drawn with, or why it is never drawn.

All of it follows from the rules and the transcript, and, as it is published, from nothing that a computer knows about
time zones: moments are in UTC unless the caller says them otherwise.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from deniable.languages.voice import Voice
from deniable.programme.calendar import Calendar, Day, day_in_words, moment_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.randomness.source import Dice, Drand, Source, value_in_words
from deniable.programme.transcript.entries import End
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.frozen import Freeze, FrozenDraw
from deniable.programme.transcript.recoveries import Recovery
from deniable.programme.transcript.waiting import read_instant

Moment = Callable[[datetime, Voice], Day]
"""How an instant is said."""


@dataclass(frozen=True)
class FrozenRound:
    """What there is to read of a frozen round, besides whom it selected."""

    round: int
    state: Literal["waits", "drawn", "without", "never"]
    """Drawn with its public value or without it; or it is never drawn."""
    since: Day
    beacon: int | None
    """Its number; None where people throw numbers in public."""
    awaited: str
    """The public value, in words."""
    expected: Day
    """When the beacon is out, or people throw the numbers."""
    place: str
    """Of the throw; empty with drand."""
    throws: str
    """What is thrown, in words; empty with drand."""
    without_from: Day
    """From when on the office may draw without the value."""
    now: str
    """What there is to say of it at the top of a page, while it waits."""
    sentence: str
    """What became of it."""
    heading: str = ""
    """What a reader must see at once; empty where everything is as usual."""
    value: str = ""
    """The beacon's signature, or the numbers; empty where there is none."""
    value_name: str = ""
    reason: str | None = None
    """The office's, where it was drawn without."""
    number: int | None = None
    """Of the entry that drew it."""

    @property
    def is_thrown(self) -> bool:
        return self.beacon is None

    @property
    def is_remarkable(self) -> bool:
        return self.state in ("without", "never")


def frozen_rounds(
    parameters: Parameters, entries: Iterable[Entry], say: Voice, moment: Moment = moment_in_words
) -> dict[int, FrozenRound]:
    """Every round that was frozen, by its number, as these entries leave it."""
    found: dict[int, FrozenRound] = {}
    source, waiting = parameters.randomness, None
    if source is None:
        return found
    for entry in entries:
        if isinstance(entry, Freeze):
            waiting = _waiting(parameters.calendar, source, entry, say, moment)
        elif waiting is None:
            continue
        elif isinstance(entry, FrozenDraw):
            waiting = _drawn(parameters, waiting, entry, say, moment)
        elif isinstance(entry, End) or (isinstance(entry, Recovery) and entry.inputs_lost):
            waiting = _never_drawn(waiting, entry, say)
        else:
            continue
        found[waiting.round] = waiting
        waiting = waiting if waiting.state == "waits" else None
    return found


def _waiting(calendar: Calendar, source: Source, freeze: Freeze, say: Voice, moment: Moment) -> FrozenRound:
    waiting = freeze.waiting
    since = day_in_words(calendar.day(freeze.round) + timedelta(days=freeze.late), say)
    expected = moment(waiting.expected, say)
    without_from = moment(waiting.without_from(source.days), say)
    drawn, sentence = _to_be_drawn(source, freeze.beacon, expected.words, say)
    fixed = say(
        "Round {round} was frozen on {since}. Nothing that the draw depends on can change any more.",
        round=freeze.round,
        since=since.words,
    )
    without = say(
        "If the value does not come, the office may draw without it from {moment} on.", moment=without_from.words
    )
    return FrozenRound(
        round=freeze.round,
        state="waits",
        since=since,
        beacon=freeze.beacon,
        awaited=awaited_in_words(source, freeze.beacon, say),
        expected=expected,
        place="" if isinstance(source, Drand) else source.place,
        throws="" if isinstance(source, Drand) else source.throws.in_words(say),
        without_from=without_from,
        now=f"{fixed} {drawn} {without}",
        sentence=sentence,
    )


def _to_be_drawn(source: Source, beacon: int | None, expected: str, say: Voice) -> tuple[str, str]:
    """With which public value, in a sentence after others, and in one that stands alone."""
    if isinstance(source, Dice):
        thrown = {"place": source.place, "throws": source.throws.in_words(say), "moment": expected}
        return (
            say(
                "The round is drawn with numbers that people throw in public on {moment} ({place}; {throws}).",
                **thrown,
            ),
            say(
                "Frozen; drawn with numbers that people throw in public ({place}; {throws}) at {moment}.",
                **thrown,
            ),
        )
    out = {"beacon": say.digits(str(beacon)), "moment": expected}
    if source.is_known:
        return (
            say(
                "The round is drawn with a random number of the public network drand, its beacon {beacon}, which is "
                "out on {moment}.",
                **out,
            ),
            say("Frozen; drawn with drand’s beacon {beacon} at {moment}.", **out),
        )
    return (
        say("The round is drawn with beacon {beacon} of a chain that is not drand’s, which is out on {moment}.", **out),
        say("Frozen; drawn with beacon {beacon} of a chain that is not drand’s, at {moment}.", **out),
    )


def _drawn(parameters: Parameters, waiting: FrozenRound, draw: FrozenDraw, say: Voice, moment: Moment) -> FrozenRound:
    drawn = replace(waiting, number=draw.number, reason=draw.reason)
    if draw.value is None:
        heading, sentence = say("Drawn without its public value"), draw.effect(parameters.calendar, say)
        return replace(drawn, state="without", heading=heading, sentence=sentence)
    if waiting.beacon is None:
        thrown = moment(read_instant(draw.time or ""), say).words
        sentence = say(
            "Drawn with numbers thrown in public on {moment}: {place}.", moment=thrown, place=say.apart(waiting.place)
        )
        return replace(drawn, state="drawn", sentence=sentence, value=draw.value, value_name=say("The numbers"))
    out = {"beacon": say.digits(str(waiting.beacon)), "moment": waiting.expected.words}
    if isinstance(parameters.randomness, Drand) and parameters.randomness.is_known:
        sentence = say("Drawn with drand’s beacon {beacon} of {moment}.", **out)
    else:
        sentence = say("Drawn with beacon {beacon} of a chain that is not drand’s, of {moment}.", **out)
    return replace(drawn, state="drawn", sentence=sentence, value=draw.value, value_name=say("The beacon’s signature"))


def _never_drawn(waiting: FrozenRound, entry: End | Recovery, say: Voice) -> FrozenRound:
    if isinstance(entry, End):
        sentence = say("The programme ended before it was drawn (entry {entry}).", entry=entry.number)
    else:
        sentence = say(
            "What it was to be drawn from is lost, or the office says so (entry {entry}).", entry=entry.number
        )
    return replace(waiting, state="never", heading=say("Frozen, and never drawn"), sentence=sentence)


def awaited_in_words(source: Source, beacon: int | None, say: Voice) -> str:
    """The public value of one round, as a phrase of its own."""
    if isinstance(source, Dice):
        return say(
            "numbers that people throw in public ({place}; {throws})",
            place=say.apart(source.place),
            throws=source.throws.in_words(say),
        )
    number = say.digits(str(beacon))
    if source.is_known:
        return say("drand’s beacon {beacon}", beacon=number)
    return say("beacon {beacon} of a chain that is not drand’s", beacon=number)


def randomness_rule(parameters: Parameters, say: Voice) -> str:
    """Where the random numbers of the draws come from, and what that leaves open."""
    source = parameters.randomness
    if source is None:
        return say("The office fixes the random numbers itself. A reader must trust that it draws them fairly.")
    return " ".join(_rules(source, say))


def _rules(source: Source, say: Voice) -> Iterator[str]:
    yield say(
        "They come from a number that the office fixed in advance and keeps secret, together with a public value that "
        "is not out yet when the round is frozen."
    )
    yield say("The public value: {value}.", value=value_in_words(source, say))
    if isinstance(source, Drand) and source.is_known:
        yield say(
            "drand is a public network, and no single member of it can choose or foresee a beacon; the chain is "
            "{chain}.",
            chain=source.chain.hash,
        )
    elif isinstance(source, Drand):
        yield say(
            "This is not drand’s own chain, and the holder of its key, perhaps the office, knows all its beacons; the "
            "chain is {chain}.",
            chain=source.chain.hash,
        )
    yield say.counted(
        "If the value does not come within {number} day, the office may draw without it, and the record shows that.",
        "If the value does not come within {number} days, the office may draw without it, and the record shows that.",
        source.days,
    )
