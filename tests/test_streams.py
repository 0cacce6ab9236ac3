"""Report streams: what is refused and in which words, and the paper's definitions."""

import datetime
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import deniable as dn
from deniable.arrays import IntArray
from deniable.errors import MAX_REPORTS, DeniableError
from deniable.streams import (
    ReportStream,
    active_counts,
    add_report,
    check_counts,
    check_round,
    deficit,
    differing_report,
    is_adjacent,
    leaders,
    misselected,
    normalized_deficit,
    resolved,
    sparse_round,
)

AB = ("acme", "bravo")

SECRET = 737373
"""A count that no message may show."""


def refused(message: str) -> Any:
    return pytest.raises(DeniableError, match=message)


# check_counts, check_round


@pytest.mark.parametrize(
    "counts",
    [
        [[1, 2], [3, 0]],
        ((1, 2), (3, 0)),
        np.array([[1, 2], [3, 0]], dtype=np.uint8),
        np.array([[1.0, 2.0], [3.0, 0.0]]),
        np.array([[1, 2], [3, 0]], dtype=object),
        [np.array([1, 2]), np.array([3, 0])],
    ],
)
def test_counts_become_int64(counts: Any) -> None:
    checked = check_counts(counts, 2)
    assert checked.dtype == np.int64
    assert checked.tolist() == [[1, 2], [3, 0]]


def test_counts_are_a_copy() -> None:
    counts = np.array([1, 2])
    check_counts(counts)[0] = 9
    assert counts.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([SECRET, 0.5], "whole numbers"),
        ([SECRET, np.nan], "whole numbers"),
        ([SECRET, np.inf], "whole numbers"),
        ([SECRET, 1j], "whole numbers"),
        ([SECRET, "2"], "whole numbers"),
        (["1", "2"], "whole numbers"),
        ([SECRET, None], "whole numbers"),
        ([True, False], "whole numbers"),
        ([True, SECRET], "whole numbers"),
        (np.array([True, False]), "whole numbers"),
        (np.array([True, SECRET], dtype=object), "whole numbers"),
        ({SECRET}, "whole numbers"),
        ("12", "whole numbers"),
        (np.array([1, 2], dtype="m8[D]"), "whole numbers"),
        ([[SECRET, 2], [3]], "whole numbers, as many in every round"),
        ([-SECRET, 2], "must not be negative"),
        ([-1.0, 2.0], "must not be negative"),
        ([MAX_REPORTS + 1, 0], "at most 1000000000"),
        ([1e300, 0.0], "at most 1000000000"),
        ([2**63, 0], "at most 1000000000"),
        ([10**400, 0], "at most 1000000000"),
        ([10**400, 0.5], "whole numbers"),
        (SECRET, "got a single number"),
        ([1, SECRET, 3, 4], "a round has 2 counts, one for each target; got 4"),
    ],
)
def test_bad_counts_are_refused(counts: Any, message: str) -> None:
    with refused(message) as caught:
        check_counts(counts, 2)
    assert str(SECRET) not in str(caught.value)


def test_the_largest_count_is_accepted() -> None:
    assert check_counts([MAX_REPORTS, 0]).tolist() == [MAX_REPORTS, 0]


@pytest.mark.parametrize(
    ("reports", "counts"),
    [([1, 2, 3], [1, 2, 3]), ({2: 4, np.int64(0): 1}, [1, 0, 4]), ({}, [0, 0, 0]), ({1: 2.0}, [0, 2, 0])],
)
def test_a_round_in_full_or_sparse(reports: Any, counts: list[int]) -> None:
    checked = check_round(reports, 3)
    assert checked.dtype == np.int64
    assert checked.tolist() == counts
    assert sparse_round(reports, 3) == {target: count for target, count in enumerate(counts) if count}


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        ([1, 2], "a round has 3 counts, one for each target; got 2"),
        ([[1, 2, 3]], "got an array with 2 axes"),
        ({0: [SECRET]}, "got an array with 2 axes"),
        ({7: SECRET}, r"target must be in 0\.\.2, got 7: there are 3 targets"),
        ({np.int64(7): SECRET}, r"target must be in 0\.\.2, got 7: there are 3 targets"),
        ({-1: SECRET}, r"target must be in 0\.\.2, got -1"),
        ({"acme": SECRET}, r"target must be in 0\.\.2, got 'acme'"),
        ({True: SECRET}, r"target must be in 0\.\.2, got True"),
        ({1.0: SECRET}, r"target must be in 0\.\.2, got 1.0"),
        ({0: -SECRET}, "must not be negative"),
        ({0: SECRET + 0.5}, "whole numbers"),
        ({0: True}, "whole numbers"),
    ],
)
def test_bad_rounds_are_refused(reports: Any, message: str) -> None:
    for check in (check_round, sparse_round):
        with refused(message) as caught:
            check(reports, 3)
        assert str(SECRET) not in str(caught.value)


# ReportStream


def stream(counts: Any, targets: Any = AB, rounds: Any = None) -> ReportStream:
    return ReportStream(counts, targets, tuple(map(str, range(1, len(counts) + 1))) if rounds is None else rounds)


def test_stream_fields() -> None:
    s = stream([[1, 2], [3, 4], [5, 6]])
    assert (s.n_rounds, s.n_targets, s.targets, s.rounds) == (3, 2, AB, ("1", "2", "3"))
    assert not s.is_dated
    assert stream([[1, 2]], rounds=("2024-01-01",)).is_dated
    assert s.counts.dtype == np.int64


def test_stream_cannot_be_changed() -> None:
    given_counts = np.array([[1, 2]])
    s = stream(given_counts)
    given_counts[0, 0] = 9
    assert s.counts.tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="read-only"):
        s.counts[0, 0] = 9
    with pytest.raises(FrozenInstanceError):
        s.targets = ("x", "y")  # type: ignore[misc]


def test_a_stream_serves_as_its_counts() -> None:
    s = stream([[3, 0], [0, 1], [0, 1]])
    assert check_counts(s, 2).tolist() == s.counts.tolist()
    assert dn.simulate(dn.Greedy(2), s).audits.tolist() == [[0, 1, 1]]
    assert is_adjacent(s, add_report(s, 0, 0))
    assert np.asarray(s, dtype=float).dtype == np.float64
    np.array(s)[0, 0] = 9
    assert s.counts[0, 0] == 3
    with refused("one count for each target, got an array with 2 axes; give one round at a time"):
        dn.AuditRun(dn.Greedy(2)).step(s)


def test_stream_equality() -> None:
    s = stream([[1, 2]])
    assert s == stream([[1, 2]])
    assert s != stream([[1, 3]])
    assert s != stream([[1, 2]], targets=("acme", "charlie"))
    assert s != stream([[1, 2]], rounds=("2024-01-01",))
    assert s != [[1, 2]]
    with pytest.raises(TypeError, match="unhashable"):
        hash(s)


def test_repr_hides_counts() -> None:
    s = stream([[SECRET, 0]])
    assert repr(s) == "ReportStream(1 rounds, 2 targets)"
    assert str(s) == repr(s)


@pytest.mark.parametrize(
    ("counts", "targets", "rounds", "message"),
    [
        (
            [[1]],
            ("acme",),
            None,
            "a stream needs at least two targets, got 1: with one, every round audits it",
        ),
        ([[]], (), None, "at least two targets, got 0"),
        (np.zeros((0, 2)), AB, (), "at least one round"),
        ([1, 2], AB, None, "two axes"),
        ([[[1, 2]]], AB, None, "two axes"),
        ([[1, 2, 3]], AB, None, "a round has 2 counts"),
        ([[1, -1]], AB, None, "negative"),
        ([[1, 2]], ("acme", "acme"), None, "'acme' must not appear twice"),
        ([[1, 2]], ("Acme", "ACME"), None, "'Acme' and 'ACME' must differ in more than upper and lower case"),
        ([[1, 2]], ("acme", ""), None, "must not be empty"),
        ([[1, 2]], ("acme", " bravo"), None, "' bravo' must not be empty or start"),
        ([[1, 2]], ("acme", "bra\nvo"), None, "one line without control"),
        ([[1, 2]], ("acme", "bra\0vo"), None, "one line without control"),
        ([[1, 2]], ("acme", "\ud800"), None, "one line without control"),
        ([[1, 2]], "ab", None, "sequence of names"),
        ([[1, 2]], (1, 2), None, "sequence of names"),
        ([[1, 2]], AB, ("1", "2"), "needs as many round labels, got 2"),
        ([[1, 2]], AB, ("2",), "round labels must be"),
        ([[1, 2]], AB, (1,), "round labels must be"),
        ([[1, 2]], AB, (datetime.date(2024, 1, 1),), "round labels must be"),
        ([[1, 2]], AB, ("2024-02-30",), "round labels must be"),
        ([[1, 2]], AB, ("2024-W01-1",), "round labels must be"),
        ([[1, 2]] * 2, AB, ("2024-01-01", "2"), "round labels must be"),
        ([[1, 2]] * 2, AB, ("2024-01-01", "2024-01-01"), "round labels must be"),
        ([[1, 2]] * 2, AB, ("2024-01-02", "2024-01-01"), "round labels must be"),
        ([[1, 2]] * 3, AB, ("2024-01-01", "2024-01-02", "2024-01-04"), "round labels must be"),
    ],
)
def test_bad_streams_are_refused(counts: Any, targets: Any, rounds: Any, message: str) -> None:
    with refused(message):
        stream(counts, targets, rounds)


# Active counts


def active_count(counts: IntArray, transcript: IntArray, t: int, c: int) -> int:
    """`def:active-counts` word for word, with t and c from 1."""
    tau = max((s for s in range(1, t) if transcript[s - 1] + 1 == c), default=0)
    return sum(int(counts[s - 1, c - 1]) for s in range(tau + 1, t + 1))


@st.composite
def histories(draw: st.DrawFn) -> tuple[IntArray, IntArray]:
    """Report counts (B, T, C) and transcripts (B, T)."""
    n_runs, n_rounds, n_targets = draw(st.tuples(st.integers(1, 3), st.integers(1, 8), st.integers(2, 4)))
    counts = draw(hnp.arrays(np.int64, (n_runs, n_rounds, n_targets), elements=st.integers(0, 5)))
    return counts, draw(hnp.arrays(np.int64, (n_runs, n_rounds), elements=st.integers(0, n_targets - 1)))


@settings(deadline=None)
@given(histories())
def test_active_counts_are_the_definition(history: tuple[IntArray, IntArray]) -> None:
    counts, transcripts = history
    n_runs, n_rounds, n_targets = counts.shape
    expected = [
        [
            [active_count(counts[b], transcripts[b], t, c) for c in range(1, n_targets + 1)]
            for t in range(1, n_rounds + 1)
        ]
        for b in range(n_runs)
    ]
    active = active_counts(counts, transcripts)
    assert active.dtype == np.int64
    assert active.tolist() == expected
    assert np.array_equal(active_counts(counts[0], transcripts[0]), active[0])
    assert np.array_equal(active_counts(counts[0], transcripts)[0], active[0])
    assert np.array_equal(active_counts(counts[None], transcripts[None]), active[None])


@settings(deadline=None)
@given(histories(), st.data())
def test_several_audits_a_round_all_reset(history: tuple[IntArray, IntArray], data: st.DataObject) -> None:
    """The same as one audit of each of them, in rounds of their own without reports before the next round's."""
    counts = history[0]
    runs, rounds, n_targets = counts.shape
    k = data.draw(st.integers(1, n_targets))
    order = st.permutations(range(n_targets)).map(lambda targets: targets[:k])
    audits = np.array([[data.draw(order) for _ in range(rounds)] for _ in range(runs)])
    spread = np.zeros((runs, rounds * k, n_targets), dtype=np.int64)
    spread[:, ::k] = counts
    one_by_one = active_counts(spread, audits.reshape(runs, -1))
    assert np.array_equal(active_counts(counts, audits, audits=k), one_by_one[:, ::k])


def test_a_transcript_must_have_as_many_audits_as_are_said() -> None:
    with refused("2 audits for each of 2 rounds"):
        active_counts([[1, 0], [0, 1]], [0, 1], audits=2)
    with refused("1 audit for each of 2 rounds"):
        active_counts([[1, 0, 0], [0, 1, 0]], [[0, 1, 2], [1, 2, 0]])


@pytest.mark.parametrize(
    ("counts", "transcript", "message"),
    [
        ([[1, 0], [0, 1]], [0, 2], r"an audit must be in 0\.\.1, got 2: there are 2 targets"),
        ([[1, 0], [0, 1]], [0, -1], r"an audit must be in 0\.\.1, got -1"),
        ([[1, 0], [0, 1]], [0], "1 audit for each of 2 rounds"),
        ([[1, 0], [0, 1]], 0, "1 audit for each of 2 rounds"),
        ([[1, 0], [0, 1]], [0.0, 1.0], "audits must be whole numbers"),
        ([[1, 0], [0, 1]], [True, False], "audits must be whole numbers"),
        ([[1, 0], [0, 1]], [[0, 1], [0]], "same number of rounds"),
        ([1, 0], [0, 1], "at least two axes"),
        ([[1, -1], [0, 1]], [0, 1], "negative"),
        (np.zeros((2, 1, 2)), np.zeros((3, 1), dtype=int), r"same number of runs, got \(2,\) and \(3,\)"),
    ],
)
def test_bad_histories_are_refused(counts: Any, transcript: Any, message: str) -> None:
    with refused(message):
        active_counts(counts, transcript)


# Adjacency


@settings(deadline=None)
@given(histories(), st.data())
def test_one_report_more_is_adjacent(history: tuple[IntArray, IntArray], data: st.DataObject) -> None:
    counts = history[0][0]
    t = data.draw(st.integers(0, counts.shape[0] - 1))
    c = data.draw(st.integers(0, counts.shape[1] - 1))
    more = add_report(counts, t, c)
    assert (more - counts).sum() == more[t, c] - counts[t, c] == 1
    assert differing_report(counts, more) == differing_report(more, counts) == (t, c)
    assert is_adjacent(counts, more)
    assert is_adjacent(more, counts)
    assert not is_adjacent(counts, counts)
    assert not is_adjacent(counts, add_report(more, t, c))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ([[1, 0], [0, SECRET]], "streams are not adjacent: they are the same"),
        ([[1, 0], [0, SECRET + 2]], "streams are not adjacent: they differ in more than one report"),
        ([[0, 1], [0, SECRET]], "streams are not adjacent: they differ in more than one report"),
        ([[1, 0]], "streams are not adjacent: both must have the same rounds and targets"),
        ([1, 0], "streams are not adjacent: both must have the same rounds and targets"),
    ],
)
def test_streams_that_are_not_adjacent(other: Any, message: str) -> None:
    counts = [[1, 0], [0, SECRET]]
    assert not is_adjacent(counts, other)
    with refused(message) as caught:
        differing_report(counts, other)
    assert str(SECRET) not in str(caught.value)


def test_bad_counts_are_refused_and_not_just_different() -> None:
    with refused("must not be negative"):
        is_adjacent([[1, 0]], [[-1, 0]])


def test_reports_are_added_in_every_run() -> None:
    counts = np.zeros((2, 3, 4), dtype=np.int64)
    assert add_report(counts, 1, 2)[:, 1, 2].tolist() == [1, 1]
    assert not counts.any()


@pytest.mark.parametrize(
    ("counts", "at_round", "target", "message"),
    [
        ([[1, 0]], 1, 0, r"round must be in 0\.\.0, got 1"),
        ([[1, 0]], 0, -1, r"target must be in 0\.\.1, got -1: there are 2 targets"),
        ([1, 0], 0, 0, "at least two axes"),
        ([[MAX_REPORTS, 0]], 0, 0, "at most 1000000000"),
    ],
)
def test_reports_that_cannot_be_added(counts: Any, at_round: int, target: int, message: str) -> None:
    with refused(message):
        add_report(counts, at_round, target)


# Error and deficit


@settings(deadline=None)
@given(histories())
def test_deficits_are_the_definitions(history: tuple[IntArray, IntArray]) -> None:
    active = active_counts(*history)
    audits = history[1]
    lead, error = leaders(active), misselected(active, audits)
    d, eta, u = deficit(active, audits), normalized_deficit(active, audits), resolved(active, audits)
    assert [x.dtype.name for x in (d, eta, u, error)] == ["int64", "float64", "int64", "bool"]
    for at in np.ndindex(audits.shape):
        n, a = active[at].tolist(), int(audits[at])
        argmax = {c for c in range(len(n)) if all(n[c] >= other for other in n)}
        assert set(np.flatnonzero(lead[at])) == argmax
        assert error[at] == (a not in argmax)
        assert d[at] == max(n) - n[a]
        assert eta[at] == (max(n) - n[a]) / (max(n) + 1)
        assert u[at] == n[a]


def test_one_audit_gives_arrays_without_axes() -> None:
    for measure in (misselected, deficit, normalized_deficit, resolved):
        value = measure([3, 1, 0], 1)
        assert isinstance(value, np.ndarray)
        assert value.shape == ()
    assert float(normalized_deficit([3, 1, 0], 1)) == 0.5


def test_active_counts_may_exceed_the_limit_of_one_round() -> None:
    assert int(deficit([3 * MAX_REPORTS, 0], 1)) == 3 * MAX_REPORTS


@pytest.mark.parametrize("measure", [misselected, deficit, normalized_deficit, resolved])
@pytest.mark.parametrize(
    ("active", "audit", "message"),
    [
        ([SECRET, 0], 2, r"an audit must be in 0\.\.1, got 2"),
        ([SECRET, 0], -1, r"an audit must be in 0\.\.1, got -1"),
        ([SECRET, 0], [[0]], "audits for each row"),
        ([[SECRET, 0], [1, 0]], [0], "audits for each row"),
        ([SECRET, 0.5], 0, "active counts must be whole numbers"),
        (SECRET, 0, "active counts must be whole numbers"),
        (np.zeros((2, 0), dtype=int), [0, 0], "active counts must be whole numbers"),
    ],
)
def test_bad_audits_are_refused(measure: Any, active: Any, audit: Any, message: str) -> None:
    with refused(message) as caught:
        measure(active, audit)
    assert str(SECRET) not in str(caught.value)
