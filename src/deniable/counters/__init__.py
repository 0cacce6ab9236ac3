"""Continual counters for counter auditing: one file a counter, one factory each."""

from collections.abc import Callable
from typing import Any

from deniable.counters.blt import BltCounter, blt
from deniable.counters.dense import DenseCounter, dense
from deniable.counters.gaussian import GaussianCounter
from deniable.counters.perturbation import (
    InputPerturbation,
    OutputPerturbation,
    input_perturbation,
    output_perturbation,
)
from deniable.counters.protocol import Counter
from deniable.counters.toeplitz import ToeplitzCounter, toeplitz
from deniable.counters.tree import TreeCounter, tree

COUNTERS: dict[str, Callable[[float, int], Counter[Any]]] = {
    "toeplitz": toeplitz,
    "blt": blt,
    "tree": tree,
    "input_perturbation": input_perturbation,
    "output_perturbation": output_perturbation,
}
"""The counters that need no more than delta and a horizon, by name."""

__all__ = [
    "COUNTERS",
    "BltCounter",
    "Counter",
    "DenseCounter",
    "GaussianCounter",
    "InputPerturbation",
    "OutputPerturbation",
    "ToeplitzCounter",
    "TreeCounter",
    "blt",
    "dense",
    "input_perturbation",
    "output_perturbation",
    "toeplitz",
    "tree",
]
