"""What every mechanism has in common."""

from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from deniable.arrays import BoolArray, IntArray
from deniable.errors import DeniableError
from deniable.guarantee import Guarantee
from deniable.noise import Noise

S = TypeVar("S")


class Mechanism(Protocol[S]):
    """A rule that chooses one target to audit in every round, for B runs at once.

    The fields of a mechanism are public. Its state and its noise are secret, and passed in and out: `step`
    never changes the state it is given, so a state can be stored, resumed and deleted.
    """

    @property
    def n_targets(self) -> int:
        """C, the number of targets."""

    def guarantee(self) -> Guarantee:
        """What the transcript reveals about one report, at most; a function of the public fields alone."""

    def init(self, runs: int = 1) -> S:
        """The state before the first round of B runs."""

    def step(self, state: S, reports: IntArray, noise: Noise) -> tuple[IntArray, S]:
        """Close one round: reports (B, C) in, audited targets (B,) and the new state out."""


@dataclass(frozen=True)
class CountState:
    """The state of the mechanisms that look at active counts only."""

    rounds: int
    """Rounds closed so far."""
    counts: IntArray
    """(B, C): active counts after the last audit (`def:active-counts`)."""


def no_counts(runs: int, n_targets: int) -> CountState:
    return CountState(0, np.zeros((runs, n_targets), dtype=np.int64))


def next_round(rounds: int, guarantee: Guarantee) -> int:
    """One more closed round, refused where the guarantee would lapse."""
    if guarantee.horizon is not None and rounds >= guarantee.horizon:
        raise DeniableError(
            f"the guarantee covers {guarantee.horizon} rounds and all of them are closed; "
            "start a new programme calibrated for a longer horizon"
        )
    return rounds + 1


def one_hot(audits: IntArray, n_targets: int) -> BoolArray:
    """(B,) audited targets as a (B, C) mask."""
    return np.equal(audits[:, None], np.arange(n_targets))


def reset(counts: IntArray, audits: IntArray) -> IntArray:
    """`cond:reset`: the audited target's reports no longer count."""
    return np.where(one_hot(audits, counts.shape[1]), 0, counts)
