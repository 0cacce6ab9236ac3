"""Whether a row is in the batch depends on that row alone, whatever the others are: for every format, with any content.

The check is that a file's batch is that of its rows, each in a file of its own, one after the other. So one row more or
less changes the batch by at most that row.
"""

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.programme.imports.exports import (
    GLOBALEAKS,
    MESSAGES,
    NORTH,
    SOUTH,
    TEST,
    USERNAMES,
    globaleaks_line,
    mapping,
    message,
    outside_id,
    table,
    tip,
    username,
)

from deniable.errors import DeniableError
from deniable.programme import imports
from deniable.programme.imports import Batch, ClassField, globaleaks, reading

Rows = list[bytes]
LONG = 1000


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are too long, and rows over the edge of a piece, without large files."""
    for module in (reading, globaleaks):
        monkeypatch.setattr(module, "MAX_ROW", LONG)
    monkeypatch.setattr(reading, "PIECE", 64)


def in_lines(header: tuple[str, ...], rows: Rows) -> bytes:
    return b"\n".join([",".join(header).encode(), *rows])


USERNAME_IDS = {NORTH: 11, SOUTH: 12, TEST: 13, "west": 14}


def in_zip(rows: Rows) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        profiles = [username(number, name) for name, number in USERNAME_IDS.items()]
        archive.writestr("db/usernames.csv", table(USERNAMES, profiles))
        archive.writestr("db/messages.csv", in_lines(MESSAGES, rows))
    return out.getvalue()


def message_line(number: int, channel: str) -> str:
    return table((), [message(number, USERNAME_IDS[channel])]).decode().strip()


def in_list(rows: Rows) -> bytes:
    return b"[" + b",".join(rows) + b"]"


numbers = st.integers(1, 9)  # so that an id comes twice now and then
channels = st.sampled_from([NORTH, SOUTH, TEST, "west"])
HOSTILE = [
    b'"',
    b"'",
    b"\\",
    b"\0",
    b"\r",
    b",",
    b"\xff",
    b"\xef\xbb\xbf",
    b"[",
    b"]",
    b"{",
    b"}",
    b"\xe2\x80\xa8",
    b" ",
]


@st.composite
def lines(draw: st.DrawFn, well_formed: Callable[[int, str], str]) -> bytes:
    """A row of CSV: as the hotline writes it, with something in it that does not belong there, or anything at all."""
    row = well_formed(draw(numbers), draw(channels)).encode()
    match draw(st.integers(0, 4)):
        case 0 | 1:
            return row
        case 2:
            starts = [0, *(comma + 1 for comma, sign in enumerate(row) if sign == ord(","))]
            at = draw(st.sampled_from(starts) | st.integers(0, len(row)))
            return row[:at] + draw(st.sampled_from(HOSTILE)) + row[draw(st.integers(at, len(row))) :]
        case 3:
            return row + draw(st.sampled_from(HOSTILE)) * draw(st.sampled_from([1, 2, LONG - 9, LONG]))
    return draw(st.binary(max_size=60)).replace(b"\n", b"")


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def elements(draw: st.DrawFn, *, scored: bool = False) -> bytes:
    """A JSON value: a report, one with wrong fields, or anything at all. Its strings need not be UTF-8, nor short."""
    report = tip(draw(numbers), draw(channels))
    if scored:
        report["score"] = draw(st.integers(0, 4) | json_values)
    match draw(st.integers(0, 4)):
        case 0 | 1:
            value: Any = report
        case 2:
            value = report | {draw(st.sampled_from(GLOBALEAKS)): draw(json_values)}
        case 3:
            value = {name: report[name] for name in draw(st.sets(st.sampled_from(GLOBALEAKS)))}
        case _:
            value = draw(json_values)
    written = json.dumps(value, ensure_ascii=draw(st.booleans())).encode(errors="surrogatepass")
    match draw(st.integers(0, 9)):
        case 0:
            return b"[" * LONG + written + b"]" * LONG
        case 1:
            return written.replace(
                b'"substatus": "', b'"substatus": "' + draw(st.sampled_from([b"\xff", b"\0", b"[{"]))
            )
    return written


FORMATS: dict[str, tuple[str, Callable[[Rows], bytes], st.SearchStrategy[bytes]]] = {
    "plain.csv": (
        "csv",
        lambda rows: in_lines(("id", "channel"), rows),
        lines(lambda number, channel: f"{outside_id(number)},{channel}"),
    ),
    "globaleaks.csv": ("globaleaks", lambda rows: in_lines(GLOBALEAKS, rows), lines(globaleaks_line)),
    "globaleaks.json": ("globaleaks", in_list, elements()),
    "hushline.zip": ("hushline", in_zip, lines(message_line)),
    "classes.csv": (
        "csv",
        lambda rows: in_lines(("id", "severity", "channel"), rows),
        lines(lambda number, channel: f"{outside_id(number)},{number % 5},{channel}"),
    ),
    "scores.json": ("globaleaks", in_list, elements(scored=True)),
}
CLASS_OF = {"0": None, "1": "minor", "2": "minor", "3": "serious"}
"""Another value is set aside."""
FIELDS = {"classes.csv": ClassField("severity", CLASS_OF), "scores.json": ClassField("score", CLASS_OF)}


def check(name: str, phases: tuple[Phase, ...] = tuple(Phase), examples: int = 150) -> None:
    """Fails where a row decides about another."""
    kind, written, rows_of = FORMATS[name]

    def read(rows: Rows) -> Batch:
        return imports.read(kind, io.BytesIO(written(rows)), mapping(), FIELDS.get(name))

    @settings(
        max_examples=examples,
        phases=phases,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(rows=st.lists(rows_of, max_size=6))
    def rows_stand_alone(rows: Rows) -> None:
        batch, alone = read(rows), [read([row]) for row in rows]
        assert list(batch) == [report for one in alone for report in one]
        assert batch.left_out == sum(one.left_out for one in alone)
        assert batch.set_aside.reports == sum(one.set_aside.reports for one in alone)
        assert {*batch.set_aside.channels} == {channel for one in alone for channel in one.set_aside.channels}
        assert {*batch.set_aside.values} == {value for one in alone for value in one.set_aside.values}
        why = [row.why for one in alone for row in one.set_aside.malformed]
        assert [row.why for row in batch.set_aside.malformed] == why

    rows_stand_alone()


formats = pytest.mark.parametrize("name", FORMATS)


@formats
def test_a_row_is_read_by_itself(name: str) -> None:
    check(name, examples=60 if name in FIELDS else 150)


# What the check catches; no smallest example is looked for


find = partial(check, phases=(Phase.generate,), examples=500)


def whole_table_at_once(self: Any) -> Iterator[tuple[int, list[str] | str]]:
    """A reader for which a quote may go on over several lines."""
    decoded = (line.decode("utf-8-sig", "replace") + "\n" for _, line in self._lines)
    for number, cells in enumerate(csv.reader(decoded), start=1):
        if cells:
            yield number, [cell.strip() for cell in cells]


@pytest.mark.parametrize("name", [name for name in FORMATS if not name.endswith(".json")])
def test_the_check_catches_a_quote_that_swallows_the_next_row(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading.Table, "_rows", whole_table_at_once)
    with pytest.raises((AssertionError, DeniableError)):
        find(name)


def refuse_where(is_refused: Callable[[Batch], bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a refusal of the whole export."""
    honest = imports._collected

    def refusing(*args: Any) -> Batch:
        batch = honest(*args)
        if is_refused(batch):
            raise DeniableError("planted")
        return batch

    monkeypatch.setattr(imports, "_collected", refusing)


@formats
def test_the_check_catches_a_refusal_on_an_unknown_channel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_where(lambda batch: bool(batch.set_aside.channels), monkeypatch)
    with pytest.raises(DeniableError, match="planted"):
        find(name)


@formats
def test_the_check_catches_a_limit_on_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = imports._collected

    def limited(rows: Iterator[Any], *args: Any) -> Batch:
        return honest(list(rows)[:5], *args)

    monkeypatch.setattr(imports, "_collected", limited)
    with pytest.raises(AssertionError):
        find(name)


@formats
def test_the_check_catches_an_id_that_counts_only_below_a_later_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a high-water mark."""
    honest = imports._collected

    def marked(rows: Iterator[Any], *args: Any) -> Batch:
        highest, kept = "", []
        for row in rows:
            if isinstance(row, reading.Malformed) or row.outside_id >= highest:
                kept.append(row)
                highest = max(highest, str(row[0]))
        return honest(kept, *args)

    monkeypatch.setattr(imports, "_collected", marked)
    with pytest.raises(AssertionError):
        find(name)


def test_the_check_catches_a_class_that_is_taken_from_the_row_before(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = imports._collected

    def filled_down(rows: Iterator[Any]) -> Iterator[Any]:
        """As a spreadsheet fills a column."""
        value = ""
        for row in rows:
            if isinstance(row, reading.Record):
                value = row.value if row.value in CLASS_OF else value
                yield row._replace(value=value)
            else:
                yield row

    monkeypatch.setattr(imports, "_collected", lambda rows, *args: honest(filled_down(rows), *args))
    with pytest.raises(AssertionError):
        find("classes.csv")


@pytest.mark.parametrize("name", FIELDS)
def test_the_check_catches_a_refusal_on_a_value_without_a_class(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_where(lambda batch: bool(batch.set_aside.values), monkeypatch)
    with pytest.raises(DeniableError, match="planted"):
        find(name)
