"""Several processes that serve one console: they share a socket, and what must be known to all of them.

How often a person tried to sign in, and files, visits, orders and draws that wait to be confirmed, are kept in the
memory of one more process, the keeper, which the others ask through a socket of this user. Nothing of it is written
anywhere.
"""

import os
import re
import secrets
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from multiprocessing.managers import BaseManager
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, NoReturn

from deniable.console.console import Console
from deniable.console.limits import PasswordQueues, Throttle, UploadSlots
from deniable.console.pending_decisions import PendingDecisions
from deniable.console.pending_draws import PendingDraws
from deniable.console.pending_imports import PendingImports
from deniable.console.pending_visits import PendingVisits
from deniable.errors import DeniableError
from deniable.programme.calendar import system_clock

MOST_WORKERS = 16
MOST_BY_DEFAULT = 4
"""Together they open fewer connections than PostgreSQL takes by default."""
TOO_SOON = 5
"""Seconds: a worker that ends within them after its start would end again."""
PATIENCE = 15
"""Seconds that workers have to start, and to finish what they serve."""

_FORK = get_context("fork")  # the key is in memory, and goes to no file or command line


def workers_for(database: str, number: int | None) -> int:
    """So many processes; by default one a core where that helps. Refused where it would not help, or not work."""
    is_server = re.match(r"postgresql(\+\w+)?://", database) is not None
    if number is None:
        return min(os.cpu_count() or 1, MOST_BY_DEFAULT) if is_server else 1
    if not 1 <= number <= MOST_WORKERS:
        raise DeniableError(
            "--processes must be from 1 to {most_workers}, got {number}", most_workers=MOST_WORKERS, number=number
        )
    if number > 1 and not is_server:
        raise DeniableError(
            "--processes needs PostgreSQL: an SQLite database is one file, in which one process at a time may write, "
            "so that more of them would wait for one another; leave --processes out, or use a postgresql:// database"
        )
    return number


class _Shared(BaseManager):
    """What the keeper has. Who asks it must know a random key, which only the processes of this console have."""


_Shared.register("throttle", lambda: Throttle(system_clock))
_Shared.register("pending_draws", PendingDraws)
_Shared.register("pending_imports", lambda: PendingImports(system_clock))
_Shared.register("pending_decisions", lambda: PendingDecisions(system_clock))
_Shared.register("pending_visits", lambda: PendingVisits(system_clock))


@contextmanager
def shared(console: Console, workers: int) -> Iterator[ForkProcess]:
    """Let this console count on others beside it: it asks the keeper, and takes its share of the machine."""
    with TemporaryDirectory(prefix="deniable-console-") as folder:
        address, key = f"{folder}/keeper", secrets.token_bytes(32)
        is_ready, ready = _FORK.Pipe(duplex=False)
        keeper = _FORK.Process(target=_keep, args=(address, key, ready))
        keeper.start()
        ready.close()
        try:
            with is_ready, suppress(EOFError):
                is_ready.recv()
                kept: Any = _Shared(address, authkey=key)
                kept.connect()
                console.throttle = kept.throttle()
                console.pending_draws = kept.pending_draws()
                console.pending_imports = kept.pending_imports()
                console.pending_decisions = kept.pending_decisions()
                console.pending_visits = kept.pending_visits()
            console.password_queues = PasswordQueues(workers)
            console.upload_slots = UploadSlots(workers)
            yield keeper
        finally:
            keeper.kill()
            keeper.join()


def _keep(address: str, key: bytes, ready: Connection) -> None:
    """Ctrl-C goes to all processes; the keeper ends last."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    _follow(signal.SIGKILL)
    server = _Shared(address, authkey=key).get_server()
    ready.send("ready")
    server.serve_forever()


def _follow(number: signal.Signals) -> None:
    """End this process with the one that started it, however that one ends."""

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), number)

    Thread(target=watch, daemon=True).start()


def serve_with(workers: int, console: Console, serve: Callable[[], None], greet: Callable[[], None]) -> None:
    """Serve in so many processes until this one is told to stop. One that ends is started again.

    Greets when all of them are there: the first would otherwise take every connection that waits.
    """
    is_ready, ready = _FORK.Pipe(duplex=False)
    with _stop_signals() as told, shared(console, workers) as keeper:
        console.store.dispose()  # no two processes may use one connection
        console.tell_started = partial(ready.send, "ready")
        started = [_started(serve) for _ in range(workers)]
        ends = [told, keeper.sentinel, *(worker.sentinel for worker, _ in started)]
        while workers and wait([is_ready, *ends], PATIENCE) == [is_ready]:
            is_ready.recv()
            workers -= 1
        greet()
        _supervise(started, keeper, told, serve)


@contextmanager
def _stop_signals() -> Iterator[int]:
    """What can be read from when this process is told to stop. An exception could get lost while a process starts."""
    told, tell = os.pipe()
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: os.write(tell, b"stop")) for number in numbers]
    try:
        yield told
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
        os.close(told)
        os.close(tell)


def _started(serve: Callable[[], None]) -> tuple[ForkProcess, float]:
    worker = _FORK.Process(target=_work, args=(serve,))
    worker.start()
    return worker, time.monotonic()


def _work(serve: Callable[[], None]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _follow(signal.SIGTERM)
    with suppress(KeyboardInterrupt):
        serve()


def _supervise(
    workers: list[tuple[ForkProcess, float]], keeper: ForkProcess, told: int, serve: Callable[[], None]
) -> NoReturn:
    try:
        while True:
            ended = wait([told, keeper.sentinel, *(worker.sentinel for worker, _ in workers)])
            if told in ended:
                raise KeyboardInterrupt
            if keeper.sentinel in ended:
                raise DeniableError("a process that the others need has ended; start the console again")
            for number, (worker, since) in enumerate(workers):
                if worker.sentinel in ended:
                    if time.monotonic() - since < TOO_SOON:
                        raise DeniableError("a process of the console ended as soon as it was started; start it again")
                    workers[number] = _started(serve)
    finally:
        for worker, _ in workers:
            worker.terminate()
        for worker, _ in workers:
            worker.join(PATIENCE)
            worker.kill()
            worker.join()
