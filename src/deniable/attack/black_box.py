"""The adversary for any mechanism: features of what it sees, and a classifier that learns from played games."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from deniable.arrays import BoolArray, FloatArray, IntArray
from deniable.attack.pairs import Pair
from deniable.errors import DeniableError, pip_install
from deniable.streams import active_counts

# First rounds from the report on whose audits are features of their own.
WINDOW = 8
# Counts held at once where active counts are followed round by round: 64 MiB.
CELLS = 2**23


def learn(
    pair: Pair, filed: IntArray, not_filed: IntArray, *, own_target: bool, seed: int
) -> Callable[[IntArray], FloatArray]:
    """A score of transcripts, larger where "filed" is likelier, learnt from what was seen in either world: (B, T), or
    (B, T, k) where all of k audits a round are seen.
    """
    model = _classifier(len(filed), seed)
    seen = np.concatenate([filed, not_filed])
    labels = np.repeat([1, 0], [len(filed), len(not_filed)])
    with _one_thread():
        model.fit(features(pair, seen, own_target=own_target), labels)

    def score(seen: IntArray) -> FloatArray:
        with _one_thread():
            return np.asarray(model.decision_function(features(pair, seen, own_target=own_target)), dtype=np.float64)

    return score


def _classifier(games: int, seed: int) -> Any:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415  (optional)
    except ImportError:
        raise DeniableError(
            f"the black-box adversary needs scikit-learn: run {pip_install('research')} in a copy of the project"
        ) from None
    # Shallow and slow: one report leaves a weak trace, and deep trees would learn the noise.
    return HistGradientBoostingClassifier(
        max_iter=100,
        learning_rate=0.05,
        max_leaf_nodes=8,
        min_samples_leaf=max(1, min(100, games // 20)),
        l2_regularization=10.0,
        early_stopping=False,
        random_state=seed,
    )


def _one_thread() -> AbstractContextManager[Any]:
    """OpenMP's threads spin while they wait, and on a busy machine take thirty times as long as one alone."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415  (comes with scikit-learn)

    limits: AbstractContextManager[Any] = threadpool_limits(1, "openmp")
    return limits


def features(pair: Pair, seen: IntArray, *, own_target: bool) -> FloatArray:
    """(B, F): when the report's target was audited, and, where all audits are seen, what they say about the counts."""
    parts = []
    runs = max(1, CELLS // (pair.rounds * pair.n_targets))
    for start in range(0, len(seen), runs):
        part = seen[start : start + runs]
        every = part if part.ndim == 3 else part[..., None]
        own = (every == (1 if own_target else pair.target)).any(axis=2)
        parts.append(np.column_stack([_timing(pair, own), *([] if own_target else [_standing(pair, every, own)])]))
    return np.concatenate(parts)


def _timing(pair: Pair, own: BoolArray) -> FloatArray:
    """From the audits of the report's target alone, (B, T)."""
    before, after = own[:, : pair.round], own[:, pair.round :]
    first = _first(after)
    later = after & (np.arange(after.shape[1]) > first[:, None])
    since = _first(before[:, ::-1])
    return np.column_stack([first, _first(later) - first, since, before.sum(axis=1), after.sum(axis=1)])


def _standing(pair: Pair, audits: IntArray, own: BoolArray) -> FloatArray:
    """How far the report's target was ahead of the others, had it not been filed, up to its next audit; and the
    audits of the first rounds from the report on.
    """
    active = active_counts(pair.not_filed, audits, audits=audits.shape[2])
    others = np.delete(active, pair.target, axis=2).max(axis=2)
    ahead = (active[:, :, pair.target] - others)[:, pair.round :].astype(np.float64)
    first = _first(own[:, pair.round :])
    rounds = np.arange(ahead.shape[1])
    waiting = rounds <= first[:, None]
    at_audit = np.take_along_axis(ahead, np.minimum(first, ahead.shape[1] - 1)[:, None], axis=1)
    at_report = ahead[:, :1]
    most = np.max(ahead, axis=1, where=waiting, initial=-np.inf)
    mean = np.mean(ahead, axis=1, where=waiting)
    level = ((ahead >= -1) & waiting).sum(axis=1)
    window = audits[:, pair.round : pair.round + WINDOW].reshape(len(audits), -1)
    return np.column_stack([at_audit, at_report, most, mean, level, window])


def _first(flags: BoolArray) -> IntArray:
    """(B,): the first round with a flag, or the number of rounds."""
    if not flags.shape[1]:
        return np.zeros(len(flags), dtype=np.int64)
    return np.asarray(np.where(flags.any(axis=1), flags.argmax(axis=1), flags.shape[1]), dtype=np.int64)
