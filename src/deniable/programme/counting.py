"""How reports come to count in the open round: entered or withdrawn by hand, pushed by a machine, or imported.

What comes in is made into slots of a page (`buffer`), which is work that does not grow with the number of targets; what
the pages hold is counted at fixed times, and before every entry of the transcript (`fold`).

Whether a report counts depends on that report, on the public state and on whether this very report is known already;
on no other report (docs/explanation/end-to-end.md). What is written has the same size whatever counts.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count as counting_up
from typing import NamedTuple

import numpy as np

from deniable.arrays import IntArray
from deniable.errors import MAX_REPORTS, DeniableError, check_whole
from deniable.programme.buffer import ROOM, Arrived, Kind, Slots, slots
from deniable.programme.imports.imported_reports import ENTERED, Hashes, KnownReports, with_numbers
from deniable.programme.receipt import check_receipt
from deniable.programme.transaction import Transaction
from deniable.programme.transcript.state import PublicState
from deniable.state import Secret


def entered(transaction: Transaction, reports: Mapping[str, int], receipt: str) -> tuple[Slots, None]:
    """Reports by the target's name. The same receipt again counts nothing: an answer may have got lost.

    Those about targets that do not take part hold back no others.
    """
    _by_number(transaction.state, reports)
    return _together(transaction, Kind.ENTERED, ["receipt", check_receipt(receipt)], reports), None


class Pushed(NamedTuple):
    """What a machine is told. Public."""

    is_counted: bool
    """Not while imports are paused, nor later then: these reports may have been counted before."""
    left_out: tuple[str, ...]
    """The names under which no target takes part."""


def pushed(transaction: Transaction, sender: str, name: str, reports: Mapping[str, int]) -> tuple[Slots, Pushed]:
    """Reports that a machine sends under a name of its own for them, which count once however often they come.

    Those about targets that do not take part hold back no others, and do not count later either.
    """
    left_out = tuple(target for target in reports if not transaction.state.takes_part(target))
    brought = _together(transaction, Kind.PUSHED, ["pushed", sender, name], reports)
    return brought, Pushed(not transaction.state.is_paused, left_out)


def imported(
    transaction: Transaction, source: str, reports: Iterable[tuple[str, str | None]], *, count: bool
) -> tuple[Slots, int]:
    """Those reports of a hotline, (outside id, target), that are not known yet; and how many of them count.

    Those without a target that takes part are left for another time. Without `count`, and while imports are paused, all
    reports become known, these included, and count neither now nor later.
    """
    state, targets = transaction.state, array("l")
    is_counted = count and not state.is_paused

    def ids() -> Iterator[list[object]]:
        """One at a time: there may be millions."""
        for outside_id, target in reports:
            takes_part = target is not None and state.takes_part(target)
            if takes_part or not is_counted:
                targets.append(state.numbers[target] if takes_part and target is not None else 0)
                yield ["imported", source, outside_id]

    sources = transaction.sources()
    number = sources.index(source) if source in sources else len(sources)
    hashes = transaction.hashes(ids())
    is_new = settle(transaction).known.get(source, KnownReports.none()).new(hashes)
    brought = slots(Kind.IMPORTED, hashes, np.array(targets, np.int64), int(is_counted), number)
    return brought[is_new], int(is_new.sum()) if is_counted else 0


def withdrawn(transaction: Transaction, names: Iterable[str], receipt: str) -> tuple[Slots, tuple[str, ...]]:
    """Takes back all that was entered with this receipt about these targets, in the open round.

    Each target by itself, so that no report decides about others. Also returns the targets whose reports stay counted,
    or were never counted; refuses where they are all.
    """
    receipt, wanted = check_receipt(receipt), tuple(dict.fromkeys(names))
    targets = [*_by_number(transaction.state, dict.fromkeys(wanted, 1))]
    known, gone = settle(transaction).known[ENTERED], list[Slots]()
    for part in counting_up():
        own = transaction.hashes([["receipt", receipt, part]])
        if known.new(own)[0]:
            break
        ids = np.repeat(own, len(targets), axis=0)
        standing, _ = _standing(transaction, known, ids, targets)
        gone.append(slots(Kind.WITHDRAWN, ids, targets, 0)[standing > 0])
    taken_back = {int(target) for some in gone for target in some["target"]}
    if not taken_back:
        raise DeniableError(
            "nothing was taken back: this is not the receipt of these reports, or an audit was drawn or ordered since, "
            "or they were taken back before; check the receipt and the target"
        )
    left = tuple(name for name in wanted if transaction.state.numbers.get(name) not in taken_back)
    return np.concatenate(gone), left


@dataclass(frozen=True, repr=False)
class Settled(Secret):
    """What counts and what is known once all that came in is counted."""

    tally: IntArray
    known: Mapping[str, KnownReports]
    """By source."""
    changed: Mapping[str, int]
    """The first block of each source that may be another."""


def fold(transaction: Transaction) -> None:
    """Count what came in. The same is written whatever that is."""
    settled = settle(transaction)
    transaction.write_tally(settled.tally)
    for source, known in settled.known.items():
        transaction.write_known(source, known, settled.changed[source])
    transaction.empty_buffer()


def settle(transaction: Transaction) -> Settled:
    """What `fold` comes to."""
    arrived, tally = transaction.arrived(), transaction.tally()
    known, changed = dict[str, KnownReports](), dict[str, int]()
    for number, source in enumerate(transaction.sources()):
        before = transaction.known(source)
        came = arrived.where((arrived.slots["source"] == number) & (arrived.slots["kind"] != Kind.WITHDRAWN))
        counted, ids = _counted(came, before)
        _add(tally, counted, transaction.state)
        entered_ = counted[counted["kind"] == Kind.ENTERED]
        hashes = transaction.hashes(_ids(transaction, "entered", entered_["id"], entered_["target"]))
        new = np.concatenate([ids, with_numbers(hashes, entered_["number"])])
        known[source] = before.with_reports(new[np.lexsort(new.T)])  # which does not tell in what order they came
        changed[source] = before.blocks - 1
    gone = arrived.slots[arrived.slots["kind"] == Kind.WITHDRAWN]
    numbers, hashes = _standing(transaction, known[ENTERED], gone["id"], gone["target"])
    np.subtract.at(tally, gone["target"], numbers)
    known[ENTERED] = known[ENTERED].with_reports(hashes[numbers > 0])
    # Held there without a word: one report more must change no other count, nor what is refused.
    return Settled(np.clip(tally, 0, MAX_REPORTS), known, changed)


def active(transaction: Transaction) -> dict[str, int]:
    """The reports of every target that takes part since its last audit, the open round's included."""
    run, _ = transaction.read_counts()
    counts = np.array(run.active_counts(), np.int64) + settle(transaction).tally
    return dict(zip(transaction.state.present, counts[transaction.state.history.present[0]].tolist(), strict=True))


def _counted(came: Arrived, known: KnownReports) -> tuple[Slots, Hashes]:
    """The slots that count, and the ids that become known: of those with the same id the ones that came in together
    first, unless the id is known.
    """
    if not len(came.slots):
        return came.slots, came.slots["id"]
    ids, first, which = np.unique(came.slots["id"], axis=0, return_index=True, return_inverse=True)
    is_new = known.new(ids)
    counts = is_new[which] & (came.together == came.together[first][which])
    return came.slots[counts], ids[is_new]


def _add(tally: IntArray, counted: Slots, state: PublicState) -> None:
    """In place. What machines and hotlines bring does not count while imports are paused."""
    counts = state.history.present[0, counted["target"]]
    if state.is_paused:
        counts = counts & (counted["kind"] == Kind.ENTERED)
    np.add.at(tally, counted["target"][counts], counted["number"][counts].astype(np.int64))


def _standing(
    transaction: Transaction, known: KnownReports, ids: Hashes, targets: Sequence[int] | IntArray
) -> tuple[IntArray, Hashes]:
    """How many reports stand that were entered under these ids about these targets, (rows,), and the hashes by which
    it is known that they were withdrawn.
    """
    entered = known.numbers(transaction.hashes(_ids(transaction, "entered", ids, targets)))
    gone = transaction.hashes(_ids(transaction, "withdrawn", ids, targets))
    return np.where(known.new(gone), entered, 0), gone


def _ids(transaction: Transaction, what: str, ids: Hashes, targets: Sequence[int] | IntArray) -> list[list[object]]:
    """The ids of what was entered or withdrawn, one a target. After a draw, or the target's audit, others hold, and
    these cannot be made again.
    """
    nonces = transaction.nonces()
    return [
        [what, f"{first:016x}{second:016x}", int(target), nonces[target].tobytes().hex()]
        for (first, second), target in zip(ids.tolist(), targets, strict=True)
    ]


def _together(transaction: Transaction, kind: Kind, name: Sequence[object], reports: Mapping[str, int]) -> Slots:
    """Slots that count together, or in parts of a page each.

    What is in a part does not depend on which targets take part, and none is empty: once known, it counts nothing more.
    """
    targets, made = [*reports], list[Slots]()
    for first in range(0, len(targets) or 1, ROOM):
        part = {target: reports[target] for target in targets[first : first + ROOM]}
        counts = _taking_part(transaction.state, part) or {0: 0}
        own = transaction.hashes([[*name, first // ROOM]])
        made.append(slots(kind, np.repeat(own, len(counts), axis=0), [*counts], [*counts.values()]))
    return np.concatenate(made)


def _by_number(state: PublicState, reports: Mapping[str, int]) -> dict[int, int]:
    """Reports by the numbers of their targets, each a whole number of at least 1.

    Those about targets that do not take part are left out; refused where all are.
    """
    counts = _taking_part(state, reports)
    if reports and not counts:
        raise DeniableError(
            f"no target named {next(iter(reports))} takes part; `deniable programme targets list` names them all"
        )
    return counts


def _taking_part(state: PublicState, reports: Mapping[str, int]) -> dict[int, int]:
    """The same, and none where no target takes part."""
    return {state.numbers[target]: _whole(count) for target, count in reports.items() if state.takes_part(target)}


def _whole(count: int) -> int:
    try:
        if check_whole("reports", count, least=1) <= MAX_REPORTS:
            return count
    except DeniableError:  # which would quote it
        raise DeniableError("reports must be whole numbers of at least 1") from None
    raise DeniableError(f"at most {MAX_REPORTS} reports about a target can be added at once")
