"""Hotline exports in, counts-to-be out: what each report's outside id, target and class are, and nothing else of it.

`read(kind, file, mapping)` takes an export of GlobaLeaks or of Hush Line or a plain CSV file, and the office's mapping
of channels to targets, and to classes where there are several; or else the class follows from a field of the export.
Whether a row is in the batch depends on that row and on the mappings, and on no other row: one that cannot be read, or
whose channel or class the mappings do not name, is set aside by itself. Only what is wrong with the file as a whole
refuses it, with one sentence (docs/explanation/hotline-exports.md).

Nothing that is said of a file quotes it, with one exception: channels and values of the class column that the mappings
do not name are listed where they look like identifiers. Nothing is logged or written anywhere.
"""

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass

from deniable.errors import DeniableError
from deniable.programme.imports import csv, globaleaks, hushline
from deniable.programme.imports.channels import Mapping, read_mapping
from deniable.programme.imports.classes import ClassField
from deniable.programme.imports.reading import File, Malformed, Row, quietly
from deniable.wording import listed

__all__ = ["EXPORTS", "Batch", "ClassField", "Malformed", "Mapping", "SetAside", "read", "read_mapping"]

MAX_SHOWN = 20
"""The most channels, values and rows that are listed as set aside."""


@dataclass(frozen=True)
class Export:
    """What made a file."""

    label: str
    records: Callable[[File, str | None], Iterator[Row]]
    """Of a file, with the class column that is read."""
    class_column: str | None = None
    """The one that is read where none is named."""


EXPORTS = {
    "csv": Export("a table of your own (CSV)", csv.records),
    "globaleaks": Export("GlobaLeaks", globaleaks.records, globaleaks.SCORE),
    "hushline": Export("Hush Line", hushline.records),
}
"""By the names they have in commands and forms."""


_NONE, _NOT_NAMED = -1, -2
"""In place of a target's or a class's number: it is left out on purpose, or no mapping names it."""
_MOST_DISTINCT = 1000
"""The most channels, or values, that are told apart where no mapping names them."""
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class SetAside:
    """What in an export cannot count yet, and why. It is told to the person who brings the file, and not remembered."""

    channels: tuple[str, ...]
    """Channels that the mapping does not name and that look like identifiers; at most MAX_SHOWN."""
    more_channels: int
    """How many others it does not name."""
    malformed: tuple[Malformed, ...]
    """Rows that cannot be read; at most MAX_SHOWN."""
    more_malformed: int
    """How many others there are."""
    reports: int
    """How many reports were set aside. Confidential."""
    values: tuple[str, ...] = ()
    """What the class column has, for which there is no class, as with channels."""
    more_values: int = 0

    @property
    def unreadable(self) -> int:
        """How many reports cannot be read. Confidential."""
        return len(self.malformed) + self.more_malformed

    def in_words(self, *, counts: bool = True) -> tuple[str, ...]:
        """What was set aside and what to do, in a paragraph for each cause; none where all is well.

        In an import that does not count, every report that can be read becomes known, whatever its channel and class.
        """
        told = []
        if counts and (self.channels or self.more_channels):
            told.append(
                f"Set aside: the mapping does not name these channels: {_in_words(self.channels, self.more_channels)}. "
                "Give each of them a target, or an empty target to leave it out, and import the same export again. "
                "Until then the reports on them do not count."
            )
        if counts and (self.values or self.more_values):
            told.append(
                "Set aside: these values of the class column stand for no class: "
                f"{_in_words(self.values, self.more_values)}. Give each of them a class in the class mapping, or an "
                "empty class to leave it out, and import the same export again. Until then the reports with them do "
                "not count."
            )
        if self.malformed:
            rows = [f"{place} ({why})" for place, why in self.malformed]
            more = [f"{self.more_malformed:,} more"] if self.more_malformed else []
            until_then = "they do not count" if counts else "they are not noted, and could count later"
            told.append(
                f"Set aside: these reports cannot be read: {listed([*rows, *more])}. Export again or correct them, "
                f"and import again. Until then {until_then}."
            )
        return tuple(told)


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """The reports of one export, in the file's order.

    Iterating gives (outside id, target, class) for each that can be read; both are None where a mapping does not name
    one of them, and the class where there is only one. There may be any number of reports, so the ids are kept as one
    string of bytes and decoded one at a time: 6 bytes a report, and its id.
    """

    targets: tuple[str, ...]
    classes: tuple[str, ...]
    """Those that the mappings name; none where there is only one."""
    set_aside: SetAside
    left_out: int
    """How many reports are on channels, or have values, that the mappings leave out on purpose. Confidential."""
    _ids: bytes
    _lengths: "array[int]"
    """Of each report's id."""
    _codes: "array[int]"
    """Its target's place in `targets`, or _NONE where it does not count yet."""
    _places: "array[int]"
    """Its class's place in `classes`, or _NONE, also where there is only one."""

    @property
    def with_target(self) -> int:
        """How many reports have one, and a class. Confidential."""
        return len(self._codes) - self._codes.count(_NONE)

    def by_class(self) -> dict[str, int]:
        """How many reports of each class have a target. Confidential."""
        counts = Counter(self._places)
        return {name: counts[place] for place, name in enumerate(self.classes)}

    def __iter__(self) -> Iterator[tuple[str, str | None, str | None]]:
        start = 0
        for length, code, place in zip(self._lengths, self._codes, self._places, strict=True):
            target = None if code == _NONE else self.targets[code]
            name = None if place == _NONE else self.classes[place]
            yield self._ids[start : start + length].decode("ascii"), target, name
            start += length


def read(kind: str, file: File, mapping: Mapping, class_field: ClassField | None = None) -> Batch:
    r"""What an export of this kind (a path, or a file opened in binary) holds, or one refusal.

    A report that the file has twice is in the batch twice; counting recognises it by its id.

    >>> import io
    >>> mapping = read_mapping(io.BytesIO(b"channel,target\nnorth,Acme\nsouth,Bravo\n"), ["Acme", "Bravo"])
    >>> batch = read("csv", io.BytesIO(b"id,channel\n8,south\n7,north\n9,west\n10\n"), mapping)
    >>> list(batch)
    [('8', 'Bravo', None), ('7', 'Acme', None), ('9', None, None)]
    >>> batch.set_aside.channels
    ('west',)
    >>> batch.set_aside.malformed
    (Malformed(place='line 5', why='expected 2 cells as in the first line, got 1'),)
    """
    if kind not in EXPORTS:
        raise DeniableError(f"the kind of an export must be one of {', '.join(EXPORTS)}, got {kind}")
    column = None if class_field is None else class_field.column
    return quietly(lambda: _collected(EXPORTS[kind].records(file, column), mapping, class_field), "the export")


def _collected(rows: Iterable[Row], mapping: Mapping, class_field: ClassField | None) -> Batch:
    class_of = mapping.class_of if class_field is None else class_field.class_of
    targets, code_of = _numbered(mapping.target_of)
    classes, place_of = _numbered(class_of or {})
    ids, lengths, codes, places = bytearray(), array("B"), array("i"), array("b")
    channels, values = _Distinct(), _Distinct()
    malformed: list[Malformed] = []
    n_malformed = not_named = left_out = 0
    for row in rows:
        if isinstance(row, Malformed):
            n_malformed += 1
            malformed += [row] if n_malformed <= MAX_SHOWN else []
            continue
        code = code_of.get(row.channel, _NOT_NAMED)
        place = 0 if class_of is None else place_of.get(row.value if class_field else row.channel, _NOT_NAMED)
        if _NONE in (code, place):
            left_out += 1
        elif _NOT_NAMED in (code, place):
            not_named += 1
            if code == _NOT_NAMED:
                channels.add(row.channel)
            if place == _NOT_NAMED and class_field:
                values.add(row.value)
        counts = code >= 0 and place >= 0
        ids += row.outside_id.encode("ascii")
        lengths.append(len(row.outside_id))
        codes.append(code if counts else _NONE)
        places.append(place if counts and class_of is not None else _NONE)
    not_shown = n_malformed - len(malformed)
    set_aside = SetAside(*channels.shown(), tuple(malformed), not_shown, not_named + n_malformed, *values.shown())
    return Batch(targets, classes, set_aside, left_out, bytes(ids), lengths, codes, places)


def _numbered(names: AnyMapping[str, str | None]) -> tuple[tuple[str, ...], dict[str, int]]:
    """The targets, or classes, that a mapping gives, and the place among them of what each key stands for."""
    every = tuple(dict.fromkeys(name for name in names.values() if name is not None))
    place_of = {name: place for place, name in enumerate(every)}
    return every, {key: _NONE if name is None else place_of[name] for key, name in names.items()}


class _Distinct:
    """Names that no mapping has, told apart up to a limit."""

    def __init__(self) -> None:
        self._names = set[str]()

    def add(self, name: str) -> None:
        if len(self._names) < _MOST_DISTINCT:
            self._names.add(name)

    def shown(self) -> tuple[tuple[str, ...], int]:
        """Those that may be shown, at most MAX_SHOWN, and how many others there are."""
        shown = sorted(name or "(empty)" for name in self._names if not name or _IDENTIFIER.fullmatch(name))[:MAX_SHOWN]
        return tuple(shown), len(self._names) - len(shown)


def _in_words(shown: Sequence[str], more: int) -> str:
    least = "at least " if len(shown) + more == _MOST_DISTINCT else ""
    return listed([*shown, *([f"{least}{more:,} not shown here"] if more else [])])
