"""Help pages: for people who are signed in, and how to sign in for all."""

import re
from pathlib import Path

import pytest
from tests.console.offices import Office, new_office

from deniable.console.help_pages import help_texts


@pytest.mark.parametrize("name", ["Ada", "Otto", "Ida", "Anna"])
def test_everybody_can_read_all_of_it(office: Office, name: str) -> None:
    browser = office.browser(name)
    assert browser.get("/help").headers["location"] == "/help/index"
    for page in help_texts():
        answer = browser.get(f"/help/{page}")
        assert answer.status_code == 200
        assert f"<title>{help_texts()[page].title} – deniable</title>" in answer.text
    assert browser.get("/help/nowhere").status_code == 404


def test_strangers_can_read_how_to_sign_in_and_nothing_else(office: Office) -> None:
    stranger = office.browser()
    page = stranger.get("/help/signing-in")
    assert page.status_code == 200
    assert "All help pages" not in page.text
    assert 'href="/help/signing-in"' in stranger.get("/login").text
    for name in help_texts().keys() - {"signing-in"}:
        assert stranger.get(f"/help/{name}").headers["location"].startswith("/login")


def test_it_can_be_read_before_there_are_people(tmp_path: Path) -> None:
    office = new_office(tmp_path, people=False)
    refused = office.browser().get("/login")
    assert refused.status_code == 503
    assert "Set-up is not finished" in refused.text
    assert 'href="/"' not in refused.text  # it would lead here again
    assert office.browser().get("/help/signing-in").status_code == 200
    assert office.browser().get("/help/index").status_code == 503
    office.console.close()


def test_a_long_page_begins_with_a_folded_list_of_its_sections(office: Office) -> None:
    browser = office.browser("Otto")
    page = browser.get("/help/every-round").text
    listed = page[page.index("<summary>On this page") : page.index("<article")]
    assert '<a href="#2-close-the-round-when-it-is-due">' in listed
    for anchor in re.findall('href="#([^"]+)"', listed):
        assert f'id="{anchor}"' in page
    assert page.count("<details>") == 2  # this list, and that of all pages
    assert "On this page" not in browser.get("/help/index").text


def test_every_page_has_its_link(office: Office) -> None:
    office.begin()
    anna = office.browser("Anna")
    for path, help_page in (("/round", "every-round"), ("/import", "import"), ("/guarantee", "reporters")):
        assert f'href="/help/{help_page}"' in anna.get(path).text
