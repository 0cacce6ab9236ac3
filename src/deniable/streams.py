"""Report streams: counts by round and target, their files, and what an audit does to them.

Rounds and targets are numbered from 0 in arrays and from 1 in files. Shapes: B runs, T rounds, C targets.
"""

import csv
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple, TextIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.arrays import BoolArray, FloatArray, IntArray
from deniable.errors import DeniableError, check_whole

MAX_REPORTS = 10**9
"""The largest count of one round and target. No real count comes near it, and with it every sum over up to
nine thousand million rounds fits in 64 bits, so that active counts cannot overflow."""

MAX_ROUNDS = 1_000_000
"""The most rounds a file may span; more is a slip of the pen (a round every minute for two years)."""

MAX_CELLS = 10**8
"""The most rounds x targets a file may span, so that a short file cannot ask for all the memory."""


# Counts


def _holds_bool(counts: object) -> bool:
    """NumPy turns [True, 2] into integers without a word, so the lists are searched before it does."""
    if isinstance(counts, list | tuple):
        return any(map(_holds_bool, counts))
    return isinstance(counts, bool | np.bool_)


def _all_whole(array: NDArray[np.generic]) -> bool:
    if array.dtype.kind == "O":
        return all(isinstance(cell, Integral) and not isinstance(cell, bool) for cell in array.flat)
    if array.dtype.kind == "f":
        return bool((np.isfinite(array) & (np.floor(array) == array)).all())
    return array.dtype.kind in "iu"


def check_counts(counts: ArrayLike, n_targets: int | None = None) -> IntArray:
    """A copy of report counts as int64, same shape; the last axis is targets.

    Counts are whole numbers in 0..MAX_REPORTS; floats with whole values are fine. No message holds a count.

    >>> check_counts([[2, 0, 1.0]], n_targets=3)
    array([[2, 0, 1]])
    >>> check_counts([2, 0, 1, 5], n_targets=3)
    Traceback (most recent call last):
    deniable.errors.DeniableError: a round has 3 counts, one for each target; got 4
    """
    try:
        array = np.asarray(counts)
    except (ValueError, TypeError, OverflowError):  # `from None`: NumPy's message may quote a count
        raise DeniableError("report counts must be whole numbers, as many in every round") from None
    if _holds_bool(counts) or not _all_whole(array):
        raise DeniableError("report counts must be whole numbers")
    if array.ndim == 0:
        raise DeniableError("report counts must be a row, one for each target, got a single number")
    if n_targets is not None and array.shape[-1] != n_targets:
        raise DeniableError(f"a round has {n_targets} counts, one for each target; got {array.shape[-1]}")
    if (array < 0).any():
        raise DeniableError("report counts must not be negative")
    if (array > MAX_REPORTS).any():
        raise DeniableError(f"report counts must be at most {MAX_REPORTS} for each round and target")
    return array.astype(np.int64)


def _check_index(name: str, index: object, size: int) -> int:
    if isinstance(index, int | np.integer) and not isinstance(index, bool):
        if 0 <= index < size:
            return int(index)
        index = int(index)
    raise DeniableError(f"{name} must be in 0..{size - 1}, got {index!r}: there are {size} {name}s")


def check_round(reports: ArrayLike | Mapping[int, int], n_targets: int) -> IntArray:
    """One round's report counts, shape (C,), from C counts or from a mapping {target: count}.

    Targets that a mapping leaves out have no report.

    >>> check_round({2: 5}, n_targets=4)
    array([0, 0, 5, 0])
    >>> check_round({7: 1}, n_targets=4)
    Traceback (most recent call last):
    deniable.errors.DeniableError: target must be in 0..3, got 7: there are 4 targets
    """
    if isinstance(reports, Mapping):
        where = [_check_index("target", target, n_targets) for target in reports]
        given = check_counts(list(reports.values()))
    else:
        where = list(range(n_targets))
        given = check_counts(reports, n_targets)
    if given.ndim != 1:
        raise DeniableError(f"a round has one count for each target, got an array with {given.ndim} axes")
    counts = np.zeros(n_targets, dtype=np.int64)
    counts[where] = given
    return counts


# Streams


def _shown(name: str) -> str:
    """The name, ready for a message; a bare number is left out, since a misplaced cell may be a count."""
    return "" if re.fullmatch(r"[-+.,\d\s]*", name) else f" {name!r}"


def _check_targets(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise DeniableError("targets must be a sequence of names")
    if len(names) < 2:
        raise DeniableError(f"a stream needs at least two targets, got {len(names)}: with one, every round audits it")
    for name in names:
        if not name or name != name.strip():
            raise DeniableError(f"target name{_shown(name)} must not be empty or start or end with a space")
        if any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in name):
            raise DeniableError(f"target name{_shown(name)} must be one line without control characters")
    for name, times in Counter(names).items():
        if times > 1:
            raise DeniableError(f"target name{_shown(name)} must not appear twice")
    return tuple(names)


def _day(text: str) -> int | None:
    """The day's number in the calendar, if the text is a date written YYYY-MM-DD."""
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):  # fromisoformat also takes 2024-W01-1
        return None
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError:
        return None


def _check_rounds(labels: Sequence[str], n_rounds: int) -> tuple[str, ...]:
    labels = tuple(labels)
    if len(labels) != n_rounds:
        raise DeniableError(f"a stream of {n_rounds} rounds needs as many round labels, got {len(labels)}")
    if labels != tuple(map(str, range(1, n_rounds + 1))):
        days = [day for label in labels if isinstance(label, str) and (day := _day(label))]
        steps = {later - earlier for earlier, later in pairwise(days)}
        if len(days) != n_rounds or len(steps) > 1 or min(steps, default=1) < 1:
            raise DeniableError("round labels must be 1, 2, 3, … or evenly spaced dates written YYYY-MM-DD")
    return labels


@dataclass(frozen=True, eq=False, repr=False)
class ReportStream:
    """Report counts of T rounds and C targets, with their names.

    counts: (T, C) int64, read-only; confidential, and therefore not in the repr.
    targets: C names, public.
    rounds: T labels, "1", "2", … or the first day of each round (YYYY-MM-DD).

    >>> ReportStream([[1, 0], [0, 2]], targets=("acme", "bravo"), rounds=("2024-01-01", "2024-01-08"))
    ReportStream(2 rounds, 2 targets)
    """

    counts: IntArray
    targets: tuple[str, ...]
    rounds: tuple[str, ...]

    def __post_init__(self) -> None:
        targets = _check_targets(self.targets)
        counts = check_counts(self.counts, len(targets))
        if counts.ndim != 2 or not len(counts):
            raise DeniableError(
                "a stream needs at least one round, and its counts two axes, rounds and targets; "
                f"got the shape {counts.shape}"
            )
        rounds = _check_rounds(self.rounds, len(counts))
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "targets", targets)
        object.__setattr__(self, "rounds", rounds)

    @property
    def n_rounds(self) -> int:
        return len(self.rounds)

    @property
    def n_targets(self) -> int:
        return len(self.targets)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReportStream):
            return NotImplemented
        names_agree = (self.targets, self.rounds) == (other.targets, other.rounds)
        return names_agree and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]  # as for the array inside

    def __repr__(self) -> str:
        return f"ReportStream({self.n_rounds} rounds, {self.n_targets} targets)"


# Files

FilePath = str | PathLike[str]

_LONG = {"target", "reports"}
_UNITS = {"round", "date"}


def _bad(path: FilePath, line: int, what: str) -> DeniableError:
    return DeniableError(f"{path}, line {line}: {what}")


def _unlisted(name: str) -> str:
    return f"the target{_shown(name)} is not in the public list of targets"


@contextmanager
def _reading(path: FilePath) -> Iterator[TextIO]:
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            yield file
    except UnicodeDecodeError:
        raise DeniableError(f"{path} must be text in UTF-8") from None
    except OSError as error:
        raise DeniableError(f"cannot read {path}: {error.strerror}") from None


def _rows(file: TextIO, path: FilePath) -> Iterator[tuple[int, list[str]]]:
    """Line number and trimmed cells of every line that is not blank."""
    # strict: otherwise one quote left open would quietly swallow the rest of the file
    reader = csv.reader(file, strict=True, skipinitialspace=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any("\0" in cell for cell in cells):
                raise _bad(path, reader.line_num, "NUL bytes are not text")
            if cells and cells != [""]:
                yield reader.line_num, cells
    except csv.Error:
        raise _bad(path, reader.line_num, "a quote is out of place or a cell is far too long") from None


class _Header(NamedTuple):
    width: int
    unit: str  # "round", "date", or "" for a wide file whose rows are simply the rounds
    unit_at: int
    targets: tuple[str, ...]  # of a wide file; empty for a long one
    target_at: int
    reports_at: int

    def split(self, cells: list[str]) -> tuple[tuple[str, ...], list[str]]:
        """A row's targets and, for each, the cell with its count."""
        if self.targets:
            return self.targets, cells[self.width - len(self.targets) :]
        return (cells[self.target_at],), [cells[self.reports_at]]


def _long_header(path: FilePath, line: int, names: list[str]) -> _Header:
    unit = "date" if "date" in names else "round"
    expected = {unit, *_LONG}
    rule = "a long file has the columns round (or date), target and reports"
    for name in sorted(expected):
        if name not in names:
            raise _bad(path, line, f"the column {name} is missing: {rule}")
    for name in names:
        if name not in expected or names.count(name) > 1:
            raise _bad(path, line, f"there is a column{_shown(name)} too many: {rule}")
    at = names.index
    return _Header(len(names), unit, at(unit), (), at("target"), at("reports"))


def _wide_header(path: FilePath, line: int, names: list[str], listed: tuple[str, ...] | None) -> _Header:
    unit = names[0].lower() if names[0].lower() in _UNITS else ""
    found = names[1:] if unit else names
    if not unit and listed is None and not any(map(_shown, names)):
        raise _bad(path, line, "the first line must name the columns (give the targets if these are names)")
    for name in found:
        if not name:
            raise _bad(path, line, "every column must have a name")
        if name in _UNITS:
            raise _bad(path, line, f"the column {name} must come first, and once")
        if listed is not None and name not in listed:
            raise _bad(path, line, _unlisted(name))
        if found.count(name) > 1:
            raise _bad(path, line, f"the target{_shown(name)} must have only one column")
    if not found:
        raise _bad(path, line, "a wide file must have a column for each target")
    return _Header(len(names), unit, 0, tuple(found), 0, 0)


def _header(path: FilePath, line: int, names: list[str], listed: tuple[str, ...] | None) -> _Header:
    if len(names) == 1 and re.search(r"[;\t]", names[0]):
        raise _bad(path, line, "cells must be separated by commas")
    lower = [name.lower() for name in names]
    if len(names) == 3 and set(lower) > _LONG and not (_LONG | _UNITS) & set(names):  # Date,Target,Reports
        names = lower
    if _LONG & set(names):
        return _long_header(path, line, names)
    return _wide_header(path, line, names, listed)


def _whole(cell: str) -> int | None:
    """The number, if the cell is digits only."""
    digits = cell.lstrip("0") or cell[-1:]
    # 18 digits are above every limit here, and int() itself refuses thousands of them
    return int(digits[:18]) if digits.isascii() and digits.isdigit() else None


def _reports(path: FilePath, line: int, cell: str) -> int:
    reports = _whole(cell)
    if reports is None:
        raise _bad(path, line, "a report count must be written in digits only")
    if reports > MAX_REPORTS:
        raise _bad(path, line, f"report counts must be at most {MAX_REPORTS} for each round and target")
    return reports


def _time(path: FilePath, line: int, header: _Header, cell: str, row: int) -> int:
    """The round's number from 1, or the day's number in the calendar."""
    if header.unit == "date":
        day = _day(cell)
        if day is None:
            raise _bad(path, line, "the date must be a calendar day written YYYY-MM-DD")
        return day
    time = _whole(cell) if header.unit else row
    if time is None or not 1 <= time <= MAX_ROUNDS:
        raise _bad(path, line, f"the round must be a whole number in 1..{MAX_ROUNDS}")
    if header.targets and time != row:
        raise _bad(path, line, "the rounds of a wide file must be 1, 2, 3, … in this order")
    return time


def _period_days(period: str) -> int:
    match = re.fullmatch(r"([1-9][0-9]{0,4})([DW])", str(period))
    if not match:
        raise DeniableError(f"period must be a number of days or weeks such as 1D, 7D or 2W, got {period}")
    return int(match[1]) * (7 if match[2] == "W" else 1)


def read_csv(
    path: FilePath, targets: Sequence[str] | None = None, period: str = "1D", rounds: int | None = None
) -> ReportStream:
    """A report stream from a CSV file: UTF-8, commas, a first line that names the columns.

    Long form: the columns `round,target,reports` or `date,target,reports`, in any order; a row that is absent
    is zero. Wide form: a column for each target and a row for each round, with or without a first column
    `round` or `date`. Rounds are numbered from 1. Dates are YYYY-MM-DD; rounds are then consecutive periods
    (`period`: 1D, 7D, 2W, …) from the first date in the file to the last, and the dates of one period add up.

    targets: the public list of targets, in the order of the result's columns. Give it. A list read off the
        reports is itself data: a name that appears only because somebody reported it tells that a report was
        filed, and the guarantee covers only a list that does not depend on reports. Listed targets without a
        report take part; a target that is not listed is refused. Without a list, the targets are those in
        the file: sorted for the long form, in the header's order for the wide form.
    rounds: the number of rounds, if the last ones had no report and the file does not show them. The calendar
        must not depend on reports either: a dated file needs a row for its first day, with 0 if need be.
    """
    listed = None if targets is None else _check_targets(targets)
    days = _period_days(period)
    n_rounds = None if rounds is None else check_whole("rounds", rounds, least=1)
    with _reading(path) as file:
        header, table = _read_table(file, path, listed)
    dated = header.unit == "date"
    if days != 1 and not dated:
        raise DeniableError(f"period is for files with dates, but {path} has numbered rounds")
    if listed is None:
        listed = _check_targets(header.targets or sorted({name for _, (name,) in table}))

    times = [time for time, _ in table]
    first = min(times) if dated else 1
    spanned = (max(times) - first) // days + 1
    n_rounds = n_rounds or spanned
    if n_rounds < spanned:
        raise DeniableError(f"rounds must cover every round in {path}, got {n_rounds}")
    if n_rounds > MAX_ROUNDS:
        raise DeniableError(f"{path} must span at most {MAX_ROUNDS} rounds")
    if n_rounds * len(listed) > MAX_CELLS:
        raise DeniableError(f"{path} must span at most {MAX_CELLS} rounds times targets")
    if dated and first + (n_rounds - 1) * days > date.max.toordinal():
        raise DeniableError(f"the last of the rounds in {path} must start before the year 10000")

    column = {name: c for c, name in enumerate(listed)}
    counts = np.zeros((n_rounds, len(listed)), dtype=np.int64)
    for (time, names), values in table.items():
        counts[(time - first) // days, [column[name] for name in names]] += values
    starts = range(first, first + n_rounds * days, days)
    labels = tuple(date.fromordinal(day).isoformat() for day in starts) if dated else tuple(map(str, starts))
    return ReportStream(counts, listed, labels)


def _read_table(
    file: TextIO, path: FilePath, listed: tuple[str, ...] | None
) -> tuple[_Header, dict[tuple[int, tuple[str, ...]], list[int]]]:
    """The header, and the counts of each row by its time (round, or day) and its targets."""
    rows = _rows(file, path)
    line, names = next(rows, (0, []))
    if not names:
        raise DeniableError(f"{path} must name its columns in the first line, but is empty")
    header = _header(path, line, names, listed)
    known = None if listed is None else {*listed}
    table: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    for row, (line, cells) in enumerate(rows, start=1):
        if len(cells) != header.width:
            raise _bad(path, line, f"expected {header.width} cells, got {len(cells)}")
        targets, values = header.split(cells)
        # Counts first: where cells are misplaced, a count must not be taken for a name and shown.
        reports = [_reports(path, line, value) for value in values]
        time = _time(path, line, header, cells[header.unit_at], row)
        if not targets[0]:
            raise _bad(path, line, "the target must not be empty")
        if known is not None and targets[0] not in known:
            raise _bad(path, line, _unlisted(targets[0]))
        if (time, targets) in table:
            what = header.unit if header.targets else f"{header.unit} and target"
            raise _bad(path, line, f"this {what} must not come twice")
        table[time, targets] = reports
    if not table:
        raise DeniableError(f"{path} must have at least one row below the names of the columns")
    return header, table


def write_csv(stream: ReportStream, path: FilePath, form: Literal["long", "wide"] = "long") -> None:
    """Write a stream so that `read_csv(path, stream.targets, period)` gives it back exactly.

    The long form has a row for each count above zero, and a 0 where a target or the first or last round would
    otherwise be absent. `period` is the distance of the labels when they are dates. The file is confidential.
    """
    if form not in ("long", "wide"):
        raise DeniableError(f"form must be long or wide, got {form}")
    unit = "round" if stream.rounds[0] == "1" else "date"
    if form == "wide":
        for name in stream.targets:
            if name in _LONG | _UNITS:
                raise DeniableError(f"a wide file cannot have a target named {name}: write the long form")
        header = [unit, *stream.targets]
        rows: Iterator[Sequence[object]] = (
            (label, *row) for label, row in zip(stream.rounds, stream.counts.tolist(), strict=True)
        )
    else:
        header = [unit, "target", "reports"]
        kept = stream.counts > 0
        kept[-1, ~kept.any(axis=0)] = True
        for end in (0, -1):
            kept[end, 0] |= not kept[end].any()
        rows = ((stream.rounds[t], stream.targets[c], stream.counts[t, c]) for t, c in np.argwhere(kept))
    try:
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)
    except OSError as error:
        raise DeniableError(f"cannot write {path}: {error.strerror}") from None


def read_targets(path: FilePath) -> tuple[str, ...]:
    """The public list of targets from a UTF-8 file: one name a line, blank lines and # lines skipped."""
    with _reading(path) as file:
        names = [line.strip() for line in file]
    return _check_targets([name for name in names if name and not name.startswith("#")])


# Active counts and adjacency


def _check_audits(audits: ArrayLike, n_targets: int) -> IntArray:
    try:
        array = np.asarray(audits)
    except ValueError:
        raise DeniableError("transcripts must be of the same number of rounds") from None
    if array.size and array.dtype.kind not in "iu":
        raise DeniableError("audits must be whole numbers, the targets counted from 0")
    outside = array[(array < 0) | (array >= n_targets)]
    if outside.size:
        raise DeniableError(f"an audit must be in 0..{n_targets - 1}, got {outside[0]}: there are {n_targets} targets")
    return array.astype(np.int64)


def active_counts(stream: ArrayLike, transcript: ArrayLike) -> IntArray:
    """Active counts n_{t,c} before the audit of each round, this round's reports included.

    stream: report counts (..., T, C); transcript: audited targets (..., T), from 0. The leading axes are runs
    and are broadcast: one stream serves many transcripts. Returns (..., T, C).

    >>> active_counts([[1, 0], [1, 1], [0, 1]], transcript=[0, 1, 0])
    array([[1, 0],
           [1, 1],
           [1, 1]])
    """
    counts = check_counts(stream)
    if counts.ndim < 2:
        raise DeniableError("a stream must have at least two axes, rounds and targets, got 1")
    n_rounds, n_targets = counts.shape[-2:]
    audits = _check_audits(transcript, n_targets)
    if audits.ndim == 0 or audits.shape[-1] != n_rounds:
        raise DeniableError(f"a transcript must have an audit for each of {n_rounds} rounds")
    try:
        runs = np.broadcast_shapes(counts.shape[:-2], audits.shape[:-1])
    except ValueError:
        raise DeniableError(
            f"streams and transcripts must be of as many runs, got {counts.shape[:-2]} and {audits.shape[:-1]}"
        ) from None
    audits = np.broadcast_to(audits, (*runs, n_rounds))
    active = np.empty((*runs, n_rounds, n_targets), dtype=np.int64)
    current = np.zeros((*runs, n_targets), dtype=np.int64)
    for t in range(n_rounds):
        current += counts[..., t, :]
        active[..., t, :] = current  # def:active-counts
        np.put_along_axis(current, audits[..., t, None], 0, axis=-1)
    return active


def differing_report(counts: ArrayLike, other: ArrayLike) -> tuple[int, int]:
    """Round and target, from 0, of the one report in which two (T, C) streams differ (`def:adjacency`).

    >>> differing_report([[1, 0], [0, 0]], [[1, 0], [0, 1]])
    (1, 1)
    """
    one, two = check_counts(counts), check_counts(other)
    if one.ndim != 2 or one.shape != two.shape:
        raise DeniableError(
            "streams are not adjacent: both must have the same rounds and targets, "
            f"got the shapes {one.shape} and {two.shape}"
        )
    difference = np.abs(one - two)
    total = difference.sum()
    if total == 0:
        raise DeniableError("streams are not adjacent: they are the same")
    if total > 1:
        raise DeniableError("streams are not adjacent: they differ in more than one report")
    at_round, target = np.argwhere(difference)[0]
    return int(at_round), int(target)


def is_adjacent(counts: ArrayLike, other: ArrayLike) -> bool:
    """Whether two (T, C) streams differ in exactly one report (`def:adjacency`)."""
    one, two = check_counts(counts), check_counts(other)
    return one.ndim == 2 and one.shape == two.shape and bool(np.abs(one - two).sum() == 1)


def add_report(counts: ArrayLike, at_round: int, target: int) -> IntArray:
    """The adjacent stream with one report more: counts (..., T, C), round and target from 0."""
    more = check_counts(counts)
    if more.ndim < 2:
        raise DeniableError("a stream must have at least two axes, rounds and targets, got 1")
    t = _check_index("round", at_round, more.shape[-2])
    c = _check_index("target", target, more.shape[-1])
    more[..., t, c] += 1
    return check_counts(more)


# Error and deficit of an audit


def _check_active(active: ArrayLike) -> IntArray:
    array = np.asarray(active)
    if array.dtype.kind not in "iu" or array.ndim == 0 or array.shape[-1] == 0:
        raise DeniableError("active counts must be whole numbers, one for each target along the last axis")
    return array.astype(np.int64, copy=False)


def _pair(active: ArrayLike, audit: ArrayLike) -> tuple[IntArray, IntArray]:
    """Largest and audited active count, both (..., 1)."""
    counts = _check_active(active)
    audits = _check_audits(audit, counts.shape[-1])
    if audits.shape != counts.shape[:-1]:
        raise DeniableError(
            f"there must be one audit for each row of active counts, got the shapes {audits.shape} and {counts.shape}"
        )
    return counts.max(axis=-1, keepdims=True), np.take_along_axis(counts, audits[..., None], axis=-1)


def leaders(active: ArrayLike) -> BoolArray:
    """Which targets have the largest active count, C_t^* of `def:error`: (..., C) to (..., C).

    >>> leaders([3, 1, 3])
    array([ True, False,  True])
    """
    counts = _check_active(active)
    return np.asarray(counts == counts.max(axis=-1, keepdims=True))


def misselected(active: ArrayLike, audit: ArrayLike) -> BoolArray:
    """Whether the audited target is not among the leaders (`def:error`): (..., C) and (...) to (...)."""
    largest, audited = _pair(active, audit)
    return (audited < largest)[..., 0]


def deficit(active: ArrayLike, audit: ArrayLike) -> IntArray:
    """Active-count deficit d_t, in reports: the largest active count minus the audited target's.

    Active counts (..., C) before the reset and audits (...) give (...).

    >>> int(deficit([3, 1, 0], 1))
    2
    """
    largest, audited = _pair(active, audit)
    return (largest - audited)[..., 0]


def normalized_deficit(active: ArrayLike, audit: ArrayLike) -> FloatArray:
    """Deficit over largest active count plus one, eta_t, in [0, 1): (..., C) and (...) to (...)."""
    largest, audited = _pair(active, audit)
    return ((largest - audited) / (largest + 1))[..., 0]


def resolved(active: ArrayLike, audit: ArrayLike) -> IntArray:
    """Reports the audit resolves, u_t: the audited target's active count, (..., C) and (...) to (...)."""
    return _pair(active, audit)[1][..., 0]
