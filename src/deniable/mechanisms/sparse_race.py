"""Race for one run and very many targets: O(log C) for a report and for a draw, and the same draws as `Race`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

import numpy as np

from deniable.arrays import ExactArray, IntArray
from deniable.mechanisms.base import State
from deniable.mechanisms.race import Race
from deniable.noise import ExactNoise
from deniable.rules import NO_RULES, record_audits


class WeightTree:
    """Whole numbers by position, and which position a point of their total falls on.

    >>> tree = WeightTree([2, 0, 5])
    >>> tree.total, [tree.find(point) for point in range(7)]
    (7, [0, 0, 2, 2, 2, 2, 2])
    """

    def __init__(self, weights: Sequence[int] | ExactArray) -> None:
        level = np.zeros(1 << (len(weights) - 1).bit_length(), dtype=object)
        level[: len(weights)] = weights
        self._levels = [level]
        """From the leaves to the root; each level has the sums of two neighbours of the one before."""
        while len(level) > 1:
            level = level[::2] + level[1::2]
            self._levels.append(level)

    @property
    def total(self) -> int:
        return int(self._levels[-1][0])

    def set(self, position: int, weight: int) -> None:
        change = weight - self._levels[0][position]
        for level in self._levels:
            level[position] += change
            position //= 2

    def find(self, point: int) -> int:
        """The position p with sum(weights[:p]) <= point < sum(weights[:p + 1]).

        Of two points the smaller never goes right where the larger goes left, so the points of each position lie
        together, whatever the sums are.
        """
        position = 0
        for level in self._levels[-2::-1]:
            position *= 2
            if point >= level[position]:
                point -= level[position]
                position += 1
        return position


def sparse(mechanism: object) -> TypeGuard[Race]:
    """Whether `SparseRace` serves: not a subclass, which may draw otherwise; and with rules, or weights that follow the
    transcript, every target may change in every round.
    """
    return type(mechanism) is Race and mechanism.rules == NO_RULES and not callable(mechanism.weights)


class SparseRace:
    """A run of `Race` without rules and with fixed weights, kept in place and indexed by a `WeightTree`."""

    def __init__(self, mechanism: Race, state: State[IntArray], noise: ExactNoise) -> None:
        self._growth = mechanism.growth
        self._noise = noise
        self._history = state.history.copied()
        self._counts = state.private.copy()
        weights = np.where(state.history.present, mechanism.whole_weights(state.history), 0)
        self._weights = weights[0].astype(object)
        self._tree = WeightTree(self._weights * mechanism.growth.exact(self._counts)[0])

    @property
    def rounds(self) -> int:
        return self._history.rounds

    @property
    def state(self) -> State[IntArray]:
        return State(self._history.copied(), self._counts.copy())

    def select(self, reports: Mapping[int, int], audits: int) -> tuple[int, ...]:
        """Close a round with these reports, which must have been checked."""
        active = {target: int(self._counts[0, target]) + count for target, count in reports.items()}
        drawn: list[int] = []
        try:
            for target, count in active.items():
                self._weigh(target, count)
            for _ in range(audits):
                drawn.append(self._noise.pick(self._tree.total, self._tree.find))
                self._tree.set(drawn[-1], 0)
        except BaseException:  # an interrupt, say: the round is not closed, and its reports will come again
            for target in {*active, *drawn}:
                self._weigh(target, int(self._counts[0, target]))
            raise
        for target, count in active.items():
            self._counts[0, target] = count
        self._history = replace(self._history, rounds=self.rounds + 1)
        for target in drawn:
            self._counts[0, target] = 0
            self._weigh(target, 0)
            record_audits(self._history, (0, target))
        return tuple(drawn)

    def _weigh(self, target: int, count: int) -> None:
        phi = self._growth.exact(np.array([count]))[0]
        self._tree.set(target, self._weights[target] * phi)
