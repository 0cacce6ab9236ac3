"""Report streams: counts by round and target, and what an audit does to them.

Rounds and targets are numbered from 0 in arrays. Shapes: B runs, T rounds, C targets.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.arrays import BoolArray, FloatArray, IntArray
from deniable.errors import MAX_REPORTS, DeniableError
from deniable.wording import count

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
    """A copy of report counts, an array or a `ReportStream`, as int64, same shape; the last axis is targets.

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
    if not isinstance(reports, Mapping):
        return _one_axis(check_counts(reports, n_targets))
    where, given = _check_mapping(reports, n_targets)
    counts = np.zeros(n_targets, dtype=np.int64)
    counts[where] = given
    return counts


def sparse_round(reports: ArrayLike | Mapping[int, int], n_targets: int) -> dict[int, int]:
    """One round's report counts above zero, {target: count}; for a mapping, without touching any other target.

    >>> sparse_round([0, 0, 5, 0], n_targets=4)
    {2: 5}
    """
    if isinstance(reports, Mapping):
        where, given = _check_mapping(reports, n_targets)
    else:
        given = check_round(reports, n_targets)
        where = np.flatnonzero(given).tolist()
        given = given[where]
    return {target: number for target, number in zip(where, given.tolist(), strict=True) if number}


def _check_mapping(reports: Mapping[int, int], n_targets: int) -> tuple[list[int], IntArray]:
    where = [_check_index("target", target, n_targets) for target in reports]
    return where, _one_axis(check_counts(list(reports.values())))


def _one_axis(counts: IntArray) -> IntArray:
    if counts.ndim != 1:
        raise DeniableError(
            f"a round has one count for each target, got an array with {counts.ndim} axes; give one round at a time"
        )
    return counts


# Streams


def shown_name(name: str) -> str:
    """The name, ready for a message; a bare number is left out, since a misplaced cell may be a count."""
    return "" if re.fullmatch(r"[-+.,\d\s]*", name) else f" {name!r}"


def check_targets(names: Sequence[str]) -> tuple[str, ...]:
    """The names of at least two targets, all different even to a reader who does not mind the case."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise DeniableError("targets must be a sequence of names")
    if len(names) < 2:
        raise DeniableError(f"a stream needs at least two targets, got {len(names)}: with one, every round audits it")
    for name in names:
        if not name or name != name.strip():
            raise DeniableError(f"target name{shown_name(name)} must not be empty or start or end with a space")
        if any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in name):
            raise DeniableError(f"target name{shown_name(name)} must be one line without control characters")
    spelt: dict[str, str] = {}
    for name in names:
        other = spelt.get(name.casefold())
        if other == name:
            raise DeniableError(f"target name{shown_name(name)} must not appear twice")
        if other is not None:
            raise DeniableError(f"target names {other!r} and {name!r} must differ in more than upper and lower case")
        spelt[name.casefold()] = name
    return tuple(names)


def day_number(text: str) -> int | None:
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
        days = [day for label in labels if isinstance(label, str) and (day := day_number(label))]
        steps = {later - earlier for earlier, later in pairwise(days)}
        if len(days) != n_rounds or len(steps) > 1 or min(steps, default=1) < 1:
            raise DeniableError("round labels must be 1, 2, 3, … or evenly spaced dates written YYYY-MM-DD")
    return labels


@dataclass(frozen=True, eq=False, repr=False)
class ReportStream:
    """Report counts of T rounds and C targets, with their names.

    Wherever an array of counts is asked for, the stream itself will do.

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
        targets = check_targets(self.targets)
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

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.counts, dtype=dtype, copy=copy)

    @property
    def n_rounds(self) -> int:
        return len(self.rounds)

    @property
    def n_targets(self) -> int:
        return len(self.targets)

    @property
    def is_dated(self) -> bool:
        """Whether the rounds are labelled with their first days, and not numbered."""
        return self.rounds[0] != "1"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReportStream):
            return NotImplemented
        names_agree = (self.targets, self.rounds) == (other.targets, other.rounds)
        return names_agree and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]  # as for the array inside

    def __repr__(self) -> str:
        return f"ReportStream({self.n_rounds} rounds, {self.n_targets} targets)"


# Active counts and adjacency


def _check_streams(counts: ArrayLike) -> IntArray:
    """Report counts (..., T, C)."""
    checked = check_counts(counts)
    if checked.ndim < 2:
        raise DeniableError("a stream must have at least two axes, rounds and targets, got 1")
    return checked


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


def active_counts(
    stream: ArrayLike, transcript: ArrayLike, audits: int | None = None, ordered: BoolArray | None = None
) -> IntArray:
    """Active counts n_{t,c} before the audit of each round, this round's reports included.

    stream: report counts (..., T, C); transcript: audited targets (..., T), from 0, or (..., T, audits) where their
    number a round is given. The leading axes are runs and are broadcast: one stream serves many transcripts.
    `ordered` are audits by hand, (T, C), before the reports of each round. Returns (..., T, C).

    >>> active_counts([[1, 0], [1, 1], [0, 1]], transcript=[0, 1, 0])
    array([[1, 0],
           [1, 1],
           [1, 1]])
    """
    counts = _check_streams(stream)
    n_rounds, n_targets = counts.shape[-2:]
    drawn = _check_audits(transcript, n_targets)
    if audits is None:
        drawn, audits = drawn[..., None], 1
    if drawn.shape[-2:] != (n_rounds, audits):
        raise DeniableError(f"a transcript must have {count(audits, 'audit')} for each of {n_rounds} rounds")
    try:
        runs = np.broadcast_shapes(counts.shape[:-2], drawn.shape[:-2])
    except ValueError:
        raise DeniableError(
            f"streams and transcripts must have the same number of runs, got {counts.shape[:-2]} and {drawn.shape[:-2]}"
        ) from None
    drawn = np.broadcast_to(drawn, (*runs, n_rounds, audits))
    active = np.empty((*runs, n_rounds, n_targets), dtype=np.int64)
    current = np.zeros((*runs, n_targets), dtype=np.int64)
    for t in range(n_rounds):
        if ordered is not None:
            current[..., ordered[t]] = 0
        current += counts[..., t, :]
        active[..., t, :] = current  # def:active-counts
        np.put_along_axis(current, drawn[..., t, :], 0, axis=-1)
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
    one, two = check_counts(counts), check_counts(other)  # bad counts are refused, not just different
    try:
        differing_report(one, two)
    except DeniableError:
        return False
    return True


def add_report(counts: ArrayLike, at_round: int, target: int) -> IntArray:
    """The adjacent stream with one report more: counts (..., T, C), round and target from 0."""
    more = _check_streams(counts)
    t = _check_index("round", at_round, more.shape[-2])
    c = _check_index("target", target, more.shape[-1])
    more[..., t, c] += 1
    return check_counts(more)


# Error and deficit of an audit. If a round has k audits, (..., k), they are compared with the k largest counts.


def _check_active(active: ArrayLike) -> IntArray:
    array = np.asarray(active)
    if array.dtype.kind not in "iu" or array.ndim == 0 or array.shape[-1] == 0:
        raise DeniableError("active counts must be whole numbers, one for each target along the last axis")
    return array.astype(np.int64, copy=False)


def _pair(active: ArrayLike, audits: ArrayLike) -> tuple[IntArray, IntArray]:
    """The most reports that as many audits could have resolved, and those that these did, both (...)."""
    counts = _check_active(active)
    drawn = _check_audits(audits, counts.shape[-1])
    if drawn.shape == counts.shape[:-1]:
        drawn = drawn[..., None]
    if drawn.shape[:-1] != counts.shape[:-1]:
        raise DeniableError(
            f"there must be audits for each row of active counts, got the shapes {np.shape(audits)} and {counts.shape}"
        )
    k = drawn.shape[-1]
    best = counts.max(axis=-1) if k == 1 else np.partition(counts, -k, axis=-1)[..., -k:].sum(axis=-1)
    return np.asarray(best), np.asarray(np.take_along_axis(counts, drawn, axis=-1).sum(axis=-1))


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
    return np.asarray(audited < largest)


def deficit(active: ArrayLike, audit: ArrayLike) -> IntArray:
    """Active-count deficit d_t, in reports: the largest active count minus the audited target's.

    Active counts (..., C) before the reset and audits (...) give (...).

    >>> int(deficit([3, 1, 0], 1))
    2
    """
    largest, audited = _pair(active, audit)
    return np.asarray(largest - audited)


def normalized_deficit(active: ArrayLike, audit: ArrayLike) -> FloatArray:
    """Deficit over largest active count plus one, eta_t, in [0, 1): (..., C) and (...) to (...)."""
    largest, audited = _pair(active, audit)
    return np.asarray((largest - audited) / (largest + 1))


def resolved(active: ArrayLike, audit: ArrayLike) -> IntArray:
    """Reports the audit resolves, u_t: the audited target's active count, (..., C) and (...) to (...)."""
    return _pair(active, audit)[1]
