"""The counters' factorizations written down naively: (decoder, encoder) with decoder @ encoder = A."""

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.statistical.reference import prefix_root

from deniable import counters
from deniable.arrays import FloatArray
from deniable.counters import GaussianCounter

Factors = tuple[FloatArray, FloatArray]


def toeplitz_factors(horizon: int) -> Factors:
    return prefix_root(horizon), prefix_root(horizon)


def blt_factors(horizon: int) -> Factors:
    counter = counters.blt(0.1, horizon)
    b = [1.0] + [sum(w * t**k for w, t in zip(counter.omega, counter.theta, strict=True)) for k in range(horizon)]
    decoder = np.array([[b[i - j] if i >= j else 0.0 for j in range(horizon)] for i in range(horizon)])
    return decoder, np.linalg.inv(decoder) @ np.tri(horizon)


def tree_factors(horizon: int) -> Factors:
    """All nodes of the binary tree that end within the horizon, the right ones too; prefixes from large to small."""
    nodes = [
        (start, start + 2**level)
        for level in range(horizon.bit_length())
        for start in range(0, horizon - 2**level + 1, 2**level)
    ]
    encoder = np.array([[float(start <= t < stop) for t in range(horizon)] for start, stop in nodes])
    decoder = np.zeros((horizon, len(nodes)))
    for t in range(horizon):
        start = 0
        while start <= t:
            stop = max(stop for left, stop in nodes if left == start and stop <= t + 1)
            decoder[t, nodes.index((start, stop))] = 1
            start = stop
    return decoder, encoder


def input_factors(horizon: int) -> Factors:
    return np.tri(horizon), np.eye(horizon)


def output_factors(horizon: int) -> Factors:
    return np.eye(horizon), np.tri(horizon)


def two_views(horizon: int) -> Factors:
    """Half of the weight on noisy reports, half on a noisy count: 2 T rows, two of them released in every round."""
    return np.hstack([np.tri(horizon), np.eye(horizon)]) / 2, np.vstack([np.eye(horizon), np.tri(horizon)])


def dense_of(factors: Callable[[int], Factors]) -> Callable[[float, int], GaussianCounter]:
    return lambda delta, horizon: counters.dense(delta, *factors(horizon))


CASES: dict[str, tuple[Callable[[float, int], Any], Callable[[int], Factors]]] = {
    "toeplitz": (counters.toeplitz, toeplitz_factors),
    "blt": (counters.blt, blt_factors),
    "tree": (counters.tree, tree_factors),
    "input_perturbation": (counters.input_perturbation, input_factors),
    "output_perturbation": (counters.output_perturbation, output_factors),
    "dense-root": (dense_of(toeplitz_factors), toeplitz_factors),
    "dense-tree": (dense_of(tree_factors), tree_factors),
    "dense-two-views": (dense_of(two_views), two_views),
}
