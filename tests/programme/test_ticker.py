"""A page at every tick, full or empty; none is told that its reports are on the disk before they are."""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from queue import Queue
from threading import Event
from unittest.mock import Mock

import numpy as np
import pytest

from deniable.errors import DeniableError
from deniable.programme import ticker
from deniable.programme.buffer import ROOM, TOGETHER, Kind, Slots, slots
from deniable.programme.ticker import (
    COMMANDS,
    IMPORTS,
    MOST_WAITING,
    OF_ONE,
    OF_PERSON,
    PEOPLE,
    PUSHES,
    SIGNS,
    Owners,
    StillWaitingError,
    Ticker,
)

LONG = 60
"""Seconds, of which a test that passes takes none."""


def brought(number: int, kind: Kind = Kind.ENTERED, size: int = 1) -> Slots:
    """Slots with one id, which belong together."""
    return slots(kind, np.full((size, 2), number, np.uint64), np.arange(size), 1)


def imported(first: int, size: int) -> Slots:
    """Slots with an id each."""
    ids = np.repeat(np.arange(first, first + size, dtype=np.uint64)[:, None], 2, axis=1)
    return slots(Kind.IMPORTED, ids, 0, 1)


class Disk:
    """Keeps the pages, and says after which of them they were counted."""

    def __init__(self) -> None:
        self.pages: list[list[int]] = []
        """The ids on each."""
        self.groups: list[list[int]] = []
        self.counted: list[int] = []
        """How many pages there were each time that they were counted."""
        self.fails: Exception | None = None
        self.before: Callable[[], object] = bool

    def write(self, page: Slots) -> None:
        self.before()
        if self.fails is not None:
            raise self.fails
        self.pages.append(page["id"][:, 0].tolist())
        self.groups.append(page["group"].tolist())

    def count(self) -> None:
        if self.fails is not None:
            raise self.fails
        self.counted.append(len(self.pages))


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def slow(disk: Disk) -> Iterator[Ticker]:
    """Ticks when the test says so, and knows that there are few tokens."""
    with stopped_at_last(Ticker(disk.write, disk.count, every=1e6)) as made:
        made.keep_only(Owners((), ()))
        yield made


@contextmanager
def stopped_at_last(made: Ticker) -> Iterator[Ticker]:
    try:
        yield made
    finally:
        made.stop()


def is_refused(written: "Future[None]", says: str) -> bool:
    assert written.done()
    with pytest.raises(DeniableError, match=says):
        written.result()
    return True


def test_a_page_at_every_tick(disk: Disk) -> None:
    """By the clock, whether anything came in or not."""
    ticks: Queue[None] = Queue()
    disk.before = lambda: ticks.put(None)
    with stopped_at_last(Ticker(disk.write, disk.count, every=0.001)) as fast:
        for _ in range(3):
            ticks.get(timeout=LONG)
        fast.submit(brought(7)).result(LONG)
        for _ in range(3):
            ticks.get(timeout=LONG)
    assert len(disk.pages) >= 6
    assert disk.pages.count([7]) == 1
    assert disk.pages.count([]) == len(disk.pages) - 1


def test_what_came_in_is_on_the_disk_when_it_is_acknowledged(disk: Disk, slow: Ticker) -> None:
    written = slow.submit(brought(7))
    assert not written.done()
    told: list[bool] = []
    disk.before = lambda: told.append(written.done())
    slow._tick()
    assert told == [False]
    assert written.done()
    assert disk.pages == [[7]]


def test_what_comes_in_while_a_page_is_written_is_on_the_next_one(disk: Disk, slow: Ticker) -> None:
    late: list[Future[None]] = []
    disk.before = lambda: late.append(slow.submit(brought(8)))
    first = slow.submit(brought(7))
    slow._tick()
    assert (first.done(), late[0].done(), disk.pages) == (True, False, [[7]])
    disk.before = bool
    slow._tick()
    assert (late[0].done(), disk.pages) == (True, [[7], [8]])


def test_what_comes_together_has_a_group_of_its_own(disk: Disk, slow: Ticker) -> None:
    for number, size in ((7, 2), (7, 2), (8, 1)):
        slow.submit(brought(number, size=size))
    slow._tick()
    assert disk.pages == [[7, 7, 7, 7, 8]]
    assert disk.groups == [[0, 0, 1, 1, 2]]


def test_what_belongs_together_waits_for_a_page_with_room(disk: Disk, slow: Ticker) -> None:
    first, second = slow.submit(brought(1, size=COMMANDS - 1)), slow.submit(brought(2, size=2))
    slow._tick()
    assert (first.done(), second.done()) == (True, False)
    slow._tick()
    assert second.done()
    assert [len(page) for page in disk.pages] == [COMMANDS - 1, 2]


def test_an_import_lets_few_pass(disk: Disk, slow: Ticker) -> None:
    whole = slow.submit(imported(10, 2 * IMPORTS))
    slow._tick()
    report = slow.submit(brought(7))
    slow._tick()
    assert report.done()
    assert whole.done()
    assert [len(page) for page in disk.pages] == [IMPORTS, IMPORTS + 1]
    assert [page.count(7) for page in disk.pages] == [0, 1]
    assert sorted(itertools.chain(*disk.pages)) == [7, *range(10, 10 + 2 * IMPORTS)]


def test_a_token_holds_up_no_person_and_no_other_token(
    disk: Disk, slow: Ticker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own pushes come in their order."""
    monkeypatch.setattr(slow, "_of_token", TOGETHER)
    flood = [slow.submit(brought(number, Kind.PUSHED, TOGETHER), "first") for number in range(100, 110)]
    report, push = slow.submit(brought(7)), slow.submit(brought(8, Kind.PUSHED), "second")
    slow._tick()
    assert (report.done(), push.done()) == (True, True)
    assert [one.done() for one in flood] == [True] + [False] * 9
    for number in range(9):
        slow._tick()
        assert flood[number + 1].done()
    assert disk.pages == [[7, 8] + [100] * TOGETHER, *([number] * TOGETHER for number in range(101, 110))]


def test_whom_less_waits_of_is_not_held_up_by_many_busy_tokens(slow: Ticker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow, "_of_token", TOGETHER)
    monkeypatch.setattr(ticker, "PUSHES", 2 * TOGETHER)
    for number in range(100, 110):
        for token in ("first", "second", "third"):
            slow.submit(brought(number, Kind.PUSHED, TOGETHER), token)
    push = slow.submit(brought(8, Kind.PUSHED), "fourth")
    slow._tick()
    assert push.done()


def when_written(disk: Disk, ticking: Ticker, waiting: Mapping[str, int], tokens: int = 0) -> dict[str, list[int]]:
    """Of each token, how many of its reports every page has. Without a number of tokens, the ticker knows none yet."""
    if tokens:
        ticking.keep_only(Owners((), list(map(str, range(tokens)))))
    numbers = {token: 1000 * number for number, token in enumerate(waiting, 1)}
    for token, size in waiting.items():
        for number in range(size):
            ticking.submit(brought(numbers[token] + number, Kind.PUSHED), token)
    disk.pages.clear()
    for _ in range(8):
        ticking._tick()
    return {token: [sum(0 <= one - at < 1000 for one in page) for page in disk.pages] for token, at in numbers.items()}


@pytest.mark.parametrize("tokens", [3, 8])
def test_when_a_token_s_reports_are_written_does_not_depend_on_those_of_others(
    disk: Disk, slow: Ticker, tokens: int
) -> None:
    """One more of another token, with which it has more than the third one, or fills its part of a page."""
    part = PUSHES // tokens
    for size in (part - 1, part, 200, 3 * part):
        one, other = (
            when_written(disk, slow, {"first": more, "second": 200, "third": 200}, tokens) for more in (size, size + 1)
        )
        assert (one["second"], one["third"]) == (other["second"], other["third"])


def test_nor_does_it_before_the_first_page_when_the_number_of_tokens_is_not_known(disk: Disk) -> None:
    def written(more: int) -> dict[str, list[int]]:
        with stopped_at_last(Ticker(disk.write, disk.count, every=1e6)) as new:
            return when_written(disk, new, {"first": more, "second": 200, "third": 200})

    one, other = written(200), written(201)
    assert (one["second"], one["third"]) == (other["second"], other["third"])


def test_the_check_catches_an_order_by_amounts(disk: Disk, slow: Ticker, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was: half a page for each token, and first of those of whom less waits."""
    keep_only = slow.keep_only
    monkeypatch.setattr(slow, "keep_only", lambda owners: keep_only(owners._replace(tokens=["one", "two"])))
    one, other = (when_written(disk, slow, {"first": more, "second": 200, "third": 200}, 3) for more in (200, 201))
    assert one != other
    assert one["third"] != other["third"]


def test_a_person_imports_one_file_after_the_other(slow: Ticker) -> None:
    """Whatever other people do, and whoever took an import back."""
    first = slow.submit(imported(10, 2 * IMPORTS), "Ida")
    assert slow.is_importing("Ida")
    with pytest.raises(StillWaitingError):
        slow.submit(imported(5000, 1), "Ida")
    others = [slow.submit(imported(6000, 1), "Anna"), slow.submit(imported(7000, 1)), slow.submit(imported(8000, 1))]
    slow._tick()
    assert slow.is_importing("Ida")
    slow._tick()
    assert first.done()
    slow._tick()
    assert all(one.done() for one in others)
    assert not slow.is_importing("Ida")
    assert ticks_until(slow, slow.submit(imported(5000, 1), "Ida")) == 1


def test_what_waits_of_a_person_or_token_that_may_bring_nothing_is_dropped(slow: Ticker) -> None:
    """Of an import that has begun one slot more is written, which takes it back. All others go on."""
    named = imported(10, 2 * IMPORTS)
    named["import"] = 3
    begun, stays = slow.submit(named, "Ida"), slow.submit(imported(5000, 2), "Anna")
    pushes = [slow.submit(pushed(OF_ONE), "token") for _ in range(2)]
    slow._tick()
    waits, at_terminal = slow.submit(named, "Ike"), slow.submit(imported(6000, 1))
    kinds = list[list[int]]()
    slow._write = lambda page: kinds.append(page["kind"].tolist())
    for _ in range(2):
        slow.keep_only(Owners({"Anna"}, ()))
        slow._tick()
    for gone in (begun, waits, pushes[1]):
        assert is_refused(gone, "the account was disabled, or the token was revoked")
    assert [one.result() for one in (stays, pushes[0], at_terminal)] == [None] * 3
    assert kinds == [[Kind.TAKEN_BACK, *[Kind.IMPORTED] * 3], []]


def pushed(size: int) -> Slots:
    """Slots of which as many have one id as may."""
    return slots(Kind.PUSHED, np.arange(size, dtype=np.uint64)[:, None].repeat(2, 1) // np.uint64(TOGETHER), 0, 1)


def by_hand(size: int) -> Slots:
    """Slots with an id each, as a person enters them in the console, one form after the other."""
    return slots(Kind.ENTERED, np.arange(size, dtype=np.uint64)[:, None].repeat(2, 1), 0, 1)


def named(first: int, size: int, number: int) -> Slots:
    """An import that can be taken back: what it begins with, and its reports."""
    whole = imported(first, size + 1)
    whole["import"] = number
    return whole


def taken_back(number: int) -> Slots:
    return slots(Kind.TAKEN_BACK, np.zeros((1, 2), np.uint64), 0, 0, import_=number)


OTHERS = {
    "a person": (brought(7), "Anna"),
    "a busy person": (by_hand(9 * OF_PERSON), "Anna"),
    "a command": (brought(7), ""),
    "commands": (brought(7, size=COMMANDS), ""),
    "what takes an import back": (taken_back(1), ""),
    "a token": (brought(7, Kind.PUSHED), "another"),
    "a busy token": (pushed(OF_ONE), "another"),
    "an import": (imported(1000, 2 * ROOM), ""),
}
BUSY = {
    "a push": (
        pushed(9 * OF_ONE),
        "token",
    ),
    "a busy person": (by_hand(9 * OF_PERSON), "Ida"),
    "an import": (named(10, 3 * IMPORTS, 3), "Ida"),
}
ALONE = {"a push": 9, "a busy person": 9, "an import": 3}


@pytest.mark.parametrize(
    ("busy", "other"), [(one, two) for one in BUSY for two in OTHERS if (one, two) != ("an import",) * 2]
)
def test_how_long_it_takes_does_not_tell_what_others_bring(slow: Ticker, busy: str, other: str) -> None:
    """Although it fills its part of every page to the last slot."""
    alone = ticks_until(slow, slow.submit(*BUSY[busy]))
    slow.submit(*OTHERS[other])
    assert ticks_until(slow, slow.submit(*BUSY[busy])) == alone == ALONE[busy]


@pytest.mark.parametrize(
    ("shared", "busy", "other"), [("PUSHES", "a push", "a token"), ("PEOPLE", "a busy person", "a person")]
)
def test_the_check_catches_room_that_is_lent(
    slow: Ticker, monkeypatch: pytest.MonkeyPatch, shared: str, busy: str, other: str
) -> None:
    monkeypatch.setattr(ticker, shared, {"PUSHES": OF_ONE, "PEOPLE": OF_PERSON}[shared])
    slow.submit(*OTHERS[other])
    assert ticks_until(slow, slow.submit(*BUSY[busy])) > 9


def test_a_page_has_room_for_all_of_them() -> None:
    assert SIGNS + COMMANDS + PEOPLE + PUSHES + IMPORTS == ROOM


@pytest.mark.parametrize("size", [0, 1, IMPORTS - 1, IMPORTS, IMPORTS + 1, 9 * IMPORTS])
@pytest.mark.parametrize("others", [0, IMPORTS - 1, IMPORTS, 9 * IMPORTS])
def test_what_begins_an_import_or_takes_it_back_waits_for_no_report(slow: Ticker, size: int, others: int) -> None:
    """Neither for those of the import nor for those of another one that came before."""
    kinds = list[list[tuple[int, int]]]()
    slow._write = lambda page: kinds.append(page[["kind", "import"]].tolist())
    slow.submit(imported(5000, others))
    slow.submit(named(10, size, 3), "Ida")
    slow._tick()
    assert kinds[0][0] == (Kind.IMPORTED, 3)
    gone = slow.submit(taken_back(3))
    assert ticks_until(slow, gone) == 1
    assert kinds[1][0] == (Kind.TAKEN_BACK, 3)


def test_no_report_of_an_import_comes_before_its_beginning(slow: Ticker) -> None:
    """Otherwise it would be counted, and the import could still be taken back."""
    firsts = [1000 * number for number in range(1, SIGNS + 3)]
    pages = list[list[int]]()
    slow._write = lambda page: pages.append(page["id"][:, 0].tolist())
    every = [slow.submit(named(first, 2, first)) for first in firsts]
    slow._tick()
    slow._tick()
    assert all(one.done() for one in every)
    assert [first for first in firsts if first in pages[0]] == firsts[:SIGNS]
    assert [first for first in firsts if first + 1 in pages[0]] == firsts[:SIGNS]


def ticks_until(slow: Ticker, written: "Future[None]") -> int:
    for number in itertools.count():
        if written.done():
            return number
        slow._tick()
    raise AssertionError


def test_a_token_waits_until_enough_of_what_it_sent_is_written(slow: Ticker) -> None:
    """It alone: what others send changes nothing, and a push that is large by itself is taken."""
    large = slots(Kind.PUSHED, np.arange(2 * MOST_WAITING, dtype=np.uint64)[:, None].repeat(2, 1), 0, 1)
    first = slow.submit(large, "first")
    for _ in range(2):
        with pytest.raises(StillWaitingError, match="is not counted yet"):
            slow.submit(brought(7, Kind.PUSHED), "first")
    slow.submit(brought(7, Kind.PUSHED), "second")
    slow.submit(brought(7))
    for _ in range(MOST_WAITING // OF_ONE):
        with pytest.raises(StillWaitingError):
            slow.submit(brought(7, Kind.PUSHED), "first")
        slow._tick()
    slow._tick()
    again = slow.submit(brought(7, Kind.PUSHED), "first")
    assert not first.done()
    ticks_until(slow, again)
    assert first.done()


@pytest.mark.parametrize("error", [DeniableError("the disk is full"), OSError("the disk is full")])
def test_an_error_reaches_all_who_wait_and_the_next_tick_works(disk: Disk, slow: Ticker, error: Exception) -> None:
    waiting = [slow.submit(what) for what in (brought(7), brought(8), imported(10, 2 * ROOM), imported(3, 0))]
    disk.fails = error
    slow._tick()
    for written in waiting:
        assert written.done()
        with pytest.raises(type(error), match="the disk is full"):
            written.result()
    disk.fails = None
    again = slow.submit(brought(9))
    slow._tick()
    assert again.done()
    assert disk.pages == [[9]]


@pytest.mark.parametrize("failing", [1, 2], ids=["the second page fails", "what takes it back fails, too"])
def test_an_import_that_fails_after_its_beginning_is_taken_back(disk: Disk, slow: Ticker, failing: int) -> None:
    """Otherwise it would depend on the rows before it whether a row counts."""
    kinds, every = list[list[int]](), slow.submit(named(10, 2 * IMPORTS, 3), "Ida")

    def write(page: Slots) -> None:
        disk.write(page)
        kinds.append(page["kind"].tolist())

    slow._write = write
    slow._tick()
    disk.fails = DeniableError("the disk is full")
    for _ in range(failing):
        slow._tick()
        assert is_refused(every, "full")
    assert not slow.is_importing("Ida")
    disk.fails = None
    slow._tick()
    slow._tick()
    assert kinds == [[Kind.IMPORTED] * (IMPORTS + 1), [Kind.TAKEN_BACK], []]


def test_what_is_left_to_take_back_when_it_is_stopped_is_told_once(disk: Disk) -> None:
    slow = Ticker(disk.write, disk.count, every=1e6)
    every = slow.submit(named(10, 2 * IMPORTS, 3), "Ida")
    slow._tick()
    disk.fails = DeniableError("the disk is full")
    slow._tick()
    slow.stop()
    assert is_refused(every, "full")
    assert not slow._thread.is_alive()


def test_those_who_are_not_on_the_page_do_not_share_its_error(disk: Disk, slow: Ticker) -> None:
    first, second = slow.submit(brought(1, size=COMMANDS)), slow.submit(brought(2))
    disk.fails = DeniableError("the disk is full")
    slow._tick()
    assert is_refused(first, "full")
    assert not second.done()
    disk.fails = None
    slow._tick()
    assert second.done()
    assert disk.pages == [[2]]


def test_who_brings_nothing_new_waits_for_the_tick_as_well(disk: Disk, slow: Ticker) -> None:
    """And is refused as the others are: neither tells that there was nothing new in a file."""
    nothing = slow.submit(imported(1, 0))
    assert not nothing.done()
    slow._tick()
    assert nothing.done()
    assert disk.pages == [[]]
    nothing = slow.submit(imported(1, 0))
    disk.fails = DeniableError("the disk is full")
    slow._tick()
    assert is_refused(nothing, "full")


def test_who_brings_nothing_while_a_page_fails_is_told(disk: Disk, slow: Ticker) -> None:
    late: list[Future[None]] = []
    disk.before = lambda: late.append(slow.submit(imported(1, 0)))
    disk.fails = DeniableError("the disk is full")
    slow._tick()
    disk.before, disk.fails = bool, None
    slow._tick()
    assert late[0].done()


def test_who_waits_no_longer_does_not_stop_the_others(disk: Disk, slow: Ticker) -> None:
    """A browser that goes away lets its request be cancelled."""
    gone, other = slow.submit(brought(7)), slow.submit(brought(8))
    gone.cancel()
    disk.fails = DeniableError("the disk is full")
    slow._tick()
    assert is_refused(other, "full")
    disk.fails = None
    gone = slow.submit(brought(9))
    gone.cancel()
    slow._tick()
    assert disk.pages == [[9]]


def test_pages_are_counted_at_fixed_times(disk: Disk, slow: Ticker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever came in. A time that was missed, or whose page could not be written, is made up for."""
    now = [1000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    slow._counted_every = 10.0
    for moment in (1000.0, 1001.0, 1009.9, 1010.0, 1011.0, 1045.0, 1046.0):
        now[0] = moment
        slow._tick()
    assert disk.counted == [1, 4, 6]
    now[0], disk.fails = 1050.0, DeniableError("the disk is full")
    slow._tick()
    now[0], disk.fails = 1051.0, None
    slow._tick()
    assert disk.counted == [1, 4, 6, 8]


class CountsFirst(Ticker):
    """A planted bug: as it was, those who wait are answered when the pages are counted."""

    def _write_page(self) -> None:
        self._count_if_due()
        super()._write_page()


@pytest.mark.parametrize("kind", [Ticker, CountsFirst])
def test_nobody_waits_until_pages_are_counted(disk: Disk, kind: type[Ticker]) -> None:
    """How long that takes is seen by none of them."""
    seen = list[bool]()
    with stopped_at_last(kind(disk.write, lambda: seen.append(written.done()), every=1e6)) as slow:
        written = slow.submit(brought(7))
        slow._tick()
    assert seen == [kind is Ticker]


@pytest.mark.parametrize("error", [DeniableError("the disk is full"), OSError("the disk is full")])
def test_pages_that_cannot_be_counted_are_counted_later(disk: Disk, slow: Ticker, error: Exception) -> None:
    """Their reports are on the disk, and those who brought them were told so."""
    count, slow._count = slow._count, Mock(side_effect=error)
    written = slow.submit(brought(7))
    slow._tick()
    assert written.result() is None
    slow._count = count
    slow._tick()
    assert disk.counted == [2]


def test_pages_are_counted_half_a_tick_after_one_is_written(disk: Disk) -> None:
    waits = list[float]()
    slow = Ticker(disk.write, disk.count, every=1e6)
    slow.stop()
    disk.pages, disk.counted = [], []
    slow._counted = -1.0

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return len(waits) == 3

    slow._stop = Mock(wait=wait)
    slow._run()
    assert waits[1] == 0.5e6
    assert disk.counted == [1]
    assert len(disk.pages) == 2


def test_what_waits_when_it_is_stopped_is_written_or_refused(disk: Disk) -> None:
    slow = Ticker(disk.write, disk.count, every=1e6, counted_every=math.inf)
    first, whole = slow.submit(brought(7)), slow.submit(imported(10, ROOM))
    slow.stop()
    assert first.done()
    assert is_refused(whole, "was not counted: .* is being stopped; try again")
    assert len(disk.pages) == 1
    with pytest.raises(DeniableError, match="is being stopped"):
        slow.submit(brought(8))


def test_a_page_that_takes_long_holds_up_no_one_who_brings(disk: Disk) -> None:
    has_begun, may_end = Event(), Event()

    def slowly() -> None:
        has_begun.set()
        assert may_end.wait(LONG)

    disk.before = slowly
    with stopped_at_last(Ticker(disk.write, disk.count, every=0.001)) as fast:
        assert has_begun.wait(LONG)
        written = fast.submit(brought(7))
        assert not written.done()
        may_end.set()
        written.result(LONG)
    assert disk.pages.count([7]) == 1


def test_that_counting_fails_is_noted_once_without_the_text_of_the_error(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    with stopped_at_last(Ticker(disk.write, disk.count, every=1e6)) as slow:
        disk.fails = ValueError("three reports about Ash Mill")
        for _ in range(3):
            slow._tick()
            assert slow.counting_fails
        (line,) = [record.getMessage() for record in caplog.records]
        assert line == ticker._COUNTING_FAILS % "ValueError"
        disk.fails = None
        slow._tick()
        assert not slow.counting_fails
        assert disk.counted == [1]
