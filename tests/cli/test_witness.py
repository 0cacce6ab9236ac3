"""`deniable witness` and `deniable programme verify --witness` at the command line."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.programmes import Desk
from tests.cli.running import assert_refused


@pytest.fixture
def office(desk: Desk) -> Desk:
    """An office that published one round."""
    desk.init()
    desk.done("publish", "--public", "public")
    desk.close()
    desk.done("publish")
    return desk


def seen(office: Desk, who: str, *args: object) -> Any:
    result = office.run("witness", "public", "--key", f"{who}.key", *args, "--json")
    assert (result.code, result.err) == (0, ""), result
    return json.loads(result.out)


def test_two_witnesses(office: Desk) -> None:
    union, paper = (seen(office, who, "--name", f"{who}.example") for who in ("union", "paper"))
    assert union["time"] == "2026-01-06T12:00:00+00:00"
    assert (union["entries"], union["is_new"], union["is_first"]) == (1, True, True)
    assert union["file"] == str(Path("public/cosignatures/union.example/1"))
    Path("paper.txt").write_text(paper["key"])
    asked = ("--witness", union["key"], "--witness", "paper.txt", "--at-least", 2)
    told = office.done("verify", "public", *asked)
    for who in ("union", "paper"):
        assert f"{who}.example: all entries by 2026-01-06 12:00 UTC" in told
    document = office.json("verify", "public", *asked)
    assert document["at_least"] == 2
    assert [(one["name"], one["countersigned"]) for one in document["witnessed"]] == [
        (f"{who}.example", [{"entries": 1, "time": "2026-01-06T12:00:00+00:00"}]) for who in ("union", "paper")
    ]
    assert "witness" not in office.done("verify", "public").lower()
    office.close()
    office.done("publish")
    assert_refused(office("verify", "public", *asked), "entry 2", "at least 2 of the witnesses")
    assert "1 of 2 entries by" in office.done("verify", "public", *asked[:4])
    assert "nobody.example" not in office.done("verify", "public", *asked[:4])


def test_what_a_witness_reads(office: Desk) -> None:
    first = office.run("witness", "public", "--key", "union.key", "--name", "union.example")
    assert (first.code, first.err) == (0, "")
    for words in ("1 entry, checked", "Countersigned at 2026-01-06 12:00:00 UTC", "for the first time", "hand it out"):
        assert words in " ".join(first.out.split())
    assert "PRIVATE" not in first.out
    again = office.run("witness", "public", "--key", "union.key")
    assert "Already countersigned at 2026-01-06 12:00:00 UTC" in " ".join(again.out.split())
    assert "for the first time" not in again.out
    assert Path("union.key").stat().st_mode & 0o777 == 0o600
    key = again.out.splitlines()[-1].strip()
    assert f"{key.split('+')[0]}: all entries" in office.done("verify", "public", "--witness", key)


def test_no_countersignature(office: Desk) -> None:
    key = seen(office, "union", "--name", "union.example", "--out", "note")["key"]
    assert "union.example: no countersignature" in office.done("verify", "public", "--witness", key)
    assert_refused(
        office("verify", "public", "--witness", key, "--at-least", 1), "at least 1 of the witnesses,", "is by 0"
    )
    Path("public/cosignatures").mkdir()
    shutil.copy("note", "public/cosignatures/sent-by-the-union")
    office.done("verify", "public", "--witness", key, "--at-least", 1)


def test_a_second_history(office: Desk) -> None:
    saved = Path("saved")
    shutil.copytree(".", saved)
    office.close()
    office.done("publish")
    key = seen(office, "union", "--name", "union.example")["key"]
    shutil.copytree("public/cosignatures", "theirs")
    for name in ("programme.db", "programme.key.transcript", "public/transcript.jsonl", "public/checkpoint"):
        shutil.copy(saved / name, name)
    office.done("skip", "--reason", "flood", "--independent-of-reports")
    office.done("publish")
    refused = office.run("witness", "public", "--key", "union.key")
    assert_refused(refused, "entry 2", "two histories", "union.key.seen", "union.key.other-")
    assert_refused(office("verify", "public", "--witness", key), "union.example", "another history of 2 entries")
    shutil.rmtree("public/cosignatures")
    office.done("verify", "public", "--witness", key)  # the office took them away; the union still has its own
    shutil.copytree("theirs", "public/cosignatures")
    assert_refused(office("verify", "public", "--witness", key), "another history")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("public", "--key", "union.key"), ("no key file", "--name")),
        (("public", "--key", "union.key", "--name", "the union"), ("such as union.example",)),
        (("public", "--key", "public/union.key", "--name", "union.example"), ("must not be in the public folder",)),
        (("nowhere", "--key", "union.key", "--name", "union.example"), ("does not exist",)),
        (("public", "--key", "programme.key"), ("not the key file of a witness",)),
        (("public", "--key", "union.key", "--name", "union.example", "--out", "programme.db"), ("exists already",)),
    ],
)
def test_refusals(office: Desk, args: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert_refused(office.run("witness", *args), *words)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--at-least", "1"), ("name every witness", "got the names of 0")),
        (("--witness", "nowhere.txt"), ("a file that holds one", "nowhere.txt")),
        (("--witness", "union.key"), ("private key",)),
    ],
)
def test_verify_refuses(office: Desk, args: tuple[str, ...], words: tuple[str, ...]) -> None:
    seen(office, "union", "--name", "union.example")
    assert_refused(office("verify", "public", *args), *words)
