"""Reports entered, withdrawn and pushed: none of them decides about another."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.programme.offices import TARGETS, Office, new_office

from deniable.errors import DeniableError

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
