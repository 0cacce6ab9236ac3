"""`deniable programme`: reports, rounds and what the office decides by itself."""

from pathlib import Path

import pytest
from tests.cli.programmes import BECAUSE, INDEPENDENT, NAMES, Desk
from tests.cli.running import SECRET, assert_refused


def counts(office: Desk) -> dict[str, int]:
    found: dict[str, int] = office.json("status", "--counts")["confidential"]["active_counts"]
    return {name: count for name, count in found.items() if count}


# Reports


def test_reports_are_counted_and_taken_back(office: Desk) -> None:
    assert office.done("report", "Ash Mill") == "Counted.\n"
    assert office.json("report", "Ash Mill", "2") == {"counted": True}
    assert office.done("withdraw", "Ash Mill") == "Withdrawn.\n"
    assert counts(office) == {"Ash Mill": 2}
    assert_refused(office("withdraw", "Ash Mill", "3"), "open round")


def test_reports_of_a_file_are_counted_together_or_not_at_all(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    today = Path("today.csv")
    today.write_text("target,reports\nAsh Mill,2\n\nCedar Bank, 1\nAsh Mill,1\n", encoding="utf-8-sig")
    office.done("report", "--file", today)
    assert counts(office) == {"Ash Mill": 3, "Cedar Bank": 1}
    with today.open(encoding="utf-8") as lines:
        monkeypatch.setattr("sys.stdin", lines)
        lines.read(1)
        office.done("withdraw", "--file", "-")
    assert counts(office) == {}
    today.write_text("target,reports\nAsh Mill,2\nNobody,1\n", encoding="utf-8")
    assert_refused(office("report", "--file", today), "no target named Nobody")
    assert counts(office) == {}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "must have the columns target,reports"),
        (f"Ash Mill,{SECRET}\n", "must have the columns target,reports"),
        (f"target,reports\nAsh Mill,{SECRET},1\n", "line 2: expected a target"),
        (f"target,reports\nAsh Mill,-{SECRET}\n", "line 2: the number of reports must be a whole number"),
        (f"target,reports\n{SECRET},Ash Mill\n", "line 2: the number of reports must be a whole number"),
        ("target,reports\nAsh Mill,0\n", "line 2: the number of reports must be a whole number"),
        (f'target,reports\n"Ash Mill,{SECRET}\n', "must be a CSV file"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_and_not_quoted(office: Desk, content: str, words: str) -> None:
    Path("today.csv").write_text(content, encoding="utf-8")
    assert_refused(office("report", "--file", "today.csv"), words)
    assert counts(office) == {}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "got neither"),
        (["Ash Mill", "--file", "today.csv"], "got both"),
        (["--file", "nowhere.csv"], "cannot read nowhere.csv"),
        (["Ash Mill", "0"], "must be a whole number from 1"),
        (["Ash Mill", f"{SECRET}.5"], "must be a whole number from 1"),
        ([SECRET, "Ash Mill"], "must be a whole number from 1"),
        (["Elm Yard"], "deniable programme targets list"),
    ],
)
def test_reports_that_do_not_fit_are_refused(office: Desk, args: list[str], words: str) -> None:
    assert_refused(office("report", *args), words)


# Rounds


def test_a_round_is_closed_when_it_is_due_and_never_twice(office: Desk) -> None:
    assert office.done("close-round") == "Nothing was drawn: round 1 is not due until 2026-01-06 00:00 (UTC).\n"
    assert_refused(office("close-round", "--round", 1), "must not be closed before")
    office.clock.tomorrow()
    first = office.json("close-round")
    assert first["round"] == 1
    assert first["audits"][0] in NAMES
    assert (first["already"], first["next_round"], first["next_due"]) == (False, 2, "2026-01-07T00:00:00+00:00")
    assert office.json("close-round") == first | {"already": True}
    assert office.json("close-round", "--round", 1) == first | {"already": True}
    assert_refused(office("close-round", "--round", 2), "must not be closed before")
    assert_refused(office("close-round", "--round", 3), "round 2 must be closed before round 3")
    assert_refused(office("close-round", "--round", 0), "at least 1")
    out = " ".join(office.done("close-round").split())
    assert out == (
        "Nothing was drawn: round 2 is not due until 2026-01-07 00:00 (UTC). Round 1, as it was closed before: audit "
        f"{first['audits'][0]}. What is new can be published: deniable programme publish."
    )


def test_late_rounds_are_closed_one_by_one_and_say_why(office: Desk) -> None:
    for _ in range(3):
        office.clock.tomorrow()
    assert "say why with --reason TEXT" in " ".join(office.done("status").split())
    out = " ".join(office.done("close-round", "--reason", "the office was flooded").split())
    assert out.startswith("Round 1: audit ")
    assert "2 more rounds can be closed" in out
    assert "say why with --reason TEXT" in out
    assert office.json("close-round")["overdue"] == 1
    assert "--reason" not in office.done("status")  # half a day is not late
    assert "Round 4 is due" in office.done("close-round")
    office.done("publish", "--out", "public")
    verified = office.done("verify", "public")
    assert "Reason: the office was flooded." in verified
    assert "Reason: no reason was given." in verified


def test_a_skipped_round_keeps_its_reports(office: Desk) -> None:
    office.done("report", "Ash Mill", "2")
    assert_refused(office("skip", "--reason", "a holiday", INDEPENDENT), "must not be closed before")
    office.clock.tomorrow()
    assert office.done("skip", "--reason", "a holiday", INDEPENDENT).startswith("Round 1: skipped.")
    assert counts(office) == {"Ash Mill": 2}
    assert office.json("close-round") | {"audits": []} == {
        "round": 1, "audits": [], "already": True, "next_round": 2, "next_due": "2026-01-07T00:00:00+00:00",
        "overdue": 0,
    }  # fmt: skip


# Decisions


@pytest.mark.parametrize(
    "command",
    [["override", "Ash Mill"], ["skip"], ["targets", "add", "Elm Yard"], ["targets", "remove", "Ash Mill"],
     ["not-carried-out", "1", "Ash Mill"]],
    ids=" ".join,
)  # fmt: skip
def test_a_decision_is_declared_the_one_way_or_the_other(office: Desk, command: list[str]) -> None:
    office.clock.tomorrow()
    assert_refused(office(*command, "--reason", "x"), "got neither")
    assert_refused(office(*command, "--reason", "x", INDEPENDENT, BECAUSE), "got both")
    assert_refused(office(*command, INDEPENDENT), "--reason")
    assert office.json("status")["entries"] == 0


@pytest.mark.parametrize(("declaration", "holds_from"), [(INDEPENDENT, 1), (BECAUSE, 2)])
def test_an_override_deletes_the_reports_and_tells_what_is_left_of_the_guarantee(
    office: Desk, declaration: str, holds_from: int
) -> None:
    office.done("report", "Ash Mill", "2")
    office.done("report", "Birch Works")
    office.done("report", "Cedar Bank")
    out = " ".join(office.done("override", "Ash Mill", "Birch Works", "--reason", "An accident.", declaration).split())
    assert out.startswith("Entry 1, round 1: audit of Ash Mill, Birch Works, ordered by hand. Reason: An accident.")
    assert ("The guarantee does not cover reports filed in round 1 or earlier, that is, before" in out) == (
        holds_from == 2
    )
    assert counts(office) == {"Cedar Bank": 1}
    assert office.json("status")["holds_from"] == holds_from


def test_targets_come_and_go(office: Desk) -> None:
    assert office.done("targets", "list").splitlines() == list(NAMES)
    entry = office.json("targets", "add", "Elm Yard", "Fir Hall", "--reason", "they opened", INDEPENDENT)
    assert (entry["kind"], entry["added"], entry["removed"]) == ("targets", ["Elm Yard", "Fir Hall"], [])
    assert "covers it" in entry["effect"]
    out = office.done("targets", "remove", "Ash Mill", "--reason", "it closed", INDEPENDENT)
    assert out.startswith("Entry 2, round 1: Ash Mill left. Reason: it closed.")
    assert office.json("targets", "list") == {"targets": [*NAMES[1:], "Elm Yard", "Fir Hall"]}
    assert_refused(office("targets", "add", "Ash Mill", "--reason", "x", INDEPENDENT), "used before")
    assert office("targets").out.startswith("Usage: deniable programme targets")
    assert_refused(office("targets", "delete"), "no such command")


def test_a_long_name_stays_on_its_line(office: Desk) -> None:
    name = "The " + "very " * 30 + "long one"
    office.done("targets", "add", name, "--reason", "it opened", INDEPENDENT)
    assert office.done("targets", "list").splitlines()[-1] == name


def test_an_audit_that_was_not_carried_out(office: Desk) -> None:
    audited = office.close()["audits"][0]
    out = office.done("not-carried-out", 1, audited, "--reason", "a strike", INDEPENDENT)
    assert out.startswith(f"Entry 2, round 2: the audit of {audited} in round 1 was not carried out.")
    assert_refused(office("not-carried-out", 1, audited, "--reason", "a strike", INDEPENDENT), "still on record")
    assert_refused(office("not-carried-out", "one", audited, "--reason", "x", INDEPENDENT), "whole number")


# Imports


@pytest.fixture
def export(office: Desk) -> list[str]:
    (office.folder / "mapping.csv").write_text("channel,target\nnorth,Ash Mill\ntest,\n", encoding="utf-8")
    (office.folder / "export.csv").write_text("id,channel\n1,north\n2,north\n3,test\n", encoding="utf-8")
    return ["import", "export.csv", "--from", "csv", "--source", "hotline", "--mapping", "mapping.csv"]


def test_an_export_is_counted_once_and_without_a_number(office: Desk, export: list[str]) -> None:
    new = "hotline is a new source; known: none yet.\n"
    assert office.done(*export, "--dry-run") == f"{new}The file can be imported; nothing was changed.\n"
    assert counts(office) == {}
    assert office.done(*export) == f"{new}Imported.\n"
    assert office.json(*export) == {"dry_run": False, "new_source": False}
    assert counts(office) == {"Ash Mill": 2}
    assert office.done(*export, "--show-counts") == "Imported.\nConfidential: 0 new reports.\n"
    assert office.json(*export, "--dry-run", "--show-counts") == {
        "dry_run": True, "new_source": False, "new_reports": 0
    }  # fmt: skip


@pytest.mark.parametrize("mark_only", [[], ["--mark-only"]])
def test_a_source_that_is_mistyped_is_told_before_it_counts_everything_again(
    office: Desk, export: list[str], mark_only: list[str]
) -> None:
    office.done(*export, *mark_only)
    office.done(*export, "--source", "letters")
    again = [*export, "--source", "hotlin"]
    told = "hotlin is a new source; known: hotline, letters.\n"
    assert office.done(*again, "--dry-run").startswith(told)
    assert office.json(*again, "--dry-run") == {"dry_run": True, "new_source": True}
    assert office.done(*again).startswith(told)
    assert office.done(*again) == "Imported.\n"


def test_an_import_that_does_not_fit_is_refused(office: Desk, export: list[str]) -> None:
    assert_refused(office(*export, "--from", "email"), "globaleaks, hushline or csv")
    assert_refused(office(*export, "--source", ""), "source")
    assert_refused(office(*export, "--mapping", "nowhere.csv"), "mapping")
    (office.folder / "other.csv").write_text("channel,target\nnorth,Ash Mil\n", encoding="utf-8")
    assert_refused(office(*export, "--mapping", "other.csv"), "line 2", "deniable programme targets list")
    assert_refused(office(*export, "--from", "globaleaks"))
    (office.folder / "export.csv").write_text("id,channel\n1,north\n2,south\n", encoding="utf-8")
    assert_refused(office(*export), "south")
    assert counts(office) == {}
