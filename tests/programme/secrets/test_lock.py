"""A database and its key come into being together, or neither does."""

from pathlib import Path
from typing import NoReturn

import pytest
import sqlalchemy as sa
from tests.programme.offices import new_office

from deniable.errors import DeniableError
from deniable.programme.programme import Programme
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.secrets.lock import create_locked, unlock
from deniable.programme.secrets.vault import Vault
from deniable.storage import tables
from deniable.storage.store import Store


def fails(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def test_a_database_that_could_not_be_filled_leaves_no_key(database: str, tmp_path: Path) -> None:
    key = KeyFile(tmp_path / "programme.key")
    with pytest.raises(KeyboardInterrupt):
        create_locked(database, "ab" * 16, key, fails)
    assert not key.path.exists()
    create_locked(database, "ab" * 16, key)


def test_a_database_that_could_not_be_locked_leaves_no_key(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = KeyFile(tmp_path / "programme.key")
    monkeypatch.setattr(Vault, "check", fails)
    with pytest.raises(KeyboardInterrupt):
        create_locked(database, "ab" * 16, key)
    assert not key.path.exists()


def test_a_key_that_was_there_before_stays(database: str, tmp_path: Path) -> None:
    key = KeyFile(tmp_path / "programme.key")
    key.path.write_text("precious")
    with pytest.raises(DeniableError):
        create_locked(database, "ab" * 16, key)
    assert key.path.read_text() == "precious"


def test_without_its_lock_a_database_is_damaged(database: str, tmp_path: Path) -> None:
    office = new_office(database, tmp_path)
    store = Store.open(database)
    with store.writing() as connection:
        connection.execute(sa.delete(tables.secrets))
    with pytest.raises(DeniableError, match="its lock is missing; restore the last backup"):
        unlock(store, office.key)


def test_a_second_programme_is_not_begun(database: str, tmp_path: Path) -> None:
    """Two auditors may press the console's button at once."""
    office = new_office(database, tmp_path)
    store = Store.open(database)
    with pytest.raises(DeniableError, match=r"there is a programme in .* already"):
        Programme.begin(store, unlock(store, office.key), None, name="Another", targets=("A", "B"))
