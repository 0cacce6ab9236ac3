"""A file is whole or not there, and never overwritten."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable.storage.files import new_file, write_new

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
