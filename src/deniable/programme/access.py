"""Access to the programme in a database: its transactions, and when each of them is refused."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import sqlalchemy as sa

from deniable.errors import DISK_FULL, DeniableError, PlaceError
from deniable.programme.counting import Seen, fold
from deniable.programme.imports.imported_reports import Hashes, keyed_hashes
from deniable.programme.old_databases import check_can_go_on, check_not_behind
from deniable.programme.parameters import Parameters
from deniable.programme.public.folder import check_apart
from deniable.programme.public.publish import publish
from deniable.programme.secrets.vault import Vault
from deniable.programme.transaction import Transaction, stored_state
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript_copies import (
    NOT_FOUND,
    KeyCopy,
    NotKeptError,
    Places,
    StoredTranscript,
    beside,
    is_kept,
    locked,
    raise_nowhere_to_keep,
)
from deniable.state import Secret
from deniable.storage import tables
from deniable.storage.store import Store


class EndedError(DeniableError):
    """The programme has ended, and what was asked for is over."""


class NotBegunError(DeniableError):
    """A console made the database, and no programme has begun in it yet."""


@dataclass(frozen=True, repr=False)
class Vouched(Secret):
    """What a transaction of this process found that opened the sealed manifest."""

    state: PublicState
    hashing_key: bytes
    """It never changes."""

    def hashes(self, ids: Iterable[Sequence[object]]) -> Hashes:
        return keyed_hashes(self.hashing_key, ids)


class Access:
    """To one programme, with its key or without; `copy` is that of the transcript beside the key file."""

    def __init__(self, store: Store, vault: Vault | None, copy: KeyCopy | None) -> None:
        self.store = store
        self.vault = vault
        self.copy = copy
        with store.reading() as connection:
            stored = connection.execute(sa.select(tables.programme.c.parameters)).scalar()
        if stored is None:
            raise NotBegunError(
                "{store} belongs to a console, and no programme has begun in it yet; begin it there, under Plan",
                store=store,
            )
        self.parameters = Parameters.from_bytes(stored.encode("ascii"))
        self._mechanism = self.parameters.built()
        self._known_state: tuple[str, PublicState] | None = None
        self._vouched: Vouched | None = None
        self.was_stopped_at_last_tick = False
        """Whether the last page of reports was refused because of the database (`check_can_go_on`)."""

    @contextmanager
    def looking(self) -> Iterator[Transaction]:
        """A transaction that changes nothing, and whose caller neither waits for others nor lets them wait."""
        with self.store.reading() as connection:
            yield self.transaction(connection)

    @contextmanager
    def glancing(self) -> Iterator[Seen]:
        """What the programme knows, for a caller that needs no more than `Seen`. A process that ticks knows it from its
        last tick, unless there is a new entry since. Then the database is asked what every page asks it, and no sealed
        manifest is opened: whether the key or the database is another one by now is found out when a page is written.
        """
        with self.store.reading() as connection:
            state, vouched = self.state(connection), self._vouched
            if vouched is not None and vouched.state is state:
                yield vouched
            else:
                yield self.transaction(connection)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction that makes no entry."""
        with self.store.writing() as connection:
            transaction = self.transaction(connection)
            yield transaction
            transaction.finish()

    @contextmanager
    def counting(self) -> Iterator[Transaction]:
        """A transaction that makes no entry, refused where a copy of the transcript is newer than the database. The
        public folder may be away: reports are not lost for that.
        """
        with self.writing() as transaction:
            self._check_can_go_on(transaction)
            self._vouch(transaction)
            yield transaction

    def _check_can_go_on(self, transaction: Transaction) -> None:
        try:
            check_can_go_on(transaction, self.copy, folder_may_be_away=True)
        except PlaceError:
            self.was_stopped_at_last_tick = True
            raise
        self.was_stopped_at_last_tick = False

    @contextmanager
    def appending(self) -> Iterator[Transaction]:
        """A transaction whose entry is kept outside the database before anything of it is shown."""
        with locked(self.copy):
            with self.writing() as transaction:
                self.store.expect_scrub(transaction.connection)
                fold(transaction)
                before = transaction.state.entries
                yield transaction
                transcript, places = StoredTranscript.of(transaction), Places.of(transaction, self.copy)
            self._known_state = transcript.head_line, transaction.state
            if not transaction.state.ended:
                self._vouch(transaction)
            self.store.scrub()
            try:
                keep(transcript, places, self.store.file)
            except DeniableError as error:
                refused, made = _not_kept(error), map(parse, transcript.lines[before:])
                refused.entry = next((one.number for one in made if one.closes_round), transaction.state.entries)
                raise refused from error

    @contextmanager
    def making_entry(self) -> Iterator[Transaction]:
        """A transaction whose entry is kept, refused where the database may be an old one, or where its entry could
        not be kept: this is found out by keeping those that are there.
        """
        with self.appending() as transaction:
            check_can_go_on(transaction, self.copy, folder_may_be_away=False)
            keep(StoredTranscript.of(transaction), Places.of(transaction, self.copy), self.store.file)
            yield transaction

    def check_current(self) -> None:
        """Refuse where a copy of the transcript is newer than the database, or differs from it, or is missing; and
        after a restore, until the office has recovered.
        """
        with self.store.reading() as connection:
            state, places = self.trusted(connection)
            check_not_behind(connection, state, places.copy, folder_may_be_away=False)
            if not state.ended:
                check_can_go_on(self.transaction(connection), self.copy, folder_may_be_away=False)

    def keep_copy(self) -> None:
        """See to it that the transcript stands beside the key, or else in the public folder. Only then may people see
        what was drawn: from then on, an older database refuses to draw it again.
        """
        with locked(self.copy), self.store.writing() as connection:
            state, places = self.trusted(connection)
            check_not_behind(connection, state, places.copy, folder_may_be_away=True)
            keep(StoredTranscript.read(connection, self.parameters), places, self.store.file)

    def check_kept(self, keys: Iterable[Path] = ()) -> None:
        """Keep the transcript outside the database (`keep_copy`) where no copy has every entry yet. Without the key,
        this is refused there; the copies are then looked for beside these key files.
        """
        with self.store.reading() as connection:
            copy = self.trusted(connection)[1].copy
            if self.vault is None:  # with the key, the sealed manifest vouches for the head
                StoredTranscript.read(connection, self.parameters)
            head, folder = connection.execute(tables.HEAD_AND_FOLDER).one()
        copies = [*beside(keys), *([] if copy is None else [copy])]
        if not is_kept(head, None if folder is None else Path(folder), copies):
            if self.vault is None:
                raise NotKeptError(NOT_FOUND)
            self.keep_copy()

    def transaction(self, connection: sa.Connection) -> Transaction:
        state = self.state(connection)
        if state.ended:
            self._vouched = None
            raise EndedError("the programme has ended, and its secrets are destroyed")
        if self.vault is None:
            raise DeniableError("this needs the programme's key; give its key file or its passphrase")
        return Transaction(connection, self.parameters, self._mechanism, state, self.vault)

    def _vouch(self, transaction: Transaction) -> None:
        """Let `glancing` know what this transaction found."""
        known = self._vouched
        if known is None:
            self._vouched = Vouched(transaction.state, transaction.hashing_key)
        elif known.state is not transaction.state:
            self._vouched = replace(known, state=transaction.state)

    def trusted(self, connection: sa.Connection) -> tuple[PublicState, Places]:
        """The public state, and where it is kept; with the key, as the sealed manifest or the signed end says."""
        state = self.state(connection)
        if self.vault is None:
            return state, Places(None, in_folder=False)
        if state.ended:
            transcript = StoredTranscript.read(connection, self.parameters)
            return state, Places.after_the_end(transcript, state, self.copy)
        transaction = self.transaction(connection)
        return transaction.state, Places.of(transaction, self.copy)

    def state(self, connection: sa.Connection) -> PublicState:
        """It is public, and read once for every entry: what is found under the same signed head is the same."""
        return self.state_and_folder(connection)[0]

    def current_state(self) -> PublicState:
        with self.store.reading() as connection:
            return self.state(connection)

    def state_and_folder(self, connection: sa.Connection) -> tuple[PublicState, str | None]:
        """The public state, and where it was last published."""
        head, folder = self.store.row(connection, tables.HEAD_AND_FOLDER)
        known = self._known_state
        if known is None or known[0] != head:
            known = self._known_state = (head, stored_state(connection, self.parameters))
        return known[1], folder


def keep(transcript: StoredTranscript, places: Places, database: Path | None) -> None:
    """Write it beside the key, or else into the public folder, where the database's file must not be; into both where
    it must be there, the folder first: what the copy has is then published.
    """

    def publish_into(folder: Path) -> None:
        check_apart(folder, database)
        publish(transcript.parameters, transcript.lines, transcript.head_line, folder)

    folder = transcript.folder
    if places.in_folder and folder is not None:
        publish_into(folder)
    if places.copy is not None and places.copy.write(transcript):
        return
    if folder is None:
        raise_nowhere_to_keep(places)
    if not places.in_folder:
        publish_into(folder)


def _not_kept(error: DeniableError) -> NotKeptError:
    """What is said where an entry is recorded and this error kept it from being copied."""
    if str(DISK_FULL) in str(error):
        return NotKeptError(
            "this is done and recorded in the database, but could not be written outside it, so it is not shown yet: "
            "make room on the disk, which is full, then publish; do not do it again"
        )
    return NotKeptError(
        "this is done and recorded in the database, but could not be written outside it, so it is not shown yet: make "
        "the folder of the key file or the public folder writable, then publish; do not do it again"
    )


def move_to(folder: str, connection: sa.Connection, transaction: Transaction | None) -> None:
    """Publish there from now on. After its end a programme has no transaction, no draw to protect and no secret."""
    if transaction is None:
        connection.execute(sa.update(tables.standing), {"folder": folder})
        return
    transaction.write_folder(folder)
    transaction.finish()
