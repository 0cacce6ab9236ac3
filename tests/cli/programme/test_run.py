"""`deniable programme run`: rounds are closed when they are due, whatever happens to the machine."""

import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cli.programmes import Desk
from tests.cli.running import assert_refused
from tests.programme.offices import Clock

from deniable.cli.programme import run
from deniable.cli.programme.run import MINUTE, Service
from deniable.errors import DeniableError
from deniable.programme.secrets.keys import KeyFile
from deniable.storage.store import StoreError

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


@dataclass
class Machine:
    """What a service runs on: time passes only while it waits, and ends at the time to stop."""

    clock: Clock
    stop: datetime
    pauses: list[timedelta] = field(default_factory=list)
    said: list[tuple[datetime, str]] = field(default_factory=list)
    draw: timedelta = timedelta()
    """How long a draw takes."""
    events: dict[datetime, Callable[[], object]] = field(default_factory=dict)
    """What happens while the service waits, at its time."""
    quiet: int = 0
    """Minutes in which nothing happened."""

    def wait(self, time: timedelta) -> bool:
        if time:
            self.pauses.append(time)
        self.clock.now += time
        self.quiet = self.quiet + 1 if time == MINUTE else 0
        if self.quiet > 5:
            self.clock.now = max(self.clock.now, self._before_something_happens())
            self.quiet = 0
        for moment in sorted(self.events):
            if moment <= self.clock.now:
                self.events.pop(moment)()
                self.quiet = 0
        return self.clock.now >= self.stop

    def _before_something_happens(self) -> datetime:
        """Two minutes before: to live through every minute of a day would take the test as long."""
        midnight = self.clock.now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        return min([midnight, self.stop, *self.events]) - 2 * MINUTE

    def say(self, words: str, document: dict[str, Any]) -> None:
        self.quiet = 0
        self.said.append((self.clock.now, words.split(":", maxsplit=1)[0].split(" in ", maxsplit=1)[0].rstrip(".")))
        if "round" in document:
            self.clock.now += self.draw

    def service(self, folder: Path | None = None, database: str = "programme.db") -> Service:
        return Service(database, KeyFile(Path("programme.key")), folder, self.clock, self.wait, self.say)


@pytest.fixture
def machine(office: Desk) -> Machine:
    """An office's machine, until noon two days later."""
    return Machine(office.clock, NOON + timedelta(days=2))


def at(hour: int, minute: int = 0, day: int = 5) -> datetime:
    return datetime(2026, 1, day, hour, minute, tzinfo=UTC)


def test_rounds_are_closed_at_their_time_and_published_at_the_next_full_minute(office: Desk, machine: Machine) -> None:
    machine.clock.now += timedelta(seconds=20)
    machine.draw = timedelta(seconds=7)
    machine.service(office.folder / "public").forever()
    assert machine.said == [
        (at(12, 1), "Published"),  # the rules, and the commitment to the first draw
        (at(0, 0, day=6), "Round 1"),
        (at(0, 1, day=6), "Published"),
        (at(0, 0, day=7), "Round 2"),
        (at(0, 1, day=7), "Published"),
    ]
    assert max(machine.pauses) <= MINUTE
    assert office.json("status")["unpublished"] == 0


def test_without_a_folder_nothing_is_published(office: Desk, machine: Machine) -> None:
    machine.service().forever()
    assert [words for _, words in machine.said] == ["Round 1", "Round 2"]
    assert office.json("status")["folder"] is None


def test_a_machine_that_slept_catches_up_and_says_why(office: Desk, machine: Machine) -> None:
    """Every round is published before the next is drawn, as is the commitment to the first."""
    machine.stop = NOON + timedelta(days=9)
    machine.events[at(13)] = lambda: setattr(machine.clock, "now", at(13, day=7))
    machine.service(office.folder / "public").forever()
    assert machine.said[:5] == [
        (at(12, 1), "Published"),
        (at(13, 0, day=7), "Round 1"),
        (at(13, 1, day=7), "Published"),
        (at(13, 1, day=7), "Round 2"),
        (at(13, 2, day=7), "Published"),
    ]
    late = [entry["late"] for entry in office.json("verify", "public")["remarkable"]]
    assert late == [1]
    reasons = {entry["reason"] for entry in office.json("verify", "public")["remarkable"]}
    assert reasons == {run.LATE}


def test_nothing_is_drawn_that_was_not_committed_to_in_public(office: Desk, machine: Machine) -> None:
    office.clock.now = at(12, day=7)
    machine.stop = at(12, 10, day=7)
    machine.service(office.folder / "public").forever()
    assert [words for _, words in machine.said] == ["Published", "Round 1", "Published", "Round 2", "Published"]


def test_a_clock_that_is_wrong_for_a_while_closes_nothing(
    office: Desk, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    """Decisions are published all the same, and the service goes on when the clock is right again."""

    def jump(to: datetime, stop: datetime) -> None:
        machine.clock.now, machine.stop = to, stop

    wrong, told = timedelta(days=104), []
    ordered = ["override", "Ash Mill", "--reason", "an accident", "--independent-of-reports"]
    machine.events = {
        at(13): lambda: jump(at(13) + wrong, at(14) + wrong),
        at(13, 1) + wrong: lambda: told.append(office(*ordered).err),  # which reads what was printed before
        at(13, 4) + wrong: lambda: jump(at(13, 4), at(13, day=6)),
    }
    machine.service(office.folder / "public").forever()
    assert [words for _, words in machine.said] == ["Published", "Published", "Round 1", "Published"]
    assert machine.said[-2][0] == at(0, day=6)
    assert [*told, capsys.readouterr().err] == [
        "104 rounds are overdue, and run closes no more than 2 unasked: check this computer's clock, then use "
        "run --catch-up, or close-round for each; trying again every minute\n",
        "",
    ]


def test_more_rounds_are_caught_up_with_when_asked(
    office: Desk, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that are overdue at the start; a clock that goes wrong later is another matter."""
    office.clock.now = at(12, day=9)
    machine.stop = at(13, day=9) + timedelta(days=7)
    machine.events[at(13, day=9)] = lambda: setattr(machine.clock, "now", at(12, 30, day=9) + timedelta(days=7))
    service = machine.service(office.folder / "public")
    service.catch_up = True
    service.forever()
    assert [words for _, words in machine.said] == [
        "Published", *(words for round_ in range(1, 5) for words in (f"Round {round_}", "Published"))
    ]  # fmt: skip
    assert capsys.readouterr().err.startswith("7 rounds are overdue")
    assert [entry["late"] for entry in office.json("verify", "public")["remarkable"]] == [3, 2, 1]


def test_catching_up_from_the_command_line(office: Desk) -> None:
    office.clock.now = at(12, day=8)
    assert_refused(office("run", "--once"), "3 rounds are overdue", "check this computer's clock", "--catch-up")
    assert office.json("status")["entries"] == 0
    assert office.done("run", "--once", "--catch-up").count("Round ") == 3


def test_what_the_office_decides_is_published_too(office: Desk, machine: Machine) -> None:
    ordered = ["override", "Ash Mill", "--reason", "an accident", "--independent-of-reports"]
    machine.events[at(15, 30)] = lambda: office.done(*ordered)
    machine.stop = at(16)
    machine.service(office.folder / "public").forever()
    assert [words for _, words in machine.said] == ["Published", "Published"]
    assert at(15, 30) < machine.said[1][0] <= at(15, 32)


def test_a_database_that_is_away_is_tried_every_minute(
    office: Desk, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is away over two due times, and says so once."""
    machine.stop = NOON + timedelta(days=4)
    machine.events[at(20)] = lambda: Path("programme.db").rename("away.db")
    machine.events[at(9, day=7)] = lambda: Path("away.db").rename("programme.db")
    machine.service().forever()
    assert machine.said[:2] == [(at(9, day=7), "Round 1"), (at(9, day=7), "Round 2")]
    assert max(machine.pauses) <= MINUTE
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "programme.db" in err
    assert "trying again every minute" in err
    assert office.json("status")["open_round"] == 5


def test_a_server_that_is_not_up_yet_is_waited_for(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.stop = at(12, 5)
    machine.service(database="postgresql://office:hush@127.0.0.1:1/visits").forever()
    assert machine.pauses == [MINUTE] * 5
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "its server cannot be reached" in err
    assert "hush" not in err


def test_trouble_of_another_kind_is_told_again(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    troubles = [StoreError("full"), StoreError("full"), DeniableError("behind"), StoreError("full")]

    def once(_: Service) -> timedelta:
        if troubles:
            raise troubles.pop(0)
        return MINUTE

    monkeypatch.setattr(Service, "once", once)
    machine.stop = at(12, 10)
    machine.service().forever()
    assert [line.split(";")[0] for line in capsys.readouterr().err.splitlines()] == ["full", "behind", "full"]


def test_what_cannot_begin_is_refused_at_once(office: Desk) -> None:
    assert_refused(office("run", "--database", "nowhere.db"), "there is no programme")
    assert_refused(office("run", "--key", "nowhere.key"), "there is no key file")
    office.init("--database", "other.db")
    assert_refused(office("run", "--key", "other.key"), "this is not the key")


def test_it_ends_with_the_programme(office: Desk, machine: Machine) -> None:
    machine.events[at(18)] = lambda: office.done("end", "--reason", "over", "--yes")
    machine.service(office.folder / "public").forever()
    assert [words for _, words in machine.said][-2:] == ["Published", "The programme has ended"]
    assert machine.clock.now < at(19)


def test_once_closes_what_is_due_and_ends(office: Desk, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_stopped_by_signals", lambda: _Waiting(machine))
    assert office.done("run", "--once") == ""
    office.clock.now = at(12, 0, day=7)
    machine.stop = at(12, 4, day=7)
    out = office.done("run", "--once", "--publish", "public")
    assert [line.split()[0] for line in out.splitlines()] == ["Published", "Round", "Published", "Round", "Published"]
    assert out.endswith(f"\nPublished in {office.folder / 'public'}.\n")
    assert office.clock.now == at(12, 3, day=7)
    assert office.done("run", "--once", "--publish", "public") == ""
    office.clock.tomorrow()
    machine.stop = at(12, 30, day=9)
    line, published = office.done("run", "--once", "--publish", "public", "--json").splitlines()
    assert line.startswith('{"round": 3, "audits": ["')
    assert published.startswith('{"published": 3, "folder": ')


class _Waiting:
    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def __enter__(self) -> Callable[[timedelta], bool]:
        return self.machine.wait

    def __exit__(self, *_: object) -> None: ...


# The real process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_between_two_steps(desk: Desk, number: signal.Signals) -> None:
    """It is stopped while it waits for the minute of publication: the rounds are closed, and can be published later."""
    desk.init("--start", (datetime.now(UTC) - timedelta(days=2)).date())
    desk.done("publish", "--out", "public")
    command = [sys.executable, "-m", "deniable", "programme", "run", "--publish", "public"]
    with subprocess.Popen(
        command, cwd=desk.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Round 1: ")
        process.send_signal(number)
        rest, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    status = desk.json("status")
    assert status["entries"] == 1 + rest.count("Round")
    assert (status["unpublished"] == 0) == rest.endswith("Published in {}.\n".format(desk.folder / "public"))
