"""`deniable programme oversight`: an honest programme is confirmed, another one is named."""

import json
from pathlib import Path

import pyrage
import pytest
from tests.cli.programmes import Desk
from tests.cli.running import assert_refused

IDENTITY = pyrage.x25519.Identity.generate()


@pytest.fixture
def watched(desk: Desk) -> Desk:
    desk.init("--oversight", str(IDENTITY.to_public()))
    Path("oversight.key").write_text(f"# public key: {IDENTITY.to_public()}\n{IDENTITY}\n", encoding="ascii")
    for _ in range(3):
        desk.done("report", "Ash Mill")
        desk.close()
    desk.done("publish", "--out", "public")
    return desk


REPLAY = ("oversight", "replay", "public", "seals.jsonl", "--identity", "oversight.key")


def test_an_honest_programme_is_confirmed(watched: Desk) -> None:
    assert watched.json("oversight", "seals", "--out", "seals.jsonl") == {"file": "seals.jsonl", "rounds": 3}
    assert watched.json(*REPLAY) == {"confirmed": True, "rounds": 3, "unchecked": []}
    assert watched.done(*REPLAY).startswith("3 rounds drawn again: the audits of every one follow")
    watched.done(*REPLAY, "--counts", "counts.csv")
    assert Path("counts.csv").read_text(encoding="utf-8").splitlines() == [
        "round,target,reports",
        *(f"{round_},Ash Mill,1" for round_ in (1, 2, 3)),
    ]
    assert Path("counts.csv").stat().st_mode & 0o077 == 0
    assert_refused(watched(*REPLAY, "--counts", "counts.csv"), "cannot write counts.csv")


def test_the_first_round_that_does_not_follow_is_named(watched: Desk) -> None:
    watched.done("oversight", "seals", "--out", "seals.jsonl")
    first, second, third = Path("seals.jsonl").read_text(encoding="ascii").splitlines()
    swapped = json.loads(second) | {"sealed": json.loads(third)["sealed"]}
    Path("seals.jsonl").write_text("\n".join([first, json.dumps(swapped), third]), encoding="ascii")
    assert_refused(watched(*REPLAY), "round 2 does not follow from its inputs")


def test_a_changed_folder_is_refused_first(watched: Desk) -> None:
    watched.done("oversight", "seals", "--out", "seals.jsonl")
    transcript = Path("public/transcript.jsonl")
    transcript.write_text(transcript.read_text(encoding="ascii").replace('"late":0', '"late":9', 1), encoding="ascii")
    assert_refused(watched(*REPLAY), "entry")


def test_without_an_oversight_body_there_is_nothing_to_hand_over(office: Desk) -> None:
    assert_refused(office("oversight", "seals", "--out", "seals.jsonl"), "no oversight body")


def test_another_key_and_missing_files(watched: Desk) -> None:
    watched.done("oversight", "seals", "--out", "seals.jsonl")
    Path("other.key").write_text(f"{pyrage.x25519.Identity.generate()}\n", encoding="ascii")
    assert_refused(watched(*REPLAY[:-1], "other.key"), "round 1 does not follow", "cannot be opened with this key")
    assert_refused(watched(*REPLAY[:-1], "nowhere"), "cannot read the key file")
    assert_refused(watched("oversight", "replay", "public", "nowhere", "--identity", "oversight.key"), "cannot read")
    assert_refused(watched("oversight", "seals", "--out", "no/such/folder"), "cannot write")


def test_help(office: Desk) -> None:
    assert "seals" in office.done("oversight")
    assert "private key can read the counts" in " ".join(office.done("oversight").split())
