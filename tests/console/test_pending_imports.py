"""Exports wait for their confirmation: one a person, a few in all, for a few minutes."""

import io
from datetime import date, timedelta

import pytest
from tests.console.offices import FILE, Office

from deniable.console.accounts.people import Person
from deniable.console.pending_imports import (
    KEPT_FOR,
    MOST_ACCEPTED,
    MOST_KEPT,
    TAKEN_BACK_WITHIN,
    Held,
    PendingImports,
    TakeBack,
    Unassigned,
)
from deniable.errors import DeniableError
from deniable.programme.imports import Mapping, read


def held(source: str = "hotline") -> Held:
    batch = read("csv", io.BytesIO(FILE), Mapping({"Ash Mill": "Ash Mill", "Cedar Bank": "Cedar Bank"}))
    return Held("csv", source, batch, is_large=False, file="export.csv")


def test_one_file_a_person_and_a_few_in_all(office: Office) -> None:
    pending = PendingImports(office.clock)
    first = pending.add("Ida", "a", held())
    second = pending.add("Ida", "b", held())
    assert pending.take("a", first) is None
    assert pending.take("a", second) is None
    for number in range(MOST_KEPT - 1):
        pending.add(f"person {number}", "c", held())
    with pytest.raises(DeniableError, match="others are importing"):
        pending.add("one more", "d", held())
    assert pending.take("b", second) is not None
    office.clock.now += KEPT_FOR + timedelta(seconds=1)
    pending.delete_expired()
    assert not pending._imports


def test_a_held_file_does_not_show_itself(office: Office) -> None:
    pending = PendingImports(office.clock)
    name = pending.add("Ida", "session", held())
    assert "hotline" not in repr(pending.take("session", name))


def test_a_clock_that_was_set_back_keeps_no_file(office: Office) -> None:
    pending = PendingImports(office.clock)
    pending.add("Ida", "session", held())
    office.clock.now -= timedelta(days=1)
    pending.delete_expired()
    assert not pending._imports
    name = pending.add("Ida", "session", held())
    assert pending.take("session", name) is not None


IDA = Person("Ida", "Ida", "importer")


def test_what_was_imported_is_remembered_for_a_while_for_the_person_who_brought_it(office: Office) -> None:
    pending = PendingImports(office.clock)
    for number in range(MOST_ACCEPTED + 1):
        pending.accept(IDA, held(), str(number), date(2026, 1, 5), Unassigned(), outcome="counted")
    names = [one.name for one in pending.accepted_by("Ida")]
    assert names == [str(number) for number in range(1, MOST_ACCEPTED + 1)]
    assert pending.accepted_by("Anna") == ()
    assert pending.accepted_by_others("Ida") == ()
    assert pending.accepted_by_others("Anna") == pending.accepted_by("Ida")
    pending.forget("Ida", "7")
    assert "7" not in {one.name for one in pending.accepted_by("Ida")}
    office.clock.now += KEPT_FOR
    pending.delete_expired()
    assert not pending._accepted


def test_an_import_that_is_being_taken_back_is_remembered_until_that_is_done(office: Office) -> None:
    pending = PendingImports(office.clock)
    pending.accept(IDA, held(), "one", date(2026, 1, 5), Unassigned(), outcome="counted")
    pending.accept(IDA, held(), "two", date(2026, 1, 5), Unassigned(), outcome="counted")
    assert pending.ask("Ida", "one")
    assert not pending.ask("Ida", "one")  # of two at once, one takes it back
    assert not pending.ask("Ida", "never was")
    office.clock.now += TAKEN_BACK_WITHIN - timedelta(seconds=1)
    (asked,) = pending.accepted_by("Ida")
    assert (asked.name, asked.take_back) == ("one", TakeBack.ASKED)
    pending.note("Ida", "one", TakeBack.WRITTEN)
    office.clock.now += KEPT_FOR - timedelta(seconds=1)
    assert [one.take_back for one in pending.accepted_by("Ida")] == [TakeBack.WRITTEN]
    office.clock.now += timedelta(seconds=1)
    assert pending.accepted_by("Ida") == ()


def test_imports_are_numbered_for_each_person_hotline_and_day(office: Office) -> None:
    pending = PendingImports(office.clock)
    for person, source, day in (("Ida", "a", 5), ("Ida", "a", 5), ("Ida", "b", 5), ("Eve", "a", 5), ("Ida", "a", 6)):
        pending.accept(
            Person(person, person, "importer"),
            held(source),
            "name",
            date(2026, 1, day),
            Unassigned(),
            outcome="counted",
        )
    assert [(one.source, one.number) for one in pending.accepted_by("Ida")] == [("a", 1), ("a", 2), ("b", 1), ("a", 1)]
