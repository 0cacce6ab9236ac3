"""Transcript, guarantee, health and activity."""

import io
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.console.offices import Office, recovered
from tests.programme.public.published import lines_in

from deniable.console.pages.common import read_record
from deniable.console.pages.transcript import proposed_folder
from deniable.programme import backup
from deniable.programme.public.page import render
from deniable.programme.public.verify import verify
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.transcript_copies import KeyCopy
from deniable.storage.store import Store


def public(office: Office) -> Path:
    folder = proposed_folder(office.console.store)
    assert folder is not None
    return folder


def test_the_transcript_is_published_and_checked(office: Office) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    drawn = programme.close_round(1).audits[0]
    browser = office.browser("Otto")
    page = browser.get("/transcript").text
    assert drawn in page
    assert "not published yet" in page
    assert browser.post("/transcript/publish").headers["location"] == "/transcript?done=published"
    page = browser.get("/transcript?done=published").text
    assert "Published." in page
    assert "up to date" in page
    assert "complete, unaltered, signed by the office" in page
    assert verify(public(office), now=office.clock()).rounds == 1
    assert "published the transcript" in office.browser("Ada").get("/activity").text


def test_nothing_is_published_where_the_key_is(office: Office, tmp_path: Path) -> None:
    office.begin()
    folder = public(office)
    folder.mkdir()
    shutil.copy(tmp_path / "console.key", folder / "copy")
    answer = office.browser("Otto").post("/transcript/publish")
    assert answer.status_code == 422
    assert "The key is in the public folder" in answer.text
    assert str(tmp_path) not in answer.text.partition("This did not work.")[2].partition("</div>")[0]
    assert [path.name for path in folder.iterdir()] == ["copy"]


def test_published_files_that_were_changed(office: Office) -> None:
    office.begin().publish(public(office))
    (public(office) / "programme.json").write_text("{}")
    page = office.browser("Otto").get("/transcript").text
    assert "does not check out" in page
    assert "do not check out" in office.browser("Otto").get("/health").text
    refused = office.browser("Otto").post("/transcript/publish")
    assert refused.status_code == 422
    assert "belongs to another programme" in refused.text


def test_every_change_of_the_published_files_is_seen(office: Office) -> None:
    """Though the check is not made anew while nothing changes: also of those made after it was made, and taken back."""
    office.begin().publish(public(office))
    browser = office.browser("Otto")

    def found() -> bool:
        return "unaltered, signed by the office" in browser.get("/transcript").text

    for name in ("programme.json", "transcript.jsonl", "public_key.pem"):
        file = public(office) / name
        content = file.read_bytes()
        for changed, fine in ((content, True), (content + b" ", False), (content, True), (None, None), (content, True)):
            if changed is None:
                file.unlink()
            else:
                file.write_bytes(changed)
            assert found() == (name == "public_key.pem" if fine is None else fine), (name, changed)
    page = public(office) / "index.html"
    page.write_bytes(page.read_bytes() + b" ")
    assert "is not the page that this version of deniable writes" in browser.get("/transcript").text
    office.clock.tomorrow()
    browser.sign_in("Otto")
    assert "Round 1 is due but not in the transcript" in browser.get("/transcript").text


def test_what_is_downloaded_is_what_is_published(office: Office, tmp_path: Path) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    programme.close_round(1)
    programme.publish(public(office))
    browser = office.browser("Otto")
    for name in ("transcript.jsonl", "programme.json", "index.html", "VERIFY.md", "public_key.pem"):
        answer = browser.get(f"/transcript/{name}")
        assert answer.content == (public(office) / name).read_bytes()
        assert answer.headers["content-disposition"].startswith("attachment")
    packed = browser.get("/transcript/public.zip").content
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert lines_in(tmp_path / "unpacked" / "public") == list(read_record(office.console.store).lines)
    assert browser.get("/transcript/public.zip").content == packed


@pytest.mark.parametrize("name", ["console.db", "..%2Fconsole.key", "console.key", "%2e%2e", "x"])
def test_nothing_else_can_be_downloaded(office: Office, name: str) -> None:
    office.begin()
    assert office.browser("Anna").get(f"/transcript/{name}").status_code == 404


def test_with_postgresql_the_folder_is_named_at_the_terminal() -> None:
    assert proposed_folder(Store("postgresql://office@127.0.0.1/none")) is None


def test_the_guarantee_has_the_text_of_the_public_page(office: Office) -> None:
    programme = office.begin(reports_per_person=2)
    programme.override(["Ash Mill"], "Somebody wrote to us.", independent=False)
    page = unescape(office.browser("Anna").get("/guarantee").text.split("<main")[1])
    record = read_record(office.console.store)
    world = unescape(render(programme.parameters, record.entries, record.head))
    paragraphs = [line.removeprefix("<p>").removeprefix('<p class="lead">').removesuffix("</p>")
                  for line in page.splitlines() if line.startswith(("<p>", '<p class="lead">'))]  # fmt: skip
    assert len(paragraphs) > 4
    assert all(paragraph in world for paragraph in paragraphs)
    assert programme.status().coverage.in_words() in page
    assert "between two people" in page


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
    programme.publish(public(office))
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


@pytest.mark.parametrize("newer", ["both", "the public folder", "the copy beside the key"])
def test_health_of_a_database_that_is_behind(office: Office, newer: str) -> None:
    programme = office.begin()
    programme.publish(public(office))
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
    programme.publish(public(office))
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    programme.publish()
    found = checks(office)
    assert "Database" not in found
    assert found["Publication"][:2] == found["Second copy"][:2] == ("good", "up to date")


def test_health_where_the_public_folder_is_away(office: Office) -> None:
    office.begin().publish(public(office))
    shutil.rmtree(public(office))
    state, _, details = checks(office)["Database"]
    assert state == "wrong"
    assert "put it back" in details


@pytest.mark.parametrize("has_key_file", [True, False])
def test_health_of_the_second_copy(office: Office, tmp_path: Path, has_key_file: bool) -> None:
    """Where the folder of the key file is away, or the programme is locked with a passphrase."""
    office.console.copy = KeyCopy.beside(KeyFile(tmp_path / "away" / "programme.key")) if has_key_file else None
    programme = office.begin()
    state, _, details = checks(office)["Second copy"]
    assert state == "wrong"
    assert "before the programme is published" in details
    programme.publish(public(office))
    state, _, details = checks(office)["Second copy"]
    assert state == ("warn" if has_key_file else "good")
    assert "published at once" in details


def test_health_of_a_copy_that_lacks_entries(office: Office) -> None:
    programme = office.begin()
    programme.publish(public(office))
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


def test_activity_has_days_and_no_times(office: Office) -> None:
    office.begin()
    office.clock.tomorrow()
    office.browser("Otto").post("/round/close", {"round": "1"})
    page = office.browser("Anna").get("/activity").text
    assert "6 January 2026" in page
    assert "12:0" not in page
    assert "Nothing yet." not in page
