"""Sweeps give the same results whoever computes them, and survive the loss of a worker process."""

import gc
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.simulation import tasks
from tests.simulation.tasks import Task

from deniable.arrays import IntArray
from deniable.errors import DeniableError
from deniable.simulation.parallel import chunks, derived_seed, run_all

SCHEDULER = """
from distributed import LocalCluster
with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, protocol="tcp", host="127.0.0.1",
                  dashboard_address=None) as cluster:
    print(cluster.scheduler_address, flush=True)
    input()
"""
"""Scheduler and worker in one process, which runs until it is killed."""

SEEDS = [Task(seed) for seed in range(6)]


def one_killed(tmp_path: Path) -> list[Task]:
    return [task._replace(killer=tmp_path / "killed") if task.seed == 2 else task for task in SEEDS]


def assert_same(one: list[IntArray], two: list[IntArray]) -> None:
    assert len(one) == len(two)
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


# This machine


def test_two_workers_give_what_one_gives_and_done_counts_the_tasks() -> None:
    counted: list[int] = []
    expected = run_all(tasks.simulated, SEEDS, workers=1)
    assert_same(run_all(tasks.simulated, SEEDS, workers=2, done=counted.append), expected)
    assert counted == [1, 2, 3, 4, 5, 6]
    assert not np.array_equal(expected[0], expected[1])  # otherwise the order was not checked


def test_one_worker_is_this_process() -> None:
    counted: list[int] = []
    assert run_all(tasks.process, range(2), workers=1, done=counted.append) == [os.getpid()] * 2
    assert counted == [1, 2]


def test_worker_processes_have_one_thread_each() -> None:
    assert run_all(tasks.threads, range(2), workers=2) == [1, 1]


def test_no_tasks_no_results() -> None:
    assert run_all(tasks.process, []) == []


def test_a_lost_worker_changes_nothing(tmp_path: Path) -> None:
    """Nor does the order in which tasks end: the killed one ends after its neighbours."""
    results = run_all(tasks.simulated, one_killed(tmp_path), workers=2)
    assert_same(results, run_all(tasks.simulated, SEEDS, workers=1))
    assert (tmp_path / "killed").exists()  # otherwise nothing was lost


def test_a_task_that_always_loses_its_worker_ends_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.simulation.parallel.RETRIES", 0)
    with pytest.raises(DeniableError, match="lost 1 times over the same task"):
        run_all(tasks.die, range(2), workers=2)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_task_raises_is_raised(workers: int) -> None:
    with pytest.raises(DeniableError, match=r"^a task must not be 2, got 2$"):
        run_all(tasks.refuse_two, range(4), workers=workers)


def test_an_interrupt_is_not_swallowed() -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all(tasks.process, range(4), workers=2, done=interrupt)


@pytest.mark.parametrize("workers", [1, 2])
def test_functions_that_other_processes_cannot_find_are_refused(workers: int) -> None:
    with pytest.raises(DeniableError, match="at the top level of a module"):
        run_all(lambda task: task, [1, 2], workers=workers)


def test_bad_workers_are_refused() -> None:
    with pytest.raises(DeniableError, match="workers must be a whole number of at least 1, got 0"):
        run_all(tasks.process, [1], workers=0)


# A cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as local:
        yield local


def test_a_cluster_gives_the_same_even_when_a_worker_is_killed(cluster: Any, tmp_path: Path) -> None:
    expected = run_all(tasks.simulated, SEEDS, workers=1)
    counted: list[int] = []
    results = run_all(tasks.simulated, one_killed(tmp_path), cluster=cluster.scheduler_address, done=counted.append)
    assert_same(results, expected)
    assert (tmp_path / "killed").exists()
    assert counted == [1, 2, 3, 4, 5, 6]


def test_a_cluster_computes_in_other_processes(cluster: Any) -> None:
    assert os.getpid() not in run_all(tasks.process, range(3), cluster=cluster.scheduler_address)


def test_workers_of_a_cluster_have_one_thread_each(cluster: Any) -> None:
    assert run_all(tasks.threads, range(2), cluster=cluster.scheduler_address) == [1, 1]


def test_a_cluster_raises_what_a_task_raises(cluster: Any) -> None:
    with pytest.raises(DeniableError, match=r"^a task must not be 2, got 2$"):
        run_all(tasks.refuse_two, range(4), cluster=cluster.scheduler_address)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nowhere", "ftp://127.0.0.1:1", "tcp://127.0.0.1:x"])
def test_a_cluster_that_is_not_there_is_one_sentence(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("deniable.simulation.parallel.CONNECT_SECONDS", 0.5)
    with pytest.raises(DeniableError, match=f"^there must be a Dask scheduler at {address}, but none answers$"):
        run_all(tasks.process, [1], cluster=address)
    left = [thing for thing in gc.get_objects() if type(thing) is distributed.Client and thing.status != "closed"]
    assert left == []  # one that is collected later can wait for ever


def test_a_lost_scheduler_is_one_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    scheduler = subprocess.Popen(
        [sys.executable, "-c", SCHEDULER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    try:
        assert scheduler.stdout is not None
        address = scheduler.stdout.readline().strip()
        levels = [logging.getLogger(name).level for name in ("distributed", "distributed.client")]
        with pytest.raises(DeniableError, match=f"^the Dask scheduler at {address} was lost; start it again"):
            run_all(time.sleep, [0.1, 60], cluster=address, done=lambda _: scheduler.kill())
        assert [logging.getLogger(name).level for name in ("distributed", "distributed.client")] == levels
    finally:
        scheduler.kill()
        scheduler.communicate()
    assert capfd.readouterr().err == ""


def test_without_dask_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(DeniableError, match=r"pip install -c constraints\.txt '\.\[research\]'"):
        run_all(tasks.process, [1], cluster="tcp://127.0.0.1:8786")


def test_derived_seeds_differ() -> None:
    seeds = {derived_seed(a, b, c) for a in (0, 1) for b in range(5) for c in range(5)}
    assert len(seeds) == 50


@pytest.mark.parametrize("runs", [1, 3, 4, 5, 8])
def test_every_run_is_in_one_part(runs: int) -> None:
    parts = chunks(runs, at_once=4)
    assert [run for part in parts for run in part] == list(range(runs))
    assert [len(part) for part in parts[:-1]] == [4] * (len(parts) - 1)
