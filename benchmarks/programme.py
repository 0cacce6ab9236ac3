"""An audit programme in its database: rounds closed for as long as a programme runs; what a report, a round and a
publication cost with very many targets; and very many reports, each pushed in a request of its own to a console.

What a round costs must not depend on how many were closed before it, and what a report costs not on how many targets
there are.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import sqlalchemy as sa
from benchmarks.console import office, started
from benchmarks.rows import Row
from benchmarks.server import postgres

from deniable.console.accounts import tokens
from deniable.console.console import Console
from deniable.programme.calendar import Calendar
from deniable.programme.programme import Programme
from deniable.programme.secrets.keys import KeyFile


@dataclass(frozen=True)
class Sizes:
    targets: int
    rounds: int
    reports: int
    batch: int


@dataclass(frozen=True)
class Measured:
    reports: list[float]
    """Seconds for each report, a transaction of its own."""
    rounds: list[float]
    """Seconds for each round."""
    batch: float
    """Seconds for a batch of reports entered at once."""
    imported: float
    """Seconds for a batch of the same size imported from a hotline."""
    published: float
    """Seconds for publishing at the end."""
    size: int
    """Of the database at the end, in bytes."""


def in_a_century() -> datetime:
    """So that every round is due."""
    return datetime(2126, 1, 1, tzinfo=UTC)


def created(database: str, folder: Path, names: list[str]) -> Programme:
    return Programme.create(
        database, KeyFile(folder / "programme.key"), clock=in_a_century, name="Benchmark", targets=names,
        mechanism="race", delta=0.1, calendar=Calendar(date(2026, 1, 5), "1D", "UTC"),
    )  # fmt: skip


def measure(database: str, folder: Path, sizes: Sizes) -> Measured:
    """A programme with reports before every round, published when it starts, so that every draw looks at the folder."""
    names = [f"Target {number}" for number in range(sizes.targets)]
    dice = np.random.default_rng(0)
    with closing(created(database, folder, names)) as programme:
        programme.publish(folder / "public")
        filing: list[float] = []
        closing_: list[float] = []
        for number in range(sizes.rounds):
            filed = dice.integers(sizes.targets, size=sizes.reports)
            filing.extend(timed(partial(programme.report, {names[target]: 1})) for target in filed)
            closing_.append(timed(programme.close_round))
            if number % 100 == 0:  # so that the folder grows too
                programme.publish()
        filed = dice.integers(sizes.targets, size=sizes.batch).tolist()
        return Measured(
            filing,
            closing_,
            batch=timed(partial(programme.report, Counter(names[target] for target in filed))),
            imported=timed(
                partial(programme.import_reports, "hotline", [(str(n), names[t]) for n, t in enumerate(filed)])
            ),
            published=timed(programme.publish),
            size=size(database),
        )


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def size(database: str) -> int:
    if "://" not in database:
        return sum(path.stat().st_size for path in Path(database).parent.glob(f"{Path(database).name}*"))
    engine = sa.create_engine(database.replace("postgresql://", "postgresql+psycopg://", 1))
    with engine.connect() as connection:
        total = connection.execute(
            sa.text(
                "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE relkind = 'r' "
                "AND relnamespace = 'public'::regnamespace"
            )
        ).scalar_one()
    engine.dispose()
    return int(total)


def told(name: str, measured: Measured, ends: int) -> Row:
    """Prints what was measured."""
    milliseconds = np.array(measured.rounds) * 1000
    first, last = (statistics.median(part) for part in (measured.rounds[:ends], measured.rounds[-ends:]))
    print(
        f"| {name} | {1000 * statistics.mean(measured.reports):,.1f} | {np.percentile(milliseconds, 50):.1f} "
        f"| {np.percentile(milliseconds, 95):.1f} | {last / first:.2f} x | {measured.batch:.2f} "
        f"| {measured.imported:.2f} | {measured.published:.2f} | {measured.size / 2**20:.1f} |",
        flush=True,
    )
    what = f"close a round, the last {ends} of {len(measured.rounds):,} rounds, {name}"
    return Row(what, 1000 * last, f"the first {ends} rounds", 1000 * first, "ms")


# For long


def run_for_long(given: argparse.Namespace) -> list[Row]:
    print(f"Race, {given.targets:,} targets, {given.rounds:,} rounds; every transaction waits for the disk.\n")
    print(
        "| database | enter a report, ms | close round, ms: median | 95 of 100 "
        f"| last {given.ends} rounds against the first {given.ends} "
        f"| {given.batch:,} reports, s: entered | imported | publish, s | size, MiB |"
    )
    print("| --- |" + " ---: |" * 8)
    sizes = Sizes(given.targets, given.rounds, given.reports, given.batch)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        folder = Path(made)
        (folder / "sqlite").mkdir()
        measured = measure(str(folder / "sqlite" / "programme.db"), folder / "sqlite", sizes)
        rows = [told("SQLite", measured, given.ends)]
        (folder / "postgresql").mkdir()
        with postgres(folder / "server") as url:
            database = given.postgresql or url
            if database:
                rows.append(told("PostgreSQL", measure(database, folder / "postgresql", sizes), given.ends))
            else:
                print("\nPostgreSQL is not installed here; name a database with --postgresql URL.")
    return rows


# With very many targets

_FEWEST = "{:,} targets"


def cost_of(database: str, folder: Path, targets: int, reports: int, rounds: int) -> tuple[list[float], float, float]:
    """Seconds of each report; medians of closing a round and of publishing it."""
    names = [f"Target {number}" for number in range(targets)]
    with closing(created(database, folder, names)) as programme:
        programme.publish(folder / "public")
        taken = [timed(partial(programme.report, {names[n % targets]: 1})) for n in range(reports)]
        closed, published = list[float](), list[float]()
        for _ in range(rounds):
            closed.append(timed(programme.close_round))
            published.append(timed(programme.publish))
    return taken, statistics.median(closed), statistics.median(published)


def compare_sizes(targets: list[int], reports: int, rounds: int) -> list[Row]:
    rows: list[Row] = []
    print("| database | targets | report, ms: mean | against the fewest | close a round, s | publish it, s |")
    print("| --- |" + " ---: |" * 5)
    for kind in ("SQLite", "PostgreSQL"):
        fewest: dict[str, float] = {}
        for number in targets:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made, postgres(Path(made) / "pg") as url:
                database = str(Path(made) / "programme.db") if kind == "SQLite" else url
                if database is None:
                    print("PostgreSQL is not installed here.")
                    continue
                taken, closed, published = cost_of(database, Path(made), number, reports, rounds)
            mean = statistics.mean(taken)
            costs = {"enter a report": mean, "close a round": closed, "publish it": published}
            against = mean / (fewest or costs)["enter a report"]
            print(
                f"| {kind} | {number:,} | {1000 * mean:.1f} | {against:.2f} x | {closed:.2f} | {published:.2f} |",
                flush=True,
            )
            rows.extend(
                Row(
                    f"{what}, {number:,} targets, {kind}",
                    1000 * costs[what],
                    _FEWEST.format(targets[0]),
                    1000 * less,
                    "ms",
                )
                for what, less in fewest.items()
            )
            fewest = fewest or costs
    print()
    return rows


# Pushed one by one


async def push(address: str, token: str, targets: int, numbers: list[int]) -> None:
    """These reports over one connection, one after the other."""
    where = urlsplit(address)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    head = f"POST /api/v1/reports HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {token}\r\n"
    for number in numbers:
        body = json.dumps({"id": f"push {number}", "reports": {f"Target {number % targets}": 1}}).encode()
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(answer.partition("content-length: ")[2].split()[0])
        said = await reader.readexactly(length)
        if " 200 " not in answer.splitlines()[0]:
            raise SystemExit(f"the console said {answer.splitlines()[0]}: {said.decode()}")
    writer.close()


async def push_all(address: str, token: str, targets: int, reports: int, connections: int) -> None:
    shares = [[*range(first, reports, connections)] for first in range(connections)]
    await asyncio.gather(*(push(address, token, targets, share) for share in shares))


def pushes(targets: int, reports: int, connections: int) -> float:
    """Seconds for all of them."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        made = office(str(Path(folder) / "programme.db"), Path(folder) / "office", (targets, 1), 0, ["importer"])
        with closing(Console.open(made.database, made.key)) as console, console.store.writing() as connection:
            token = tokens.make(connection, console.key, "benchmark", ["reports"])
        with started(made) as (address, process):
            began = time.perf_counter()
            asyncio.run(push_all(address, token, targets, reports, connections))
            seconds = time.perf_counter() - began
            memory = peak(process)
        with closing(Programme.open(made.database, made.key)) as programme:
            counted = sum(programme.active_counts().values()) - made.active
    print(
        f"{reports:,} reports, each in a request of its own over {connections} connections, {targets:,} targets, "
        f"SQLite: {seconds:.0f} s, {reports / seconds:.0f} a second; {counted:,} counted; the console's memory at most "
        f"{memory / 2**20:.0f} MiB.",
        flush=True,
    )
    return seconds


def pushed(sizes: list[int], reports: int, connections: int) -> list[Row]:
    """With the fewest targets and with others."""
    taken = {targets: 1000 * pushes(targets, reports, connections) / reports for targets in sizes}
    return [
        Row(
            f"a report pushed over one of {connections} connections, {targets:,} targets, SQLite", taken[targets],
            _FEWEST.format(sizes[0]), taken[sizes[0]], "ms a report, together",
        )
        for targets in sizes[1:]
    ]  # fmt: skip


def peak(process: int) -> int:
    """The most memory that a process had, in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def main(args: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["long", "large", "pushes"])
    parser.add_argument("--targets", type=int, default=1000, help="where it runs for long")
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--reports", type=int, default=5, help="before every round, one transaction each")
    parser.add_argument("--batch", type=int, default=1000, help="reports that are entered, and imported, at once")
    parser.add_argument("--ends", type=int, default=50, help="rounds at the start and at the end that are compared")
    parser.add_argument("--postgresql", metavar="URL", help="an empty database; by default on a server of our own")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 1_000_000], help="numbers of targets to compare")
    parser.add_argument("--one-by-one", type=int, default=600, help="reports there; more than there are pages")
    parser.add_argument("--pushes", type=int, default=100_000)
    parser.add_argument("--connections", type=int, default=250)
    given = parser.parse_args(args)
    rows: list[Row] = []
    if given.only in (None, "long"):
        rows += run_for_long(given)
    if given.only in (None, "large"):
        rows += compare_sizes(given.sizes, given.one_by_one, rounds=5)
    if given.only in (None, "pushes"):
        rows += pushed(given.sizes, given.pushes, given.connections)
    return rows


if __name__ == "__main__":
    main()
