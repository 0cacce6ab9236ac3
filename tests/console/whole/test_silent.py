"""What the database is asked when people open pages and enter reports, while the console ticks: nothing, in most."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.requests import Request
from tests.console.offices import CLASSES, Office, form_on
from tests.console.test_api import push, token
from tests.console.whole.test_uniform import PAGES, received, statements

from deniable.console import routing
from deniable.console.accounts import people
from deniable.console.app import prepare
from deniable.console.pages import report
from deniable.console.security import console_of
from deniable.programme import intake
from deniable.programme.access import Access
from deniable.programme.ticker import Ticker
from deniable.storage import replica, tables
from deniable.storage.replica import Replica


@pytest.fixture
def ticking(office: Office, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    """Its console runs, and ticks often."""
    monkeypatch.setattr(intake, "Ticker", partial(Ticker, every=0.02))
    monkeypatch.setattr(replica, "LONGEST", float("inf"))  # however slow the machine is
    office.begin(classes=CLASSES)
    prepare(office.console)
    office.console.start()
    yield office
    office.console.close()


@pytest.fixture
def asking(ticking: Office, monkeypatch: pytest.MonkeyPatch) -> Office:
    """The same in the second after something changed: pages ask the database, and nothing is looked up in memory."""
    monkeypatch.setattr(Replica, "current", lambda _: None)
    return ticking


def nothing(_: pytest.MonkeyPatch) -> None:
    pass


def planted_read(monkeypatch: pytest.MonkeyPatch, table: sa.Table) -> None:
    bring = report._bring

    def planted(request: Request, *others: Any) -> Any:
        with console_of(request).store.reading() as connection:
            connection.execute(sa.select(table)).first()
        return bring(request, *others)

    monkeypatch.setattr(report, "_bring", planted)


def one_more_read(monkeypatch: pytest.MonkeyPatch) -> None:
    planted_read(monkeypatch, tables.standing)


def another_table(monkeypatch: pytest.MonkeyPatch) -> None:
    planted_read(monkeypatch, tables.lock)


def no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Replica, "current", lambda _: None)


def another_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if who sends the form were looked up by itself."""
    monkeypatch.setattr(routing, "is_known_first", lambda _: True)


def the_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Access, "glancing", Access.looking)


@pytest.mark.parametrize("planted", [nothing, one_more_read, another_moment, the_manifest])
@pytest.mark.parametrize("name", ["Ida", "Anna"])
def test_entering_reports_asks_the_database_what_opening_the_page_asks(
    asking: Office, monkeypatch: pytest.MonkeyPatch, name: str, planted: Callable[[pytest.MonkeyPatch], None]
) -> None:
    """In one transaction and in the same order: the server's statistics do not tell one from the other. Neither do they
    if a report is sent again, is refused, or is one that leads to a visit.
    """
    planted(monkeypatch)
    browser = asking.browser(name)
    form = form_on(browser.enter("Ash Mill", 1, report_class="minor").text)  # when it is answered, there was a tick
    forms = [("Ash Mill", "1", "minor", 200)] * 2
    forms += [("Cedar Bank", "9999", "serious", 200), ("Ash Mill", "9999", "danger", 200)]
    if planted is nothing:  # what is refused is not looked up in all of the others
        forms += [("Nowhere", "1", "minor", 422), ("Ash Mill", "0", "minor", 422), ("Ash Mill", "1", "none", 422)]
        forms += [("Ash Mill", "21", "minor", 200)]  # which is asked about
    status, *_, opened = received(asking, browser, "get", "/report")
    assert (status, opened.count("BEGIN"), len(opened)) == (200, 1, 4)
    for target, number, report_class, expected in forms:
        data = {"target": target, "number": number, "class": report_class, "form_id": form, "confirmed": "9999"}
        status, *_, sent = received(asking, browser, "post", "/report", data=data)
        assert status == expected
        assert (sent == opened) == (planted is nothing)


ON_THE_LOOP = [(name, path) for name, paths in PAGES.items() for path in paths if "." not in path]


@pytest.mark.parametrize(("name", "path"), ON_THE_LOOP)
def test_a_page_takes_one_transaction(asking: Office, name: str, path: str) -> None:
    """As many as entering reports takes."""
    browser = asking.browser(name)
    browser.get(path)
    *_, seen = received(asking, browser, "get", path)
    assert seen.count("BEGIN") == 1


@pytest.mark.parametrize("planted", [nothing, another_table, the_manifest, no_memory])
@pytest.mark.parametrize("name", ["Ida", "Anna"])
def test_entering_reports_asks_the_database_nothing(
    ticking: Office, monkeypatch: pytest.MonkeyPatch, name: str, planted: Callable[[pytest.MonkeyPatch], None]
) -> None:
    """The server's statistics do not tell whether reports were entered, the page was opened, or nothing happened."""
    planted(monkeypatch)
    browser = ticking.browser(name)
    form = form_on(browser.enter("Ash Mill", 1, report_class="minor").text)  # when it is answered, there was a tick
    asked = []
    for number, expected in (("1", 200), ("2", 200), ("0", 422)):
        data = {"target": "Ash Mill", "number": number, "class": "minor", "form_id": form, "confirmed": "9999"}
        status, *_, seen = received(ticking, browser, "post", "/report", data=data)
        assert status == expected
        asked += seen
    assert (asked == []) == (planted is nothing)


SILENT = [
    ("Ida", "/report"),
    ("Ida", "/import"),
    ("Ida", "/account"),
    ("Anna", "/report"),
    ("Otto", "/transcript"),
    ("Otto", "/guarantee"),
    ("Otto", "/help/index"),
    ("Ada", "/people"),
    ("Ada", "/tokens"),
    (None, "/login"),
]
LOUD = [("Otto", "/round"), ("Otto", "/work-list"), ("Otto", "/health"), ("Ada", "/activity")]


@pytest.mark.parametrize(("name", "path"), [*SILENT, *LOUD])
def test_most_pages_ask_the_database_nothing(ticking: Office, name: str | None, path: str) -> None:
    """docs/explanation/silent.md names the others."""
    browser, programme = ticking.browser(name), ticking.console.programme()
    browser.get(path)
    assert programme is not None
    programme.report({"Ash Mill": 1}, report_class="minor")  # when this returns, there was a tick
    status, *_, seen = received(ticking, browser, "get", path)
    assert status == 200
    assert (seen == []) == ((name, path) in SILENT)


def test_pushing_reports_asks_the_database_nothing(ticking: Office) -> None:
    headers, machine, asked = token(ticking, "reports"), ticking.browser(), list[list[str]]()
    for _ in range(3):
        with statements(ticking) as seen:
            assert push(machine, headers, {"class": "minor", "reports": {"Ash Mill": 1}}).status_code == 200
        asked.append(seen)
    assert asked[1:] == [[], []]


@pytest.mark.parametrize("planted", [False, True])
def test_a_person_who_is_disabled_is_out_at_once(
    ticking: Office, monkeypatch: pytest.MonkeyPatch, planted: bool
) -> None:
    """Although who they are is looked up in memory. Planted: memory is used whatever has changed."""
    browser = ticking.browser("Ida")
    assert browser.enter("Ash Mill", 1, report_class="minor").status_code == 200
    console = ticking.console
    if planted:
        assert console.store._replica is not None
        copy = console.store._replica.current()
        monkeypatch.setattr(Replica, "current", lambda _: copy)
    with console.store.writing() as connection:
        people.set_disabled(connection, console.key, ticking.people["Ida"].id, True)
    assert (browser.get("/report").status_code == 200) == planted
