"""What a mechanism promises for reports of different weight."""

from typing import Any

import pytest
from tests.attack.controls import FreshOffsets

import deniable as dn
from deniable.curves import Exponential, Gaussian, TotalVariation
from deniable.mechanisms import MECHANISM_IDS, Mechanism, calibrate

EVERY = [pytest.param(calibrate(name, 4, 0.1, 20), id=name) for name in MECHANISM_IDS]


@pytest.mark.parametrize("mechanism", EVERY)
def test_weights_of_one_are_plain_reports(mechanism: Mechanism[Any]) -> None:
    assert mechanism.guarantee_for([1]) == mechanism.guarantee()
    assert mechanism.guarantee_for([1, 1, 1]) == mechanism.guarantee().for_reports(3)


@pytest.mark.parametrize("mechanism", EVERY)
def test_a_report_of_weight_three_is_one_report(mechanism: Mechanism[Any]) -> None:
    heavy = mechanism.guarantee_for([3])
    assert (heavy.reports, heavy.filed, heavy.horizon) == (1, "a report of weight 3", mechanism.guarantee().horizon)
    words = heavy.in_words()
    assert "3 reports" not in words or "3 reports of weight 3" in words
    assert mechanism.guarantee().delta <= heavy.delta <= mechanism.guarantee().for_reports(3).delta
    # Three of them together: the weights add up, in whatever way one gets there.
    assert heavy.for_reports(3).delta == pytest.approx(mechanism.guarantee_for([3, 3, 3]).delta, abs=1e-12)
    assert mechanism.guarantee_for([3, 3]).filed == "2 reports of weight 3"
    assert mechanism.guarantee_for([1, 3, 1]).filed == "3 reports of weights 1, 3 and 1"


def test_race_has_the_power_and_counters_the_multiple() -> None:
    race = dn.Race(4, 1.5)
    assert race.guarantee_for([3]).curve == Exponential(1.5**3)
    assert race.guarantee_for([2, 1]).likelihood_cap == 1.5**3
    assert round(dn.Race.calibrate(4, 0.1).guarantee_for([3]).delta, 3) == 0.293
    tca = dn.CounterAuditing.calibrate(4, 0.1, horizon=20)
    one, three = tca.guarantee().curve, tca.guarantee_for([3]).curve
    assert isinstance(one, Gaussian)
    assert isinstance(three, Gaussian)
    assert three.mu == pytest.approx(3 * one.mu)
    own = dn.CounterAuditing(4, FreshOffsets(20, width=8))
    assert own.guarantee_for([3]).curve == TotalVariation(3 / 8)


def test_the_weight_makes_no_difference_to_randomized_response_and_uniform() -> None:
    rr = dn.RandomizedResponse.calibrate(4, 0.1)
    assert rr.guarantee_for([100]).curve == rr.guarantee().curve
    assert rr.guarantee_for([100, 3]).curve == rr.guarantee().for_reports(2).curve
    assert dn.UniformRandom(4).guarantee_for([100]).delta == 0


@pytest.mark.parametrize("weights", [[], [0], [1.5], [1, -1], [True]])
def test_weights_are_whole_numbers_from_one_on(weights: list[int]) -> None:
    with pytest.raises(dn.DeniableError, match="weight"):
        dn.Race(4, 2.0).guarantee_for(weights)


@pytest.mark.parametrize("name", ["step", "draw", "guarantee"])
def test_a_field_does_not_replace_a_method(name: str) -> None:
    with pytest.raises(dn.DeniableError, match=rf"^Ramp cannot have a field named {name}: .*choose another name$"):
        type("Ramp", (dn.Race,), {"__annotations__": {name: float}, name: 0.5})
