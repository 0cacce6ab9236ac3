"""Report streams: what is refused and in which words, files there and back, and the paper's definitions."""

import datetime
import re
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from deniable.arrays import IntArray
from deniable.errors import DeniableError
from deniable.streams import (
    MAX_REPORTS,
    ReportStream,
    active_counts,
    add_report,
    check_counts,
    check_round,
    deficit,
    differing_report,
    is_adjacent,
    leaders,
    misselected,
    normalized_deficit,
    read_csv,
    read_targets,
    resolved,
    write_csv,
)

AB = ("acme", "bravo")

SECRET = 737373
"""A count that no message may show."""


def refused(message: str) -> Any:
    return pytest.raises(DeniableError, match=message)


# check_counts, check_round


@pytest.mark.parametrize(
    "counts",
    [
        [[1, 2], [3, 0]],
        ((1, 2), (3, 0)),
        np.array([[1, 2], [3, 0]], dtype=np.uint8),
        np.array([[1.0, 2.0], [3.0, 0.0]]),
        np.array([[1, 2], [3, 0]], dtype=object),
        [np.array([1, 2]), np.array([3, 0])],
    ],
)
def test_counts_become_int64(counts: Any) -> None:
    checked = check_counts(counts, 2)
    assert checked.dtype == np.int64
    assert checked.tolist() == [[1, 2], [3, 0]]


def test_counts_are_a_copy() -> None:
    counts = np.array([1, 2])
    check_counts(counts)[0] = 9
    assert counts.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([SECRET, 0.5], "whole numbers"),
        ([SECRET, np.nan], "whole numbers"),
        ([SECRET, np.inf], "whole numbers"),
        ([SECRET, 1j], "whole numbers"),
        ([SECRET, "2"], "whole numbers"),
        (["1", "2"], "whole numbers"),
        ([SECRET, None], "whole numbers"),
        ([True, False], "whole numbers"),
        ([True, SECRET], "whole numbers"),
        (np.array([True, False]), "whole numbers"),
        (np.array([True, SECRET], dtype=object), "whole numbers"),
        ({SECRET}, "whole numbers"),
        ("12", "whole numbers"),
        (np.array([1, 2], dtype="m8[D]"), "whole numbers"),
        ([[SECRET, 2], [3]], "whole numbers, as many in every round"),
        ([-SECRET, 2], "must not be negative"),
        ([-1.0, 2.0], "must not be negative"),
        ([MAX_REPORTS + 1, 0], "at most 1000000000"),
        ([1e300, 0.0], "at most 1000000000"),
        ([2**63, 0], "at most 1000000000"),
        ([10**400, 0], "at most 1000000000"),
        ([10**400, 0.5], "whole numbers"),
        (SECRET, "got a single number"),
        ([1, SECRET, 3, 4], "a round has 2 counts, one for each target; got 4"),
    ],
)
def test_bad_counts_are_refused(counts: Any, message: str) -> None:
    with refused(message) as caught:
        check_counts(counts, 2)
    assert str(SECRET) not in str(caught.value)


def test_the_largest_count_is_accepted() -> None:
    assert check_counts([MAX_REPORTS, 0]).tolist() == [MAX_REPORTS, 0]


@pytest.mark.parametrize(
    ("reports", "counts"),
    [([1, 2, 3], [1, 2, 3]), ({2: 4, np.int64(0): 1}, [1, 0, 4]), ({}, [0, 0, 0]), ({1: 2.0}, [0, 2, 0])],
)
def test_a_round_in_full_or_sparse(reports: Any, counts: list[int]) -> None:
    checked = check_round(reports, 3)
    assert checked.dtype == np.int64
    assert checked.tolist() == counts


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        ([1, 2], "a round has 3 counts, one for each target; got 2"),
        ([[1, 2, 3]], "got an array with 2 axes"),
        ({0: [SECRET]}, "got an array with 2 axes"),
        ({7: SECRET}, r"target must be in 0\.\.2, got 7: there are 3 targets"),
        ({np.int64(7): SECRET}, r"target must be in 0\.\.2, got 7: there are 3 targets"),
        ({-1: SECRET}, r"target must be in 0\.\.2, got -1"),
        ({"acme": SECRET}, r"target must be in 0\.\.2, got 'acme'"),
        ({True: SECRET}, r"target must be in 0\.\.2, got True"),
        ({1.0: SECRET}, r"target must be in 0\.\.2, got 1.0"),
        ({0: -SECRET}, "must not be negative"),
        ({0: SECRET + 0.5}, "whole numbers"),
        ({0: True}, "whole numbers"),
    ],
)
def test_bad_rounds_are_refused(reports: Any, message: str) -> None:
    with refused(message) as caught:
        check_round(reports, 3)
    assert str(SECRET) not in str(caught.value)


# ReportStream


def stream(counts: Any, targets: Any = AB, rounds: Any = None) -> ReportStream:
    return ReportStream(counts, targets, tuple(map(str, range(1, len(counts) + 1))) if rounds is None else rounds)


def test_stream_fields() -> None:
    s = stream([[1, 2], [3, 4], [5, 6]])
    assert (s.n_rounds, s.n_targets, s.targets, s.rounds) == (3, 2, AB, ("1", "2", "3"))
    assert s.counts.dtype == np.int64


def test_stream_cannot_be_changed() -> None:
    given_counts = np.array([[1, 2]])
    s = stream(given_counts)
    given_counts[0, 0] = 9
    assert s.counts.tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="read-only"):
        s.counts[0, 0] = 9
    with pytest.raises(FrozenInstanceError):
        s.targets = ("x", "y")  # type: ignore[misc]


def test_stream_equality() -> None:
    s = stream([[1, 2]])
    assert s == stream([[1, 2]])
    assert s != stream([[1, 3]])
    assert s != stream([[1, 2]], targets=("acme", "charlie"))
    assert s != stream([[1, 2]], rounds=("2024-01-01",))
    assert s != [[1, 2]]
    with pytest.raises(TypeError, match="unhashable"):
        hash(s)


def test_repr_hides_counts() -> None:
    s = stream([[SECRET, 0]])
    assert repr(s) == "ReportStream(1 rounds, 2 targets)"
    assert str(s) == repr(s)


@pytest.mark.parametrize(
    ("counts", "targets", "rounds", "message"),
    [
        (
            [[1]],
            ("acme",),
            None,
            "a stream needs at least two targets, got 1: with one, every round audits it",
        ),
        ([[]], (), None, "at least two targets, got 0"),
        (np.zeros((0, 2)), AB, (), "at least one round"),
        ([1, 2], AB, None, "two axes"),
        ([[[1, 2]]], AB, None, "two axes"),
        ([[1, 2, 3]], AB, None, "a round has 2 counts"),
        ([[1, -1]], AB, None, "negative"),
        ([[1, 2]], ("acme", "acme"), None, "'acme' must not appear twice"),
        ([[1, 2]], ("acme", ""), None, "must not be empty"),
        ([[1, 2]], ("acme", " bravo"), None, "' bravo' must not be empty or start"),
        ([[1, 2]], ("acme", "bra\nvo"), None, "one line without control"),
        ([[1, 2]], ("acme", "bra\0vo"), None, "one line without control"),
        ([[1, 2]], ("acme", "\ud800"), None, "one line without control"),
        ([[1, 2]], "ab", None, "sequence of names"),
        ([[1, 2]], (1, 2), None, "sequence of names"),
        ([[1, 2]], AB, ("1", "2"), "needs as many round labels, got 2"),
        ([[1, 2]], AB, ("2",), "round labels must be"),
        ([[1, 2]], AB, (1,), "round labels must be"),
        ([[1, 2]], AB, (datetime.date(2024, 1, 1),), "round labels must be"),
        ([[1, 2]], AB, ("2024-02-30",), "round labels must be"),
        ([[1, 2]], AB, ("2024-W01-1",), "round labels must be"),
        ([[1, 2]] * 2, AB, ("2024-01-01", "2"), "round labels must be"),
        ([[1, 2]] * 2, AB, ("2024-01-01", "2024-01-01"), "round labels must be"),
        ([[1, 2]] * 2, AB, ("2024-01-02", "2024-01-01"), "round labels must be"),
        ([[1, 2]] * 3, AB, ("2024-01-01", "2024-01-02", "2024-01-04"), "round labels must be"),
    ],
)
def test_bad_streams_are_refused(counts: Any, targets: Any, rounds: Any, message: str) -> None:
    with refused(message):
        stream(counts, targets, rounds)


# Files


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    return tmp_path / "reports.csv"


def save(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_long_rounds(reports: Path) -> None:
    save(reports, "round,target,reports\n3,bravo,2\n1,acme,1\n3,acme,0\n")
    assert read_csv(reports) == stream([[1, 0], [0, 0], [0, 2]])


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffround,target,reports\n1,acme,1\n2,bravo,2\n",
        "round,target,reports\r\n1,acme,1\r\n2,bravo,2",
        "round,target,reports\r1,acme,1\r2,bravo,2",
        "reports, target ,round\n\n1, acme ,1\n   \n2,\tbravo, 2 \n\n",
        'round,target,reports\n"1", "acme",1\n002,"bravo",002\n',
        "Round,Target,Reports\n1,acme,1\n2,bravo,2\n",
    ],
)
def test_tolerated_spellings(reports: Path, text: str) -> None:
    assert read_csv(save(reports, text)) == stream([[1, 0], [0, 2]])


def test_targets_found_in_a_long_file_are_sorted(reports: Path) -> None:
    save(reports, "round,target,reports\n1,zulu,1\n1,acme,2\n1,Écho,3\n")
    assert read_csv(reports) == stream([[2, 1, 3]], targets=("acme", "zulu", "Écho"))


def test_the_list_gives_order_and_silent_targets(reports: Path) -> None:
    save(reports, "round,target,reports\n1,zulu,1\n1,acme,2\n")
    listed = ("zulu", "mike", "acme")
    assert read_csv(reports, targets=list(listed)) == stream([[1, 0, 2]], targets=listed)


def test_one_target_in_the_file_is_enough_with_a_list(reports: Path) -> None:
    save(reports, "round,target,reports\n1,acme,1\n")
    assert read_csv(reports, targets=AB) == stream([[1, 0]])
    with refused("at least two targets, got 1"):
        read_csv(reports)


@pytest.mark.parametrize("form", ["round,target,reports\n1,acme,1\n1,bravo,0\n", "acme,bravo\n1,0\n"])
def test_rounds_open_the_end(reports: Path, form: str) -> None:
    assert read_csv(save(reports, form), rounds=3) == stream([[1, 0], [0, 0], [0, 0]])


def test_dates_make_consecutive_rounds(reports: Path) -> None:
    save(reports, "date,target,reports\n2024-03-02,bravo,2\n2024-02-28,acme,1\n")
    expected = ("2024-02-28", "2024-02-29", "2024-03-01", "2024-03-02")
    assert read_csv(reports) == stream([[1, 0], [0, 0], [0, 0], [0, 2]], rounds=expected)


@pytest.mark.parametrize("period", ["7D", "1W"])
def test_dates_of_a_period_add_up(reports: Path, period: str) -> None:
    text = "date,target,reports\n2024-01-01,acme,1\n2024-01-07,acme,2\n2024-01-08,acme,4\n2024-01-09,bravo,8\n"
    expected = stream([[3, 0], [4, 8], [0, 0]], rounds=("2024-01-01", "2024-01-08", "2024-01-15"))
    assert read_csv(save(reports, text), period=period, rounds=3) == expected


@pytest.mark.parametrize("first", ["", "round,", "Round,"])
def test_wide_rounds(reports: Path, first: str) -> None:
    number = ("1,", "2,") if first else ("", "")
    save(reports, f"{first}zulu,acme\n{number[0]}1,0\n{number[1]}0,2\n")
    assert read_csv(reports) == stream([[1, 0], [0, 2]], targets=("zulu", "acme"))
    listed = ("acme", "mike", "zulu")
    assert read_csv(reports, targets=listed) == stream([[0, 0, 1], [2, 0, 0]], targets=listed)


def test_wide_dates(reports: Path) -> None:
    save(reports, "date,acme,bravo\n2024-01-01,1,0\n2024-01-03,2,5\n")
    expected = ("2024-01-01", "2024-01-02", "2024-01-03")
    assert read_csv(reports) == stream([[1, 0], [0, 0], [2, 5]], rounds=expected)
    assert read_csv(reports, period="2D") == stream([[1, 0], [2, 5]], rounds=expected[::2])
    assert read_csv(reports, period="3D") == stream([[3, 5]], rounds=expected[:1])


def test_wide_targets_may_be_numbers_if_they_are_listed(reports: Path) -> None:
    save(reports, "101,102\n1,2\n")
    assert read_csv(reports, targets=("101", "102")) == stream([[1, 2]], targets=("101", "102"))


LONG = "round,target,reports\n"
DATED = "date,target,reports\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must name its columns in the first line, but is empty"),
        ("\n \n", "must name its columns in the first line, but is empty"),
        (b"\xef\xbb\xbf", "but is empty"),
        (LONG, "must have at least one row"),
        ("acme,bravo\n", "must have at least one row"),
        ("round,target\n1,acme\n", "line 1: the column reports is missing"),
        ("round,reports\n1,2\n", "line 1: the column target is missing"),
        ("target,reports\nacme,2\n", "line 1: the column round is missing"),
        ("round,target,reports,note\n1,acme,1,x\n", "line 1: there is a column 'note' too many"),
        ("round,date,target,reports\n", "line 1: there is a column 'round' too many"),
        ("round,target,target,reports\n", "line 1: there is a column 'target' too many"),
        ("round;target;reports\n1;acme;1\n", "line 1: cells must be separated by commas"),
        (f"{LONG}1,acme,1\n\n2,acme\n", "line 4: expected 3 cells, got 2"),
        (f"{LONG}1,acme,1,1\n", "line 2: expected 3 cells, got 4"),
        (f"{LONG},,\n", "line 2: a report count must be written in digits only"),
        (f"{LONG}1,acme,{SECRET}.0\n", "line 2: a report count must be written in digits only"),
        (f"{LONG}1,acme,-{SECRET}\n", "line 2: a report count must be written in digits only"),
        (f"{LONG}1,acme,+{SECRET}\n", "line 2: a report count must be written in digits only"),
        (f"{LONG}1,acme,1_{SECRET}\n", "line 2: a report count must be written in digits only"),
        (f"{LONG}1,acme,\n", "line 2: a report count must be written in digits only"),
        (f"{LONG}1,acme,٣\n", "line 2: a report count must be written in digits only"),
        (f"{LONG}1,acme,nan\n", "line 2: a report count must be written in digits only"),
        (f"{LONG}1,{SECRET},acme\n", "line 2: a report count must be written in digits only"),
        (f"{LONG}1,acme,1000000001\n", "line 2: report counts must be at most 1000000000"),
        (f"{LONG}1,acme,{'9' * 5000}\n", "line 2: report counts must be at most 1000000000"),
        (f"{LONG}0,acme,1\n", r"line 2: the round must be a whole number in 1\.\.1000000"),
        (f"{LONG}1.0,acme,1\n", r"line 2: the round must be a whole number in 1\.\.1000000"),
        (f"{LONG}1000001,acme,1\n", r"line 2: the round must be a whole number in 1\.\.1000000"),
        (f"{LONG}{'9' * 5000},acme,1\n", r"line 2: the round must be a whole number in 1\.\.1000000"),
        (f"{LONG}1,,{SECRET}\n", "line 2: the target must not be empty"),
        (f'{LONG}1,"ac\nme",{SECRET}\n1,bravo,1\n', "one line without control characters"),
        (f"{LONG}1,acme,1\n2,acme,1\n1,acme,{SECRET}\n", "line 4: this round and target must not come twice"),
        (f"{LONG}1,ac\0me,1\n", "line 2: NUL bytes are not text"),
        (f'{LONG}1,"acme,1\n2,bravo,1\n', "a quote is out of place"),
        (f'{LONG}1,"ac"me,1\n', "line 2: a quote is out of place"),
        (f"{LONG}1,{'a' * 200_000},1\n", "line 2: a quote is out of place or a cell is far too long"),
        (f"{DATED}2024-01-32,acme,1\n", "line 2: the date must be a calendar day written YYYY-MM-DD"),
        (f"{DATED}20240101,acme,1\n", "line 2: the date must be a calendar day written YYYY-MM-DD"),
        (f"{DATED}2024-W01-1,acme,1\n", "line 2: the date must be a calendar day written YYYY-MM-DD"),
        (f"{DATED}2024-01-01T10:00,acme,1\n", "line 2: the date must be a calendar day written YYYY-MM-DD"),
        (f"{DATED}0001-01-01,acme,1\n9999-12-31,bravo,1\n", "must span at most 1000000 rounds"),
        (
            f"{DATED}2024-01-01,acme,1\n2024-01-01,acme,1\n",
            "line 3: this date and target must not come twice",
        ),
        ("acme\n1\n", "at least two targets, got 1"),
        ("round\n1\n", "line 1: a wide file must have a column for each target"),
        ("acme,acme\n1,1\n", "line 1: the target 'acme' must have only one column"),
        ("acme,,bravo\n1,1,1\n", "line 1: every column must have a name"),
        ("acme,date\n1,2024-01-01\n", "line 1: the column date must come first"),
        (f"{SECRET},0\n1,1\n", "line 1: the first line must name the columns"),
        (f"2024-01-01,{SECRET},0\n2024-01-02,1,1\n", "line 1: the first line must name the columns"),
        (f"acme,bravo\n{SECRET},x\n", "line 2: a report count must be written in digits only"),
        (f"acme,bravo\n{SECRET}\n", "line 2: expected 2 cells, got 1"),
        ("round,acme,bravo\n2,0,0\n", "line 2: the rounds of a wide file must be 1, 2, 3"),
        ("round,acme,bravo\n1,0,0\n1,0,0\n", "line 3: the rounds of a wide file must be 1, 2, 3"),
        ("date,acme,bravo\n2024-01-01,0,0\n2024-01-01,0,0\n", "line 3: this date must not come twice"),
        ("round,target,reports\n1,é,1\n".encode("latin-1"), "reports.csv must be text in UTF-8"),
        ("round,target,reports\n1,acme,1\n".encode("utf-16"), "reports.csv must be text in UTF-8"),
    ],
)
def test_bad_files_are_refused(reports: Path, text: str | bytes, message: str) -> None:
    with refused(message) as caught:
        read_csv(save(reports, text))
    assert str(SECRET) not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_sums_of_a_period_are_limited(reports: Path) -> None:
    save(reports, f"{DATED}2024-01-01,acme,{MAX_REPORTS}\n2024-01-02,acme,1\n2024-01-02,bravo,1\n")
    assert read_csv(reports).n_rounds == 2
    with refused("at most 1000000000"):
        read_csv(reports, period="2D")


@pytest.mark.parametrize(
    "text",
    [f"{LONG}1,acme,1\n1,yankee,{SECRET}\n", f"yankee,acme\n{SECRET},1\n", f"round,yankee\n1,{SECRET}\n"],
)
def test_unlisted_targets_are_refused_by_name(reports: Path, text: str) -> None:
    with refused(r"line \d: the target 'yankee' is not in the public list of targets") as caught:
        read_csv(save(reports, text), targets=AB)
    assert str(SECRET) not in str(caught.value)


@pytest.mark.parametrize("text", [f"{LONG}1,{SECRET},1\n", f"{SECRET},acme\n1,1\n", f"acme,acme,{SECRET}\n"])
def test_a_count_in_the_place_of_a_name_is_not_shown(reports: Path, text: str) -> None:
    with refused("line") as caught:
        read_csv(save(reports, text), targets=AB)
    assert str(SECRET) not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 1}, "rounds must cover every round in .*, got 1"),
        ({"rounds": 0}, "rounds must be a whole number of at least 1, got 0"),
        ({"rounds": 2.5}, "rounds must be a whole number"),
        ({"rounds": 1_000_001}, "must span at most 1000000 rounds"),
        ({"rounds": 1_000_000, "targets": [*AB, *map(str, range(100))]}, "at most 100000000 rounds times"),
        ({"period": "7D"}, "period is for files with dates"),
        ({"period": "0D"}, "period must be a number of days or weeks such as 1D, 7D or 2W, got 0D"),
        ({"period": "1M"}, "period must be"),
        ({"period": "D"}, "period must be"),
        ({"period": ""}, "period must be"),
        ({"period": 7}, "period must be"),
        ({"targets": ("acme",)}, "at least two targets, got 1"),
        ({"targets": ("acme", "acme")}, "must not appear twice"),
        ({"targets": "acme"}, "sequence of names"),
    ],
)
def test_bad_options_are_refused(reports: Path, options: Any, message: str) -> None:
    save(reports, f"{LONG}1,acme,1\n2,bravo,1\n")
    with refused(message):
        read_csv(reports, **options)


def test_rounds_end_with_the_calendar(reports: Path) -> None:
    save(reports, f"{DATED}9999-12-30,acme,1\n")
    assert read_csv(reports, targets=AB, rounds=2).rounds == ("9999-12-30", "9999-12-31")
    with refused("before the year 10000"):
        read_csv(reports, targets=AB, rounds=3)


@pytest.mark.parametrize("read", [read_csv, read_targets])
def test_missing_files_and_directories_are_refused(tmp_path: Path, read: Any) -> None:
    with refused("cannot read .*absent.csv: No such file"):
        read(tmp_path / "absent.csv")
    with refused(f"cannot read {re.escape(str(tmp_path))}: Is a directory"):
        read(str(tmp_path))


def test_write_refuses(tmp_path: Path) -> None:
    s = stream([[1, 2]])
    with refused("cannot write .*: Is a directory"):
        write_csv(s, tmp_path)
    with refused("form must be long or wide, got tall"):
        write_csv(s, tmp_path / "x.csv", form="tall")  # type: ignore[arg-type]
    for name in ("target", "reports", "round", "date"):
        with refused(f"a wide file cannot have a target named {name}"):
            write_csv(stream([[1, 2]], targets=("acme", name)), tmp_path / "x.csv", form="wide")


def test_long_files_hold_only_the_zeros_they_need(reports: Path) -> None:
    write_csv(stream([[0, 0, 0], [2, 3, 0], [0, 0, 0]], targets=("a", "b", "c")), reports)
    assert reports.read_text() == f"{LONG}1,a,0\n2,a,2\n2,b,3\n3,c,0\n"


def test_wide_files(reports: Path) -> None:
    write_csv(stream([[0, 0], [2, 3]], rounds=("2024-01-01", "2024-01-08")), reports, form="wide")
    assert reports.read_text() == "date,acme,bravo\n2024-01-01,0,0\n2024-01-08,2,3\n"


names = (
    st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=8)
    .map(str.strip)
    .filter(bool)
)


@st.composite
def streams(draw: st.DrawFn) -> tuple[ReportStream, str]:
    """A stream, and the period with which its file is read."""
    special = st.sampled_from(["Target", "Date", "Reports", "#1", 'a "b", c', "7", "\ufeffx", "2024-01-01"])
    targets = draw(st.lists(names | special, min_size=2, max_size=4, unique=True))
    n_rounds = draw(st.integers(1, 6))
    counts = draw(hnp.arrays(np.int64, (n_rounds, len(targets)), elements=st.just(0) | st.integers(0, MAX_REPORTS)))
    days = draw(st.sampled_from([0, 1, 3, 7]))
    if days == 0:
        return stream(counts, targets=tuple(targets)), "1D"
    first = draw(st.dates(max_value=datetime.date(9999, 1, 1)))
    labels = tuple((first + datetime.timedelta(days * t)).isoformat() for t in range(n_rounds))
    return stream(counts, targets=tuple(targets), rounds=labels), "1W" if days == 7 else f"{days}D"


@settings(deadline=None)
@example((stream([[0, 3]], targets=("Target", "Reports")), "1D"), "wide")
@given(streams(), st.sampled_from(["long", "wide"]))
def test_files_there_and_back(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[ReportStream, str], form: Literal["long", "wide"]
) -> None:
    written, period = drawn
    assume(form == "long" or not {"round", "date", "target", "reports"} & set(written.targets))
    path = tmp_path_factory.getbasetemp() / "round_trip.csv"
    write_csv(written, path, form)
    assert read_csv(path, written.targets, period) == written
    found = read_csv(path, period=period)
    assert found.targets == (written.targets if form == "wide" else tuple(sorted(written.targets)))
    order = [written.targets.index(name) for name in found.targets]
    assert np.array_equal(found.counts, written.counts[:, order])
    assert found.rounds == written.rounds


@settings(deadline=None)
@given(st.binary(max_size=60) | st.text(",\n\r\"' 0123456789-abtroundtargetreportsdate").map(str.encode))
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = save(tmp_path_factory.getbasetemp() / "any.csv", content)
    try:
        read = read_csv(path)
    except DeniableError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert read.n_targets >= 2


def test_a_large_file(reports: Path) -> None:
    counts = np.random.default_rng(1).poisson(1.0, size=(2000, 60))
    written = stream(counts, targets=tuple(f"t{c:02}" for c in range(60)))
    write_csv(written, reports)
    assert read_csv(reports) == written


def test_target_lists(tmp_path: Path) -> None:
    path = save(tmp_path / "targets.txt", "\ufeff# public\r\nbravo\r\n\r\n  acme, Inc. \r\n #no\r\nc#3")
    assert read_targets(path) == ("bravo", "acme, Inc.", "c#3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least two targets, got 0"),
        ("acme\n", "at least two targets, got 1"),
        ("acme\nbravo\nacme\n", "'acme' must not appear twice"),
        ("acme\nbra\0vo\n", "without control characters"),
        (b"acme\n\xff\n", "targets.txt must be text in UTF-8"),
    ],
)
def test_bad_target_lists_are_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    with refused(message):
        read_targets(save(tmp_path / "targets.txt", text))


# Active counts


def active_count(counts: IntArray, transcript: IntArray, t: int, c: int) -> int:
    """`def:active-counts` word for word, with t and c from 1."""
    tau = max((s for s in range(1, t) if transcript[s - 1] + 1 == c), default=0)
    return sum(int(counts[s - 1, c - 1]) for s in range(tau + 1, t + 1))


@st.composite
def histories(draw: st.DrawFn) -> tuple[IntArray, IntArray]:
    """Report counts (B, T, C) and transcripts (B, T)."""
    n_runs, n_rounds, n_targets = draw(st.tuples(st.integers(1, 3), st.integers(1, 8), st.integers(2, 4)))
    counts = draw(hnp.arrays(np.int64, (n_runs, n_rounds, n_targets), elements=st.integers(0, 5)))
    return counts, draw(hnp.arrays(np.int64, (n_runs, n_rounds), elements=st.integers(0, n_targets - 1)))


@settings(deadline=None)
@given(histories())
def test_active_counts_are_the_definition(history: tuple[IntArray, IntArray]) -> None:
    counts, transcripts = history
    n_runs, n_rounds, n_targets = counts.shape
    expected = [
        [
            [active_count(counts[b], transcripts[b], t, c) for c in range(1, n_targets + 1)]
            for t in range(1, n_rounds + 1)
        ]
        for b in range(n_runs)
    ]
    active = active_counts(counts, transcripts)
    assert active.dtype == np.int64
    assert active.tolist() == expected
    assert np.array_equal(active_counts(counts[0], transcripts[0]), active[0])
    assert np.array_equal(active_counts(counts[0], transcripts)[0], active[0])
    assert np.array_equal(active_counts(counts[None], transcripts[None]), active[None])


@pytest.mark.parametrize(
    ("counts", "transcript", "message"),
    [
        ([[1, 0], [0, 1]], [0, 2], r"an audit must be in 0\.\.1, got 2: there are 2 targets"),
        ([[1, 0], [0, 1]], [0, -1], r"an audit must be in 0\.\.1, got -1"),
        ([[1, 0], [0, 1]], [0], "an audit for each of 2 rounds"),
        ([[1, 0], [0, 1]], 0, "an audit for each of 2 rounds"),
        ([[1, 0], [0, 1]], [0.0, 1.0], "audits must be whole numbers"),
        ([[1, 0], [0, 1]], [True, False], "audits must be whole numbers"),
        ([[1, 0], [0, 1]], [[0, 1], [0]], "same number of rounds"),
        ([1, 0], [0, 1], "at least two axes"),
        ([[1, -1], [0, 1]], [0, 1], "negative"),
        (np.zeros((2, 1, 2)), np.zeros((3, 1), dtype=int), r"as many runs, got \(2,\) and \(3,\)"),
    ],
)
def test_bad_histories_are_refused(counts: Any, transcript: Any, message: str) -> None:
    with refused(message):
        active_counts(counts, transcript)


# Adjacency


@settings(deadline=None)
@given(histories(), st.data())
def test_one_report_more_is_adjacent(history: tuple[IntArray, IntArray], data: st.DataObject) -> None:
    counts = history[0][0]
    t = data.draw(st.integers(0, counts.shape[0] - 1))
    c = data.draw(st.integers(0, counts.shape[1] - 1))
    more = add_report(counts, t, c)
    assert (more - counts).sum() == more[t, c] - counts[t, c] == 1
    assert differing_report(counts, more) == differing_report(more, counts) == (t, c)
    assert is_adjacent(counts, more)
    assert is_adjacent(more, counts)
    assert not is_adjacent(counts, counts)
    assert not is_adjacent(counts, add_report(more, t, c))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ([[1, 0], [0, SECRET]], "streams are not adjacent: they are the same"),
        ([[1, 0], [0, SECRET + 2]], "streams are not adjacent: they differ in more than one report"),
        ([[0, 1], [0, SECRET]], "streams are not adjacent: they differ in more than one report"),
        ([[1, 0]], "streams are not adjacent: both must have the same rounds and targets"),
        ([1, 0], "streams are not adjacent: both must have the same rounds and targets"),
    ],
)
def test_streams_that_are_not_adjacent(other: Any, message: str) -> None:
    counts = [[1, 0], [0, SECRET]]
    assert not is_adjacent(counts, other)
    with refused(message) as caught:
        differing_report(counts, other)
    assert str(SECRET) not in str(caught.value)


def test_reports_are_added_in_every_run() -> None:
    counts = np.zeros((2, 3, 4), dtype=np.int64)
    assert add_report(counts, 1, 2)[:, 1, 2].tolist() == [1, 1]
    assert not counts.any()


@pytest.mark.parametrize(
    ("counts", "at_round", "target", "message"),
    [
        ([[1, 0]], 1, 0, r"round must be in 0\.\.0, got 1"),
        ([[1, 0]], 0, -1, r"target must be in 0\.\.1, got -1: there are 2 targets"),
        ([1, 0], 0, 0, "at least two axes"),
        ([[MAX_REPORTS, 0]], 0, 0, "at most 1000000000"),
    ],
)
def test_reports_that_cannot_be_added(counts: Any, at_round: int, target: int, message: str) -> None:
    with refused(message):
        add_report(counts, at_round, target)


# Error and deficit


@settings(deadline=None)
@given(histories())
def test_deficits_are_the_definitions(history: tuple[IntArray, IntArray]) -> None:
    active = active_counts(*history)
    audits = history[1]
    lead, error = leaders(active), misselected(active, audits)
    d, eta, u = deficit(active, audits), normalized_deficit(active, audits), resolved(active, audits)
    assert [x.dtype.name for x in (d, eta, u, error)] == ["int64", "float64", "int64", "bool"]
    for at in np.ndindex(audits.shape):
        n, a = active[at].tolist(), int(audits[at])
        argmax = {c for c in range(len(n)) if all(n[c] >= other for other in n)}
        assert set(np.flatnonzero(lead[at])) == argmax
        assert error[at] == (a not in argmax)
        assert d[at] == max(n) - n[a]
        assert eta[at] == (max(n) - n[a]) / (max(n) + 1)
        assert u[at] == n[a]


def test_one_audit_gives_arrays_without_axes() -> None:
    for measure in (misselected, deficit, normalized_deficit, resolved):
        value = measure([3, 1, 0], 1)
        assert isinstance(value, np.ndarray)
        assert value.shape == ()
    assert float(normalized_deficit([3, 1, 0], 1)) == 0.5


def test_active_counts_may_exceed_the_limit_of_one_round() -> None:
    assert int(deficit([3 * MAX_REPORTS, 0], 1)) == 3 * MAX_REPORTS


@pytest.mark.parametrize("measure", [misselected, deficit, normalized_deficit, resolved])
@pytest.mark.parametrize(
    ("active", "audit", "message"),
    [
        ([SECRET, 0], 2, r"an audit must be in 0\.\.1, got 2"),
        ([SECRET, 0], -1, r"an audit must be in 0\.\.1, got -1"),
        ([SECRET, 0], [0], "one audit for each row"),
        ([[SECRET, 0], [1, 0]], [0], "one audit for each row"),
        ([SECRET, 0.5], 0, "active counts must be whole numbers"),
        (SECRET, 0, "active counts must be whole numbers"),
        (np.zeros((2, 0), dtype=int), [0, 0], "active counts must be whole numbers"),
    ],
)
def test_bad_audits_are_refused(measure: Any, active: Any, audit: Any, message: str) -> None:
    with refused(message) as caught:
        measure(active, audit)
    assert str(SECRET) not in str(caught.value)
