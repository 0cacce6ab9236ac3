"""A year of weekly rounds that the scheduler draws with beacons, from mirrors that fail, lie, lag and hang."""

import json
import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NoReturn
from urllib.parse import SplitResult

import pyrage
import pytest
from tests.cli.conftest import run  # noqa: F401  # a fixture
from tests.cli.running import Run
from tests.programme.offices import TARGETS, Office, new_office
from tests.programme.public.published import lines_in
from tests.programme.randomness.own_chain import OwnChain

from deniable.programme.calendar import Calendar
from deniable.programme.public.verify import verify
from deniable.programme.randomness import mirrors
from deniable.programme.randomness.drand import Beacon
from deniable.programme.randomness.source import Drand
from deniable.programme.scheduler import LATE, MINUTE, Scheduler, SchedulerEvent, Trouble
from deniable.programme.secrets.oversight import write_seals
from deniable.programme.status import Closed
from deniable.programme.transcript.frozen import Drawn, Freeze
from deniable.programme.transcript.replay import parse

OWN, OTHER = OwnChain(), OwnChain(7)
WEEKLY = Calendar(date(2024, 1, 1), "1W", "Europe/Berlin", time(9))
DAY = timedelta(days=1)
OUTAGES = {3: 8 * DAY, 20: 2 * DAY}
"""How long all mirrors fail, by round; the first is not over when the next round is due."""
IN_OUTAGE = ("fails", "hangs up", "hangs", "has the next round")
BAD = (*IN_OUTAGE, "has another key", "signs the round before", "has other randomness")
SHORT, LONG = 0.05, 60.0
"""Seconds: for a mirror that never answers, and for the others."""

signed = cache(OWN.sign)
signed_by_other = cache(OTHER.sign)


def plan(round_: int) -> tuple[str, ...]:
    """What the four mirrors do in a round: one is honest, and perhaps late."""
    chance = random.Random(round_)
    honest = "is honest" if round_ in OUTAGES else chance.choice(("is honest", "lags"))
    ways = [*chance.sample(BAD, 3), honest]
    if not round_ % 3:
        chance.shuffle(ways)
    return tuple(ways)


class Mirrors(ThreadingHTTPServer):
    """Four mirrors of one chain, each in a folder of its own."""

    daemon_threads = True

    def __init__(self) -> None:
        self.ways: tuple[str, ...] = ()
        """What each does now."""
        self.asked = list[tuple[str, int]]()
        """What the mirror did, and the beacon that it was asked for."""
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                web.answer(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (http.server's name)
                pass

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def urls(self) -> list[str]:
        return [f"http://127.0.0.1:{self.server_address[1]}/{number}" for number in range(4)]

    def way(self, path: str) -> str:
        return self.ways[int(path.split("/")[1])]

    def answer(self, asked: BaseHTTPRequestHandler) -> None:
        _, _, chain, _, number = asked.path.split("/")
        assert chain == OWN.chain.hash
        beacon, way = int(number), self.way(asked.path)
        self.asked.append((way, beacon))
        if way == "hangs up":
            return
        if way == "hangs":
            asked.connection.recv(1)  # nothing comes, until the other side leaves
            return
        if way == "fails":
            asked.send_error(500)
            return
        if way == "lags" and self.asked.count((way, beacon)) <= 1 + beacon % 3:
            asked.send_error(404)
            return
        body = json.dumps(said(way, beacon)).encode()
        asked.send_response(200)
        asked.send_header("Content-Length", str(len(body)))
        asked.end_headers()
        asked.wfile.write(body)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no news."""


def said(way: str, number: int) -> dict[str, Any]:
    def document(beacon: Beacon, **others: Any) -> dict[str, Any]:
        return {"round": beacon.round, "randomness": beacon.randomness, "signature": beacon.signature} | others

    lies = {
        "has another key": lambda: document(signed_by_other(number)),
        "has the next round": lambda: document(signed(number + 1)),
        "signs the round before": lambda: document(signed(number - 1), round=number),
        "has other randomness": lambda: document(signed(number), randomness=signed(number - 1).randomness),
    }
    return lies[way]() if way in lies else document(signed(number))


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirrors]:
    """Only a mirror that hangs has little time: a busy machine must not make an honest one late."""
    ask = mirrors._ask
    with Mirrors() as server:

        def patient(place: SplitResult, path: str, _: float) -> tuple[int, bytes]:
            return ask(place, path, SHORT if server.way(path) == "hangs" else LONG)

        monkeypatch.setattr(mirrors, "_ask", patient)
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@dataclass
class Year:
    """What the scheduler runs on: time passes only while it waits, and what mirrors do changes with it."""

    office: Office
    web: Mirrors
    rounds: int
    frozen: list[tuple[int, datetime]] = field(default_factory=list)
    drawn: list[tuple[int, datetime]] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def wait(self, pause: timedelta) -> bool:
        clock = self.office.clock
        clock.now += pause
        if pause == MINUTE:
            clock.now = max(clock.now, self._next() - MINUTE)
        status = self.office.programme.status()
        if (waiting := status.waiting) is not None:
            is_down = clock.now < waiting.expected + OUTAGES.get(waiting.round, timedelta())
            self.web.ways = IN_OUTAGE if is_down else plan(waiting.round)
        return status.waiting is None and status.open_round > self.rounds and status.published == status.entries

    def _next(self) -> datetime:
        """When something happens: to live through every minute of a year would take the test as long."""
        status, now = self.office.programme.status(), self.office.clock.now
        if status.waiting is None:
            return status.due
        until = status.waiting.expected + OUTAGES.get(status.waiting.round, timedelta())
        return status.waiting.expected if now < status.waiting.expected else min(until, now + DAY)

    def tell(self, event: SchedulerEvent) -> None:
        if isinstance(event, Trouble):
            self.troubles.append(event.sentence)
        elif isinstance(event, Closed) and event.waiting is None:
            self.drawn.append((event.round, self.office.clock.now))
        elif isinstance(event, Closed):
            self.frozen.append((event.round, self.office.clock.now))
            self.office.programme.report(came_in(event.round))


def came_in(waiting: int) -> dict[str, int]:
    """While this round waits; that belongs to the next."""
    return {TARGETS[waiting % 3]: 1 + waiting % 5}


def lived(folder: Path, web: Mirrors, rounds: int) -> Year:
    """The year, with the private key of the oversight body and its sealed rounds in the folder."""
    identity = pyrage.x25519.Identity.generate()
    (folder / "oversight.key").write_text(f"{identity}\n", encoding="ascii")
    settings = {"calendar": WEEKLY, "randomness": Drand(OWN.chain), "oversight": str(identity.to_public())}
    office = new_office(str(folder / "programme.db"), folder, **settings)
    office.clock.now = WEEKLY.due(1) - DAY
    year = Year(office, web, rounds)
    scheduler = Scheduler(
        office.database, office.key, folder / "public", office.clock, year.wait, year.tell, mirrors=web.urls
    )
    scheduler.since_boot = lambda: office.clock.now - WEEKLY.due(1)
    scheduler.forever()
    write_seals(office.programme.seals(), folder / "seals")
    return year


@contextmanager
def offline() -> Iterator[None]:
    def refuse(*_: object) -> NoReturn:
        raise AssertionError("asked the network")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(socket.socket, "connect", refuse)
        patched.setattr(socket, "getaddrinfo", refuse)
        yield


@pytest.mark.parametrize("rounds", [6, pytest.param(52, marks=pytest.mark.long)])
def test_every_round_is_drawn_with_its_own_beacon(rounds: int, tmp_path: Path, web: Mirrors, run: Run) -> None:  # noqa: F811
    year = lived(tmp_path, web, rounds)
    numbers = list(range(1, rounds + 1))
    assert [number for number, _ in year.frozen] == [number for number, _ in year.drawn] == numbers

    entries = [parse(line) for line in lines_in(tmp_path / "public")]
    beacons = {entry.round: entry.beacon for entry in entries if isinstance(entry, Freeze)}
    values = {entry.of: entry.value for entry in entries if isinstance(entry, Drawn)}
    assert values == {number: signed(beacon or 0).signature for number, beacon in beacons.items()}
    assert len(set(values.values())) == rounds
    assert {beacon for _, beacon in web.asked} == set(beacons.values())
    assert {way for way, _ in web.asked} == {*BAD, "is honest", "lags"}

    late = {number for number in numbers if number - 1 in OUTAGES and OUTAGES[number - 1] > 7 * DAY}
    for number, moment in year.frozen:
        assert (moment == WEEKLY.due(number)) == (number not in late)
    for number, moment in year.drawn:
        waited = moment - OWN.chain.time_of(beacons[number] or 0) - OUTAGES.get(number, timedelta())
        assert timedelta() <= waited <= (4 * MINUTE if "lags" in plan(number) else MINUTE)

    troubled = [number for number in numbers if number in OUTAGES or "lags" in plan(number)]
    told = zip(troubled, year.troubles, strict=True)
    assert all(f"gave beacon {beacons[number]} " in sentence for number, sentence in told)

    with offline():
        checked = verify(tmp_path / "public", now=year.office.clock.now)
        replay = ("oversight", "replay", tmp_path / "public", tmp_path / "seals", "--identity")
        result = run("programme", *replay, tmp_path / "oversight.key", "--out", tmp_path / "counts.csv", "--json")
    assert (checked.rounds, {entry.reason for entry in checked.remarkable}) == (rounds, {LATE} if late else set())
    assert (result.code, result.err) == (0, "")
    assert json.loads(result.out)["confirmed"] == numbers
    _, *counts = (tmp_path / "counts.csv").read_text(encoding="utf-8").splitlines()
    reports = [(number + 1, *one) for number in numbers[:-1] for one in came_in(number).items()]
    assert counts == [f"{number},{target},report,{count}" for number, target, count in reports]
