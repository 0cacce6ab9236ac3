"""The simulated waits."""

import pytest
from tests.planning.options import OFFICE

import deniable as dn
from deniable.planning import Office, Option, Wait, assess, waits


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


def test_waits_end_with_the_horizon() -> None:
    office = Office(50, delta=0.1, horizon=8)
    assert (office.warm_up, office.longest_wait) == (4, 4)
    by_lot = assess(office, "uniform", extra_reports=[0], runs=200)
    assert isinstance(by_lot, Option)
    assert by_lot.waits[0].rounds <= 5
    assert by_lot.waits[0].cut_short > 0.8


def test_runs_in_batches_are_all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "CELLS_AT_ONCE", 30)
    offered = assess(Office(10, delta=0.1), "uniform", extra_reports=[0], runs=7)
    assert isinstance(offered, Option)
    assert offered.waits[0].rounds * 7 == pytest.approx(round(offered.waits[0].rounds * 7))
