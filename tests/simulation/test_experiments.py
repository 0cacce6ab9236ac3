"""The two experiments: Monte Carlo against exact errors, known mean deficits, and that every number can be repeated."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import stdtrit
from scipy.stats import binom, norm

import deniable as dn
from deniable.counters.toeplitz import ToeplitzCounter, toeplitz
from deniable.errors import DeniableError
from deniable.simulation.evaluation import running_mean
from deniable.simulation.experiments import (
    MECHANISMS,
    PAPER_RR,
    Dynamic,
    RunMean,
    Sensitivity,
    StaticSweep,
    calibrated,
    dynamic,
    exact_error,
    gaps_needed,
    static_sweep,
)
from deniable.simulation.parallel import RUNS_A_TASK
from deniable.utility import race_static_error, static_error

FAILURE = 1e-6
SWEEP = StaticSweep(n_targets=(5, 50), run_lengths=(100,), deltas=(0.1,))
SMALL = Dynamic(n_targets=4, rounds=20, runs=7, mechanisms=("race", "tca", PAPER_RR))


# Experiment 1


def test_the_defaults_are_the_papers() -> None:
    """`app:tab:experimental_parameters`, `app:dynamic_utility_experiment`."""
    assert StaticSweep() == StaticSweep(
        n_targets=(5, 20, 50, 200), run_lengths=(100, 1000), deltas=(0.05, 0.1, 0.2),
        gaps=(0, 1, 2, 4, 8, 16, 32, 64, 128), trials=1000, tca_seed=42, rr_seed=123,
    )  # fmt: skip
    base = Dynamic()
    assert (base.n_targets, base.rounds, base.delta, base.lead, base.other, base.runs) == (50, 1000, 0.1, 1.0, 0.2, 100)


def test_every_measured_rate_is_within_its_bar() -> None:
    """108 points, each outside with probability 1e-6 at most."""
    points = static_sweep.score(SWEEP)
    assert len(points) == 2 * len(MECHANISMS) * len(SWEEP.gaps)
    assert all(p.within for p in points)
    assert all(p.low <= p.estimate <= p.high and p.estimate == p.missed / p.trials for p in points)


def test_a_halved_noise_is_outside_its_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the trials use half the noise that the exact curve knows of."""
    exact = static_sweep.exact_error
    monkeypatch.setattr(static_sweep, "noise_std", lambda delta, L: float(toeplitz(delta, L).error_std()[-1]) / 2)
    monkeypatch.setattr(
        static_sweep,
        "exact_error",
        lambda name, C, L, delta, gap: (
            static_error(gap, C, float(toeplitz(delta, L).error_std()[-1]))
            if name == "tca"
            else exact(name, C, L, delta, gap)
        ),
    )
    points = static_sweep.score(SWEEP)
    assert not all(p.within for p in points if p.mechanism == "tca")
    assert all(p.within for p in points if p.mechanism != "tca")


@pytest.mark.parametrize(("missed", "rate"), [(0, 0.0), (3, 0.02), (50, 0.05), (500, 0.4), (999, 0.99), (1000, 1.0)])
def test_an_error_bar_is_what_the_binomial_tails_allow(missed: int, rate: float) -> None:
    low, high = static_sweep.error_bar(missed, 1000)
    likely = min(binom.cdf(missed, 1000, rate), binom.sf(missed - 1, 1000, rate)) >= FAILURE / 2
    assert (low <= rate <= high) == likely


def test_exact_errors() -> None:
    std = 6.3306 * (2 * 0.125661 * 6.3306)  # sigma M_L, with sigma from the paper's table and M_L = 2 kappa sigma
    hit, _ = quad(lambda z: norm.pdf(z) * norm.cdf(z + 16 / std) ** 4, -12, 12)
    assert exact_error("tca", 5, 100, 0.1, 16) == pytest.approx(1 - hit, abs=1e-5)
    assert exact_error("race", 5, 100, 0.1, 16) == race_static_error(16, 5, dn.Race.calibrate(5, 0.1).rho)
    assert exact_error(PAPER_RR, 5, 100, 0.1, 16) == pytest.approx(0.8 * 0.9**0.01)
    assert exact_error("rr", 5, 100, 0.1, 16) == pytest.approx(4 / 5.1)
    assert exact_error("rr", 200, 100, 0.1, 16) == pytest.approx(199 / 200 * 0.9**0.01)  # the other one is better here
    assert exact_error("greedy", 5, 100, 0.1, 16) == 0
    assert {exact_error(name, 5, 100, 0.1, 0) for name in MECHANISMS} == {0.8}
    with pytest.raises(DeniableError, match="mechanism must be one of greedy"):
        exact_error("best", 5, 100, 0.1, 1)


def test_the_noise_of_a_run_is_the_counters() -> None:
    """Drawing it at once, as the paper does, is allowed: the counter's own output after L rounds has this spread.

    The variance of 4,000 outputs is off by more than 12 % with a probability below 1e-6 (chi-square: 5.3 standard
    deviations of sqrt(2 / 4000)).
    """
    counter = toeplitz(0.1, 30)
    state, noise = counter.init(4, 1000), dn.SimulationNoise(5)
    for _ in range(30):
        noisy, state = counter.step(state, np.zeros((4, 1000), dtype=np.int64), noise)
    assert np.var(noisy) == pytest.approx(static_sweep.noise_std(0.1, 30) ** 2, rel=0.12)
    assert np.var(noisy) != pytest.approx(counter.sigma**2, rel=0.12)  # the fresh noise alone is less


def test_the_curves_go_through_the_points() -> None:
    exact = {(p.mechanism, p.n_targets, float(p.gap)): p.exact for p in static_sweep.score(SWEEP)}
    curve = {(p.mechanism, p.n_targets, p.gap): p.exact for p in static_sweep.curves(SWEEP)}
    for point, value in exact.items():
        assert curve[point] == pytest.approx(value, rel=1e-9)


def test_gaps_needed() -> None:
    for row in gaps_needed((2, 5, 50), 0.1, 1000):
        assert static_error(row.tca, row.n_targets, static_sweep.noise_std(0.1, 1000)) == pytest.approx(0.05)
        assert row.race < row.tca <= row.tca_bound * (1 + 1e-9)
        assert row.least <= math.ceil(row.race) <= row.least + 2


# Experiment 2

KNOWN = {"greedy": 0.0, "race": 4.86, "tca": 12.0, PAPER_RR: 52.0, "uniform": 52.0}
"""Mean deficits over the run at the paper's defaults, from 1,000 other seeds; to half a unit of the last digit."""
SLACK = {"race": 0.02, "tca": 0.1, PAPER_RR: 1.0, "uniform": 1.0}


def assert_known(mean: RunMean) -> None:
    """Within the error bar of a t-distribution, which misses with probability 1e-6, and the known value's digits."""
    bar = stdtrit(mean.runs - 1, 1 - FAILURE / 2) * mean.deficit_error
    known = KNOWN[mean.mechanism]
    assert abs(mean.deficit - known) <= bar + SLACK.get(mean.mechanism, 0), (mean.mechanism, mean.deficit, bar)


def means(runs: int, *mechanisms: str) -> list[RunMean]:
    return dynamic.score(Dynamic(runs=runs, seed=1, mechanisms=mechanisms), workers=1)[1]


@pytest.mark.parametrize(
    ("runs", "mechanism"), [(20, "greedy"), (40, "race"), (40, "tca"), (80, PAPER_RR), (80, "uniform")]
)
def test_mean_deficits_are_the_known_ones(runs: int, mechanism: str) -> None:
    (mean,) = means(runs, mechanism)
    assert_known(mean)
    if mechanism in ("race", "tca"):  # the bar is small enough to tell them from each other and from anything else
        assert mean.deficit_error < 0.02 * mean.deficit


def test_a_halved_sigma_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: TCA with half its noise is too good to be true."""

    def halved(_: str, C: int, delta: float, T: int) -> dn.CounterAuditing[Any]:
        return dn.CounterAuditing(C, ToeplitzCounter(T, toeplitz(delta, T).variance // 4))

    monkeypatch.setattr(dynamic, "calibrated", halved)
    (mean,) = means(20, "tca")
    with pytest.raises(AssertionError, match="tca"):
        assert_known(mean)


def test_a_randomized_response_that_explores_too_little_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    monkeypatch.setattr(dynamic, "calibrated", lambda *_: dn.RandomizedResponse(50, 0.97))
    (mean,) = means(40, PAPER_RR)
    with pytest.raises(AssertionError, match=PAPER_RR):
        assert_known(mean)


def test_running_means_are_those_of_the_engine() -> None:
    running, run_means = dynamic.score(SMALL, workers=1)
    streams = dynamic.streams(SMALL, range(SMALL.runs))
    seed = dynamic.noise_seed(SMALL, "race", 0)
    done = dn.simulate(calibrated("race", 4, 0.1, 20), streams, seed=seed)
    mine = [row for row in running if row.mechanism == "race"]
    assert [row.round for row in mine] == list(range(1, 21))
    for metric in dynamic.METRICS:
        values = running_mean(getattr(done, metric))
        assert [getattr(row, metric) for row in mine] == pytest.approx(values.mean(axis=0))
        half = [getattr(row, f"{metric}_high") - getattr(row, metric) for row in mine]
        assert half == pytest.approx(2.4469 * values.std(axis=0, ddof=1) / np.sqrt(7), rel=1e-4)  # t, 6 degrees
        assert getattr(run_means[0], metric) == pytest.approx(getattr(done, metric).mean())
        spread = getattr(done, metric).mean(axis=1).std(ddof=1) / np.sqrt(7)
        assert getattr(run_means[0], f"{metric}_error") == pytest.approx(spread)
    assert run_means[0].missed == pytest.approx((done.deficit > 0).mean())
    first = [int(np.argmax(run == 0)) + 1 if (run == 0).any() else 21 for run in done.audits]
    assert run_means[0].first_audit == pytest.approx(np.mean(first))


def test_every_mechanism_is_given_the_same_streams_and_every_run_its_own() -> None:
    streams = dynamic.streams(SMALL, [0, 1, 2])
    assert np.array_equal(dynamic.streams(replace(SMALL, delta=0.5, mechanisms=("uniform",)), [0, 1, 2]), streams)
    assert np.array_equal(dynamic.streams(SMALL, [2])[0], streams[2])
    assert len({run.tobytes() for run in streams}) == 3
    assert not np.array_equal(dynamic.streams(replace(SMALL, seed=1), [0]), streams[:1])


def test_results_do_not_depend_on_the_number_of_workers() -> None:
    settings = replace(SMALL, runs=RUNS_A_TASK + 3)
    assert dynamic.score(settings, workers=2) == dynamic.score(settings, workers=1)


def test_a_setting_shared_by_several_sweeps_is_simulated_once() -> None:
    settings = Sensitivity(
        SMALL, n_targets=(3, 4), rounds=(10, 20), delta=(0.1, 0.5), lead=(1.0, 2.0), other=(0.1, 0.2)
    )
    counted: list[int] = []
    rows = dynamic.score_sensitivity(settings, workers=1, done=counted.append)
    assert counted == list(range(1, 3 * (5 + 1) + 1))  # five other settings, and the base
    assert len(rows) == 3 * 10
    base = [
        row for row in rows if (row.n_targets, row.rounds, row.delta, row.lead, row.other) == (4, 20, 0.1, 1.0, 0.2)
    ]
    assert len({replace(row, varied="") for row in base}) == 3
    assert [replace(row, varied="") for row in rows if row.varied == "rounds" and row.rounds == 20] == dynamic.score(
        SMALL, workers=1
    )[1]
