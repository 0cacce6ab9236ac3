import dataclasses

import pytest
from tests.console.pages.test_plan import FORM

from deniable.console.pages.plan_form import MORE, PlanForm, field_of, settings_of
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


def test_a_form_is_known_by_what_it_says_however_lines_end() -> None:
    typed, sent_again = (dataclasses.replace(FORM, targets=f"Ash Mill{end}Birch Works") for end in ("\r\n", "\n"))
    assert typed.fingerprint == sent_again.fingerprint
    assert typed.fingerprint != dataclasses.replace(typed, targets="Ash Mill").fingerprint


def test_more_choices_are_those_that_have_a_default_that_works() -> None:
    assert not FORM.has_more
    assert {*MORE} < {field.name for field in dataclasses.fields(PlanForm)}
    assert dataclasses.replace(FORM, randomness="drand").has_more
    assert not dataclasses.replace(FORM, audits="2").has_more


def test_an_error_that_is_about_no_field_is_known_as_such() -> None:
    assert field_of(DeniableError("something else")) == ""
