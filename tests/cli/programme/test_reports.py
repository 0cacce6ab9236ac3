"""`deniable programme`: reports that are entered, withdrawn and imported."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cli.programmes import INDEPENDENT, Desk
from tests.cli.running import SECRET, assert_refused

# Reports


def test_reports_are_counted_and_taken_back_with_their_receipt(office: Desk) -> None:
    out = office.done("report", "Ash Mill")
    assert out.startswith("Counted. The receipt")
    receipt = office.json("report", "Ash Mill", "2")["receipt"]
    assert_refused(office("withdraw", "Ash Mill"), "--receipt")
    assert_refused(office("withdraw", "Birch Works", "--receipt", receipt), "nothing was taken back")
    assert_refused(office("withdraw", "Ash Mill", "--receipt", "AAAA-BBBB"), "16 letters")
    assert office.counts() == {"Ash Mill": 3}
    assert office.done("withdraw", "Ash Mill", "--receipt", receipt.lower()) == "Withdrawn.\n"
    assert_refused(office("withdraw", "Ash Mill", "--receipt", receipt), "taken back before")
    assert office.json("withdraw", "Ash Mill", "--receipt", out.split()[-1]) == {"withdrawn": True, "not_withdrawn": []}
    assert office.counts() == {}


def test_reports_of_a_file_have_one_receipt(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    today = Path("today.csv")
    today.write_text("target,reports\nAsh Mill,2\n\nCedar Bank, 1\nAsh Mill,1\n", encoding="utf-8-sig")
    receipt = office.json("report", "--file", today)["receipt"]
    assert office.counts() == {"Ash Mill": 3, "Cedar Bank": 1}
    with today.open(encoding="utf-8") as lines:
        monkeypatch.setattr("sys.stdin", lines)
        office.done("withdraw", "--file", "-", "--receipt", receipt)
    assert office.counts() == {}


ASIDE = {
    "Nobody,1": "no target of this name takes part",
    "\x1b[2J,1": "no target of this name takes part",
    f"Ash Mill,{SECRET},1": "expected 2 cells",
    f"Ash Mill,-{SECRET}": "must be a whole number",
    f"{SECRET},Ash Mill": "must be a whole number",
    "Ash Mill,0": "must be a whole number",
    f'"Ash Mill,{SECRET}': "a quote",
    "Ash Mill,\udcff": "UTF-8",
}


@pytest.mark.parametrize("line", ASIDE)
def test_a_line_that_cannot_count_holds_back_no_other(office: Desk, line: str) -> None:
    """Nor does it decide about the exit code, which others than the person who enters the file may see."""
    today = Path("today.csv")
    for others in ("Birch Works,40\n", ""):
        today.write_bytes(f"target,reports\n{line}\n{others}".encode("utf-8", "surrogateescape"))
        document = office.json("report", "--file", today)
        assert document["counted"] == bool(others)
        ((place, why),) = (row.values() for row in document["set_aside"])
        assert place == "line 2"
        assert ASIDE[line] in why
    out = office.done("report", "--file", today)
    assert "line 2" in out
    assert SECRET not in out
    assert "\x1b" not in out
    assert office.counts() == {"Birch Works": 40}


def test_a_sum_of_lines_is_held_at_the_limit(office: Desk) -> None:
    lines = ["target,reports", "Ash Mill,1000000000", "Ash Mill,1", f"Cedar Bank,{'9' * 30}", "Birch Works,40"]
    Path("today.csv").write_text("\n".join(lines), encoding="utf-8")
    office.done("report", "--file", "today.csv")
    assert office.counts() == {"Ash Mill": 10**9, "Birch Works": 40, "Cedar Bank": 10**9}


def test_a_file_without_lines_counts_nothing_and_says_so(office: Desk) -> None:
    Path("today.csv").write_text("target,reports\n", encoding="utf-8")
    assert office.done("report", "--file", "today.csv").startswith("Nothing was counted")
    assert office.json("report", "--file", "today.csv") == {"counted": False, "receipt": None, "set_aside": []}


@pytest.mark.parametrize("content", ["", f"Ash Mill,{SECRET}\n", f"target,{SECRET}\nAsh Mill,1\n"])
def test_a_file_that_does_not_fit_is_refused_and_not_quoted(office: Desk, content: str) -> None:
    Path("today.csv").write_text(content, encoding="utf-8")
    assert_refused(office("report", "--file", "today.csv"), "columns")
    assert office.counts() == {}


def test_a_target_that_was_not_entered_is_named_when_the_others_are_withdrawn(office: Desk) -> None:
    today = Path("today.csv")
    today.write_text("target,reports\nAsh Mill,2\nNobody,1\n", encoding="utf-8")
    receipt = office.json("report", "--file", today)["receipt"]
    withdrawn = office.json("withdraw", "--file", today, "--receipt", receipt)
    assert withdrawn == {"withdrawn": True, "not_withdrawn": ["Nobody"]}
    assert office.counts() == {}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "got neither"),
        (["Ash Mill", "--file", "today.csv"], "got both"),
        (["--file", "nowhere.csv"], "nowhere.csv cannot be opened"),
        (["Ash Mill", "0"], "must be a whole number from 1"),
        (["Ash Mill", f"{SECRET}.5"], "must be a whole number from 1"),
        ([SECRET, "Ash Mill"], "must be a whole number from 1"),
        (["Elm Yard"], "deniable programme targets list"),
    ],
)
def test_reports_that_do_not_fit_are_refused(office: Desk, args: list[str], words: str) -> None:
    assert_refused(office("report", *args), words)


# Imports

NOTHING_ASIDE = {"channels": [], "more_channels": 0, "malformed": [], "more_malformed": 0}


def write_mapping(**targets: str) -> None:
    lines = [f"{channel},{target}" for channel, target in targets.items()]
    Path("mapping.csv").write_text("\n".join(["channel,target", *lines]), encoding="utf-8")


def write_export(*rows: str) -> None:
    Path("export.csv").write_text("\n".join(["id,channel", *rows]), encoding="utf-8")


def rows(numbers: Sequence[int], channel: str) -> list[str]:
    return [f"{number},{channel}" for number in numbers]


IMPORT = ("import", "export.csv", "--from", "csv", "--source", "hotline", "--mapping", "mapping.csv")


@pytest.fixture
def export(office: Desk) -> tuple[str, ...]:
    assert office.folder == Path.cwd()
    write_mapping(north="Ash Mill", test="")
    write_export("1,north", "2,north", "3,test")
    return IMPORT


def test_an_export_is_counted_once_and_without_a_number(office: Desk, export: tuple[str, ...]) -> None:
    new = "hotline is a new source; known: none yet.\n"
    assert office.done(*export, "--dry-run") == f"{new}The file can be imported; nothing was changed.\n"
    assert office.counts() == {}
    assert office.done(*export) == f"{new}Imported.\n"
    document = {"dry_run": False, "new_source": False, "paused": False, "set_aside": NOTHING_ASIDE}
    assert office.json(*export) == document
    assert office.counts() == {"Ash Mill": 2}
    assert " ".join(office.done(*export, "--show-counts").split()) == (
        "Imported. Confidential: 0 new reports, 2 known already, 0 set aside, 1 left out on purpose."
    )
    assert office.json(*export, "--dry-run", "--show-counts") == document | {
        "dry_run": True, "new_reports": 0, "other_reports": 2, "set_aside_reports": 0, "left_out_reports": 1
    }  # fmt: skip


def test_what_was_dealt_with_before_is_never_counted(office: Desk, export: tuple[str, ...]) -> None:
    out = office.done(*export, "--do-not-count", "--show-counts")
    assert "None of them counts, now or later." in out
    assert "3 reports that do not count, 0 that cannot be read" in " ".join(out.split())
    office.done(*export)
    assert office.counts() == {}


@pytest.mark.parametrize("how", [[], ["--do-not-count"]])
def test_a_source_that_is_mistyped_is_told_before_it_counts_everything_again(
    office: Desk, export: tuple[str, ...], how: list[str]
) -> None:
    office.done(*export, *how)
    office.done(*export, "--source", "letters")
    again = [*export, "--source", "hotlin"]
    told = "hotlin is a new source; known: hotline, letters.\n"
    assert office.done(*again, "--dry-run").startswith(told)
    assert office.json(*again, "--dry-run")["new_source"]
    assert office.done(*again).startswith(told)
    assert office.done(*again) == "Imported.\n"


def test_an_import_that_does_not_fit_is_refused(office: Desk, export: tuple[str, ...]) -> None:
    assert_refused(office(*export, "--from", "email"), "csv, globaleaks, hushline")
    assert_refused(office(*export, "--source", ""), "a hotline's name must have")
    assert_refused(office(*export, "--mapping", "nowhere.csv"), "mapping")
    Path("other.csv").write_text("channel,target\nnorth,Ash Mil\n", encoding="utf-8")
    assert_refused(office(*export, "--mapping", "other.csv"), "line 2", "deniable programme targets list")
    assert_refused(office(*export, "--from", "globaleaks"))
    Path("export.csv").write_text("id,channel,text\n1,north,x\n", encoding="utf-8")
    assert_refused(office(*export), "no others")
    assert office.counts() == {}


def test_what_is_set_aside_is_told_with_what_to_do(office: Desk, export: tuple[str, ...]) -> None:
    write_export("1,north", "2,west", "3", '4,"north', "5,north")
    for more in (["--dry-run"], []):
        out = " ".join(office.done(*export, *more).split())
        assert "the mapping does not name these channels: west. Give each of them a target" in out
        assert "cannot be read: line 4 (expected 2 cells as in the first line, got 1) and line 5 (a quote" in out
        assert "import the same export again" in out
    assert office.counts() == {"Ash Mill": 2}
    document = office.json(*export, "--show-counts")
    assert document["set_aside"]["channels"] == ["west"]
    assert [row["place"] for row in document["set_aside"]["malformed"]] == ["line 4", "line 5"]
    assert document["set_aside_reports"] == 3
    write_mapping(north="Ash Mill", west="Cedar Bank")
    write_export("1,north", "2,west", "3,north", "4,north", "5,north")
    assert "Set aside" not in office.done(*export)
    assert office.counts() == {"Ash Mill": 4, "Cedar Bank": 1}


# One report decides about no other


@pytest.mark.parametrize("more", [[], ["42,north"], ["42,nowhere"], ["42"], ['42,"north']])
def test_a_report_does_not_decide_whether_those_of_a_channel_that_is_named_later_count(
    office: Desk, more: list[str]
) -> None:
    write_mapping(north="Ash Mill", west="")
    write_export(*rows(range(1, 41), "west"), *more)
    office.done(*IMPORT)
    office.done("override", "Ash Mill", "--reason", "an accident", INDEPENDENT)  # its run ends
    write_mapping(north="Ash Mill", west="Cedar Bank")
    office.done(*IMPORT)
    assert office.counts() == {"Cedar Bank": 40}


@pytest.mark.parametrize("at", [0, 20, 40])
@pytest.mark.parametrize("more", [[], ["41,nowhere"], ["41"], ['41,"south'], ["41,south,south"]])
def test_a_report_does_not_hold_back_others_of_its_file(office: Desk, more: list[str], at: int) -> None:
    write_mapping(south="Birch Works")
    lines = rows(range(1, 41), "south")
    write_export(*lines[:at], *more, *lines[at:])
    assert office(*IMPORT).code == 0
    assert office.counts() == {"Birch Works": 40}


# After a recovery


@pytest.fixture
def recovered(office: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """An office whose backup is from before its first import: 40 reports, 20 of them about a target audited since."""
    office.done("publish", "--public", "public")
    office.done("backup", "monday")
    write_mapping(north="Ash Mill", south="Birch Works")
    write_export(*rows(range(1, 21), "north"), *rows(range(21, 41), "south"))
    office.done(*IMPORT)
    office.done("override", "Ash Mill", "--reason", "an accident", INDEPENDENT)
    office.close()
    office.done("publish")
    monkeypatch.setenv("DENIABLE_DATABASE", "new.db")
    monkeypatch.setenv("DENIABLE_KEY", "programme.key")
    office.done("restore", "monday")
    out = " ".join(office.done("recover", "--public", "public", "--reason", "the disk broke").split())
    assert "resume-imports --reason TEXT" in out
    return office


HEADER: tuple[str, ...] = ()
ALL = (*rows(range(1, 21), "north"), *rows(range(21, 41), "south"))


@pytest.mark.parametrize(
    "files", [[HEADER, ALL], [ALL], [ALL[:1], ALL], [("99,north",), ALL], [("x",), ALL], [("99,nowhere",), ALL]]
)
def test_nothing_counts_twice_whatever_comes_first(recovered: Desk, files: list[tuple[str, ...]]) -> None:
    for file in files:
        write_export(*file)
        recovered.done(*IMPORT)
        assert recovered.counts() == {}
    recovered.done("resume-imports", "--reason", "Every hotline was imported.")
    recovered.done(*IMPORT)
    assert recovered.counts() == {}
    write_export(*ALL, "100,south")
    recovered.done(*IMPORT)
    assert recovered.counts() == {"Birch Works": 1}


def test_what_is_set_aside_while_nothing_counts(recovered: Desk) -> None:
    """A report on a channel that the mapping does not name becomes known like all others; one that cannot be read
    does not, and would count later.
    """
    write_export("50,nowhere", "51")
    for how in ([], ["--do-not-count"]):
        out = " ".join(recovered.done(*IMPORT, *how, "--show-counts").split())
        assert "nowhere" not in out
        assert "line 3" in out
        assert "could count later" in out
        assert "1 report that do not count, 1 that cannot be read" in out


def test_the_person_who_imports_is_told_before_and_after_that_nothing_counts(recovered: Desk) -> None:
    for how in (["--dry-run"], [], ["--do-not-count"]):
        out = " ".join(recovered.done(*IMPORT, *how).split())
        assert out.startswith("Imports are paused: the office went on from a backup")
        assert "does not count, now or later" in out
        assert "deniable programme resume-imports --reason TEXT" in out
        assert "Imported." not in out
    assert recovered.json(*IMPORT)["paused"]
    recovered.done("resume-imports", "--reason", "Every hotline was imported.")
    assert "paused" not in recovered.done(*IMPORT)
    assert not recovered.json(*IMPORT)["paused"]


def test_resuming_imports_is_public_and_done_once(recovered: Desk) -> None:
    assert_refused(recovered("resume-imports"), "--reason")
    out = " ".join(recovered.done("resume-imports", "--reason", "Every hotline was imported.").split())
    assert out.startswith("Entry 4, round 2: reports from hotlines count again. Reason: Every hotline was imported.")
    assert_refused(recovered("resume-imports", "--reason", "again"), "not paused")
    recovered.done("publish")
    verified = recovered.done("verify", "public")
    assert "reports from hotlines count again. Reason: Every hotline was imported." in " ".join(verified.split())


def test_without_a_recovery_there_is_nothing_to_resume(office: Desk) -> None:
    assert_refused(office("resume-imports", "--reason", "x"), "not paused")
