"""For the tests of storage."""

import pytest


@pytest.fixture(autouse=True)
def _quick_tables() -> None:
    """Not here: these are the tests of the migrations."""
