"""Ways in which one row decides about others, planted on purpose: each was in deniable once, or nearly."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.programme.twin_worlds import DUMMIES, ROOM, Hand

from deniable.errors import DeniableError
from deniable.programme import buffer, counting, imports, rounds
from deniable.programme.buffer import SLOT, Arrived, Buffer, Kind, Slots
from deniable.programme.counting import Settled, _by_number
from deniable.programme.imports import Batch
from deniable.programme.imports.imported_reports import Hashes, KnownReports, _random
from deniable.programme.intake import Intake
from deniable.programme.receipt import check_receipt
from deniable.programme.secrets.frozen import Frozen
from deniable.programme.secrets.sealed_inputs import packed_reports
from deniable.programme.status import Closed
from deniable.programme.transaction import Transaction
from deniable.programme.transcript.state import PublicState

LONGEST_FILE = 4

Plant = Callable[[pytest.MonkeyPatch], None]
Reports = Iterable[tuple[str, str | None]]


def a_mark_below_which_nothing_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """It rises to the highest number of a run that ended, so that late rows below it are lost."""
    original = counting.imported
    marks: dict[tuple[str, str], int] = defaultdict(int)
    running: dict[tuple[str, str], dict[tuple[int, int], int]] = defaultdict(dict)

    def planted(transaction: Transaction, source: str, reports: Reports, **options: Any) -> tuple[Slots, bool]:
        state, at = transaction.state, (_world(transaction), source)
        audits = state.history.audits[0]
        ended = [run for run in running[at] if audits[run[0]] > run[1] or not state.history.present[0, run[0]]]
        marks[at] = max([marks[at], *(running[at].pop(run) for run in ended)])
        above = [report for report in reports if _number(report[0]) > marks[at]]
        for id_, target, *_ in above:
            if target is not None and state.takes_part(target):
                run = (state.numbers[target], int(audits[state.numbers[target]]))
                running[at][run] = max(running[at].get(run, 0), _number(id_))
        return original(transaction, source, above, **options)

    monkeypatch.setattr(counting, "imported", planted)


def _world(transaction: Transaction) -> str:
    return str(transaction.connection.engine.url)


def _number(outside_id: str) -> int:
    return int(outside_id.rpartition("-")[2], 16 if "-" in outside_id else 10)


def a_pause_that_any_import_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    imported, settle, seen = counting.imported, counting.settle, set()

    def planted_imported(transaction: Transaction, *arguments: Any, **options: Any) -> tuple[Slots, bool]:
        at, state = (_world(transaction), transaction.state.commitment), transaction.state
        transaction.state = _without_pause(state, at)
        seen.add(at)
        try:
            return imported(transaction, *arguments, **options)
        finally:
            transaction.state = state

    def planted_settle(transaction: Transaction) -> Settled:
        at, state = (_world(transaction), transaction.state.commitment), transaction.state
        transaction.state = _without_pause(state, at)
        try:
            return settle(transaction)
        finally:
            transaction.state = state

    def _without_pause(state: PublicState, at: tuple[str, str]) -> PublicState:
        return replace(state, is_paused=state.is_paused and at not in seen)

    monkeypatch.setattr(counting, "imported", planted_imported)
    monkeypatch.setattr(counting, "settle", planted_settle)


def an_unknown_channel_that_refuses_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    _plant_in_reading(monkeypatch, lambda batch: bool(batch.set_aside.channels))


def an_unreadable_row_that_refuses_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    _plant_in_reading(monkeypatch, lambda batch: bool(batch.set_aside.malformed))


def a_longest_file(monkeypatch: pytest.MonkeyPatch) -> None:
    _plant_in_reading(monkeypatch, lambda batch: len([*batch]) > LONGEST_FILE)


def _plant_in_reading(monkeypatch: pytest.MonkeyPatch, is_refused: Callable[[Batch], bool]) -> None:
    original = imports.read

    def planted(*arguments: Any) -> Batch:
        batch = original(*arguments)
        if is_refused(batch):
            raise DeniableError("the file is refused")
        return batch

    monkeypatch.setattr(imports, "read", planted)


def a_target_that_left_refuses_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    original = counting.imported

    def planted(transaction: Transaction, source: str, reports: Reports, **options: Any) -> tuple[Slots, bool]:
        rows = [*reports]
        if any(target is not None and not transaction.state.takes_part(target) for _, target, *_ in rows):
            raise DeniableError("a target does not take part")
        return original(transaction, source, rows, **options)

    monkeypatch.setattr(counting, "imported", planted)


def a_target_that_left_refuses_what_is_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    original = counting.entered

    def planted(
        transaction: Transaction, reports: Mapping[str, int], receipt: str, report_class: str | None = None
    ) -> tuple[Slots, None]:
        if not all(map(transaction.state.takes_part, reports)):
            raise DeniableError("a target does not take part")
        return original(transaction, reports, receipt, report_class)

    monkeypatch.setattr(counting, "entered", planted)


def a_withdrawal_without_a_receipt(monkeypatch: pytest.MonkeyPatch) -> None:
    """By target: after an order it takes back what another person entered."""
    settle = counting.settle

    def planted(transaction: Transaction, names: Iterable[str], receipt: str) -> tuple[Slots, tuple[str, ...]]:
        check_receipt(receipt)
        counts, tally = _by_number(transaction.state, dict.fromkeys(names, 1)), counting.settle(transaction).tally[0]
        if any(tally[target] < count for target, count in counts.items()):
            raise DeniableError("there are not so many")
        ids = _random(len(counts))
        return buffer.slots(Kind.WITHDRAWN, ids, [*counts], [*counts.values()]), ()

    def planted_settle(transaction: Transaction) -> Settled:
        settled, came = settle(transaction), transaction.arrived().slots
        gone = came[came["kind"] == Kind.WITHDRAWN]
        np.subtract.at(settled.tally[0], gone["target"], gone["number"].astype(np.int64))
        return replace(settled, tally=np.maximum(settled.tally, 0))

    monkeypatch.setattr(counting, "withdrawn", planted)
    monkeypatch.setattr(counting, "settle", planted_settle)


def a_withdrawal_of_all_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A target audited since keeps the reports about others."""
    original = counting.withdrawn

    def planted(transaction: Transaction, names: Iterable[str], receipt: str) -> tuple[Slots, tuple[str, ...]]:
        brought, left = original(transaction, names, receipt)
        if left or not all(map(transaction.state.takes_part, names)):
            raise DeniableError("not all can be taken back")
        return brought, ()

    monkeypatch.setattr(counting, "withdrawn", planted)


def a_push_that_counts_as_often_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    original = counting.pushed

    def planted(
        transaction: Transaction, sender: str, name: str, reports: Mapping[str, int], report_class: str | None = None
    ) -> tuple[Slots, counting.Pushed]:
        brought, answer = original(transaction, sender, name, reports, report_class)
        brought["id"] = _random(1)
        return brought, answer

    monkeypatch.setattr(counting, "pushed", planted)


def a_page_on_which_the_same_counts_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is brought twice before a tick is not told apart from reports that belong together."""
    monkeypatch.setattr(Arrived, "together", property(lambda self: self.page))


def a_page_only_where_something_came_in(monkeypatch: pytest.MonkeyPatch) -> None:
    tick = Hand._tick

    def planted(self: Hand) -> None:
        if any(self._queues):
            tick(self)

    monkeypatch.setattr(Hand, "_tick", planted)


def a_count_as_soon_as_something_came_in(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Intake._write_page

    def planted(self: Intake, brought: Slots) -> None:
        original(self, brought)
        if len(brought):
            self._count()

    monkeypatch.setattr(Intake, "_write_page", planted)


def a_page_as_long_as_what_is_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    write = Buffer.write

    def planted_write(self: Buffer, round_: int, brought: Slots) -> None:
        with pytest.MonkeyPatch.context() as shorter:
            shorter.setattr(buffer, "ROOM", len(brought))
            write(self, round_, brought)

    def planted_read(self: Buffer, round_: int) -> Arrived:
        chosen = "SELECT blob FROM pages WHERE place < :pages ORDER BY place"
        blobs = self._connection.exec_driver_sql(chosen.replace(":pages", str(self._pages))).scalars()
        opened = [self._vault().open(buffer._name(round_, place), bytes(blob)) for place, blob in enumerate(blobs)]
        pages = [np.frombuffer(page, SLOT) for page in opened]
        every = np.concatenate([buffer.NOTHING, *pages])
        return Arrived(every, np.repeat(np.arange(len(pages)), [len(page) for page in pages]))

    monkeypatch.setattr(Buffer, "write", planted_write)
    monkeypatch.setattr(Buffer, "read", planted_read)


def a_draw_that_follows_from_the_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Frozen, "_counted", lambda self, parameters: self.hash(parameters.programme))


def a_frozen_round_without_a_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Frozen.hash

    def planted(self: Frozen, programme: str) -> str:
        return honest(replace(self, inputs=replace(self.inputs, salt=b"")), programme)

    monkeypatch.setattr(Frozen, "hash", planted)


def a_hash_beside_the_digest_of_the_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which anyone can compare with that of reports which may have come in."""
    honest = Frozen.hash

    def planted(self: Frozen, programme: str) -> str:
        return honest(self, programme)[:32] + hashlib.sha256(packed_reports(self.inputs.reports)).hexdigest()[:32]

    monkeypatch.setattr(Frozen, "hash", planted)


def a_frozen_round_as_long_as_its_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    written, read = Frozen.to_bytes, Frozen.from_bytes

    def planted(self: Frozen) -> bytes:
        filled = int(self.inputs.reports.sum())
        return filled.to_bytes(4) + bytes(filled) + written(self)

    def planted_read(stored: bytes) -> Frozen:
        return read(stored[4 + int.from_bytes(stored[:4]) :])

    monkeypatch.setattr(Frozen, "to_bytes", planted)
    monkeypatch.setattr(Frozen, "from_bytes", planted_read)


def a_draw_of_reports_that_came_after_the_freeze(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, draw_frozen = Transaction.frozen, rounds.draw_frozen

    def later(self: Transaction) -> Frozen:
        kept, came = honest(self), counting.settle(self).tally[self.state.parameters.in_draw]
        return replace(kept, inputs=replace(kept.inputs, reports=kept.inputs.reports + came))

    def planted(*arguments: Any) -> Closed:
        with pytest.MonkeyPatch.context() as shorter:
            shorter.setattr(Transaction, "frozen", later)
            return draw_frozen(*arguments)

    monkeypatch.setattr(rounds, "draw_frozen", planted)


def an_overflow_that_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest hashes make room for new ones, and their reports count again."""

    def planted(self: KnownReports, new: Hashes) -> KnownReports:
        kept = np.concatenate([self.hashes[DUMMIES : self.taken], new])[DUMMIES - ROOM :]
        hashes = np.concatenate([_random(DUMMIES), kept, _random(ROOM - DUMMIES - len(kept))])
        return KnownReports(hashes, DUMMIES + len(kept))

    monkeypatch.setattr(KnownReports, "with_reports", planted)


def a_refusal_that_tells_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    original = counting.withdrawn

    def planted(transaction: Transaction, names: Iterable[str], receipt: str) -> tuple[Slots, tuple[str, ...]]:
        try:
            return original(transaction, names, receipt)
        except DeniableError as error:
            raise DeniableError(f"{error}: of {counting.settle(transaction).tally.sum()} reports") from None

    monkeypatch.setattr(counting, "withdrawn", planted)
