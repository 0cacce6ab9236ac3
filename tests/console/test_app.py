"""What every request must pass and every response carries; signing in; the first run; people and tokens."""

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from html import unescape
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import anyio
import httpx
import pytest
import segno
import sqlalchemy as sa
from pyotp import TOTP, parse_uri
from tests.console.offices import CSP, PASSWORD, Browser, Office, check_headers, form_token, new_office, routes
from tests.console.test_api import token

from deniable.console import app, sessions
from deniable.console.accounts import activity, invitations, people, tokens, totp
from deniable.console.app import HEADERS, PAGES
from deniable.console.console import DemoPerson
from deniable.console.limits import QUICK, SLOW, TRIES, PasswordQueues
from deniable.console.pages import imports
from deniable.console.pages.login import TOO_OFTEN, WRONG
from deniable.console.security import ALLOWED, SMALL
from deniable.console.static_files import static_address
from deniable.storage import tables
from deniable.storage.store import StoreError


def paths(app: Any, method: str) -> list[str]:
    found = [re.sub(r"{[^}]*}", "x", path) for one, path in routes(app) if one == method]
    assert len(found) > 5
    return sorted(set(found))


def forms(app: Any) -> list[str]:
    return [path for path in paths(app, "POST") if not path.startswith("/api/")]


# Headers, errors, bodies


def test_every_response_carries_the_headers(office: Office) -> None:
    """Whatever comes of the request: pages, redirects, refusals, errors, pictures, JSON."""
    stranger, ada = office.browser(), office.browser("Ada")
    answers = [browser.get(path) for browser in (stranger, ada) for path in paths(office.app, "GET")]
    answers += [stranger.client.post(path) for path in paths(office.app, "POST")]
    answers += [stranger.get("/nowhere"), stranger.get(static_address("style.css")), stranger.get("/static/none.css")]
    answers += [stranger.client.request("TRACE", "/login"), stranger.client.put("/login", content=b"x" * (SMALL + 1))]
    assert {answer.status_code for answer in answers} >= {200, 303, 401, 403, 404, 405, 413}
    for answer in answers:
        check_headers(answer)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long answers were kept back, without the waiting."""
    taken = list[float]()

    async def noted(seconds: float) -> None:
        taken.append(seconds)

    monkeypatch.setattr(app, "sleep", noted)
    monkeypatch.setattr(app, "STRANGERS_WAIT", 100)
    return taken


def test_strangers_are_answered_after_a_random_pause(office: Office, pauses: list[float]) -> None:
    """Whatever they ask for, also with a cookie or a token that they made up."""
    made_up = office.browser()
    made_up.client.cookies.set("session", "made-up.1.1.1")
    asked = 0
    for browser in (office.browser(), made_up):
        for path in ("/login", static_address("style.css"), "/report", "/nowhere", "/api/v1/status"):
            browser.client.get(path, headers={"Authorization": "Bearer made up"}, follow_redirects=False)
            asked += 1
    assert len(pauses) == asked
    assert len(set(pauses)) > 1
    assert all(0 <= pause <= 0.1 for pause in pauses)


def test_people_and_machines_that_are_known_are_answered_at_once(office: Office, pauses: list[float]) -> None:
    office.begin()
    ida, machine = office.browser("Ida"), token(office, "status")
    pauses.clear()
    assert ida.get("/report").status_code == 200
    assert ida.client.get("/api/v1/status", headers=machine).status_code == 200
    assert pauses == []


def test_while_the_console_runs_reports_wait_for_its_tick(office: Office) -> None:
    """A page is written at once when it stops, and what was acknowledged is counted."""
    programme = office.begin()
    office.console.start()
    assert office.console.programme() is not None
    ida = office.browser("Ida")
    ida.get("/report")
    assert ida.enter("Ash Mill", 3).status_code == 200
    with office.console.store.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(tables.pages)).scalar_one() > 0
    assert programme.active_counts()["Ash Mill"] == 3


def test_errors_are_not_cached(office: Office) -> None:
    """Also where a file of that name is there after an upgrade."""
    browser = office.browser()
    style = static_address("style.css")
    assert browser.get(style).headers["cache-control"] == "public, max-age=31536000, immutable"
    for answer in (
        browser.get("/static/none.css"),
        browser.get("/static/../app.py"),
        browser.get("/static/style.css"),
        browser.client.post(style),
        browser.get(style, headers={"Host": "elsewhere.example"}),
        browser.client.put(style, content=b"x" * (SMALL + 1)),
    ):
        assert answer.status_code >= 400
        assert answer.headers["cache-control"] == "no-store"


def test_the_check_of_headers_can_fail(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every browser of these tests makes it, with every answer."""
    monkeypatch.delitem(HEADERS, "Referrer-Policy")
    with pytest.raises(KeyError):
        office.browser().get("/login")


def test_pages_have_no_script_and_no_style_of_their_own(office: Office) -> None:
    ada = office.browser("Ada")
    for path in ("/people", "/tokens", "/api", "/nowhere"):
        page = ada.get(path).text
        assert re.search(r"<script|<style|\sstyle=|\son\w+=|javascript:", page) is None


def test_a_bug_says_nothing_to_the_browser(
    office: Office, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("Ash Mill has 7 reports")

    monkeypatch.setattr(people, "by_name", fails)
    answer = office.browser().post("/login", {"name": "Ada"})
    assert answer.status_code == 500
    assert answer.headers["content-security-policy"] == CSP
    told = capsys.readouterr().err
    assert "RuntimeError in tests/console/test_app.py" in told
    assert "Ash Mill" not in answer.text + told


def test_a_database_that_is_away(
    office: Office, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: Any) -> None:
        raise StoreError("database /srv/secret/place.db: the disk is full")

    monkeypatch.setattr(people, "by_name", fails)
    answer = office.browser().post("/login", {"name": "Ada"})
    assert answer.status_code == 503
    assert "/srv" not in answer.text
    assert "the disk is full" in capsys.readouterr().err  # for whoever runs it


def test_a_refusal_is_told_to_who_is_signed_in(office: Office) -> None:
    answer = office.browser("Ada").post("/people/nobody/reset")
    assert answer.status_code == 422
    assert "there is no such person" in answer.text.lower()


def test_large_bodies_are_refused(office: Office) -> None:
    browser = office.browser()
    field = "x" * SMALL
    declared = browser.post("/login", {"name": field})
    chunked = browser.client.post("/login", content=(b"name=" + b"x" * 1000 for _ in range(100)),
                                  headers={"Content-Type": "application/x-www-form-urlencoded"})  # fmt: skip
    assert (declared.status_code, chunked.status_code) == (413, 413)


@pytest.mark.parametrize("length", ["9" * 18, "9" * 400, "-1", "1e3", "٣", ""])
def test_an_absurd_content_length(office: Office, length: str) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": length.encode("utf-8")}
    answer = office.browser().client.post("/login", content=b"", headers=headers)
    assert answer.status_code == 413


def asked(app: Any, path: str, headers: dict[str, str], parts: Iterable[Any]) -> list[Any]:
    """What is sent to whoever posts a body in these parts."""
    coming, sent = iter(parts), []

    async def receive() -> Any:
        part = next(coming, None)
        if part is None:
            await anyio.sleep_forever()
        return part

    async def send(message: Any) -> None:
        sent.append(message)

    given = [(name.lower().encode(), value.encode()) for name, value in ({"Host": "testserver"} | headers).items()]
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
             "headers": given, "http_version": "1.1", "scheme": "http", "server": ("testserver", 80),
             "client": None, "root_path": ""}  # fmt: skip
    anyio.run(app, scope, receive, send)
    return sent


def in_two(body: bytes, between: Callable[[], None]) -> Iterator[Any]:
    """A body of which the rest comes after something else was done."""
    yield {"type": "http.request", "body": body[:3], "more_body": True}
    between()
    yield {"type": "http.request", "body": body[3:], "more_body": False}


def _refuses_to_read() -> Iterator[Any]:
    raise AssertionError("the body was read")
    yield


@pytest.mark.parametrize("path", ["/import", "/people/invite", "/api/v1/reports"])
def test_nothing_large_is_read_for_strangers(office: Office, path: str) -> None:
    """Who is not signed in, or has no token, is answered before the first byte of the body."""
    sent = asked(office.app, path, {"Content-Type": "multipart/form-data; boundary=x"}, _refuses_to_read())
    assert sent[0]["status"] in {303, 401}


@pytest.mark.parametrize("path", ["/login", "/import", "/api/v1/reports"])
def test_whoever_goes_away_is_not_logged(office: Office, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Strangers could otherwise write lines into the journal, and those who import or push would leave the time."""
    office.begin()
    headers = {"Cookie": f"session={office.browser('Ida').cookie('session')}", **token(office, "reports")}
    parts = [{"type": "http.request", "body": b"a", "more_body": True}, {"type": "http.disconnect"}]
    assert asked(office.app, path, headers, parts) == []
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("path", ["/report", "/plan"])
def test_a_form_comes_back_whose_session_ends_while_it_is_sent(office: Office, path: str) -> None:
    """Nothing of it is done, and all of it was read."""
    programme = office.begin()
    browser = office.browser("Anna")
    fields = {"csrf": browser.csrf(), "target": "Ash Mill", "number": "7", "form_id": "x" * 22}
    headers = {
        "Cookie": f"session={browser.cookie('session')}",
        "Content-Type": "application/x-www-form-urlencoded",
    }

    def idle() -> None:
        office.clock.now += sessions.IDLE

    sent = asked(office.app, path, headers, in_two(urlencode(fields).encode(), idle))
    assert sent[0]["status"] == 403
    assert b'name="kept"' in sent[1]["body"]
    assert programme.active_counts()["Ash Mill"] == 0


# Requests that are under way when somebody is shut out


def shut_out(office: Office, how: str, name: str) -> None:
    with office.console.store.writing() as connection:
        key, person = office.console.key, office.people[name].id
        if how == "signed out":
            people.sign_out(connection, person)
        elif how in {"disabled", "removed"}:
            people.set_disabled(connection, key, person, True)
        if how == "removed":
            people.remove(connection, key, person)


@pytest.mark.parametrize("how", ["disabled", "removed", "signed out", "not at all"])
@pytest.mark.parametrize(
    ("name", "path", "fields"),
    [
        ("Eve", "/people/invite", {"name": "Mallory", "role": "administrator"}),
        ("Ida", "/report", {"target": "Ash Mill", "number": "7", "form_id": "x" * 22}),
        ("Anna", "/plan", {"name": "x"}),
        ("Otto", "/account/sign-out", {}),
    ],
)
def test_whoever_is_shut_out_finishes_nothing(
    office: Office, how: str, name: str, path: str, fields: dict[str, str]
) -> None:
    """What was begun before is refused where its body came after."""
    programme = office.begin()
    office.add("Eve", "administrator")
    browser = office.browser(name)
    body = urlencode({"csrf": browser.csrf(), **fields}).encode()
    headers = {
        "Cookie": f"session={browser.cookie('session')}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    sent = asked(office.app, path, headers, in_two(body, lambda: shut_out(office, how, name)))
    is_refused = sent[0]["status"] == 303 and any(
        name == b"location" and value.startswith(b"/login") for name, value in sent[0]["headers"]
    )
    assert is_refused == (how != "not at all" or path == "/account/sign-out")
    with office.console.store.reading() as connection:
        is_invited = any(one.person.name == "Mallory" for one in people.listed(connection, office.console.key))
    assert (is_invited, programme.active_counts()["Ash Mill"]) == (
        (how, path) == ("not at all", "/people/invite"),
        7 if (how, path) == ("not at all", "/report") else 0,
    )


@pytest.mark.parametrize("how", ["disabled", "signed out", "not at all"])
def test_the_file_of_whoever_is_shut_out_is_not_read(office: Office, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    office.begin()
    ida, reached = office.browser("Ida"), list[Any]()

    def uploaded(*asked_for: Any) -> bytes:
        reached.append(asked_for)
        return b""

    monkeypatch.setattr(imports, "uploaded", uploaded)
    part = b'--x\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
    fields = {"csrf": ida.csrf(), "kind": "csv", "source": "hotline"}
    body = b"".join(part % (name.encode(), value.encode()) for name, value in fields.items()) + b"--x--\r\n"
    headers = {"Cookie": f"session={ida.cookie('session')}", "Content-Type": "multipart/form-data; boundary=x"}
    sent = asked(office.app, "/import", headers, in_two(body, lambda: shut_out(office, how, "Ida")))
    assert sent[0]["status"] == (422 if how == "not at all" else 303)
    assert bool(reached) == (how == "not at all")
    assert not office.console.upload_slots._people


@pytest.mark.parametrize("revoked", [True, False])
def test_a_push_with_a_token_that_was_revoked_meanwhile(office: Office, revoked: bool) -> None:
    programme = office.begin()
    headers = token(office, "reports")

    def revoke() -> None:
        with office.console.store.writing() as connection:
            if revoked:
                tokens.revoke(connection, tokens.listed(connection, office.console.key)[0].id)

    sent = asked(office.app, "/api/v1/reports", headers, in_two(b'{"id": "7", "reports": {"Ash Mill": 7}}', revoke))
    assert (sent[0]["status"], programme.active_counts()["Ash Mill"]) == ((401, 0) if revoked else (200, 7))


def test_an_upload_is_never_written_to_the_disk(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The framework's own parser would, from one megabyte on."""

    def refuses(*_: Any, **__: Any) -> None:
        raise AssertionError("a file was made")

    office.begin()
    ida = office.browser("Ida")
    for name in ("TemporaryFile", "NamedTemporaryFile", "mkstemp", "_mkstemp_inner"):
        monkeypatch.setattr(tempfile, name, refuses)
    answer = ida.post("/import", {"kind": "csv"}, files={"file": ("reports.csv", b"x" * 3_000_000)})
    assert answer.status_code == 422
    with tempfile.SpooledTemporaryFile(max_size=1) as spooled, pytest.raises(AssertionError, match="a file was made"):
        spooled.write(b"xx")  # the check would see it


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=x", b"--y\r\n"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\n\r\n--x--"),
        ("application/x-www-form-urlencoded", b"\xff\xfe=%%%&&&==="),
        ("application/x-www-form-urlencoded", b"name=a%00b"),
        ("multipart/form-data; boundary=x; charset=unicode_escape",
         b"--x\r\nContent-Disposition: form-data; name=name\r\n\r\n\\ud800\r\n--x--\r\n"),
        ("multipart/form-data; boundary=x; charset=none",
         b"--x\r\nContent-Disposition: form-data; name=name\r\n\r\na\r\n--x--\r\n"),
        ("text/plain", b"csrf"),
        ("application/json", b"{}"),
        ("", b""),
    ],
)  # fmt: skip
def test_forms_that_are_none(office: Office, kind: str, body: bytes) -> None:
    office.begin()
    for browser, path in ((office.browser(), "/login"), (office.browser("Ida"), "/import")):
        answer = browser.client.post(path, content=body, headers={"Content-Type": kind})
        assert answer.status_code in {400, 403, 415}


def test_a_host_that_pretends_to_be_a_path(tmp_path: Path) -> None:
    """Where the request goes is what its path says, whatever its Host says."""
    office = new_office(tmp_path, people=False)
    answer = office.browser().get("/login", headers={"Host": "x/static/"})
    assert answer.status_code == 421
    assert answer.headers["cache-control"] == "no-store"


def test_nothing_is_told_to_telemetry(office: Office) -> None:
    """The framework would hand over errors, in their own words, to whoever set it up."""
    assert not office.app._native_telemetry.enabled()
    assert not any(office.app._telemetry[kind] for kind in ("tracing", "metrics", "logs", "auto_configure"))


# Forms from elsewhere


def test_every_form_is_refused_without_its_token(office: Office) -> None:
    """Every path that takes a POST, for everybody who could use it; with the token it gets further."""
    office.begin()
    everybody = [office.browser(), *(office.browser(name) for name in office.people)]
    foreign = form_token(office.browser().get("/login").text)
    for path in forms(office.app):
        statuses = set()
        for browser in everybody:
            for given in ({}, {"csrf": ""}, {"csrf": foreign}, {"csrf": "é"}):
                answer = browser.client.post(path, data=given)
                statuses.add(answer.status_code)
                assert answer.status_code in {303, 403}
                assert answer.status_code == 403 or answer.headers["location"].startswith("/login")
        assert 403 in statuses


def test_pages_carry_the_token_of_their_session(office: Office) -> None:
    stranger, ada = office.browser(), office.browser("Ada")
    assert form_token(stranger.get("/login").text) == stranger.csrf()
    assert form_token(ada.get("/people").text) == ada.csrf()
    assert ada.csrf() != stranger.csrf()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 303),
        ({"Origin": "http://testserver"}, 303),
        ({"Origin": "null"}, 303),
        ({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, 303),
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Origin": "http://testserver:81"}, 403),
        ({"Origin": "null", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://testserver", "Sec-Fetch-Site": "same-site"}, 403),
    ],
)
def test_what_the_browser_says_of_its_origin(office: Office, headers: dict[str, str], status: int) -> None:
    assert office.browser("Ada").post("/logout", headers=headers).status_code == status


# Signing in


def test_signing_in_and_out(office: Office) -> None:
    browser = office.browser()
    assert browser.get("/people").headers["location"].startswith("/login")
    answer = browser.sign_in("Ada")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert browser.get("/").headers["location"] == "/people"
    assert browser.get("/login").headers["location"] == "/"
    old = browser.cookie("session")
    assert browser.post("/logout").headers["location"].startswith("/login")
    assert browser.cookie("session") is None
    browser.client.cookies.set("session", old)
    assert browser.get("/people").headers["location"].startswith("/login")


@pytest.mark.parametrize("secure", [False, True])
def test_cookies_are_for_this_server_and_for_no_script(tmp_path: Path, secure: bool) -> None:
    office = new_office(tmp_path, secure=secure)
    browser = office.browser(base_url="https://testserver" if secure else "http://testserver")
    page = browser.get("/login")
    answer = browser.sign_in("Ada")
    assert answer.status_code == 303
    cookies = page.headers.get_list("set-cookie") + answer.headers.get_list("set-cookie")
    assert len(cookies) == 3
    for cookie in cookies:
        parts = cookie.split("; ")
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(parts)
        assert not any(part.startswith("Domain") for part in parts)
        assert ("Secure" in parts) == secure
        assert parts[0].startswith("__Host-") == secure
    assert ("strict-transport-security" in page.headers) == secure


def test_the_session_is_a_new_one_at_every_sign_in(office: Office) -> None:
    browser = office.browser("Ada")
    first = browser.cookie("session")
    browser.sign_in("Otto")
    assert browser.cookie("session") not in {first, None}
    other = office.browser()
    other.client.cookies.set("session", first)
    assert other.get("/people").headers["location"].startswith("/login")


def test_a_session_that_somebody_else_chose_is_none(office: Office) -> None:
    browser = office.browser()
    browser.client.cookies.set("session", "chosen", domain="testserver.local")
    assert browser.sign_in("Ada").status_code == 303
    assert browser.cookie("session") != "chosen"


def test_an_idle_session_ends(office: Office) -> None:
    browser = office.browser("Ada")
    for _ in range(3):
        office.clock.now += sessions.IDLE * 0.9
        assert browser.get("/people").status_code == 200
    office.clock.now += sessions.IDLE
    assert browser.get("/people").headers["location"].startswith("/login")


def test_whatever_is_wrong_the_answer_is_the_same(office: Office) -> None:
    """A wrong name, password or code, a disabled person: same status, same bytes, same headers, same work."""
    with office.console.store.writing() as connection:
        people.set_disabled(connection, office.console.key, "id-Otto", True)
    used = office.code("Anna")
    assert office.browser().sign_in("Anna", code=used).status_code == 303
    work: list[bool] = []
    fits = office.console.passwords.matches
    office.console.passwords.matches = lambda *given: work.append(True) or fits(*given)  # type: ignore[method-assign, func-returns-value]
    tries = [
        ("Nobody", PASSWORD, "000000"),
        ("", PASSWORD, "000000"),
        ("Ada", "not her password", office.code("Ada")),
        ("Ada", PASSWORD, "000000"),
        ("Ada", PASSWORD, ""),
        ("Anna", PASSWORD, used),
        ("Otto", PASSWORD, office.code("Otto")),
        ("N" * 1000, "x" * 5000, "x" * 1000),
    ]
    browser = office.browser()
    answers = [browser.sign_in(*typed) for typed in tries]
    assert {answer.status_code for answer in answers} == {403}
    assert len({without_name(answer.text) for answer in answers}) == 1
    assert str(WRONG) in answers[0].text
    kept = [{name: value for name, value in answer.headers.items() if name != "content-length"} for answer in answers]
    assert all(headers == kept[0] for headers in kept)
    assert len(work) == len(tries)


def without_name(page: str) -> str:
    """Without the name that was typed, which the form keeps."""
    return re.sub(r'(<input[^>]* name="name"[^>]*?) value="[^"]*"', r"\1", page)


def test_other_spellings_of_a_name_share_its_tries(office: Office) -> None:
    stranger = office.browser()
    while stranger.sign_in("Ada", "wrong", "000000").status_code != 429:
        pass
    for spelling in ("ADA", "ada", "\uff21da", "A\U0001d41da", " Ada "):
        assert stranger.sign_in(spelling, "wrong", "000000").status_code == 429


def test_too_many_tries(office: Office) -> None:
    """The same for names that nobody has; the right password does not help either."""
    answers, browser = [], office.browser()
    for name in ("Ada", "Nobody"):
        for _ in range(TRIES):
            assert browser.sign_in(name, "wrong", "000000").status_code == 403
        answers.append(browser.sign_in(name, PASSWORD, office.code("Ada")))
    assert {answer.status_code for answer in answers} == {429}
    assert len({without_name(answer.text) for answer in answers}) == 1
    assert str(TOO_OFTEN) in answers[0].text


@pytest.mark.parametrize("is_late", [False, True], ids=["as it is", "a check that comes too late"])
def test_a_try_that_is_sent_away_is_not_used_up(office: Office, monkeypatch: pytest.MonkeyPatch, is_late: bool) -> None:
    """Where too many wait to sign in. Asked after the try was counted, it would be."""
    lanes, browser = office.console.password_queues, office.browser()
    with monkeypatch.context() as full:
        full.setattr(lanes, "_most_waiting", 0)
        if is_late:
            check, at_last = lanes.check, cycle([False, True])
            full.setattr(lanes, "check", lambda *, stranger: next(at_last) and check(stranger=stranger))
        statuses = [browser.sign_in("Ada").status_code for _ in range(TRIES)]
    assert statuses == [503] * TRIES
    assert browser.sign_in("Ada").status_code == (429 if is_late else 303)


def test_guessing_from_elsewhere_does_not_lock_out_the_owner(office: Office) -> None:
    at_home = office.browser("Ada")
    at_home.post("/logout")
    stranger = office.browser()
    while stranger.sign_in("Ada", "wrong", "000000").status_code != 429:
        pass
    assert office.browser().sign_in("Ada").status_code == 429
    assert at_home.sign_in("Ada").status_code == 303
    assert office.browser().sign_in("Otto").status_code == 303


def test_a_forged_device_is_a_strangers(office: Office) -> None:
    stranger = office.browser()
    while stranger.sign_in("Ada", "wrong", "000000").status_code != 429:
        pass
    stranger.client.cookies.set("device", sessions.new_device_cookie(bytes(32), "id-Ada"))
    assert stranger.sign_in("Ada").status_code == 429


def test_a_code_works_once_also_at_the_same_moment(office: Office) -> None:
    code = office.code("Ada")
    assert office.browser().sign_in("Ada", code=code).status_code == 303
    assert office.browser().sign_in("Ada", code=code).status_code == 403


# Roles


def test_the_table_of_permissions() -> None:
    """Pinned: who sees counts is the heart of it."""
    assert ALLOWED == {
        "account": ("administrator", "operator", "importer", "auditor"),
        "people": ("administrator",),
        "activity": ("administrator", "auditor"),
        "health": ("administrator", "operator", "auditor"),
        "plan": ("auditor",),
        "report": ("importer", "auditor"),
        "withdraw": ("auditor",),
        "resume": ("auditor",),
        "counts": ("auditor",),
        "round": ("operator", "auditor"),
        "close": ("operator", "auditor"),
        "decide": ("operator", "auditor"),
        "transcript": ("operator", "auditor"),
        "publish": ("operator", "auditor"),
        "guarantee": ("administrator", "operator", "auditor"),
    }


OPEN = {
    "/",
    "/login",
    "/logout",
    "/help/signing-in",
    "/language",
    "/first-run/x",
    "/first-run/x/qr.png",
    "/invitation/x",
    "/invitation/x/qr.png",
}


def test_every_page_is_closed_to_strangers(office: Office) -> None:
    office.begin()
    stranger = office.browser()
    for path in set(paths(office.app, "GET")) - OPEN:
        if not path.startswith("/api/"):
            assert stranger.get(path).headers["location"].startswith("/login"), path
    for path in set(forms(office.app)) - OPEN:
        assert stranger.post(path).headers["location"].startswith("/login"), path


def test_a_page_checks_who_it_is_before_it_looks_at_anything() -> None:
    """What it is given first, besides the request and the parts of the address, is of `require`."""
    for route in PAGES.routes:
        if re.sub(r"{[^}]*}", "x", route.path) not in OPEN:
            names = [getattr(found, "__qualname__", "") for found in route.given.values()]
            assert [name for name in names if name not in ("", "_itself")][:1] == ["require.<locals>.check"], route.path


@pytest.mark.parametrize("name", ["Otto", "Ida", "Anna"])
def test_people_and_tokens_are_the_administrators_alone(office: Office, name: str) -> None:
    browser = office.browser(name)
    for path in ("/people", "/tokens", "/api"):
        assert browser.get(path).status_code == 403
    for path in ("/people/invite", "/people/id-Ada/disable", "/people/id-Ada/reset", "/tokens/new"):
        assert browser.post(path, {"name": "Berta", "role": "auditor", "scope": "reports"}).status_code == 403


def test_the_administrator_sees_no_counts(office: Office) -> None:
    office.begin()
    ada = office.browser("Ada")
    for path in ("/round", "/report", "/import", "/plan", "/transcript"):
        assert ada.get(path).status_code == 403


def test_everybody_has_a_first_page(office: Office) -> None:
    anna = office.browser("Anna")
    assert anna.get("/").headers["location"] == "/plan"
    office.begin()
    for name in office.people:
        browser = office.browser(name)
        assert browser.get(browser.get("/").headers["location"]).status_code == 200


# First run and invitations


def begun(office: Office) -> str:
    with office.console.store.writing() as connection:
        token = invitations.invite_first(connection, office.console.key, office.clock.now)
    assert token is not None
    return token


def secret_of(page: str) -> str:
    found = re.search(r">((?:[A-Z2-7]{4} ){7}[A-Z2-7]{4})<", page)
    assert found is not None
    return found[1].replace(" ", "")


def accepted(browser: Browser, path: str, **fields: str) -> Any:
    totp = TOTP(secret_of(browser.get(path).text))
    filled = {"password": PASSWORD, "again": PASSWORD, "code": totp.at(browser.office.clock.now)}
    return browser.client.post(path, data={"csrf": form_token(browser.get(path).text), **filled, **fields})


def test_before_the_first_run_there_is_nothing_else(tmp_path: Path) -> None:
    office = new_office(tmp_path, people=False)
    browser = office.browser()
    pages = [path for path in paths(office.app, "GET") if "first-run" not in path and path != "/help/signing-in"]
    every = {browser.get(path).status_code for path in pages}
    forms_there = [path for path in paths(office.app, "POST") if "first-run" not in path and path != "/language"]
    every |= {browser.client.post(path).status_code for path in forms_there}
    assert every == {503}
    assert browser.get("/api/v1/openapi.json").status_code == 503
    assert browser.get("/first-run/guess").status_code == 404
    assert browser.get("/first-run/guess/qr.png").status_code == 404
    assert "ask that person for the link" in browser.get("/").text


def test_the_first_run_in_another_language(tmp_path: Path) -> None:
    office = new_office(tmp_path, people=False)
    browser, path = office.browser(), f"/first-run/{begun(office)}"
    fields = {"csrf": form_token(browser.get(path).text), "language": "de", "to": path}
    assert browser.client.post("/language", data=fields).headers["location"] == path
    assert '<html lang="de"' in browser.get(path).text


def test_the_first_run(tmp_path: Path) -> None:
    office = new_office(tmp_path, people=False)
    browser, path = office.browser(), f"/first-run/{begun(office)}"
    picture = browser.get(f"{path}/qr.png")
    assert picture.headers["content-type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG")
    assert browser.get(path.replace("first-run", "invitation")).status_code == 503
    assert accepted(browser, path, name="Eve", code="000000").status_code == 422
    assert accepted(browser, path, name="Eve", again="another password").status_code == 422
    assert accepted(browser, path, name="Eve", password="short", again="short").status_code == 422
    assert accepted(browser, path, name=" ").status_code == 422
    assert accepted(browser, path, name="Eve").headers["location"] == "/login?done=joined"
    assert "with the next code that the app shows" in browser.get("/login?done=joined").text
    assert "next code" not in browser.get("/login?done=something").text
    assert browser.get(path).status_code == 404
    assert "to start the console again, and for the new link" in browser.get(path).text
    assert browser.get(f"{path}/qr.png").status_code == 404
    with office.console.store.reading() as connection:
        eve = people.by_name(connection, office.console.key, "Eve")
    assert eve is not None
    office.people["Eve"] = eve.person
    assert browser.sign_in("Eve").status_code == 303
    assert "joined as administrator" in browser.get("/activity").text
    assert "invite an auditor" in browser.get("/people").text
    invited(browser, "Anna", "auditor")
    assert "invite an auditor" not in browser.get("/people").text


def test_the_code_of_the_first_run_is_not_accepted_again(tmp_path: Path) -> None:
    office = new_office(tmp_path, people=False)
    browser, path = office.browser(), f"/first-run/{begun(office)}"
    totp = TOTP(secret_of(browser.get(path).text))
    accepted(browser, path, name="Eve")
    assert browser.sign_in("Eve", code=totp.at(office.clock.now)).status_code == 403


def test_inviting_somebody(office: Office) -> None:
    ada = office.browser("Ada")
    path = invited(ada, "Berta", "auditor")
    assert path not in ada.get("/people").text
    guest = office.browser()
    page = guest.get(path).text
    assert "Berta" in page
    link = re.search('href="(otpauth://[^"]+)"', page)
    assert link is not None
    assert parse_uri(unescape(link[1])).secret == secret_of(page)
    assert guest.get(path.replace("invitation", "first-run")).status_code == 404
    assert accepted(guest, path, name="Mallory").status_code == 303
    assert guest.get(path).status_code == 404
    assert "Ask the administrator for a new one" in guest.get(path).text
    assert "Berta" in ada.get("/people").text
    assert "Mallory" not in ada.get("/people").text


def invited(ada: Browser, name: str, role: str) -> str:
    """The path of a new link."""
    page = ada.post("/people/invite", {"name": name, "role": role}).text
    found = re.search(r"http://testserver(/invitation/[\w-]+)", page)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("by_visit", [True, False])
def test_who_opened_a_link_earlier_holds_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch, by_visit: bool
) -> None:
    """Every browser is shown codes of its own; were they the link's alone, whoever opened it before could sign in."""
    if not by_visit:
        salt = invitations.salt
        monkeypatch.setattr(invitations, "salt", lambda key, token, _: salt(key, token, ""))
    path = invited(office.browser("Ada"), "Berta", "auditor")
    eve, berta = office.browser(), office.browser()
    overheard, shown = (secret_of(browser.get(path).text) for browser in (eve, berta))
    assert (overheard != shown) == by_visit
    assert secret_of(berta.get(path).text) == shown  # also when the page is reloaded
    assert (eve.get(f"{path}/qr.png").content != berta.get(f"{path}/qr.png").content) == by_visit
    if by_visit:
        assert accepted(berta, path, code=TOTP(overheard).at(office.clock.now)).status_code == 422
    assert accepted(berta, path).status_code == 303
    for secret, works in ((overheard, not by_visit), (shown, True)):
        office.clock.now += timedelta(seconds=totp.STEP)
        code = TOTP(secret).at(office.clock.now)
        assert (office.browser().sign_in("Berta", code=code).status_code != 403) == works


def test_the_picture_has_the_secret_of_the_page(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    make = segno.make

    def noted(uri: str, **options: Any) -> Any:
        drawn.append(uri)
        return make(uri, **options)

    monkeypatch.setattr(segno, "make", noted)
    path, berta = invited(office.browser("Ada"), "Berta", "auditor"), office.browser()
    secret = secret_of(berta.get(path).text)
    berta.get(f"{path}/qr.png")
    assert f"secret={secret}" in drawn[0]


def test_who_joined_is_known_to_the_console_from_the_first_sign_in_on(office: Office) -> None:
    """So that nobody who guesses at the name meanwhile keeps them out."""
    path, berta = invited(office.browser("Ada"), "Berta", "auditor"), office.browser()
    assert accepted(berta, path).status_code == 303
    with office.console.store.reading() as connection:
        known = people.by_name(connection, office.console.key, "Berta")
    assert known is not None
    office.people["Berta"] = known.person
    stranger = office.browser()
    while stranger.sign_in("Berta", "wrong", "000000").status_code != 429:
        pass
    assert office.browser().sign_in("Berta").status_code == 429
    assert berta.sign_in("Berta").status_code == 303


def test_an_invitation_cannot_be_tried_for_ever(office: Office) -> None:
    with office.console.store.writing() as connection:
        token = invitations.reset_codes(connection, office.console.key, "id-Otto", office.clock.now)
    guest, path = office.browser(), f"/invitation/{token}"
    for _ in range(TRIES):
        assert accepted(guest, path, password="a guessed password").status_code == 422
    assert accepted(guest, path).status_code == 429


def test_what_cannot_be_invited(office: Office) -> None:
    ada = office.browser("Ada")
    for fields, says in (
        ({"name": "otto", "role": "auditor"}, "there is a person called otto already"),
        ({"name": "Berta", "role": "god"}, "the role must be one of"),
        ({"name": "", "role": "auditor"}, "the name must not be empty"),
    ):
        answer = ada.post("/people/invite", fields)
        assert answer.status_code == 422
        assert says in answer.text.lower()


def test_names_are_escaped(office: Office) -> None:
    ada = office.browser("Ada")
    page = ada.post("/people/invite", {"name": "<b>Berta</b>", "role": "auditor"}).text
    assert "<b>Berta" not in page
    assert "&lt;b&gt;Berta" in page


def test_disabling_enabling_and_withdrawing(office: Office) -> None:
    ada, otto = office.browser("Ada"), office.browser("Otto")
    assert ada.post("/people/id-Otto/disable").status_code == 303
    assert otto.get("/").headers["location"].startswith("/login")
    assert otto.sign_in("Otto").status_code == 403
    ada.post("/people/id-Otto/enable")
    assert otto.sign_in("Otto").status_code == 303
    assert ada.post("/people/id-Ada/disable").status_code == 422
    ada.post("/people/invite", {"name": "Berta", "role": "auditor"})
    with office.console.store.reading() as connection:
        berta = next(one.person for one in people.listed(connection, office.console.key) if not one.has_joined)
    assert ada.post(f"/people/{berta.id}/withdraw").status_code == 303
    assert "Berta" not in ada.get("/people").text


def test_removing_somebody_frees_the_name_and_stays_in_the_log(office: Office) -> None:
    """So somebody who forgot the password comes back: nobody but themselves ever has their account."""
    ada = office.browser("Ada")
    assert "/people/id-Anna/remove" not in ada.get("/people").text
    refused = ada.post("/people/id-Anna/remove")
    assert (refused.status_code, "disable them first" in refused.text) == (422, True)
    ada.post("/people/id-Anna/disable")
    assert "/people/id-Anna/remove" in ada.get("/people").text
    assert ada.post("/people/id-Anna/remove").status_code == 303
    assert "Anna" not in ada.get("/people").text
    assert accepted(office.browser(), invited(ada, "Anna", "auditor")).status_code == 303
    log = ada.get("/activity?about=people").text
    for deed in ("disabled Anna", "removed Anna", "invited Anna as auditor", "joined as auditor"):
        assert deed in log


def test_new_codes(office: Office) -> None:
    """The link and the password together; the old codes are useless from the start."""
    ada, otto, old = office.browser("Ada"), office.browser("Otto"), office.salt("Otto")
    page = ada.post("/people/id-Otto/reset").text
    found = re.search(r"http://testserver(/invitation/[\w-]+)", page)
    assert found is not None
    assert otto.get("/").headers["location"].startswith("/login")
    assert otto.sign_in("Otto", code=office.code("Otto", old)).status_code == 403
    assert accepted(otto, found[1], password="not his password").status_code == 422
    assert accepted(otto, found[1]).status_code == 303
    assert otto.sign_in("Otto", code=office.code("Otto", old)).status_code == 403
    assert otto.sign_in("Otto").status_code == 303


def test_making_and_revoking_tokens(office: Office) -> None:
    ada = office.browser("Ada")
    page = ada.post("/tokens/new", {"name": "hotline", "scope": "reports"}).text
    found = re.search(r"deniable-[\w-]{43}", page)
    assert found is not None
    assert found[0] not in ada.get("/tokens").text
    assert ada.post("/tokens/new", {"name": "other"}).status_code == 422
    with office.console.store.reading() as connection:
        (token,) = tokens.listed(connection, office.console.key)
    assert "You cannot undo this" in ada.get(f"/tokens/{token.id}/revoke").text
    assert token.id in ada.get("/tokens").text
    done = ada.post(f"/tokens/{token.id}/revoke").headers["location"]
    page = ada.get(done).text
    assert "The token <bdi>hotline</bdi> is revoked" in page
    assert token.id not in page
    assert ada.get(f"/tokens/{token.id}/revoke").headers["location"] == "/tokens"


def test_the_log_names_what_the_administrator_did(office: Office) -> None:
    ada = office.browser("Ada")
    ada.post("/people/invite", {"name": "Berta", "role": "auditor"})
    ada.post("/people/id-Otto/disable")
    ada.post("/people/id-Anna/reset")
    ada.post("/tokens/new", {"name": "hotline", "scope": "status"})
    with office.console.store.reading() as connection:
        deeds = [str(deed.action) for deed in activity.read(connection, 10, about="people").entries]
    assert deeds == [
        "made the token hotline for status",
        "reset the one-time codes of Anna",
        "disabled Otto",
        "invited Berta as auditor",
    ]


def test_every_page_a_demonstration_shows_is_marked(office: Office) -> None:
    office.console.demo = [DemoPerson(office.people["Ada"], PASSWORD, office.salt("Ada"))]
    browser = office.browser()
    code = totp.totp(office.console.key, "id-Ada", office.salt("Ada")).at(office.clock.now)
    assert code in browser.get("/login").text
    marked = [browser.get("/login"), browser.get("/nowhere"), office.browser("Ada").get("/people")]
    assert all("Demonstration" in page.text for page in marked)


def test_there_are_enough_connections_for_all_threads() -> None:
    """A pool of the database layer gives 15."""
    assert QUICK + SLOW + 2 * PasswordQueues.AT_ONCE < 15


def at_once(browsers: list[Browser], path: str, typed: list[dict[str, str]]) -> list[int]:
    """What browsers get that post at the same moment, to one server as in real life."""
    statuses: list[int] = []

    async def post(browser: Browser, fields: dict[str, str]) -> None:
        transport = httpx.ASGITransport(browser.office.app)
        cookies = {"visit": browser.cookie("visit") or ""}
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver", cookies=cookies) as client:
            answer = await client.post(path, data={**fields, "csrf": browser.csrf()})
            statuses.append(answer.status_code)

    async def crowd() -> None:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for browser, fields in zip(browsers, typed, strict=True):
                    tasks.start_soon(post, browser, fields)

    anyio.run(crowd)
    return sorted(statuses)


def test_of_eight_at_once_one_signs_in_with_a_code(office: Office) -> None:
    browsers = [office.browser() for _ in range(8)]
    for browser in browsers:
        browser.get("/login")
    fields = {"name": "Ada", "password": PASSWORD, "code": office.code("Ada")}
    assert at_once(browsers, "/login", [fields] * 8) == [303] + [403] * 7


def test_of_eight_at_once_one_becomes_the_administrator(tmp_path: Path) -> None:
    office = new_office(tmp_path, people=False)
    path = f"/first-run/{begun(office)}"
    browsers = [office.browser() for _ in range(8)]
    pages = [browser.get(path).text for browser in browsers]
    shown = [TOTP(secret_of(page)).at(office.clock.now) for page in pages]
    typed = [{"name": "Eve", "password": PASSWORD, "again": PASSWORD, "code": code} for code in shown]
    statuses = at_once(browsers, path, typed)
    assert statuses[0] == 303
    assert set(statuses[1:]) <= {404, 422}
    with office.console.store.reading() as connection:
        assert [one.person.name for one in people.listed(connection, office.console.key)] == ["Eve"]
