"""Reports by class: what they add to the counts of a draw, and which visits they lead to.

Classes are the first axis of an array of reports: (K, ..., C). Every step is stable: one report more of a class of
weight w adds between 0 and w to the count of its own target and round, and changes nothing else
(docs/explanation/classes.md); one report more of a class that leads to a visit changes no count
(docs/explanation/emergencies.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.arrays import BoolArray, IntArray
from deniable.errors import MAX_REPORTS, check_whole
from deniable.report_classes import ReportClass
from deniable.streams import ReportStream, check_counts


def counted(reports: IntArray, classes: Sequence[ReportClass], most_counted: int | None = None) -> IntArray:
    """(K, ..., C) reports -> (..., C) counts: sum over the classes of weight * min(reports, most_counted).

    Sums are held at the largest count there is, so that no flood is refused.

    >>> minor, serious, danger = ReportClass("minor", 1), ReportClass("serious", 3), ReportClass("danger", None)
    >>> counted(np.array([[700, 1], [0, 1], [1, 0]]), (minor, serious, danger), most_counted=5)
    array([5, 4])
    """
    most = MAX_REPORTS if most_counted is None else check_whole("most_counted", most_counted, least=1)
    weights = np.array([one.weight or 0 for one in classes], dtype=np.int64)
    return np.asarray(np.minimum(np.tensordot(weights, np.minimum(reports, most), axes=1), MAX_REPORTS))


def visited(reports: IntArray, classes: Sequence[ReportClass]) -> BoolArray:
    """(K, ..., C) reports -> (..., C): the targets of a report that leads to a visit.

    >>> visited(np.array([[700, 1], [1, 0]]), (ReportClass("minor", 1), ReportClass("danger", None)))
    array([ True, False])
    """
    return np.asarray((reports[[one.leads_to_visit for one in classes]] > 0).any(axis=0))


@dataclass(frozen=True, eq=False, repr=False)
class ClassedStream:
    """Reports of T rounds and C targets, told apart by K classes; confidential.

    reports: (K, T, C), one layer for each of `classes`.
    targets, rounds: as in `ReportStream`.
    """

    reports: IntArray
    classes: tuple[ReportClass, ...]
    targets: tuple[str, ...]
    rounds: tuple[str, ...]

    def __post_init__(self) -> None:
        reports = check_counts(self.reports, len(self.targets))
        reports.setflags(write=False)
        object.__setattr__(self, "reports", reports)

    def to_stream(self, most_counted: int | None = None) -> ReportStream:
        """What counts in the draw, by weight."""
        return ReportStream(counted(self.reports, self.classes, most_counted), self.targets, self.rounds)

    @property
    def visits(self) -> BoolArray:
        """(T, C): the visits that reports lead to, each before the draw of its round. Public."""
        return visited(self.reports, self.classes)
