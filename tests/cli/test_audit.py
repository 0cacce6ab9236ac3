"""`deniable audit`: what it prints and writes, what it refuses, and that nothing confidential slips out on the way."""

import csv
import json
import os
import re
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import pytest
from tests.cli.running import GOOD, RACE, SECRET, Run, assert_refused, in_a_process

import deniable as dn
from deniable.cli import audit as audit_module
from deniable.mechanisms import MECHANISM_IDS, NEEDS

FILES = {"transcript.csv", "guarantee.json", "guarantee.txt"}


@pytest.fixture
def public(tmp_path: Path) -> list[str]:
    """Options that give what is public about `reports`."""
    path = tmp_path / "targets.txt"
    path.write_text("acme\nbravo\ncharlie\n", encoding="utf-8")
    return ["--target-list", str(path), "--rounds", "4"]


# What is refused

BAD_OPTIONS = [
    (["--mechanism", "race", "--delta", "1.5"], "delta must be above 0 and below 1, got 1.5"),
    (["--mechanism", "race", "--delta", "0"], "delta must be above 0 and below 1, got 0.0"),
    (["--mechanism", "race", "--delta", "-0.1"], "delta must be above 0 and below 1, got -0.1"),
    (["--mechanism", "race", "--delta", "nan"], "delta must be above 0 and below 1, got nan"),
    (["--mechanism", "greedy", "--delta", "nan"], "delta must be above 0 and below 1, got nan"),
    (["--mechanism", "race", "--delta", "low"], "--delta must be a number"),
    *((["--mechanism", name], f"delta is missing: {name} needs") for name in NEEDS if "delta" in NEEDS[name]),
    (["--mechanism", "best", "--delta", "0.1"], "mechanism must be one of greedy, uniform"),
    (["--mechanism", "best"], "mechanism must be one of greedy, uniform"),
    (["--delta", "0.1"], "missing option '--mechanism'"),
    ([*RACE, "--horizon", "0"], "--horizon must be a whole number of at least 1, got 0"),
    (
        ["--mechanism", "tca", "--delta", "0.1", "--horizon", "0"],
        "--horizon must be a whole number of at least 1, got 0",
    ),
    (
        ["--mechanism", "tca", "--delta", "0.1", "--horizon", "3"],
        "--horizon must cover every round of the stream, 4, got 3",
    ),
    ([*RACE, "--horizon", "3"], "--horizon must cover every round of the stream, 4, got 3"),
    ([*RACE, "--horizon", "1.5"], "--horizon must be a whole number"),
    ([*RACE, "--rounds", "3"], "comes after 3 rounds"),
    ([*RACE, "--period", "fortnight"], "period must be"),
    ([*RACE, "--seed", "1"], "--seed needs --simulation: "),
    ([*RACE, "--simulation", "--seed", "-1"], "seed must be a whole number of at least 0, got -1"),
    ([*RACE, "--target-list", "nowhere.txt"], "cannot read nowhere.txt: No such file"),
    ([*RACE, "--start", "2025-01-06"], "start is for files with dates"),
    ([*RACE, "--start", "6 January"], "start must be a calendar day written YYYY-MM-DD, got 6 January"),
    ([*RACE, "--out", "no/where"], "cannot write into no/where: no is not a folder"),
    ([*RACE, "--targets", "50"], "no such option: --targets"),
    ([*RACE, "--frequency", "1D"], "no such option: --frequency"),
    ([*RACE, "more.csv"], "see deniable audit --help"),
    ([*RACE, "--audits", "0"], "audits must be a whole number of at least 1, got 0"),
    ([*RACE, "--audits", "4"], "audits must be at most the number of targets, 3, got 4"),
    (["--mechanism", "rr", "--delta", "0.1", "--audits", "2"], "of randomized response covers one audit a round"),
    ([*RACE, "--max-gap", "0"], "--max-gap must be a whole number of at least 1, got 0"),
    ([*RACE, "--max-gap", "2"], "--max-gap must be at least 3 rounds for 3 targets with 1 audit a round, got 2"),
    ([*RACE, "--cooldown", "-1"], "cooldown must be a whole number of at least 0, got -1"),
]

BAD_FILES = [
    (f"round,target,reports\n1,acme,1\n1,bravo,-{SECRET}\n", "line 3"),
    (f"round,target,reports\n1,acme,1\n1,bravo,{SECRET}.5\n", "line 3"),
    ("round,target,reports\n1,acme,1\n1,bravo,nan\n", "line 3"),
    (f"round,target,reports\n1,acme,1\n1,bravo,{SECRET}{SECRET}\n", "line 3"),
    (f"round,target,reports\n1,acme,1,{SECRET}\n", "expected 3 cells, got 4"),
    ("# public, all\nAcme\n", "expected 2 cells, got 1; give a file of reports"),
    (f"round,acme,bravo\n1,{SECRET}\n", "expected 3 cells, got 2"),
    ("", "is empty"),
    ("round,target,reports\n", "at least one row"),
    (f"round,target,reports\n1,acme,{SECRET}\n", "at least two targets"),
    (f"acme\n{SECRET}\n", "at least two targets"),
    (f'round,target,reports\n1,"acme,{SECRET}\n', "a quote is out of place"),
    (f"round;target;reports\n1;acme;{SECRET}\n", "separated by commas"),
    (f"{SECRET},{SECRET}\n1,2\n", "line 1"),
    (f"round,target,reports\n1,acme,{SECRET}\n1,acme,{SECRET}\n", "must not come twice"),
    (f"date,target,reports\n2025-02-30,acme,{SECRET}\n", "YYYY-MM-DD"),
    (f"round,target,reports\n1,\xe9,{SECRET}\n".encode("latin-1"), "UTF-8"),
    (f"round,target,reports\n1,a\0cme,{SECRET}\n", "NUL"),
]


@pytest.fixture
def no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """With it, a command that gets as far as drawing ends in another exit code than 2."""

    def explode(*_: object) -> NoReturn:
        raise AssertionError

    monkeypatch.setattr(audit_module, "AuditRun", explode)


@pytest.mark.usefixtures("no_draw")
@pytest.mark.parametrize(("options", "words"), BAD_OPTIONS)
def test_bad_options_are_refused_in_one_line_before_anything_is_drawn(
    run: Run, reports: Path, options: list[str], words: str
) -> None:
    assert_refused(run("audit", reports, *options), words)


@pytest.mark.usefixtures("no_draw")
@pytest.mark.parametrize(("content", "words"), BAD_FILES)
def test_bad_files_are_refused_in_one_line_without_a_count(
    run: Run, tmp_path: Path, content: str | bytes, words: str
) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert_refused(run("audit", path, *RACE), words)


@pytest.mark.usefixtures("no_draw")
def test_a_target_outside_the_public_list_is_refused(run: Run, reports: Path, tmp_path: Path) -> None:
    listed = tmp_path / "targets.txt"
    listed.write_text("acme\nbravo\n", encoding="utf-8")
    assert_refused(run("audit", reports, *RACE, "--target-list", listed), "'charlie' is not in the public list")


@pytest.mark.parametrize("path", ["nowhere.csv", "", ".", "two\nlines.csv"])
def test_a_missing_file_is_refused_in_one_line(run: Run, path: str) -> None:
    assert_refused(run("audit", path, *RACE), "cannot read")


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.usefixtures("no_draw")
def test_existing_files_are_not_drawn_again(
    run: Run, reports: Path, public: list[str], tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("published", encoding="utf-8")
    assert_refused(run("audit", reports, *RACE, *public, "--out", tmp_path), "publish that transcript")
    assert (tmp_path / name).read_text(encoding="utf-8") == "published"


# What is printed


def test_text_has_the_guarantee_the_whole_transcript_and_a_marked_summary(run: Run, reports: Path) -> None:
    code, out, err = run("audit", reports, *RACE)
    words = " ".join(out.split())
    assert (code, err) == (0, "")
    assert "mechanism race" in words
    assert "targets 3" in words
    assert dn.Race.calibrate(3, 0.1).guarantee().in_words() in words
    assert [line.split()[0] for line in transcript_lines(out)] == ["1", "2", "3", "4"]
    confidential = out[out.index("confidential: do not publish") :]
    for name in ("reports resolved", "mean deficit", "rounds in which a leader was audited"):
        assert name in confidential
        assert name not in out[: -len(confidential)]
    assert "\x1b" not in out


def transcript_lines(out: str) -> list[str]:
    _, section = re.split(r"Transcript \((?:public|simulated)\): round and audited target\n", out)
    return section.partition("\n\n")[0].splitlines()


def test_dated_rounds_show_their_period(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "reports.csv"
    path.write_text("date,acme,bravo\n2025-01-13,1,0\n2025-01-20,0,2\n", encoding="utf-8")
    _, out, _ = run("audit", path, *RACE, "--period", "7d", "--rounds", "5", "--start", "2025-01-06")
    assert "rounds     5 of 7D, the first from 2025-01-06, the last from 2025-02-03" in out


@pytest.mark.parametrize("width", ["50", "200"])
@pytest.mark.parametrize("terminal", [True, False])
def test_names_are_shown_as_they_are_in_any_width(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: str, terminal: bool
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    names = ("[bold]acme[/bold]", ":smile:" * 10)
    path = tmp_path / "reports.csv"
    path.write_text(",".join(names) + "\n" + "1,1\n" * 40, encoding="utf-8")
    _, out, _ = run("audit", path, *RACE)  # neither is missing in 40 rounds but with probability below 1e-9
    lines = transcript_lines(re.sub(r"\x1b\[[0-9;]*m", "", out))
    joined = "".join(line.strip() for line in lines)
    assert all(name in joined for name in names)
    if not terminal:
        assert [line.split()[1] in names for line in lines] == [True] * 40
    elif width == "200":
        assert len(lines) == 20  # in two columns


def test_colour_only_where_wanted(reports: Path) -> None:
    coloured = in_a_process("audit", reports, *RACE, env=os.environ | {"FORCE_COLOR": "1"})
    plain = in_a_process("audit", reports, *RACE, env=os.environ | {"NO_COLOR": "1"})
    assert "\x1b[" in coloured.out
    assert "\x1b[" not in plain.out


def test_json_is_one_document(run: Run, reports: Path) -> None:
    code, out, err = run("audit", reports, *RACE, "--json")
    assert code == 0
    document = json.loads(out)
    assert list(document) == ["transcript", "guarantee", "mechanism", "audits", "simulation", "confidential"]
    assert document["audits"] == 1
    assert [entry["round"] for entry in document["transcript"]] == ["1", "2", "3", "4"]
    assert {entry["target"] for entry in document["transcript"]} <= {"acme", "bravo", "charlie"}
    race = dn.Race.calibrate(3, 0.1)
    assert document["guarantee"] == race.guarantee().to_dict()
    assert document["mechanism"] == {
        "id": "race",
        "n_targets": 3,
        "rules": {"max_gap": None, "cooldown": 0},
        "rho": race.rho,
        "weights": None,
    }
    assert document["simulation"] is False
    assert document["confidential"]["reports"] == int(SECRET) + 3
    assert err.startswith("note: ")
    assert err.count("\n") == 1


def test_the_summary_is_that_of_the_transcript(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "reports.csv"
    path.write_text("acme,bravo\n3,1\n0,1\n0,0\n5,9\n", encoding="utf-8")
    _, out, _ = run("audit", path, "--mechanism", "greedy", "--json")
    assert json.loads(out)["confidential"] == {
        "reports": 19,
        "reports_resolved": 3 + 2 + 0 + 9,
        "share_resolved": 14 / 19,
        "mean_deficit": 0.0,
        "rounds_with_leader_audited": 4,
    }


def test_without_any_report_there_is_no_share(run: Run, long_reports: Path) -> None:
    _, out, _ = run("audit", long_reports, *RACE, "--json")
    assert json.loads(out)["confidential"]["share_resolved"] is None
    _, out, _ = run("audit", long_reports, *RACE)
    assert "0 of 0" in out


@pytest.mark.parametrize("mechanism", [*MECHANISM_IDS, "counter:toeplitz"])
def test_every_mechanism_prints_its_parameters(run: Run, reports: Path, mechanism: str) -> None:
    _, out, _ = run("audit", reports, "--mechanism", mechanism, "--delta", "0.1", "--json")
    assert json.loads(out)["mechanism"]["id"] == mechanism


def test_the_noise_of_a_counter_has_units_and_all_its_digits(run: Run, reports: Path) -> None:
    _, out, _ = run("audit", reports, "--mechanism", "tca", "--delta", "0.1", "--rounds", "1000", "--json")
    shown, counter = json.loads(out)["mechanism"]["counter"], dn.counters.toeplitz(0.1, 1000)
    assert (shown["horizon"], shown["sigma"]) == (1000, counter.sigma)
    assert (shown["variance"], shown["variance_unit"]) == (str(counter.variance), "4**-32")
    assert counter.variance > 2**53  # a number of JSON would not do


def test_the_horizon_is_that_of_the_stream_where_one_is_needed(run: Run, reports: Path) -> None:
    def horizon(*options: str) -> int | None:
        _, out, _ = run("audit", reports, "--delta", "0.1", "--json", *options)
        covered: int | None = json.loads(out)["guarantee"]["horizon"]
        return covered

    assert horizon("--mechanism", "tca") == 4
    assert horizon("--mechanism", "tca", "--rounds", "7") == 7
    assert horizon("--mechanism", "tca", "--horizon", "9") == 9
    assert horizon("--mechanism", "race") is None
    assert horizon("--mechanism", "rr") is None


# Rules and several audits a round


def drawn(run: Run, path: Path, *options: str) -> tuple[dict[str, Any], list[list[str]]]:
    """The document, and the targets of every round in the order drawn."""
    code, out, _ = run("audit", path, *options, "--json")
    assert code == 0
    document = json.loads(out)
    rounds: dict[str, list[str]] = {}
    for entry in document["transcript"]:
        rounds.setdefault(entry["round"], []).append(entry["target"])
    return document, list(rounds.values())


def test_several_audits_a_round_are_of_different_targets(run: Run, long_reports: Path) -> None:
    document, rounds = drawn(run, long_reports, *RACE, "--audits", "2")
    assert document["audits"] == 2
    assert len(document["transcript"]) == 2 * len(rounds) == 400
    assert all(len(set(audited)) == 2 for audited in rounds)


def test_every_target_is_audited_within_the_maximum_gap(run: Run, long_reports: Path) -> None:
    """With a gap of as many rounds as there are targets the audits go round and round."""
    document, rounds = drawn(run, long_reports, *RACE, "--max-gap", "4")
    assert document["mechanism"]["rules"] == {"max_gap": 4, "cooldown": 0}
    assert all(audited == rounds[t % 4] for t, audited in enumerate(rounds))
    _, free = drawn(run, long_reports, *RACE)  # the control: by chance with probability below 1e-9
    assert any(audited != free[t % 4] for t, audited in enumerate(free))


def test_no_target_is_audited_again_within_the_cooldown(run: Run, long_reports: Path) -> None:
    document, rounds = drawn(run, long_reports, *RACE, "--cooldown", "2")
    assert document["mechanism"]["rules"] == {"max_gap": None, "cooldown": 2}
    assert all(one != other for one, other in pairwise(rounds))
    assert all(one != other for one, other in zip(rounds, rounds[2:], strict=False))


def test_the_rules_are_named_above_the_transcript(run: Run, reports: Path) -> None:
    _, out, _ = run("audit", reports, *RACE, "--audits", "2", "--max-gap", "3", "--cooldown", "1")
    words = " ".join(out.partition("Guarantee")[0].split())
    assert "audits a round 2" in words
    assert "rules every target at least once in 3 rounds, none twice within 1 round" in words
    assert [line.split()[0] for line in transcript_lines(out)] == ["1", "1", "2", "2", "3", "3", "4", "4"]


def test_a_maximum_gap_will_do_for_a_horizon(run: Run, reports: Path) -> None:
    tca = ("--mechanism", "tca", "--delta", "0.1", "--max-gap", "3")
    document, _ = drawn(run, reports, *tca)
    assert document["guarantee"]["horizon"] is None
    assert document["mechanism"]["counter"]["horizon"] == 3
    assert "the horizon" not in run("audit", reports, *tca, "--json").err
    assert drawn(run, reports, *tca, "--horizon", "9")[0]["mechanism"]["counter"]["horizon"] == 3


def test_the_summary_of_several_audits_counts_them_all(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "reports.csv"
    path.write_text("acme,bravo,charlie\n3,1,0\n0,1,2\n5,9,9\n", encoding="utf-8")
    document, _ = drawn(run, path, "--mechanism", "greedy", "--audits", "2")
    assert document["confidential"] == {
        "reports": 30,
        "reports_resolved": 4 + 3 + 18,
        "share_resolved": 25 / 30,
        "mean_deficit": 0.0,
        "rounds_with_leader_audited": 3,
    }


def test_greedy_warns_that_it_protects_no_one(run: Run, reports: Path) -> None:
    assert "protects no one" in run("audit", reports, "--mechanism", "greedy").out
    assert "protects no one" in run("audit", reports, "--mechanism", "greedy", "--json").err
    assert "protects no one" not in run("audit", reports, "--mechanism", "uniform").out


DATED = "date,target,reports\n2025-01-06,acme,1\n2025-01-20,bravo,2\n"
TARGETS, ROUNDS, START = "--target-list FILE", "--rounds N", "--start YYYY-MM-DD"


@pytest.mark.parametrize(
    ("content", "given", "missing"),
    [
        (GOOD, [], [TARGETS, ROUNDS]),
        (GOOD, ["--rounds", "4"], [TARGETS]),
        (GOOD, ["--target-list", "{list}"], [ROUNDS]),
        (GOOD, ["--target-list", "{list}", "--rounds", "4"], []),
        (GOOD, ["--assume-public"], []),
        ("acme,bravo\n1,0\n", [], [TARGETS, ROUNDS]),  # an export may leave out what would be zero, in any form
        (DATED, [], [TARGETS, ROUNDS, START]),
        (DATED, ["--target-list", "{list}", "--rounds", "15"], [START]),
        (DATED, ["--target-list", "{list}", "--start", "2025-01-01"], [ROUNDS]),
        (DATED, ["--target-list", "{list}", "--start", "2025-01-01", "--rounds", "20"], []),
        (DATED, ["--assume-public"], []),
    ],
)
def test_what_is_read_off_the_reports_is_noted_and_not_published(
    run: Run, tmp_path: Path, content: str, given: list[str], missing: list[str]
) -> None:
    path, listed = tmp_path / "reports.csv", tmp_path / "targets.txt"
    path.write_text(content, encoding="utf-8")
    listed.write_text("acme\nbravo\ncharlie\n", encoding="utf-8")
    command = ["audit", path, *RACE, *(option.format(list=listed) for option in given)]
    _, out, err = run(*command)
    json_err = run(*command, "--json").err
    published = run(*command, "--out", tmp_path / "out")
    assert err == ""
    for option in (TARGETS, ROUNDS, START):
        for said in (out.partition("mechanism")[0], json_err, published.err):
            assert (option in " ".join(said.split())) == (option in missing)
    assert json_err.startswith("note: read off the reports: ") == bool(missing)
    if missing:
        assert_refused(published, "or --assume-public")
        assert not (tmp_path / "out").exists()
    else:
        assert published.code == 0
        assert json_err == ""


def test_a_horizon_read_off_the_reports_is_named(run: Run, reports: Path, tmp_path: Path) -> None:
    def said(*options: str) -> str:
        return run("audit", reports, "--delta", "0.1", "--json", *options).err

    assert "the number of rounds and the horizon" in said("--mechanism", "tca")
    assert "the number of rounds and the horizon" in said("--mechanism", "counter:blt")
    assert "the horizon" not in said("--mechanism", "tca", "--rounds", "4")
    assert "the horizon" not in said("--mechanism", "tca", "--horizon", "4")
    assert "the horizon" not in said("--mechanism", "race")
    assert_refused(run("audit", reports, "--mechanism", "tca", "--delta", "0.1", "--out", tmp_path / "out"), ROUNDS)


# Noise


def test_a_simulation_is_repeatable_and_says_so_first(run: Run, long_reports: Path) -> None:
    once, again, other = (run("audit", long_reports, *RACE, "--simulation", "--seed", seed) for seed in (7, 7, 8))
    assert once == again
    assert transcript_lines(once.out) != transcript_lines(other.out)
    assert once.out.startswith("SIMULATION: ")
    assert "No audit programme may use" in " ".join(once.out.split())
    assert run("audit", long_reports, *RACE, "--simulation") == run(
        "audit", long_reports, *RACE, "--simulation", "--seed", "0"
    )
    assert json.loads(run("audit", long_reports, *RACE, "--simulation", "--json").out)["simulation"] is True


def test_real_audits_are_not_repeatable(run: Run, long_reports: Path) -> None:
    """200 rounds without a report: two transcripts agree with probability 4**-200."""
    first, second = (run("audit", long_reports, *RACE).out for _ in range(2))
    assert transcript_lines(first) != transcript_lines(second)
    assert "SIMULATION" not in first


# Files


def test_out_writes_the_printed_transcript_and_guarantee(
    run: Run, reports: Path, public: list[str], tmp_path: Path
) -> None:
    _, out, _ = run("audit", reports, *RACE, *public, "--json", "--out", tmp_path / "out")
    printed = json.loads(out)
    written = contents(tmp_path / "out")
    assert set(written) == FILES
    lines = [f"{entry['round']},{entry['target']}" for entry in printed["transcript"]]
    assert written["transcript.csv"].splitlines() == ["round,target", *lines]
    assert json.loads(written["guarantee.json"]) == {
        key: printed[key] for key in ("guarantee", "mechanism", "audits", "simulation")
    }
    assert " ".join(written["guarantee.txt"].split()) == dn.Race.calibrate(3, 0.1).guarantee().in_words()


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_public_files_depend_on_public_parameters_and_audits_alone(
    run: Run, public: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same audits of other reports, in another place: the files are the same to the byte."""
    rows = ("1,0\n0,0\n0,3\n", f"0,{SECRET}\n{SECRET},5\n0,0\n")
    monkeypatch.setattr(audit_module, "SystemNoise", lambda: dn.ReplayNoise(bytes(32)))
    for place, counts in zip(("here", "there"), rows, strict=True):
        (tmp_path / place).mkdir()
        (tmp_path / place / "reports.csv").write_text("acme,bravo\n" + counts, encoding="utf-8")
        options = ("--mechanism", "uniform", *public, "--out", tmp_path / place / "out")
        assert run("audit", tmp_path / place / "reports.csv", *options).code == 0
    assert contents(tmp_path / "here" / "out") == contents(tmp_path / "there" / "out")


QUIET = ["2025-01-15,acme,1", "2025-01-16,bravo,1"]
ONE_REPORT = {
    "the first day": "2025-01-06,bravo,1",
    "the last round": "2025-02-12,bravo,1",
    "a target": "2025-01-15,zulu,1",
}
"""A report to add to the others, by what it would change if that were read off the reports."""


def published(run: Run, folder: Path, rows: list[str], options: list[str]) -> tuple[list[str], str]:
    """The rounds of the public transcript, and guarantee.json."""
    folder.mkdir()
    (folder / "reports.csv").write_text("\n".join(["date,target,reports", *rows, ""]), encoding="utf-8")
    result = run("audit", folder / "reports.csv", "--delta", "0.1", "--period", "7D", "--out", folder / "out", *options)
    assert (result.code, result.err) == (0, "")
    written = contents(folder / "out")
    rounds = [row["round"] for row in csv.DictReader(written["transcript.csv"].splitlines())]
    return rounds, written["guarantee.json"]


@pytest.mark.parametrize("mechanism", ["race", "tca", "rr"])
@pytest.mark.parametrize("report", ONE_REPORT.values(), ids=ONE_REPORT)
@pytest.mark.parametrize("others", [QUIET, []], ids=["one more", "the only one"])
def test_one_report_changes_nothing_public_but_the_audits(
    run: Run, tmp_path: Path, others: list[str], report: str, mechanism: str
) -> None:
    listed = tmp_path / "targets.txt"
    listed.write_text("acme\nbravo\nzulu\n", encoding="utf-8")
    options = ["--mechanism", mechanism, "--target-list", str(listed), "--rounds", "8", "--start", "2025-01-06"]
    without = published(run, tmp_path / "without", others, options)
    assert published(run, tmp_path / "with", [*others, report], options) == without
    assert len(without[0]) == 8


@pytest.mark.parametrize("report", ONE_REPORT.values(), ids=ONE_REPORT)
def test_one_report_would_change_what_is_read_off_the_reports(run: Run, tmp_path: Path, report: str) -> None:
    """The control of the test above."""
    options = ["--mechanism", "tca", "--assume-public"]
    without = published(run, tmp_path / "without", QUIET, options)
    assert published(run, tmp_path / "with", [*QUIET, report], options) != without


def test_simulated_files_say_that_they_are(run: Run, reports: Path, public: list[str], tmp_path: Path) -> None:
    run("audit", reports, *RACE, *public, "--simulation", "--out", tmp_path / "out")
    written = contents(tmp_path / "out")
    assert set(written) == {"simulated-transcript.csv", "guarantee.json", "guarantee.txt"}
    assert written["guarantee.txt"].startswith("SIMULATION: ")
    assert dn.Race.calibrate(3, 0.1).guarantee().in_words() not in " ".join(written["guarantee.txt"].split())
    figures = json.loads(written["guarantee.json"])
    assert figures["simulation"] is True
    assert figures["guarantee"] is None


@pytest.mark.parametrize("existed", [True, False])
def test_nothing_stays_behind_where_writing_fails(
    run: Run, reports: Path, public: list[str], monkeypatch: pytest.MonkeyPatch, existed: bool
) -> None:
    out = reports.parent / "out"
    if existed:
        out.mkdir()
        (out / "notes.txt").write_text("mine", encoding="utf-8")
    replace = Path.replace

    def full(self: Path, target: Path) -> Path:
        if target.name == "guarantee.txt":  # the last one
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", full)
    assert_refused(run("audit", reports, *RACE, *public, "--out", out), "the disk is full")
    assert out.exists() == existed
    assert not existed or contents(out) == {"notes.txt": "mine"}


def test_of_two_draws_at_the_same_time_one_is_refused(
    run: Run, reports: Path, public: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files appear after the first look at the folder."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "guarantee.json").write_text("published", encoding="utf-8")
    monkeypatch.setattr(audit_module, "check_folder", lambda *_: None)
    assert_refused(run("audit", reports, *RACE, *public, "--out", out), "File exists")
    assert contents(out) == {"guarantee.json": "published"}


@pytest.mark.usefixtures("no_draw")
@pytest.mark.parametrize("where", ["reports.csv", "reports.csv/out", "absent/out", "a/b/c"])
def test_a_folder_that_cannot_be_made_is_refused_before_the_draw(
    run: Run, reports: Path, public: list[str], where: str
) -> None:
    result = run("audit", reports, *RACE, *public, "--out", reports.parent / where)
    assert_refused(result, "cannot write into", "is not a folder")


@pytest.mark.usefixtures("no_draw")
def test_a_folder_without_permission_is_refused_before_the_draw(
    run: Run, reports: Path, public: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.W_OK)
    assert_refused(run("audit", reports, *RACE, *public, "--out", tmp_path / "out"), "Permission denied")


# Classes of reports

CLASSES = ["--class", "minor=1", "--class", "serious=3", "--class", "danger=visit"]
CLASSED = "round,target,class,reports\n1,acme,minor,700\n1,bravo,serious,1\n2,acme,danger,2\n3,charlie,serious,1\n"


@pytest.fixture
def classed(tmp_path: Path) -> Path:
    path = tmp_path / "classed.csv"
    path.write_text(CLASSED, encoding="utf-8")
    return path


def test_the_guarantee_is_told_for_each_class_and_visits_are_ordered(run: Run, classed: Path) -> None:
    code, out, _ = run("audit", classed, *RACE, *CLASSES)
    assert code == 0
    plain = " ".join(out.split())
    assert "guessing right whether you filed a report of class serious by at most" in plain
    assert "A report of class minor: watching improves a guess whether you filed it by at most 5 points" in plain
    assert "A report of class danger is not protected" in plain
    assert re.search(r"^2  acme  \(visit, not drawn\)$", out, re.MULTILINE)
    assert "weight of reports resolved" in out


def test_the_public_files_tell_visits_from_draws(run: Run, classed: Path, tmp_path: Path) -> None:
    out = tmp_path / "public"
    assert run("audit", classed, *RACE, *CLASSES, "--most-counted", "5", "--out", out, "--assume-public").code == 0
    rows = list(csv.DictReader((out / "transcript.csv").read_text().splitlines()))
    assert [(row["round"], row["target"]) for row in rows if row["how"] == "visit"] == [("2", "acme")]
    assert [row["round"] for row in rows if row["how"] == "drawn"] == ["1", "2", "3"]
    figures = json.loads((out / "guarantee.json").read_text())
    assert [round(one["guarantee"]["delta"], 3) for one in figures["classes"][:2]] == [0.1, 0.293]
    assert figures["classes"][2] == {"class": "danger", "weight": None, "guarantee": None}
    assert figures["guarantee"]["delta"] == figures["classes"][1]["guarantee"]["delta"]
    assert figures["most_counted"] == 5
    assert "class danger is not protected" in " ".join((out / "guarantee.txt").read_text().split())
    assert "700" not in "".join(path.read_text() for path in out.iterdir())


def test_a_visit_ends_the_run_and_a_flood_counts_up_to_the_limit(run: Run, tmp_path: Path) -> None:
    """Greedy shows it: acme leads by its flood, or without the visit it would be audited in round 2."""
    path = tmp_path / "flood.csv"
    path.write_text(
        "round,target,class,reports\n1,acme,minor,9\n1,bravo,serious,2\n2,acme,danger,1\n2,charlie,minor,1\n"
        "3,acme,minor,2\n3,bravo,minor,700\n",
        encoding="utf-8",
    )
    found = json.loads(run("audit", path, "--mechanism", "greedy", *CLASSES, "--json").out)
    assert [(row["target"], row["how"]) for row in found["transcript"]] == [
        *(("acme", "drawn"), ("acme", "visit"), ("bravo", "drawn"), ("bravo", "drawn"))
    ]
    capped = json.loads(run("audit", path, "--mechanism", "greedy", *CLASSES, "--most-counted", "1", "--json").out)
    assert [row["target"] for row in capped["transcript"]][:3] == ["bravo", "acme", "charlie"]
    # Weights of 1 and 3, and 1, and 1 and 1: what acme had was dealt with by the visit.
    assert capped["confidential"]["reports"] == 7
    assert capped["confidential"]["reports_resolved"] == 6


@pytest.mark.usefixtures("no_draw")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "the column class needs every class and its weight"),
        (["--class", "minor=1"], "the class 'serious' is not among those given, minor"),
        (["--class", "minor=0"], "the weight of class minor must be a whole number from 1 to 100, or visit, got 0"),
        (["--class", "minor=1.5"], "the weight of class minor must be a whole number"),
        (["--class", "minor=1", "--class", "minor=2"], "its own name, got minor twice"),
        (["--class", "danger=visit"], "at least one class of reports must have a weight"),
        (["--class", "minor"], "class minor needs a weight: write minor=1"),
        ([*CLASSES, "--most-counted", "0"], "--most-counted must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_classes_are_refused_in_one_line(run: Run, classed: Path, options: list[str], words: str) -> None:
    assert_refused(run("audit", classed, *RACE, *options), words)


@pytest.mark.usefixtures("no_draw")
def test_classes_need_their_column(run: Run, reports: Path) -> None:
    assert_refused(run("audit", reports, *RACE, *CLASSES), "the column class is missing")
