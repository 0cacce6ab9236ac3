"""What one person entered or asked for, until another does the same."""

from deniable.console.pending_draws import AskedWithout, EnteredNumbers, PendingDraws


def entered(person: str, numbers: str = "1 2 3") -> EnteredNumbers:
    return EnteredNumbers(person, numbers, "2026-01-06T10:00:00Z")


def test_each_person_has_one_entry_and_sees_that_others_have_one() -> None:
    draws = PendingDraws()
    assert draws.enter(3, entered("anna")) == []
    assert draws.enter(3, entered("anna", "4 5 6")) == []
    assert draws.enter(3, entered("otto")) == [entered("anna", "4 5 6")]
    assert draws.enter(3, entered("anna")) == [entered("otto")]
    assert draws.entered(3) == [entered("anna"), entered("otto")]


def test_it_is_asked_for_once_and_withdrawn() -> None:
    draws, asked = PendingDraws(), AskedWithout("anna", "no network")
    assert draws.asked_without(3) is None
    assert draws.ask_without(3, asked)
    assert not draws.ask_without(3, AskedWithout("otto", "no dice"))
    assert draws.asked_without(3) == asked
    draws.enter(3, entered("otto"))
    draws.withdraw(3)
    draws.withdraw(3)
    assert draws.asked_without(3) is None
    assert draws.entered(3) == [entered("otto")]


def test_what_belongs_to_another_round_is_forgotten() -> None:
    draws = PendingDraws()
    draws.enter(3, entered("anna"))
    draws.ask_without(3, AskedWithout("anna", "no network"))
    assert draws.enter(5, entered("otto")) == []
    assert draws.asked_without(5) is None
    assert draws.entered(3) == []
