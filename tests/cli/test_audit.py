"""`deniable audit`: what it prints and writes, what it refuses, and that nothing confidential slips out on the way."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest

import deniable as dn
from deniable.cli import audit as audit_module
from deniable.cli.main import main
from deniable.mechanisms import MECHANISM_IDS

SECRET = "987654"
"""A count that no error and no public file may show."""

GOOD = f"round,target,reports\n1,acme,{SECRET}\n2,bravo,1\n4,charlie,2\n"
RACE = ["--mechanism", "race", "--delta", "0.1"]
FILES = {"transcript.csv", "guarantee.json", "guarantee.txt"}


class Result(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in this process."""

    def call(*args: object) -> Result:
        code = main([str(arg) for arg in args])
        return Result(code, *capsys.readouterr())

    return call


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    path = tmp_path / "reports.csv"
    path.write_text(GOOD, encoding="utf-8")
    return path


@pytest.fixture
def long_reports(tmp_path: Path) -> Path:
    path = tmp_path / "long.csv"
    path.write_text("acme,bravo,charlie,delta\n" + "0,0,0,0\n" * 200, encoding="utf-8")
    return path


def in_a_process(*args: object, **kwargs: Any) -> Result:
    command = [sys.executable, "-m", "deniable", *map(str, args)]
    done = subprocess.run(
        command, check=False, encoding="utf-8", stderr=subprocess.PIPE, **{"stdout": subprocess.PIPE} | kwargs
    )
    return Result(done.returncode, done.stdout or "", done.stderr)


def assert_refused(result: Result, *words: str) -> None:
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert result.err.endswith("\n")
    assert result.err.count("\n") == 1
    assert SECRET not in result.err
    for word in words:
        assert word in result.err


# What is refused

BAD_OPTIONS = [
    (["--mechanism", "race", "--delta", "1.5"], "delta must be in (0, 1), got 1.5"),
    (["--mechanism", "race", "--delta", "0"], "delta must be in (0, 1), got 0.0"),
    (["--mechanism", "race", "--delta", "-0.1"], "delta must be in (0, 1), got -0.1"),
    (["--mechanism", "race", "--delta", "nan"], "delta must be in (0, 1), got nan"),
    (["--mechanism", "greedy", "--delta", "nan"], "delta must be in (0, 1), got nan"),
    (["--mechanism", "race", "--delta", "low"], "'--delta'"),
    *(([*("--mechanism", name)], "--delta is missing") for name in MECHANISM_IDS if name not in ("greedy", "uniform")),
    (["--mechanism", "best", "--delta", "0.1"], "mechanism must be one of greedy, uniform"),
    (["--mechanism", "best"], "mechanism must be one of greedy, uniform"),
    (["--delta", "0.1"], "missing option '--mechanism'"),
    ([*RACE, "--horizon", "0"], "horizon must be a whole number of at least 1, got 0"),
    (["--mechanism", "tca", "--delta", "0.1", "--horizon", "0"], "horizon must be a whole number of at least 1, got 0"),
    (
        ["--mechanism", "tca", "--delta", "0.1", "--horizon", "3"],
        "horizon must cover every round of the stream, got 3 for 4",
    ),
    ([*RACE, "--horizon", "3"], "horizon must cover every round of the stream, got 3 for 4"),
    ([*RACE, "--horizon", "1.5"], "'--horizon'"),
    ([*RACE, "--rounds", "3"], "rounds must cover every round"),
    ([*RACE, "--period", "fortnight"], "period must be"),
    ([*RACE, "--seed", "1"], "--seed needs --simulation: "),
    ([*RACE, "--simulation", "--seed", "-1"], "seed must be a whole number of at least 0, got -1"),
    ([*RACE, "--targets", "nowhere.txt"], "cannot read nowhere.txt: No such file"),
    ([*RACE, "--out", "no/where"], "cannot write into no/where: No such file"),
    ([*RACE, "--frequency", "1D"], "no such option: --frequency"),
    ([*RACE, "more.csv"], "see deniable audit --help"),
]

BAD_FILES = [
    (f"round,target,reports\n1,acme,1\n1,bravo,-{SECRET}\n", "line 3"),
    (f"round,target,reports\n1,acme,1\n1,bravo,{SECRET}.5\n", "line 3"),
    ("round,target,reports\n1,acme,1\n1,bravo,nan\n", "line 3"),
    (f"round,target,reports\n1,acme,1\n1,bravo,{SECRET}{SECRET}\n", "line 3"),
    (f"round,target,reports\n1,acme,1,{SECRET}\n", "expected 3 cells, got 4"),
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


@pytest.mark.parametrize(("options", "words"), BAD_OPTIONS)
def test_bad_options_are_refused_in_one_line(run: Run, reports: Path, options: list[str], words: str) -> None:
    assert_refused(run("audit", reports, *options), words)


@pytest.mark.usefixtures("no_draw")
@pytest.mark.parametrize(("options", "words"), [bad for bad in BAD_OPTIONS if "--out" not in bad[0]])
def test_bad_options_are_refused_before_anything_is_drawn(
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
    assert_refused(run("audit", reports, *RACE, "--targets", listed), "'charlie' is not in the public list")


@pytest.mark.parametrize("path", ["nowhere.csv", "", ".", "two\nlines.csv"])
def test_a_missing_file_is_refused_in_one_line(run: Run, path: str) -> None:
    assert_refused(run("audit", path, *RACE), "cannot read")


@pytest.mark.parametrize("args", [["audit"], ["publish-everything"], ["--frequency"]])
def test_wrong_usage_is_one_line(run: Run, args: list[str]) -> None:
    assert_refused(run(*args), "--help")


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.usefixtures("no_draw")
def test_existing_files_are_not_drawn_again(run: Run, reports: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("published", encoding="utf-8")
    assert_refused(run("audit", reports, *RACE, "--out", tmp_path), "drawn only once")
    assert (tmp_path / name).read_text(encoding="utf-8") == "published"


# The real process


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["audit", "{reports}", "--mechanism", "race", "--delta", "nan"], "delta must be"),
        (["audit", "{reports}", *RACE, "--seed", "1"], "--seed needs --simulation"),
        (["audit", "{reports}", "--bad"], "no such option"),
        (["audit", "{bad}", *RACE], "line 2"),
    ],
)
def test_a_real_process_shows_one_line_and_exit_code_2(
    reports: Path, tmp_path: Path, args: list[str], words: str
) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text(f"round,target,reports\n1,acme,-{SECRET}\n", encoding="utf-8")
    assert_refused(in_a_process(*(arg.format(reports=reports, bad=bad) for arg in args)), words)


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_a_reader_that_goes_away_is_no_traceback(long_reports: Path, as_json: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    result = in_a_process("audit", long_reports, *RACE, *as_json, stdout=write)
    os.close(write)
    assert result.code == 1
    assert result.err.count("\n") <= 1  # the note about the list of targets
    assert "Traceback" not in result.err
    assert "Exception" not in result.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_a_full_disk_is_one_line(reports: Path, as_json: list[str]) -> None:
    targets = reports.with_name("targets.txt")
    targets.write_text("acme\nbravo\ncharlie\n", encoding="utf-8")
    with Path("/dev/full").open("w") as full:
        result = in_a_process("audit", reports, *RACE, "--targets", targets, *as_json, stdout=full)
    assert_refused(result, "cannot write the output: No space left on device")


def test_a_terminal_without_unicode_still_gets_its_transcript(tmp_path: Path) -> None:
    path = tmp_path / "reports.csv"
    path.write_text("Çelik,Đurić\n1,0\n", encoding="utf-8")
    result = in_a_process("audit", path, *RACE, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert result.code == 0
    assert r"\xc7elik" in result.out or r"\u0110uri" in result.out


# Interruptions and bugs


def test_an_interrupt_ends_quietly_and_writes_nothing(
    run: Run, reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> NoReturn:
        signal.raise_signal(signal.SIGINT)
        raise AssertionError

    monkeypatch.setattr(dn.AuditRun, "step", interrupted)
    assert run("audit", reports, *RACE, "--out", tmp_path / "out") == (130, "", "")
    assert not (tmp_path / "out").exists()


def test_a_bug_is_one_line_that_does_not_quote_the_exception(
    run: Run, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> NoReturn:
        raise RuntimeError(f"no bin for {SECRET}")

    monkeypatch.setattr(dn.AuditRun, "step", broken)
    code, out, err = run("audit", reports, *RACE)
    assert (code, out) == (1, "")
    assert err.startswith("error: this is a bug in deniable (RuntimeError in test_audit.py, line ")
    assert err.count("\n") == 1
    assert SECRET not in err


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
    _, _, section = out.partition("Transcript (public): round and audited target\n")
    return section.partition("\n\n")[0].splitlines()


def test_dated_rounds_show_their_period(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "reports.csv"
    path.write_text("date,acme,bravo\n2025-01-06,1,0\n2025-01-20,0,2\n", encoding="utf-8")
    _, out, _ = run("audit", path, *RACE, "--period", "7D", "--rounds", "5")
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
    assert list(document) == ["transcript", "guarantee", "mechanism", "simulation", "confidential"]
    assert [entry["round"] for entry in document["transcript"]] == ["1", "2", "3", "4"]
    assert {entry["target"] for entry in document["transcript"]} <= {"acme", "bravo", "charlie"}
    race = dn.Race.calibrate(3, 0.1)
    assert document["guarantee"] == race.guarantee().to_dict()
    assert document["mechanism"] == {"id": "race", "n_targets": 3, "rho": race.rho}
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


@pytest.mark.parametrize("mechanism", MECHANISM_IDS)
def test_every_mechanism_prints_its_parameters(run: Run, reports: Path, mechanism: str) -> None:
    _, out, _ = run("audit", reports, "--mechanism", mechanism, "--delta", "0.1", "--json")
    assert json.loads(out)["mechanism"]["id"] == mechanism


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


def test_greedy_warns_that_it_protects_nobody(run: Run, reports: Path) -> None:
    assert "protects nobody" in run("audit", reports, "--mechanism", "greedy").out
    assert "protects nobody" in run("audit", reports, "--mechanism", "greedy", "--json").err
    assert "protects nobody" not in run("audit", reports, "--mechanism", "uniform").out


def test_a_list_of_targets_read_off_the_reports_is_noted(run: Run, reports: Path, tmp_path: Path) -> None:
    listed = tmp_path / "targets.txt"
    listed.write_text("bravo\nacme\nzulu\ncharlie\n", encoding="utf-8")
    assert "assumed to be public" in " ".join(run("audit", reports, *RACE).out.split())
    result = run("audit", reports, *RACE, "--targets", listed)
    assert "assumed" not in result.out + result.err
    assert "targets    4" in result.out


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


def test_out_writes_the_printed_transcript_and_guarantee(run: Run, reports: Path, tmp_path: Path) -> None:
    _, out, _ = run("audit", reports, *RACE, "--json", "--out", tmp_path / "out")
    printed = json.loads(out)
    written = contents(tmp_path / "out")
    assert set(written) == FILES
    lines = [f"{entry['round']},{entry['target']}" for entry in printed["transcript"]]
    assert written["transcript.csv"].splitlines() == ["round,target", *lines]
    assert json.loads(written["guarantee.json"]) == {
        key: printed[key] for key in ("guarantee", "mechanism", "simulation")
    }
    assert " ".join(written["guarantee.txt"].split()) == dn.Race.calibrate(3, 0.1).guarantee().in_words()


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_public_files_depend_on_public_parameters_and_audits_alone(run: Run, tmp_path: Path) -> None:
    """The same audits of other reports, in another place: the files are the same to the byte."""
    rows = ("1,0\n0,0\n0,3\n", f"0,{SECRET}\n{SECRET},5\n0,0\n")
    for place, counts in zip(("here", "there"), rows, strict=True):
        (tmp_path / place).mkdir()
        (tmp_path / place / "reports.csv").write_text("acme,bravo\n" + counts, encoding="utf-8")
        options = ("--mechanism", "uniform", "--simulation", "--out", tmp_path / place / "out")
        assert run("audit", tmp_path / place / "reports.csv", *options).code == 0
    assert contents(tmp_path / "here" / "out") == contents(tmp_path / "there" / "out")


def test_simulated_files_say_that_they_are(run: Run, reports: Path, tmp_path: Path) -> None:
    run("audit", reports, *RACE, "--simulation", "--out", tmp_path / "out")
    written = contents(tmp_path / "out")
    assert written["guarantee.txt"].startswith("SIMULATION: ")
    assert json.loads(written["guarantee.json"])["simulation"] is True


@pytest.mark.parametrize("existed", [True, False])
def test_nothing_stays_behind_where_writing_fails(
    run: Run, reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existed: bool
) -> None:
    out = tmp_path / "out"
    if existed:
        out.mkdir()
        (out / "notes.txt").write_text("mine", encoding="utf-8")
    replace = Path.replace

    def full(self: Path, target: Path) -> Path:
        if target.name == "guarantee.txt":  # the last one
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", full)
    assert_refused(run("audit", reports, *RACE, "--out", out), "No space left on device")
    assert out.exists() == existed
    assert not existed or contents(out) == {"notes.txt": "mine"}


def test_of_two_draws_at_the_same_time_one_is_refused(
    run: Run, reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files appear after the first look at the folder."""
    (tmp_path / "guarantee.json").write_text("published", encoding="utf-8")
    monkeypatch.setattr(audit_module, "_refuse_existing", lambda _: None)
    assert_refused(run("audit", reports, *RACE, "--out", tmp_path), "File exists")
    assert contents(tmp_path) == {"guarantee.json": "published", "reports.csv": GOOD}


def test_out_is_refused_where_it_is_a_file(run: Run, reports: Path) -> None:
    assert_refused(run("audit", reports, *RACE, "--out", reports), "cannot write into")


# The command itself


def test_version_and_help(run: Run) -> None:
    assert run("--version").out.startswith("deniable 0.")
    code, out, err = run()
    assert (code, err) == (0, "")
    assert "audit  Draw the audits" in out
    _, out, _ = run("audit", "--help")
    for option in ("--delta", "--mechanism", "--targets", "--horizon", "--period", "--rounds", "--out", "--json"):
        assert option in out
    assert "\n    deniable audit reports.csv --targets targets.txt" in out
