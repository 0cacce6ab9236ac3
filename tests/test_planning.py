"""Plans: what is promised, the lead needed, the simulated waits and the advice drawn from them."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.mechanisms import calibrate
from deniable.planning import (
    EXTRA_REPORTS,
    OTHER_COUNTERS,
    PLANNED,
    NotCovered,
    Office,
    Option,
    Wait,
    _only,
    advice,
    assess,
    lead_needed,
    static_error,
)

OFFICE = Office(n_targets=10, delta=0.2, horizon=100, reports_per_round=2.0)


def option(mechanism_id: str, rounds: tuple[float, float, float], lead: float | None = 20.0, **wait: Any) -> Option:
    mechanism = calibrate(mechanism_id, 10, 0.2, 100)
    waits = tuple(replace(Wait(n, mean, 0.01, 0.0, 3), **wait) for n, mean in zip(EXTRA_REPORTS, rounds, strict=True))
    return Option(mechanism_id, mechanism, mechanism.guarantee().for_reports(3), lead, waits)


GREEDY = option("greedy", (5, 1, 1), lead=1)
LOTS = option("uniform", (50, 50, 50), lead=None)
RR = option("rr", (50, 49, 48), lead=None)


# Promises


@pytest.mark.parametrize("mechanism_id", ["race", "tca", "rr", *OTHER_COUNTERS])
@pytest.mark.parametrize("k", [1, 3])
def test_a_promise_about_a_person_is_kept_and_used_up(mechanism_id: str, k: int) -> None:
    office = Office(10, advantage=0.05, reports_per_person=k, horizon=50)
    offered = assess(office, mechanism_id, extra_reports=[1], runs=2)
    assert isinstance(offered, Option)
    assert 0.0499 < offered.person.advantage <= 0.05
    assert offered.person.reports == k
    assert offered.guarantee.delta <= 0.1


def test_a_promise_about_one_report_is_the_same_for_all() -> None:
    offered = [assess(OFFICE, name, extra_reports=[1], runs=2) for name in ("race", "tca", "rr")]
    assert [round(o.guarantee.delta, 9) for o in offered if isinstance(o, Option)] == [0.2] * 3


def test_what_is_not_covered_says_why() -> None:
    rr = assess(replace(OFFICE, audits=2), "rr")
    assert isinstance(rr, NotCovered)
    assert "covers one audit a round" in rr.reason
    tca = assess(Office(10, delta=0.1, horizon=2_000_000), "tca")
    assert isinstance(tca, NotCovered)
    assert "at most 1000000 rounds" in tca.reason
    race = assess(Office(10, delta=1e-17), "race")
    assert isinstance(race, NotCovered)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_targets": 1}, "targets must be"),
        ({"delta": 1.0}, "delta must be"),
        ({"delta": math.nan}, "delta must be"),
        ({"delta": None}, "either delta"),
        ({"advantage": 0.1}, "either delta"),
        ({"delta": None, "advantage": 0.5}, "advantage must be"),
        ({"horizon": 0}, "horizon must be"),
        ({"audits": 11}, "audits must be at most the number of targets, 10, got 11"),
        ({"audits": 0}, "audits must be"),
        ({"rules": dn.Rules(max_gap=9)}, "max_gap must be at least 10"),
        ({"rules": dn.Rules(max_gap=4), "audits": 2}, "max_gap must be at least 5"),
        ({"reports_per_round": -1.0}, "reports_per_round must be"),
        ({"reports_per_round": math.inf}, "reports_per_round must be"),
        ({"reports_per_person": 0}, "reports_per_person must be"),
    ],
)
def test_a_programme_that_cannot_be_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(dn.DeniableError, match=words):
        replace(OFFICE, **change)


# Lead


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["race", "tca", "rr", "greedy", "uniform", "counter:tree"]),
    st.integers(2, 60),
    st.floats(0.01, 0.9),
)
def test_the_lead_needed_is_the_least_that_is_enough(mechanism_id: str, n_targets: int, delta: float) -> None:
    mechanism = calibrate(mechanism_id, n_targets, delta, 30)
    lead = lead_needed(mechanism)
    if lead is None:
        assert static_error(mechanism, 1e9) > 0.05
    else:
        assert static_error(mechanism, lead * (1 + 1e-9)) <= 0.05 + 1e-9
        if lead > 1:
            assert static_error(mechanism, 0.99 * lead) > 0.05


def test_known_leads() -> None:
    race, tca = (calibrate(name, 50, 0.1, 1000) for name in ("race", "tca"))
    assert lead_needed(race) == pytest.approx(25.07, abs=0.01)
    # sqrt(2) * (sigma M_T) * 3.0835 with sigma = 7.1897, M_T = 1.8069 and Phi(-3.0835) ~ 0.05 / 49
    assert lead_needed(tca) == pytest.approx(math.sqrt(2) * 7.1897 * 1.806932 * 3.0842, rel=1e-3)
    assert lead_needed(dn.Greedy(50)) == 1
    assert lead_needed(dn.UniformRandom(50)) is None


def test_with_so_many_audits_that_lots_do_no_lead_is_needed() -> None:
    assert lead_needed(dn.UniformRandom(20), audits=19) == 0
    assert all(lead_needed(calibrate(name, 5, 0.1, 10), audits=5) == 0 for name in ("greedy", "race", "tca"))


# Waits


def off_by(measured: Wait, exact: float) -> float:
    """Standard errors between them."""
    return abs(measured.rounds - exact) / measured.standard_error


@pytest.mark.parametrize("audits", [1, 2])
def test_the_wait_by_lot_is_the_number_of_targets(audits: int) -> None:
    """Failure probability 1e-6 at 4.9 standard errors; counting from 0 instead of 1 is caught by the same check."""
    office = Office(6, delta=0.1, audits=audits)
    by_lot = assess(office, "uniform", extra_reports=[0, 30], runs=5000)
    assert isinstance(by_lot, Option)
    assert by_lot.waits[0].rounds == by_lot.waits[1].rounds
    assert off_by(by_lot.waits[0], 6 / audits) < 4.9
    assert off_by(by_lot.waits[0], 6 / audits - 1) > 4.9


def test_the_wait_of_race_without_other_reports_is_geometric() -> None:
    """The others stay at 0, so every round audits the target with probability rho**n / (rho**n + C - 1).

    Failure probability 1e-6 at 4.9 standard errors; one extra report more or less is caught by the same check.
    """
    race = assess(Office(10, delta=0.3), "race", extra_reports=[2], runs=8000)
    assert isinstance(race, Option)
    assert isinstance(race.mechanism, dn.Race)
    exact = [1 + 9 / race.mechanism.rho**n for n in (1, 2, 3)]
    assert off_by(race.waits[0], exact[1]) < 4.9
    assert off_by(race.waits[0], exact[0]) > 4.9
    assert off_by(race.waits[0], exact[2]) > 4.9


def test_greedy_audits_at_once() -> None:
    greedy = assess(OFFICE, "greedy", extra_reports=[1000], runs=50)
    assert isinstance(greedy, Option)
    assert greedy.wait(1000) == Wait(1000, 1.0, 0.0, 0.0, 1)


def test_the_same_seed_gives_the_same_waits_whatever_else_is_asked() -> None:
    alone = assess(OFFICE, "tca", extra_reports=[10], runs=20)
    among = assess(OFFICE, "tca", extra_reports=[1, 10, 30], runs=20)
    assert isinstance(alone, Option)
    assert isinstance(among, Option)
    assert alone.wait(10) == among.wait(10)
    assert assess(OFFICE, "tca", extra_reports=[10], runs=20, seed=1) != alone


def test_nine_runs_in_ten_are_within_what_is_said() -> None:
    """By lot among 6, 1 - (5/6)**n first passes 0.9 at n = 13, and is 0.838 at 10 and 0.935 at 15.

    Both are 10 standard errors or more from 0.9 in 5000 runs, so the failure probability is below 1e-6; the mean, 6, or
    the median, 4, would be caught.
    """
    by_lot = assess(Office(6, delta=0.1), "uniform", extra_reports=[0], runs=5000)
    assert isinstance(by_lot, Option)
    assert abs(by_lot.waits[0].nine_in_ten - 13) <= 2


def test_the_worst_case_is_what_the_cap_makes_of_even_odds() -> None:
    race, tca, lots = (option(name, (1, 1, 1)) for name in ("race", "tca", "uniform"))
    rho = race.guarantee.likelihood_cap
    assert race.worst_case == rho / (1 + rho)
    assert (tca.worst_case, lots.worst_case) == (1, 0.5)


def test_waits_end_with_the_horizon() -> None:
    office = Office(50, delta=0.1, horizon=8)
    assert (office.warm_up, office.longest_wait) == (4, 4)
    by_lot = assess(office, "uniform", extra_reports=[0], runs=200)
    assert isinstance(by_lot, Option)
    assert by_lot.waits[0].rounds <= 5
    assert by_lot.waits[0].cut_short > 0.8


@pytest.mark.parametrize("mechanism_id", [*PLANNED, *OTHER_COUNTERS])
def test_one_round_is_enough_for_a_plan(mechanism_id: str) -> None:
    offered = assess(Office(2, delta=0.1, horizon=1), mechanism_id, runs=4)
    assert isinstance(offered, Option)
    assert all(wait.rounds == 1 + wait.cut_short for wait in offered.waits)


def test_a_max_gap_bounds_every_wait_and_makes_the_promise_last() -> None:
    office = Office(6, delta=0.1, rules=dn.Rules(max_gap=4, cooldown=1), audits=2, reports_per_round=1)
    for mechanism_id in ("uniform", "race", "tca"):
        offered = assess(office, mechanism_id, runs=30)
        assert isinstance(offered, Option)
        assert offered.guarantee.horizon is None
        assert all(wait.rounds <= 4 and wait.cut_short == 0 for wait in offered.waits)


def test_runs_in_batches_are_all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.planning.CELLS_AT_ONCE", 30)
    offered = assess(Office(10, delta=0.1), "uniform", extra_reports=[0], runs=7)
    assert isinstance(offered, Option)
    assert offered.waits[0].rounds * 7 == pytest.approx(round(offered.waits[0].rounds * 7))


def test_fewer_runs_go_on_as_before() -> None:
    mechanism = dn.CounterAuditing.calibrate(3, 0.1, 10, "blt")
    _, state = mechanism.step(mechanism.init(4), np.ones((4, 3), dtype=np.int64), dn.SimulationNoise(0))
    kept = _only(state, np.array([True, False, False, True]))
    assert kept.history.last.tolist() == state.history.last[[0, 3]].tolist()
    assert kept.private.buffers.tolist() == state.private.buffers[:, [0, 3]].tolist()
    assert kept.history.rounds == 1


# Advice


def test_the_soonest_is_chosen_and_its_price_named() -> None:
    words = advice(OFFICE, [GREEDY, option("race", (20, 7, 1)), option("tca", (30, 12, 2)), RR, LOTS])
    assert words == (
        "Choose race: at this promise a target with 10 reports more than usual is audited after about 7 rounds on "
        "average, against about 1 without any protection (greedy) and about 50 by lot (uniform); counter auditing "
        "(tca) takes about 12 and randomized response (rr) is no better than drawing lots. "
        "With only 3 reports more it takes about 20 rounds, against about 5 without protection. "
        "Somebody who watches is right at most 10 times in 100 more often about one report, and 27.4 about all 3 "
        "reports of one person. "
        "This is about what the audits show, not about leaked logs or an audit so narrow that it points to a person. "
        "Next: deniable audit REPORTS --mechanism race --delta 0.2, where REPORTS is your file; deniable audit --help "
        "says what else to give."
    )


def test_counter_auditing_is_chosen_where_it_is_sooner() -> None:
    words = advice(OFFICE, [GREEDY, option("race", (20, 12, 1)), option("tca", (30, 7, 2)), RR, LOTS])
    assert words.startswith("Choose counter auditing (tca): ")
    assert "; race takes about 12 and " in words
    assert "--mechanism tca --delta 0.2 --horizon 100, " in words


def test_race_is_chosen_where_the_difference_may_be_chance() -> None:
    unsure = {"standard_error": 2.0}
    words = advice(OFFICE, [GREEDY, option("race", (20, 12, 1)), option("tca", (30, 9, 2), **unsure), RR, LOTS])
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
    options = [GREEDY, option("race", (50, 50, 48), lead=2514.9), option("tca", (80, 80, 80), lead=5681), RR, LOTS]
    assert "about 2,515 reports ahead of all others" in advice(OFFICE, options)
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
    found = re.search(r"--mechanism race --delta ([0-9.]+), ", words)
    assert found
    assert 0.0499 < dn.Race.calibrate(10, float(found[1])).guarantee().for_reports(3).advantage <= 0.05
    for change in ({"audits": 2}, {"rules": dn.Rules(max_gap=20)}, {"rules": dn.Rules(cooldown=1)}):
        words = advice(replace(OFFICE, **change), [GREEDY, option("race", (20, 7, 1)), LOTS])
        assert "Next: draw the audits in Python (AuditRun)" in words


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.floats(1, 500)] * 3), min_size=5, max_size=5), st.floats(0, 20), st.booleans())
def test_advice_is_at_most_five_sentences_whatever_the_numbers(
    rounds: list[tuple[float, float, float]], error: float, cut: bool
) -> None:
    options = [
        option(name, waits, standard_error=error, cut_short=float(cut))
        for name, waits in zip(PLANNED, rounds, strict=True)
    ]
    words = advice(OFFICE, options)
    assert words.endswith(".")
    assert words.count(". ") <= 4
    assert "nan" not in words


def test_the_lead_of_race_ends_where_its_weights_end() -> None:
    """At a tiny delta the gap needed lies beyond the counts that race tells apart."""
    race = dn.Race.calibrate(50, 1e-4)
    assert lead_needed(race) is None
    assert static_error(race, 10**6) == static_error(race, race.growth.longest) > 0.5


def test_counters_are_not_said_to_beat_drawing_lots() -> None:
    """Runs of different ages have different noise, so at no lead a counter may miss more often than lots would."""
    assert static_error(dn.CounterAuditing.calibrate(20, 0.1, horizon=100), 0, audits=19) > 0.05
