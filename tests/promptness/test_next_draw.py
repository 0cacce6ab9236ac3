import pytest

import deniable as dn
from deniable.promptness import FEW_REPORTS, chance_of_visit, in_per_cent, is_like_lots, passed_over


def test_without_reports_the_chance_is_that_of_a_lot() -> None:
    assert chance_of_visit(dn.Race.calibrate(50, 0.1), 0, 3) == pytest.approx(3 / 50)
    assert chance_of_visit(dn.Race.calibrate(50, 0.1, rules=dn.Rules(cooldown=5)), 0, 2) == pytest.approx(2 / 40)


@pytest.mark.parametrize("reports", FEW_REPORTS)
def test_the_chance_and_being_passed_over_are_all_there_is(reports: int) -> None:
    race = dn.Race.calibrate(50, 0.1)
    assert chance_of_visit(race, reports) + passed_over(race, reports) == pytest.approx(1)


@pytest.mark.parametrize(("delta", "expected"), [(0.013, True), (0.03, False)])
@pytest.mark.parametrize(("targets", "audits"), [(3, 1), (50, 1), (5000, 1), (50, 20)])
def test_whether_a_plan_is_like_lots_follows_from_the_promise(
    targets: int, audits: int, delta: float, expected: bool
) -> None:
    """With one audit a round it is the odds, and so no matter how many targets there are."""
    assert is_like_lots(dn.Race.calibrate(targets, delta), audits) == expected


def test_drawing_lots_is_like_lots_and_greedy_is_not() -> None:
    """Negative control."""
    assert is_like_lots(dn.UniformRandom(20))
    assert not is_like_lots(dn.Greedy(20))


@pytest.mark.parametrize("chance", [0.123456, 0.0999999, 0.02, 1 / 3, 1e-6, 0.9999])
def test_a_chance_is_rounded_down(chance: float) -> None:
    shown = float(in_per_cent(chance).removesuffix(" %"))
    assert shown <= 100 * chance + 1e-8
    assert 100 * chance - shown <= 0.1
    assert shown > 0
