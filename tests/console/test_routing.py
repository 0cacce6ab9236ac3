"""Addresses, what pages are given, and that nothing holds up the event loop."""

import asyncio
import re
from contextlib import nullcontext
from threading import current_thread
from typing import Annotated, Any

import anyio
import anyio.to_thread
import httpx
import pytest
import sqlalchemy as sa
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from tests.console.offices import Office
from tests.console.test_security import NEEDS, request

from deniable.console.accounts.people import Person
from deniable.console.app import PAGES, prepare
from deniable.console.limits import SLOW
from deniable.console.pages import account, guarantee, published
from deniable.console.pages.common import CurrentProgramme
from deniable.console.remembered import takes_long
from deniable.console.routing import Pages, Router
from deniable.console.security import Fields, console_of, require
from deniable.console.target_search import FEW
from deniable.errors import DeniableError
from deniable.message import noted
from deniable.storage.store import Store


def test_addresses(office: Office) -> None:
    anna = office.browser("Anna")
    office.begin()
    for path in ("/nowhere", "/round/", "/people/x/y/disable", "/people//disable", "/round/decisions/{kind}"):
        assert anna.get(path).status_code == 404, path
    for method, path, allowed in (
        ("DELETE", "/round", "GET"),
        ("HEAD", "/round", "GET"),
        ("PUT", "/report", "GET, POST"),
        ("HEAD", "/people/id-Otto/enable", "POST"),
    ):
        refused = anna.client.request(method, path)
        assert (refused.status_code, refused.headers["allow"]) == (405, allowed), path
    assert anna.get("/transcript/programme.json").status_code == 200


def test_the_address_of_a_form_leads_to_its_page(office: Office) -> None:
    """Every one that has nothing to look at: a browser opens it again when it restores a tab."""
    anna, to = office.browser("Anna"), dict[str, str]()
    office.begin()
    for route in PAGES.routes:
        path = re.sub("{[^}]+}", "id-Otto", route.path)
        if route.method == "POST" and not PAGES.has(path) and "-run/" not in path and "invitation/" not in path:
            answer = anna.get(path)
            assert answer.status_code == 303, path
            to[path] = answer.headers["location"]
            assert to[path] == "/" or PAGES.has(to[path]), path
    assert to["/transcript/find"] == "/transcript"
    assert to["/import/assign"] == to["/import/take-back"] == "/import"
    assert to["/people/id-Otto/enable"] == "/people"
    assert to["/round/draw/fetch"] == "/round/draw"
    assert to["/logout"] == to["/language"] == "/"


def test_a_form_that_is_too_old_leads_to_its_page(office: Office) -> None:
    answer = office.browser("Ada").post("/people/invite", {"csrf": "x"})
    assert answer.status_code == 403
    assert "<h1>Please send the form again</h1>" in answer.text
    assert '<a href="/people">Go to the form</a>' in answer.text


def test_who_may_not_open_a_page_is_told_for_whom_it_is(office: Office) -> None:
    answer = office.browser("Ida").get("/round")
    assert answer.status_code == 403
    assert "Your role is importer. This page is for these roles: operator and auditor." in answer.text
    assert "This page is for another role: administrator." in office.browser("Ida").get("/people").text


def test_what_a_page_is_given() -> None:
    """The person before the programme and the form, whatever its parameters are called."""
    router = Router(prefix="/some")

    @router.get("/{part}")
    @router.post("/{part}")
    def page(
        request: Request, part: str, who: Annotated[Person, require("plan")], _: CurrentProgramme, __: Fields
    ) -> Response:
        raise NotImplementedError

    assert [(route.method, route.path) for route in router.routes] == [
        ("POST", "/some/{part}"),
        ("GET", "/some/{part}"),
    ]
    for route in Pages([router]).routes:
        assert [*route.given] == ["request", "part", "who", "_"]
        assert route.fields == "__"


# On the event loop, or in a thread


def is_on_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("name", ["Ada", "Otto", "Ida", "Anna"])
@pytest.mark.parametrize("planted", [False, True])
def test_nothing_is_written_on_the_event_loop(
    office: Office, monkeypatch: pytest.MonkeyPatch, name: str, planted: bool
) -> None:
    """It would hold up everything else while another process writes. By no page and by no form; a page that tries is
    made again in a thread, for which one moment must be looked at.
    """
    office.begin()
    office.clock.tomorrow()
    browser, connected, found = office.browser(name), Store._connected_to_write, list[bool]()

    def connecting(store: Store) -> sa.Connection:
        found.append(is_on_loop())
        return connected(store)

    def writes(asked: Request, *_: Any) -> Response:
        console_of(asked).record(office.people[name], noted("looked at the account"))
        return PlainTextResponse("seen")

    monkeypatch.setattr(Store, "_connected_to_write", connecting)
    monkeypatch.setattr(account, "render", writes)
    if planted:
        monkeypatch.setattr(Store, "one_moment", lambda _: nullcontext())
    for method, path in [*NEEDS] * 2:  # the second time much is remembered
        if "sign-out" not in path:
            request(browser, method, path)
    assert (False in found, True in found) == (True, planted)


def test_what_takes_long_is_made_in_a_thread(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the beginning, and once."""
    made = list[tuple[bool, str]]()

    def render(_: Request, name: str, *__: Any) -> Response:
        made.append((is_on_loop(), name))
        takes_long()
        made.append((is_on_loop(), name))
        return PlainTextResponse(current_thread().name)

    office.begin()
    prepare(office.console)
    monkeypatch.setattr(guarantee, "render", render)
    assert "worker" in office.browser("Anna").get("/guarantee").text
    assert made == [(True, "guarantee.html"), *[(False, "guarantee.html")] * 2]


@pytest.mark.parametrize(
    ("name", "path", "is_quick"),
    [
        ("Otto", "/round", True),
        ("Otto", "/round/decisions/override", True),
        ("Otto", "/transcript", True),
        ("Otto", "/work-list", True),
        ("Ida", "/report", True),
        ("Ida", "/import", True),
        ("Anna", "/plan", True),
        ("Anna", "/guarantee", True),
        ("Ada", "/people", True),
        ("Anna", "/round", True),
        ("Otto", "/health", True),
        ("Otto", "/transcript/programme.json", False),
    ],
)
def test_a_prepared_console_makes_pages_while_all_threads_are_busy(
    office: Office, monkeypatch: pytest.MonkeyPatch, name: str, path: str, is_quick: bool
) -> None:
    monkeypatch.setattr(published, "SETTLED", -(10**12))  # as if they had been published long ago
    office.begin(targets=[f"Target {number}" for number in range(FEW + 1)]).publish(office.public)
    prepare(office.console)
    session = office.browser(name).cookie("session") or ""

    async def ask() -> int:
        for _ in range(SLOW):
            office.console.slow_threads.acquire_on_behalf_of_nowait(object())
        transport, cookies = httpx.ASGITransport(office.app), {"session": session}
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver", cookies=cookies) as client:
            with anyio.move_on_after(30 if is_quick else 0.1):
                return (await client.get(path)).status_code
        return 0

    assert anyio.run(ask) == (200 if is_quick else 0)


def test_what_is_wrong_does_not_keep_the_console_from_starting(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page says it."""

    def refuses(*_: Any) -> None:
        raise DeniableError("the head was altered")

    office.begin()
    monkeypatch.setattr(office.console.public_records, "current", refuses)
    prepare(office.console)
    assert office.browser("Otto").get("/round").status_code == 503


@pytest.mark.parametrize("cookie", ["", f"{'a' * 43}.1.1.{'0' * 64}"])
def test_strangers_reach_neither_a_thread_nor_the_database(
    office: Office, monkeypatch: pytest.MonkeyPatch, cookie: str
) -> None:
    """How long either takes could tell what others do."""
    office.begin()
    stranger = office.browser()
    stranger.get("/login")  # the first request asks whether there are people
    stranger.client.cookies["session"] = cookie
    monkeypatch.setattr(anyio.to_thread, "run_sync", None)
    monkeypatch.setattr(Store, "reading", None)
    for route in PAGES.routes:
        if (route.method, route.path) in NEEDS or route.path == "/login":
            assert stranger.client.request(route.method, route.path).status_code in {200, 303, 403}, route.path
