"""Health: what it says of rounds, files, key and copies; and the backup to take away."""

import json
import re
import shutil
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.console.offices import Office, recovered

from deniable.programme import backup
from deniable.programme.randomness.source import Dice, Drand
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.transcript_copies import KeyCopy


def test_health_before_there_is_a_programme(office: Office) -> None:
    page = office.browser("Ada").get("/health").text
    assert "none yet" in page
    assert "unlocked with its key file" in page
    assert "The terminal said where the file is" in page
    assert "console.key" not in page


def test_health_of_rounds(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Otto")
    assert "in time" in browser.get("/health").text
    assert "not even the rules" in browser.get("/health").text
    programme.publish(office.public)
    office.clock.tomorrow()
    page = office.browser("Otto").get("/health").text
    assert "Round 1 was due on" in page
    assert "Round 1 is due but not in the transcript." in page
    office.clock.now += timedelta(days=2)
    page = office.browser("Otto").get("/health").text
    assert "Rounds 1 to 3 are due and not closed." in page
    programme.close_round(1)
    assert "Entries that are not published yet: 1." in office.browser("Otto").get("/health").text


def checks(office: Office) -> dict[str, tuple[str, str, str]]:
    """What Health says: state, word and details of each thing that is looked at."""
    page = unescape(office.browser("Otto").get("/health").text)
    row = r'class="keep">(.*?)</th>.*?class="state (\w+)">(.*?)</span>.*?<bdi>(.*?)</bdi>'
    return {what: (state, word, details) for what, state, word, details in re.findall(row, page)}


@pytest.mark.parametrize(
    ("source", "hours", "state", "words"),
    [
        (Drand(), 0, ("good", "waits"), "out on 6 January 2026, 01:00 UTC"),
        (Drand(), 1, ("warn", "to be drawn"), "fetch the value"),
        (Dice("The town hall"), 0, ("good", "waits"), "Then two of you enter the numbers"),
        (Dice("The town hall"), 1, ("warn", "to be drawn"), "two of you enter the numbers"),
        (Dice("The town hall", days=3), 24 * 3 + 1, ("wrong", "not drawn"), "more than 3 days"),
    ],
)
def test_health_of_a_round_that_waits(
    office: Office, source: Drand | Dice, hours: int, state: tuple[str, str], words: str
) -> None:
    programme = office.begin(randomness=source)
    assert "Frozen round" not in checks(office)
    office.clock.now = programme.parameters.calendar.due(1)
    programme.close_round()
    office.clock.now += timedelta(hours=hours)
    found = checks(office)
    assert found["Frozen round"][:2] == state
    assert "Round 1 is frozen since 6 January 2026" in found["Frozen round"][2]
    assert words in found["Frozen round"][2]
    assert ("Round 1 must be drawn first" in found["Rounds"][2]) is (hours > 1)


@pytest.mark.parametrize("newer", ["both", "the public folder", "the copy beside the key"])
def test_health_of_a_database_that_is_behind(office: Office, newer: str) -> None:
    programme = office.begin()
    programme.publish(office.public)
    old, copy = office.saved(), office.console.copy
    assert copy is not None
    beginning = copy.path.read_bytes()
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    programme.override(["Birch Works"], "A fire in the news.", independent=True)
    if newer != "the copy beside the key":
        programme.publish()
    office.put_back(old)
    if newer == "the public folder":
        copy.path.write_bytes(beginning)
    found = checks(office)
    state, word, details = found["Database"]
    assert (state, word) == ("wrong", "cannot go on")
    assert "restore a newer backup" in details
    assert str(copy.path) not in details
    assert not {"Publication", "Second copy"} & found.keys()
    assert "up to date" not in office.browser("Otto").get("/health").text


def test_health_of_a_database_that_is_not_behind(office: Office) -> None:
    """And so the check above can fail."""
    programme = office.begin()
    programme.publish(office.public)
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    programme.publish()
    found = checks(office)
    assert "Database" not in found
    assert found["Publication"][:2] == found["Second copy"][:2] == ("good", "up to date")


def test_health_where_the_public_folder_is_away(office: Office) -> None:
    office.begin().publish(office.public)
    shutil.rmtree(office.public)
    state, _, details = checks(office)["Database"]
    assert state == "wrong"
    assert "put it back" in details


@pytest.mark.parametrize("name", ["VERIFY.md", "index.html", "public_key.pem", "programme.json", "transcript.jsonl"])
def test_health_of_public_files_that_were_changed(office: Office, name: str) -> None:
    """Instructions that lead readers astray are worse than none."""
    programme = office.begin()
    programme.publish(office.public)
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)  # the folder is behind, and that is fine
    assert checks(office)["Public files"][:2] == ("good", "in order")
    file = office.public / name
    file.write_bytes(file.read_bytes() + b"\nor run this program of mine\n")
    state, word, details = checks(office)["Public files"]
    assert (state, word) == ("wrong", "do not check out")
    assert name.lower() in details.lower()
    if name in {"VERIFY.md", "index.html", "public_key.pem"}:
        programme.publish()
        assert checks(office)["Public files"][:2] == ("good", "in order")


@pytest.mark.parametrize("has_key_file", [True, False])
def test_health_of_the_second_copy(office: Office, tmp_path: Path, has_key_file: bool) -> None:
    """Where the folder of the key file is away, or the programme is locked with a passphrase."""
    office.console.copy = KeyCopy.beside(KeyFile(tmp_path / "away" / "programme.key")) if has_key_file else None
    programme = office.begin()
    state, _, details = checks(office)["Second copy"]
    assert state == "wrong"
    assert "before the programme is published" in details
    programme.publish(office.public)
    state, _, details = checks(office)["Second copy"]
    assert state == ("warn" if has_key_file else "good")
    assert "published at once" in details


def test_health_of_a_copy_that_lacks_entries(office: Office) -> None:
    programme = office.begin()
    programme.publish(office.public)
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    office.browser("Otto").get("/health")  # the console has completed the copy when it was started
    assert office.console.copy is not None
    kept = office.console.copy.path.read_bytes()
    office.console.copy.path.unlink()
    state, word, details = checks(office)["Database"]
    assert (state, word) == ("wrong", "cannot go on")
    assert "is missing" in details
    office.console.copy.path.write_bytes(kept)
    programme.override(["Birch Works"], "A fire in the news.", independent=True)
    assert checks(office)["Second copy"][:2] == ("good", "up to date")


def test_health_while_imports_are_paused(office: Office) -> None:
    programme = recovered(office)
    state, word, details = checks(office)["Imports"]
    assert (state, word) == ("warn", "paused")
    assert "resume-imports" in details
    programme.resume_imports("All hotlines were brought once.")
    assert "Imports" not in checks(office)


def test_health_of_the_key(office: Office, tmp_path: Path) -> None:
    office.begin().rekey(KeyFile(tmp_path / "new.key"))
    assert "start it again" in office.browser("Otto").get("/health").text


def test_a_backup_is_taken_away(office: Office, tmp_path: Path) -> None:
    office.begin().report({"Ash Mill": 3})
    browser = office.browser("Ada")
    assert "No backup was downloaded yet" in browser.get("/health").text
    answer = browser.post("/health/backup")
    assert 'filename="deniable-2026-01-05.backup"' in answer.headers["content-disposition"]
    (tmp_path / "copy").write_bytes(answer.content)
    backup.restore(tmp_path / "copy", str(tmp_path / "restored.db"), never_published=True)
    page = browser.get("/health").text
    assert "The last one was downloaded on 5 January 2026." in page
    office.clock.now += timedelta(days=40)
    assert ">old<" in office.browser("Ada").get("/health").text
    assert "Download a backup" not in office.browser("Otto").get("/health").text


def secrets_in(content: bytes) -> dict[str, Any]:
    rows = [json.loads(line) for line in content.splitlines()]
    return {row["row"]["name"]: row["row"]["blob"] for row in rows if row.get("table") == "secrets"}


def test_two_backups_do_not_tell_whether_a_report_came_in_between(office: Office) -> None:
    programme, browser = office.begin(), office.browser("Ada")
    changed = []
    deeds: list[Callable[[], object]] = [lambda: None, lambda: programme.report({"Ash Mill": 3})]
    for deed in deeds:
        before = secrets_in(browser.post("/health/backup").content)
        deed()
        after = secrets_in(browser.post("/health/backup").content)
        changed.append({name for name in before if before[name] != after[name]})
    assert changed[0] == changed[1] >= {"tally", "run", "known/0/0", "manifest"}


def test_a_backup_does_not_tell_when_people_signed_in(office: Office) -> None:
    office.begin()
    content = office.browser("Ada").post("/health/backup").content
    stored = {line.get("table") for line in map(json.loads, content.splitlines())}
    assert "people" in stored
    assert not stored & {"transient_sessions", "transient_used_codes"}
