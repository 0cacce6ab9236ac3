"""What a deadline takes, as the plan tells it: its figures against the simulation that stands beside them."""

import math

import pytest
from tests.planning.options import OFFICE

from deniable.errors import DeniableError
from deniable.mechanisms import calibrate
from deniable.planning import PLANNED, NotCovered, Office, VisitedShare, assess, assess_deadline
from deniable.planning.waits import simulated_share
from deniable.promptness import Deadline, cost


def test_calculated_and_simulated_agree() -> None:
    """Failure probability 1e-6, by Hoeffding's inequality; without the report, or with one round less, the same check
    fails.
    """
    runs, race, office = 12_000, calibrate("race", 10, 0.4), Office(10, delta=0.4, audits=2)
    found = simulated_share(race, office, 4, 1, runs=runs)
    assert found is not None
    share, off = found.visited / runs, math.sqrt(math.log(2e6) / (2 * runs))
    right, shorter = cost(race, Deadline(4), 2), cost(race, Deadline(3), 2)
    assert right is not None
    assert shorter is not None
    assert abs(right.visited.low - share) <= off
    assert abs(right.anyway.low - share) > off
    assert abs(shorter.visited.low - share) > off


def test_the_interval_holds_the_share() -> None:
    low, high = VisitedShare(90, 100).interval
    assert (round(low, 3), round(high, 3)) == (0.826, 0.945)  # Wilson's interval for 90 of 100, from his formula
    assert VisitedShare(100, 100).interval[1] == pytest.approx(1)
    assert VisitedShare(0, 100).interval[0] == pytest.approx(0)


def test_every_mechanism_is_compared_with_the_audits_that_race_needs() -> None:
    options = [assess(OFFICE, name, runs=4) for name in PLANNED]
    found = assess_deadline(OFFICE, Deadline(5), options, runs=4)
    by_id = {option.mechanism_id: option for option in found.options}
    assert found.audits == by_id["race"].audits_needed
    assert ("rr" in by_id) == (found.audits == 1)
    assert by_id["tca"].cost is None
    assert by_id["tca"].alone is not None
    assert by_id["race"].alone is None
    assert by_id["uniform"].audits_needed is not None
    assert by_id["uniform"].audits_needed >= found.audits


def test_what_the_horizon_is_too_near_for_is_not_simulated() -> None:
    office = Office(6, delta=0.1, horizon=10)
    assert simulated_share(calibrate("race", 6, 0.1), office, 6, 1, runs=4) is None


def test_a_deadline_that_the_rules_rule_out_is_refused() -> None:
    with pytest.raises(DeniableError, match="horizon"):
        assess_deadline(Office(6, delta=0.1, horizon=10), Deadline(11), [NotCovered("rr", "")], runs=4)
