"""The transcript: published, checked, and downloaded."""

import io
import os
import re
import resource
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Timer
from typing import Any

import pytest
import sqlalchemy as sa
from tests.console.offices import Office, fallen_behind
from tests.programme.offices import new_office
from tests.programme.public.published import lines_in

from deniable.console.pages import published
from deniable.console.pages.transcript import MOST, proposed_folder
from deniable.programme.public.folder import published_names
from deniable.programme.public.verify import verify
from deniable.programme.transcript_copies import KeyCopy, NotKeptError
from deniable.storage import tables
from deniable.storage.store import Store

PUBLISHED = (
    "programme.json",
    "transcript.jsonl",
    "checkpoint",
    "public_key.pem",
    "VERIFY.md",
    "calendar.ics",
    "index.html",
)


def test_a_longer_copy_with_other_entries_does_not_let_a_draw_be_shown(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draw was never copied; then an old database went on, and this one came back."""
    programme = office.begin()
    old = office.saved()
    office.clock.tomorrow()
    works = iter([True])
    with monkeypatch.context() as patched:
        patched.setattr(KeyCopy, "write", lambda *_: next(works, False))
        with pytest.raises(NotKeptError):
            programme.close_round(1)
    uncopied = office.saved()
    office.put_back(old)
    for target in ("Ash Mill", "Birch Works"):
        programme.override([target], "why", independent=True)
    office.put_back(uncopied)
    browser = office.browser("Otto")
    assert browser.get("/transcript/transcript.jsonl").status_code == 503
    assert "old one" in browser.get("/transcript").text


@pytest.mark.parametrize("new", ["Another Mill", "Caf\xe9"])
def test_a_record_that_the_office_did_not_sign_is_not_shown(office: Office, new: str) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    drawn = programme.close_round(1).audits[0]
    with office.console.store.writing() as connection:
        line = connection.execute(sa.select(tables.entries.c.line)).scalar_one()
        connection.execute(sa.update(tables.entries), {"line": line.replace(drawn, new)})
    browser = office.browser("Otto")
    assert browser.get("/transcript/transcript.jsonl").status_code == 503
    assert "was changed" in browser.get("/transcript").text


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
    assert "Published: the rules and 1 entry of the record" in page
    assert str(office.public) in page
    for shown in (page, browser.get("/transcript").text):  # the folder is for a technician, and folded away
        assert str(office.public) not in re.sub(r"(?s)<details>.*?</details>", "", shown)
    assert "up to date" in page
    assert "It is unchanged, the office signed it" in page
    assert verify(office.public, now=office.clock()).rounds == 1
    assert "published the public record" in office.browser("Ada").get("/activity").text


def button_after(said: str, page: str) -> bool:
    """Whether the only button that publishes stands in the box that says so."""
    box = page.partition(said)[2].partition("</div>")[0]
    return page.count("/transcript/publish") == 1 and "/transcript/publish" in box


def test_the_button_stands_where_it_is_said_that_something_is_to_be_published(office: Office) -> None:
    programme, otto = office.begin(), office.browser("Otto")
    assert button_after("Publish the rules before", otto.get("/transcript").text)
    programme.publish(office.public)
    assert "Publish again" in otto.get("/transcript").text
    programme.rename_target("Ash Mill", "Ash", "A letter.", independent=True)
    assert button_after("Not published yet: 1 entry", otto.get("/transcript").text)
    programme.override(["Birch Works"], "A hint.", independent=False)
    assert button_after("Publish now", otto.get("/transcript").text)
    (office.public / "VERIFY.md").unlink()
    page = otto.get("/transcript").text
    assert button_after("failed the check", page)
    assert "Publish now" in page


def test_a_database_that_is_older_than_what_is_published_publishes_nothing(office: Office) -> None:
    fallen_behind(office)
    page = office.browser("Otto").get("/transcript").text
    assert "cannot go on with this database" in page
    assert "/transcript/publish" not in page
    assert "up to date" not in page


def test_nothing_is_published_where_the_key_is(office: Office, tmp_path: Path) -> None:
    office.begin()
    folder = office.public
    folder.mkdir()
    shutil.copy(tmp_path / "console.key", folder / "copy")
    answer = office.browser("Otto").post("/transcript/publish")
    assert answer.status_code == 422
    assert "The key is in the public folder" in answer.text
    assert str(tmp_path) not in answer.text.partition("This did not work.")[2].partition("</div>")[0]
    assert [path.name for path in folder.iterdir()] == ["copy"]


def test_published_files_that_were_changed(office: Office) -> None:
    office.begin().publish(office.public)
    (office.public / "programme.json").write_text("{}")
    page = office.browser("Otto").get("/transcript").text
    assert "failed the check" in page
    assert "is not the one that the office published" in office.browser("Otto").get("/health").text
    refused = office.browser("Otto").post("/transcript/publish")
    assert refused.status_code == 422
    assert "put right first" in refused.text


def test_every_change_of_the_published_files_is_seen(office: Office) -> None:
    """Though the check is not made anew while nothing changes: also of those made after it was made, and taken back."""
    programme = office.begin()
    programme.publish(office.public)
    assert {*PUBLISHED} == {*published_names(programme.parameters)}
    browser = office.browser("Otto")

    def found() -> bool:
        return "unchanged, the office signed it" in browser.get("/transcript").text

    for name in PUBLISHED:
        file = office.public / name
        content = file.read_bytes()
        states = ((content, True), (content + b" ", False), (content, True), (None, False), (content, True))
        for changed, fine in states:
            if changed is None:
                file.unlink()
            else:
                file.write_bytes(changed)
            assert found() == fine, (name, changed)
    office.clock.tomorrow()
    browser.sign_in("Otto")
    assert "Round 1 is due but not in the public record" in browser.get("/transcript").text


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_file_that_is_changed_back_while_it_is_checked_is_seen(
    office: Office, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is remembered of the check belongs to the bytes that were looked at."""
    office.begin().publish(office.public)
    file = office.public / name
    content = file.read_bytes()
    file.write_bytes(content + b" ")

    def puts_back(folder: Path, now: Any) -> Any:
        file.write_bytes(content)
        try:
            return verify(folder, now=now)
        finally:
            file.write_bytes(content + b" ")

    monkeypatch.setattr(published, "verify", puts_back)
    browser = office.browser("Otto")
    for _ in range(2):
        assert "not in order" in browser.get("/transcript").text


def empty_device(path: Path) -> None:
    path.symlink_to("/dev/null")


def endless_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("put", [os.mkfifo, empty_device, endless_device, os.mkdir])
def test_no_page_waits_for_a_pipe_or_a_device_in_the_public_folder(
    office: Office, name: str, put: Callable[[Path], None]
) -> None:
    """Nor reads a device that never ends."""
    office.begin().publish(office.public)
    (office.public / name).unlink()
    put(office.public / name)
    otto = office.browser("Otto")
    with little_memory(), freed_at_last(office.public / name) as is_freed:
        for page in ("/health", "/transcript", "/round", "/guarantee"):
            answer = otto.get(page)
            assert answer.status_code == 200
            assert "in order<" not in answer.text.replace("not in order<", "")
        assert otto.post("/transcript/publish").status_code in {303, 422}
        assert not is_freed.is_set()


def test_a_page_that_reads_a_device_is_noticed(
    office: Office, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in 0.1.0, which read what a link leads to."""
    monkeypatch.setattr(published, "read_public", Path.read_bytes)
    with pytest.raises(AssertionError, match="500"):
        test_no_page_waits_for_a_pipe_or_a_device_in_the_public_folder(office, "index.html", endless_device)
    assert "MemoryError" in capsys.readouterr().err


@contextmanager
def little_memory() -> Iterator[None]:
    """No more than half a gibibyte above what is in use, so that the machine does not suffer from a bug."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**29, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextmanager
def freed_at_last(pipe: Path) -> Iterator[Event]:
    """After ten seconds, those who wait for the pipe go on, and the event is set."""
    is_freed, is_over = Event(), Event()

    def free() -> None:
        is_freed.set()
        while not is_over.wait(0.05):
            os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))

    timer = Timer(10, free)
    timer.daemon = True
    timer.start()
    try:
        yield is_freed
    finally:
        timer.cancel()
        is_over.set()


def test_the_files_of_another_programme_are_not_in_order(office: Office, tmp_path: Path) -> None:
    """A person who can write to the folder can make a whole one, with a key of their own, that checks out by itself."""
    office.begin().publish(office.public)
    (tmp_path / "other").mkdir()
    other = new_office(str(tmp_path / "other" / "programme.db"), tmp_path / "other").programme
    shutil.rmtree(office.public)
    other.publish(office.public)
    verify(office.public)
    assert "not in order" in office.browser("Otto").get("/transcript").text


def test_what_is_downloaded_is_what_is_published(office: Office, tmp_path: Path) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    programme.close_round(1)
    programme.publish(office.public)
    browser = office.browser("Otto")
    for name in ("transcript.jsonl", "programme.json", "index.html", "VERIFY.md", "public_key.pem"):
        answer = browser.get(f"/transcript/{name}")
        assert answer.content == (office.public / name).read_bytes()
        assert answer.headers["content-disposition"].startswith("attachment")
    packed = browser.get("/transcript/public.zip").content
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert lines_in(tmp_path / "unpacked" / "public") == list(
        office.console.public_records.current(programme.parameters).lines
    )
    assert browser.get("/transcript/public.zip").content == packed


@pytest.mark.parametrize("name", ["console.db", "..%2Fconsole.key", "console.key", "%2e%2e", "x"])
def test_nothing_else_can_be_downloaded(office: Office, name: str) -> None:
    office.begin()
    assert office.browser("Anna").get(f"/transcript/{name}").status_code == 404


def test_with_postgresql_the_folder_is_named_at_the_terminal() -> None:
    assert proposed_folder(Store("postgresql://office@127.0.0.1/none")) is None


def test_the_record_has_pages_and_can_be_searched(office: Office) -> None:
    programme = office.begin(targets=[f"Depot {number}" for number in range(100)])
    for number in range(60):
        programme.override([f"Depot {number}"], "A fire.", independent=True)
    programme.change_targets("New ones.", independent=True, add=[f"Elm {number}" for number in range(40)])
    otto = office.browser("Otto")

    def entries(page: str) -> list[int]:
        return [int(number) for number in re.findall(r'id="entry-(\d+)"', page)]

    first, second = otto.get("/transcript").text, otto.get("/transcript?start=25").text
    assert entries(first) == [*range(61, 36, -1)]
    assert entries(second) == [*range(36, 11, -1)]
    assert '30 more in <a href="/transcript/record.csv">record.csv</a>' in first
    assert entries(otto.get("/transcript?start=99999").text) == entries(first)
    assert entries(otto.post("/transcript/find", {"find": "DEPOT 7"}).text) == [8]
    found = otto.post("/transcript/find", {"find": "elm 39"}).text
    assert entries(found) == [61]
    assert "Elm 39" in found
    assert "Elm 39" not in first
    by_round = otto.post("/transcript/find", {"find": "1"}).text
    assert entries(by_round) == entries(first)
    assert entries(otto.post("/transcript/find", {"find": "1", "start": "25"}).text) == entries(second)
    assert "no target has this in its name" in otto.post("/transcript/find", {"find": "elsewhere"}).text
    assert max(map(len, (first, second, found))) < 60_000


def test_a_target_that_was_never_selected_is_told_from_one_that_does_not_exist(office: Office) -> None:
    programme = office.begin(targets=["Ash Mill", "Ashby Yard", *(f"Fir {number}" for number in range(30))])
    otto = office.browser("Otto")

    def looked_up(name: str) -> str:
        answer: str = otto.post("/transcript/find", {"find": name}).text
        return answer

    assert looked_up("ash").count("No draw has selected it so far") == 2
    programme.override(["Ash Mill"], "A fire.", independent=True)
    page = looked_up("ash")
    assert page.count("No draw has selected it so far") == 1
    assert "<bdi>Ashby Yard</bdi></strong> is a target" in page
    assert 'id="entry-1"' in page
    assert "Type more of the name" in looked_up("fir")
    programme.rename_target("Ash Mill", "Oak Mill", "Sold.", independent=True)
    assert "No draw has" not in looked_up("oak mill")  # it was selected under its old name
    assert "no target has this in its name" in looked_up("oak tree")


def test_where_names_follow_later_the_search_speaks_of_public_names_alone(office: Office) -> None:
    programme = office.begin(reveal_after=2)
    office.clock.tomorrow()
    otto = office.browser("Otto")
    before = otto.post("/transcript/find", {"find": "mill"}).text
    assert "No draw whose names are public" in before
    programme.close_round(1)
    for target in programme.targets():
        assert "No draw whose names are public" in otto.post("/transcript/find", {"find": target}).text


def test_a_closed_round_that_is_not_published_is_told_from_one_that_is_not_closed(office: Office) -> None:
    programme = office.begin()
    programme.publish(office.public)
    office.clock.tomorrow()
    otto = office.browser("Otto")
    assert "closed but not published" not in otto.get("/transcript").text
    programme.close_round(1)
    page = otto.get("/transcript").text
    assert "Round 1 is closed but not published yet" in page
    assert "not in the public record" not in page
    assert "Check of what is published" not in page
    assert "what is published so far" in page
    programme.publish()
    page = otto.get("/transcript").text
    assert "closed but not published" not in page
    assert ">in order<" in page
    assert (
        page.index("All that is recorded is published.") < page.index('href="/public/index.html"') < page.index("<dl")
    )
    assert page.index("<dl") < page.index("Publish again")


def test_a_round_that_is_due_is_in_order_for_what_is_published(office: Office) -> None:
    """As on Health, where Rounds asks for it."""
    office.begin().publish(office.public)
    office.clock.tomorrow()
    page = office.browser("Otto").get("/transcript").text
    assert "Round 1 is due" in page
    assert '<span class="state good">in order, with a remark<' in page


def test_a_loss_that_the_public_does_not_know_is_to_be_published_now(office: Office) -> None:
    """And one that loses nothing more is not."""
    programme, otto, warning = office.begin(), office.browser("Otto"), "still promises what was lost"
    programme.publish(office.public)
    programme.override(["Ash Mill"], "A fire.", independent=True)
    assert warning not in otto.get("/transcript?done=decided").text
    programme.override(["Ash Mill"], "A letter.", independent=False)
    for page in (otto.get("/transcript?done=decided").text, otto.get("/round").text):
        assert warning in page
    page = otto.get("/transcript?done=decided").text
    assert '<div class="box" role="status"><p>The decision is recorded' in page
    assert "lost for reports filed before" in page
    assert page.count("not published yet</span>") == 2
    programme.publish()
    programme.override(["Cedar Bank"], "A letter.", independent=False)
    page = otto.get("/transcript?done=decided").text
    assert warning not in page
    assert "The decision is recorded" in page
    assert page.count("not published yet</span>") == 1


def test_what_is_printed_says_of_what_and_when_and_which_entries(office: Office) -> None:
    programme, otto = office.begin(), office.browser("Otto")
    for _ in range(3):
        programme.override(["Ash Mill"], "A fire.", independent=True)
    page = otto.get("/transcript").text
    assert '<p class="print-head"><bdi>Site visits</bdi>, printed on <time datetime="2026-01-05">' in page
    assert "3 entries, the newest first." in page
    for _ in range(MOST):
        programme.override(["Ash Mill"], "A fire.", independent=True)
    page = otto.get("/transcript").text
    assert f"Entries 4 to {3 + MOST} of {3 + MOST}" in page
    assert "record.csv, under Download, has them all" in page
    assert f"Entries 1 to 3 of {3 + MOST}" in otto.get(f"/transcript?start={MOST}").text
