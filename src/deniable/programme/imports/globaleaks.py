"""Reports from GlobaLeaks: the JSON of `/api/admin/auditlog/tips` or of `/api/recipient/rtips`, or the `reports.csv` of
its audit log page.

The formats are those of GlobaLeaks's public sources, looked up in `backend/globaleaks/handlers/admin/auditlog.py`
(the fields), `backend/globaleaks/utils/json.py` (dates), `backend/globaleaks/models` (types) and, for the CSV, of the
client's `audit-log-tab3.component.ts` and `generateCSV` in `utils.service.ts`. Both have the fields id, progressive,
creation_date, last_update, expiration_date, context_id, status, substatus, tor, comments, files, receiver_count,
last_access; older releases lack receiver_count, and some have messages. Only `id` (a UUID), `context_id` (the
channel, a UUID) and, where reports have classes, the one field that says so are kept.

The audit log has no score. The list that a recipient's page loads has one: id, context_id and score among other fields,
the answers to the questionnaire included (`get_receivertips` in `backend/globaleaks/handlers/recipient/__init__.py`).
The score is worked out of these answers in the browser of the person who files (`calculateScore` in the client's
`field-utilities.service.ts`) and stays as it is: 1 low, 2 medium, 3 high, 0 where there is no scoring.

Older clients join the cells with commas and quote nothing, newer ones quote a cell that needs it. No field can hold a
comma, a quote or a line end (identifiers, numbers, dates, true or false), so both read alike, and a row whose number of
cells is not the header's is set aside, never repaired. Where there is no report, the newest `generateCSV` downloads no
file at all and older ones a file without a header, so a file of nothing but line ends and a byte order mark is one
without reports. The JSON is an empty list then.

Of the JSON it is assumed that GlobaLeaks's serializer (Python's json) writes each report as one JSON value: its quotes
and brackets are in pairs. Reports are cut apart by these and by commas alone, and read afterwards one by one, so a
report that is too long, nested too deeply, not UTF-8 or without its fields is set aside by itself. Were brackets not in
pairs, it could not be said where the next report begins, and the file would be refused.
"""

import codecs
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from deniable.arrays import BoolArray
from deniable.errors import DeniableError
from deniable.message import Message, all_of, one_of, why_not
from deniable.programme.imports.reading import (
    MAX_ROW,
    File,
    Record,
    Row,
    Table,
    empty_rows,
    in_place,
    opened,
    pieces,
    record,
)

WHAT = why_not("the GlobaLeaks export")

SCORE = "score"
"""The field with GlobaLeaks's own score."""

_FIELDS = ("id", "context_id")
_SHORTEST = len('{"id":"1","context_id":"a"}')
_COMMA, _QUOTE, _BACKSLASH = b',"\\'
_AT_ONCE = 1 << 13
"""Bytes whose signs are looked at together, which takes some fifty times their memory."""
_DEEPER = np.zeros(256, np.int8)
_DEEPER[[*b"[{"]], _DEEPER[[*b"]}"]] = 1, -1


def records(file: File, class_column: str | None = None) -> Iterator[Row]:
    """The reports of an export, lazily, in the file's order. JSON or CSV is told by the first character."""
    names = (*_FIELDS, *(() if class_column is None else (class_column,)))
    with opened(file, WHAT) as binary:
        source = pieces(binary.read, WHAT)
        first = next(source, b"")
        begins = first.removeprefix(codecs.BOM_UTF8).lstrip()
        if begins.startswith(b"["):
            check_empty = empty_rows(WHAT)
            for number, element in enumerate(_elements(chain((begins[1:],), source)), start=1):
                if len(element) < _SHORTEST:
                    check_empty()
                yield in_place(why_not("report {report}", report=str(number)), _record(element, names))
        elif begins.startswith(b"{"):
            raise DeniableError(
                "{what} must be a JSON list of reports, or CSV; check that you chose the right file", what=WHAT
            )
        else:
            table = Table(chain((first,), source), WHAT, kinds=one_of(("CSV", "JSON")), may_be_blank=True)
            if class_column == SCORE and table.names and SCORE not in table.names:
                raise DeniableError(
                    "{what} as CSV has no score: use the JSON of /api/recipient/rtips, which has "
                    "one, or give the mapping a column class",
                    what=WHAT,
                )
            yield from table.records(*names)


def _record(element: bytes, names: tuple[str, ...]) -> Record | Message:
    if len(element) > MAX_ROW:
        return why_not("a report must have at most {most} bytes", most=f"{MAX_ROW:,}")
    fields: object = None
    with suppress(ValueError, RecursionError):
        fields = json.loads(element.decode())
    if not isinstance(fields, dict) or not fields.keys() >= {*names}:
        return why_not("it is no report with {names}; is this GlobaLeaks’s list of reports?", names=all_of(names))
    outside_id, channel, *value = (fields[name] for name in names)
    return record(names, outside_id, channel, *map(_as_text, value))


def _as_text(value: object) -> object:
    """A number, a truth value or nothing as a table would have it; anything else as it is."""
    if value is None or isinstance(value, bool):
        return {None: "", True: "true", False: "false"}[value]
    return str(value) if isinstance(value, int) else value


def _elements(source: Iterable[bytes]) -> Iterator[bytes]:
    """The elements of a JSON list as they stand in the file, of one that is too long only as much as shows that it is.
    The source begins after the bracket that opens the list.
    """
    element, number, signs = b"", 0, _Signs()
    left = (piece[at : at + _AT_ONCE] for piece in source for at in range(0, len(piece), _AT_ONCE))
    for piece in left:
        start = 0
        for at, is_last in signs.ends(piece):
            element += piece[start:at]
            if not is_last or number or element.strip():  # an empty list has no elements
                yield element
            element, number, start = b"", number + 1, at + 1
            if is_last:
                if any(more.strip() for more in chain((piece[start:],), left)):
                    raise DeniableError("{what} must be one JSON list, but goes on after it", what=WHAT)
                return
        element = (element + piece[start:]).lstrip()[: MAX_ROW + 1]
    raise DeniableError("{what} must be a whole JSON list, but is cut off; export it again", what=WHAT)


class _Signs:
    """The signs of a JSON list, piece by piece, in arrays: a crafted file has as many signs as bytes."""

    def __init__(self) -> None:
        self._depth, self._in_string, self._is_escaped = 1, False, False

    def ends(self, piece: bytes) -> list[tuple[int, bool]]:
        """Where elements of the list end, and whether the list does."""
        signs = np.frombuffer(piece, np.uint8)
        quotes = (signs == _QUOTE) & ~self._escaped(signs)
        in_string = np.logical_xor.accumulate(np.append(self._in_string, quotes))[1:]
        deeper = np.where(in_string, 0, _DEEPER[signs])
        depth = self._depth + np.cumsum(deeper)
        ends_list = (deeper < 0) & (depth == 0)
        ends = np.flatnonzero(ends_list | (~in_string & (signs == _COMMA) & (depth == 1)))
        self._depth, self._in_string = int(depth[-1]), bool(in_string[-1])
        return list(zip(ends.tolist(), ends_list[ends].tolist(), strict=True))

    def _escaped(self, signs: NDArray[np.uint8]) -> BoolArray:
        """Before which of them an odd number of backslashes stands."""
        places = np.arange(len(signs) + 1)
        others = np.append(not self._is_escaped, signs != _BACKSLASH)
        run = places - np.maximum.accumulate(np.where(others, places, -1))
        self._is_escaped = bool(run[-1] % 2)
        return np.asarray(run[:-1] % 2 == 1)
