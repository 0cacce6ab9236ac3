"""The console, served for real: whether what operators and importers wait for tells how much was reported, and many
people at once.

A page that is slower where there are more reports would say so to somebody who may not see them.

Under load each person sends the next request as soon as the last one is answered, which is many times what so many
people ask for in an office. The requests come from this process, so that the two share the machine; its client reads
only as much of HTTP as it must. To enter reports is to wait for the next tick, up to a second
(docs/explanation/silent.md): the times of these requests have a column of their own.
"""

import argparse
import asyncio
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from benchmarks.rows import Row
from benchmarks.server import postgres

from deniable.console import sessions
from deniable.console.accounts import hotlines
from deniable.console.accounts import people as staff
from deniable.console.accounts.people import Person, Role
from deniable.console.console import Console
from deniable.programme.calendar import Calendar, system_clock
from deniable.programme.programme import Programme
from deniable.programme.secrets.keys import KeyFile

FILE = b"id,channel\n" + b"".join(b"%d,Target 0\n" % number for number in range(10**6, 10**6 + 20))
ENTERED = "Target 1"


@dataclass(frozen=True)
class Visitor:
    """Somebody who is signed in."""

    role: Role
    cookie: str
    csrf: str
    hotline: str
    """The one that they bring, if they import."""


@dataclass(frozen=True)
class Office:
    database: str
    key: KeyFile
    visitors: tuple[Visitor, ...]
    before: int
    """Reports about the target that everybody enters reports about."""
    active: int
    """Reports about all targets."""


def office(database: str, folder: Path, size: tuple[int, int], reports: int, people: Sequence[Role]) -> Office:
    """A programme with a past and a round that is open until tomorrow, and people who have signed in; size: targets and
    rounds.
    """
    targets, rounds = size
    folder.mkdir()
    key = KeyFile(folder / "programme.key")
    calendar = Calendar((datetime.now(UTC) - timedelta(days=rounds)).date(), "1D", "UTC")
    names = [f"Target {number}" for number in range(targets)]
    then = [calendar.opens(1)]
    console = Console.open(database, key)
    with closing(console):
        programme = Programme.begin(
            console.store, console.vault, console.copy, clock=lambda: then[0], name="Benchmark", targets=names,
            mechanism="race", delta=0.1, calendar=calendar,
        )  # fmt: skip
        programme.publish(folder / "public")
        for number in range(1, rounds + 1):
            then[0] = calendar.due(number)
            programme.report({names[number % targets]: 1})
            programme.close_round(number)
        programme.publish()
        if reports:
            batch = [(f"report {number}", names[number % targets]) for number in range(1, reports + 1)]
            programme.import_reports(f"hotline {people.index('importer')}", batch)
        active = programme.active_counts()
        visitors = tuple(_visitor(console, role, number) for number, role in enumerate(people))
    return Office(database, key, visitors, active[ENTERED], sum(active.values()))


def _visitor(console: Console, role: Role, number: int) -> Visitor:
    person = Person(f"id-{number}", f"{role} {number}", role)
    with console.store.writing() as connection:
        staff.add(connection, console.key, person, password="", totp_salt="")
        if role in ("importer", "auditor"):
            hotlines.assign(connection, console.key, f"hotline {number}", person.id)
        cookie = sessions.begin(connection, console.key, person.id, system_clock())
    return Visitor(role, cookie, sessions.form_token(console.key, cookie), f"hotline {number}")


@contextmanager
def served(made: Office, program: Sequence[str] = ("-m", "deniable")) -> Iterator[str]:
    """The address of `deniable serve` in a process of its own."""
    with started(made, program) as (address, _):
        yield address


@contextmanager
def started(made: Office, program: Sequence[str] = ("-m", "deniable")) -> Iterator[tuple[str, int]]:
    """The same, and the number of the process."""
    command = [sys.executable, *program, "serve", "--port", "0", "--database", made.database]
    process = subprocess.Popen([*command, "--key", str(made.key.path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        printed = ""
        while "Ctrl-C" not in printed:
            line = process.stdout.readline()
            if not line:
                raise SystemExit("the console did not start")
            printed += line
        yield printed.split()[4], process.pid
    finally:
        process.terminate()
        process.communicate()


# Whether time tells

Step = Callable[[httpx.Client, Visitor], httpx.Response]


def page(path: str) -> Step:
    return lambda client, _: client.get(path)


def enter(client: httpx.Client, who: Visitor) -> httpx.Response:
    return client.post("/report", data=entering(who))


def entering(who: Visitor) -> dict[str, str]:
    """A form of its own every time."""
    return {"csrf": who.csrf, "form_id": secrets.token_urlsafe(16), "target": ENTERED, "number": "1"}


def look_at_file(client: httpx.Client, who: Visitor) -> httpx.Response:
    data = {"csrf": who.csrf, "kind": "csv", "source": who.hotline, "mapped": "names"}
    return client.post("/import", data=data, files={"file": ("export.csv", FILE)})


def count_file(client: httpx.Client, who: Visitor) -> httpx.Response:
    """Looks at it first; the time of both."""
    held = look_at_file(client, who).text.partition('name="pending" value="')[2][:22]
    return client.post("/import/confirm", data={"csrf": who.csrf, "pending": held, "step": "count"})


STEPS: dict[Role, dict[str, Step]] = {
    "operator": {path: page(path) for path in ("/round", "/transcript", "/health", "/guarantee")},
    "importer": {
        "/report": page("/report"),
        "/import": page("/import"),
        "enter a report": enter,
        "look at a file": look_at_file,
        "look at a file and count it": count_file,
    },
}


def compare(folder: Path, targets: int, rounds: int, reports: int, times: int) -> list[Row]:
    """Three consoles in turn, so that whatever else the machine does hits all of them. Two have no reports: what these
    differ by is chance.
    """
    print(f"## Time against reports: {targets} targets, {rounds} rounds, each page {times} times\n")
    print(f"| who | what | no reports, ms: median | {reports:,} reports | ratio | ratio of two without reports |")
    print("| --- | --- |" + " ---: |" * 4)
    rows = []
    roles: tuple[Role, ...] = ("operator", "importer")
    made = [
        office(str(folder / f"{name}.db"), folder / name, (targets, rounds), number, roles)
        for name, number in (("none", 0), ("many", reports), ("control", 0))
    ]
    with ExitStack() as stack:
        addresses = [stack.enter_context(served(one)) for one in made]
        for at, role in enumerate(roles):
            visitors = [one.visitors[at] for one in made]
            clients = [stack.enter_context(client(*pair)) for pair in zip(addresses, visitors, strict=True)]
            for name, step in STEPS[role].items():
                none, many, control = (statistics.median(part) for part in in_turn(step, clients, visitors, times))
                ratios = f"{many / none:.3f} | {control / none:.3f}"
                print(f"| {role} | {name} | {none:.2f} | {many:.2f} | {ratios} |", flush=True)
                what = f"{role}: {name}, with {reports:,} reports"
                rows.append(Row(what, many, "a console without reports", none, "ms"))
    print()
    return rows


def in_turn(
    step: Step, clients: Sequence[httpx.Client], visitors: Sequence[Visitor], times: int
) -> tuple[list[float], ...]:
    """Milliseconds on each console."""
    taken: tuple[list[float], ...] = tuple([] for _ in clients)
    first = 10  # fill caches
    for turn in range(first + times):
        for number in range(len(clients)):
            which = (number + turn) % len(clients)
            began = time.perf_counter()
            answer = step(clients[which], visitors[which])
            if turn >= first:
                taken[which].append(1000 * (time.perf_counter() - began))
            assert answer.status_code in {200, 303}, answer.text
    return taken


def client(address: str, who: Visitor) -> httpx.Client:
    return httpx.Client(base_url=address, cookies={"session": who.cookie}, timeout=60)


# Many at once

MIX: dict[Role, tuple[str, ...]] = {
    "importer": ("/report", "enter", "/import", "enter", "look"),
    "operator": ("/round", "/transcript", "/guarantee", "/health", "/round/decisions/override"),
    "auditor": ("/round", "enter", "/plan", "/activity", "/report"),
    "administrator": ("/people", "/tokens", "/activity", "/health", "/guarantee"),
}
BEFORE = {50: 1100.0, 100: 2300.0}
"""Milliseconds in which 0.1.0 answered 95 of 100 requests, by people; 1,000 targets, as recorded then on two cores."""
SHARES: dict[Role, int] = {"importer": 4, "operator": 3, "auditor": 2, "administrator": 1}


@dataclass
class Load:
    taken: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    entered: int = 0
    """Reports that the console said it has counted."""


async def use(address: str, who: Visitor, requests: int, load: Load) -> None:
    connection = Connection(address)
    for turn in range(requests):
        what = MIX[who.role][turn % len(MIX[who.role])]
        sent = request_of(address, who, what)
        began = time.perf_counter()
        try:
            async with asyncio.timeout(120):
                status = await connection.ask(sent)
        except (OSError, EOFError, TimeoutError) as error:
            load.errors[f"{what}: {type(error).__name__}"] += 1
            connection.close()
            continue
        load.taken.setdefault(what, []).append(1000 * (time.perf_counter() - began))
        if status != 200:
            load.errors[f"{what}: {status}"] += 1
        elif what == "enter":
            load.entered += 1
    connection.close()


class Connection:
    """HTTP/1.1 as far as the console's answers need it. A complete client takes as much time as the console, of the
    same two cores, so that the benchmark would measure itself.
    """

    def __init__(self, address: str) -> None:
        self._url = httpx.URL(address)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> int:
        """The status of the answer, once all of it has come."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._url.host, self._url.port)
        reader, writer = self._streams
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
        return int(head.split(maxsplit=2)[1])

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


def request_of(address: str, who: Visitor, what: str) -> bytes:
    if what == "enter":
        return _bytes(address, who, "POST", "/report", data=entering(who))
    return _same_request_of(address, who, what)


@cache
def _same_request_of(address: str, who: Visitor, what: str) -> bytes:
    if what != "look":
        return _bytes(address, who, "GET", what)
    form = {"csrf": who.csrf, "kind": "csv", "source": who.hotline, "mapped": "names"}
    return _bytes(address, who, "POST", "/import", data=form, files={"file": ("export.csv", FILE)})


def _bytes(address: str, who: Visitor, method: str, path: str, **body: Any) -> bytes:
    request = httpx.Request(method, address + path, cookies={"session": who.cookie}, **body)
    head = b"".join(b"%s: %s\r\n" % pair for pair in request.headers.raw)
    return b"%s %s HTTP/1.1\r\n%s\r\n%s" % (method.encode(), path.encode(), head, request.read())


async def everybody(address: str, visitors: Sequence[Visitor], requests: int) -> Load:
    load = Load()
    await asyncio.gather(*(use(address, who, requests, load) for who in visitors))
    return load


def crowd(people: int) -> list[Role]:
    """Roles in the proportions of SHARES."""
    deck = [role for role, share in SHARES.items() for _ in range(share)]
    return [deck[number % len(deck)] for number in range(people)]


def put_under_load(name: str, database: str, folder: Path, people: int, given: argparse.Namespace) -> list[Row]:
    made = office(database, folder, (given.targets, given.rounds), 0, crowd(people))
    with served(made) as address:
        began = time.perf_counter()
        load = asyncio.run(everybody(address, made.visitors, given.requests))
        seconds = time.perf_counter() - began
    with closing(Programme.open(database, made.key)) as programme:
        counted = programme.active_counts()[ENTERED] - made.before
    pages = [value for what, part in load.taken.items() if what != "enter" for value in part]
    entered, errors = load.taken["enter"], sum(load.errors.values())
    number = len(pages) + len(entered)
    print(
        f"| {name} | {people} | {number:,} | {errors} | {number / seconds:.0f} | {np.percentile(pages, 50):.0f} "
        f"| {np.percentile(pages, 95):.0f} | {max(pages):.0f} | {np.percentile(entered, 95):.0f} "
        f"| {load.entered} / {counted} |"
    )
    if given.pages:
        for what, part in sorted(load.taken.items(), key=lambda pair: -statistics.median(pair[1])):
            half, most = np.percentile(part, [50, 95])
            print(f"|   {what} | | {len(part):,} | | | {half:.0f} | {most:.0f} | | | |")
    for what, times in load.errors.most_common():
        print(f"error: {what}, {times} times", file=sys.stderr)
    if errors:
        raise SystemExit("there were errors under load")
    what = f"95 of 100 pages, {people} people at once, {given.targets:,} targets, {name}"
    return [Row(what, float(np.percentile(pages, 95)), "0.1.0", BEFORE[people], "ms")] if people in BEFORE else []


def load(folder: Path, given: argparse.Namespace) -> list[Row]:
    print(f"## Under load: {given.targets:,} targets, {given.rounds:,} rounds\n")
    print(
        "| database | people | requests | errors | a second | ms: median | 95 of 100 | most | entering: 95 of 100 "
        "| reports acknowledged / counted |"
    )
    print("| --- |" + " ---: |" * 9)
    found: list[Row] = []
    for people in given.people:
        place = folder / str(people)
        place.mkdir()
        found += put_under_load("SQLite", str(place / "load.db"), place / "sqlite", people, given)
        with postgres(place / "server") as url:
            if url is None:
                print("\nPostgreSQL is not installed here.")
            else:
                found += put_under_load("PostgreSQL", url, place / "postgresql", people, given)
    return found


def main(args: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, default=1000, help="under load")
    parser.add_argument("--rounds", type=int, default=500, help="under load")
    parser.add_argument("--people", type=int, nargs="+", default=[50, 100])
    parser.add_argument("--requests", type=int, default=40, help="of each of them")
    parser.add_argument("--pages", action="store_true", help="times of every page under load")
    parser.add_argument("--reports", type=int, default=10_000, help="that are compared with none")
    parser.add_argument("--times", type=int, default=200, help="each page, where times are compared")
    parser.add_argument("--only", choices=["time", "load"])
    given = parser.parse_args(args)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        if given.only != "load":
            rows += compare(Path(made), 50, 20, given.reports, given.times)
        if given.only != "time":
            rows += load(Path(made), given)
    return rows


if __name__ == "__main__":
    main()
