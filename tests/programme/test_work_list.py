"""The work list against a plain reading of random transcripts, and in the hands of an office."""

import datetime
from pathlib import Path

import pytest
from hypothesis import given
from tests.programme.offices import TARGETS, Office, new_office
from tests.programme.public.published import made, programmes

from deniable.errors import DeniableError
from deniable.programme.parameters import Parameters
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.outcomes import outcomes, present_names
from deniable.programme.transcript.replay import replay
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript_copies import KeyCopy, NotKeptError
from deniable.programme.work_list import work_list


@given(programmes(most=20))
def test_what_is_open_is_the_latest_audit_of_which_no_entry_tells(programme: tuple[Parameters, list[Entry]]) -> None:
    parameters, entries = programme
    present = present_names(entries)
    known, latest = outcomes(entries, present), dict[str, int]()
    for entry in entries:
        if entry.outcome is not None:
            del latest[present.get(entry.outcome.target, entry.outcome.target)]
        for name in (present.get(name, name) for name in entry.audited):  # a frozen round is drawn during a later one
            latest[name] = max(latest.get(name, 0), entry.audited_in)
    expected = {(round_, name) for name, round_ in latest.items()}
    found = work_list(replay(parameters, entries))
    assert {(audit.round, audit.target) for audit in found} == expected
    assert [audit.round for audit in found] == sorted(round_ for round_, _ in expected)
    assert all(audit.day == parameters.calendar.day(audit.round) for audit in found)
    assert len(known) == sum(entry.kind in ("carried-out", "not-carried-out") for entry in entries)


def test_nothing_is_open_at_the_start() -> None:
    assert work_list(PublicState.start(made())) == ()


# In the hands of an office


@pytest.fixture
def office(database: str, tmp_path: Path) -> Office:
    return new_office(database, tmp_path)


def test_a_visit_is_on_the_list_until_it_is_recorded(office: Office) -> None:
    programme = office.programme
    (first,) = office.close()
    others = [name for name in TARGETS if name != first]
    programme.override(others[:1], "an accident", independent=True)
    assert [(audit.round, audit.target) for audit in programme.work_list()] == [(1, first), (2, others[0])]
    entry = programme.carried_out(1, first, datetime.date(2026, 1, 6))
    assert (entry.lapse, entry.own()["during"]) == (None, 2)
    assert [audit.target for audit in programme.work_list()] == others[:1]
    assert programme.status().coverage.lapses == ()


@pytest.mark.parametrize(
    ("round_", "day", "why"),
    [(1, datetime.date(2026, 1, 7), "cannot be after today, 2026-01-06"), (1, datetime.date(2026, 1, 4), "not on"),
     (2, datetime.date(2026, 1, 6), "in round 2 is open"), (0, datetime.date(2026, 1, 6), "of must be a whole number")],
)  # fmt: skip
def test_a_visit_that_cannot_have_been_is_refused(office: Office, round_: int, day: datetime.date, why: str) -> None:
    (target,) = office.close()
    with pytest.raises(DeniableError, match=why):
        office.programme.carried_out(round_, target, day)
    assert office.programme.status().entries == 1


def test_a_renamed_target_keeps_its_reports(office: Office) -> None:
    programme = office.programme
    receipt = programme.report({"Ash Mill": 2})
    programme.push("north", "monday", {"Ash Mill": 1})
    programme.rename_target("Ash Mill", "Ash Works", "It was sold.", independent=True)
    assert office.again().active_counts()["Ash Works"] == 3
    assert programme.import_reports("hotline", [("1", "Ash Mill"), ("2", "Ash Works")]) == 1
    assert programme.bring_push("north", "tuesday", {"Ash Mill": 1})[0].left_out == ("Ash Mill",)
    with pytest.raises(DeniableError, match="no target named Ash Mill takes part"):
        programme.report({"Ash Mill": 1})
    assert programme.withdraw(["Ash Works"], receipt) == ()
    assert programme.active_counts()["Ash Works"] == 2
    assert programme.targets() == ("Ash Works", *TARGETS[1:])


def test_the_list_is_not_shown_before_the_draw_is_kept(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.clock.tomorrow()
    works = iter([True])
    monkeypatch.setattr(KeyCopy, "write", lambda *_: next(works, False))
    with pytest.raises(NotKeptError):
        office.programme.close_round()
    with pytest.raises(DeniableError, match="must be kept outside the database"):
        office.programme.work_list()
