"""A locked database: it has an id and a key, and perhaps no programme yet."""

from collections.abc import Callable

import sqlalchemy as sa

from deniable.errors import DeniableError
from deniable.programme.secrets.keys import Key
from deniable.programme.secrets.vault import Vault
from deniable.storage import tables
from deniable.storage.store import Store

CHECK = "check"


class KeyChangedError(DeniableError):
    """The key of the database was changed after it was unlocked."""


def create_locked(
    database: str, programme: str, key: Key, fill: Callable[[sa.Connection, Vault], None] | None = None
) -> tuple[Store, Vault]:
    """A new database, locked with a new key, and what `fill` puts into it: all of it, or neither database nor key."""
    made: list[Vault] = []

    def first(connection: sa.Connection) -> None:
        made.append(_lock(connection, programme, key))
        if fill is not None:
            fill(connection, made[0])

    try:
        store = Store.create(database, first)
    except BaseException:
        if made:
            key.discard()
        raise
    return store, made[0]


def _lock(connection: sa.Connection, programme: str, key: Key) -> Vault:
    """Bind an empty database to a programme's id and a new key."""
    master, kdf = key.new()
    try:
        vault = Vault(master, programme)
        connection.execute(sa.insert(tables.lock), {"id": 1, "programme": programme, "kdf": kdf})
        connection.execute(sa.insert(tables.secrets), {"name": CHECK, "blob": vault.check()})
    except BaseException:
        key.discard()
        raise
    return vault


def unlock(store: Store, key: Key) -> Vault:
    """The database's secrets can be read with what this returns; refuses another key."""
    with store.reading() as connection:
        return vault_of(connection, key, str(store))


def vault_of(connection: sa.Connection, key: Key, where: str) -> Vault:
    """The same within a transaction; `where` names the database or backup in errors."""
    row = connection.execute(sa.select(tables.lock)).one_or_none()
    check = _stored_check(connection)
    if row is None or check is None:
        raise DeniableError("{where} is damaged: its lock is missing; restore the last backup", where=where)
    vault = Vault(key.master(row.kdf), row.programme)
    if not vault.matches(check):
        raise DeniableError("this is not the key of the programme in {where}", where=where)
    return vault


def check_key(connection: sa.Connection, vault: Vault) -> None:
    """Refuse to go on with a key that is not the database's any more: what it sealed could never be opened."""
    check = _stored_check(connection)
    if check is not None and not vault.matches(check):
        raise KeyChangedError("the key was changed since this was started; start it again with the new key")


def is_locked_with(connection: sa.Connection, vault: Vault) -> bool:
    """Whether this is the key of the database now."""
    check = _stored_check(connection)
    return check is not None and vault.matches(check)


def _stored_check(connection: sa.Connection) -> bytes | None:
    found = connection.execute(tables.SECRET, {"name": CHECK}).scalar()
    return None if found is None else bytes(found)
