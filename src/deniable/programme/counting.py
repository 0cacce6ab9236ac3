"""How reports come to count in the open round: entered or withdrawn by hand, pushed by a machine, or imported.

Whether a report counts depends on that report, on the public state and on whether this very report is known already;
on no other report (docs/explanation/end-to-end.md). What is written has the same size whatever counts.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import compress

import numpy as np

from deniable.errors import MAX_REPORTS, DeniableError, check_whole
from deniable.programme.imports.imported_reports import ENTERED, KnownReports, with_numbers
from deniable.programme.receipt import check_receipt
from deniable.programme.transaction import Transaction
from deniable.programme.transcript.state import PublicState


def enter(transaction: Transaction, reports: Mapping[str, int], receipt: str) -> None:
    """Count reports, by the target's name. The same receipt again counts nothing: an answer may have got lost.

    Those about targets that do not take part hold back no others.
    """
    receipt, counts, known = check_receipt(receipt), _by_number(transaction.state, reports), transaction.known(ENTERED)
    own = transaction.hashes([["receipt", receipt]])
    entered = with_numbers(transaction.hashes(_entries(transaction, "entered", receipt, counts)), counts.values())
    is_new = bool(known.new(own)[0])
    transaction.add(counts if is_new else {})
    transaction.learn(ENTERED, known, np.concatenate([own, entered]) if is_new else own[:0])


def withdraw(transaction: Transaction, names: Iterable[str], receipt: str) -> tuple[str, ...]:
    """Take back all that was entered with this receipt about these targets, in the open round.

    Each target by itself, so that no report decides about others. Returns the targets whose reports stay counted, or
    were never counted; refuses where they are all.
    """
    receipt, wanted, known = check_receipt(receipt), tuple(dict.fromkeys(names)), transaction.known(ENTERED)
    targets = [*_by_number(transaction.state, dict.fromkeys(wanted, 1))]
    entered = known.numbers(transaction.hashes(_entries(transaction, "entered", receipt, targets)))
    withdrawn = transaction.hashes(_entries(transaction, "withdrawn", receipt, targets))
    can_go = (entered > 0) & known.new(withdrawn)
    if not can_go.any():
        raise DeniableError(
            "nothing was taken back: this is not the receipt of these reports, or an audit was drawn or ordered since, "
            "or they were taken back before; check the receipt and the target"
        )
    taken_back = {target: -int(number) for target, number, goes in zip(targets, entered, can_go, strict=True) if goes}
    transaction.add(taken_back)
    transaction.learn(ENTERED, known, withdrawn[can_go])
    return tuple(name for name in wanted if transaction.state.numbers.get(name) not in taken_back)


def push(transaction: Transaction, sender: str, name: str, reports: Mapping[str, int]) -> bool:
    """Count reports that a machine sends under a name of its own for them, once however often they come.

    Those about targets that do not take part hold back no others, and do not count later either. Returns whether the
    others count: not while imports are paused, since they may have been counted before.
    """
    counts, known = _taking_part(transaction.state, reports), transaction.known(ENTERED)
    hashes = transaction.hashes([["pushed", sender, name]])
    is_new = bool(known.new(hashes)[0])
    transaction.add(counts if is_new and not transaction.state.is_paused else {})
    transaction.learn(ENTERED, known, hashes if is_new else hashes[:0])
    return not transaction.state.is_paused


def import_reports(
    transaction: Transaction,
    source: str,
    reports: Iterable[tuple[str, str | None]],
    *,
    dry_run: bool = False,
    count: bool = True,
) -> int:
    """Count those reports of a hotline, (outside id, target), that are not known yet; returns how many.

    Those without a target that takes part are left for another time. Without `count`, and while imports are paused, all
    reports become known, these included, and count neither now nor later.
    """
    count = count and not transaction.state.is_paused
    numbers, targets = transaction.state.numbers_of_present, array("q")

    def ids() -> Iterator[list[object]]:
        """One at a time: there may be millions."""
        for outside_id, target in reports:
            if target in numbers or not count:
                targets.append(numbers.get(target or "", -1))
                yield ["imported", source, outside_id]

    if not dry_run:
        transaction.add_source(source)
    known = transaction.known(source) if source in transaction.sources() else KnownReports.none()
    hashes = transaction.hashes(ids())
    new = known.new(hashes)
    counted = Counter(compress(targets, new)) if count else Counter[int]()
    if not dry_run:
        transaction.add(counted)
        transaction.learn(source, known, hashes[new])
    return counted.total()


def active(transaction: Transaction) -> dict[str, int]:
    """The reports of every target that takes part since its last audit, the open round's included."""
    run, tally = transaction.read_counts()
    before = run.active_counts()
    return {name: before[number] + tally[number] for name, number in transaction.state.numbers_of_present.items()}


def _entries(transaction: Transaction, what: str, receipt: str, targets: Iterable[int]) -> list[list[object]]:
    """The ids of what was entered or withdrawn, one a target. After a draw, or the target's audit, others hold, and
    these cannot be made again.
    """
    nonces = transaction.nonces()
    return [[what, receipt, target, nonces[target].hex()] for target in targets]


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
    numbers = state.numbers_of_present
    return {numbers[target]: _whole(count) for target, count in reports.items() if target in numbers}


def _whole(count: int) -> int:
    try:
        if check_whole("reports", count, least=1) <= MAX_REPORTS:
            return count
    except DeniableError:  # which would quote it
        raise DeniableError("reports must be whole numbers of at least 1") from None
    raise DeniableError(f"at most {MAX_REPORTS} reports about a target can be added at once")
