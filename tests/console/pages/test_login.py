"""Signing in: where each role begins, and that a form which was being filled in comes back to the same person."""

import re
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.console.offices import PASSWORD, Browser, Office, form_on, form_token, new_office
from tests.console.test_security import everything

from deniable.console import kept_forms, sessions
from deniable.console.accounts import invitations
from deniable.console.kept_forms import LASTS
from deniable.console.routing import Pages
from deniable.programme.secrets.vault import Vault


def kept_on(page: str) -> str:
    found = re.search(r'name="kept" value="([^"]+)"', page)
    assert found is not None
    return found[1]


def too_late(office: Office, browser: Browser, path: str, data: dict[str, Any], **options: Any) -> Any:
    """What is answered to a form that is sent after its session has ended."""
    csrf = browser.csrf()
    office.clock.now += sessions.IDLE
    return browser.client.post(path, data={"csrf": csrf, **data}, **options)


def sign_in_again(office: Office, browser: Browser, name: str, page: str, **changed: str) -> Any:
    data = {"csrf": form_token(page), "name": name, "password": PASSWORD, "kept": kept_on(page)}
    return browser.client.post("/login", data={**data, "code": office.code(name), **changed})


REPORT = {"target": "Cedar Bank", "number": "7", "form_id": "x" * 22}


def test_a_form_survives_signing_in_again(office: Office) -> None:
    programme, ida = office.begin(), office.browser("Ida")
    before = everything(office)
    page = too_late(office, ida, "/report", REPORT)
    assert page.status_code == 403
    assert "nothing was sent" in page.text
    assert "Cedar Bank" not in page.text  # the browser keeps it, and may write it to its disk
    assert everything(office) == before
    again = sign_in_again(office, ida, "Ida", page.text)
    assert again.status_code == 200
    assert "Nothing was sent" in again.text
    assert "<option selected>Cedar Bank</option>" in again.text
    assert re.search(r'name="number"[^>]* value="7"', again.text)
    assert sum(programme.active_counts().values()) == 0
    sent = ida.client.post("/report", data={**REPORT, "csrf": form_token(again.text), "form_id": form_on(again.text)})
    assert sent.status_code == 200
    assert programme.active_counts()["Cedar Bank"] == 7


@pytest.mark.parametrize("planted", [False, True])
def test_it_comes_back_to_nobody_else(office: Office, monkeypatch: pytest.MonkeyPatch, planted: bool) -> None:
    """Anna, who may enter reports too, signs in where Ida was signed in before."""
    if planted:
        seal, open_ = Vault.seal, Vault.open
        monkeypatch.setattr(Vault, "seal", lambda self, name, content: seal(self, name.replace("Ida", "Anna"), content))
        monkeypatch.setattr(Vault, "open", open_)
    office.begin()
    browser = office.browser("Ida")
    page = too_late(office, browser, "/report", REPORT)
    again = sign_in_again(office, browser, "Anna", page.text)
    assert (again.status_code == 200 and "selected>Cedar Bank" in again.text) is planted
    assert planted or again.headers["location"] == "/"
    assert browser.get("/account").status_code == 200


def test_a_wrong_code_does_not_lose_it(office: Office) -> None:
    office.begin()
    ida = office.browser("Ida")
    page = too_late(office, ida, "/report", REPORT)
    wrong = sign_in_again(office, ida, "Ida", page.text, code="000000")
    assert wrong.status_code == 403
    assert kept_on(wrong.text) == kept_on(page.text)
    assert "selected>Cedar Bank" in sign_in_again(office, ida, "Ida", wrong.text).text


def test_what_was_altered_or_is_too_old_is_dropped(office: Office) -> None:
    office.begin()
    ida = office.browser("Ida")
    page = too_late(office, ida, "/report", REPORT)
    assert sign_in_again(office, ida, "Ida", page.text, kept="x" * 80).headers["location"] == "/"
    page = too_late(office, ida, "/report", REPORT)
    office.clock.now += LASTS
    assert sign_in_again(office, ida, "Ida", page.text).headers["location"] == "/"


@pytest.mark.parametrize("how", ["another token", "signed out", "a file", "a cookie of one's own", "disabled"])
def test_what_is_not_kept(office: Office, how: str) -> None:
    """A form from elsewhere, one of a person who signed out, and files."""
    office.begin()
    ida = office.browser("Ida")
    data: dict[str, Any] = {**REPORT}
    options: dict[str, Any] = {}
    if how == "another token":
        data["csrf"] = "0" * 64
    elif how == "signed out":
        stale = ida.cookie("session") or ""
        data["csrf"] = ida.csrf()
        ida.post("/logout")
        ida.client.cookies["session"] = stale
    elif how == "a file":
        options["files"] = {"file": ("a.csv", b"id,channel")}
    elif how == "a cookie of one's own":
        ida = office.browser()
        ida.client.cookies["session"] = f"{'a' * 43}.1.1.{'0' * 64}"
    else:
        office.browser("Ada").post("/people/id-Ida/disable")
    answer = too_late(office, ida, "/import" if how == "a file" else "/report", data, **options)
    assert answer.status_code == 303
    page = ida.get(answer.headers["location"]).text
    assert "Nothing was sent" in page
    assert 'name="kept"' not in page


def test_no_password_comes_back(office: Office) -> None:
    otto = office.browser("Otto")
    typed = {"old": PASSWORD, "password": "another password", "again": "another password", "code": "123456"}
    page = too_late(office, otto, "/account/password", typed)
    again = sign_in_again(office, otto, "Otto", page.text)
    assert "<h1>Your account</h1>" in again.text
    assert "another password" not in again.text
    assert "123456" not in again.text


@pytest.mark.parametrize(
    ("name", "sent", "heading", "shown"),
    [
        ("Otto", ("/round/decisions/override", {"target": ["Ash Mill"], "reason": "A fire."}), "Order", "A fire."),
        ("Ada", ("/people/invite", {"name": "Berta", "role": "auditor"}), "People", "Berta"),
        ("Ada", ("/people/id-Otto/disable", {}), "Disable", "Otto"),
        ("Anna", ("/round/draw/numbers", {"numbers": "1 2 3"}), "Round", "no longer on this page"),
    ],
)
def test_other_forms(office: Office, name: str, sent: tuple[str, dict[str, Any]], heading: str, shown: str) -> None:
    """Each comes back on the page that it is on, or on the nearest that there is."""
    office.begin()
    browser = office.browser(name)
    page = too_late(office, browser, *sent)
    again = sign_in_again(office, browser, name, page.text)
    assert again.status_code == 200
    assert heading in "".join(re.findall("<h1>.*?</h1>", again.text))
    assert shown in unescape(again.text)
    assert ("no longer on this page" in again.text) == (shown == "no longer on this page")


def test_the_page_is_that_of_the_new_session(office: Office) -> None:
    """Its forms work, and the role's own rules hold."""
    office.begin()
    ada = office.browser("Ada")
    page = too_late(office, ada, "/people/invite", {"name": "Berta", "role": "auditor"})
    again = sign_in_again(office, ada, "Ada", page.text)
    sent = ada.client.post("/people/invite", data={"csrf": form_token(again.text), "name": "Berta", "role": "auditor"})
    assert "Berta" in sent.text
    assert sent.status_code == 200


def test_what_is_kept_is_in_no_address(office: Office) -> None:
    office.begin()
    ida = office.browser("Ida")
    page = too_late(office, ida, "/report", REPORT)
    again = sign_in_again(office, ida, "Ida", page.text)
    assert not again.url.query
    assert kept_forms.is_sealed(kept_on(page.text))


@pytest.mark.parametrize(
    ("name", "begun", "first"),
    [
        ("Ada", False, "/people"), ("Anna", False, "/plan"), ("Otto", False, None), ("Ida", False, None),
        ("Ada", True, "/people"), ("Anna", True, "/round"), ("Otto", True, "/round"), ("Ida", True, "/report"),
    ],
)  # fmt: skip
def test_where_each_role_begins(office: Office, name: str, begun: bool, first: str | None) -> None:
    if begun:
        office.begin()
    answer = office.browser(name).get("/")
    if first is None:
        assert "Set-up is not finished" in answer.text
    else:
        assert answer.headers["location"] == first


def went_on(office: Office, browser: Browser, name: str, page: str, **changed: str) -> str:
    """Where signing in on this page leads."""
    data = {"csrf": form_token(page), "name": name, "password": PASSWORD, "code": office.code(name)}
    form = page.partition('action="/login"')[2].partition("</form>")[0]
    hidden = dict(re.findall(r'name="(to)" value="([^"]+)"', form))
    return str(browser.client.post("/login", data={**data, **hidden, **changed}).headers["location"])


@pytest.mark.parametrize("path", ["/work-list", "/help/health", "/round/decisions/skip"])
def test_a_person_who_was_signed_out_goes_on_to_the_page(office: Office, path: str) -> None:
    office.begin()
    otto = office.browser("Otto")
    office.clock.now += sessions.IDLE + timedelta(minutes=1)
    page = otto.get(path, follow_redirects=True).text
    assert "for half an hour" in page
    assert "Nothing was sent" not in page
    wrong = otto.client.post("/login", data={"csrf": form_token(page), "name": "Otto", "to": path})
    assert wrong.status_code == 403
    assert went_on(office, otto, "Otto", wrong.text) == path


@pytest.mark.parametrize(
    ("to", "planted"),
    [
        ("https://elsewhere.example/", False), ("//elsewhere.example/round", False), ("/\\elsewhere.example", False),
        ("/nowhere", False), ("/login", False), ("/transcript/record.csv", False), ("/round\r\nx: y", False),
        ("/logout", False), ("", False), ("https://elsewhere.example/", True),
    ],
)  # fmt: skip
def test_signing_in_leads_nowhere_else(office: Office, monkeypatch: pytest.MonkeyPatch, to: str, planted: bool) -> None:
    """Whatever the address and the hidden field say."""
    office.begin()
    if planted:
        monkeypatch.setattr(Pages, "has", lambda *_: True)
        monkeypatch.setattr(Pages, "admits", always)
    otto = office.browser()
    page = otto.get("/login", params={"to": to}).text
    assert ("elsewhere" in page) is planted
    assert (went_on(office, otto, "Otto", page, to=to) in {"/", "/login"}) is not planted


async def always(*_: object) -> bool:
    return True


def test_another_person_goes_on_to_their_own_first_page(office: Office) -> None:
    office.begin()
    browser = office.browser("Ada")
    office.clock.now += sessions.IDLE
    page = browser.get("/people", follow_redirects=True).text
    assert went_on(office, browser, "Otto", page) == "/"


@pytest.mark.parametrize("how", ["idle", "old", "ended", "never signed in", "a cookie of one's own"])
def test_why_a_person_was_signed_out(office: Office, how: str) -> None:
    office.begin()
    otto = office.browser() if how == "never signed in" else office.browser("Otto")
    if how == "ended":
        other = office.browser("Otto")
        assert "in all browsers" in other.get(other.post("/account/sign-out").headers["location"]).text
    elif how == "old":
        for _ in range(25):
            office.clock.now += sessions.IDLE - timedelta(minutes=1)
            otto.get("/round")
    elif how == "idle":
        office.clock.now += sessions.IDLE
    elif how == "a cookie of one's own":
        otto.client.cookies["session"] = f"{'a' * 43}.1.1.{'0' * 64}"
    page = otto.get("/round", follow_redirects=True).text
    words = {"idle": "for half an hour", "old": "for half a day", "ended": "signed out in this browser"}
    assert {key for key, told in words.items() if told in page} == words.keys() & {how}


def test_signing_out_is_confirmed(office: Office) -> None:
    otto = office.browser("Otto")
    page = otto.get(otto.post("/logout").headers["location"]).text
    assert "You are signed out." in page
    assert "half an hour" not in page


def test_a_form_that_is_not_kept_leads_back_to_its_page(office: Office) -> None:
    """As after "Sign out everywhere" in another browser."""
    office.begin()
    anna = office.browser("Anna")
    csrf = anna.csrf()
    office.browser("Anna").post("/account/sign-out")
    for path, page_of_it in (("/transcript/publish", "/transcript"), ("/report", "/report")):
        answer = anna.client.post(path, data={"csrf": csrf})
        page = anna.get(answer.headers["location"]).text
        assert "Nothing was sent" in page
        assert f'name="to" value="{page_of_it}"' in page


def test_all_mistakes_are_told_at_once(office: Office) -> None:
    """When a person joins; and that the passwords, which no page keeps, are to be typed again."""
    ada = office.browser("Ada")
    page = ada.post("/people/invite", {"name": "Zoe", "role": "operator"}).text
    found = re.search(r"/invitation/[\w-]+", page)
    assert found is not None
    stranger = office.browser()
    assert "such as Aegis" in stranger.get(found[0]).text
    answer = stranger.post(found[0], {"code": "1", "password": "short", "again": "shorter"})
    assert answer.status_code == 422
    for words in ("The code is wrong", "The two passwords do not match", "Type both passwords again"):
        assert words in answer.text
    assert 'value="short' not in answer.text
    marked = re.findall(r'<input id="(\w+)"[^>]*aria-invalid="true"', answer.text)
    assert marked == ["again", "code"]  # and nothing else


def test_the_first_administrator_sees_which_fields_are_wrong(tmp_path: Path) -> None:
    office = new_office(tmp_path, people=False)
    with office.console.store.writing() as connection:
        first = invitations.invite_first(connection, office.console.key, office.clock.now)
    stranger, address = office.browser(), f"/first-run/{first}"
    stranger.get(address)
    answer = stranger.post(address, {"code": "1", "name": "", "password": "short", "again": "short"})
    assert answer.status_code == 422
    marked = re.findall(r'<input id="(\w+)"[^>]*aria-invalid="true"', answer.text)
    assert marked == ["name", "password", "code"]
    office.console.close()


def test_a_wrong_sign_in_leads_to_help(office: Office) -> None:
    """In the same words whatever is wrong."""
    browser, answers = office.browser(), set[str]()
    for name in ("Ada", "Nobody"):
        answer = browser.post("/login", {"name": name, "password": "wrong", "code": "000000"})
        assert answer.status_code == 403
        answers.add(answer.text.partition('role="alert"')[2].partition("</div>")[0])
        assert 'href="/help/signing-in#when-you-cannot-sign-in"' in answer.text
    assert len(answers) == 1
