"""How often a person may try to sign in, and how much is done at once."""

from datetime import timedelta
from typing import Any

import anyio
import pytest
from starlette.exceptions import HTTPException
from tests.console.offices import Office, preview
from tests.programme.offices import Clock

from deniable.console.limits import MOST_KEPT, REFILLED_IN, TRIES, PasswordQueues, Throttle, UploadSlots


def test_one_file_a_person_and_two_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UploadSlots, "PATIENCE", 0.05)
    outcomes: list[Any] = []
    told: list[str] = []

    async def sends(uploads: UploadSlots, person: str, done: anyio.Event) -> None:
        async with uploads.slot(person):
            outcomes.append(person)
            await done.wait()

    async def refused(uploads: UploadSlots, person: str) -> None:
        with pytest.raises(HTTPException) as error:
            await sends(uploads, person, anyio.Event())
        outcomes.append(error.value.status_code)
        told.append(error.value.detail)

    async def crowd() -> None:
        uploads, done = UploadSlots(), anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sends, uploads, "Ida", done)
            await anyio.wait_all_tasks_blocked()
            await refused(uploads, "Ida")
            tasks.start_soon(sends, uploads, "Anna", done)
            await anyio.wait_all_tasks_blocked()
            await refused(uploads, "Otto")
            done.set()
        for person in ("Otto", "Ida"):
            await sends(uploads, person, done)

    anyio.run(crowd)
    assert outcomes == ["Ida", 409, "Anna", 503, "Otto", "Ida"]
    assert "other" not in told[-1].lower()  # whoever has to wait is not told why


class _Taken(UploadSlots):
    def slot(self, person: str) -> Any:
        raise HTTPException(503, f"no place for {person}")


def test_a_plan_needs_no_place_and_a_file_does(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office.console, "upload_slots", _Taken())
    anna = office.browser("Anna")
    assert anna.post("/plan", {"name": "x"}).status_code == 422
    office.begin()
    assert "No place for id-Anna" in preview(anna).text


def test_the_place_is_free_again_after_each_file(office: Office) -> None:
    office.begin()
    ida = office.browser("Ida")
    for file in (b"", b"id,channel\n1,Ash Mill\n", b"\xff"):
        assert preview(ida, file).status_code in {200, 422}
    ida.client.post("/import", content=b"x", headers={"Content-Type": "text/plain"})
    assert not office.console.upload_slots._people
    assert preview(ida).status_code == 200


def test_tries_run_out_and_come_back() -> None:
    clock = Clock()
    throttle = Throttle(clock)
    assert all(throttle.take("Ada", None) for _ in range(TRIES))
    assert not throttle.take("Ada", None)
    clock.now += REFILLED_IN - timedelta(seconds=1)
    assert not throttle.take("Ada", None)
    clock.now += timedelta(seconds=1)
    assert throttle.take("Ada", None)


def test_a_clock_that_was_set_back_locks_no_person_out() -> None:
    clock = Clock()
    throttle = Throttle(clock)
    while throttle.take("Ada", None):
        pass
    clock.now -= timedelta(days=1)
    assert throttle.take("Ada", None)


def test_strangers_lock_nobody_out() -> None:
    throttle = Throttle(Clock())
    while throttle.take("Ada", None):
        pass
    assert throttle.take("Ada", "her own device")
    assert throttle.take("Otto", None)


def test_a_known_device_has_a_budget_too() -> None:
    throttle = Throttle(Clock())
    while throttle.take("Ada", "stolen"):
        pass
    assert throttle.take("Ada", "her own device")


def test_who_signs_in_has_all_tries_again() -> None:
    throttle = Throttle(Clock())
    while throttle.take("Ada", "device"):
        pass
    throttle.forgive("Ada", "device")
    assert throttle.take("Ada", "device")


def test_the_throttle_does_not_grow_for_ever() -> None:
    throttle = Throttle(Clock())
    for number in range(MOST_KEPT + 50):
        throttle.take(f"name {number}", None)
    assert len(throttle._tries) == MOST_KEPT


def test_few_passwords_are_checked_at_once_and_strangers_hold_up_nobody() -> None:
    """Two lanes: strangers fill theirs, and wait; then too many wait; a known device gets through at once."""
    outcomes: list[str] = []

    async def crowd() -> None:
        lanes, released = PasswordQueues(), anyio.Event()

        def waits() -> None:
            anyio.from_thread.run(released.wait)
            outcomes.append("stranger")

        async with anyio.create_task_group() as tasks:
            for _ in range(PasswordQueues.AT_ONCE + PasswordQueues.MOST_WAITING):
                tasks.start_soon(lambda: lanes.run(waits, stranger=True))
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(HTTPException) as refused:
                await lanes.run(waits, stranger=True)
            outcomes.append(str(refused.value.status_code))
            with pytest.raises(HTTPException):
                lanes.check(stranger=True)
            lanes.check(stranger=False)
            await lanes.run(lambda: outcomes.append("known"), stranger=False)
            released.set()

    anyio.run(crowd)
    assert outcomes == ["503", "known"] + ["stranger"] * (PasswordQueues.AT_ONCE + PasswordQueues.MOST_WAITING)
