"""An audit programme in its database: reports come in, rounds are closed, the transcript grows.

Whatever changes the programme is one transaction: it happens as a whole or not at all, and one after the other across
processes. What the world can see of it (when a round may be closed, what an error says, how long a record is) is
a function of public facts.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa

from deniable.errors import DeniableError, PlaceError, check_whole
from deniable.programme import backup, counting, recovery, rounds
from deniable.programme.calendar import Clock, system_clock
from deniable.programme.creation import Beginning, Entropy
from deniable.programme.imports.imported_reports import ENTERED, check_source
from deniable.programme.parameters import Parameters
from deniable.programme.public import publish
from deniable.programme.public.folder import check_apart
from deniable.programme.receipt import new_receipt
from deniable.programme.secrets.keys import Key, KeyFile
from deniable.programme.secrets.lock import check_key, create_locked, unlock
from deniable.programme.secrets.vault import Vault
from deniable.programme.status import Closed, Status
from deniable.programme.transaction import Book, all_lines
from deniable.programme.transcript.chain import commitment
from deniable.programme.transcript.entries import End, NotCarriedOut, Override, Resumption, Targets
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript_copies import NOWHERE, KeyCopy, NotKeptError, check_not_behind
from deniable.storage import tables
from deniable.storage.store import Store


class Programme:
    """One audit programme in one database. Without its key the public half works: status, publish, backup.

    `copy` is the copy of the transcript beside the key file; `clock` and `entropy` are there for tests.
    """

    def __init__(
        self,
        store: Store,
        vault: Vault | None = None,
        copy: KeyCopy | None = None,
        *,
        clock: Clock = system_clock,
        entropy: Entropy = secrets.token_bytes,
    ) -> None:
        self._store = store
        self._vault = vault
        self._copy = copy
        self._clock = clock
        self._entropy = entropy
        with store.reading() as connection:
            stored = connection.execute(sa.select(tables.programme.c.parameters)).scalar()
        if stored is None:
            raise DeniableError(f"there is no programme in {store}; make one with: deniable programme init")
        self.parameters = Parameters.from_bytes(stored.encode("ascii"))
        self._mechanism = self.parameters.built()

    @classmethod
    def create(
        cls,
        database: str,
        key: Key,
        *,
        clock: Clock = system_clock,
        entropy: Entropy = secrets.token_bytes,
        **settings: Any,
    ) -> Self:
        """A new programme in a new database. `settings` are the fields of `Parameters` that an office chooses."""
        beginning = Beginning(entropy(16).hex(), settings, entropy)
        store, vault = create_locked(database, beginning.parameters.programme, key, beginning.write)
        return cls(store, vault, KeyCopy.beside(key), clock=clock, entropy=entropy)._begun()

    @classmethod
    def begin(
        cls, store: Store, vault: Vault, copy: KeyCopy | None, *, clock: Clock = system_clock, **settings: Any
    ) -> Self:
        """A new programme in a database that is locked and has none yet."""
        with store.writing() as connection:
            programme = connection.execute(sa.select(tables.lock.c.programme)).scalar_one()
            if connection.execute(sa.select(tables.programme.c.id)).scalar() is not None:
                raise PlaceError(f"there is a programme in {store} already", store, "the database")
            check_key(connection, vault)
            Beginning(programme, settings, secrets.token_bytes).write(connection, vault)
        return cls(store, vault, copy, clock=clock)._begun()

    def _begun(self) -> Self:
        """From now on, a copy of the transcript that is missing is one that was lost."""
        if self._copy is not None and self._copy.is_writable():
            self._write_copy()
        return self

    @classmethod
    def open(cls, database: str, key: Key | None = None, **for_tests: Any) -> Self:
        """The programme in this database."""
        store = Store.open(database)
        programme = cls(store, **for_tests)  # tells a missing programme from a wrong key
        if key is not None:
            programme._vault, programme._copy = unlock(store, key), KeyCopy.beside(key)
        return programme

    def close(self) -> None:
        """Let go of the database."""
        self._store.dispose()

    def status(self) -> Status:
        with self._store.reading() as connection:
            state = self._state(connection)
            folder = connection.execute(sa.select(tables.programme.c.folder)).scalar()
        return Status.now(state, None if folder is None else Path(folder), self._clock())

    def check_current(self) -> None:
        """Refuse where a copy of the transcript is newer than the database, or differs from it."""
        with self._store.reading() as connection:
            check_not_behind(connection, self._trusted_state(connection), self._copy, must_read=True)

    def publish(self, folder: Path | None = None, *, lost: bool = False, keys: Iterable[Path] = ()) -> Path:
        """Write what is committed into the public folder, by default where it was last published.

        Another folder can be named, with the key, while the last one is there to compare with: if it is ahead, the
        database is an old one, and would draw published rounds again. `lost` says that it is gone for good. Neither
        the database nor the key, in one of the files `keys` or another that is found, may be in the folder.
        """
        with self._store.writing() as connection:  # so that no older version can overwrite a newer one
            row = connection.execute(sa.select(tables.programme)).one()
            if folder is None and row.folder is None:
                raise DeniableError("the folder to publish in must be named the first time: --out FOLDER")
            out = Path(row.folder) if folder is None else folder.absolute()
            check_apart(out, self._store.file, keys)
            state = self._trusted_state(connection)
            beside = [copy for key in keys if (copy := KeyCopy.beside(KeyFile(key))) is not None and copy.exists()]
            for copy in {self._copy, *beside}:
                check_not_behind(connection, state, copy, must_read=not lost)
            if str(out) != row.folder:
                self._move(connection, str(out))
            publish.publish(self.parameters, all_lines(connection), row.head, out)
        return out

    def _move(self, connection: sa.Connection, folder: str) -> None:
        """Publish there from now on."""
        if self._state(connection).ended:  # there is no draw to protect any more, and no secret either
            connection.execute(sa.update(tables.programme), {"folder": folder})
            return
        book = self._book(connection)
        book.write_folder(folder)
        book.finish()

    def keep_copy(self) -> None:
        """See to it that the transcript stands beside the key, or else in the public folder. Only then may people see
        what was drawn: from then on, an older database refuses to draw it again.
        """
        with self._store.reading() as connection:
            check_not_behind(connection, self._trusted_state(connection), self._copy, must_read=False)
        self._write_copy()

    def _write_copy(self) -> None:
        with self._store.writing() as connection:  # one process at a time
            row = connection.execute(sa.select(tables.programme)).one()
            if self._copy is not None and self._copy.bring_up_to_date(row.head, partial(all_lines, connection)):
                return
        if row.folder is None:
            raise DeniableError(NOWHERE)
        self.publish()

    def backup(self, path: Path) -> None:
        """Everything in the database at one moment, secrets encrypted as they are, in one file."""
        backup.write(self._store, path)

    def seals(self) -> dict[int, bytes]:
        """Every round's inputs, by the number of its entry, sealed for the oversight body."""
        with self._store.reading() as connection:
            rows = connection.execute(sa.select(tables.seals).order_by(tables.seals.c.entry)).all()
        return {row.entry: bytes(row.blob) for row in rows}

    def report(self, reports: Mapping[str, int], receipt: str | None = None) -> str:
        """Count these reports, by the target's name, in the open round. When this returns they are on the disk.

        Those about targets that do not take part hold back no others; refused where all are. Returns the receipt with
        which they can be withdrawn; a given one is that of `new_receipt`, and counts once.
        """
        receipt = new_receipt() if receipt is None else receipt
        with self._going_on(must_read=False) as book:
            counting.enter(book, reports, receipt)
        return receipt

    def withdraw(self, reports: Mapping[str, int], receipt: str) -> tuple[str, ...]:
        """Take back reports that were entered by mistake in the open round; no other round can be corrected.

        Returns the targets of which none were taken back (`counting.withdraw`).
        """
        with self._going_on(must_read=False) as book:
            return counting.withdraw(book, reports, receipt)

    def push(self, sender: str, name: str, reports: Mapping[str, int]) -> bool:
        """Count reports that a machine sends, once however often; returns whether they count (`counting.push`)."""
        with self._going_on(must_read=False) as book:
            return counting.push(book, sender, name, reports)

    def import_reports(
        self, source: str, reports: Iterable[tuple[str, str | None]], *, dry_run: bool = False, count: bool = True
    ) -> int:
        """Count those reports of a hotline that are new; returns how many (`counting.import_reports`). Confidential.

        A dry run changes nothing.
        """
        check_source(source)
        with self._going_on(must_read=False) as book:
            return counting.import_reports(book, source, reports, dry_run=dry_run, count=count)

    def add_source(self, source: str) -> None:
        """Make room for a hotline before its first import, so that the stored length does not tell when that is."""
        with self._writing() as book:
            book.add_source(check_source(source))

    def sources(self) -> tuple[str, ...]:
        """The names of the hotlines that it knows, in the order of the alphabet."""
        with self._writing() as book:
            return tuple(sorted(name for name in book.sources() if name != ENTERED))

    def resume_imports(self, reason: str) -> Entry:
        """Let reports that hotlines bring count again after a recovery. Those brought since do not count."""
        with self._going_on() as book:
            entry = Resumption.following(book.state, reason=reason)
            book.append(entry)
        return entry

    def active_counts(self) -> dict[str, int]:
        """The reports of every target since its last audit, the open round's included. Confidential."""
        with self._writing() as book:
            run, tally = book.read_counts()
            active, state = run.active_counts(), book.state
        numbers = {name: state.numbers[name] for name in state.present}
        return {name: active[number] + tally[number] for name, number in numbers.items()}

    def close_round(self, round_: int | None = None, reason: str | None = None) -> Closed:
        """Close the round when it is due: count, draw, record, forget, go on, in one transaction.

        A round that was closed before is returned as it was recorded. By default the open round; `reason` tells the
        public why it is closed late, if it is.
        """
        wanted = self.status().open_round if round_ is None else check_whole("round", round_, least=1)
        self._check_can_be_kept()
        with self._writing() as book:
            if wanted < book.state.open_round:
                closed = rounds.recorded(book, wanted)
            else:
                closed = rounds.draw(book, self._next_seed, self._days_late(book, wanted), reason)
        if closed.already:
            self.keep_copy()  # another process may have closed it a moment ago, and not have copied it yet
        return closed

    def skip(self, reason: str, *, independent: bool) -> Closed:
        """Close the open round, when it is due, without an audit; its reports go on into the next one."""
        self._check_can_be_kept()
        with self._writing() as book:
            late, decided = self._days_late(book, book.state.open_round), self._decided(book, reason, independent)
            return rounds.skip(book, self._next_seed, late, decided)

    def override(self, targets: Sequence[str], reason: str, *, independent: bool) -> Entry:
        """Record audits ordered by hand now, outside the draw. The reports about these targets are deleted."""
        with self._going_on() as book:
            entry = Override.following(book.state, audits=targets, **self._decided(book, reason, independent))
            self._apply(book, entry)
        return entry

    def change_targets(
        self, reason: str, *, independent: bool, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> Entry:
        """Let targets join or leave from the open round on. The reports about those that leave are deleted."""
        with self._going_on() as book:
            entry = Targets.following(book.state, added=add, removed=remove, **self._decided(book, reason, independent))
            self._apply(book, entry)
        return entry

    def not_carried_out(self, round_: int, target: str, reason: str, *, independent: bool) -> Entry:
        """Record that an audit could not be carried out. That it was chosen stands, and its reports stay deleted."""
        with self._going_on() as book:
            entry = NotCarriedOut.following(
                book.state, of=round_, target=target, **self._decided(book, reason, independent)
            )
            book.append(entry)
        return entry

    def end(self, reason: str) -> Entry:
        """End the programme for good: all counts, seeds and keys in the database are destroyed."""
        with self._going_on() as book:
            entry = End.following(book.state, reason=reason)
            book.append(entry)
            book.destroy()
        return entry

    def rekey(self, key: Key) -> None:
        """Encrypt every secret with a new key. Old backups become unreadable when the old key is destroyed."""
        status = self.status()
        if KeyCopy.beside(key) is None and status.entries and status.folder is None:
            raise DeniableError(NOWHERE)
        with self._going_on(must_read=False) as book:  # an old database would get a copy as old as itself
            master, kdf = key.new()
            vault = Vault(master, self.parameters.programme)
            book.change_vault(vault, kdf)
        self._vault, self._copy = vault, KeyCopy.beside(key)
        if KeyCopy.beside(key) is not None or status.entries:
            self._write_copy()
        self._store.scrub()

    def renew(self) -> None:
        """Seal the open round's secrets anew, so that two copies of the database, one before and one after this, do not
        tell whether any report came in between.
        """
        with self._writing() as book:
            book.renew()

    def recover(self, folder: Path | None, reason: str) -> Entry:
        """Go on from a backup, or without the copy beside the key, with a new seed (`recovery.recover`).

        By default the public folder is the one where the programme was last published, if that is there.
        """
        newest = recovery.newest(self.status(), folder, self._copy)
        with self._writing() as book:
            during = rounds.calendar_round(book, self._clock())
            return recovery.recover(book, newest, self._copy, self._next_seed, during=during, reason=reason)

    def _next_seed(self, round_: int) -> tuple[bytes, str]:
        """A round's seed, and the commitment to it."""
        seed = self._entropy(32)
        return seed, commitment(self.parameters.programme, round_, seed)

    def _apply(self, book: Book, entry: Entry) -> None:
        """Append an entry made in the open round, with what it means for the targets' runs."""
        entry.after(book.state)  # refuses what cannot stand, in words about the entry
        run, tally = book.read_counts()
        tally = entry.change_run(run, tally, book.state)
        book.append(entry)
        book.write_counts(run, tally)

    def _decided(self, book: Book, reason: str, independent: bool) -> dict[str, Any]:
        """The fields of every decision."""
        during = rounds.calendar_round(book, self._clock())
        return {"reason": reason, "independent": independent, "during": during}

    def _days_late(self, book: Book, round_: int) -> int:
        """Refuses a round that may not be closed now."""
        late = rounds.days_late(book, round_, self._clock())
        book.check_can_go_on(self._copy)
        return late

    @contextmanager
    def _writing(self) -> Iterator[Book]:
        """A transaction. What it appended to the transcript is kept outside the database before this returns."""
        with self._store.writing() as connection:
            book = self._book(connection)
            before = book.state.entries
            yield book
            book.finish()
        if book.state.entries > before:
            self._store.scrub()
            try:
                self._write_copy()
            except DeniableError as error:
                raise NotKeptError(
                    "this is done and recorded in the database, but could not be written outside it, so it is not "
                    "shown yet: make the folder of the key file or the public folder writable, then publish; do not do "
                    "it again"
                ) from error

    @contextmanager
    def _going_on(self, must_read: bool = True) -> Iterator[Book]:
        """The same, refused where a copy of the transcript is newer than the database.

        `must_read`: for what makes an entry, refused also where that could not be kept outside the database.
        """
        if must_read:
            self._check_can_be_kept()
        with self._writing() as book:
            book.check_can_go_on(self._copy, must_read)
            yield book

    def _check_can_be_kept(self) -> None:
        """Refuse to make an entry that could not be kept outside the database."""
        if self._vault is not None:  # without the key, something else refuses it
            self.keep_copy()

    def _book(self, connection: sa.Connection) -> Book:
        state = self._state(connection)
        if state.ended:
            raise DeniableError("the programme has ended, and its secrets are destroyed")
        if self._vault is None:
            raise DeniableError("this needs the programme's key; give its key file or its passphrase")
        return Book(connection, self.parameters, self._mechanism, state, self._vault)

    def _trusted_state(self, connection: sa.Connection) -> PublicState:
        """With the key, one that the sealed manifest vouches for."""
        state = self._state(connection)
        return state if self._vault is None or state.ended else self._book(connection).state

    def _state(self, connection: sa.Connection) -> PublicState:
        stored = connection.execute(sa.select(tables.programme.c.state)).scalar_one()
        return PublicState.from_json(self.parameters, stored)
