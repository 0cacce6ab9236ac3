"""The choices side by side, checked against the proven figures, and what warns of them."""

import dataclasses
import html
import re
import time
from fractions import Fraction
from typing import Any

import pytest
from tests.console.offices import Office
from tests.console.pages.test_plan import FORM, check, show

from deniable.console.pages.plan_choices import (
    alone,
    compared,
    measures_of,
    planned,
    taken,
)
from deniable.console.pages.plan_doubts import doubts
from deniable.console.pages.plan_form import PlanForm
from deniable.console.pages.plan_reading import settings_of
from deniable.errors import DeniableError
from deniable.languages.voice import plain
from deniable.programme.parameters import Parameters
from deniable.programme.public.situation import Situation
from deniable.programme.public.visit_chances import effects, wait_in_words
from deniable.promptness import FEW_REPORTS, in_per_cent, passed_over, quiet_waits

FIFTY = dataclasses.replace(FORM, targets="\n".join(f"Site {number}" for number in range(50)))


def parameters_of(form: PlanForm = FIFTY, /, **changes: str) -> tuple[PlanForm, Parameters]:
    form = dataclasses.replace(form, **changes)
    return form, planned(settings_of(form))


def columns(**changes: str) -> dict[str, Any]:
    found = compared(*parameters_of(**changes), plain())
    return {choice.key: choice for choice in (found.mine, *found.others)}


def warnings(parameters: Parameters) -> tuple[str, ...]:
    return tuple(one.warning for one in doubts(parameters, plain()))


@pytest.mark.parametrize("people", ["1", "3"])
@pytest.mark.parametrize("points", ["1", "5", "14", "40"])
def test_no_one_can_become_more_sure_than_the_table_says(points: str, people: str) -> None:
    """What the likelihood cap makes of even odds, in fractions, and never a whole point above it."""
    _, parameters = parameters_of(points=points, reports_per_person=people)
    guarantee = parameters.guarantee()
    one = parameters.built().guarantee()
    mine = measures_of(parameters, plain())
    assert (mine.sure, mine.right) == (alone(parameters, plain()).mine.sure, alone(parameters, plain()).mine.right)
    for shown, promised in ((mine.sure, guarantee), (mine.sure_of_one, one)):
        cap = Fraction(promised.likelihood_cap)
        assert Fraction(shown.removesuffix(" %")) - 1 < 100 * cap / (1 + cap) <= Fraction(shown.removesuffix(" %"))
    assert int(mine.sure_of_one[:-2]) <= int(mine.sure[:-2])
    assert Fraction(mine.right) >= 50 + 100 * Fraction(guarantee.advantage)
    assert Fraction(mine.right) <= Fraction(points) + 50 + Fraction(1, 10)


def test_a_figure_that_is_rounded_to_the_nearest_is_caught() -> None:
    """Negative control: the exact figures of some of these promises are just above whole ones."""
    wrong = 0
    for points in range(1, 14):
        _, parameters = parameters_of(points=str(points), reports_per_person="1")
        cap = Fraction(parameters.guarantee().likelihood_cap)
        wrong += round(100 * cap / (1 + cap)) < int(alone(parameters, plain()).mine.sure.removesuffix(" %"))
    assert wrong


@pytest.mark.parametrize("people", ["1", "3", "10"])
def test_the_form_says_what_points_mean(office: Office, people: str) -> None:
    """Its example, however many reports the promise covers."""
    page = office.browser("Anna").get("/plan").text
    hint = page.split('id="points-hint">')[1].split("</span>")[0]
    assert measures_of(parameters_of(points="5", reports_per_person=people)[1], plain()).sure == "57 %"
    assert re.search(r"\b5\b.*\b57\xa0% sure", hint)


@pytest.mark.parametrize("changes", [{}, {"points": "2.5", "reports_per_person": "1"}, {"classes": "a=1\nb=3"}])
def test_one_figure_is_told_and_the_others_are_for_experts(office: Office, changes: dict[str, str]) -> None:
    browser, (_, parameters) = office.browser("Anna"), parameters_of(FORM, **changes)
    measured = measures_of(parameters, plain())
    page = html.unescape(show(browser, **changes).text).replace("\xa0%", " %")
    told, experts = page.split('id="meaning"')[1].split("<summary>For experts</summary>")
    assert f"{measured.sure} sure" in told
    assert not re.search(rf"\b{measured.right}\b (are|in 100|times)|right guess|[Dd]elta", told)
    for figure in (f"here {measured.points},", f"at most {measured.right} are right", f"delta = {measured.delta} for"):
        assert figure in experts
    assert Fraction(measured.right) == 50 + Fraction(measured.points)
    assert abs(Fraction(measured.delta) - Fraction(measured.points) / 50) < Fraction(1, 1000)
    assert (
        f"set the limit for {measured.filed}" in html.unescape(check(browser, **changes).text)
        or not measured.is_several
    )


def test_without_a_cap_no_figure_is_made_up(office: Office) -> None:
    _, parameters = parameters_of(mechanism="tca", horizon="100")
    assert compared(FIFTY, parameters, plain()).mine.sure == ""
    page = html.unescape(show(office.browser("Anna"), mechanism="tca", horizon="100").text)
    assert "no limit for a single case" in page
    assert "% sure" not in page.split('id="meaning"')[1]


@pytest.mark.parametrize("changes", [{}, {"audits": "3"}, {"max_gap": "60"}, {"cooldown": "4", "audits": "2"}])
def test_chances_and_waits_are_those_that_are_calculated(changes: dict[str, str]) -> None:
    form, parameters = parameters_of(**changes)
    built, audits = parameters.built(), parameters.audits
    waits = quiet_waits(built, audits, FEW_REPORTS)
    assert waits is not None
    for reports, visit, wait in zip(FEW_REPORTS, compared(form, parameters, plain()).mine.visits, waits, strict=True):
        chance = 100 * (1 - passed_over(built, reports, audits))
        shown = float(visit.chance.removesuffix(" %"))
        assert shown <= chance + 1e-6 < shown + 0.1 + 2e-6
        assert visit.wait == wait_in_words(parameters.calendar, wait, plain())
        _, figure, unit = visit.wait.split()
        told, exact = float(figure), wait.rounds / (365 / 7 if unit.startswith("year") else 1)
        assert exact - 1e-9 <= told < exact + (0.1 if told < 10 else 1)


WAITS: list[dict[str, str]] = [
    {},
    {"audits": "3"},
    {"max_gap": "60"},
    {"cooldown": "4", "audits": "2"},
    {"length": "5", "unit": "D", "points": "9"},
    {"unit": "M", "max_gap": "77"},
    {"most_counted": "3"},
    {"targets": "\n".join(map(str, range(3000))), "audits": "50", "max_gap": "90"},
]


@pytest.mark.parametrize("changes", WAITS)
def test_a_wait_has_the_same_words_on_plan_and_on_promise(office: Office, changes: dict[str, str]) -> None:
    """For every number of reports that both pages tell."""
    form, parameters = parameters_of(**changes)
    told = effects(parameters, Situation.at_start(parameters), plain())
    waits = dict(zip(FEW_REPORTS, (visit.wait for visit in alone(parameters, plain()).mine.visits), strict=True))
    numbers = {"No report": 0, "One report": 1, "Three reports": 3, "Ten reports": 10}
    assert [one.wait for one in told] == [waits[numbers[one.reports]] for one in told]
    assert len(told) > 2
    page = show(office.browser("Anna"), **dataclasses.asdict(form)).text
    assert all(f"<td>{one.wait}</td>" in page for one in told)


def test_waits_that_are_rounded_in_another_way_are_told_apart() -> None:
    """Negative control: the days of whole rounds are not those of the exact wait."""
    _, parameters = parameters_of(length="5", unit="D", points="9")
    told = [
        int(re.findall(r"about ([\d,]+) day", one.wait)[0])
        for one in effects(parameters, Situation.at_start(parameters), plain())
    ]
    assert [5 * round(days / 5) for days in told] != told


def test_reports_count_as_the_rules_say() -> None:
    """At most so many in a round, and each as often as its weight says."""
    chances = [visit.chance for visit in alone(parameters_of(most_counted="3")[1], plain()).mine.visits]
    assert len({*chances[FEW_REPORTS.index(3) :]}) == 1
    assert len({*chances}) == 4
    heavy, light = (parameters_of(classes=one, reports_per_person="1")[1] for one in ("serious=3", "serious=1"))
    built = heavy.built()
    assert alone(heavy, plain()).mine.visits[1].chance == in_per_cent(1 - passed_over(built, 3))
    assert alone(light, plain()).mine.visits[1].chance != in_per_cent(1 - passed_over(light.built(), 3))
    assert any("close to drawing lots" in one for one in warnings(parameters_of(most_counted="2")[1]))


def test_more_reports_never_do_less() -> None:
    for choice in columns().values():
        chances = [float(visit.chance.removesuffix(" %")) for visit in choice.visits]
        assert chances == sorted(chances)
        assert chances[0] < chances[-1]


def test_the_neighbours_differ_in_one_choice() -> None:
    found = columns()
    assert list(found) == ["", "audits", "stronger", "weaker", "gap", "rest"]
    mine = found[""]
    assert found["audits"].a_year == "104"
    assert float(found["audits"].visits[0].chance[:-2]) == 2 * float(mine.visits[0].chance[:-2])
    assert int(found["stronger"].sure[:-2]) < int(mine.sure[:-2]) < int(found["weaker"].sure[:-2])
    assert found["gap"].every == "100 rounds (about 2 years)"
    assert "2 audits a round instead of 1" in found["audits"].differs
    assert "100 rounds (about 2 years)" in found["gap"].differs
    with_rules = columns(max_gap="60", cooldown="2")
    assert with_rules["gap"].every == with_rules["rest"].every.replace("60 rounds (about 1.2 years)", "")
    assert with_rules["rest"].title == "Without a rest"


def test_a_neighbour_that_cannot_be_or_protects_little_is_left_out() -> None:
    assert "weaker" not in columns(points="10", reports_per_person="1") or columns(points="10")["weaker"].notes == ()
    assert "weaker" not in columns(points="14")
    assert "audits" not in columns(targets="A\nB", audits="2")
    assert "rest" not in columns(targets="A\nB\nC", audits="2")
    assert "gap" not in columns(mechanism="tca", max_gap="60")  # it needs the gap


def test_a_neighbour_is_taken_with_its_button(office: Office) -> None:
    browser = office.browser("Anna")
    page = show(browser)
    assert 'name="take" value="audits"' in page.text
    more = browser.post("/plan", {**dataclasses.asdict(FORM), "take": "audits"})
    assert more.status_code == 200
    assert re.search(r'id="audits"[^>]*value="2"', more.text)
    for key, field, value in (("stronger", "points", "2.5"), ("weaker", "points", "10"), ("gap", "max_gap", "6")):
        assert getattr(taken(FORM, key), field) == value
    assert taken(FORM, "anything") == taken(FORM, "") == FORM
    assert taken(dataclasses.replace(FORM, name=""), "audits").audits == "1"


def test_a_programme_that_has_begun_stands_alone() -> None:
    _, parameters = parameters_of()
    assert alone(parameters, plain()).others == ()
    assert alone(parameters, plain()).mine.visits == compared(FIFTY, parameters, plain()).mine.visits


WARNED: list[tuple[str, dict[str, str], dict[str, str]]] = [
    ("promise is weak", {"points": "15.1", "reports_per_person": "1"}, {"points": "15", "reports_per_person": "1"}),
    ("This plan is close to drawing lots", {"points": "2"}, {"points": "5"}),
    ("weight for your heaviest class", {"classes": "minor=1\nserious=9"}, {"points": "2", "classes": "serious=9"}),
    ("longest gap leaves the draw little freedom", {"max_gap": "90"}, {"max_gap": "110"}),
    ("rest leaves the draw little freedom", {"cooldown": "25"}, {"cooldown": "20"}),
    ("it ends early", {"cooldown": "50"}, {"cooldown": "20"}),
    ("so reports change nothing", {"audits": "50"}, {"audits": "49"}),
]


@pytest.mark.parametrize(("words", "doubtful", "fine"), WARNED)
def test_a_warning_appears_where_it_is_due_and_only_there(
    office: Office, words: str, doubtful: dict[str, str], fine: dict[str, str]
) -> None:
    assert any(words in one for one in warnings(parameters_of(**doubtful)[1]))
    assert not any(words in one for one in warnings(parameters_of(**fine)[1]))
    browser = office.browser("Anna")
    for ask in (show, check):
        assert words in ask(browser, targets=FIFTY.targets, **doubtful).text
        assert words not in ask(browser, targets=FIFTY.targets, **fine).text
    page = show(browser, targets=FIFTY.targets, **doubtful).text
    for doubt in doubts(parameters_of(**doubtful)[1], plain()):
        assert doubt.fields
        assert all(f'<a href="#{field}">Change' in page and f'id="{field}"' in page for field in doubt.fields)


def test_the_usual_plan_warns_of_nothing() -> None:
    assert warnings(parameters_of()[1]) == ()
    assert compared(*parameters_of(), plain()).mine.notes == ()


def test_the_warning_of_lots_has_the_figures_of_the_table() -> None:
    form, parameters = parameters_of(points="2")
    (warning,) = warnings(parameters)
    visits = compared(form, parameters, plain()).mine.visits
    assert f"from {visits[0].chance} only to {visits[-1].chance}" in warning


@pytest.mark.parametrize("changes", [{"max_gap": "700000"}, {"audits": "30000", "max_gap": "3"}, {"audits": "30000"}])
def test_very_many_targets_take_seconds(changes: dict[str, str]) -> None:
    """Of the processor; an exact figure, or an estimate, would take minutes, and memory that there is not."""
    many = dataclasses.replace(FORM, targets="\n".join(map(str, range(60_000))))
    began = time.process_time()
    found = compared(*parameters_of(many, **changes), plain()).mine
    assert time.process_time() - began < 30
    assert all(visit.wait for visit in found.visits)


def test_what_is_too_long_to_calculate_is_a_limit() -> None:
    many = dataclasses.replace(FORM, targets="\n".join(map(str, range(20_000))))
    visits = compared(*parameters_of(many, max_gap="40000"), plain()).mine.visits
    assert all(visit.wait == "at most 576 years" for visit in visits)


def test_bad_input_has_no_neighbours() -> None:
    with pytest.raises(DeniableError):
        parameters_of(points="0")
