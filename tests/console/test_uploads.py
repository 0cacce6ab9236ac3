"""Bodies that are too long, never end or come too slowly, and what machines send."""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from starlette.exceptions import HTTPException
from starlette.types import Message
from tests.console.offices import Office
from tests.console.test_api import push, token

from deniable.console import app
from deniable.console.security import LARGE

MIB = 2**20
DEEP = 200_000


@pytest.mark.parametrize("length", [LARGE["/import"] + 1, 10**18, 10**40])
def test_a_declared_length_that_is_absurd(office: Office, length: int) -> None:
    """Refused before the first byte, for those who are signed in too."""
    office.begin()
    ida = office.browser("Ida")
    kind = {"Content-Type": "multipart/form-data; boundary=x", "Content-Length": str(length)}
    answer = ida.client.post("/import", content=b"", headers=kind)
    assert answer.status_code == 413
    assert "larger than the console takes" in answer.text


def test_a_body_that_does_not_end(office: Office) -> None:
    """It does not say how long it is; it is read no further than it may be."""
    office.begin()
    ida, sent = office.browser("Ida"), [0]

    def endless() -> Iterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        while sent[0] < 80 * MIB:
            sent[0] += MIB
            yield b"0" * MIB

    answer = ida.client.post("/import", content=endless(), headers={"Content-Type": "multipart/form-data; boundary=x"})
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "body",
    [
        b"[" * DEEP,
        b'{"reports":' * (DEEP // 4),
        json.dumps({"reports": {"Ash Mill": 1}}).encode("utf-16"),
        b'{"reports": {"Ash Mill": 1' + b"0" * 100_000 + b"}}",
        b'{"reports": {"=1+1": 1}}',
        b'{"reports": {"Ash Mill": 1}, "reports": {}}',
        b"\xff\xfe\x00",
    ],
)
def test_what_machines_send(office: Office, body: bytes) -> None:
    programme = office.begin()
    answer: Any = push(office.browser(), token(office, "reports"), body)
    if answer.status_code == 200:  # UTF-16 is JSON too
        assert programme.active_counts()["Ash Mill"] == 1
        return
    assert answer.status_code in {400, 422}
    assert set(answer.json()) == {"error"}
    assert sum(programme.active_counts().values()) == 0


async def _nothing() -> Message:
    await anyio.sleep_forever()
    raise AssertionError


async def _a_byte() -> Message:
    await checkpoint()
    return {"type": "http.request", "body": b"x", "more_body": True}


async def _read_for_ever(receive: Callable[[], Any]) -> None:
    for _ in range(100):
        await receive()


PATHS = ["/login", "/import", "/api/v1/reports"]


@pytest.mark.parametrize("path", PATHS)
def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Otherwise a client that sends nothing would keep others from sending."""
    monkeypatch.setattr(app, "LONGEST_PAUSE", 0.05)
    assert _status_of(path, _nothing) == 408


@pytest.mark.parametrize("path", PATHS)
def test_a_body_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """And so would one that sends a byte now and then."""
    monkeypatch.setattr(app, "current_time", itertools.count(1.0, 5.0).__next__)
    assert _status_of(path, _a_byte) == 408


def _status_of(path: str, sent: Callable[[], Any]) -> int:
    scope = {"type": "http", "path": path, "method": "POST", "headers": []}
    with pytest.raises(HTTPException) as refused:
        anyio.run(_read_for_ever, app._bounded(scope, sent))
    return refused.value.status_code


def test_all_but_a_file_must_come_within_seconds() -> None:
    assert (app.LONGEST, app.LONGEST_ELSEWHERE) == ({"/import": 300}, 10)


def test_within_its_time_a_body_may_trickle() -> None:
    """The check above can fail."""
    scope = {"type": "http", "path": "/login", "method": "POST", "headers": []}
    anyio.run(_read_for_ever, app._bounded(scope, _a_byte))
