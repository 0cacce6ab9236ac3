"""What the console keeps, in both databases; it is here because they are."""

from datetime import UTC, datetime
from pathlib import Path

from tests.programme.offices import Clock

from deniable.console import sessions
from deniable.console.accounts import activity, invitations, people, tokens, totp
from deniable.console.accounts.people import Person
from deniable.console.console import Console
from deniable.message import noted
from deniable.programme.secrets.keys import KeyFile

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
        assert totp.use(connection, key, person.id, 2)
        assert not totp.use(connection, key, person.id, 2)
        invitations.invite(connection, key, "Berta", "auditor", NOW)
        otto = Person("otto", "Otto", "operator")
        people.add(connection, key, otto, password="hash", totp_salt="salt")
        sessions.begin(connection, key, otto.id, NOW)
        people.set_disabled(connection, key, otto.id, True)
        assert people.remove(connection, key, otto.id) == "Otto"
    console.record(person, noted("looked around"))
    with console.store.reading() as connection:
        found = sessions.find(connection, key, cookie, NOW)
        assert found is not None
        assert found.person == person
        assert tokens.find(connection, key, secret) is not None
        assert [(one.person.name, one.altered) for one in people.listed(connection, key)] == [
            ("Ada", False),
            ("Berta", False),
        ]
        assert [deed.action for deed in activity.read(connection, 5).entries] == [noted("looked around")]
    assert console.has_people()
    assert console.programme() is None
    console.close()
