"""A watcher without the key: does anything that can be seen from outside tell when a report comes in?

The watcher looks at how long the database's files are and how much of the disk they take, but not at when they were
changed. It compares two copies of the database, reads PostgreSQL's statistics, and polls pages that need no account,
200 times a second and 10 times a second. Each quarter of a second a report is entered, or a page is looked at, or
nothing happens: then the same report is entered in another console on the same computer, so that what the computer does
is the same. What happens in a second is of one kind. The watcher's power is the AUC: 0.5 for one who learns nothing, 1
for one who always knows. As a control, the same is played against a console that writes every report at once and counts
it at once, as 0.1.0 did; there the watcher must win.
"""

import argparse
import asyncio
import hashlib
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import numpy as np
import sqlalchemy as sa
from benchmarks.console import Office, Visitor, entering, office, served
from benchmarks.rows import Row
from benchmarks.server import postgres

WINDOW = 0.25
EVENTS = ("report", "page", "idle")
QUESTIONS = ("report or nothing", "report or page")
RATE = 200
POLLED = ("/login", "/static/style.css")


@dataclass
class Second:
    """What the watcher of the disk has after a tick."""

    kind: str
    """Of what happened in it."""
    seen: dict[str, float]


@dataclass
class Watched:
    events: list[tuple[str, float]] = field(default_factory=list)
    """What happened, and when."""
    seconds: list[Second] = field(default_factory=list)
    polled: list[tuple[float, float]] = field(default_factory=list)
    """When a page was asked for, and how long it took."""


# What a watcher sees of the database


def of_files(database: Path) -> Callable[[], dict[str, Any]]:
    """The sizes of files, which need no permission to read them; and what a copy has."""
    files = [database, database.with_name(database.name + "-wal")]

    def look() -> dict[str, Any]:
        there = [path for path in files if path.exists()]
        copied = b"".join(path.read_bytes() for path in there)
        blocks = [copied[at : at + 4096] for at in range(0, len(copied), 4096)]
        return {
            "size": sum(path.stat().st_size for path in there),
            "disk": sum(path.stat().st_blocks for path in there),
            "content": {hashlib.blake2b(block, digest_size=8).digest() for block in blocks},
        }

    return look


_STATISTICS = """
SELECT (SELECT sum(n_tup_upd + n_tup_ins) FROM pg_stat_user_tables) AS updated,
       (SELECT sum(n_dead_tup) FROM pg_stat_user_tables) AS dead,
       (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()) AS transactions,
       (SELECT tup_returned + tup_fetched FROM pg_stat_database WHERE datname = current_database()) AS rows_read,
       (SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()) AS blocks_read,
       (SELECT sum(seq_scan + coalesce(idx_scan, 0)) FROM pg_stat_user_tables WHERE relname <> 'secrets') AS asked,
       pg_database_size(current_database()) AS size,
       pg_current_wal_lsn() - '0/0'::pg_lsn AS written
"""


def of_server(url: str) -> Callable[[], dict[str, Any]]:
    """What PostgreSQL tells any user who may connect, and the order of rows as a dump gives it."""
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1), isolation_level="AUTOCOMMIT")

    def look() -> dict[str, Any]:
        with engine.connect() as connection:
            told = connection.execute(sa.text(_STATISTICS)).mappings().one()
            rows = connection.execute(sa.text("SELECT name, xmin::text, ctid::text FROM secrets")).all()
        return {**{name: float(value) for name, value in told.items()}, "content": {*map(str, rows)}}

    return look


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, float]:
    """How much of each, between two looks."""
    told = {name: float(after[name] - before[name]) for name in before if name != "content"}
    return told | {"content": float(len(after["content"] - before["content"]))}


# What a stranger sees of the console


async def poll(address: str, until: Callable[[], bool], taken: list[tuple[float, float]]) -> None:
    limits = httpx.Limits(max_connections=200, max_keepalive_connections=200)
    async with httpx.AsyncClient(base_url=address, timeout=30, limits=limits) as stranger:
        asked: set[asyncio.Task[None]] = set()

        async def ask(path: str, at: float) -> None:
            began = time.perf_counter()
            with suppress(httpx.TransportError):  # the server closes connections that it has kept for long
                await stranger.get(path)
            taken.append((at, time.perf_counter() - began))

        number = 0
        while not until():
            task = asyncio.ensure_future(ask(POLLED[number % 2], time.time()))
            asked.add(task)
            task.add_done_callback(asked.discard)
            number += 1
            await asyncio.sleep(1 / RATE)
        await asyncio.gather(*asked)


def stranger(address: str, pipe: Connection) -> None:
    """A process of its own, until the pipe says so."""
    taken: list[tuple[float, float]] = []
    pipe.send("ready")
    asyncio.run(poll(address, pipe.poll, taken))
    pipe.send(taken)


# The play


def play(
    here: tuple[str, Visitor], elsewhere: tuple[str, Visitor], look: Callable[[], dict[str, Any]], seconds: int
) -> Watched:
    watched, dice = Watched(), random.Random(1)
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=stranger, args=(here[0], theirs))
    process.start()
    ours.recv()
    with ExitStack() as stack, ThreadPoolExecutor(20) as outbox:
        clients = [
            stack.enter_context(httpx.Client(base_url=address, cookies={"session": who.cookie}, timeout=60))
            for address, who in (here, elsewhere)
        ]
        for client in clients:
            client.get("/report")
        sent = list[Future[httpx.Response]]()
        begun = _after_tick()
        _wait_until(begun)
        before = look()
        for number in range(seconds):
            if number % 3 == 0:
                kinds = dice.sample(EVENTS, 3)
            kind = kinds[number % 3]
            for quarter in range(4):
                watched.events.append((kind, time.time()))
                if kind == "page":
                    sent.append(outbox.submit(clients[0].get, "/report"))
                else:  # its answer comes at the next tick
                    at = int(kind == "idle")
                    data = entering((here, elsewhere)[at][1])
                    sent.append(outbox.submit(clients[at].post, "/report", data=data))
                _wait_until(begun + WINDOW * (quarter + 1))
            after = look()
            watched.seconds.append(Second(kind, changed(before, after)))
            before = after
            begun = max(begun + 1, _after_tick() - 1)  # of the next second, even if it took a moment to look
            _wait_until(begun)
        for answer in sent:
            answer.result().raise_for_status()
    ours.send(None)
    watched.polled = ours.recv()
    process.join()
    return watched


def _after_tick() -> float:
    """The next moment when a tick has written its page. What is entered in the second that begins then is written at
    the next tick, before the watcher looks again.
    """
    return float(np.floor(time.time() + 0.8) + 0.2)


def _wait_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.time()))


# What the watcher makes of it


def auc(with_report: Sequence[float], without: Sequence[float]) -> float:
    """The chance that one with a report looks larger than one without, or smaller where that is more likely."""
    one, other = np.array(with_report), np.array(without)
    above = (one[:, None] > other).mean() + (one[:, None] == other).mean() / 2
    return float(max(above, 1 - above))


def power(watched: Watched) -> dict[str, float]:
    """The AUC of every watcher."""
    found = {}
    seconds = {kind: [second.seen for second in watched.seconds if second.kind == kind] for kind in EVENTS}
    for name in watched.seconds[0].seen:
        told = {kind: [one[name] for one in seconds[kind]] for kind in EVENTS}
        found[f"database: {name}: report or nothing"] = auc(told["report"], told["idle"])
        found[f"database: {name}: report or page"] = auc(told["report"], told["page"])
    for rate, kept in ((RATE, 1), (10, RATE // 10)):
        times = np.array(watched.polled[::kept]).reshape(-1, 2)
        seen = {kind: [_slowest(times, at) for what, at in watched.events if what == kind] for kind in EVENTS}
        found[f"{rate} requests a second: report or nothing"] = auc(seen["report"], seen["idle"])
        found[f"{rate} requests a second: report or page"] = auc(seen["report"], seen["page"])
    return found


def _slowest(times: "np.ndarray[Any, np.dtype[np.float64]]", at: float) -> float:
    """The three longest answers of those that were under way in this window."""
    under_way = times[(times[:, 0] + times[:, 1] >= at) & (times[:, 0] < at + WINDOW)]
    return float(np.sort(under_way[:, 1])[-3:].sum())


# As 0.1.0 did it


def serve_as_before(arguments: Sequence[str]) -> None:
    """`deniable serve` without ticks, which counts every report when it comes, and answers strangers at once."""
    from deniable.cli.main import main as deniable  # noqa: PLC0415
    from deniable.console import app  # noqa: PLC0415
    from deniable.console.console import Console  # noqa: PLC0415
    from deniable.programme import counting, intake  # noqa: PLC0415

    written = intake._take_in

    def counted_at_once(transaction: Any, brought: Any) -> None:
        written(transaction, brought)
        counting.fold(transaction)

    with (
        mock.patch.object(app, "STRANGERS_WAIT", 0),
        mock.patch.object(Console, "start", return_value=None),
        mock.patch.object(intake, "_take_in", counted_at_once),
    ):
        deniable([*arguments])


@contextmanager
def consoles(made: Sequence[Office], *, as_before: bool) -> Iterator[list[tuple[str, Visitor]]]:
    """The one that is watched, and another."""
    with ExitStack() as stack:
        program = ["-m", "benchmarks.watcher", "--as-before"] if as_before else ["-m", "deniable"]
        yield [(stack.enter_context(served(one, program)), one.visitors[0]) for one in made]


def watch(databases: Sequence[str], folder: Path, targets: int, seconds: int, *, as_before: bool) -> dict[str, float]:
    """The first of the two databases is watched."""
    made = [
        office(database, folder / f"office-{at}", (targets, 2), 0, ["importer"])
        for at, database in enumerate(databases)
    ]
    look = of_server(databases[0]) if "://" in databases[0] else of_files(Path(databases[0]))
    with consoles(made, as_before=as_before) as (here, elsewhere):
        return power(play(here, elsewhere, look, seconds))


def most_telling(where: str, now: Mapping[str, float], before: Mapping[str, float], question: str) -> Row:
    """What tells most of all that is watched, beside what told most before."""
    most, most_before = (
        max((told, name) for name, told in found.items() if question in name) for found in (now, before)
    )
    what, told_before = (name.removesuffix(f": {question}") for _, name in (most, most_before))
    peer = f"every report written at once, as in 0.1.0: {told_before}"
    return Row(f"a watcher, {where}, {question}: {what}", most[0], peer, most_before[0], "AUC")


def standard_errors(seconds: float) -> tuple[float, float]:
    """Of the AUC of a watcher who learns nothing, for the database and for requests."""
    return (6 * seconds / 3) ** -0.5, (6 * 4 * seconds / 3) ** -0.5


def main(args: list[str] | None = None) -> list[Row]:
    given_ = sys.argv[1:] if args is None else args
    if given_[:1] == ["--as-before"]:
        serve_as_before(given_[1:])
        return []
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, nargs="+", default=[1000, 100_000])
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], nargs="+", default=["sqlite", "postgresql"])
    given = parser.parse_args(given_)
    errors = standard_errors(given.seconds)
    print(
        f"{given.seconds} seconds, and {given.seconds // 4} of the control. The AUC of a watcher who learns nothing "
        f"has a standard error of {errors[0]:.3f} for the database and {errors[1]:.3f} for requests.\n"
    )
    print("| database | targets | watcher | AUC | AUC, every report written at once |")
    print("| --- | ---: | --- | ---: | ---: |")
    rows: list[Row] = []
    for kind in given.database:
        for targets in given.targets:
            found = [
                _found(kind, targets, given.seconds, as_before=False),
                _found(kind, targets, given.seconds // 4, as_before=True),
            ]
            for name in found[0]:
                print(f"| {kind} | {targets:,} | {name} | {found[0][name]:.2f} | {found[1][name]:.2f} |", flush=True)
            where = f"{kind}, {targets:,} targets"
            rows += [most_telling(where, found[0], found[1], question) for question in QUESTIONS if found[0]]
    return rows


def _found(kind: str, targets: int, seconds: int, *, as_before: bool) -> dict[str, float]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made, ExitStack() as stack:
        folder, names = Path(made), ("watched", "other")
        databases = [
            str(folder / f"{name}.db") if kind == "sqlite" else stack.enter_context(postgres(folder / name))
            for name in names
        ]
        there = [one for one in databases if one is not None]
        return watch(there, folder, targets, seconds, as_before=as_before) if len(there) == len(names) else {}


if __name__ == "__main__":
    main()
