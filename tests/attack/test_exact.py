"""Exact privacy loss over adjacent streams: what is proven holds, and what is broken is caught."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.attack.controls import (
    CoinCounter,
    FreshOffsets,
    RaceForecastingFromCounts,
    RaceTakingReportsForAudits,
    RaceWithoutReset,
    UniformOffset,
)
from tests.attack.courses import laws_of_streams

import deniable as dn
from deniable.arrays import IntArray
from deniable.attack.exact import (
    likelihood_ratio,
    outcomes,
    total_variation,
    transcript_distribution,
)
from deniable.calibration import rr_necessary_p_rand
from deniable.counters import Counter
from deniable.curves import TotalVariation
from deniable.guarantee import Guarantee
from deniable.mechanisms import Mechanism
from deniable.noise import Noise
from deniable.streams import add_report

Worst = tuple[Fraction, float | Fraction]

EVERY_DAY = 8
"""Random pairs of streams for each mechanism; the long tests have many more."""


def all_pairs(n_targets: int, rounds: int, most: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Every stream with entries 0..most, each with every adjacent stream that has one report more."""
    for cells in itertools.product(range(most + 1), repeat=n_targets * rounds):
        stream = np.array(cells).reshape(rounds, n_targets)
        for t, c in np.ndindex(stream.shape):
            yield stream, add_report(stream, t, c)


def random_pairs(n_targets: int, rounds: int, pairs: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Quiet and busy streams, half of them with a tie or a runner-up one behind."""
    rng = np.random.default_rng(20260101)
    for _ in range(pairs):
        stream = rng.poisson(rng.choice([0.1, 0.5, 1, 3]), (rounds, n_targets))
        yield stream, add_report(stream, int(rng.integers(rounds)), int(rng.integers(n_targets)))


def worst(mechanism: Mechanism[Any], pairs: Iterator[tuple[IntArray, IntArray]], audits: int = 1) -> Worst:
    """The largest total variation, and the largest likelihood ratio of filed against not filed."""
    law = laws_of_streams(mechanism, audits)
    variation: Fraction = Fraction(0)
    ratio: float | Fraction = Fraction(1)
    for without, filed in pairs:
        two = law(filed), law(without)
        variation = max(variation, total_variation(*two))
        ratio = max(ratio, likelihood_ratio(*two))
    return variation, ratio


def assert_private(mechanism: Mechanism[Any], found: Worst) -> None:
    guarantee = mechanism.guarantee()
    assert found[0] <= guarantee.delta
    assert found[1] <= guarantee.likelihood_cap


CLAIMS = [
    pytest.param(lambda c, _: dn.Race.calibrate(c, 0.1), id="race-0.1"),
    pytest.param(lambda c, _: dn.Race(c, 3.0), id="race-rho-3"),
    pytest.param(lambda c, t: dn.RandomizedResponse.calibrate(c, 0.1, horizon=t), id="rr-0.1"),
    pytest.param(lambda c, _: dn.RandomizedResponse.calibrate(c, 0.5), id="rr-0.5-no-horizon"),
    pytest.param(lambda c, _: dn.UniformRandom(c), id="uniform"),
]


@pytest.mark.parametrize("make", CLAIMS)
@pytest.mark.parametrize("most", [1, pytest.param(2, marks=pytest.mark.long)])
def test_bounds_hold_on_all_small_streams(make: Any, most: int) -> None:
    mechanism = make(2, 3)
    assert_private(mechanism, worst(mechanism, all_pairs(2, 3, most)))


@pytest.mark.parametrize("make", CLAIMS)
@pytest.mark.parametrize(("n_targets", "rounds"), [(2, 6), (3, 4)])
def test_bounds_hold_on_random_streams(make: Any, n_targets: int, rounds: int) -> None:
    mechanism = make(n_targets, rounds)
    assert_private(mechanism, worst(mechanism, random_pairs(n_targets, rounds, pairs=EVERY_DAY)))


BEYOND = [
    pytest.param(dn.Race(2, 2.0, rules=dn.Rules(max_gap=3)), 4, 1, id="race-max-gap"),
    pytest.param(dn.Race(3, 2.0, rules=dn.Rules(max_gap=4, cooldown=1)), 4, 1, id="race-max-gap-cooldown"),
    pytest.param(dn.Race(3, 2.0), 3, 2, id="race-two-audits"),
    pytest.param(dn.Race(3, 2.0, rules=dn.Rules(max_gap=2)), 3, 2, id="race-two-audits-max-gap"),
    pytest.param(dn.Race(3, 2.0, (1.0, 3.0, 0.2)), 4, 1, id="race-weights"),
    pytest.param(dn.Race(2, 2.0, dn.forecast), 6, 1, id="race-forecast"),
    pytest.param(dn.Race(3, 2.0, dn.forecast, rules=dn.Rules(cooldown=1)), 4, 1, id="race-forecast-cooldown"),
    pytest.param(dn.Race(2, 2.0, dn.steady_forecast), 6, 1, id="race-steady-forecast"),
    pytest.param(dn.Race(3, 2.0, dn.steady_forecast, rules=dn.Rules(cooldown=1)), 4, 1, id="race-steady-cooldown"),
    pytest.param(
        dn.RandomizedResponse.calibrate(3, 0.3, rules=dn.Rules(max_gap=4, cooldown=1)), 4, 1, id="rr-max-gap-cooldown"
    ),
]


@pytest.mark.parametrize(("mechanism", "rounds", "audits"), BEYOND)
def test_bounds_hold_with_rules_weights_and_several_audits(mechanism: Mechanism[Any], rounds: int, audits: int) -> None:
    assert_private(mechanism, worst(mechanism, random_pairs(mechanism.n_targets, rounds, pairs=EVERY_DAY), audits))


@pytest.mark.long
@pytest.mark.parametrize(("mechanism", "rounds", "audits"), BEYOND)
def test_bounds_hold_with_rules_and_many_streams(mechanism: Mechanism[Any], rounds: int, audits: int) -> None:
    assert_private(mechanism, worst(mechanism, random_pairs(mechanism.n_targets, rounds, pairs=500), audits))


@pytest.mark.parametrize(
    "control",
    [
        RaceForecastingFromCounts(2, 1.3),
        RaceTakingReportsForAudits(2, 1.3, dn.forecast),
        RaceTakingReportsForAudits(2, 1.3, dn.steady_forecast),
    ],
)
def test_weights_forecast_from_private_counts_are_caught(control: dn.Race) -> None:
    found = worst(control, random_pairs(2, 5, pairs=EVERY_DAY))
    assert found[0] > 1.5 * control.guarantee().delta
    assert found[1] > control.guarantee().likelihood_cap


@pytest.mark.long
@pytest.mark.parametrize("make", CLAIMS)
@pytest.mark.parametrize(("n_targets", "rounds"), [(2, 6), (3, 4)])
def test_bounds_hold_on_many_random_streams(make: Any, n_targets: int, rounds: int) -> None:
    mechanism = make(n_targets, rounds)
    assert_private(mechanism, worst(mechanism, random_pairs(n_targets, rounds, pairs=1000)))


def test_race_comes_close_to_its_bounds() -> None:
    """The checker is not vacuous: a lone report against busy rivals uses most of delta and nearly all of rho."""
    race = dn.Race(2, 2.0)
    stream = np.array([[2, 0]] * 9)
    filed, without = (transcript_distribution(race, s) for s in (add_report(stream, 0, 1), stream))
    assert 0.8 * race.guarantee().delta < total_variation(filed, without) <= race.guarantee().delta
    assert 1.5 < likelihood_ratio(filed, without) <= 2.0
    assert likelihood_ratio(without, filed) > 2.0  # the other direction is not capped: transcripts exonerate


def test_greedy_is_caught() -> None:
    found = worst(dn.Greedy(2), all_pairs(2, 3, most=1))
    assert found[0] >= Fraction(7, 8)  # more than 1 - 1/C of app:prop:greedy_no_privacy
    assert found[1] == math.inf


def test_greedy_leaks_almost_everything_in_eight_rounds() -> None:
    """A rival with one report a round: only filing explains that the other target is audited first."""
    rival = np.array([[0, 1]] * 8)
    filed, without = (transcript_distribution(dn.Greedy(2), s) for s in (add_report(rival, 0, 0), rival))
    assert total_variation(filed, without) == 1 - Fraction(1, 2**8)


def test_randomized_response_below_its_necessary_bound_is_caught() -> None:
    """`thm:RR_tradeoff`: the pair of its proof, all-zero against one report in round 1."""
    delta = 0.2
    for n_targets in (2, 3):
        least = rr_necessary_p_rand(delta, n_targets)
        stream = np.zeros((2, n_targets), dtype=np.int64)
        for p_rand, caught in [(least - 0.01, True), (1 - delta / n_targets, False)]:
            rr = dn.RandomizedResponse(n_targets, p_rand)
            laws = (transcript_distribution(rr, s) for s in (add_report(stream, 0, 0), stream))
            assert (total_variation(*laws) > delta) == caught


@pytest.mark.parametrize(
    ("uniform_ties", "quiet", "leak"),
    [
        pytest.param(False, [[0, 0], [0, 0], [0, 0]], Fraction(31, 81), id="ties-to-the-lowest"),
        pytest.param(True, [[0, 1], [1, 0], [1, 0]], Fraction(221, 648), id="uniform-ties"),
    ],
)
def test_uniform_offset_is_caught(uniform_ties: bool, quiet: list[list[int]], leak: Fraction) -> None:
    """Claims 1/3; survival truncates the offset's posterior, and enumeration shows the leak."""
    control = UniformOffset(2, width=3, uniform_ties=uniform_ties)
    laws = (transcript_distribution(control, s) for s in (add_report(quiet, 1, 1), quiet))
    assert total_variation(*laws) == leak > Fraction(1, 3)
    assert worst(control, all_pairs(2, 3, most=max(map(max, quiet))))[0] == leak > control.guarantee().delta


Outputs = tuple[float, ...]


def run_law(counter: Counter[Any], reports: list[int]) -> dict[Outputs, Fraction]:
    """The law of what one instance shows over one run."""

    def shown(noise: Noise) -> Outputs:
        state, shown = counter.init(1, 1), []
        for count in reports:
            output, state = counter.step(state, np.array([[count]]), noise)
            shown.append(float(output[0, 0]))
        return tuple(shown)

    law: dict[Outputs, Fraction] = {}
    for noise, outputs in outcomes(shown):
        law[outputs] = law.get(outputs, Fraction(0)) + noise.probability
    assert sum(law.values()) == 1
    return law


def given_the_past(counter: Counter[Any], rounds: int) -> tuple[Fraction, Fraction]:
    """A report in the last of so many rounds of a run without other reports: what the outputs of the whole run tell,
    and what those of the last round tell in the worst case of what was shown before.
    """
    with_it, without = (run_law(counter, [0] * (rounds - 1) + [last]) for last in (1, 0))
    distances: dict[Outputs, Fraction] = {}
    chances: dict[Outputs, Fraction] = {}
    for outputs in with_it.keys() | without.keys():
        past = outputs[:-1]
        difference = abs(with_it.get(outputs, Fraction(0)) - without.get(outputs, Fraction(0))) / 2
        distances[past] = distances.get(past, Fraction(0)) + difference
        chances[past] = chances.get(past, Fraction(0)) + without.get(outputs, Fraction(0))
    return sum(distances.values(), Fraction(0)), max(distances[past] / chances[past] for past in distances)


def last_round_leak(counter: Counter[Any], rounds: int) -> Fraction:
    quiet = np.zeros((rounds, 2), dtype=np.int64)
    mechanism = dn.CounterAuditing(2, counter)
    return total_variation(*(transcript_distribution(mechanism, s) for s in (add_report(quiet, rounds - 1, 0), quiet)))


def test_a_counter_that_is_private_over_one_run_alone_is_caught() -> None:
    """`prop:privacy_reduction` asks for too little: which coin is in play was selected by what it showed."""
    tenth = Fraction(1, 10)
    assert given_the_past(CoinCounter(3, tenth), rounds=3) == (tenth, Fraction(1))
    assert last_round_leak(CoinCounter(1, tenth), 1) == Fraction(19, 200)
    assert last_round_leak(CoinCounter(2, tenth), 2) == Fraction(271, 2000) > tenth
    leak = last_round_leak(CoinCounter(8, tenth), 8)
    assert round(float(leak), 3) == 0.306
    assert leak <= tenth * Fraction(9, 2)  # delta for every run of the target that has begun, 1 + 7/2 on average


def test_a_counter_that_is_private_given_its_past_passes() -> None:
    counter = FreshOffsets(3, width=3)
    assert given_the_past(counter, rounds=3) == (Fraction(1, 3), Fraction(1, 3))
    found = worst(dn.CounterAuditing(2, counter), all_pairs(2, 2, most=1))
    assert Fraction(1, 5) < found[0] <= Fraction(1, 3)


@dataclass(frozen=True)
class OneLargeStep(dn.Greedy):
    """A race with weight 5 without reports and 12 with any: a step of 12/5 once, and none after it."""

    def guarantee(self) -> Guarantee:
        return Guarantee(TotalVariation(0.25))

    def draw(self, tallied: IntArray, eligible: Any, history: Any, noise: Noise) -> IntArray:
        return noise.race(FiveOrTwelve(), tallied, eligible.astype(np.int64))


class FiveOrTwelve:
    def exact(self, counts: IntArray) -> Any:
        return np.where(counts > 0, 12, 5).astype(object)

    def log(self, counts: IntArray) -> Any:
        return np.log(np.where(counts > 0, 12, 5))


def test_a_step_above_rho_can_be_private_where_the_rivals_weight_is_bounded() -> None:
    """Why docs/explanation/race.md calls `rho**n` sharp only where the rivals' weight has no bound."""
    assert worst(OneLargeStep(2), all_pairs(2, 3, most=1))[0] == Fraction(287, 1156) < dn.Race(2, 2.0).guarantee().delta
    # One rival more, and the same step breaks the bound.
    busy = np.array([[0, 1, 1]] * 3)
    laws = (transcript_distribution(OneLargeStep(3), s) for s in (add_report(busy, 0, 0), busy))
    assert total_variation(*laws) > 0.25


def test_race_without_reset_is_caught() -> None:
    control = RaceWithoutReset(2, 3.0)
    found = worst(control, all_pairs(2, 4, most=0))
    assert found[1] > control.guarantee().likelihood_cap


def test_law_of_race_by_hand() -> None:
    """Weights (3, 1) in round 1; then (1, 3) if target 0 was reset, (3, 3) if target 1 was."""
    assert transcript_distribution(dn.Race(2, 3.0), [[1, 0], [0, 1]]) == {
        (0, 0): Fraction(3, 4) * Fraction(1, 4),
        (0, 1): Fraction(3, 4) * Fraction(3, 4),
        (1, 0): Fraction(1, 4) * Fraction(1, 2),
        (1, 1): Fraction(1, 4) * Fraction(1, 2),
    }


def test_law_sums_to_one() -> None:
    for mechanism in (dn.Greedy(3), dn.RandomizedResponse(3, 0.9), dn.Race(3, 1.7)):
        assert sum(transcript_distribution(mechanism, np.ones((3, 3))).values()) == 1


def test_what_cannot_be_enumerated_is_refused() -> None:
    with pytest.raises(dn.DeniableError, match="cannot be enumerated"):
        transcript_distribution(dn.CounterAuditing.calibrate(2, 0.1, horizon=3), [[1, 0]])
    with pytest.raises(dn.DeniableError, match="enumerate fewer"):
        transcript_distribution(dn.Greedy(10), np.zeros((8, 10)))
    with pytest.raises(dn.DeniableError, match="shape"):
        transcript_distribution(dn.Greedy(2), np.zeros((0, 2)))


class Sloppy(dn.Race):
    """Weights that are no integers: the exact path would refuse them, so must the checker."""

    @property
    def growth(self) -> Any:
        return Halves()


class Halves:
    def exact(self, counts: IntArray) -> Any:
        return (1.5**counts).astype(object)


@dataclass(frozen=True)
class DrawsElsewhere(dn.Greedy):
    def tally(self, private: IntArray, reports: IntArray, noise: Noise) -> tuple[IntArray, IntArray]:
        return super().tally(private, reports + np.random.default_rng().integers(0, 1000, reports.shape), noise)


def test_the_checker_refuses_what_it_could_not_enumerate_truly() -> None:
    with pytest.raises(dn.DeniableError, match="positive Python integer"):
        transcript_distribution(Sloppy(2, 1.5), [[1, 0]])
    with pytest.raises(dn.DeniableError, match="from its noise alone"):
        transcript_distribution(DrawsElsewhere(2), [[1, 0]])


def test_several_audits_have_tuples_in_the_transcript() -> None:
    law = transcript_distribution(dn.Greedy(3), [[2, 1, 0]], audits=2)
    assert law == {((0, 1),): Fraction(1)}
