"""The chance to be passed over, and the lead from which on it is small."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import deniable as dn
from deniable.counters import COUNTERS, GaussianCounter
from deniable.counters.blt import blt, decoder_coefficients
from deniable.counters.dense import dense
from deniable.mechanisms import Mechanism, calibrate
from deniable.promptness import (
    FEW_REPORTS,
    bounds_lead,
    chance_of_visit,
    decided_by_gap,
    in_per_cent,
    is_bound,
    is_like_lots,
    lead_needed,
    passed_over,
)
from deniable.promptness.lead import missed_with_claims
from deniable.simulation.noise import SimulationNoise
from deniable.utility import race_gap_needed, race_static_error, static_error


def by_enumeration(weights: list[Fraction], audits: int, claims: int = 0) -> Fraction:
    """P[the first target is not drawn], the last `claims` targets having to be, over all orders of draws."""
    due = set(range(len(weights) - claims, len(weights)))

    def missed(drawn: tuple[int, ...]) -> Fraction:
        if len(drawn) == audits:
            return Fraction(1)
        left = due - set(drawn)
        free = set(range(len(weights))) - set(drawn)
        eligible = left if len(left) == audits - len(drawn) else free
        total = sum((weights[c] for c in eligible), Fraction(0))
        return sum((weights[c] / total * missed((*drawn, c)) for c in eligible if c), Fraction(0))

    return missed(())


@pytest.mark.parametrize("audits", [1, 2, 3, 5])
def test_several_audits_are_drawn_one_after_the_other(audits: int) -> None:
    exact = by_enumeration([Fraction(4), *[Fraction(1)] * 4], audits)
    assert passed_over(dn.Race(5, 2.0), 2, audits) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(("others", "audits"), [(4, 1), (4, 2), (4, 3), (6, 1), (6, 2), (6, 3)])
def test_claims_of_the_longest_gap_leave_fewer_draws(others: int, audits: int) -> None:
    found = missed_with_claims(others, audits, 3.0)
    for claims in range(audits + 1):
        exact = by_enumeration([Fraction(3), *[Fraction(1)] * others], audits, claims)
        assert found[claims] == pytest.approx(float(exact), rel=1e-12)


def test_those_who_rest_are_out_of_the_draw() -> None:
    rules = dn.Rules(cooldown=2)
    exact = by_enumeration([Fraction(4), *[Fraction(1)] * 5], audits=2)
    assert passed_over(dn.Race(10, 2.0, rules=rules), 2, audits=2) == pytest.approx(float(exact), rel=1e-12)
    assert not is_bound(dn.Race(10, 2.0, rules=rules), 2)
    assert is_bound(dn.Race(5, 2.0, rules=rules), 2)  # too few to rest: at most this
    assert passed_over(dn.Race(5, 2.0, rules=rules), 2, audits=2) == passed_over(dn.Race(5, 2.0), 2, audits=2)


@pytest.mark.parametrize("lead", [0, 1, 16, 40])
def test_race_with_one_audit_is_as_in_the_static_sweep(lead: int) -> None:
    race = dn.Race.calibrate(50, 0.1)
    assert passed_over(race, lead) == pytest.approx(race_static_error(lead, 50, race.rho), rel=1e-12)
    assert lead_needed(race) == math.ceil(race_gap_needed(0.05, 50, race.rho))


def test_randomized_response_chooses_the_leader_or_draws_lots() -> None:
    rr = dn.RandomizedResponse(10, 0.7, rules=dn.Rules(cooldown=3))
    assert passed_over(rr, 1) == pytest.approx(0.7 * 6 / 7)
    assert passed_over(rr, 0) == pytest.approx(6 / 7)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["race", "tca", "rr", "greedy", "uniform", "counter:tree"]),
    st.integers(2, 60),
    st.floats(0.01, 0.9),
    st.integers(1, 4),
    st.integers(0, 3),
)
def test_the_lead_needed_is_the_least_that_is_enough(
    mechanism_id: str, n_targets: int, delta: float, audits: int, cooldown: int
) -> None:
    mechanism = calibrate(mechanism_id, n_targets, delta, 30, rules=dn.Rules(cooldown=cooldown))
    audits = 1 if mechanism_id == "rr" else min(audits, n_targets)
    lead = lead_needed(mechanism, audits)
    if lead is None:
        assert passed_over(mechanism, 10**9, audits) > 0.05
    else:
        assert passed_over(mechanism, lead, audits) <= 0.05 + 1e-9
        assert lead == 0 or passed_over(mechanism, lead - 1, audits) > 0.05


def test_known_leads() -> None:
    assert lead_needed(dn.Greedy(50)) == 1
    assert lead_needed(dn.UniformRandom(50)) is None
    assert lead_needed(dn.UniformRandom(20), audits=19) == 0
    assert all(lead_needed(calibrate(name, 5, 0.1, 10), audits=5) == 0 for name in ("greedy", "race", "tca"))


def test_the_lead_of_race_ends_where_its_weights_end() -> None:
    """At a tiny delta the lead needed lies beyond the counts that race tells apart."""
    race = dn.Race.calibrate(50, 1e-4)
    assert lead_needed(race) is None
    assert passed_over(race, 10**6) == passed_over(race, race.growth.longest) > 0.5


# Counters


def simulated(mechanism: Mechanism[Any], lead: int, audits: int, runs: int, warm_up: int) -> float:
    """The share of runs in which the leader, a target that is not resting, is passed over."""
    noise, state = SimulationNoise(seed=1), mechanism.init(runs)
    reports = np.zeros((runs, mechanism.n_targets), dtype=np.int64)
    for _ in range(warm_up):
        _, state = mechanism.step(state, reports, noise, audits)
    free = (state.history.audits == 0) | (state.history.since >= mechanism.rules.cooldown)
    leader = np.argmax(free * np.random.default_rng(2).random(free.shape), axis=1)
    reports[np.arange(runs), leader] = lead
    drawn, _ = mechanism.step(state, reports, noise, audits)
    return float((drawn != leader[:, None]).all(axis=1).mean())


COUNTER_CASES = [(1, dn.Rules()), (3, dn.Rules()), (1, dn.Rules(cooldown=9)), (3, dn.Rules(cooldown=4))]


@pytest.mark.parametrize(("audits", "rules"), COUNTER_CASES)
def test_counters_pass_the_leader_over_no_more_often_than_is_said(audits: int, rules: dn.Rules) -> None:
    """Failure probability below 1e-6: 4.9 standard errors of the runs; a quarter of the lead is caught by the check."""
    runs, warm_up = 1000, 30
    mechanism = dn.CounterAuditing.calibrate(20, 0.2, 80, "blt", rules=rules)
    width = 4.9 * math.sqrt(0.25 / runs)
    needed = lead_needed(mechanism, audits)
    assert needed is not None
    for lead in (0, 5, needed // 2, needed):
        assert simulated(mechanism, lead, audits, runs, warm_up) <= passed_over(mechanism, lead, audits) + width
    assert simulated(mechanism, needed // 4, audits, runs, warm_up) > 0.05 + width


def test_a_long_rest_makes_the_lead_longer() -> None:
    """Only two targets are free in a round, and theirs are the longest runs. Failure probability below 1e-6: 4.9
    standard errors of the runs. The limit for "free and passed over", which never divides by the probability to be
    free, is caught by the check.
    """
    C, runs = 40, 10_000
    mechanism = dn.CounterAuditing.calibrate(C, 0.1, C, "blt", rules=dn.Rules(cooldown=C - 2))
    missed = simulated(mechanism, 25, 1, runs, C - 1)
    assert missed > 0.0431 + 4.9 * math.sqrt(0.0431 / runs)  # the limit for both, which made 25 the lead
    assert missed <= passed_over(mechanism, 25) + 4.9 * math.sqrt(0.25 / runs)
    needed = lead_needed(mechanism)
    assert needed is not None
    assert needed > 25
    assert simulated(mechanism, needed, 1, runs, C - 1) <= 0.05 + 4.9 * math.sqrt(0.05 / runs)


@pytest.mark.parametrize(
    ("n_targets", "audits", "rules"),
    [(20, 1, dn.Rules(max_gap=26)), (20, 3, dn.Rules(max_gap=26, cooldown=4)), (5, 1, dn.Rules(cooldown=5))],
)
def test_counters_have_no_lead_where_it_is_not_known_how_often_a_target_is_free(
    n_targets: int, audits: int, rules: dn.Rules
) -> None:
    mechanism = dn.CounterAuditing.calibrate(n_targets, 0.2, 26, "blt", rules=rules)
    assert not bounds_lead(mechanism, audits)
    assert lead_needed(mechanism, audits) is None
    lots = dn.UniformRandom(n_targets, rules=rules)
    assert passed_over(mechanism, 1000, audits) == pytest.approx(passed_over(lots, 0, audits))
    assert bounds_lead(lots, audits)
    assert bounds_lead(mechanism, n_targets)
    assert lead_needed(mechanism, n_targets) == 0


def test_the_formula_that_ignores_the_longest_gap_is_no_bound() -> None:
    """Negative control: how often a leader of fixed runs is missed, as was printed before."""
    mechanism = dn.CounterAuditing.calibrate(20, 0.2, None, "blt", rules=dn.Rules(max_gap=26))
    assert isinstance(mechanism.counter, GaussianCounter)
    runs = 4000
    noise, state = SimulationNoise(seed=1), mechanism.init(runs)
    reports = np.zeros((runs, 20), dtype=np.int64)
    for _ in range(60):
        _, state = mechanism.step(state, reports, noise)
    reports[:, 0] = 40
    drawn, _ = mechanism.step(state, reports, noise)
    missed = float((drawn != 0).mean())
    assert missed > static_error(40, 20, mechanism.counter.max_error) + 4.9 * math.sqrt(0.25 / runs)


@pytest.mark.parametrize("name", ["toeplitz", "tree", "input_perturbation", "output_perturbation"])
def test_the_noise_of_a_run_is_not_negatively_correlated(name: str) -> None:
    """As the proof needs. Failure probability below 1e-6 at 6 standard errors of 4,000 runs, for 28 pairs; noise that
    is turned over in every other round is caught by the same check.
    """
    runs, rounds = 4000, 8
    counter = COUNTERS[name](0.1, rounds)
    noise, state, shown = SimulationNoise(seed=3), counter.init(runs, 1), []
    for _ in range(rounds):
        out, state = counter.step(state, np.zeros((runs, 1), dtype=np.int64), noise)
        shown.append(out[:, 0])
    width = 6 / math.sqrt(runs)
    assert np.corrcoef(np.array(shown)).min() > -width
    if name != "output_perturbation":  # whose rounds are independent
        assert np.corrcoef(np.array(shown) * (-1.0) ** np.arange(rounds)[:, None]).min() < -width


def test_the_decoder_of_the_blt_counter_is_positive() -> None:
    """So its noise is positively correlated too."""
    counter = blt(0.1, 500)
    assert (decoder_coefficients(500, counter.theta, counter.omega) > 0).all()


def test_a_long_horizon_takes_no_longer_and_is_still_a_bound() -> None:
    short, long = (dn.CounterAuditing.calibrate(50, 0.1, horizon) for horizon in (500, 1_000_000))
    assert isinstance(short.counter, GaussianCounter)
    assert lead_needed(short) < lead_needed(long)  # type: ignore[operator]
    assert isinstance(long.counter, GaussianCounter)
    std = long.counter.error_std()
    lead = 150
    above = ndtr(-lead / np.hypot(std[-1], std))
    each = 49 * float(above[-1] + (above.sum() - above[-1]) / 50)
    assert each < passed_over(long, lead) < 1.05 * each < 0.98


def test_a_counter_of_ones_own_has_no_lead() -> None:
    class Own:
        horizon = 5

        def guarantee(self) -> None: ...
        def init(self) -> None: ...
        def step(self) -> None: ...
        def restart(self) -> None: ...

    with pytest.raises(dn.DeniableError, match="lead is not known"):
        passed_over(dn.CounterAuditing(3, Own()), 1)  # type: ignore[arg-type]


def test_a_dense_counter_has_a_lead_if_its_noise_is_not_negatively_correlated() -> None:
    """Decoders whose second row turns the first one's noise over, or keeps it; both encoders add up to all ones."""
    over = dn.CounterAuditing(3, dense(0.1, decoder=[[1.0, 0.0], [-0.5, 1.0]], encoder=[[1.0, 0.0], [1.5, 1.0]]))
    with pytest.raises(dn.DeniableError, match="lead is not known for your own counter, DenseCounter"):
        passed_over(over, 1)
    kept = dn.CounterAuditing(3, dense(0.1, decoder=[[1.0, 0.0], [0.5, 1.0]], encoder=[[1.0, 0.0], [0.5, 1.0]]))
    assert lead_needed(kept) is not None
    zero = dn.CounterAuditing(3, dense(0.1, decoder=[[1.0, 0.0], [0.0, 1.0]], encoder=[[1.0, 0.0], [1.0, 1.0]]))
    assert lead_needed(zero) is not None


# The longest gap


@pytest.mark.parametrize(
    ("audits", "rules"), [(1, dn.Rules(14)), (3, dn.Rules(5, 1)), (1, dn.Rules(12)), (2, dn.Rules(9, 3))]
)
@pytest.mark.parametrize("mechanism_id", ["race", "uniform", "tca"])
def test_the_longest_gap_decides_no_larger_share(mechanism_id: str, audits: int, rules: dn.Rules) -> None:
    """In 200 runs of 300 rounds; the bound is deterministic but for the ends of the runs, a run each."""
    mechanism = calibrate("counter:blt" if mechanism_id == "tca" else mechanism_id, 12, 0.1, None, rules=rules)
    runs, rounds = 200, 300
    noise, state, decided = SimulationNoise(seed=5), mechanism.init(runs), 0
    reports = np.zeros((runs, 12), dtype=np.int64)
    for _ in range(rounds):
        last = np.equal(state.history.since, rules.max_gap - 1)  # type: ignore[operator]
        drawn, state = mechanism.step(state, reports, noise, audits)
        decided += int(np.take_along_axis(last, drawn, axis=1).sum())
    share = decided / (runs * rounds * audits)
    bound = decided_by_gap(12, audits, rules)
    assert share <= bound + 2 * 12 / (rounds * audits)
    assert share > bound / 3  # it is not far off, and half of it would not do
    assert decided_by_gap(12, audits, dn.Rules()) == 0


def test_a_longest_gap_without_slack_decides_everything() -> None:
    assert decided_by_gap(12, 3, dn.Rules(4)) == 1
    assert decided_by_gap(12, 3, dn.Rules(4, cooldown=3)) == 1


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
