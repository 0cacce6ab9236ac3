"""Visits between the request and its confirmation."""

from datetime import timedelta

from tests.programme.offices import Clock

from deniable.console.pending_visits import KEPT_FOR, PendingVisits


def test_a_visit_is_asked_for_once_and_kept_for_a_day() -> None:
    clock = Clock()
    visits = PendingVisits(clock)
    assert visits.ask("Ash Mill", "danger", "anna")
    assert not visits.ask("Ash Mill", "danger", "eve")
    assert visits.ask("Ash Mill", "fire", "eve")
    assert [(one.report_class, one.person) for one in visits.all()] == [("danger", "anna"), ("fire", "eve")]
    visits.forget("Ash Mill", "fire")
    visits.forget("Ash Mill", "fire")
    assert visits.find("Ash Mill", "fire") is None
    clock.now += KEPT_FOR - timedelta(seconds=1)
    assert visits.find("Ash Mill", "danger") is not None
    clock.now += timedelta(seconds=1)
    assert visits.find("Ash Mill", "danger") is None


def test_a_clock_that_is_set_back_keeps_nothing_longer() -> None:
    clock = Clock()
    visits = PendingVisits(clock)
    visits.ask("Ash Mill", "danger", "anna")
    clock.now -= timedelta(seconds=1)
    assert visits.all() == []
