"""Tables to take away as CSV files, for spreadsheets."""

import csv
import io
from collections.abc import Iterable, Sequence

from starlette.responses import Response

from deniable.csv_files import not_a_formula


def csv_response(name: str, columns: Iterable[str], rows: Iterable[Sequence[object]]) -> Response:
    """The file `name`, in UTF-8 with a mark by which spreadsheets know it. Never of anything that depends on counts."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(columns)
    writer.writerows([cell(value) for value in row] for row in rows)
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(out.getvalue().encode("utf-8-sig"), headers=disposition, media_type="text/csv; charset=utf-8")


def cell(value: object) -> str:
    """As a spreadsheet shows it and does not compute it.

    >>> cell("=1+1"), cell("Ash Mill"), cell(-3), cell(None)
    ("'=1+1", 'Ash Mill', '-3', '')
    """
    if value is None:
        return ""
    return not_a_formula(value) if isinstance(value, str) else str(value)
