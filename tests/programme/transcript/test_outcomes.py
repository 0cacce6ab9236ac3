"""What became of audits, where names were revealed or changed since, or a visit was an emergency."""

from typing import Any

import pytest
from tests.programme.public.published import NAMES, Said, chained, drawn, made, revealed, selected

from deniable.errors import DeniableError
from deniable.languages.voice import plain
from deniable.programme.public.page import events_of
from deniable.programme.public.timeline import timeline
from deniable.programme.transcript.outcomes import outcomes, present_names
from deniable.programme.transcript.replay import replay
from deniable.report_classes import parsed

A, B, C, D = NAMES
DECIDED: dict[str, Any] = {"reason": "by law", "independent": True}


def visited(round_: int, of: int, target: str, day: str) -> Said:
    return "carried-out", round_, {"of": of, "target": target, "day": day, "during": round_, "reason": None}


def renamed(round_: int, target: str, name: str) -> Said:
    return "renamed", round_, {**DECIDED, "target": target, "name": name, "during": round_}


def ordered(round_: int, target: str) -> Said:
    return "override", round_, {**DECIDED, "audits": [target], "during": round_}


LATER = made(reveal_after=2)
REVEALED = [
    selected(1, A), ordered(2, A), selected(2, B), visited(3, 2, A, "2026-01-13"), renamed(3, A, "Ashford North"),
    selected(3, C), revealed(4, 1, "Ashford North"), visited(4, 1, "Ashford North", "2026-01-06"),
]  # fmt: skip


def test_an_outcome_belongs_to_the_entry_that_names_the_audit_of_its_round() -> None:
    entries = chained(LATER, REVEALED)
    state, present = replay(LATER, entries), present_names(entries)
    assert not state.latest_audit.any()
    assert {key: one.day for key, one in outcomes(entries, present).items()} == {
        (2, "Ashford North"): "2026-01-13",
        (7, "Ashford North"): "2026-01-06",
    }
    days = {
        event.number: [audited.visited for audited in event.audited]
        for event in events_of(LATER, entries, LATER.voice())
    }
    assert [day.iso for day in days[1] + days[2] if day] == ["2026-01-06", "2026-01-13"]
    (row,) = (row for row in timeline(LATER, entries, 1, plain()).rows if row.marks)
    assert row.name == "Ashford North"
    assert [(mark.kind, mark.round, mark.visited) for mark in row.marks] == [
        ("drawn", 1, "6 January 2026"),
        ("hand", 2, "13 January 2026"),
    ]


@pytest.mark.parametrize("target", NAMES)
def test_nothing_is_recorded_of_a_draw_before_its_names_are_public(target: str) -> None:
    """The refusal is the same, whichever target was drawn."""
    with pytest.raises(DeniableError, match="names of round 1 are not public before round 3 is closed; record it then"):
        replay(LATER, chained(LATER, [selected(1, A), visited(2, 1, target, "2026-01-06")]))


def test_names_are_revealed_as_they_are_then() -> None:
    said = [selected(1, A), renamed(2, A, "Ashford North"), selected(2, B), selected(3, C)]
    state = replay(LATER, chained(LATER, [*said, revealed(4, 1, "Ashford North")]))
    assert state.latest_audit.tolist() == [1, 0, 0, 0]
    with pytest.raises(DeniableError, match="no target named Ashford"):
        replay(LATER, chained(LATER, [*said, revealed(4, 1, A)]))


def test_a_visit_in_an_emergency_is_an_audit() -> None:
    parameters = made(classes=tuple(map(parsed, ("minor=1", "danger=visit"))))
    emergency: Said = ("emergency", 2, {"audits": [B], "report_class": "danger", "reason": None})
    entries = chained(parameters, [drawn(1, A), emergency, visited(2, 2, B, "2026-01-13")])
    assert replay(parameters, entries).latest_audit.tolist() == [1, 0, 0, 0]
    marks = {
        row.name: [(mark.kind, mark.visited) for mark in row.marks]
        for row in timeline(parameters, entries, 1, plain()).rows
    }
    assert (marks[A], marks[B]) == ([("drawn", "")], [("emergency", "13 January 2026")])
