import dataclasses
import re
from typing import Any

import pytest
from tests.web.offices import Browser, Office

from deniable.errors import DeniableError
from deniable.web.pages.plan import PlanForm, settings_of

FORM = PlanForm(
    name="Site visits",
    targets="Ash Mill\r\nBirch Works\r\n\r\n Cedar Bank \r\n",
    start="2026-02-02",
    zone="Europe/Berlin",
)


def typed(**changes: str) -> dict[str, str]:
    return dataclasses.asdict(dataclasses.replace(FORM, **changes))


def show(browser: Browser, **changes: str) -> Any:
    return browser.post("/plan", {**typed(**changes), "step": "show"})


def shown(page: Any) -> str:
    found = re.search(r'name="shown" value="([^"]*)"', page.text)
    assert found is not None
    return found[1]


def test_a_plan_is_looked_at_and_begun(office: Office) -> None:
    browser = office.browser("Anna")
    assert browser.get("/plan").status_code == 200
    page = show(browser)
    assert page.status_code == 200
    assert "at most 5 points in 100" in page.text
    assert page.text.count('<svg class="chart"') == 3
    assert "Monday 9 February 2026, 09:00 (Europe/Berlin time)" in page.text
    assert office.console.programme() is None
    answer = browser.post("/plan", {**typed(), "step": "begin", "shown": shown(page)})
    assert answer.headers["location"] == "/plan?done=begun"
    programme = office.console.programme()
    assert programme is not None
    assert programme.parameters.targets == ("Ash Mill", "Birch Works", "Cedar Bank")
    assert programme.parameters.reports_per_person == 3
    assert programme.parameters.guarantee().advantage <= 0.05
    begun = browser.get("/plan?done=begun").text
    assert "The programme has begun." in begun
    assert "The programme has begun." not in browser.get("/plan").text
    assert "began the programme" in office.browser("Ada").get("/activity").text


def test_a_first_day_in_the_past_is_told_before_it_begins(office: Office) -> None:
    browser = office.browser("Anna")
    assert "overdue" not in show(browser).text
    page = show(browser, start="2025-12-31", length="1", unit="D", zone="UTC")
    assert "5 rounds are overdue already" in page.text
    assert "published as late" in page.text
    begun = browser.post("/plan", {**typed(start="2025-12-31", zone="UTC"), "step": "begin", "shown": shown(page)})
    assert begun.status_code == 422  # the plan that was shown had another period
    changed = show(browser, start="2025-12-28", zone="UTC")
    assert "1 round is overdue already" in changed.text
    browser.post("/plan", {**typed(start="2025-12-28", zone="UTC"), "step": "begin", "shown": shown(changed)})
    assert "Round 1 was due on" in browser.get("/plan?done=begun").text


def test_what_is_begun_is_what_was_looked_at(office: Office) -> None:
    browser = office.browser("Anna")
    page = show(browser)
    for given in (shown(page), "", "0" * 64):
        answer = browser.post("/plan", {**typed(points="9"), "step": "begin", "shown": given})
        assert answer.status_code == 422
        assert "look again" in answer.text
        assert 'value="9"' in answer.text
    assert office.console.programme() is None


def test_there_is_one_programme(office: Office) -> None:
    office.begin()
    answer = show(office.browser("Anna"))
    assert answer.headers["location"] == "/plan"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"name": ""}, "Name of the programme must be a name of 1 to 200"),
        ({"targets": "Ash Mill"}, "at least two names"),
        ({"targets": "Ash Mill\nAsh Mill"}, "got Ash Mill twice"),
        ({"points": "50"}, "above 0 and below 50"),
        ({"points": "0"}, "above 0 and below 50"),
        ({"points": "nan"}, "above 0 and below 50"),
        ({"reports_per_person": "0"}, "Reports by one person must be a whole number of at least 1"),
        ({"audits": "4"}, "Audits a round must be at most the number of targets"),
        ({"max_gap": "2"}, "Longest gap must be at least"),
        ({"mechanism": "tca"}, "needs a horizon or a longest gap"),
        ({"mechanism": "greedy"}, "race or tca"),
        ({"mechanism": "tca", "horizon": "9", "max_gap": "20"}, "either a horizon or a longest gap for tca, got both"),
        ({"horizon": "100"}, "horizon is for tca"),
        ({"cooldown": "x"}, "Rest after an audit must be a whole number of at least 0"),
        ({"zone": "Atlantis"}, "Time zone must be the name of a time zone"),
        ({"start": "soon"}, "first day"),
        ({"unit": "Y"}, "days, weeks or months"),
        ({"length": "0"}, "How long a round lasts"),
        ({"oversight": "age1"}, "Key of an oversight body must be an age recipient"),
        ({"weights": "forecast", "mechanism": "tca", "horizon": "9"}, "Weights are for race"),
    ],
)
def test_a_mistake_is_told_next_to_the_form_in_its_words(office: Office, changes: dict[str, str], told: str) -> None:
    answer = show(office.browser("Anna"), **changes)
    assert answer.status_code == 422
    alert = answer.text.split('role="alert"')[1].split("</div>")[0]
    assert told.lower() in alert.lower()
    assert alert.index("<bdi>") > 0
    assert "Site visits" in answer.text or "name" in changes


def test_names_are_shown_as_they_are_and_never_as_markup(office: Office) -> None:
    hostile = '"><script>alert(1)</script>'
    answer = show(office.browser("Anna"), name=hostile, targets=f"</textarea>{hostile}\nB")
    assert answer.status_code == 200
    assert "<script" not in answer.text
    assert "&lt;/textarea&gt;" in answer.text


@pytest.mark.parametrize("mechanism", ["race", "tca"])
@pytest.mark.parametrize("reports", ["1", "4"])
def test_points_are_what_watching_adds_about_a_person(mechanism: str, reports: str) -> None:
    form = dataclasses.replace(FORM, mechanism=mechanism, reports_per_person=reports, points="2,5")
    settings = settings_of(dataclasses.replace(form, horizon="100" if mechanism == "tca" else ""))
    assert settings["delta"] == pytest.approx(0.05 if reports == "1" else 0.05 / 4, rel=0.02)


def test_a_plan_of_many_targets(office: Office) -> None:
    answer = show(office.browser("Anna"), targets="\n".join(f"Target number {number}" for number in range(5000)))
    assert answer.status_code == 200


def test_the_longest_gap_may_do_without_a_horizon() -> None:
    settings = settings_of(dataclasses.replace(FORM, mechanism="tca", max_gap="26"))
    assert (settings["max_gap"], settings["horizon"]) == (26, None)
    with pytest.raises(DeniableError):
        settings_of(dataclasses.replace(FORM, mechanism="tca"))
