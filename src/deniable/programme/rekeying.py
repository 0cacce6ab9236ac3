"""A change of the key, in an order in which a process can be killed at every step and the next try goes on.

First the copy of the transcript beside the new key, then the new key file, then a note in the place of the copy beside
the old key, and the database last. A copy beside the new key that has nothing else than this database is what an
earlier try left: its key is used. A note beside the old key, of a database that still opens with that key, is what an
earlier try left, too, unless the database is an old one; the note says where the new copy is, and that one tells.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import sqlalchemy as sa

from deniable.errors import DeniableError
from deniable.programme.access import Access, keep
from deniable.programme.counting import fold
from deniable.programme.old_databases import check_not_behind
from deniable.programme.secrets.keys import Key, KeyFile
from deniable.programme.secrets.lock import is_locked_with
from deniable.programme.secrets.vault import Vault, new_key_file
from deniable.programme.transaction import Transaction
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript_copies import KeyCopy, Places, StoredTranscript, locked
from deniable.storage.store import Store


class KeyChange:
    """From the key that has the copy `old` beside it, or none, to another one."""

    vault: Vault
    kdf: str | None
    is_kept: bool
    """Whether there is a copy beside the new key."""

    def __init__(self, key: Key, old: KeyCopy | None) -> None:
        self._key, self._old, self.new = key, old, KeyCopy.beside(key)
        self._undo: list[Callable[[], object]] = []

    def undo_interrupted(self, connection: sa.Connection, state: PublicState) -> None:
        """Put back the copy beside the old key, where a note of an earlier try is in its place.

        Refused where the new copy is missing or has more than the database: the earlier change was finished, and this
        is an old database. The key of the earlier try, if it is not taken now, is retired: no other database may go on
        with it.
        """
        note = None if self._old is None else self._old.note()
        if note is None or self._old is None:
            return
        other = None if note.replaced_by is None else KeyCopy(note.replaced_by)
        try:
            check_not_behind(connection, state, other, folder_may_be_away=other is not None)
        except DeniableError as error:
            raise self._old.error(
                "{copy} says that this key was replaced by another: use that one ({error})", error=error
            ) from None
        self._old.put_back(note.was)
        if other is not None and (self.new is None or other.path != self.new.path):
            other.retire(None if self.new is None else self.new.path)

    def prepare(self, transaction: Transaction, database: Path | None) -> None:
        """Everything outside the database; `or_as_before` undoes it."""
        transcript, in_folder = StoredTranscript.of(transaction), transaction.is_kept_in_folder
        if transcript.lines:
            transcript.check_can_be_kept(Places(self.new, in_folder))
        master, self.kdf = self._new_key(transcript)
        self.vault = Vault(master, transcript.parameters.programme)
        if self._old is not None and self._old.exists():
            self._undo.append(partial(self._old.put_back, self._old.content()))
            self._old.retire(None if self.new is None else self.new.path)
        if transcript.lines:
            keep(transcript, Places(self.new if self.is_kept else None, in_folder), database)

    def _new_key(self, transcript: StoredTranscript) -> tuple[bytes, str | None]:
        key, copy = self._key, self.new
        self.is_kept = False
        if not isinstance(key, KeyFile) or copy is None:
            return key.new()
        is_left_over = copy.exists() and copy.note() is None and copy != self._old
        if os.path.lexists(key.path) and not is_left_over:
            return key.new()  # which says that it is never overwritten
        if not copy.exists():
            self._undo.append(lambda: copy.path.unlink(missing_ok=True))
        self.is_kept = copy.write(transcript) if is_left_over else copy.begin(transcript)
        if os.path.lexists(key.path):
            return key.master(None), None
        try:
            master = new_key_file(key.path)
        except DeniableError:  # it may be there by now, and another's
            raise
        except BaseException:
            key.path.unlink(missing_ok=True)
            raise
        self._undo.append(lambda: key.path.unlink(missing_ok=True))
        return master, None

    @contextmanager
    def or_as_before(self, store: Store) -> Iterator[None]:
        """Where what is done fails, neither the new key nor its copy is left, and the old copy is put back.

        Unless the database is locked with the new key after all, as when its server took the change and could not say
        so, or does not answer: then all is left as it is, and both keys can be tried.
        """
        try:
            yield
        except BaseException:
            is_changed = False
            if hasattr(self, "vault"):
                is_changed = True
                with suppress(DeniableError), store.reading() as connection:
                    is_changed = is_locked_with(connection, self.vault)
            for undo in [] if is_changed else reversed(self._undo):
                undo()
            raise


def rekey(access: Access, key: Key) -> None:
    """Encrypt every secret with a new key."""
    change = KeyChange(key, access.copy)
    with locked(access.copy):
        with access.store.reading() as connection:
            change.undo_interrupted(connection, access.trusted(connection)[0])
        with change.or_as_before(access.store), access.counting() as transaction:  # refuses an old database
            fold(transaction)  # the pages of old backups become unreadable, too
            access.store.expect_scrub(transaction.connection)
            change.prepare(transaction, access.store.file)
            transaction.change_vault(change.vault, change.kdf)
            transaction.note_kept_beside_key(change.is_kept)
    access.vault, access.copy = change.vault, change.new
    access.store.scrub()
