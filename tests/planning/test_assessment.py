"""What is promised, and what is not covered."""

from dataclasses import replace
from fractions import Fraction

import pytest
from tests.planning.options import OFFICE, option

import deniable as dn
from deniable.planning import OTHER_COUNTERS, PLANNED, NotCovered, Office, Option, assess


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
    assert "one audit a round" in rr.reason
    tca = assess(Office(10, delta=0.1, horizon=2_000_000), "tca")
    assert isinstance(tca, NotCovered)
    assert "at most 1000000 rounds" in tca.reason
    race = assess(Office(10, delta=1e-17), "race")
    assert isinstance(race, NotCovered)


def test_the_worst_case_is_what_the_cap_makes_of_even_odds() -> None:
    race, tca, lots = (option(name, (1, 1, 1)) for name in ("race", "tca", "uniform"))
    rho = Fraction(race.guarantee.likelihood_cap)
    assert rho / (1 + rho) <= race.worst_case == pytest.approx(float(rho / (1 + rho)))
    assert (tca.worst_case, lots.worst_case) == (1, 0.5)


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
