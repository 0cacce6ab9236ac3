"""An office for every test of the console; see tests/web/offices.py."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.programme.conftest import _postgres_database, database, postgres, postgres_server
from tests.web.offices import Office, new_office

__all__ = ["_postgres_database", "database", "office", "postgres", "postgres_server"]


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    office = new_office(tmp_path)
    yield office
    office.console.close()
