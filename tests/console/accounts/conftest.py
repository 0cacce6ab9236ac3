from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from tests.console.offices import Office


@pytest.fixture
def connection(office: Office) -> Iterator[sa.Connection]:
    with office.console.store.writing() as connection:
        yield connection


@pytest.fixture
def key(office: Office) -> bytes:
    return office.console.key


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 1, 5, 12, tzinfo=UTC)
