"""Several processes serve one console on PostgreSQL: they know of one another what they must, and end together."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import psycopg
import pytest
from tests.console.offices import FILE, PASSWORD, Office, form_token, pending_on
from tests.console.serving import port_of, served
from tests.programme.offices import TARGETS

from deniable.cli.main import main
from deniable.console import sessions, workers
from deniable.console.accounts import hotlines, people
from deniable.console.accounts.people import Person
from deniable.console.console import Console
from deniable.console.limits import TRIES, PasswordQueues, UploadSlots
from deniable.console.pending_draws import AskedWithout, EnteredNumbers, PendingDraws
from deniable.errors import DeniableError
from deniable.programme.calendar import Calendar, system_clock
from deniable.programme.programme import Programme
from deniable.programme.secrets.keys import KeyFile

UNDER_WAY = """
SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
"""
"""Whether any process is within a transaction."""


@pytest.mark.parametrize("database", ["programme.db", "sqlite:///programme.db", "postgresql.db", "/postgresql/x"])
def test_sqlite_has_one_process(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["serve", "--database", database, "--processes", "2", "--port", "0"]) == 2
    said = capsys.readouterr().err
    assert "--processes needs PostgreSQL: an SQLite database is one file" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [0, -1, workers.MOST_WORKERS + 1])
def test_the_number_of_processes_is_bounded(number: int) -> None:
    with pytest.raises(DeniableError, match="--processes must be from 1 to"):
        workers.workers_for("postgresql://office@127.0.0.1/none", number)


@pytest.mark.parametrize(("cores", "expected"), [(1, 1), (2, 2), (64, workers.MOST_BY_DEFAULT)])
def test_by_default_there_is_one_for_each_core(cores: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert workers.workers_for("postgresql+psycopg://office@127.0.0.1/none", None) == expected
    assert workers.workers_for("programme.db", None) == 1


def test_each_process_takes_its_share() -> None:
    limiters = PasswordQueues(2)._queues.values()
    assert {limiter.total_tokens for limiter in limiters} == {PasswordQueues.AT_ONCE // 2}
    assert UploadSlots(2)._free.value == UploadSlots.AT_ONCE // 2
    assert UploadSlots(9)._free.value == 1


def test_the_keeper_has_what_waits_for_a_second_person(office: Office) -> None:
    """It is not in the memory of the console that was told, and comes back as it was."""
    entered, asked = EnteredNumbers("otto", "1 2 3", "2026-01-06T10:00:00Z"), AskedWithout("otto", "no dice")
    with workers.shared(office.console, 2):
        pending = office.console.pending_draws
        assert not isinstance(pending, PendingDraws)
        assert pending.enter(1, entered) == []
        assert pending.entered(1) == [entered]
        assert pending.ask_without(1, asked)
        assert pending.asked_without(1) == asked


def made(database: str, folder: Path) -> tuple[KeyFile, str]:
    """A programme, and the cookie of Ida, who brings its hotline."""
    key = KeyFile(folder / "programme.key")
    console = Console.open(database, key)
    ida = Person("id-Ida", "Ida", "importer")
    with console.store.writing() as connection:
        people.add(connection, console.key, ida, password=console.passwords.hashed(PASSWORD), totp_salt="salt")
        hotlines.assign(connection, console.key, "hotline", ida.id)
        cookie = sessions.begin(connection, console.key, ida.id, system_clock())
    today = datetime.now(UTC).date()
    Programme.begin(
        console.store, console.vault, console.copy, name="Two", targets=TARGETS, mechanism="race", delta=0.1,
        calendar=Calendar(today, "1M", "UTC"),
    )  # fmt: skip
    console.close()
    return key, cookie


def children(process: int) -> list[int]:
    """The processes that it started and that have not ended, the oldest first."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, *rest = path.read_text().rpartition(")")[2].split()
        except OSError:  # ended meanwhile
            continue
        if int(parent) == process and state != "Z":
            found.append((int(rest[17]), int(path.parent.name)))
    return [number for _, number in sorted(found)]


@contextmanager
def stopped(process: int, database: str) -> Iterator[None]:
    """It serves nothing meanwhile. It is not stopped within a transaction, for which the other process would wait."""
    with psycopg.connect(database, autocommit=True) as connection:
        while True:
            os.kill(process, signal.SIGSTOP)
            if connection.execute(UNDER_WAY).fetchone() is None:
                break
            os.kill(process, signal.SIGCONT)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def client(printed: str, **cookies: str) -> httpx.Client:
    """Every request of its own connection."""
    return httpx.Client(
        base_url=f"http://127.0.0.1:{port_of(printed)}", cookies=cookies, timeout=60, headers={"Connection": "close"}
    )


def test_two_processes_serve_as_one(postgres: str, tmp_path: Path) -> None:
    """A file that one process read is counted by the other; tries to sign in at both are counted together; and all end
    when they are told to.
    """
    key, cookie = made(postgres, tmp_path)
    with served(tmp_path, "--database", postgres, "--key", str(key.path), "--processes", "2") as (process, printed):
        keeper, first, second = wait_for(process, 3)
        with stopped(second, postgres), client(printed, session=cookie) as ida:
            csrf = form_token(ida.get("/import").text)
            fields = {"csrf": csrf, "kind": "csv", "source": "hotline"}
            answer = ida.post("/import", data=fields, files={"file": ("export.csv", FILE)})
            assert answer.status_code == 200
        confirmed = {"csrf": csrf, "pending": pending_on(answer.text), "step": "count"}
        with stopped(first, postgres), client(printed, session=cookie) as ida:
            assert ida.post("/import/confirm", data=confirmed).headers["location"] == "/import?done=counted"
        statuses = []
        for busy, times in ((second, TRIES - 1), (first, 2)):
            with stopped(busy, postgres), client(printed) as stranger:
                token = form_token(stranger.get("/login").text)
                guess = {"csrf": token, "name": "Ida", "password": "guess", "code": "000000"}
                statuses += [stranger.post("/login", data=guess).status_code for _ in range(times)]
        assert statuses == [403] * TRIES + [429]
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (130, "", "")
    assert not any(Path(f"/proc/{one}").exists() for one in (keeper, first, second))
    programme = Programme.open(postgres, key)
    assert programme.active_counts()["Ash Mill"] == 2
    programme.close()


def wait_for(process: "subprocess.Popen[str]", number: int) -> list[int]:
    while len(found := children(process.pid)) < number:
        assert process.poll() is None, process.communicate()
    return found


def test_they_end_with_the_one_that_started_them(postgres: str, tmp_path: Path) -> None:
    key, _ = made(postgres, tmp_path)
    with served(tmp_path, "--database", postgres, "--key", str(key.path), "--processes", "2") as (process, printed):
        left = wait_for(process, 3)
        with client(printed) as stranger:
            assert stranger.get("/login").status_code == 200
        process.kill()
        process.communicate(timeout=60)
    until = time.monotonic() + 60
    while any(Path(f"/proc/{one}").exists() for one in left):
        assert time.monotonic() < until


class _Serving:
    """Notes each start; the last one tells the supervisor to stop."""

    def __init__(self, file: Path, starts: int) -> None:
        self.file, self.starts = file, starts

    def __call__(self) -> None:
        with self.file.open("ab") as file:
            file.write(b"x")
        if self.file.stat().st_size >= self.starts:
            os.kill(os.getppid(), signal.SIGTERM)


def nothing() -> None:
    """Is said."""


def test_they_greet_when_all_have_started(office: Office, tmp_path: Path) -> None:
    note = tmp_path / "started"

    def serve() -> None:
        with note.open("ab") as file:
            file.write(b"x")
        office.console.start()
        signal.pause()

    def greet() -> None:
        assert note.read_bytes() == b"xx"
        os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        workers.serve_with(2, office.console, serve, greet)


def test_a_process_that_ends_is_started_again(office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "TOO_SOON", 0)
    with pytest.raises(KeyboardInterrupt):
        workers.serve_with(2, office.console, _Serving(tmp_path / "starts", 5), nothing)
    assert (tmp_path / "starts").stat().st_size >= 5


def test_one_that_ends_at_once_is_not(office: Office, tmp_path: Path) -> None:
    with pytest.raises(DeniableError, match="as soon as it was started"):
        workers.serve_with(1, office.console, _Serving(tmp_path / "starts", 5), nothing)


def test_without_the_keeper_they_end(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_keep", lambda *_: None)
    monkeypatch.setattr(workers, "PATIENCE", 1)
    with pytest.raises(DeniableError, match="that the others need"):
        workers.serve_with(1, office.console, signal.pause, nothing)
