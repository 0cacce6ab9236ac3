"""Every route, for every role: with a session, without one, with one that has ended, and with a form from elsewhere.

The table below is what each route needs. A route that is not in it fails the test, so that none is forgotten.
"""

import hashlib
import re
from typing import Any

import pytest
import sqlalchemy as sa
from starlette import requests
from tests.console.offices import Browser, Office, routes
from tests.console.test_api import token
from tests.programme.offices import TARGETS

from deniable.console import sessions, tables
from deniable.console.accounts.tokens import Scope
from deniable.console.security import ALLOWED, SMALL, Permission
from deniable.programme.names import MOST_MARKS, has_piled_marks
from deniable.storage import layout

NEEDS: dict[tuple[str, str], Permission] = {
    ("GET", "/account"): "account",
    ("POST", "/account/password"): "account",
    ("POST", "/account/sign-out"): "account",
    ("GET", "/activity"): "activity",
    ("GET", "/activity/activity.csv"): "activity",
    ("POST", "/activity/find"): "activity",
    ("GET", "/api"): "people",
    ("GET", "/emergencies"): "decide",
    ("POST", "/emergencies/ask"): "counts",
    ("POST", "/emergencies/confirm"): "decide",
    ("POST", "/emergencies/withdraw"): "decide",
    ("GET", "/guarantee"): "guarantee",
    ("GET", "/health"): "health",
    ("POST", "/health/backup"): "people",
    ("GET", "/help"): "account",
    ("GET", "/help/{topic}"): "account",
    ("GET", "/hotlines"): "people",
    ("POST", "/hotlines/hand-over"): "people",
    ("POST", "/hotlines/new"): "people",
    ("GET", "/import"): "report",
    ("POST", "/import"): "report",
    ("POST", "/import/assign"): "report",
    ("GET", "/import/channels"): "report",
    ("POST", "/import/channels"): "report",
    ("POST", "/import/channels/file"): "report",
    ("GET", "/import/channels/file.csv"): "report",
    ("POST", "/import/confirm"): "report",
    ("GET", "/import/example.csv"): "report",
    ("POST", "/import/resume"): "resume",
    ("POST", "/import/take-back"): "report",
    ("GET", "/people"): "people",
    ("GET", "/people/people.csv"): "people",
    ("POST", "/people/invite"): "people",
    ("GET", "/people/{id_}/disable"): "people",
    ("POST", "/people/{id_}/disable"): "people",
    ("POST", "/people/{id_}/enable"): "people",
    ("GET", "/people/{id_}/remove"): "people",
    ("POST", "/people/{id_}/remove"): "people",
    ("GET", "/people/{id_}/reset"): "people",
    ("POST", "/people/{id_}/reset"): "people",
    ("POST", "/people/{id_}/withdraw"): "people",
    ("GET", "/plan"): "plan",
    ("POST", "/plan"): "plan",
    ("GET", "/public/{name}"): "transcript",
    ("GET", "/report"): "report",
    ("POST", "/report"): "report",
    ("POST", "/report/find"): "report",
    ("POST", "/report/withdraw"): "withdraw",
    ("GET", "/round"): "round",
    ("GET", "/round/counts"): "counts",
    ("POST", "/round/counts"): "counts",
    ("GET", "/round/pending"): "decide",
    ("POST", "/round/pending/confirm"): "decide",
    ("POST", "/round/pending/withdraw"): "decide",
    ("GET", "/round/close"): "close",
    ("POST", "/round/close"): "close",
    ("GET", "/round/draw"): "close",
    ("POST", "/round/draw/confirm"): "close",
    ("POST", "/round/draw/fetch"): "close",
    ("POST", "/round/draw/file"): "close",
    ("POST", "/round/draw/numbers"): "close",
    ("POST", "/round/draw/withdraw"): "close",
    ("POST", "/round/draw/without"): "close",
    ("GET", "/round/decisions/details"): "decide",
    ("POST", "/round/decisions/details"): "decide",
    ("GET", "/round/decisions/{kind}"): "decide",
    ("POST", "/round/decisions/{kind}"): "decide",
    ("GET", "/tokens"): "people",
    ("POST", "/tokens/new"): "people",
    ("GET", "/tokens/{id_}/revoke"): "people",
    ("POST", "/tokens/{id_}/revoke"): "people",
    ("GET", "/transcript"): "transcript",
    ("POST", "/transcript/find"): "transcript",
    ("POST", "/transcript/publish"): "publish",
    ("GET", "/transcript/record.csv"): "transcript",
    ("GET", "/transcript/targets.csv"): "transcript",
    ("GET", "/transcript/{name}"): "transcript",
    ("GET", "/work-list"): "decide",
    ("POST", "/work-list"): "decide",
    ("POST", "/work-list/find"): "decide",
    ("GET", "/work-list/work-list.csv"): "decide",
}


FOR_EVERYBODY = {
    ("GET", "/"),
    ("GET", "/help/signing-in"),
    ("GET", "/login"),
    ("POST", "/login"),
    ("POST", "/logout"),
    ("POST", "/language"),
    *((method, path) for method in ("GET", "POST") for path in ("/first-run/{token}", "/invitation/{token}")),
    *(("GET", f"/{kind}/{{token}}/qr.png") for kind in ("first-run", "invitation")),
}


FOR_MACHINES: dict[tuple[str, str], Scope] = {
    ("GET", "/api/v1/status"): "status",
    ("POST", "/api/v1/reports"): "reports",
}


VALUES = {"topic": "every-round", "id_": "id-Otto", "kind": "override", "name": "programme.json", "token": "guess"}


FORM = {
    "name": "Berta", "role": "auditor", "scope": "status", "target": TARGETS[0], "number": "1", "round": "1",
    "reason": "A fire.", "independent": "yes", "kind": "csv", "source": "hotline", "hotline": "hotline",
    "step": "count", "form_id": "x" * 22, "contact": "Room 7",
}  # fmt: skip
"""Filled in so that every form would do something."""


def test_every_route_is_in_the_table(office: Office) -> None:
    found = set(routes(office.app))
    assert found == NEEDS.keys() | FOR_EVERYBODY | FOR_MACHINES.keys()
    others = {getattr(route, "path", "") for route in office.app.routes} - {path for _, path in found} - {""}
    assert others == {"/api/v1/openapi.json", "/static"}


def request(browser: Browser, method: str, path: str, csrf: str | None = None) -> Any:
    """With a form where it is a POST, from this browser's own page unless told otherwise."""
    filled = re.sub(r"{(\w+)}", lambda found: VALUES[found[1]], path)
    if method == "GET":
        return browser.get(filled)
    return browser.client.post(filled, data={**FORM, "csrf": browser.csrf() if csrf is None else csrf})


def everything(office: Office) -> str:
    """A fingerprint of all that the database holds, sessions apart."""
    kept = [table for table in layout.tables() if table.name != tables.sessions.name]
    with office.console.store.reading() as connection:
        rows = [sorted(map(repr, connection.execute(sa.select(table)))) for table in kept]
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def is_sent_to_sign_in(answer: Any) -> bool:
    return bool(answer.status_code == 303 and answer.headers["location"].partition("?")[0] == "/login")


def may_sign_in_again(answer: Any) -> bool:
    """And gets the form back, of which nothing was done."""
    return bool(answer.status_code == 403 and 'name="kept"' in answer.text and "nothing was sent" in answer.text)


@pytest.mark.parametrize("name", ["Ada", "Otto", "Ida", "Anna"])
def test_a_role_reaches_what_is_its_own_and_nothing_else(office: Office, name: str) -> None:
    """And whatever is refused changes nothing."""
    office.begin()
    office.clock.tomorrow()
    browser, role = office.browser(name), office.people[name].role
    stranger, late = office.browser(), office.browser(name)
    late.csrf()
    office.clock.now += sessions.IDLE  # `late` is over; `browser` signs in anew
    browser.sign_in(name)
    foreign, before = stranger.csrf(), everything(office)
    mine = [route for route, needs in NEEDS.items() if role in ALLOWED[needs]]
    assert 0 < len(mine) < len(NEEDS)
    for method, path in NEEDS:
        assert is_sent_to_sign_in(request(stranger, method, path)), path
        assert is_sent_to_sign_in(request(late, method, path)) or may_sign_in_again(request(late, method, path)), path
        if (method, path) not in mine:
            assert request(browser, method, path).status_code == 403, path
        if method == "POST":
            for wrong in ("", "x", foreign, late.csrf()):
                assert request(browser, method, path, wrong).status_code == 403, path
    assert everything(office) == before
    for method, path in sorted(mine, reverse=True):  # forms, then pages
        answer = request(browser, method, path)
        assert answer.status_code in {200, 303, 422}, path
        assert is_sent_to_sign_in(answer) == (path == "/account/sign-out"), path
        if path == "/account/sign-out":
            browser.sign_in(name)
    assert (everything(office) != before) == any(method == "POST" for method, _ in mine)


@pytest.mark.parametrize("name", ["Ada", "Otto", "Ida", "Anna"])
def test_a_session_is_no_token_and_a_token_no_session(office: Office, name: str) -> None:
    office.begin()
    browser = office.browser(name)
    both = token(office, "reports", "status")
    for method, path in FOR_MACHINES:
        assert request(browser, method, path).status_code == 401
    for method, path in NEEDS:
        stranger = office.browser()
        filled = re.sub(r"{(\w+)}", lambda found: VALUES[found[1]], path)
        assert is_sent_to_sign_in(stranger.client.request(method, filled, headers=both)), path


@pytest.mark.parametrize("route", FOR_MACHINES)
def test_what_a_token_reaches(office: Office, route: tuple[str, str]) -> None:
    """Right, none, wrong, revoked, and for something else."""
    programme = office.begin()
    (method, path), scope = route, FOR_MACHINES[route]
    other = next(one for one in FOR_MACHINES.values() if one != scope)
    body = {"json": {"id": "7", "reports": {"Ash Mill": 1}}} if method == "POST" else {}

    def answered(headers: dict[str, str]) -> int:
        status: int = office.browser().client.request(method, path, headers=headers, **body).status_code
        return status

    right, wrong = token(office, scope), token(office, other)
    assert answered({}) == 401
    assert answered({"Authorization": "Bearer deniable-guess"}) == 401
    assert answered(wrong) == 403
    assert sum(programme.active_counts().values()) == 0
    assert answered(right) == 200
    with office.console.store.writing() as connection:
        connection.execute(sa.delete(tables.tokens))
    assert answered(right) == 401


def test_the_document_of_the_api_names_nobody(office: Office) -> None:
    """It is open to everybody, once there are people, and the same whatever the programme is."""
    before = office.browser().get("/api/v1/openapi.json")
    programme = office.begin()
    programme.report({"Ash Mill": 5})
    assert before.status_code == 200
    assert office.browser().get("/api/v1/openapi.json").content == before.content


PART = b"--x\r\nContent-Disposition: form-data; name=csrf%s\r\n\r\n%%s\r\n--x--\r\n"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded", b"csrf=%s&kind=plain&source=hotline&file=id,channel"),
        ("application/x-www-form-urlencoded; charset=none", b"csrf=%s&kind=plain&file=a&file=b&mapping=c"),
        ("", b"csrf=%s&kind=plain&source=hotline"),
        ("application/json", b'{"csrf": "%s"}'),
        ("text/csv", b"id,channel\n1,Ash Mill\n%s"),
        ("application/octet-stream", bytes(range(256)).replace(b"%", b"%s")),
        ("multipart/mixed; boundary=x", b"--x\r\n%s"),
        ("multipart/form-data", b"%s"),
        ("multipart/form-data; boundary=", b"%s"),
        ("multipart/form-data; boundary=x; charset=none", PART % b""),
        ("multipart/form-data; boundary=x", PART % b""),
        ("multipart/form-data; boundary=x", PART % b"; filename=a"),
    ],
)  # fmt: skip
def test_what_is_posted_in_place_of_a_file(office: Office, kind: str, body: bytes) -> None:
    programme = office.begin()
    ida = office.browser("Ida")
    answer = ida.client.post("/import", content=body % ida.csrf().encode(), headers={"Content-Type": kind})
    assert answer.status_code in {400, 403, 415, 422}
    assert "<h1>" in answer.text
    assert sum(programme.active_counts().values()) == 0


def test_only_a_form_with_a_file_may_be_large(office: Office) -> None:
    office.begin()
    ida = office.browser("Ida")
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert ida.client.post("/import", content=b"a" * (SMALL + 1), headers=kind).status_code == 413
    assert ida.client.post("/import", content=(b"a" * SMALL for _ in range(2)), headers=kind).status_code == 413


PILED = ["a" + 4000 * "\u0300" + 4000 * "\u0316", 8000 * "\u0f73", "a" + 8000 * "\uff9e"]
"""Accents on one letter, some of which are seen to be accents once they are taken apart. To put so many in order takes
a tenth of a second, and what fits into a form takes several, in which nothing else is done.
"""


@pytest.mark.parametrize("piled", PILED)
def test_nobody_keeps_the_console_busy_with_accents(office: Office, piled: str) -> None:
    office.begin()
    stranger, ida = office.browser(), office.browser("Ida")
    for field in ("name", "password"):
        assert stranger.post("/login", files={field: (None, piled)}).status_code == 400
    assert ida.post("/report", files={"target": (None, piled), "number": (None, "1")}).status_code == 400


@pytest.mark.parametrize("typed", ["Zoe\u0308", "Nguyễn Thị Ánh", "ประชุม", "a" + MOST_MARKS * "\u0301", "한국", ""])
def test_accents_of_a_language_are_no_trouble(typed: str) -> None:
    assert not has_piled_marks(typed)


def test_nobody_keeps_the_console_busy_with_cookies(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some versions of Python take seconds to read a quoted cookie with thousands of backslashes."""
    parsed, parse = list[str](), requests.cookie_parser

    def noted(header: str) -> dict[str, str]:
        parsed.append(header)
        return parse(header)

    monkeypatch.setattr(requests, "cookie_parser", noted)
    session = office.browser("Ada").cookie("session")
    other = 'other="' + 1000 * "\\" + '"'
    for header in (f"{other}; session={session}", f"session={session};{other}", f"a=b; {other}; session={session}"):
        assert office.browser().get("/people", headers={"Cookie": header}).status_code == 200
    assert office.browser().get("/people", headers={"Cookie": other}).status_code == 303
    assert len(parsed) >= 4
    assert not any("\\" in header for header in parsed)
