"""`deniable programme oversight`: an honest programme is confirmed, another one is named."""

import json
from pathlib import Path

import pyrage
import pytest
from tests.cli.programmes import Desk
from tests.cli.running import Result, assert_refused

IDENTITY = pyrage.x25519.Identity.generate()


@pytest.fixture
def watched(desk: Desk) -> Desk:
    desk.init("--oversight", str(IDENTITY.to_public()))
    Path("oversight.key").write_text(f"# public key: {IDENTITY.to_public()}\n{IDENTITY}\n", encoding="ascii")
    for _ in range(3):
        desk.done("report", "Ash Mill")
        desk.close()
    desk.done("publish", "--public", "public")
    return desk


REPLAY = ("oversight", "replay", "public", "seals.jsonl", "--identity", "oversight.key")


def test_an_honest_programme_is_confirmed(watched: Desk) -> None:
    assert watched.json("oversight", "seals", "--out", "seals.jsonl") == {"file": "seals.jsonl", "rounds": 3}
    document, public = watched.json(*REPLAY), watched.json("verify", "public")
    assert (document["verdict"], document["confirmed"], document["rounds"]) == ("confirmed", [1, 2, 3], 3)
    assert (document["name"], document["head"], document["entries"]) == ("Site visits", public["head"], 3)
    assert document["warnings"] == public["warnings"]  # by the real clock, rounds are overdue
    out = watched.done(*REPLAY)
    assert out.startswith(f"Site visits: 3 rounds closed, 3 entries. Fingerprint:\n  {public['head']}\n")
    assert "Confirmed, since the audits follow from the reports and the seed: rounds 1 to 3." in out
    assert "WARNING: rounds 4 to" in out
    watched.done(*REPLAY, "--out", "counts.csv")
    rows = ["round,target,class,reports", *(f"{round_},Ash Mill,report,1" for round_ in (1, 2, 3))]
    assert Path("counts.csv").read_bytes().decode() == "".join(f"{row}\n" for row in rows)
    assert Path("counts.csv").stat().st_mode & 0o077 == 0
    Path("seals.jsonl").rename("elsewhere.jsonl")  # an existing file is refused before anything is replayed
    words = "counts.csv exists, and is not overwritten: choose another name for --out"
    assert_refused(watched(*REPLAY, "--out", "counts.csv"), words)
    Path("elsewhere.jsonl").rename("seals.jsonl")
    assert_refused(watched("oversight", "seals", "--out", "seals.jsonl"), "cannot write", "take a new name")


def test_no_name_in_the_counts_is_a_formula(desk: Desk) -> None:
    """Who opens them in a spreadsheet did not choose the names."""
    named = "=HYPERLINK(A1)"
    desk.init("--oversight", str(IDENTITY.to_public()))
    Path("oversight.key").write_text(f"{IDENTITY}\n", encoding="ascii")
    desk.done("targets", "add", named, "--independent-of-reports", "--reason", "new")
    desk.done("report", named)
    desk.close()
    desk.done("publish", "--public", "public")
    desk.done("oversight", "seals", "--out", "seals.jsonl")
    desk.done(*REPLAY, "--out", "counts.csv")
    assert Path("counts.csv").read_text(encoding="utf-8").splitlines()[1:] == [f"1,'{named},report,1"]


def test_a_crafted_file_of_seals_prints_nothing_of_its_own(watched: Desk) -> None:
    watched.done("oversight", "seals", "--out", "seals.jsonl")
    for line in ('{"entry":"\\u001b[2J","sealed":""}', "[" * 200_000):
        with Path("seals.jsonl").open("a", encoding="ascii") as file:
            file.write(f"{line}\n")
        assert_refused(watched(*REPLAY), "seals.jsonl is not a file of sealed rounds that deniable wrote")


def assert_not_confirmed(result: Result, said: str, *words: str) -> None:
    """The report on stdout says what was confirmed, and one line on stderr why not all."""
    assert_refused(result._replace(out=""), *words)
    assert said in " ".join(result.out.split())


def test_what_is_please_note_is_told(watched: Desk) -> None:
    watched.done("override", "Ash Mill", "--reason", "an accident", "--because-of-reports", "--yes")
    for _ in range(3):
        watched.clock.tomorrow()
    watched.done("skip", "--reason", "a strike", "--independent-of-reports")
    watched.done("close-round", "--reason", "a strike")
    watched.done("publish")
    watched.done("oversight", "seals", "--out", "seals.jsonl")
    out = " ".join(watched.done(*REPLAY).split())
    for words in (
        "rounds 1 to 3, 5.",
        "Please note",
        "ordered by hand",
        "skipped",
        "The round was closed 1 day late.",
    ):
        assert words in out
    assert [entry["kind"] for entry in watched.json(*REPLAY)["remarkable"]] == ["override", "skip", "round"]


def test_missing_inputs_are_no_contradiction(watched: Desk) -> None:
    watched.done("oversight", "seals", "--out", "all.jsonl")
    first, _, third = Path("all.jsonl").read_text(encoding="ascii").splitlines()
    Path("seals.jsonl").write_text(f"{first}\n{third}\n", encoding="ascii")
    result = watched(*REPLAY, "--out", "counts.csv")
    words = "missing inputs: the file does not have those of round 2, so ask the office for a newer file"
    assert_not_confirmed(result, "reports and the seed: round 1. Not in the file of sealed rounds: round 2.", words)
    assert "they follow on those: round 3." in result.out
    assert len(Path("counts.csv").read_text(encoding="utf-8").splitlines()) == 3
    document = json.loads(watched(*REPLAY, "--json").out)
    assert [document[name] for name in ("verdict", "confirmed", "missing", "waiting")] == [
        "missing inputs", [1], [2], [3],
    ]  # fmt: skip


def test_a_file_that_is_ahead_of_the_folder(watched: Desk) -> None:
    watched.close()
    watched.done("oversight", "seals", "--out", "seals.jsonl")
    assert "In the file, but not in the public folder: entries 4." in watched.done(*REPLAY)
    assert watched.json(*REPLAY)["not_public"] == [4]


def test_the_first_round_that_does_not_follow_is_named(watched: Desk) -> None:
    watched.done("oversight", "seals", "--out", "seals.jsonl")
    first, second, third = Path("seals.jsonl").read_text(encoding="ascii").splitlines()
    swapped = json.loads(second) | {"sealed": json.loads(third)["sealed"]}
    Path("seals.jsonl").write_text("\n".join([first, json.dumps(swapped), third]), encoding="ascii")
    words = "contradicted: round 2 does not follow from its inputs"
    assert_not_confirmed(watched(*REPLAY), "the seed: round 1. CONTRADICTED: round 2.", words)
    document = json.loads(watched(*REPLAY, "--json").out)
    assert (document["verdict"], document["contradicted"], document["confirmed"]) == ("contradicted", 2, [1])


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
    assert_refused(watched(*REPLAY[:-1], "other.key"), "does not belong to the oversight body")
    assert_refused(watched(*REPLAY[:-1], "nowhere"), "cannot read the key file")
    assert_refused(watched("oversight", "replay", "public", "nowhere", "--identity", "oversight.key"), "cannot read")
    assert_refused(watched("oversight", "seals", "--out", "no/such/folder"), "cannot write")


def test_help(office: Desk) -> None:
    assert "seals" in office.done("oversight")
    assert "private key can read the counts" in " ".join(office.done("oversight").split())
