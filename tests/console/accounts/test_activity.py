from datetime import datetime, timedelta

import sqlalchemy as sa

from deniable.console.accounts import activity
from deniable.console.accounts.activity import LogEntry, LogPage


def test_the_log_knows_the_day_and_no_more(connection: sa.Connection, now: datetime) -> None:
    activity.record(connection, now, "Ada", "invited Berta as auditor", "people")
    activity.record(connection, now + timedelta(days=1), "Otto", "closed round 1")
    newest = LogEntry("2026-01-06", "Otto", "closed round 1")
    oldest = LogEntry("2026-01-05", "Ada", "invited Berta as auditor")
    assert activity.read(connection, 10) == LogPage((newest, oldest), older=None, newer=None)
    assert activity.read(connection, 1) == LogPage((newest,), older=1, newer=None)
    assert activity.read(connection, 1, 1) == LogPage((oldest,), older=None, newer=0)
    assert activity.read(connection, 1, 2) == LogPage((), older=None, newer=1)


def test_once_a_day_is_once_a_day_and_person(connection: sa.Connection, now: datetime) -> None:
    for who, later in (("Anna", 0), ("Anna", 0), ("Berta", 0), ("Anna", 1), ("Anna", 1)):
        activity.record(connection, now + timedelta(days=later), who, "looked at the counts", once_a_day=True)
    seen = [(entry.day, entry.who) for entry in activity.read(connection, 10).entries]
    assert seen == [("2026-01-06", "Anna"), ("2026-01-05", "Berta"), ("2026-01-05", "Anna")]


def test_what_is_about_reports_leaves_no_gap_for_others(connection: sa.Connection, now: datetime) -> None:
    for number in range(6):
        activity.record(connection, now, "Otto", f"deed {number}")
    before = [activity.read(connection, 2, start) for start in range(0, 6, 2)]
    for number in range(6):
        activity.record(connection, now, "Eve", f"took back {number}", "reports")
    assert [activity.read(connection, 2, start) for start in range(0, 6, 2)] == before
    assert activity.names(connection) == ["Otto"]
    assert len(activity.read(connection, 20, with_reports=True).entries) == 12


def test_turning_the_pages_shows_every_deed_once_in_both_directions(connection: sa.Connection, now: datetime) -> None:
    for number in range(1, 24):
        activity.record(connection, now, "Otto", f"deed {number}", "people" if number % 3 == 0 else "programme")
    wanted: list[tuple[activity.About | None, int]] = [(None, 23), ("people", 7)]
    for about, count in wanted:
        sheet, seen = activity.read(connection, 5, about=about), []
        while True:
            seen += [int(deed.action.split()[1]) for deed in sheet.entries]
            if sheet.older is None:
                break
            sheet = activity.read(connection, 5, sheet.older, about=about)
        assert seen == sorted(set(seen), reverse=True)
        assert len(seen) == count
        back = {int(deed.action.split()[1]) for deed in sheet.entries}
        while sheet.newer is not None:
            sheet = activity.read(connection, 5, sheet.newer, about=about)
            back |= {int(deed.action.split()[1]) for deed in sheet.entries}
        assert back == set(seen)


def test_deeds_about_people_are_not_crowded_out(connection: sa.Connection, now: datetime) -> None:
    activity.record(connection, now, "Ada", "invited Eve as auditor", "people")
    for number in range(300):
        activity.record(connection, now, "Ada", f"downloaded backup {number}")
    assert not any("Eve" in deed.action for deed in activity.read(connection, 100).entries)
    assert [deed.action for deed in activity.read(connection, 100, about="people").entries] == [
        "invited Eve as auditor"
    ]
