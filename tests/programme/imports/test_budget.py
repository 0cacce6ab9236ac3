"""How much work a file may cause: in proportion to its size, and in a way that no report ever uses it up."""

import io
import secrets
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable

import pytest
from tests.programme.imports.exports import MESSAGES, NORTH, mapping, members, packed, plain_csv, refusal, table

from deniable.message import Message
from deniable.programme.imports import hushline, read, reading

HEADER = table(MESSAGES, [])
USERNAMES = members()["db/usernames.csv"]


def squeezed(row: bytes, rows: int, chunk: int) -> tuple[bytes, bytes]:
    """messages.csv with so many of these rows, and it as a raw deflate stream that ends a block after every chunk: so
    its ratio can be chosen, and a limit on the ratio alone is not enough.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    content, out = HEADER + row * rows, []
    for start in range(0, len(content), chunk):
        out += [packer.compress(content[start : start + chunk]), packer.flush(zlib.Z_FULL_FLUSH)]
    return content, b"".join([*out, packer.flush()])


def bomb(row: bytes, rows: int, chunk: int) -> bytes:
    """An export with such a member."""
    content, deflated = squeezed(row, rows, chunk)
    out, entries = io.BytesIO(), b""
    for name, data, stored, method in (
        (b"db/messages.csv", content, deflated, zipfile.ZIP_DEFLATED),
        (b"db/usernames.csv", USERNAMES, USERNAMES, zipfile.ZIP_STORED),
    ):
        sizes = (zlib.crc32(data), len(stored), len(data), len(name), 0)
        entries += (
            struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, method, 0, 33, *sizes, 0, 0, 0, 0, out.tell()) + name
        )
        out.write(struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, method, 0, 33, *sizes) + name + stored)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 2, 2, len(entries), out.tell(), 0)
    return out.getvalue() + entries + end


def rows_looked_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    really, looked_at = reading._cells, [0]

    def counted(line: bytes, separator: str) -> list[str] | Message:
        looked_at[0] += 1
        return really(line, separator)

    monkeypatch.setattr(reading, "_cells", counted)
    return lambda: looked_at[0]


@pytest.mark.parametrize(
    ("row", "chunk", "why"),
    [
        (b"\n", 4096, "packed at most 20 times"),  # 150 times
        (b"\n", 200, "far more lines than its size"),  # 19 times
        (b"           \n", 200, "rows that are blank"),
        (b"x,y\n", 200, "far more lines than its size"),
    ],
)
def test_a_small_zip_cannot_cost_much(monkeypatch: pytest.MonkeyPatch, row: bytes, chunk: int, why: str) -> None:
    """Two files of 0.85 MB, each with 134 million blank rows, took a minute of the console."""
    file = bomb(row, 2_000_000, chunk)
    assert len(row) * 2_000_000 < 200 * len(file)  # below the limit of before
    looked_at = rows_looked_at(monkeypatch)
    assert why in refusal("hushline", file)
    assert looked_at() <= len(file) // 5


@pytest.mark.parametrize("row", [b"\n", b"\r\n", b"  \n", b"ab\n", b"     \n"])
@pytest.mark.parametrize("kind", ["csv", "globaleaks"])
def test_blank_rows_count(monkeypatch: pytest.MonkeyPatch, kind: str, row: bytes) -> None:
    header = b"id,channel\n" if kind == "csv" else b"id,context_id\n"
    looked_at = rows_looked_at(monkeypatch)
    assert read(kind, io.BytesIO(header + row * (reading.MAX_EMPTY - 1) + b"7,north\n"), mapping()).with_target == 0
    looked_at_all = looked_at()
    assert "rows that are blank or too short" in refusal(kind, header + row * (10 * reading.MAX_EMPTY))
    assert looked_at() - looked_at_all < reading.MAX_EMPTY + 10


@pytest.mark.parametrize("element", [b",", b" ,", b"{},", b"1,", b'"id",'])
def test_empty_elements_of_json_count(element: bytes) -> None:
    assert "rows that are blank or too short" in refusal("globaleaks", b"[" + element * (2 * reading.MAX_EMPTY) + b"1]")


COMMAS = b"id,username" + b"," * 2**21
LINES_OF_COMMAS = b"id,username" + b',"\n"' * 2**19


@pytest.mark.parametrize(
    ("usernames", "why"),
    [
        (b"id,username\n" + b"\n" * 2**21, "in every row"),
        (COMMAS, "line 1: a row must have at most 131,072 bytes"),
        (COMMAS + b"\n", "line 1: a row must have at most 131,072 bytes"),
        (LINES_OF_COMMAS, "a row must have at most 131,072 bytes"),
        (b'id,username\n"' + b"\n" * 2**21, "line 131,073: a row must have at most 131,072 bytes"),
        (b"id,username\n" + b'1,"' + b"a" * 2**21, "a row must have at most 131,072 bytes"),
        ((b"id,username" + b"," * 2**16 + b"\n") * 32, "an id and a username in every row"),
        (b"id,username\n" + b"".join(b"%d,%0200d\n" % (n, n) for n in range(30_000)), "at most 4,194,304 bytes"),
    ],
)
def test_usernames_take_little_memory(usernames: bytes, why: str) -> None:
    """A row of 64 MB, packed into 8, took 1.1 GB."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:  # not packed, since these pack too well
        for name, data in (members() | {"db/usernames.csv": usernames}).items():
            archive.writestr(name, data)
    tracemalloc.start()
    try:
        assert why in refusal("hushline", content.getvalue())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * len(usernames) + 2 * 2**20


def test_too_many_usernames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hushline, "MOST_USERNAMES", 2)
    assert "at most 2 usernames" in refusal("hushline", packed(members()))


def real(rows: int) -> bytes:
    """messages.csv as Hush Line writes it, with what is random in it."""
    return table(
        MESSAGES,
        [
            (
                *(number, f"{secrets.token_hex(16)}", f"2026-01-05 09:14:27.{secrets.randbelow(10**6):06}", 11),
                *(secrets.token_urlsafe(6), "PENDING", "2026-01-05 09:14:27"),
            )
            for number in range(1, rows + 1)
        ],
    )


@pytest.mark.parametrize("rows", [1, 100, 20_000])
def test_no_report_brings_a_real_export_to_these_limits(rows: int) -> None:
    """Every report more allows more than it takes: twice its row, and twice its bytes."""
    archive = zipfile.ZipFile(io.BytesIO(packed({"db/messages.csv": real(rows)})))
    info = archive.infolist()[0]
    assert 2 * (rows + 1) <= info.compress_size // hushline.PACKED_ROW + hushline.FREE
    assert 2 * info.file_size <= hushline.MAX_RATIO * max(info.compress_size, hushline.FREE)
    each = (info.compress_size - hushline.FREE) / rows
    assert rows < 1000 or each >= 2 * hushline.PACKED_ROW


def test_the_shortest_report_is_none_of_the_empty_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_EMPTY", 0)
    many = plain_csv([(number, NORTH) for number in range(1000)])
    assert read("csv", io.BytesIO(many + b"\n1,a"), mapping()).with_target == 1000
    short = b'[{"id":"1","context_id":"a"},{"id":"2","context_id":"b"}]'
    assert read("globaleaks", io.BytesIO(short), mapping()).set_aside.unreadable == 0
