"""The command itself: usage, exit codes, interruptions, and output that cannot be written."""

import os
import re
from pathlib import Path
from typing import NoReturn

import pytest
import typer
from tests.cli.running import RACE, SECRET, Run, assert_refused, in_a_process
from tests.programme.public.published import made, write

import deniable as dn
from deniable.cli.main import _got


@pytest.mark.parametrize("args", [["audit"], ["publish-everything"], ["--frequency"]])
def test_wrong_usage_is_one_line(run: Run, args: list[str]) -> None:
    assert_refused(run(*args), "--help")


def test_a_slip_of_the_finger_is_put_right(run: Run) -> None:
    assert run("audti").err == "error: no such command 'audti' (did you mean 'audit'?); see deniable --help\n"


def test_a_choice_is_refused_in_words_of_our_own(run: Run) -> None:
    words = "'x' is not one of 'steady', 'bursty', 'trending', 'turns-bad'; see deniable simulate --help"
    assert run("simulate", *RACE, "--scenario", "x").err == f"error: invalid value for '--scenario': {words}\n"


@pytest.mark.parametrize("command", [["audit"], ["programme", "override"], ["programme", "report"]])
def test_help_shows_no_type_of_python(run: Run, command: list[str]) -> None:
    assert "Arguments:" in (out := run(*command, "--help").out)
    assert not re.search("<[a-z]", out)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["attack", *RACE, "--rounds", "1", "--games", "40", "--stream", "quiet"], "5 targets, 1 round, 40 games."),
        (["simulate", *RACE, "--targets", "4", "--rounds", "1", "--runs", "2"], "4 targets, 1 round, 1 audit a round"),
        (["plan", "--targets", "5", "--delta", "0.1", "--runs", "2"], "1 audit a round, 1 report a round in all"),
    ],
)
def test_one_of_a_thing_is_in_the_singular(run: Run, args: list[str], says: str) -> None:
    assert says in run(*args).out


@pytest.mark.parametrize("typed", [["--horizon", "8"], ["--horizon=8"]])
def test_an_option_by_another_word(run: Run, typed: list[str]) -> None:
    words = "no such option: --horizon (did you mean --rounds?); see deniable attack --help"
    assert run("attack", "--mechanism", "race", *typed) == (2, "", f"error: {words}\n")
    assert "--rounds" not in run("serve", *typed).err  # which has no such option


@pytest.mark.parametrize(
    ("option", "typed", "words"),
    [
        ("--targets", "thirty", "--targets must be a whole number in digits, such as 30, got 'thirty'"),
        ("--targets", "1.5", "--targets must be a whole number in digits, such as 30, got '1.5'"),
        ("--delta", "10%", "--delta must be a number such as 0.1, got '10%': write it with a point and without %"),
        ("--delta", "0,1", "--delta must be a number such as 0.1, got '0,1': write it with a point and without %"),
    ],
)
def test_what_is_no_number_is_told_how_to_be_one(run: Run, option: str, typed: str, words: str) -> None:
    assert run("plan", "--targets", "5", option, typed) == (2, "", f"error: {words}\n")


@pytest.mark.parametrize(
    ("message", "got"), [("'it''s' is not a valid integer.", ", got 'it''s'"), ("Not a valid integer.", "")]
)
def test_older_versions_of_typer_quote_what_was_typed(message: str, got: str) -> None:
    assert _got(typer.BadParameter(message)) == got


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--mechanism", "race", "--delta", "nan"], "delta must be"),
        ([*RACE, "--seed", "1"], "--seed needs --simulation"),
        (["--bad"], "no such option"),
    ],
)
def test_a_refusal_is_one_line_and_exit_code_2(run: Run, reports: Path, args: list[str], words: str) -> None:
    assert_refused(run("audit", reports, *args), words)


# The real process


def test_so_it_is_in_a_real_process(tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text(f"round,target,reports\n1,acme,-{SECRET}\n", encoding="utf-8")
    assert_refused(in_a_process("audit", bad, *RACE), "line 2")


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
    with Path("/dev/full").open("w") as full:
        result = in_a_process("audit", reports, *RACE, "--assume-public", *as_json, stdout=full)
    assert_refused(result, "cannot write the output: the disk is full")


def test_a_folder_that_the_system_refuses_is_named(run: Run) -> None:
    folder = "public" * 50
    assert_refused(run("programme", "publish", "--public", folder), f"/{folder}: File name too long")


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
        raise KeyboardInterrupt

    monkeypatch.setattr(dn.AuditRun, "select", interrupted)
    assert run("audit", reports, *RACE, "--assume-public", "--out", tmp_path / "out") == (130, "", "")
    assert not (tmp_path / "out").exists()


def test_a_bug_is_one_line_that_does_not_quote_the_exception(
    run: Run, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> NoReturn:
        raise RuntimeError(f"no bin for {SECRET}")

    monkeypatch.setattr(dn.AuditRun, "select", broken)
    code, out, err = run("audit", reports, *RACE)
    assert (code, out) == (1, "")
    assert err.startswith("error: this is a bug in deniable (RuntimeError in test_main.py, line ")
    assert err.count("\n") == 1
    assert SECRET not in err


# The command itself


def test_version_and_help(run: Run) -> None:
    assert run("--version").out.startswith("deniable 0.")
    code, out, err = run()
    assert (code, err) == (0, "")
    assert re.search(r"audit +Draw the audits", out)
    _, out, _ = run("audit", "--help")
    assert out.startswith("Usage: deniable audit [OPTIONS] STREAM\n")
    for option in ("--delta", "--mechanism", "--target-list", "--horizon", "--period", "--rounds", "--out", "--json"):
        assert option in out
    assert "\n    deniable audit reports.csv --target-list targets.txt" in out


def test_what_an_error_quotes_from_a_file_does_not_command_the_terminal(run: Run, tmp_path: Path) -> None:
    """A public folder comes from others, and whoever checks it reads the error in a terminal."""
    folder = tmp_path / "public"
    write(folder, made(), [])
    programme = folder / "programme.json"
    programme.write_bytes(programme.read_bytes().replace(b'"race"', b'"\\u001b[2J\\u202e"'))
    result = run("programme", "verify", folder)
    assert_refused(result, r"got \x1b[2J\u202e")
    assert "\x1b" not in result.err
    assert "\u202e" not in result.err
