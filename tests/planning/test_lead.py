"""The lead needed, and the bound it comes from."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.mechanisms import calibrate
from deniable.planning import error_bound, lead_needed


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
        assert error_bound(mechanism, 1e9) > 0.05
    else:
        assert error_bound(mechanism, lead * (1 + 1e-9)) <= 0.05 + 1e-9
        if lead > 1:
            assert error_bound(mechanism, 0.99 * lead) > 0.05


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


def test_the_lead_of_race_ends_where_its_weights_end() -> None:
    """At a tiny delta the gap needed lies beyond the counts that race tells apart."""
    race = dn.Race.calibrate(50, 1e-4)
    assert lead_needed(race) is None
    assert error_bound(race, 10**6) == error_bound(race, race.growth.longest) > 0.5


def test_counters_are_not_said_to_beat_drawing_lots() -> None:
    """Runs of different ages have different noise, so at no lead a counter may miss more often than lots would."""
    assert error_bound(dn.CounterAuditing.calibrate(20, 0.1, horizon=100), 0, audits=19) > 0.05
