"""Mechanism ids, and what calibrating each one needs."""

import pytest

import deniable as dn
from deniable.counters import COUNTERS
from deniable.mechanisms import MECHANISM_IDS, NEEDS, calibrate


def test_every_mechanism_is_listed_once() -> None:
    assert MECHANISM_IDS[:5] == ("greedy", "uniform", "rr", "tca", "race")
    assert set(MECHANISM_IDS[5:]) == {f"counter:{name}" for name in COUNTERS if name != "toeplitz"}
    assert calibrate("counter:toeplitz", 3, 0.1, 10) == calibrate("tca", 3, 0.1, 10)


@pytest.mark.parametrize("mechanism_id", NEEDS)
def test_ids_need_what_they_are_said_to_need(mechanism_id: str) -> None:
    needs = NEEDS[mechanism_id]
    calibrate(mechanism_id, 3, 0.1 if "delta" in needs else None, 10 if "horizon" in needs else None)
    if "delta" in needs:
        with pytest.raises(dn.DeniableError, match=f"delta is missing: {mechanism_id} needs a privacy level"):
            calibrate(mechanism_id, 3, None, 10)
    if "horizon" in needs:
        with pytest.raises(dn.DeniableError, match="needs a horizon"):
            calibrate(mechanism_id, 3, 0.1)


@pytest.mark.parametrize("mechanism_id", NEEDS)
def test_a_delta_that_is_given_is_checked(mechanism_id: str) -> None:
    with pytest.raises(dn.DeniableError, match=r"delta must be above 0 and below 1, got nan"):
        calibrate(mechanism_id, 3, float("nan"), 10)
