"""Exports wait for their confirmation: one a person, a few in all, for a few minutes."""

import io
from datetime import timedelta
from typing import Any

import pytest
from tests.console.offices import FILE, Office

from deniable.console.pending_imports import KEPT_FOR, MOST_KEPT, PendingImports
from deniable.errors import DeniableError
from deniable.programme.imports import Mapping, read


def batch() -> Any:
    return read("csv", io.BytesIO(FILE), Mapping({"Ash Mill": "Ash Mill", "Cedar Bank": "Cedar Bank"}))


def test_one_file_a_person_and_a_few_in_all(office: Office) -> None:
    pending = PendingImports(office.clock)
    first = pending.add("Ida", "a", "hotline", batch())
    second = pending.add("Ida", "b", "hotline", batch())
    assert pending.take("a", first) is None
    assert pending.take("a", second) is None
    for number in range(MOST_KEPT - 1):
        pending.add(f"person {number}", "c", "hotline", batch())
    with pytest.raises(DeniableError, match="others are importing"):
        pending.add("one more", "d", "hotline", batch())
    assert pending.take("b", second) is not None
    office.clock.now += KEPT_FOR + timedelta(seconds=1)
    pending.delete_expired()
    assert not pending._imports


def test_a_held_file_does_not_show_itself(office: Office) -> None:
    pending = PendingImports(office.clock)
    name = pending.add("Ida", "session", "hotline", batch())
    assert "hotline" not in repr(pending.take("session", name))


def test_a_clock_that_was_set_back_keeps_no_file(office: Office) -> None:
    pending = PendingImports(office.clock)
    pending.add("Ida", "session", "hotline", batch())
    office.clock.now -= timedelta(days=1)
    pending.delete_expired()
    assert not pending._imports
    name = pending.add("Ida", "session", "hotline", batch())
    assert pending.take("session", name) is not None
