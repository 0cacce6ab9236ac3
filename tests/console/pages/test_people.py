"""People: an account is disabled or removed only after a question, which says what that does, and the page says what
was done, and until when links work.
"""

import re
from datetime import timedelta
from html import unescape

import pytest
import sqlalchemy as sa
from tests.console.offices import Office
from tests.console.test_security import everything

from deniable.console import tables
from deniable.console.app import create_app


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
    assert "Otto</bdi> is removed" in removed
    assert removed.count("Otto") == 1


def test_a_click_asks_before_it_removes(office: Office) -> None:
    ada = office.browser("Ada")
    assert ada.get("/people/id-Ida/remove").headers["location"] == "/people"  # she is not disabled
    ada.post("/people/id-Ida/disable")
    before = everything(office)
    page = ada.get("/people").text
    assert 'href="/people/id-Ida/remove"' in page
    assert 'action="/people/id-Ida/remove"' not in page
    question = ada.get("/people/id-Ida/remove").text
    assert "Remove <bdi>Ida</bdi>?" in question
    assert "cannot undo" in question
    assert 'action="/people/id-Ida/remove"' in question
    assert everything(office) == before
    assert ada.get("/people/id-Nobody/remove").headers["location"] == "/people"


def test_the_question_names_the_hotlines_that_the_person_brings(office: Office) -> None:
    office.begin()
    ada = office.browser("Ada")
    for name in ("Ida", "Otto"):
        ada.post(f"/people/id-{name}/disable")
    assert "Hotlines of" not in ada.get("/people/id-Otto/remove").text
    assert "Hotlines of" in ada.get("/people/id-Ida/remove").text


def test_nothing_is_said_of_a_person_who_is_back(office: Office) -> None:
    office.add("Abel", "administrator")
    ada, abel, removed = office.browser("Ada"), office.browser("Abel"), "is removed"
    ada.post("/people/id-Otto/disable")
    address = ada.post("/people/id-Otto/remove").headers["location"]
    assert removed in ada.get(address).text
    assert removed not in abel.get(address).text  # who did not do it
    abel.post("/people/invite", {"name": "Otto", "role": "operator"})
    assert removed not in ada.get(address).text


def test_a_link_says_until_when_it_works(office: Office) -> None:
    ada = office.browser("Ada")
    words = 'until the end of <time datetime="2026-01-08">8 January 2026</time> (UTC)'
    made = ada.post("/people/invite", {"name": "Berta", "role": "auditor"}).text
    link = re.search("/invitation/[^<]+", made)
    assert link is not None
    assert made.count(words) == 2  # beside the link, and in the list
    assert words in office.browser().get(link[0]).text
    assert words in ada.post("/people/id-Otto/reset").text
    office.clock.now += timedelta(days=3)
    ada = office.browser("Ada")
    assert f"The link works {words}" in ada.get("/people").text
    office.clock.now += timedelta(days=1)
    ada = office.browser("Ada")
    over = ada.get("/people").text
    assert f"The link worked {words}. Withdraw it" in over
    assert f"The link worked {words}. Choose <em>New codes for signing in</em>" in over
    assert office.browser().get(link[0]).status_code == 404
    withdrawn = re.search('action="(/people/[^"]+/withdraw)"', over)
    assert withdrawn is not None
    done = ada.get(ada.post(withdrawn[1]).headers["location"]).text
    assert "Berta</bdi> is withdrawn" in done


@pytest.mark.parametrize(
    "query",
    [
        "done=disabled&person=id-Otto",
        "done=x&person=id-Otto",
        "done=enabled&person=%3Cb",
        "done=removed",
        "done=withdrawn",
    ],
)
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


@pytest.mark.parametrize("host", ["127.0.0.1:8470", "localhost:8470"])
def test_a_link_that_works_on_this_computer_only_says_so(office: Office, host: str) -> None:
    ada = office.browser("Ada")
    page = ada.post("/people/invite", {"name": "Zoe", "role": "operator"}).text
    assert "http://testserver/invitation/" in page
    assert "this computer only" not in page
    office.app = create_app(office.console)
    ada = office.browser("Ada", base_url=f"http://{host}")
    page = ada.post("/people/invite", {"name": "Yul", "role": "operator"}).text
    assert f"http://{host}/invitation/" in page
    assert "works on this computer only" in page
    assert '<a href="/help/console">Help with this</a>' in page
    assert "--origin" not in page, "a command for the people who run the server"


def test_the_list_says_how_a_person_gets_another_role(office: Office) -> None:
    page = office.browser("Ada").get("/people").text
    assert "For another role, remove it and invite the person again." in page


def test_an_auditor_is_invited_first(office: Office) -> None:
    """Where there is no programme and no auditor; the role is chosen all the same."""
    ada, said = office.browser("Ada"), "Next, invite an auditor."
    assert said not in ada.get("/people").text
    ada.post("/people/id-Anna/disable")
    ada.post("/people/id-Anna/remove")
    page = ada.get("/people").text
    assert said in page
    assert re.findall(r'value="(\w+)" checked', page) == []
    ada.post("/people/invite", {"name": "Alma", "role": "auditor"})
    assert said not in ada.get("/people").text


def test_who_is_left_to_decide_alone_is_named(office: Office) -> None:
    ada = office.browser("Ada")
    question = ada.get("/people/id-Otto/disable").text
    assert "Then <bdi>Anna</bdi> is the only person who can decide" in question
    assert "only person who can decide" not in ada.get("/people/id-Ida/disable").text
    office.add("Olga", "operator")
    assert "only person who can decide" not in ada.get("/people/id-Otto/disable").text


def test_the_question_before_disabling_names_the_hotlines(office: Office) -> None:
    office.begin()
    assert (
        "<bdi>hotline</bdi>. Assign them to another person" in office.browser("Ada").get("/people/id-Ida/disable").text
    )
