"""The public folder is served to the world: it must hold neither the database nor a key, at any depth."""

from collections.abc import Iterable
from pathlib import Path

from deniable.programme.public_files import folder_error
from deniable.programme.vault import KEY_FILE_BEGINS


def check_apart(folder: Path, database: Path | None, keys: Iterable[Path] = ()) -> None:
    """Refuse a folder that holds, or is above, the database or one of these keys, or that holds any key file.

    A key file that nobody named is known by how it begins, but only looked for in the folder itself: what lies below a
    web server's folder may be very much.
    """
    if database is not None and _holds(folder, database):
        what = "the database is"
    elif any(_holds(folder, key) for key in keys) or any(map(_is_key, _files(folder))):
        what = "the key is"
    else:
        return
    raise folder_error(
        f"{what} in the folder {folder}, and what is published there is for everybody; publish into a folder of its "
        "own, such as public",
        folder,
    )


def _holds(folder: Path, file: Path) -> bool:
    return file.resolve().is_relative_to(folder.resolve())


def _files(folder: Path) -> list[Path]:
    """Links among them, which a web server would follow."""
    return [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []


def _is_key(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(KEY_FILE_BEGINS)) == KEY_FILE_BEGINS
    except OSError:  # a web server may read what we may not, but our keys are ours to read
        return False
