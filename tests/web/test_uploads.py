"""Files that are not what they say: refused in one sentence, nothing of them counted, shown again or written."""

import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.exceptions import HTTPException
from starlette.types import Message
from tests.programme.importers import exports
from tests.web.offices import Office
from tests.web.test_api import push, token
from tests.web.test_pages_import import held, preview

from deniable.web import app
from deniable.web.pages import import_
from deniable.web.security import LARGE

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
    "deep JSON in an entry": ("globaleaks", b'[{"id": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}]"),
    "long number": ("globaleaks", b'[{"id": "a", "progressive": ' + b"9" * 100_000 + b', "context_id": "Ash Mill"}]'),
    "NaN": ("globaleaks", b'[{"id": "a", "progressive": NaN, "context_id": "Ash Mill"}]'),
    "UTF-16": ("plain", "id,channel\n1,Ash Mill\n".encode("utf-16")),
    "UTF-16 JSON": ("globaleaks", exports.globaleaks_json().decode().encode("utf-16")),
    "Latin-1": ("plain", "id,channel\n1,Café\n".encode("latin-1")),
    "NUL": ("plain", b"id,channel\n1\0,Ash Mill\n"),
    "half a character": ("plain", b"id,channel\n1,\xed\xa0\x80\n"),
    "an open quote": ("plain", b'id,channel\n1,"Ash Mill\n' + b"x" * MIB),
    "a cell without end": ("plain", b"id,channel\n1," + b"x" * (8 * MIB) + b"\n"),
    "too many columns": ("plain", b"id,channel" + b",x" * 100_000 + b"\n"),
    "a formula as channel": ("plain", b'id,channel\n1,"=HYPERLINK(""//evil"")"\n'),
    "a formula as header": ("plain", b"=1+1,channel\n1,Ash Mill\n"),
    "a script as channel": ("plain", b"id,channel\n1,<script>alert(1)</script>\n"),
}


@pytest.fixture
def measured() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.usefixtures("measured")
def test_a_file_that_is_refused(office: Office, name: str) -> None:
    """In one sentence, without quoting it, and without unpacking it into memory."""
    kind, made = REFUSED[name]
    file = made if isinstance(made, bytes) else made()
    programme = office.begin()
    browser = office.browser("Ida")
    tracemalloc.reset_peak()
    answer = preview(browser, file, kind=kind)
    _, peak = tracemalloc.get_traced_memory()
    assert answer.status_code == 422
    assert "This did not work." in answer.text
    assert 'name="held"' not in answer.text
    for quoted in ("<script", "HYPERLINK", "evil", "=1+1", "Café", "xxxx", "Traceback"):
        assert quoted not in answer.text
    assert peak < 6 * len(file) + 40 * MIB
    assert sum(programme.active_counts().values()) == 0
    assert browser.get("/import").status_code == 200  # it goes on


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t="])
def test_a_formula_as_an_outside_id_is_an_id_like_others(office: Office, sign: str) -> None:
    """It is kept as a keyed hash and never shown or written, so no spreadsheet can run it."""
    programme = office.begin()
    anna, formula = office.browser("Anna"), f"{sign}cmd|calc!A"
    page = preview(anna, f"id,sequence,channel\n{formula}1,1,Ash Mill\n{formula}2,2,Ash Mill\n".encode())
    assert page.status_code == 200
    answer = anna.post("/import/confirm", {"held": held(page), "step": "count"})
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


def test_a_body_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise whoever sends nothing would keep others from sending."""
    monkeypatch.setattr(app, "LONGEST_PAUSE", 0.05)

    async def nothing() -> Message:
        await anyio.sleep(5)
        raise AssertionError

    scope = {"type": "http", "path": "/login", "method": "POST"}
    with pytest.raises(HTTPException) as refused:
        anyio.run(app._bounded(scope, nothing))
    assert refused.value.status_code == 408


def test_a_file_with_too_many_reports(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_, "MOST_REPORTS", 1)
    office.begin()
    file = b"id,channel\n1,Ash Mill\n2,Ash Mill\n"
    answer = preview(office.browser("Ida"), file)
    assert answer.status_code == 422
    assert "A file can have at most 1 reports here" in answer.text
