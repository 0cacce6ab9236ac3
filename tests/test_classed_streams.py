"""What reports of several classes add to the counts, and which visits they lead to: one report changes no more than it
may.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from deniable.arrays import IntArray
from deniable.classed_streams import ClassedStream, counted, visited
from deniable.errors import MAX_REPORTS, DeniableError
from deniable.report_classes import ReportClass

CLASSES = (ReportClass("minor", 1), ReportClass("serious", 3), ReportClass("danger", None), ReportClass("fire", None))
REPORTS = hnp.arrays(np.int64, (4, 2, 3), elements=st.one_of(st.integers(0, 4), st.integers(0, MAX_REPORTS)))


@given(
    REPORTS,
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 2)),
    st.one_of(st.none(), st.integers(1, 5)),
)
def test_one_report_more_changes_its_own_count_by_its_weight_at_most(
    reports: IntArray, where: tuple[int, int, int], most_counted: int | None
) -> None:
    more = reports.copy()
    more[where] += 1
    layer, *cell = where
    change = counted(more, CLASSES, most_counted) - counted(reports, CLASSES, most_counted)
    assert 0 <= change[*cell] <= (CLASSES[layer].weight or 0)
    change[*cell] = 0
    assert not change.any()
    visits = visited(more, CLASSES) != visited(reports, CLASSES)
    assert not visits.any() or (CLASSES[layer].leads_to_visit and visits.sum() == 1 and visits[*cell])


def test_a_flood_counts_up_to_the_limit_and_is_never_refused() -> None:
    flood = np.full((4, 1, 2), MAX_REPORTS)
    assert counted(flood, CLASSES, 5).tolist() == [[20, 20]]
    assert counted(flood, CLASSES).tolist() == [[MAX_REPORTS, MAX_REPORTS]]
    assert ClassedStream(flood, CLASSES, ("a", "b"), ("1",)).to_stream().counts.max() == MAX_REPORTS


@pytest.mark.parametrize("most_counted", [0, -1, 1.5])
def test_a_limit_of_none_is_refused(most_counted: int) -> None:
    with pytest.raises(DeniableError, match="most_counted must be a whole number of at least 1"):
        counted(np.zeros((4, 2), dtype=np.int64), CLASSES, most_counted)


def test_a_stream_shows_no_report_in_its_repr() -> None:
    stream = ClassedStream(np.full((4, 1, 2), 737373), CLASSES, ("a", "b"), ("1",))
    assert "737373" not in repr(stream)
    assert stream.visits.all()
