"""`deniable programme work-list`, `carried-out`, `targets rename`, and an order that is asked about."""

import io
from pathlib import Path

import pytest
from tests.cli.programmes import BECAUSE, INDEPENDENT, SETTINGS, Desk
from tests.cli.running import assert_refused


def test_a_visit_from_the_draw_to_the_record(office: Desk) -> None:
    assert office.json("work-list") == {"audits": []}
    assert "No audit waits" in office.done("work-list")
    target = office.close()["audits"][0]
    waiting = {"round": 1, "due": "2026-01-06", "target": target, "secret_until": None}
    assert office.json("work-list") == office.json("work-list", "--not-public-yet") == {"audits": [waiting]}
    assert office.done("work-list") == f"  round 1, due 2026-01-06: {target}\n"
    visit = ("carried-out", target, "--round", 1, "--day", "2026-01-06")
    out = " ".join(office.done(*visit).split())
    assert f"the audit of {target}, selected in round 1, took place on 6 January 2026." in out
    assert "not the day on which the office went there. The promise holds for every report" in out
    assert_refused(office(*visit), "is recorded already")
    assert office.json("work-list") == {"audits": []}
    office.done("publish", "--public", "public")
    verified = office.json("verify", "public")
    assert verified["remarkable"] == []
    assert (verified["calendar_files"], verified["pages"]) == ({"calendar.ics": "matches"}, {"index.html": "matches"})


def test_a_draw_that_is_not_public_yet(desk: Desk) -> None:
    desk.init("--reveal-after", 1)
    desk.clock.tomorrow()
    target = desk.json("close-round")["audits"][0]
    assert target not in desk.done("work-list")
    assert desk.json("work-list") == {"audits": []}
    assert f"{target} (not public yet: record it when round 2 is closed" in desk.done("work-list", "--not-public-yet")
    visit = ("carried-out", target, "--round", 1, "--day", "2026-01-06")
    assert_refused(desk(*visit), "not public before round 2 is closed")
    desk.clock.tomorrow()
    desk.done("close-round")
    assert desk.json("work-list")["audits"][0]["target"] == target
    assert desk.json(*visit)["kind"] == "carried-out"


@pytest.mark.parametrize(
    ("day", "why"),
    [("yesterday", "YYYY-MM-DD"), ("2026-02-30", "YYYY-MM-DD"), ("2027-01-06", "cannot be after today"),
     ("2025-01-06", "not on 2025-01-06")],
)  # fmt: skip
def test_a_day_that_cannot_be(office: Desk, day: str, why: str) -> None:
    target = office.close()["audits"][0]
    assert_refused(office("carried-out", target, "--round", 1, "--day", day), why)
    assert office.json("status")["entries"] == 1


def test_a_target_gets_another_name(office: Desk) -> None:
    office.done("report", "Ash Mill", "2")
    entry = office.json("targets", "rename", "Ash Mill", "Ash Works", "--reason", "It was sold.", INDEPENDENT)
    assert (entry["kind"], entry["target"], entry["name"]) == ("renamed", "Ash Mill", "Ash Works")
    assert office.counts() == {"Ash Works": 2}
    assert office.json("targets", "list")["targets"][0] == "Ash Works"
    again = ("targets", "rename", "Ash Works")
    assert_refused(office(*again, "Ash Mill", "--reason", "x", INDEPENDENT), "was used before")
    assert_refused(office(*again, "ASH WORKS", "--reason", "x", INDEPENDENT), "differ only in upper and lower case")
    assert_refused(office(*again, " Ash", "--reason", "x", INDEPENDENT), "no spaces at the ends")
    assert_refused(office("targets", "rename", "Ash Mill", "Elm", "--reason", "x", INDEPENDENT), "no target named")
    assert_refused(office("report", "Ash Mill"), "no target named Ash Mill")


DECISIONS = (
    ("override", "Ash Mill"),
    ("skip",),
    ("targets", "add", "Elm Yard"),
    ("targets", "remove", "Ash Mill"),
    ("targets", "rename", "Ash Mill", "Ash Works"),
    ("not-carried-out", "Ash Mill", "--round", "1"),
)


def ready_to_decide(office: Desk) -> None:
    """A day later, so that a round can be skipped, and with an audit of Ash Mill that may not take place."""
    office.done("override", "Ash Mill", "--reason", "A fire.", INDEPENDENT)
    office.clock.tomorrow()


@pytest.mark.parametrize(("typed", "code"), [("yes\n", 0), ("no\n", 2), ("", 2)])
@pytest.mark.parametrize("command", DECISIONS, ids=" ".join)
def test_a_decision_because_of_reports_is_asked_about(
    office: Desk, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], typed: str, code: int
) -> None:
    ready_to_decide(office)
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    result = office(*command, "--reason", "a hint", BECAUSE)
    assert result.code == code
    for word in ("round 2 or earlier", "5 January 2026", "Wednesday 7 January 2026", "4 targets", "type yes"):
        assert word in result.err
    assert office.json("status")["entries"] == (2 if code == 0 else 1)
    if not typed:
        assert result.err.splitlines()[1:] == [
            "error: the decision was not confirmed, and nothing was changed; in a script, give --yes"
        ]


@pytest.mark.parametrize("command", DECISIONS, ids=" ".join)
def test_a_script_confirms_a_decision_and_reads_what_is_left_of_the_promise(
    office: Desk, command: tuple[str, ...]
) -> None:
    ready_to_decide(office)
    document = office.json(*command, "--reason", "a hint", BECAUSE, "--yes")
    assert "holds for reports filed from round 3 on" in document["coverage"]
    assert office.json("status")["holds_from"] == 3


def test_a_skipped_round_tells_what_is_left_of_the_promise(office: Desk) -> None:
    office.clock.tomorrow()
    out = " ".join(office.done("skip", "--reason", "a hint", BECAUSE, "--yes").split())
    assert out.startswith("Round 1: skipped.")
    assert "The promise holds for reports filed from round 3 on" in out
    office.clock.tomorrow()
    assert "The promise" in office.done("skip", "--reason", "A strike.", INDEPENDENT)


def test_targets_are_named_by_their_numbers_in_a_register(desk: Desk) -> None:
    Path("register.csv").write_text("target,number\nAsh Mill,A-17\nBirch Works,B-1\nCedar Bank,C-9\n", encoding="utf-8")
    desk.done("init", "register.csv", *SETTINGS)
    desk.done("report", "A-17", "2")
    Path("letters.csv").write_text("target,reports\nA-17,1\nAsh Mill,1\nZ-1,1\n", encoding="utf-8")
    assert "line 4" in desk.done("report", "--file", "letters.csv")
    Path("mapping.csv").write_text("channel,target\nnorth,B-1\n", encoding="utf-8")
    Path("export.csv").write_text("id,channel\n1,north\n", encoding="utf-8")
    desk.done("import", "export.csv", "--from", "csv", "--source", "hotline", "--mapping", "mapping.csv")
    assert desk.counts() == {"Ash Mill": 4, "Birch Works": 1}
    assert desk.json("override", "A-17", "--reason", "A fire.", INDEPENDENT)["audits"] == ["Ash Mill"]
    day = ("--round", 1, "--day", "2026-01-05")
    assert desk.json("carried-out", "A-17", *day)["target"] == "Ash Mill"
    assert (
        desk.json("targets", "rename", "C-9", "Cedar and Sons", "--reason", "Sold.", INDEPENDENT)["target"]
        == "Cedar Bank"
    )
    assert_refused(desk("report", "Z-9"), "no target named Z-9")
    assert desk.json("status")["entries"] == 3
