"""Offices that draw with public values: a drand chain of our own key, and dice."""

import random
from pathlib import Path
from typing import Any

from tests.programme.offices import Office, new_office
from tests.programme.randomness.own_chain import OwnChain

from deniable.programme.randomness.source import Dice, Drand
from deniable.programme.transcript.frozen import PublicValue
from deniable.programme.transcript.waiting import Waiting

OWN = OwnChain()
DRAND = Drand(OWN.chain)
DICE = Dice("the town hall")


def made(folder: Path, **settings: Any) -> Office:
    """With dice, unless the settings say otherwise."""
    return new_office(str(folder / "programme.db"), folder, **({"randomness": DICE} | settings))


def freeze(office: Office) -> Waiting:
    """Close the open round at its due time; then it is the time of the value."""
    office.clock.now = office.programme.parameters.calendar.due(office.programme.status().open_round)
    waiting = office.programme.close_round().waiting
    assert waiting is not None
    office.clock.now = waiting.expected
    return waiting


def value_of(waiting: Waiting) -> PublicValue:
    """The beacon, or what people threw at the announced time."""
    if waiting.beacon is not None:
        return PublicValue(OWN.sign(waiting.beacon).signature)
    throws = random.Random(waiting.round).choices(range(1, 7), k=DICE.throws.times)
    return PublicValue(DICE.throws.read(" ".join(map(str, throws))), waiting.value_at)


def draw(office: Office) -> tuple[str, ...]:
    """Freeze the open round, and draw it with its value."""
    return office.programme.draw_round(value_of(freeze(office))).audits
