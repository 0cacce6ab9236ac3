"""A full disk, a database that cannot be written to, a lost connection: one sentence, nothing half-written, go on."""

import re
import resource
from collections.abc import Callable
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
import sqlalchemy as sa
from tests.programme.crashing import in_ten_years
from tests.programme.insight import everything
from tests.programme.offices import TARGETS, Office, new_office
from tests.programme.processes import CONTEXT

from deniable.errors import DeniableError
from deniable.programme import backup
from deniable.programme.programme import Programme
from deniable.programme.public.verify import verify
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.transcript.replay import parse
from deniable.storage import store as module
from deniable.storage import tables

FULL = r"the disk is full; nothing was written, make room and try again$"
BROKEN = r"the disk does not answer as it should; nothing was acknowledged, check the disk$"
READ_ONLY = r"it cannot be written to; nothing was changed, check "


@pytest.fixture
def on_connect(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Adds a setting to every new connection to SQLite."""

    def add(setting: str) -> None:
        monkeypatch.setattr(module, "_SQLITE_SETTINGS", (*module._SQLITE_SETTINGS, setting))

    return add


def pages(database: str) -> int:
    with module.Store(database).reading() as connection:
        return int(connection.exec_driver_sql("PRAGMA page_count").scalar_one())


def close_rounds(programme: Programme, rounds: int) -> None:
    for _ in range(rounds):
        programme.close_round()


def test_a_full_disk(tmp_path: Path) -> None:
    database = str(tmp_path / "programme.db")
    office = new_office(database, tmp_path)
    office.programme.report({"Birch Works": 1})
    with pytest.MonkeyPatch.context() as patched:
        settings = (*module._SQLITE_SETTINGS, f"max_page_count = {pages(database)}")
        patched.setattr(module, "_SQLITE_SETTINGS", settings)
        full = Programme.open(database, office.key, clock=in_ten_years)
        with pytest.raises(DeniableError, match=FULL):
            close_rounds(full, 100)  # until there is no room for another entry
        before = everything(database)
        with pytest.raises(DeniableError, match=FULL):
            full.close_round()
        assert everything(database) == before
        closed = len(before["entries"])
        full.report({"Ash Mill": 1})  # takes no more room: the page that was counted is written over
        with pytest.raises(DeniableError, match=FULL):
            full.change_targets("growth", independent=True, add=[f"Yard {n}" for n in range(2000)])
        full.close()
    again = Programme.open(database, office.key, clock=in_ten_years)
    assert again.active_counts()["Ash Mill"] == 1
    assert again.close_round().round == closed + 1
    assert verify(again.publish(tmp_path / "public"), now=in_ten_years()).rounds == closed + 1


def limited(database: str, key: KeyFile, folder: Path, answers: Connection) -> None:
    """A process that may write no file beyond a size. The system then refuses as a failing disk would."""
    with closing(Programme.open(database, key, clock=in_ten_years)) as programme:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
        try:
            for number in range(1000):
                programme.report({TARGETS[number % 4]: 1})
                answers.send(number)
        except DeniableError as error:
            answers.send(str(error))
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        for deed in (
            lambda: programme.backup(folder / "backup"),
            lambda: programme.publish(folder / "public"),
            lambda: Programme.create(str(folder / "second.db"), KeyFile(folder / "second.key"), **settings(programme)),
            lambda: backup.restore(folder / "earlier backup", str(folder / "third.db"), never_published=True),
        ):
            try:
                deed()
            except DeniableError as error:
                answers.send(str(error))
            else:
                answers.send("there was room")


def settings(programme: Programme) -> dict[str, Any]:
    parameters = programme.parameters
    names = ("name", "targets", "mechanism", "delta", "calendar")
    return {name: getattr(parameters, name) for name in names}


def test_a_disk_that_stops_in_the_middle_of_a_write(tmp_path: Path) -> None:
    database = str(tmp_path / "programme.db")
    office = new_office(database, tmp_path)
    office.programme.backup(tmp_path / "earlier backup")
    office.programme.close()
    left = {path.name for path in tmp_path.iterdir()}
    listening, speaking = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=limited, args=(database, office.key, tmp_path, speaking))
    process.start()
    speaking.close()
    acknowledged = 0
    while isinstance(answer := listening.recv(), int):
        acknowledged += 1
    refusals = [answer, *(listening.recv() for _ in range(4))]
    process.join()
    process.close()
    listening.close()
    assert acknowledged > 0
    for refusal, says in zip(
        refusals,
        [
            BROKEN,
            "cannot write the backup .*: File too large; nothing was kept of it",
            "cannot publish into .*: File too large",
            BROKEN,
            BROKEN,
        ],
        strict=True,
    ):
        assert re.search(says, refusal)
    again = Programme.open(database, office.key, clock=in_ten_years)
    assert sum(again.active_counts().values()) == acknowledged
    again.close_round()
    again.close()
    assert {path.name for path in tmp_path.iterdir()} - {"public"} == left | {"programme.key.transcript"}
    assert not list((tmp_path / "public").glob(".*"))  # no temporary file
    assert verify(again.publish(tmp_path / "public"), now=in_ten_years()).rounds == 1


def read_only(office: Office, on_connect: Callable[[str], None], locked: bool) -> None:
    """Everybody who connects from now on can read only, or write again."""
    office.programme.close()
    if office.programme._access.store.is_sqlite:
        on_connect(f"query_only = {'ON' if locked else 'OFF'}")
    else:
        with psycopg.connect(office.database, autocommit=True) as connection:
            name = psycopg.sql.Identifier(connection.info.dbname)
            setting = psycopg.sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(setting.format(name, psycopg.sql.Literal("on" if locked else "off")))


def test_a_database_that_cannot_be_written_to(database: str, tmp_path: Path, on_connect: Callable[[str], None]) -> None:
    office = new_office(database, tmp_path)
    programme = office.programme
    receipt = programme.report({"Ash Mill": 1})
    programme.report({"Ash Mill": 1})
    programme.publish(tmp_path / "public")
    before = everything(database)
    read_only(office, on_connect, locked=True)
    office.clock.tomorrow()
    deeds: list[Callable[[], object]] = [
        lambda: programme.report({"Ash Mill": 1}),
        lambda: programme.withdraw(["Ash Mill"], receipt),
        lambda: programme.import_reports("hotline", [("1", "Ash Mill")]),
        programme.close_round,
        lambda: programme.skip("holiday", independent=True),
        lambda: programme.override(["Ash Mill"], "accident", independent=True),
        lambda: programme.change_targets("growth", independent=True, add=["Elm Yard"]),
        lambda: programme.end("over"),
        lambda: programme.publish(tmp_path / "elsewhere"),
    ]
    for deed in deeds:
        with pytest.raises(DeniableError, match=READ_ONLY) as caught:
            deed()
        assert str(caught.value).count(";") == 1
    programme.backup(tmp_path / "backup")  # reading is enough
    assert programme.status().open_round == 1
    read_only(office, on_connect, locked=False)
    assert everything(database) == before
    assert programme.active_counts()["Ash Mill"] == 2
    assert programme.close_round().round == 1


def test_a_lost_connection(postgres: str, tmp_path: Path) -> None:
    """The server restarts in the middle of a transaction: nothing of it is left, and the next one works."""
    office = new_office(postgres, tmp_path)
    programme = office.programme
    before = everything(postgres)

    def interrupted() -> None:
        with programme._access.writing() as transaction:
            transaction.write_tally(np.array([[1, 2, 3, 4]]))
            pid = transaction.connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one()
            with psycopg.connect(postgres, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
            transaction.connection.execute(sa.select(tables.entries))

    with pytest.raises(DeniableError, match="its server cannot be reached, or the connection was lost; look at"):
        interrupted()
    assert everything(postgres) == before
    programme.report({"Ash Mill": 1})
    assert programme.active_counts()["Ash Mill"] == 1


def test_a_connection_lost_between_two_transactions_is_made_anew(postgres: str, tmp_path: Path) -> None:
    office = new_office(postgres, tmp_path)
    office.programme.report({"Ash Mill": 1})
    with psycopg.connect(postgres, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    office.programme.report({"Ash Mill": 1})
    assert office.programme.active_counts()["Ash Mill"] == 2


def test_a_public_folder_that_cannot_be_read_stops_the_draw(database: str, tmp_path: Path) -> None:
    """What was published is unknown then, and a second draw of a published round must never happen."""
    office = new_office(database, tmp_path)
    office.programme.publish(tmp_path / "public")
    (tmp_path / "public").rename(tmp_path / "moved")
    with pytest.raises(DeniableError, match=r"cannot read what was published in .*/public: No such file"):
        office.close()
    office.programme.report({"Ash Mill": 1})
    (tmp_path / "moved").rename(tmp_path / "public")
    (audited,) = office.close()
    office.programme.publish()
    entries = [parse(line) for line in (tmp_path / "public" / "transcript.jsonl").read_text().splitlines()[:-1]]
    assert [entry.own()["audits"] for entry in entries] == [(audited,)]
