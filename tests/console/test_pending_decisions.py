"""Decisions between the request and its confirmation."""

from datetime import timedelta

from tests.programme.offices import Clock

from deniable.console.pending_decisions import KEPT_FOR, PendingDecisions

ORDER = (("target", "Ash Mill"), ("reason", "A fire."))
SKIP = (("round", "1"),)


def test_a_person_asks_for_one_decision_at_a_time() -> None:
    pending = PendingDecisions(Clock())
    assert pending.ask("otto", "override", ORDER, 1)
    assert not pending.ask("otto", "skip", SKIP, 1)
    assert pending.ask("anna", "skip", SKIP, 1)
    first, second = pending.all()
    assert (first.person, first.kind, first.typed, first.round) == ("otto", "override", ORDER, 1)
    assert pending.take("") is None
    assert pending.take(first.key) == first
    assert pending.take(first.key) is None
    assert pending.all() == [second]
    pending.put_back(first)
    assert pending.take(first.key) == first
    assert pending.ask("otto", "override", ORDER, 1)


def test_a_decision_that_is_put_back_keeps_its_place_and_its_time() -> None:
    clock = Clock()
    pending = PendingDecisions(clock)
    pending.ask("otto", "override", ORDER, 1)
    clock.now += timedelta(hours=1)
    pending.ask("anna", "skip", SKIP, 1)
    first, second = pending.all()
    taken = pending.take(first.key)
    assert taken is not None
    pending.put_back(taken)
    assert pending.all() == [first, second]
    clock.now += KEPT_FOR - timedelta(hours=1)
    assert pending.all() == [second]


def test_a_request_is_forgotten_after_a_day_and_where_the_clock_is_set_back() -> None:
    clock = Clock()
    pending = PendingDecisions(clock)
    for later in (KEPT_FOR, -timedelta(seconds=1)):
        pending.ask("otto", "override", ORDER, 1)
        (decision,) = pending.all()
        clock.now += later
        assert pending.take(decision.key) is None
        assert pending.all() == []
