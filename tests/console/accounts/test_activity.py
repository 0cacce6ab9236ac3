import json
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa
from tests.languages.pseudo import pseudo

from deniable.console import tables
from deniable.console.accounts import activity
from deniable.console.accounts.activity import LogEntry, LogPage
from deniable.languages.voice import Voice, plain
from deniable.message import Message, all_of, noted, noted_count

INVITED = noted("invited {name} as {role}", name="Berta", role=noted("auditor"))
CLOSED = noted("closed round {round}", round=1)


def number_of(action: Message) -> int:
    return int(dict(action.values)["number"])


def test_the_log_knows_the_day_and_no_more(connection: sa.Connection, now: datetime) -> None:
    activity.record(connection, now, "Ada", INVITED, "people")
    activity.record(connection, now + timedelta(days=1), "Otto", CLOSED)
    newest = LogEntry("2026-01-06", "Otto", CLOSED)
    oldest = LogEntry("2026-01-05", "Ada", INVITED)
    assert activity.read(connection, 10) == LogPage((newest, oldest), older=None, newer=None)
    assert activity.read(connection, 1) == LogPage((newest,), older=1, newer=None)
    assert activity.read(connection, 1, 1) == LogPage((oldest,), older=None, newer=0)
    assert activity.read(connection, 1, 2) == LogPage((), older=None, newer=1)


def test_once_a_day_is_once_a_day_and_person(connection: sa.Connection, now: datetime) -> None:
    for who, later in (("Anna", 0), ("Anna", 0), ("Berta", 0), ("Anna", 1), ("Anna", 1)):
        activity.record(connection, now + timedelta(days=later), who, noted("looked at the counts"), once_a_day=True)
    seen = [(entry.day, entry.who) for entry in activity.read(connection, 10).entries]
    assert seen == [("2026-01-06", "Anna"), ("2026-01-05", "Berta"), ("2026-01-05", "Anna")]


def test_what_is_about_reports_leaves_no_gap_for_others(connection: sa.Connection, now: datetime) -> None:
    for number in range(6):
        activity.record(connection, now, "Otto", noted("deed {number}", number=number))
    before = [activity.read(connection, 2, start) for start in range(0, 6, 2)]
    for number in range(6):
        activity.record(connection, now, "Eve", noted("took back {number}", number=number), "reports")
    assert [activity.read(connection, 2, start) for start in range(0, 6, 2)] == before
    assert activity.names(connection) == ["Otto"]
    assert len(activity.read(connection, 20, with_reports=True).entries) == 12


def test_turning_the_pages_shows_every_deed_once_in_both_directions(connection: sa.Connection, now: datetime) -> None:
    for number in range(1, 24):
        about_it: activity.About = "people" if number % 3 == 0 else "programme"
        activity.record(connection, now, "Otto", noted("deed {number}", number=number), about_it)
    wanted: list[tuple[activity.About | None, int]] = [(None, 23), ("people", 7)]
    for about, count in wanted:
        sheet, seen = activity.read(connection, 5, about=about), []
        while True:
            seen += [number_of(deed.action) for deed in sheet.entries]
            if sheet.older is None:
                break
            sheet = activity.read(connection, 5, sheet.older, about=about)
        assert seen == sorted(set(seen), reverse=True)
        assert len(seen) == count
        back = {number_of(deed.action) for deed in sheet.entries}
        while sheet.newer is not None:
            sheet = activity.read(connection, 5, sheet.newer, about=about)
            back |= {number_of(deed.action) for deed in sheet.entries}
        assert back == set(seen)


def test_deeds_about_people_are_not_crowded_out(connection: sa.Connection, now: datetime) -> None:
    activity.record(connection, now, "Ada", INVITED, "people")
    for number in range(300):
        activity.record(connection, now, "Ada", noted("downloaded backup {number}", number=number))
    assert INVITED not in [deed.action for deed in activity.read(connection, 100).entries]
    assert [deed.action for deed in activity.read(connection, 100, about="people").entries] == [INVITED]


@pytest.mark.parametrize(
    "action",
    [
        CLOSED,
        INVITED,
        noted("entered other numbers than {others}", others=all_of(["Ada", "Otto {x}"])),
        noted_count("took back {number} thing", "took back {number} things", 2),
    ],
)
def test_an_action_is_stored_as_text_and_values(connection: sa.Connection, now: datetime, action: Message) -> None:
    activity.record(connection, now, "Ada", action, "people")
    assert activity.newest(connection, "Ada") == action
    assert activity.last_day(connection, action) == now.date()
    assert activity.last_day(connection, action, "Otto") is None
    (stored,) = connection.execute(sa.select(tables.activity.c.action)).scalars()
    assert json.loads(stored)["text"] == action.text


def test_an_action_is_said_in_the_readers_language(connection: sa.Connection, now: datetime) -> None:
    activity.record(connection, now, "Ada", INVITED, "people")
    (entry,) = activity.read(connection).entries
    assert plain()(entry.action) == "invited Berta as auditor"
    said = Voice(pseudo())(entry.action)
    assert said.startswith("[îñvîtéd Berta àš [àûdîtôr")
