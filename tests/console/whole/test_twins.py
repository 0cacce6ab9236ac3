"""Two worlds that differ in one report: whatever people and machines are answered is the same, byte for byte.

The same office goes twice through everything that can be asked of the console, from the same database; the second time
there was one report more. Left out are the two answers that show counts to auditors who ask for them. The draw is
replaced by one that always gives the same audit: where the audits differ, so may everything else, by as much as the
guarantee says. A programme with emergencies has steps of its own.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any

import httpx
import pytest
from tests.console.offices import CLASSES, Browser, Office, form_on, pending_on, receipt_on
from tests.console.test_api import PUSH, STATUS, token
from tests.console.whole.test_uniform import PAGES, RANDOM, statements, without_cookie

from deniable.console.console import Console
from deniable.console.pages import (
    common,
    emergencies,
    guarantee,
    health_checks,
    open_round,
    plan,
    published,
    transcript,
)
from deniable.console.pages.health_checks import Check
from deniable.console.pending_decisions import PendingDecisions
from deniable.console.pending_imports import PendingImports
from deniable.console.pending_visits import PendingVisits
from deniable.console.public_record import PublicRecords
from deniable.console.target_search import TargetSearch
from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.message import noted
from deniable.programme import counting
from deniable.programme.buffer import NOTHING, Slots
from deniable.programme.counting import _by_number, settle
from deniable.programme.programme import Programme
from deniable.programme.transaction import Transaction
from deniable.run import AuditRun

AUDITOR = (
    "/round",
    "/round/pending",
    "/report",
    "/import",
    "/plan",
    "/transcript",
    "/guarantee",
    "/health",
    "/activity",
    "/account",
)
DECISION = {"reason": "A fire in the news.", "independent": "yes"}
FIRST = 60
"""Answers in which every page was seen, and everything that counts a report or takes one back was tried."""
FILE = {"file": ("export.csv", b"id,channel\n57,Ash Mill\n58,Cedar Bank\n")}


@dataclass
class Twins:
    """An office that can go back to where it was."""

    office: Office
    programme: Programme
    browsers: dict[str, Browser]
    headers: dict[str, str]
    database: bytes
    beside: bytes
    now: datetime
    cookies: dict[str, httpx.Cookies]
    last: str = ""

    @classmethod
    def of(cls, office: Office, **settings: Any) -> "Twins":
        programme = office.begin(**settings)
        programme.hotlines.add("hotline")
        office.clock.tomorrow()
        headers = token(office, "reports", "status")
        browsers = {name: office.browser(name) for name in office.people}
        copy = office.console.copy
        assert copy is not None
        assert office.console.programme() is not None  # from now on it is known, and kept beside the key
        cookies = {name: httpx.Cookies(browser.client.cookies) for name, browser in browsers.items()}
        beside, now = copy.path.read_bytes(), office.clock.now
        return cls(office, programme, browsers, headers, office.saved(), beside, now, cookies)

    def answers(self, extra: Callable[[Programme], object] | None = None, most: int | None = None) -> list[Any]:
        """Everything that is answered, or so many answers, where this was done first."""
        office, copy = self.office, self.office.console.copy
        assert copy is not None
        office.put_back(self.database)
        copy.path.write_bytes(self.beside)
        shutil.rmtree(office.database.with_name("console-public"), ignore_errors=True)
        office.clock.now = self.now
        self._forget()
        for name, cookies in self.cookies.items():
            self.browsers[name].client.cookies = httpx.Cookies(cookies)
        if extra is not None:
            extra(self.programme)
        return [self._received(*step) for step in islice(self._steps(), most)]

    def _forget(self) -> None:
        """What is remembered of the transcript saves work in the second world, and is public."""
        console = self.office.console
        console.public_records = PublicRecords(console.store)
        console.target_search = TargetSearch()
        published._digests.clear()
        for remembered in (published._checks, transcript._files, plan._explained, guarantee._promises):
            remembered._values.clear()
        console.pending_imports = PendingImports(console.clock)
        console.pending_visits = PendingVisits(console.clock)
        console.pending_decisions = PendingDecisions(console.clock)
        for programme in (self.programme, console.programme()):
            assert programme is not None
            programme._access._known_state = None

    def _received(self, name: str, method: str, path: str, data: Any = None, files: Any = None) -> tuple[Any, ...]:
        browser = self.browsers[name]
        with statements(self.office) as seen:
            if path in (PUSH, STATUS):
                answer = browser.client.request(method, path, json=data, headers=self.headers)
            elif method == "GET":
                answer = browser.get(path)
            else:
                answer = browser.post(path, data, files=files)
        self.last = answer.text
        assert answer.status_code in {200, 303, 422}, path
        headers = without_cookie(answer)
        return name, path, answer.status_code, headers, len(answer.content), RANDOM.sub(b"", answer.content), seen

    def _steps(self) -> Iterator[tuple[Any, ...]]:
        if self.programme.parameters.visit_classes:
            yield from self._emergencies()
            return
        yield from self._pages()
        yield from self._reports()
        yield from self._pages()
        yield from self._order()
        yield from self._reports()
        yield "Otto", "POST", "/round/close", {"round": "1"}
        yield "Otto", "POST", "/round/close", {"round": "1"}
        yield "Otto", "POST", "/transcript/publish"
        yield from self._reports()
        for seen in ({}, {"confirmed": "yes"}):
            told = {"contact": "Room 7", "hotline": "", "independent": "yes", **seen}
            yield "Otto", "POST", "/round/decisions/details", told
        for seen in ({}, {"confirmed": "2-2"}):
            changed = {"added": "Elm Quarry", "target": "Birch Works", **DECISION, **seen}
            yield "Otto", "POST", "/round/decisions/targets", changed
        yield "Otto", "POST", "/round/decisions/skip", {"round": "2", **DECISION}  # which is not due
        yield from self._pages()

    def _pages(self) -> Iterator[tuple[Any, ...]]:
        for name, paths in {**PAGES, "Anna": AUDITOR}.items():
            yield from ((name, "GET", path) for path in paths)
        yield "Ada", "GET", STATUS

    def _order(self) -> Iterator[tuple[Any, ...]]:
        """One person asks for an audit of a target, another confirms it."""
        ordered = {"target": "Ash Mill", **DECISION}
        for seen in ({}, {"confirmed": "1-2"}):
            yield "Otto", "POST", "/round/decisions/override", ordered | seen
        yield "Anna", "GET", "/round"
        yield "Anna", "GET", "/round/pending"
        asked = {"pending": pending_on(self.last), "confirmed": "1-2"}
        for name in ("Otto", "Anna", "Anna"):
            yield name, "POST", "/round/pending/confirm", asked

    def _emergencies(self) -> Iterator[tuple[Any, ...]]:
        """A report that leads to a visit comes in, one person asks for the visit, another confirms it."""
        visit = {"target": "Ash Mill", "class": "danger"}
        yield "Ida", "GET", "/report"
        entered = {"target": "Ash Mill", "number": "1", "form_id": form_on(self.last)}
        for report_class in ("minor", "serious", "danger", "none"):
            for confirmed in ("", "1"):
                yield "Ida", "POST", "/report", entered | {"class": report_class, "confirmed": confirmed}
        for report_class in ("serious", "danger", "none"):
            pushed = {"id": report_class, "class": report_class, "reports": {"Ash Mill": 1, "Nowhere": 1}}
            yield "Ada", "POST", PUSH, pushed
        yield "Ada", "GET", "/api"
        for step in ("ask", "ask", "confirm", "withdraw", "withdraw", "ask"):
            yield "Anna", "POST", f"/emergencies/{step}", visit
            yield from ((name, "GET", "/emergencies") for name in ("Anna", "Otto"))
        for other in ({"target": "Cedar Bank", "class": "danger"}, {"target": "Ash Mill", "class": "minor"}):
            yield "Anna", "POST", "/emergencies/ask", other
            yield "Otto", "POST", "/emergencies/confirm", other
        yield "Otto", "POST", "/emergencies/confirm", visit
        yield "Otto", "POST", "/emergencies/confirm", visit
        yield "Otto", "POST", "/transcript/publish"
        yield from self._pages()
        yield from ((name, "GET", "/emergencies") for name in ("Anna", "Otto"))

    def _reports(self) -> Iterator[tuple[Any, ...]]:
        """Everything that counts a report or takes one back, also twice, and also in vain."""
        for name in ("Ida", "Anna"):
            yield name, "GET", "/report"
            entered = {"target": "Ash Mill", "number": "1", "form_id": form_on(self.last)}
            yield name, "POST", "/report", entered | {"target": "Cedar Bank"}
            yield name, "POST", "/report", entered | {"number": "0"}
            yield name, "POST", "/report", entered
            yield name, "POST", "/report", entered
        receipt = receipt_on(self.last)
        for given in ("AAAA-BBBB-CCCC-DDDD", "?", receipt, receipt):
            data = {"target": "Ash Mill", "receipt": given}
            yield "Anna", "POST", "/report/withdraw", data
        for _ in range(2):
            yield "Ada", "POST", PUSH, {"id": "7", "reports": {"Ash Mill": 1, "Nowhere": 1}}
            yield "Ida", "POST", "/import", {"kind": "csv", "source": "hotline"}, FILE
            pending = pending_on(self.last)
            yield "Ida", "POST", "/import/confirm", {"pending": pending, "step": "count"}
            yield "Ida", "GET", "/import"
        yield "Ida", "POST", "/import/take-back", {"import": pending}
        yield "Ida", "GET", "/import"
        yield "Ida", "GET", "/import/channels"


@pytest.fixture(autouse=True)
def _same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    def cedar_bank(run: AuditRun, *_: Any, **__: Any) -> tuple[int, ...]:
        run.adopt([2])
        return (2,)

    monkeypatch.setattr(AuditRun, "select", cedar_bank)
    monkeypatch.setattr(published, "SETTLED", -(10**12))  # how long ago files were written changes what is remembered
    monkeypatch.setattr("deniable.programme.programme.new_seed", lambda *_: (bytes(32), "00" * 32))


MORE: dict[str, Callable[[Programme], object]] = {
    "entered": lambda programme: programme.report({"Ash Mill": 1}),
    "entered about the target that is drawn": lambda programme: programme.report({"Cedar Bank": 1}),
    "pushed": lambda programme: programme.push("another", "7", {"Ash Mill": 1}),
    "imported": lambda programme: programme.import_reports("hotline", [("57", "Ash Mill")]),
    "known": lambda programme: programme.import_reports("hotline", [("58", "Cedar Bank")], count=False),
}


ORDINARY: dict[str, Callable[[Programme], object]] = {
    "minor": lambda programme: programme.report({"Ash Mill": 1}, report_class="minor"),
    "serious, about another target": lambda programme: programme.report({"Cedar Bank": 1}, report_class="serious"),
}


def test_one_report_changes_no_answer(office: Office) -> None:
    twins = Twins.of(office)
    answers = twins.answers()
    assert sum("/transcript?done=decided" in str(answer[3]) for answer in answers) == 3
    for name, more in MORE.items():
        for one, other in zip(answers, twins.answers(more), strict=True):
            assert one == other, name


def test_the_check_sees_a_page_that_tells(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: Health says how many reports there are."""
    original = health_checks._programme

    def telling(console: Console, programme: Programme, say: Voice) -> Iterator[Check]:
        yield from original(console, programme, say)
        yield Check(noted("Reports"), "good", str(sum(programme.active_counts().values())))

    monkeypatch.setattr(health_checks, "_programme", telling)
    twins = Twins.of(office)
    assert twins.answers(most=FIRST) != twins.answers(MORE["entered"], most=FIRST)


def test_one_ordinary_report_changes_no_answer_about_emergencies(office: Office) -> None:
    """Whatever is asked for, confirmed, refused and shown there, to auditors as well."""
    twins = Twins.of(office, classes=CLASSES)
    answers = twins.answers()
    assert any("/transcript?done=visit" in str(answer[3]) for answer in answers)
    for name, more in ORDINARY.items():
        for one, other in zip(answers, twins.answers(more), strict=True):
            assert one == other, name


def test_the_check_sees_counts_on_the_page_that_an_auditor_sees_first(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: whether a visit waits, said of ordinary reports."""
    original = open_round.AuditorRoundPage

    def telling(**fields: Any) -> open_round.AuditorRoundPage:
        counts = office.console.programme().active_counts()  # type: ignore[union-attr]
        return original(**fields | {"visit_waits": any(counts.values())})

    monkeypatch.setattr(open_round, "AuditorRoundPage", telling)
    twins = Twins.of(office)
    assert twins.answers(most=FIRST) != twins.answers(MORE["entered"], most=FIRST)


def test_the_check_sees_an_emergency_that_tells(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the page warns where ordinary reports would be deleted with the visit."""

    def telling(programme: Programme, target: str, report_class: str, say: Voice) -> Any:
        shown, counts = common.foreseen(programme, target, report_class, say), programme.active_counts()
        return replace(shown, deed=f"{shown.deed} {'Reports are deleted.' if counts.get(target, 0) > 7 else ''}")

    monkeypatch.setattr(emergencies, "foreseen", telling)
    twins = Twins.of(office, classes=CLASSES)
    assert twins.answers(most=15) != twins.answers(ORDINARY["minor"], most=15)


def test_the_check_sees_a_refusal_that_tells(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: without a receipt, as many reports can be taken back as there are, but for two."""

    def withdrawn(transaction: Transaction, names: Any, receipt: str) -> tuple[Slots, tuple[str, ...]]:
        del receipt
        counts, tally = _by_number(transaction.state, dict.fromkeys(names, 1)), settle(transaction).tally[0]
        if any(tally[target] < 2 + count for target, count in counts.items()):
            raise DeniableError("two reports must be left")
        return NOTHING, ()

    monkeypatch.setattr(counting, "withdrawn", withdrawn)
    twins = Twins.of(office)
    assert twins.answers(most=FIRST) != twins.answers(MORE["entered"], most=FIRST)
