"""People: an account is disabled only after a question, which says what that does, and the page says what was done."""

from html import unescape

import pytest
import sqlalchemy as sa
from tests.console.offices import Office
from tests.console.test_security import everything

from deniable.console import tables


def test_a_click_asks_before_it_disables(office: Office) -> None:
    ada, before = office.browser("Ada"), everything(office)
    assert 'href="/people/id-Anna/disable"' in ada.get("/people").text
    question = ada.get("/people/id-Anna/disable").text
    assert "Disable <bdi>Anna</bdi>?" in question
    assert "the only auditor" in question
    assert everything(office) == before
    assert "your own account" not in question


def test_the_question_counts_those_who_can_sign_in(office: Office) -> None:
    ada = office.browser("Ada")
    office.add("Albert", "auditor")
    assert "the only auditor" not in ada.get("/people/id-Anna/disable").text
    ada.post("/people/id-Albert/disable")
    assert "the only auditor" in ada.get("/people/id-Anna/disable").text


def test_the_last_administrator_is_told_before(office: Office) -> None:
    ada = office.browser("Ada")
    alone = ada.get("/people/id-Ada/disable").text
    assert "the only administrator" in alone
    assert 'action="/people/id-Ada/disable"' not in alone
    office.add("Abel", "administrator")
    own = ada.get("/people/id-Ada/disable").text
    assert "your own account" in own
    assert 'action="/people/id-Ada/disable"' in own


@pytest.mark.parametrize("path", ["/people/id-Nobody/disable", "/people/id-Otto/disable"])
def test_no_question_where_there_is_nothing_to_disable(office: Office, path: str) -> None:
    ada = office.browser("Ada")
    ada.post("/people/id-Otto/disable")
    assert ada.get(path).headers["location"] == "/people"


def test_the_page_says_what_was_done(office: Office) -> None:
    ada = office.browser("Ada")
    for act, words in (("disable", "Otto</bdi> is disabled"), ("enable", "Otto</bdi> is enabled")):
        answer = ada.post(f"/people/id-Otto/{act}")
        assert words in ada.get(answer.headers["location"]).text
    ada.post("/people/id-Otto/disable")
    removed = ada.get(ada.post("/people/id-Otto/remove").headers["location"]).text
    assert "The account is removed" in removed
    assert "Otto" not in removed


@pytest.mark.parametrize("query", ["done=disabled&person=id-Otto", "done=x&person=id-Otto", "done=enabled&person=%3Cb"])
def test_it_says_nothing_that_is_not_so(office: Office, query: str) -> None:
    """Whatever an address that was made elsewhere says."""
    assert 'role="status"' not in office.browser("Ada").get(f"/people?{query}").text


def test_what_comes_next_after_the_start(office: Office) -> None:
    ada, words = office.browser("Ada"), "who imports the reports of which hotline"
    assert words not in unescape(ada.get("/people").text)
    office.begin()
    assert words not in unescape(ada.get("/people").text)
    with office.console.store.writing() as connection:
        connection.execute(sa.delete(tables.hotlines))
    assert words in unescape(ada.get("/people").text)
