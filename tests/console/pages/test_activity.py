"""The activity log, page by page, and who may see counts."""

import html
import re

import pytest
from tests.console.offices import Browser, Office

from deniable.console.accounts import activity, people
from deniable.console.pages.activity import MOST
from deniable.message import noted


def fill(office: Office, number: int) -> None:
    with office.console.store.writing() as connection:
        for one in range(1, number + 1):
            about: activity.About = "people" if one % 2 else "programme"
            activity.record(connection, office.clock.now, "Otto", noted("did thing {number}.", number=one), about)


def things(page: str) -> list[int]:
    return [int(found) for found in re.findall(r"did thing (\d+)\.", page)]


def link(page: str, label: str) -> str | None:
    found = re.search(rf'href="([^"]*)">{label}</a>', page)
    return html.unescape(found[1]) if found else None


def walked(browser: Browser, path: str, label: str) -> list[str]:
    """The page at this path, and those that follow by this link."""
    pages, at = [], path
    while at:
        answer = browser.get(at)
        assert answer.status_code == 200
        pages.append(answer.text)
        at = link(pages[-1], label) or ""
    return pages


@pytest.mark.parametrize("name", ["Ada", "Anna"])
def test_every_deed_can_be_reached(office: Office, name: str) -> None:
    total = 2 * MOST + 30
    fill(office, total)
    browser = office.browser(name)
    pages = walked(browser, "/activity", "Older")
    assert [number for page in pages for number in things(page)] == list(range(total, 0, -1))
    assert link(pages[0], "Newer") is None
    oldest = link(pages[-2], "Older")
    assert oldest is not None
    back = walked(browser, oldest, "Newer")
    assert {number for page in back for number in things(page)} == set(range(1, total + 1))
    assert things(back[-1])[0] == total


def test_deeds_about_people_by_themselves(office: Office) -> None:
    total = 2 * MOST + 30
    fill(office, total)
    pages = walked(office.browser("Ada"), "/activity?about=people", "Older")
    shown = [number for page in pages for number in things(page)]
    assert shown == [number for number in range(total, 0, -1) if number % 2]
    assert link(pages[-1], "Show everything") == "/activity"
    assert "about=people" in (link(pages[-1], "Newer") or "")


@pytest.mark.parametrize("start", ["", "x", "-1", "1e3", "٣", "9" * 30, "%00"])
def test_a_number_that_is_none_shows_the_newest(office: Office, start: str) -> None:
    fill(office, 3)
    answer = office.browser("Ada").get(f"/activity?start={start}")
    assert answer.status_code == 200
    assert things(answer.text) == [3, 2, 1]


def test_what_one_person_did(office: Office) -> None:
    fill(office, MOST + 1)
    office.begin()
    office.clock.tomorrow()
    office.browser("Anna").post("/round/close", {"round": "1"})
    ada = office.browser("Ada")
    assert "<option>Anna</option>" in ada.get("/activity").text
    page = ada.post("/activity/find", {"who": "Anna"}).text
    assert "closed round 1" in page
    assert not things(page)
    page = ada.post("/activity/find", {"who": "Otto"}).text
    assert things(page) == list(range(MOST + 1, 1, -1))
    later = re.search(r'name="start" value="(\d+)"[^>]*>Next page', page)
    assert later is not None
    assert things(ada.post("/activity/find", {"who": "Otto", "start": later[1]}).text) == [1]
    assert "Otto" not in re.findall(r'href="([^"]*)"', page)
    everything = ada.post("/activity/find", {"who": ""}).text
    assert "closed round 1" in everything
    assert things(everything)
    assert "<script>" not in ada.post("/activity/find", {"who": "<script>"}).text


def test_the_log_reads_as_sentences_under_their_days(office: Office) -> None:
    office.begin()
    office.clock.tomorrow()
    office.browser("Otto").post("/round/close", {"round": "1"})
    office.clock.tomorrow()
    office.browser("Anna").counts()
    page = re.sub("<[^>]*>", "", office.log())
    new, looked, old, closed = "7 January 2026", "Anna looked at the counts", "6 January 2026", "Otto closed round 1"
    assert page.index(new) < page.index(looked) < page.index(old) < page.index(closed)


def test_who_may_see_counts(office: Office) -> None:
    def told() -> str:
        page = office.browser("Ada").get("/activity").text
        found = re.search(r"Who may see counts:</strong>(.*?)</p>", page)
        assert found is not None
        return re.sub("<[^>]*>", "", found[1]).strip()

    assert told() == "Anna."
    office.add("Berta", "auditor")
    assert told() == "Anna; Berta."
    with office.console.store.writing() as connection:
        for name in ("id-Anna", "id-Berta"):
            people.set_disabled(connection, office.console.key, name, True)
    assert told() == "no one."


def test_activity_has_days_and_no_times(office: Office) -> None:
    office.begin()
    office.clock.tomorrow()
    office.browser("Otto").post("/round/close", {"round": "1"})
    page = office.browser("Anna").get("/activity").text
    assert "6 January 2026" in page
    assert "12:0" not in page
    assert "Nothing yet." not in page


@pytest.mark.parametrize(("name", "left_out"), [("Ada", True), ("Anna", False)])
def test_the_page_says_what_it_leaves_out(office: Office, name: str, left_out: bool) -> None:
    assert (
        "everything except lines about taking reports back" in office.browser(name).get("/activity").text
    ) is left_out
