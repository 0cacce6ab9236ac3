"""What was counted before is not counted again, and what is stored tells nothing."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.programme.receipts import LEAST_ROOM, Outside, Receipts, keyed_hash

KEY = bytes(range(32))


def hashed(source: str, outside_id: str) -> bytes:
    return keyed_hash(KEY, source, outside_id)


def test_keyed_hashes_are_hmac_of_the_pair() -> None:
    whole = hmac.new(KEY, b'["globaleaks", "17"]', hashlib.sha256).digest()
    assert hashed("globaleaks", "17") == whole[:16]
    assert hashed("globaleaks", "17") != keyed_hash(bytes(32), "globaleaks", "17")


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_pairs_are_told_apart(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (hashed(*one) == hashed(*other)) == (one == other)


def test_a_report_is_counted_once() -> None:
    receipts, new = Receipts().count("hotline", [Outside("a", 1, 0), Outside("b", 2, 1), Outside("a", 1, 0)], hashed)
    assert new == {0: 1, 1: 1}
    receipts, new = receipts.count("hotline", [Outside("b", 2, 1), Outside("c", 3, 1)], hashed)
    assert new == {1: 1}
    _, new = receipts.count("elsewhere", [Outside("b", 2, 1)], hashed)
    assert new == {1: 1}


def test_after_the_run_the_mark_remembers_what_the_hashes_forgot() -> None:
    export = [Outside("a", 1, 0), Outside("b", 2, 1), Outside("c", 3, 0)]
    receipts, _ = Receipts().count("hotline", export, hashed)
    ended = receipts.without({0})
    assert list(ended.active.values()) == [1]
    _, new = ended.count("hotline", export, hashed)
    assert not new
    _, new = ended.count("hotline", [*export, Outside("d", 4, 0)], hashed)
    assert new == {0: 1}


def test_a_report_that_expired_at_its_source_changes_nothing() -> None:
    receipts, _ = Receipts().count("hotline", [Outside("a", 1, 0), Outside("b", 2, 1)], hashed)
    after, new = receipts.count("hotline", [Outside("b", 2, 1)], hashed)
    assert not new
    assert after == receipts


def test_a_report_that_moves_to_another_target_after_its_audit_stays_counted_once() -> None:
    receipts, _ = Receipts().count("hotline", [Outside("a", 1, 0)], hashed)
    _, new = receipts.without({0}).count("hotline", [Outside("a", 1, 1)], hashed)
    assert not new


@pytest.mark.parametrize("known", [True, False], ids=["a source of the backup", "a source that came later"])
def test_after_a_recovery_the_next_export_only_sets_the_mark(known: bool) -> None:
    receipts = Receipts()
    if known:
        receipts, _ = receipts.count("hotline", [Outside("a", 1, 0)], hashed)
    export = [Outside("a", 1, 0), Outside("b", 2, 0)]
    receipts, new = receipts.after_recovery().count("hotline", export, hashed)
    assert not new
    _, new = receipts.count("hotline", [*export, Outside("c", 3, 1)], hashed)
    assert new == {1: 1}
    _, new = receipts.after_recovery().count("hotline", [*export, Outside("c", 3, 1)], hashed)
    assert not new


def test_what_is_marked_is_never_counted() -> None:
    export = [Outside("a", 1, 0), Outside("b", 2, 0)]
    receipts = Receipts().marked("hotline", export)
    _, new = receipts.count("hotline", [*export, Outside("c", 3, 1)], hashed)
    assert new == {1: 1}


def test_of_a_report_only_hash_and_target_are_kept() -> None:
    """The numbers of single reports are not: for some sources they are the id."""
    receipts, _ = Receipts().count("hotline", [Outside("a", 1234567, 0), Outside("b", 7654321, 0)], hashed)
    assert b"1234567" not in receipts.pack(10)
    assert set(receipts.active.values()) == {0}


reports = st.lists(st.builds(Outside, st.text(max_size=5), st.integers(0, 2**40), st.integers(0, 9)), max_size=30)


@given(reports, reports, st.sets(st.integers(0, 9)))
def test_receipts_come_back_as_they_were(one: list[Outside], other: list[Outside], ended: set[int]) -> None:
    receipts = Receipts().count("one", one, hashed)[0].count("other", other, hashed)[0].without(ended)
    assert Receipts.unpack(receipts.pack(10)) == receipts


def test_the_stored_length_is_coarse() -> None:
    def counted(reports: int, targets: int) -> Receipts:
        return Receipts().count("hotline", [Outside(str(n), 10**15 + n, n % targets) for n in range(reports)], hashed)[
            0
        ]

    few, spread, many = counted(1, 1), counted(400, 400), counted(LEAST_ROOM, 400)
    assert len({len(receipts.pack(400)) for receipts in (few, spread, many)}) == 1
    more = counted(LEAST_ROOM + 1, 1)
    assert len(more.pack(400)) > len(many.pack(400))
    again = Receipts.unpack(more.pack(400)).without({0})
    assert not again.active
    assert len(again.pack(400)) == len(more.pack(400))
    assert "secret" in repr(few)
