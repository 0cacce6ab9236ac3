"""Going on from a backup that is older than the last draw: what was drawn since stands, counts since then are lost."""

from collections.abc import Sequence
from pathlib import Path

from deniable.errors import DeniableError
from deniable.programme.rounds import NewSeed
from deniable.programme.status import Status
from deniable.programme.transaction import Book
from deniable.programme.transcript.entries import Recovery
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript_copies import KeyCopy, longest_copy


def newest(status: Status, folder: Path | None, copy: KeyCopy | None) -> Sequence[str] | None:
    """The lines of all entries that a copy of the transcript has; by default the folder is where it was published."""
    found = longest_copy(folder or (status.folder if status.published else None), copy, status.parameters)
    if len(found or ()) < status.published:  # a new entry would have the number of one that is published
        raise DeniableError(f"{status.folder}, where the programme was last published, has more entries; name it")
    return found


def recover(
    book: Book, newest: Sequence[str] | None, copy: KeyCopy | None, new_seed: NewSeed, *, during: int, reason: str
) -> Entry:
    """Adopt the entries since the backup; `newest` are the lines of all entries that a copy has, if there is a copy.

    The reports of targets audited since then are deleted, and with tca those of all targets, whose noise is lost too.
    Imports are paused, unless copies show that nothing was drawn or ordered since: what hotlines bring becomes known
    and does not count, since it may have been counted before.
    """
    known, lost = book.state.entries, book.state.open_round
    has_copy = copy is None or copy.exists()
    if book.has_seed and has_copy and newest is not None and len(newest) <= known:
        raise DeniableError(
            "the database has every entry that its copies have, so nothing is lost; go on without a recovery"
        )
    paused = newest is None or len(newest) != known
    run, tally = book.read_counts()
    for text in (newest or ())[known:]:
        entry = parse(text)
        tally = entry.change_run(run, tally, book.state)
        book.append(entry)  # refuses what does not follow on this database's entries
    seed, replaced = new_seed(book.state.open_round)
    recovery = Recovery.following(
        book.state,
        lost=lost,
        commitment=replaced,
        paused=paused or book.state.is_paused,
        complete=has_copy and newest is not None,
        during=max(during, book.state.open_round),
        reason=reason,
    )
    book.append(recovery)
    book.write_round(run, tally, seed)
    book.begin_blocks()
    return recovery
