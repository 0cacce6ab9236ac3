"""GlobaLeaks: its JSON and its CSV, row by row."""

import io
import itertools
import json
import sys
from codecs import BOM_UTF8
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.programme.imports.exports import (
    COUNTED,
    GLOBALEAKS,
    NORTH,
    ROWS,
    Row,
    counted,
    globaleaks_csv,
    globaleaks_json,
    globaleaks_line,
    mapping,
    outside_id,
    refusal,
    set_aside,
    tip,
    with_target,
)

from deniable.programme.imports import globaleaks, read
from deniable.programme.imports.reading import PIECE

CSV, JSON = globaleaks_csv(), globaleaks_json()


def line_changed(column: str, value: str) -> bytes:
    cells = globaleaks_line(1, NORTH).split(",")
    cells[GLOBALEAKS.index(column)] = value
    return CSV + b"\n" + ",".join(cells).encode()


@pytest.mark.parametrize("content", [CSV, JSON])
def test_every_report_with_its_id_and_channel(content: bytes) -> None:
    expected = [(outside_id(number), channel, "") for number, channel in ROWS]
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


BLANK = [b"", b"\n", b"\r\n\r\n", BOM_UTF8, BOM_UTF8 + b"\n", b"\n" * (PIECE + 1)]


@pytest.mark.parametrize(
    "content", [*BLANK, b"[]", b" [ ] ", b"id,progressive,context_id", b"id,context_id\n\n"], ids=range(10)
)
def test_no_reports(content: bytes) -> None:
    """Older pages of GlobaLeaks write a file without a header then."""
    assert counted("globaleaks", content) == []


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (CSV.partition(b"\n")[2], "id, context_id among them"),
        (CSV.replace(b"context_id", b"context"), "id, context_id among them"),
        (CSV.replace(b"status", b"id", 1), "once each"),
        (CSV.replace(b",", b"|"), "between commas"),
        (CSV.replace(b"\n", b"\r"), "line 1: a quote or a line end is out of place"),
        (CSV.decode().encode("utf-16-be"), "not a CSV or JSON file"),
        (b"%PDF-1.7\n", "not a CSV or JSON file"),
        (json.dumps({"tips": json.loads(JSON)}).encode(), "must be a JSON list of reports"),
        (JSON + b"]", "goes on after it"),
        (JSON + JSON, "goes on after it"),
        (b"[" * 10_000, "is cut off; export it again"),
        (JSON.replace(b'"tor"', b'"tor', 1), "is cut off; export it again"),
        (JSON.replace(b"}, {", b"}}, {", 1), "goes on after it"),
        (JSON.replace(b"}, {", b", {", 1), "is cut off; export it again"),
        (JSON.decode().encode("utf-16"), "must name its columns"),
    ],
)
def test_a_file_that_is_wrong_as_a_whole_is_refused(content: bytes, why: str) -> None:
    assert why in refusal("globaleaks", content)


@pytest.mark.parametrize(
    ("content", "place", "why"),
    [
        (CSV.replace(b",true,", b",tr,ue,", 1), "line 2", "the first line has 13 cells, and this line has 14"),
        (CSV[:-60], "line 5", "the first line has 13 cells"),
        (CSV.replace(b",true,", b',"true,', 1), "line 2", "a quote or a line end is out of place"),
        (CSV.replace(b",true,", b',"t"rue,', 1), "line 2", "a quote"),
        (CSV.replace(b"true", "naïve".encode("latin-1"), 1), "line 2", "a letter cannot be read"),
        (CSV + b"\xe2\x82", "line 5", "a letter cannot be read"),
        (CSV.replace(b"true", b"true" * 50_000, 1), "line 2", "at most 131,072 bytes"),
        (CSV + b"\n" + b"x" * 400_000, "line 6", "at most 131,072 bytes"),
        (line_changed("id", ""), "line 6", "the id is missing"),
        (line_changed("id", "5ec2e7é"), "line 6", "id must be 1 to 100"),
        (line_changed("id", "5ec2e7" * 30), "line 6", "id must be 1 to 100"),
        (line_changed("context_id", ""), "line 6", "the context_id is missing"),
        (line_changed("context_id", "zq7canary\x1b[2J"), "line 6", "context_id must be 1 to 200"),
        (line_changed("context_id", "zq7canary\0"), "line 6", "context_id must be 1 to 200"),
        (line_changed("context_id", "zq7canary" * 30), "line 6", "context_id must be 1 to 200"),
    ],
)
def test_a_row_that_cannot_be_read_is_set_aside_by_itself(content: bytes, place: str, why: str) -> None:
    ((found, said),) = set_aside("globaleaks", content)
    assert found == place
    assert why in said


def test_a_quote_left_open_in_two_rows_swallows_neither_them_nor_what_is_between() -> None:
    content = CSV.replace(b",true,", b',"true,', 1).replace(b",true,", b',true",', 1)
    assert [place for place, _ in set_aside("globaleaks", content)] == ["line 2"]


@pytest.mark.parametrize(
    ("element", "why"),
    [
        (b"", "it is no report"),
        (b"{}", "it is no report with id and context_id; is this GlobaLeaks’s list of reports?"),
        (b"7", "it is no report"),
        (b'"zq7canary"', "it is no report"),
        (b'"zq7canary \\" [{ \\\\"', "it is no report"),
        (b"[[{}], 1]", "it is no report"),
        (b'{"id": "5ec2e7"}', "it is no report"),
        (b"{'id': zq7canary}", "it is no report"),
        (b"[" * 60_000 + b"]" * 60_000, "it is no report"),
        (b'{"id": "5ec2e7", "context_id": "a", "files": ' + b"7" * 5000 + b"}", "it is no report"),
        (b'{"id": "5ec2e7", "context_id": "a", "status": "ge\xf6ffnet"}', "it is no report"),
        (b'{"id": "5ec2e7", "context_id": "a", "status": "\0"}', "it is no report"),
        (b'{"id": "5ec2e7", "context_id": "' + b"zq7canary" * 100_000 + b'"}', "at most 131,072 bytes"),
        (b"[" * 200_000 + b"]" * 200_000, "at most 131,072 bytes"),
        (b'{"id": 737373, "context_id": "a"}', "id must be 1 to 100"),
        (b'{"id": NaN, "context_id": "a"}', "id must be 1 to 100"),
        (b'{"id": "5ec2e7\\ud800", "context_id": "a"}', "id must be 1 to 100"),
        (b'{"id": "5ec2e7\\u0000", "context_id": "a"}', "id must be 1 to 100"),
        (b'{"id": "5ec2e7", "context_id": {"zq7canary": 1}}', "context_id must be 1 to 200"),
        (b'{"id": "5ec2e7", "context_id": "zq7canary\\ud800"}', "context_id must be 1 to 200"),
        (b'{"id": "5ec2e7", "context_id": " zq7canary"}', "context_id must be 1 to 200"),
        (b'{"id": "5ec2e7", "context_id": null}', "context_id must be 1 to 200"),
    ],
)
@pytest.mark.parametrize("at", [0, 2, 4])
def test_a_report_in_json_that_cannot_be_read_is_set_aside_by_itself(element: bytes, why: str, at: int) -> None:
    elements = [json.dumps(tip(*row)).encode() for row in ROWS]
    content = b"[" + b", ".join([*elements[:at], element, *elements[at:]]) + b"]"
    ((place, said),) = set_aside("globaleaks", content)
    assert place == f"report {at + 1}"
    assert why in said


def test_json_cut_off_anywhere_is_refused() -> None:
    for end in range(1, len(JSON)):
        refusal("globaleaks", JSON[:end])


def test_csv_cut_off_anywhere_gives_the_rows_before() -> None:
    whole, outcomes = with_target(read("globaleaks", io.BytesIO(CSV), mapping())), set()
    for end in range(CSV.index(b"\n"), len(CSV)):
        batch = with_target(read("globaleaks", io.BytesIO(CSV[:end]), mapping()))
        assert batch == whole[: len(batch)]
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
    expected = [(outside_id(number), channel, "") for number, channel in rows]
    assert list(globaleaks.records(file)) == expected


VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='[{",\\\\]} é'),
    lambda one: st.lists(one) | st.dictionaries(st.text(alphabet='[{",\\\\]} '), one),
)


@given(values=st.lists(VALUES), cuts=st.lists(st.integers(0, 200)), ascii_only=st.booleans())
def test_json_is_cut_apart_where_its_values_end(values: list[object], cuts: list[int], ascii_only: bool) -> None:
    content = json.dumps(values, ensure_ascii=ascii_only).encode()[1:]
    ends = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    elements = globaleaks._elements(content[start:end] for start, end in itertools.pairwise(ends))
    assert [json.loads(element) for element in elements] == values


@pytest.mark.parametrize(
    "content", [b"[" * 2**20, b"[[" + b"[]," * 2**19, b'[["' + b'","' * 2**19, b'[["' + b"\\\\" * 2**19]
)
def test_a_file_of_signs_takes_few_steps(content: bytes) -> None:
    """One of 63 MB, with a step for each of them, took the console a minute."""
    steps, before = 0, sys.gettrace()

    def count(frame: FrameType, *_: object) -> Any:
        nonlocal steps
        steps += frame.f_code.co_filename == globaleaks.__file__
        return count

    sys.settrace(count)
    try:
        refusal("globaleaks", content)
    finally:
        sys.settrace(before)
    assert 0 < steps < len(content) // 100


def test_csv_is_the_same_in_any_pieces() -> None:
    for size in (1, 2, 3, 7, 100):
        for content in (CSV, CSV.replace(b",", b";"), CSV.decode().encode("utf-16")):
            file = ShortReads(content)
            file.size = size
            assert with_target(read("globaleaks", file, mapping())) == COUNTED


@pytest.mark.parametrize("padding", [0, 1, 65_000, 65_535, 65_536, 65_537, 131_072, 300_000])
def test_entries_across_the_edge_of_a_piece(padding: int) -> None:
    spaced = JSON.replace(b"}, {", b"}," + b" " * padding + b"{")
    assert counted("globaleaks", spaced) == COUNTED
