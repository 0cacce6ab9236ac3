"""Each person chooses the language of the console."""

import pytest
from tests.console.offices import Office
from tests.console.test_languages import speak, spoken_on

from deniable.console.accounts import invitations


def test_the_browsers_languages_decide_until_a_person_chooses(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    speak(monkeypatch)
    browser = office.browser(headers={"accept-language": "xx, de-AT;q=0.8, en;q=0.5"})
    assert spoken_on(browser.get("/login").text) == "en-x-pseudo"
    answer = browser.post("/language", {"language": "en"})
    assert answer.headers["location"] == "/login"
    assert spoken_on(browser.get("/login").text) == "en"
    browser.post("/language", {"language": "de"})
    assert browser.sign_in("Otto").status_code == 303
    assert spoken_on(browser.get("/account").text) == "en-x-pseudo"
    assert browser.post("/language", {"language": "en"}).headers["location"] == "/account"
    assert spoken_on(browser.get("/account").text) == "en"


@pytest.mark.parametrize("code", ["xx", "", "pt-BR", "../de", "DE"])
def test_a_language_that_is_not_spoken_is_ignored(office: Office, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    speak(monkeypatch)
    browser = office.browser()
    assert browser.post("/language", {"language": code}).status_code == 303
    assert browser.cookie("language") is None
    browser.client.cookies.set(office.console.cookie_name("language"), code)
    assert spoken_on(browser.get("/login").text) == "en"


def test_a_form_from_elsewhere_changes_no_language(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    speak(monkeypatch)
    browser = office.browser("Otto")
    assert browser.post("/language", {"language": "de", "csrf": "0" * 64}).status_code == 403
    assert browser.cookie("language") is None
    assert browser.post("/language", {"language": "de"}).status_code == 303
    assert browser.cookie("language") == "de"


@pytest.mark.parametrize(
    ("to", "location"),
    [
        ("/invitation/abc", "/invitation/abc"),
        ("/login?to=/round", "/login?to=/round"),
        ("//elsewhere.example", "/login"),
        ("https://elsewhere.example/login", "/login"),
        ("/nowhere", "/login"),
        ("/logout", "/login"),
    ],
)
def test_the_page_on_which_it_was_chosen_comes_next(
    office: Office, monkeypatch: pytest.MonkeyPatch, to: str, location: str
) -> None:
    speak(monkeypatch)
    answer = office.browser().post("/language", {"language": "de", "to": to})
    assert answer.headers["location"] == location


def test_the_switch_is_where_there_are_several(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = office.browser()
    monkeypatch.setattr("deniable.console.rendering.console_languages", lambda: ("en",))
    assert 'action="/language"' not in browser.get("/login").text
    monkeypatch.setattr("deniable.console.rendering.console_languages", lambda: ("en", "de"))
    page = browser.get("/login?to=/round").text
    assert 'action="/language"' in page
    assert 'name="to" value="/login?to=/round"' in page
    with office.console.store.writing() as connection:
        token = invitations.invite(connection, office.console.key, "Berta", "auditor", office.clock.now)
    assert f'name="to" value="/invitation/{token}"' in browser.get(f"/invitation/{token}").text
