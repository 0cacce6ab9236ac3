"""`deniable programme draw-round`: whole small programmes by commands, with dice and with a drand chain of our own."""

import io
import json
import random
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyrage
import pytest
from tests.cli.programmes import INDEPENDENT, NAMES, Desk
from tests.cli.running import assert_refused
from tests.programme.machines import Machine
from tests.programme.randomness.own_chain import OwnChain
from tests.programme.randomness.own_mirror import OwnMirror, own_mirror, write_chain

from deniable.cli.programme import run

OWN = OwnChain()
DICE = ("--randomness", "dice", "--dice-place", "the town hall")


def thrown(seed: int = 1) -> str:
    return "".join(map(str, random.Random(seed).choices(range(1, 7), k=39)))


@pytest.fixture
def dice(desk: Desk) -> Desk:
    desk.init(*DICE)
    desk.done("publish", "--public", "public")
    return desk


@pytest.fixture
def mirror() -> Iterator[OwnMirror]:
    with own_mirror(OWN) as server:
        yield server


@pytest.fixture
def drand(desk: Desk) -> Desk:
    desk.init("--randomness", "drand", "--drand-chain", write_chain(OWN, Path("info.json")))
    desk.done("publish", "--public", "public")
    return desk


def freeze(desk: Desk) -> None:
    """Close the open round at its due time; its value comes an hour later."""
    desk.clock.now = desk.clock.now.replace(hour=0, minute=0) + timedelta(days=1)
    desk.done("close-round")


def thrown_by(desk: Desk, seed: int = 1) -> Any:
    """Freeze the open round, and draw it with numbers thrown at the announced time."""
    freeze(desk)
    desk.clock.now += timedelta(hours=1)
    return desk.json("draw-round", "--throws", thrown(seed), "--yes")


# Dice


def test_a_programme_with_dice(dice: Desk) -> None:
    for number in (1, 2, 3):
        dice.done("report", "Ash Mill", 2)
        dice.clock.now = dice.clock.now.replace(hour=0, minute=0) + timedelta(days=1)
        frozen = dice.json("close-round")
        assert (frozen["round"], frozen["audits"], frozen["waiting"]["round"]) == (number, [], number)
        assert len(frozen["waiting"]["inputs"]) == 64
        assert frozen["waiting"]["value_at"] == f"{dice.clock.now + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
        assert frozen["waiting"]["without_from"] == (dice.clock.now + timedelta(days=7, hours=1)).isoformat()
        dice.done("publish")
        dice.clock.now += timedelta(hours=2)
        drawn = dice.json("draw-round", "--throws", thrown(number), "--yes")
        assert (drawn["round"], drawn["already"], drawn["waiting"]) == (number, False, None)
        assert drawn["audits"][0] in NAMES
        assert drawn["value"] == " ".join(thrown(number))
        assert dice.json("close-round", "--round", number)["audits"] == drawn["audits"]
    dice.done("publish")
    checked = dice.json("verify", "public")
    assert checked["draws"] == {
        "source": "dice", "with_value": [1, 2, 3], "without_value": [], "never_drawn": [], "waiting": None,
    }  # fmt: skip
    assert "Draws: 3 with numbers thrown in public." in dice.done("verify", "public")
    entry = json.loads(Path("public/transcript.jsonl").read_text(encoding="ascii").splitlines()[1])
    assert (entry["kind"], entry["time"]) == ("drawn", "2026-01-06T01:00:00Z")


def test_what_a_frozen_round_says(dice: Desk) -> None:
    dice.clock.now = dice.clock.now.replace(hour=0) + timedelta(days=1)
    out = " ".join(dice.done("close-round").split())
    assert out.startswith("Round 1 is frozen: what it is drawn from is fixed.")
    assert "It waits for numbers thrown in public. From 2026-01-13 01:00 (UTC) on it may be drawn without." in out
    assert "Publish now, while the value is not out: deniable programme publish." in out
    assert "(a die with 6 sides, thrown 39 times) at 2026-01-06 01:00 (UTC), the town hall" in out
    again = " ".join(dice.done("close-round").split())
    assert again.startswith("Nothing was drawn: round 2 is not due until 2026-01-07 00:00 (UTC). Round 1, as it was")
    dice.done("publish")
    status = " ".join(dice.done("status").split())
    assert "Round 1, due at 2026-01-06 00:00 (UTC), is frozen and waits for numbers thrown in public." in status
    assert "Let people throw in public" in status
    assert "Round 2 is open, and due at 2026-01-07" in status
    assert dice.json("status")["waiting"]["entry"] == 1
    dice.clock.tomorrow()
    assert "draw round 1 first" in " ".join(dice.done("status").split())
    assert_refused(dice("close-round"), "round 1 waits for its public value")
    assert_refused(dice("skip", "--reason", "a strike", INDEPENDENT), "round 1 waits")


def test_numbers_are_confirmed(dice: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    freeze(dice)
    dice.clock.now += timedelta(hours=1)
    monkeypatch.setattr("sys.stdin", io.StringIO("no\n"))
    code, out, err = dice("draw-round", "--throws", thrown())
    assert (code, out) == (2, "")
    assert "not confirmed; nothing was changed" in err
    assert f"  {' '.join(thrown()[:10])}\n" in err
    assert "2026-01-06 01:00 (UTC)" in err
    assert dice.json("status")["waiting"] is not None
    typed = "\n".join([thrown()[:20], thrown()[20:], "", "yes", ""])
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert dice("draw-round", "--throws", "-").out.startswith("Round 1: audit ")


def test_numbers_from_a_pipe_need_yes(dice: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    freeze(dice)
    dice.clock.now += timedelta(hours=1)
    monkeypatch.setattr("sys.stdin", io.StringIO(thrown() + "\n"))
    assert dice("draw-round", "--throws", "-").code == 2
    monkeypatch.setattr("sys.stdin", io.StringIO(thrown() + "\n"))
    assert "audit" in dice.done("draw-round", "--throws", "-", "--yes")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "--throws"),
        (("--throws", "123", "--yes"), "39 throws, and there are 3"),
        (("--throws", thrown().replace("1", "7"), "--yes"), "numbers from 1 to 6"),
        (("--throws", thrown(), "--yes", "--time", "noon"), "YYYY-MM-DDTHH:MM"),
        (("--throws", thrown(), "--yes", "--time", "2026-01-06T00:59"), "as announced"),
        (("--throws", thrown(), "--yes", "--time", "2026-01-07T01:01"), "as announced"),
        (("--throws", thrown(), "--yes", "--time", "2026-01-06T12:00"), "future"),
        (("--throws", thrown(), "--yes", "--reason", "x"), "--reason is for --without-value"),
        (("--beacon", "x"), "--beacon does not fit: round 1 waits for numbers thrown in public"),
        (("--mirror", "https://api.drand.sh"), "--mirror does not fit"),
        (("--without-value", "--reason", "x"), "must wait for its public value until 2026-01-13 01:00 (UTC time)"),
        (("--without-value", "--throws", thrown()), "--throws does not go with --without-value"),
    ],
)
def test_what_is_wrong_is_refused(dice: Desk, options: tuple[str, ...], words: str) -> None:
    freeze(dice)
    dice.clock.now += timedelta(hours=1)
    assert_refused(dice("draw-round", *options), words)
    assert dice.json("status")["waiting"] is not None


def test_numbers_are_thrown_at_the_announced_time_or_soon_after(dice: Desk) -> None:
    freeze(dice)
    assert_refused(dice("draw-round", "--throws", thrown(), "--yes"), "future")
    dice.clock.now += timedelta(days=2)
    dice.done("draw-round", "--throws", thrown(), "--yes", "--time", "2026-01-06T20:15")
    dice.done("publish")
    assert '"time":"2026-01-06T20:15:00Z"' in Path("public/transcript.jsonl").read_text(encoding="ascii")


def test_a_round_without_its_value(dice: Desk) -> None:
    freeze(dice)
    dice.clock.now += timedelta(days=7, hours=1)
    dice.done("publish")
    assert_refused(dice("draw-round", "--without-value"), "needs a reason")
    drawn = dice.json("draw-round", "--without-value", "--reason", "The dice were stolen.")
    assert (drawn["round"], drawn["value"], len(drawn["audits"])) == (1, None, 1)
    dice.done("publish")
    out = " ".join(dice.done("verify", "public").split())
    assert "Draws: 0 with numbers thrown in public; 1 without its public value (round 1)." in out
    assert "Reason: The dice were stolen." in out


def test_where_no_round_is_frozen(office: Desk) -> None:
    assert_refused(office("draw-round"), "draws without public values", "close-round")
    other = ("--database", "dice.db")
    office.init(*DICE, *other)
    assert_refused(office("draw-round", *other), "no round is frozen")
    office.clock.now = office.clock.now.replace(hour=0) + timedelta(days=1)
    office.done("close-round", *other)
    office.clock.now += timedelta(hours=1)
    office.done("draw-round", *other, "--throws", thrown(), "--yes")
    assert_refused(office("draw-round", *other, "--throws", thrown()), "no round", "close-round --round 1 shows")
    office.done("end", *other, "--reason", "over", "--yes")
    assert_refused(office("draw-round", *other), "has ended")


def test_names_that_are_not_public_yet(desk: Desk) -> None:
    desk.init(*DICE, "--reveal-after", 1)
    drawn = thrown_by(desk)
    assert (drawn["secret_until"], len(drawn["audits"])) == (2, 1)


def test_a_frozen_round_that_is_lost_is_never_drawn(dice: Desk) -> None:
    dice.done("backup", "early.backup")
    freeze(dice)
    dice.done("publish")
    again = ("--database", "again.db", "--key", "programme.key")
    dice.done("restore", "early.backup", *again[:2])
    dice.done("recover", *again, "--reason", "the disk broke")
    assert "Round 1, as it was closed before: frozen, and never drawn." in dice.done(
        "close-round", "--round", 1, *again
    )
    dice.done("publish", *again)
    assert "1 frozen round never drawn (round 1)" in " ".join(dice.done("verify", "public").split())


# drand


def test_a_programme_with_a_chain_of_our_own(drand: Desk, mirror: OwnMirror) -> None:
    draw = ("draw-round", "--mirror", mirror.url)
    for number in (1, 2):
        drand.done("report", "Ash Mill", 2)
        freeze(drand)
        waiting = drand.json("status")["waiting"]
        beacon = OWN.chain.round_at(drand.clock.now + timedelta(minutes=60))
        assert (waiting["round"], waiting["beacon"]) == (number, beacon)
        drand.done("publish")
        assert_refused(drand(*draw), f"drand's beacon {waiting['beacon']} is not out before", "01:00 (UTC)")
        assert len(mirror.asked) == number - 1
        drand.clock.now += timedelta(minutes=60)
        drawn = drand.json(*draw)
        assert drawn["value"] == OWN.sign(waiting["beacon"]).signature
        assert mirror.asked[-1] == f"/{OWN.chain.hash}/public/{waiting['beacon']}"
    drand.done("publish")
    out = " ".join(drand.done("verify", "public").split())
    assert "drand signed every beacon" in out
    assert "Draws: 2 with beacons of a chain that is not drand's own." in out
    assert "WARNING: the chain" in out


def test_a_beacon_from_a_file(drand: Desk) -> None:
    freeze(drand)
    number = drand.json("status")["waiting"]["beacon"]
    drand.clock.now += timedelta(minutes=60)

    def written(beacon_of: OwnChain, round_: int) -> str:
        beacon = beacon_of.sign(round_)
        Path("beacon.json").write_text(json.dumps({"round": round_, "signature": beacon.signature}), encoding="ascii")
        return "beacon.json"

    assert_refused(drand("draw-round", "--beacon", written(OWN, number + 1)), f"waits for drand's beacon {number}")
    assert_refused(drand("draw-round", "--beacon", written(OwnChain(7), number)), "not genuine")
    assert_refused(drand("draw-round", "--beacon", "info.json"), "has no beacon")
    assert_refused(drand("draw-round", "--beacon", "nowhere"), "cannot read nowhere")
    assert_refused(drand("draw-round", "--throws", "1 2 3"), "--throws does not fit", f"beacon {number}")
    both = ("--beacon", written(OWN, number), "--mirror", "https://api.drand.sh")
    assert_refused(drand("draw-round", *both), "either --beacon or --mirror")
    assert drand.json("draw-round", "--beacon", "beacon.json")["round"] == 1


def test_mirrors_that_do_not_help(drand: Desk, mirror: OwnMirror) -> None:
    freeze(drand)
    drand.clock.now += timedelta(minutes=60)
    assert_refused(drand("draw-round", "--mirror", "http://api.drand.sh"), "address such as https")
    mirror.is_down = True
    assert_refused(drand("draw-round", "--mirror", mirror.url), "does not have it yet", "try again in a few minutes")
    assert drand.json("status")["waiting"] is not None


def test_the_scheduler_freezes_publishes_and_draws(
    drand: Desk, mirror: OwnMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    drand.clock.now = drand.clock.now.replace(hour=0) + timedelta(days=1)
    machine = Machine(drand.clock, drand.clock.now + timedelta(hours=2))
    monkeypatch.setattr(run, "_stopped_by_signals", lambda: nullcontext(machine.wait))
    assert_refused(drand("run", "--mirror", "http://api.drand.sh"), "address such as https")
    go = ("run", "--public", "public", "--mirror", mirror.url)
    frozen, *others = drand.done(*go).splitlines()
    assert frozen.startswith("Round 1: frozen, and waits for drand's beacon ")
    assert frozen.endswith("out at 2026-01-06 01:00 UTC.")
    assert [line.split()[0] for line in others] == ["Published", "Round", "Published"]
    drand.clock.now = drand.clock.now.replace(hour=0, minute=0, second=0) + timedelta(days=1)
    machine.stop = drand.clock.now + timedelta(hours=2)
    events = [json.loads(line) for line in drand.done(*go, "--json").splitlines()]
    assert (events[0]["round"], events[0]["audits"], events[0]["waiting"]["round"]) == (2, [], 2)
    expected = datetime.fromisoformat(events[0]["waiting"]["value_at"])
    assert datetime.fromisoformat(events[0]["waiting"]["without_from"]) == expected + timedelta(days=7)
    assert "waiting" not in events[2]
    assert drand.json("verify", "public")["draws"]["with_value"] == [1, 2]


def test_a_late_freeze_waits_for_a_later_beacon(drand: Desk) -> None:
    drand.clock.now = drand.clock.now.replace(hour=0) + timedelta(days=1, minutes=31)
    assert drand.json("close-round")["waiting"]["value_at"].startswith("2026-01-06T01:32:0")


# Witnesses


@pytest.mark.parametrize("minutes", [59, 60])
def test_a_witness_shows_that_a_round_was_frozen_in_time(drand: Desk, mirror: OwnMirror, minutes: int) -> None:
    """One who looks before the beacon is out. Control: one who looks when it is out shows nothing of the kind."""
    freeze(drand)
    drand.done("publish")
    drand.clock.now += timedelta(minutes=minutes)
    key = json.loads(drand.run("witness", "public", "--key", "union.key", "--name", "union.example", "--json").out)[
        "key"
    ]
    drand.clock.now += timedelta(minutes=60 - minutes)
    drand.done("draw-round", "--mirror", mirror.url)
    drand.done("publish")
    in_time, out = minutes < 60, " ".join(drand.done("verify", "public", "--witness", key).split())
    assert ("They saw every round frozen before its public value was out." in out) == in_time
    assert ("WARNING: fewer than 1 witness saw round 1 frozen before the public value was out," in out) != in_time
    assert drand.json("verify", "public", "--witness", key)["frozen_unseen"] == ([] if in_time else [1])
    assert drand.json("verify", "public")["frozen_unseen"] == []
    late = json.loads(drand.run("witness", "public", "--key", "paper.key", "--name", "paper.example", "--json").out)
    both = " ".join(drand.done("verify", "public", "--witness", key, "--witness", late["key"]).split())
    assert ("At least 1 of them saw each round frozen before its public value was out." in both) == in_time
    assert "They saw every round" not in both


# Oversight


def test_a_replay_knows_values(desk: Desk) -> None:
    identity = pyrage.x25519.Identity.generate()
    desk.init(*DICE, "--oversight", str(identity.to_public()))
    Path("oversight.key").write_text(f"{identity}\n", encoding="ascii")
    desk.done("report", "Ash Mill")
    thrown_by(desk)
    desk.done("report", "Ash Mill")
    freeze(desk)
    desk.done("publish", "--public", "public")
    desk.done("oversight", "seals", "--out", "seals.jsonl")
    replay = ("oversight", "replay", "public", "seals.jsonl", "--identity", "oversight.key")
    out = " ".join(desk.done(*replay).split())
    assert "Draws: 1 with numbers thrown in public; round 2 is frozen" in out
    assert "follow from the reports and the seed, as they were frozen, and the public value: round 1." in out
    document = desk.json(*replay)
    assert (document["verdict"], document["confirmed"], document["draws"]["waiting"]["round"]) == ("confirmed", [1], 2)
