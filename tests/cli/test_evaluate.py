"""`deniable evaluate`: what it prints, writes, draws and refuses."""

import csv
import json
import sys
from pathlib import Path

import pytest
from tests.cli.running import SECRET, Run, assert_refused

from deniable.planning import PLANNED

CONFIDENTIAL = "confidential: computed from real reports; do not publish"

# Not sorted, with days missing; charlie comes late and delta comes after the end of 2024.
STREAM = """date,target,reports
2024-01-09,bravo,2
2024-01-01,acme,1
2024-01-02,bravo,30
2024-01-05,acme,3
2024-01-08,charlie,1
2025-01-01,delta,1
"""


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "stream.csv"
    path.write_text(STREAM, encoding="utf-8")
    return path


@pytest.fixture
def year(stream: Path) -> list[object]:
    """The command, on the days that have most of the reports."""
    return ["evaluate", stream, "--end", "2024-01-10", "--runs", "3", "--workers", "1"]


def versions(out: str) -> list[list[list[str]]]:
    """The lines of each table, split into cells."""
    return [[line.split() for line in part.split("\n\n")[0].splitlines()] for part in out.split("mechanism  delta")[1:]]


def test_every_mechanism_at_every_delta_and_marked_confidential(run: Run, year: list[object]) -> None:
    code, out, err = run(*year)
    assert (code, err) == (0, "")
    words = " ".join(out.split())
    assert "stream.csv: 37 reports about 3 targets, all of them taking part from the first round; 10 rounds" in words
    assert "of 1D, the first from 2024-01-01, the last from 2024-01-10, one audit each" in words
    assert "by what these reports show is itself a use of confidential reports" in words
    assert words.startswith(CONFIDENTIAL)
    assert words.endswith(CONFIDENTIAL)
    (table,) = versions(out)
    deltas = {"greedy": ["-"], "uniform": ["-"]}
    expected = [[name, delta] for name in PLANNED for delta in deltas.get(name, ["0.05", "0.1", "0.2"])]
    assert [line[:2] for line in table[1:]] == expected
    assert max(map(len, out.splitlines())) <= 80


def test_json_says_what_was_evaluated(run: Run, year: list[object]) -> None:
    _, out, err = run(*year, "--delta", "0.1", "--json")
    document = json.loads(out)
    assert err == ""
    assert document["notes"][0] == CONFIDENTIAL
    assert document["notes"][1].startswith("note: to choose")
    assert (document["targets"], document["rounds"], document["reports"], document["period"]) == (3, 10, 37, "1D")
    (version,) = document["versions"]
    assert version["left_out"] == []
    assert [score["mechanism"] for score in version["scores"]] == list(PLANNED)
    greedy = version["scores"][0]
    assert greedy["deficit"] == {"mean": 0, "standard_error": 0}
    assert greedy["missed"]["mean"] == 0
    assert "assessed_share" not in greedy


def test_days_left_out_are_a_second_version_with_the_same_targets_and_rounds(run: Run, year: list[object]) -> None:
    _, out, _ = run(*year, "--delta", "0.1", "--without", "2024-01-02,2024-01-08", "--json")
    document = json.loads(out)
    whole, less = document["versions"]
    assert (whole["left_out"], less["left_out"]) == ([], ["2024-01-02", "2024-01-08"])
    assert document["targets"] == 3
    assert whole["scores"] != less["scores"]
    _, text, _ = run(*year, "--delta", "0.1", "--without", "2024-01-02")
    assert "\nWithout 2024-01-02\n" in text
    assert len(versions(text)) == 2


def test_rounds_of_a_period(run: Run, year: list[object]) -> None:
    document = json.loads(run(*year, "--period", "7d", "--start", "2023-12-28", "--json").out)
    assert (document["rounds"], document["first_round"], document["last_round"]) == (2, "2023-12-28", "2024-01-04")
    assert document["reports"] == 37


def test_a_list_of_targets_brings_those_without_a_report(run: Run, year: list[object], tmp_path: Path) -> None:
    listed = tmp_path / "targets.txt"
    listed.write_text("acme\nbravo\ncharlie\ndelta\necho\n", encoding="utf-8")
    document = json.loads(run(*year, "--target-list", listed, "--json").out)
    assert (document["targets"], document["reports"]) == (5, 37)
    listed.write_text("acme\nbravo\n", encoding="utf-8")
    assert_refused(run(*year, "--target-list", listed), "'charlie' is not in the public list of targets")


def test_outcomes_weigh_the_resolved_reports(run: Run, year: list[object], tmp_path: Path) -> None:
    path = tmp_path / "outcomes.csv"
    path.write_text("target,reports,assessed_gt0,paid_gt0\nacme,4,4,0\nbravo,32,0,0\ncharlie,1,0,0\n", encoding="utf-8")
    _, out, _ = run(*year, "--outcomes", path, "--json")
    for score in json.loads(out)["versions"][0]["scores"]:
        assert 0 <= score["assessed_per_audit"]["mean"] < 4 / 10 + 1e-9
        assert 0 <= score["assessed_share"]["mean"] <= 1
    greedy = json.loads(out)["versions"][0]["scores"][0]
    assert greedy["assessed_per_audit"] == {"mean": pytest.approx(4 / 10), "standard_error": pytest.approx(0)}
    _, text, _ = run(*year, "--outcomes", path)
    assert "noisy ground truth" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_numbered_rounds_are_evaluated_as_they_are(run: Run, reports: Path) -> None:
    _, out, _ = run("evaluate", reports, "--runs", "2", "--workers", "1", "--json")
    document = json.loads(out)
    assert (document["rounds"], document["period"]) == (4, None)


def test_the_table_as_csv(run: Run, year: list[object], tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    _, out, _ = run(*year, "--delta", "0.1", "--without", "2024-01-02", "--out", path, "--json")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert path.stat().st_mode & 0o777 == 0o600
    assert [row["left_out"] for row in rows] == [""] * 5 + ["2024-01-02"] * 5
    expected = json.loads(out)["versions"][1]["scores"][1]
    assert float(rows[6]["deficit"]) == expected["deficit"]["mean"]


@pytest.mark.parametrize("name", ["chart.png", "chart.svg"])
def test_the_figure_names_every_mechanism(run: Run, year: list[object], tmp_path: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / name
    assert run(*year, "--without", "2024-01-02", "--chart", path).code == 0
    assert path.stat().st_mode & 0o777 == 0o600
    if name.endswith("svg"):
        drawn = path.read_text(encoding="utf-8")
        assert f"<!-- {CONFIDENTIAL} -->" in drawn
        assert all(f"<!-- {mechanism} -->" in drawn for mechanism in PLANNED)
        assert "<!-- without 2024-01-02 -->" in drawn
    else:
        assert path.read_bytes().startswith(b"\x89PNG")


def test_the_figure_overwrites_nothing(run: Run, year: list[object], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "chart.svg"
    path.write_text("mine", encoding="utf-8")
    assert_refused(run(*year, "--chart", path), "exists, and is not overwritten: choose another name for --chart")
    assert path.read_text(encoding="utf-8") == "mine"


def test_without_matplotlib_the_figure_is_refused_at_once(
    run: Run, year: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert_refused(run(*year, "--chart", "chart.png"), "pip install -c constraints.txt '.[research]'")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--delta", "0.1,1"], "delta must be above 0 and below 1, got 1.0"),
        (["--delta", "0.1,"], "--delta must be a number such as 0.1, got '0.1,'"),
        (["--delta", "0.1,0.1"], "give each --delta once, got 0.1, 0.1"),
        (["--period", "month"], "period must be a number of days or weeks"),
        (["--start", "2024-02-01", "--end", "2024-01-01"], "the first day must not be after the last"),
        (["--start", "2034-02-01"], "got 2034-02-01 and "),
        (["--start", "New Year"], "a day must be written YYYY-MM-DD, got New Year"),
        (["--start", "2024-02-01"], "at least two targets must have reports from 2024-02-01"),
        (["--without", "2023-12-31"], "a day to leave out must be one of the stream's, got 2023-12-31"),
        (["--without", "2024-01-02,"], "a day must be written YYYY-MM-DD"),
        (["--runs", "0"], "runs must be a whole number of at least 1"),
        (["--outcomes", "nowhere.csv"], "cannot read nowhere.csv"),
        (["--target-list", "nowhere.txt"], "cannot read nowhere.txt"),
        (["--chart", "chart.pdf"], "a chart's name must end in .png or .svg, got chart.pdf"),
        (["--out", "{stream}"], "exists, and is not overwritten"),
        (["--out", "no/where.csv"], "cannot write no/where.csv: no is not a folder"),
        (["--cluster", "tcp://a:1"], "no such option: --cluster"),
    ],
)
def test_bad_options_are_refused_in_one_line(run: Run, stream: Path, options: list[str], words: str) -> None:
    assert_refused(run("evaluate", stream, *(option.format(stream=stream) for option in options)), words)


@pytest.mark.parametrize(
    "options", [["--start", "2024-01-01"], ["--end", "2024-01-01"], ["--without", "2024-01-01"], ["--period", "7D"]]
)
def test_dates_are_for_files_with_dates(run: Run, reports: Path, options: list[str]) -> None:
    assert_refused(run("evaluate", reports, *options), f"{options[0]} is for files with dates")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (f"2024-01-02,acme,-{SECRET}", "a report count must be written in digits only"),
        (f"2024-01-01,acme,{SECRET}", "this date and target must not come twice"),
        (f"2024-13-01,acme,{SECRET}", "YYYY-MM-DD"),
    ],
)
def test_bad_rows_are_refused_without_a_count(run: Run, stream: Path, row: str, words: str) -> None:
    stream.write_text(f"{STREAM}{row}\n", encoding="utf-8")
    assert_refused(run("evaluate", stream), words)
