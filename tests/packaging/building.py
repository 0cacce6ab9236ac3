"""The project's wheel, sdist and bill of materials, made from a copy of the tree so that nothing is left in it."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
EPOCH = 1_700_000_000
NOT_SOURCE = (".ci", ".coverage*", ".git", ".hypothesis", ".venv*", ".*_cache", "*.egg-info", "*.pyc", "__pycache__")
MADE = {"artifacts", "build", "dist", "public", "secrets", "site"}
"""In the project's own folder; packages below it may have such names."""


@dataclass(frozen=True)
class Built:
    """`source` is the copy they were built from."""

    source: Path
    wheel: Path
    sdist: Path
    bill: Path

    def in_wheel(self) -> list[str]:
        with zipfile.ZipFile(self.wheel) as archive:
            return archive.namelist()

    def in_sdist(self) -> list[str]:
        """Its files' names, without the folder they are all in."""
        with tarfile.open(self.sdist) as archive:
            return [one.name.partition("/")[2] for one in archive.getmembers() if not one.isdir()]


def copied(folder: Path) -> Path:
    return Path(shutil.copytree(ROOT, folder / "source", ignore=_not_source, symlinks=True))


def build(source: Path, out: Path, epoch: int = EPOCH, umask: int = 0o022) -> Built:
    """As `make dist` does, with the build backend that is installed, so without a network."""
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(epoch)}

    def run(*command: str | Path) -> None:
        done = subprocess.run(
            [sys.executable, *command], env=environment, umask=umask, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    run("-m", "build", "--no-isolation", "--outdir", out, source)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    run(ROOT / "scripts" / "bill_of_materials.py", wheel)
    (bill,) = out.glob("*.cdx.json")
    return Built(source, wheel, sdist, bill)


def _not_source(folder: str, names: list[str]) -> set[str]:
    ignored = shutil.ignore_patterns(*NOT_SOURCE)(folder, names)
    return ignored | (MADE.intersection(names) if Path(folder) == ROOT else set())


def files(folder: Path) -> set[str]:
    """Also those behind a link to a folder."""
    return {path.relative_to(folder).as_posix() for path in _walked(folder)}


def _walked(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder, followlinks=True):
        yield from (Path(parent) / name for name in names)
