"""With which public values rounds were drawn, as a reader is told."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.programme.frozen_offices import DICE, DRAND, draw, freeze, made
from tests.programme.offices import TARGETS, Office, make_tables_at_once
from tests.programme.public.published import lines_in
from tests.programme.randomness.own_chain import OwnChain

from deniable.errors import DeniableError
from deniable.programme.public.values import check_values
from deniable.programme.public.verify import VerificationResult, verify
from deniable.programme.randomness.source import Drand
from deniable.programme.transcript.frozen import PublicValue
from deniable.programme.transcript.replay import parse


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    make_tables_at_once(monkeypatch)


def checked(office: Office, folder: Path) -> VerificationResult:
    return verify(office.programme.publish(folder / "public"), now=office.clock.now)


def test_a_programme_without_public_values(tmp_path: Path) -> None:
    office = made(tmp_path, randomness=None)
    office.close()
    values = checked(office, tmp_path).values
    assert "without public values" in values.in_words
    assert values.to_dict() == {
        "source": None, "with_value": [], "without_value": [], "never_drawn": [], "waiting": None,
    }  # fmt: skip


def test_beacons_and_a_round_without(tmp_path: Path) -> None:
    office = made(tmp_path, randomness=DRAND)
    for _ in range(2):
        draw(office)
    freeze(office)
    office.clock.now += timedelta(days=8)
    office.programme.draw_round(reason="the internet was cut off")
    result = checked(office, tmp_path)
    assert result.values.in_words == (
        "Draws: 2 with beacons of a chain that is not drand's own; 1 without its public value (round 3)."
    )
    assert result.to_dict()["draws"]["without_value"] == [3]
    assert [entry.kind for entry in result.remarkable] == ["drawn"]


def test_a_round_that_waits(tmp_path: Path) -> None:
    office = made(tmp_path)
    draw(office)
    freeze(office)
    result = checked(office, tmp_path)
    assert result.values.in_words == (
        "Draws: 1 with numbers thrown in public; round 2 is frozen and waits for numbers thrown in public."
    )
    waiting = result.to_dict()["draws"]["waiting"]
    assert (waiting["round"], waiting["entry"], waiting["beacon"]) == (2, 3, None)
    assert waiting["without_from"] == (office.clock.now + timedelta(days=DICE.days)).isoformat()


def test_the_words_of_drands_own_chain(tmp_path: Path) -> None:
    """Whose beacons cannot be had here."""
    values = checked(made(tmp_path, randomness=Drand()), tmp_path).values
    assert values.in_words == "Draws: 0 with drand's beacons, all checked."
    found = replace(values, drawn=(1, 2), without=(3, 4))
    assert found.in_words == "Draws: 2 with drand's beacons, all checked; 2 without their public values (rounds 3, 4)."
    (warning,) = found.warnings(datetime(2026, 1, 9, tzinfo=UTC))
    assert "rounds 3, 4 drawn without" in str(warning)


@pytest.mark.parametrize(("source", "days", "word"), [(DRAND, 1, "is out since 2026-01-06"), (DICE, 7, "could be")])
def test_a_round_that_waits_for_too_long(tmp_path: Path, source: object, days: int, word: str) -> None:
    office = made(tmp_path, randomness=source)
    until = freeze(office).expected + timedelta(days=days)
    public = office.programme.publish(tmp_path / "public")
    before = verify(public, now=until).slow
    assert not any("not drawn" in str(warning) for warning in before)
    (slow,) = {*map(str, verify(public, now=until + timedelta(minutes=1)).slow)} - {*map(str, before)}
    assert slow in verify(public, now=until + timedelta(minutes=1)).warnings
    assert "round 1 is frozen and not drawn" in slow
    assert word in slow


def test_a_round_that_is_never_drawn(tmp_path: Path) -> None:
    office = made(tmp_path)
    freeze(office)
    office.programme.end("the law was repealed")
    result = checked(office, tmp_path)
    assert (result.values.never, result.values.waiting, result.slow) == ((1,), None, ())
    assert "1 frozen round never drawn (round 1)" in result.values.in_words


def test_a_beacon_that_drand_did_not_sign_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An office that leaves its own check out, and draws with a signature of another key."""
    office = made(tmp_path, randomness=DRAND)
    office.programme.report({TARGETS[0]: 1})
    waiting = freeze(office)
    monkeypatch.setattr("deniable.programme.rounds.check_may_draw", lambda *_: None)
    office.programme.draw_round(PublicValue(OwnChain(7).sign(waiting.beacon or 0).signature))
    public = office.programme.publish(tmp_path / "public")
    with pytest.raises(DeniableError, match="not genuine"):
        verify(public, now=office.clock.now)
    with pytest.raises(DeniableError, match="not genuine"):
        check_values(office.programme.parameters, [parse(line) for line in lines_in(public)])
