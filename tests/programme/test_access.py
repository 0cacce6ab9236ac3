"""Transactions: which of them wait, which count first, which are refused; and the public state is read once."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.programme.insight import everything
from tests.programme.offices import TARGETS, Office, new_office

from deniable.errors import DeniableError
from deniable.programme.names import Renaming
from deniable.programme.programme import Programme
from deniable.programme.transaction import Transaction
from deniable.programme.transcript.entries import Override
from deniable.programme.transcript.state import PublicState
from deniable.storage import tables
from deniable.storage.store import Store

ASH, BIRCH, *_ = TARGETS


@pytest.fixture
def office(database: str, tmp_path: Path) -> Office:
    return new_office(database, tmp_path)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One number for every time that a stored state was read."""
    times: list[int] = []
    from_bytes = PublicState.from_bytes.__func__  # type: ignore[attr-defined]

    def noted(cls: type[PublicState], *arguments: Any) -> PublicState:
        state: PublicState = from_bytes(cls, *arguments)
        times.append(state.entries)
        return state

    monkeypatch.setattr(PublicState, "from_bytes", classmethod(noted))
    return times


def test_the_state_is_read_once_for_every_entry(office: Office, read: list[int]) -> None:
    with closing(office.again()) as other:
        for _ in range(3):
            other.report({ASH: 1})
            other.active_counts()
        assert read == [0]
        office.programme.override([ASH], "why", independent=True)
        read.clear()
        for _ in range(3):
            other.report({ASH: 1})
            other.active_counts()
        assert read == [1]
        other.override([ASH], "why", independent=True)  # it knows what it made itself
        other.report({ASH: 1})
        assert read == [1]


def test_what_another_process_decided_holds_at_once(office: Office) -> None:
    with closing(office.again()) as other:
        other.report({ASH: 1})
        office.programme.change_targets("closed down", independent=True, remove=[ASH])
        with pytest.raises(DeniableError, match="no target named Ash Mill takes part"):
            other.report({ASH: 1})
        assert other.status().entries == 1


def test_an_entry_that_was_not_made_is_not_remembered(office: Office) -> None:
    def fails() -> None:
        with office.programme._access.making_entry() as transaction:
            entry = Override.following(transaction.state, audits=[ASH], reason="why", independent=True, during=1)
            transaction.append(entry)
            raise KeyboardInterrupt

    before = everything(office.database)
    with pytest.raises(KeyboardInterrupt):
        fails()
    assert everything(office.database) == before
    assert office.programme.status().entries == 0
    office.programme.override([BIRCH], "why", independent=True)
    assert office.programme.status().entries == 1


@contextmanager
def another_writes(office: Office) -> Iterator[None]:
    store = Store(office.database)
    with store.writing():
        yield
    store.dispose()


def test_who_looks_does_not_wait_for_who_writes(office: Office) -> None:
    """A report that waits for its tick, and a page that shows counts, hold up no one."""
    with another_writes(office):
        with office.programme._access.looking() as transaction:
            assert transaction.tally().tolist() == [[0] * len(TARGETS)]
        assert office.programme.active_counts() == dict.fromkeys(TARGETS, 0)
    with office.programme._access.looking() as transaction:
        assert transaction.tally().tolist() == [[0] * len(TARGETS)]
        with another_writes(office):  # nor the other way round
            pass


def test_who_looks_changes_nothing(office: Office) -> None:
    office.programme.report({ASH: 1})
    before = everything(office.database)
    office.programme.active_counts()
    office.programme.import_reports("hotline", [("1", ASH)], dry_run=True)
    office.programme.hotlines.names()
    assert everything(office.database) == before


def test_what_came_in_is_counted_before_every_entry(office: Office) -> None:
    office.programme.report({ASH: 1})
    with office.programme._access.looking() as transaction:
        assert len(transaction.arrived().slots) == 1
    for entries in (office.programme._access.appending, office.programme._access.making_entry):
        with entries() as transaction:
            assert len(transaction.arrived().slots) == 0
            assert transaction.tally().tolist() == [[1, 0, 0, 0]]


def test_where_a_copy_is_newer_reports_are_refused_and_a_source_can_still_be_added(office: Office) -> None:
    office.close()
    office.key.transcript.unlink()
    access = office.programme._access
    for transactions in (access.counting, access.making_entry):
        with pytest.raises(DeniableError, match="transcript"), transactions():
            pytest.fail("it was not refused")
    with access.writing() as transaction:
        assert isinstance(transaction, Transaction)


def test_a_folder_that_is_away_holds_up_entries_and_no_reports(office: Office, tmp_path: Path) -> None:
    office.programme.publish(tmp_path / "public")
    office.close()
    (tmp_path / "public").rename(tmp_path / "moved")
    with office.programme._access.counting():
        pass
    with pytest.raises(DeniableError, match="cannot read"), office.programme._access.making_entry():
        pytest.fail("it was not refused")


def opens_manifest(office: Office, glancing: Programme) -> bool:
    """Whether a glance is a whole transaction; either makes the same of a report."""
    with office.programme._access.looking() as transaction:
        expected = transaction.state.digest, transaction.hashes([["some"]]).tolist()
    with glancing._access.glancing() as seen:
        assert (seen.state.digest, seen.hashes([["some"]]).tolist()) == expected
        assert "hashing_key=" not in repr(seen)
    return isinstance(seen, Transaction)


def test_who_glances_knows_what_the_last_tick_found_until_there_is_an_entry(office: Office) -> None:
    with closing(office.again()) as other:
        assert opens_manifest(office, other)
        with other._access.counting():
            pass
        assert not opens_manifest(office, other)
        office.programme.override([ASH], "why", independent=True)
        assert opens_manifest(office, other)
        assert not opens_manifest(office, office.programme)  # which made the entry itself
        with other._access.counting():
            pass
        assert not opens_manifest(office, other)


@pytest.mark.parametrize("planted", [False, True])
def test_who_glances_believes_no_state_that_the_manifest_does_not_vouch_for(office: Office, planted: bool) -> None:
    """Otherwise who can write to the database would let reports count for other targets, and put the state back before
    a page is written. Planted: what was read last is believed.
    """
    access = office.programme._access
    with access.counting() as transaction:
        swapped = replace(transaction.state, renamed=(Renaming(0, ASH, BIRCH), Renaming(1, BIRCH, ASH)))
    with access.store.writing() as connection:
        head = connection.execute(sa.select(tables.standing.c.head)).scalar_one()
        another = head.replace(json.loads(head)["signature"], "0" * 128)
        connection.execute(sa.update(tables.standing), {"head": another})
        connection.execute(sa.update(tables.public_state), {"blob": swapped.to_bytes()})
    if planted:
        with access.store.reading() as connection:
            access._vouched = replace(access._vouched, state=access.state(connection))  # type: ignore[type-var]
    with nullcontext() if planted else pytest.raises(DeniableError, match="were changed"), access.glancing() as seen:
        assert seen.state.numbers[ASH] == 1
        assert planted


def test_without_the_key_and_after_the_end(office: Office) -> None:
    with closing(Programme.open(office.database)) as public:
        for transactions in (
            public._access.looking,
            public._access.glancing,
            public._access.writing,
            public._access.counting,
        ):
            with pytest.raises(DeniableError, match="needs the programme's key"), transactions():
                pytest.fail("it was not refused")
    access = office.programme._access
    with access.counting():
        pass
    office.programme.end("over")
    for transactions in (access.looking, access.glancing, access.counting):
        with pytest.raises(DeniableError, match="has ended"), transactions():
            pytest.fail("it was not refused")
    assert office.programme.status().ended
