"""Programmes for tests: an office with a clock of its own."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from deniable.programme import counting
from deniable.programme.calendar import Calendar
from deniable.programme.programme import Programme
from deniable.programme.secrets.keys import KeyFile
from deniable.storage import layout, store

TARGETS = ("Ash Mill", "Birch Works", "Cedar Bank", "Dogwood Clinic")
DAILY = Calendar(date(2026, 1, 5), "1D", "UTC")


@dataclass
class Clock:
    now: datetime = field(default_factory=lambda: datetime(2026, 1, 5, 12, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now

    def tomorrow(self) -> None:
        self.now += timedelta(days=1)


@dataclass
class Office:
    """A programme, and what it takes to open it again."""

    database: str
    key: KeyFile
    clock: Clock
    programme: Programme

    def again(self) -> Programme:
        return Programme.open(self.database, self.key, clock=self.clock)

    def count(self) -> None:
        """Count what came in, as it is done every few minutes."""
        with self.programme._access.counting() as transaction:
            counting.fold(transaction)

    def close(self) -> tuple[str, ...]:
        """Close the open round on its day."""
        self.clock.now = self.programme.parameters.calendar.due(self.programme.status().open_round)
        return self.programme.close_round().audits


def new_office(database: str, folder: Path, **settings: Any) -> Office:
    key, clock = KeyFile(folder / "programme.key"), Clock()
    chosen: dict[str, Any] = {
        "name": "Test programme",
        "targets": TARGETS,
        "mechanism": "race",
        "delta": 0.1,
        "calendar": DAILY,
    }
    entropy = settings.pop("entropy", None)
    extra = {} if entropy is None else {"entropy": entropy}
    programme = Programme.create(database, key, clock=clock, **extra, **(chosen | settings))
    return Office(database, key, clock, programme)


def make_tables_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In new databases: it is faster, and migrations have tests of their own."""
    migrate = layout.migrate

    def quick(connection: sa.Connection) -> None:
        if sa.inspect(connection).has_table("alembic_version"):
            migrate(connection)
            return
        layout.tables()[0].metadata.create_all(connection, layout.tables(), checkfirst=False)
        connection.execute(sa.text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
        connection.execute(sa.text("INSERT INTO alembic_version VALUES (:layout)"), {"layout": layout.LAYOUT})

    monkeypatch.setattr(store, "migrate", quick)
