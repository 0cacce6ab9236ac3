from datetime import timedelta
from pathlib import Path

from argon2 import PasswordHasher
from tests.console.offices import Office
from tests.programme.offices import Clock

from deniable.console.accounts.passwords import Passwords
from deniable.console.accounts.people import ROLES
from deniable.console.app import create_app
from deniable.console.demo import ROUNDS, TARGETS, demonstration
from deniable.programme.public.verify import verify

CHEAP = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


def test_a_demonstration_has_a_past_and_a_round_that_is_due(tmp_path: Path) -> None:
    clock = Clock()
    console = demonstration(tmp_path, clock=clock, passwords=CHEAP)
    programme = console.programme()
    assert programme is not None
    status = programme.status()
    assert (status.open_round, status.overdue) == (ROUNDS, 1)
    assert timedelta(0) <= clock() - status.parameters.calendar.due(ROUNDS) < timedelta(minutes=1)
    page = (tmp_path / "public" / "index.html").read_text(encoding="utf-8")
    assert f"{clock():%Y-%m-%dT%H:%M}" in page
    assert "was overdue" not in page  # visits were recorded before the next round was due
    assert status.targets == TARGETS
    assert len(programme.waiting_visits()) == 1
    assert [one.round for one in programme.work_list()] == [ROUNDS - 2, ROUNDS - 1]
    assert programme.close_round().audits
    checked = verify(tmp_path / "public", now=clock())
    assert {entry.kind for entry in checked.remarkable} == {"details", "skip", "override", "emergency"}
    assert sum(programme.active_counts().values()) > 0
    console.close()


def test_everybody_can_sign_in_and_every_page_is_marked(tmp_path: Path) -> None:
    clock = Clock()
    console = demonstration(tmp_path, clock=clock, passwords=CHEAP)
    office = Office(console, clock, create_app(console, "http://testserver"))
    assert {one.person.role for one in console.demo} == set(ROLES)
    for one in console.demo:
        browser = office.browser()
        page = browser.get("/login").text
        code = one.code(console.key, clock())
        assert one.password in page
        assert "Begin with Audrey, who sees most." in page
        assert code in page
        assert browser.sign_in(one.person.name, one.password, code).status_code == 303
        answer = browser.get("/", follow_redirects=True)
        assert answer.status_code == 200
        assert one.person.name in answer.text
        assert "made up" in answer.text
    console.close()
