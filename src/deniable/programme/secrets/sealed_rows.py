"""The rows of a database with a programme's secrets, and the sealed manifest that has the hash of each of them.

Every secret is sealed under a name that says what it is and, where it changes from round to round, of which round. A
row put back from an earlier round, or in another row's place, does not open. One of the same round does, and the
manifest shows that it is an old one.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa

from deniable.errors import DeniableError
from deniable.programme.secrets.lock import CHECK, check_key
from deniable.programme.secrets.vault import Vault
from deniable.storage import tables

MANIFEST = "manifest"
_ROOM = 1024
"""The manifest is filled up to a multiple of this, so that its length tells nothing of how many pages there are."""


class SealedRows:
    """The rows as one transaction opens and seals them; `bound` is the name under which a secret is sealed."""

    def __init__(self, connection: sa.Connection, vault: Vault) -> None:
        self._connection = connection
        self._vault = vault
        self._manifest: dict[str, Any] = {}
        self.has_changed = False
        """Whether there is something that the stored manifest does not say."""

    def __iter__(self) -> Iterator[str]:
        """All names in the manifest."""
        return iter(self._manifest)

    def __contains__(self, name: str) -> bool:
        return name in self._manifest

    def open_manifest(self) -> None:
        """What is read from now on is compared with it."""
        check_key(self._connection, self._vault)
        self._manifest = json.loads(self._vault.open(MANIFEST, self._blob(MANIFEST)))

    def seal_manifest(self) -> None:
        """As it must be from now on; last in every transaction that changes something."""
        stored = json.dumps(self._manifest, sort_keys=True).encode()
        self._store(MANIFEST, self._vault.seal(MANIFEST, stored.ljust(-(-len(stored) // _ROOM) * _ROOM)))

    def noted(self, name: str) -> Any:
        """What the manifest says besides the hashes."""
        return self._manifest[name]

    def note(self, name: str, value: Any) -> None:
        self._manifest[name], self.has_changed = value, True

    def read(self, name: str, bound: str) -> bytes:
        blob = self._blob(name)
        secret = self._vault.open(bound, blob)
        if name in self._manifest and self._manifest[name] != hashlib.sha256(blob).hexdigest():
            raise DeniableError("the stored {name} is an old one that was put back; restore the backup", name=name)
        return secret

    def write(self, name: str, bound: str, secret: bytes) -> None:
        blob = self._vault.seal(bound, secret)
        self._manifest[name] = hashlib.sha256(blob).hexdigest()
        self._store(name, blob)

    def delete(self, name: str) -> None:
        del self._manifest[name]
        self.has_changed = True
        self._connection.execute(sa.delete(tables.secrets).where(tables.secrets.c.name == name))

    def destroy(self) -> None:
        """Delete all, and the manifest; the lock of the database stays."""
        gone = (*self._manifest, MANIFEST)
        self.has_changed = False  # nothing is left that a manifest could speak of
        self._connection.execute(sa.delete(tables.secrets).where(tables.secrets.c.name.in_(gone)))

    def change_vault(self, vault: Vault, bound: Callable[[str], str]) -> None:
        """Seal every secret anew; the manifest follows with `seal_manifest`."""
        names = self._connection.execute(sa.select(tables.secrets.c.name)).scalars().all()
        opened = {name: self.read(name, bound(name)) for name in names if name not in {CHECK, MANIFEST}}
        self._vault = vault
        self._store(CHECK, vault.check())
        for name, secret in opened.items():
            if name in self._manifest:
                self.write(name, bound(name), secret)
            else:  # not the programme's, and there after its end
                self._store(name, vault.seal(name, secret))

    def _blob(self, name: str) -> bytes:
        blob = self._connection.execute(tables.SECRET, {"name": name}).scalar()
        if blob is None:
            raise DeniableError("the stored {name} is missing; restore the last backup", name=name)
        return bytes(blob)

    def _store(self, name: str, blob: bytes) -> None:
        self.has_changed = True
        tables.put(self._connection, tables.secrets, name, blob)
