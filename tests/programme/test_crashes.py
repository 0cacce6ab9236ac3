"""Whatever was acknowledged is there after kill -9 at any instant, once, and the programme goes on."""

from pathlib import Path

import pytest
from tests.programme.crashing import endure

from deniable.programme.randomness.source import Dice

DICE = Dice("the town hall")
REDRAWN = "announced audits are not the recorded ones|do not follow"


@pytest.mark.parametrize("randomness", [None, DICE], ids=["drawn at once", "frozen first"])
def test_crashes(database: str, tmp_path: Path, randomness: Dice | None) -> None:
    endure(database, tmp_path, kills=13, randomness=randomness)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_five_hundred_crashes(database: str, tmp_path: Path, seed: int) -> None:
    """In two halves. Each round is frozen, and drawn later: a kill may come before, between and after both."""
    followed = endure(database, tmp_path, kills=250, seed=seed, randomness=DICE)
    assert {"import", "close", "publish", "backup", "one", "several", "handed over"} < followed.interrupted.keys()


@pytest.mark.parametrize(
    ("planted", "says", "randomness"),
    [
        ("early", "reports were lost", None),
        ("hasty", "reports were lost", None),
        ("emptied first", "reports were lost", None),
        ("emptied last", "counted twice", None),
        ("half-written", "counted twice or in part", None),
        ("redrawing", REDRAWN, None),
        ("redrawing", REDRAWN, DICE),
    ],
)
def test_the_check_would_notice(
    database: str, tmp_path: Path, planted: str, says: str, randomness: Dice | None
) -> None:
    """Every kill shows the bug with a probability of about one half, and of a tenth at the very least."""
    work = ("close" if planted == "redrawing" else "report",)
    with pytest.raises(AssertionError, match=says):
        endure(database, tmp_path, kills=130, work_=work, planted=planted, longest=0.3, randomness=randomness)
