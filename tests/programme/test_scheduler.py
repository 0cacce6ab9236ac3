"""The scheduler: rounds are closed when they are due, whatever happens to the machine."""

import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.cli.conftest import desk, run  # noqa: F401  # fixtures
from tests.cli.programmes import Desk
from tests.programme.machines import NOON, Machine, at

from deniable.errors import DeniableError
from deniable.programme.scheduler import LATE, MINUTE, Scheduler, since_boot
from deniable.storage.store import StoreError


@pytest.fixture
def office(desk: Desk) -> Desk:  # noqa: F811
    """An office with a programme of daily rounds, at noon of 5 January 2026."""
    desk.init()
    return desk


@pytest.fixture
def machine(office: Desk) -> Machine:
    """An office's machine, until noon two days later."""
    return Machine(office.clock, NOON + timedelta(days=2))


def test_rounds_are_closed_at_their_time_and_published_at_the_next_full_minute(office: Desk, machine: Machine) -> None:
    machine.clock.now += timedelta(seconds=20)
    machine.draw = timedelta(seconds=7)
    machine.scheduler(office.folder / "public").forever()
    assert machine.told == [
        (at(12, 1), "Published"),  # the rules, and the commitment to the first draw
        (at(0, 0, day=6), "Round 1"),
        (at(0, 1, day=6), "Published"),
        (at(0, 0, day=7), "Round 2"),
        (at(0, 1, day=7), "Published"),
    ]
    assert max(machine.pauses) <= MINUTE
    assert office.json("status")["unpublished"] == 0


def test_without_a_folder_nothing_is_published(office: Desk, machine: Machine) -> None:
    machine.scheduler().forever()
    assert [words for _, words in machine.told] == ["Round 1", "Round 2"]
    assert office.json("status")["folder"] is None


def test_a_machine_that_slept_catches_up_and_says_why(office: Desk, machine: Machine) -> None:
    """Every round is published before the next is drawn, as is the commitment to the first."""
    machine.stop = NOON + timedelta(days=9)
    machine.events[at(13)] = lambda: setattr(machine.clock, "now", at(13, day=7))
    machine.scheduler(office.folder / "public").forever()
    assert machine.told[:5] == [
        (at(12, 1), "Published"),
        (at(13, 0, day=7), "Round 1"),
        (at(13, 1, day=7), "Published"),
        (at(13, 1, day=7), "Round 2"),
        (at(13, 2, day=7), "Published"),
    ]
    late = [entry["late"] for entry in office.json("verify", "public")["remarkable"]]
    assert late == [1]
    reasons = {entry["reason"] for entry in office.json("verify", "public")["remarkable"]}
    assert reasons == {LATE}


def test_after_the_last_round_nothing_is_closed_and_nothing_is_wrong(desk: Desk) -> None:  # noqa: F811
    desk.init("--mechanism", "tca", "--horizon", 2)
    machine = Machine(desk.clock, NOON + timedelta(days=5))
    machine.scheduler().forever()
    assert [words for _, words in machine.told] == ["Round 1", "Round 2"]
    assert machine.clock.now >= NOON + timedelta(days=4)


def test_nothing_is_drawn_that_was_not_committed_to_in_public(office: Desk, machine: Machine) -> None:
    office.clock.now = at(12, day=7)
    machine.stop = at(12, 10, day=7)
    machine.scheduler(office.folder / "public").forever()
    assert [words for _, words in machine.told] == ["Published", "Round 1", "Published", "Round 2", "Published"]


def test_a_clock_that_is_wrong_for_a_while_closes_nothing(office: Desk, machine: Machine) -> None:
    """Decisions are published all the same, and the scheduler goes on when the clock is right again."""

    def jump(to: datetime, stop: datetime) -> None:
        machine.clock.now, machine.stop = to, stop

    wrong = timedelta(days=104)
    ordered = ["override", "Ash Mill", "--reason", "an accident", "--independent-of-reports"]
    machine.events = {
        at(13): lambda: jump(at(13) + wrong, at(14) + wrong),
        at(13, 1) + wrong: lambda: office.done(*ordered),
        at(13, 4) + wrong: lambda: jump(at(13, 4), at(13, day=6)),
    }
    machine.scheduler(office.folder / "public").forever()
    assert [words for _, words in machine.told] == ["Published", "Published", "Round 1", "Published"]
    assert machine.told[-2][0] == at(0, day=6)
    (trouble,) = machine.troubles
    assert trouble.startswith("104 rounds are overdue")
    assert "--catch-up" in trouble


def set_forward(machine: Machine, by: timedelta) -> None:
    machine.clock.now += by
    machine.ahead += by


@pytest.mark.parametrize("days", [1, 2])
def test_a_clock_that_is_set_forward_closes_no_round_before_its_time(machine: Machine, days: int) -> None:
    by = timedelta(days=days)
    machine.events[at(13)] = lambda: set_forward(machine, by)
    machine.stop = at(23) + by
    machine.scheduler().forever()
    assert machine.told == []
    assert machine.troubles == [
        "round 1 is not closed: this computer's clock jumped forward; set it right, or start run again if "
        "it is right now"
    ]


def test_a_round_is_closed_when_it_is_due_by_both_clocks(machine: Machine) -> None:
    day = timedelta(days=1)
    machine.events[at(13)] = lambda: set_forward(machine, day)
    machine.stop = at(13, day=6) + day
    machine.scheduler().forever()
    assert machine.told == [(at(0, day=6) + day, "Round 1")]


def test_a_clock_that_is_set_right_again_closes_rounds_as_before(machine: Machine) -> None:
    day = timedelta(days=1)
    machine.events = {at(13): lambda: set_forward(machine, day), at(14, day=6): lambda: set_forward(machine, -day)}
    machine.scheduler().forever()
    assert machine.told == [(at(0, day=6), "Round 1"), (at(0, day=7), "Round 2")]
    assert len(machine.troubles) == 1


def test_a_clock_that_is_put_right_by_minutes_is_followed(machine: Machine) -> None:
    machine.events[at(23, 30)] = lambda: set_forward(machine, timedelta(minutes=30))
    machine.stop = at(1, day=6)
    machine.scheduler().forever()
    assert machine.told == [(at(0, day=6), "Round 1")]
    assert not machine.troubles


def test_time_passes_on_the_clock_that_cannot_be_set() -> None:
    before = since_boot()
    time.sleep(0.01)
    assert timedelta(seconds=0.01) <= since_boot() - before < MINUTE


def test_more_rounds_are_caught_up_with_when_asked(office: Desk, machine: Machine) -> None:
    """Those that are overdue at the start; a clock that goes wrong later is another matter."""
    office.clock.now = at(12, day=9)
    machine.stop = at(13, day=9) + timedelta(days=7)
    machine.events[at(13, day=9)] = lambda: setattr(machine.clock, "now", at(12, 30, day=9) + timedelta(days=7))
    scheduler = machine.scheduler(office.folder / "public")
    scheduler.catch_up = True
    scheduler.forever()
    assert [words for _, words in machine.told] == [
        "Published", *(words for round_ in range(1, 5) for words in (f"Round {round_}", "Published"))
    ]  # fmt: skip
    assert [trouble.partition(",")[0] for trouble in machine.troubles] == ["7 rounds are overdue"]
    assert [entry["late"] for entry in office.json("verify", "public")["remarkable"]] == [3, 2, 1]


def test_what_the_office_decides_is_published_too(office: Desk, machine: Machine) -> None:
    ordered = ["override", "Ash Mill", "--reason", "an accident", "--independent-of-reports"]
    machine.events[at(15, 30)] = lambda: office.done(*ordered)
    machine.stop = at(16)
    machine.scheduler(office.folder / "public").forever()
    assert [words for _, words in machine.told] == ["Published", "Published"]
    assert at(15, 30) < machine.told[1][0] <= at(15, 32)


def test_a_database_that_is_away_is_tried_every_minute(office: Desk, machine: Machine) -> None:
    """It is away over two due times, and that is told once."""
    machine.stop = NOON + timedelta(days=4)
    machine.events[at(20)] = lambda: Path("programme.db").rename("away.db")
    machine.events[at(9, day=7)] = lambda: Path("away.db").rename("programme.db")
    machine.scheduler().forever()
    assert machine.told[:2] == [(at(9, day=7), "Round 1"), (at(9, day=7), "Round 2")]
    assert max(machine.pauses) <= MINUTE
    (trouble,) = machine.troubles
    assert "programme.db" in trouble
    assert office.json("status")["open_round"] == 5


def test_a_server_that_is_not_up_yet_is_waited_for(machine: Machine) -> None:
    machine.stop = at(12, 5)
    machine.scheduler(database="postgresql://office:hush@127.0.0.1:1/visits").forever()
    assert machine.pauses == [MINUTE] * 5
    (trouble,) = machine.troubles
    assert "its server cannot be reached" in trouble
    assert "hush" not in trouble


def test_trouble_of_another_kind_is_told_again(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    troubles = [StoreError("full"), StoreError("full"), DeniableError("behind"), StoreError("full")]

    def once(_: Scheduler, __: object) -> timedelta:
        if troubles:
            raise troubles.pop(0)
        return MINUTE

    monkeypatch.setattr(Scheduler, "_once", once)
    machine.stop = at(12, 10)
    machine.scheduler().forever()
    assert machine.troubles == ["full", "behind", "full"]


def test_it_ends_with_the_programme(office: Desk, machine: Machine) -> None:
    machine.events[at(18)] = lambda: office.done("end", "--reason", "over", "--yes")
    machine.scheduler(office.folder / "public").forever()
    assert [words for _, words in machine.told][-2:] == ["Published", "Ended"]
    assert machine.clock.now < at(19)
