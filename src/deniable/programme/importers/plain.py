r"""Reports from any other hotline, as a CSV file that the office makes for this purpose.

UTF-8, commas, a first line that names the columns, one line a report. The columns, in any order and no others:

- `id`: what the hotline calls the report; never given to another. Without `sequence` it is a whole number from 1 that
  grows with every report.
- `sequence`: only where ids are not such numbers. A whole number from 1 that grows with every report and that no two
  reports share (a date will not do).
- `channel`: what the mapping gives a target.

>>> import io
>>> list(records(io.BytesIO(b"id,channel\n1,north\n2,south\n")))[1].channel
'south'

Lines may be in any order, and a report is recognised while its target's run goes on. The file must be complete: it
holds every report of the source that came in until it was made. Up to the source's high-water mark, which rises
whenever a target with imported reports is audited, nothing counts; so a report that a file leaves out may be lost.

Other columns are refused, so that nothing else about a report is handed over.
"""

from collections.abc import Iterator

from deniable.errors import DeniableError
from deniable.programme.importers.reading import File, Record, Table, opened, pieces, record, whole_number

WHAT = "the plain CSV"

_COLUMNS = ("id", "sequence", "channel")


def records(file: File) -> Iterator[Record]:
    """The reports of the file, lazily, in its order."""
    with opened(file, WHAT) as binary:
        table = Table(pieces(binary.read, WHAT), WHAT)
        numbered = sorted(table.names) == ["channel", "id"]
        if not numbered and sorted(table.names) != ["channel", "id", "sequence"]:
            raise DeniableError(
                f"{WHAT} must have the columns id and channel, or id, sequence and channel, "
                "and no others, named in the first line between commas"
            )
        for outside_id, sequence, channel in table.columns("id", "id" if numbered else "sequence", "channel"):
            if numbered and whole_number(outside_id) is None:
                raise table.refusal("id must be a whole number from 1; if it is not, add a column sequence")
            # 007 and 7 are one number
            made = record(_COLUMNS, outside_id.lstrip("0") if numbered else outside_id, sequence, channel)
            if isinstance(made, str):
                raise table.refusal(made)
            yield made
