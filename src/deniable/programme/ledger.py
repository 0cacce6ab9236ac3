"""An audit programme in its database: reports come in, rounds are closed, the transcript grows.

Whatever changes the programme is one transaction: it happens as a whole or not at all, and one after the other across
processes. What the world can see of it (when a round may be closed, what an error says, how long a record is) is
a function of public facts.
"""

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa

from deniable.errors import DeniableError, PlaceError, check_whole
from deniable.programme import backup, publishing, tables
from deniable.programme.apart import check_apart
from deniable.programme.beginning import Beginning, Entropy
from deniable.programme.book import Book, all_lines, check_not_behind
from deniable.programme.following import adopt, by_number, follow, number_of
from deniable.programme.keys import Key
from deniable.programme.locking import check_key, create_locked, unlock
from deniable.programme.parameters import Parameters
from deniable.programme.public_state import PublicState
from deniable.programme.receipts import Outside, check_source, keyed_hash
from deniable.programme.seals import Inputs
from deniable.programme.status import Closed, Status
from deniable.programme.store import Store
from deniable.programme.transcript import Entry, commitment, parse, parse_head
from deniable.programme.vault import Vault
from deniable.programme.verification import verify

Clock = Callable[[], datetime]

_NO_REASON = "no reason was given"


def system_clock() -> datetime:
    return datetime.now(UTC)


class Programme:
    """One audit programme in one database.

    Without its key the public half works: status, publish, backup. `clock` and `entropy` are there for tests.
    """

    def __init__(
        self,
        store: Store,
        vault: Vault | None = None,
        *,
        clock: Clock = system_clock,
        entropy: Entropy = secrets.token_bytes,
    ) -> None:
        self._store = store
        self._vault = vault
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
        return cls(store, vault, clock=clock, entropy=entropy)

    @classmethod
    def begin(cls, store: Store, vault: Vault, *, clock: Clock = system_clock, **settings: Any) -> Self:
        """A new programme in a database that is locked and has none yet."""
        with store.writing() as connection:
            programme = connection.execute(sa.select(tables.lock.c.programme)).scalar_one()
            if connection.execute(sa.select(tables.programme.c.id)).scalar() is not None:
                raise PlaceError(f"there is a programme in {store} already", store, "the database")
            check_key(connection, vault)
            Beginning(programme, settings, secrets.token_bytes).write(connection, vault)
        return cls(store, vault, clock=clock)

    @classmethod
    def open(cls, database: str, key: Key | None = None, **for_tests: Any) -> Self:
        """The programme in this database."""
        store = Store.open(database)
        programme = cls(store, **for_tests)  # tells a missing programme from a wrong key
        if key is not None:
            programme._vault = unlock(store, key)
        return programme

    def close(self) -> None:
        """Let go of the database."""
        self._store.dispose()

    def status(self) -> Status:
        with self._store.reading() as connection:
            state = self._state(connection)
            row = connection.execute(sa.select(tables.programme)).one()
        calendar = self.parameters.calendar
        return Status(
            parameters=self.parameters,
            open_round=state.open_round,
            due=calendar.due(state.open_round),
            overdue=0 if state.ended else max(0, calendar.rounds_due(self._clock()) - state.closed),
            late=0 if state.ended else calendar.days_late(state.open_round, self._clock()),
            entries=state.entries,
            published=row.published,
            folder=None if row.folder is None else Path(row.folder),
            targets=state.present,
            standing=state.standing,
            ended=state.ended,
        )

    def publish(self, folder: Path | None = None, *, lost: bool = False, keys: Iterable[Path] = ()) -> Path:
        """Write what is committed into the public folder, by default where it was last published.

        Another folder can be named while the last one is there to compare with: if it is ahead, the database is an old
        copy, and would tell another story. `lost` says that the last one is gone for good. Neither the database nor the
        key, in one of the files `keys` or another that is found, may be in the folder.
        """
        with self._store.writing() as connection:  # so that no older version can overwrite a newer one
            row = connection.execute(sa.select(tables.programme)).one()
            if folder is None and row.folder is None:
                raise DeniableError("the folder to publish in must be named the first time: --out FOLDER")
            out = Path(row.folder) if folder is None else folder.absolute()
            check_apart(out, self._store.file, keys)
            if not lost:
                check_not_behind(connection, self.parameters)
            publishing.publish(self.parameters, all_lines(connection), row.head, out)
            published = {"folder": str(out), "published": parse_head(row.head).entries}
            connection.execute(sa.update(tables.programme), published)
        return out

    def backup(self, path: Path) -> None:
        """Everything in the database at one moment, secrets encrypted as they are, in one file."""
        backup.write(self._store, path)

    def seals(self) -> dict[int, bytes]:
        """Every round's inputs, by the number of its entry, sealed for the oversight body."""
        with self._store.reading() as connection:
            rows = connection.execute(sa.select(tables.seals).order_by(tables.seals.c.entry)).all()
        return {row.entry: bytes(row.blob) for row in rows}

    def report(self, reports: Mapping[str, int]) -> None:
        """Count these reports, by the target's name, in the open round. When this returns they are on the disk."""
        with self._writing() as book:
            book.check_not_behind(must_read=False)
            book.add(by_number(book.state, reports))

    def withdraw(self, reports: Mapping[str, int]) -> None:
        """Take back reports that were entered by mistake in the open round; no other round can be corrected."""
        with self._writing() as book:
            book.add({target: -count for target, count in by_number(book.state, reports).items()})

    def import_reports(
        self, source: str, reports: Iterable[tuple[str, int, str]], *, dry_run: bool = False, mark_only: bool = False
    ) -> int:
        """Count those reports, (outside id, sequence number, target), that were not counted before; returns how many.

        All of them or none; a dry run changes nothing. `mark_only` counts none of them, now or later: they were counted
        elsewhere, by an earlier programme perhaps. Confidential.
        """
        check_source(source)
        with self._writing() as book:
            book.check_not_behind(must_read=False)
            state, hashed = book.state, partial(keyed_hash, book.hashing_key())
            outside = (Outside(name, sequence, number_of(state, target)) for name, sequence, target in reports)
            if mark_only:
                receipts, new = book.receipts().marked(source, outside), Counter[int]()
            else:
                receipts, new = book.receipts().count(source, outside, hashed)
            if not dry_run:
                book.add(new)
                book.write_receipts(receipts)
        return new.total()

    def add_source(self, source: str) -> None:
        """Make room for a source before its first import, so that the stored length does not tell when that is."""
        with self._writing() as book:
            book.write_receipts(book.receipts().knowing(check_source(source)))

    def sources(self) -> tuple[str, ...]:
        """The names of the sources that it knows, in the order of the alphabet."""
        with self._writing() as book:
            return tuple(sorted(book.receipts().sources))

    def active_counts(self) -> dict[str, int]:
        """The reports of every target since its last audit, the open round's included. Confidential."""
        with self._writing() as book:
            run, tally, _ = book.read_round()
            active, state = run.active_counts(), book.state
        numbers = {name: state.numbers[name] for name in state.present}
        return {name: active[number] + tally[number] for name, number in numbers.items()}

    def close_round(self, round_: int | None = None, reason: str | None = None) -> Closed:
        """Close the round when it is due: count, draw, record, forget, go on, in one transaction.

        A round that was closed before is returned as it was recorded. By default the open round; `reason` tells the
        public why it is closed late, if it is.
        """
        wanted = self.status().open_round if round_ is None else check_whole("round", round_, least=1)
        with self._writing() as book:
            if wanted < book.state.open_round:
                return _recorded(book, wanted)
            late = self._days_late(book, wanted)
            (run, tally, seed), receipts = book.read_round(), book.receipts()
            drawn = run.select(tally, audits=self.parameters.audits)
            seal, sealed = book.seal(Inputs(wanted, tuple(tally), seed))
            next_seed, following = self._next_seed(wanted + 1)
            entry = book.state.round_entry(
                audits=[book.state.targets[number] for number in drawn],
                commitment=following,
                late=late,
                reason=(reason or _NO_REASON) if late else None,
                sealed=sealed,
            )
            book.append(entry, seal)
            book.write_round(run, [0] * len(tally), next_seed, receipts.without(drawn))
        self._store.scrub()
        return Closed(wanted, entry.fields["audits"], already=False)

    def skip(self, reason: str, *, independent: bool) -> Closed:
        """Close the open round, when it is due, without an audit; its reports go on into the next one."""
        with self._writing() as book:
            wanted = book.state.open_round
            late = self._days_late(book, wanted)
            (run, tally, _), receipts = book.read_round(), book.receipts()
            next_seed, following = self._next_seed(wanted + 1)
            book.append(book.state.skip_entry(reason, independent, following, late, self._during(book)))
            book.write_round(run, tally, next_seed, receipts)
        self._store.scrub()
        return Closed(wanted, (), already=False)

    def override(self, targets: Sequence[str], reason: str, *, independent: bool) -> Entry:
        """Record audits ordered by hand now, outside the draw. The reports about these targets are deleted."""
        with self._writing() as book:
            book.check_not_behind()
            entry = book.state.override_entry(targets, reason, independent, self._during(book))
            self._apply(book, entry)
        self._store.scrub()
        return entry

    def change_targets(
        self, reason: str, *, independent: bool, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> Entry:
        """Let targets join or leave from the open round on. The reports about those that leave are deleted."""
        with self._writing() as book:
            book.check_not_behind()
            entry = book.state.targets_entry(add, remove, reason, independent, self._during(book))
            self._apply(book, entry)
        self._store.scrub()
        return entry

    def not_carried_out(self, round_: int, target: str, reason: str, *, independent: bool) -> Entry:
        """Record that an audit could not be carried out. That it was chosen stands, and its reports stay deleted."""
        with self._writing() as book:
            book.check_not_behind()
            entry = book.state.not_carried_out_entry(round_, target, reason, independent, self._during(book))
            book.append(entry)
        return entry

    def end(self, reason: str) -> Entry:
        """End the programme for good: all counts, seeds and keys in the database are destroyed."""
        with self._writing() as book:
            book.check_not_behind()
            entry = book.state.end_entry(reason)
            book.append(entry)
            book.destroy()
        self._store.scrub()
        return entry

    def rekey(self, key: Key) -> None:
        """Encrypt every secret with a new key. Whoever destroys the old one makes old backups unreadable."""
        with self._writing() as book:
            master, kdf = key.new()
            vault = Vault(master, self.parameters.programme)
            book.change_vault(vault, kdf)
        self._vault = vault
        self._store.scrub()

    def renew(self) -> None:
        """Seal the open round's secrets anew, so that two copies of the database, one before and one after this, do not
        tell whether any report came in between.
        """
        with self._writing() as book:
            book.write_round(*book.read_round(), book.receipts())

    def recover(self, folder: Path, reason: str) -> Entry:
        """Go on from a backup that is older than what was published: adopt the published entries, with a new seed.

        What was counted since the backup is lost. The reports of targets audited since then are deleted, and with
        tca those of all targets, whose noise is lost too. The next import of each source counts nothing, since what
        it brings may have been counted before.
        """
        checked = verify(folder)
        published = checked.lines
        if checked.programme != self.parameters.digest:
            raise DeniableError(f"what was published in {folder} is another programme")
        with self._writing() as book:
            known, lost = book.state.entries, book.state.open_round
            if len(published) <= known:
                raise DeniableError(f"the database has everything that was published in {folder}; nothing is lost")
            (run, tally, _), receipts = book.read_round(), book.receipts()
            for text in published[known:]:
                entry = parse(text)
                tally, ended = adopt(run, tally, book.state, entry)
                book.append(entry)  # refuses what does not follow on this database's entries
                receipts = receipts.without(ended)
            seed, replaced = self._next_seed(book.state.open_round)
            recovery = book.state.recovery_entry(lost, replaced, reason)
            book.append(recovery)
            book.write_round(run, tally, seed, receipts.after_recovery())
        self._store.scrub()
        return recovery

    def _next_seed(self, round_: int) -> tuple[bytes, str]:
        """A round's seed, and the commitment to it."""
        seed = self._entropy(32)
        return seed, commitment(self.parameters.programme, round_, seed)

    def _apply(self, book: Book, entry: Entry) -> None:
        """Append an entry made in the open round, with what it means for the targets' runs."""
        book.state.after(entry)  # refuses what cannot stand, in words about the entry
        run, tally, seed = book.read_round()
        tally, ended = follow(run, tally, book.state, entry)
        book.append(entry)
        book.write_round(run, tally, seed, book.receipts().without(ended))

    def _during(self, book: Book) -> int:
        """The calendar's round now, by which reporters count: a later one than the open one while it is overdue."""
        return max(book.state.open_round, self.parameters.calendar.rounds_due(self._clock()) + 1)

    def _days_late(self, book: Book, round_: int) -> int:
        """Refuses a round that may not be closed now; public facts alone decide."""
        if round_ > book.state.open_round:
            raise DeniableError(f"round {book.state.open_round} must be closed before round {round_}")
        now, due = self._clock(), self.parameters.calendar.due(round_)
        if now < due:
            raise DeniableError(f"round {round_} is due at {due:%Y-%m-%d %H:%M} UTC and must not be closed before")
        book.check_not_behind()
        return self.parameters.calendar.days_late(round_, now)

    @contextmanager
    def _writing(self) -> Iterator[Book]:
        with self._store.writing() as connection:
            state = self._state(connection)
            if state.ended:
                raise DeniableError("the programme has ended, and its secrets are destroyed")
            if self._vault is None:
                raise DeniableError("this needs the programme's key; give its key file or its passphrase")
            book = Book(connection, self.parameters, self._mechanism, state, self._vault)
            yield book
            book.finish()

    def _state(self, connection: sa.Connection) -> PublicState:
        stored = connection.execute(sa.select(tables.programme.c.state)).scalar_one()
        return PublicState.from_json(self.parameters, stored)


def _recorded(book: Book, round_: int) -> Closed:
    closing = next(entry for entry in book.entries(round_) if entry.kind in {"round", "skip"})
    return Closed(round_, closing.fields.get("audits", ()), already=True)
