"""The advice drawn from what was assessed."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planning.options import GREEDY, LOTS, OFFICE, RR, option

import deniable as dn
from deniable.planning import PLANNED, NotCovered, Office, advice, assess


def test_the_soonest_is_chosen_and_its_price_named() -> None:
    words = advice(OFFICE, [GREEDY, option("race", (20, 7, 1)), option("tca", (30, 12, 2)), RR, LOTS])
    assert words == (
        "Choose race: at this promise a target with 10 reports more than usual is audited after about 7 rounds on "
        "average, against about 1 without any protection (greedy) and about 50 by lot (uniform); counter auditing "
        "(tca) takes about 12 and randomized response (rr) is no better than drawing lots. "
        "With only 3 reports more it takes about 20 rounds, against about 5 without protection. "
        "An observer is right at most 10 times in 100 more often about one report, and 27.4 about all 3 "
        "reports of one person. "
        "This is about what the audits show, not about leaked logs or an audit so narrow that it points to a person."
        "\n\nNext, where TARGET_LIST lists your targets:\n"
        "  deniable programme init TARGET_LIST --name NAME --mechanism race --delta 0.2 --reports-per-person 3\n"
        "or, for reports that are in one file already, STREAM:\n"
        "  deniable audit STREAM --mechanism race --delta 0.2"
    )


def test_counter_auditing_is_chosen_where_it_is_sooner() -> None:
    words = advice(OFFICE, [GREEDY, option("race", (20, 12, 1)), option("tca", (30, 7, 2)), RR, LOTS])
    assert words.startswith("Choose counter auditing (tca): ")
    assert "; race takes about 12 and " in words
    assert "--mechanism tca --delta 0.2 --horizon 100" in words


def test_race_is_chosen_where_the_difference_may_be_chance() -> None:
    words = advice(
        OFFICE, [GREEDY, option("race", (20, 12, 1)), option("tca", (30, 9, 2), standard_error=2.0), RR, LOTS]
    )
    assert words.startswith("Choose race: ")
    assert "counter auditing (tca) takes about as long" in words


def test_another_counter_can_be_chosen_and_only_then_is_named() -> None:
    race, blt = option("race", (20, 12, 1)), option("counter:blt", (20, 5, 1))
    assert advice(OFFICE, [GREEDY, race, LOTS, blt]).startswith("Choose counter:blt: ")
    assert "counter:" not in advice(OFFICE, [GREEDY, option("race", (20, 4, 1)), LOTS, blt])


def test_little_is_promised_where_only_many_reports_count() -> None:
    words = advice(OFFICE, [GREEDY, option("race", (50, 48, 20)), option("tca", (70, 70, 60)), RR, LOTS])
    assert words.startswith("Choose race, but do not expect much, since 10 reports more than usual hardly count: ")
    assert "counter auditing (tca) is slower than drawing lots" in words
    assert "As few as 10 reports more hardly shorten the wait (about 48 rounds, against about 50 by lot)" in words
    assert "run this again with --delta 0.4." in words
    words = advice(OFFICE, [option("greedy", (45, 45, 1)), option("race", (50, 48, 20)), LOTS])
    assert "nor would they without any protection." in words


def test_a_promise_too_strict_to_steer_by_is_said_to_be() -> None:
    options = [GREEDY, option("race", (50, 50, 48), lead=2515), option("tca", (80, 80, 80), lead=5681), RR, LOTS]
    assert "a lead of 2,515 reports over all others" in advice(OFFICE, options)
    assert "Run this again with a weaker promise (--delta 0.4) or more --audits a round" in advice(OFFICE, options)
    assert "or a longer --max-gap or" in advice(replace(OFFICE, rules=dn.Rules(max_gap=20)), options)
    assert "no number of reports" in advice(OFFICE, [GREEDY, NotCovered("race", "because"), RR, LOTS])


def test_lots_are_drawn_where_nothing_could_do_better() -> None:
    words = advice(OFFICE, [option("greedy", (50, 49, 48)), option("race", (50, 49, 48)), LOTS])
    assert words.startswith("Draw lots (uniform)")


def test_reports_that_do_not_stand_out_are_said_to_be() -> None:
    words = advice(OFFICE, [option("greedy", (25, 25, 25)), option("race", (25, 25, 25)), LOTS])
    assert words.startswith("Choose race, though 30 reports more than usual hardly stand out here even without any ")
    at_once = advice(OFFICE, [option("greedy", (1, 1, 1)), option("race", (2, 1, 1)), LOTS])
    assert at_once.startswith("Choose race: ")


def test_a_programme_of_one_round_still_tells_greedy_from_lots() -> None:
    office = Office(3, delta=0.1, horizon=1)
    words = advice(office, [assess(office, name, runs=200) for name in PLANNED])
    assert words.startswith("Choose race: ")


def test_there_is_nothing_to_choose_where_all_are_audited() -> None:
    words = advice(replace(OFFICE, audits=10), [GREEDY, option("race", (1, 1, 1)), LOTS])
    assert "nothing to choose" in words


def test_a_wait_that_was_cut_short_is_at_least_what_is_shown() -> None:
    lots = option("uniform", (26, 26, 26), lead=None, cut_short=1.0)
    rr = option("rr", (26, 26, 26), lead=None, cut_short=1.0)
    words = advice(OFFICE, [GREEDY, option("race", (9, 1.2, 1)), rr, lots])
    assert "and at least 26 by lot (uniform); randomized response (rr) takes at least 26; what is given as" in words
    assert "no better" not in words
    race = option("race", (26, 25, 9), cut_short=0.9)
    words = advice(OFFICE, [GREEDY, race, lots])
    assert words.count(f"within the {OFFICE.longest_wait} rounds simulated") == 2
    strict = advice(OFFICE, [GREEDY, rr, lots])
    assert f"hardly steer the audits within the {OFFICE.longest_wait} rounds simulated" in strict
    slow = option("greedy", (26, 26, 26), cut_short=0.5)
    assert advice(OFFICE, [slow, rr, lots]).startswith("The simulation cannot tell the mechanisms apart: ")


@pytest.mark.parametrize(
    ("office", "weak"),
    [
        (Office(10, delta=0.1, reports_per_person=3), False),
        (Office(10, delta=0.1, reports_per_person=60), True),
        (Office(10, delta=0.5, reports_per_person=1), False),
        (Office(10, delta=0.51, reports_per_person=1), True),
        (Office(10, advantage=0.25), False),
        (Office(10, advantage=0.26), True),
    ],
)
def test_a_weak_promise_is_warned_of(office: Office, weak: bool) -> None:
    options = [assess(office, name, runs=300) for name in ("greedy", "race", "uniform")]
    words = advice(office, options)
    assert words.startswith("This promise protects little: " if weak else "Choose race: ")
    assert ("If it has to be so, choose race: " in words) == weak
    assert ("run this again with --advantage 0.05" in words) == weak


def test_the_next_command_exists_and_keeps_the_promise() -> None:
    person = Office(10, advantage=0.05)
    words = advice(person, [assess(person, name, runs=200) for name in ("greedy", "race", "uniform")])
    found = re.search(r"--mechanism race --delta ([0-9.]+)$", words)
    assert found
    assert "init TARGET_LIST --name NAME --mechanism race --advantage 0.05 --reports-per-person 3\n" in words
    assert 0.0499 < dn.Race.calibrate(10, float(found[1])).guarantee().for_reports(3).advantage <= 0.05
    ruled = replace(OFFICE, audits=2, rules=dn.Rules(max_gap=20, cooldown=1))
    words = advice(ruled, [GREEDY, option("race", (20, 7, 1)), LOTS])
    promise, rules = "--mechanism race --delta 0.2", "--audits 2 --max-gap 20 --cooldown 1"
    assert f"init TARGET_LIST --name NAME {promise} --reports-per-person 3 {rules}" in words
    assert f"deniable audit STREAM {promise} {rules}" in words
    words = advice(replace(OFFICE, reports_per_person=1), [GREEDY, option("race", (20, 7, 1)), LOTS])
    assert "--reports-per-person" not in words


def test_what_no_programme_can_run_is_not_proposed_for_one() -> None:
    words = advice(OFFICE, [GREEDY, option("rr", (20, 7, 1)), LOTS])
    assert "  deniable audit STREAM --mechanism rr" in words
    assert "programme init" not in words


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.floats(1, 500)] * 3), min_size=5, max_size=5), st.floats(0, 20), st.booleans())
def test_advice_is_at_most_five_sentences_whatever_the_numbers(
    rounds: list[tuple[float, float, float]], error: float, cut: bool
) -> None:
    options = [
        option(name, waits, standard_error=error, cut_short=float(cut))
        for name, waits in zip(PLANNED, rounds, strict=True)
    ]
    words, *_ = advice(OFFICE, options).splitlines()
    assert words.endswith(".")
    assert words.count(". ") <= 4
    assert "nan" not in words
