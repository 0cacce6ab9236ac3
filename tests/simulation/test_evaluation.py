"""Scores of mechanisms on streams."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.arrays import IntArray
from deniable.errors import DeniableError
from deniable.simulation import evaluation, synthetic_streams
from deniable.simulation.evaluation import (
    Replay,
    Study,
    first_audit_after,
    mean_over_runs,
    running_mean,
    score,
    waiting_times,
)

STEADY = Study(partial(synthetic_streams.poisson, synthetic_streams.lead_rates(4), 30), n_targets=4, horizon=30)


def test_scores_do_not_depend_on_the_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "RUNS_A_TASK", 4)
    wanted = [("race", 0.1), ("tca", 0.1)]
    assert score(STEADY, wanted, runs=10, workers=1) == score(STEADY, wanted, runs=10, workers=2)


def test_scores_depend_on_the_seed_and_done_counts_the_tasks() -> None:
    told: list[tuple[int, int]] = []
    one, two = (
        score(STEADY, [("race", 0.1), ("uniform", None)], 5, seed, workers=1, done=lambda *n: told.append(n))
        for seed in (1, 2)
    )
    assert one != two
    assert told == [(1, 2), (2, 2)] * 2


def test_every_mechanism_gets_the_same_streams_and_the_parts_different_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "RUNS_A_TASK", 2)
    seeds = []

    def source(*, runs: int, seed: int) -> IntArray:
        seeds.append((runs, seed))
        return synthetic_streams.poisson([1, 1], 3, runs, seed)

    monkeypatch.setattr(evaluation, "run_all", lambda function, tasks, **_: [function(task) for task in tasks])
    score(Study(source, 2, 3), [("greedy", None), ("uniform", None)], runs=5)
    assert [runs for runs, _ in seeds] == [2, 2, 1] * 2
    assert seeds[:3] == seeds[3:]
    assert len({seed for _, seed in seeds}) == 3


def test_metrics_by_hand() -> None:
    """Greedy on a stream without ties: audits 0, 1, 1, 0."""
    counts = np.array([[3, 1], [1, 2], [0, 3], [1, 0]])
    study = Study(Replay(counts), 2, 4, turned_bad=(0, 1), assessed=np.array([0.5, 0.1]))
    (greedy,) = score(study, [("greedy", 0.1)], runs=3, workers=1)
    means = {name: value.mean for name, value in greedy.metrics.items()}
    assert greedy.delta is None
    assert means == pytest.approx(
        {
            "deficit": 0,
            "normalized_deficit": 0,
            "resolved": 1,
            "missed": 0,
            "wait": (1 * 1 + 1 * 2) / 11,  # target 1's first report waits 1 round, target 0's in round 2 waits 2
            "wait_p95": 2,  # nine reports wait 0 rounds, one waits 1, and ten are fewer than 95 of 100
            "first_audit": 2,
            "assessed_per_audit": (5 * 0.5 + 6 * 0.1) / 4,
            "assessed_share": (5 * 0.5 + 6 * 0.1) / 11,
        }
    )
    assert all(value.standard_error == pytest.approx(0) for value in greedy.metrics.values())


def test_a_stream_without_reports_has_no_waits() -> None:
    (race,) = score(Study(Replay(np.zeros((3, 2), dtype=np.int64)), 2, 3), [("race", 0.1)], 2, workers=1)
    assert race.metrics["deficit"].mean == 0
    for name in ("resolved", "wait", "wait_p95"):
        assert np.isnan(race.metrics[name].mean)


def test_one_run_has_no_standard_error() -> None:
    assert np.isnan(mean_over_runs(np.array([2.0])).standard_error)


def test_every_mechanism_and_delta_has_its_own_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []

    def spy(mechanism: Any, streams: IntArray, seed: int, audits: int) -> dn.Transcripts:
        seeds.append(seed)
        return dn.simulate(mechanism, streams, seed, audits)

    monkeypatch.setattr(evaluation, "simulate", spy)
    wanted = [("race", 0.1), ("race", 0.2), ("rr", 0.1), ("uniform", None)]
    score(STEADY, wanted, 2, workers=1)
    score(STEADY, wanted[:1], 2, workers=1)
    assert len(set(seeds[:4])) == 4
    assert seeds[4] == seeds[0]  # whoever else is studied


# Confidentiality


def test_recorded_reports_and_outcomes_are_not_shown() -> None:
    secret = 987654
    study = Study(Replay(np.full((2, 2), secret)), 2, 2, assessed=np.full(2, 0.987654))
    task = evaluation._Task(study, dn.Greedy(2), 1, (0, 0), "greedy None")
    assert str(secret) not in f"{study!r} {study} {task!r} {study.source!r}"


@pytest.mark.parametrize(
    "study",
    [Study(Replay(np.ones((2, 2), dtype=np.int64)), 2, 2), Study(STEADY.source, 4, 30, assessed=np.ones(4))],
)
def test_recorded_reports_and_outcomes_are_not_sent_to_a_cluster(study: Study) -> None:
    with pytest.raises(DeniableError, match="do not leave this machine"):
        score(study, [("greedy", None)], 2, cluster="tcp://127.0.0.1:1")


@pytest.mark.parametrize(
    ("wanted", "runs", "words"),
    [
        ([("best", 0.1)], 2, "mechanism must be one of"),
        ([("race", None)], 2, "delta is missing"),
        ([("race", 2.0)], 2, r"delta must be above 0 and below 1, got 2.0"),
        ([("race", 0.1)], 0, "runs must be a whole number of at least 1, got 0"),
        ([("race", 0.1)], 10**6 + 1, "runs must be at most 1000000, got 1000001"),
    ],
)
def test_bad_studies_are_refused(wanted: list[tuple[str, float | None]], runs: int, words: str) -> None:
    with pytest.raises(DeniableError, match=words):
        score(STEADY, wanted, runs)


def test_more_audits_than_the_guarantee_covers_are_refused_before_the_runs() -> None:
    with pytest.raises(DeniableError, match="covers one audit a round, got 2"):
        score(Study(STEADY.source, 4, 30, audits=2), [("rr", 0.1)], 10**6)


def test_studies_beyond_memory_are_refused() -> None:
    with pytest.raises(DeniableError, match="targets times rounds must be at most 268435456"):
        Study(STEADY.source, 10**6, 10**6)


def test_a_stream_longer_than_the_horizon_is_refused() -> None:
    study = Study(STEADY.source, 4, horizon=20)
    with pytest.raises(DeniableError, match="the guarantee covers 20 rounds, the stream has 30"):
        score(study, [("tca", 0.1)], 2, workers=1)


@pytest.mark.parametrize("audits", [1, 2])
def test_waiting_times_against_one_report_at_a_time(audits: int) -> None:
    streams = np.random.default_rng(0).poisson(0.6, (3, 25, 4))
    transcripts = dn.simulate(dn.Race(4, 1.3), streams, seed=1, audits=audits).audits
    expected = np.zeros((3, 25), dtype=np.int64)
    for run, t, c in np.argwhere(streams):
        later = [s for s in range(t, 25) if c in transcripts.reshape(3, 25, -1)[run, s]]
        expected[run, (later[0] if later else 24) - t] += streams[run, t, c]
    assert np.array_equal(waiting_times(streams, transcripts), expected)


def test_no_reports_have_no_wait() -> None:
    assert not waiting_times(np.zeros((1, 3, 2), dtype=np.int64), np.zeros((1, 3), dtype=np.int64)).any()


def test_first_audit_after() -> None:
    audits = np.array([[0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 1]])
    assert first_audit_after(audits, target=0, since=1).tolist() == [2, 3, 0]


def test_running_mean() -> None:
    assert running_mean(np.array([[1, 3, 5]])).tolist() == [[1, 2, 3]]
