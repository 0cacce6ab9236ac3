"""The transcript: published, checked, and downloaded."""

import io
import shutil
import zipfile
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.console.offices import Office
from tests.programme.public.published import lines_in

from deniable.console.pages.common import read_record
from deniable.console.pages.transcript import proposed_folder
from deniable.programme.public.verify import verify
from deniable.programme.transcript_copies import KeyCopy, NotKeptError
from deniable.storage import tables
from deniable.storage.store import Store


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
    assert "Published." in page
    assert "up to date" in page
    assert "complete, unaltered, signed by the office" in page
    assert verify(office.public, now=office.clock()).rounds == 1
    assert "published the transcript" in office.browser("Ada").get("/activity").text


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
    assert "does not check out" in page
    assert "do not check out" in office.browser("Otto").get("/health").text
    refused = office.browser("Otto").post("/transcript/publish")
    assert refused.status_code == 422
    assert "belongs to another programme" in refused.text


def test_every_change_of_the_published_files_is_seen(office: Office) -> None:
    """Though the check is not made anew while nothing changes: also of those made after it was made, and taken back."""
    office.begin().publish(office.public)
    browser = office.browser("Otto")

    def found() -> bool:
        return "unaltered, signed by the office" in browser.get("/transcript").text

    for name in ("programme.json", "transcript.jsonl", "public_key.pem"):
        file = office.public / name
        content = file.read_bytes()
        for changed, fine in ((content, True), (content + b" ", False), (content, True), (None, None), (content, True)):
            if changed is None:
                file.unlink()
            else:
                file.write_bytes(changed)
            assert found() == (name == "public_key.pem" if fine is None else fine), (name, changed)
    page = office.public / "index.html"
    page.write_bytes(page.read_bytes() + b" ")
    assert "is not the page that this version of deniable writes" in browser.get("/transcript").text
    office.clock.tomorrow()
    browser.sign_in("Otto")
    assert "Round 1 is due but not in the transcript" in browser.get("/transcript").text


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
    assert lines_in(tmp_path / "unpacked" / "public") == list(read_record(office.console.store).lines)
    assert browser.get("/transcript/public.zip").content == packed


@pytest.mark.parametrize("name", ["console.db", "..%2Fconsole.key", "console.key", "%2e%2e", "x"])
def test_nothing_else_can_be_downloaded(office: Office, name: str) -> None:
    office.begin()
    assert office.browser("Anna").get(f"/transcript/{name}").status_code == 404


def test_with_postgresql_the_folder_is_named_at_the_terminal() -> None:
    assert proposed_folder(Store("postgresql://office@127.0.0.1/none")) is None
