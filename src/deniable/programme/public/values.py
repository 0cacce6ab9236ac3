"""With which public values the rounds of a transcript were drawn, for all who check it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Self

from deniable.message import Message, why_not
from deniable.programme.parameters import Parameters
from deniable.programme.public.frozen_rounds import frozen_rounds
from deniable.programme.randomness.drand import Beacon, check_beacons
from deniable.programme.randomness.source import Drand, Source
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.frozen import Freeze, FrozenDraw
from deniable.programme.transcript.waiting import Waiting
from deniable.wording import count, plural

STATES = ("waits", "drawn", "without", "never")
SOON = timedelta(days=1)
"""Within which a round can be drawn once drand's beacon is out."""
_OTHER_CHAIN = why_not(
    "the chain {chain} is not drand's own: the rules name another sender of beacons, and this cannot be changed any "
    "more; if the office has the sender's key, it knew all beacons in advance"
)


class Fixed(NamedTuple):
    """When a round must have been frozen: before its value was out."""

    round: int
    entry: int
    """That froze it."""
    value_out: datetime


@dataclass(frozen=True)
class Values:
    """What the entries say of them; all beacons are genuine (`check_values`)."""

    source: Source | None
    """None where the programme draws without public values."""
    drawn: tuple[int, ...]
    """Rounds drawn with their values."""
    without: tuple[int, ...]
    """Rounds that were frozen and drawn without."""
    never: tuple[int, ...]
    """Rounds that were frozen and are never drawn: the office lost what they were to be drawn from, or ended the
    programme.
    """
    waiting: Waiting | None
    """The round that is frozen and not drawn yet."""
    fixed: tuple[Fixed, ...]
    """Of each round in `drawn`."""

    @classmethod
    def of(cls, parameters: Parameters, entries: Sequence[Entry], waiting: Waiting | None) -> Self:
        """`waiting` is the round that waits after these entries, or waited when the programme ended."""
        frozen = frozen_rounds(parameters, entries, parameters.voice()).values()
        by_state = {state: tuple(one.round for one in frozen if one.state == state) for state in STATES}
        return cls(
            source=parameters.randomness,
            drawn=by_state["drawn"],
            without=by_state["without"],
            never=by_state["never"],
            waiting=waiting if by_state["waits"] else None,
            fixed=_fixed(entries),
        )

    @property
    def in_words(self) -> str:
        """'Draws: 12 with drand's beacons, all checked; 1 without its public value (round 5).'"""
        if self.source is None:
            return "Draws: without public values. How the office chose its random numbers, it alone knows."
        what = "numbers thrown in public"
        if isinstance(self.source, Drand):
            what = (
                "drand's beacons, all checked" if self.source.is_known else "beacons of a chain that is not drand's own"
            )
        said = [f"{len(self.drawn):,} with {what}"]
        if self.without:
            its = plural(len(self.without), "its public value", "their public values")
            said.append(f"{len(self.without):,} without {its} ({_rounds(self.without)})")
        if self.never:
            said.append(f"{count(len(self.never), 'frozen round')} never drawn ({_rounds(self.never)})")
        if self.waiting is not None:
            said.append(f"round {self.waiting.round} is frozen and waits for {self.waiting.awaited}")
        return f"Draws: {'; '.join(said)}."

    def warnings(self, now: datetime) -> list[Message]:
        """A chain that may be the office's, a round drawn without drand's beacon, and one that waits for longer than it
        takes to bring its value, or to throw the numbers.
        """
        waiting, source, found = self.waiting, self.source, list[Message]()
        if isinstance(source, Drand) and not source.is_known:
            found.append(_OTHER_CHAIN.filled(chain=source.chain.hash))
        if isinstance(source, Drand) and self.without:
            found.append(_without_beacon(self.without))
        if waiting is None or source is None:
            return found
        until = waiting.expected + (SOON if isinstance(source, Drand) else timedelta(days=source.days))
        if now <= until:
            return found
        since = waiting.expected
        if isinstance(source, Drand):
            slow = why_not(
                "round {round} is frozen and not drawn, though drand's beacon {beacon} is out since {since} UTC",
                round=waiting.round,
                beacon=str(waiting.beacon),
                since=since,
            )
        else:
            slow = why_not(
                "round {round} is frozen and not drawn, though the numbers could be thrown since {since} UTC",
                round=waiting.round,
                since=since,
            )
        return [*found, slow]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "source": None if self.source is None else self.source.name,
            "with_value": list(self.drawn),
            "without_value": list(self.without),
            "never_drawn": list(self.never),
            "waiting": None if self.waiting is None or self.source is None else waiting_dict(self.waiting, self.source),
        }


def waiting_dict(waiting: Waiting, source: Source) -> dict[str, Any]:
    """A round that waits, ready for JSON."""
    return {**waiting._asdict(), "without_from": waiting.without_from(source.days).isoformat()}


def check_values(parameters: Parameters, entries: Sequence[Entry]) -> None:
    """Refuse a beacon that drand did not sign; all are checked in one batch."""
    source = parameters.randomness
    if not isinstance(source, Drand):
        return
    awaited = {entry.round: entry.beacon for entry in entries if isinstance(entry, Freeze)}
    drawn = [(awaited[entry.of], entry.value) for entry in entries if isinstance(entry, FrozenDraw)]
    check_beacons(source.chain, [Beacon(number, value) for number, value in drawn if number and value])


def _fixed(entries: Sequence[Entry]) -> tuple[Fixed, ...]:
    frozen, found = dict[int, Freeze](), list[Fixed]()
    for entry in entries:
        if isinstance(entry, Freeze):
            frozen[entry.round] = entry
        elif isinstance(entry, FrozenDraw) and entry.value is not None:
            waiting = frozen[entry.of].waiting
            found.append(Fixed(entry.of, waiting.entry, waiting.expected))
    return tuple(found)


def _without_beacon(rounds: Sequence[int]) -> Message:
    if len(rounds) == 1:
        return why_not(
            "round {round} drawn without its beacon, though beacons stay available: ask why", round=rounds[0]
        )
    return why_not(
        "rounds {rounds} drawn without their beacons, though beacons stay available: ask why",
        rounds=", ".join(map(str, rounds)),
    )


def _rounds(numbers: Sequence[int]) -> str:
    return f"{plural(len(numbers), 'round')} {', '.join(map(str, numbers))}"
