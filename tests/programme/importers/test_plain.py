"""The plain CSV: whole numbers as ids, or a column with the sequence."""

import io

import pytest
from tests.programme.importers.exports import COUNTED, NORTH, NUMBER, ROWS, counted, outside_id, plain_csv, refusal

from deniable.programme.importers import plain

NUMBERED = "\n".join(["id,channel", *(f"{NUMBER + number},{channel}" for number, channel in ROWS)]).encode()


def test_ids_that_are_numbers() -> None:
    expected = [(str(NUMBER + number), NUMBER + number, channel) for number, channel in ROWS]
    assert list(plain.records(io.BytesIO(NUMBERED))) == expected
    assert counted("plain", NUMBERED) == COUNTED


def test_ids_with_a_sequence() -> None:
    expected = [(outside_id(number), NUMBER + number, channel) for number, channel in ROWS]
    assert list(plain.records(io.BytesIO(plain_csv()))) == expected
    assert counted("plain", plain_csv()) == COUNTED


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + NUMBERED,
        NUMBERED + b"\n\n",
        NUMBERED.replace(b"\n", b"\r\n"),
        NUMBERED.replace(b",", b" , "),
        NUMBERED.replace(b"\n7", b"\n007"),
        NUMBERED.replace(NORTH.encode(), f'"{NORTH}"'.encode()),
        NUMBERED + b"\n" + NUMBERED.partition(b"\n")[2],  # every report twice
        b"channel,id\n" + b"\n".join(b",".join(line.split(b",")[::-1]) for line in NUMBERED.split(b"\n")[1:]),
    ],
)
def test_tolerated_spellings(content: bytes) -> None:
    assert counted("plain", content) == COUNTED


def test_a_number_with_zeros_in_front_is_the_same_report() -> None:
    assert [*plain.records(io.BytesIO(b"id,channel\n007,a\n"))] == [*plain.records(io.BytesIO(b"id,channel\n7,a\n"))]


def test_any_text_may_be_a_channel() -> None:
    channel = "Werk „Süd“, 工場"
    content = f'id,channel\n{NUMBER},"{channel}"\n'.encode()
    assert [record.channel for record in plain.records(io.BytesIO(content))] == [channel]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (NUMBERED.partition(b"\n")[2], "must have the columns id and channel, or id, sequence and channel"),
        (b"id;channel\n1;a\n", "between commas"),
        (b"id,channel,text\n1,a,zq7canary\n", "and no others"),
        (b"id,id,channel\n1,1,a\n", "must have the columns"),
        (b"ID,Channel\n1,a\n", "must have the columns"),
        (b"id,channel\n1\n", "line 2: expected 2 cells as in the first line, got 1"),
        (b"id,channel\n1,a,b\n", "line 2: expected 2 cells"),
        (b"id,channel\n1,\n", "line 2: channel must be 1 to 200"),
        (b"id,channel\n5ec2e7-x,a\n", "id must be a whole number from 1; if it is not, add a column sequence"),
        (b"id,channel\n0,a\n", "id must be a whole number from 1"),
        (b"id,channel\n1.0,a\n", "id must be a whole number from 1"),
        (b'id,channel\n"737,373",a\n', "id must be a whole number from 1"),
        (b"id,sequence,channel\n5ec2e7,x,a\n", "sequence must be a whole number in 1.."),
        (b"id,sequence,channel\n5ec2e7 x,1,a\n", "id must be 1 to 100"),
        (b'id,channel\n1,"a\n2,b"\n', "line 3: a row must be one line"),
        (b'id,channel\n1,"a\n', "line 2: a quote"),
        (b"id,channel\n1,a\0\n", "NUL bytes"),
        (b"id,channel\n1,\xe9\n", "UTF-8"),
        (b"PK\3\4" + b"zq7canary" * 9, "must have the columns"),
        (b'[{"id": "5ec2e7"}]', "must have the columns"),
    ],
)
def test_refused(content: bytes, why: str) -> None:
    assert why in refusal("plain", content)


def test_a_number_for_two_reports_is_refused() -> None:
    """As when a date serves for the number: a report of the same day that comes later would never count."""
    content = f"id,sequence,channel\n5ec2e7a,{NUMBER},{NORTH}\n5ec2e7b,{NUMBER},{NORTH}\n".encode()
    assert "two reports must not have the same number" in refusal("plain", content)
