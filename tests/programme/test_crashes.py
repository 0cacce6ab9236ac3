"""Whatever was acknowledged is there after kill -9 at any instant, once, and the programme goes on."""

from pathlib import Path

import pytest
from tests.programme.crashing import endure


def test_crashes(database: str, tmp_path: Path) -> None:
    endure(database, tmp_path, kills=25)


@pytest.mark.long
def test_five_hundred_crashes(database: str, tmp_path: Path) -> None:
    followed = endure(database, tmp_path, kills=500, seed=1)
    assert {"import", "close", "publish", "backup", "one", "several", "handed over"} < followed.interrupted.keys()


@pytest.mark.parametrize(
    ("planted", "work", "says"),
    [
        ("early", ("report",), "reports were lost"),
        ("hasty", ("report",), "reports were lost"),
        ("emptied first", ("report",), "reports were lost"),
        ("emptied last", ("report",), "counted twice"),
        ("half-written", ("report",), "counted twice or in part"),
        ("redrawing", ("close",), "announced audits are not the recorded ones|do not follow"),
    ],
)
def test_the_check_would_notice(database: str, tmp_path: Path, planted: str, work: tuple[str], says: str) -> None:
    """Every kill shows the bug with a probability of about one half, and of a tenth at the very least."""
    with pytest.raises(AssertionError, match=says):
        endure(database, tmp_path, kills=130, work_=work, planted=planted, longest=0.3)
