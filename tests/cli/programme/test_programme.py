"""`deniable programme`: what loads it, how a programme is set up and opened, and where it stands."""

import json
import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from tests.cli.programmes import INDEPENDENT, NAMES, SETTINGS, Desk
from tests.cli.running import SECRET, Result, Run, assert_refused
from tests.languages.test_own_translation import changed
from tests.languages.translated import translated

from deniable.cli.programme import Commands
from deniable.storage.store import Store

PASSPHRASE = "correct horse battery"


# Loading


def in_python(source: str) -> Result:
    done = subprocess.run([sys.executable, "-c", source], check=False, capture_output=True, encoding="utf-8")
    return Result(done.returncode, done.stdout, done.stderr)


def without(*modules: str, args: str) -> Result:
    """The command where these modules are not installed."""
    hidden = "; ".join(f"sys.modules[{name!r}] = None" for name in modules)
    main = f"from deniable.cli.main import main; raise SystemExit(main({args.split()!r}))"
    return in_python(f"import sys; {hidden}; {main}")


@pytest.mark.parametrize("args", ["programme init --help", "programme status"])
def test_without_the_extra_the_command_says_how_to_get_it(args: str) -> None:
    said = "pip install -c constraints.txt '.[programme]' in a copy of the project"
    assert_refused(without("sqlalchemy", "cryptography", args=args), said)


def test_verifying_needs_neither_the_database_layer_nor_the_page(office: Desk) -> None:
    office.done("publish", "--public", "public")
    result = without("sqlalchemy", "argon2", "jinja2", "pyrage", args="programme verify public")
    assert (result.code, result.err) == (0, "")
    assert "index.html was not compared" in result.out


def test_help_lists_every_command_in_a_line_each(run: Run) -> None:
    out = run("programme").out
    assert out == run("programme", "--help").out
    listed = re.findall(r"^  ([a-z-]+) +[A-Z]", out.split("Commands:")[1], re.MULTILINE)
    assert listed == list(Commands.listed)


@pytest.mark.parametrize("command", [*Commands.listed, "targets add", "targets remove", "targets list"])
def test_every_command_has_help(run: Run, command: str) -> None:
    code, out, err = run("programme", *command.split(), "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: deniable programme {command} [OPTIONS]")
    assert "{" not in out
    if "COMMAND [ARGS]" not in out:  # not a group of commands
        assert "--json" in out
        assert ("--database DB" in out) == (command not in ("certificate", "verify"))


@pytest.mark.parametrize("command", ["backup", "upgrade", "targets list", "verify"])
def test_what_is_public_asks_for_no_key(run: Run, command: str) -> None:
    assert "--key" not in run("programme", *command.split(), "--help").out


def test_a_slip_of_the_finger_is_put_right(run: Run) -> None:
    err = run("programme", "pubish").err
    assert err == "error: no such command 'pubish' (did you mean 'publish'?); see deniable programme --help\n"


# Setting up


def test_init_says_what_was_promised_when_it_is_due_and_where_the_key_is(desk: Desk) -> None:
    out = " ".join(desk.init("--zone", "Europe/Berlin", "--time", "09:00").split())
    for words in (
        "The programme Site visits is set up, with 4 targets.",
        "by at most 5 points in 100",
        "Round 1 is due at 2026-01-06 09:00 (Europe/Berlin).",
        "Copy it now to a safe place apart from the database",
        str(desk.folder / "programme.key"),
        "deniable programme publish --public FOLDER",
    ):
        assert words in out
    assert Path("programme.key").stat().st_mode & 0o777 == 0o600


def test_init_says_what_a_start_in_the_past_means(desk: Desk) -> None:
    assert "Until then reports are counted" in desk.init()
    for path in ("programme.db", "programme.key", "programme.key.transcript"):
        Path(path).unlink()
    out = " ".join(desk.init("--start", "2025-12-31").split())
    assert "Round 1 was due at 2026-01-01 00:00 (UTC): 5 rounds are overdue already" in out
    assert "published as late" in out
    assert "delete programme.db, programme.key and programme.key.transcript and begin again with another --start" in out
    assert "Until then" not in out
    assert desk.json("init", "targets.txt", *SETTINGS, "--start", "2026-01-04", "--database", "b.db")["overdue"] == 1


@pytest.mark.parametrize("delta", ["0.3", "0.31"])
def test_init_warns_of_a_promise_that_hides_little(desk: Desk, delta: str) -> None:
    Path("targets.txt").write_text("\n".join(NAMES), encoding="utf-8")
    said = " ".join(desk.done("init", "targets.txt", "--name", "x", "--delta", delta).split())
    assert ("WARNING: with a delta above 0.3 the audits hide little." in said) == (delta == "0.31")
    again = desk.json("init", "targets.txt", "--name", "x", "--delta", delta, "--database", "again.db")
    assert bool(again["warnings"]) == (delta == "0.31")


def test_init_finds_delta_for_what_a_person_may_be_promised(desk: Desk) -> None:
    Path("targets.txt").write_text("\n".join(NAMES), encoding="utf-8")
    document = desk.json("init", "targets.txt", "--name", "Site visits", "--advantage", 0.05, "--reports-per-person", 3)
    assert document["guarantee"]["reports"] == 3
    assert document["guarantee"]["advantage"] <= 0.05
    assert document["delta"] == pytest.approx(0.0334, abs=1e-4)
    assert document["due"] == "2026-01-12T09:00:00+00:00"  # from today on, weekly, at nine


@pytest.mark.parametrize(
    "settings",
    [
        "--mechanism tca --horizon 50",
        "--mechanism tca --max-gap 9",
        "--forecast",
        "--steady-forecast",
        "--audits 2 --cooldown 1",
        "--period 1m",
    ],
)
def test_init_takes_every_setting(desk: Desk, settings: str) -> None:
    desk.init(*settings.split())
    assert desk.json("status")["name"] == "Site visits"


def test_yearly_figures_are_part_of_the_promise(desk: Desk) -> None:
    out = desk.init("--yearly-figures-delta", 0.02)
    assert "± 20" in out
    assert "at most 6 points in 100" in " ".join(out.split())
    status = desk.json("status")
    assert (status["next_figures"], status["guarantee"]["likelihood_cap"]) == (360, None)
    assert "round 360" in desk.done("status")


@pytest.mark.parametrize("reports", [1, 2])
def test_an_advantage_is_shared_with_the_yearly_figures(desk: Desk, reports: int) -> None:
    Path("targets.txt").write_text("\n".join(NAMES), encoding="utf-8")
    given = ("--advantage", 0.05, "--yearly-figures-delta", 0.02, "--reports-per-person", reports)
    document = desk.json("init", "targets.txt", "--name", "x", *given)
    assert 0.0499 < document["guarantee"]["advantage"] <= 0.05
    assert document["delta"] == (0.08 if reports == 1 else pytest.approx(0.03, abs=1e-3))


@pytest.mark.parametrize(
    "given", [("--advantage", 0.01), ("--delta", 0.99), ("--advantage", 0.04, "--reports-per-person", 4)]
)
def test_yearly_figures_that_leave_nothing_are_refused(desk: Desk, given: tuple[object, ...]) -> None:
    Path("targets.txt").write_text("\n".join(NAMES), encoding="utf-8")
    result = desk("init", "targets.txt", "--name", "x", *given, "--yearly-figures-delta", 0.02)
    assert_refused(result, "--yearly-figures-delta leaves nothing for the audits")
    assert not Path("programme.db").exists()
    assert not Path("programme.key").exists()


def test_an_advantage_counts_the_rounds_that_tca_covers(desk: Desk) -> None:
    Path("targets.txt").write_text("\n".join(NAMES), encoding="utf-8")
    common = ["init", "targets.txt", "--name", "x", "--mechanism", "tca", "--advantage", 0.05]
    assert desk.json(*common, "--max-gap", 9)["guarantee"]["advantage"] <= 0.05
    assert_refused(desk(*common, "--database", "other.db"), "horizon")
    assert not Path("other.key").exists()


def test_weights_come_from_a_file(desk: Desk) -> None:
    lines = [f"{name},{weight}" for name, weight in zip(reversed(NAMES), (1, 2, 3, 4.5), strict=True)]
    Path("weights.csv").write_text("\n".join(["target,weight", *lines]), encoding="utf-8")
    desk.init("--weights", "weights.csv")
    desk.done("publish", "--public", "public")
    programme = re.sub(r"\s", "", Path("public/programme.json").read_text(encoding="utf-8"))
    assert '"weights":[4.5,3.0,2.0,1.0]' in programme


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "must have the columns target,weight"),
        ("target,weight\nAsh Mill\n", "line 2: expected 2 cells"),
        ("target,weight\nElm Yard,2\n", "one line for each target"),
        ("target,weight\nAsh Mill,heavy\n", "the weight of Ash Mill must be a number"),
        ("target,weight\nAsh Mill,1\n", "has none for Birch Works"),
        ("target,weight\n" + "".join(f"{name},-1\n" for name in NAMES), "weights"),
    ],
)
def test_weights_that_do_not_fit_are_refused(desk: Desk, content: str, words: str) -> None:
    Path("targets.txt").write_text("\n".join(NAMES), encoding="utf-8")
    Path("weights.csv").write_text(content, encoding="utf-8")
    assert_refused(desk("init", "targets.txt", *SETTINGS, "--weights", "weights.csv"), words)
    assert not Path("programme.db").exists()


def test_weights_that_cannot_be_read(desk: Desk) -> None:
    Path("targets.txt").write_text("\n".join(NAMES), encoding="utf-8")
    Path("weights.csv").write_bytes(b"target,weight\nBr\xfchl,1\n")
    assert_refused(desk("init", "targets.txt", *SETTINGS, "--weights", "weights.csv"), "must be text in UTF-8")
    assert_refused(desk("init", "targets.txt", *SETTINGS, "--weights", "none.csv"), "cannot read none.csv")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--advantage", "0.1"], "either --delta"),
        (["--weights", "w.csv", "--forecast"], "got --weights and --forecast"),
        (["--forecast", "--steady-forecast"], "got --forecast and --steady-forecast"),
        (["--max-gap", "1"], "--max-gap must be at least"),
        (["--zone", "Berlin"], "zone must be"),
        (["--period", "1Y"], "period must be"),
        (["--period", "weekly"], "got weekly"),
        (["--start", "5 January"], "--start must be"),
        (["--time", "nine"], "--time must be"),
        (["--time", "09:00:30"], "hours and minutes"),
        (["--mechanism", "greedy"], "mechanism must be race or tca"),
        (["--oversight", "age1nobody"], "age recipient"),
        (["--key", "k", "--passphrase"], "either --key or --passphrase"),
        (["--audits", "two"], "--audits must be a whole number"),
        (["--audit-term", "raid"], "the word for an audit must be audit, inspection or visit, got 'raid'"),
        (["--target-term", "Employer"], "a target must be target, employer, workplace, organisation, company or site"),
        (["--hotline", "javascript:alert(1)"], "the hotline must be a link that begins with https://"),
        (["--contact", "a\nb"], "the contact must have 1 to 300 printable characters"),
        (["--class", "minor"], "or minor=visit if it leads to a visit at once"),
        (["--class", "minor=0"], "class minor must be a whole number from 1 to 100"),
        (["--class", "minor=1.5"], "class minor must be a whole number from 1 to 100"),
        (["--class", "minor=-1"], "class minor must be a whole number from 1 to 100"),
        (["--class", "minor=101"], "class minor must be a whole number from 1 to 100"),
        (["--class", "minor=soon"], "class minor must be a whole number from 1 to 100, or visit"),
        (["--class", "=1"], "must have a name"),
        (["--class", "a,b=1"], "must have a name"),
        (["--class", "minor=1", "--class", "Minor=2"], "its own name"),
        (["--class", "danger=visit"], "at least one class of reports must have a weight"),
        ([option for number in range(17) for option in ("--class", f"c{number}=1")], "at most 16 classes"),
    ],
)
def test_settings_that_do_not_fit_leave_nothing_behind(desk: Desk, args: list[str], words: str) -> None:
    Path("targets.txt").write_text("\n".join(NAMES), encoding="utf-8")
    assert_refused(desk("init", "targets.txt", *SETTINGS, *args), words)
    assert [path.name for path in desk.folder.iterdir()] == ["targets.txt"]


def test_languages_are_chosen_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    translated(monkeypatch, desk.folder / "catalogues", "de", "ar")
    told = desk.init("--languages", "de, ar,en")
    assert "The public page is in Deutsch, العربية and English." in told
    desk.done("publish", "--public", "public")
    names = {path.name for path in Path("public").iterdir()}
    assert names >= {"index.html", "index.ar.html", "index.en.html", "calendar.ar.ics"}
    out = desk.done("verify", "public")
    assert "index.ar.html says what the transcript says." in out
    page = Path("public/index.ar.html")
    page.write_text(page.read_text(encoding="utf-8").replace("2026", "2027", 1), encoding="utf-8")
    out = desk.done("verify", "public")
    assert "index.ar.html says what" not in out
    assert "WARNING: index.ar.html is not the page" in out


def test_sentences_of_the_offices_own_are_called_so(desk: Desk) -> None:
    """They may say the opposite of the transcript, and no program can tell."""
    lie = changed(desk.folder, lambda _: "Das Versprechen gilt weiter.", "So the promise was lost.")
    desk.init("--languages", "de,en", "--translation", f"de={lie}")
    desk.done("publish", "--public", "public")
    out = " ".join(desk.done("verify", "public").split())
    assert "index.html has the facts of the transcript in sentences of the office's own" in out
    assert "index.html says what" not in out
    assert "index.en.html says what the transcript says." in out
    assert desk.json("verify", "public")["own_translations"] == ["de"]


@pytest.mark.parametrize(
    ("codes", "why"),
    [("xx", "no language 'xx'"), ("de,de", "once"), (",", "one at least"), ("fr", "cannot be used yet")],
)
def test_other_languages_are_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch, codes: str, why: str) -> None:
    translated(monkeypatch, desk.folder / "catalogues", "de")
    Path("targets.txt").write_text("\n".join(NAMES), encoding="utf-8")
    assert_refused(desk("init", "targets.txt", *SETTINGS, "--languages", codes), why, "there are en and de")
    assert not Path("programme.db").exists()


def test_the_words_that_an_office_uses_are_public(desk: Desk) -> None:
    told = desk.init("--audit-term", "inspection", "--target-term", "employer")
    assert f"with {len(NAMES)} employers" in told
    assert "You call an audit an inspection and a target an employer." in told
    desk.done("publish", "--public", "public")
    stored = json.loads(Path("public/programme.json").read_text(encoding="ascii"))
    assert stored["terms"] == {"audit": "inspection", "target": "employer"}
    desk.done("verify", "public")


def test_contact_and_hotline_stand_in_the_record_from_the_start(desk: Desk) -> None:
    desk.init("--contact", "Room 7", "--hotline", "https://hotline.example.org")
    desk.done("publish", "--public", "public")
    entry = json.loads(Path("public/transcript.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert (entry["kind"], entry["contact"], entry["hotline"]) == ("details", "Room 7", "https://hotline.example.org")
    assert "in order" in desk.done("verify", "public")


def test_a_second_programme_needs_a_database_of_its_own(office: Desk) -> None:
    before = Path("programme.key").read_bytes()
    assert_refused(office("init", "targets.txt", *SETTINGS), "exists already", "to begin again after a mistake, delete")
    assert_refused(office("init", "targets.txt", *SETTINGS, "--key", "other.key"), "exists already")
    assert Path("programme.key").read_bytes() == before
    assert not Path("other.key").exists()


def test_the_database_of_a_console_without_a_programme_is_never_to_be_deleted(desk: Desk) -> None:
    Store.create("programme.db", lambda _: None).dispose()
    Path("targets.txt").write_text("\n".join(NAMES), encoding="utf-8")
    for command in (["status"], ["init", "targets.txt", *SETTINGS]):
        assert_refused(desk(*command), "belongs to a console, and no programme has begun in it yet")
    assert not Path("programme.key").exists()


# The key


def test_where_the_database_and_its_key_are_found(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.init("--database", "sqlite:///visits.db")
    assert Path("visits.key").exists()
    desk.done("report", "Ash Mill", "--database", "visits.db")
    monkeypatch.setenv("DENIABLE_DATABASE", "visits.db")
    desk.done("report", "Ash Mill")
    Path("visits.key").rename("moved.key")
    assert_refused(desk("report", "Ash Mill"), "there is no key file", "visits.key")
    monkeypatch.setenv("DENIABLE_KEY", "moved.key")
    assert_refused(desk("report", "Ash Mill"), "moved.key.transcript, is missing")
    Path("visits.key.transcript").rename("moved.key.transcript")
    desk.done("report", "Ash Mill")
    Path("moved.key").chmod(0o644)
    assert_refused(desk("report", "Ash Mill"), "chmod 600")


def test_a_database_server_has_no_file_to_put_the_key_beside(desk: Desk) -> None:
    Path("targets.txt").write_text("\n".join(NAMES), encoding="utf-8")
    result = desk("init", "targets.txt", *SETTINGS, "--database", "postgresql://office:hush@127.0.0.1:1/visits")
    assert_refused(result, "--key FILE", "--passphrase")
    assert "hush" not in result.err


def test_a_passphrase_is_asked_for_and_not_shown(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    typed: list[str] = []
    monkeypatch.setattr("deniable.cli.programme.options.getpass", lambda _: typed.pop(0))
    typed[:] = [PASSPHRASE, "something else"]
    Path("targets.txt").write_text("\n".join(NAMES), encoding="utf-8")
    assert_refused(desk("init", "targets.txt", *SETTINGS, "--passphrase"), "must be the same")
    typed[:] = [PASSPHRASE, PASSPHRASE]
    assert "Its key is your passphrase." in desk.init("--passphrase")
    assert not Path("programme.key").exists()
    typed[:] = [PASSPHRASE]
    desk.done("report", "Ash Mill", "--passphrase")
    typed[:] = ["not the passphrase"]
    assert_refused(desk("report", "Ash Mill", "--passphrase"), "this is not the key")
    assert_refused(desk("report", "Ash Mill"), "use --passphrase")
    monkeypatch.setenv("DENIABLE_PASSPHRASE", PASSPHRASE)
    desk.done("report", "Ash Mill", "--passphrase")
    desk.done("report", "Ash Mill")


def test_without_a_terminal_nothing_is_asked(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "deniable", "programme", "close-round", "--passphrase"],
        check=False, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", cwd=tmp_path,
        start_new_session=True,
    )  # fmt: skip
    assert_refused(Result(done.returncode, done.stdout, done.stderr), "set DENIABLE_PASSPHRASE")


# Where it stands


def test_status_tells_the_round_and_the_standing(office: Desk) -> None:
    assert "Round 1 is open, and due at 2026-01-06 00:00 (UTC)." in office.done("status")
    assert "nothing was ever published" in office.done("status")
    for _ in range(3):
        office.clock.tomorrow()
    out = " ".join(office.done("status").split())
    assert "Round 1 was due at 2026-01-06 00:00 (UTC), and 2 rounds after it" in out
    office.done("close-round", "--reason", "A flood.")
    office.done("publish", "--public", "public")
    assert "1 entry; all is published in" in " ".join(office.done("status").split())
    office.done("override", "Ash Mill", "--reason", "an accident", "--because-of-reports", "--yes")
    out = " ".join(office.done("status").split())
    assert "2 entries; 1 not yet published" in out
    assert "The promise holds for reports filed from round 5 on, that is, from Friday 9 January 2026, 00:00" in out
    document = office.json("status")
    assert (document["open_round"], document["overdue"], document["unpublished"]) == (2, 2, 1)
    assert document["due"] == "2026-01-07T00:00:00+00:00"


def test_status_names_no_round_after_the_last_one(desk: Desk) -> None:
    desk.init("--mechanism", "tca", "--horizon", 1)
    assert desk.json("status")["holds_from"] == 1
    desk.done("override", "Ash Mill", "--reason", "an accident", "--because-of-reports", "--yes")
    assert "The promise holds for no report" in " ".join((out := desk.done("status")).split())
    assert "round 2" not in out
    assert desk.json("status")["holds_from"] is None
    desk.close()
    assert "Round 1, the last one, is closed: run deniable programme end." in desk.done("status")
    assert desk.json("status")["open_round"] is None


def test_a_skipped_round_counts_to_the_horizon(desk: Desk) -> None:
    """In what status says, and in what can be drawn."""
    desk.init("--mechanism", "tca", "--horizon", 2)
    desk.clock.tomorrow()
    desk.done("skip", "--reason", "a strike", INDEPENDENT)
    desk.close()
    assert "Round 2, the last one, is closed: run deniable programme end." in desk.done("status")
    desk.clock.tomorrow()
    late = desk("close-round", "--round", 3, "--reason", "a strike")
    assert_refused(late, "the last round is closed: end the programme")


def test_there_is_no_round_after_the_last_one(desk: Desk) -> None:
    """Neither to be skipped, nor for readers to miss."""
    desk.init("--mechanism", "tca", "--horizon", 2)
    desk.close()
    desk.close()
    desk.done("publish", "--public", "public")
    for days in (0, 9):
        desk.clock.now += timedelta(days=days)
        entries = desk.json("status")["entries"]
        assert_refused(desk("skip", "--reason", "a strike", INDEPENDENT), "the last round is closed: end the programme")
        assert desk.json("status")["entries"] == entries
        found = desk.json("verify", "public")
        assert (found["overdue"], found["warnings"]) == ([], [])


def test_status_tells_that_the_public_folder_is_away(office: Desk) -> None:
    office.done("publish", "--public", "public")
    Path("public").rename("away")
    assert "is away: put it back" in " ".join(office.done("status").split())
    Path("away").rename("public")
    assert "all is published" in " ".join(office.done("status").split())


def test_only_where_asked_status_shows_counts(office: Desk) -> None:
    office.done("report", "Ash Mill", SECRET)
    assert "confidential" not in office.json("status")
    assert office.json("status", "--show-counts")["confidential"]["active_counts"]["Ash Mill"] == int(SECRET)
    out = office.done("status", "--show-counts")
    assert "confidential: do not publish" in out
    assert re.search(r"Ash Mill +987,654\n", out)
    Path("programme.key").unlink()
    office.done("status")
    assert_refused(office("status", "--show-counts"), "there is no key file")


def test_nothing_printed_depends_on_reports(office: Desk, tmp_path: Path) -> None:
    """Every command but the draw itself prints the same whatever was counted; and no error shows a count."""
    (tmp_path / "mapping.csv").write_text("channel,target\nnorth,Ash Mill\n", encoding="utf-8")
    (tmp_path / "export.csv").write_text("id,channel\n", encoding="utf-8")
    importing = ["import", "export.csv", "--from", "csv", "--source", "hotline", "--mapping", "mapping.csv"]
    office.done(*importing)  # a source is known from its first import on, whatever was in it
    (tmp_path / "export.csv").write_text("id,channel\n1,north\n2,north\n", encoding="utf-8")
    receipt = ["--receipt", "ABCD-EFGH-2345-WXYZ"]
    calls = [
        ["publish", "--public", "public"], ["status"], ["report", "Ash Mill", "1"], ["withdraw", "Ash Mill", *receipt],
        [*importing, "--dry-run"], importing, importing, ["verify", "public"], ["targets", "list"], ["close-round"],
        ["close-round", "--round", "1"], ["report", "Nobody"], ["report", "Ash Mill", "none"], ["upgrade"],
        ["skip", "--reason", "a holiday", INDEPENDENT], ["report", "Ash Mill", SECRET + "0" * 12],
    ]  # fmt: skip

    def said(call: list[str]) -> Result:
        code, out, err = office(*call)
        return Result(code, re.sub("[A-Z2-7]{4}(-[A-Z2-7]{4}){3}", "a receipt", out), err)

    before = [said(call) for call in calls]
    office.done("report", "Ash Mill", SECRET)
    office.done("report", "Birch Works", "3")
    assert [said(call) for call in calls] == before
    for result in [*before, office("withdraw", "Ash Mill", *receipt)]:
        assert SECRET not in result.out + result.err


def test_a_path_of_many_letters_is_not_broken(office: Desk) -> None:
    folder = office.folder / ("a long name " * 12).strip()
    assert f"  {folder}\n" in office.done("publish", "--public", folder)


def test_the_real_process_refuses_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "deniable", "programme", "status"],
        check=False, capture_output=True, encoding="utf-8", cwd=tmp_path, env=os.environ | {"COLUMNS": "80"},
    )  # fmt: skip
    assert_refused(Result(done.returncode, done.stdout, done.stderr), "deniable programme init")
