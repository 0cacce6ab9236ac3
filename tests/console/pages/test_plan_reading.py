"""What a form says, and all that is wrong with it at once."""

import dataclasses
import html
import re

import pytest
from tests.console.offices import Office
from tests.console.pages.test_plan import FORM, check, show

from deniable.console.pages.field_errors import field_of
from deniable.console.pages.plan_form import PlanForm
from deniable.console.pages.plan_reading import read_form, settings_of
from deniable.errors import DeniableError


@pytest.mark.parametrize("mechanism", ["race", "tca"])
@pytest.mark.parametrize("reports", ["1", "4"])
def test_points_are_what_watching_adds_about_a_person(mechanism: str, reports: str) -> None:
    form = dataclasses.replace(FORM, mechanism=mechanism, reports_per_person=reports, points="2,5")
    settings = settings_of(dataclasses.replace(form, horizon="100" if mechanism == "tca" else ""))
    assert settings["delta"] == pytest.approx(0.05 if reports == "1" else 0.05 / 4, rel=0.02)


def test_the_longest_gap_may_do_without_a_horizon() -> None:
    settings = settings_of(dataclasses.replace(FORM, mechanism="tca", max_gap="26"))
    assert (settings["max_gap"], settings["horizon"]) == (26, None)
    with pytest.raises(DeniableError):
        settings_of(dataclasses.replace(FORM, mechanism="tca"))


def test_a_deadline_is_not_part_of_the_programme() -> None:
    assert settings_of(dataclasses.replace(FORM, deadline="13")) == settings_of(FORM)


FORMS: list[tuple[tuple[str, ...], dict[str, str]]] = [
    (("name", "zone", "points"), {"points": "77", "zone": "Berlin", "name": ""}),
    (("start", "time", "length", "zone"), {"start": "9999-01-01", "time": "noon", "length": "0", "zone": "Atlantis"}),
    (("audits", "max_gap", "cooldown"), {"audits": "x", "max_gap": "six", "cooldown": "-1"}),
    (("audits", "reports_per_person"), {"audits": "4", "reports_per_person": "10001"}),
    (("name", "reveal_after", "weights"), {"name": "A" * 201, "reveal_after": "1001", "weights": "forecast"}),
    (("of", "place", "minutes", "days"), {"randomness": "lottery", "of": "x", "minutes": "1", "days": "400"}),
    (("classes", "oversight", "deadline", "probability"), {
        "classes": "serious", "oversight": "age1", "deadline": "x", "probability": "0",
    }),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "typed"), FORMS)
def test_all_mistakes_are_named_at_their_fields_and_at_the_top(
    office: Office, wrong: tuple[str, ...], typed: dict[str, str]
) -> None:
    if "weights" in wrong:
        typed = typed | {"mechanism": "tca", "horizon": "2000"}
    browser = office.browser("Anna")
    for ask in (show, check):
        answer = ask(browser, **typed)
        assert answer.status_code == 422
        alert = answer.text.split('role="alert"')[1].split("</div>")[0]
        assert tuple(re.findall('<a href="#([^"]+)">', alert)) == wrong
        assert f"these {len(wrong)} things" in alert
        assert answer.text.count('class="wrong-here"') == len(wrong)
        for field in wrong:
            tag = re.search(rf'<(?:input|textarea|select|fieldset class="plain") id="{field}"[^>]*>', answer.text)
            assert tag is not None
            assert f'aria-describedby="{field}-wrong' in tag[0]
            assert ('aria-invalid="true"' in tag[0]) == (not tag[0].startswith("<fieldset"))
            told = answer.text.split(f'id="{field}-wrong"><bdi>')[1].split("</bdi>")[0]
            assert f"<bdi>{told}</bdi>" in alert


def test_mistakes_come_in_the_order_of_the_page(office: Office) -> None:
    page = office.browser("Anna").get("/plan").text
    places = [page.index(f' id="{field.name}"') for field in dataclasses.fields(PlanForm)]
    assert places == sorted(places)


def test_an_empty_form_names_each_field_that_must_be_filled_in() -> None:
    empty = PlanForm(**{field.name: "" for field in dataclasses.fields(PlanForm)})
    named = {field_of(error) for error in read_form(empty).mistakes}
    assert {"name", "targets", "start", "time", "length", "zone", "audits", "cooldown", "points"} <= named
    assert "" not in named
    assert {field_of(error) for error in read_form(PlanForm()).mistakes} == {"name", "targets", "start", "zone"}


def test_what_depends_on_a_mistake_is_not_a_second_one() -> None:
    for changes in ({"targets": ""}, {"audits": "x", "max_gap": "1"}, {"mechanism": "greedy", "weights": "forecast"}):
        assert len(read_form(dataclasses.replace(FORM, **changes)).mistakes) == 1


def test_without_mistakes_all_is_read() -> None:
    reading = read_form(dataclasses.replace(FORM, deadline="13", probability="80"))
    assert reading.mistakes == ()
    assert reading.settings == settings_of(FORM)
    assert reading.deadline is not None
    assert (reading.deadline.rounds, reading.deadline.probability) == (13, 0.8)
    assert read_form(FORM).deadline is None


def test_the_browser_leaves_the_mistakes_to_the_page(office: Office) -> None:
    """A browser names one at a time, and sends nothing for a number field with words in it."""
    page = html.unescape(office.browser("Anna").get("/plan").text)
    assert re.search('<form id="plan"[^>]* novalidate>', page)
    assert 'type="number"' not in page
