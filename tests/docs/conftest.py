"""Fixtures of the documentation's tests."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.blocks import ROOT
from tests.docs.shell import stand_ins
from tests.docs.warm import warm_command


@pytest.fixture(scope="session")
def programs() -> Iterator[Path]:
    """A folder with the programs that the pages call and that are not just there: `deniable`, `make` and `pip`."""
    with warm_command() as folder:
        stand_ins(folder)
        yield folder


@pytest.fixture
def folder(tmp_path: Path, programs: Path) -> Path:
    """Where a reader is: a folder with the examples, and deniable in `.venv`, as in a clone."""
    clone = tmp_path / "clone"  # not the test's own folder: a page may work in a folder beside it
    shutil.copytree(ROOT / "examples", clone / "examples", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    (clone / ".venv").mkdir()
    (clone / ".venv" / "bin").symlink_to(programs)
    return clone
