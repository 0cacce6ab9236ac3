"""Reports from GlobaLeaks: the JSON of `/api/admin/auditlog/tips`, or the `reports.csv` of its audit log page.

The formats are those of GlobaLeaks's public sources, looked up in `backend/globaleaks/handlers/admin/auditlog.py`
(the fields), `backend/globaleaks/utils/json.py` (dates), `backend/globaleaks/models` (types) and, for the CSV, of the
client's `audit-log-tab3.component.ts` and `generateCSV` in `utils.service.ts`. Both have the fields id, progressive,
creation_date, last_update, expiration_date, context_id, status, substatus, tor, comments, files, receiver_count,
last_access; older releases lack receiver_count, and some have messages. Only `id` (a UUID), `progressive` and
`context_id` (the channel, a UUID) are kept.

Older clients join the cells with commas and quote nothing, newer ones quote a cell that needs it. No field can hold a
comma, a quote or a line end (identifiers, numbers, dates, true or false), so both read alike, and a row whose number of
cells is not the header's is refused by its line number, never repaired.

`progressive` counts the reports of a site from 1 and goes on growing when reports expire and disappear. (Very old
releases began anew every day, so two reports may share a number.) One operation breaks this: resetting the reports in
GlobaLeaks deletes them all and begins again from 1. After that the site is a new source.
"""

import codecs
import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

from deniable.errors import DeniableError
from deniable.programme.importers.reading import File, Record, Table, opened, pieces, record, text

WHAT = "the GlobaLeaks export"

MAX_ENTRY = 1 << 16
"""The most characters of one report's JSON; real ones have some 400."""

_FIELDS = ("id", "progressive", "context_id")
_SPACES = frozenset(" \t\r\n")
_MAY_FOLLOW = {"": "[", "[": "{]", "{": ",]", ",": "{", "]": ""}


def records(file: File) -> Iterator[Record]:
    """The reports of an export, lazily, in the file's order. JSON or CSV is told by the first character."""
    with opened(file, WHAT) as binary:
        source = pieces(binary.read, WHAT)
        first = next(source, b"")
        source = chain((first,), source)
        if first.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"[", b"{"):
            yield from _from_json(text(source, WHAT))
        else:
            yield from _from_csv(Table(source, WHAT))


def _from_csv(table: Table) -> Iterator[Record]:
    for cells in table.columns(*_FIELDS):
        made = record(_FIELDS, *cells)
        if isinstance(made, str):
            raise table.refusal(made)
        yield made


def _from_json(source: Iterator[str]) -> Iterator[Record]:
    for number, entry in enumerate(_entries(source), start=1):
        fields = dict(entry)
        if len(fields) < len(entry) or not fields.keys() >= {*_FIELDS}:
            raise DeniableError(f"{WHAT}, report {number}: expected the fields {', '.join(_FIELDS)}, none twice")
        made = record(_FIELDS, *(fields[name] for name in _FIELDS))
        if isinstance(made, str):
            raise DeniableError(f"{WHAT}, report {number}: {made}")
        yield made


def _entries(source: Iterator[str]) -> Iterator[list[tuple[str, Any]]]:
    """The objects of a JSON array of objects, each as its pairs; never more than one and a little in memory.

    The depth is bounded by Python's limit of recursion, the size by MAX_ENTRY.
    """
    decoder = json.JSONDecoder(object_pairs_hook=list)
    buffer, at, ended, previous, number = "", 0, False, "", 0
    while True:
        while buffer[at : at + 1] in _SPACES:
            at += 1
        if len(buffer) - at < MAX_ENTRY and not ended:
            piece = next(source, None)
            ended = piece is None
            buffer, at = buffer[at:] + (piece or ""), 0
            continue
        token = buffer[at : at + 1]
        if not token and previous == "]":
            return
        if not token or token not in _MAY_FOLLOW[previous]:
            raise DeniableError(f"{WHAT} must be a whole JSON list of objects: it goes wrong after report {number}")
        previous = token
        if token != "{":
            at += 1
            continue
        number += 1
        entry, end = None, at
        with suppress(ValueError, RecursionError):
            entry, end = decoder.raw_decode(buffer, at)
        if entry is None or end - at > MAX_ENTRY:
            raise DeniableError(f"{WHAT}, report {number}: this is not JSON, is cut off or is far too long")
        at = end
        yield entry
