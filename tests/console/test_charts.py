import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.console import charts
from deniable.curves import Curve, TotalVariation
from deniable.guarantee import Guarantee
from deniable.languages.voice import plain
from deniable.mechanisms import CounterAuditing, Race
from deniable.promptness import lead_needed, passed_over, quiet_waits
from deniable.rules import Rules

RACE = Race.calibrate(50, 0.1)
COUNTERS = CounterAuditing.calibrate(50, 0.1, 1000)


def test_a_promise_that_no_lead_overcomes() -> None:
    strict = Race.calibrate(50, 1e-5)
    assert lead_needed(strict) is None
    assert charts.errors(strict, 1, None, plain()).rows[-1][0] == "5,000"


def test_tables_begin_with_small_numbers_and_have_the_figures_of_promptness() -> None:
    errors, waits = charts.errors(RACE, 3, COUNTERS, plain()), charts.waits(RACE, 3, COUNTERS, plain())
    assert waits is not None
    assert [row[0] for row in errors.rows[:4]] == [row[0] for row in waits.rows[:4]] == ["1", "3", "5", "10"]
    assert errors.rows[2][1] == f"{100 * passed_over(RACE, 5, 3):.0f}"
    assert [row[1] for row in waits.rows[:2]] == [str(wait) for wait in quiet_waits(RACE, 3, (1, 3)) or ()]
    assert errors.columns[2] == "counter auditing, 1,000 rounds, at most"
    assert len(waits.columns) == 3  # counter auditing has no formula here
    assert charts.waits(COUNTERS, 3, None, plain()) is None


def test_a_longest_gap_and_a_rest_change_the_waits_and_are_said() -> None:
    rules = Rules(60, 4)
    ruled = charts.waits(Race.calibrate(50, 0.1, rules=rules), 1, None, plain())
    free = charts.waits(RACE, 1, None, plain())
    assert ruled is not None
    assert free is not None
    assert ruled.rows != free.rows
    assert "No wait is longer than 60 rounds" in ruled.note
    assert "exact" in ruled.note
    counters = charts.waits(CounterAuditing.calibrate(50, 0.1, rules=rules), 1, None, plain())
    assert counters is not None
    assert counters.columns[1].endswith("at most")
    race = Race.calibrate(50, 0.1, rules=rules)
    errors = charts.errors(race, 1, CounterAuditing.calibrate(50, 0.1, rules=rules), plain())
    assert errors == charts.errors(race, 1, None, plain())  # nothing is proven about counters here
    assert "limit" in counters.note
    assert "rest" in charts.errors(Race.calibrate(50, 0.1, rules=rules), 1, None, plain()).note


@pytest.mark.parametrize(("max_gap", "cooldown"), [(None, 0), (60, 0), (None, 4), (60, 4)])
def test_a_rule_that_there_is_not_is_not_spoken_of(max_gap: int | None, cooldown: int) -> None:
    note = charts.errors(Race.calibrate(50, 0.1, rules=Rules(max_gap, cooldown)), 1, None, plain()).note
    assert ("the longest gap" in note) == (max_gap is not None)
    assert ("the rest" in note) == bool(cooldown)


def test_what_is_not_exact_is_not_called_so() -> None:
    weighted = Race.calibrate(3, 0.1, weights=[1.0, 2.0, 3.0])
    for chart in (
        charts.errors(weighted, 1, None, plain()),
        charts.waits(weighted, 1, None, plain()),
        charts.errors(COUNTERS, 1, None, plain()),
    ):
        assert chart is not None
        assert "exact" not in chart.note
    many = charts.waits(Race.calibrate(400, 0.1, rules=Rules(500)), 1, None, plain())
    assert many is not None
    assert "estimate" in many.note


@pytest.mark.parametrize("curve", [RACE.guarantee().curve, TotalVariation(0.1 + 1e-9)])
def test_what_is_a_limit_is_rounded_up(curve: Curve) -> None:
    guarantee = Guarantee(curve)
    for wrongly, limit, guess in charts.tradeoff(guarantee, plain()).rows:
        assert Fraction(limit) >= 100 * Fraction(guarantee.tradeoff(float(wrongly) / 100))
        assert float(guess) == float(wrongly)


def test_the_limit_speaks_of_all_reports_of_a_person() -> None:
    chart = charts.tradeoff(RACE.guarantee().for_reports(3), plain())
    assert "3 reports" in chart.note
    assert "a report." in charts.tradeoff(RACE.guarantee(), plain()).note


@settings(deadline=None, max_examples=10)
@given(targets=st.integers(2, 300), delta=st.floats(1e-4, 0.9), audits=st.integers(1, 5), horizon=st.integers(1, 500))
def test_everything_is_drawn_inside_the_frame(targets: int, delta: float, audits: int, horizon: int) -> None:
    race, counters = Race.calibrate(targets, delta), CounterAuditing.calibrate(targets, delta, horizon)
    for mechanism, other in ((race, counters), (counters, race)):
        for chart in charts.plan_charts(mechanism, race.guarantee(), min(audits, targets), other, plain()):
            assert 3 <= len(chart.x_ticks) <= 6
            assert 2 <= len(chart.y_ticks) <= 6
            assert len({row[0] for row in chart.rows}) == len(chart.rows) >= 3
            for line in chart.lines:
                for point in line.points.split():
                    x, y = map(float, point.split(","))
                    assert chart.left - 0.1 <= x <= chart.right + 0.1
                    assert 0 <= y <= chart.floor + 0.1


def test_more_reports_are_never_worse() -> None:
    for chart in (
        charts.errors(RACE, 2, None, plain()),
        charts.waits(RACE, 1, None, plain()),
        charts.errors(COUNTERS, 1, None, plain()),
    ):
        assert chart is not None
        heights = [float(point.split(",")[1]) for point in chart.lines[0].points.split()]
        assert heights == sorted(heights)
        assert math.isfinite(heights[-1])
