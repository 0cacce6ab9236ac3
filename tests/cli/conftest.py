"""Fixtures of the command's tests."""

import functools
from pathlib import Path

import pytest
from tests.cli.programmes import Desk
from tests.cli.running import GOOD, Result, Run
from tests.programme.offices import Clock
from typer.main import get_command

from deniable.cli import main as command_line
from deniable.cli.main import main
from deniable.cli.programme import options

_get_command = functools.cache(get_command)


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """To build the commands anew for every call takes long."""
    monkeypatch.setattr(command_line, "get_command", _get_command)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in this process."""

    def call(*args: object) -> Result:
        code = main([str(arg) for arg in args])
        return Result(code, *capsys.readouterr())

    return call


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    path = tmp_path / "reports.csv"
    path.write_text(GOOD, encoding="utf-8")
    return path


@pytest.fixture
def long_reports(tmp_path: Path) -> Path:
    path = tmp_path / "long.csv"
    path.write_text("acme,bravo,charlie,delta\n" + "0,0,0,0\n" * 200, encoding="utf-8")
    return path


@pytest.fixture
def desk(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """An office with nothing on its desk, at noon of 5 January 2026."""
    clock = Clock()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(options, "now", clock)
    for name in ("DATABASE", "KEY", "PASSPHRASE", "NEW_PASSPHRASE"):
        monkeypatch.delenv(f"DENIABLE_{name}", raising=False)
    return Desk(run, tmp_path, clock)


@pytest.fixture
def office(desk: Desk) -> Desk:
    """An office with a programme of daily rounds."""
    desk.init()
    return desk
