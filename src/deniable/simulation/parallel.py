"""Many independent tasks on all cores of a machine, or on the machines of a Dask cluster: their runs, their seeds."""

import gc
import logging
import os
import pickle
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from typing import TypeVar

import numpy as np

from deniable.errors import DeniableError, check_whole, pip_install
from deniable.simulation import engine

T = TypeVar("T")
R = TypeVar("R")

RETRIES = 3
"""How often a task may lose its worker process and still be given to another."""
CONNECT_SECONDS = 10
DASK_LOGGERS = ("distributed", "distributed.client", "tornado.application")
RUNS_A_TASK = 50
"""Bounds memory, and is part of the seeding: changing it changes the figures of studies with more runs."""


def chunks(runs: int, at_once: int) -> list[range]:
    """The runs 0, 1, … in parts of so many, the last one perhaps shorter.

    >>> chunks(5, at_once=2)
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    return [range(start, min(start + at_once, runs)) for start in range(0, runs, at_once)]


def derived_seed(*parts: int) -> int:
    """One seed for each combination of parts, so that no result depends on the order of the others.

    >>> derived_seed(42, 1) != derived_seed(42, 2)
    True
    """
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0])


def run_all(
    function: Callable[[T], R],
    tasks: Sequence[T],
    *,
    cluster: str | None = None,
    workers: int | None = None,
    done: Callable[[int], None] | None = None,
) -> list[R]:
    """`[function(task) for task in tasks]`, by `workers` processes of this machine or by a Dask cluster.

    The result does not depend on who computed what: a task must hold everything its result depends on, seeds
    included. A worker that is lost costs a repetition of its task and nothing else. What a task raises is raised
    here, and ends the sweep.

    function: defined at the top level of a module, so that another process can find it.
    cluster: the address of a Dask scheduler, such as tcp://10.0.0.1:8786; needs the extra `research`.
    workers: by default as many as the machine has cores; 1 computes in this process.
    done: called with the number of tasks finished so far, whenever one is.

    >>> import math
    >>> run_all(math.factorial, [3, 4, 5], workers=1)
    [6, 24, 120]
    """
    workers = (os.cpu_count() or 1) if workers is None else check_whole("workers", workers, least=1)
    try:
        pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):
        raise DeniableError("a sweep needs a function defined at the top level of a module") from None
    tell = done or _ignore
    if cluster is not None:
        with _quiet_dask():
            return _on_cluster(function, tasks, cluster, tell)
    if workers == 1 or len(tasks) < 2:
        results = []
        for task in tasks:
            results.append(function(task))
            tell(len(results))
        return results
    return _in_processes(function, tasks, min(workers, len(tasks)), tell)


def _ignore(_: int) -> None:
    pass


def _in_processes(function: Callable[[T], R], tasks: Sequence[T], workers: int, tell: Callable[[int], None]) -> list[R]:
    results: dict[int, R] = {}
    lost: Counter[int] = Counter()
    todo = list(reversed(range(len(tasks))))
    while todo:
        running: dict[Future[R], int] = {}
        # spawn, because a fork of a process with threads may hang
        pool = ProcessPoolExecutor(min(workers, len(todo)), get_context("spawn"), _start_worker)
        try:
            while todo or running:
                # As many as there are workers and no more: when one is lost, it is known which tasks it may have had.
                while todo and len(running) < workers:
                    future = pool.submit(function, tasks[todo[-1]])
                    running[future] = todo.pop()
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    results[running[future]] = future.result()
                    del running[future]
                    tell(len(results))
        except BrokenProcessPool:
            todo += sorted(running.values(), reverse=True)
            lost.update(running.values())
            if max(lost.values(), default=0) > RETRIES:
                raise DeniableError(
                    f"a worker process was lost {RETRIES + 1} times over the same task: there may be too little memory "
                    "(try fewer workers), or the program lacks its `if __name__ == '__main__':`"
                ) from None
        finally:
            pool.shutdown(cancel_futures=True)
    return [results[index] for index in range(len(tasks))]


def _start_worker() -> None:
    engine.THREADS = 1  # there is a worker for each core
    # Ctrl-C reaches the workers as well; they end without a word, and the main process tells.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _in_one_thread(function: Callable[[T], R], task: T) -> R:
    engine.THREADS = 1  # a Dask worker has neighbours, too
    return function(task)


def check_dask() -> None:
    """Tell, before any long work, that Dask is missing."""
    try:
        import distributed  # noqa: F401, PLC0415  (optional; it sets the levels of its loggers when it is imported)
    except ImportError:
        raise DeniableError(f"a cluster needs Dask: run {pip_install('research')} in a copy of the project") from None


@contextmanager
def _quiet_dask() -> Iterator[None]:
    """Without what Dask logs about lost connections: the error says it in one sentence."""
    check_dask()
    loggers = [logging.getLogger(name) for name in DASK_LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _on_cluster(function: Callable[[T], R], tasks: Sequence[T], address: str, tell: Callable[[int], None]) -> list[R]:
    from distributed import Client, KilledWorker, as_completed  # noqa: PLC0415  (optional)
    from distributed.comm.core import CommClosedError  # noqa: PLC0415  (optional)

    client = None
    with suppress(OSError, ValueError):  # no answer, or no address
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    if client is None:
        # Dask's half-made client is closed here. Collected while the next one starts, it would wait for it for ever.
        gc.collect()
        raise DeniableError(f"there must be a Dask scheduler at {address}, but none answers")
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError:
            raise DeniableError(f"the Dask cluster at {address} must have at least one worker, but has none") from None
        # The scheduler itself repeats the tasks of a lost worker, three times by default; Dask's `retries` would
        # repeat tasks that raise, too.
        futures = [client.submit(_in_one_thread, function, task, pure=False) for task in tasks]
        index = {future.key: at for at, future in enumerate(futures)}
        results: dict[int, R] = {}
        try:
            for future in as_completed(futures, loop=client.loop):
                # A result whose worker was lost before it was fetched is computed again.
                results[index[future.key]] = future.result()
                tell(len(results))
        except KilledWorker:
            raise DeniableError(
                f"a worker of the Dask cluster at {address} was lost over the same task again and again: "
                "there may be too little memory"
            ) from None
        except (CancelledError, CommClosedError):
            raise DeniableError(
                f"the Dask scheduler at {address} was lost; start it again and repeat the command"
            ) from None
        finally:
            with suppress(Exception):  # the error on its way says more
                client.cancel([future for future in futures if not future.done()])
    return [results[at] for at in range(len(tasks))]
