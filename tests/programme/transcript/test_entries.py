"""Every kind of entry: its fields, its words, and what it does to the targets' runs."""

from typing import Any

import numpy as np
import pytest
from tests.programme.public.published import NAMES, fresh, made

from deniable.errors import DeniableError
from deniable.languages.voice import plain
from deniable.programme.transcript.entries import KINDS, Emergency
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import MAX_REASON
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript.state import PublicState
from deniable.report_classes import ReportClass
from deniable.run import AuditRun

A, B, C, D = NAMES
DECISION = {"independent": True, "during": 1}
THROWN = {"of": 1, "value": "1 2 3", "time": "2026-01-06T10:00:00Z"}
SAMPLES: dict[str, dict[str, Any]] = {
    "round": {"audits": [A], "commitment": fresh(1), "late": 1, "sealed": None},
    "selection": {
        "commitment": fresh(1),
        "late": 1,
        "sealed": None,
        "names": fresh(2),
        "capsule": "00" * 64,
        "public_after": 3,
    },
    "reveal": {"of": 1, "audits": [A], "salt": fresh(3)},
    "freeze": {
        "commitment": fresh(1),
        "late": 1,
        "sealed": None,
        "inputs": fresh(2),
        "beacon": 27_000_000,
        "value_at": "2026-01-06T01:00:00Z",
    },
    "drawn": {**THROWN, "audits": [A]},
    "drawn hidden": {**THROWN, "names": fresh(2), "capsule": "00" * 64, "public_after": 3},
    "skip": {**DECISION, "commitment": fresh(1), "late": 0},
    "override": {**DECISION, "audits": [A]},
    "emergency": {"audits": [A], "report_class": "danger"},
    "targets": {**DECISION, "added": ["Emden"], "removed": [A]},
    "renamed": {**DECISION, "target": A, "name": "Ashford North"},
    "carried-out": {"of": 1, "target": A, "day": "2026-01-06", "during": 1},
    "not-carried-out": {**DECISION, "of": 1, "target": A},
    "details": {"contact": "Room 7", "hotline": "https://hotline.example.org", "day": "2026-01-05"},
    "recovery": {
        "lost": 1,
        "commitment": fresh(1),
        "inputs_lost": False,
        "paused": True,
        "complete": True,
        "during": 1,
    },
    "resumption": {},
    "figures": {
        "year": 2026,
        "reports": [["minor", 12], ["serious", -3]],
        "in_all": 9,
        "deviation": 20,
        "complete": True,
        "sealed": None,
    },
    "end": {},
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def sample(kind: str, **fields: Any) -> Entry:
    return KINDS[kind](number=1, round=1, previous=fresh(0), **{"reason": "a flood", **SAMPLES[kind], **fields})


def test_every_kind_has_a_sample() -> None:
    assert KINDS.keys() == SAMPLES.keys()


@every_kind
def test_an_entry_is_read_back(kind: str) -> None:
    assert parse(sample(kind).line(), 1) == sample(kind)


@every_kind
def test_what_an_entry_says(kind: str) -> None:
    entry, calendar, say = sample(kind), made().calendar, plain()
    assert entry.deed(say)
    assert not entry.deed(say).endswith(".")
    assert "promise" in entry.effect(calendar, say)
    assert entry.described(calendar, say)["kind"] == kind


@every_kind
def test_every_reason_is_one_line_of_text(kind: str) -> None:
    assert sample(kind, reason="r" * MAX_REASON).kind == kind
    with pytest.raises(DeniableError, match=r"^write the reason: at most 500 characters, on one line"):
        sample(kind, reason="")
    for reason in ("\t", "a\u2028b", 3):
        with pytest.raises(DeniableError, match=r"^the reason must be 1 to 500 printable characters"):
            sample(kind, reason=reason)


@every_kind
def test_only_a_draw_and_a_visit_need_no_reason(kind: str) -> None:
    draws = {"round", "selection", "reveal", "freeze", "drawn", "drawn hidden"}
    if kind in {*draws, "emergency", "figures", "carried-out", "details"}:
        assert sample(kind, reason=None).reason is None
    else:
        with pytest.raises(DeniableError, match="reason must be"):
            sample(kind, reason=None)


@pytest.mark.parametrize("kind", [kind for kind, fields in SAMPLES.items() if "independent" in fields])
def test_what_a_decision_declares(kind: str) -> None:
    assert sample(kind).lapse is None
    lapse = sample(kind, independent=False, during=7).lapse
    assert lapse is not None
    assert (lapse.entry, lapse.round) == (1, 7)
    for independent in (None, 1, "true"):
        with pytest.raises(DeniableError, match=r"^independent must be true or false"):
            sample(kind, independent=independent)
    for during in (None, 0, True, 1.0):
        with pytest.raises(DeniableError, match=r"^during must be a whole number of at least 1"):
            sample(kind, during=during)


@pytest.mark.parametrize("kind", ["drawn", "drawn hidden"])
def test_what_was_thrown_in_public_has_its_form(kind: str) -> None:
    for value in ("", "1\n2", "\u00e9", 3, "1" * 2001):
        with pytest.raises(DeniableError, match=r"^value must be"):
            sample(kind, value=value)
    for time in ("2026-01-06", "2026-01-06T10:00:00", "2026-01-06T10:00+01:00", "2026-01-06 10:00", 3):
        with pytest.raises(DeniableError, match=r"^time must be"):
            sample(kind, time=time)


@pytest.mark.parametrize("kind", ["carried-out", "details"])
@pytest.mark.parametrize("day", [None, 20260106, "2026-02-30", "2026-1-6", "20260106", "2026-W02-2", ""])
def test_the_day_of_a_visit_or_of_details_is_a_calendar_day(kind: str, day: object) -> None:
    with pytest.raises(DeniableError, match=r"^day must be a calendar day written YYYY-MM-DD$"):
        sample(kind, day=day)


def test_contact_and_hotline_are_checked() -> None:
    for field, value in {"contact": "a\nb", "hotline": "javascript:alert(1)"}.items():
        with pytest.raises(DeniableError, match=f"^{field} must"):
            sample("details", **{field: value})


def test_the_end_of_a_pause_is_covered_unless_a_report_was_the_reason_for_its_time() -> None:
    said = sample("resumption").effect(made().calendar, plain())
    assert "The promise covers this if no report was the reason for the time" in said


def test_a_recovery_that_no_copy_backs_is_a_lapse() -> None:
    assert sample("recovery").lapse is None
    incomplete = sample("recovery", complete=False, during=3)
    assert incomplete.lapse is not None
    assert incomplete.lapse.round == 3
    assert "does not cover reports filed in round 3 or earlier" in incomplete.effect(made().calendar, plain())


@pytest.mark.parametrize(
    ("kind", "after"),
    [("round", [0, 2, 3, 4]), ("override", [0, 2, 3, 4]), ("targets", [0, 2, 3, 4, 0]), ("skip", [1, 2, 3, 4]),
     ("renamed", [1, 2, 3, 4]), ("carried-out", [1, 2, 3, 4]), ("not-carried-out", [1, 2, 3, 4]),
     ("recovery", [1, 2, 3, 4]), ("details", [1, 2, 3, 4])],
)  # fmt: skip
def test_the_reports_that_an_entry_ends(kind: str, after: list[int]) -> None:
    state = PublicState.start(made())
    changed = sample(kind).change_run(AuditRun(state.mechanism), np.array([[1, 2, 3, 4]]), state)
    assert changed.tolist() == [after]


@pytest.mark.parametrize(
    ("kind", "waiting", "others"),
    [("round", [5, 6, 7, 8], [0, 2, 3, 4]), ("override", [5, 6, 7, 8], [0, 2, 3, 4]),
     ("emergency", [0, 6, 7, 8], [0, 2, 3, 4]), ("targets", [0, 6, 7, 8, 0], [0, 2, 3, 4, 0])],
)  # fmt: skip
def test_a_visit_that_waits_ends_with_its_own_entry_alone(kind: str, waiting: list[int], others: list[int]) -> None:
    """And with its target."""
    state = PublicState.start(made(classes=(ReportClass("report", 1), ReportClass("danger", None))))
    tally = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
    assert sample(kind).change_run(AuditRun(state.mechanism), tally, state).tolist() == [others, waiting]


def test_an_emergency_is_of_a_class_that_leads_to_a_visit() -> None:
    state = PublicState.start(made(classes=(ReportClass("minor", 1), ReportClass("danger", None))))
    assert Emergency.following(state, audits=[A], report_class="danger", reason=None).after(state).latest_audit[0] == 1
    for name, why in {"minor": "counts in the draw", "other": "there is no class"}.items():
        with pytest.raises(DeniableError, match=why):
            Emergency.following(state, audits=[A], report_class=name, reason=None).after(state)
