"""Hotline exports in, counts-to-be out: what each report's outside id, number and target are, and nothing else of it.

`read(kind, file, mapping)` takes an export of GlobaLeaks or of Hush Line or a plain CSV file, and the office's mapping
of channels to targets. It reads the whole file before it returns, and either returns every report or refuses the file
with one sentence. A refusal never quotes the file, with one exception: channels that the mapping does not know are
listed where they look like identifiers. Nothing is logged or written anywhere.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from deniable.errors import DeniableError
from deniable.programme.importers import globaleaks, hushline, plain
from deniable.programme.importers.mapping import Mapping, read_mapping
from deniable.programme.importers.reading import File, Record, quietly

__all__ = ["KINDS", "MAX_REPORTS", "Batch", "Mapping", "Record", "read", "read_mapping"]

MAX_REPORTS = 2_000_000
"""The most rows of one export; it is what bounds the memory (some 150 bytes a row)."""

MAX_SHOWN = 20
"""The most unknown channels that a refusal lists."""

_IMPORTERS: dict[str, Callable[[File], Iterator[Record]]] = {
    "globaleaks": globaleaks.records,
    "hushline": hushline.records,
    "plain": plain.records,
}

KINDS = tuple(_IMPORTERS)

_MOST_UNKNOWN = 1000
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NOT_COUNTED = -1


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """The reports of one export that have a target, each once, in the file's order.

    len(batch) is their number; iterating gives (outside id, number, target) for each. The ids are kept as one string
    of bytes and decoded one at a time.
    """

    targets: tuple[str, ...]
    _ids: bytes
    _starts: NDArray[np.int64]
    _ends: NDArray[np.int64]
    _sequences: NDArray[np.int64]
    _codes: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self._codes)

    def __iter__(self) -> Iterator[tuple[str, int, str]]:
        step = 4096
        for first in range(0, len(self), step):
            rows = slice(first, first + step)
            columns = (self._starts, self._ends, self._sequences, self._codes)
            for start, end, sequence, code in zip(*(column[rows].tolist() for column in columns), strict=True):
                yield self._ids[start:end].decode("ascii"), sequence, self.targets[code]


def read(kind: str, file: File, mapping: Mapping) -> Batch:
    r"""All reports of an export of this kind (a path, or a file opened in binary), or one refusal.

    A report that the file has twice is one report; if the two rows differ in number or target, the file is refused.

    >>> import io
    >>> mapping = read_mapping(io.BytesIO(b"channel,target\nnorth,Acme\nsouth,Bravo\n"), ["Acme", "Bravo"])
    >>> list(read("plain", io.BytesIO(b"id,channel\n8,south\n7,north\n8,south\n"), mapping))
    [('8', 8, 'Bravo'), ('7', 7, 'Acme')]
    >>> read("plain", io.BytesIO(b"id,channel\n9,west\n"), mapping)
    Traceback (most recent call last):
    deniable.errors.DeniableError: the mapping does not name these channels of the export: west;
    give each of them a target, or an empty target to ignore it
    """
    if kind not in _IMPORTERS:
        raise DeniableError(f"the kind of an export must be {', '.join(KINDS[:-1])} or {KINDS[-1]}, got {kind}")
    return quietly(lambda: _collected(_IMPORTERS[kind](file), mapping, one_a_number=kind == "plain"), "the export")


def _collected(records: Iterable[Record], mapping: Mapping, one_a_number: bool) -> Batch:
    """The batch of these records. one_a_number: refuse different reports with the same number."""
    targets = tuple(dict.fromkeys(target for target in mapping.target_of.values() if target is not None))
    number_of = {target: code for code, target in enumerate(targets)}
    code_of = {
        channel: _NOT_COUNTED if target is None else number_of[target] for channel, target in mapping.target_of.items()
    }
    unknown: set[str] = set()
    ids, digests = bytearray(), bytearray()
    ends, sequences, codes = array("q"), array("q"), array("i")
    for outside_id, sequence, channel in records:
        if len(ends) == MAX_REPORTS:
            raise DeniableError(f"an export must have at most {MAX_REPORTS} reports")
        code = code_of.get(channel, _NOT_COUNTED)
        if channel not in code_of and len(unknown) < _MOST_UNKNOWN:
            unknown.add(channel)
        written = outside_id.encode("ascii")
        ids += written
        digests += blake2b(written, digest_size=16).digest()
        ends.append(len(ids))
        sequences.append(sequence)
        codes.append(code)

    end, number, target = np.array(ends, np.int64), np.array(sequences, np.int64), np.array(codes, np.int32)
    start = np.concatenate([np.zeros(1, np.int64), end])[:-1]
    once = _first_rows(np.frombuffer(digests, np.uint64).reshape(-1, 2), number, target)
    if one_a_number and len(np.unique(number[once])) < np.count_nonzero(once):
        raise DeniableError("two reports must not have the same number, but some do in the export")
    # Last: were the columns mixed up, what comes before would most likely have refused them, and no id is shown.
    if unknown:
        raise DeniableError(_unknown(unknown))
    kept = once & (target != _NOT_COUNTED)
    of_kept = np.frombuffer(ids, np.uint8)[np.repeat(kept, end - start)]  # the batch may be held for a while
    lengths = (end - start)[kept]
    end = np.cumsum(lengths)
    return Batch(targets, of_kept.tobytes(), end - lengths, end, number[kept], target[kept])


def _first_rows(digests: NDArray[np.uint64], *columns: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Which rows are the first with their digest; rows with the same one must agree in all columns."""
    order = np.lexsort(digests.T)  # stable, so that the first of equals stays first
    ordered = digests[order]
    again = np.zeros(len(order), np.bool_)
    again[1:] = (ordered[1:] == ordered[:-1]).all(axis=1)
    repeated, before = order[again], order[np.flatnonzero(again) - 1]
    if any((column[repeated] != column[before]).any() for column in columns):
        raise DeniableError("a report that comes twice in the export must have the same number and target both times")
    first = np.ones(len(order), np.bool_)
    first[repeated] = False
    return first


def _unknown(channels: set[str]) -> str:
    shown = sorted(channel for channel in channels if _IDENTIFIER.fullmatch(channel))[:MAX_SHOWN]
    hidden = len(channels) - len(shown)
    listed = ", ".join(shown)
    if hidden:
        count = f"{hidden} or more" if len(channels) == _MOST_UNKNOWN else f"{hidden}"
        listed += f"{' and ' if shown else ''}{count} not shown here"
    return (
        f"the mapping does not name these channels of the export: {listed}; "
        "give each of them a target, or an empty target to ignore it"
    )
