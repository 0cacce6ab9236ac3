"""A year of an inspectorate in the console: classes, emergencies, unannounced visits, a flood, yearly figures."""

import re
from datetime import UTC, date, datetime
from html import unescape
from typing import Any

import pyrage
from tests.console.offices import CLASSES, Browser, Office
from tests.programme.insight import lines_of
from tests.programme.offices import TARGETS

from deniable.programme.calendar import Calendar
from deniable.programme.programme import Programme
from deniable.programme.public.verify import verify
from deniable.programme.secrets.oversight import replay
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript.unannounced import Reveal
from deniable.programme.transcript.yearly_figures import Figures

IDENTITY = pyrage.x25519.Identity.generate()
MONTHLY = Calendar(date(2025, 12, 15), "1M", "UTC")
"""Round 12 is the last of 2026."""
EMERGENCIES = {3: "Ash Mill", 6: "Birch Works", 9: "Ash Mill"}
"""The months in which a report of danger comes in, and about whom."""
FLOOD = 5
"""The month of a flood of reports."""


def test_a_year_with_all_that_an_office_must_do(office: Office) -> None:
    office.clock.now = datetime(2025, 12, 15, 12, tzinfo=UTC)
    programme = office.begin(
        calendar=MONTHLY, classes=CLASSES, most_counted=5, reveal_after=2, yearly_figures_delta=0.02,
        oversight=str(IDENTITY.to_public()),
    )  # fmt: skip
    assert publish(office, office.browser("Otto")) == []
    page = (office.public / "index.html").read_text("utf-8")
    assert page.index("class danger is not protected") < page.index("Suppose someone")
    drawn: dict[int, tuple[str, ...]] = {}
    for month in range(1, 13):
        file_reports(office, month)
        if month in EMERGENCIES:
            visit_at_once(office, EMERGENCIES[month])
        otto = office.browser("Otto")
        record_visits(otto)
        office.clock.now = MONTHLY.due(month)
        drawn[month] = close(office.browser("Otto"), programme, month)
        entries = publish(office, office.browser("Otto"))
        names = {entry.of: entry.audits for entry in entries if isinstance(entry, Reveal)}
        assert names == {of: drawn[of] for of in range(1, month - 1)}
        assert [entry.year for entry in entries if isinstance(entry, Figures)] == [2026] * (month == 12)
    assert_was_as_it_should_be(office, programme, drawn)


def file_reports(office: Office, month: int) -> None:
    """By the person who brings the hotline."""
    ida = office.browser("Ida")
    assert "Entered: " in ida.enter(TARGETS[month % 4], 1, report_class="minor").text
    assert "Entered: " in ida.enter(TARGETS[-1], 1, report_class="serious").text
    if month == FLOOD:
        assert "700 reports about" in ida.enter(TARGETS[1], 700, report_class="minor").text
        assert "at most 5 reports of each class" in office.browser("Anna").counts()


def visit_at_once(office: Office, target: str) -> None:
    anna, otto, visit = office.browser("Anna"), office.browser("Otto"), {"target": target, "class": "danger"}
    assert "1 report about" in anna.enter(target, 1, report_class="danger").text
    assert otto.post("/emergencies/confirm", visit).status_code == 422
    assert anna.post("/emergencies/ask", visit).headers["location"] == "/emergencies?done=asked"
    assert anna.post("/emergencies/confirm", visit).status_code == 422
    assert "Anna</bdi> asked for this visit" in otto.get("/emergencies").text
    assert otto.post("/emergencies/confirm", visit).headers["location"] == "/transcript?done=visit"
    assert publish(office, otto)[-1].kind == "emergency"


def record_visits(otto: Browser) -> None:
    """Of all targets whose names are public."""
    page = otto.get("/work-list").text
    today = next(iter(re.findall(r'max="([^"]+)"', page)), "")
    for audit in re.findall(r'name="audit" value="([^"]+)"', page):
        answer = otto.post("/work-list", {"audit": unescape(audit), "day": today, "confirmed": "yes"})
        assert answer.headers["location"] == "/work-list?done=recorded"
    page = otto.get("/work-list").text
    assert 'name="audit"' not in page
    assert ("not public yet" in page) != ("No audit wa" in page)  # waits, or was drawn yet


def close(otto: Browser, programme: Programme, month: int) -> tuple[str, ...]:
    assert f"Close round {month}" in otto.get("/round").text
    answer = otto.post("/round/close", {"round": str(month)})
    assert f"Round {month} is closed" in answer.text
    closed = programme.close_round(month)
    assert closed.already
    assert closed.secret_until == month + 2
    assert all(name in answer.text for name in closed.audits)
    assert "not public yet" in otto.get("/work-list").text
    return closed.audits


def publish(office: Office, browser: Browser) -> list[Entry]:
    """On the page of the transcript, which says that it checks out; and it does."""
    assert browser.post("/transcript/publish").headers["location"] == "/transcript?done=published"
    assert '">in order<' in browser.get("/transcript").text
    found = verify(office.public, now=office.clock.now)
    assert not found.warnings
    return [parse(line) for line in found.lines]


def assert_was_as_it_should_be(office: Office, programme: Programme, drawn: dict[int, Any]) -> None:
    entries = [parse(line) for line in lines_of(str(office.database))]
    replayed = replay(programme.parameters, entries, programme.seals(), IDENTITY)
    assert (replayed.verdict, [*replayed.confirmed]) == ("confirmed", [*drawn])
    (figures,) = (entry for entry in entries if isinstance(entry, Figures))
    assert abs(dict(figures.reports)["minor"] - 712) < 200  # ten standard deviations
    assert [entry.kind for entry in entries].count("emergency") == len(EMERGENCIES)
    guarantee = office.browser("Anna").get("/guarantee").text
    assert "is not protected" in guarantee
    assert "not protected" in guarantee
