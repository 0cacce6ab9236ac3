"""Files that commands write: never over an existing one, and of several all or none."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from deniable.errors import DeniableError, cannot_write, why


def check_folder(folder: Path, names: Sequence[str]) -> None:
    """Refuse, before anything is drawn, where the files could not be written."""
    existing = folder if os.path.lexists(folder) else folder.parent
    if not existing.is_dir():
        raise DeniableError(f"cannot write into {folder}: {existing} is not a folder")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise DeniableError(f"cannot write into {folder}: Permission denied")
    for name in names:
        if os.path.lexists(folder / name):
            raise DeniableError(
                f"{folder / name} exists: publish that transcript, since a second one of the same reports would reveal "
                "more; use another folder for other reports only"
            )


def write_new(folder: Path, files: Mapping[str, str]) -> None:
    """Write all the files or none, and never over an existing one."""
    undo: list[Callable[[], None]] = []
    try:
        if not folder.is_dir():
            folder.mkdir()
            undo.append(folder.rmdir)
        for name in files:
            (folder / name).touch(exist_ok=False)  # claimed: of two draws at the same time, one is refused
            undo.append((folder / name).unlink)
        with TemporaryDirectory(dir=folder, prefix=".") as temporary:
            written = [(Path(temporary, name), folder / name, text) for name, text in files.items()]
            for path, _, text in written:
                path.write_text(text, encoding="utf-8", newline="")
            for path, final, _ in written:
                path.replace(final)
    except BaseException as error:
        for step in reversed(undo):
            with suppress(OSError):
                step()
        if isinstance(error, OSError):
            raise DeniableError(f"cannot write into {folder}: {why(error)}") from None
        raise


def check_new_file(option: str, path: Path) -> None:
    """Refuse, before any long work, a file that could not be written or is there already."""
    if not path.parent.is_dir():
        raise DeniableError(f"cannot write {path}: {path.parent} is not a folder")
    if path.exists():
        raise DeniableError(f"{path} exists, and is not overwritten: choose another name for {option}")


def create(path: Path, *, confidential: bool) -> None:
    """An empty new file, which only its owner can read if it is to be confidential."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if confidential else 0o666))
    except OSError as error:
        raise cannot_write(path, error) from None
