r"""Reports from any other hotline, as a CSV file that the office makes for this purpose.

UTF-8, commas, a first line that names the columns, one line a report. The columns, in either order and no others:

- `id`: what the hotline calls the report; never given to another. 1 to 100 letters, digits or signs in ASCII, without
  spaces. Zeros in front of a number do not count: spreadsheets drop them.
- `channel`: what the mapping gives a target.

>>> import io
>>> list(records(io.BytesIO(b"id,channel\n1,north\nA-7,south\n")))[1].channel
'south'

Lines may be in any order, and a file may hold all reports or a part of them: each report is recognised by its id.
Other columns are refused, so that nothing else about a report is handed over.
"""

from collections.abc import Iterator

from deniable.errors import DeniableError
from deniable.programme.imports.reading import File, Record, Row, Table, opened, pieces

WHAT = "the plain CSV"


def records(file: File) -> Iterator[Row]:
    """The reports of the file, lazily, in its order."""
    with opened(file, WHAT) as binary:
        table = Table(pieces(binary.read, WHAT), WHAT)
        if sorted(table.names) != ["channel", "id"]:
            raise DeniableError(
                f"{WHAT} must have the columns id and channel and no others, named in the first line between commas"
            )
        for row in table.records("id", "channel"):
            is_number = isinstance(row, Record) and row.outside_id.isdigit()
            yield Record(row[0].lstrip("0") or "0", row[1]) if is_number else row
