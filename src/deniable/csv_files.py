"""CSV files that the office or a researcher wrote: rows of trimmed cells, errors that quote none of them, and texts
that no spreadsheet takes for formulas.

Exports of hotlines are read elsewhere (`programme/imports/reading.py`): there one bad row must not decide about others.
"""

import csv
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from os import PathLike
from pathlib import Path
from typing import TextIO

from deniable.errors import DeniableError

FilePath = str | PathLike[str]
_SPLITS = ";|\t\r\n"
"""Where spreadsheets may begin another cell. Those of many countries split lines at semicolons, and then know no quotes
but those at the beginning of a cell.
"""
_TO_A_SIGN = re.compile(r"""['"\s]*+([=+@＝＋－＠\-])|['"\s]++""")
"""What may stand before the sign of a formula, with the sign; or what stands before none, all of it at once: others
bring the text, and to look at a part of it again and again would take minutes.
"""
_BREAKS = re.compile(r"'*+[\t\r\n]")


def bad_line(path: FilePath, line: int, what: str) -> DeniableError:
    """What is wrong with a line, without what stands in it."""
    return DeniableError(f"{path}, line {line}: {what}")


@contextmanager
def reading(path: FilePath, *, or_stdin: bool = False) -> Iterator[TextIO]:
    """The file as text in UTF-8; where `or_stdin`, - is standard input."""
    try:
        with (
            nullcontext(sys.stdin)
            if or_stdin and str(path) == "-"
            else Path(path).open(encoding="utf-8-sig", newline="")
        ) as file:
            yield file
    except UnicodeDecodeError:
        raise DeniableError(f"{path} must be text in UTF-8") from None
    except OSError as error:
        raise DeniableError(f"cannot read {path}: {error.strerror}") from None


def rows(file: TextIO, path: FilePath) -> Iterator[tuple[int, list[str]]]:
    """Line number and trimmed cells of every line that is not blank."""
    # strict: otherwise one quote left open would quietly swallow the rest of the file
    reader = csv.reader(file, strict=True, skipinitialspace=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any("\0" in cell for cell in cells):
                raise bad_line(path, reader.line_num, "NUL bytes are not text")
            if cells and cells != [""]:
                yield reader.line_num, cells
    except csv.Error:
        raise bad_line(path, reader.line_num, "a quote is out of place or a cell is far too long") from None


def read_columns(
    path: FilePath, *names: str, among_others: bool = False, or_stdin: bool = False
) -> list[tuple[int, list[str]]]:
    """Line number and cells of every row below the header, for the columns of these names.

    The file has these columns alone, in this order, unless they may be `among_others`, which are left out.
    """
    with reading(path, or_stdin=or_stdin) as file:
        (_, header), *rest = [*rows(file, path)] or [(0, [])]
    if header != [*names] and not (among_others and all(header.count(name) == 1 for name in names)):
        raise DeniableError(f"{path} must have the columns {','.join(names)}, named in the first line")
    at = [header.index(name) for name in names]
    for line, cells in rest:
        if len(cells) != len(header):
            raise bad_line(path, line, f"expected {len(header)} cells as in the first line, got {len(cells)}")
    return [(line, [cells[i] for i in at]) for line, cells in rest]


def not_a_formula(text: str) -> str:
    """As a spreadsheet shows it and does not compute it: with an apostrophe before all that begins like a formula.

    >>> not_a_formula("=1+1"), not_a_formula("'=1+1"), not_a_formula("Ash Mill"), not_a_formula("'t Veld")
    ("'=1+1", "''=1+1", 'Ash Mill', "'t Veld")
    >>> not_a_formula("Ash;=1+1")
    "Ash;'=1+1"
    """
    return "'".join(_cut(text, _formulas(text)))


def as_it_was(cell: str) -> str:
    """The text before `not_a_formula`.

    >>> as_it_was("'=1+1"), as_it_was("''=1+1"), as_it_was("=1+1"), as_it_was("'t Veld"), as_it_was("Ash;'=1+1")
    ('=1+1', "'=1+1", '=1+1', "'t Veld", 'Ash;=1+1')
    """
    return "".join(_cut(cell, (at for at in _formulas(cell) if cell.startswith("'", at)), skip=1))


def _formulas(text: str) -> list[int]:
    """Where a formula may begin, in order."""
    found = {0} if _BREAKS.match(text) else set[int]()
    for run in _TO_A_SIGN.finditer(text):
        if run[1]:
            found |= {at for at in range(run.start(), run.end()) if at == 0 or text[at - 1] in _SPLITS}
    return sorted(found)


def _cut(text: str, places: Iterable[int], skip: int = 0) -> Iterator[str]:
    """The parts of a text before, between and after these places, without so many characters at each of them."""
    start = 0
    for at in places:
        yield text[start:at]
        start = at + skip
    yield text[start:]
