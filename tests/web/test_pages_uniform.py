"""What operators, importers and administrators receive, and the statements it takes, whatever was reported."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from tests.web.offices import Browser, Office

HELD = re.compile(rb'name="held" value="[^"]{22}"')

PAGES = {
    "Otto": (
        "/round",
        "/round/close",
        "/round/decisions/override",
        "/round/decisions/targets",
        "/round/decisions/not-carried-out",
        "/round/decisions/skip",
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
    body = HELD.sub(b"", answer.content)
    return answer.status_code, sorted(answer.headers.multi_items()), len(answer.content), body, seen


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
    browser = office.browser("Ida")
    browser.get("/report")
    answers = []
    for number in ("1", "9999", "10000"):
        answers.append(received(office, browser, "post", "/report", data={"target": "Ash Mill", "number": number}))
        assert answers[-1][0] == 303
    programme.report({"Ash Mill": 900_000_000})
    answers.append(received(office, browser, "post", "/report", data={"target": "Ash Mill", "number": "1"}))
    assert all(answer == answers[0] for answer in answers)


def test_an_importers_preview_is_the_same_whatever_is_in_the_file_or_was_counted(office: Office) -> None:
    programme = office.begin()
    browser = office.browser("Ida")
    browser.get("/import")
    data = {"kind": "plain", "source": "hotline", "mapped": "names"}
    few, many = (b"id,channel\n" + b"".join(b"%d,Ash Mill\n" % i for i in range(1, n)) for n in (2, 300))

    def preview(file: bytes) -> tuple[Any, ...]:
        return received(office, browser, "post", "/import", data=data, files={"file": ("export.csv", file)})

    first = preview(few)
    assert first[0] == 200
    assert preview(many) == first
    programme.import_reports("hotline", [(str(i), i, "Ash Mill") for i in range(1, 200)])
    assert preview(many) == first


def test_confirming_answers_the_same_whatever_was_new(office: Office) -> None:
    office.begin()
    browser = office.browser("Ida")
    answers = []
    for _ in range(2):  # the second time nothing is new
        data = {"kind": "plain", "source": "hotline", "mapped": "names"}
        page = browser.post("/import", data, files={"file": ("a.csv", b"id,channel\n1,Ash Mill\n2,Cedar Bank\n")})
        found = re.search(r'name="held" value="([^"]+)"', page.text)
        assert found is not None
        data = {"held": found[1], "step": "count"}
        answers.append(received(office, browser, "post", "/import/confirm", data=data))
    assert answers[0][0] == 303
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("Otto", "/report"), ("Otto", "/import"), ("Otto", "/plan"), ("Otto", "/people"), ("Otto", "/activity"),
        ("Ida", "/round"), ("Ida", "/round/close"), ("Ida", "/plan"), ("Ida", "/transcript"), ("Ida", "/health"),
        ("Ida", "/guarantee"), ("Ida", "/activity"), ("Ida", "/transcript/transcript.jsonl"),
        ("Ida", "/round/decisions/override"), ("Ada", "/round"), ("Ada", "/report"), ("Ada", "/plan"),
        ("Ada", "/transcript"), ("Anna", "/people"), ("Anna", "/tokens"),
    ],
)  # fmt: skip
def test_a_role_does_not_reach_other_pages(office: Office, name: str, path: str) -> None:
    office.begin()
    assert office.browser(name).get(path).status_code == 403


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("Otto", "/report"), ("Otto", "/report/withdraw"), ("Otto", "/import"), ("Otto", "/import/confirm"),
        ("Otto", "/health/backup"), ("Ida", "/report/withdraw"), ("Ida", "/round/close"),
        ("Ida", "/round/decisions/override"), ("Ida", "/transcript/publish"), ("Ida", "/plan"),
        ("Ada", "/report"), ("Ada", "/round/close"), ("Ada", "/transcript/publish"), ("Anna", "/health/backup"),
    ],
)  # fmt: skip
def test_a_role_does_not_do_what_others_do(office: Office, name: str, path: str) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    answer = office.browser(name).post(path, {"target": "Ash Mill", "number": "1", "round": "1", "reason": "x"})
    assert answer.status_code == 403
    assert programme.status().entries == 0
    assert sum(programme.active_counts().values()) == 0


def test_taking_back_is_not_for_those_whom_it_would_tell_something(office: Office) -> None:
    """Whether there is a report to take back says whether there is one."""
    programme = office.begin()
    browser = office.browser("Ida")
    answers = []
    for _ in range(2):
        answer = browser.post("/report/withdraw", {"target": "Ash Mill", "number": "1"})
        answers.append((answer.status_code, answer.content))
        programme.report({"Ash Mill": 1})
    assert answers[0] == answers[1]
    assert answers[0][0] == 403


@pytest.mark.parametrize("path", ["/round", "/report", "/import", "/transcript", "/guarantee", "/round/close"])
def test_before_there_is_a_programme(office: Office, path: str) -> None:
    answer = office.browser("Anna").get(path)
    assert answer.status_code == 404
    assert "no programme yet" in answer.text
