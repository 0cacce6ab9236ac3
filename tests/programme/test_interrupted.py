"""What a killed process leaves behind does not block the next try, and what fails leaves nothing behind."""

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.programme.insight import rows
from tests.programme.offices import Office, new_office

from deniable.errors import DeniableError
from deniable.programme import backup as backups
from deniable.programme import rekeying
from deniable.programme.programme import Programme
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.transaction import Transaction
from deniable.programme.transcript_copies import KeyCopy
from deniable.storage import backup as storage_backup
from deniable.storage import files, store, tables
from deniable.storage.store import Store, StoreError


@pytest.mark.parametrize("deletes", ["a draw", "an order", "a new key", "the end"])
def test_a_process_that_was_killed_before_it_scrubbed_is_followed_by_one_that_does(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deletes: str
) -> None:
    office = new_office(database, tmp_path)
    key = KeyFile(tmp_path / "new.key") if deletes == "a new key" else office.key
    steps: dict[str, Callable[[], object]] = {
        "a draw": office.close,
        "an order": lambda: office.programme.override(["Ash Mill"], "why", independent=True),
        "a new key": lambda: office.programme.rekey(key),
        "the end": lambda: office.programme.end("It was a drill."),
    }
    with monkeypatch.context() as killed:
        killed.setattr(Store, "scrub", lambda _: None)
        steps[deletes]()
        assert rows(database, tables.remains)
    Programme.open(database, key, clock=office.clock)
    assert not rows(database, tables.remains)


STEPS = ["begin", "new_key_file", "retire", "change_vault", "note_kept_beside_key", "commit"]
"""Of a change of the key; a process is killed, or fails, just after one of them."""


def interrupt(monkeypatch: pytest.MonkeyPatch, step: str, way: Callable[[], None]) -> None:
    where: dict[str, tuple[object, str]] = {
        "begin": (KeyCopy, "begin"),
        "new_key_file": (rekeying, "new_key_file"),
        "retire": (KeyCopy, "retire"),
        "change_vault": (Transaction, "change_vault"),
        "note_kept_beside_key": (Transaction, "note_kept_beside_key"),
        "commit": (Store, "scrub"),
    }
    really = getattr(*where[step])

    def interrupted(*given: Any) -> Any:
        result = really(*given)
        way()
        return result

    monkeypatch.setattr(*where[step], interrupted)


def killed(office: Office, new: KeyFile, step: str) -> None:
    office.programme.close()
    killed_when(lambda monkeypatch: interrupt(monkeypatch, step, die), lambda: office.again().rekey(new))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("drawn", [False, True])
def test_a_change_of_the_key_that_was_killed_is_done_again(tmp_path: Path, step: str, other: bool, drawn: bool) -> None:
    """With the same name for the new key, or with another one."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.programme.report({"Ash Mill": 3})
    if drawn:
        office.close()
    office.programme.report({"Birch Works": 2})
    counts = office.programme.active_counts()
    first, second = KeyFile(tmp_path / "first.key"), KeyFile(tmp_path / ("second.key" if other else "first.key"))
    killed(office, first, step)
    if step == "commit":
        with pytest.raises(DeniableError, match="not the key"):
            office.again()
        assert Programme.open(office.database, first, clock=office.clock).active_counts() == counts
        return
    office.again().rekey(second)
    programme = Programme.open(office.database, second, clock=office.clock)
    assert programme.active_counts() == counts
    office.clock.tomorrow()
    office.clock.tomorrow()
    programme.close_round()
    if other and step == "retire":  # what the first try left lets no database go on
        copy = KeyCopy.beside(first)
        assert copy is not None
        assert copy.note() is not None


def test_an_old_database_is_not_taken_for_a_change_that_was_interrupted(tmp_path: Path) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.close()
    office.programme.close()
    old = Path(office.database).read_bytes()
    new = KeyFile(tmp_path / "new.key")
    programme = office.again()
    programme.rekey(new)
    programme.override(["Ash Mill"], "why", independent=True)
    programme.close()
    Path(office.database).write_bytes(old)
    for again in (new, KeyFile(tmp_path / "another.key")):
        with pytest.raises(DeniableError, match="replaced by another"):
            office.again().rekey(again)
    new.transcript.unlink()  # moved to a safe place
    with pytest.raises(DeniableError, match="replaced by another"):
        office.again().rekey(new)
    assert not (tmp_path / "another.key").exists()


@pytest.mark.parametrize("step", STEPS[:-1])
def test_a_change_of_the_key_that_fails_leaves_nothing_behind(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    office = new_office(database, tmp_path)
    office.close()

    def fail() -> None:
        raise OSError(errno.EIO, "the disk broke")

    before = {file.name: file.read_bytes() for file in tmp_path.glob("*.key*")}
    with monkeypatch.context() as patched:
        interrupt(patched, step, fail)
        with pytest.raises(OSError, match="the disk broke"):
            office.programme.rekey(KeyFile(tmp_path / "new.key"))
    assert {file.name: file.read_bytes() for file in tmp_path.glob("*.key*")} == before
    office.again().rekey(KeyFile(tmp_path / "new.key"))


def test_a_new_key_is_kept_where_the_database_took_it_and_could_not_say_so(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or else nothing could ever be read again."""
    office, new = new_office(database, tmp_path), KeyFile(tmp_path / "new.key")
    really = Store.writing

    @contextmanager
    def breaks_off(self: Store) -> Iterator[Any]:
        with really(self) as connection:
            yield connection
        raise StoreError("the connection was lost")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "writing", breaks_off)
        with pytest.raises(StoreError):
            office.programme.rekey(new)
    Programme.open(database, new, clock=office.clock).active_counts()


def killed_when(prepare: Callable[[pytest.MonkeyPatch], None], work: Callable[[], object]) -> None:
    """Do the work in a process of its own, which is killed."""
    child = os.fork()
    if child == 0:
        try:
            with pytest.MonkeyPatch.context() as monkeypatch:
                prepare(monkeypatch)
                work()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def die(*_: object) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("step", ["before anything is filled", "while it is filled", "when it is whole"])
def test_a_restore_that_was_killed_is_done_again(tmp_path: Path, step: str) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.programme.report({"Ash Mill": 3})
    backup, restored = tmp_path / "sunday.backup", tmp_path / "restored" / "programme.db"
    office.programme.backup(backup)
    office.programme.close()
    restored.parent.mkdir()
    where = {
        "before anything is filled": (store, "migrate"),
        "while it is filled": (storage_backup, "insert"),
        "when it is whole": (files, "_link"),
    }
    restore = partial(backups.restore, backup, str(restored), never_published=True)
    killed_when(lambda monkeypatch: monkeypatch.setattr(*where[step], die), restore)
    assert not restored.exists()
    assert any(restored.parent.iterdir())
    restore()
    assert Programme.open(str(restored), office.key).status().entries == 0
    names = {file.name for file in restored.parent.iterdir()}
    assert names <= {"programme.db", "programme.db-wal", "programme.db-shm"}  # nothing of the first try is left


@pytest.mark.parametrize("again", ["sunday", "monday"])
def test_a_backup_that_was_killed_is_done_again(tmp_path: Path, again: str) -> None:
    """Under the same name or another: nothing of the first try is left."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.programme.close()
    (tmp_path / "backups").mkdir()
    backup = tmp_path / "backups" / "sunday.backup"
    killed_when(
        lambda monkeypatch: monkeypatch.setattr(Programme, "check_kept", die), lambda: office.again().backup(backup)
    )
    assert [file.suffix for file in backup.parent.iterdir()] == [".partial"]
    named = tmp_path / "backups" / f"{again}.backup"
    office.again().backup(named)
    assert list(backup.parent.iterdir()) == [named]


def test_a_database_that_was_made_and_killed_then_has_one_name(tmp_path: Path) -> None:
    database, key = tmp_path / "programme.db", tmp_path
    killed_when(lambda monkeypatch: monkeypatch.setattr(files, "_remove", die), lambda: new_office(str(database), key))
    assert database.stat().st_nlink == 2
    Store.open(str(database)).dispose()
    assert database.stat().st_nlink == 1
    assert not list(tmp_path.glob("*.partial*"))
