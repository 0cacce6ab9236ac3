r"""Reports from any other hotline, as a CSV file that the office makes for this purpose.

UTF-8, or UTF-16 with a byte order mark; commas, semicolons or tabs; a first line that names the columns, one line a
report. The columns, in any order and no others:

- `id`: what the hotline calls the report; never given to another. 1 to 100 letters, digits or signs in ASCII, without
  spaces. Zeros in front of a number do not count: spreadsheets drop them.
- `channel`: what the mapping gives a target.
- where reports have classes and this is read of them, one column more, of any name.

>>> import io
>>> list(records(io.BytesIO(b"id,channel\n1,north\nA-7,south\n")))[1].channel
'south'

Lines may be in any order, and a file may hold all reports or a part of them: each report is recognised by its id.
Other columns are refused, so that nothing else about a report is handed over. The refusal names them where `id` and
`channel` show that the first line has the columns' names, and no report is in it.
"""

import codecs
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from deniable.errors import DeniableError
from deniable.message import all_of, why_not
from deniable.programme.imports.reading import File, Record, Row, Table, opened, pieces
from deniable.programme.imports.which_rows_count import MAX_SHOWN

WHAT = why_not("the CSV file")

_NAME = re.compile(r"(?=.{1,64}$)[^\W\d]+([ -][^\W\d]+){0,2}")
"""Of a column: words without digits, which the ids of reports have."""

_NO_NAME = re.compile(r"[\d\W]*\d[\d\W]*|[\da-fA-F-]{32,}")
"""Of a column: a number, a date or a long id."""


class OtherColumnsError(DeniableError):
    """A refusal of columns that are not expected."""

    def __init__(self, expected: tuple[str, ...], others: tuple[str, ...]) -> None:
        """Of the others, at most MAX_SHOWN are named."""
        super().__init__(
            "{what} must have the columns {names} and no others, but has {others} as well: delete these, or name the "
            "one that says the class as the class column",
            what=WHAT,
            names=all_of(expected),
            others=all_of(others),
        )
        self.args = expected, others  # with which it can be made anew
        self.expected = expected
        self.others = others


def records(file: File, class_column: str | None = None) -> Iterator[Row]:
    """The reports of the file, lazily, in its order."""
    names = ("id", "channel", *(() if class_column is None else (class_column,)))
    with opened(file, WHAT) as binary:
        source = pieces(binary.read, WHAT)
        first = next(source, b"")
        if first.removeprefix(codecs.BOM_UTF8).lstrip().startswith((b"[", b"{")):
            raise DeniableError(
                "this is not a CSV file, but looks like JSON; if it comes from GlobaLeaks, choose that it comes from "
                "there"
            )
        table = Table(chain((first,), source), WHAT)
        if sorted(table.names) != sorted({*names}):
            others = _others(table.names, names)
            if others:
                raise OtherColumnsError(names, others)
            if not {*names} & {*table.names} and any(map(_NO_NAME.fullmatch, table.names)):
                raise DeniableError(
                    "the first line has no column names: {what} must have the columns {names} and no others, named in "
                    "its first line between commas, semicolons or tabs",
                    what=WHAT,
                    names=all_of(names),
                )
            raise DeniableError(
                "{what} must have the columns {names} and no others, named in its first line "
                "between commas, semicolons or tabs",
                what=WHAT,
                names=all_of(names),
            )
        for row in table.records(*names):
            if isinstance(row, Record) and row.outside_id.isdigit():
                yield row._replace(outside_id=row.outside_id.lstrip("0") or "0")
            else:
                yield row


def _others(found: Sequence[str], expected: Collection[str]) -> tuple[str, ...]:
    """The columns that are not expected; none where the first line may be a report, or end in one."""
    others = [name for name in found if name not in expected]
    is_header = all(found.count(name) == 1 for name in ("id", "channel"))
    return tuple(others[:MAX_SHOWN]) if is_header and all(map(_NAME.fullmatch, others)) else ()
