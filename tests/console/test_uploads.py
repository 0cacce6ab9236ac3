"""Files that are not what they say: refused in one sentence or set aside, nothing of them counted, shown or written."""

import io
import itertools
import json
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from starlette.exceptions import HTTPException
from starlette.types import Message
from tests.console.offices import Office
from tests.console.pages.test_imports import held, preview
from tests.console.test_api import push, token
from tests.programme.imports import exports

from deniable.console import app
from deniable.console.limits import UploadSlots
from deniable.console.security import LARGE, SMALL

MIB = 2**20


def zipped(name: str, size: int) -> bytes:
    """A small ZIP with a member of this many bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w") as member:
        member.write(b"id,username_id\n")
        for _ in range(size // MIB):
            member.write(b"0" * MIB)
    return out.getvalue()


@cache
def bomb() -> bytes:
    return zipped("db/messages.csv", 200 * MIB)


def long_line() -> bytes:
    """A ZIP with a line of 16 MB, packed less than it may be."""
    letters = b"".join(bytes([number % 251]) * 250 for number in range(64 * 1024))
    messages = b"id,username_id\r\n" + letters.replace(b"\n", b"") + b"\r\n"
    return exports.packed({"db/usernames.csv": b"id,username\r\n1,ash\r\n", "db/messages.csv": messages})


def nested(depth: int) -> bytes:
    inner = b"id,username_id\n"
    for _ in range(depth):
        inner = exports.packed({"db/messages.csv": inner})
    return inner


DEEP = 200_000

REFUSED: dict[str, tuple[str, bytes | Callable[[], bytes]]] = {
    "zip bomb": ("hushline", bomb),
    "zip bomb that lies": ("hushline", lambda: exports.patched(bomb(), "db/messages.csv", 24, "<L", 100)),
    "zip in a zip": ("hushline", nested(5)),
    "zip cut off": ("hushline", exports.hushline_zip()[:-30]),
    "zip as CSV": ("plain", exports.hushline_zip()),
    "CSV as zip": ("hushline", exports.plain_csv()),
    "many members": ("hushline", exports.packed({f"{number}.csv": b"" for number in range(5000)})),
    "deep JSON": ("globaleaks", b"[" * DEEP),
    "UTF-16": ("plain", "id,channel\n1,Ash Mill\n".encode("utf-16")),
    "UTF-16 JSON": ("globaleaks", exports.globaleaks_json().decode().encode("utf-16")),
    "too many columns": ("plain", b"id,channel" + b",x" * 100_000 + b"\n"),
    "a formula as header": ("plain", b"=1+1,channel\n1,Ash Mill\n"),
}

SET_ASIDE: dict[str, tuple[str, bytes | Callable[[], bytes]]] = {
    "a line that unpacks to much": ("hushline", long_line),
    "deep JSON in an entry": ("globaleaks", b'[{"id": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}]"),
    "long number": ("globaleaks", b'[{"id": "a", "context_id": "Ash Mill", "files": ' + b"9" * 100_000 + b"}]"),
    "NaN": ("globaleaks", b'[{"id": NaN, "context_id": "Ash Mill"}]'),
    "Latin-1": ("plain", "id,channel\n1,Café\n".encode("latin-1")),
    "NUL": ("plain", b"id,channel\n1\0,Ash Mill\n"),
    "half a character": ("plain", b"id,channel\n1,\xed\xa0\x80\n"),
    "an open quote": ("plain", b'id,channel\n1,"Ash Mill\n' + b"x" * MIB),
    "a cell without end": ("plain", b"id,channel\n1," + b"x" * (8 * MIB) + b"\n"),
    "a formula as channel": ("plain", b'id,channel\n1,"=HYPERLINK(""//evil"")"\n'),
    "a script as channel": ("plain", b"id,channel\n1,<script>alert(1)</script>\n"),
}


@pytest.fixture
def measured() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def sent(office: Office, kind: str, made: bytes | Callable[[], bytes]) -> Any:
    """What comes of a file, of which nothing is quoted, unpacked into memory or counted."""
    file = made if isinstance(made, bytes) else made()
    programme = office.begin()
    browser = office.browser("Ida")
    tracemalloc.reset_peak()
    answer = preview(browser, file, kind=kind)
    _, peak = tracemalloc.get_traced_memory()
    for quoted in ("<script", "HYPERLINK", "evil", "=1+1", "Café", "xxxx", "Traceback"):
        assert quoted not in answer.text
    assert peak < 6 * len(file) + 40 * MIB
    assert sum(programme.active_counts().values()) == 0
    assert browser.get("/import").status_code == 200  # it goes on
    return answer


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.usefixtures("measured")
def test_a_file_that_is_refused(office: Office, name: str) -> None:
    answer = sent(office, *REFUSED[name])
    assert answer.status_code == 422
    assert "This did not work." in answer.text
    assert 'name="pending"' not in answer.text


@pytest.mark.parametrize("name", SET_ASIDE)
@pytest.mark.usefixtures("measured")
def test_a_row_that_is_set_aside(office: Office, name: str) -> None:
    answer = sent(office, *SET_ASIDE[name])
    assert answer.status_code == 200
    assert "Not everything in this file can count yet." in answer.text


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t="])
def test_a_formula_as_an_outside_id_is_an_id_like_others(office: Office, sign: str) -> None:
    """It is kept as a keyed hash and never shown or written, so no spreadsheet can run it."""
    programme = office.begin()
    anna, formula = office.browser("Anna"), f"{sign}cmd|calc!A"
    page = preview(anna, f"id,channel\n{formula}1,Ash Mill\n{formula}2,Ash Mill\n".encode())
    assert page.status_code == 200
    answer = anna.post("/import/confirm", {"pending": held(page), "step": "count"})
    assert programme.active_counts()["Ash Mill"] == 2
    files = Path(str(office.console.store.url.database)).parent.iterdir()
    written = b"".join(file.read_bytes() for file in files if file.is_file())
    assert b"calc" not in written + page.content + answer.content


@pytest.mark.parametrize("length", [LARGE["/import"] + 1, 10**18, 10**40])
def test_a_declared_length_that_is_absurd(office: Office, length: int) -> None:
    """Refused before the first byte, for those who are signed in too."""
    office.begin()
    ida = office.browser("Ida")
    kind = {"Content-Type": "multipart/form-data; boundary=x", "Content-Length": str(length)}
    answer = ida.client.post("/import", content=b"", headers=kind)
    assert answer.status_code == 413
    assert "larger than it may be" in answer.text


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


def test_a_mapping_that_is_none(office: Office) -> None:
    programme = office.begin()
    ida = office.browser("Ida")
    for mapping in (b"", b"\xff\xfe", b"channel\n", b"channel,target\nash,Nobody\n", b"x" * MIB, zipped("a", MIB)):
        answer = preview(ida, mapping=mapping)
        assert answer.status_code == 422
        assert "This did not work." in answer.text
    assert sum(programme.active_counts().values()) == 0


def test_a_programme_whose_names_are_formulas_is_published_as_text(office: Office) -> None:
    """No public file is one that a spreadsheet would run, and the page shows them as they are."""
    programme = office.begin(targets=("=1+1", "@SUM(A1)", '<img src="//evil">'))
    page = office.browser("Ida").get("/report").text
    assert "<img" not in page
    assert "=1+1" in page
    assert programme.parameters.targets[0] == "=1+1"


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


# How many at once


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


# What is no file

PART = b"--x\r\nContent-Disposition: form-data; name=csrf%s\r\n\r\n%%s\r\n--x--\r\n"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded", b"csrf=%s&kind=plain&source=hotline&mapped=names&file=id,channel"),
        ("application/x-www-form-urlencoded; charset=none", b"csrf=%s&kind=plain&file=a&file=b&mapping=c"),
        ("", b"csrf=%s&kind=plain&source=hotline"),
        ("application/json", b'{"csrf": "%s"}'),
        ("text/csv", b"id,channel\n1,Ash Mill\n%s"),
        ("application/octet-stream", bytes(range(256)).replace(b"%", b"%s")),
        ("multipart/mixed; boundary=x", b"--x\r\n%s"),
        ("multipart/form-data", b"%s"),
        ("multipart/form-data; boundary=", b"%s"),
        ("multipart/form-data; boundary=x; charset=none", PART % b""),
        ("multipart/form-data; boundary=x", PART % b""),
        ("multipart/form-data; boundary=x", PART % b"; filename=a"),
    ],
)  # fmt: skip
def test_what_is_posted_in_place_of_a_file(office: Office, kind: str, body: bytes) -> None:
    programme = office.begin()
    ida = office.browser("Ida")
    answer = ida.client.post("/import", content=body % ida.csrf().encode(), headers={"Content-Type": kind})
    assert answer.status_code in {400, 403, 415, 422}
    assert "<h1>" in answer.text
    assert sum(programme.active_counts().values()) == 0


def test_only_a_form_with_a_file_may_be_large(office: Office) -> None:
    office.begin()
    ida = office.browser("Ida")
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert ida.client.post("/import", content=b"a" * (SMALL + 1), headers=kind).status_code == 413
    assert ida.client.post("/import", content=(b"a" * SMALL for _ in range(2)), headers=kind).status_code == 413
