"""The promise: what comes first, that its figures are the guarantee's, and that a twelve-year-old can read it."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from tests.programme.public.published import DICE, NAMES, RECIPIENT, chained, drawn, made, revealed, selected
from tests.programme.public.readability import TWELVE_YEARS_OLD, avoided_words, grade

from deniable.attack.exact import law_of_run
from deniable.curves import Gaussian, TotalVariation
from deniable.errors import DeniableError
from deniable.guarantee import Guarantee
from deniable.languages.language import AUDIT_TERMS, TARGET_TERMS, Terms
from deniable.languages.voice import plain
from deniable.mechanisms.base import State
from deniable.message import noted
from deniable.normal import ndtr
from deniable.programme.calendar import Calendar
from deniable.programme.parameters import Parameters
from deniable.programme.public import suspicion
from deniable.programme.public.guarantee_wording import exact_figures
from deniable.programme.public.not_protected import two_people
from deniable.programme.public.promise import Part, Promise, promise_of
from deniable.programme.public.situation import Situation
from deniable.programme.public.suspicion_wording import yearly_numbers
from deniable.programme.randomness.source import Drand
from deniable.programme.transcript.coverage import Coverage, Lapse
from deniable.programme.transcript.fields import OfficeDetails
from deniable.programme.transcript.replay import replay
from deniable.report_classes import ReportClass
from deniable.rounding import float_above
from deniable.run import AuditRun

CLASSES = (ReportClass("minor", 1), ReportClass("serious", 3), ReportClass("danger", None))
FIFTY = tuple(f"depot {number}" for number in range(50))
KINDS: dict[str, dict[str, Any]] = {
    "race": {"targets": FIFTY},
    "counters": {"mechanism": "tca", "horizon": 100},
    "counters with a gap": {"mechanism": "tca", "max_gap": 20},
    "classes": {"classes": CLASSES},
    "counters, classes": {"mechanism": "tca", "horizon": 100, "classes": CLASSES},
    "figures": {"yearly_figures_delta": 0.02},
    "counters, figures": {"mechanism": "tca", "horizon": 100, "yearly_figures_delta": 0.02},
    "overseen": {"oversight": RECIPIENT},
    "rules": {"targets": FIFTY, "max_gap": 60, "cooldown": 2, "most_counted": 20, "audits": 2},
    "several": {"reports_per_person": 5},
    "weights": {"weights": "forecast"},
    "nothing": {"delta": 0.999999},
    "all": {"audits": 4},
    "words": {"terms": Terms("inspection", "company"), "classes": CLASSES, "max_gap": 20},
}


def english(parameters: Parameters, situation: Situation | None = None) -> Promise:
    return promise_of(parameters, situation, parameters.voice())


def part(promise: Promise, part_id: str) -> Part:
    return next(one for one in promise.parts if one.id == part_id)


def answer(promise: Promise, words: str) -> str:
    (found,) = [one.text for one in part(promise, "questions").items if words in one.title]
    return found


def prose(promise: Promise, *, experts: bool = False) -> list[str]:
    """All that is said in sentences, without headings and tables."""
    said = [promise.first, promise.lead, *(one.text for one in promise.warnings)]
    for one in (*promise.parts, *([promise.experts] if experts else [])):
        said += [*one.before, *(text for item in one.items for text in (item.text, *item.cases)), *one.after]
    return said


SINCE = "Monday 23 February 2026, 00:00 (Europe/Berlin time)"


def lapsed(parameters: Parameters, open_round: int = 8, *, ended: bool = False) -> Situation:
    """For reports made before round 8, which opens at `SINCE`."""
    lapses = (
        Lapse(
            9,
            7,
            noted("The office ordered {audits} by hand (entry 9). It did not declare that no report was the reason."),
        ),
    )
    coverage = Coverage(parameters.calendar, lapses, parameters.visit_classes)
    return Situation(coverage, open_round=open_round, n_targets=len(parameters.targets), is_paused=True, ended=ended)


def test_it_leads_with_what_one_report_changes() -> None:
    promise = english(made(targets=FIFTY))
    assert promise.first.startswith(
        "If you report once, a boss who was 50 % sure that you reported can become at most 57 % sure"
    )
    assert part(promise, "promise").before[0].endswith("Other things may: see “What is not protected”.")
    table = part(promise, "promise").table
    assert table is not None
    assert table.rows[0] == ("One report", "25 %", "57 %", "85 %")
    assert [one.id for one in promise.parts] == [
        "promise",
        "effect",
        "not-protected",
        "contact",
        "questions",
    ]
    assert promise.warnings == ()


def test_what_is_not_covered_comes_before_it() -> None:
    parameters = made(classes=CLASSES)
    titles = [one.title for one in english(parameters, lapsed(parameters)).warnings]
    assert [word in title for word, title in zip(("not cover", "danger", "not count"), titles, strict=True)] == [
        True
    ] * 3
    ended = Situation(Coverage(parameters.calendar), 4, 4, ended=True)
    promise = english(made(), ended)
    assert "ended" in promise.warnings[0].title
    assert "ended" in part(promise, "effect").before[0]
    over = Situation(Coverage(parameters.calendar), 101, 4)  # all rounds were drawn
    assert "ended" in answer(english(made(**KINDS["counters"]), over), "after I report")


@pytest.mark.parametrize("kind", KINDS)
def test_after_the_end_it_answers_a_person_who_reported_before(kind: str) -> None:
    parameters = made(**KINDS[kind])
    promise = english(parameters, Situation(Coverage(parameters.calendar), 4, 4, ended=True))
    assert re.search(r"deleted its numbers.*Old backups", told := answer(promise, "Is my report deleted"))
    assert ("oversight body can read" in told) == (parameters.oversight is not None)
    assert "leads to no" in part(promise, "effect").before[1]
    assert "never had these" in answer(promise, "court")
    asked = " ".join(one.title for one in part(promise, "questions").items)
    assert not re.search(r"after I report|give my name|decides the class|take my report back|loses its key", asked)
    assert not re.search(r"keeps (how many|a code)|numbers of reports, and a code", " ".join(prose(promise)))


def test_after_the_end_it_sends_no_one_to_the_hotline_and_foretells_no_visit() -> None:
    parameters = made(classes=CLASSES)
    told = OfficeDetails("Room 5", "https://hotline.example", "2026-01-07")
    for now in (
        Situation(Coverage(parameters.calendar, visit_classes=("danger",)), 4, 4, ended=True, details=told),
        replace(lapsed(parameters, ended=True), details=told),
    ):
        promise = english(parameters, now)
        text = " ".join([one.text for one in promise.warnings] + prose(promise))
        assert "visits at once" not in text
        assert "leads to a visit" not in text
        assert "hotline.example" not in repr(part(promise, "contact"))
        assert "call people who can act at once" in promise.warnings[0].text
        assert not promise.holds.title.startswith("yes, for all")


def test_without_a_cap_it_promises_no_limit_in_a_single_case() -> None:
    promise = english(made(**KINDS["counters"]))
    assert "can become at most" not in " ".join(prose(promise))
    assert "no idea whether you reported once or not at all. A guess is then right 50 times in 100." in promise.first
    assert "After watching the audits, the guess is right at most 55 times in 100" in promise.first
    assert "If you report once" not in promise.first, "of those who reported, more may be found"
    assert "is only 20 % sure guesses that you did not report" in part(promise, "promise").before[-1]
    assert "for all cases together, not for each" in part(promise, "promise").after[0]
    said = promise.lead
    assert "a boss who was 50 % sure of it stays less than 90 % sure in at least 99 cases of 100" in said
    assert "In the other cases, at most 1 of 100, your boss may become nearly sure." in said


@pytest.mark.parametrize("kind", KINDS)
def test_it_leads_with_the_limit_of_one_report(kind: str) -> None:
    promise = english(made(**KINDS[kind]))
    if "can become at most" in promise.first or kind == "nothing":
        assert promise.lead == promise.first
    else:
        assert promise.lead.startswith(
            "If you report once, a boss who was 50 % sure of it stays less than 90 % sure in at least"
        )
        assert "In the other cases, at most" in promise.lead
        assert promise.first in part(promise, "promise").before
        visits = "which is not protected" in promise.first
        assert ("which is not protected" in promise.lead) == visits


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=8), st.sampled_from([1, 9]))
def test_a_boss_becomes_nearly_sure_that_seldom(weights: list[tuple[int, int]], much: int) -> None:
    """For any two distributions: with the reports and without them. Half the figure is refuted by one of them."""
    filed, not_filed = (Fraction(1 + sum(each)) for each in zip(*weights, strict=True))
    pairs = [(one / filed, other / not_filed) for one, other in [*weights, (much, 1)]]
    total = [sum(each) for each in zip(*pairs, strict=True)]
    pairs = [(one / total[0], other / total[1]) for one, other in pairs]
    delta = sum((max(Fraction(0), one - other) for one, other in pairs), Fraction(0))
    sure = sum(one for one, other in pairs if one >= 9 * other)
    told = suspicion.nearly_sure(Guarantee(TotalVariation(float_above(delta))))
    assert told is None or 100 * sure <= Fraction(told)


def test_a_smaller_figure_is_refuted() -> None:
    """Negative control: a transcript that occurs only with the report, with probability delta."""
    told = suspicion.nearly_sure(Guarantee(TotalVariation(0.2)))
    assert told == "23"
    assert 100 * Fraction(1, 5) > Fraction(told) / 2


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=8),
    st.sampled_from([1, 20]),
)
def test_with_a_cap_on_the_audits_it_is_rarer(weights: list[tuple[int, int, int]], much: int) -> None:
    """For any three distributions: without the report, with it in the draws alone, and with it in the figures too."""
    rows = [*weights, (1, 1, much)]
    totals = [sum(each) for each in zip(*rows, strict=True)]
    law = [[Fraction(one, total) for one, total in zip(row, totals, strict=True)] for row in rows]
    if any(drawn_ and not none for none, drawn_, _ in law):
        reject()
    cap = max(drawn_ / none for none, drawn_, _ in law if none)
    figures = sum((max(Fraction(0), both - drawn_) for _, drawn_, both in law), Fraction(0))
    sure = sum(both for none, _, both in law if both >= 9 * none)
    told = suspicion.nearly_sure(Guarantee(TotalVariation(1.0, float_above(cap))), figures)
    assert told is None or 100 * sure <= Fraction(told)


def test_a_smaller_figure_is_refuted_there_too() -> None:
    """Negative control: one case in which all bounds are met exactly."""
    cap, figures = Fraction(5, 4), Fraction(1, 50)
    none = figures / (9 - cap)
    assert cap * none + figures == 9 * none
    told = suspicion.nearly_sure(Guarantee(TotalVariation(0.1, float(cap))), figures)
    assert told == "3"
    assert 100 * 9 * none > 2


@pytest.mark.parametrize("mu", [0.05, 0.25, 1.0, 3.0])
def test_a_gaussian_makes_a_boss_nearly_sure_no_more_often(mu: float) -> None:
    """Two normal distributions, mu apart: the odds grow ninefold from ln(9) / mu + mu / 2 on."""
    told = suspicion.nearly_sure(Guarantee(Gaussian(mu)))
    sure = 100 * float(ndtr(mu / 2 - math.log(9) / mu))
    assert told is not None
    assert sure <= float(told)
    assert mu < 3 or sure > float(told) / 2, "half the figure is refuted"


def test_yearly_figures_have_no_limit_in_a_single_case() -> None:
    promise = english(made(**KINDS["figures"]))
    read = (
        "After watching the audits and reading how many reports came in each year, the guess is right at most 56 times"
    )
    assert read in promise.first  # 5, and 1
    assert "can become at most" not in " ".join(prose(promise))
    numbers, said = part(promise, "promise").before[2], promise.lead
    assert numbers.startswith("Once a year the office also publishes how many reports came in")
    assert "mostly by up to 20" in numbers
    assert "a boss who was 50 % sure of it stays less than 90 % sure in at least 97 cases of 100" in said
    assert "In the other cases, at most 3 of 100, your boss may become nearly sure." in said
    effect = part(promise, "effect").table
    assert effect is not None
    assert len(effect.head) == 3
    assert not any("%" in cell for row in effect.rows for cell in row)


def test_where_people_react_to_yearly_figures_the_audits_alone_have_no_cap() -> None:
    """Why no page states one: a crowd reports in a year with a high number, and so the next draw all but tells it."""
    parameters = made(delta=0.05, yearly_figures_delta=0.1)
    audits = parameters.guarantee_of(parameters.classes[0], audits_only=True)
    assert audits is not None
    assert parameters.figures is not None
    noise = np.arange(-400, 401)
    law = np.exp(-(noise**2) / (2 * parameters.figures.variance))
    law /= law.sum()
    high = 2 * parameters.figures.deviation()
    without, with_one = law[noise >= high].sum(), law[noise + 1 >= high].sum()
    assert with_one > 1.2 * audits.likelihood_cap * without


def test_the_noise_of_a_yearly_number_is_that_of_all_classes() -> None:
    promise = english(made(yearly_figures_delta=0.02, classes=CLASSES))
    assert f"mostly by up to {math.isqrt(398 * len(CLASSES) - 1) + 1}," in part(promise, "promise").before[2]


def test_a_class_has_a_row_of_its_own_and_the_heaviest_leads() -> None:
    promise = english(made(classes=CLASSES))
    table = part(promise, "promise").table
    assert table is not None
    assert table.rows == (
        ("One report of class minor", "25 %", "57 %", "85 %"),
        ("One report of class serious", "37 %", "70 %", "91 %"),
        ("One report of class danger", "not protected"),
        ("Two reports of class serious", "57 %", "84 %", "96 %"),
    )
    assert "70 % sure" in promise.first
    assert "class serious" in promise.first
    assert "With class minor it is at most 57 % sure" in promise.first
    effect = part(promise, "effect").table
    assert effect is not None
    assert [row[3] for row in effect.rows] == ["–", "at most 57 %", "at most 70 %"]


def test_several_reports_have_rows() -> None:
    table = part(english(made(reports_per_person=5)), "promise").table
    assert table is not None
    assert [row[0] for row in table.rows] == ["One report", "Two reports", "Three reports", "5 reports"]


def test_a_promise_of_nothing_is_not_called_one() -> None:
    promise = english(made(delta=0.9999999))
    assert promise.holds.title.startswith("no")
    assert "promises nothing" in promise.first
    assert "% sure" not in " ".join(prose(promise))
    table = part(promise, "promise").table
    assert table is not None
    assert {cell for row in table.rows for cell in row[1:]} == {"no limit"}


def test_many_reports_may_be_beyond_the_promise_and_one_is_not() -> None:
    table = part(english(made(reports_per_person=10_000)), "promise").table
    assert table is not None
    assert (table.rows[0][2], table.rows[-1][1:]) == ("57 %", ("no limit",) * 3)


PARAMETERS = st.fixed_dictionaries(
    {
        "delta": st.floats(1e-6, 0.999),
        "reports_per_person": st.integers(1, 12),
        "yearly_figures_delta": st.sampled_from([None, 1e-4]),
    },
    optional={"classes": st.just(CLASSES), "terms": st.just(Terms("visit", "site"))},
)


def wrong_figures(parameters: Parameters) -> list[str]:
    """Cells of the table, and numbers in sentences, that are below what the guarantee says."""
    promise, capped = english(parameters), suspicion.is_capped(parameters)
    table = part(promise, "promise").table
    assert table is not None
    wrong = []
    for row, filed in zip(table.rows, suspicion.all_filed(parameters), strict=True):
        shown = filed.guarantee
        if shown is None:
            continue
        starts: Sequence[Fraction] = suspicion.SURE_BEFORE if capped else suspicion.RIGHT_BEFORE
        for start, cell in zip(starts, row[1:], strict=True):
            number = re.fullmatch(r"([\d.]+)( %)?", cell)
            if capped:
                odds = Fraction(shown.likelihood_cap) * start / (1 - start) if shown.has_cap else None
                bound = 1 if odds is None else odds / (1 + odds)
            else:
                bound = max(start, 1 - start) + min(start, 1 - start) * Fraction(shown.delta)
            if number is None and bound < Fraction(99, 100):
                wrong.append(cell)
            if number is not None and not bound * 100 <= Fraction(number[1]) < bound * 100 + 1:
                wrong.append(cell)
    heavy = suspicion.filed_in(parameters, suspicion.heaviest_class(parameters))
    assert heavy.guarantee is not None
    if suspicion.is_made(parameters):
        said = " ".join((promise.first, *part(promise, "promise").before))
        sure = re.findall(r"at most ([\d.]+) % sure", said)
        assert sure or not capped
        wrong += [one for one in sure[:1] if Fraction(one) < 100 * heavy.guarantee.posterior(Fraction(1, 2))]
        right = re.findall(r"at most ([\d.]+) times", said)
        assert right or capped
        wrong += [one for one in right[:1] if Fraction(one) < 50 * (1 + Fraction(heavy.guarantee.delta))]
    several = suspicion.filed_in(parameters, suspicion.heaviest_class(parameters), parameters.reports_per_person)
    for words, filed in (("picks the right one", heavy), ("reports each, it is", several)):
        assert filed.guarantee is not None
        least = 50 * (1 + 2 * Fraction(filed.guarantee.delta))
        pairs = re.findall(rf"{words} at most ([\d.]+) times", " ".join(prose(promise)))
        wrong += [pair for pair in pairs if Fraction(pair) < least]
    return wrong


@settings(max_examples=60, deadline=None)
@given(chosen=PARAMETERS, mechanism=st.sampled_from([{}, {"mechanism": "tca", "horizon": 9}]))
def test_every_figure_is_an_upper_bound(chosen: dict[str, Any], mechanism: dict[str, Any]) -> None:
    try:
        parameters = made(**chosen, **mechanism)
    except DeniableError:  # the yearly figures must leave something for the audits
        reject()
    assert wrong_figures(parameters) == []


@pytest.mark.parametrize("mechanism", [{}, {"mechanism": "tca", "horizon": 9}], ids=["race", "tca"])
def test_a_figure_that_is_rounded_down_is_found(mechanism: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    monkeypatch.setattr(suspicion, "in_hundred", lambda share: f"{int(share * 100)}")
    assert len(wrong_figures(made(delta=0.123, **mechanism))) > 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_twelve_year_old_can_read_it(kind: str) -> None:
    parameters = made(**KINDS[kind])
    for now in (None, lapsed(parameters), lapsed(parameters, 7), lapsed(parameters, ended=True)):
        promise = english(parameters, now)
        said = prose(promise)
        assert grade(" ".join(said)) <= TWELVE_YEARS_OLD
        for sentence in said:
            assert grade(sentence) <= 12, sentence
        assert avoided_words(" ".join(prose(promise, experts=True))) == []


OLD = (
    "Suppose someone watches every audit, knows how targets are chosen, knows every other report, and tries to guess "
    "whether you filed a report: watching improves their chance of guessing right by at most 5 points in 100, whatever "
    "they believed before. Besides, no sequence of audits is more than 1.32 times as likely if you filed a report as "
    "it would be if you had not, everything else equal, so watching multiplies the odds of that suspicion by at most "
    "this factor. The promise is about what the audits show and about nothing else: it does not protect you if access "
    "logs leak, if the channel you report through is not anonymous, if an audit is so narrow that it points to the few "
    "people who could have known, or if somebody retaliates because of what they know from elsewhere."
)


def test_what_is_hard_to_read_is_found() -> None:
    """Negative control: what the page once said."""
    assert grade(OLD) > TWELVE_YEARS_OLD + 3
    assert avoided_words(OLD) == ["somebody"]
    assert grade("The cat sat on the mat.") < 1
    assert 4 < grade("My uncle likes to go to the market on Sunday, because he can buy fresh vegetables there.") < 8


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("after I report", r"next draw that counts it is due on Monday 12 January 2026"),
        ("my text and my name", r"read what you write.*no name and no text.*code.*deletes the number.*Old backups"),
        ("court", r"took your report.*only numbers"),
        ("give my name", r"does not need it"),
        ("in danger", r"Do not wait for a draw"),
        ("take my report back", r"until the round closes"),
        ("loses its key", r"stops for good.*leads to no.*cannot say why.*report again.*stolen one may"),
        ("loses its records", r"from a backup.*may be lost.*promise is lost.*Without a backup.*report again"),
        ("choose whom to visit", r"By hand it can.*dishonest office could try several.*reports that it made up"),
        ("breaks its rules", r"record shows this for good.*stays only if.*leaves out a draw, or changes the list"),
        ("breaks its rules", r"not about when the office draws, or when it ends.*false declaration.*have to trust"),
        ("check all this", r"nothing in it was changed or taken out.*was hidden.*matter of trust"),
        ("when the programme ends", r"no more draws then.*ask where you can report it.*deletes.*Old backups"),
    ],
)
def test_questions_are_answered(kind: str, asked: str, told: str) -> None:
    assert re.search(told, answer(english(made(**KINDS[kind])), asked))


@pytest.mark.parametrize("audit", AUDIT_TERMS)
@pytest.mark.parametrize("target", TARGET_TERMS)
def test_it_speaks_the_words_of_the_office(audit: str, target: str) -> None:
    said = " ".join(prose(english(made(terms=Terms(audit, target), max_gap=20, cooldown=1))))
    for word, forms in ((audit, AUDIT_TERMS), (target, TARGET_TERMS)):
        others = [other for other in forms if other not in (word, "visit", "employer")]
        assert not [other for other in others if re.search(rf"\b{other}", said)]
        assert word in said


def test_the_page_for_reporters_has_the_same_example() -> None:
    written = " ".join((Path(__file__).parents[3] / "docs" / "reporters.md").read_text(encoding="utf-8").split())
    promise = english(made(targets=FIFTY))
    table, effect = part(promise, "promise").table, part(promise, "effect").table
    assert table is not None
    assert effect is not None
    for row in table.rows:
        assert f"| {' | '.join(row)} |" in written
    (_, none, waited, _), (_, one, fewer, _) = effect.rows[:2]
    assert f"from {none} to {one}" in written
    assert f"from {waited} to {fewer.removesuffix(' weeks')} on average" in written
    for told in (
        promise.first.removesuffix("watching the audits.").removesuffix("by "),
        "a boss picks the right one at most 60 times",
    ):
        assert told in written
    assert grade(re.sub(r"\|.*?\|", "", written)) <= TWELVE_YEARS_OLD
    assert avoided_words(written) == []


def test_the_office_is_reached_where_it_says_how() -> None:
    parameters = made()
    told = OfficeDetails("Room 5", "https://hotline.example", "2026-01-07")
    now = Situation(Coverage(parameters.calendar), 1, len(NAMES), details=told)
    facts = part(english(parameters, now), "contact").facts
    assert [(one.text, one.link) for one in facts] == [
        ("https://hotline.example", "https://hotline.example"),
        ("Room 5", None),
        ("7 January 2026", None),
    ]
    assert "not published here" in part(english(parameters), "contact").before[0]
    assert answer(english(parameters, now), "in danger").endswith("You can reach the office here: Room 5")
    assert "reach the office" not in answer(english(parameters), "in danger")
    assert "Ask the office" not in " ".join(prose(english(parameters)))


def test_a_public_value_leaves_the_office_no_choice_but_to_make_up_reports() -> None:
    told = answer(english(made(randomness=Drand())), "choose whom to visit")
    assert re.search(r"By hand it can.*cannot look for a result.*draws without.*reports that it made up", told)
    assert "dishonest office" not in told


def test_an_audit_because_of_danger_costs_the_promise_where_no_class_leads_to_a_visit() -> None:
    assert "lose the promise: yours too, whatever target it is about" in answer(english(made()), "in danger")
    told = answer(english(made(classes=CLASSES)), "in danger")
    assert "lose the promise" not in told
    assert "all other reports about it are settled: they count in no round that closes later" in told
    assert answer(english(made(), Situation(Coverage(made().calendar), 4, 4, ended=True)), "in danger").startswith(
        "Call"
    )


def test_the_end_says_when_and_that_visits_may_follow() -> None:
    now = Situation(Coverage(made().calendar), 4, 4, ended=True)
    said = english(made(), now).warnings[0].text
    assert said.startswith("It ended in round 4, which began on 26 January 2026: the draw planned for 2 February 2026")
    assert "may still take place" in said
    over = replace(now, open_round=101)
    assert english(made(**KINDS["counters"]), over).warnings[0].text.startswith("The promise stays for all")


def test_after_the_end_nothing_is_said_to_stay_for_reports_that_led_to_a_visit() -> None:
    now = Situation(Coverage(made().calendar), 4, 4, ended=True)
    with_visits = made(classes=CLASSES)
    assert with_visits.visit_classes
    assert "stays for all reports" in english(made(), now).warnings[0].text
    assert "stays for all reports" not in english(with_visits, now).warnings[0].text


def test_an_oversight_body_is_among_what_is_not_protected() -> None:
    titles = [one.title for one in part(english(made(oversight=RECIPIENT)), "not-protected").items]
    assert "The oversight body." in titles
    assert "The oversight body." not in [one.title for one in part(english(made()), "not-protected").items]


def test_a_horizon_is_told_as_a_day() -> None:
    parameters = made(mechanism="tca", horizon=100, calendar=Calendar(made().calendar.start, "1W", "UTC"))
    assert "The last draw is due on 6 December 2027" in part(english(parameters), "promise").after[-1]
    assert "The programme ends after 100 rounds." in " ".join(english(parameters).experts.before)


def test_two_people_have_the_figures_of_the_exact_part() -> None:
    """Also where each of them may have filed several reports."""
    parameters = made(mechanism="tca", horizon=104, reports_per_person=2, delta=0.05)
    said = two_people(parameters, Situation.at_start(parameters), parameters.voice())
    (pair,) = re.findall(r"With up to 2 reports each, it is at most ([\d.]+) times", said.cases[1])
    exact = " ".join(exact_figures(parameters, parameters.voice()))
    (points,) = re.findall(r"which of the two it was by at most ([\d.]+) points", exact)
    assert float(points) <= float(pair) - 50 < float(points) + 1


CLAIM = re.compile(
    r"at most [\d.]+ (%|times)|proven|\bholds?\b|\bcover(s|ed)?\b|protect|cannot prove|does not prove|no exceptions"
)
"""What a sentence says that claims something of the promise."""
HEDGE = re.compile("not protect|nothing is promised|holds again|[Ff]rom then on|not report before then")
"""What makes it speak of a later time, or of what is not protected."""


def claims_of_now(said: Sequence[str]) -> list[str]:
    """Sentences that say that something is promised, and do not say from when on."""
    sentences = [sentence for text in said for sentence in re.split(r"(?<=[.:!?]) (?=[A-Z])", text)]
    return [one for one in sentences if CLAIM.search(one) and not HEDGE.search(one) and SINCE not in one]


def of_a_lapse(promise: Promise) -> list[str]:
    """All that must agree with it: sentences, titles, captions and the card; without limits that a sentence before them
    puts off to a later time.
    """
    tables = [one.table for one in promise.parts if one.table is not None]
    put_off = "When the promise holds again, these limits hold."
    later = [text for one in part(promise, "not-protected").items if one.text.endswith(put_off) for text in one.cases]
    said = [text for text in prose(promise) if text not in later]
    return [
        *said, *(f"{one.title}." for one in promise.warnings), *(table.caption for table in tables),
        f"{promise.holds.title} {promise.holds.text}",
        *(f"{item.title}." for one in promise.parts for item in one.items),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_under_a_lapse_nothing_is_said_to_hold_now(kind: str) -> None:
    parameters = made(**KINDS[kind])
    promise = english(parameters, lapsed(parameters, 7))
    assert claims_of_now(of_a_lapse(promise)) == []
    assert promise.holds.title.startswith("no")
    grave = [one for one in promise.warnings if one.is_grave]
    assert [SINCE in one.title for one in grave] == [True]
    assert f"whatever {parameters.terms.target} it was about" in grave[0].text
    assert "Have you reported already?" in grave[0].text
    assert "promised about that report. This does not mean that your boss knows of it." in grave[0].text
    assert grave[0].text.endswith("A second report does not protect the first one.")
    assert ("Reports made from then on are covered, unless" in grave[0].text) == (kind != "nothing")
    assert SINCE in part(promise, "not-protected").items[0].title
    two = next(one for one in part(promise, "not-protected").items if "one other person" in one.title)
    limited = any("at most" in case for case in two.cases)
    assert two.text.endswith("When the promise holds again, these limits hold.") == limited
    if kind != "nothing":
        assert promise.first == f"Nothing is promised about reports made before {SINCE}. Wait until then if you can."
        table = part(promise, "promise").table
        assert table is not None
        assert table.caption.startswith(f"From {SINCE} on: ")
    effect = part(promise, "effect").table
    assert effect is None or len(effect.head) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_after_the_end_of_a_lapsed_programme_nothing_is_promised_and_no_one_is_told_to_wait(kind: str) -> None:
    parameters = made(**KINDS[kind])
    promise = english(parameters, lapsed(parameters, 7, ended=True))
    assert claims_of_now(of_a_lapse(promise)) == []
    assert "Wait until" not in " ".join(prose(promise))
    assert part(promise, "promise").table is None
    assert len(promise.experts.before) == 1


@pytest.mark.parametrize("open_round", [7, 8])
def test_a_lapse_beyond_the_last_round_is_not_waited_for(open_round: int) -> None:
    parameters = made(mechanism="tca", horizon=7)
    promise = english(parameters, lapsed(parameters, open_round))
    assert "Wait until" not in " ".join(prose(promise))
    assert promise.holds.title == "no, for no report"


def test_after_a_lapse_the_promise_holds_for_later_reports() -> None:
    parameters = made()
    promise = english(parameters, lapsed(parameters))
    assert promise.holds[:2] == ("yes, for new reports", f"not for reports made before {SINCE}")
    with_visits = made(classes=CLASSES)
    never = "never for reports of class danger"
    assert english(with_visits, lapsed(with_visits)).holds.text == f"{promise.holds.text}; {never}"
    ended = english(parameters, lapsed(parameters, ended=True)).holds
    assert ended[:2] == (f"yes, for reports made from {SINCE} on", "not for earlier ones")
    assert promise.first.endswith(f"This is for reports made from {SINCE} on.")
    assert not any(one.is_grave for one in promise.warnings)
    told = next(one.text for one in promise.warnings if one.is_lapse)
    assert "Get advice if you are worried." in told
    assert told.endswith("A second report does not protect the first one.")


def test_a_person_who_reported_before_it_was_lost_gets_advice() -> None:
    parameters = made()
    told = next(one.text for one in english(parameters, lapsed(parameters, 7, ended=True)).warnings if one.is_lapse)
    assert re.search(r"Did you report before then\?.*not mean that your boss knows of it\. Get advice", told)


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("ended", [False, True])
def test_after_the_last_draw_an_emergency_still_leads_to_a_visit(*, waits: bool, ended: bool) -> None:
    told = "Only a new report of class danger still leads to a visit."
    for classes in ((), CLASSES):
        parameters = made(mechanism="tca", horizon=2, **({"classes": classes} if classes else {}))
        now = Situation(Coverage(parameters.calendar), 3, 4, ended=ended, waits=waits and not ended)
        promise = english(parameters, now)
        said = [promise.warnings[0].text, " ".join(part(promise, "effect").before)]
        assert [told in one for one in said] == [bool(classes) and not ended] * 2


@pytest.mark.parametrize("open_round", [7, 8])
def test_a_report_without_the_promise_is_not_lost_for_the_draws(open_round: int) -> None:
    """If it counts at all: none does that led to a visit, was lost with records or is one too many."""
    told = "A report that counts goes on counting until the target is audited or leaves the programme."

    def lapse(situation: Situation) -> str:
        return next(one.text for one in english(made(), situation).warnings if one.is_lapse)

    paused = lapsed(made(), open_round)
    now = replace(paused, is_paused=False)
    for going_on in (paused, now):
        assert told in lapse(going_on)
    assert told not in lapse(replace(now, ended=True))
    assert "So the promise was lost." in lapse(now)


@pytest.mark.parametrize("kind", ["counters", "figures"])
def test_without_a_limit_in_single_cases_it_tells_what_happens_in_most_of_them(kind: str) -> None:
    one, several = made(**KINDS[kind]), made(**KINDS[kind], reports_per_person=2)
    for parameters in (one, several):
        promise = english(parameters)
        said = promise.lead
        assert "stays less than 90 % sure in at least" in said
        (rare,) = [one.text for one in part(promise, "not-protected").items if one.title == "A rare case."]
        assert ("yearly number" in rare) == (kind == "figures")
    unlimited = part(english(made(mechanism="tca", horizon=100, delta=0.3, reports_per_person=3)), "promise").after[1]
    assert unlimited.endswith("With 3 reports there is no limit on how often your boss becomes nearly sure.")
    seldom = part(english(made(mechanism="tca", horizon=100, delta=0.6)), "promise").after[1]
    assert seldom == "Your boss may even become nearly sure.", "less than half of all cases are no limit"
    assert "From then on, if you report once, a boss" in part(english(one, lapsed(one, 7)), "promise").after[1]
    table = part(english(one), "promise").table
    assert table is not None
    assert table.head[1:] == tuple(f"{right} right without watching" for right in (50, 80, 95))


@pytest.mark.parametrize("kind", ["race", "counters", "figures"])
def test_after_the_end_it_speaks_of_reports_that_were_made(kind: str) -> None:
    parameters = made(**KINDS[kind])
    ended = english(parameters, replace(Situation.at_start(parameters), ended=True))
    said = " ".join((ended.lead, *part(ended, "promise").before, *part(ended, "promise").after))
    assert "If you reported once" in said
    assert "If you report once" not in said
    assert ("Once a year the office also published" in said) == (kind == "figures")
    everything = " ".join(prose(ended))
    for present in (
        "often you report,",
        "how the draw works",
        "what you write",
        "draw selects",
        "If the office orders",
    ):
        assert present not in everything


def test_after_the_end_the_office_has_no_numbers_but_in_old_backups() -> None:
    parameters = made()
    ended = replace(Situation.at_start(parameters), ended=True)
    for now, told in ((None, "can see how many reports there are"), (ended, "Old backups show it until")):
        items = part(english(parameters, now), "not-protected").items
        assert told in next(one.text for one in items if one.title == "The hotline and the office.")


def test_reports_of_others_help_and_cost_nothing_of_what_is_promised_now() -> None:
    told = "Reports that other people make about it on their own can help, too. They do not raise the numbers above."
    for kind in ("race", "counters", "figures"):
        assert part(english(made(**KINDS[kind])), "effect").before[0].endswith(told)
    for parameters, now in ((made(), lapsed(made(), 7)), (made(**KINDS["nothing"]), None), (made(audits=4), None)):
        assert told not in " ".join(prose(english(parameters, now)))


def test_after_the_end_no_last_draw_is_foretold() -> None:
    parameters = made(**KINDS["counters"])
    over = Situation(Coverage(parameters.calendar), 101, 4)  # all rounds were drawn
    assert "The last draw is due on" not in " ".join(part(english(parameters, over), "promise").after)
    for ended in (False, True):
        now = replace(Situation.at_start(parameters), ended=ended)
        said = " ".join(part(english(parameters, now), "promise").after)
        assert ("The last draw is due on" in said) != ended
        experts = " ".join(english(parameters, now).experts.before)
        assert ("The programme ends after" in experts) != ended


def test_no_rare_case_is_told_where_each_case_has_a_limit_or_how_often_is_not_said() -> None:
    one, often = made(**KINDS["figures"]), made(mechanism="tca", horizon=100, delta=0.6)
    for parameters, now in ((made(), None), (made(**KINDS["nothing"]), None), (often, None), (one, lapsed(one, 7))):
        assert "A rare case." not in [item.title for item in part(english(parameters, now), "not-protected").items]


def test_after_the_end_no_one_is_told_to_get_advice_before_a_report() -> None:
    parameters = made()
    for ended in (False, True):
        told = two_people(parameters, replace(Situation.at_start(parameters), ended=ended), parameters.voice())
        assert ("get advice first" in told.text) != ended


def test_the_box_of_the_emergency_class_says_that_a_person_can_refuse_it() -> None:
    (box,) = english(made(classes=CLASSES)).warnings
    assert "Say so if you do not want class danger" in box.paragraphs[-1]


def test_what_a_class_is_stands_where_classes_are_first_used() -> None:
    told = "Each report has a class, which says how much it counts in the draw: minor (counts once)"
    emergency = english(made(classes=CLASSES))
    assert emergency.warnings[0].paragraphs[-1].startswith(f"{told}, serious (counts 3 times) or danger")
    ordinary = english(made(classes=CLASSES[:2]))
    assert part(ordinary, "promise").before[0].startswith(f"{told} or serious (counts 3 times).")
    for promise in (emergency, ordinary):
        assert " ".join(prose(promise)).count("Each report has a class") == 1
    assert "Each report has a class" not in " ".join(prose(english(made())))


def test_a_boss_who_knows_that_one_of_a_few_reported_is_told_of_where_draws_never_prove_it() -> None:
    said = part(english(made()), "promise").before[0]
    assert "never prove it, unless your boss knows already that you or one of a few others reported" in said


def test_the_risk_of_several_reports_is_that_of_one_person() -> None:
    whose = "The last column is for one person who made all these reports."
    assert part(english(made()), "effect").after[0].startswith(whose)
    for kind in ("classes", "figures", "counters"):
        assert whose not in " ".join(prose(english(made(**KINDS[kind]))))


@pytest.mark.parametrize("ended", [False, True])
def test_a_thief_where_people_report_can_read_what_they_wrote(ended: bool) -> None:
    parameters = made()
    now = replace(Situation.at_start(parameters), ended=ended)
    (theft,) = [one.text for one in part(english(parameters, now), "not-protected").items if one.title == "Theft."]
    assert "breaks in where you reported can read what you wrote, and your name if you gave it" in theft


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ended", [False, True])
def test_no_limit_is_said_of_a_report_that_leads_to_a_visit(kind: str, *, ended: bool) -> None:
    parameters = made(**KINDS[kind])
    promise = english(parameters, Situation(Coverage(parameters.calendar), 4, 4, ended=ended))
    for said in (promise.first, promise.lead):
        assert ("not apply to a report of class danger" in said) == bool(parameters.visit_classes)


@pytest.mark.parametrize("ended", [False, True])
def test_the_time_at_which_reports_are_brought_in_is_not_protected(*, ended: bool) -> None:
    parameters = made()
    promise = english(parameters, Situation(Coverage(parameters.calendar), 4, 4, ended=ended))
    (times,) = [one.text for one in part(promise, "not-protected").items if "Timing" in one.title]
    assert re.search(r"brings|brought", times)
    assert re.search(
        r"late because of a report, or lets? one report decide whether or when others count",
        answer(promise, "its rules"),
    )


@pytest.mark.parametrize("ended", [False, True])
def test_the_numbers_of_each_class_have_less_noise_than_their_sum(*, ended: bool) -> None:
    parameters = made(classes=CLASSES, yearly_figures_delta=0.02)
    (yearly,) = yearly_numbers(parameters, Situation(Coverage(parameters.calendar), 4, 4, ended=ended), plain())
    assert re.search("number of a class mostly by up to 20, the number of all mostly by up to 35", yearly)


def test_a_frozen_round_still_counts_a_report_about_a_target_that_was_visited() -> None:
    for parameters, is_told in ((made(randomness=DICE), True), (made(), False)):
        promise = english(parameters)
        for said in (answer(promise, "after I report"), part(promise, "effect").before[0]):
            assert ("its draw still counts your report" in said) == is_told


def test_the_cap_of_the_audits_is_for_people_who_do_not_react_to_the_yearly_numbers() -> None:
    exact = exact_figures(made(**KINDS["figures"]), plain())
    assert any("if these numbers change nothing about what other people report, no sequence" in one for one in exact)


@pytest.mark.parametrize("kind", ["race", "classes"])
def test_reports_of_two_people_are_alike_with_nothing_in_the_record_between_them(kind: str) -> None:
    parameters = made(**KINDS[kind])
    (same, _) = two_people(parameters, Situation.at_start(parameters), plain()).cases
    assert "does nothing new come into the record between them?" in same


def test_a_claim_beside_a_lapse_is_found() -> None:
    """Negative control: what the page once said under a banner that said otherwise."""
    old = [
        "A boss who was 50 % sure that you reported can become at most 57 % sure by watching the visits.",
        "This holds for as long as the programme runs.",
        "The visits cannot prove it.",
        "Nothing. The promise to you holds whatever other people report.",
        "Your own report keeps its protection, unless it is of this class, too.",
        "yes, for all reports no exceptions so far",
        "How sure your boss can become, at most 57 %",
    ]
    for sentence in old:
        assert claims_of_now([sentence]) != []
    parameters = made()
    assert claims_of_now(of_a_lapse(english(parameters))) != []


def test_waits_are_those_of_the_targets_of_today() -> None:
    parameters = made(targets=FIFTY)
    gone = {"added": (), "removed": FIFTY[:25], "during": 2, "reason": "closed", "independent": True}
    state = replay(parameters, chained(parameters, [drawn(1, FIFTY[49]), ("targets", 2, gone)]))
    for situation, chance in ((None, "20 in 1,000"), (Situation.after(state), "40 in 1,000")):
        table = part(english(parameters, situation), "effect").table
        assert table is not None
        assert table.rows[0][:2] == ("No report", chance)


@pytest.mark.parametrize("audits", [1, 2])
def test_chances_are_those_of_the_next_draw(audits: int) -> None:
    """Also in the first rounds, and after an order or a leaving: then fewer or more targets rest than usual."""
    targets = FIFTY[:8]
    parameters = made(targets=targets, cooldown=3, audits=audits)
    of_all = [targets[at : at + audits] for at in range(0, 3 * audits, audits)]
    order = ("override", 4, {"audits": (targets[6],), "during": 4, "reason": "fire", "independent": True})
    gone = {"added": (), "removed": (targets[0],), "during": 4, "reason": "closed", "independent": True}
    said = [*(drawn(number, *some) for number, some in enumerate(of_all, start=1)), order, ("targets", 4, gone)]
    chances = set[str]()
    for number in range(len(said) + 1):
        state = replay(parameters, chained(parameters, said[:number]))
        table = part(english(parameters, Situation.after(state)), "effect").table
        assert table is not None
        before = State(state.history, np.zeros((1, state.n_targets), np.int64))
        law = law_of_run(
            partial(AuditRun, parameters.built(), state=before), [lambda run, _: (run, run.select({}, audits))]
        )
        exact = sum(chance for (selected,), chance in law.items() if 7 in selected)
        stated, of = map(int, table.rows[0][1].replace(",", "").split(" in "))
        assert stated <= exact * of < stated + 1
        chances.add(table.rows[0][1])
    assert len(chances) > 3


def test_targets_rest_whose_names_are_not_public() -> None:
    parameters = made(targets=FIFTY[:8], cooldown=3, reveal_after=2)
    said = [selected(number, FIFTY[number], parameters=parameters) for number in (1, 2)]
    for number in (3, 4, 5):
        draw = selected(number, FIFTY[number], parameters=parameters)
        said += [draw, revealed(number + 1, number - 2, FIFTY[number - 2])]
    stated = []
    for number in (0, 1, 2, 4, 6, 8):
        state = replay(parameters, chained(parameters, said[:number]))
        table = part(english(parameters, Situation.after(state)), "effect").table
        assert table is not None
        stated.append(table.rows[0][1])
    assert stated == ["125 in 1,000", "142 in 1,000", "166 in 1,000", *["20 in 100"] * 3]


@pytest.mark.parametrize("rules", [{}, {"max_gap": 1500, "audits": 1000}, {"audits": 20_000}])
def test_a_million_targets_cost_no_time(rules: dict[str, Any]) -> None:
    """It is written anew whenever the office publishes."""
    parameters = made(targets=tuple(map(str, range(10**6))), **rules)
    began = process_time()
    english(parameters)
    assert process_time() - began < 0.5


def test_a_rounded_number_is_a_whole_one_below_the_limit() -> None:
    assert [suspicion.in_hundred(Fraction(share)) for share in ("0.5", "0.501", "0.99", "0.995", "1")] == [
        "50",
        "51",
        "99",
        "99.5",
        "100",
    ]
