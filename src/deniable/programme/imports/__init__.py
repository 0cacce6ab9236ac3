"""Hotline exports in, counts-to-be out: what each report's outside id, target and class are, and nothing else of it.

`read(kind, file, mapping)` takes an export of GlobaLeaks or of Hush Line or a plain CSV file, and the office's mapping
of channels to targets, and to classes where there are several; or else the class follows from a field of the export.
Whether a row is in the batch depends on that row and on the mappings, and on no other row: one that cannot be read, or
whose channel or class the mappings do not name, is set aside by itself. Only what is wrong with the file as a whole
refuses it, with one sentence (docs/explanation/hotline-exports.md).

Nothing that is said of a file quotes it, with one exception: channels and values of the class column that the mappings
do not name are listed where they look like names. Nothing is logged or written anywhere.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from deniable.errors import DeniableError
from deniable.message import Message, why_not
from deniable.programme.imports import csv, globaleaks, hushline
from deniable.programme.imports.channels import Mapping, read_mapping
from deniable.programme.imports.classes import ClassField
from deniable.programme.imports.reading import File, Malformed, Row, quietly
from deniable.programme.imports.which_rows_count import MAX_SHOWN, Batch, Distinct, SetAside

__all__ = ["EXPORTS", "Batch", "ClassField", "Malformed", "Mapping", "SetAside", "read", "read_mapping"]


@dataclass(frozen=True)
class Export:
    """What made a file."""

    label: Message
    records: Callable[[File, str | None], Iterator[Row]]
    """Of a file, with the class column that is read."""
    class_column: str | None = None
    """The one that is read where none is named."""


EXPORTS = {
    "csv": Export(why_not("a table of your own (CSV)"), csv.records),
    "globaleaks": Export(why_not("GlobaLeaks"), globaleaks.records, globaleaks.SCORE),
    "hushline": Export(why_not("Hush Line"), hushline.records),
}
"""By the names they have in commands and forms."""


def read(
    kind: str, file: File, mapping: Mapping, class_field: ClassField | None = None, *, most: int | None = None
) -> Batch:
    r"""What an export of this kind (a path, or a file opened in binary) holds, or one refusal.

    A report that the file has twice is in the batch twice; counting recognises it by its id. With `most`, what follows
    on so many reports is not read.

    >>> import io
    >>> mapping = read_mapping(io.BytesIO(b"channel,target\nnorth,Acme\nsouth,Bravo\n"), ["Acme", "Bravo"])
    >>> batch = read("csv", io.BytesIO(b"id,channel\n8,south\n7,north\n9,west\n10\n"), mapping)
    >>> list(batch)
    [('8', 'Bravo', None), ('7', 'Acme', None), ('9', None, None)]
    >>> batch.set_aside.channels
    ('west',)
    >>> [(str(place), str(why)) for place, why in batch.set_aside.malformed]
    [('line 5', 'the first line has 2 cells, and this line has 1')]
    """
    if kind not in EXPORTS:
        raise DeniableError(
            "the kind of an export must be one of {exports}, got {kind}", exports=", ".join(EXPORTS), kind=kind
        )
    column = None if class_field is None else class_field.column
    return quietly(lambda: _collected(islice(EXPORTS[kind].records(file, column), most), mapping, class_field), _EXPORT)


_EXPORT = why_not("the export")


def _collected(rows: Iterable[Row], mapping: Mapping, class_field: ClassField | None) -> Batch:
    channels = Distinct(mapping.target_of)
    values = Distinct(() if class_field is None else class_field.class_of)
    ids, lengths, channel_of, value_of = bytearray(), array("B"), array("i"), array("i")
    malformed: list[Malformed] = []
    n_malformed = 0
    for row in rows:
        if isinstance(row, Malformed):
            n_malformed += 1
            malformed += [row] if n_malformed <= MAX_SHOWN else []
            continue
        ids += row.outside_id.encode("ascii")
        lengths.append(len(row.outside_id))
        channel_of.append(channels.place(row.channel))
        value_of.append(values.place(row.value))
    found = (channels.names, values.names, bytes(ids), lengths, channel_of, value_of)
    return Batch(mapping, class_field, tuple(malformed), n_malformed, *found)
