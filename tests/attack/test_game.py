"""The game: its bounds hold, broken mechanisms are flagged and right ones are not."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, binomtest
from tests.attack.controls import (
    BROKEN_COUNTERS,
    CappedRace,
    CountsTwice,
    DrawsOnTiesAlone,
    EagerRandomizedResponse,
    LooseRace,
    OverruledRace,
    RaceForecastingFromCounts,
    RaceWithoutReset,
    SharesNoise,
    UniformOffset,
    broken_counter_auditing,
)

import deniable as dn
from deniable.arrays import FloatArray, IntArray
from deniable.attack import (
    OWN_TARGET,
    BlackBox,
    ClosedForm,
    Enumeration,
    LeakEstimate,
    Pair,
    Particles,
    Score,
    UnsuitableError,
    View,
    find_worst,
    game,
    hard_pairs,
    moved_pairs,
    moved_report,
    play,
    report_at,
    search,
)
from deniable.attack.bounds import measure
from deniable.attack.likelihood import log_likelihood_ratio
from deniable.attack.particles import leak
from deniable.mechanisms import Mechanism

RACE = dn.Race.calibrate(2, 0.1)
PAIRS = {pair.name: pair for pair in hard_pairs(2, 8)}
SHORT = hard_pairs(2, 5)


@dataclass(frozen=True)
class Memory:
    """Remembers how often it saw each transcript in either world: learns by heart, and so overfits."""

    name = "memory"
    learns = True

    def train(
        self, mechanism: Mechanism[Any], pair: Pair, filed: IntArray, not_filed: IntArray, *, audits: int, seed: int
    ) -> Score:
        seen: dict[tuple[int, ...], float] = {}
        for weight, world in ((1.0, filed), (-1.0, not_filed)):
            for transcript in world.tolist():
                seen[tuple(transcript)] = seen.get(tuple(transcript), 0.0) + weight
        return Score(lambda audits: np.array([seen.get(tuple(transcript), 0.0) for transcript in audits.tolist()]))


# The audit of the auditor

REPETITIONS, RISK = 200, 0.2
# More wrong bounds than this among 200, each wrong with probability 0.2 at most, has probability below 1e-6.
TOO_MANY = int(binom.isf(1e-6, REPETITIONS, RISK))


def wrong_bounds(mechanism: Mechanism[Any], pair: Pair, adversary: Any) -> int:
    """How often, of 200 games, the lower bound is above the true total variation."""
    exact = play(mechanism, pair, 40, adversary=Enumeration()).leak.value
    results = (
        play(mechanism, pair, 400, failure_probability=RISK, adversary=adversary, seed=seed)
        for seed in range(REPETITIONS)
    )
    return sum(result.lower_bound > exact for result in results)


@pytest.mark.parametrize("adversary", [Memory(), ClosedForm()], ids=lambda adversary: adversary.name)
def test_bounds_are_wrong_at_most_as_often_as_stated(adversary: Any) -> None:
    assert wrong_bounds(RACE, PAIRS["quiet, early"], adversary) <= TOO_MANY


def test_bounds_from_the_games_that_chose_the_event_are_wrong_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: the second half of the games is the first half once more."""
    honest = game._transcripts

    def repeated(mechanism: Any, stream: IntArray, runs: int, *how: Any) -> IntArray:
        return np.tile(honest(mechanism, stream, runs // 2, *how), (2, 1))

    monkeypatch.setattr(game, "_transcripts", repeated)
    assert wrong_bounds(RACE, PAIRS["quiet, early"], Memory()) > TOO_MANY


@pytest.mark.parametrize(
    "mechanism", [RACE, dn.RandomizedResponse.calibrate(2, 0.1), dn.UniformRandom(2)], ids=lambda m: type(m).__name__
)
def test_right_mechanisms_are_not_flagged(mechanism: Mechanism[Any]) -> None:
    """With failure probability 1e-6, for the black box and for those who know the likelihood."""
    pairs = [PAIRS[name] for name in ("quiet, early", "busy rival, early")]
    for adversary in (None, BlackBox()):
        results = search(mechanism, pairs, 2000, failure_probability=1e-6, adversary=adversary)
        assert not any(result.flagged for result in results)


# Positive controls: each on a declared pair whose true total variation is at least 1.5 delta

RR = dn.RandomizedResponse.calibrate(2, 0.1).p_rand
CONTROLS = {
    "race without reset": (RaceWithoutReset(2, RACE.rho), PAIRS["quiet, early"]),
    "race with weights from private counts": (RaceForecastingFromCounts(2, RACE.rho), PAIRS["rival, early"]),
    "rr that exploits ten times as often": (EagerRandomizedResponse(2, RR), PAIRS["rival, early"]),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_positive_controls_are_flagged(name: str) -> None:
    control, pair = CONTROLS[name]
    claimed = control.guarantee().delta
    result = play(control, pair, 40_000, failure_probability=1e-3)
    assert claimed == pytest.approx(0.1)
    assert result.leak.value >= 1.5 * claimed  # exact
    assert result.event.lower_bound > claimed  # by counting, not only by enumeration or by ratios
    assert result.ratio_bound > result.event.lower_bound
    assert result.flagged


@pytest.mark.parametrize("name", ["race with weights from private counts", "rr that exploits ten times as often"])
def test_positive_controls_are_flagged_as_black_boxes_too(name: str) -> None:
    control, pair = CONTROLS[name]
    result = play(control, pair, 20_000, failure_probability=1e-3, adversary=BlackBox())
    assert result.lower_bound > control.guarantee().delta


def test_uniform_offset_is_flagged() -> None:
    """Claims 0.1; ten offsets are too many to enumerate, and the bound itself says that the leak is 1.5 delta."""
    (pair,) = (pair for pair in hard_pairs(2, 40) if pair.name == "rival, middle")
    result = play(UniformOffset(2, width=10, uniform_ties=True), pair, 16_000, failure_probability=1e-3)
    assert result.adversary == "black box"
    assert result.lower_bound >= 1.5 * 0.1
    assert result.flagged


def test_a_broken_cap_is_flagged_where_delta_is_kept() -> None:
    """A claim of the same delta, but with odds capped at 1.01: the curve catches what the total variation does not."""
    result = play(CappedRace(2, RACE.rho, cap=1.01), PAIRS["quiet, early"], 40_000, adversary=BlackBox())
    assert result.lower_bound <= 0.1
    assert result.flagged
    assert result.telling.odds_at_least > 1.01


def test_a_ratio_above_the_cap_is_flagged() -> None:
    """Where the ratio is known, one game is enough, and where the law is known none is needed."""
    large = hard_pairs(5, 30)[0]
    counted = play(CappedRace(5, RACE.rho), large, 400)
    assert (counted.adversary, counted.above_curve, counted.flagged) == ("likelihood", False, True)
    assert counted.lower_bound <= 0.1
    exact = play(CappedRace(2, RACE.rho), PAIRS["quiet, early"], 40)
    assert (exact.adversary, exact.above_curve, exact.flagged) == ("exact", True, True)
    for right in (play(dn.Race.calibrate(5, 0.1), large, 400), play(RACE, PAIRS["quiet, early"], 40)):
        assert not right.flagged


def test_race_that_is_calibrated_for_a_little_more_than_it_claims_is_flagged() -> None:
    """At the default number of games: 0.14 against 0.1, by the bound from likelihood ratios, not by counting.

    The right race is above its delta in one of a million seeds.
    """
    pair = next(pair for pair in hard_pairs(5, 30) if pair.name == "busy rival, early")
    loose = play(LooseRace(5, dn.Race.calibrate(5, 0.14).rho), pair)
    assert loose.event.lower_bound < 0.1
    assert 0.12 < loose.lower_bound < loose.leak.value
    assert loose.flagged
    right = play(dn.Race.calibrate(5, 0.1), pair, failure_probability=1e-6)
    assert 0.08 < right.lower_bound <= 0.1
    assert not right.flagged


# What a result says


@pytest.mark.parametrize(("adversary", "shares"), [(ClosedForm(), 6), (Memory(), 4)], ids=["ratio", "no ratio"])
def test_events_are_bounded_at_their_share_of_the_risk(adversary: Any, shares: int) -> None:
    """Two bounds for each of two events, and where there are ratios as much again as an event for their mean."""
    result = play(RACE, PAIRS["quiet, early"], 400, failure_probability=0.06, adversary=adversary)
    for event in (result.event, result.telling):
        hits, false_alarms = (
            binomtest(round(100 * rate), 100).proportion_ci(1 - 2 * 0.06 / shares, method="exact")
            for rate in (event.tpr, event.fpr)
        )
        assert event.tpr_at_least == pytest.approx(hits.low)
        assert event.fpr_at_most == pytest.approx(false_alarms.high)


def test_scores_that_are_no_ratios_are_not_taken_for_them() -> None:
    @dataclass(frozen=True)
    class Boastful(Memory):
        learns = False

        def train(self, *args: Any, **kwargs: Any) -> Score:
            return Score(lambda audits: np.where(audits[:, 0] == 0, 3.0, 4.0), ratio=True, total_variation=0.9)

    result = play(RACE, PAIRS["quiet, early"], 2000, adversary=Boastful())
    assert (result.exact, result.largest_ratio, result.ratio_bound) == (False, None, 0)
    assert result.leak.value == result.event.tpr - result.event.fpr
    assert not result.flagged


def test_greedy_is_caught_near_one() -> None:
    result = play(dn.Greedy(2), PAIRS["rival, early"], 2000)
    assert result.leak.value == 1 - 2**-8
    assert result.largest_ratio == np.inf
    assert result.lower_bound > 0.95
    assert not result.flagged  # it promises nothing


def test_uniform_leaks_nothing() -> None:
    result = play(dn.UniformRandom(50), hard_pairs(50, 100)[0], 400)
    assert (result.leak.value, result.leak.standard_error) == (0, 0)
    assert result.largest_ratio == pytest.approx(1)
    assert np.allclose(*result.roc)


def test_the_roc_lies_under_the_proven_curve_and_peaks_at_the_leak() -> None:
    """Where ratios are known, the measured curve is that of a true mixture; 0.005 is over 5 standard errors."""
    race = dn.Race.calibrate(20, 0.3)
    result = play(race, hard_pairs(20, 100)[0], 8000)
    fpr, tpr = result.roc
    assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
    assert (np.diff(fpr) >= 0).all()
    assert (tpr <= race.guarantee().tradeoff(fpr) + 0.005).all()
    assert (tpr - fpr).max() == pytest.approx(result.leak.value, abs=0.005)
    assert result.advantage == result.leak.value / 2


def test_no_games_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between seeds, pairs and stages: play, search, and the worst anew. Nor with the seed after."""
    seeds: list[tuple[int, ...]] = []
    honest = game._transcripts

    def noted(mechanism: Any, stream: IntArray, runs: int, audits: int, seed: np.random.SeedSequence) -> IntArray:
        seeds.append(tuple(seed.generate_state(4).tolist()))
        return honest(mechanism, stream, runs, audits, seed)

    monkeypatch.setattr(game, "_transcripts", noted)
    some = list(PAIRS.values())[:3]
    for seed in (0, 1, 2, 2**32):
        play(RACE, some[0], 40, adversary=ClosedForm(), seed=seed)
        find_worst(RACE, some, 40, adversary=ClosedForm(), seed=seed)
    assert len(seeds) == 4 * (1 + 3 + 1) * 2
    assert len(set(seeds)) == len(seeds)


def test_the_seed_decides() -> None:
    same, again, other = (play(RACE, SHORT[0], 400, seed=seed) for seed in (1, 1, 2))
    assert same.event == again.event
    assert same.event != other.event


def test_search_puts_the_worst_first_and_shares_the_failure_probability() -> None:
    told: list[int] = []
    results = search(RACE, SHORT[:4], 40, failure_probability=0.01, done=told.append)
    leaks = [result.leak.value for result in results]
    assert leaks == sorted(leaks, reverse=True)
    assert told == [1, 2, 3, 4]
    assert {result.failure_probability for result in results} == {0.01 / 4}


def test_the_worst_is_played_on_anew() -> None:
    some = SHORT[::3]
    worst, tried = find_worst(RACE, some, 400, failure_probability=0.01)
    assert (worst.pair.name, tried[0].pair.name) == ("rival, early", "rival, early")
    assert (worst.games, tried[0].games) == (400, 40)
    assert (worst.failure_probability, tried[0].failure_probability) == (0.005, 0.005 / len(some))


def test_race_uses_its_delta_and_keeps_it() -> None:
    """A lone report among 50 targets: at least 95 % of delta, at most delta, by 5 standard errors (below 1e-6)."""
    race = dn.Race.calibrate(50, 0.1)
    result = play(race, hard_pairs(50, 300)[0], 2000)
    assert result.leak.value - 5 * result.leak.standard_error <= 0.1
    assert result.leak.value + 5 * result.leak.standard_error >= 0.095
    assert result.largest_ratio is not None
    assert result.largest_ratio <= race.rho


@pytest.mark.long
def test_race_at_the_size_of_the_paper() -> None:
    race = dn.Race.calibrate(50, 0.1)
    worst, tried = find_worst(race, hard_pairs(50, 1000), 10_000)
    assert worst.leak.value >= 0.095
    for result in (worst, *tried):
        assert result.leak.value - 5 * result.leak.standard_error <= 0.1
        assert result.largest_ratio is not None
        assert result.largest_ratio <= race.rho
        assert not result.flagged


# Moved reports and other views


def test_a_moved_report_stays_below_two_delta_and_exceeds_one() -> None:
    race = dn.Race.calibrate(3, 0.1)
    results = search(race, moved_pairs(3, 5), 40)
    assert all(result.guarantee.delta == pytest.approx(0.2) for result in results)
    assert all(result.leak.value <= 0.2 for result in results)
    assert results[0].leak.value > 0.1
    assert not any(result.flagged for result in results)
    assert results[0].guarantee.likelihood_cap == np.inf


def test_the_odds_between_two_people_are_not_capped() -> None:
    """With rho = 2, C = 3: the one's target is audited first, the other's not for 20 rounds: odds 2 (4/3)**20 = 631."""
    pair = moved_report("quiet", np.zeros((21, 3)), 0, (0, 1))
    audits = np.array([[0] + [2] * 20])
    odds = np.exp(log_likelihood_ratio(dn.Race(3, 2.0), pair.not_filed, pair.filed, audits))
    assert odds == pytest.approx(2 * (4 / 3) ** 20)
    alone = report_at("quiet", np.zeros((21, 3)), 0)
    assert np.exp(log_likelihood_ratio(dn.Race(3, 2.0), alone.not_filed, alone.filed, audits)) <= 2


def test_a_prefix_says_less_and_is_played_as_one() -> None:
    whole = play(RACE, PAIRS["busy rival, early"], 40)
    first = play(RACE, PAIRS["busy rival, early"], 40, view=View(rounds=2))
    assert first.pair.rounds == 2
    assert 0 < first.leak.value < whole.leak.value


def test_own_target_by_black_box_gains_at_most_what_everything_tells() -> None:
    """At delta = 0.5 the classifier finds most of what there is; 5 standard errors (below 1e-6)."""
    race = dn.Race.calibrate(5, 0.5)
    pair = hard_pairs(5, 30)[0]
    everything, own = (play(race, pair, 8000, view=view) for view in (View(), OWN_TARGET))
    assert (everything.adversary, own.adversary) == ("likelihood", "black box")
    assert 0.5 * everything.leak.value < own.leak.value < everything.leak.value + 5 * own.leak.standard_error


# Counters: somebody who sees the noisy counts referees


def test_counter_auditing_at_two_targets_and_eight_rounds() -> None:
    """Near 0.0535, to 5 standard errors (below 1e-6); the negative control, twice delta, leaks more than that."""
    for delta, near in ((0.1, True), (0.2, False)):
        tca = dn.CounterAuditing.calibrate(2, delta, horizon=8)
        result = play(tca, PAIRS["quiet, early"], 4000)
        assert result.adversary == "particles"
        assert (abs(result.leak.value - 0.0535) <= 5 * result.leak.standard_error) == near
        assert not result.flagged


def test_particles_are_at_least_as_strong_as_the_black_box() -> None:
    tca = dn.CounterAuditing.calibrate(2, 0.1, horizon=8)
    for name in ("quiet, early", "busy rival, early"):
        smc, learnt = (play(tca, PAIRS[name], 4000, adversary=adversary) for adversary in (None, BlackBox()))
        error = np.hypot(smc.leak.standard_error, learnt.leak.standard_error)
        assert smc.leak.value >= learnt.leak.value - 5 * error


def test_a_counter_that_has_no_gaussian_law_is_judged_by_its_games() -> None:
    @dataclass(frozen=True)
    class Own(dn.CounterAuditing[Any]):
        def tally(self, private: Any, reports: IntArray, noise: Any) -> tuple[FloatArray, Any]:
            return super().tally(private, reports, noise)

    plain = dn.CounterAuditing.calibrate(2, 0.1, horizon=8)
    result = play(Own(2, plain.counter), PAIRS["quiet, early"], 400)
    assert result.adversary == "black box"
    assert result.leak.value == result.event.tpr - result.event.fpr


# Of these, the referee would say what a right counter leaks


@pytest.mark.parametrize("counter", BROKEN_COUNTERS, ids=lambda counter: counter.__name__)
def test_a_broken_counter_is_judged_by_its_games_alone(counter: Any) -> None:
    broken = broken_counter_auditing(counter, 2, 0.1, 8)
    result = play(broken, PAIRS["rival, early"], 400)
    assert result.adversary == "black box"
    assert result.leak.value == result.event.tpr - result.event.fpr
    with pytest.raises(UnsuitableError, match="black box"):
        play(broken, PAIRS["quiet, early"], 40, adversary=Particles())


GROSS = [SharesNoise, partial(CountsTwice, times=10)]


@pytest.mark.parametrize("counter", GROSS, ids=["shares noise", "counts ten times"])
def test_grossly_broken_counters_are_flagged(counter: Any) -> None:
    result = play(broken_counter_auditing(counter, 2, 0.1, 8), PAIRS["quiet, early"], 2000)
    assert result.leak.value > 0.3
    assert result.lower_bound > result.guarantee.delta == pytest.approx(0.1)
    assert result.flagged


@pytest.mark.parametrize("counter", GROSS, ids=["shares noise", "counts ten times"])
def test_a_referee_who_contradicts_the_games_is_not_believed(counter: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the probes the referee would go on, and be overruled where the games say something else."""
    for module in ("noisy_counts", "particles"):
        monkeypatch.setattr(f"deniable.attack.{module}.check_counter", lambda *_: None)
    pair = PAIRS["quiet, early"]
    result = play(broken_counter_auditing(counter, 2, 0.1, 8), pair, 2000, adversary=BlackBox())
    assert result.leak.value == result.event.tpr - result.event.fpr
    value, _ = leak(broken_counter_auditing(counter, 2, 0.1, 8), pair.not_filed, pair.filed, games=400)
    assert value < 0.15 < result.lower_bound
    right = play(dn.CounterAuditing.calibrate(2, 0.1, 8), pair, 2000, adversary=BlackBox())
    assert right.leak.value != right.event.tpr - right.event.fpr


def test_a_referee_agrees_within_five_errors_and_not_below_the_bound() -> None:
    event = measure(np.repeat([1.0, 0.0], [600, 400]), np.repeat([1.0, 0.0], [400, 600]), 0.5, 0.5)
    for value, agrees in ((0.2, True), (0.29, True), (0.35, False), (event.lower_bound - 1e-3, False)):
        assert game._agrees(LeakEstimate(value, 0.001), event, 1000) == agrees


@pytest.mark.parametrize("mechanism", [OverruledRace(3, 1.31), DrawsOnTiesAlone(3, 1.31)])
def test_where_the_likelihood_fails_the_black_box_plays(mechanism: Mechanism[Any]) -> None:
    pair = next(pair for pair in hard_pairs(3, 40) if pair.name == "busy rival, early")
    result = play(mechanism, pair, 400)
    assert (result.adversary, result.largest_ratio) == ("black box", None)
    assert not result.exact
    with pytest.raises(UnsuitableError, match="black box"):
        play(mechanism, pair, 400, adversary=ClosedForm())


# Refusals


@pytest.mark.parametrize("adversary", [ClosedForm(), Particles(), BlackBox(), Enumeration()], ids=lambda a: a.name)
def test_an_adversary_plays_with_its_own_view_alone(adversary: Any) -> None:
    with pytest.raises(dn.DeniableError, match="made for the view 'everything', the game shows 'own target'"):
        play(RACE, PAIRS["quiet, early"], 40, adversary=adversary, view=OWN_TARGET)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"games": 39}, "games must be a whole number of at least 40, got 39"),
        ({"failure_probability": 1.0}, r"failure_probability must be in \[1e-100, 1\), got 1.0"),
        ({"failure_probability": 1e-101}, r"failure_probability must be in \[1e-100, 1\), got 1e-101"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"view": View(rounds=99)}, r"a prefix must have 1\.\.8 rounds"),
    ],
)
def test_bad_options_get_one_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises(dn.DeniableError, match=words):
        play(RACE, PAIRS["quiet, early"], **options)
    with pytest.raises(dn.DeniableError, match=words):
        find_worst(RACE, [PAIRS["quiet, early"]], **options)


def test_streams_that_do_not_fit_the_mechanism_are_refused() -> None:
    with pytest.raises(
        dn.DeniableError, match="mechanism and streams must have the same number of targets, got 3 and 2"
    ):
        play(dn.Greedy(3), PAIRS["quiet, early"])
    with pytest.raises(dn.DeniableError, match="the guarantee covers 7 rounds, the stream has 8"):
        play(dn.CounterAuditing.calibrate(2, 0.1, horizon=7), PAIRS["quiet, early"])
    with pytest.raises(dn.DeniableError, match="at least one pair"):
        search(RACE, [])


@pytest.mark.parametrize("scores", [[np.nan] * 20, [0.0]])
def test_scores_must_be_numbers_for_every_game(scores: list[float]) -> None:
    @dataclass(frozen=True)
    class Useless(Memory):
        def train(self, *args: Any, **kwargs: Any) -> Score:
            return Score(lambda _: np.array(scores))

    with pytest.raises(dn.DeniableError, match="one for each game"):
        play(RACE, PAIRS["quiet, early"], 40, adversary=Useless())
