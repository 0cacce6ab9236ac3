"""A full disk is called so, wherever it shows."""

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.programme.offices import Office, new_office

from deniable.errors import DeniableError
from deniable.programme.programme import Programme
from deniable.programme.secrets.keys import KeyFile
from deniable.storage.store import Store

FULL = "the disk is full|the disk, which is full"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 4 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a disk")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def on(disk: Path, tmp_path: Path, what: str) -> Office:
    """An office of which one thing is on the disk, and the rest elsewhere."""
    database = (disk if what == "database" else tmp_path) / "programme.db"
    office = new_office(str(database), disk if what == "key" else tmp_path)
    office.programme.publish((disk if what == "public" else tmp_path) / "public")
    office.programme.report({"Ash Mill": 1})
    return office


@pytest.mark.parametrize("what", ["database", "public"])
@pytest.mark.parametrize("is_open", [True, False])
def test_closing_a_round(disk: Path, tmp_path: Path, what: str, is_open: bool) -> None:
    office = on(disk, tmp_path, what)
    office.clock.tomorrow()
    if not is_open:
        office.programme.close()
    fill(disk)
    programme = office.programme
    if what == "public":
        programme.close_round()  # it is kept beside the key
        with pytest.raises(DeniableError, match=FULL):
            programme.publish()
    else:
        with pytest.raises(DeniableError, match=FULL):
            (programme if is_open else office.again()).close_round()
    (disk / "filler").unlink()
    office.again().close_round(1)
    office.again().publish()


def test_reporting(disk: Path, tmp_path: Path) -> None:
    office = on(disk, tmp_path, "database")
    fill(disk)

    def reports() -> None:
        for _ in range(3000):  # what room there is in its log is used up first
            office.programme.report({"Ash Mill": 1})

    with pytest.raises(DeniableError, match=FULL):
        reports()


WRITES: dict[str, Callable[[Office, Path], object]] = {
    "a backup": lambda office, disk: office.programme.backup(disk / "backup"),
    "a key": lambda office, disk: office.programme.rekey(KeyFile(disk / "new.key")),
    "a folder": lambda office, disk: office.programme.publish(disk / "public"),
    "a database": lambda _, disk: new_office(str(disk / "another.db"), disk.parent / "other"),
}


@pytest.mark.parametrize("what", WRITES)
def test_writing_a_file(disk: Path, tmp_path: Path, what: str) -> None:
    (tmp_path / "other").mkdir()
    office = on(disk, tmp_path, "nothing")
    fill(disk)
    with pytest.raises(DeniableError, match=FULL):
        WRITES[what](office, disk)
    assert {file.name for file in disk.iterdir()} <= {"filler", "public"}
    assert not any((disk / "public").glob("*")) if (disk / "public").exists() else True
    (disk / "filler").unlink()
    WRITES[what](office, disk)


def test_the_copy_beside_the_key(disk: Path, tmp_path: Path) -> None:
    """Where nothing is published, it is the only place."""
    office = new_office(str(tmp_path / "programme.db"), disk)
    office.clock.tomorrow()
    fill(disk)
    with pytest.raises(DeniableError, match=FULL):
        office.programme.close_round()
    (disk / "filler").unlink()
    office.programme.close_round()


def test_an_entry_that_is_recorded_and_cannot_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    office.programme.publish(tmp_path / "public")
    office.clock.tomorrow()
    really, times = os.fsync, iter(range(1))

    def full(descriptor: int) -> None:
        if next(times, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        really(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(DeniableError, match=FULL):
            office.programme.close_round()
    office.again().close_round(1)


def test_sqlite_that_may_not_grow(tmp_path: Path) -> None:
    """As with a full disk, and everywhere."""
    office = new_office(str(tmp_path / "programme.db"), tmp_path)
    store = Store(office.database)

    def grow() -> None:
        with store.writing() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
            connection.execute(sa.text("CREATE TABLE more AS SELECT randomblob(100000)"))

    with pytest.raises(DeniableError, match=FULL):
        grow()
    Programme.open(office.database, office.key)
