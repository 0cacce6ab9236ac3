"""An office for every test of the console; see tests/console/offices.py."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.console.offices import Office, new_office


@pytest.fixture(autouse=True)
def _strangers_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which takes time, and is tested where it matters."""
    monkeypatch.setattr("deniable.console.app.STRANGERS_WAIT", 0)


@pytest.fixture(autouse=True)
def _no_page_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is. What is made again in a thread takes more statements, which some tests compare."""
    monkeypatch.setattr("deniable.console.remembered.Paced.LONG", float("inf"))


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    office = new_office(tmp_path)
    yield office
    office.console.close()
