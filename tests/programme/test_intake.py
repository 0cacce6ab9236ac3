"""What comes in reaches the disk at the next tick or at once, and counts once, whatever happens in between."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.programme.insight import everything, rows
from tests.programme.offices import TARGETS, Office, new_office

from deniable.errors import DeniableError
from deniable.programme import buffer, counting, intake
from deniable.programme.buffer import ROOM
from deniable.programme.programme import Programme
from deniable.programme.receipt import new_receipt
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.secrets.lock import KeyChangedError
from deniable.programme.ticker import Ticker
from deniable.programme.transaction import Transaction
from deniable.storage import tables

ASH, BIRCH, CEDAR, DOGWOOD = TARGETS
NONE = dict.fromkeys(TARGETS, 0)


@pytest.fixture
def office(database: str, tmp_path: Path) -> Office:
    return new_office(database, tmp_path)


@pytest.fixture
def ticking(office: Office, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    """Its ticker ticks when the test says so."""
    monkeypatch.setattr(intake, "Ticker", partial(Ticker, every=1e6))
    office.programme.start_ticking()
    yield office
    office.programme.close()


def tick(office: Office) -> None:
    ticker = office.programme._intake._ticker
    assert ticker is not None
    ticker._tick()


def counted(office: Office) -> list[int]:
    """Without what is on pages."""
    with office.programme._access.looking() as transaction:
        return [*map(int, transaction.tally()[0])]


def pages(office: Office) -> int:
    with office.programme._access.looking() as transaction:
        return transaction._buffer._pages


def brought(office: Office, made: Callable[..., tuple[buffer.Slots, Any]], **arguments: Any) -> "Future[None]":
    return office.programme._intake.bring(partial(made, **arguments))[1]


def test_what_comes_in_waits_for_the_next_tick(ticking: Office) -> None:
    before = everything(ticking.database)
    written = ticking.programme.bring_reports({ASH: 2}, new_receipt())
    answer, pushed = ticking.programme.bring_push("token", "one", {BIRCH: 1})
    assert answer.is_counted
    assert everything(ticking.database) == before
    assert not written.done()
    tick(ticking)
    assert written.done()
    assert pushed.done()
    assert ticking.programme.active_counts() == NONE | {ASH: 2, BIRCH: 1}
    assert len(rows(ticking.database, tables.pages)) == 1


def test_a_tick_without_reports_writes_a_page_all_the_same(ticking: Office) -> None:
    tick(ticking)  # it is the first one, and counts as well
    tick(ticking)
    tick(ticking)
    assert len(rows(ticking.database, tables.pages)) == 2
    assert ticking.programme.active_counts() == NONE


def test_pages_are_counted_in_a_transaction_of_their_own(office: Office) -> None:
    with office.programme._access.looking() as transaction:
        first, second = (
            counting.entered(transaction, {target: 1}, receipt=new_receipt())[0] for target in (ASH, BIRCH)
        )
    intake = office.programme._intake
    intake._write_page(first)
    assert (counted(office), pages(office)) == ([0, 0, 0, 0], 1)
    intake._count()
    intake._write_page(second)
    assert (counted(office), pages(office)) == ([1, 0, 0, 0], 1)
    intake._count()
    assert (counted(office), pages(office)) == ([1, 1, 0, 0], 0)
    assert office.programme.active_counts() == NONE | {ASH: 1, BIRCH: 1}


def test_without_a_ticker_it_is_written_at_once_on_as_many_pages_as_it_takes(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And at least on one."""
    monkeypatch.setattr(buffer, "PAGES", 5)
    office.programme.hotlines.add("hotline")
    export = [(str(number), ASH) for number in range(3 * ROOM + 1)]
    assert office.programme.import_reports("hotline", export) == len(export)
    assert pages(office) == 4
    assert office.programme.import_reports("hotline", []) == 0
    assert pages(office) == 5
    assert office.programme.import_reports("hotline", export) == 0  # the buffer was full
    assert (pages(office), counted(office)) == (4, [len(export), 0, 0, 0])


def test_an_import_of_several_pages_at_once_is_written_as_a_whole(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.programme.hotlines.add("hotline")
    before, written = everything(office.database), []
    take_in = Transaction.take_in

    def fails(self: Transaction, page: buffer.Slots) -> None:
        take_in(self, page)
        written.append(len(page))
        if len(written) == 3:
            raise DeniableError("the disk is full")

    monkeypatch.setattr(Transaction, "take_in", fails)
    with pytest.raises(DeniableError, match="full"):
        office.programme.import_reports("hotline", [(str(number), ASH) for number in range(3 * ROOM)])
    assert everything(office.database) == before


def test_a_ticker_is_started_once_and_only_with_the_key(office: Office) -> None:
    with closing(Programme.open(office.database)) as public:
        public.start_ticking()
        assert public._intake._ticker is None
    office.programme.start_ticking()
    first = office.programme._intake._ticker
    office.programme.start_ticking()
    assert office.programme._intake._ticker is first is not None
    office.programme.close()
    assert office.programme._intake._ticker is None
    office.programme.close()
    office.programme.report({ASH: 1})
    assert office.programme.active_counts()[ASH] == 1


def test_what_waits_when_the_programme_is_closed_is_written(ticking: Office) -> None:
    written = ticking.programme.bring_reports({ASH: 2}, new_receipt())
    ticking.programme.close()
    assert written.result() is None
    assert ticking.again().active_counts()[ASH] == 2


# What happens between the moment when something comes in and the tick


def test_what_comes_in_twice_before_a_tick_counts_once(ticking: Office) -> None:
    receipt = new_receipt()
    for _ in range(2):
        ticking.programme.bring_reports({ASH: 1, BIRCH: 2}, receipt)
        ticking.programme.bring_push("token", "one", {CEDAR: 3})
    tick(ticking)
    expected = NONE | {ASH: 1, BIRCH: 2, CEDAR: 3}
    assert ticking.programme.active_counts() == expected
    ticking.count()
    assert ticking.programme.active_counts() == expected


def test_of_two_entries_with_one_receipt_the_first_counts_as_a_whole(ticking: Office) -> None:
    receipt = new_receipt()
    ticking.programme.bring_reports({ASH: 1, BIRCH: 1}, receipt)
    ticking.programme.bring_reports({BIRCH: 5, CEDAR: 5}, receipt)
    tick(ticking)
    assert ticking.programme.active_counts() == NONE | {ASH: 1, BIRCH: 1}
    ticking.programme.bring_reports({DOGWOOD: 5}, receipt)
    tick(ticking)
    ticking.count()
    assert ticking.programme.active_counts() == NONE | {ASH: 1, BIRCH: 1}


def test_what_is_taken_back_twice_before_a_tick_is_taken_off_once(ticking: Office) -> None:
    receipt = new_receipt()
    ticking.programme.bring_reports({ASH: 2}, new_receipt())
    ticking.programme.bring_reports({ASH: 3}, receipt)
    tick(ticking)
    for _ in range(2):
        brought(ticking, counting.withdrawn, names=[ASH], receipt=receipt)
    tick(ticking)
    assert ticking.programme.active_counts()[ASH] == 2
    ticking.count()
    assert ticking.programme.active_counts()[ASH] == 2


def test_an_export_that_comes_twice_before_a_tick_counts_once(ticking: Office) -> None:
    ticking.programme.hotlines.add("hotline")
    export = [("1", ASH), ("2", BIRCH), ("1", CEDAR)]
    for _ in range(2):
        brought(ticking, counting.imported, source="hotline", reports=export, count=True)
    tick(ticking)
    assert ticking.programme.active_counts() == NONE | {ASH: 1, BIRCH: 1}


def test_a_target_that_leaves_before_the_tick_holds_back_no_others(ticking: Office) -> None:
    written = ticking.programme.bring_reports({ASH: 1, BIRCH: 1}, new_receipt())
    ticking.programme.change_targets("closed down", independent=True, remove=[ASH])
    tick(ticking)
    assert written.result() is None
    assert ticking.programme.active_counts() == {BIRCH: 1, CEDAR: 0, DOGWOOD: 0}
    ticking.count()
    assert counted(ticking) == [0, 1, 0, 0]


def test_a_round_that_is_closed_before_the_tick_does_not_have_the_report(ticking: Office) -> None:
    """It counts in the next one, also where its target was just audited."""
    written = ticking.programme.bring_reports(dict.fromkeys(TARGETS, 1), new_receipt())
    (audited,) = ticking.close()
    tick(ticking)
    assert written.result() is None
    assert ticking.programme.active_counts() == dict.fromkeys(TARGETS, 1)
    ticking.programme.override([audited], "why", independent=True)
    assert ticking.programme.active_counts() == dict.fromkeys(TARGETS, 1) | {audited: 0}


def test_what_was_entered_before_a_draw_is_not_taken_back_after_it(ticking: Office) -> None:
    """Although it was there when it was looked for: what was drawn stands."""
    receipt = ticking_report(ticking, {ASH: 5, BIRCH: 5, CEDAR: 5, DOGWOOD: 5})
    written = brought(ticking, counting.withdrawn, names=TARGETS, receipt=receipt)
    (audited,) = ticking.close()
    tick(ticking)
    assert written.done()
    assert ticking.programme.active_counts() == dict.fromkeys(TARGETS, 5) | {audited: 0}
    ticking.count()
    assert ticking.programme.active_counts() == dict.fromkeys(TARGETS, 5) | {audited: 0}


def test_a_withdrawal_that_the_closing_overtakes_is_refused(ticking: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was reported: the record alone tells."""
    receipt = ticking_report(ticking, {ASH: 5})
    bring = ticking.programme._intake.bring

    def overtaken(*made: Any) -> Any:
        found = bring(*made)
        ticking.close()
        tick(ticking)
        return found

    monkeypatch.setattr(ticking.programme._intake, "bring", overtaken)
    with pytest.raises(DeniableError, match="closed in the meantime, and these reports may have counted"):
        ticking.programme.withdraw([ASH], receipt)


def ticking_report(office: Office, reports: dict[str, int]) -> str:
    receipt = new_receipt()
    office.programme.bring_reports(reports, receipt)
    tick(office)
    return receipt


def test_what_machines_bring_before_a_pause_does_not_count_in_it(ticking: Office) -> None:
    """What people enter does."""
    ticking.programme.hotlines.add("hotline")
    ticking.programme.bring_reports({ASH: 1}, new_receipt())
    ticking.programme.bring_push("token", "one", {BIRCH: 1})
    brought(ticking, counting.imported, source="hotline", reports=[("1", CEDAR)], count=True)
    ticking.close()
    ticking.key.transcript.unlink()
    entry = ticking.programme.recover(None, "the copy beside the key was lost")
    assert entry.own()["paused"]
    tick(ticking)
    assert ticking.programme.active_counts() == NONE | {ASH: 1}
    ticking.programme.resume_imports("all was brought again")
    ticking.programme.bring_push("token", "one", {BIRCH: 1})
    tick(ticking)
    assert ticking.programme.active_counts() == NONE | {ASH: 1}


def test_what_machines_bring_in_a_pause_does_not_count_after_it(ticking: Office) -> None:
    """The pause may end between the answer and the tick."""
    ticking.programme.hotlines.add("hotline")
    ticking.close()
    ticking.key.transcript.unlink()
    ticking.programme.recover(None, "the copy beside the key was lost")
    pushed, _ = ticking.programme.bring_push("token", "one", {BIRCH: 1})
    assert not pushed.is_counted
    brought(ticking, counting.imported, source="hotline", reports=[("1", CEDAR)], count=True)
    ticking.programme.resume_imports("all was brought again")
    for _ in range(2):
        tick(ticking)
        assert ticking.programme.active_counts() == NONE
        ticking.programme.bring_push("token", "one", {BIRCH: 1})


def test_a_key_that_was_changed_refuses_at_the_tick(ticking: Office, tmp_path: Path) -> None:
    tick(ticking)
    with closing(ticking.again()) as at_a_terminal:
        at_a_terminal.rekey(KeyFile(tmp_path / "new.key"))
    written = ticking.programme.bring_reports({ASH: 1}, new_receipt())
    tick(ticking)
    with pytest.raises(KeyChangedError):
        written.result()


def test_after_the_end_it_is_refused_at_once(ticking: Office) -> None:
    tick(ticking)
    with closing(ticking.again()) as at_a_terminal:
        written = ticking.programme.bring_reports({ASH: 1}, new_receipt())
        at_a_terminal.end("over")
    with pytest.raises(DeniableError, match="has ended"):
        ticking.programme.bring_reports({ASH: 1}, new_receipt())
    tick(ticking)
    with pytest.raises(DeniableError, match="has ended"):
        written.result()


def test_a_database_that_was_put_back_refuses_at_the_tick(ticking: Office) -> None:
    ticking.close()
    written = ticking.programme.bring_reports({ASH: 1}, new_receipt())
    ticking.key.transcript.unlink()
    tick(ticking)
    with pytest.raises(DeniableError, match="transcript"):
        written.result()
    assert ticking.again().status().entries == 1
