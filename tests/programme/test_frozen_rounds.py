"""Rounds that are frozen and then drawn with a public value, as the office drives them."""

import random
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyrage
import pytest
from tests.programme.offices import DAILY, TARGETS, Office, make_tables_at_once, new_office
from tests.programme.public.published import lines_in
from tests.programme.randomness.own_chain import OwnChain

from deniable.errors import DeniableError
from deniable.programme import backup
from deniable.programme.programme import Programme
from deniable.programme.public.verify import verify
from deniable.programme.randomness.source import Dice, Drand
from deniable.programme.secrets.oversight import replay
from deniable.programme.transcript.frozen import Drawn, Freeze, PublicValue
from deniable.programme.transcript.recoveries import Recovery
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript.waiting import written_instant
from deniable.report_classes import ReportClass

OWN = OwnChain()
DRAND = Drand(OWN.chain)
DICE = Dice("the town hall")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    make_tables_at_once(monkeypatch)


def made(folder: Path, **settings: Any) -> Office:
    return new_office(str(folder / "programme.db"), folder, **({"randomness": DICE} | settings))


def thrown(number: int) -> PublicValue:
    """What people threw for this round, at the announced time."""
    throws = random.Random(number).choices(range(1, 7), k=DICE.throws.times)
    at = DAILY.due(number) + timedelta(minutes=DICE.minutes)
    return PublicValue(DICE.throws.read(" ".join(map(str, throws))), written_instant(at))


def freeze(office: Office) -> None:
    office.clock.now = office.programme.parameters.calendar.due(office.programme.status().open_round)
    closed = office.programme.close_round()
    assert closed.waiting is not None
    assert closed.audits == ()
    office.clock.now = closed.waiting.expected


def test_a_round_is_frozen_and_drawn_with_drand(tmp_path: Path) -> None:
    office = made(tmp_path, randomness=DRAND)
    for number in range(1, 4):
        office.programme.report({TARGETS[0]: 3})
        freeze(office)
        office.programme.publish(tmp_path / "public")
        waiting = office.again().status().waiting
        assert waiting is not None
        assert (waiting.round, waiting.expected) == (number, office.clock.now)
        assert waiting.expected - DAILY.due(number) - timedelta(hours=1) < timedelta(seconds=OWN.chain.period)
        assert verify(tmp_path / "public", now=office.clock.now).rounds == number
        closed = office.programme.draw_round(PublicValue(OWN.sign(waiting.beacon or 0).signature))
        assert (closed.round, len(closed.audits), closed.already) == (number, 1, False)
        assert office.programme.close_round(number) == replace(closed, already=True)
        office.programme.publish()
    result = verify(tmp_path / "public", now=office.clock.now)
    assert (result.rounds, result.remarkable) == (3, ())


def test_only_the_named_beacon_is_taken(tmp_path: Path) -> None:
    office = made(tmp_path, randomness=DRAND)
    freeze(office)
    waiting = office.programme.status().waiting
    assert waiting is not None
    assert waiting.beacon is not None
    for wrong in (OWN.sign(waiting.beacon + 1), OwnChain(7).sign(waiting.beacon)):
        with pytest.raises(DeniableError, match="genuine"):
            office.programme.draw_round(PublicValue(wrong.signature))
    with pytest.raises(DeniableError, match="signature"):
        office.programme.draw_round(PublicValue("1 2 3"))
    with pytest.raises(DeniableError, match="no time of its own"):
        office.programme.draw_round(PublicValue(OWN.sign(waiting.beacon).signature, waiting.value_at))


def test_a_round_frozen_late_waits_for_a_later_beacon(tmp_path: Path) -> None:
    office = made(tmp_path, randomness=DRAND)
    due = office.programme.parameters.calendar.due(1)
    in_time = DRAND.value_at(due, due + timedelta(minutes=30))
    assert in_time == DRAND.value_at(due, due)
    office.clock.now = due + timedelta(minutes=31)
    waiting = office.programme.close_round().waiting
    assert waiting is not None
    assert timedelta(hours=1) < waiting.expected - office.clock.now < timedelta(minutes=62)


def test_numbers_of_another_time_do_not_count(tmp_path: Path) -> None:
    office = made(tmp_path)
    freeze(office)
    waiting = office.programme.status().waiting
    assert waiting is not None
    office.clock.now += timedelta(days=5)
    for late in (timedelta(minutes=-1), timedelta(days=1, seconds=1)):
        with pytest.raises(DeniableError, match="announced"):
            office.programme.draw_round(thrown(1)._replace(time=written_instant(waiting.expected + late)))
    office.clock.now = waiting.expected
    with pytest.raises(DeniableError, match="future"):
        office.programme.draw_round(thrown(1)._replace(time=written_instant(waiting.expected + timedelta(hours=1))))
    office.programme.draw_round(thrown(1))


def test_what_is_reported_meanwhile_belongs_to_the_next_round_and_can_be_taken_back(tmp_path: Path) -> None:
    office = made(tmp_path, delta=0.9)
    before = office.programme.report({TARGETS[0]: 2})
    freeze(office)
    assert office.programme.active_counts()[TARGETS[0]] == 2
    with pytest.raises(DeniableError, match="taken back"):
        office.programme.withdraw([TARGETS[0]], before)
    since = [office.programme.report({target: 5}) for target in TARGETS]
    (audited,) = office.programme.draw_round(thrown(1)).audits
    counts = office.programme.active_counts()
    assert counts[audited] == 5
    assert counts[TARGETS[0]] == (5 if audited == TARGETS[0] else 7)
    for target, receipt in zip(TARGETS, since, strict=True):
        assert office.programme.withdraw([target], receipt) == ()
    assert sum(office.programme.active_counts().values()) == (0 if audited == TARGETS[0] else 2)


def test_while_a_round_waits_none_is_frozen_skipped_or_changed(tmp_path: Path) -> None:
    office = made(tmp_path)
    with pytest.raises(DeniableError, match="no round waits"):
        office.programme.draw_round(thrown(1))
    freeze(office)
    office.clock.now = office.programme.parameters.calendar.due(2)
    for attempt in (
        office.programme.close_round,
        lambda: office.programme.skip("a holiday", independent=True),
        lambda: office.programme.change_targets("a merger", independent=True, add=["Elm Yard"]),
    ):
        with pytest.raises(DeniableError, match="round 1 waits for its public value"):
            attempt()
    office.programme.draw_round(thrown(1))
    assert office.programme.close_round().round == 2


def test_only_the_round_that_is_named_is_drawn(tmp_path: Path) -> None:
    """A value that comes twice, or late, draws no other round."""
    office = made(tmp_path)
    with pytest.raises(DeniableError, match="no round waits"):
        office.programme.draw_round(thrown(1), of=1)
    freeze(office)
    with pytest.raises(DeniableError, match="no round waits"):
        office.programme.draw_round(thrown(1), of=2)
    first = office.programme.draw_round(thrown(1), of=1)
    assert not first.already
    freeze(office)
    assert office.programme.draw_round(thrown(2), of=1) == replace(first, already=True)
    waiting = office.programme.status().waiting
    assert waiting is not None
    assert waiting.round == 2


def test_an_order_meanwhile_does_not_change_the_draw(tmp_path: Path) -> None:
    audited = []
    for place, orders in (("a", False), ("b", True)):
        (tmp_path / place).mkdir()
        office = made(tmp_path / place, entropy=random.Random(5).randbytes, delta=0.9, cooldown=2)
        office.programme.report({TARGETS[1]: 4, TARGETS[2]: 4})
        freeze(office)
        if orders:
            office.programme.override([TARGETS[1], TARGETS[3]], "a court order", independent=True)
            assert office.programme.active_counts()[TARGETS[1]] == 0
        office.programme.report({TARGETS[1]: 1})
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("deniable.programme.rounds.secrets.token_bytes", bytes)
            closed = office.programme.draw_round(thrown(1))
        audited.append(closed.audits)
        if orders:
            assert office.programme.active_counts()[TARGETS[1]] == 1
        freeze(office)
        office.programme.draw_round(thrown(2))
        office.programme.publish(tmp_path / place / "public")
        verify(tmp_path / place / "public", now=office.clock.now)


def visit(office: Office, target: str) -> None:
    office.programme.report({target: 1}, report_class="danger")
    office.programme.visit(target, "danger")


@pytest.mark.parametrize("settings", [{}, {"reveal_after": 2}, {"mechanism": "tca", "horizon": 9}], ids=str)
@pytest.mark.parametrize("backed_up", ["before the freeze", "while it waits"])
def test_a_target_may_be_ordered_twice_while_a_round_waits(
    tmp_path: Path, settings: dict[str, Any], backed_up: str
) -> None:
    """By hand and in emergencies. The round is drawn all the same, by the office, an oversight body and a recovery."""
    identity = pyrage.x25519.Identity.generate()
    classes = (ReportClass("report", 1), ReportClass("danger", None))
    office = made(tmp_path, classes=classes, oversight=str(identity.to_public()), **settings)
    office.programme.publish(tmp_path / "public")
    office.programme.report({TARGETS[0]: 3, TARGETS[1]: 2}, report_class="report")
    if backed_up == "before the freeze":
        office.count()
        office.programme.backup(tmp_path / "backup")
    freeze(office)
    visit(office, TARGETS[1])
    visit(office, TARGETS[1])
    if backed_up == "while it waits":
        office.programme.backup(tmp_path / "backup")
    office.programme.override([TARGETS[1], TARGETS[0]], "a court order", independent=True)
    audits = office.programme.draw_round(thrown(1)).audits
    assert office.programme.active_counts()[TARGETS[1]] == 0
    verify(public := office.programme.publish(), now=office.clock.now)
    entries = [parse(line) for line in lines_in(public)]
    assert replay(office.programme.parameters, entries, office.programme.seals(), identity).confirmed == (1,)
    office.programme.close()
    backup.restore(tmp_path / "backup", str(tmp_path / "again.db"))
    again = Programme.open(str(tmp_path / "again.db"), office.key, clock=office.clock)
    again.recover(None, "the disk broke")
    assert again.close_round(1).audits == audits
    office = Office(str(tmp_path / "again.db"), office.key, office.clock, again)
    freeze(office)
    again.draw_round(thrown(2))
    verify(again.publish(), now=office.clock.now)


def test_a_reader_refuses_numbers_thrown_at_another_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    office = made(tmp_path)
    freeze(office)
    monkeypatch.setattr("deniable.programme.rounds.check_may_draw", lambda *_: None)
    with pytest.raises(DeniableError, match="announced"):
        office.programme.draw_round(thrown(1)._replace(time=written_instant(DAILY.due(1))))


def test_without_its_value_a_round_waits_the_stated_days(tmp_path: Path) -> None:
    office = made(tmp_path)
    freeze(office)
    with pytest.raises(DeniableError, match="must wait"):
        office.programme.draw_round(reason="the dice were stolen")
    office.clock.now += timedelta(days=7)
    with pytest.raises(DeniableError, match="reason"):
        office.programme.draw_round()
    office.programme.draw_round(reason="the dice were stolen")
    public = office.programme.publish(tmp_path / "public")
    (found,) = (entry for entry in verify(public).remarkable if isinstance(entry, Drawn))
    assert "without" in found.effect(office.programme.parameters.calendar, office.programme.parameters.voice())


def test_hidden_names_and_frozen_rounds_together(tmp_path: Path) -> None:
    office = made(tmp_path, reveal_after=2, cooldown=1, max_gap=6)
    drawn = dict[int, tuple[str, ...]]()
    for number in range(1, 7):
        office.programme.report({TARGETS[number % 4]: 2})
        freeze(office)
        if number == 4:
            office.programme.override([TARGETS[0]], "a court order", independent=True)
        office.programme.publish(tmp_path / "public")
        verify(tmp_path / "public", now=office.clock.now)
        closed = office.programme.draw_round(thrown(number))
        drawn[number] = closed.audits
        assert closed.secret_until == number + 2
        assert office.again().close_round(number).audits == drawn[number]
    office.programme.end("the law was repealed")
    public = office.programme.publish()
    verify(public)
    entries = [parse(line) for line in lines_in(public)]
    assert {entry.audited_in: entry.audited for entry in entries if entry.kind == "reveal"} == drawn


def test_an_end_leaves_a_frozen_round_undrawn(tmp_path: Path) -> None:
    office = made(tmp_path)
    freeze(office)
    office.programme.end("the law was repealed")
    assert verify(office.programme.publish(tmp_path / "public")).ended


@pytest.mark.parametrize("drawn_since", [False, True])
@pytest.mark.parametrize("settings", [{}, {"reveal_after": 2}, {"mechanism": "tca", "max_gap": 6}], ids=str)
def test_a_backup_of_a_frozen_round_draws_it_from_what_was_frozen(
    tmp_path: Path, settings: dict[str, Any], drawn_since: bool
) -> None:
    office = made(tmp_path, **settings)
    office.programme.report({TARGETS[0]: 2})
    freeze(office)
    office.programme.publish(tmp_path / "public")
    office.programme.backup(tmp_path / "backup")
    shutil.copy(beside := office.key.transcript, tmp_path / "copy before")
    audits = office.programme.draw_round(thrown(1)).audits
    counts = office.programme.active_counts() if "mechanism" not in settings else None
    if drawn_since:
        office.programme.publish()
    else:  # the draw was never shown
        shutil.copy(tmp_path / "copy before", beside)
    office.programme.close()
    backup.restore(tmp_path / "backup", str(tmp_path / "again.db"))
    again = Programme.open(str(tmp_path / "again.db"), office.key, clock=office.clock)
    recovery = again.recover(None, "the disk broke")
    assert isinstance(recovery, Recovery)
    assert not recovery.inputs_lost
    if not drawn_since:
        assert again.draw_round(thrown(1)).audits == audits
    assert again.close_round(1).audits == audits
    if counts is not None:
        assert again.active_counts() == counts
    verify(again.publish())


def test_a_backup_from_before_the_freeze_says_that_the_round_is_never_drawn(tmp_path: Path) -> None:
    office = made(tmp_path)
    office.programme.report({TARGETS[0]: 2})
    office.count()
    office.programme.publish(tmp_path / "public")
    office.programme.backup(tmp_path / "backup")
    freeze(office)
    office.programme.override([TARGETS[1]], "a court order", independent=True)
    office.programme.publish()
    office.programme.close()
    backup.restore(tmp_path / "backup", str(tmp_path / "again.db"))
    again = Programme.open(str(tmp_path / "again.db"), office.key, clock=office.clock)
    recovery = again.recover(None, "the disk broke")
    assert isinstance(recovery, Recovery)
    assert recovery.inputs_lost
    assert "never drawn" in recovery.effect(again.parameters.calendar, again.parameters.voice())
    assert again.status().waiting is None
    assert again.active_counts()[TARGETS[0]] == 2
    office = Office(str(tmp_path / "again.db"), office.key, office.clock, again)
    freeze(office)
    again.draw_round(thrown(2))
    verify(again.publish(), now=office.clock.now)


def test_the_hash_is_salted_and_two_worlds_with_one_salt_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of equal inputs the hashes differ, and with the same salt, seed and inputs they are equal."""

    def hashed(place: str, reports: int, salt: bool) -> str:
        (tmp_path / place).mkdir()
        with monkeypatch.context() as patched:
            if not salt:
                patched.setattr("deniable.programme.rounds.secrets.token_bytes", bytes)
            office = made(tmp_path / place, entropy=random.Random(3).randbytes)
            office.programme.report({TARGETS[0]: reports})
            freeze(office)
        (entry,) = (parse(line) for line in lines_in(office.programme.publish(tmp_path / place / "public")))
        assert isinstance(entry, Freeze)
        return entry.inputs

    assert hashed("a", 2, salt=True) != hashed("b", 2, salt=True)
    assert hashed("c", 2, salt=False) == hashed("d", 2, salt=False)
    assert hashed("e", 2, salt=False) != hashed("f", 3, salt=False)


@pytest.mark.parametrize("settings", [{}, {"reveal_after": 2}], ids=str)
@pytest.mark.parametrize("ordered", [TARGETS[:1], TARGETS])
def test_a_recovery_adopts_an_order_between_freeze_and_draw(
    tmp_path: Path, settings: dict[str, Any], ordered: tuple[str, ...]
) -> None:
    office = made(tmp_path, **settings)
    office.programme.publish(tmp_path / "public")
    office.programme.backup(tmp_path / "backup")
    freeze(office)
    office.programme.override(ordered, "a court order", independent=True)
    audits = office.programme.draw_round(thrown(1)).audits
    office.programme.publish()
    office.programme.close()
    backup.restore(tmp_path / "backup", str(tmp_path / "again.db"))
    again = Programme.open(str(tmp_path / "again.db"), office.key, clock=office.clock)
    again.recover(None, "the disk broke")
    assert again.close_round(1).audits == audits
    office = Office(str(tmp_path / "again.db"), office.key, office.clock, again)
    freeze(office)
    again.draw_round(thrown(2))
    verify(again.publish(), now=office.clock.now)


@pytest.mark.parametrize("is_out", [False, True])
def test_a_recovery_is_a_lapse_where_a_draw_may_have_been_seen(tmp_path: Path, is_out: bool) -> None:
    office = made(tmp_path)
    freeze(office)
    office.programme.publish(tmp_path / "public")
    office.programme.backup(tmp_path / "backup")
    office.programme.close()
    backup.restore(tmp_path / "backup", str(tmp_path / "again.db"))
    office.clock.now -= timedelta(minutes=0 if is_out else 1)
    again = Programme.open(str(tmp_path / "again.db"), office.key, clock=office.clock)
    recovery = again.recover(None, "the disk broke")
    assert (recovery.lapse is not None) == is_out


def test_a_backup_of_a_round_that_was_given_up_meanwhile(tmp_path: Path) -> None:
    """The inputs were declared lost, and the backup that has them is of no use."""
    office = made(tmp_path)
    office.programme.publish(tmp_path / "public")
    office.programme.backup(tmp_path / "before")
    freeze(office)
    office.programme.publish()
    office.programme.backup(tmp_path / "after")
    office.programme.close()
    for number, name in enumerate(("before", "after")):
        database = str(tmp_path / f"{name}.db")
        backup.restore(tmp_path / name, database)
        programme = Programme.open(database, office.key, clock=office.clock)
        programme.recover(None, "the disk broke")
        programme.publish()
        assert programme.status().waiting is None
        assert set(programme.active_counts().values()) == {0}
        if not number:
            office = Office(database, office.key, office.clock, programme)
            freeze(office)
            programme.draw_round(thrown(2))
            programme.publish()
        programme.close()
