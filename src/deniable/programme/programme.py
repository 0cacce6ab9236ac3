"""An audit programme in its database: reports come in, rounds are closed, the transcript grows.

Whatever changes the programme is one transaction: it happens as a whole or not at all, and one after the other across
processes. What the world can see of it (when a round may be closed, what an error says, how long a record is) is
a function of public facts.
"""

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa

from deniable.errors import DeniableError, PlaceError, check_whole
from deniable.programme import backup, counting, publication, recovery, rekeying, rounds
from deniable.programme.access import Access
from deniable.programme.calendar import Clock, system_clock
from deniable.programme.counting import Pushed, Reports
from deniable.programme.creation import Beginning
from deniable.programme.foresight import Foresight
from deniable.programme.hotlines import Hotlines
from deniable.programme.imports.imported_reports import check_source
from deniable.programme.intake import AskOwners, Intake
from deniable.programme.public.situation import Situation
from deniable.programme.receipt import new_receipt
from deniable.programme.secrets.keys import Key
from deniable.programme.secrets.lock import check_key, create_locked, unlock
from deniable.programme.secrets.vault import Vault
from deniable.programme.status import Closed, NewEntry, Status
from deniable.programme.transaction import Entropy, new_seed
from deniable.programme.transcript.decision import Decision, decided_now
from deniable.programme.transcript.entries import Override, Renamed, Targets
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.frozen import WITHOUT_VALUE, PublicValue
from deniable.programme.transcript.outcomes import NotCarriedOut
from deniable.programme.transcript.recoveries import Resumption
from deniable.programme.transcript_copies import KeyCopy
from deniable.programme.work_list import OpenAudit, work_list
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
        self._access = Access(store, vault, copy)
        self.parameters = self._access.parameters
        self._clock = clock
        self._intake = Intake(self._access)
        self.hotlines = Hotlines(self._access, self._intake)
        self.foresight = Foresight(self._access, clock)
        self._new_seed = partial(new_seed, self.parameters.programme, entropy)

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
        copy = KeyCopy.beside(key)
        beginning = Beginning(entropy(16).hex(), settings, copy, entropy)
        store, vault = create_locked(database, beginning.parameters.programme, key, beginning.write)
        return cls(store, vault, copy, clock=clock, entropy=entropy)

    @classmethod
    def begin(
        cls, store: Store, vault: Vault, copy: KeyCopy | None, *, clock: Clock = system_clock, **settings: Any
    ) -> Self:
        """A new programme in a database that is locked and has none yet."""
        with store.writing() as connection:
            programme = connection.execute(sa.select(tables.lock.c.programme)).scalar_one()
            if connection.execute(sa.select(tables.programme.c.id)).scalar() is not None:
                raise PlaceError("there is a programme in {database} already", database=store.place)
            check_key(connection, vault)
            Beginning(programme, settings, copy, secrets.token_bytes).write(connection, vault)
        return cls(store, vault, copy, clock=clock)

    @classmethod
    def open(
        cls,
        database: str,
        key: Key | None = None,
        *,
        clock: Clock = system_clock,
        entropy: Entropy = secrets.token_bytes,
    ) -> Self:
        """The programme in this database."""
        store = Store.open(database)
        programme = cls(store, clock=clock, entropy=entropy)  # tells a missing programme from a wrong key
        if key is not None:
            programme._access.vault, programme._access.copy = unlock(store, key), KeyCopy.beside(key)
        return programme

    def close(self) -> None:
        """Let go of the database."""
        self._intake.stop()
        self._access.store.dispose()

    def start_ticking(self, owners: AskOwners | None = None) -> None:
        """From now on write a page at every tick, as long as the programme is open (`Intake.start`)."""
        self._intake.start(owners)

    def was_stopped_at_last_tick(self) -> bool:
        """Whether the last tick was refused because of the database (`check_can_go_on`): known without asking it."""
        return self._access.was_stopped_at_last_tick

    def counting_fails(self) -> bool:
        """Whether this process ticks and cannot count what came in (`Ticker.counting_fails`)."""
        return self._intake.counting_fails()

    def is_kept_out(self) -> bool:
        """Whether commands cannot hand over what they bring (`Listener.is_kept_out`)."""
        return self._intake.is_kept_out()

    def status(self) -> Status:
        with self._access.store.reading() as connection:
            state, folder = self._access.state_and_folder(connection)
        return Status.now(state, None if folder is None else Path(folder), self._clock())

    def targets(self) -> tuple[str, ...]:
        """Those that take part now: the same tuple for as long as they do."""
        return self._access.current_state().present

    def all_targets(self) -> tuple[str, ...]:
        """The names of all that ever took part, by number."""
        return self._access.current_state().targets

    def numbers(self) -> Mapping[str, int]:
        """The number of every name in `all_targets`."""
        return self._access.current_state().numbers

    def situation(self) -> Situation:
        """On what the words of the promise depend, beside the parameters."""
        return Situation.after(self._access.current_state())

    def naming(self) -> Callable[[str], str]:
        """From a target's number in the public register to its present name (`PublicState.named`)."""
        return self._access.current_state().named

    def check_current(self) -> None:
        """Refuse where the database must not go on, as it is now (`Access.check_current`)."""
        self._access.check_current()

    def publish(self, folder: Path | None = None, *, lost: bool = False, keys: Iterable[Path] = ()) -> Path:
        """Write what is committed into the public folder, by default where it was last published.

        Another folder can be named, with the key, while the last one is there to compare with: if it is ahead, the
        database is an old one, and would draw published rounds again. `lost` says that it is gone for good. Neither
        the database nor the key, in one of the files `keys` or another that is found, may be in the folder.
        """
        return publication.publish(self._access, folder, lost=lost, keys=keys)

    def keep_copy(self) -> None:
        """See to it that the transcript is kept outside the database (`Access.keep_copy`)."""
        self._access.keep_copy()

    def check_kept(self, keys: Iterable[Path] = ()) -> None:
        """See to it where no copy outside the database has every entry yet (`Access.check_kept`)."""
        self._access.check_kept(keys)

    def backup(self, path: Path, keys: Iterable[Path] = ()) -> None:
        """Everything in the database at one moment, secrets encrypted as they are, in one file (`check_kept`)."""
        backup.write(self._access.store, path, partial(self.check_kept, keys))

    def seals(self, keys: Iterable[Path] = ()) -> dict[int, bytes]:
        """Every round's inputs, by the number of its entry, sealed for the oversight body (`check_kept`)."""
        with self._access.store.reading() as connection:
            rows = connection.execute(sa.select(tables.seals).order_by(tables.seals.c.entry)).all()
        self.check_kept(keys)
        return {row.entry: bytes(row.blob) for row in rows}

    def report(self, reports: Mapping[str, int], receipt: str | None = None, *, report_class: str | None = None) -> str:
        """Count these reports, by the target's name, in the open round. When this returns they are on the disk.

        All are of one class, which need not be said where there is only one.

        Those about targets that do not take part hold back no others; refused where all are. Returns the receipt with
        which they can be withdrawn; a given one is that of `new_receipt`, and counts once.
        """
        receipt = new_receipt() if receipt is None else receipt
        self.bring_reports(reports, receipt, report_class).result()
        return receipt

    def bring_reports(
        self, reports: Mapping[str, int], receipt: str, report_class: str | None = None, owner: str = ""
    ) -> "Future[None]":
        """Count reports that `owner` enters for a caller that goes on; the future is done when they are on the disk."""
        made = partial(counting.entered, reports=reports, receipt=receipt, report_class=report_class)
        return self._intake.bring_new(made, owner)[1]

    def withdraw(self, targets: Iterable[str], receipt: str) -> tuple[str, ...]:
        """Take back what was entered about these targets by mistake; only in the open round.

        Returns the targets of which none were taken back (`counting.withdrawn`). Refused where the round was closed
        before this was on the disk, or just after: that follows from the public record alone.
        """
        self.check_kept()  # its answer tells whether a target was audited since
        round_ = self._access.current_state().open_round
        left, written = self._intake.bring(partial(counting.withdrawn, names=targets, receipt=receipt))
        written.result()
        if self._access.current_state().open_round != round_:
            raise DeniableError(
                "round {round} was closed in the meantime, and these reports may have counted in it; if it was "
                "skipped, try again",
                round=round_,
            )
        return left

    def push(self, sender: str, name: str, reports: Mapping[str, int], report_class: str | None = None) -> bool:
        """Count reports that a machine sends, once however often; returns whether they count (`counting.pushed`)."""
        pushed, written = self.bring_push(sender, name, reports, report_class)
        written.result()
        return pushed.is_counted

    def bring_push(
        self, sender: str, name: str, reports: Mapping[str, int], report_class: str | None = None
    ) -> "tuple[Pushed, Future[None]]":
        """Count what a machine sends (`push`) for a caller that goes on; the future is done when it is on the disk."""
        made = partial(counting.pushed, sender=sender, name=name, reports=reports, report_class=report_class)
        return self._intake.bring_new(made, sender)

    def import_reports(self, source: str, reports: Reports, *, dry_run: bool = False, count: bool = True) -> int:
        """Count a hotline's new reports, or only look; returns how many, which is confidential."""
        if dry_run:
            with self._access.looking() as transaction:
                return counting.imported_and_told(transaction, check_source(source), reports, count=count)[1]
        return self.hotlines.bring_and_tell(source, reports, count=count)

    def resume_imports(self, reason: str) -> Entry:
        """Let reports that hotlines bring count again after a recovery. Those brought since do not count."""
        with self._access.making_entry() as transaction:
            return rounds.apply(transaction, Resumption.following(transaction.state, reason=reason))

    def active_counts(self) -> dict[str, int]:
        """What the reports of every target come to since its last audit, the open round's included. Confidential."""
        self.check_kept()  # what is missing was audited
        with self._access.looking() as transaction:
            return counting.active(transaction)

    def reports_by_class(self, targets: Sequence[str]) -> list[list[int]]:
        """The open round's reports about each of these targets, one number a class, as they came in. Confidential."""
        self.check_kept()  # what is missing was audited
        with self._access.looking() as transaction:
            return counting.of_open_round(transaction, targets)

    def close_round(self, round_: int | None = None, reason: str | None = None) -> Closed:
        """Close the round when it is due: count, draw, record, forget, go on, in one transaction. With public values it
        is frozen, and drawn later (`draw_round`).

        A round that was closed before is returned as it was recorded. By default the open round; `reason` tells the
        public why it is closed late, if it is.
        """
        wanted = self.status().open_round if round_ is None else check_whole("round", round_, least=1)
        with self._access.making_entry() as transaction:
            return rounds.close(transaction, self._new_seed, wanted, reason, self._clock())

    def draw_round(
        self, value: PublicValue = WITHOUT_VALUE, reason: str | None = None, of: int | None = None
    ) -> Closed:
        """Draw the frozen round, or that `of` this number alone; without its value, late enough, with a `reason`."""
        with self._access.making_entry() as transaction:
            return rounds.draw_frozen(transaction, value, reason, self._clock(), of)

    def closed_round(self, round_: int) -> Closed:
        """A round that is closed, as it was recorded. Confidential where the public does not know its names yet."""
        self.check_kept()
        with self._access.looking() as transaction:
            return rounds.recorded(transaction, round_)

    def not_public_yet(self) -> tuple[Closed, ...]:
        """The draws whose names the public does not know yet, oldest first. Confidential."""
        self.check_kept()
        with self._access.looking() as transaction:
            return rounds.not_public_yet(transaction)

    def skip(self, reason: str, *, independent: bool, round_: int | None = None) -> Closed:
        """Close the open round, if it is `round_` and due, without an audit; its reports go on into the next one."""
        with self._access.making_entry() as transaction:
            late = rounds.days_late(transaction, transaction.state.open_round, self._clock())
            decided = decided_now(transaction.state, self._clock(), reason, independent=independent)
            return rounds.skip(transaction, self._new_seed, late, decided, round_)

    def decide(self, foreseen: Decision) -> Entry:
        """Record a decision as it was foreseen; refused where the open round, or the calendar's, is another by now."""
        with self._access.making_entry() as transaction:
            return rounds.decide(transaction, foreseen, self._clock())

    def override(self, targets: Sequence[str], reason: str, *, independent: bool) -> Entry:
        """Record audits ordered by hand now, outside the draw. The reports about these targets are deleted."""
        return self._decide(Override, reason, independent, audits=targets).entry

    def waiting_visits(self) -> list[tuple[str, str]]:
        """(target, class) for each target that must be visited because of a report, and is not yet. Confidential."""
        self.check_kept()  # those that are missing were visited
        with self._access.looking() as transaction:
            return counting.waiting_visits(transaction)

    def visit(self, target: str, report_class: str) -> Entry:
        """Record the visit to which a report of this class leads; the target's run ends. All reports about it of
        classes that count in the draw are deleted, as when it is audited.
        """
        with self._access.making_entry() as transaction:
            return rounds.visit(transaction, target, report_class)

    def change_targets(
        self, reason: str, *, independent: bool, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> NewEntry:
        """Let targets join or leave from the open round on. The reports about those that leave are deleted."""
        return self._decide(Targets, reason, independent, added=add, removed=remove)

    def rename_target(self, target: str, name: str, reason: str, *, independent: bool) -> Entry:
        """Give a target another name from the open round on. Its reports stay counted."""
        return self._decide(Renamed, reason, independent, target=target, name=name).entry

    def tell_details(self, contact: str | None, hotline: str | None) -> Entry:
        """Tell the public how to reach the office and its hotline, and that this had nothing to do with any report."""
        with self._access.making_entry() as transaction:
            return rounds.tell_details(transaction, contact, hotline, self._clock())

    def work_list(self, keys: Iterable[Path] = ()) -> tuple[OpenAudit, ...]:
        """Audits that wait until it is recorded whether they took place, the oldest first (`check_kept`). Public."""
        self.check_kept(keys)
        with self._access.store.reading() as connection:
            return work_list(self._access.trusted(connection)[0])

    def whole_work_list(self) -> tuple[OpenAudit, ...]:
        """Audits that wait (`work_list`), with those whose names the public does not know yet. Confidential."""
        self.check_kept()
        with self._access.looking() as transaction:
            return work_list(transaction.state, rounds.not_public_yet(transaction))

    def carried_out(self, round_: int, target: str, day: date) -> Entry:
        """Record that an audit took place on this day."""
        with self._access.making_entry() as transaction:
            return rounds.carried_out(transaction, round_, target, day, self._clock())

    def not_carried_out(self, round_: int, target: str, reason: str, *, independent: bool) -> Entry:
        """Record that an audit could not be carried out. That it was chosen stands, and its reports stay deleted."""
        return self._decide(NotCarriedOut, reason, independent, of=round_, target=target).entry

    def end(self, reason: str) -> NewEntry:
        """End the programme for good: all counts, seeds and keys in the database are destroyed."""
        with self._access.making_entry() as transaction:
            return rounds.end(transaction, reason)

    def rekey(self, key: Key) -> None:
        """Encrypt every secret with a new key. Old backups become unreadable when the old key is destroyed."""
        rekeying.rekey(self._access, key)

    def renew(self) -> None:
        """Seal the open round's secrets anew, so that two copies of the database, one before and one after this, do not
        tell whether any report came in between.
        """
        with self._access.writing() as transaction:
            counting.fold(transaction)
            transaction.write_counts(*transaction.read_counts())

    def recover(self, folder: Path | None, reason: str) -> Entry:
        """Go on from a backup, or without the copy beside the key, with a new seed (`recovery.recover`).

        By default the public folder is the one where the programme was last published, if that is there.
        """
        with self._access.appending() as transaction:
            found = recovery.Found.look(self.status(), folder, self._access.copy)
            return recovery.recover(transaction, found, self._clock(), self._new_seed, reason)

    def _decide(self, kind: type[Decision], reason: str, independent: bool, **own: Any) -> NewEntry:
        with self._access.making_entry() as transaction:
            decided = decided_now(transaction.state, self._clock(), reason, independent=independent)
            return rounds.apply_with_visits(transaction, kind.following(transaction.state, **decided, **own))
