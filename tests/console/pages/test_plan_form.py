import dataclasses

from tests.console.pages.test_plan import FORM

from deniable.console.pages.plan_form import MORE, PlanForm


def test_a_form_is_known_by_what_it_says_however_lines_end() -> None:
    typed, sent_again = (dataclasses.replace(FORM, targets=f"Ash Mill{end}Birch Works") for end in ("\r\n", "\n"))
    assert typed.fingerprint == sent_again.fingerprint
    assert typed.fingerprint != dataclasses.replace(typed, targets="Ash Mill").fingerprint


def test_more_choices_are_those_that_have_a_default_that_works() -> None:
    assert not FORM.has_more
    assert {*MORE} < {field.name for field in dataclasses.fields(PlanForm)}
    assert dataclasses.replace(FORM, randomness="drand").has_more
    assert not dataclasses.replace(FORM, audits="2").has_more
