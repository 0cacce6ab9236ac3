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
Other columns are refused, so that nothing else about a report is handed over.
"""

from collections.abc import Iterator

from deniable.errors import DeniableError
from deniable.programme.imports.reading import File, Record, Row, Table, opened, pieces
from deniable.wording import listed

WHAT = "the CSV file"


def records(file: File, class_column: str | None = None) -> Iterator[Row]:
    """The reports of the file, lazily, in its order."""
    names = ("id", "channel", *(() if class_column is None else (class_column,)))
    with opened(file, WHAT) as binary:
        table = Table(pieces(binary.read, WHAT), WHAT)
        if sorted(table.names) != sorted({*names}):
            raise DeniableError(
                f"{WHAT} must have the columns {listed(names)} and no others, named in its first line between commas, "
                "semicolons or tabs"
            )
        for row in table.records(*names):
            if isinstance(row, Record) and row.outside_id.isdigit():
                yield row._replace(outside_id=row.outside_id.lstrip("0") or "0")
            else:
                yield row
