"""The least lead of any memoryless mechanism: the figures, their rounding, and mechanisms that beat it."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.promptness.memoryless import (
    Memoryless,
    chance,
    climbing,
    climbs,
    given_away,
    one_more,
    quickest,
    scattered,
    with_lead,
)

import deniable as dn
from deniable.errors import DeniableError
from deniable.mechanisms import Mechanism
from deniable.promptness import lead_needed, least_lead, most_chance
from deniable.promptness.least_lead import _Climb

ERRORS = (0.5, 0.1, 0.01)
TABLE = [
    (5, 0.1, (5, 12, 21), (6, 14, 22)),
    (50, 0.05, (26, 42, 60), (29, 45, 63)),
    (50, 0.1, (13, 21, 30), (15, 23, 32)),
    (50, 0.2, (7, 11, 15), (8, 12, 16)),
    (1000, 0.1, (24, 32, 41), (26, 34, 43)),
]


def least_leads() -> list[tuple[int, ...]]:
    return [tuple(least_lead(C, delta, error) for error in ERRORS) for C, delta, _, _ in TABLE]


def test_the_least_leads() -> None:
    assert least_leads() == [least for _, _, least, _ in TABLE]


@pytest.mark.parametrize(("n_targets", "delta", "leads"), [(C, delta, race) for C, delta, _, race in TABLE])
def test_the_leads_of_race(n_targets: int, delta: float, leads: tuple[int, ...]) -> None:
    race = dn.Race.calibrate(n_targets, delta)
    assert tuple(lead_needed(race, error=error) for error in ERRORS) == leads
    for error, lead in zip(ERRORS, leads, strict=True):
        missed = [
            Fraction((n_targets - 1) * none, (n_targets - 1) * none + some)
            for none, some in race.growth.exact(np.array([[0, lead], [0, lead - 1]])).tolist()
        ]
        assert missed[0] <= Fraction(str(error)) < missed[1]


def brute_force(chance: float, delta: float, longest: float = math.inf) -> float:
    """q* with every t that can matter, in plain floating point."""
    hazard = -math.log1p(-chance)
    t = np.arange(1, int(min(longest, math.ceil(-math.log(delta) / hazard))) + 1)
    left = np.exp(-hazard * t) - delta
    return float(-np.expm1(np.log(left[left > 0]) / t[left > 0]).max()) if left[0] > 0 else 1.0


def steps(start: float, goal: float, delta: float, longest: float) -> int:
    taken = 0
    while start < goal:
        start, taken = brute_force(start, delta, longest), taken + 1
    return taken


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 200), st.floats(0.02, 0.95), st.floats(0.01, 0.8), st.integers(1, 3), st.sampled_from([1, 2, 7, 0])
)
def test_the_steps_are_those_of_brute_force(
    n_targets: int, delta: float, error: float, audits: int, horizon: int
) -> None:
    audits, longest = min(audits, n_targets), horizon or math.inf
    expected = max(
        steps(audits / n_targets, 1 - error, delta, longest),
        steps((audits - 1 + error) / (n_targets - 1), (1 - error) / 2, delta, longest),
    )
    found = least_lead(n_targets, delta, error, audits=audits, horizon=horizon or None)
    assert found == expected or audits == n_targets


def is_most(chance: float, found: float, delta: float) -> bool:
    """Whether this is q*(p), or above it by one part in 10**12 at most; exactly, and with every t that can matter."""

    def most(filed: Fraction) -> Fraction:
        """The largest difference over all t."""
        left, filed_left, largest = Fraction(1), Fraction(1), Fraction(0)
        while left > Fraction(str(delta)):
            left, filed_left = left * (1 - Fraction(chance)), filed_left * (1 - filed)
            largest = max(largest, left - filed_left)
        return largest

    limit = Fraction(str(delta))
    return most(Fraction(found)) >= limit >= most(Fraction(found) * (1 - Fraction(1, 10**12)))


@pytest.mark.parametrize("delta", [0.05, 0.1, 0.3, 0.7])
@pytest.mark.parametrize("chance", [0.01, 0.02, 0.1, 0.25])
def test_a_chance_after_a_report_is_rounded_up_and_hardly(chance: float, delta: float) -> None:
    assert is_most(chance, most_chance(chance, delta), delta)


def test_the_best_number_of_rounds_lies_between_many() -> None:
    assert brute_force(0.001, 0.1) == pytest.approx(most_chance(0.001, 0.1), rel=1e-12)
    assert most_chance(0.001, 0.1, horizon=1) == pytest.approx(0.101)
    assert most_chance(0.001, 0.1, horizon=10**6) == most_chance(0.001, 0.1)
    assert most_chance(0.9, 0.1) == most_chance(1.0, 0.1) == 1.0


# Controls: the checks above see what is wrong.


def test_one_round_alone_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Climb, "_rounds", lambda *_: (1,))
    assert least_leads() != [least for _, _, least, _ in TABLE]
    assert not is_most(0.02, most_chance(0.02, 0.1), 0.1)


def test_the_step_of_race_is_no_upper_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    rho = dn.Race.calibrate(50, 0.1).rho
    monkeypatch.setattr(_Climb, "survival_after", lambda _, s, steps: Decimal(float(s) ** (rho**steps)))
    assert not is_most(0.02, most_chance(0.02, 0.1), 0.1)
    assert least_leads() != [least for _, _, least, _ in TABLE]


# Mechanisms that beat it, by exact enumeration.

SMALL = [(2, 0.25, 0.2, 2), (2, 0.25, 0.1, 3), (3, 0.25, 0.2, 3), (3, 0.1, 0.5, 2), (4, 0.3, 0.3, 2), (2, 0.1, 0.1, 7)]
"""Targets, delta, error and the least lead."""
LONGEST = {2: 9, 3: 6, 4: 5}
"""The rounds that are enumerated, at most."""


def misses_at_most(mechanism: Mechanism[Any], lead: int, error: Fraction) -> bool:
    one, two = (lead, *[0] * (mechanism.n_targets - 1)), (lead, lead, *[0] * (mechanism.n_targets - 2))
    return chance(mechanism, one) >= 1 - error and 2 * chance(mechanism, two) >= 1 - error


@pytest.mark.parametrize(("n_targets", "delta", "error", "least"), SMALL)
def test_a_mechanism_with_a_smaller_lead_breaks_its_delta(
    n_targets: int, delta: float, error: float, least: int
) -> None:
    assert least_lead(n_targets, delta, error) == least
    share, limit, lead = Fraction(str(error)), Fraction(str(delta)), least - 1
    rho = math.exp(math.log((n_targets - 1) * (1 - error) / error) / lead) * (1 + 1e-9)
    mechanisms: list[Mechanism[Any]] = [
        dn.Race(n_targets, rho),
        with_lead(n_targets, lead, share, climbing(n_targets, delta)),
        *(with_lead(n_targets, lead, share, scattered(seed)) for seed in range(8)),
    ]
    for mechanism in mechanisms:
        assert misses_at_most(mechanism, lead, share)
        found = quickest(mechanism, limit, lead, LONGEST[n_targets])
        assert found is not None
        assert given_away(mechanism, *found) > limit


@pytest.mark.parametrize(("n_targets", "delta", "error", "least"), SMALL)
def test_race_keeps_its_delta_with_its_lead(n_targets: int, delta: float, error: float, least: int) -> None:
    race = dn.Race.calibrate(n_targets, delta)
    lead = lead_needed(race, error=error)
    assert lead is not None
    assert least <= lead <= least + 3
    assert misses_at_most(race, lead, Fraction(str(error)) + Fraction(1, 10**12))
    assert quickest(race, Fraction(str(delta)), lead, longest=200) is None
    rounds = 4 if n_targets > 2 else 6
    assert max(given_away(race, held, rounds) for held in climbs(n_targets, lead)) <= Fraction(str(delta))


def test_what_climbs_as_fast_as_q_allows_keeps_delta_while_it_climbs() -> None:
    """So no more than this can be had from climbing alone."""
    fastest = Memoryless(3, climbing(3, 0.25))
    climb = [held for held in climbs(3, 2) if held[1] == 0]
    for held in climb:
        away = max((1 - chance(fastest, held)) ** t - (1 - chance(fastest, one_more(held))) ** t for t in range(1, 60))
        assert Fraction(1, 4) - Fraction(1, 10**9) < away <= Fraction(1, 4)


# Persons, audits and bad input.


def test_a_promise_about_a_person_is_one_about_steps_of_several_reports() -> None:
    one = least_lead(50, 0.1)
    assert [least_lead(50, 0.1, reports=k) for k in (1, 3)] == [one, 3 * (one - 1) + 1]
    race = dn.Race.calibrate(50, dn.calibration.race_delta_for_person(0.05, 3))
    needed = lead_needed(race)
    assert needed is not None
    assert least_lead(50, 0.1, reports=3) <= needed


@pytest.mark.parametrize("audits", [1, 2, 5, 19])
@pytest.mark.parametrize("delta", [0.02, 0.1, 0.5])
def test_race_is_never_below_it(audits: int, delta: float) -> None:
    needed = lead_needed(dn.Race.calibrate(20, delta), audits)
    assert needed is not None
    assert least_lead(20, delta, audits=audits) <= needed


def test_a_tiny_delta_takes_no_time_and_all_targets_no_lead() -> None:
    assert 23_000 < least_lead(50, 1e-4) <= 23_691  # by brute force
    assert least_lead(1_000_000, 1e-15, 0.001) > 10**15
    assert least_lead(4, 0.1, audits=4) == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: least_lead(1, 0.1), "n_targets"),
        (lambda: least_lead(5, 1.0), "delta"),
        (lambda: least_lead(5, 0.1, 1.0), "error must be in"),
        (lambda: least_lead(5, 0.1, audits=6), "audits must be at most"),
        (lambda: least_lead(5, 0.1, reports=0), "reports"),
        (lambda: least_lead(5, 0.1, horizon=0), "horizon"),
        (lambda: most_chance(0.0, 0.1), "chance must be above 0"),
    ],
)
def test_bad_input(call: object, words: str) -> None:
    with pytest.raises(DeniableError, match=words):
        call()  # type: ignore[operator]
