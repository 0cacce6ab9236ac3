"""An office that tries salts, which it may choose when it knows reports, state and seed: no salt is another draw."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyrage
import pytest
from tests.programme import planted_bugs
from tests.programme.frozen_offices import DICE, DRAND, made, value_of
from tests.programme.offices import TARGETS, Office, make_tables_at_once
from tests.programme.public.published import lines_in

from deniable.programme import rounds
from deniable.programme.randomness.source import Dice, Drand
from deniable.programme.secrets.frozen import Frozen
from deniable.programme.secrets.oversight import Replayed, replay
from deniable.programme.transaction import Transaction
from deniable.programme.transcript.frozen import WITHOUT_VALUE, mixed_in
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript.waiting import Waiting, written_instant

IDENTITY = pyrage.x25519.Identity.generate()
SALTS = 200
COUNTED = Frozen._counted


@dataclass(frozen=True)
class Way:
    """In which an office may know a draw when it chooses the salt."""

    source: Drand | Dice | None
    waits: bool = False
    """For the value: it freezes when that is out already. Otherwise it draws without one."""


WAYS = {
    "there are no public values": Way(None),
    "dice, and it draws without them": Way(DICE),
    "drand, and it draws without it": Way(DRAND),
    "dice, and it freezes late": Way(DICE, waits=True),
    "drand, and it freezes late": Way(DRAND, waits=True),
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    make_tables_at_once(monkeypatch)


def salted(one: Frozen) -> Iterator[Frozen]:
    for number in range(SALTS):
        salt, names_salt = number.to_bytes(32, "big"), number.to_bytes(32, "little")
        yield replace(one, inputs=replace(one.inputs, salt=salt, names_salt=names_salt))


def steered(folder: Path, way: Way, reveal_after: int) -> tuple[Office, bool]:
    """An office that draws its first round with a salt that leads to another draw than its first salt does, if it finds
    one; and whether it does.
    """
    settings = {"randomness": way.source, "reveal_after": reveal_after, "oversight": str(IDENTITY.to_public())}
    office, honest, found = made(folder, **settings), rounds._fixed, list[Frozen]()
    parameters, due = office.programme.parameters, office.programme.parameters.calendar.due(1)
    office.programme.report({TARGETS[0]: 1})
    value = WITHOUT_VALUE
    if way.source is not None and way.waits:
        at = way.source.value_at(due, due)
        value = value_of(Waiting(1, 0, "", way.source.beacon(at), written_instant(at)))
    used = mixed_in(parameters, value.text) if way.source is not None else ""

    def liked(transaction: Transaction) -> Any:
        first, run, tally = honest(transaction)
        disliked = first.drawn(parameters, used)[1]
        found.extend(one for one in salted(first) if one.drawn(parameters, used)[1] != disliked)
        return (found[0] if found else first), run, tally

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rounds, "_fixed", liked)
        office.clock.now = due
        waiting = office.programme.close_round().waiting
    if waiting is not None and way.source is not None:
        later = waiting.without_from(way.source.days) + timedelta(hours=1)
        office.clock.now = waiting.expected if way.waits else later
        office.programme.draw_round(value, None if way.waits else "the hall was closed")
    return office, bool(found)


def replayed(office: Office, folder: Path) -> Replayed:
    entries = [parse(line) for line in lines_in(office.programme.publish(folder))]
    return replay(office.programme.parameters, entries, office.programme.seals(), IDENTITY)


@pytest.mark.parametrize("reveal_after", [0, 2])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_no_salt_leads_to_another_draw(tmp_path: Path, way: Way, reveal_after: int) -> None:
    office, is_steered = steered(tmp_path, way, reveal_after)
    assert not is_steered
    assert replayed(office, tmp_path / "public") == Replayed((1,))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_draw_that_follows_from_the_salt_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: Way) -> None:
    """The control: a planted bug. The office gets another draw, and the oversight body confirms it."""
    planted_bugs.a_draw_that_follows_from_the_salt(monkeypatch)
    office, is_steered = steered(tmp_path, way, 0)
    assert is_steered
    assert replayed(office, tmp_path / "public") == Replayed((1,))


def test_a_draw_of_an_office_that_draws_by_salts_is_contradicted(tmp_path: Path) -> None:
    """Its own program has the salt in the draw; that of the oversight body does not."""
    with pytest.MonkeyPatch.context() as patched:
        planted_bugs.a_draw_that_follows_from_the_salt(patched)
        honest = rounds._fixed
        office = made(tmp_path, randomness=None, oversight=str(IDENTITY.to_public()))
        parameters = office.programme.parameters

        def liked(transaction: Transaction) -> Any:
            first, run, tally = honest(transaction)
            with pytest.MonkeyPatch.context() as right:
                right.setattr(Frozen, "_counted", COUNTED)
                due = first.drawn(parameters, "")[1]
            return next(one for one in salted(first) if one.drawn(parameters, "")[1] != due), run, tally

        patched.setattr(rounds, "_fixed", liked)
        office.programme.report({TARGETS[0]: 1})
        office.close()
    why = "its audits do not follow from its reports and its seed"
    assert replayed(office, tmp_path / "public") == Replayed((), contradicted=1, why=why)
