import io
import re
import tempfile
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from tests.console.offices import Browser, Office

from deniable.console.pages import imports
from deniable.console.pending_imports import KEPT_FOR, MOST_KEPT, PendingImports
from deniable.console.security import LARGE, MOST_UPLOADED
from deniable.errors import DeniableError
from deniable.programme.imports import Mapping, read
from deniable.programme.programme import Programme

FILE = b"id,channel\n1,Ash Mill\n2,Ash Mill\n3,Cedar Bank\n"


def preview(browser: Browser, file: bytes = FILE, mapping: bytes | None = None, **data: str) -> Any:
    files = {"file": ("export.csv", file)} | ({} if mapping is None else {"mapping": ("m.csv", mapping)})
    mapped = "names" if mapping is None else "file"
    return browser.post("/import", {"kind": "plain", "source": "hotline", "mapped": mapped, **data}, files=files)


def held(page: Any) -> str:
    found = re.search(r'name="pending" value="([^"]+)"', page.text)
    assert found is not None
    return found[1]


def told(page: Any) -> dict[str, int]:
    """The numbers that an auditor is told of a file."""
    found = re.findall(r"<dt>([^<]+)</dt><dd>(?:at most |<strong>)*([0-9,]+) reports?", page.text)
    return {what: int(number.replace(",", "")) for what, number in found}


def test_an_auditor_looks_first_and_then_counts(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Anna")
    page = preview(browser)
    assert page.status_code == 200
    assert "Confidential" in page.text
    assert told(page) == {"Counted now": 3, "Known already": 0, "Set aside": 0, "Left out on purpose": 0}
    assert sum(programme.active_counts().values()) == 0
    answer = browser.post("/import/confirm", {"pending": held(page), "step": "count"})
    assert answer.headers["location"] == "/import?done=counted"
    assert programme.active_counts()["Ash Mill"] == 2
    assert told(preview(browser)) == {"Counted now": 0, "Known already": 3, "Set aside": 0, "Left out on purpose": 0}


@pytest.mark.parametrize("name", ["Anna", "Ida"])
def test_what_was_dealt_with_before_is_never_counted(office: Office, name: str) -> None:
    programme = office.begin()
    browser = office.browser(name)
    form = {"pending": held(preview(browser)), "step": "count", "do_not_count": "yes"}
    answer = browser.post("/import/confirm", form)
    assert answer.headers["location"] == "/import?done=noted"
    assert "Nothing in it is counted, now or later." in browser.get("/import?done=noted").text
    browser.post("/import/confirm", {"pending": held(preview(browser, FILE + b"4,Ash Mill\n")), "step": "count"})
    assert programme.active_counts() == dict.fromkeys(programme.status().targets, 0) | {"Ash Mill": 1}


def test_an_importer_sees_no_number(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Ida")
    page = preview(browser)
    assert "Confidential" not in page.text
    assert told(page) == {}
    assert "Ash Mill" not in page.text
    browser.post("/import/confirm", {"pending": held(page), "step": "count"})
    assert programme.active_counts()["Ash Mill"] == 2


def test_how_much_was_imported_before_is_not_looked_at_for_an_importer(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they may not know is not worked out."""
    office.begin()
    ida, anna = office.browser("Ida"), office.browser("Anna")
    asked: list[bool] = []

    def note(*_: Any, **__: Any) -> int:
        asked.append(True)
        return 0

    monkeypatch.setattr(Programme, "import_reports", note)
    assert preview(ida).status_code == 200
    assert asked == []
    assert preview(anna).status_code == 200
    assert asked == [True]


def test_nothing_is_imported_after_the_end(office: Office) -> None:
    programme = office.begin()
    programme.end("It is over.")
    answer = preview(office.browser("Ida"))
    assert answer.status_code == 422
    assert "has ended" in answer.text


def test_a_file_is_counted_once_and_only_by_who_brought_it(office: Office) -> None:
    programme = office.begin()
    ida, anna = office.browser("Ida"), office.browser("Anna")
    name = held(preview(ida))
    stolen = anna.post("/import/confirm", {"pending": name, "step": "count"})
    assert stolen.status_code == 422
    assert "not kept any more" in stolen.text
    elsewhere = office.browser("Ida").post("/import/confirm", {"pending": name, "step": "count"})
    assert elsewhere.status_code == 422  # another session of the same person
    assert ida.post("/import/confirm", {"pending": name, "step": "count"}).status_code == 303
    assert ida.post("/import/confirm", {"pending": name, "step": "count"}).status_code == 422
    assert programme.active_counts()["Ash Mill"] == 2


def test_a_file_can_be_discarded_and_is_forgotten(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Ida")
    name = held(preview(browser))
    assert (
        browser.post("/import/confirm", {"pending": name, "step": "drop"}).headers["location"] == "/import?done=dropped"
    )
    assert browser.post("/import/confirm", {"pending": name, "step": "count"}).status_code == 422
    name = held(preview(browser))
    office.clock.now += KEPT_FOR
    assert browser.post("/import/confirm", {"pending": name, "step": "count"}).status_code == 422
    assert sum(programme.active_counts().values()) == 0


def test_a_mapping_says_which_channel_is_about_which_target(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Ida")
    mapping = b"channel,target\nnorth,Ash Mill\nsouth,Cedar Bank\ntest,\n"
    page = preview(browser, b"id,channel\n1,north\n2,south\n3,test\n", mapping)
    browser.post("/import/confirm", {"pending": held(page), "step": "count"})
    assert programme.active_counts() == {"Ash Mill": 1, "Birch Works": 0, "Cedar Bank": 1, "Dogwood Clinic": 0}


def test_other_hotlines(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Ida")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("db/messages.csv", "id,username_id\n7,1\n")
        archive.writestr("db/usernames.csv", "id,username\n1,ash\n")
    mapping = b"channel,target\nash,Ash Mill\n"
    page = preview(browser, packed.getvalue(), mapping, kind="hushline")
    assert page.status_code == 200
    browser.post("/import/confirm", {"pending": held(page), "step": "count"})
    assert programme.active_counts()["Ash Mill"] == 1


def test_a_hotline_without_reports(office: Office) -> None:
    """GlobaLeaks writes an empty file."""
    office.begin()
    browser = office.browser("Ida")
    page = preview(browser, b"", None, kind="globaleaks")
    assert page.status_code == 200
    assert browser.post("/import/confirm", {"held": held(page), "step": "count"}).status_code == 303


@pytest.mark.parametrize(
    ("file", "data", "told"),
    [
        (b"", {}, "Choose a file that is not empty"),
        (b"id,channel,text\n1,west,x\n", {}, "and no others"),
        (b"\xff\xfe", {}, "UTF-8"),
        (FILE, {"source": ""}, "Choose a hotline that you bring"),
        (FILE, {"source": "somebody else's"}, "Choose a hotline that you bring"),
        (FILE, {"kind": "evil"}, "Choose what made the file"),
        (FILE, {"kind": "hushline"}, "ZIP"),
        (FILE, {"mapped": "file"}, "mapping"),
    ],
)
def test_a_refused_file_changes_nothing_and_the_form_stays_filled(
    office: Office, file: bytes, data: dict[str, str], told: str
) -> None:
    programme = office.begin()
    answer = preview(office.browser("Ida"), file, None, **data)
    assert answer.status_code == 422
    assert told in answer.text
    assert "source" in data or '<option value="hotline" selected>' in answer.text
    assert sum(programme.active_counts().values()) == 0


def test_nothing_of_a_file_touches_the_disk(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starlette would write an upload of more than a megabyte into a temporary file."""
    office.begin()
    browser = office.browser("Ida")

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a temporary file was made")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "rollover", refuse)
    rows = (b"%d%s,Ash Mill\n" % (number, b"x" * 90) for number in range(1, 12_000))
    large = b"id,channel\n" + b"".join(rows)
    assert len(large) > 1_200_000
    assert preview(browser, large).status_code == 200


# What is set aside

ASIDE = b'id,channel\n1,Ash Mill\n2,west\n3,Ash Mill,x\n4,Cedar Bank\n5,"west\n'


@pytest.mark.parametrize("name", ["Anna", "Ida"])
def test_whoever_brings_a_file_is_told_what_cannot_count_yet_and_the_rest_counts(office: Office, name: str) -> None:
    programme = office.begin()
    browser = office.browser(name)
    page = preview(browser, ASIDE)
    assert page.status_code == 200
    assert "does not name these channels: west." in page.text
    assert "line 4 (expected 2 cells as in the first line, got 3) and line 6 (a quote" in page.text
    browser.post("/import/confirm", {"pending": held(page), "step": "count"})
    assert programme.active_counts() == {"Ash Mill": 1, "Birch Works": 0, "Cedar Bank": 1, "Dogwood Clinic": 0}
    if name == "Anna":
        assert told(page) == {"Counted now": 2, "Known already": 0, "Set aside": 3, "Left out on purpose": 0}
        mapping = b"channel,target\nAsh Mill,Ash Mill\nCedar Bank,\nwest,Birch Works\n"
        again = told(preview(browser, ASIDE, mapping))
        assert again == {"Counted now": 1, "Known already": 1, "Set aside": 2, "Left out on purpose": 1}
    assert "cannot count yet" not in preview(browser).text


def test_what_is_set_aside_is_shown_as_text(office: Office) -> None:
    office.begin()
    page = preview(office.browser("Ida"), b"id,channel\n1,<script>alert(1)</script>\n2,=HYPERLINK(1)\n")
    assert page.status_code == 200
    assert "2 not shown here" in page.text
    for quoted in ("script", "HYPERLINK"):
        assert quoted not in page.text


def test_an_importer_sees_only_the_file_they_brought_and_public_facts(office: Office) -> None:
    """The same file gives the same page whatever was counted before."""
    programme = office.begin()
    browser = office.browser("Ida")
    pages = []
    for _ in range(2):
        page = preview(browser, ASIDE)
        pages.append(page.text.replace(held(page), ""))
        programme.import_reports("hotline", [(str(number), "Ash Mill") for number in range(1, 300)])
    assert pages[0] == pages[1]


def test_a_file_that_comes_near_the_limit_is_told(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is too large is refused as a whole, so that one report more would decide about all of it."""
    monkeypatch.setattr(imports, "MOST_UPLOADED", 2 * len(FILE))
    office.begin()
    browser = office.browser("Ida")
    assert "at the terminal from now on" not in preview(browser).text
    assert "at the terminal from now on" in preview(browser, FILE + b"\n").text


def test_the_limit_is_the_one_that_is_told(office: Office) -> None:
    office.begin()
    assert LARGE["/import"] == MOST_UPLOADED == 64 * 2**20
    assert "At most 64 MB" in office.browser("Ida").get("/import").text


# After a recovery


def recovered(office: Office) -> Programme:
    """A programme that went on from a backup."""
    programme = office.begin()
    folder = office.database.parent / "public"
    programme.publish(folder)
    old = office.saved()
    programme.import_reports("hotline", [("1", "Ash Mill"), ("2", "Ash Mill")])
    programme.override(["Ash Mill"], "A fire in the news.", independent=True)
    programme.publish()
    office.put_back(old)
    programme.recover(folder, "The disk broke.")
    return programme


@pytest.mark.parametrize("name", ["Anna", "Ida"])
def test_whoever_imports_after_a_recovery_is_told_before_and_after_that_nothing_counts(
    office: Office, name: str
) -> None:
    programme = recovered(office)
    browser = office.browser(name)
    assert "Imports are paused" in browser.get("/import").text
    page = preview(browser)
    assert "Nothing in this file will count." in page.text
    assert "Counted in" not in page.text
    assert "Known already" not in page.text
    answer = browser.post("/import/confirm", {"pending": held(page), "step": "count"})
    assert answer.headers["location"] == "/import?done=paused"
    done = browser.get("/import?done=paused").text
    assert "nothing in it counts" in done
    assert "counted before was not counted again" not in done
    assert sum(programme.active_counts().values()) == 0
    programme.resume_imports("Every hotline was imported.")
    assert "paused" not in browser.get("/import").text
    longer = preview(browser, FILE + b"4,Ash Mill\n")
    assert "will count" not in longer.text
    browser.post("/import/confirm", {"pending": held(longer), "step": "count"})
    assert programme.active_counts() == dict.fromkeys(programme.status().targets, 0) | {"Ash Mill": 1}


def test_an_auditor_lets_imports_count_again_in_public(office: Office) -> None:
    programme = recovered(office)
    anna = office.browser("Anna")
    assert 'action="/import/resume"' in anna.get("/import").text
    refused = anna.post("/import/resume", {"reason": ""})
    assert refused.status_code == 422
    assert "This did not work" in refused.text
    assert programme.status().is_paused
    answer = anna.post("/import/resume", {"reason": "Every hotline was imported."})
    assert answer.headers["location"] == "/import?done=resumed"
    assert not programme.status().is_paused
    assert 'action="/import/resume"' not in anna.get("/import?done=resumed").text
    assert "Every hotline was imported." in anna.get("/transcript").text
    assert "let imports count again (entry 3)" in anna.get("/activity").text
    again = anna.post("/import/resume", {"reason": "Again."})
    assert again.status_code == 422
    assert "not paused" in again.text


def test_an_importer_does_not(office: Office) -> None:
    programme = recovered(office)
    ida = office.browser("Ida")
    assert "An auditor can end this" in ida.get("/import").text
    assert 'action="/import/resume"' not in ida.get("/import").text
    assert ida.post("/import/resume", {"reason": "x"}).status_code == 403
    assert programme.status().is_paused


# Elsewhere


def test_that_reports_came_in_is_not_in_the_log(office: Office) -> None:
    office.begin()
    browser = office.browser("Ida")
    browser.post("/import/confirm", {"pending": held(preview(browser)), "step": "count"})
    assert "Ida" not in office.browser("Ada").get("/activity").text


def batch() -> Any:
    return read("plain", io.BytesIO(FILE), Mapping({"Ash Mill": "Ash Mill", "Cedar Bank": "Cedar Bank"}))


def test_one_file_a_person_and_a_few_in_all(office: Office) -> None:
    previews = PendingImports(office.clock)
    first = previews.hold("Ida", "a", "hotline", batch())
    second = previews.hold("Ida", "b", "hotline", batch())
    assert previews.take("a", first) is None
    assert previews.take("a", second) is None
    for number in range(MOST_KEPT - 1):
        previews.hold(f"person {number}", "c", "hotline", batch())
    with pytest.raises(DeniableError, match="others are importing"):
        previews.hold("one more", "d", "hotline", batch())
    assert previews.take("b", second) is not None
    office.clock.now += KEPT_FOR + timedelta(seconds=1)
    previews.delete_expired()
    assert not previews._imports


def test_a_held_file_does_not_show_itself(office: Office) -> None:
    previews = PendingImports(office.clock)
    name = previews.hold("Ida", "session", "hotline", batch())
    assert "hotline" not in repr(previews.take("session", name))
