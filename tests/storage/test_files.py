"""A file is whole or not there, and never overwritten."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from deniable.storage import files as module
from deniable.storage.files import new_file, remove_second_names, write_new

CONTENT = (b"one\n", b"two\n")


def test_it_is_its_owners_alone(tmp_path: Path) -> None:
    write_new(tmp_path / "new", CONTENT)
    assert (tmp_path / "new").read_bytes() == b"one\ntwo\n"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["new"]


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("mine", "link"):
        with pytest.raises(FileExistsError):
            write_new(tmp_path / name, CONTENT)
    assert (tmp_path / "mine").read_text() == "mine"
    assert not list(tmp_path.glob("*.partial"))


def test_what_appears_meanwhile_is_not_overwritten_either(tmp_path: Path) -> None:
    def slow() -> Iterator[bytes]:
        yield from CONTENT
        (tmp_path / "new").write_text("mine")

    with pytest.raises(FileExistsError):
        write_new(tmp_path / "new", slow())
    assert (tmp_path / "new").read_text() == "mine"
    assert not list(tmp_path.glob("*.partial"))


def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a memory stick."""

    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(Path, "hardlink_to", refused)
    write_new(tmp_path / "new", CONTENT)
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "new", CONTENT)
    assert [file.name for file in tmp_path.iterdir()] == ["new"]


@contextmanager
def locked_by_another(folder: Path) -> Iterator[None]:
    """As any user can who can read the folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def test_another_user_who_locks_the_folder_keeps_no_backup_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.01, raising=False)
    with ThreadPoolExecutor(1) as thread, locked_by_another(tmp_path):
        thread.submit(write_new, tmp_path / "new", CONTENT).result(10)
        (tmp_path / "other-wal").write_text("of a database that may have got this name just now")
        with pytest.raises(TimeoutError, match="another process has locked its folder"):
            thread.submit(write_new, tmp_path / "other", CONTENT).result(10)
    assert (tmp_path / "new").read_bytes() == b"one\ntwo\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["new", "other-wal"]
    write_new(tmp_path / "other", CONTENT)
    assert not (tmp_path / "other-wal").exists()


def test_a_file_that_could_not_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="No space left"):
        write_new(tmp_path / "new", CONTENT)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    path = tmp_path / "backup"
    left, log = tmp_path / "backup.abc.partial", tmp_path / "backup.abc.partial-wal"
    left.touch()
    log.touch()
    (tmp_path / "backup.partial.txt").touch()
    with new_file(path) as partial:
        assert not left.exists()
        assert not log.exists()
        with new_file(path) as other:
            assert partial.exists()
            other.write_bytes(b"the first that is whole")
        partial.write_bytes(b"mine")
        with pytest.raises(FileExistsError):
            write_new(path, [])
        path.unlink()
    assert path.read_bytes() == b"mine"
    assert {file.name for file in tmp_path.iterdir()} == {"backup", "backup.partial.txt"}


def killed_after_link(path: Path) -> Path:
    """The file is whole, and the name under which it was written is left."""
    path.write_bytes(b"whole")
    left = path.with_name(f"{path.name}.abcd_123.partial")
    left.hardlink_to(path)
    return left


def test_a_second_name_is_removed_though_the_first_is_taken(tmp_path: Path) -> None:
    """It is not opened: that would end the locks of SQLite on a database which this process has open."""
    path, other = tmp_path / "programme.db", tmp_path / "other.db"
    left = [killed_after_link(path), killed_after_link(other)]
    mine = tmp_path / "programme.db.mine"
    mine.hardlink_to(path)
    with pytest.raises(FileExistsError):
        write_new(path, CONTENT)
    assert not any(file.exists() for file in left)
    assert {file.name for file in tmp_path.iterdir()} == {"programme.db", "other.db", "programme.db.mine"}
    assert path.read_bytes() == b"whole"


def test_a_second_name_of_one_file_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "programme.db"
    left, of_another = killed_after_link(path), killed_after_link(tmp_path / "other.db")
    half = tmp_path / "programme.db.zzzzzzzz.partial"
    half.touch()
    remove_second_names(path)
    remove_second_names(tmp_path / "missing")
    assert [file.exists() for file in (left, of_another, half, path)] == [False, True, True, True]


def test_what_was_left_under_other_names_is_known_by_how_it_begins(tmp_path: Path) -> None:
    def half(name: str, content: bytes) -> Path:
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    ours, same = half("monday.abcd_123.partial", b"one\nt"), half("sunday.abcd_123.partial", b"")
    others = [half("film.download.partial", b"film"), half("empty.abcd_123.partial", b""), half("one", b"one\n")]
    os.mkfifo(tmp_path / "fifo.abcd_123.partial")
    (tmp_path / "link.abcd_123.partial").symlink_to(tmp_path / "one")
    with new_file(tmp_path / "tuesday") as living:
        living.write_bytes(b"one\n")
        write_new(tmp_path / "saturday", CONTENT)
        assert ours.exists()
        write_new(tmp_path / "sunday", CONTENT, begins=b"one")
        assert living.exists()
    assert not ours.exists()
    assert not same.exists()
    assert all(file.exists() for file in others)
    assert (tmp_path / "fifo.abcd_123.partial").exists()
    assert (tmp_path / "link.abcd_123.partial").is_symlink()
