"""Work list: what waits, what is recorded, and what is refused."""

import re

import pytest
from tests.console.offices import CLASSES, Office


def test_a_visit_is_recorded(office: Office) -> None:
    programme = office.begin()
    assert "No audit waits" in office.browser("Otto").get("/work-list").text
    office.clock.tomorrow()
    otto = office.browser("Otto")
    drawn = programme.close_round(1).audits[0]
    page = otto.get("/work-list").text
    day = re.findall(r'max="([^"]+)"', page)[0]
    assert re.findall(r'name="audit" value="([^"]+)"', page) == [f"1 {drawn}"]
    answer = otto.post("/work-list", {"audit": f"1 {drawn}", "day": day})
    assert answer.headers["location"] == "/work-list?done=recorded"
    assert "No audit waits" in otto.get("/work-list?done=recorded").text
    assert "visited on" in otto.get("/transcript").text
    assert "recorded that an audit took place (entry 2)" in office.log()
    assert otto.post("/work-list", {"audit": f"1 {drawn}", "day": day}).status_code == 422
    assert programme.status().entries == 2


@pytest.mark.parametrize("day", ["", "soon", "2999-01-01", "2020-01-01"])
def test_a_day_that_cannot_be_is_refused(office: Office, day: str) -> None:
    programme = office.begin()
    office.clock.tomorrow()
    drawn = programme.close_round(1).audits[0]
    assert office.browser("Otto").post("/work-list", {"audit": f"1 {drawn}", "day": day}).status_code == 422
    assert programme.status().entries == 1


def test_one_of_many_is_found_and_said_not_to_have_taken_place(office: Office) -> None:
    targets = tuple(f"Depot {number}" for number in range(100))
    programme, otto = office.begin(targets=targets), office.browser("Otto")
    programme.override(targets[:60], "A fire.", independent=True)
    page = otto.get("/work-list").text
    assert "60 audits" in page
    assert len(re.findall(r'name="audit" value', page)) == 25
    found = otto.post("/work-list/find", {"find": "DEPOT 59"}).text
    assert re.findall(r'name="audit" value="([^"]+)"', found) == ["1 Depot 59"]
    assert "in its name" in otto.post("/work-list/find", {"find": "elsewhere"}).text
    form = otto.post("/round/decisions/not-carried-out", {"audit": "1 Depot 59", "start": "0"}).text
    assert re.findall(r'name="audit" value="([^"]+)" checked', form) == ["1 Depot 59"]
    assert programme.status().entries == 1


def test_a_name_that_is_not_public_yet_is_marked_and_cannot_be_recorded(office: Office) -> None:
    programme = office.begin(reveal_after=1)
    office.clock.tomorrow()
    drawn = programme.close_round(1).audits[0]
    otto = office.browser("Otto")
    page = otto.get("/work-list").text
    assert drawn in page
    assert "not public yet" in page
    assert 'name="audit"' not in page
    assert otto.post("/work-list", {"audit": f"1 {drawn}", "day": "2026-01-06"}).status_code == 422
    assert drawn not in office.log()
    office.clock.tomorrow()
    programme.close_round(2)
    otto = office.browser("Otto")
    assert f'name="audit" value="1 {drawn}"' in otto.get("/work-list").text
    programme.end("The law was repealed.")
    assert "not public yet" not in otto.get("/work-list").text


def test_who_sees_it(office: Office) -> None:
    office.begin()
    assert office.browser("Ida").get("/work-list").status_code == 403


def test_a_target_is_found_by_its_number_in_the_register(office: Office) -> None:
    targets = tuple(f"Depot {number}" for number in range(100))
    programme = office.begin(targets=targets, registered=tuple(f"R-{number:03}" for number in range(100)))
    anna = office.browser("Anna")
    page = anna.post("/report/find", {"target": " R-042", "start": "0"}).text
    assert "Depot 42" in page
    assert "Depot 4<" not in page
    page = anna.post("/round/decisions/override", {"find": "R-007", "start": "0"}).text
    assert re.findall(r'name="target" value="([^"]+)"', page) == ["Depot 7"]
    assert programme.status().entries == 0


def test_an_emergency_is_due_at_once(office: Office) -> None:
    programme = office.begin(classes=CLASSES, reveal_after=1)
    programme.report({"Ash Mill": 1}, report_class="danger")
    programme.visit("Ash Mill", "danger")
    page = office.browser("Otto").get("/work-list").text
    assert "emergency</span>" in page
    assert "at once</td>" in page
    assert "Confidential" not in page
    office.clock.tomorrow()
    programme.close_round()
    otto = office.browser("Otto")
    page = otto.get("/work-list").text
    assert page.count("at once</td>") == 1
    assert "Confidential" in page
    assert "Confidential" in otto.get("/round").text
