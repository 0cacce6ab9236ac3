"""Until when the promise is lost, by the calendar."""

import itertools
import re
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


def test_a_lapse_in_the_last_round_leaves_no_report_covered() -> None:
    lapse = Lapse(9, 7, noted("The office ordered {audits}."))
    words = Coverage(WEEKLY, (lapse,), last_round=7).in_words(plain())
    assert words.startswith("The promise holds for no report: it does not cover reports filed in round 7 or earlier")
    assert "round 8" not in words
    assert "from round 8 on" in Coverage(WEEKLY, (lapse,), last_round=8).in_words(plain())


def test_no_round_after_the_last_one_is_named() -> None:
    """A lapse has the calendar's round, and the round that is open at the end may be one that is never drawn."""
    ordered = noted("The office ordered {audits}.")
    for lost, ended_in in itertools.product((10, 11, 13), (None, 11)):
        coverage = Coverage(WEEKLY, (Lapse(9, lost, ordered),), last_round=10, ended_in=ended_in)
        words = coverage.in_words(plain())
        assert words.startswith(
            "The promise holds for no report: it does not cover reports filed in round 10 or earlier"
        )
        assert coverage.is_lost
        assert {int(number) for number in re.findall(r"round (\d+)", words)} == {10}
    ended = Coverage(WEEKLY, (Lapse(9, 7, ordered),), last_round=10, ended_in=11).in_words(plain())
    assert "from round 8 on" in ended
    assert "ended in round 10" in ended
    early = Coverage(WEEKLY, (Lapse(9, 7, ordered),), last_round=10, ended_in=5).in_words(plain())
    assert "in round 5 or earlier, and the programme ended in round 5" in early


def test_a_promise_that_was_never_lost() -> None:
    assert Coverage(WEEKLY).lost_until(WEEKLY.opens(1), plain()) is None
