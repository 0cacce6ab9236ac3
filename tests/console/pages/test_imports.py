"""A hotline's export is looked at, and then counted or forgotten; files that are not what they say are refused."""

import asyncio
import io
import re
import secrets
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import sqlalchemy as sa
from tests.console.offices import FILE, Browser, Office, pending_on, preview
from tests.programme.imports import exports

from deniable.console import tables
from deniable.console.pages import imports, recent_imports
from deniable.console.pending_imports import KEPT_FOR
from deniable.console.security import LARGE, MOST_UPLOADED
from deniable.errors import DeniableError
from deniable.message import noted
from deniable.programme import buffer, intake
from deniable.programme.hotlines import Hotlines
from deniable.programme.imports import EXPORTS, Malformed, read
from deniable.programme.imports.which_rows_count import MOST_DISTINCT
from deniable.programme.programme import Programme
from deniable.programme.ticker import Ticker
from deniable.report_classes import parsed


def told(page: Any) -> dict[str, int]:
    """The numbers that an auditor is told of a file."""
    found = re.findall(r"<dt>([^<]+)</dt><dd>(?:at most |<strong>)*([0-9,]+) reports?", page.text)
    return {what: int(number.replace(",", "")) for what, number in found}


NONE = {"Will count": 0, "Counted before": 0, "Not assigned yet": 0, "Left out on purpose": 0, "Cannot be read": 0}


def test_where_nothing_will_count_the_preview_says_why(office: Office) -> None:
    """And asks nothing of a file in which all was counted before."""
    office.begin()
    anna, first = office.browser("Anna"), "Only for the first file of a hotline"
    page = preview(anna)
    assert first in page.text
    anna.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
    page = preview(anna)
    assert "You can discard it." in page.text
    assert "<li>3 reports counted before</li>" in page.text
    assert first not in page.text
    page = preview(anna, FILE + b",Ash Mill\n9,west\n", b"channel,target\nAsh Mill,Ash Mill\nwest,\n")
    assert "<li>1 report left out on purpose</li>" in page.text
    assert "<li>1 report that cannot be read</li>" in page.text
    assert first in page.text


def test_a_file_without_new_reports_can_be_imported_like_any_other(office: Office) -> None:
    """A person who watches the database sees that a file is confirmed. An auditor who could not confirm this one would
    tell them that nothing in it is new.
    """
    programme = office.begin()
    anna = office.browser("Anna")
    anna.post("/import/confirm", {"pending": pending_on(preview(anna).text), "step": "count"})
    before = programme.active_counts()
    unread = FILE.replace(b"Ash Mill", b"").replace(b"Cedar Bank", b"")
    for file in (FILE, unread):
        page = preview(anna, file).text
        assert told_buttons(page) == ["Discard the file", "Import these reports"]
        assert main_buttons(page) == ["Discard the file"]
        assert "If you import on a fixed schedule, import this file, too. No count changes" in page
        answer = anna.post("/import/confirm", {"pending": pending_on(page), "step": "count"})
        assert answer.headers["location"] == "/import?done=counted"
        assert programme.active_counts() == before
    assert "on a fixed schedule" not in preview(anna, FILE + b"4,Ash Mill\n").text


def test_who_chooses_a_file_says_what_made_it(office: Office) -> None:
    office.begin()
    ida = office.browser("Ida")
    assert '<option value="" selected>Choose…</option>' in ida.get("/import").text
    page = preview(ida, kind="").text
    assert "Choose what made the file." in page
    assert "When the file is right, choose it again below." in page


def test_an_auditor_looks_first_and_then_counts(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Anna")
    page = preview(browser)
    assert page.status_code == 200
    assert "Confidential" in page.text
    assert "3 reports will count if you import this file:" in page.text
    assert re.findall(r"<li>([^<]+)<bdi>([^<]+)</bdi></li>", page.text) == [
        ("2 reports about ", "Ash Mill"),
        ("1 report about ", "Cedar Bank"),
    ]
    assert told(page) == NONE | {"Will count": 3}
    assert sum(programme.active_counts().values()) == 0
    answer = browser.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
    assert answer.headers["location"] == "/import?done=counted"
    assert programme.active_counts()["Ash Mill"] == 2
    again = preview(browser)
    assert "No report in this file will count." in again.text
    assert told(again) == NONE | {"Counted before": 3}
    assert main_buttons(page.text) == ["Import these reports"]
    assert main_buttons(again.text) == ["Discard the file"]


def main_buttons(page: str) -> list[str]:
    """Those that stand out."""
    return re.findall(r"<button(?! class)[^>]*>([^<]+)</button>", page.partition("<h1>")[2])


def told_buttons(page: str) -> list[str]:
    """Those that decide about the file."""
    return re.findall(r'<button[^>]* name="step" value="(?:count|drop)">([^<]+)</button>', page)


def new_channels(page: str) -> list[str]:
    """Those that are to be assigned."""
    return re.findall(r'<bdi>([^<]*)</bdi> <span class="state warn">new</span>', page)


def test_where_a_channel_is_new_saving_comes_first(office: Office) -> None:
    office.begin()
    for name in ("Ida", "Anna"):
        page = preview(office.browser(name), b"id,channel\n1,Ash Mill\n2,north\n").text
        assert main_buttons(page) == ["Save and preview again"]
        assert "Something in this file is new" in page or name == "Anna"


@pytest.mark.parametrize(
    ("file", "told"),
    [
        (FILE, "when the import becomes final"),
        (FILE + b"9,north\n", "not all of it counts yet"),
        (FILE + b",Ash Mill\n", "not all of it counts yet"),
    ],
)
def test_the_page_says_whether_the_file_is_still_needed(office: Office, file: bytes, told: str) -> None:
    office.begin()
    ida = office.browser("Ida")
    done = ida.post("/import/confirm", {"pending": pending_on(preview(ida, file).text), "step": "count"})
    assert told in ida.get(done.headers["location"]).text


def test_the_file_is_destroyed_when_its_import_is_final(office: Office) -> None:
    programme, ida, now = office.begin(), office.browser("Ida"), "can destroy the file now"
    done = ida.post("/import/confirm", {"pending": pending_on(preview(ida).text), "step": "count"})
    assert now not in ida.get(done.headers["location"]).text
    programme.renew()  # counts what came in
    page = ida.get(done.headers["location"]).text
    assert now in page
    assert "taken back" not in page


def test_what_can_be_taken_back_stands_below_the_form_where_a_file_is_refused(office: Office) -> None:
    office.begin()
    ida = office.browser("Ida")
    ida.post("/import/confirm", {"pending": pending_on(preview(ida).text), "step": "count"})
    form, taken_back = 'id="file"', "/import/take-back"
    page, refused = ida.get("/import").text, preview(ida, b"PK\x03\x04").text
    assert page.index(taken_back) < page.index(form)
    assert refused.index(form) < refused.index(taken_back)


def test_a_file_holds_up_no_page_however_small_it_is(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """60 KB can have 16,000 rows, which take a tenth of a second."""
    office.begin()
    on_the_loop = list[bool]()

    def noted(*args: Any, **limits: Any) -> Any:
        on_the_loop.append(asyncio._get_running_loop() is not None)
        return read(*args, **limits)

    monkeypatch.setattr(imports, "read", noted)
    assert preview(office.browser("Anna")).status_code == 200
    assert on_the_loop == [False]


def uploaded(browser: Browser, name: str, **data: str) -> Any:
    """The page after an import of a file with this name."""
    form = {"kind": "csv", "source": "hotline"}
    page = browser.post("/import", form, files={"file": (name, FILE)})
    sent = browser.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"} | data)
    return browser.get(sent.headers["location"])


@pytest.mark.parametrize("name", ["Anna", "Ida"])
def test_what_was_imported_is_named(office: Office, name: str) -> None:
    office.begin()
    browser = office.browser(name)
    said = "The file <bdi>{}</bdi> is imported. What was counted before"
    assert said.format("Mai &lt;b&gt;&amp;Söhne.csv") in uploaded(browser, "Mai <b>&So\u0308hne.csv").text
    noted = uploaded(browser, "June.csv", step="note").text
    assert "The file <bdi>June.csv</bdi> is noted. Nothing in it is counted" in noted
    assert "The file <bdi>June.csv" not in browser.get("/import").text
    for file in ("Mai &lt;b&gt;&amp;Söhne.csv", "June.csv"):  # beside the button that takes it back
        assert f"You can still take back the file <bdi>{file}</bdi>: import" in noted
    assert "June.csv" not in office.browser("Anna" if name == "Ida" else "Ida").get("/import?done=noted").text
    office.clock.now += KEPT_FOR
    assert "The file is noted." in (later := browser.get("/import?done=noted").text)
    assert "June.csv" not in later


@pytest.mark.parametrize("file", ["x" * 201, "a\u202eb.csv", "a\u2800.csv"])
def test_a_name_that_cannot_be_shown_is_left_out(office: Office, file: str) -> None:
    office.begin()
    shown = uploaded(office.browser("Ida"), file).text
    assert "The file is imported." in shown
    assert file not in shown


@pytest.mark.parametrize("name", ["Anna", "Ida"])
def test_what_was_dealt_with_before_is_never_counted(office: Office, name: str) -> None:
    programme = office.begin()
    browser = office.browser(name)
    form = {"pending": pending_on(preview(browser).text), "step": "note"}
    answer = browser.post("/import/confirm", form)
    assert answer.headers["location"] == "/import?done=noted"
    assert "Nothing in it is counted, now or later." in browser.get("/import?done=noted").text
    browser.post(
        "/import/confirm", {"pending": pending_on(preview(browser, FILE + b"4,Ash Mill\n").text), "step": "count"}
    )
    assert programme.active_counts() == dict.fromkeys(programme.status().targets, 0) | {"Ash Mill": 1}


def test_an_importer_sees_no_number(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Ida")
    page = preview(browser)
    assert "Confidential" not in page.text
    assert told(page) == {}
    assert "Ash Mill" not in page.text
    browser.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
    assert programme.active_counts()["Ash Mill"] == 2


def test_how_much_was_imported_before_is_not_looked_at_for_an_importer(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they may not know is not worked out."""
    office.begin()
    ida, anna = office.browser("Ida"), office.browser("Anna")
    asked: list[bool] = []
    honest = Hotlines.look

    def note(*args: Any) -> Any:
        asked.append(True)
        return honest(*args)

    monkeypatch.setattr(Hotlines, "look", note)
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
    name = pending_on(preview(ida).text)
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
    name = pending_on(preview(browser).text)
    assert (
        browser.post("/import/confirm", {"pending": name, "step": "drop"}).headers["location"] == "/import?done=dropped"
    )
    assert browser.post("/import/confirm", {"pending": name, "step": "count"}).status_code == 422
    name = pending_on(preview(browser).text)
    office.clock.now += KEPT_FOR
    assert browser.post("/import/confirm", {"pending": name, "step": "count"}).status_code == 422
    assert sum(programme.active_counts().values()) == 0


def test_a_mapping_says_which_channel_is_about_which_target(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Ida")
    mapping = b"channel,target\nnorth,Ash Mill\nsouth,Cedar Bank\ntest,\n"
    page = preview(browser, b"id,channel\n1,north\n2,south\n3,test\n", mapping)
    browser.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
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
    browser.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
    assert programme.active_counts()["Ash Mill"] == 1


def test_a_hotline_without_reports(office: Office) -> None:
    """GlobaLeaks writes an empty file."""
    office.begin()
    browser = office.browser("Ida")
    page = preview(browser, b"", None, kind="globaleaks")
    assert page.status_code == 200
    assert browser.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"}).status_code == 303


@pytest.mark.parametrize(
    ("file", "data", "told"),
    [
        (b"", {}, "The file is empty. If no report came in, there is nothing to import."),
        (b"1,west\n2,west\n", {}, "The first line has no column names: the CSV file must have the columns"),
        (b"id,channel,text\n1,west,x\n", {}, "and no others"),
        (b"\xff\xff", {}, "a letter cannot be read"),
        (b"%PDF-1.7\n", {}, "This is not a CSV file"),
        (b'[{"id": "7"}]', {}, "looks like JSON; if it comes from GlobaLeaks"),
        (b"%PDF-1.7\n", {"kind": "globaleaks"}, "This is not a CSV or JSON file"),
        (FILE, {"source": ""}, "Choose a hotline that is assigned to you"),
        (FILE, {"source": "somebody else's"}, "Choose a hotline that is assigned to you"),
        (FILE, {"kind": "evil"}, "Choose what made the file"),
        (FILE, {"kind": "hushline"}, "ZIP"),
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
    assert "<details open>" in answer.text
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


ASIDE = b'id,channel\n1,Ash Mill\n2,west\n3,Ash Mill,x\n4,Cedar Bank\n5,"west\n'


@pytest.mark.parametrize("name", ["Anna", "Ida"])
def test_whoever_brings_a_file_is_told_what_cannot_count_yet_and_the_rest_counts(office: Office, name: str) -> None:
    programme = office.begin()
    browser = office.browser(name)
    page = preview(browser, ASIDE)
    assert page.status_code == 200
    assert 'name="channel-0" value="west"' in page.text
    assert "Line 4: the first line has 2 cells, and this line has 3." in page.text
    assert "Line 6: a quote" in page.text
    browser.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
    assert programme.active_counts() == {"Ash Mill": 1, "Birch Works": 0, "Cedar Bank": 1, "Dogwood Clinic": 0}
    if name == "Anna":
        assert told(page) == NONE | {"Will count": 2, "Not assigned yet": 1, "Cannot be read": 2}
        mapping = b"channel,target\nAsh Mill,Ash Mill\nCedar Bank,\nwest,Birch Works\n"
        again = told(preview(browser, ASIDE, mapping))
        assert again == NONE | {"Will count": 1, "Counted before": 1, "Cannot be read": 2, "Left out on purpose": 1}
    assert "Assign what is new" not in preview(browser).text


def test_what_is_set_aside_is_shown_as_text(office: Office) -> None:
    office.begin()
    page = preview(office.browser("Ida"), b"id,channel\n1,<script>alert(1)</script>\n2,=HYPERLINK(1)\n")
    assert page.status_code == 200
    assert "2 more new channels cannot be shown here" in page.text
    for quoted in ("script", "HYPERLINK"):
        assert quoted not in page.text


def test_an_importer_sees_only_the_file_they_brought_and_public_facts(office: Office) -> None:
    """The same file gives the same page whatever was counted before."""
    programme = office.begin()
    browser = office.browser("Ida")
    pages = []
    for _ in range(2):
        page = preview(browser, ASIDE)
        pages.append(page.text.replace(pending_on(page.text), ""))
        programme.import_reports("hotline", [(str(number), "Ash Mill") for number in range(1, 300)])
    assert pages[0] == pages[1]


def test_a_file_that_comes_near_the_limit_is_told(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is too large is refused as a whole, so that one report more would decide about all of it."""
    monkeypatch.setattr(imports, "MOST_UPLOADED", 2 * len(FILE))
    office.begin()
    browser = office.browser("Ida")
    assert "who runs the server to import the exports" not in preview(browser).text
    assert "who runs the server to import the exports" in preview(browser, FILE + b"\n").text


def test_the_limit_is_the_one_that_is_told(office: Office) -> None:
    office.begin()
    assert LARGE["/import"] == MOST_UPLOADED == 64 * 2**20
    assert "At most 64 MB" in office.browser("Ida").get("/import").text


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
    before = browser.get("/import").text
    assert "Imports are paused" in before
    assert 0 < before.find("Import the newest export of") < before.find('name="file"')
    page = preview(browser)
    assert "Nothing in this file will count" in page.text
    assert "Round in which it counts" not in page.text
    assert "Counted before" not in page.text
    assert 'value="count"' not in page.text
    answer = browser.post("/import/confirm", {"pending": pending_on(page.text), "step": "paused"})
    assert answer.headers["location"] == "/import?done=paused"
    done = browser.get("/import?done=paused").text
    assert "nothing in it counts" in done
    assert "If no file of this hotline was ever imported before, take it back" in done
    assert done.count("who ends the pause") == (name == "Ida")
    assert ("Now tell an auditor" in done) == (name == "Ida")
    assert "is not counted again" not in done
    assert sum(programme.active_counts().values()) == 0
    programme.resume_imports("Every hotline was imported.")
    assert "paused" not in browser.get("/import").text
    longer = preview(browser, FILE + b"4,Ash Mill\n")
    assert "paused" not in longer.text
    browser.post("/import/confirm", {"pending": pending_on(longer.text), "step": "count"})
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
    assert "who ends the pause" in ida.get("/import").text
    assert 'action="/import/resume"' not in ida.get("/import").text
    assert ida.post("/import/resume", {"reason": "x"}).status_code == 403
    assert programme.status().is_paused


def test_that_reports_came_in_is_not_in_the_log(office: Office) -> None:
    office.begin()
    browser = office.browser("Ida")
    browser.post("/import/confirm", {"pending": pending_on(preview(browser).text), "step": "count"})
    assert "Ida" not in office.browser("Ada").get("/activity").text


# Classes

CLASSES = tuple(map(parsed, ("minor=1", "serious=3", "danger=visit")))
GRADED = b"id,channel,severity\n1,Ash Mill,1\n2,Ash Mill,3\n3,Cedar Bank,9\n4,Ash Mill,5\n5,Ash Mill,0\n"
SCORES = b"value,class\n0,\n1,minor\n3,serious\n9,danger\n"


def graded(browser: Browser, file: bytes = GRADED, danger: str = "is:danger") -> Any:
    """The preview of an export whose reports have a severity."""
    scores = {"0": "out", "1": "is:minor", "3": "is:serious", "9": danger}
    form = {"hotline": "hotline", "class_from": "column", "class_column": "severity"}
    for place, (value, chosen) in enumerate(scores.items()):
        form |= {f"value-{place}": value, f"value-choice-{place}": chosen}
    assert browser.post("/import/channels", form).status_code == 303
    return preview(browser, file)


@pytest.mark.parametrize("name", ["Anna", "Ida"])
def test_a_score_of_the_hotline_becomes_a_class(office: Office, name: str) -> None:
    programme = office.begin(classes=CLASSES)
    browser = office.browser(name)
    page = graded(browser)
    assert 'name="value-0" value="5"' in page.text
    assert "Every report of class <bdi>danger</bdi> leads to a visit." in page.text
    assert ("/emergencies" in page.text) == (name == "Anna")
    assert ("tell an auditor as soon as you have imported it: <bdi>Anna</bdi>" in page.text) == (name == "Ida")
    assert told(page) == {} or told(page)["Left out on purpose"] == 1
    of_classes = re.findall(r"<dt>In this file, of class <bdi>(\w+)</bdi></dt><dd>1 report</dd>", page.text)
    assert of_classes == (["minor", "serious", "danger"] if name == "Anna" else [])
    form = {"pending": pending_on(page.text), "value-0": "5", "value-choice-0": "is:serious"}
    page = browser.post("/import/assign", form)
    assert page.status_code == 200
    assert "Assign what is new" not in page.text
    browser.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
    assert programme.active_counts()["Ash Mill"] == 1 + 3 + 3
    assert programme.waiting_visits() == [("Cedar Bank", "danger")]


def test_a_channel_can_say_the_class(office: Office) -> None:
    programme = office.begin(classes=CLASSES)
    browser = office.browser("Ida")
    page = preview(browser)
    assert 'value="is:Ash Mill" selected' in page.text  # the class alone is missing
    assert "2 channels have no class yet" in page.text
    form = {"pending": pending_on(page.text)}
    for place, (target, its_class) in enumerate([("Ash Mill", "serious"), ("Cedar Bank", "minor")]):
        form |= {f"channel-{place}": target, f"channel-choice-{place}": f"is:{target}"}
        form |= {f"channel-class-{place}": its_class}
    later = browser.post("/import/assign", form | {"channel-class-0": "", "channel-class-1": ""})
    assert later.status_code == 200  # both were proposed, and wait
    assert "2 channels have no class yet" in later.text
    assert "Nothing is saved yet" in later.text
    form["pending"] = pending_on(later.text)
    page = browser.post("/import/assign", form | {"channel-1": "Cedar Bank 2", "channel-class-1": ""})
    assert page.status_code == 422
    assert "Choose a class for the channel Cedar Bank 2" in page.text
    assert '<option value="serious" selected>' in page.text  # the form stays filled
    lacking = {f"channel-choice-{place}": "is:Birch Works" for place in (0, 1)}
    lacking |= {"channel-class-0": "", "channel-class-1": "", "pending": pending_on(page.text)}
    page = browser.post("/import/assign", form | lacking)
    assert "Choose a class for these 2 channels: Ash Mill and Cedar Bank." in page.text
    assert page.text.count('aria-invalid="true"') == 2  # their lines are marked
    page = browser.post("/import/assign", form | {"pending": pending_on(page.text)})
    assert "leads to a visit" not in page.text
    assert "no class yet" not in page.text
    browser.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
    assert {name: count for name, count in programme.active_counts().items() if count} == {
        "Ash Mill": 6,
        "Cedar Bank": 1,
    }


def test_an_importer_is_told_of_visits_from_the_mapping_alone(office: Office) -> None:
    """Two files that differ in a report that leads to a visit, and in nothing that is set aside."""
    office.begin(classes=CLASSES)
    browser = office.browser("Ida")
    pages = []
    for file in (GRADED, GRADED.replace(b"3,Cedar Bank,9\n", b"")):
        page = graded(browser, file)
        pages.append(page.text.replace(pending_on(page.text), ""))
    assert pages[0] == pages[1]
    assert "leads to a visit" not in graded(browser, danger="out").text


@pytest.mark.parametrize(
    ("data", "told"),
    [({"class_from": "column", "class_column": ""}, "Name the column"),
     ({"value-0": "1", "value-choice-0": "is:grave"}, "one of the classes")],
)  # fmt: skip
def test_a_class_that_is_left_open_is_refused(office: Office, data: dict[str, str], told: str) -> None:
    office.begin(classes=CLASSES)
    answer = office.browser("Ida").post("/import/channels", {"hotline": "hotline", **data})
    assert answer.status_code == 422
    assert told in answer.text


@pytest.mark.parametrize(
    ("kind", "column", "told"),
    [
        ("csv", "urgency", "<code>channel</code>, <code>urgency</code>, and no others"),
        ("hushline", "severity", "a username for each class"),
    ],
)
def test_a_class_column_that_the_file_does_not_have(office: Office, kind: str, column: str, told: str) -> None:
    office.begin(classes=CLASSES)
    ida = office.browser("Ida")
    ida.post("/import/channels", {"hotline": "hotline", "class_from": "column", "class_column": column})
    answer = preview(ida, GRADED, kind=kind)
    assert answer.status_code == 422
    assert told in answer.text


def test_a_class_column_that_changes_between_looking_and_assigning(office: Office) -> None:
    office.begin(classes=CLASSES)
    ida, anna = office.browser("Ida"), office.browser("Anna")
    page = graded(ida)
    anna.post("/import/channels", {"hotline": "hotline", "class_from": "channel"})
    answer = ida.post("/import/assign", {"pending": pending_on(page.text)})
    assert answer.status_code == 422
    assert "choose the file again" in answer.text


def test_where_there_is_one_class_the_page_does_not_ask_for_it(office: Office) -> None:
    office.begin()
    browser = office.browser("Ida")
    for path in ("/import", "/import/channels?hotline=hotline"):
        assert "class" not in re.sub(r'class="[^"]*"', "", browser.get(path).text)


@pytest.mark.parametrize("classes", [CLASSES, CLASSES[:1]])
def test_columns_that_are_not_expected_are_named_with_what_to_do(office: Office, classes: Any) -> None:
    office.begin(classes=classes)
    answer = preview(office.browser("Ida"), GRADED)
    assert answer.status_code == 422
    assert "not expected: <bdi>severity</bdi>" in answer.text
    link = '<a href="/import/channels?hotline=hotline#class">name it under Channels</a>'
    assert (link in answer.text) == (len(classes) > 1)
    assert "elete" in answer.text


def test_the_example_can_be_imported(office: Office) -> None:
    office.begin()
    ida = office.browser("Ida")
    assert "/import/example.csv" in ida.get("/import").text
    assert preview(ida, ida.get("/import/example.csv").content).status_code == 200
    assert office.browser("Ada").get("/import/example.csv").status_code == 403


# New channels are assigned in the preview


WEST = b"id,channel\n1,west\n2,west\n3,Ash Mill\n4,test\n5,Cedar Bank\n"


def test_new_channels_are_assigned_once_and_kept(office: Office) -> None:
    programme = office.begin()
    anna = office.browser("Anna")
    page = preview(anna, WEST)
    assert "2 reports will count" in page.text
    assert told(page) == NONE | {"Will count": 2, "Not assigned yet": 3}
    rows = {"channel-0": "test", "channel-choice-0": "out", "channel-1": "west", "channel-choice-1": "is:Birch Works"}
    page = anna.post("/import/assign", {"pending": pending_on(page.text), **rows})
    assert told(page) == NONE | {"Will count": 4, "Left out on purpose": 1}
    by_channel = re.findall(r'rowheader"><bdi>([^<]+)</bdi></th>\n<td role="cell">(?:<bdi>)?([^<]+)', page.text)
    assert dict(by_channel) == {
        "Ash Mill": "Ash Mill",
        "Cedar Bank": "Cedar Bank",
        "test": "left out on purpose",
        "west": "Birch Works",
    }
    anna.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
    assert programme.active_counts() == {"Ash Mill": 1, "Birch Works": 2, "Cedar Bank": 1, "Dogwood Clinic": 0}
    assert told(preview(anna, WEST)) == NONE | {"Counted before": 4, "Left out on purpose": 1}


CHOSEN = {"channel-0": "test", "channel-choice-0": "", "channel-1": "west", "channel-choice-1": "is:Birch Works"}


@pytest.mark.parametrize("name", ["Anna", "Ida"])
def test_importing_saves_what_was_chosen_first(office: Office, name: str) -> None:
    programme = office.begin()
    browser = office.browser(name)
    page = preview(browser, WEST)
    assert page.text.count("<form") == 2  # with the one that signs out
    assert new_channels(page.text) == ["test", "west"]
    answer = browser.post("/import/confirm", {"pending": pending_on(page.text), "step": "count", **CHOSEN})
    assert answer.headers["location"] == "/import?done=counted"
    assert programme.active_counts() == {"Ash Mill": 1, "Birch Works": 2, "Cedar Bank": 1, "Dogwood Clinic": 0}
    for counted in (False, True):
        shown = browser.get("/import").text
        assert "Reports on these channels do not count yet: <bdi>test</bdi>." in shown
        assert ("Take back import" in shown) == (not counted)
        programme.renew()  # counts what came in
    office.clock.now += KEPT_FOR
    assert "do not count yet" not in browser.get("/import").text


def test_a_choice_that_cannot_be_kept_imports_nothing_and_stays_in_the_form(office: Office) -> None:
    programme = office.begin()
    ida = office.browser("Ida")
    wrong = CHOSEN | {"channel-choice-1": "is:Elm Yard", "channel-choice-0": "out"}
    answer = ida.post("/import/confirm", {"pending": pending_on(preview(ida, WEST).text), "step": "count", **wrong})
    assert answer.status_code == 422
    assert "For the channel west, choose a target" in answer.text
    assert '<option value="out" selected>' in answer.text
    assert sum(programme.active_counts().values()) == 0
    ida.post("/import/confirm", {"pending": pending_on(answer.text), "step": "count", **CHOSEN})
    assert programme.active_counts()["Birch Works"] == 2


def test_the_preview_shows_what_was_assigned(office: Office) -> None:
    office.begin()
    ida = office.browser("Ida")
    first = preview(ida, WEST)
    assert "Your choices are saved" not in first.text
    page = ida.post("/import/assign", {"pending": pending_on(first.text), **CHOSEN})
    assert "Reports on <bdi>west</bdi> are about <bdi>Birch Works</bdi>." in page.text
    assert new_channels(page.text) == ["test"]


def test_the_preview_says_that_nothing_was_saved(office: Office) -> None:
    office.begin()
    ida = office.browser("Ida")
    page = preview(ida, WEST)
    assert "Nothing is saved yet" not in page.text
    page = ida.post("/import/assign", {"pending": pending_on(page.text), **CHOSEN, "channel-choice-1": ""})
    assert "Nothing is saved yet" in page.text
    page = ida.post("/import/assign", {"pending": pending_on(page.text), **CHOSEN})
    assert "Nothing is saved yet" not in page.text


def test_nothing_waits_where_nothing_is_to_count(office: Office) -> None:
    office.begin()
    ida = office.browser("Ida")
    form = {"pending": pending_on(preview(ida, WEST).text), "step": "note"}
    ida.post("/import/confirm", form)
    assert "do not count yet" not in ida.get("/import").text


def with_new_channels(number: int) -> bytes:
    """With so many new channels, and then a report on the channel west."""
    lines = [f"{place},channel {place:04}" for place in range(number)]
    return "\n".join(["id,channel", *lines, "w,west", ""]).encode()


@pytest.mark.parametrize("others", [MOST_DISTINCT - 1, MOST_DISTINCT])
def test_no_number_of_new_channels_decides_whether_a_channel_can_be_assigned(office: Office, others: int) -> None:
    """Not all are told apart where there is one more than the limit: then the file is chosen again."""
    programme, file = office.begin(), with_new_channels(others)
    anna = office.browser("Anna")
    page = preview(anna, file)
    assert ("choose the file again" in page.text) == (others == MOST_DISTINCT)
    form = {"pending": pending_on(page.text), "channel-0": "west", "channel-choice-0": "is:Birch Works"}
    page = anna.post("/import/assign", form)
    if others == MOST_DISTINCT:
        assert page.headers["location"] == "/import?done=choose-again"
        assert "choose it again" in anna.get("/import?done=choose-again").text
        assert anna.post("/import/confirm", {**form, "step": "count"}).status_code == 422
        page = preview(anna, file)
    anna.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
    assert programme.active_counts()["Birch Works"] == 1


def test_a_preview_writes_nothing_of_the_channels_that_it_sees(office: Office) -> None:
    office.begin()
    ida = office.browser("Ida")
    before = office.saved()
    assert "west" in preview(ida, WEST).text
    assert office.saved() == before


def test_a_file_whose_time_is_over_is_not_assigned(office: Office) -> None:
    office.begin()
    ida = office.browser("Ida")
    page = preview(ida, WEST)
    office.clock.now += KEPT_FOR
    form = {"pending": pending_on(page.text), "channel-0": "west", "channel-choice-0": "is:Birch Works"}
    answer = ida.post("/import/assign", form)
    assert answer.status_code == 422
    assert "not kept any more" in answer.text


def test_a_file_with_more_reports_than_come_in_within_an_hour_is_refused(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.begin()
    ida = office.browser("Ida")
    monkeypatch.setattr(imports, "MOST_REPORTS", 3)
    assert preview(ida).status_code == 200
    for row in (b"4,Ash Mill\n", b"4,\n"):  # the second cannot be read, which takes as long
        answer = preview(ida, FILE + row)
        assert answer.status_code == 422
        assert "The file has more than 1,000,000 reports." in answer.text


def test_no_more_of_a_file_is_read_than_may_come_in(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty-four megabytes of short rows would take minutes."""
    read = list[int]()

    def rows(*_: object) -> Iterator[Malformed]:
        for number in range(10):
            read.append(number)
            yield Malformed(noted("here"), noted("no report"))

    office.begin()
    monkeypatch.setattr(imports, "MOST_REPORTS", 3)
    monkeypatch.setitem(EXPORTS, "csv", replace(EXPORTS["csv"], records=rows))
    assert preview(office.browser("Ida")).status_code == 422
    assert read == [0, 1, 2, 3]


@pytest.fixture
def ticking(office: Office, monkeypatch: pytest.MonkeyPatch) -> Iterator[Programme]:
    """Its console ticks when the test says so, and does not wait for it."""
    office.begin()
    monkeypatch.setattr(intake, "Ticker", partial(Ticker, every=1e6, counted_every=1e9))
    monkeypatch.setattr(imports, "LONGEST_WAIT", 0)
    office.console.start()
    programme = office.console.programme()
    assert programme is not None
    tick(programme)
    yield programme
    programme.close()


def tick(programme: Programme) -> None:
    ticker = programme._intake._ticker
    assert ticker is not None
    ticker._tick()


LONG_FILE = "\n".join(["id,channel", *(f"{number},Ash Mill" for number in range(2 * buffer.ROOM)), ""]).encode()


def confirm(browser: Browser, file: bytes) -> Any:
    return browser.post("/import/confirm", {"pending": pending_on(preview(browser, file).text), "step": "count"})


def test_a_person_imports_one_file_after_the_other(office: Office, ticking: Programme) -> None:
    """The second one is kept meanwhile. Others import as ever."""
    ida = office.browser("Ida")
    assert confirm(ida, LONG_FILE).headers["location"] == "/import?done=under-way"
    answer = confirm(ida, FILE)
    assert answer.status_code == 422
    assert "is still coming in" in answer.text
    assert confirm(office.browser("Anna"), FILE).status_code == 303
    for _ in range(7):
        tick(ticking)
    again = ida.post("/import/confirm", {"pending": pending_on(answer.text), "step": "count"})
    assert again.headers["location"] == "/import?done=under-way"


def test_of_two_files_that_come_at_once_the_second_is_kept(
    office: Office, ticking: Programme, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one was not there yet when it was looked whether there is one."""
    ida = office.browser("Ida")
    confirm(ida, LONG_FILE)
    monkeypatch.setattr(Hotlines, "is_importing", lambda *_: False)
    answer = confirm(ida, FILE)
    assert answer.status_code == 422
    assert "is still coming in" in answer.text
    for _ in range(7):
        tick(ticking)
    again = ida.post("/import/confirm", {"pending": pending_on(answer.text), "step": "count"})
    assert again.headers["location"] == "/import?done=under-way"


def test_that_an_import_goes_on_is_said_only_when_it_does(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where reading, or bringing it, took too long."""
    office.begin()
    ida = office.browser("Ida")
    monkeypatch.setattr(Hotlines, "bring", Mock(side_effect=TimeoutError))
    answer = confirm(ida, FILE)
    assert answer.status_code == 500
    assert "under-way" not in str(answer.headers)


@pytest.mark.parametrize("is_disabled", [True, False])
def test_what_waits_of_a_disabled_person_does_not_count(office: Office, ticking: Programme, is_disabled: bool) -> None:
    """Nor does what is written of it and not counted yet."""
    ida, ada = office.browser("Ida"), office.browser("Ada")
    confirm(ida, LONG_FILE)
    tick(ticking)
    if is_disabled:
        assert ada.post("/people/id-Ida/disable", {}).status_code == 303
    for _ in range(6):
        tick(ticking)
    assert ticking.active_counts()["Ash Mill"] == (0 if is_disabled else 2 * buffer.ROOM)
    assert not ticking.hotlines.is_importing("id-Ida")


# An import is taken back


def take_back(browser: Browser) -> Any:
    found = re.search(r'name="import" value="([^"]+)"', browser.get("/import").text)
    return None if found is None else browser.post("/import/take-back", {"import": found[1]})


@pytest.mark.parametrize("name", ["Anna", "Ida"])
def test_an_import_is_taken_back_exactly(office: Office, name: str) -> None:
    programme = office.begin()
    browser = office.browser(name)
    for _ in range(2):
        page = preview(browser)
        browser.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
        assert programme.active_counts()["Ash Mill"] == 2
        answer = take_back(browser)
        assert answer.headers["location"] == "/import?done=taken-back"
        assert sum(programme.active_counts().values()) == 0
        assert take_back(browser) is None
    assert "taken back" in browser.get("/import?done=taken-back").text
    if name == "Anna":
        assert told(preview(browser)) == NONE | {"Will count": 3}


def test_an_import_can_be_taken_back_whatever_fails_after_it_came_in(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database may be gone by then."""
    programme = office.begin()
    ida = office.browser("Ida")
    page, honest = preview(ida), Hotlines.bring

    def bring(*args: Any, **options: Any) -> Any:
        brought = honest(*args, **options)
        monkeypatch.setattr(Programme, "status", Mock(side_effect=DeniableError("the database is gone")))
        return brought

    with monkeypatch.context() as patched:
        patched.setattr(Hotlines, "bring", bring)
        answer = ida.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
        with pytest.raises(DeniableError):
            programme.status()
    monkeypatch.undo()
    assert answer.headers["location"] == "/import?done=counted"
    assert programme.active_counts()["Ash Mill"] == 2
    assert take_back(ida).headers["location"] == "/import?done=taken-back"
    assert sum(programme.active_counts().values()) == 0


@pytest.mark.parametrize("is_planted", [False, True])
def test_a_pause_that_ends_meanwhile(office: Office, monkeypatch: pytest.MonkeyPatch, is_planted: bool) -> None:
    """The page says what became of these reports, and not what would have become of others."""
    programme = recovered(office)
    ida = office.browser("Ida")
    page, honest = preview(ida), Hotlines.bring

    def bring(*args: Any, **options: Any) -> Any:
        is_paused, written = honest(*args, **options)
        programme.resume_imports("Every hotline was imported.")
        return (programme.status().is_paused if is_planted else is_paused), written

    monkeypatch.setattr(Hotlines, "bring", bring)
    answer = ida.post("/import/confirm", {"pending": pending_on(page.text), "step": "paused"})
    assert sum(programme.active_counts().values()) == 0
    assert (answer.headers["location"] == "/import?done=paused") is not is_planted


@pytest.mark.parametrize("name", ["Anna", "Ida"])
@pytest.mark.parametrize("is_planted", [False, True])
def test_a_file_that_is_noted_for_the_pause_never_counts_after_it(
    office: Office, monkeypatch: pytest.MonkeyPatch, name: str, is_planted: bool
) -> None:
    programme = recovered(office)
    browser = office.browser(name)
    page, honest = preview(browser), Hotlines.bring

    def bring(*args: Any, **options: Any) -> Any:
        return honest(*args, **options | {"only_paused": False})

    if is_planted:
        monkeypatch.setattr(Hotlines, "bring", bring)
    programme.resume_imports("Every hotline was imported.")
    answer = browser.post("/import/confirm", {"pending": pending_on(page.text), "step": "paused"})
    assert (sum(programme.active_counts().values()) == 0) is not is_planted
    if is_planted:
        return
    assert answer.status_code == 422
    assert "Imports are not paused any more, and this file would count now" in answer.text
    assert 'value="paused"' not in answer.text
    done = browser.post("/import/confirm", {"pending": pending_on(answer.text), "step": "note"})
    assert done.headers["location"] == "/import?done=noted"
    assert sum(programme.active_counts().values()) == 0


def test_an_import_that_is_counted_stays(office: Office) -> None:
    programme = office.begin()
    ida = office.browser("Ida")
    page = preview(ida)
    ida.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
    shown = ida.get("/import").text
    programme.renew()  # counts what came in
    assert "Take back import" in shown
    now = office.clock.now
    assert f"This import becomes final at {now.hour:02}:{now.minute // 5 * 5 + 5:02} (UTC time)" in shown
    assert "Take back import" not in ida.get("/import").text
    answer = ida.post("/import/take-back", {"import": pending_on(page.text)})
    assert answer.status_code == 422
    assert "too late" in answer.text
    assert "no one can take them back now" in answer.text
    assert programme.active_counts()["Ash Mill"] == 2


def test_imports_that_can_be_taken_back_are_told_apart(office: Office) -> None:
    """By hotline, day and order; the numbers stay as they were when one of them is gone."""
    office.begin()
    ida = office.browser("Ida")
    for _ in range(2):
        ida.post("/import/confirm", {"pending": pending_on(preview(ida).text), "step": "count"})
    day = r' from <bdi><q>hotline</q></bdi> on <time datetime="[-\d]+">'
    told_apart = re.compile(r"You can still take back the file <bdi>[^<]+</bdi>: import (\d+)" + day)
    assert told_apart.findall(ida.get("/import").text) == ["1", "2"]
    assert take_back(ida).status_code == 303
    assert told_apart.findall(ida.get("/import").text) == ["2"]


TOOK_BACK = {
    "in time": "was taken back",
    "too late": "It was too late",
    "not written": "was not taken back yet",
}


@pytest.mark.parametrize("how", TOOK_BACK)
def test_what_became_of_taking_back_a_large_import_is_on_the_page(
    office: Office, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The answer does not wait for it. Nor is it forgotten when it takes longer than an import can be taken back."""
    programme, written = office.begin(), Future[None]()
    ida = office.browser("Ida")
    page = preview(ida)
    ida.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
    with monkeypatch.context() as patched:
        patched.setattr(imports, "LONGEST_WAIT", 0)
        patched.setattr(Hotlines, "take_back", lambda *_: written)
        assert take_back(ida).headers["location"] == "/import"
        again = ida.post("/import/take-back", {"import": pending_on(page.text)})
        assert again.headers["location"] == "/import"
    office.clock.now += 2 * KEPT_FOR
    shown = ida.get("/import").text
    assert "is being taken back" in shown
    assert "Take back import" not in shown
    if how == "too late":
        programme.renew()  # counts what came in
    if how == "not written":
        written.set_exception(DeniableError("the process is being stopped"))
    else:
        programme.hotlines.take_back("hotline", pending_on(page.text)).result()
        written.set_result(None)
    shown = ida.get("/import").text
    assert [key for key, words in TOOK_BACK.items() if words in shown] == [how]
    assert ("Take back import" in shown) == (how == "not written")
    assert programme.active_counts()["Ash Mill"] == (0 if how == "in time" else 2)
    if how == "not written":
        assert take_back(ida).headers["location"] == "/import?done=taken-back"
    office.clock.now += KEPT_FOR
    ida = office.browser("Ida")
    assert all(words not in ida.get("/import").text for words in TOOK_BACK.values())


@pytest.mark.parametrize("planted", [False, True])
def test_no_importer_takes_back_or_sees_the_import_of_another_person(
    office: Office, monkeypatch: pytest.MonkeyPatch, planted: bool
) -> None:
    if planted:
        monkeypatch.setattr(recent_imports, "may", lambda *_: True)
    programme = office.begin()
    anna, ida = office.browser("Anna"), office.browser("Ida")
    before = ida.get("/import").text
    page = preview(anna)
    anna.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
    assert (ida.get("/import").text == before) is not planted
    answer = ida.post("/import/take-back", {"import": pending_on(page.text)})
    assert ("cannot be taken back any more" in answer.text) is not planted
    assert programme.active_counts()["Ash Mill"] == (0 if planted else 2)


def test_an_auditor_takes_back_the_import_of_a_person_who_is_away(office: Office) -> None:
    """The log has it, for auditors; who brought it finds it on the page, and can bring it again."""
    programme = office.begin()
    ida, anna, ada = office.browser("Ida"), office.browser("Anna"), office.browser("Ada")
    log = ada.get("/activity").text
    page = preview(ida)
    ida.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
    assert "Import 1 of <bdi>Ida</bdi> from <bdi><q>hotline</q></bdi>" in anna.get("/import").text
    assert "Take back import 1 of <bdi>Ida</bdi>" in anna.get("/import").text
    assert take_back(anna).headers["location"] == "/import?done=taken-back"
    assert sum(programme.active_counts().values()) == 0
    assert "It was taken back. None of its reports counts." in anna.get("/import").text
    assert take_back(anna) is None
    assert anna.post("/import/take-back", {"import": pending_on(page.text)}).headers["location"] == "/import"
    assert "asked to take back an import of Ida from hotline" in anna.get("/activity").text
    assert ada.get("/activity").text == log
    assert "was taken back" in ida.get("/import").text
    ida.post("/import/confirm", {"pending": pending_on(preview(ida).text), "step": "count"})
    assert programme.active_counts()["Ash Mill"] == 2


def test_an_auditor_takes_back_no_import_that_is_counted(office: Office) -> None:
    programme = office.begin()
    ida, anna = office.browser("Ida"), office.browser("Anna")
    page = preview(ida)
    ida.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
    programme.renew()  # counts what came in
    assert "Import 1 of" not in anna.get("/import").text
    answer = anna.post("/import/take-back", {"import": pending_on(page.text)})
    assert answer.status_code == 422
    assert "too late" in answer.text
    assert programme.active_counts()["Ash Mill"] == 2


def test_whether_an_import_can_be_taken_back_does_not_tell_whether_anything_in_it_was_new(office: Office) -> None:
    programme = office.begin()
    ida = office.browser("Ida")
    pages = []
    for _ in range(2):
        page = preview(ida)
        name = pending_on(page.text)
        ida.post("/import/confirm", {"pending": name, "step": "count"})
        seen = [ida.get("/import").text]
        programme.renew()
        seen.append(ida.get("/import").text)
        pages.append([text.replace(name, "").replace("import 2", "import 1") for text in seen])
    assert pages[0] == pages[1]
    assert "Take back import" in pages[1][0]


MIB = 2**20


def zipped(name: str, size: int) -> bytes:
    """A small ZIP with a member of this many bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w") as member:
        member.write(b"id,username_id\n")
        for _ in range(size // MIB):
            member.write(b"0" * MIB)
    return out.getvalue()


@cache
def bomb() -> bytes:
    return zipped("db/messages.csv", 200 * MIB)


def long_line() -> bytes:
    """A ZIP with a line of 16 MB, packed less than it may be."""
    letters = b"".join(bytes([number % 251]) * 16 for number in secrets.token_bytes(MIB))
    messages = b"id,username_id\r\n" + letters.replace(b"\n", b"") + b"\r\n"
    return exports.packed({"db/usernames.csv": b"id,username\r\n1,ash\r\n", "db/messages.csv": messages})


def nested(depth: int) -> bytes:
    inner = b"id,username_id\n"
    for _ in range(depth):
        inner = exports.packed({"db/messages.csv": inner})
    return inner


DEEP = 200_000


REFUSED: dict[str, tuple[str, bytes | Callable[[], bytes]]] = {
    "zip bomb": ("hushline", bomb),
    "zip bomb that lies": ("hushline", lambda: exports.patched(bomb(), "db/messages.csv", 24, "<L", 100)),
    "zip in a zip": ("hushline", nested(5)),
    "zip cut off": ("hushline", exports.hushline_zip()[:-30]),
    "zip as CSV": ("csv", exports.hushline_zip()),
    "CSV as zip": ("hushline", exports.plain_csv()),
    "many members": ("hushline", exports.packed({f"{number}.csv": b"" for number in range(5000)})),
    "deep JSON": ("globaleaks", b"[" * DEEP),
    "UTF-16 without a mark": ("csv", "id,channel\n1,Ash Mill\n".encode("utf-16-le")),
    "UTF-16 JSON": ("globaleaks", exports.globaleaks_json().decode().encode("utf-16")),
    "too many columns": ("csv", b"id,channel" + b",x" * 100_000 + b"\n"),
    "a formula as header": ("csv", b"=1+1,channel\n1,Ash Mill\n"),
}


SET_ASIDE: dict[str, tuple[str, bytes | Callable[[], bytes]]] = {
    "a line that unpacks to much": ("hushline", long_line),
    "deep JSON in an entry": ("globaleaks", b'[{"id": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}]"),
    "long number": ("globaleaks", b'[{"id": "a", "context_id": "Ash Mill", "files": ' + b"9" * 100_000 + b"}]"),
    "NaN": ("globaleaks", b'[{"id": NaN, "context_id": "Ash Mill"}]'),
    "Latin-1": ("csv", "id,channel\n1,Café\n".encode("latin-1")),
    "NUL": ("csv", b"id,channel\n1\0,Ash Mill\n"),
    "half a character": ("csv", b"id,channel\n1,\xed\xa0\x80\n"),
    "an open quote": ("csv", b'id,channel\n1,"Ash Mill\n' + b"x" * MIB),
    "a cell without end": ("csv", b"id,channel\n1," + b"x" * (8 * MIB) + b"\n"),
    "a formula as channel": ("csv", b'id,channel\n1,"=HYPERLINK(""//evil"")"\n'),
    "a script as channel": ("csv", b"id,channel\n1,<script>alert(1)</script>\n"),
}


@pytest.fixture
def measured() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def sent(office: Office, kind: str, made: bytes | Callable[[], bytes]) -> Any:
    """What comes of a file, of which nothing is quoted, unpacked into memory or counted."""
    file = made if isinstance(made, bytes) else made()
    programme = office.begin()
    browser = office.browser("Ida")
    tracemalloc.reset_peak()
    answer = preview(browser, file, kind=kind)
    _, peak = tracemalloc.get_traced_memory()
    for quoted in ("<script", "HYPERLINK", "evil", "=1+1", "Café", "xxxx", "Traceback"):
        assert quoted not in answer.text
    assert peak < 6 * len(file) + 40 * MIB
    assert sum(programme.active_counts().values()) == 0
    assert browser.get("/import").status_code == 200  # it goes on
    return answer


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.usefixtures("measured")
def test_a_file_that_is_refused(office: Office, name: str) -> None:
    answer = sent(office, *REFUSED[name])
    assert answer.status_code == 422
    assert "This did not work." in answer.text
    assert 'name="pending"' not in answer.text


@pytest.mark.parametrize("name", SET_ASIDE)
@pytest.mark.usefixtures("measured")
def test_a_row_that_is_set_aside(office: Office, name: str) -> None:
    answer = sent(office, *SET_ASIDE[name])
    assert answer.status_code == 200
    assert "cannot be read" in answer.text or "cannot be shown here" in answer.text


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t="])
def test_a_formula_as_an_outside_id_is_an_id_like_others(office: Office, sign: str) -> None:
    """It is kept as a keyed hash and never shown or written, so no spreadsheet can run it."""
    programme = office.begin()
    anna, formula = office.browser("Anna"), f"{sign}cmd|calc!A"
    page = preview(anna, f"id,channel\n{formula}1,Ash Mill\n{formula}2,Ash Mill\n".encode())
    assert page.status_code == 200
    answer = anna.post("/import/confirm", {"pending": pending_on(page.text), "step": "count"})
    assert programme.active_counts()["Ash Mill"] == 2
    files = Path(str(office.console.store.url.database)).parent.iterdir()
    written = b"".join(file.read_bytes() for file in files if file.is_file())
    assert b"calc" not in written + page.content + answer.content


def test_a_mapping_that_is_none(office: Office) -> None:
    programme = office.begin()
    ida = office.browser("Ida")
    for mapping in (
        b"",
        b"\xff\xfe",
        b"channel\n",
        b"channel,target\nash,Nobody\n",
        b"x" * (MIB // 2),
        zipped("a", MIB),
    ):
        answer = preview(ida, mapping=mapping)
        assert answer.status_code == 422
        assert "This did not work." in answer.text
    assert sum(programme.active_counts().values()) == 0


def test_no_file_was_chosen(office: Office) -> None:
    """Also of the kind that may be empty."""
    office.begin()
    for kind in ("csv", "globaleaks"):
        answer = office.browser("Ida").post("/import", {"kind": kind, "source": "hotline"})
        assert answer.status_code == 422
        assert "Choose a file first" in answer.text


@pytest.mark.parametrize("readable", [0, 1, 2])
def test_that_lines_cannot_be_read_is_said_first(office: Office, readable: int) -> None:
    """In the same words however many others there are: the page does not tell what else is in the file."""
    office.begin()
    rows = [b"1,Ash Mill\n", b"2,Ash Mill\n"][:readable]
    page = preview(office.browser("Ida"), b"id,channel\n" + b"".join(rows) + b"\xff,x\n", None).text
    lead = re.search('<p class="lead">(.*)</p>', page)
    assert lead is not None
    assert lead[1].startswith("Lines of this file cannot be read and do not count")
    assert "The file can be imported" not in page


def test_the_preview_names_the_file(office: Office) -> None:
    office.begin()
    page = office.browser("Ida").post(
        "/import", {"kind": "csv", "source": "hotline"}, files={"file": ("rows2.csv", FILE)}
    )
    assert "<dd><bdi>rows2.csv</bdi></dd>" in page.text


def test_an_auditor_without_a_hotline_is_told_who_adds_one(office: Office) -> None:
    office.begin()
    with office.console.store.writing() as connection:
        connection.execute(sa.delete(tables.hotlines))
    assert "There is no hotline yet. An administrator adds it under Hotlines: <bdi>Ada</bdi>." in (
        office.browser("Anna").get("/import").text
    )
    assert (
        "No hotline is assigned to you yet. Ask an administrator (<bdi>Ada</bdi>) to assign one to you under Hotlines."
        in (office.browser("Ida").get("/import").text)
    )


def test_ids_of_channels_are_explained_where_the_export_has_no_names(office: Office) -> None:
    office.begin()
    ida, explained = office.browser("Ida"), "GlobaLeaks writes the id of a channel, not its name."
    assert explained in preview(ida, exports.globaleaks_json(), None, kind="globaleaks").text
    assert explained not in preview(ida, b"", None, kind="globaleaks").text
    assert explained not in preview(ida, b"id,channel\n1,oak\n").text


def test_an_importer_is_told_that_a_preview_has_no_number(office: Office) -> None:
    """Nor does it say that a file has no report: one report more changes nothing."""
    office.begin()
    told = "This page does not show how many reports the file has."
    empty, one = (preview(office.browser("Ida"), b"id,channel\n" + row).text for row in (b"", b"7,Ash Mill\n"))
    assert told in empty
    assert re.sub("value=.*", "", empty) == re.sub("value=.*", "", one)
    assert told not in preview(office.browser("Anna")).text
