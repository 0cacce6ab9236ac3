"""Report streams, lists of targets and public weights in files. Rounds are numbered from 1 there."""

import csv
import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Literal, NamedTuple, TextIO

import numpy as np

from deniable.classed_streams import ClassedStream
from deniable.csv_files import FilePath, bad_line, read_columns, reading, rows
from deniable.errors import MAX_REPORTS, DeniableError, cannot_write, check_whole
from deniable.report_classes import ONE_CLASS, ReportClass, check_classes
from deniable.streams import ReportStream, check_targets, day_number, shown_name
from deniable.wording import count

MAX_ROUNDS = 1_000_000
"""The most rounds a file may span; more is a slip of the pen (a round every minute for two years)."""

MAX_CELLS = 10**8
"""The most rounds x targets a file may span, so that a short file cannot ask for all the memory."""

_LONG = {"target", "reports"}
_UNITS = {"round", "date"}
_CLASS = "class"
_HEADINGS = {"name", "target", "targets"}
_WITH_CLASSES = "has the columns round (or date), target, class and reports"
_READ_AS_WIDE = (
    "; the first line names no column target or reports, so that every column was taken for a target: in a file with a "
    "row for each target, name the columns date (or round), target, reports"
)


_A_FILE_OF_REPORTS = (
    "; give a file of reports, with the columns date (or round), target, reports: a list of targets is given with "
    "--target-list"
)


def _unlisted(name: str) -> str:
    return f"the target{shown_name(name)} is not in the public list of targets"


class _Header(NamedTuple):
    width: int
    unit: str  # "round", "date", or "" for a wide file whose rows are simply the rounds
    unit_at: int
    targets: tuple[str, ...]  # of a wide file; empty for a long one
    target_at: int
    reports_at: int
    class_at: int | None = None

    def split(self, cells: list[str]) -> tuple[tuple[str, ...], list[str]]:
        """A row's targets and, for each, the cell with its count."""
        if self.targets:
            return self.targets, cells[self.width - len(self.targets) :]
        return (cells[self.target_at],), [cells[self.reports_at]]

    @property
    def keys(self) -> str:
        """What no two rows may have in common."""
        if self.targets:
            return self.unit
        return f"{self.unit} and target" if self.class_at is None else f"{self.unit}, target and class"


def _long_header(path: FilePath, line: int, names: list[str], classed: bool) -> _Header:
    unit = "date" if "date" in names else "round"
    expected = {unit, *_LONG, *([_CLASS] if classed else [])}
    if _CLASS in names and not classed:
        raise bad_line(path, line, "the column class needs every class and its weight, as in --class serious=3")
    rule = f"a long file {_WITH_CLASSES if classed else 'has the columns round (or date), target and reports'}"
    for name in sorted(expected):
        if name not in names:
            raise bad_line(path, line, f"the column {name} is missing: {rule}")
    for name in names:
        if name not in expected or names.count(name) > 1:
            raise bad_line(path, line, f"there is a column{shown_name(name)} too many: {rule}")
    at = names.index
    class_at = at(_CLASS) if classed else None
    return _Header(len(names), unit, at(unit), (), at("target"), at("reports"), class_at)


def _wide_header(path: FilePath, line: int, names: list[str], listed: tuple[str, ...] | None) -> _Header:
    unit = names[0].lower() if names[0].lower() in _UNITS else ""
    found = names[1:] if unit else names
    if not unit and listed is None and not any(map(shown_name, names)):
        raise bad_line(path, line, "the first line must name the columns (give the targets if these are names)")
    for name in found:
        if not name:
            raise bad_line(path, line, "every column must have a name")
        if name in _UNITS:
            raise bad_line(path, line, f"the column {name} must come first, and once")
        if listed is not None and name not in listed:
            raise bad_line(path, line, _unlisted(name) + _READ_AS_WIDE)
        if found.count(name) > 1:
            raise bad_line(path, line, f"the target{shown_name(name)} must have only one column")
    if not found:
        raise bad_line(path, line, "a wide file must have a column for each target")
    return _Header(len(names), unit, 0, tuple(found), 0, 0)


def _header(path: FilePath, line: int, names: list[str], listed: tuple[str, ...] | None, classed: bool) -> _Header:
    if len(names) == 1 and re.search(r"[;\t]", names[0]):
        raise bad_line(path, line, "cells must be separated by commas")
    lower = [name.lower() for name in names]
    in_capitals = set(lower) > _LONG and not (_LONG | _UNITS) & set(names)  # Date,Target,Reports
    if in_capitals and len(names) == 3 + (_CLASS in lower):
        names = lower
    if _LONG & set(names):
        return _long_header(path, line, names, classed)
    if classed:
        raise bad_line(path, line, f"a file with classes of reports {_WITH_CLASSES}")
    return _wide_header(path, line, names, listed)


def _whole(cell: str) -> int | None:
    """The number, if the cell is digits only."""
    digits = cell.lstrip("0") or cell[-1:]
    # 18 digits are above every limit here, and int() itself refuses thousands of them
    return int(digits[:18]) if digits.isascii() and digits.isdigit() else None


def _reports(path: FilePath, line: int, header: _Header, cell: str) -> int:
    reports = _whole(cell)
    if reports is None:
        how_read = _READ_AS_WIDE if header.targets else ""
        raise bad_line(path, line, f"a report count must be written in digits only{how_read}")
    if reports > MAX_REPORTS:
        raise bad_line(path, line, f"report counts must be at most {MAX_REPORTS} for each round and target")
    return reports


def _time(path: FilePath, line: int, header: _Header, cell: str, row: int) -> int:
    """The round's number from 1, or the day's number in the calendar."""
    if header.unit == "date":
        day = day_number(cell)
        if day is None:
            raise bad_line(path, line, "the date must be a calendar day written YYYY-MM-DD")
        return day
    time = _whole(cell) if header.unit else row
    if time is None or not 1 <= time <= MAX_ROUNDS:
        raise bad_line(path, line, f"the round must be a whole number in 1..{MAX_ROUNDS}")
    if header.targets and time != row:
        raise bad_line(path, line, "the rounds of a wide file must be 1, 2, 3, … in this order")
    return time


def period_days(period: str) -> int:
    match = re.fullmatch(r"([1-9][0-9]{0,4})([DW])", str(period).upper())
    if not match:
        raise DeniableError(f"period must be a number of days or weeks such as 1D, 7D or 2W, got {period}")
    return int(match[1]) * (7 if match[2] == "W" else 1)


def read_csv(
    path: FilePath,
    targets: Sequence[str] | None = None,
    period: str = "1D",
    rounds: int | None = None,
    start: str | None = None,
) -> ReportStream:
    """A report stream from a CSV file: UTF-8, commas, a first line that names the columns.

    Long form: the columns `round,target,reports` or `date,target,reports`, in any order; a row that is absent
    is zero. Wide form: a column for each target and a row for each round, with or without a first column
    `round` or `date`. Rounds are numbered from 1. Dates are YYYY-MM-DD; rounds are then consecutive periods
    (`period`: 1D, 7D, 2W, …), and the dates of one period add up.

    The guarantee covers what depends on reports through the audits alone. So the targets and the calendar must not
    depend on reports, and what is read off a file of reports does: a name, a first day or a last round that is there
    only because of a report tells that it was filed. That goes for both forms, since an export may leave out the
    columns and rows of a wide file that would be zero. Give all three.

    targets: the public list of targets, in the order of the result's columns. Listed targets without a report take
        part; a target that is not listed is refused. By default those in the file: sorted for the long form, in
        the header's order for the wide form.
    rounds: the number of rounds; by default up to the last one in the file.
    start: the first day of the first round, for a file with dates; earlier ones are refused. By default the first
        date in the file.
    """
    one_class = read_classed_csv(path, None, targets, period=period, rounds=rounds, start=start)
    return ReportStream(one_class.reports[0], one_class.targets, one_class.rounds)


def read_classed_csv(
    path: FilePath,
    classes: Sequence[ReportClass] | None,
    targets: Sequence[str] | None = None,
    *,
    period: str = "1D",
    rounds: int | None = None,
    start: str | None = None,
) -> ClassedStream:
    """As `read_csv`, with classes of reports: the long form then has a column `class` as well.

    Without classes there is no such column, and every report counts once.
    """
    every = ONE_CLASS if classes is None else check_classes(classes)
    listed = None if targets is None else check_targets(targets)
    days = period_days(period)
    n_rounds = None if rounds is None else check_whole("rounds", rounds, least=1)
    first = None if start is None else _start_day(start)
    with reading(path) as file:
        header, table = _read_table(file, path, listed, first, None if classes is None else every)
    dated = header.unit == "date"
    for name, given in (("period", days != 1), ("start", start is not None)):
        if given and not dated:
            raise DeniableError(f"{name} is for files with dates, but {path} has numbered rounds")
    if not table and (listed is None or n_rounds is None or (dated and first is None)):
        raise DeniableError(
            f"{path} must have at least one row below the names of the columns, "
            "unless the targets, the number of rounds and, for dates, the start are given"
        )
    if listed is None:
        listed = check_targets(header.targets or sorted({name for _, (name,), _ in table}))

    times = [time for time, *_ in table]
    if first is None:
        first = min(times) if dated else 1
    spanned = (max(times, default=first) - first) // days + 1
    n_rounds = n_rounds or spanned
    if n_rounds < spanned:
        late = f"the last row of {path} comes after {count(n_rounds, 'round')}"
        if dated:
            from_ = date.fromordinal(first)
            raise DeniableError(f"{late} of {period} from {from_}: give more rounds or a longer period")
        raise DeniableError(f"{late}: give more rounds")
    if n_rounds > MAX_ROUNDS:
        whose = f"the rounds in {path}" if n_rounds == spanned else "rounds"
        raise DeniableError(f"{whose} must be at most {MAX_ROUNDS}, got {n_rounds}")
    if n_rounds * len(listed) * len(every) > MAX_CELLS:
        times_classes = "" if classes is None else " times classes"
        raise DeniableError(f"{path} must span at most {MAX_CELLS} rounds times targets{times_classes}")
    if dated and first + (n_rounds - 1) * days > date.max.toordinal():
        raise DeniableError(f"the last of the rounds in {path} must start before the year 10000")

    column = {name: c for c, name in enumerate(listed)}
    counts = np.zeros((len(every), n_rounds, len(listed)), dtype=np.int64)
    for (time, names, layer), values in table.items():
        counts[layer, (time - first) // days, [column[name] for name in names]] += values
    starts = range(first, first + n_rounds * days, days)
    labels = tuple(date.fromordinal(day).isoformat() for day in starts) if dated else tuple(map(str, starts))
    return ClassedStream(counts, every, listed, labels)


def _start_day(start: str) -> int:
    day = day_number(start) if isinstance(start, str) else None
    if day is None:
        raise DeniableError(f"start must be a calendar day written YYYY-MM-DD, got {start}")
    return day


def _read_table(
    file: TextIO,
    path: FilePath,
    listed: tuple[str, ...] | None,
    first: int | None,
    classes: Sequence[ReportClass] | None,
) -> tuple[_Header, dict[tuple[int, tuple[str, ...], int], list[int]]]:
    """The header, and the counts of each row by its time (round, or day), its targets and the place of its class."""
    lines = rows(file, path)
    line, names = next(lines, (0, []))
    if not names:
        raise DeniableError(f"{path} must name its columns in the first line, but is empty")
    header = _header(path, line, names, listed, classes is not None)
    layers = {} if classes is None else {one.name: layer for layer, one in enumerate(classes)}
    known = None if listed is None else {*listed}
    table: dict[tuple[int, tuple[str, ...], int], list[int]] = {}
    for row, (line, cells) in enumerate(lines, start=1):
        if len(cells) != header.width:
            which = _A_FILE_OF_REPORTS if len(cells) == 1 else ""
            raise bad_line(path, line, f"expected {header.width} cells, got {len(cells)}{which}")
        targets, values = header.split(cells)
        # Counts first: where cells are misplaced, a count must not be taken for a name and shown.
        reports = [_reports(path, line, header, value) for value in values]
        time = _time(path, line, header, cells[header.unit_at], row)
        if header.unit == "date" and first is not None and time < first:
            raise bad_line(path, line, f"the date must not be before the start, {date.fromordinal(first)}")
        if not targets[0]:
            raise bad_line(path, line, "the target must not be empty")
        if known is not None and targets[0] not in known:
            raise bad_line(path, line, _unlisted(targets[0]))
        layer = 0 if header.class_at is None else layers.get(cells[header.class_at], -1)
        if layer < 0:
            unknown = shown_name(cells[header.class_at or 0])
            raise bad_line(path, line, f"the class{unknown} is not among those given, {', '.join(layers)}")
        if (time, targets, layer) in table:
            how_read = _READ_AS_WIDE if header.targets else ""
            raise bad_line(
                path, line, f"this {header.keys} must not come twice; add their counts into one row{how_read}"
            )
        table[time, targets, layer] = reports
    return header, table


def write_csv(stream: ReportStream, path: FilePath, form: Literal["long", "wide"] = "long") -> None:
    """Write a stream so that `read_csv(path, stream.targets, period)` gives it back exactly, calendar included.

    The long form has a row for each count above zero, and a 0 where a target or the first or last round would
    otherwise be absent. `period` is the distance of the labels when they are dates. The file is confidential.
    """
    if form not in ("long", "wide"):
        raise DeniableError(f"form must be long or wide, got {form}")
    unit = "date" if stream.is_dated else "round"
    if form == "wide":
        for name in stream.targets:
            if name in _LONG | _UNITS:
                raise DeniableError(f"a wide file cannot have a target named {name}: write the long form")
        header = [unit, *stream.targets]
        cells: Iterator[Sequence[object]] = (
            (label, *row) for label, row in zip(stream.rounds, stream.counts.tolist(), strict=True)
        )
    else:
        header = [unit, "target", "reports"]
        kept = stream.counts > 0
        kept[-1, ~kept.any(axis=0)] = True
        for end in (0, -1):
            kept[end, 0] |= not kept[end].any()
        cells = ((stream.rounds[t], stream.targets[c], stream.counts[t, c]) for t, c in np.argwhere(kept))
    try:
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(cells)
    except OSError as error:
        raise cannot_write(path, error) from None


def read_targets(path: FilePath) -> tuple[str, ...]:
    """The public list of targets from a UTF-8 file: one name a line, no header, blank lines and # lines skipped."""
    with reading(path) as file:
        lines = [line.strip() for line in file]
    names = [name for name in lines if name and not name.startswith("#")]
    if names and names[0].lower() in _HEADINGS:
        raise DeniableError(
            f"{path} must have one target a line and no header, but starts with {names[0]!r}: "
            "remove that line, or move it down if it is a target"
        )
    if not names:
        raise DeniableError(f"targets file {path} is empty: write one target a line into it")
    return check_targets(names)


def read_weights(path: FilePath, targets: Sequence[str]) -> tuple[float, ...]:
    """Public weights from a CSV file with the columns target,weight, in the order of the targets, one for each."""
    weights: dict[str, float] = {}
    for _, (target, weight) in read_columns(path, "target", "weight"):
        if target not in targets or target in weights:
            raise DeniableError(f"{path} must have one line for each target, with its name and its weight")
        try:
            weights[target] = float(weight)
        except ValueError:
            raise DeniableError(f"{path}: the weight of {target} must be a number such as 1.5") from None
    for target in targets:
        if target not in weights:
            raise DeniableError(f"{path} must have a weight for every target, but has none for {target}")
    return tuple(weights[target] for target in targets)
