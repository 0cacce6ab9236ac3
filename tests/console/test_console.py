"""What the console keeps in the database: nothing that opens a door, and all that must outlive it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.console.offices import PASSWORD, Office
from tests.programme.insight import everything

from deniable.console.accounts import activity, hotlines, invitations, people, row_authentication, tokens, totp
from deniable.console.console import CONSOLE_KEY, Console
from deniable.errors import DeniableError
from deniable.message import noted
from deniable.programme import backup
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.secrets.lock import unlock
from deniable.storage import tables
from deniable.storage.layout import TRANSIENT
from deniable.storage.store import Store

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


def test_the_database_does_not_have_what_opens_doors(office: Office) -> None:
    key = office.console.key
    with office.console.store.writing() as connection:
        link = invitations.invite(connection, key, "Berta", "auditor", NOW)
        token = tokens.make(connection, key, "hotline", ["reports"])
    browser = office.browser("Ada")
    stored = repr(everything(str(office.console.store.url.database)))
    secret = totp.totp(key, "id-Ada", office.salt("Ada")).secret
    for opens in (link, token, browser.cookie("session"), PASSWORD, secret, key.hex()):
        assert opens is not None
        assert opens not in stored
    assert row_authentication.digest(key, "token", token) in stored  # the check would see it
    assert office.salt("Ada") in stored


def test_a_backup_has_the_people_and_nothing_else_that_opens(office: Office, tmp_path: Path) -> None:
    """A person who was shut out since must not be signed in again, a link that was used must stay used, a token
    that was revoked must stay revoked, and a person who no longer brings a hotline must not bring it again.
    """
    office.begin()
    office.browser("Ada")
    assert office.browser().sign_in("Ada", "not her password").status_code == 403
    key = office.console.key
    with office.console.store.writing() as connection:
        invitations.invite(connection, key, "Berta", "auditor", NOW)
        secret = tokens.make(connection, key, "hotline", ["reports"])
        activity.record(connection, NOW, "Ada", noted("invited Berta as auditor"), "people")
    before = everything(str(office.console.store.url.database))
    backup.write(office.console.store, tmp_path / "backup")
    restored = str(tmp_path / "restored.db")
    backup.restore(tmp_path / "backup", restored, never_published=True)
    after = everything(restored)
    gone = {table: before[table] for table in before if table.startswith(TRANSIENT)}
    assert {table: len(rows) for table, rows in gone.items()} == {
        "transient_sessions": 1,
        "transient_invitations": 1,
        "transient_used_codes": 1,
        "transient_wrong_codes": 1,
        "transient_tokens": 1,
        "transient_remains": 0,
        "transient_hotlines": 1,
    }
    secrets = [row for row in before["secrets"] if row["name"] != "seed"]
    assert after == before | {table: [] for table in gone} | {"secrets": secrets}
    assert [one["name"] for one in after["people"]] == ["Ada", "Anna", "Ida", "Otto"]
    store = Store.open(restored)
    again = Console(store, unlock(store, KeyFile(tmp_path / "console.key")))
    with again.store.reading() as connection:  # and all of it is believed
        assert again.key == key
        assert not any(one.altered for one in people.listed(connection, key))
        assert tokens.find(connection, key, secret) is None
        assert hotlines.listed(connection, key) == []
    again.close()


def test_the_console_key_outlives_a_change_of_the_key_and_the_end(office: Office, tmp_path: Path) -> None:
    """Otherwise everybody's one-time codes would be lost with it, and nobody's row would be believed."""
    programme = office.begin()
    key = office.console.key
    new = KeyFile(tmp_path / "new.key")
    programme.rekey(new)
    programme.end("The pilot is over.")
    again = Console.open(str(office.console.store.url.database), new, clock=office.clock)
    assert again.key == key
    again.close()


def test_the_console_key_is_sealed(office: Office) -> None:
    with office.console.store.reading() as connection:
        found = sa.select(tables.secrets.c.blob).where(tables.secrets.c.name == CONSOLE_KEY)
        blob = bytes(connection.execute(found).scalar_one())
    assert office.console.key not in blob
    assert office.console.vault.open(CONSOLE_KEY, blob) == office.console.key


def test_a_console_that_could_not_be_made_leaves_no_key_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise DeniableError("no")

    monkeypatch.setattr("deniable.storage.store.migrate", fails)
    with pytest.raises(DeniableError, match="no"):
        Console.open(str(tmp_path / "console.db"), KeyFile(tmp_path / "console.key"))
    assert list(tmp_path.iterdir()) == []
