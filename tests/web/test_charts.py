import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.mechanisms import CounterAuditing, Race
from deniable.utility import race_static_error, static_error
from deniable.web import charts

RACE = Race.calibrate(50, 0.1)
COUNTERS = CounterAuditing.calibrate(50, 0.1, 1000)


@pytest.mark.parametrize("lead", [0, 1, 16, 40])
def test_race_misses_the_leader_as_the_paper_says(lead: int) -> None:
    assert charts.missed(RACE, lead, 1) == pytest.approx(race_static_error(lead, 50, RACE.rho), rel=1e-12)


@pytest.mark.parametrize("audits", [1, 2, 3, 5])
def test_several_audits_are_drawn_one_after_the_other(audits: int) -> None:
    """Against an enumeration of all orders in which five targets of weights 4, 1, 1, 1, 1 can be drawn."""
    weights = [Fraction(4), *[Fraction(1)] * 4]
    total = Fraction(0)
    for order in itertools.permutations(range(5), audits):
        if 0 in order:
            continue
        left, chance = sum(weights), Fraction(1)
        for target in order:
            chance *= weights[target] / left
            left -= weights[target]
        total += chance
    assert charts.missed(Race(5, 2.0), 2, audits) == pytest.approx(float(total), rel=1e-12)


@pytest.mark.parametrize("audits", [1, 3, 50])
def test_without_reports_everybody_waits_as_long_as_by_lot(audits: int) -> None:
    assert charts.wait(RACE, 0, audits) == pytest.approx(50 / audits)


def test_the_wait_with_race_is_geometric() -> None:
    odds = RACE.rho**10
    assert charts.wait(RACE, 10, 1) == pytest.approx((49 + odds) / odds)


def test_counter_auditing_is_the_static_sweep() -> None:
    assert charts.missed(COUNTERS, 32, 1) == static_error(32, 50, COUNTERS.counter.max_error)  # type: ignore[attr-defined]
    assert charts.missed(COUNTERS, 0, 5) == pytest.approx(0.9)


@pytest.mark.parametrize("mechanism", [RACE, COUNTERS])
def test_the_lead_needed_is_enough(mechanism: Race | CounterAuditing) -> None:  # type: ignore[type-arg]
    lead = charts.lead_needed(mechanism)
    assert lead is not None
    assert charts.missed(mechanism, lead, 1) <= charts.ERROR + 1e-9


def test_a_promise_that_no_lead_overcomes() -> None:
    strict = Race.calibrate(50, 1e-5)
    assert charts.lead_needed(strict) is None
    assert charts.errors(strict, 1).rows


def test_what_is_a_limit_is_rounded_up() -> None:
    guarantee = RACE.guarantee()
    for wrongly, limit, guess in charts.tradeoff(guarantee).rows:
        assert float(limit) >= 100 * guarantee.tradeoff(float(wrongly) / 100) - 1e-4
        assert float(guess) == float(wrongly)


def test_the_limit_speaks_of_all_reports_of_a_person() -> None:
    chart = charts.tradeoff(RACE.guarantee().for_reports(3))
    assert "3 reports" in chart.note
    assert "a report." in charts.tradeoff(RACE.guarantee()).note


@settings(deadline=None, max_examples=10)
@given(targets=st.integers(2, 300), delta=st.floats(1e-4, 0.9), audits=st.integers(1, 5), horizon=st.integers(1, 500))
def test_everything_is_drawn_inside_the_frame(targets: int, delta: float, audits: int, horizon: int) -> None:
    race, counters = Race.calibrate(targets, delta), CounterAuditing.calibrate(targets, delta, horizon)
    for mechanism, other in ((race, counters), (counters, race)):
        for chart in charts.plan_charts(mechanism, race.guarantee(), min(audits, targets), other):
            assert 3 <= len(chart.x_ticks) <= 6
            assert 2 <= len(chart.y_ticks) <= 6
            assert len({row[0] for row in chart.rows}) == len(chart.x_ticks)
            for line in chart.lines:
                for point in line.points.split():
                    x, y = map(float, point.split(","))
                    assert chart.left - 0.1 <= x <= chart.right + 0.1
                    assert 0 <= y <= chart.floor + 0.1


def test_more_reports_are_never_worse() -> None:
    for chart in (charts.errors(RACE, 2), charts.waits(COUNTERS, 1)):
        heights = [float(point.split(",")[1]) for point in chart.lines[0].points.split()]
        assert heights == sorted(heights)
        assert math.isfinite(heights[-1])
