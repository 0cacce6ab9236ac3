"""Until when the promise is lost, by the calendar."""

from datetime import date, timedelta

from deniable.languages.voice import plain
from deniable.message import noted
from deniable.programme.calendar import Calendar
from deniable.programme.transcript.coverage import Coverage, Lapse

WEEKLY = Calendar(date(2026, 1, 5), "1W", "UTC")


def test_the_promise_is_lost_until_the_round_of_the_lapse_is_due() -> None:
    ordered, renamed = noted("The office ordered {audits}."), noted("The office renamed {a_target}.")
    lost = Coverage(WEEKLY, (Lapse(9, 7, ordered), Lapse(11, 3, renamed)))
    due = WEEKLY.due(7)
    until = lost.lost_until(due - timedelta(seconds=1), plain())
    assert until is not None
    assert "23 February 2026" in until.words
    assert lost.lost_until(due, plain()) is None


def test_a_promise_that_was_never_lost() -> None:
    assert Coverage(WEEKLY).lost_until(WEEKLY.opens(1), plain()) is None
