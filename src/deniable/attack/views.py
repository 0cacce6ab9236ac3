"""What the adversary gets to see of a transcript."""

from dataclasses import dataclass

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
        """What is seen of the audits (B, T) of `of_pair(pair)`: the targets, or 1 for the report's own and else 0."""
        return (audits == pair.target).astype(audits.dtype) if self.own_target else audits


EVERYTHING = View()
OWN_TARGET = View(own_target=True)
