"""Contact and hotline: a form for those who decide, with the declaration that it has nothing to do with reports."""

import html

import pytest
from tests.console.offices import Office

from deniable.programme.transcript_copies import KeyCopy

PATH = "/round/decisions/details"
SAID = {"contact": " Room 7 ", "hotline": "https://hotline.example.org/", "independent": "yes"}
CONFIRMED = {"confirmed": "yes"}


def test_what_is_told_is_recorded_and_stands_in_the_form(office: Office) -> None:
    programme, otto = office.begin(), office.browser("Otto")
    assert f'href="{PATH}"' in otto.get("/round").text
    assert 'id="contact" name="contact" type="text" value=""' in otto.get(PATH).text
    assert otto.post(PATH, SAID | CONFIRMED).headers["location"] == "/transcript?done=decided"
    told = programme.status().details
    assert told is not None
    assert (told.contact, told.hotline) == ("Room 7", "https://hotline.example.org/")
    assert told.day == office.clock().date().isoformat()
    assert "Room 7" in otto.get("/transcript").text
    form = otto.get(PATH).text
    assert 'value="Room 7"' in form
    assert 'value="https://hotline.example.org/"' in form
    assert "checked" not in form
    assert "contact and hotline (entry 1)" in html.unescape(office.log())
    assert programme.status().coverage.holds_from == 1
    assert otto.post(PATH, SAID | CONFIRMED | {"contact": "", "hotline": ""}).status_code == 303
    assert programme.status().details is None


NO_HOTLINE = ("call us", "www.hotline", "hotline.example.org", "hotline24.example.org")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"hotline": "javascript:alert(1)"}, "The hotline must be a link"),
        ({"hotline": "http://hotline.example.org"}, "The hotline must be a link"),
        *(({"hotline": hotline}, "Begin the link with https://, or give a phone number") for hotline in NO_HOTLINE),
        ({"contact": "x" * 301}, "at most 300 characters"),
        ({"contact": "", "hotline": ""}, "the same as before"),
    ],
)
def test_what_cannot_be_told_is_refused_and_the_form_stays_filled(
    office: Office, changed: dict[str, str], says: str
) -> None:
    programme = office.begin()
    answer = office.browser("Otto").post(PATH, SAID | changed)
    assert answer.status_code == 422
    assert says in answer.text
    assert all(f'value="{html.escape(value)}"' in answer.text for value in changed.values())
    assert " checked" in answer.text
    assert programme.status().entries == 0


def test_it_is_previewed_before_it_is_recorded(office: Office) -> None:
    programme, otto = office.begin(), office.browser("Otto")
    page = html.unescape(otto.post(PATH, SAID).text)
    assert "Nothing is recorded yet" in page
    assert "contact: “Room 7”" in page
    assert "does not weaken the promise" in page
    assert programme.status().entries == 0
    form = otto.post(PATH, SAID | {"change": "yes"}).text
    assert 'value="https://hotline.example.org/"' in form
    assert " checked" in form
    assert programme.status().entries == 0


def test_without_the_declaration_nothing_is_told(office: Office) -> None:
    programme = office.begin()
    answer = office.browser("Otto").post(PATH, {"contact": "Room 7", "hotline": ""})
    assert answer.status_code == 422
    assert "nothing to do with any report" in answer.text
    assert 'value="Room 7"' in answer.text
    assert programme.status().entries == 0


def test_what_is_recorded_and_not_kept_is_not_asked_for_again(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    programme, otto = office.begin(), office.browser("Otto")
    otto.get("/round")
    works = iter([True])
    monkeypatch.setattr(KeyCopy, "write", lambda *_: next(works, False))
    assert otto.post(PATH, SAID | CONFIRMED).headers["location"] == "/transcript?done=decided"
    assert programme.status().entries == 1
    assert "(entry 1)" in office.log()
