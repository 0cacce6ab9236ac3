"""A recorded stream made ready for an evaluation: its days as rounds, and what became of its reports."""

from collections.abc import Sequence
from datetime import date

import numpy as np

from deniable.arrays import FloatArray
from deniable.csv_files import FilePath, bad_line, read_columns
from deniable.errors import DeniableError
from deniable.report_files import period_days
from deniable.simulation.synthetic_streams import check_size
from deniable.streams import ReportStream, check_targets, day_number, shown_name


def window(
    stream: ReportStream,
    first: str | None = None,
    last: str | None = None,
    period: str = "1D",
    *,
    keep_targets: bool = False,
) -> ReportStream:
    """A stream of daily rounds from the day `first` to the day `last`, both included, as rounds of `period`.

    Days that the stream does not reach have no reports. Without `keep_targets`, only targets with a report in the
    window take part; they do so from its first round on, even where their first report comes late.

    >>> daily = ReportStream([[1, 0, 0], [0, 2, 0]], ("acme", "bravo", "charlie"), ("2024-01-01", "2024-01-02"))
    >>> weekly = window(daily, last="2024-01-14", period="1W")
    >>> weekly.targets, weekly.rounds, weekly.counts.tolist()
    (('acme', 'bravo'), ('2024-01-01', '2024-01-08'), [[1, 2], [0, 0]])
    """
    length = period_days(period)
    begins = _day(stream.rounds[0])
    days = stream.counts
    start = begins if first is None else _day(first)
    stop = begins + len(days) if last is None else _day(last) + 1
    if stop <= start:
        raise DeniableError(
            f"the first day must not be after the last, got {date.fromordinal(start)}"
            f"{'' if first else ' (the first in the file)'} and {date.fromordinal(stop - 1)}"
            f"{'' if last else ' (the last in the file)'}"
        )
    check_size(stream.n_targets, -(-(stop - start) // length))
    inside = days[max(0, start - begins) : max(0, stop - begins)]
    kept = np.arange(stream.n_targets) if keep_targets else np.flatnonzero(inside.any(axis=0))
    if len(kept) < 2:
        raise DeniableError(
            f"at least two targets must have reports from {date.fromordinal(start)} to {date.fromordinal(stop - 1)}"
        )
    counts = np.zeros((-(-(stop - start) // length), len(kept)), dtype=np.int64)
    at = (max(start, begins) - start + np.arange(len(inside))) // length
    np.add.at(counts, at, inside[:, kept])
    labels = tuple(date.fromordinal(day).isoformat() for day in range(start, stop, length))
    return ReportStream(counts, tuple(stream.targets[c] for c in kept), labels)


def without_days(stream: ReportStream, days: Sequence[str]) -> ReportStream:
    """The same stream of daily rounds, with no reports on these days; they stay rounds."""
    counts = stream.counts.copy()
    begins = _day(stream.rounds[0])
    for day in days:
        at = _day(day) - begins
        if not 0 <= at < len(counts):
            raise DeniableError(f"a day to leave out must be one of the stream's, got {day}")
        counts[at] = 0
    return ReportStream(counts, stream.targets, stream.rounds)


def _day(text: str) -> int:
    day = day_number(text)
    if day is None:
        raise DeniableError(f"a day must be written YYYY-MM-DD, got {text}")
    return day


def read_outcomes(path: FilePath, targets: Sequence[str]) -> FloatArray:
    """(C,): each target's share of substantiated reports, assessed_gt0 / reports, from a CSV file with the columns
    target, reports and assessed_gt0. Other columns and other targets are skipped.

    It is a noisy ground truth: the share of a target's reports of all times, where its other reports may be true too.
    """
    rows = read_columns(path, "target", "reports", "assessed_gt0", among_others=True)
    shares = {target: _share(path, line, reports, assessed) for line, (target, reports, assessed) in rows}
    for name in check_targets(targets):
        if name not in shares:
            raise DeniableError(f"{path} must have a row for the target{shown_name(name)}")
    return np.array([shares[name] for name in targets])


def _share(path: FilePath, line: int, reports: str, assessed: str) -> float:
    if not all(cell.isascii() and cell.isdigit() and len(cell) < 10 for cell in (reports, assessed)):
        raise bad_line(path, line, "reports and assessed_gt0 must be whole numbers, in digits only")
    if int(assessed) > int(reports):
        raise bad_line(path, line, "assessed_gt0 must be at most reports")
    return int(assessed) / int(reports) if int(reports) else 0.0
