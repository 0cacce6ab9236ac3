"""What operators, importers and administrators receive, and the statements it takes, whatever was reported."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread
from typing import Any

import pytest
import sqlalchemy as sa
from tests.console.offices import Browser, Office, form_on, pending_on, receipt_on

from deniable.console.app import prepare
from deniable.console.pages import report
from deniable.console.pages.decision_kinds import KINDS
from deniable.programme.randomness.source import Dice
from deniable.report_classes import ReportClass

RANDOM = re.compile(
    rb'name="(pending|form_id|import)" value="[^"]{22}"|<pre class="secret">[A-Z2-7-]{19}</pre>'
    rb'|name="receipt" type="text" value="[A-Z2-7-]{19}"'
)
"""Tokens and receipts: of always the same length, and different in every answer."""
ENTERED = re.compile(rb'(?s)<div class="answer">.*?<!-- *-->')
"""What the person typed themselves, with as many spaces as make it as long as any other."""
KEPT = re.compile(rb'(?<=<option) selected|(?<=") checked|(?<=max="10000") value="[0-9]*"|(?<=</form>)<!-- *-->')
"""The same in the form, where it is kept."""


PAGES = {
    "Otto": (
        "/round",
        "/round/close",
        "/round/decisions/override",
        "/round/decisions/targets",
        "/round/decisions/not-carried-out",
        "/round/decisions/skip",
        "/round/decisions/rename",
        "/round/decisions/details",
        "/round/pending",
        "/work-list",
        "/transcript",
        "/transcript/transcript.jsonl",
        "/public/index.html",
        "/public/transcript.jsonl",
        "/transcript/record.csv",
        "/transcript/targets.csv",
        "/work-list/work-list.csv",
        "/help/index",
        "/guarantee",
        "/health",
        "/account",
    ),
    "Ida": ("/report", "/import", "/account"),
    "Ada": (
        "/people",
        "/people/id-Otto/reset",
        "/hotlines",
        "/tokens",
        "/guarantee",
        "/health",
        "/activity",
        "/activity?about=people",
        "/activity/activity.csv",
        "/people/people.csv",
        "/account",
    ),
}


@contextmanager
def statements(office: Office) -> Iterator[list[str]]:
    """What the database is asked, but for the ticks; and where each transaction begins."""
    seen: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        if current_thread().name != "ticker":
            seen.append(statement)

    engine = office.console.store._engine
    sa.event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        sa.event.remove(engine, "before_cursor_execute", note)


def received(office: Office, browser: Browser, method: str, path: str, **options: Any) -> tuple[Any, ...]:
    """All of an answer, and what it took."""
    with statements(office) as seen:
        answer = getattr(browser, method)(path, **options)
    body = RANDOM.sub(b"", answer.content)
    return answer.status_code, without_cookie(answer), len(answer.content), body, seen


def without_cookie(answer: Any) -> list[tuple[str, str]]:
    """The headers, but for the session's cookie, which says in which minute it was used."""
    return sorted(pair for pair in answer.headers.multi_items() if not pair[1].startswith("session="))


def test_every_decision_is_among_the_pages() -> None:
    assert {*PAGES["Otto"]} >= {f"/round/decisions/{kind}" for kind in KINDS}


@pytest.mark.parametrize(("name", "path"), [(name, path) for name, paths in PAGES.items() for path in paths])
def test_a_page_is_the_same_whatever_was_reported(office: Office, name: str, path: str) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    browser = office.browser(name)
    browser.get(path)  # notes that the session is in use this minute
    before = received(office, browser, "get", path)
    assert before[0] == 200
    programme.report({"Ash Mill": 123_456_789, "Cedar Bank": 1})
    assert received(office, browser, "get", path) == before


@pytest.mark.parametrize("path", ["/round", "/round/draw", "/transcript", "/health"])
def test_a_page_about_a_frozen_round_is_the_same_whatever_was_reported(office: Office, path: str) -> None:
    answers = []
    programme = office.begin(randomness=Dice("The town hall"))
    office.clock.tomorrow()
    browser = office.browser("Otto")
    browser.post("/round/close", {"round": "1"})
    for reports in (1, 123_456_789):
        browser.get(path)
        answers.append(received(office, browser, "get", path))
        programme.report({"Ash Mill": reports})
    assert answers[0][0] == 200
    assert answers[0] == answers[1]


@pytest.mark.parametrize(("method", "path", "is_same"), [("get", "/round", True), ("post", "/round/counts", False)])
def test_an_auditors_page_is_the_same_until_they_ask_for_counts(
    office: Office, method: str, path: str, is_same: bool
) -> None:
    """And the checks above can fail."""
    programme = office.begin()
    browser = office.browser("Anna")
    getattr(browser, method)(path)
    before = received(office, browser, method, path)
    programme.report({"Ash Mill": 123_456_789})
    assert (received(office, browser, method, path) == before) == is_same


LONG = '"' * 200
"""A name that takes as much room as a name can."""


def entered(office: Office) -> list[tuple[Any, ...]]:
    """The answers to different numbers of reports, about different targets and of different classes. Large ones are
    asked about first.
    """
    classes = (ReportClass("minor", 1), ReportClass("a good deal worse", 3), ReportClass("danger", None))
    programme = office.begin(targets=("Ash Mill", "Dünenhof", "X & Y", LONG), classes=classes)
    prepare(office.console)
    browser = office.browser("Ida")
    form = form_on(browser.get("/report").text)

    def enter(
        number: str, target: str = "Ash Mill", report_class: str = "minor", confirmed: str = ""
    ) -> tuple[Any, ...]:
        data = {"target": target, "number": number, "class": report_class, "form_id": form, "confirmed": confirmed}
        return received(office, browser, "post", "/report", data=data)

    answers = [enter(number) for number in ("1", "9999", "10000")]
    answers += [enter(number, confirmed=number) for number in ("9999", "10000")]
    answers += [
        enter(number, target, one.name)
        for number in ("2", "9999")
        for target in ("Dünenhof", "X & Y", LONG)
        for one in classes
    ]
    programme.report({"Ash Mill": 900_000_000}, report_class="minor")
    answers.append(enter("1"))  # which was sent before
    assert {answer[0] for answer in answers} == {200}
    return [
        (*headers, length, *ENTERED.subn(b"", KEPT.sub(b"", body)), seen) for _, headers, length, body, seen in answers
    ]


def test_entering_reports_answers_as_long_whatever_is_entered(office: Office) -> None:
    """The sentence that repeats it is for the person who typed it."""
    answers = entered(office)
    assert all(answer[:-1] == answers[0][:-1] for answer in answers)
    assert len({str(answer[-1]) for answer in answers}) == 2  # here without a tick: one is entered, or asked about


def test_the_check_sees_an_answer_whose_length_tells(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: no spaces."""
    monkeypatch.setattr(report, "MOST_BYTES", -(10**6))
    answers = entered(office)
    assert len({answer[-4] for answer in answers}) > 1


def test_an_importers_preview_is_the_same_whatever_is_in_the_file_or_was_counted(office: Office) -> None:
    programme = office.begin()
    programme.hotlines.add("hotline")
    browser = office.browser("Ida")
    browser.get("/import")
    data = {"kind": "csv", "source": "hotline"}
    few, many, most = (b"id,channel\n" + b"".join(b"%d,Ash Mill\n" % i for i in range(1, n)) for n in (2, 300, 9000))

    def preview(file: bytes) -> tuple[Any, ...]:
        return received(office, browser, "post", "/import", data=data, files={"file": ("export.csv", file)})

    first = preview(few)
    assert first[0] == 200
    assert preview(many) == preview(most) == first
    programme.import_reports("hotline", [(str(i), "Ash Mill") for i in range(1, 200)])
    assert preview(many) == first


def test_confirming_answers_the_same_whatever_was_new(office: Office) -> None:
    office.begin().hotlines.add("hotline")
    browser = office.browser("Ida")
    answers = []
    for _ in range(2):  # the second time nothing is new
        data = {"kind": "csv", "source": "hotline"}
        page = browser.post("/import", data, files={"file": ("a.csv", b"id,channel\n1,Ash Mill\n2,Cedar Bank\n")})
        data = {"pending": pending_on(page.text), "step": "count"}
        answers.append(received(office, browser, "post", "/import/confirm", data=data))
    assert answers[0][0] == 303
    assert answers[0] == answers[1]


def test_taking_back_what_was_not_entered_answers_the_same_whatever_was(office: Office) -> None:
    """Another receipt or another target: one sentence for all of them."""
    programme = office.begin()
    browser = office.browser("Anna")
    browser.get("/report")
    mine = receipt_on(browser.enter("Ash Mill", 2).text)
    # The day's first request, whatever comes of it, is noted in the activity log.
    browser.post("/report/withdraw", {"target": "Ash Mill", "receipt": "AAAA-BBBB-CCCC-DDDD"})
    answers = []
    for target, receipt in (
        ("Ash Mill", "AAAA-BBBB-CCCC-DDDD"),
        ("Birch Works", mine),
        ("Ash Mill", "AAAA-BBBB-CCCC-DDDD"),
    ):
        data = {"target": target, "receipt": receipt}
        answers.append(received(office, browser, "post", "/report/withdraw", data=data))
        programme.report({"Ash Mill": 1000})
    assert answers[0][0] == 422
    assert answers[0] == answers[2]
    refused = [re.findall(b"This did not work[^<]*", answer[3]) for answer in answers]  # the form keeps what was typed
    assert refused[0]
    assert refused == [refused[0]] * 3
