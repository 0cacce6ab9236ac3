"""What operators, importers and administrators receive, and the statements it takes, whatever was reported."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from tests.console.offices import Browser, Office, form_on, pending_on, receipt_on

from deniable.console.app import prepare
from deniable.programme.randomness.source import Dice

RANDOM = re.compile(rb'name="(pending|form_id)" value="[^"]{22}"|<pre class="secret">[A-Z2-7-]{19}</pre>')
"""Tokens and receipts: of always the same length, and different in every answer."""


PAGES = {
    "Otto": (
        "/round",
        "/round/close",
        "/round/decisions/override",
        "/round/decisions/targets",
        "/round/decisions/not-carried-out",
        "/round/decisions/skip",
        "/round/decisions/rename",
        "/work-list",
        "/transcript",
        "/transcript/transcript.jsonl",
        "/guarantee",
        "/health",
        "/account",
    ),
    "Ida": ("/report", "/import", "/account"),
    "Ada": (
        "/people",
        "/hotlines",
        "/tokens",
        "/guarantee",
        "/health",
        "/activity",
        "/activity?about=people",
        "/account",
    ),
}


@contextmanager
def statements(office: Office) -> Iterator[list[str]]:
    seen: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
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


def test_an_auditors_page_is_not(office: Office) -> None:
    """The check above can fail."""
    programme = office.begin()
    browser = office.browser("Anna")
    browser.get("/round")
    before = received(office, browser, "get", "/round")
    programme.report({"Ash Mill": 123_456_789})
    assert received(office, browser, "get", "/round") != before


def test_entering_reports_answers_the_same_however_many(office: Office) -> None:
    programme = office.begin()
    prepare(office.console)
    browser = office.browser("Ida")
    form = form_on(browser.get("/report").text)

    def enter(number: str) -> tuple[Any, ...]:
        data = {"target": "Ash Mill", "number": number, "form_id": form}
        return received(office, browser, "post", "/report", data=data)

    answers = []
    for number in ("1", "9999", "10000"):
        answers.append(enter(number))
        assert answers[-1][0] == 200
    programme.report({"Ash Mill": 900_000_000})
    answers.append(enter("1"))  # which was sent before
    assert all(answer == answers[0] for answer in answers)


def test_an_importers_preview_is_the_same_whatever_is_in_the_file_or_was_counted(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Ida")
    browser.get("/import")
    data = {"kind": "csv", "source": "hotline", "mapped": "names"}
    few, many = (b"id,channel\n" + b"".join(b"%d,Ash Mill\n" % i for i in range(1, n)) for n in (2, 300))

    def preview(file: bytes) -> tuple[Any, ...]:
        return received(office, browser, "post", "/import", data=data, files={"file": ("export.csv", file)})

    first = preview(few)
    assert first[0] == 200
    assert preview(many) == first
    programme.import_reports("hotline", [(str(i), "Ash Mill") for i in range(1, 200)])
    assert preview(many) == first


def test_confirming_answers_the_same_whatever_was_new(office: Office) -> None:
    office.begin().add_source("hotline")
    browser = office.browser("Ida")
    answers = []
    for _ in range(2):  # the second time nothing is new
        data = {"kind": "csv", "source": "hotline", "mapped": "names"}
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
    assert all(answer == answers[0] for answer in answers)
