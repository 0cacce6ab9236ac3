"""Health: what it says of rounds, files, key, clock and copies, and what to do; and the backup to take away."""

import json
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from html import unescape
from pathlib import Path
from threading import Event
from typing import Any, NoReturn

import pytest
from tests.console.offices import Office, recovered

from deniable.console.help_pages import help_texts
from deniable.console.pages import health, health_checks
from deniable.console.pages.health_checks import checks_of
from deniable.languages.voice import plain
from deniable.message import noted
from deniable.programme import backup, counting, hand_over, intake, ticker
from deniable.programme.randomness.source import Dice, Drand
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.ticker import Ticker
from deniable.programme.transaction import Transaction
from deniable.programme.transcript_copies import KeyCopy


def test_health_before_there_is_a_programme(office: Office) -> None:
    page = office.browser("Ada").get("/health").text
    assert "There is no programme yet" in page
    assert "opens with its key file" in page
    assert "The terminal said where the file is" in page
    assert "console.key" not in page


def test_health_of_rounds(office: Office) -> None:
    programme = office.begin()
    assert checks(office)["Rounds"].state == "good"
    assert "not published yet" in checks(office)["Public folder"].result
    programme.publish(office.public)
    office.clock.tomorrow()
    page = office.browser("Otto").get("/health").text
    assert "Round 1 was due on" in page
    assert "Round 1 is due but not in the public record." in page
    assert checks(office)["Rounds"].command == "deniable programme close-round"
    office.clock.now += timedelta(days=2)
    page = office.browser("Otto").get("/health").text
    assert "Rounds 1 to 3 are due and not closed." in page
    programme.close_round(1)
    assert "lacks 1 entry of the record" in office.browser("Otto").get("/health").text


@dataclass(frozen=True)
class Told:
    """What Health says of one thing."""

    state: str
    result: str
    to_do: str = ""
    command: str = ""


STEPS = "<ol.*?</ol>"


def steps(page: str) -> list[str]:
    """What people do about the public files, one after the other, without tags."""
    listed = "".join(re.findall(STEPS, page.rpartition("<main")[2], re.DOTALL))
    return [re.sub("<.*?>", "", one) for one in re.findall("<li>(.*?)</li>", listed, re.DOTALL)]


def checks(office: Office) -> dict[str, Told]:
    """By what was looked at."""
    page = unescape(office.browser("Ada").get("/health").text)
    good = r'class="keep">([\w ]+)</th>.*?<bdi>(.*?)</bdi>'
    bad = r'<section class="check (\w+)".*?<h2 id="check-\d+">(.*?) <span.*?</section>'
    found = {what: Told("good", result) for what, result in re.findall(good, page)}
    for section in re.finditer(bad, page, re.DOTALL):
        result, *to_do = re.findall(r"<bdi>(.*?)</bdi>", re.sub(STEPS, "", section[0], flags=re.DOTALL))
        to_do += steps(section[0])
        command = "".join(re.findall(r"<pre><code>(.*?)</code></pre>", section[0]))
        found[section[2]] = Told(section[1], result, "".join(to_do), command)
    return found


def headline(page: str) -> str:
    return "".join(re.findall("<h1>(.*?)</h1>", page))


def test_the_headline_and_what_each_thing_has(office: Office) -> None:
    """What was found, what to do, the command, and a link to a heading of the handbook that explains it."""
    programme, ada = office.begin(), office.browser("Ada")
    page = ada.get("/health").text
    assert headline(page) == "2 things need attention"
    programme.publish(office.public)
    assert headline(ada.get("/health").text) == "One thing needs attention"
    ada.post("/health/backup")
    assert headline(ada.get("/health").text) == "All is in order"
    office.clock.now += timedelta(days=5)
    for check in checks_of(office.console, programme, plain()):
        name, _, heading = check.help.removeprefix("/help/").partition("#")
        assert heading in help_texts()[name].anchors
        assert bool(check.to_do or check.mend) == (check.state != "good")
    told = checks(office)
    assert [told[what].state for what in ("Rounds", "Clock", "Database", "Key")] == ["wrong", "warn", "good", "good"]


def test_every_check_has_its_help() -> None:
    """Also those that the tests above do not come to."""
    source = Path(health_checks.__file__).read_text()
    named = set(re.findall(r'(?:Check\(|what(?:, \w+)* = )\s*noted\("([A-Z][\w ]+)"\)', source))
    assert {"Clock", "Database", "Imports", "Frozen round", "Backup"} <= named
    assert {name.lower().replace(" ", "-") for name in named} <= help_texts()["health"].anchors


def test_the_worst_comes_first(office: Office) -> None:
    office.begin().publish(office.public)
    office.clock.now += timedelta(days=5)
    states = re.findall(r'<section class="check (\w+)"', office.browser("Otto").get("/health").text)
    assert states == sorted(states, key=["wrong", "warn"].index)
    assert {*states} == {"wrong", "warn"}


@pytest.mark.parametrize("told_by", ["the log", "the record", None])
def test_health_of_the_clock(office: Office, told_by: str | None) -> None:
    programme = office.begin()
    before = office.clock.now
    office.clock.tomorrow()
    if told_by == "the log":
        office.console.record(office.people["Otto"], noted("looked"))
    if told_by == "the record":
        programme.close_round()
    office.clock.now = before
    found = checks(office)["Clock"]
    assert found.state == ("good" if told_by is None else "wrong")
    assert "5 January 2026" in found.result
    assert bool(found.command) == (told_by is not None)


@pytest.mark.parametrize(
    ("source", "hours", "state", "words"),
    [
        (Drand(), 0, "good", "out on Tuesday 6 January 2026, 01:00 (UTC time)"),
        (Drand(), 1, "warn", "Fetch the value"),
        (Dice("The town hall"), 0, "good", "Then two of you enter the numbers"),
        (Dice("The town hall"), 1, "warn", "Two of you enter the numbers"),
        (Dice("The town hall", days=3), 24 * 3 + 1, "wrong", "more than 3 days"),
    ],
)
def test_health_of_a_round_that_waits(office: Office, source: Drand | Dice, hours: int, state: str, words: str) -> None:
    programme = office.begin(randomness=source)
    assert "Frozen round" not in checks(office)
    office.clock.now = programme.parameters.calendar.due(1)
    programme.close_round()
    office.clock.now += timedelta(hours=hours)
    found = checks(office)
    assert found["Frozen round"].state == state
    assert "Round 1 was frozen on 6 January 2026" in found["Frozen round"].result
    assert words in found["Frozen round"].result + found["Frozen round"].to_do
    assert ("Round 1 must be drawn first" in found["Rounds"].to_do) is (hours > 1)


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
    database = found["Database"]
    assert database.state == "wrong"
    assert "cannot go on" in database.result
    assert "restore a newer backup" in database.result
    assert "programme restore" in database.command
    assert str(copy.path) not in database.result
    assert "Second copy" not in found
    assert "All that is recorded is published" not in office.browser("Otto").get("/health").text


def test_health_of_a_database_that_is_not_behind(office: Office) -> None:
    """And so the check above can fail."""
    programme = office.begin()
    programme.publish(office.public)
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    programme.publish()
    found = checks(office)
    assert {found[what].state for what in ("Database", "Public folder", "Second copy")} == {"good"}


def test_health_of_a_database_that_was_restored(office: Office, tmp_path: Path) -> None:
    """Until the office has recovered, also where no copy has more than the backup."""
    programme = office.begin()
    programme.publish(office.public)
    programme.backup(tmp_path / "copy")
    backup.restore(tmp_path / "copy", str(tmp_path / "restored.db"))
    office.put_back((tmp_path / "restored.db").read_bytes())
    database = checks(office)["Database"]
    assert database.state == "wrong"
    assert "deniable programme recover" in database.result


def test_health_where_the_public_folder_is_away(office: Office) -> None:
    office.begin().publish(office.public)
    shutil.rmtree(office.public)
    found = checks(office)
    assert "Database" not in found
    assert found["Public folder"].state == "wrong"
    assert "is gone" in found["Public folder"].result
    assert str(office.public) in found["Public folder"].to_do


def told_on_transcript(office: Office) -> str:
    return "".join(steps(unescape(office.browser("Otto").get("/transcript").text)))


def lost(file: Path) -> None:
    file.unlink()


def changed(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b'"round":1', b'"rounds":1'))


def unsigned(file: Path) -> None:
    *lines, head = file.read_text().splitlines()
    signature = json.loads(head)["signature"]
    file.write_text("\n".join([*lines, head.replace(signature, signature[::-1])]) + "\n")


def test_a_round_is_closed_when_the_public_files_are_right(office: Office) -> None:
    office.begin().publish(office.public)
    office.clock.tomorrow()
    assert checks(office)["Rounds"].to_do.startswith("An operator or auditor closes it now, under Round.")
    lost(office.public / "transcript.jsonl")
    first = "Put the public files right first. Then an operator or auditor closes it, under Round."
    assert checks(office)["Rounds"].to_do.startswith(first)


@pytest.mark.parametrize("damage", [lost, changed, unsigned])
def test_a_damaged_transcript_is_one_card_and_its_instruction_works(
    office: Office, damage: Callable[[Path], None]
) -> None:
    """The same steps on both pages, each with who takes it, no word of a backup, nothing raw; and they put it right."""
    programme = office.begin()
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    programme.publish(office.public)
    file = office.public / "transcript.jsonl"
    damage(file)
    found, otto = checks(office), office.browser("Otto")
    assert "Database" not in found
    card = found["Public folder"]
    assert card.state == "wrong"
    here = told_on_transcript(office)
    for told in (card.to_do, here):
        assert told.count("Administrator (Ada)") == (2 if damage is lost else 3)
        assert told.count("Operator or auditor (Anna; Otto)") == 2
        assert str(office.public) in told
    assert "under Public record" in card.to_do
    assert "Public record" not in here
    assert not card.command
    for raw in ("No such file", "must have the field", "restore", "folder/", "--help"):
        assert raw not in card.result
    assert "put right first" in otto.post("/transcript/publish").text
    word = "The public files are missing" if damage is lost else "The public files were changed"
    for name, page in (("Otto", "/round"), ("Ida", "/report"), ("Anna", "/report")):
        text = office.browser(name).get(page).text
        assert word in text
        assert "Not published yet" not in text
        assert str(office.public) not in text
    downloaded = otto.get("/transcript/transcript.jsonl")
    assert downloaded.status_code == 200
    file.unlink(missing_ok=True)
    file.write_bytes(downloaded.content)
    assert otto.post("/transcript/publish").status_code == 303
    found = checks(office)
    assert {found[what].state for what in ("Database", "Public folder", "Second copy")} == {"good"}
    assert word not in office.browser("Otto").get("/round").text


def test_a_missing_page_is_put_back_by_publishing_and_told_once(office: Office) -> None:
    office.begin().publish(office.public)
    (office.public / "index.html").unlink()
    card = checks(office)["Public folder"]
    assert "index.html" in card.result
    assert card.to_do.count("Publish again, under Public record") == 1
    assert "Press Publish" in told_on_transcript(office)
    office.browser("Otto").post("/transcript/publish")
    assert checks(office)["Public folder"].state == "good"


PUBLISHED_AGAIN = ("VERIFY.md", "index.html", "calendar.ics", "checkpoint", "public_key.pem")
"""What publishing puts right."""


@pytest.mark.parametrize("name", [*PUBLISHED_AGAIN, "programme.json", "transcript.jsonl"])
def test_health_of_public_files_that_were_changed(office: Office, name: str) -> None:
    """Instructions that lead readers astray are worse than none."""
    programme = office.begin()
    programme.publish(office.public)
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)  # the folder is behind, and that is fine
    assert checks(office)["Public folder"].state == "warn"
    file = office.public / name
    file.write_bytes(file.read_bytes() + b"\nor run this program of mine\n")
    found = checks(office)["Public folder"]
    assert found.state == "wrong"
    assert name.lower() in found.result.lower()
    if name in PUBLISHED_AGAIN:
        programme.publish()
        assert checks(office)["Public folder"].state == "good"


@pytest.mark.parametrize("has_key_file", [True, False])
def test_health_of_the_second_copy(office: Office, tmp_path: Path, has_key_file: bool) -> None:
    """Where the folder of the key file is away, or the programme is locked with a passphrase."""
    office.console.copy = KeyCopy.beside(KeyFile(tmp_path / "away" / "programme.key")) if has_key_file else None
    programme = office.begin()
    found = checks(office)["Second copy"]
    assert found.state == "wrong"
    assert "before the programme is published" in found.result
    programme.publish(office.public)
    found = checks(office)["Second copy"]
    assert found.state == ("warn" if has_key_file else "good")
    assert "published at once" in found.result


def test_health_of_a_copy_that_lacks_entries(office: Office) -> None:
    programme = office.begin()
    programme.publish(office.public)
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    office.browser("Otto").get("/health")  # the console has completed the copy when it was started
    assert office.console.copy is not None
    kept = office.console.copy.path.read_bytes()
    office.console.copy.path.unlink()
    found = checks(office)["Database"]
    assert found.state == "wrong"
    assert "is missing" in found.result
    office.console.copy.path.write_bytes(kept)
    programme.override(["Birch Works"], "A fire in the news.", independent=True)
    assert checks(office)["Second copy"].state == "good"


def test_health_while_imports_are_paused(office: Office) -> None:
    programme = recovered(office)
    found = checks(office)["Imports"]
    assert found.state == "warn"
    assert "resume-imports" in found.command
    programme.resume_imports("All hotlines were brought once.")
    assert "Imports" not in checks(office)


def test_health_where_another_program_has_the_address_of_commands(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hand_over, "_AGAIN", 0.001)
    office.begin()
    programme, begun, listen = office.console.programme(), Event(), hand_over.Listener._listen
    assert programme is not None

    def noted(self: hand_over.Listener, opened: socket.socket) -> None:
        begun.set()
        listen(self, opened)

    monkeypatch.setattr(hand_over.Listener, "_listen", noted)
    with socket.socket(socket.AF_UNIX) as squatter:
        squatter.bind(programme._intake._where)
        programme.start_ticking()
        found = checks(office)["Commands at a terminal"]
        assert found.state == "warn"
        assert "@deniable/" in found.command
    assert begun.wait(60)
    assert "Commands at a terminal" not in checks(office)


def test_health_where_reports_cannot_be_counted(
    office: Office, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It says so with one report more as with one less, and nothing of the error."""

    def fails(_: Transaction) -> NoReturn:
        raise ValueError("three reports about Ash Mill")

    office.begin()
    programme = office.console.programme()
    assert programme is not None
    assert not programme.counting_fails()
    with monkeypatch.context() as planted:
        planted.setattr(intake, "Ticker", partial(Ticker, every=0.01))
        planted.setattr(counting, "fold", fails)
        programme.start_ticking()
        wait_until(programme.counting_fails)
        found = checks(office)
        assert found["Counting"].state == "wrong"
        assert "could not be counted yet" in found["Counting"].result
        programme.report({"Cedar Bank": 2})
        assert checks(office) | {"Clock": found["Clock"]} == found
        for name in ("Ada", "Otto"):
            assert "three reports" not in office.browser(name).get("/health").text
    assert [record.getMessage() for record in caplog.records if "counted" in record.msg] == [
        ticker._COUNTING_FAILS % "ValueError"
    ]
    wait_until(lambda: not programme.counting_fails())
    assert "Counting" not in checks(office)
    assert programme.active_counts()["Cedar Bank"] == 2


def test_health_says_nothing_of_counting_after_the_end(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.begin().end("The pilot is over.")
    programme = office.console.programme()
    assert programme is not None
    monkeypatch.setattr(intake, "Ticker", partial(Ticker, every=0.01, counted_every=0.01))
    programme.start_ticking()
    programme._intake._count()
    assert not programme.counting_fails()
    assert "Counting" not in checks(office)


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_health_of_the_key(office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    office.begin().rekey(KeyFile(tmp_path / "new.key"))
    assert "start it again" in office.browser("Otto").get("/health").text
    monkeypatch.setattr(intake.Intake, "counting_fails", lambda _: True)
    assert "could not be counted" not in office.browser("Otto").get("/health").text  # the key is why


def test_a_backup_is_taken_away(office: Office, tmp_path: Path) -> None:
    office.begin().report({"Ash Mill": 3})
    browser = office.browser("Ada")
    assert "No backup was downloaded yet" in browser.get("/health").text
    answer = browser.post("/health/backup")
    assert 'filename="deniable-2026-01-05.backup"' in answer.headers["content-disposition"]
    (tmp_path / "copy").write_bytes(answer.content)
    backup.restore(tmp_path / "copy", str(tmp_path / "restored.db"), never_published=True)
    page = browser.get("/health").text
    assert "The last backup was downloaded on 5 January 2026." in page
    office.clock.now += timedelta(days=40)
    assert "more than a month ago" in office.browser("Ada").get("/health").text
    assert "Download a backup" not in office.browser("Otto").get("/health").text


def test_a_backup_needs_no_folder_for_temporary_files(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container that folder is 64 MB of memory. What is left in the database's own is what was there before."""
    office.begin()
    folder, browser = Path(str(office.console.store.file)).parent, office.browser("Ada")
    before = {path.name for path in folder.iterdir()}
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    answer = browser.post("/health/backup")
    assert answer.status_code == 200
    assert int(answer.headers["content-length"]) == len(answer.content) > 1000
    assert {path.name for path in folder.iterdir()} == before


def test_where_a_backup_is_made(office: Office, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    database = office.console.store.file
    assert database is not None
    assert health.room_for_backups(office.console) == database.parent
    monkeypatch.setattr(type(office.console.store), "file", None)  # as of a database on a server
    office.console.copy = KeyCopy.beside(KeyFile(tmp_path / "keys" / "programme.key"))
    assert health.room_for_backups(office.console) == tmp_path / "keys"
    assert "annot write the backup" in office.browser("Ada").post("/health/backup").text
    office.console.copy = None
    assert health.room_for_backups(office.console) == Path(tempfile.gettempdir())


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


def test_an_operator_is_told_whom_to_ask_and_no_commands(office: Office) -> None:
    office.begin()
    page, of_ada = (office.browser(name).get("/health").text for name in ("Otto", "Ada"))
    assert re.search("Tell an administrator:</strong> <bdi>Ada</bdi>", page)
    assert "<pre><code>" not in page
    assert "Open Public record" in page
    folded = r'<details class="not-printed">\s*<summary>The command for the terminal</summary>\s*<pre><code>deniable '
    assert re.search(folded, of_ada)
    assert "Tell an administrator" not in of_ada


def test_after_the_end_key_and_backups_are_to_be_destroyed(office: Office) -> None:
    programme = office.begin()
    assert "Keep a copy" in office.browser("Ada").get("/health").text
    programme.end("As announced.")
    programme.publish(office.public)
    page = office.browser("Ada").get("/health").text
    for word in ("Keep a copy", "Download a backup", "downloads one"):
        assert word not in page
    assert "destroys the key, all its copies, and all backups" in page
    assert set(checks(office)) == {"Rounds", "Database", "Public folder", "When the programme is over", "Clock"}
    assert "/help/health#when-the-programme-is-over" in page
    assert "Destroy the key" in office.browser("Otto").get("/round").text


def test_an_administrator_is_told_whom_to_ask(office: Office) -> None:
    office.begin()
    office.clock.tomorrow()
    page = office.browser("Ada").get("/health").text
    assert "Tell an operator or auditor:</strong> <bdi>Anna</bdi>; <bdi>Otto</bdi>" in page
    assert "Tell an operator or auditor" not in office.browser("Otto").get("/health").text


def test_the_end_is_published_once(office: Office) -> None:
    programme = office.begin()
    programme.publish(office.public)
    programme.end("As announced.")
    assert "publishes the end" in office.browser("Ada").get("/health").text
    programme.publish(office.public)
    assert "publishes the end" not in office.browser("Ada").get("/health").text
