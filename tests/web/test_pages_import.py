import io
import re
import tempfile
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from tests.web.offices import Browser, Office

from deniable.errors import DeniableError
from deniable.programme.importers import Mapping, read
from deniable.programme.ledger import Programme
from deniable.web.previews import KEPT_FOR, MOST_KEPT, Previews

FILE = b"id,channel\n1,Ash Mill\n2,Ash Mill\n3,Cedar Bank\n"


def preview(browser: Browser, file: bytes = FILE, mapping: bytes | None = None, **data: str) -> Any:
    files = {"file": ("export.csv", file)} | ({} if mapping is None else {"mapping": ("m.csv", mapping)})
    mapped = "names" if mapping is None else "file"
    return browser.post("/import", {"kind": "plain", "source": "hotline", "mapped": mapped, **data}, files=files)


def held(page: Any) -> str:
    found = re.search(r'name="held" value="([^"]+)"', page.text)
    assert found is not None
    return found[1]


def test_an_auditor_looks_first_and_then_counts(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Anna")
    page = preview(browser)
    assert page.status_code == 200
    assert "Confidential" in page.text
    assert "3 reports in the file" in page.text
    assert "3 would be new" in page.text
    assert sum(programme.active_counts().values()) == 0
    answer = browser.post("/import/confirm", {"held": held(page), "step": "count"})
    assert answer.headers["location"] == "/import?done=counted"
    assert programme.active_counts()["Ash Mill"] == 2
    assert "0 would be new" in preview(browser).text


@pytest.mark.parametrize("name", ["Anna", "Ida"])
def test_what_was_dealt_with_before_is_never_counted(office: Office, name: str) -> None:
    programme = office.begin()
    browser = office.browser(name)
    form = {"held": held(preview(browser)), "step": "count", "mark_only": "yes"}
    answer = browser.post("/import/confirm", form)
    assert answer.headers["location"] == "/import?done=marked"
    assert "Nothing in it is counted, now or later." in browser.get("/import?done=marked").text
    browser.post("/import/confirm", {"held": held(preview(browser, FILE + b"4,Ash Mill\n")), "step": "count"})
    assert programme.active_counts() == dict.fromkeys(programme.status().targets, 0) | {"Ash Mill": 1}


def test_an_importer_sees_no_number(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Ida")
    page = preview(browser)
    assert "Confidential" not in page.text
    assert "would be new" not in page.text
    assert "Ash Mill" not in page.text
    browser.post("/import/confirm", {"held": held(page), "step": "count"})
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
    stolen = anna.post("/import/confirm", {"held": name, "step": "count"})
    assert stolen.status_code == 422
    assert "not kept any more" in stolen.text
    elsewhere = office.browser("Ida").post("/import/confirm", {"held": name, "step": "count"})
    assert elsewhere.status_code == 422  # another session of the same person
    assert ida.post("/import/confirm", {"held": name, "step": "count"}).status_code == 303
    assert ida.post("/import/confirm", {"held": name, "step": "count"}).status_code == 422
    assert programme.active_counts()["Ash Mill"] == 2


def test_a_file_can_be_discarded_and_is_forgotten(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Ida")
    name = held(preview(browser))
    assert browser.post("/import/confirm", {"held": name, "step": "drop"}).headers["location"] == "/import?done=dropped"
    assert browser.post("/import/confirm", {"held": name, "step": "count"}).status_code == 422
    name = held(preview(browser))
    office.clock.now += KEPT_FOR
    assert browser.post("/import/confirm", {"held": name, "step": "count"}).status_code == 422
    assert sum(programme.active_counts().values()) == 0


def test_a_mapping_says_which_channel_is_about_which_target(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Ida")
    mapping = b"channel,target\nnorth,Ash Mill\nsouth,Cedar Bank\ntest,\n"
    page = preview(browser, b"id,channel\n1,north\n2,south\n3,test\n", mapping)
    browser.post("/import/confirm", {"held": held(page), "step": "count"})
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
    browser.post("/import/confirm", {"held": held(page), "step": "count"})
    assert programme.active_counts()["Ash Mill"] == 1


@pytest.mark.parametrize(
    ("file", "data", "told"),
    [
        (b"", {}, "Choose a file that is not empty"),
        (b"id,channel\n1,west\n", {}, "does not name these channels of the export: west"),
        (b"\xff\xfe", {}, "UTF-8"),
        (b"id,channel\n1,Ash Mill\n1,Cedar Bank\n", {}, "comes twice"),
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
    rows = (b"%d%s,%d,Ash Mill\n" % (number, b"x" * 90, number) for number in range(1, 12_000))
    large = b"id,sequence,channel\n" + b"".join(rows)
    assert len(large) > 1_200_000
    assert preview(browser, large).status_code == 200


def test_that_reports_came_in_is_not_in_the_log(office: Office) -> None:
    office.begin()
    browser = office.browser("Ida")
    browser.post("/import/confirm", {"held": held(preview(browser)), "step": "count"})
    browser.post("/report", {"target": "Ash Mill", "number": "3"})
    assert "Ida" not in office.browser("Ada").get("/activity").text


def batch() -> Any:
    return read("plain", io.BytesIO(FILE), Mapping({"Ash Mill": "Ash Mill", "Cedar Bank": "Cedar Bank"}))


def test_one_file_a_person_and_a_few_in_all(office: Office) -> None:
    previews = Previews(office.clock)
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
    previews.sweep()
    assert not previews._held


def test_a_held_file_does_not_show_itself(office: Office) -> None:
    previews = Previews(office.clock)
    name = previews.hold("Ida", "session", "hotline", batch())
    assert "hotline" not in repr(previews.take("session", name))
