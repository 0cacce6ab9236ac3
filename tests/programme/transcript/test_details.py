"""How to reach the office and its hotline: the newest is known, every change has its day, and reports stay counted."""

from typing import Any

import pytest
from tests.programme.public.published import NAMES, Said, chained, drawn, made

from deniable.errors import DeniableError
from deniable.programme.transcript.replay import replay
from deniable.programme.transcript.state import PublicState

CONTACT, HOTLINE = "Room 7, Town Hall", "https://hotline.example.org/"


def details(round_: int, day: str, contact: str | None = CONTACT, hotline: str | None = HOTLINE) -> Said:
    return "details", round_, {"contact": contact, "hotline": hotline, "day": day, "reason": None}


def after(*said: Said, **settings: Any) -> PublicState:
    parameters = made(**settings)
    return replay(parameters, chained(parameters, said))


def test_the_newest_are_known() -> None:
    assert after().details is None
    state = after(details(1, "2026-01-05"), drawn(1, NAMES[0]), details(2, "2026-01-13", hotline="+49 30 1"))
    assert state.details == (CONTACT, "+49 30 1", "2026-01-13")
    assert PublicState.from_bytes(state.parameters, state.to_bytes()).details == state.details


def test_they_can_be_taken_back() -> None:
    assert after(details(1, "2026-01-05"), details(1, "2026-01-06", None, None)).details is None
    part = after(details(1, "2026-01-05"), details(1, "2026-01-06", None)).details
    assert part == (None, HOTLINE, "2026-01-06")


def test_they_may_be_told_before_the_first_day() -> None:
    assert after(details(1, "2025-12-01")).details == (CONTACT, HOTLINE, "2025-12-01")


@pytest.mark.parametrize(
    "said",
    [
        [details(1, "2026-01-05"), details(1, "2026-01-06")],
        [details(1, "2026-01-05", None, None)],
        [details(1, "2026-01-05"), details(1, "2026-01-06", None, None), details(1, "2026-01-07", None, None)],
    ],
)
def test_what_changes_nothing_is_refused(said: list[Said]) -> None:
    with pytest.raises(DeniableError, match="the same as before"):
        after(*said)


def test_the_day_is_not_before_a_closed_round() -> None:
    assert after(drawn(1, NAMES[0]), details(2, "2026-01-12")).details
    with pytest.raises(DeniableError, match="cannot be before that of round 1"):
        after(drawn(1, NAMES[0]), details(2, "2026-01-11"))


def test_they_cost_no_report_its_guarantee() -> None:
    state = after(details(1, "2026-01-05"), drawn(1, NAMES[0]))
    assert state.coverage.holds_from == 1
    parameters, say = made(), made().voice()
    entry = chained(parameters, [details(1, "2026-01-05")])[0]
    assert entry.lapse is None
    assert "nothing to do with any report" in entry.effect(parameters.calendar, say)
    assert CONTACT in entry.heading(say)
    assert HOTLINE in entry.heading(say)
    assert "2026" in entry.heading(say)
    assert "none" in chained(parameters, [details(1, "2026-01-05", None)])[0].heading(say)
