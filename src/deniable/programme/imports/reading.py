"""What the importers share: a file read in bounded pieces, rows that are cut apart before they are read, and refusals
that quote nothing of the file.

A row is cut out by its line end alone and read by itself. So whatever is in it (a quote left open, bytes that are not
text, a line without end), it is at most this row that cannot be read.

Every refusal is raised outside an `except` block: `raise … from None` hides the first error but leaves it in
`__context__`, and that of a failed decoding carries the bytes themselves.
"""

import codecs
import csv
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

from deniable.errors import DeniableError
from deniable.message import Listed, Message, why_not

PIECE = 1 << 16
"""Bytes read at once."""

MAX_ROW = 1 << 17
"""The most bytes of one row; a longer one cannot be read. csv refuses cells of this length too."""

SHORTEST = len("1,a")
"""Characters of the shortest row that can be a report."""

MAX_EMPTY = 100_000
"""The most rows of a file that are blank, or too short for a report. No report is among them, so none brings a file to
this limit.
"""

File = str | PathLike[str] | BinaryIO

_T = TypeVar("_T")
_SEPARATORS = ",;\t"
_UTF_16 = {
    codecs.BOM_UTF16_LE: codecs.getincrementaldecoder("utf-16-le"),
    codecs.BOM_UTF16_BE: codecs.getincrementaldecoder("utf-16-be"),
}
_NO_TEXT = re.compile(rb"\A%PDF|[\x00-\x08\x0e-\x1f]")
"""In the first line of a picture, a PDF file or a spreadsheet, and of no CSV file."""
_PRINTABLE_ASCII = re.compile(r"[!-~]{1,100}")


class Record(NamedTuple):
    """One report, and all that is read of it."""

    outside_id: str
    channel: str
    value: str = ""
    """What the class column has, where one is read."""

    def __repr__(self) -> str:
        return "Record(…)"


class Malformed(NamedTuple):
    """A row that cannot be read."""

    place: Message
    why: Message
    """In our own words; nothing of the row is in it."""


Row = Record | Malformed


def quietly(step: Callable[[], _T], what: Message) -> _T:
    """The result of `step`, whose refusal is raised anew: without the frames, and so the variables, of the parser."""
    try:
        return step()
    except DeniableError as error:
        refusal = type(error)(*error.args)
    except Exception as error:  # its text may quote the file
        refusal = DeniableError("{what} cannot be read ({name})", what=what, name=type(error).__name__)
    raise refusal


@contextmanager
def opened(file: File, what: Message) -> Iterator[BinaryIO]:
    """A path opened for reading bytes, or the binary file that was given, which stays open."""
    if not isinstance(file, str | PathLike):
        yield file
        return
    reason = ""
    try:
        binary = Path(file).open("rb")  # noqa: SIM115 (closed below)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except ValueError:
        reason = "this is not a path"
    if reason:
        raise DeniableError("{what} cannot be opened: {reason}", what=what, reason=reason)
    with binary:
        yield binary


def pieces(read: Callable[[int], bytes], what: Message) -> Iterator[bytes]:
    while True:
        piece: object = None
        with suppress(Exception):  # a broken disk or ZIP: the text of the error may quote the file
            piece = read(PIECE)
        if not isinstance(piece, bytes):
            raise DeniableError(
                "{what} cannot be read to its end as bytes: it is damaged, or opened as text", what=what
            )
        if not piece:
            return
        yield piece


def in_utf8(source: Iterable[bytes]) -> Iterator[bytes]:
    """The same text in UTF-8, where a byte order mark says that it is in UTF-16, as spreadsheets write it."""
    pieces_left = iter(source)
    start = b""
    for piece in pieces_left:
        start += piece
        if len(start) >= len(codecs.BOM_UTF16):
            break
    decoder = next((make("surrogatepass") for mark, make in _UTF_16.items() if start.startswith(mark)), None)
    for piece in chain((start,), pieces_left):
        yield piece if decoder is None else decoder.decode(piece).encode(errors="surrogatepass")
    if decoder is not None and decoder.getstate()[0]:
        yield b"\xff"  # half a character is left, so that the last row cannot be read


def lines(source: Iterable[bytes]) -> Iterator[bytes]:
    """Each line without its end, of one that is too long only as much as shows that it is."""
    rest = b""
    for piece in source:
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
        rest = rest[: MAX_ROW + 1]
    yield rest


def empty_rows(what: Message) -> Callable[[], None]:
    """To be called for every row without a report in it; refuses what has too many, which only take time."""
    seen = 0

    def check() -> None:
        nonlocal seen
        seen += 1
        if seen > MAX_EMPTY:
            raise DeniableError(
                "{what} must have at most {max_empty} rows that are blank or too short for a report",
                what=what,
                max_empty=MAX_EMPTY,
            )

    return check


class Table:
    """The rows of a CSV file below its header, one line each. names: the header's cells; none where all lines are
    blank, which only `may_be_blank` allows. It has at most `most` lines, where that is said. kinds: of files that the
    person may choose.

    Cells stand between commas, semicolons or tabs: the header alone says which, and so no row decides about another.
    """

    def __init__(
        self,
        source: Iterable[bytes],
        what: Message,
        *,
        kinds: str | Listed = "CSV",
        may_be_blank: bool = False,
        most: int | None = None,
    ) -> None:
        self._what = what
        self._kinds = kinds
        self._most = most
        self._lines = enumerate(lines(in_utf8(source)), start=1)
        self._separator = ""
        number, header = next(self._rows(), (0, []))
        if isinstance(header, Message):
            raise self.refusal(number, header)
        if not header and not may_be_blank:
            raise DeniableError("{what} must name its columns in the first line, but is empty", what=what)
        self.names = header

    def _rows(self) -> Iterator[tuple[int, list[str] | Message]]:
        """The number and the cells of every line that is not blank, or why it cannot be read."""
        check_empty = empty_rows(self._what)
        for number, line in self._lines:
            if self._most is not None and number > self._most:
                raise DeniableError("{what} has far more lines than its size in the ZIP allows", what=self._what)
            if not self._separator and _NO_TEXT.search(line.partition(b"\r")[0]):
                raise DeniableError(
                    "this is not a {kinds} file; if it is a spreadsheet, save it as CSV and choose that file",
                    kinds=self._kinds,
                )
            cells = self._cells(line.removeprefix(codecs.BOM_UTF8) if number == 1 else line)
            if not cells or len(line) < SHORTEST:
                check_empty()
            if cells:
                yield number, cells

    def _cells(self, line: bytes) -> list[str] | Message:
        if not self._separator and line.strip():
            self._separator = max(_SEPARATORS, key=lambda one: line.count(one.encode()))
        return _cells(line, self._separator or ",")

    def refusal(self, line: int, why: Message) -> DeniableError:
        return DeniableError("{what}, line {line}: {why}", what=self._what, line=line, why=why)

    def columns(self, *wanted: str) -> Iterator[tuple[int, list[str] | Message]]:
        """The line number and the wanted cells of every row, in this order, or why it cannot be read; what else is in
        the row is dropped here.
        """
        if not self.names:
            return
        if any(self.names.count(name) != 1 for name in wanted):
            names = ", ".join(wanted)
            raise DeniableError(
                "{what} must name its columns in the first line, {names} among them, once each, "
                "between commas, semicolons or tabs; check that you chose the right file",
                what=self._what,
                names=names,
            )
        at = [self.names.index(name) for name in wanted]
        width = len(self.names)
        for number, cells in self._rows():
            if isinstance(cells, Message):
                yield number, cells
            elif len(cells) != width:
                got = len(cells)
                yield (
                    number,
                    why_not(
                        "the first line has {width} cells, and this line has {got}",
                        width=width,
                        got=got,
                    ),
                )
            else:
                yield number, [cells[i] for i in at]

    def records(self, *names: str) -> Iterator[Row]:
        """A report for each row. names: of its columns for the id, the channel and, if it is read, the class."""
        for number, cells in self.columns(*names):
            made = cells if isinstance(cells, Message) else record(names, *cells)
            yield in_place(line_of(number), made)


def is_name(cell: object) -> bool:
    """Whether this may be a channel's or a target's name: 1..200 printable characters, trimmed."""
    return isinstance(cell, str) and 0 < len(cell) <= 200 and cell.isprintable() and cell == cell.strip()


def record(names: tuple[str, ...], outside_id: object, channel: object, value: object = "") -> Record | Message:
    """The record of two or three cells, or why there is none, in terms of the columns' names."""
    missing = next((name for name, cell in zip(names, (outside_id, channel), strict=False) if cell == ""), None)
    if missing is not None:
        return why_not("the {column} is missing", column=missing)
    if not isinstance(outside_id, str) or not _PRINTABLE_ASCII.fullmatch(outside_id):
        return why_not(
            "the {column} must be 1 to 100 letters, digits or signs, without spaces and accents", column=names[0]
        )
    if not isinstance(channel, str) or not is_name(channel):
        return why_not("the {column} must be 1 to 200 printable characters", column=names[1])
    if not isinstance(value, str) or (value and not is_name(value)):
        return why_not("the {column} must be at most 200 printable characters", column=names[2])
    return Record(outside_id, channel, value)


def line_of(number: int) -> Message:
    return why_not("line {line}", line=str(number))


def in_place(place: Message, made: Record | Message) -> Row:
    return made if isinstance(made, Record) else Malformed(place, made)


def _cells(line: bytes, separator: str) -> list[str] | Message:
    """The cells of a line, trimmed, or why it cannot be read; none of a blank one."""
    if len(line) > MAX_ROW:
        return why_not("a row must have at most {most} bytes", most=f"{MAX_ROW:,}")
    decoded = cells = None
    with suppress(UnicodeDecodeError):
        decoded = line.decode()
    if decoded is None:
        return why_not(
            "a letter cannot be read; check that you chose the right file, and save it in the spreadsheet as Unicode "
            "text"
        )
    if not decoded.strip():
        return []
    with suppress(csv.Error):  # strict: otherwise a quote left open would pass for one that is closed
        cells = next(csv.reader([decoded], strict=True, delimiter=separator))
    if cells is None:
        return why_not("a quote or a line end is out of place")
    return [cell.strip() for cell in cells]
