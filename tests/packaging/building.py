"""The project's wheel and sdist, built from a copy of the tree so that nothing is left in it."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_SOURCE = (".ci", ".coverage*", ".git*", ".hypothesis", ".venv*", ".*_cache", "*.egg-info", "*.pyc", "__pycache__")
MADE = {"artifacts", "build", "dist", "public", "secrets", "site"}
"""In the project's own folder; packages below it may have such names."""


@dataclass(frozen=True)
class Built:
    """`source` is the copy they were built from."""

    source: Path
    wheel: Path
    sdist: Path

    def in_wheel(self) -> list[str]:
        with zipfile.ZipFile(self.wheel) as archive:
            return archive.namelist()

    def in_sdist(self) -> list[str]:
        """Its files' names, without the folder they are all in."""
        with tarfile.open(self.sdist) as archive:
            return [one.name.partition("/")[2] for one in archive.getmembers() if one.isfile()]


def build(folder: Path) -> Built:
    """With the setuptools that is installed, so without a network."""
    source, out = folder / "source", folder / "dist"
    shutil.copytree(ROOT, source, ignore=_not_source)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return Built(source, wheel, sdist)


def _not_source(folder: str, names: list[str]) -> set[str]:
    ignored = shutil.ignore_patterns(*NOT_SOURCE)(folder, names)
    return ignored | (MADE.intersection(names) if Path(folder) == ROOT else set())


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
