"""Report files and lists of targets: there and back, and what is refused in which words."""

import datetime
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from deniable.errors import MAX_REPORTS, DeniableError
from deniable.report_classes import ReportClass
from deniable.report_files import read_classed_csv, read_csv, read_targets, write_csv
from deniable.streams import ReportStream

AB = ("acme", "bravo")

SECRET = 737373
"""A count that no message may show."""


def refused(message: str) -> Any:
    return pytest.raises(DeniableError, match=message)


def stream(counts: Any, targets: Any = AB, rounds: Any = None) -> ReportStream:
    return ReportStream(counts, targets, tuple(map(str, range(1, len(counts) + 1))) if rounds is None else rounds)


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


@pytest.mark.parametrize("period", ["7D", "1W", "7d"])
def test_dates_of_a_period_add_up(reports: Path, period: str) -> None:
    text = "date,target,reports\n2024-01-01,acme,1\n2024-01-07,acme,2\n2024-01-08,acme,4\n2024-01-09,bravo,8\n"
    expected = stream([[3, 0], [4, 8], [0, 0]], rounds=("2024-01-01", "2024-01-08", "2024-01-15"))
    assert read_csv(save(reports, text), period=period, rounds=3) == expected


@pytest.mark.parametrize("form", ["date,target,reports\n2024-01-10,acme,1\n", "date,acme,bravo\n2024-01-10,1,0\n"])
def test_the_calendar_starts_where_it_is_said_to(reports: Path, form: str) -> None:
    save(reports, form)
    expected = stream([[0, 0], [1, 0], [0, 0]], rounds=("2024-01-01", "2024-01-08", "2024-01-15"))
    assert read_csv(reports, AB, "7D", rounds=3, start="2024-01-01") == expected
    assert read_csv(reports, AB, start="2024-01-10").rounds == ("2024-01-10",)
    with refused("line 2: the date must not be before the start, 2024-01-11"):
        read_csv(reports, AB, start="2024-01-11")


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("round,target,reports\n", {"rounds": 2}),
        ("acme,bravo\n", {"rounds": 2}),
        ("date,target,reports\n", {"rounds": 2, "start": "2024-01-01"}),
        ("date,acme,bravo\n", {"rounds": 2, "start": "2024-01-01"}),
    ],
)
def test_a_file_without_reports_is_a_stream_where_all_else_is_given(reports: Path, text: str, options: Any) -> None:
    save(reports, text)
    assert read_csv(reports, AB, **options).counts.tolist() == [[0, 0], [0, 0]]
    for name in options:
        with refused("must have at least one row"):
            read_csv(reports, AB, **{key: value for key, value in options.items() if key != name})
    with refused("must have at least one row"):
        read_csv(reports, **options)


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


READ_AS_WIDE = "; the first line names no column target or reports, .* columns date .or round., target, reports$"
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
        (
            f"{LONG}1,acme,1\n2,acme,1\n1,acme,{SECRET}\n",
            "line 4: this round and target must not come twice; add their",
        ),
        (f"{LONG}1,ac\0me,1\n", "line 2: NUL bytes are not text"),
        (f'{LONG}1,"acme,1\n2,bravo,1\n', "a quote is out of place"),
        (f'{LONG}1,"ac"me,1\n', "line 2: a quote is out of place"),
        (f"{LONG}1,{'a' * 200_000},1\n", "line 2: a quote is out of place or a cell is far too long"),
        (f"{DATED}2024-01-32,acme,1\n", "line 2: the date must be a calendar day written YYYY-MM-DD"),
        (f"{DATED}20240101,acme,1\n", "line 2: the date must be a calendar day written YYYY-MM-DD"),
        (f"{DATED}2024-W01-1,acme,1\n", "line 2: the date must be a calendar day written YYYY-MM-DD"),
        (f"{DATED}2024-01-01T10:00,acme,1\n", "line 2: the date must be a calendar day written YYYY-MM-DD"),
        (f"{DATED}0001-01-01,acme,1\n9999-12-31,bravo,1\n", "must be at most 1000000, got"),
        (
            f"{DATED}2024-01-01,acme,1\n2024-01-01,acme,1\n",
            "line 3: this date and target must not come twice; add their counts into one row$",
        ),
        ("acme\n1\n", "at least two targets, got 1"),
        ("round\n1\n", "line 1: a wide file must have a column for each target"),
        ("acme,acme\n1,1\n", "line 1: the target 'acme' must have only one column"),
        ("acme,,bravo\n1,1,1\n", "line 1: every column must have a name"),
        ("acme,date\n1,2024-01-01\n", "line 1: the column date must come first"),
        (f"{SECRET},0\n1,1\n", "line 1: the first line must name the columns"),
        (f"2024-01-01,{SECRET},0\n2024-01-02,1,1\n", "line 1: the first line must name the columns"),
        (f"acme,bravo\n{SECRET},x\n", "line 2: a report count must be written in digits only"),
        (f"date,organisation,count\n2024-01-01,acme,{SECRET}\n", f"digits only{READ_AS_WIDE}"),
        (f"2024-01-01,acme,{SECRET}\n2024-01-02,acme,{SECRET}\n", f"digits only{READ_AS_WIDE}"),
        (f"date,code,count\n2024-01-01,7,{SECRET}\n2024-01-01,8,1\n", f"must not come twice; .*{READ_AS_WIDE}"),
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


def test_a_long_file_taken_for_a_wide_one_says_so(reports: Path) -> None:
    with refused(f"'organisation' is not in the public list of targets{READ_AS_WIDE}"):
        read_csv(save(reports, "date,organisation,count\n2024-01-01,acme,1\n"), targets=AB)


@pytest.mark.parametrize("text", [f"{LONG}1,{SECRET},1\n", f"{SECRET},acme\n1,1\n", f"acme,acme,{SECRET}\n"])
def test_a_count_in_the_place_of_a_name_is_not_shown(reports: Path, text: str) -> None:
    with refused("line") as caught:
        read_csv(save(reports, text), targets=AB)
    assert str(SECRET) not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 1}, "the last row of .* comes after 1 round: give more rounds$"),
        ({"rounds": 0}, "rounds must be a whole number of at least 1, got 0"),
        ({"rounds": 2.5}, "rounds must be a whole number"),
        ({"rounds": 1_000_001}, "rounds must be at most 1000000, got 1000001"),
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
        ({"start": "2024-01-01"}, "start is for files with dates, but .* has numbered rounds"),
        ({"start": "1 January 2024"}, "start must be a calendar day written YYYY-MM-DD, got 1 January 2024"),
        ({"start": datetime.date(2024, 1, 1)}, "start must be a calendar day"),
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
    targets = draw(st.lists(names | special, min_size=2, max_size=4, unique_by=str.casefold))
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
    start = written.rounds[0] if written.rounds[0] != "1" else None
    assert read_csv(path, written.targets, period, written.n_rounds, start) == written
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
    assert read_targets(save(path, "bravo\nTarget\n")) == ("bravo", "Target")
    commas = ("Smith, Jones and Co", "Ward, 7", "Hill, Dale, Inc.")
    assert read_targets(save(path, "\n".join(commas))) == commas


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("acme\n", "at least two targets, got 1"),
        ("", "targets.txt is empty: write one target a line into it"),
        ("acme\nbravo\nacme\n", "'acme' must not appear twice"),
        ("acme\nbra\0vo\n", "without control characters"),
        ("acme\nbravo\nAcme\n", "'acme' and 'Acme' must differ in more than upper and lower case"),
        ("# public\n\nName\nacme\nbravo\n", "no header, but starts with 'Name': remove that line"),
        ("target\nacme\nbravo\n", "no header, but starts with 'target'"),
        ("TARGETS\nacme\nbravo\n", "no header, but starts with 'TARGETS'"),
        (b"acme\n\xff\n", "targets.txt must be text in UTF-8"),
    ],
)
def test_bad_target_lists_are_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    with refused(message):
        read_targets(save(tmp_path / "targets.txt", text))


# Classes of reports

CLASSES = (ReportClass("minor", 1), ReportClass("serious", 3), ReportClass("danger", None))


@pytest.mark.parametrize("header", ["round,target,class,reports", "Round,Target,Class,Reports"])
def test_classes_are_read_apart(reports: Path, header: str) -> None:
    save(reports, f"{header}\n1,acme,minor,2\n1,acme,serious,1\n2,bravo,danger,1\n")
    found = read_classed_csv(reports, CLASSES)
    assert found.reports.tolist() == [[[2, 0], [0, 0]], [[1, 0], [0, 0]], [[0, 0], [0, 1]]]
    assert found.to_stream().counts.tolist() == [[5, 0], [0, 0]]
    assert found.to_stream(most_counted=1).counts.tolist() == [[4, 0], [0, 0]]
    assert found.visits.tolist() == [[False, False], [False, True]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"round,target,reports\n1,acme,{SECRET}\n", "the column class is missing"),
        (f"acme,bravo\n{SECRET},1\n", "a file with classes of reports has the columns"),
        (f"round,target,class,reports\n1,acme,grave,{SECRET}\n", "line 2: the class 'grave' is not among"),
        (f"round,target,class,reports\n1,acme,{SECRET},1\n", "the class is not among those given, minor, serious"),
        (f"round,target,class,reports\n1,acme,,{SECRET}\n", "the class is not among those given"),
        (
            f"round,target,class,reports\n1,acme,minor,{SECRET}\n1,acme,minor,1\n",
            "this round, target and class must not come twice",
        ),
        (f"round,target,class,class,reports\n1,acme,minor,minor,{SECRET}\n", "too many"),
    ],
)
def test_what_is_wrong_with_classes_is_said(reports: Path, text: str, message: str) -> None:
    with refused(message) as caught:
        read_classed_csv(save(reports, text), CLASSES)
    assert str(SECRET) not in str(caught.value)


@pytest.mark.parametrize("header", ["round,target,class,reports", "Date,Target,Class,Reports"])
def test_a_column_of_classes_needs_their_weights(reports: Path, header: str) -> None:
    with refused("the column class needs every class and its weight, as in --class serious=3"):
        read_csv(save(reports, f"{header}\n1,acme,minor,1\n"))


def test_two_classes_of_one_name_are_refused(reports: Path) -> None:
    with refused("its own name"):
        read_classed_csv(reports, [ReportClass("minor", 1), ReportClass("Minor", 2)])
