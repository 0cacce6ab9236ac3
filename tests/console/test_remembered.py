"""What is remembered is made once, by one thread, never on the event loop, and a few are kept."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import anyio
import pytest

from deniable.console.remembered import Paced, Remembered, TakesLong, is_kept


def test_many_threads_make_one_value() -> None:
    remembered, together, made = Remembered[object](), Barrier(8), list[int]()

    def make() -> object:
        made.append(1)
        return object()

    def ask(_: int) -> object:
        together.wait()
        return remembered.get("head", make)

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(ask, range(8)))) == 1
    assert len(made) == 1


def test_the_newest_are_kept() -> None:
    remembered = Remembered[int](most=2)
    assert [remembered.get(key, iter([key]).__next__) for key in (1, 2, 3, 2)] == [1, 2, 3, 2]
    assert remembered.get(1, lambda: 7) == 7


def test_what_fails_is_tried_again() -> None:
    remembered = Remembered[float]()
    with pytest.raises(ZeroDivisionError):
        remembered.get(1, lambda: 1 / 0)
    assert remembered.get(1, lambda: 2.0) == 2.0


def test_on_the_event_loop_nothing_is_made() -> None:
    remembered = Remembered[int]()

    async def get() -> int:
        return remembered.get("head", lambda: 1)

    with pytest.raises(TakesLong):
        anyio.run(get)
    assert remembered.get("head", lambda: 2) == anyio.run(get) == 2


def test_what_took_long_goes_to_a_thread_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """And comes back when it was quick there."""
    monkeypatch.setattr(Paced, "LONG", 0.02)
    used, paced = iter([0.0, 0.01, 1.0, 1.03, 2.0, 2.01, 3.0, 3.0]), Paced()
    monkeypatch.setattr("time.thread_time", lambda: next(used))

    async def work() -> int:
        return paced(lambda: 7)

    assert [anyio.run(work) for _ in range(2)] == [7, 7]
    with pytest.raises(TakesLong):
        anyio.run(work)
    assert paced(lambda: 7) == 7
    assert anyio.run(work) == 7


DAY = timedelta(days=1)
ASKED = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("passed", "kept"),
    [(timedelta(0), True), (DAY - timedelta(seconds=1), True), (DAY, False), (timedelta(seconds=-1), False)],
)
def test_it_is_kept_for_its_time(passed: timedelta, kept: bool) -> None:
    assert is_kept(ASKED + DAY, ASKED + passed, DAY) == kept
