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
from typing import NamedTuple, Protocol

import numpy as np

from deniable.arrays import BoolArray, IntArray
from deniable.errors import MAX_REPORTS, DeniableError, check_whole
from deniable.programme.buffer import TOGETHER, Arrived, Kind, Slots, slots
from deniable.programme.imports.imported_reports import ENTERED, Hashes, KnownReports, seen_before, with_numbers
from deniable.programme.receipt import check_receipt
from deniable.programme.transaction import Transaction
from deniable.programme.transcript.state import PublicState
from deniable.report_classes import named
from deniable.state import Secret


class Seen(Protocol):
    """What the slots of new reports are made of. A transaction has it."""

    @property
    def state(self) -> PublicState: ...

    def hashes(self, ids: Iterable[Sequence[object]], /) -> Hashes: ...


def entered(
    seen: Seen, reports: Mapping[str, int], receipt: str, report_class: str | None = None
) -> tuple[Slots, None]:
    """Reports by the target's name, all of one class. The same receipt again counts nothing: an answer may have got
    lost.

    Those about targets that do not take part hold back no others.
    """
    _by_number(seen.state, reports)
    place = _place(seen.state, report_class)
    return _together(seen, Kind.ENTERED, ["receipt", check_receipt(receipt), place], reports, place), None


class Pushed(NamedTuple):
    """What a machine is told. Public."""

    is_counted: bool
    """Not while imports are paused, nor later then: these reports may have been counted before. Nor after the last
    round, unless the class leads to a visit.
    """
    left_out: tuple[str, ...]
    """The names under which no target takes part."""


def pushed(
    seen: Seen, sender: str, name: str, reports: Mapping[str, int], report_class: str | None = None
) -> tuple[Slots, Pushed]:
    """Reports of one class that a machine sends under a name of its own for them, which count once however often they
    come.

    Those about targets that do not take part hold back no others, and do not count later either.
    """
    state, place = seen.state, _place(seen.state, report_class)
    left_out = tuple(target for target in reports if not state.takes_part(target))
    brought = _together(seen, Kind.PUSHED, ["pushed", sender, name], reports, place)
    brought["number"] *= not (state.is_paused and state.parameters.in_draw[place])  # the pause may end before the tick
    is_in_time = state.has_open_round or not state.parameters.in_draw[place]
    return brought, Pushed(is_in_time and not state.is_paused, left_out)


Reports = Iterable[tuple[str, str | None] | tuple[str, str | None, str | None]]
"""Of a hotline: (outside id, target), or (outside id, target, class)."""


def imported(
    transaction: Transaction, source: str, reports: Reports, *, count: bool, name: str | None = None
) -> tuple[Slots, bool]:
    """The reports of a hotline, each once; and whether imports are paused, so that none of them counts.

    Those that are known already are brought as well, and count nothing (`_counted`): how long it takes until all are on
    the disk follows from the file alone. Nor is it looked up here which are known: a person who must not see counts
    waits for this.

    Those without a target that takes part, or without a class that there is, are left for another time. Without
    `count`, and while imports are paused, all reports become known, these included, and count neither now nor later.

    Under its `name` an import can be taken back until it is counted (`taken_back`).
    """
    brought, _ = _of_hotline(transaction, source, reports, count=count)
    brought = brought[~seen_before(brought["id"])]
    if name is not None:
        begins = _of_import(transaction, Kind.IMPORTED, source, name)
        brought["import"] = begins["import"][0]
        brought = np.concatenate([begins, brought])
    return brought, transaction.state.is_paused


def imported_and_told(transaction: Transaction, source: str, reports: Reports, *, count: bool) -> tuple[Slots, int]:
    """The same, and how many of these reports count. Confidential."""
    brought, is_paused = imported(transaction, source, reports, count=count)
    return brought, int(_new(transaction, source, brought).sum()) if count and not is_paused else 0


def looked_at(transaction: Transaction, source: str, reports: Reports) -> BoolArray:
    """Which of these reports, in their order, would count if they were imported now."""
    brought, places = _of_hotline(transaction, source, reports, count=True)
    counts = np.zeros(places[-1], np.bool_)
    if not transaction.state.is_paused:
        counts[places[:-1]] = _new(transaction, source, brought)
    return counts


def taken_back(transaction: Transaction, source: str, name: str) -> tuple[Slots, None]:
    """Lets an import count for nothing, and its reports come again, unless it is counted by then (`is_final`). What
    of it comes in later counts for nothing, either.
    """
    return _of_import(transaction, Kind.TAKEN_BACK, source, name), None


def is_final(transaction: Transaction, source: str, name: str) -> bool:
    """Whether the import of this name was counted, and so cannot be taken back any more. It does not depend on what is
    in it: an import without new reports becomes final as well.
    """
    own = _of_import(transaction, Kind.IMPORTED, source, name)
    return not transaction.known(source).new(own["id"])[0]


def _of_hotline(transaction: Transaction, source: str, reports: Reports, *, count: bool) -> tuple[Slots, IntArray]:
    """The slots of all reports that can count or become known; and their places among the reports, the last of which
    is the number of reports.
    """
    state, targets, classes, taking_part, places = transaction.state, array("l"), array("B"), array("B"), array("l")
    is_counted, read = count and not state.is_paused, 0
    class_places: dict[str | None, int] = {one.name: place for place, one in enumerate(state.parameters.classes)}
    if len(class_places) == 1:
        class_places[None] = 0

    def ids() -> Iterator[list[object]]:
        """One at a time: there may be millions."""
        nonlocal read
        for report in reports:
            outside_id, target, name = report if len(report) == 3 else (*report, None)
            takes_part = target is not None and state.takes_part(target) and name in class_places
            if takes_part or not is_counted:
                targets.append(state.numbers[target] if takes_part and target is not None else 0)
                classes.append(class_places.get(name, 0))
                taking_part.append(takes_part)
                places.append(read)
                yield ["imported", source, outside_id]
            read += 1

    hashes = transaction.hashes(ids())
    of_class = np.array(classes, np.uint8)
    waits = np.array(taking_part, np.bool_) & ~state.parameters.in_draw[of_class]
    counts = np.full(len(of_class), is_counted) | (waits & count)
    number = _number(transaction, source)
    made = slots(Kind.IMPORTED, hashes, np.array(targets, np.int64), counts, classes=of_class, source=number)
    return made, np.append(np.array(places, np.int64), read)


def _new(transaction: Transaction, source: str, brought: Slots) -> BoolArray:
    """Which of these reports of a hotline are not known."""
    known = settle(transaction).known.get(source, KnownReports.none())
    return known.new(brought["id"])


def _of_import(transaction: Transaction, kind: Kind, source: str, name: str) -> Slots:
    """The slot that stands for a whole import, before its reports or to take it back. It counts nothing."""
    own = transaction.hashes([["import", source, name]])
    number = int(own[0, 0]) & 0xFFFFFFFF | 1  # 0 is that of imports that cannot be taken back
    return slots(kind, own, 0, 0, source=_number(transaction, source), import_=number)


def _number(transaction: Transaction, source: str) -> int:
    sources = transaction.sources()
    return sources.index(source) if source in sources else len(sources)


def withdrawn(transaction: Transaction, names: Iterable[str], receipt: str) -> tuple[Slots, tuple[str, ...]]:
    """Takes back all that was entered with this receipt about these targets, in the open round.

    Each target by itself, so that no report decides about others. Also returns the targets whose reports stay counted,
    or were never counted; refuses where they are all.
    """
    receipt, wanted = check_receipt(receipt), tuple(dict.fromkeys(names))
    targets = [*_by_number(transaction.state, dict.fromkeys(wanted, 1))]
    known, gone = settle(transaction).known[ENTERED], list[Slots]()
    for place in range(len(transaction.state.parameters.classes)):
        for part in counting_up():
            own = transaction.hashes([["receipt", receipt, place, part]])
            if known.new(own)[0]:
                break
            some = slots(Kind.WITHDRAWN, np.repeat(own, len(targets), axis=0), targets, 0, classes=place)
            gone.append(some[_standing(transaction, known, some)[0] > 0])
    targets_gone = {int(target) for some in gone for target in some["target"]}
    if not targets_gone:
        terms = transaction.state.parameters.terms
        raise DeniableError(
            "nothing was taken back: check the receipt and the {target_word}; if both are right, "
            "{an_audit_word} was drawn or ordered since, or these reports were taken back before",
            target_word=terms.target,
            an_audit_word=terms.an_audit,
        )
    left = tuple(name for name in wanted if transaction.state.numbers.get(name) not in targets_gone)
    return np.concatenate(gone), left


@dataclass(frozen=True, repr=False)
class Settled(Secret):
    """What counts and what is known once all that came in is counted."""

    tally: IntArray
    received: IntArray
    """Since the last yearly figures, (classes,)."""
    known: Mapping[str, KnownReports]
    """By source."""
    changed: Mapping[str, int]
    """The first block of each source that may be another."""


def fold(transaction: Transaction) -> None:
    """Count what came in. The same is written whatever that is."""
    settled = settle(transaction)
    transaction.write_tally(settled.tally)
    transaction.write_received(settled.received)
    for source, known in settled.known.items():
        transaction.write_known(source, known, settled.changed[source])
    transaction.empty_buffer()


def settle(transaction: Transaction) -> Settled:
    """What `fold` comes to."""
    arrived, tally, received = transaction.arrived(), transaction.tally(), transaction.received()
    known, changed = dict[str, KnownReports](), dict[str, int]()
    for number, source in enumerate(transaction.sources()):
        before = transaction.known(source)
        came = arrived.where((arrived.slots["source"] == number) & (arrived.slots["kind"] != Kind.WITHDRAWN))
        came, gone_imports = _standing_imports(transaction, source, came, before)
        counted, ids = _counted(came, before)
        _add(tally, received, counted, transaction.state)
        entered_ = counted[counted["kind"] == Kind.ENTERED]
        hashes = transaction.hashes(_ids(transaction, "entered", entered_))
        new = np.concatenate([ids, gone_imports, with_numbers(hashes, entered_["number"])])
        known[source] = before.with_reports(new[np.lexsort(new.T)])  # which does not tell in what order they came
        changed[source] = before.blocks - 1
    gone = arrived.slots[arrived.slots["kind"] == Kind.WITHDRAWN]
    numbers, hashes = _standing(transaction, known[ENTERED], gone)
    np.subtract.at(tally, (gone["class"], gone["target"]), numbers)
    np.subtract.at(received, gone["class"], numbers)
    known[ENTERED] = known[ENTERED].with_reports(hashes[numbers > 0])
    # Held there without a word: one report more must change no other count, nor what is refused.
    return Settled(np.clip(tally, 0, MAX_REPORTS), np.clip(received, 0, MAX_REPORTS), known, changed)


def active(transaction: Transaction) -> dict[str, int]:
    """What the reports of every target that takes part come to since its last audit, the open round's included."""
    run, _ = transaction.read_counts()
    parameters = transaction.state.parameters
    in_draw = settle(transaction).tally[parameters.in_draw]
    counts = np.array(run.active_counts(), np.int64) + parameters.weighed(in_draw)
    if transaction.has_frozen:
        waiting = parameters.weighed(transaction.frozen().inputs.reports)
        waiting[[target for ordered in transaction.state.hidden.orders_since_freeze for target in ordered]] = 0
        counts += waiting
    return dict(zip(transaction.state.present, counts[transaction.state.history.present[0]].tolist(), strict=True))


def of_open_round(transaction: Transaction, targets: Sequence[str]) -> list[list[int]]:
    """The reports of the open round about each of these targets, by class."""
    numbers = [transaction.state.number_of(target) for target in targets]
    by_target: list[list[int]] = settle(transaction).tally[:, numbers].T.tolist()
    return by_target


def waiting_visits(transaction: Transaction) -> list[tuple[str, str]]:
    """(target, class) for each target with a report of a class that leads to a visit, until its visit is ordered."""
    state, tally = transaction.state, settle(transaction).tally
    return [
        (state.targets[number], one.name)
        for one, counts in zip(state.parameters.classes, tally, strict=True)
        if one.leads_to_visit
        for number in np.flatnonzero(counts).tolist()
    ]


def _standing_imports(
    transaction: Transaction, source: str, came: Arrived, known: KnownReports
) -> tuple[Arrived, Hashes]:
    """Without the imports of this source that were taken back, now or before; and the ids by which those of now are
    known for good: another process may write the rest of them after this. One whose beginning is counted stays.
    """
    kinds, imports = came.slots["kind"], came.slots["import"]
    ends = came.slots[kinds == Kind.TAKEN_BACK]
    numbers = np.unique(imports[imports > 0])
    ids = transaction.hashes(["taken back", source, number] for number in numbers.tolist())
    are_new = known.new(np.concatenate([ends["id"], ids]))  # no id of the one kind is one of the other
    now, is_new = ends["import"][are_new[: len(ends)]], are_new[len(ends) :]
    is_gone = ~is_new | np.isin(numbers, now)
    stays = ~np.isin(imports, numbers[is_gone]) & (kinds != Kind.TAKEN_BACK)
    return came.where(stays), ids[is_new & is_gone]


def _counted(came: Arrived, known: KnownReports) -> tuple[Slots, Hashes]:
    """The slots that count, and the ids that become known: of those with the same id the ones that came in together
    first, unless the id is known.
    """
    ids, first, which = np.unique(came.slots["id"], axis=0, return_index=True, return_inverse=True)
    is_new = known.new(ids)
    counts = is_new[which] & (came.together == came.together[first][which])
    return came.slots[counts], ids[is_new]


def _add(tally: IntArray, received: IntArray, counted: Slots, state: PublicState) -> None:
    """In place. What machines and hotlines bring does not count while imports are paused; but a report of an emergency
    leads to its visit all the same, for the second time perhaps.
    """
    takes_part = state.history.present[0, counted["target"]]
    counts = takes_part & ((counted["kind"] == Kind.ENTERED) | (not state.is_paused))
    chosen = counts | (takes_part & ~state.parameters.in_draw[counted["class"]])
    numbers = counted["number"].astype(np.int64)
    np.add.at(tally, (counted["class"][chosen], counted["target"][chosen]), numbers[chosen])
    np.add.at(received, counted["class"][counts], numbers[counts])


def _standing(transaction: Transaction, known: KnownReports, some: Slots) -> tuple[IntArray, Hashes]:
    """How many reports stand that were entered under the ids of these slots, of their class and about their target,
    (rows,), and the hashes by which it is known that they were withdrawn.
    """
    standing = known.numbers(transaction.hashes(_ids(transaction, "entered", some)))
    gone = transaction.hashes(_ids(transaction, "withdrawn", some))
    return np.where(known.new(gone), standing, 0), gone


def _ids(transaction: Transaction, what: str, some: Slots) -> list[list[object]]:
    """The ids of what was entered or withdrawn, one a target and class. After a draw, or the target's audit, others
    hold, and these cannot be made again.
    """
    nonces = transaction.nonces()
    return [
        [what, f"{first:016x}{second:016x}", target, nonces[target].tobytes().hex(), place]
        for (first, second), target, place in zip(
            some["id"].tolist(), some["target"].tolist(), some["class"].tolist(), strict=True
        )
    ]


def _place(state: PublicState, report_class: str | None) -> int:
    """The number of the class of this name."""
    classes = state.parameters.classes
    return classes.index(named(classes, report_class))


def _together(seen: Seen, kind: Kind, name: Sequence[object], reports: Mapping[str, int], place: int) -> Slots:
    """Slots of one class that count together, or in parts of as many as can.

    What is in a part does not depend on which targets take part, and none is empty: once known, it counts nothing more.
    """
    targets, made = [*reports], list[Slots]()
    for first in range(0, len(targets) or 1, TOGETHER):
        part = {target: reports[target] for target in targets[first : first + TOGETHER]}
        counts = _taking_part(seen.state, part) or {0: 0}
        own = seen.hashes([[*name, first // TOGETHER]])
        made.append(slots(kind, np.repeat(own, len(counts), axis=0), [*counts], [*counts.values()], classes=place))
    return np.concatenate(made)


def _by_number(state: PublicState, reports: Mapping[str, int]) -> dict[int, int]:
    """Reports by the numbers of their targets, each a whole number of at least 1.

    Those about targets that do not take part are left out; refused where all are.
    """
    counts = _taking_part(state, reports)
    if reports and not counts:
        raise DeniableError(
            "no {target_word} named {name} takes part; `deniable programme targets list` names them all",
            target_word=state.parameters.terms.target,
            name=next(iter(reports)),
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
    raise DeniableError("at most {max_reports} reports about a target can be added at once", max_reports=MAX_REPORTS)
