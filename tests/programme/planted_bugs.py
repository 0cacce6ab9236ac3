"""Ways in which one row decides about others, planted on purpose: each was in deniable once, or nearly."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.programme.twin_worlds import DUMMIES, ROOM

from deniable.errors import DeniableError
from deniable.programme import counting, imports
from deniable.programme.counting import _by_number
from deniable.programme.imports import Batch
from deniable.programme.imports.imported_reports import Hashes, KnownReports, _random
from deniable.programme.transaction import Transaction

LONGEST_FILE = 4

Plant = Callable[[pytest.MonkeyPatch], None]


def a_mark_below_which_nothing_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """It rises to the highest number of a run that ended, so that late rows below it are lost."""
    original = counting.import_reports
    marks: dict[tuple[str, str], int] = defaultdict(int)
    running: dict[tuple[str, str], dict[tuple[int, int], int]] = defaultdict(dict)

    def planted(
        transaction: Transaction, source: str, reports: Iterable[tuple[str, str | None]], **options: Any
    ) -> int:
        audits, numbers, at = (
            transaction.state.history.audits[0],
            transaction.state.numbers_of_present,
            (_world(transaction), source),
        )
        ended = [run for run in running[at] if audits[run[0]] > run[1] or run[0] not in numbers.values()]
        marks[at] = max([marks[at], *(running[at].pop(run) for run in ended)])
        above = [(id_, target) for id_, target in reports if _number(id_) > marks[at]]
        for id_, target in above:
            if target is not None and target in numbers:
                run = (numbers[target], int(audits[numbers[target]]))
                running[at][run] = max(running[at].get(run, 0), _number(id_))
        return original(transaction, source, above, **options)

    monkeypatch.setattr(counting, "import_reports", planted)


def _world(transaction: Transaction) -> str:
    return str(transaction.connection.engine.url)


def _number(outside_id: str) -> int:
    return int(outside_id.rpartition("-")[2], 16 if "-" in outside_id else 10)


def a_pause_that_any_import_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    original = counting.import_reports
    imported = set()

    def planted(transaction: Transaction, *arguments: Any, **options: Any) -> int:
        state, at = transaction.state, (_world(transaction), transaction.state.commitment)
        transaction.state = replace(state, is_paused=state.is_paused and at not in imported)
        imported.add(at)
        try:
            return original(transaction, *arguments, **options)
        finally:
            transaction.state = state

    monkeypatch.setattr(counting, "import_reports", planted)


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
    original = counting.import_reports

    def planted(
        transaction: Transaction, source: str, reports: Iterable[tuple[str, str | None]], **options: Any
    ) -> int:
        rows = [*reports]
        if any(target is not None and target not in transaction.state.numbers_of_present for _, target in rows):
            raise DeniableError("a target does not take part")
        return original(transaction, source, rows, **options)

    monkeypatch.setattr(counting, "import_reports", planted)


def a_target_that_left_refuses_what_is_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    original = counting.enter

    def planted(transaction: Transaction, reports: Mapping[str, int], receipt: str) -> None:
        if not reports.keys() <= transaction.state.numbers_of_present.keys():
            raise DeniableError("a target does not take part")
        original(transaction, reports, receipt)

    monkeypatch.setattr(counting, "enter", planted)


def a_withdrawal_without_a_receipt(monkeypatch: pytest.MonkeyPatch) -> None:
    """By target: after an order it takes back what another person entered."""

    def planted(transaction: Transaction, names: Iterable[str], _receipt: str) -> tuple[str, ...]:
        counts, tally = _by_number(transaction.state, dict.fromkeys(names, 1)), transaction.tally()
        if any(tally[target] < count for target, count in counts.items()):
            raise DeniableError("there are not so many")
        transaction.add({target: -count for target, count in counts.items()})
        return ()

    monkeypatch.setattr(counting, "withdraw", planted)


def a_withdrawal_of_all_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A target audited since keeps the reports about others."""
    original = counting.withdraw

    def planted(transaction: Transaction, names: Iterable[str], receipt: str) -> tuple[str, ...]:
        if not {*names} <= transaction.state.numbers_of_present.keys() or original(transaction, names, receipt):
            raise DeniableError("not all can be taken back")
        return ()

    monkeypatch.setattr(counting, "withdraw", planted)


def a_push_that_counts_as_often_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(transaction: Transaction, _sender: str, _name: str, reports: Mapping[str, int]) -> bool:
        transaction.add(_by_number(transaction.state, reports))
        return True

    monkeypatch.setattr(counting, "push", planted)


def an_overflow_that_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest hashes make room for new ones, and their reports count again."""

    def planted(self: KnownReports, new: Hashes) -> KnownReports:
        kept = np.concatenate([self.hashes[DUMMIES : self.taken], new])[DUMMIES - ROOM :]
        hashes = np.concatenate([_random(DUMMIES), kept, _random(ROOM - DUMMIES - len(kept))])
        return KnownReports(hashes, DUMMIES + len(kept))

    monkeypatch.setattr(KnownReports, "with_reports", planted)


def a_refusal_that_tells_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    original = counting.withdraw

    def planted(transaction: Transaction, names: Iterable[str], receipt: str) -> tuple[str, ...]:
        try:
            return original(transaction, names, receipt)
        except DeniableError as error:
            raise DeniableError(f"{error}: of {sum(transaction.tally())} reports") from None

    monkeypatch.setattr(counting, "withdraw", planted)
