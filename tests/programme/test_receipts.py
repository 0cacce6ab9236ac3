"""What was counted before is not counted again, and what is stored tells nothing."""

import hashlib
import hmac
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.errors import DeniableError
from deniable.programme import receipts as module
from deniable.programme.receipts import ROOM, Outside, Receipts, keyed_hash

KEY = bytes(range(32))
NO_TARGET = 2**32 - 1


def active(receipts: Receipts) -> dict[bytes, int]:
    """The hashes of reports, without what stands where none is kept."""
    return {
        known.tobytes(): target
        for source in receipts.sources.values()
        for known, target in zip(source.hashes.astype(">u8"), source.targets.tolist(), strict=True)
        if target != NO_TARGET
    }


def parts(receipts: Receipts) -> tuple[Any, ...]:
    """All that counts in them."""
    sources = {
        name: ([number for number in source.latest.tolist() if number >= 0], source.mark, source.unsure)
        for name, source in receipts.sources.items()
    }
    return active(receipts), sources, receipts.unsure


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
    assert +new == {0: 1, 1: 1}
    receipts, new = receipts.count("hotline", [Outside("b", 2, 1), Outside("c", 3, 1)], hashed)
    assert +new == {1: 1}
    _, new = receipts.count("elsewhere", [Outside("b", 2, 1)], hashed)
    assert +new == {1: 1}


def test_after_the_run_the_mark_remembers_what_the_hashes_forgot() -> None:
    export = [Outside("a", 1, 0), Outside("b", 2, 1), Outside("c", 3, 0)]
    receipts, _ = Receipts().count("hotline", export, hashed)
    ended = receipts.without({0})
    assert list(active(ended).values()) == [1]
    _, new = ended.count("hotline", export, hashed)
    assert not +new
    _, new = ended.count("hotline", [*export, Outside("d", 4, 0)], hashed)
    assert +new == {0: 1}


def test_a_report_that_expired_at_its_source_changes_nothing() -> None:
    receipts, _ = Receipts().count("hotline", [Outside("a", 1, 0), Outside("b", 2, 1)], hashed)
    after, new = receipts.count("hotline", [Outside("b", 2, 1)], hashed)
    assert not +new
    assert parts(after) == parts(receipts)


def test_a_report_that_moves_to_another_target_after_its_audit_stays_counted_once() -> None:
    receipts, _ = Receipts().count("hotline", [Outside("a", 1, 0)], hashed)
    _, new = receipts.without({0}).count("hotline", [Outside("a", 1, 1)], hashed)
    assert not +new


@pytest.mark.parametrize("known", [True, False], ids=["a source of the backup", "a source that came later"])
def test_after_a_recovery_the_next_export_only_sets_the_mark(known: bool) -> None:
    receipts = Receipts()
    if known:
        receipts, _ = receipts.count("hotline", [Outside("a", 1, 0)], hashed)
    export = [Outside("a", 1, 0), Outside("b", 2, 0)]
    receipts, new = receipts.after_recovery().count("hotline", export, hashed)
    assert not +new
    _, new = receipts.count("hotline", [*export, Outside("c", 3, 1)], hashed)
    assert +new == {1: 1}
    _, new = receipts.after_recovery().count("hotline", [*export, Outside("c", 3, 1)], hashed)
    assert not +new


def test_what_is_marked_is_never_counted() -> None:
    export = [Outside("a", 1, 0), Outside("b", 2, 0)]
    receipts = Receipts().marked("hotline", export)
    _, new = receipts.count("hotline", [*export, Outside("c", 3, 1)], hashed)
    assert +new == {1: 1}


def test_of_a_report_only_hash_and_target_are_kept() -> None:
    """The numbers of single reports are not: for some sources they are the id."""
    receipts, _ = Receipts().count("hotline", [Outside("a", 1234567, 0), Outside("b", 7654321, 0)], hashed)
    assert b"1234567" not in receipts.pack(10)
    assert active(receipts) == {hashed("hotline", "a"): 0, hashed("hotline", "b"): 0}


def test_nothing_is_left_of_a_report_that_is_not_kept() -> None:
    known = hashed("hotline", "a")
    receipts, _ = Receipts().count("hotline", [Outside("a", 1, 0)], hashed)
    again, _ = receipts.count("hotline", [Outside("a", 1, 0)], hashed)
    assert known in receipts.pack(10)
    assert again.pack(10).count(known) == 1
    ended = receipts.without({0})
    below, _ = ended.count("hotline", [Outside("a", 1, 0)], hashed)
    assert known not in ended.pack(10) + below.pack(10)


reports = st.lists(st.builds(Outside, st.text(max_size=5), st.integers(0, 2**40), st.integers(0, 9)), max_size=30)


UNHURRIED = settings(deadline=None, max_examples=40)  # every step works on the whole room


@UNHURRIED
@given(reports, reports, st.sets(st.integers(0, 9)))
def test_receipts_come_back_as_they_were(one: list[Outside], other: list[Outside], ended: set[int]) -> None:
    receipts = Receipts().count("one", one, hashed)[0].count("other", other, hashed)[0].without(ended)
    assert parts(Receipts.unpack(receipts.pack(10))) == parts(receipts)


def old_count(receipts: dict[str, Any], source: str, reports: list[Outside]) -> dict[int, int]:
    """What `count` is to do, one report after the other."""
    new: dict[int, int] = {}
    for report in reports:
        key = (source, report.outside_id)
        if report.sequence > receipts["marks"].get(source, -1) and key not in receipts["active"]:
            receipts["active"][key] = report
            new[report.target] = new.get(report.target, 0) + 1
    return new


def old_without(receipts: dict[str, Any], targets: set[int]) -> None:
    for (source, name), report in list(receipts["active"].items()):
        if report.target in targets:
            receipts["marks"][source] = max(receipts["marks"].get(source, -1), report.sequence)
            del receipts["active"][source, name]


@UNHURRIED
@given(st.lists(st.tuples(st.sampled_from(["one", "other"]), reports, st.sets(st.integers(0, 9))), max_size=6))
def test_counting_is_the_same_as_one_report_after_the_other(
    steps: list[tuple[str, list[Outside], set[int]]],
) -> None:
    receipts = Receipts()
    simple: dict[str, Any] = {"marks": {}, "active": {}}
    for source, brought, ended in steps:
        receipts, new = receipts.count(source, brought, hashed)
        assert +new == old_count(simple, source, brought)
        receipts = receipts.without(ended)
        old_without(simple, ended)
        assert len(active(receipts)) == len(simple["active"])


# What the length and the time tell


def numbered(first: int, last: int, targets: int = 1) -> list[Outside]:
    return [Outside(str(number), number, number % targets) for number in range(first, last)]


def test_the_stored_length_tells_nothing() -> None:
    few, spread, many, more = (
        Receipts().count("hotline", numbered(10**15, 10**15 + size, targets), hashed)[0]
        for size, targets in ((1, 1), (400, 400), (ROOM, 400), (ROOM + 1, 1))
    )
    assert len({len(receipts.pack(400)) for receipts in (few, spread, many, more, more.without({0}))}) == 1
    assert len(Receipts().pack(400)) < len(few.pack(400)), "what an import adds is for a source, and shows"
    assert "secret" in repr(few)


def test_where_the_room_is_full_the_mark_rises_without_a_word() -> None:
    """Nothing that was counted is counted again, and later reports are; other sources are as they were."""
    receipts, _ = Receipts().count("other", numbered(1, 2), hashed)
    receipts, _ = receipts.count("one", numbered(1, ROOM + 1), hashed)
    assert len(active(receipts)) == ROOM + 1
    receipts, new = receipts.count("one", numbered(1, ROOM + 2), hashed)
    assert +new == {0: 1}
    assert len(active(receipts)) == 1
    assert {name: source.mark for name, source in receipts.sources.items()} == {"one": ROOM + 1, "other": -1}
    for source, last in (("one", ROOM + 2), ("other", 2)):
        receipts, new = receipts.count(source, numbered(1, last + 1), hashed)
        assert +new == {0: 1}


def test_a_file_larger_than_the_room_is_counted_as_a_whole_and_once() -> None:
    receipts, new = Receipts().count("hotline", numbered(0, ROOM + 10), hashed)
    assert +new == {0: ROOM + 10}
    _, new = receipts.count("hotline", numbered(0, ROOM + 11), hashed)
    assert +new == {0: 1}


def work(step: Callable[[], Any], file: str = module.__file__) -> list[tuple[str, int, Any]]:
    """Every line of the file that is run, with the sizes of all that it has before it, and no value.

    But for the header before it is padded: the highest numbers have more or fewer digits.
    """
    done: list[tuple[str, int, Any]] = []

    def trace(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        sizes = {name: len(value) for name, value in frame.f_locals.items() if _has_size(value)}
        done.append((event, frame.f_lineno, sizes))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        step()
    finally:
        sys.settrace(before)
    return done


def _has_size(value: Any) -> bool:
    is_header = isinstance(value, bytes) and value.startswith(b'["') and not value.endswith(b" ")
    return isinstance(value, np.ndarray | bytes | list | dict) and not is_header


def stored(waiting: int) -> bytes:
    """Of a programme in which so many reports wait, and that has closed rounds."""
    ended, _ = Receipts().count("hotline", numbered(1, 2), hashed)
    return ended.without({0}).count("hotline", numbered(10**6, 10**6 + waiting, 4), hashed)[0].pack(4)


def imported(packed: bytes) -> bytes:
    """What counting a file does: five reports of which some may be known."""
    receipts, _ = Receipts.unpack(packed).count("hotline", numbered(10**6, 10**6 + 5, 4), hashed)
    return receipts.pack(4)


def audited(packed: bytes) -> bytes:
    return Receipts.unpack(packed).without({1}).pack(4)


@pytest.mark.parametrize("step", [imported, audited])
def test_the_work_is_the_same_however_many_reports_wait(step: Callable[[bytes], bytes]) -> None:
    """Line by line and size by size: none, some that the file has too, many, and more than there is room for."""
    none, *others = (work(partial(step, stored(waiting))) for waiting in (0, 3, 10_000, ROOM + 1))
    assert len(none) > 20
    assert all(other == none for other in others)


def test_work_that_depends_on_them_is_seen() -> None:
    """Two leaks: a loop over what is known, and an array of what is known."""
    of = {waiting: Receipts.unpack(stored(waiting)) for waiting in (0, 10)}
    sources = {waiting: receipts.sources["hotline"] for waiting, receipts in of.items()}

    def looped(waiting: int) -> None:
        for _ in active(of[waiting]):
            pass

    def masked(waiting: int) -> None:
        known = sources[waiting].hashes[sources[waiting].targets != NO_TARGET]
        del known

    for leak in (looped, masked):
        assert work(partial(leak, 0), __file__) != work(partial(leak, 10), __file__)


# What one source's reports do to another's


bringing = st.lists(st.tuples(st.sampled_from(["mine", "theirs"]), reports, st.sets(st.integers(0, 9))), max_size=6)


def told(receipts: Receipts, steps: list[tuple[str, list[Outside], set[int]]]) -> list[Counter[int]]:
    """What is counted of "mine", step by step; between the steps runs end."""
    counted = []
    for source, brought, ended in steps:
        receipts, new = receipts.count(source, brought, hashed)
        receipts = receipts.without(ended)
        if source == "mine":
            counted.append(+new)
    return counted


@UNHURRIED
@given(bringing, reports)
def test_what_counts_of_a_source_does_not_depend_on_others(
    steps: list[tuple[str, list[Outside], set[int]]], report: list[Outside]
) -> None:
    """Otherwise who brings one source would find out, from the audits that follow, what others brought."""
    known, _ = Receipts().count("theirs", report, hashed)
    assert told(known, steps) == told(Receipts(), steps)


def test_the_room_of_a_source_is_its_own() -> None:
    """Filled up to one report less than fits, and others wait: nothing of it is dropped."""
    waiting, _ = Receipts().count("theirs", numbered(1, 60), hashed)
    fillers = [("mine", numbered(10**6, 10**6 + ROOM), set[int]()), ("mine", numbered(1, 100), set[int]())]
    assert told(waiting, fillers) == told(Receipts(), fillers)


def test_a_source_that_is_shared_is_seen() -> None:
    """Negative control: the same steps where both bring the same source."""
    known, _ = Receipts().count("mine", [Outside("57", 57, 0)], hashed)
    steps = [("mine", [Outside("57", 2**62, 0)], {0}), ("mine", numbered(100, 200), set[int]())]
    assert told(known, steps) != told(Receipts(), steps)


def test_the_length_tells_the_number_of_sources_and_no_name() -> None:
    long = "\U0001f4a9" * 100
    plain, full = Receipts().knowing("hotline"), Receipts().count(long, numbered(2**63 - 9, 2**63 - 1, 9), hashed)[0]
    assert len(plain.pack(9)) == len(full.pack(9))
    assert parts(Receipts.unpack(full.pack(9))) == parts(full)


def test_there_is_a_largest_number_of_sources() -> None:
    receipts = Receipts()
    for number in range(module.MOST_SOURCES):
        receipts = receipts.knowing(str(number))
    receipts.knowing("0")
    with pytest.raises(DeniableError, match="at most 50 sources"):
        receipts.knowing("another")
