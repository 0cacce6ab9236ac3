"""Your account: changing the password, and signing out everywhere."""

from typing import Any

import pytest
from tests.console.offices import PASSWORD, Browser, Office

from deniable.console.accounts import activity, people
from deniable.console.limits import TRIES

NEW = "another horse, another battery"


def changed(browser: Browser, name: str, **fields: str) -> Any:
    """What comes of changing the password."""
    filled = {"old": PASSWORD, "code": browser.office.code(name), "password": NEW, "again": NEW}
    return browser.post("/account/password", {**filled, **fields})


@pytest.mark.parametrize("name", ["Ada", "Otto", "Ida", "Anna"])
def test_everybody_has_an_account_of_their_own(office: Office, name: str) -> None:
    page = office.browser(name).get("/account").text
    assert 'href="/account"' in page
    assert f"<bdi>{name}</bdi></dd>" in page
    assert office.people[name].role in page


def test_changing_the_password(office: Office) -> None:
    browser = office.browser("Otto")
    answer = changed(browser, "Otto")
    assert (answer.status_code, answer.headers["location"]) == (303, "/account?done=password")
    assert "Your password is changed" in browser.get("/account?done=password").text
    assert office.browser().sign_in("Otto").status_code == 403
    assert office.browser().sign_in("Otto", NEW).status_code == 303
    assert office.browser().sign_in("Anna").status_code == 303
    with office.console.store.reading() as connection:
        (deed,) = activity.read(connection, 5, about="people").entries
    assert (deed.who, str(deed.action)) == ("Otto", "changed their password")


@pytest.mark.parametrize("ended", [True, False])
def test_a_changed_password_ends_all_other_sessions(
    office: Office, monkeypatch: pytest.MonkeyPatch, ended: bool
) -> None:
    """Also that of somebody who has a copy of this very cookie; without the line that ends them they go on."""
    if not ended:
        monkeypatch.setattr(people, "sign_out", lambda *_: None)
    here, elsewhere, thief, ada = (office.browser(name) for name in ("Otto", "Otto", None, "Ada"))
    thief.client.cookies.set("session", here.cookie("session"))
    assert thief.get("/account").status_code == 200
    assert changed(here, "Otto").status_code == 303
    assert here.get("/account").status_code == ada.get("/account").status_code == 200
    for browser in (elsewhere, thief):
        assert browser.get("/account").status_code == (303 if ended else 200)


def test_an_open_session_is_not_enough(office: Office) -> None:
    browser = office.browser("Otto")
    used = office.code("Otto")
    assert office.browser().sign_in("Otto", code=used).status_code == 303
    for fields, says in (
        ({"old": "a guess, at least"}, "the old password or the code is wrong"),
        ({"old": ""}, "the old password or the code is wrong"),
        ({"code": "000000"}, "the old password or the code is wrong"),
        ({"code": ""}, "the old password or the code is wrong"),
        ({"code": used}, "the old password or the code is wrong"),
        ({"again": NEW + "x"}, "the two passwords do not match"),
        ({"password": "short", "again": "short"}, "the password must have 12 to 256 characters"),
    ):
        answer = changed(browser, "Otto", **fields)
        assert (answer.status_code, says in answer.text.lower()) == (422, True), fields
        assert NEW not in answer.text
    assert office.browser().sign_in("Otto").status_code == 303


UNLIKE, SHORT, GOOD = {"again": NEW + "x"}, {"password": "short", "again": "short"}, {"again": NEW}


@pytest.mark.parametrize(
    ("fields", "code", "says"),
    [
        *((UNLIKE, code, "the two passwords do not match") for code in ("used", "wrong", "fresh")),
        *((SHORT, code, "the password must have 12 to 256 characters") for code in ("used", "wrong", "fresh")),
        *((GOOD, code, "the old password or the code is wrong") for code in ("used", "wrong")),
    ],
)
def test_nothing_tells_whether_the_old_password_fits(
    office: Office, fields: dict[str, str], code: str, says: str
) -> None:
    """Whoever found an open session, and perhaps a code that was used, cannot try passwords one by one."""
    browser, used = office.browser(), office.code("Otto")
    assert browser.sign_in("Otto", code=used).status_code == 303
    typed = {"used": used, "wrong": "000000", "fresh": office.code("Otto")}[code]
    guessed, right = (
        changed(browser, "Otto", old=old, code=typed, **fields) for old in ("a guess, at least", PASSWORD)
    )
    assert guessed.status_code == right.status_code == 422
    assert guessed.content == right.content
    assert says in right.text.lower()


@pytest.mark.parametrize("how", ["signed out", "disabled"])
def test_whoever_is_shut_out_meanwhile_changes_no_password(
    office: Office, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Passwords wait for their turn to be checked, in which time the session may end."""
    browser, fits = office.browser("Otto"), office.console.passwords.matches

    def slowly(*given: Any) -> bool:
        with office.console.store.writing() as connection:
            if how == "disabled":
                people.set_disabled(connection, office.console.key, "id-Otto", True)
            people.sign_out(connection, "id-Otto")
        return fits(*given)

    monkeypatch.setattr(office.console.passwords, "matches", slowly)
    answer = changed(browser, "Otto")
    assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/login")
    assert "set-cookie" not in answer.headers
    monkeypatch.undo()
    if how == "signed out":
        assert office.browser().sign_in("Otto").status_code == 303


def test_the_old_password_cannot_be_guessed_for_ever(office: Office) -> None:
    browser, other = office.browser("Otto"), office.browser("Anna")
    for _ in range(TRIES):
        assert changed(browser, "Otto", old="a guess, at least").status_code == 422
    assert changed(browser, "Otto").status_code == 429
    assert changed(other, "Anna").status_code == 303
    assert office.browser().sign_in("Otto").status_code == 303  # and nobody is locked out by it


def test_signing_out_everywhere(office: Office) -> None:
    here, elsewhere, ada = office.browser("Otto"), office.browser("Otto"), office.browser("Ada")
    answer = here.post("/account/sign-out")
    assert answer.headers["location"].startswith("/login")
    assert here.cookie("session") is None
    for browser in (here, elsewhere):
        assert browser.get("/account").headers["location"].startswith("/login")
    assert ada.get("/account").status_code == 200
    assert here.sign_in("Otto").status_code == 303
