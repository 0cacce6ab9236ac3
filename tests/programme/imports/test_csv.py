"""The plain CSV: an id and a channel."""

import io

import pytest
from tests.programme.imports.exports import COUNTED, NORTH, ROWS, counted, outside_id, plain_csv, refusal, set_aside

from deniable.programme.imports import csv
from deniable.programme.imports.reading import Record

CSV = plain_csv()


def test_every_report_with_its_id_and_channel() -> None:
    assert list(csv.records(io.BytesIO(CSV))) == [(outside_id(number), channel, "") for number, channel in ROWS]
    assert counted("csv", CSV) == COUNTED


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + CSV,
        CSV + b"\n \n\n",
        CSV.replace(b"\n", b"\r\n"),
        CSV.replace(b",", b";"),
        CSV.replace(b",", b"\t"),
        CSV.replace(b",", b"\t").decode().encode("utf-16"),
        b"\xfe\xff" + CSV.decode().encode("utf-16-be"),
        CSV.replace(b",", b" , "),
        CSV.replace(NORTH.encode(), f'"{NORTH}"'.encode()),
        b"channel,id\n" + b"\n".join(b",".join(line.split(b",")[::-1]) for line in CSV.split(b"\n")[1:]),
    ],
)
def test_tolerated_spellings(content: bytes) -> None:
    assert counted("csv", content) == COUNTED


def test_the_header_alone_says_what_separates_cells() -> None:
    """Otherwise one row could decide how all others are read."""
    content = b"id;channel\n1;a,b,c\n2,a\n3;a\tb\n"
    assert [row.channel if isinstance(row, Record) else str(row.place) for row in csv.records(io.BytesIO(content))] == [
        "a,b,c",
        "line 3",
        "line 4",
    ]


@pytest.mark.parametrize("end", [b"x", b"\x00\xd8"], ids=["half a character", "half a pair"])
def test_utf_16_that_is_cut_off_spoils_the_last_row_alone(end: bytes) -> None:
    content = b"\xff\xfe" + "id,channel\n1,a\n2,b".encode("utf-16-le") + end
    first, last = csv.records(io.BytesIO(content))
    assert first == ("1", "a", "")
    assert str(last[0]) == "line 3"


def test_a_number_with_zeros_in_front_is_the_same_report() -> None:
    """Spreadsheets drop them, and the report must not count again."""
    content = b"id,channel\n007,a\n7,a\n00,a\n0,a\n0x7,a\n"
    found = [record[0] for record in csv.records(io.BytesIO(content))]
    assert found == ["7", "7", "0", "0", "0x7"]


def test_any_text_may_be_a_channel() -> None:
    channel = "Werk „Süd“, 工場"
    content = f'id,channel\n1,"{channel}"\n'.encode()
    assert [row[1] for row in csv.records(io.BytesIO(content))] == [channel]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (CSV.partition(b"\n")[2], "the first line has no column names: the CSV file must have the columns id and"),
        (b"id|channel\n1|a\n", "between commas, semicolons or tabs"),
        (b"id,channel,text\n1,a,zq7canary\n", "and no others, but has text as well: delete"),
        (b"id,sequence,how severe,channel\n1,1,2,a\n", "but has sequence and how severe as well"),
        (b"id,id,channel\n1,1,a\n", "must have the columns"),
        (b"ID,Channel\n1,a\n", "must have the columns"),
        (b"PK\3\4" + b"zq7canary" * 9, "this is not a CSV file"),
        (b'[{"id": "5ec2e7"}]', "looks like JSON"),
        (b'\xef\xbb\xbf {"id": "5ec2e7"}', "looks like JSON"),
        (b"%PDF-1.7\n%\xe2\xe3\n", "this is not a CSV file"),
        (b"%PDF-1.7\r%\xe2\xe3\r", "this is not a CSV file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "save it as CSV"),
        (CSV.decode().encode("utf-16-le"), "this is not a CSV file"),
        (CSV.decode().encode("utf-32"), "this is not a CSV file"),
        (b'id,"channel\n1,a\n', "line 1: a quote"),
        (CSV.replace(b"\n", b"\r"), "line 1: a quote or a line end is out of place"),
        (b"id,channel" + b",x" * 70_000 + b"\n", "line 1: a row must have at most 131,072 bytes"),
    ],
)
def test_a_file_that_is_not_one_is_refused(content: bytes, why: str) -> None:
    assert why in refusal("csv", content)


@pytest.mark.parametrize(
    "header",
    [
        "5ec2e7,zq7canary",
        "id,zq7canary",
        "id,channel,id,zq7canary",
        "id,channel,severity,zq7canary",
        "id,channel,a zq7canary that is told in words",
    ],
)
def test_no_column_is_named_that_may_be_a_report(header: str) -> None:
    said = refusal("csv", f"{header}\n".encode())
    assert "must have the columns id and channel" in said
    assert "zq7canary" not in said


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (b"1", "the first line has 2 cells, and this line has 1"),
        (b"1,a,b", "the first line has 2 cells"),
        (b"1,", "the channel is missing"),
        (b"1," + b"zq7canary" * 30, "channel must be 1 to 200"),
        (b"5ec2e7 x,a", "id must be 1 to 100"),
        (b",a", "the id is missing"),
        (b"5ec2e7" * 30 + b",a", "id must be 1 to 100"),
        (b'1,"a', "a quote"),
        (b'1,"a"b', "a quote"),
        (b"1,a\rb", "a line end is out of place"),
        (b"1,a\0", "channel must be 1 to 200"),
        (b"1,\xe9", "a letter cannot be read"),
        (b"1,\xed\xa0\x80", "a letter cannot be read"),
        (b"x" * 400_000, "at most 131,072 bytes"),
        (b"1," + b"x" * 131_071, "at most 131,072 bytes"),
        (b"1," + b"x" * 131_070, "channel must be 1 to 200"),
    ],
)
@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_row_that_cannot_be_read_is_set_aside_by_itself(row: bytes, why: str, at: int) -> None:
    lines = CSV.split(b"\n")
    ((place, said),) = set_aside("csv", b"\n".join([*lines[:at], row, *lines[at:]]))
    assert place == f"line {at + 1}"
    assert why in said
