"""`deniable programme run`: what it says and how it is stopped; when it does what is tested with the scheduler."""

import signal
import subprocess
import sys
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta

import pytest
from tests.cli.programmes import Desk
from tests.cli.running import assert_refused
from tests.programme.machines import NOON, Machine, at

from deniable.cli.programme import run


def test_catching_up_from_the_command_line(office: Desk) -> None:
    office.clock.now = at(12, day=8)
    assert_refused(office("run", "--once"), "3 rounds are overdue", "check this computer's clock", "--catch-up")
    assert office.json("status")["entries"] == 0
    assert office.done("run", "--once", "--catch-up").count("Round ") == 3


def test_what_cannot_begin_is_refused_at_once(office: Desk) -> None:
    assert_refused(office("run", "--database", "nowhere.db"), "there is no programme")
    assert_refused(office("run", "--key", "nowhere.key"), "there is no key file")
    office.init("--database", "other.db")
    assert_refused(office("run", "--key", "other.key"), "this is not the key")


def test_once_closes_what_is_due_and_ends(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(office.clock, NOON + timedelta(days=2))
    monkeypatch.setattr(run, "_stopped_by_signals", lambda: nullcontext(machine.wait))
    assert office.done("run", "--once") == ""
    office.clock.now = at(12, 0, day=7)
    machine.stop = at(12, 4, day=7)
    out = office.done("run", "--once", "--public", "public")
    assert [line.split()[0] for line in out.splitlines()] == ["Published", "Round", "Published", "Round", "Published"]
    assert out.endswith(f"\nPublished in {office.folder / 'public'}.\n")
    assert office.clock.now == at(12, 3, day=7)
    assert office.done("run", "--once", "--public", "public") == ""
    office.clock.tomorrow()
    machine.stop = at(12, 30, day=9)
    line, published = office.done("run", "--once", "--public", "public", "--json").splitlines()
    assert line.startswith('{"round": 3, "audits": ["')
    assert published.startswith('{"published": 3, "folder": ')


def test_names_that_are_not_public_yet_do_not_get_into_the_log(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.init("--reveal-after", 1)
    machine = Machine(desk.clock, NOON + timedelta(days=5))
    monkeypatch.setattr(run, "_stopped_by_signals", lambda: nullcontext(machine.wait))
    desk.clock.now = at(12, 0, day=6)
    assert desk.done("run", "--once") == "Round 1: drawn, see deniable programme close-round --round 1.\n"
    desk.clock.now = at(12, 0, day=7)
    assert desk.done("run", "--once", "--json") == '{"round": 2, "audits": null}\n'


def test_trouble_is_told_on_stderr(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    office.clock.now = at(12, day=9)
    machine = Machine(office.clock, at(12, 5, day=9))
    monkeypatch.setattr(run, "_stopped_by_signals", lambda: nullcontext(machine.wait))
    for as_json in ([], ["--json"]):
        code, out, err = office("run", *as_json)
        assert (code, out) == (0, "")
        assert err.startswith("4 rounds are overdue")
        assert err.endswith("; trying again every minute\n")
        machine.stop += timedelta(minutes=5)


def test_the_end_is_told(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_stopped_by_signals", lambda: nullcontext(Machine(office.clock, at(13)).wait))
    office.done("end", "--reason", "over", "--yes")
    assert office.done("run", "--once") == "The programme has ended.\n"
    assert office.json("run", "--once") == {"ended": True}


# The real process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_between_two_steps(desk: Desk, number: signal.Signals) -> None:
    """It is stopped while it waits for the minute of publication: the rounds are closed, and can be published later."""
    desk.init("--start", (datetime.now(UTC) - timedelta(days=2)).date())
    desk.done("publish", "--public", "public")
    command = [sys.executable, "-m", "deniable", "programme", "run", "--public", "public"]
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
