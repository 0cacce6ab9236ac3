"""Files that are whole or not there, also after a power cut."""

import os
import tempfile
from collections.abc import Iterable
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
