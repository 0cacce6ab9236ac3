"""GlobaLeaks: its JSON and its CSV, read whole or refused."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.programme.importers.exports import (
    COUNTED,
    GLOBALEAKS,
    NORTH,
    NUMBER,
    ROWS,
    Row,
    counted,
    globaleaks_csv,
    globaleaks_json,
    globaleaks_line,
    mapping,
    outside_id,
    refusal,
    tip,
)

from deniable.errors import DeniableError
from deniable.programme.importers import globaleaks, read

CSV, JSON = globaleaks_csv(), globaleaks_json()


def changed(**fields: Any) -> bytes:
    return json.dumps([tip(1, NORTH), tip(2, NORTH) | fields]).encode()


def line_changed(column: str, value: str) -> bytes:
    cells = globaleaks_line(1, NORTH).split(",")
    cells[GLOBALEAKS.index(column)] = value
    return CSV + b"\n" + ",".join(cells).encode()


@pytest.mark.parametrize("content", [CSV, JSON])
def test_every_report_with_its_id_number_and_channel(content: bytes) -> None:
    expected = [(outside_id(number), NUMBER + number, channel) for number, channel in ROWS]
    assert list(globaleaks.records(io.BytesIO(content))) == expected
    assert counted("globaleaks", content) == COUNTED


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + CSV,
        CSV + b"\n",
        CSV.replace(b"\n", b"\r\n") + b"\r\n\r\n",
        CSV.replace(b",true,", b',"true",'),  # newer clients quote where needed
        CSV.replace(b",true,", b',"tr,ue",'),
        b"\xef\xbb\xbf" + JSON,
        b" \r\n\t" + JSON + b"\n\n",
        json.dumps(json.loads(JSON), indent=4, ensure_ascii=False).encode(),
        JSON.replace(b'"substatus"', b'"later": {"a": [1, {"b": null}]}, "substatus"'),
    ],
)
def test_tolerated_spellings(content: bytes) -> None:
    assert counted("globaleaks", content) == COUNTED


@pytest.mark.parametrize("dropped", [["receiver_count"], ["receiver_count", "files"]])
def test_columns_that_are_not_needed_may_be_absent(dropped: list[str]) -> None:
    entries = [{name: value for name, value in tip(*row).items() if name not in dropped} for row in ROWS]
    lines = [",".join(entries[0]), *(",".join(map(str, entry.values())) for entry in entries)]
    assert counted("globaleaks", json.dumps(entries).encode()) == COUNTED
    assert counted("globaleaks", "\n".join(lines).encode()) == COUNTED


@pytest.mark.parametrize("content", [b"[]", b" [ ] ", b"id,progressive,context_id", b"id,progressive,context_id\n\n"])
def test_no_reports(content: bytes) -> None:
    assert counted("globaleaks", content) == []


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (CSV.partition(b"\n")[2], "id, progressive, context_id among them"),
        (CSV.replace(b"context_id", b"context"), "id, progressive, context_id among them"),
        (CSV.replace(b"status", b"id", 1), "once each"),
        (CSV.replace(b",", b";"), "between commas"),
        (CSV.replace(b",true,", b",tr,ue,", 1), "line 2: expected 13 cells as in the first line, got 14"),
        (CSV[:-60], "line 5: expected 13 cells"),
        (CSV.replace(b",true,", b',"true,', 1), "line 5: a quote or a line end is out of place"),
        (CSV.replace(b",true,", b',"true,', 1).replace(b",true,", b',true",', 1), "line 3: a row must be one line"),
        (CSV.replace(b",true,", b',tr"ue"x,', 1).replace(b",true,", b',"t"rue,', 1), "line 3: a quote"),
        (CSV.replace(b"\n", b"\r"), "a line end is out of place"),
        (CSV.replace(b"true", b"tr\0ue"), "NUL bytes"),
        (CSV.decode().encode("utf-16"), "NUL bytes"),
        (CSV.replace(b"true", "naïve".encode("latin-1")), "must be text in UTF-8"),
        (CSV + b"\xe2\x82", "must be text in UTF-8"),
        (CSV.replace(b"true", b"true" * 50_000), "line 2: a row must have at most 131072 characters"),
        (CSV + b"\n" + b"x" * 400_000, "line 6: a row must have at most 131072 characters"),
        (line_changed("progressive", ""), "line 6: progressive must be a whole number in 1..9223372036854775807"),
        (line_changed("progressive", "0"), "progressive must be a whole number"),
        (line_changed("progressive", "-1"), "progressive must be a whole number"),
        (line_changed("progressive", "7373731.0"), "progressive must be a whole number"),
        (line_changed("progressive", "٧٣٧٣٧٣"), "progressive must be a whole number"),
        (line_changed("progressive", "737373" * 9), "progressive must be a whole number"),
        (line_changed("progressive", "737373" * 9000), "progressive must be a whole number"),
        (line_changed("id", ""), "line 6: id must be 1 to 100"),
        (line_changed("id", "5ec2e7é"), "id must be 1 to 100"),
        (line_changed("id", "5ec2e7" * 30), "id must be 1 to 100"),
        (line_changed("context_id", ""), "line 6: context_id must be 1 to 200"),
        (line_changed("context_id", "zq7canary\x1b[2J"), "context_id must be 1 to 200"),
        (line_changed("context_id", "zq7canary" * 30), "context_id must be 1 to 200"),
    ],
)
def test_refused_csv(content: bytes, why: str) -> None:
    assert why in refusal("globaleaks", content)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (json.dumps({"tips": json.loads(JSON)}).encode(), "a whole JSON list of objects: it goes wrong after report 0"),
        (JSON + b"]", "it goes wrong after report 4"),
        (JSON + JSON, "it goes wrong after report 4"),
        (JSON[:-1] + b",]", "it goes wrong after report 4"),
        (JSON.replace(b"}, {", b"} {"), "it goes wrong after report 1"),
        (b"[,]", "it goes wrong after report 0"),
        (b"[" + b"[" * 10_000, "it goes wrong after report 0"),
        (b"[1, 2]", "it goes wrong after report 0"),
        (b'["zq7canary"]', "it goes wrong after report 0"),
        (b'[{"id": ' + b"[" * 30_000 + b"]" * 30_000 + b"}]", "report 1: this is not JSON"),
        (changed(status="zq7canary" * 10_000), "report 2: this is not JSON, is cut off or is far too long"),
        (changed(status="zq7canary" * 100_000), "report 2: this is not JSON, is cut off or is far too long"),
        (JSON.replace(b"true", b"True"), "report 1: this is not JSON"),
        (JSON.replace(b'"tor"', b"'tor'"), "report 1: this is not JSON"),
        (JSON.replace(b'"tor": true', b'"tor": ' + b"7" * 5000), "report 1: this is not JSON"),
        (JSON.replace(b'"progressive"', b'"number"', 1), "report 1: expected the fields id, progressive, context_id"),
        (JSON.replace(b'"tor"', b'"id"', 1), "report 1: expected the fields id, progressive, context_id, none twice"),
        (b"[{}]", "report 1: expected the fields"),
        (changed(progressive=True), "report 2: progressive must be a whole number"),
        (changed(progressive=None), "report 2: progressive must be a whole number"),
        (changed(progressive=7373731.0), "report 2: progressive must be a whole number"),
        (changed(progressive=float("nan")), "report 2: progressive must be a whole number"),
        (changed(progressive=0), "report 2: progressive must be a whole number"),
        (changed(progressive=737373 * 10**30), "report 2: progressive must be a whole number"),
        (changed(progressive=["737373"]), "report 2: progressive must be a whole number"),
        (changed(id=737373), "report 2: id must be 1 to 100"),
        (changed(id="5ec2e7\ud800"), "report 2: id must be 1 to 100"),
        (changed(id="5ec2e7\u0000"), "report 2: id must be 1 to 100"),
        (changed(context_id={"zq7canary": 1}), "report 2: context_id must be 1 to 200"),
        (changed(context_id="zq7canary\ud800"), "report 2: context_id must be 1 to 200"),
        (changed(context_id=" zq7canary"), "report 2: context_id must be 1 to 200"),
        (JSON.replace(b"true", b"tr\0ue"), "NUL bytes"),
        (JSON.replace(b"opened", b"ge\xf6ffnet"), "must be text in UTF-8"),
    ],
)
def test_refused_json(content: bytes, why: str) -> None:
    assert why in refusal("globaleaks", content)


def test_json_cut_off_anywhere_is_refused() -> None:
    for end in range(len(JSON)):
        refusal("globaleaks", JSON[:end])


def test_csv_cut_off_anywhere_gives_the_rows_before_or_a_refusal() -> None:
    outcomes = set()
    for end in range(len(CSV)):
        try:
            batch = counted("globaleaks", CSV[:end])
        except DeniableError:
            continue
        assert batch == COUNTED[: len(batch)]
        outcomes.add(len(batch))
    assert outcomes == {0, 1, 2, 3}


class ShortReads(io.BytesIO):
    """A file that gives a few bytes at a time, as a socket may."""

    size = 1

    def read(self, size: int | None = -1) -> bytes:
        return super().read(self.size)


channels = st.sampled_from([NORTH, "north", "Süd, „Werk“", "工場"])


@given(
    rows=st.lists(st.tuples(st.integers(1, 10**6), channels), max_size=8),
    size=st.integers(1, 40),
    indent=st.sampled_from([None, 0, 3]),
)
def test_json_is_the_same_in_any_pieces(rows: list[Row], size: int, indent: int | None) -> None:
    file = ShortReads(json.dumps([tip(*row) for row in rows], indent=indent, ensure_ascii=False).encode())
    file.size = size
    expected = [(outside_id(number), NUMBER + number, channel) for number, channel in rows]
    assert list(globaleaks.records(file)) == expected


def test_csv_is_the_same_in_any_pieces() -> None:
    for size in (1, 2, 3, 7, 100):
        file = ShortReads(CSV)
        file.size = size
        assert [number - NUMBER for _, number, _ in read("globaleaks", file, mapping())] == [3, 2, 1]


@pytest.mark.parametrize("padding", [0, 1, 65_000, 65_535, 65_536, 65_537, 131_072, 300_000])
def test_entries_across_the_edge_of_a_piece(padding: int) -> None:
    spaced = JSON.replace(b"}, {", b"}," + b" " * padding + b"{")
    assert counted("globaleaks", spaced) == COUNTED


def test_a_legacy_site_may_have_a_number_twice() -> None:
    """Releases that began anew every day gave numbers again; the ids still differ."""
    entries = [tip(1, NORTH), tip(2, NORTH) | {"progressive": NUMBER + 1}]
    assert counted("globaleaks", json.dumps(entries).encode()) == [(1, "Acme Ltd"), (1, "Acme Ltd")]
