"""Reports entered, withdrawn and pushed: none of them decides about another."""

from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path

import pytest
from tests.programme.offices import TARGETS, Office, new_office

from deniable.errors import DeniableError
from deniable.programme import backup
from deniable.programme.buffer import ROOM
from deniable.programme.imports.imported_reports import ENTERED
from deniable.programme.programme import Programme

ASH, BIRCH, *_ = TARGETS
RECEIPT = "ABCD-EFGH-2345-WXYZ"


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return new_office(str(tmp_path / "programme.db"), tmp_path)


def order(office: Office, target: str) -> None:
    office.programme.override([target], "a complaint", independent=True)


def remove(office: Office, target: str) -> None:
    office.programme.change_targets("closed down", independent=True, remove=[target])


@pytest.mark.parametrize("end_the_run", [order, remove])
def test_a_report_that_cannot_be_taken_back_keeps_no_other(
    end_the_run: Callable[[Office, str], None], office: Office
) -> None:
    office.programme.report({ASH: 1, BIRCH: 3}, RECEIPT)
    end_the_run(office, ASH)
    assert office.programme.withdraw([ASH, BIRCH], RECEIPT) == (ASH,)
    assert office.programme.active_counts()[BIRCH] == 0
    with pytest.raises(DeniableError, match="taken back"):
        office.programme.withdraw([ASH, BIRCH], RECEIPT)


def test_a_target_that_left_holds_back_no_reports_about_others(office: Office) -> None:
    remove(office, ASH)
    office.programme.report({ASH: 1, BIRCH: 3})
    office.programme.push("token", "one", {ASH: 1, BIRCH: 3})
    assert office.programme.active_counts()[BIRCH] == 6
    with pytest.raises(DeniableError, match="no target named Ash Mill takes part"):
        office.programme.report({ASH: 1})
    office.programme.push("token", "two", {ASH: 1})  # known from now on
    office.programme.push("token", "two", {BIRCH: 1})
    assert office.programme.active_counts()[BIRCH] == 6


def test_a_receipt_counts_once_however_it_is_typed(office: Office) -> None:
    office.programme.report({ASH: 2}, RECEIPT.lower())
    office.programme.report({ASH: 2}, RECEIPT)
    assert office.programme.active_counts()[ASH] == 2
    office.programme.withdraw([ASH], RECEIPT.replace("-", " "))
    assert office.programme.active_counts()[ASH] == 0


@pytest.mark.parametrize("number", [1, 2, 10**9])
def test_all_that_was_entered_with_a_receipt_is_taken_back(office: Office, number: int) -> None:
    """Whatever its number was: one report more in an entry does not decide whether the others can be taken back."""
    office.programme.report({ASH: number, BIRCH: 1}, RECEIPT)
    assert office.programme.withdraw([ASH], RECEIPT) == ()
    assert (office.programme.active_counts()[ASH], office.programme.active_counts()[BIRCH]) == (0, 1)


def draw(office: Office, _target: str) -> None:
    office.close()


def found(office: Office, held: Iterable[bytes], receipt: str = RECEIPT) -> list[tuple[int, int]]:
    """What the database, its key, the receipt and these nonces tell: targets and numbers."""
    with office.programme._access.writing() as transaction:
        known = transaction.known(ENTERED)
        ((first, second),) = transaction.hashes([["receipt", receipt, 0, 0]]).tolist()
        own = f"{first:016x}{second:016x}"
        ids = [["entered", own, target, nonce.hex(), 0] for target, nonce in enumerate(held)]
        return [(target, int(number)) for target, number in enumerate(known.numbers(transaction.hashes(ids))) if number]


def nonces(office: Office) -> list[bytes]:
    with office.programme._access.writing() as transaction:
        return [nonce.tobytes() for nonce in transaction.nonces()]


@pytest.mark.parametrize("end_the_run", [order, remove, draw])
def test_a_receipt_tells_nothing_once_the_nonce_is_gone(
    end_the_run: Callable[[Office, str], None], office: Office
) -> None:
    office.programme.report({ASH: 7}, RECEIPT)
    office.count()
    before = nonces(office)
    assert found(office, before) == [(0, 7)]  # so that this would be seen
    end_the_run(office, ASH)
    assert found(office, nonces(office)) == []
    assert before[0] not in nonces(office)
    assert (before[1] in nonces(office)) == (end_the_run is not draw)


def test_no_public_fact_stands_in_for_the_nonce(office: Office) -> None:
    """Neither the number of draws nor that of a target's audits."""
    office.programme.report({BIRCH: 7}, RECEIPT)
    order(office, BIRCH)
    office.close()
    with office.programme._access.writing() as transaction:
        ids = [["entered", RECEIPT, *fact] for fact in product(range(4), repeat=3)]
        assert not transaction.known(ENTERED).numbers(transaction.hashes(ids)).any()


def test_a_receipt_counts_once_also_after_the_draw(office: Office) -> None:
    office.programme.report({ASH: 7}, RECEIPT)
    office.close()
    before = office.programme.active_counts()
    office.programme.report({ASH: 7}, RECEIPT)
    assert office.programme.active_counts() == before


def test_what_was_entered_can_be_taken_back_after_a_skip_and_after_others_joined(office: Office) -> None:
    office.programme.report({ASH: 7}, RECEIPT)
    office.clock.now = office.programme.parameters.calendar.due(1)
    office.programme.skip("a holiday", independent=True)
    office.programme.change_targets("new ones", independent=True, add=["Gorse Farm"])
    office.programme.report({"Gorse Farm": 2}, "BCDE-FGHJ-2345-WXYZ")
    assert office.programme.withdraw([ASH], RECEIPT) == ()
    assert office.programme.withdraw(["Gorse Farm"], "BCDE-FGHJ-2345-WXYZ") == ()
    assert not any(office.programme.active_counts().values())


def test_what_was_entered_before_a_backup_can_be_taken_back_unless_it_was_drawn_since(
    office: Office, tmp_path: Path
) -> None:
    office.programme.report({ASH: 7}, RECEIPT)
    before = nonces(office)
    office.programme.backup(tmp_path / "backup")
    office.close()
    office.programme.close()
    restored = str(tmp_path / "restored.db")
    backup.restore(tmp_path / "backup", restored, never_published=True)
    office.programme = Programme.open(restored, office.key, clock=office.clock)
    assert nonces(office) == before
    office.programme.recover(None, "the disk broke")
    assert not {*before} & {*nonces(office)}
    with pytest.raises(DeniableError, match="taken back"):
        office.programme.withdraw([ASH], RECEIPT)


def test_reports_about_more_targets_than_a_page_has_room_for_count_once(tmp_path: Path) -> None:
    """Also where targets that they name join only later, and would move the others."""
    names = [f"Target {number}" for number in range(2 * ROOM)]
    office = new_office(str(tmp_path / "programme.db"), tmp_path, targets=names)
    reports = dict.fromkeys(["Gorse Farm", *names, "Heather Inn"], 2)
    for deed in (
        lambda: office.programme.push("token", "one", reports),
        lambda: office.programme.report(reports, RECEIPT),
    ):
        deed()
        deed()
    office.programme.change_targets("new ones", independent=True, add=["Gorse Farm", "Heather Inn"])
    office.programme.push("token", "one", reports)
    office.programme.report(reports, RECEIPT)
    assert office.programme.active_counts() == dict.fromkeys(names, 4) | {"Gorse Farm": 0, "Heather Inn": 0}
    assert office.programme.withdraw(names, RECEIPT) == ()
    assert office.programme.active_counts() == dict.fromkeys(names, 2) | {"Gorse Farm": 0, "Heather Inn": 0}
