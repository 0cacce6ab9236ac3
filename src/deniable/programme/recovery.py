"""Going on from a backup that is older than the last draw: draws since then are kept, counts since then are lost."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from deniable.errors import DeniableError
from deniable.message import why_not
from deniable.programme.parameters import Parameters
from deniable.programme.public.folder import public_folder
from deniable.programme.public.verify import verify
from deniable.programme.secrets.adoption import Adoption
from deniable.programme.status import Status
from deniable.programme.transaction import NewSeed, Transaction
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.recoveries import Recovery
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript_copies import KeyCopy, Places, StoredTranscript, check_agree


@dataclass(frozen=True)
class Found:
    """What copies of the transcript have."""

    newest: Sequence[str] | None
    """The lines of all entries; None where there is no copy."""
    copy: KeyCopy | None
    """That beside the key, whether it is there or not; None with a passphrase."""
    beside_key: int | None
    """How many entries it has; None where it is missing."""

    @classmethod
    def look(cls, status: Status, folder: Path | None, copy: KeyCopy | None) -> "Found":
        """By default the folder is where it was published; with another one, both are compared while that is there."""
        recorded = status.folder if status.published else None
        newest = _longest_copy(folder or recorded, copy, status.parameters)
        if folder is not None and recorded is not None:
            others = _longest_copy(recorded, None, status.parameters) or ()
            where = why_not(
                "in {folder} or beside the key differs from that in {recorded}",
                folder=public_folder(folder),
                recorded=public_folder(recorded),
            )
            check_agree(newest or (), others, where)
        if len(newest or ()) < status.published:  # a new entry would have the number of one that is published
            raise DeniableError(
                "{folder}, where the programme was last published, has more entries; name it", folder=status.folder
            )
        head = None if copy is None else copy.head()
        return cls(newest, copy, None if head is None else head.entries)

    def entries_kept(self, transaction: Transaction) -> int:
        """How many entries the copy has into which every entry is written; -1 where it is missing."""
        found = self.beside_key if transaction.is_kept_beside_key else None if self.newest is None else len(self.newest)
        return -1 if found is None else found


def _longest_copy(folder: Path | None, copy: KeyCopy | None, parameters: Parameters) -> Sequence[str] | None:
    """The entries of the public folder or of the copy beside the key, whichever has more, all of them checked; None
    where there is neither.
    """
    if folder is None and (copy is None or not copy.exists()):
        return None
    public = () if folder is None else _public_lines(folder, parameters)
    beside = () if copy is None else copy.checked_lines(parameters)
    where = public_folder(str(folder))
    check_agree(public, beside, why_not("in {folder} differs from the copy beside the key", folder=where))
    return max(public, beside, key=len)


def _public_lines(folder: Path, parameters: Parameters) -> Sequence[str]:
    checked = verify(folder)
    if checked.programme != parameters.digest:
        raise DeniableError(
            "what was published in {folder} is another programme; name the folder of this one", folder=folder
        )
    return checked.lines


def recover(transaction: Transaction, found: Found, now: datetime, new_seed: NewSeed, reason: str) -> Entry:
    """Adopt the entries since the backup.

    The reports of targets audited since then are deleted, and with tca those of all targets, whose noise is lost too.
    Imports are paused, unless copies show that nothing was drawn or ordered since: what hotlines bring becomes known
    and does not count, since it may have been counted before. A frozen round that the backup has is drawn from it, with
    the value that was published or is to come; one that it does not have is never drawn.

    A copy that was put back from a safe place may lack the last draw, and looks like any other. So copies show
    everything that was drawn only if the one that every entry is written into has all that is known, and no round was
    due since, and no public value that a frozen round waits for came out.
    """
    known, lost = transaction.state.entries, transaction.state.open_round
    newest, kept = found.newest or (), found.entries_kept(transaction)
    transcript = StoredTranscript.of(transaction)
    check_agree(newest, transcript.lines, why_not("of a copy of the transcript differs from the database's"))
    if transaction.has_seed and kept >= 0 and len(newest) <= known:
        raise DeniableError(
            "the database has every entry that its copies have, so nothing is lost; go on without a recovery"
        )
    places = Places(found.copy, transaction.is_kept_in_folder)
    transaction.note_kept_beside_key(transcript.check_can_be_kept(places))
    run, tally = transaction.read_counts()
    adoption = Adoption(run, transaction.frozen() if transaction.has_frozen else None)
    for text in newest[known:]:
        entry = parse(text)
        tally = adoption.adopt(
            entry, tally, transaction.state, lambda one: transaction.selected(one.audited_in, one.capsule).targets
        )
        transaction.append(entry)  # refuses what does not follow on this database's entries
        if transaction.has_frozen and transaction.state.waiting is None:
            transaction.forget_frozen()
    state = transaction.state
    may_be_drawn = state.waiting is not None and now >= state.waiting.expected
    is_overdue = state.rounds_due(now) > state.closed
    complete = kept >= state.entries and not is_overdue and not may_be_drawn
    seed, replaced = new_seed(state.open_round)
    recovery = Recovery.following(
        state,
        lost=lost,
        commitment=replaced,
        inputs_lost=state.waiting is not None and not transaction.has_frozen,
        paused=state.is_paused or not complete or state.entries > known,
        complete=complete,
        during=state.calendar_round(now),
        reason=reason,
    )
    transaction.append(recovery)
    transaction.write_round(adoption.run, tally, seed)
    _begin_blocks(transaction)
    return recovery


def _begin_blocks(transaction: Transaction) -> None:
    """Let the next reports of every source go into a block of their own: how much room the last one had may have been
    seen, before a backup was restored.
    """
    for source in transaction.sources():
        known = transaction.known(source)
        transaction.write_known(source, known.with_new_block(), known.blocks)
