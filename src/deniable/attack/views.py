"""What the adversary gets to see of a transcript."""

from dataclasses import dataclass

import numpy as np

from deniable.arrays import IntArray
from deniable.attack.pairs import Pair


@dataclass(frozen=True)
class View:
    """The whole transcript, or only its first `rounds`, or of every round only whether its own target was audited.

    >>> View(rounds=10, own_target=True).name
    'own target, first 10 rounds'
    """

    rounds: int | None = None
    own_target: bool = False

    @property
    def name(self) -> str:
        rounds = () if self.rounds is None else (f"first {self.rounds} rounds",)
        return ", ".join((*(("own target",) if self.own_target else ()), *rounds)) or "everything"

    def of_pair(self, pair: Pair) -> Pair:
        """The rounds of the streams that matter: audits do not depend on later reports."""
        return pair if self.rounds is None else pair.until(self.rounds)

    def of_audits(self, pair: Pair, audits: IntArray) -> IntArray:
        """What is seen of the audits of `of_pair(pair)`, (B, T) or (B, T, k) where there are k a round: the same, or
        (B, T), 1 in rounds with an audit of the report's own target and else 0.
        """
        if not self.own_target:
            return audits
        own = audits == pair.target
        return np.asarray(own.any(axis=2) if own.ndim == 3 else own, dtype=np.int64)


EVERYTHING = View()
OWN_TARGET = View(own_target=True)
