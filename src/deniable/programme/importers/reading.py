"""What the importers share: a file read in bounded pieces, and refusals that quote nothing of it.

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

PIECE = 1 << 16
"""Bytes read at once."""

MAX_ROW = 1 << 17
"""The most characters of one row, line ends included. csv refuses cells of this length too."""

MAX_NUMBER = 2**63 - 1

File = str | PathLike[str] | BinaryIO

_T = TypeVar("_T")
_PRINTABLE_ASCII = re.compile(r"[!-~]{1,100}")
_WHOLE = re.compile(r"[0-9]{1,40}")


class Record(NamedTuple):
    """One report, and all that is read of it."""

    outside_id: str
    sequence: int
    channel: str

    def __repr__(self) -> str:
        return "Record(…)"


def quietly(step: Callable[[], _T], what: str) -> _T:
    """The result of `step`, whose refusal is raised anew: without the frames, and so the variables, of the parser."""
    try:
        return step()
    except DeniableError as error:
        refusal = str(error)
    except Exception as error:  # its text may quote the file
        refusal = f"{what} cannot be read ({type(error).__name__})"
    raise DeniableError(refusal)


@contextmanager
def opened(file: File, what: str) -> Iterator[BinaryIO]:
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
        raise DeniableError(f"{what} cannot be opened: {reason}")
    with binary:
        yield binary


def pieces(read: Callable[[int], bytes], what: str) -> Iterator[bytes]:
    while True:
        piece: object = None
        with suppress(Exception):  # a broken disk or ZIP: the text of the error may quote the file
            piece = read(PIECE)
        if not isinstance(piece, bytes):
            raise DeniableError(f"{what} cannot be read to its end as bytes: it is damaged, or opened as text")
        if not piece:
            return
        if b"\0" in piece:
            raise DeniableError(f"{what} must be text in UTF-8, but has NUL bytes")
        yield piece


def text(source: Iterable[bytes], what: str) -> Iterator[str]:
    """The pieces as text; UTF-8 with or without a byte order mark."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    for piece in chain(source, (b"",)):  # the empty piece ends the text
        decoded = None
        with suppress(UnicodeDecodeError):
            decoded = decoder.decode(piece, final=not piece)
        if decoded is None:
            raise DeniableError(f"{what} must be text in UTF-8")
        yield decoded


def _lines(source: Iterable[str]) -> Iterator[str]:
    rest = ""
    for piece in source:
        *whole, rest = (rest + piece).split("\n")
        for line in whole:
            yield line + "\n"
        if len(rest) > MAX_ROW:
            break
    if rest:
        yield rest  # if too long, refused as a row


class Table:
    """The rows of a CSV file below its header, one at a time.

    names: the header's cells, trimmed.
    several_lines: whether a quoted cell may go on over several lines. Where no cell can, a stray quote must not swallow
        the rows up to the next one.
    """

    def __init__(self, source: Iterable[bytes], what: str, several_lines: bool = False) -> None:
        self._what = what
        self._several_lines = several_lines
        self._taken = self._taken_lines = 0
        # strict: otherwise a quote left open would quietly swallow the rest of the file
        self._reader = csv.reader(self._bounded(_lines(text(source, what))), strict=True)
        header = self._next()
        if header is None:
            raise DeniableError(f"{what} must name its columns in the first line, but is empty")
        self.names = [cell.strip() for cell in header]

    def _bounded(self, lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            self._taken += len(line)
            self._taken_lines += 1
            if self._taken > MAX_ROW:
                raise self.refusal(f"a row must have at most {MAX_ROW} characters", self._reader.line_num + 1)
            yield line

    def _next(self) -> list[str] | None:
        """The next row that is not blank, or None at the end."""
        while True:
            self._taken = self._taken_lines = 0
            broken = False
            row = None
            try:
                row = next(self._reader, None)
            except csv.Error:
                broken = True
            if broken:
                raise self.refusal("a quote or a line end is out of place, or a cell is far too long")
            if row and self._taken_lines > 1 and not self._several_lines:
                raise self.refusal("a row must be one line; a quote is left open")
            if row is None or (row and row != [""]):
                return row

    def refusal(self, why: str, line: int | None = None) -> DeniableError:
        return DeniableError(f"{self._what}, line {self._reader.line_num if line is None else line}: {why}")

    def columns(self, *wanted: str) -> Iterator[list[str]]:
        """The wanted cells of every row, trimmed, in this order; what else is in the row is dropped here."""
        if any(self.names.count(name) != 1 for name in wanted):
            names = ", ".join(wanted)
            raise DeniableError(
                f"{self._what} must name its columns in the first line, {names} among them, once each, between commas"
            )
        at = [self.names.index(name) for name in wanted]
        width = len(self.names)
        while (row := self._next()) is not None:
            if len(row) != width:
                raise self.refusal(f"expected {width} cells as in the first line, got {len(row)}")
            yield [row[i].strip() for i in at]


def whole_number(cell: object) -> int | None:
    """The number, if the cell is a whole number in 1..MAX_NUMBER (JSON) or the digits of one (CSV)."""
    if isinstance(cell, str) and _WHOLE.fullmatch(cell):
        cell = int(cell)
    if isinstance(cell, int) and not isinstance(cell, bool) and 1 <= cell <= MAX_NUMBER:
        return cell
    return None


def is_name(cell: object) -> bool:
    """Whether this may be a channel's or a target's name: 1..200 printable characters, trimmed."""
    return isinstance(cell, str) and 0 < len(cell) <= 200 and cell.isprintable() and cell == cell.strip()


def record(names: tuple[str, str, str], outside_id: object, sequence: object, channel: object) -> Record | str:
    """The record of three cells, or why it is refused, in terms of the columns' names."""
    number = whole_number(sequence)
    if number is None:
        return f"{names[1]} must be a whole number in 1..{MAX_NUMBER}"
    if not isinstance(outside_id, str) or not _PRINTABLE_ASCII.fullmatch(outside_id):
        return f"{names[0]} must be 1 to 100 letters, digits or signs in ASCII, without spaces"
    if not isinstance(channel, str) or not is_name(channel):
        return f"{names[2]} must be 1 to 200 printable characters"
    return Record(outside_id, number, channel)
