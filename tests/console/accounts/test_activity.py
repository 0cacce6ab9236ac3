from datetime import datetime, timedelta

import sqlalchemy as sa

from deniable.console.accounts import activity
from deniable.console.accounts.activity import LogEntry, LogPage


def test_the_log_knows_the_day_and_no_more(connection: sa.Connection, now: datetime) -> None:
    activity.record(connection, now, "Ada", "invited Berta as auditor", "people")
    activity.record(connection, now + timedelta(days=1), "Otto", "closed round 1")
    newest = LogEntry(2, "2026-01-06", "Otto", "closed round 1")
    oldest = LogEntry(1, "2026-01-05", "Ada", "invited Berta as auditor")
    assert activity.read(connection, 10) == LogPage((newest, oldest), older=None, newer=None)
    assert activity.read(connection, 1) == LogPage((newest,), older=2, newer=None)
    assert activity.read(connection, 1, before=2) == LogPage((oldest,), older=None, newer=3)
    assert activity.read(connection, 1, before=1) == LogPage((), older=None, newer=2)


def test_turning_the_pages_shows_every_deed_once_in_both_directions(connection: sa.Connection, now: datetime) -> None:
    for number in range(1, 24):
        activity.record(connection, now, "Otto", f"deed {number}", "people" if number % 3 == 0 else "programme")
    wanted: list[tuple[activity.About | None, int]] = [(None, 23), ("people", 7)]
    for about, count in wanted:
        sheet, seen = activity.read(connection, 5, about=about), []
        while True:
            seen += [deed.number for deed in sheet.entries]
            if sheet.older is None:
                break
            sheet = activity.read(connection, 5, sheet.older, about)
        assert seen == sorted(set(seen), reverse=True)
        assert len(seen) == count
        back = {deed.number for deed in sheet.entries}
        while sheet.newer is not None:
            sheet = activity.read(connection, 5, sheet.newer, about)
            back |= {deed.number for deed in sheet.entries}
        assert back == set(seen)


def test_deeds_about_people_are_not_crowded_out(connection: sa.Connection, now: datetime) -> None:
    activity.record(connection, now, "Ada", "invited Eve as auditor", "people")
    for number in range(300):
        activity.record(connection, now, "Ada", f"downloaded backup {number}")
    assert not any("Eve" in deed.action for deed in activity.read(connection, 100).entries)
    assert [deed.action for deed in activity.read(connection, 100, about="people").entries] == [
        "invited Eve as auditor"
    ]
