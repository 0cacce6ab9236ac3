"""What waits is kept for its time, and not for longer because the clock was set back."""

from datetime import UTC, datetime, timedelta

import pytest

from deniable.console.expiry import is_kept

DAY = timedelta(days=1)
ASKED = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("passed", "kept"),
    [(timedelta(0), True), (DAY - timedelta(seconds=1), True), (DAY, False), (timedelta(seconds=-1), False)],
)
def test_it_is_kept_for_its_time(passed: timedelta, kept: bool) -> None:
    assert is_kept(ASKED + DAY, ASKED + passed, DAY) == kept
