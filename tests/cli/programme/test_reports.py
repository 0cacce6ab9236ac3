"""`deniable programme`: reports that are entered, withdrawn and imported."""

from pathlib import Path

import pytest
from tests.cli.programmes import Desk
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
    f"Ash Mill,{SECRET},1": "the first line has 2 cells",
    f"Ash Mill,-{SECRET}": "must be a whole number",
    f"{SECRET},Ash Mill": "must be a whole number",
    "Ash Mill,0": "must be a whole number",
    f'"Ash Mill,{SECRET}': "a quote",
    "Ash Mill,\udcff": "Unicode",
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
    assert office.json("report", "--file", "today.csv") == {
        "counted": False, "receipt": None, "set_aside": [], "leads_to_visit": []
    }  # fmt: skip


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
        (["Ash", "Mill", "1"], "(1): a name with spaces stands in quotes"),
    ],
)
def test_reports_that_do_not_fit_are_refused(office: Desk, args: list[str], words: str) -> None:
    assert_refused(office("report", *args), words)


# Classes


@pytest.fixture
def graded(desk: Desk) -> Desk:
    """An office whose reports have three classes."""
    desk.init("--class", "minor=1", "--class", "serious=3", "--class", "danger=visit")
    return desk


def write_today(*lines: str, header: str = "target,reports,class") -> None:
    Path("today.csv").write_text("\n".join([header, *lines]), encoding="utf-8")


def test_a_report_counts_as_much_as_its_class(graded: Desk) -> None:
    receipt = graded.json("report", "Ash Mill", "2", "--class", "serious")["receipt"]
    graded.done("report", "Ash Mill", "--class", "minor")
    assert graded.counts() == {"Ash Mill": 7}
    graded.done("withdraw", "Ash Mill", "--receipt", receipt)
    assert graded.counts() == {"Ash Mill": 1}


def test_the_receipt_is_the_last_line_for_a_class_that_leads_to_a_visit_too(graded: Desk) -> None:
    out = graded.done("report", "Cedar Bank", "--class", "danger")
    assert "deniable programme visit TARGET --class danger Counted." in " ".join(out.split())
    graded.done("withdraw", "Cedar Bank", "--receipt", out.splitlines()[-1].strip())
    assert graded.json("visits") == {"waiting": []}


@pytest.mark.parametrize("command", [["targets", "remove", "Cedar Bank", "--independent-of-reports"], ["end", "--yes"]])
def test_who_deletes_a_report_of_danger_is_told_of_the_visit(graded: Desk, command: list[str]) -> None:
    graded.done("override", "Ash Mill", "--reason", "a fire", "--independent-of-reports")
    graded.done("report", "Cedar Bank", "--class", "danger")
    out = graded.done(*command, "--reason", "it closed")
    assert out.startswith("Visit at once, because of reports of an emergency class: Cedar Bank.\nEntry 3, round 1:")


@pytest.mark.parametrize("command", [["targets", "remove", "Cedar Bank", "--independent-of-reports"], ["end", "--yes"]])
def test_only_visits_of_danger_are_named_with_what_deletes_its_reports(graded: Desk, command: list[str]) -> None:
    """Not those that wait already, nor targets with other reports."""
    graded.done("override", "Ash Mill", "--reason", "a fire", "--independent-of-reports")
    graded.done("report", "Cedar Bank", "--class", "serious")
    assert graded.json(*command, "--reason", "it closed")["visits"] == []


@pytest.mark.parametrize("command", [["targets", "remove", "Cedar Bank", "--independent-of-reports"], ["end", "--yes"]])
def test_a_visit_is_named_also_where_its_target_was_ordered_by_hand_in_the_round(
    graded: Desk, command: list[str]
) -> None:
    graded.done("override", "Cedar Bank", "--reason", "a fire", "--independent-of-reports")
    graded.done("report", "Cedar Bank", "--class", "danger")
    assert graded.json(*command, "--reason", "it closed")["visits"] == ["Cedar Bank"]


def test_several_classes_of_a_file_have_one_receipt(graded: Desk) -> None:
    write_today("Ash Mill,2,serious", "Ash Mill,1,minor", "Cedar Bank,1,danger", "Ash Mill,1,serious")
    document = graded.json("report", "--file", "today.csv")
    assert document["leads_to_visit"] == ["danger"]
    assert graded.counts() == {"Ash Mill": 10}
    assert graded.json("visits") == {"waiting": [{"target": "Cedar Bank", "class": "danger"}]}
    graded.done("withdraw", "--file", "today.csv", "--receipt", document["receipt"])
    assert graded.counts() == {}
    assert graded.json("visits") == {"waiting": []}


@pytest.mark.parametrize("name", ["Serious", "", SECRET])
def test_a_line_of_an_unknown_class_holds_back_no_other(graded: Desk, name: str) -> None:
    write_today(f"Ash Mill,1,{name}", "Birch Works,1,serious")
    document = graded.json("report", "--file", "today.csv")
    assert document["set_aside"] == [{"place": "line 2", "why": "the class must be one of danger, minor, serious"}]
    assert graded.counts() == {"Birch Works": 3}


def test_a_file_may_be_of_one_class(graded: Desk) -> None:
    write_today("Ash Mill,2", header="target,reports")
    graded.done("report", "--file", "today.csv", "--class", "serious")
    assert graded.counts() == {"Ash Mill": 6}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["Ash Mill"], "class: it must be one of minor, serious, danger"),
        (["Ash Mill", "--class", "grave"], "no class of reports named grave"),
        (["--file", "today.csv"], "say the report's class"),
        (["--file", "today.csv", "--class", "grave"], "no class of reports named grave"),
    ],
)
def test_a_report_needs_a_class_that_there_is(graded: Desk, args: list[str], words: str) -> None:
    write_today("Ash Mill,2", header="target,reports")
    assert_refused(graded("report", *args), words)
    assert graded.counts() == {}
