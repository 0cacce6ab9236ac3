"""What every request must pass and every response carries; signing in; the first run; people and tokens."""

import re
import tempfile
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from pyotp import TOTP
from tests.web.offices import CSP, PASSWORD, Browser, Office, check_headers, form_token, new_office, routes

from deniable.programme.store import StoreError
from deniable.web import accounts, sessions
from deniable.web.app import HEADERS, THREADS
from deniable.web.console import DemoPerson
from deniable.web.pages.login import TOO_OFTEN, WRONG
from deniable.web.security import ALLOWED, SMALL
from deniable.web.throttle import TRIES, Lanes


def paths(app: Any, method: str) -> list[str]:
    found = [re.sub(r"{[^}]*}", "x", route.path) for route in routes(app) if method in (route.methods or ())]
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
    answers += [stranger.get("/nowhere"), stranger.get("/static/style.css"), stranger.get("/static/none.css")]
    answers += [stranger.client.request("TRACE", "/login"), stranger.client.put("/login", content=b"x" * (SMALL + 1))]
    assert {answer.status_code for answer in answers} >= {200, 303, 401, 403, 404, 405, 413}
    for answer in answers:
        check_headers(answer)


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

    monkeypatch.setattr(accounts, "account", fails)
    answer = office.browser().post("/login", {"name": "Ada"})
    assert answer.status_code == 500
    assert answer.headers["content-security-policy"] == CSP
    told = capsys.readouterr().err
    assert "RuntimeError in test_app.py" in told
    assert "Ash Mill" not in answer.text + told


def test_a_database_that_is_away(
    office: Office, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: Any) -> None:
        raise StoreError("database /srv/secret/place.db: the disk is full")

    monkeypatch.setattr(accounts, "account", fails)
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


async def _refuses_to_read() -> Any:
    raise AssertionError("the body was read")


@pytest.mark.parametrize("path", ["/import", "/people/invite", "/api/v1/reports"])
def test_nothing_large_is_read_for_strangers(office: Office, path: str) -> None:
    """Who is not signed in, or has no token, is answered before the first byte of the body."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"testserver"), (b"content-type", b"multipart/form-data; boundary=x")]
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
             "headers": headers, "http_version": "1.1", "scheme": "http", "server": ("testserver", 80),
             "client": None, "root_path": ""}  # fmt: skip
    anyio.run(office.app, scope, _refuses_to_read, send)
    assert sent[0]["status"] in {303, 401}


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
        ("text/plain", b"csrf"),
        ("", b""),
    ],
)  # fmt: skip
def test_forms_that_are_none(office: Office, kind: str, body: bytes) -> None:
    answer = office.browser().client.post("/login", content=body, headers={"Content-Type": kind})
    assert answer.status_code in {400, 403}


def test_a_host_that_pretends_to_be_a_path(tmp_path: Path) -> None:
    """Where the request goes is what its path says, whatever its Host says."""
    office = new_office(tmp_path, people=False)
    answer = office.browser().get("/login", headers={"Host": "x/static/"})
    assert answer.status_code == 503
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
                assert answer.status_code == 403 or answer.headers["location"] == "/login"
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
    assert browser.get("/people").headers["location"] == "/login"
    answer = browser.sign_in("Ada")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert browser.get("/").headers["location"] == "/people"
    assert browser.get("/login").headers["location"] == "/"
    old = browser.cookie("session")
    assert browser.post("/logout").headers["location"] == "/login"
    assert browser.cookie("session") is None
    browser.client.cookies.set("session", old)
    assert browser.get("/people").headers["location"] == "/login"


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
    assert other.get("/people").headers["location"] == "/login"


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
    assert browser.get("/people").headers["location"] == "/login"


def test_whatever_is_wrong_the_answer_is_the_same(office: Office) -> None:
    """A wrong name, password or code, a disabled person: same status, same bytes, same headers, same work."""
    with office.console.store.writing() as connection:
        accounts.set_disabled(connection, "id-Otto", True)
    used = office.code("Anna")
    assert office.browser().sign_in("Anna", code=used).status_code == 303
    work: list[bool] = []
    fits = office.console.passwords.fits
    office.console.passwords.fits = lambda *given: work.append(True) or fits(*given)  # type: ignore[method-assign, func-returns-value]
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
    assert len({answer.text for answer in answers}) == 1
    assert WRONG in answers[0].text
    assert len({tuple(answer.headers.items()) for answer in answers}) == 1
    assert len(work) == len(tries)


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
    assert len({answer.text for answer in answers}) == 1
    assert TOO_OFTEN in answers[0].text


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
    stranger.client.cookies.set("device", sessions.device(bytes(32), "id-Ada"))
    assert stranger.sign_in("Ada").status_code == 429


def test_a_code_works_once_also_at_the_same_moment(office: Office) -> None:
    code = office.code("Ada")
    assert office.browser().sign_in("Ada", code=code).status_code == 303
    assert office.browser().sign_in("Ada", code=code).status_code == 403


# Roles


def test_the_table_of_permissions() -> None:
    """Pinned: who sees counts is the heart of it."""
    assert ALLOWED == {
        "people": ("administrator",),
        "activity": ("administrator", "auditor"),
        "health": ("administrator", "operator", "auditor"),
        "plan": ("auditor",),
        "report": ("importer", "auditor"),
        "correct": ("auditor",),
        "counts": ("auditor",),
        "round": ("operator", "auditor"),
        "close": ("operator", "auditor"),
        "decide": ("operator", "auditor"),
        "transcript": ("operator", "auditor"),
        "publish": ("operator", "auditor"),
        "guarantee": ("administrator", "operator", "auditor"),
    }


OPEN = {"/", "/login", "/logout", "/first-run/x", "/first-run/x/qr.png", "/invitation/x", "/invitation/x/qr.png"}


def test_every_page_is_closed_to_strangers(office: Office) -> None:
    office.begin()
    stranger = office.browser()
    for path in set(paths(office.app, "GET")) - OPEN:
        if not path.startswith("/api/"):
            assert stranger.get(path).headers["location"] == "/login", path
    for path in set(forms(office.app)) - OPEN:
        assert stranger.post(path).headers["location"] == "/login", path


def test_a_route_checks_who_it_is_before_it_reads_anything(office: Office) -> None:
    """Its first dependency is `require`."""
    for route in routes(office.app):
        path = re.sub(r"{[^}]*}", "x", route.path)
        if path not in OPEN and not path.startswith("/api/"):
            first = route.dependant.dependencies[0].call
            assert getattr(first, "__qualname__", "") == "require.<locals>.check", path


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
        token = accounts.invite_first(connection, office.clock.now)
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
    every = {browser.get(path).status_code for path in paths(office.app, "GET") if "first-run" not in path}
    every |= {browser.client.post(path).status_code for path in paths(office.app, "POST") if "first-run" not in path}
    assert every == {503}
    assert browser.get("/api/v1/openapi.json").status_code == 503
    assert browser.get("/first-run/guess").status_code == 404
    assert browser.get("/first-run/guess/qr.png").status_code == 404
    assert "link that was printed in the terminal" in browser.get("/").text


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
    assert accepted(browser, path, name="Eve").headers["location"] == "/login"
    assert browser.get(path).status_code == 404
    assert browser.get(f"{path}/qr.png").status_code == 404
    with office.console.store.reading() as connection:
        eve = accounts.account(connection, "Eve")
    assert eve is not None
    office.people["Eve"] = eve.person
    assert browser.sign_in("Eve").status_code == 303
    assert "joined as administrator" in browser.get("/activity").text


def test_the_code_of_the_first_run_is_not_accepted_again(tmp_path: Path) -> None:
    office = new_office(tmp_path, people=False)
    browser, path = office.browser(), f"/first-run/{begun(office)}"
    totp = TOTP(secret_of(browser.get(path).text))
    accepted(browser, path, name="Eve")
    assert browser.sign_in("Eve", code=totp.at(office.clock.now)).status_code == 403


def test_inviting_somebody(office: Office) -> None:
    ada = office.browser("Ada")
    page = ada.post("/people/invite", {"name": "Berta", "role": "auditor"})
    found = re.search(r"http://testserver(/invitation/[\w-]+)", page.text)
    assert found is not None
    assert found[1] not in ada.get("/people").text
    guest = office.browser()
    assert "Berta" in guest.get(found[1]).text
    assert guest.get(found[1].replace("invitation", "first-run")).status_code == 404
    assert accepted(guest, found[1], name="Mallory").status_code == 303
    assert guest.get(found[1]).status_code == 404
    assert "Berta" in ada.get("/people").text
    assert "Mallory" not in ada.get("/people").text


def test_an_invitation_cannot_be_tried_for_ever(office: Office) -> None:
    with office.console.store.writing() as connection:
        token = accounts.reset_codes(connection, "id-Otto", office.clock.now)
    guest, path = office.browser(), f"/invitation/{token}"
    for _ in range(TRIES):
        assert accepted(guest, path, password="a guessed password").status_code == 422
    assert accepted(guest, path).status_code == 429


def test_what_cannot_be_invited(office: Office) -> None:
    ada = office.browser("Ada")
    for fields, says in (
        ({"name": "otto", "role": "auditor"}, "there is somebody called otto already"),
        ({"name": "Berta", "role": "god"}, "the role must be one of"),
        ({"name": "", "role": "auditor"}, "the name must have"),
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
    assert ada.post("/people/id-Otto/disable").headers["location"] == "/people"
    assert otto.get("/").headers["location"] == "/login"
    assert otto.sign_in("Otto").status_code == 403
    ada.post("/people/id-Otto/enable")
    assert otto.sign_in("Otto").status_code == 303
    assert ada.post("/people/id-Ada/disable").status_code == 422
    ada.post("/people/invite", {"name": "Berta", "role": "auditor"})
    with office.console.store.reading() as connection:
        berta = next(one.person for one in accounts.listed(connection) if not one.has_joined)
    assert ada.post(f"/people/{berta.id}/withdraw").status_code == 303
    assert "Berta" not in ada.get("/people").text


def test_new_codes(office: Office) -> None:
    """The link and the password together; the old codes are useless from the start."""
    ada, otto = office.browser("Ada"), office.browser("Otto")
    page = ada.post("/people/id-Otto/reset").text
    found = re.search(r"http://testserver(/invitation/[\w-]+)", page)
    assert found is not None
    assert otto.get("/").headers["location"] == "/login"
    assert otto.sign_in("Otto").status_code == 403
    assert accepted(otto, found[1], password="not his password").status_code == 422
    assert accepted(otto, found[1]).status_code == 303
    assert otto.sign_in("Otto", code=office.code("Otto", generation=4)).status_code == 303


def test_making_and_revoking_tokens(office: Office) -> None:
    ada = office.browser("Ada")
    page = ada.post("/tokens/new", {"name": "hotline", "scope": "reports"}).text
    found = re.search(r"deniable-[\w-]{43}", page)
    assert found is not None
    assert found[0] not in ada.get("/tokens").text
    assert ada.post("/tokens/new", {"name": "other"}).status_code == 422
    with office.console.store.reading() as connection:
        (token,) = accounts.tokens(connection)
    assert ada.post(f"/tokens/{token.id}/revoke").headers["location"] == "/tokens"
    assert token.id not in ada.get("/tokens").text


def test_the_log_names_what_the_administrator_did(office: Office) -> None:
    ada = office.browser("Ada")
    ada.post("/people/invite", {"name": "Berta", "role": "auditor"})
    ada.post("/people/id-Otto/disable")
    ada.post("/people/id-Anna/reset")
    ada.post("/tokens/new", {"name": "hotline", "scope": "status"})
    with office.console.store.reading() as connection:
        deeds = [deed.deed for deed in accounts.activity(connection, 10)]
    assert deeds == [
        "made the token hotline for status",
        "reset the one-time codes of Anna",
        "disabled Otto",
        "invited Berta as auditor",
    ]


def test_every_page_a_demonstration_shows_is_marked(office: Office) -> None:
    office.console.demo = [DemoPerson(office.people["Ada"], PASSWORD)]
    browser = office.browser()
    code = accounts.codes(office.console.key, "id-Ada", 1).at(office.clock.now)
    assert code in browser.get("/login").text
    marked = [browser.get("/login"), browser.get("/nowhere"), office.browser("Ada").get("/people")]
    assert all("Demonstration" in page.text for page in marked)


def test_there_are_enough_connections_for_all_threads() -> None:
    """A pool of the database layer gives 15."""
    assert THREADS + 2 * Lanes.AT_ONCE < 15


def at_once(browsers: list[Browser], path: str, fields: dict[str, str]) -> list[int]:
    """What browsers get that post the same at the same moment, to one server as in real life."""
    statuses: list[int] = []

    async def post(browser: Browser) -> None:
        transport = httpx.ASGITransport(browser.office.app)
        cookies = {"visit": browser.cookie("visit") or ""}
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver", cookies=cookies) as client:
            answer = await client.post(path, data={**fields, "csrf": browser.csrf()})
            statuses.append(answer.status_code)

    async def crowd() -> None:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for browser in browsers:
                    tasks.start_soon(post, browser)

    anyio.run(crowd)
    return sorted(statuses)


def test_of_eight_at_once_one_signs_in_with_a_code(office: Office) -> None:
    browsers = [office.browser() for _ in range(8)]
    for browser in browsers:
        browser.get("/login")
    fields = {"name": "Ada", "password": PASSWORD, "code": office.code("Ada")}
    assert at_once(browsers, "/login", fields) == [303] + [403] * 7


def test_of_eight_at_once_one_becomes_the_administrator(tmp_path: Path) -> None:
    office = new_office(tmp_path, people=False)
    path = f"/first-run/{begun(office)}"
    browsers = [office.browser() for _ in range(8)]
    pages = [browser.get(path).text for browser in browsers]
    totp = TOTP(secret_of(pages[0]))
    fields = {"name": "Eve", "password": PASSWORD, "again": PASSWORD, "code": totp.at(office.clock.now)}
    statuses = at_once(browsers, path, fields)
    assert statuses[0] == 303
    assert set(statuses[1:]) <= {404, 422}
    with office.console.store.reading() as connection:
        assert [one.person.name for one in accounts.listed(connection)] == ["Eve"]
