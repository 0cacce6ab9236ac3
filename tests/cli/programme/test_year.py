"""A year of an inspectorate at the command line: classes, emergencies, unannounced visits, a flood, yearly figures."""

from datetime import UTC, datetime
from pathlib import Path

import pyrage
from tests.cli.programmes import NAMES, Desk

IDENTITY = pyrage.x25519.Identity.generate()
EMERGENCIES = {3: "Ash Mill", 6: "Birch Works", 9: "Ash Mill"}
"""The months in which a report of danger comes in, and about whom."""
FLOOD = 5
"""The month of a flood of reports."""
REPLAY = ("oversight", "replay", "public", "seals.jsonl", "--identity", "oversight.key")


def test_a_year_with_all_that_an_office_must_do(desk: Desk) -> None:
    desk.init(
        "--period", "1M", "--start", "2025-12-15", "--class", "minor=1", "--class", "serious=3", "--class",
        "danger=visit", "--most-counted", 5, "--reveal-after", 2, "--yearly-figures-delta", 0.02,
        "--oversight", IDENTITY.to_public(),
    )  # fmt: skip
    Path("oversight.key").write_text(f"{IDENTITY}\n", encoding="ascii")
    desk.done("publish", "--public", "public")
    page = Path("public/index.html").read_text(encoding="utf-8")
    assert page.index("class danger is not protected") < page.index("Suppose someone")
    drawn: dict[int, list[str]] = {}
    for month in range(1, 13):
        desk.done("report", NAMES[month % 4], 1, "--class", "minor")
        desk.done("report", NAMES[-1], 1, "--class", "serious")
        if month == FLOOD:
            desk.done("report", NAMES[1], 700, "--class", "minor")
        if month in EMERGENCIES:
            visit_at_once(desk, EMERGENCIES[month])
        desk.clock.now = datetime(2026, month, 15, tzinfo=UTC)
        closed = desk.json("close-round")
        drawn[month] = closed["audits"]
        assert (closed["figures"] is not None) == (month == 12)
        desk.done("publish")
        assert "in order" in desk.done("verify", "public")
        assert_names_are_public_in_time(drawn)
    figures = closed["figures"]
    assert figures["year"] == 2026
    assert abs(dict(figures["reports"])["minor"] - 712) < 200  # ten standard deviations
    desk.done("oversight", "seals", "--out", "seals.jsonl")
    replayed = desk.json(*REPLAY)
    assert (replayed["verdict"], replayed["confirmed"]) == ("confirmed", [*range(1, 13)])
    assert "every ordinary report" in " ".join(desk.done("status").split())


def visit_at_once(desk: Desk, target: str) -> None:
    desk.done("report", target, "--class", "danger")
    assert desk.json("visits") == {"waiting": [{"target": target, "class": "danger"}]}
    told = " ".join(desk.done("visit", target, "--class", "danger").split())
    assert "does not weaken the promise for all other reports" in told
    assert desk.json("visits") == {"waiting": []}


def assert_names_are_public_in_time(drawn: dict[int, list[str]]) -> None:
    """Two rounds later, and not before."""
    lines = Path("public/transcript.jsonl").read_text(encoding="ascii").splitlines()
    revealed = [line for line in lines if '"kind":"reveal"' in line]
    assert len(revealed) == max(0, len(drawn) - 2)
    for month, line in enumerate(revealed, start=1):
        assert all(name in line for name in drawn[month])
