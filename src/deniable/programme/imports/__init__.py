"""Hotline exports in, counts-to-be out: what each report's outside id and target are, and nothing else of it.

`read(kind, file, mapping)` takes an export of GlobaLeaks or of Hush Line or a plain CSV file, and the office's mapping
of channels to targets. Whether a row is in the batch depends on that row and on the mapping, and on no other row: one
that cannot be read, or whose channel the mapping does not name, is set aside by itself. Only what is wrong with the
file as a whole refuses it, with one sentence (docs/explanation/hotline-exports.md).

Nothing that is said of a file quotes it, with one exception: channels that the mapping does not name are listed where
they look like identifiers. Nothing is logged or written anywhere.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from deniable.errors import DeniableError
from deniable.programme.imports import csv, globaleaks, hushline
from deniable.programme.imports.channels import Mapping, read_mapping
from deniable.programme.imports.reading import File, Malformed, Row, quietly

__all__ = ["EXPORTS", "Batch", "Malformed", "Mapping", "SetAside", "read", "read_mapping"]

MAX_SHOWN = 20
"""The most channels, and the most rows, that are listed as set aside."""


@dataclass(frozen=True)
class Export:
    """What made a file."""

    label: str
    records: Callable[[File], Iterator[Row]]


EXPORTS = {
    "csv": Export("a table of your own (CSV)", csv.records),
    "globaleaks": Export("GlobaLeaks", globaleaks.records),
    "hushline": Export("Hush Line", hushline.records),
}
"""By the names they have in commands and forms."""


_NO_TARGET = -1
_MOST_CHANNELS = 1000
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

    @property
    def unreadable(self) -> int:
        """How many reports cannot be read. Confidential."""
        return len(self.malformed) + self.more_malformed

    def in_words(self, *, counts: bool = True) -> tuple[str, ...]:
        """What was set aside and what to do, in a paragraph for each cause; none where all is well.

        In an import that does not count, every report that can be read becomes known, whatever its channel.
        """
        told = []
        if counts and (self.channels or self.more_channels):
            least = "at least " if len(self.channels) + self.more_channels == _MOST_CHANNELS else ""
            more = [f"{least}{self.more_channels:,} not shown here"] if self.more_channels else []
            told.append(
                f"Set aside: the mapping does not name these channels: {_listed([*self.channels, *more])}. Give each "
                "of them a target, or an empty target to leave it out, and import the same export again. Until then "
                "the reports on them do not count."
            )
        if self.malformed:
            rows = [f"{place} ({why})" for place, why in self.malformed]
            more = [f"{self.more_malformed:,} more"] if self.more_malformed else []
            until_then = "they do not count" if counts else "they are not noted, and could count later"
            told.append(
                f"Set aside: these reports cannot be read: {_listed([*rows, *more])}. Export again or correct them, "
                f"and import again. Until then {until_then}."
            )
        return tuple(told)


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """The reports of one export, in the file's order.

    Iterating gives (outside id, target) for each that can be read; target is None where the mapping names none. There
    may be any number of them, so the ids are kept as one string of bytes and decoded one at a time: 5 bytes a report,
    and its id.
    """

    targets: tuple[str, ...]
    set_aside: SetAside
    left_out: int
    """How many reports are on channels that the mapping leaves out on purpose. Confidential."""
    _ids: bytes
    _lengths: "array[int]"
    """Of each report's id."""
    _codes: "array[int]"
    """Its target's place in `targets`, or _NO_TARGET."""

    @property
    def with_target(self) -> int:
        """How many reports have one. Confidential."""
        return len(self._codes) - self._codes.count(_NO_TARGET)

    def __iter__(self) -> Iterator[tuple[str, str | None]]:
        start = 0
        for length, code in zip(self._lengths, self._codes, strict=True):
            target = None if code == _NO_TARGET else self.targets[code]
            yield self._ids[start : start + length].decode("ascii"), target
            start += length


def read(kind: str, file: File, mapping: Mapping) -> Batch:
    r"""What an export of this kind (a path, or a file opened in binary) holds, or one refusal.

    A report that the file has twice is in the batch twice; counting recognises it by its id.

    >>> import io
    >>> mapping = read_mapping(io.BytesIO(b"channel,target\nnorth,Acme\nsouth,Bravo\n"), ["Acme", "Bravo"])
    >>> batch = read("csv", io.BytesIO(b"id,channel\n8,south\n7,north\n9,west\n10\n"), mapping)
    >>> list(batch)
    [('8', 'Bravo'), ('7', 'Acme'), ('9', None)]
    >>> batch.set_aside.channels
    ('west',)
    >>> batch.set_aside.malformed
    (Malformed(place='line 5', why='expected 2 cells as in the first line, got 1'),)
    """
    if kind not in EXPORTS:
        raise DeniableError(f"the kind of an export must be one of {', '.join(EXPORTS)}, got {kind}")
    return quietly(lambda: _collected(EXPORTS[kind].records(file), mapping), "the export")


def _collected(rows: Iterable[Row], mapping: Mapping) -> Batch:
    targets = tuple(dict.fromkeys(target for target in mapping.target_of.values() if target is not None))
    code_of = {target: code for code, target in enumerate(targets)}
    ids, lengths, codes = bytearray(), array("B"), array("i")
    channels: set[str] = set()
    malformed: list[Malformed] = []
    n_malformed = not_named = left_out = 0
    for row in rows:
        if isinstance(row, Malformed):
            n_malformed += 1
            malformed += [row] if n_malformed <= MAX_SHOWN else []
            continue
        if row.channel not in mapping.target_of:
            not_named += 1
            if len(channels) < _MOST_CHANNELS:
                channels.add(row.channel)
        target = mapping.target_of.get(row.channel)
        left_out += target is None
        ids += row.outside_id.encode("ascii")
        lengths.append(len(row.outside_id))
        codes.append(_NO_TARGET if target is None else code_of[target])
    shown = sorted(channel for channel in channels if _IDENTIFIER.fullmatch(channel))[:MAX_SHOWN]
    set_aside = SetAside(
        channels=tuple(shown),
        more_channels=len(channels) - len(shown),
        malformed=tuple(malformed),
        more_malformed=n_malformed - len(malformed),
        reports=not_named + n_malformed,
    )
    return Batch(targets, set_aside, left_out - not_named, bytes(ids), lengths, codes)


def _listed(things: list[str]) -> str:
    return " and ".join(part for part in (", ".join(things[:-1]), things[-1]) if part)
