"""`deniable programme`: rounds and what the office decides by itself."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.cli.programmes import BECAUSE, INDEPENDENT, NAMES, Desk
from tests.cli.running import assert_refused
from tests.programme.public.published import lines_in

# Rounds


def test_after_the_last_round_no_command_names_a_next_one(desk: Desk) -> None:
    """Neither while days go on, nor after the end."""
    desk.init("--mechanism", "tca", "--horizon", 2, "--yearly-figures-delta", 0.02)
    assert desk.json("status")["next_figures"] is None  # the year ends after the horizon
    desk.close()
    closed = desk.close()
    assert (closed["round"], closed["next_round"], closed["next_due"]) == (2, None, None)
    for _ in range(2):
        again, status = " ".join(desk.done("close-round").split()), desk.json("status")
        assert again.startswith("Nothing was drawn: round 2 was the last one. Round 2, as it was closed before: audit")
        assert "run deniable programme end" in again
        assert (status["open_round"], status["due"], status["overdue"]) == (None, None, 0)
        assert "Round 2, the last one, is closed: run deniable programme end." in desk.done("status")
        assert " due " not in desk.done("status")
        for beyond in (3, 4):
            for reason in ((), ("--reason", "a strike")):
                refused = desk("close-round", "--round", beyond, *reason)
                assert_refused(refused, "the last round is closed: end the programme")
        assert "as it was when round 2, the last one, was closed." in restored(desk)
        for _ in range(3):
            desk.clock.tomorrow()
    desk.done("end", "--reason", "All is audited.", "--yes")
    assert "The programme has ended" in desk.done("status")
    assert " due " not in desk.done("status")
    assert "as it was when it had ended." in restored(desk)


def restored(desk: Desk) -> str:
    """What `restore` says of a backup made now, when no round is open."""
    backup = f"backup of {desk.json('status')['entries']} {desk.clock.now:%d}"
    desk.done("backup", backup)
    restore = ("restore", backup, "--never-published", "--database")
    assert desk.json(*restore, f"{backup}.json.db")["open_round"] is None
    return " ".join(desk.done(*restore, f"{backup}.db").split())


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
    for nothing in ((), ("--reason", " ")):
        assert_refused(office("close-round", *nothing), "round 2 is 1 day late: say why with --reason TEXT")
    assert office.json("status")["open_round"] == 2
    assert office.json("close-round", "--reason", "and so was the archive")["overdue"] == 1
    assert "--reason" not in office.done("status")  # half a day is not late
    assert "Round 4 is due" in office.done("close-round")
    office.done("publish", "--public", "public")
    verified = " ".join(office.done("verify", "public").split())
    assert "Reason: the office was flooded." in verified
    assert "Reason: and so was the archive." in verified


def test_yearly_figures_come_with_the_last_round_of_a_year(desk: Desk) -> None:
    desk.init("--yearly-figures-delta", 0.02, "--start", "2026-12-29")
    desk.clock.now = datetime(2026, 12, 31, tzinfo=UTC)
    assert desk.json("close-round", "--reason", "a flood")["figures"] is None
    closed = desk.json("close-round")
    assert closed["figures"]["year"] == 2026
    assert closed["figures"]["in_all"] == dict(closed["figures"]["reports"])["report"]
    assert desk.json("close-round") == closed | {"already": True}
    assert "Also recorded: yearly numbers of 2026" in " ".join(desk.done("close-round").split())
    desk.done("publish", "--public", "public")
    assert "in order" in desk.done("verify", "public")
    assert "figures" in lines_in(desk.folder / "public")[-1]


def test_a_skipped_round_keeps_its_reports(office: Desk) -> None:
    office.done("report", "Ash Mill", "2")
    assert_refused(office("skip", "--reason", "a holiday", INDEPENDENT), "must not be closed before")
    office.clock.tomorrow()
    assert office.done("skip", "--reason", "a holiday", INDEPENDENT).startswith("Round 1: skipped.")
    assert office.counts() == {"Ash Mill": 2}
    assert office.json("close-round") | {"audits": []} == {
        "round": 1, "audits": [], "already": True, "visits": [], "figures": None, "next_round": 2,
        "next_due": "2026-01-07T00:00:00+00:00", "overdue": 0, "secret_until": None, "waiting": None,
    }  # fmt: skip


# Decisions


@pytest.mark.parametrize(
    "command",
    [["override", "Ash Mill"], ["skip"], ["targets", "add", "Elm Yard"], ["targets", "remove", "Ash Mill"],
     ["not-carried-out", "Ash Mill", "--round", "1"]],
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
    out = " ".join(
        office.done("override", "Ash Mill", "Birch Works", "--reason", "An accident.", declaration, "--yes").split()
    )
    assert out.startswith("Entry 1, round 1: audit of Ash Mill and Birch Works, ordered by hand. Reason: An accident.")
    assert ("The promise does not cover reports filed in round 1 or earlier, that is, before" in out) == (
        holds_from == 2
    )
    assert office.counts() == {"Cedar Bank": 1}
    assert office.json("status")["holds_from"] == holds_from


def test_targets_come_and_go(office: Desk) -> None:
    assert office.done("targets", "list").splitlines() == list(NAMES)
    entry = office.json("targets", "add", "Elm Yard", "Fir Hall", "--reason", "they opened", INDEPENDENT)
    assert (entry["kind"], entry["added"], entry["removed"]) == ("targets", ["Elm Yard", "Fir Hall"], [])
    assert "does not weaken" in entry["effect"]
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
    because = ["--reason", "a strike", INDEPENDENT]
    out = office.done("not-carried-out", audited, "--round", 1, *because)
    assert out.startswith(f"Entry 2, round 2: the audit of {audited} in round 1 was not carried out.")
    assert_refused(office("not-carried-out", audited, "--round", 1, *because), "in round 1 is open")
    assert_refused(office("not-carried-out", audited, "--round", "one", *because), "whole number")


def test_the_public_is_told_how_to_reach_the_office(office: Desk) -> None:
    out = " ".join(office.done("details", "--contact", "Room 7", INDEPENDENT).split())
    assert out.startswith("Entry 1, round 1: how to reach the office from")
    assert "contact: “Room 7”; hotline: none" in out
    assert "nothing to do with any report" in out
    entry = office.json("details", "--hotline", " https://hotline.example.org ", INDEPENDENT)
    assert (entry["contact"], entry["hotline"]) == ("Room 7", "https://hotline.example.org")
    assert office.json("details", "--contact", "", INDEPENDENT)["contact"] is None
    assert office.json("status")["holds_from"] == 1
    office.done("publish", "--public", "public")
    assert "in order" in office.done("verify", "public")
    assert "https://hotline.example.org" in Path("public/index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([INDEPENDENT], "give --contact, --hotline or both"),
        (["--contact", "Room 7"], "give --independent-of-reports"),
        (["--contact", "Room 7", BECAUSE], "--because-of-reports"),
        (["--hotline", "javascript:alert(1)", INDEPENDENT], "the hotline must be a link that begins with https://"),
        (["--contact", "x" * 301, INDEPENDENT], "the contact can have at most 300 characters"),
        (["--contact", "", INDEPENDENT], "the same as before"),
    ],
)
def test_details_that_cannot_be_told(office: Desk, args: list[str], words: str) -> None:
    assert_refused(office("details", *args), words)
    assert office.json("status")["entries"] == 0


def test_names_that_are_not_public_yet(desk: Desk) -> None:
    desk.init("--reveal-after", 1)
    other = ("init", "targets.txt", "--name", "P", "--delta", 0.1, "--database", "other.db", "--reveal-after")
    assert_refused(desk(*other, -1), "--reveal-after must be a whole number of at least 0")
    assert_refused(
        desk(*other, 5, "--mechanism", "tca", "--horizon", 5), "--reveal-after must be less than the horizon"
    )
    assert not Path("other.db").exists()
    desk.clock.tomorrow()
    first = desk.json("close-round")
    assert first["secret_until"] == 2
    told = " ".join(desk.done("close-round", "--round", 1).split())
    assert f"audit {first['audits'][0]}. Do not show this before round 2 is closed, due at 2026-01-07 00:00" in told
    desk.done("publish", "--public", "public")
    assert "those of 1 round (1) follow 1 round later" in " ".join(desk.done("verify", "public").split())
    desk.clock.tomorrow()
    assert desk.json("close-round")["secret_until"] == 3
    assert desk.json("close-round", "--round", 1)["secret_until"] is None
