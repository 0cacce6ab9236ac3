"""Pages of what came in: of one size, in their order, each where it was written, and unreadable once counted."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from tests.programme.insight import blobs_of, connected, everything, put, put_page, rows
from tests.programme.offices import TARGETS, Office, new_office

from deniable.errors import DeniableError
from deniable.programme import buffer, counting
from deniable.programme.buffer import NOTHING, PAGES, ROOM, SLOT, Buffer, Kind, cut, slots
from deniable.programme.secrets.vault import Vault
from deniable.storage import tables

MISSING = "a stored page of reports is missing or was changed; restore the last backup"
ASH, BIRCH, CEDAR, DOGWOOD = TARGETS


@pytest.fixture
def office(database: str, tmp_path: Path) -> Office:
    """With three pages that are not counted yet."""
    office = new_office(database, tmp_path)
    for target in (ASH, BIRCH, CEDAR):
        office.programme.report({target: 1})
    return office


def pages_of(office: Office) -> list[bytes]:
    return [bytes(row["blob"]) for row in rows(office.database, tables.pages)]


def is_noticed(office: Office, says: str = MISSING) -> None:
    """Wherever pages are read, and nothing changes."""
    before = everything(office.database)
    office.clock.now = office.programme.status().due
    deeds: list[Callable[[], object]] = [
        office.programme.close_round,
        office.programme.active_counts,
        office.programme.renew,
        office.count,
        lambda: office.programme.import_reports("hotline", []) if office.programme.hotlines.names() else office.count(),
        lambda: office.programme.override([ASH], "why", independent=True),
    ]
    for deed in deeds:
        with pytest.raises(DeniableError, match=says):
            deed()
    assert everything(office.database) == before
    with closing(office.again()) as other, pytest.raises(DeniableError, match=says):
        other.close_round()


def goes_on(office: Office, pages: list[bytes]) -> None:
    """As soon as they are what they were."""
    for place, blob in enumerate(pages):
        put_page(office.database, place, blob)
    assert office.programme.active_counts() == {ASH: 1, BIRCH: 1, CEDAR: 1, DOGWOOD: 0}
    office.count()
    assert office.programme.active_counts() == {ASH: 1, BIRCH: 1, CEDAR: 1, DOGWOOD: 0}


def lost(office: Office, place: int) -> None:
    with connected(office.database) as connection:
        connection.execute(sa.delete(tables.pages).where(tables.pages.c.place == place))


@pytest.mark.parametrize("place", range(3))
def test_a_page_that_is_lost(office: Office, place: int) -> None:
    lost(office, place)
    is_noticed(office)


def test_a_page_that_is_repeated(office: Office) -> None:
    """In another one's place, or after the last one, where it is not looked at."""
    pages = pages_of(office)
    for place, blob in ((1, pages[0]), (2, pages[1]), (0, pages[2])):
        put_page(office.database, place, blob)
        is_noticed(office)
        put_page(office.database, place, pages[place])
    with connected(office.database) as connection:
        connection.execute(sa.insert(tables.pages), {"place": 3, "blob": pages[0]})
    goes_on(office, pages)


def test_pages_in_another_order(office: Office) -> None:
    pages = pages_of(office)
    put_page(office.database, 0, pages[1])
    put_page(office.database, 1, pages[0])
    is_noticed(office)
    goes_on(office, pages)


@pytest.mark.parametrize("at", [0, 11, 12, 100, -17, -1])
def test_a_page_with_a_changed_bit(office: Office, at: int) -> None:
    pages = pages_of(office)
    changed = bytearray(pages[1])
    changed[at] ^= 1
    put_page(office.database, 1, bytes(changed))
    is_noticed(office)
    goes_on(office, pages)


@pytest.mark.parametrize("blob", [b"", bytes(100)])
def test_something_else_than_a_page(office: Office, blob: bytes) -> None:
    pages = pages_of(office)
    put_page(office.database, 2, blob)
    is_noticed(office)
    put_page(office.database, 2, pages[2][:-1])
    is_noticed(office)
    goes_on(office, pages)


def test_a_page_of_the_pages_counted_before(office: Office) -> None:
    old = pages_of(office)
    office.count()
    for target in (ASH, BIRCH, CEDAR):
        office.programme.report({target: 1})
    for place in range(3):
        now = pages_of(office)
        put_page(office.database, place, old[place])
        is_noticed(office)
        put_page(office.database, place, now[place])
    assert set(office.programme.active_counts().values()) == {0, 2}


def test_a_page_of_the_round_before(office: Office) -> None:
    old = pages_of(office)
    office.close()
    office.programme.report({ASH: 1})
    now = pages_of(office)
    put_page(office.database, 0, old[0])
    is_noticed(office)
    put_page(office.database, 0, now[0])
    office.close()


def test_all_pages_and_the_manifest_of_earlier_are_together_an_old_database(office: Office) -> None:
    """That is what copies of the transcript outside the database are for: they show whether it is of another round."""
    old, manifest = pages_of(office), blobs_of(office.database)["manifest"]
    office.programme.report({DOGWOOD: 1})
    put(office.database, {"manifest": manifest})
    goes_on(office, old)
    office.close()
    put(office.database, {"manifest": manifest})
    for place, blob in enumerate(old):
        put_page(office.database, place, blob)
    with pytest.raises(DeniableError, match="were changed"):
        office.programme.close_round()


def test_a_page_of_another_programme(office: Office, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = new_office(str(tmp_path / "other.db"), tmp_path / "other")
    other.programme.report({ASH: 1})
    pages = pages_of(office)
    put_page(office.database, 0, pages_of(other)[0])
    is_noticed(office)
    goes_on(office, pages)


def test_the_place_and_the_round_are_sealed_with_a_page(office: Office) -> None:
    """Even where the hash of them all is of no use."""
    with office.programme._access.looking() as transaction:
        vault, arrived = transaction._buffer._vault(), transaction._buffer.read(1)
        assert arrived.page.tolist() == [0, 1, 2]
        with pytest.raises(DeniableError, match="page/round 2/0 cannot be read"):
            transaction._buffer.read(2)
    page = pages_of(office)[1]
    assert vault.open("page/round 1/1", page)
    for name in ("page/round 1/0", "page/round 2/1", "page/round 1/11"):
        with pytest.raises(DeniableError, match="cannot be read"):
            vault.open(name, page)


def test_pages_that_were_counted_are_unreadable(office: Office) -> None:
    """With the programme's key and all that the database holds: the key of the pages is gone."""
    vault, programme = office.programme._access.vault, office.programme.parameters.programme
    assert vault is not None
    old = pages_of(office)

    def keys() -> list[Vault]:
        with office.programme._access.looking() as transaction:
            return [vault, transaction._buffer._vault(), Vault(bytes(32), programme)]

    def opened(by: Vault, place: int) -> bytes:
        return by.open(f"page/round 1/{place}", old[place])

    (with_it,) = [one for one in keys() if _opens(one, opened)]  # so that this would be seen
    assert len(opened(with_it, 0)) == ROOM * SLOT.itemsize
    office.count()
    assert pages_of(office) == old  # they lie there until others are written in their places
    assert not [one for one in keys() if _opens(one, opened)]


def _opens(vault: Vault, opened: Callable[[Vault, int], bytes]) -> bool:
    try:
        return len(opened(vault, 0)) > 0
    except DeniableError:
        return False


def test_a_new_key_makes_the_pages_of_old_backups_unreadable(office: Office) -> None:
    key = office.programme._access
    with key.looking() as transaction:
        before = transaction._buffer._key
    office.programme.renew()
    with key.looking() as transaction:
        assert transaction._buffer._key != before


def test_pages_have_one_size_whatever_is_on_them(office: Office) -> None:
    programme = office.programme
    programme.report({ASH: 10**9, BIRCH: 1})
    programme.push("token", "one", dict.fromkeys(TARGETS, 5))
    programme.import_reports("hotline", [(str(number), ASH) for number in range(2 * ROOM + 1)])
    programme.import_reports("hotline", [])
    with programme._access.counting() as transaction:
        transaction.take_in(NOTHING)
    assert len(pages_of(office)) == 3 + 1 + 1 + 3 + 1 + 1
    assert {len(blob) for blob in pages_of(office)} == {ROOM * SLOT.itemsize + 28}


def test_a_full_buffer_is_counted_and_begins_anew(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer, "PAGES", 4)
    for _ in range(6):
        office.programme.report({DOGWOOD: 1})
    assert len(pages_of(office)) == 4 < PAGES
    assert office.programme.active_counts() == {ASH: 1, BIRCH: 1, CEDAR: 1, DOGWOOD: 6}


def test_what_is_read_is_what_was_written(office: Office) -> None:
    with connected(office.database) as connection:
        made = Buffer.empty(connection, "0" * 32)
        written = [_random_slots(size) for size in (0, 1, ROOM, 0, 7)]
        for part in written:
            made.write(5, part)
        arrived = Buffer(connection, "0" * 32, **made.to_dict()).read(5)  # type: ignore[arg-type]
        assert arrived.slots.tobytes() == np.concatenate(written).tobytes()
        assert arrived.page.tolist() == [1] + [2] * ROOM + [4] * 7
        connection.rollback()


def _random_slots(size: int) -> buffer.Slots:
    dice = np.random.default_rng(size)
    ids = dice.integers(0, 2**64, (size, 2), np.uint64)
    return slots(Kind.IMPORTED, ids, dice.integers(0, 1000, size), dice.integers(0, 2**32, size), source=3)


def test_those_who_came_together_have_one_number_and_no_others() -> None:
    made = np.zeros(6, SLOT)
    made["group"] = [0, 0, 1, 0, 1, 2**16 - 1]
    together = buffer.Arrived(made, np.array([0, 0, 0, 1, 1, 0])).together
    assert len(set(together.tolist())) == 5
    assert together[0] == together[1]


sizes = st.lists(st.integers(1, 9), max_size=12)


@given(sizes, st.integers(9, 20))
def test_what_belongs_together_stays_together(groups: list[int], room: int) -> None:
    """Nothing is lost or moved, and as much as fits is on the first page."""
    ids = np.repeat(np.arange(len(groups), dtype=np.uint64), groups)
    every = slots(Kind.ENTERED, np.stack([ids, ids], axis=1), np.arange(len(ids)), 1)
    first, rest = cut(every, room)
    assert np.concatenate([first, rest]).tobytes() == every.tobytes()
    assert len(first) <= room
    assert not {*first["id"][:, 0].tolist()} & {*rest["id"][:, 0].tolist()}
    if len(rest):
        next_one = groups[int(rest["id"][0, 0])]
        assert len(first) + next_one > room


def test_ids_that_differ_in_one_half_are_different() -> None:
    ids = np.array([[1, 1], [1, 2], [3, 2]], np.uint64)
    first, rest = cut(slots(Kind.ENTERED, ids, 0, 1), 2)
    assert (len(first), len(rest)) == (2, 1)


def test_what_came_in_is_not_shown_by_its_representation(office: Office) -> None:
    with office.programme._access.looking() as transaction:
        for secret in (transaction.arrived(), counting.settle(transaction)):
            assert "array" not in repr(secret)
            assert "1" not in repr(secret)
