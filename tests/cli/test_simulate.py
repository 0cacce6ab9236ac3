"""`deniable simulate`: what it prints, writes and refuses."""

import csv
import json
from pathlib import Path

import pytest
from tests.cli.running import RACE, Run, assert_refused

SMALL = ["simulate", "--workers", "1", "--targets", "4", "--rounds", "20", "--runs", "5", "--delta", "0.1"]


def test_a_row_for_each_mechanism_however_they_are_listed(run: Run) -> None:
    code, out, err = run(*SMALL, "--mechanism", "greedy,race", "--mechanism", "tca")
    assert (code, err) == (0, "")
    assert [line.split()[:2] for line in out.splitlines()[3:6]] == [["greedy", "-"], ["race", "0.1"], ["tca", "0.1"]]
    assert "4 targets, 20 rounds, 1 audit a round, steady reports at 1 and 0.2 a round." in out
    assert "Means over 5 simulated runs" in out
    assert "confidential" not in out


@pytest.mark.parametrize("name", ["race", "counter:output_perturbation"])
def test_nothing_is_cut_off_in_a_narrow_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    _, out, _ = run(*SMALL, "--mechanism", name, "--scenario", "turns-bad")
    assert "…" not in out
    assert name in out


def test_the_table_fits_eighty_columns(run: Run) -> None:
    _, out, _ = run(*SMALL, "--mechanism", "tca,race,uniform", "--scenario", "turns-bad")
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("scenario", ["steady", "bursty", "trending", "turns-bad"])
def test_json_has_every_metric_and_the_parameters(run: Run, scenario: str) -> None:
    _, out, _ = run(
        *SMALL, "--mechanism", "race", "--scenario", scenario, "--rates", "2,0.5", "--cooldown", "1", "--json"
    )
    document = json.loads(out)
    assert document["scenario"] == scenario
    assert document["rates"] == [2, 0.5]
    assert (document["targets"], document["rounds"], document["runs"], document["seed"]) == (4, 20, 5, 0)
    assert document["rules"] == {"max_gap": None, "cooldown": 1}
    (race,) = document["scores"]
    assert (race["mechanism"], race["delta"]) == ("race", 0.1)
    assert ("first_audit" in race) == (scenario == "turns-bad")
    for metric in ("deficit", "normalized_deficit", "resolved", "missed", "wait", "wait_p95"):
        assert set(race[metric]) == {"mean", "standard_error"}
    assert document["notes"] == []


def test_the_seed_decides(run: Run) -> None:
    same, again, other = (
        run(*SMALL, "--mechanism", "race", "--json", "--seed", seed).out.replace(f'"seed": {seed}', "")
        for seed in (3, 3, 4)
    )
    assert same == again
    assert same != other


def test_the_table_as_csv_is_what_json_says(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    _, out, _ = run(*SMALL, "--mechanism", "greedy,race", "--out", path, "--json")
    with path.open(encoding="utf-8", newline="") as file:
        greedy, race = csv.DictReader(file)
    assert (greedy["mechanism"], greedy["delta"]) == ("greedy", "")
    expected = json.loads(out)["scores"][1]
    assert float(race["deficit"]) == expected["deficit"]["mean"]
    assert float(race["wait_se"]) == expected["wait"]["standard_error"]


def test_rules_and_several_audits_are_heeded(run: Run) -> None:
    _, out, _ = run(*SMALL, "--mechanism", "uniform", "--audits", "4", "--max-gap", "1", "--json")
    assert json.loads(out)["scores"][0]["wait"]["mean"] == 0


def test_a_replayed_stream_is_confidential(run: Run, reports: Path) -> None:
    options = ["simulate", "--stream", reports, *RACE, "--runs", "3", "--workers", "1"]
    _, out, _ = run(*options)
    assert "3 targets, 4 rounds, 1 audit a round, the reports of reports.csv." in out
    assert "itself a use of confidential reports" in " ".join(out.split())
    assert "confidential: computed from real reports; do not publish" in out
    document = json.loads(run(*options, "--horizon", "9", "--json").out)
    assert (document["rounds"], document["horizon"]) == (4, 9)
    assert document["notes"][0] == "confidential: computed from real reports; do not publish"


def test_only_tables_of_replayed_reports_are_for_their_owner_alone(run: Run, reports: Path, tmp_path: Path) -> None:
    own, generated = tmp_path / "own.csv", tmp_path / "generated.csv"
    run("simulate", "--stream", reports, *RACE, "--runs", "3", "--workers", "1", "--out", own)
    run(*SMALL, "--mechanism", "race", "--out", generated)
    assert own.stat().st_mode & 0o777 == 0o600
    assert generated.stat().st_mode == reports.stat().st_mode


def test_a_95_percent_wait_that_has_not_ended_is_a_lower_bound(run: Run) -> None:
    """Audits by lot of 50 targets in 20 rounds resolve few reports; audits of all of them resolve every one."""
    options = ["simulate", "--mechanism", "uniform", "--rounds", "20", "--runs", "5", "--workers", "1"]
    _, few, _ = run(*options, "--targets", "50")
    _, every, _ = run(*options, "--targets", "4", "--audits", "4")
    assert few.splitlines()[3].split()[-1].startswith(">")
    assert every.splitlines()[3].split()[-1] == "0.0"
    assert "or to the end, so a lower bound where fewer are resolved" in " ".join(few.split())
    assert "the mean of each run's" in " ".join(few.split())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--targets", "4"], "missing option '--mechanism'"),
        (RACE, "give --targets, the number of targets, or --stream"),
        ([*RACE, "--targets", "1"], "--targets must be a whole number of at least 2, got 1"),
        ([*RACE, "--targets", "4", "--rounds", "0"], "--rounds must be a whole number of at least 1, got 0"),
        ([*RACE, "--targets", "4", "--runs", "0"], "runs must be a whole number of at least 1, got 0"),
        ([*RACE, "--targets", "4", "--runs", "1000001"], "runs must be at most 1000000, got 1000001"),
        ([*RACE, "--targets", "1000000", "--rounds", "1000000"], "targets times rounds must be at most 268435456"),
        ([*RACE, "--targets", "4", "--rates", "1e30,1"], "lead must be a rate of at least 0 and at most 1000000"),
        ([*RACE, "--stream", "{reports}", "--horizon", "1000000000"], "targets times rounds must be at most 268435456"),
        ([*RACE, "--targets", "4", "--seed", "-1"], "seed must be a whole number of at least 0, got -1"),
        ([*RACE, "--targets", "4", "--workers", "0"], "workers must be a whole number of at least 1, got 0"),
        ([*RACE, "--targets", "4", "--audits", "5"], "audits must be at most the number of targets, 4, got 5"),
        ([*RACE, "--targets", "4", "--rates", "1"], "--rates must be two numbers"),
        ([*RACE, "--targets", "4", "--rates", "1,low"], "--rates must be two numbers with a comma"),
        (
            [*RACE, "--targets", "4", "--rates", "1,-1"],
            "other must be a rate of at least 0 and at most 1000000 reports a round, got -1",
        ),
        ([*RACE, "--targets", "4", "--scenario", "quiet"], "'--scenario'"),
        ([*RACE, "--targets", "4", "--period", "7D"], "--target-list and --period are for --stream"),
        ([*RACE, "--targets", "4", "--out", "no/where.csv"], "cannot write no/where.csv: no is not a folder"),
        (["--mechanism", "greedy", "--delta", "2", "--targets", "4"], "delta must be above 0 and below 1, got 2.0"),
        (["--mechanism", "best", "--targets", "4"], "mechanism must be one of greedy, uniform"),
        (["--mechanism", "rr", "--delta", "0.1", "--targets", "4", "--audits", "2"], "covers one audit a round, got 2"),
        (
            ["--mechanism", "uniform", "--targets", "9", "--max-gap", "3", "--workers", "1"],
            "--max-gap must be at least 9",
        ),
        ([*RACE, "--stream", "{reports}", "--targets", "3"], "are for generated reports, not for --stream"),
        ([*RACE, "--stream", "{reports}", "--cluster", "tcp://a:1"], "do not leave this machine"),
        (
            [*RACE, "--stream", "{reports}", "--horizon", "3"],
            "--horizon must cover every round of the stream, 4, got 3",
        ),
        ([*RACE, "--stream", "nowhere.csv"], "cannot read nowhere.csv"),
        ([*RACE, "--targets", "4", "--out", "{reports}"], "exists, and is not overwritten"),
    ],
)
def test_bad_options_are_refused_in_one_line(run: Run, reports: Path, options: list[str], words: str) -> None:
    assert_refused(run("simulate", *(option.format(reports=reports) for option in options)), words)


WEIGHTS = ["--class", "minor=1", "--class", "serious=3"]


def test_classes_of_a_replayed_stream_have_a_delta_each(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "classed.csv"
    path.write_text("round,target,class,reports\n1,acme,minor,2\n2,bravo,serious,700\n", encoding="utf-8")
    replay = ["simulate", "--workers", "1", "--runs", "2", "--stream", path, *RACE, "--mechanism", "rr", *WEIGHTS]
    scores = json.loads(run(*replay, "--most-counted", "1", "--json").out)["scores"]
    assert [{name: round(delta, 3) for name, delta in one["delta_by_class"].items()} for one in scores] == [
        {"minor": 0.1, "serious": 0.293},
        {"minor": 0.1, "serious": 0.1},
    ]
    assert scores[0]["deficit"]["mean"] < 3  # of weights 1 and 3
    assert "by class, race at 0.1: minor 0.1, serious 0.293" in run(*replay).out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (WEIGHTS, "--class and --most-counted are for --stream"),
        (["--most-counted", "3"], "--class and --most-counted are for --stream"),
        ([*WEIGHTS, "--class", "danger=visit"], "reports of class danger do not take part"),
    ],
)
def test_what_makes_no_sense_for_generated_reports_is_refused(run: Run, options: list[str], words: str) -> None:
    assert_refused(run(*SMALL, "--mechanism", "race", *options), words)
