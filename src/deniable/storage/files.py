"""Files that are either complete or absent, even after a power cut."""

import errno
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PARTIAL = ".partial"
_PATIENCE = 10.0
"""Seconds to wait for another process that gives a file its name in the same folder, which takes milliseconds."""


def write_new(path: Path, content: Iterable[bytes], begins: bytes | None = None) -> None:
    """A file for its owner alone. Raises FileExistsError where there is one: it is never overwritten.

    `begins`: how files of this kind begin, so that what a killed process left of others is known (`new_file`).
    """
    pieces = iter(content)
    with new_file(path, begins) as partial, partial.open("wb") as file:
        file.write(next(pieces, b""))
        file.flush()
        file.writelines(pieces)


@contextmanager
def new_file(path: Path, begins: bytes | None = None) -> Iterator[Path]:
    """A file to be filled, for its owner alone, which is there under its own name only when it is whole.

    Raises FileExistsError where there is one. What a killed process left behind under this name is removed first, and
    under other names in the folder what begins like this.
    """
    _remove_leftovers(path, begins)
    _check_free(path)
    descriptor, partial = _locked_partial(path)
    try:
        yield partial
        os.fsync(descriptor)
        with _locked_folder(path.parent) as is_ours:
            _check_free(path)
            if is_ours:
                _remove_logs(path)
            elif any(map(os.path.lexists, _logs(path))):
                raise TimeoutError(errno.ETIMEDOUT, "another process has locked its folder")
            _link(partial, path)
    finally:
        _remove(partial)
        os.close(descriptor)  # last: what SQLite locks, it would lose with it
    sync_folder(path.parent)


def _locked_partial(path: Path) -> tuple[int, Path]:
    """Under a name of its own: two processes that write to the same path must not write into each other's file. The
    lock tells it from one that a killed process left; a file system without locks has none of these removed.
    """
    while True:
        descriptor, name = tempfile.mkstemp(suffix=_PARTIAL, prefix=f"{path.name}.", dir=path.parent)
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.path.lexists(name):  # or else it was taken for a leftover before it was locked
            return descriptor, Path(name)
        os.close(descriptor)


def _remove_leftovers(path: Path, begins: bytes | None) -> None:
    with suppress(OSError):  # what cannot be looked at stays
        for file in path.parent.iterdir():
            with suppress(OSError):
                if _is_second_name(file):
                    _remove(file)
                elif file.name.endswith(_PARTIAL) and stat.S_ISREG(file.lstat().st_mode):
                    _remove_if_left(file, b"" if file.name.startswith(f"{path.name}.") else begins)


def _remove_if_left(partial: Path, begins: bytes | None) -> None:
    """If it begins like this and no process has it locked."""
    if begins is None:
        return
    with partial.open("rb") as left:
        fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if left.read(len(begins)) == begins:
            _remove(partial)


def remove_second_names(path: Path) -> None:
    """Those that a file kept since the process that made it was killed: deleted under its own name, it would still be
    there.
    """
    with suppress(OSError):
        if path.stat().st_nlink > 1:
            for file in path.parent.iterdir():
                with suppress(OSError):
                    if _is_second_name(file) and file.samefile(path):
                        _remove(file)


def _is_second_name(file: Path) -> bool:
    """Of a file that is whole, and has its own name as well. It is not opened: where it is a database that this process
    has open, SQLite would lose its locks when it is closed.
    """
    name, dot, _ = file.name.removesuffix(_PARTIAL).rpartition(".")
    if not file.name.endswith(_PARTIAL) or not name or not dot or not os.path.lexists(file.with_name(name)):
        return False
    return os.path.samestat(file.lstat(), file.with_name(name).lstat())


def _remove(partial: Path) -> None:
    partial.unlink(missing_ok=True)
    _remove_logs(partial)  # a full disk keeps SQLite from clearing up after itself


def _remove_logs(path: Path) -> None:
    """Of a database that is gone, and whose log SQLite would take for that of the next one under its name."""
    for log in _logs(path):
        log.unlink(missing_ok=True)


def _logs(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal")]


@contextmanager
def _locked_folder(folder: Path) -> Iterator[bool]:
    """One process at a time, where the file system has locks. False where another keeps the lock: any user can take it
    who can read the folder, and must not keep a backup waiting.
    """
    descriptor, is_ours = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), True
    try:
        try:
            _take(descriptor, time.monotonic() + _PATIENCE)
        except TimeoutError:
            is_ours = False
        except OSError:  # there are no locks
            pass
        yield is_ours
    finally:
        os.close(descriptor)


def replace_file(
    path: Path, content: bytes, *, mode: int = 0o644, modified: float | None = None, owned_like: Path | None = None
) -> None:
    """Put this content in the file's place, all at once: a reader sees the old one or the new one.

    `owned_like`: where root does this, the file belongs to the owner of that one. The caller sees to it that one
    process does this at a time.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.unlink(missing_ok=True)  # of a process that was killed
    try:
        with temporary.open("xb") as file:
            os.fchmod(file.fileno(), mode)
            if owned_like is not None and os.geteuid() == 0 and owned_like.exists():
                owner = owned_like.stat()
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            file.write(content)
            file.flush()
            if modified is not None:
                os.utime(file.fileno(), (modified, modified))
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def is_full(folder: Path) -> bool:
    """Whether its disk has no room for another file of ours, where an error does not say so."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < 2**16


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last, not only the contents of its files."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(file: Path, patience: float) -> Iterator[None]:
    """One process at a time; raises TimeoutError after so many seconds, and OSError where there are no locks.

    Only who can open the file can keep others waiting.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _take(descriptor, time.monotonic() + patience)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, until: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise TimeoutError from None
            time.sleep(0.05)
        else:
            return


def _link(partial: Path, path: Path) -> None:
    try:
        path.hardlink_to(partial)  # fails where a rename would overwrite
    except FileExistsError:
        raise
    except OSError:  # a memory stick's file system has no links
        _check_free(path)
        partial.rename(path)


def _check_free(path: Path) -> None:
    if os.path.lexists(path):
        raise FileExistsError
