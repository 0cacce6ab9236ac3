"""`deniable attack`: what it prints, draws and refuses."""

import json
from pathlib import Path

import pytest
from tests.cli.running import RACE, Run, assert_refused

SMALL = ["attack", "--targets", "2", "--rounds", "4", "--games", "400", "--delta", "0.1"]
QUIET = [*SMALL, "--stream", "quiet"]


def test_a_row_for_each_mechanism_in_both_tables(run: Run) -> None:
    code, out, err = run(*QUIET, "--mechanism", "greedy,race", "--mechanism", "uniform")
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()[3:]]
    assert [row[0] for row in rows[1:4]] == [row[0] for row in rows[6:9]] == ["greedy", "race", "uniform"]
    assert "2 targets, 4 rounds, 400 games" in out
    assert "promises nothing" in out
    assert out.count("not refuted") == 2
    assert out.count("BROKEN") == 2  # in the key
    assert "wrong with probability 0.001 at most, taken together" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 92


def test_json_says_what_was_found_and_on_which_stream(run: Run) -> None:
    _, out, _ = run(*SMALL, "--mechanism", "race", "--failure-probability", "0.01", "--seed", "3", "--json")
    document = json.loads(out)
    assert (document["targets"], document["rounds"], document["games"], document["seed"]) == (2, 4, 400, 3)
    (race,) = document["attacks"]
    worst = race["worst"]
    assert worst["stream"] == "rival, middle"
    assert worst["report"] == {"round": 3, "target": 1}
    assert (worst["adversary"], worst["exact"], worst["flagged"]) == ("exact", True, False)
    assert 0 < worst["leak"] <= worst["proven"]["delta"]
    assert worst["advantage"] == worst["leak"] / 2
    assert worst["largest_ratio"] <= worst["proven"]["likelihood_cap"]
    assert worst["failure_probability"] == 0.01 / 8  # worst stream, own target, half-way, moved; half is the search's
    assert worst["roc"]["fpr"][0] == 0
    assert race["tried"][0]["leak"] == max(tried["leak"] for tried in race["tried"])
    assert race["own_target"]["leak"] <= worst["leak"]
    assert (race["own_target"]["sees"], race["prefix"]["sees"]) == ("own target", "first 3 rounds")
    assert race["moved_report"]["proven"]["delta"] == pytest.approx(0.2)


def test_all_rows_share_the_failure_probability(run: Run) -> None:
    """Two mechanisms, four statements each; half of a search is for the streams that are tried."""
    _, out, _ = run(*QUIET, "--mechanism", "uniform,greedy", "--failure-probability", "0.01", "--json")
    total = 0.0
    for one in json.loads(out)["attacks"]:
        rows = [one["worst"], *one["tried"], one["own_target"], one["prefix"], one["moved_report"]]
        total += sum(row["failure_probability"] for row in (*rows, *one["moved_reports_tried"]))
    assert total == pytest.approx(0.01)


def test_odds_without_a_limit_are_no_number_in_json(run: Run) -> None:
    _, out, _ = run(*SMALL, "--mechanism", "greedy", "--stream", "rival", "--json")
    worst = json.loads(out)["attacks"][0]["worst"]
    assert (worst["largest_ratio"], worst["largest_ratio_unlimited"]) == (None, True)
    assert worst["leak"] == 1 - 2**-4


def test_counter_auditing_is_followed_by_particles(run: Run) -> None:
    _, out, _ = run(*QUIET, "--mechanism", "tca")
    assert "particles" in out
    assert "≥ 1.0" in out  # odds, from a test
    assert "no limit" in out


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_figure_is_drawn(run: Run, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"roc{suffix}"
    code, _, err = run(*QUIET, "--mechanism", "race,uniform,greedy", "--chart", path)
    assert (code, err) == (0, "")
    assert path.stat().st_size > 5000


def test_without_scikit_learn_the_column_is_empty(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.cli.attack.find_spec", lambda _: None)
    code, out, _ = run(*QUIET, "--mechanism", "tca", "--json")
    assert code == 0
    assert json.loads(out)["attacks"][0]["own_target"] is None
    assert " - " in run(*QUIET, "--mechanism", "tca").out.splitlines()[7]


def test_a_stream_from_a_file_is_confidential(run: Run, reports: Path, tmp_path: Path) -> None:
    path = tmp_path / "roc.png"
    options = ["attack", *RACE, "--stream", reports, "--games", "40", "--chart", path]
    _, out, _ = run(*options)
    assert "confidential: computed from real reports; do not publish" in out
    assert "reports.csv" in out
    assert path.stat().st_mode & 0o777 == 0o600
    assert_refused(run(*options), "exists, and is not overwritten")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--targets", "4"], "give --mechanism ID, or --public FOLDER"),
        (["--mechanism", "race"], "delta is missing"),
        (["--mechanism", "best", "--delta", "0.1"], "mechanism must be one of greedy, uniform"),
        ([*RACE, "--games", "0"], "games must be a whole number of at least 40, got 0"),
        ([*RACE, "--failure-probability", "1"], "--failure-probability must be in [1e-100, 1), got 1.0"),
        ([*RACE, "--targets", "1"], "--targets must be a whole number of at least 2, got 1"),
        ([*RACE, "--rounds", "0"], "--rounds must be a whole number of at least 1, got 0"),
        ([*RACE, "--rounds", "1", "--stream", "just audited"], "needs at least 2 --rounds"),
        ([*RACE, "--seed", "-1"], "seed must be a whole number of at least 0, got -1"),
        ([*RACE, "--stream", "loud"], "--stream must be all, quiet, sparse, tie"),
        ([*RACE, "--stream", "nowhere.csv"], "cannot read nowhere.csv"),
        ([*RACE, "--stream", "{reports}", "--targets", "3"], "a file has its own targets and rounds"),
        ([*RACE, "--chart", "roc.pdf"], "a chart's name must end in .png or .svg"),
        ([*RACE, "--chart", "no/where.png"], "no is not a folder"),
    ],
)
def test_bad_options_are_refused_in_one_line(run: Run, reports: Path, options: list[str], words: str) -> None:
    assert_refused(run("attack", *(option.format(reports=reports) for option in options)), words)
