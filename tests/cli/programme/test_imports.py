"""`deniable programme import`: reports of a hotline's export, and what is set aside."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cli.programmes import INDEPENDENT, Desk
from tests.cli.running import assert_refused

NOTHING_ASIDE = {
    "channels": [], "more_channels": 0, "values": [], "more_values": 0, "malformed": [], "more_malformed": 0
}  # fmt: skip


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
    document = {
        "dry_run": False, "new_source": False, "paused": False, "set_aside": NOTHING_ASIDE, "leads_to_visit": []
    }  # fmt: skip
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
    assert_refused(office(*export, "--source", ""), "a hotline's name must not be empty")
    assert_refused(office(*export, "--mapping", "nowhere.csv"), "mapping")
    Path("other.csv").write_text("channel,target\nnorth,Ash Mil\n", encoding="utf-8")
    assert_refused(office(*export, "--mapping", "other.csv"), "line 2", "spelt exactly")
    assert_refused(office(*export, "--from", "globaleaks"))
    Path("export.csv").write_text("id,channel,text\n1,north,x\n", encoding="utf-8")
    assert_refused(office(*export), "no others")
    assert office.counts() == {}


def test_what_is_set_aside_is_told_with_what_to_do(office: Desk, export: tuple[str, ...]) -> None:
    write_export("1,north", "2,west", "3", '4,"north', "5,north")
    for more in (["--dry-run"], []):
        out = " ".join(office.done(*export, *more).split())
        assert "the mapping does not name these channels: west. Give each of them a target" in out
        assert "cannot be read: line 4 (the first line has 2 cells, and this line has 1) and line 5 (a quote" in out
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


def test_a_mapping_is_kept_and_used_by_later_imports(office: Desk, export: tuple[str, ...]) -> None:
    without = [word for word in export if word not in {"--mapping", "mapping.csv"}]
    assert "does not name these channels: north and test" in " ".join(office.done(*without, "--dry-run").split())
    office.done(*export, "--keep", "--dry-run")
    assert "does not name" in " ".join(office.done(*without, "--dry-run").split())
    office.done(*export, "--keep")
    write_export("1,north", "2,north", "3,test", "4,north", "5,Cedar Bank")
    assert office.done(*without) == "Imported.\n"
    assert office.counts() == {"Ash Mill": 3, "Cedar Bank": 1}  # a channel that is called like a target needs no line


# Classes

CLASSES = ("--class", "minor=1", "--class", "serious=3", "--class", "danger=visit")
BY_SEVERITY = ("--class-column", "severity", "--class-mapping", "scores.csv")


@pytest.fixture
def graded(desk: Desk) -> Desk:
    """An office whose hotline gives every report a severity from 1 to 9, or none."""
    desk.init(*CLASSES)
    write_mapping(north="Ash Mill", south="Birch Works", test="")
    write_scores("1,minor", "2,serious", "9,danger", "spam,")
    write_graded("1,north,1", "2,north,2", "3,south,9", "4,test,7", "5,south,spam")
    return desk


def write_scores(*lines: str) -> None:
    Path("scores.csv").write_text("\n".join(["value,class", *lines]), encoding="utf-8")


def write_graded(*lines: str) -> None:
    Path("export.csv").write_text("\n".join(["id,channel,severity", *lines]), encoding="utf-8")


def test_a_score_of_the_hotline_becomes_a_class(graded: Desk) -> None:
    again = [*IMPORT, *BY_SEVERITY]
    dry = " ".join(graded.done(*again, "--dry-run", "--show-counts").split())
    assert "3 new reports, 0 known already, 0 set aside, 2 left out on purpose." in dry
    assert "1 of class minor, 1 of class serious, 1 of class danger" in dry
    assert graded.counts() == {}
    assert "Confidential" not in graded.done(*again)
    assert graded.counts() == {"Ash Mill": 4}
    assert graded.json("visits") == {"waiting": [{"target": "Birch Works", "class": "danger"}]}
    document = graded.json(*again, "--show-counts")
    assert (document["new_reports"], document["other_reports"], document["leads_to_visit"]) == (0, 3, ["danger"])
    assert document["reports_by_class"] == {"minor": 1, "serious": 1, "danger": 1}


def test_a_report_keeps_the_class_with_which_it_first_counted(graded: Desk) -> None:
    graded.done(*IMPORT, *BY_SEVERITY)
    write_graded("1,north,2", "2,north,9", "3,south,1")
    graded.done(*IMPORT, *BY_SEVERITY)
    assert graded.counts() == {"Ash Mill": 4}
    assert graded.json("visits") == {"waiting": [{"target": "Birch Works", "class": "danger"}]}


def test_a_class_may_follow_from_the_channel(graded: Desk) -> None:
    lines = ["channel,target,class", "north,Ash Mill,minor", "north-serious,Ash Mill,serious", "south,,"]
    Path("mapping.csv").write_text("\n".join(lines), encoding="utf-8")
    write_export("1,north", "2,north-serious", "3,south", "4,west")
    assert graded.json(*IMPORT)["set_aside"]["channels"] == ["west"]
    assert graded.counts() == {"Ash Mill": 4}
    assert_refused(graded(*IMPORT, *BY_SEVERITY), "in one way")


@pytest.mark.parametrize("others", [[], ["3,south,9"]])
def test_a_class_that_leads_to_a_visit_is_told_from_the_mapping_alone(graded: Desk, others: list[str]) -> None:
    write_graded("1,north,1", *others)
    out = " ".join(graded.done(*IMPORT, *BY_SEVERITY).split())
    assert out.endswith("class danger leads to a visit; deniable programme visits names the targets.")
    write_scores("1,minor", "9,")
    assert "visit" not in graded.done(*IMPORT, *BY_SEVERITY)
    write_scores("1,danger")
    assert "visit" not in graded.done(*IMPORT, *BY_SEVERITY, "--do-not-count")


@pytest.mark.parametrize("more", ["42,north,7", "42,north,", "42,north,it is a sentence", '42,north,"1', "42,north"])
def test_a_row_without_a_class_holds_back_no_other_and_counts_later(graded: Desk, more: str) -> None:
    write_graded("1,north,1", more, "2,north,2")
    out = " ".join(graded.done(*IMPORT, *BY_SEVERITY).split())
    assert "Set aside" in out
    assert "sentence" not in out
    assert graded.counts() == {"Ash Mill": 4}
    write_graded("42,north,2")
    graded.done(*IMPORT, *BY_SEVERITY)
    assert graded.counts() == {"Ash Mill": 7}


def test_without_a_class_mapping_the_values_are_the_classes(graded: Desk) -> None:
    write_graded("1,north,minor", "2,north,serious", "3,north,Serious")
    assert graded.json(*IMPORT, "--class-column", "severity")["set_aside"]["values"] == ["Serious"]
    assert graded.counts() == {"Ash Mill": 4}


def test_globaleaks_has_a_score_of_its_own(graded: Desk) -> None:
    Path("rtips.json").write_text('[{"id": "a", "context_id": "north", "score": 2, "answers": {}}]', encoding="utf-8")
    again = ["import", "rtips.json", "--from", "globaleaks", "--source", "g", "--mapping", "mapping.csv"]
    graded.done(*again, "--class-mapping", "scores.csv")
    assert graded.counts() == {"Ash Mill": 3}


def test_where_there_are_classes_it_must_be_said_what_they_follow_from(graded: Desk) -> None:
    assert_refused(graded(*IMPORT), "add a column class to the mapping", "name the class column")
    assert_refused(graded(*IMPORT, "--class-mapping", "scores.csv"), "name the class column")
    assert_refused(graded(*IMPORT, "--class-column", "urgency"), "columns id, channel and urgency")
    assert_refused(graded(*IMPORT, "--class-column", "severity", "--class-mapping", "none.csv"), "cannot be opened")
    assert_refused(graded(*IMPORT, *BY_SEVERITY, "--from", "hushline"), "a username for each class")
    write_scores("1,unheard of")
    assert_refused(graded(*IMPORT, *BY_SEVERITY), "line 2: the class must be one of minor, serious, danger")
    assert graded.counts() == {}


def test_where_there_are_none_nothing_of_it_is_asked(office: Desk, export: tuple[str, ...]) -> None:
    write_scores("1,report")
    assert_refused(office(*export, *BY_SEVERITY), "have the same class")
    Path("mapping.csv").write_text("channel,target,class\nnorth,Ash Mill,report\n", encoding="utf-8")
    assert_refused(office(*export), "must have no column class")
    assert office.counts() == {}


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
