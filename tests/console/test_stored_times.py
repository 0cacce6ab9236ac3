"""The database tells on which day people worked, and no finer; opening a page writes nothing into it."""

import re
from datetime import timedelta

import pytest
import sqlalchemy as sa
from tests.console.offices import Office
from tests.programme.insight import everything

from deniable.console import tables

FINER = [timedelta(seconds=1), timedelta(seconds=30), timedelta(minutes=1), timedelta(hours=1)]


def times_in(office: Office) -> set[str]:
    """Numbers and texts that are moments near the present, in a unit finer than a day."""
    now, found = office.clock.now.timestamp(), set()
    rows = [(table, row) for table, rows in everything(str(office.database)).items() for row in rows]
    for table, row in rows:
        for value in row.values():
            near = isinstance(value, int) and any(abs(value * one.total_seconds() - now) < 10 * 86_400 for one in FINER)
            if near or (isinstance(value, str) and re.search(r"\d\d:\d\d", value) and table != "programme"):
                found.add(f"{table}: {value}")
    return found


def test_no_time_of_day_is_stored(office: Office) -> None:
    """Of signing in, inviting, deciding, making a token and working on."""
    office.begin().publish(office.public)
    ada, otto = office.browser("Ada"), office.browser("Otto")
    ada.post("/people/invite", {"name": "Berta", "role": "auditor"})
    ada.post("/tokens", {"name": "machine", "scope": "status"})
    otto.get("/round")
    assert times_in(office) == set()
    with office.console.store.writing() as connection:  # and it can be seen
        minute = int(office.clock.now.timestamp()) // 60
        connection.execute(sa.update(tables.sessions).values(began=minute))
    assert times_in(office)


PAGES = {
    "Ada": ("/people", "/tokens", "/hotlines", "/activity", "/health", "/account", "/guarantee"),
    "Otto": ("/round", "/transcript", "/public/index.html", "/health", "/guarantee"),
    "Ida": ("/report", "/import"),
    "Anna": ("/round", "/report", "/import", "/transcript", "/activity"),
}


@pytest.mark.parametrize("name", PAGES)
def test_opening_pages_writes_nothing(office: Office, name: str) -> None:
    """A watcher of the database's log, or of its statistics, does not see that a person is at work."""
    office.begin().publish(office.public)
    browser = office.browser(name)
    browser.get("/")
    wrote: list[str] = []
    engine = office.console.store._engine
    sa.event.listen(
        engine, "before_cursor_execute", lambda *args: wrote.append(args[2]) if not args[2].startswith(READS) else None
    )
    log = office.database.with_name(f"{office.database.name}-wal")
    before = log.stat()
    for minutes in (0, 1, 20, 20, 20):
        office.clock.now += timedelta(minutes=minutes)
        for page in PAGES[name]:
            assert browser.get(page).status_code == 200
    assert wrote == []
    assert (log.stat().st_size, log.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


READS = ("SELECT", "BEGIN", "PRAGMA")
