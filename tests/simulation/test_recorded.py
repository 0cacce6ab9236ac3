"""Recorded streams cut to size, and what became of their reports."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import DeniableError
from deniable.simulation.recorded import read_outcomes, window, without_days
from deniable.streams import ReportStream

DAILY = ReportStream(
    np.array([[1, 0, 0], [0, 0, 2], [0, 4, 0], [8, 0, 0]]),
    ("acme", "bravo", "charlie"),
    ("2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01"),
)


def test_a_window_cuts_days_and_drops_targets_without_reports() -> None:
    cut = window(DAILY, "2024-02-29", "2024-03-01")
    assert cut == ReportStream(np.array([[0, 4], [8, 0]]), ("acme", "bravo"), ("2024-02-29", "2024-03-01"))
    assert window(DAILY, "2024-02-29", keep_targets=True).targets == DAILY.targets


def test_a_window_beyond_the_stream_is_rounds_without_reports() -> None:
    cut = window(DAILY, "2024-02-25", "2024-03-03")
    assert cut.n_rounds == 8
    assert np.array_equal(cut.counts[2:6], DAILY.counts)
    assert not cut.counts[:2].any()
    assert not cut.counts[6:].any()


def test_days_of_a_period_add_up_and_the_last_may_be_short() -> None:
    assert window(DAILY, period="3d").counts.tolist() == [[1, 4, 2], [8, 0, 0]]
    assert window(DAILY, "2024-02-26", period="1W").rounds == ("2024-02-26",)


@given(st.integers(0, 8), st.integers(0, 8), st.integers(1, 9))
def test_no_report_of_the_window_is_lost(first: int, length: int, days: int) -> None:
    start, stop = np.datetime64("2024-02-24") + first, np.datetime64("2024-02-24") + first + length
    cut = window(DAILY, str(start), str(stop), f"{days}D", keep_targets=True)
    inside = (np.array(DAILY.rounds, dtype="M8[D]") >= start) & (np.array(DAILY.rounds, dtype="M8[D]") <= stop)
    assert np.array_equal(cut.counts.sum(axis=0), DAILY.counts[inside].sum(axis=0))
    assert cut.n_rounds == -(-(length + 1) // days)


def test_days_left_out_stay_rounds() -> None:
    less = without_days(DAILY, ["2024-02-28", "2024-03-01"])
    assert less.counts.tolist() == [[1, 0, 0], [0, 0, 0], [0, 4, 0], [0, 0, 0]]
    assert less.rounds == DAILY.rounds


@pytest.mark.parametrize(
    ("first", "last", "period", "words"),
    [
        ("2024-03-01", "2024-02-27", "1D", "the first day must not be after the last, got 2024-03-01 and 2024-02-27"),
        ("1 March", None, "1D", "a day must be written YYYY-MM-DD, got 1 March"),
        (None, "2024-02-30", "1D", "a day must be written YYYY-MM-DD, got 2024-02-30"),
        (None, None, "month", "period must be a number of days or weeks such as 1D, 7D or 2W, got month"),
        ("2024-03-01", None, "1D", "at least two targets must have reports from 2024-03-01 to 2024-03-01"),
        ("2025-03-01", "2025-03-04", "1D", "at least two targets must have reports"),
    ],
)
def test_bad_windows_are_refused(first: str | None, last: str | None, period: str, words: str) -> None:
    with pytest.raises(DeniableError, match=words):
        window(DAILY, first, last, period)


def test_windows_beyond_memory_are_refused() -> None:
    one_day = ReportStream(np.ones((1, 100), dtype=np.int64), tuple(map(str, range(100))), ("2024-01-01",))
    with pytest.raises(DeniableError, match="got 100 targets and 2913"):
        window(one_day, last="9999-12-31")


def test_a_day_outside_the_stream_cannot_be_left_out() -> None:
    with pytest.raises(DeniableError, match="must be one of the stream's, got 2024-03-02"):
        without_days(DAILY, ["2024-03-02"])


# Outcomes


def outcomes(folder: Path, text: str | bytes) -> Path:
    path = folder / "outcomes.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_outcomes_are_shares_in_the_order_of_the_targets(tmp_path: Path) -> None:
    path = outcomes(
        tmp_path, "target,reports,assessed_gt0,paid_gt0\nbravo,4,1,0\nelse,9,9,9\nacme,2,1,1\ncharlie,0,0,0\n"
    )
    assert read_outcomes(path, ("acme", "bravo", "charlie")).tolist() == [0.5, 0.25, 0.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("target,reports,assessed_gt0\nacme,2,1\n", "must have a row for the target 'bravo'"),
        ("target,reports\nacme,2\n", "must have the columns target,reports,assessed_gt0"),
        ("target,reports,assessed_gt0\nacme,2,-1\n", "line 2: reports and assessed_gt0 must be whole numbers"),
        ("target,reports,assessed_gt0\nacme,2\n", "line 2: expected 3 cells"),
        ("target,reports,assessed_gt0\nacme,2,3\n", "line 2: assessed_gt0 must be at most reports"),
        ('target,reports,assessed_gt0\n"acme,2,3\n', "a quote is out of place"),
        ("target,reports,assessed_gt0\n\xe9,2,3\n".encode("latin-1"), "must be text in UTF-8"),
        ("", "must have the columns"),
    ],
)
def test_bad_outcomes_are_refused(tmp_path: Path, text: str | bytes, words: str) -> None:
    with pytest.raises(DeniableError, match=words):
        read_outcomes(outcomes(tmp_path, text), ("acme", "bravo"))


def test_missing_outcomes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DeniableError, match="cannot read"):
        read_outcomes(tmp_path / "none.csv", ("acme", "bravo"))
