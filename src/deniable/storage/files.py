"""Files that are whole or not there, also after a power cut."""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


def write_new(path: Path, content: Iterable[bytes]) -> None:
    """A file for its owner alone. Raises FileExistsError where there is one: it is never overwritten."""
    _check_free(path)
    # Under a name of its own: two processes that write to the same path must not write into each other's file.
    descriptor, name = tempfile.mkstemp(suffix=".partial", prefix=f"{path.name}.", dir=path.parent)
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(content)
            file.flush()
            os.fsync(file.fileno())
        _link(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    sync_folder(path.parent)


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
