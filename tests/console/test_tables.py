"""What the console keeps, in both databases; it is here because they are."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.programme.insight import connected, everything
from tests.programme.offices import Clock, new_office

from deniable.console import sessions
from deniable.console.accounts import activity, invitations, people, tokens, totp
from deniable.console.accounts.people import Person
from deniable.console.console import Console
from deniable.errors import DeniableError
from deniable.programme.secrets.keys import KeyFile
from deniable.storage.store import Store

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


def test_a_console_in_either_database(database: str, tmp_path: Path) -> None:
    """A console where there was none: its first administrator, a session, a token, a deed."""
    clock = Clock()
    console = Console.open(database, KeyFile(tmp_path / "console.key"), clock=clock)
    console.close()
    console = Console.open(database, KeyFile(tmp_path / "console.key"), clock=clock)
    key = console.key
    with console.store.writing() as connection:
        link = invitations.invite_first(connection, key, NOW)
        assert link is not None
        person = invitations.accept(connection, key, link, NOW, name="Ada", password="hash", salt="salt", step=1)
        cookie = sessions.begin(connection, key, person.id, NOW)
        secret = tokens.make(connection, key, "hotline", ["status"])
        assert totp.use(connection, person.id, 2)
        assert not totp.use(connection, person.id, 2)
        invitations.invite(connection, key, "Berta", "auditor", NOW)
        otto = Person("otto", "Otto", "operator")
        people.add(connection, key, otto, password="hash", codes="salt")
        sessions.begin(connection, key, otto.id, NOW)
        people.set_disabled(connection, key, otto.id, True)
        assert people.remove(connection, key, otto.id) == "Otto"
    console.record(person, "looked around")
    with console.store.reading() as connection:
        found = sessions.find(connection, key, cookie, NOW)
        assert found is not None
        assert found.person == person
        assert tokens.find(connection, key, secret) is not None
        assert [(one.person.name, one.altered) for one in people.listed(connection, key)] == [
            ("Ada", False),
            ("Berta", False),
        ]
        assert [deed.deed for deed in activity.read(connection, 5, before=2).deeds] == ["looked around"]
    assert console.has_people()
    assert console.programme() is None
    console.close()


def test_a_programme_from_before_the_console_is_brought_up_to_date(database: str, tmp_path: Path) -> None:
    office = new_office(database, tmp_path)
    before = everything(database)
    with connected(database) as connection:
        for table in ("activity", "hotlines", "tokens", "sessions", "invitations", "people"):
            connection.execute(sa.text(f"DROP TABLE {table}"))
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0003'"))
    with pytest.raises(DeniableError, match=r"has layout 0003, .* run: deniable programme upgrade"):
        office.again()
    Store(database).upgrade()
    assert everything(database) == before
    Console.open(database, office.key).close()
