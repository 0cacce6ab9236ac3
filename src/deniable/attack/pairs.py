"""What the adversary has to tell apart, pairs of streams that differ in one report or in a moved one, and what they get
to see of the audits.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from deniable.arrays import IntArray
from deniable.errors import DeniableError, check_whole
from deniable.simulation.synthetic_streams import check_size, lead_rates, poisson
from deniable.streams import add_report, check_counts, differing_report

# The report's target and its first rival in our own streams, before `hard_pairs` moves them on.
TARGET, RIVAL = 0, 1


@dataclass(frozen=True, eq=False)
class Pair:
    """Two streams, (T, C) each, equal but for one report (`def:adjacency`), which `filed` has and `not_filed` lacks.

    With `moved`, exactly one of two people filed, about different targets: `filed` has the one's report, `not_filed`
    the other's. Such streams are two reports apart, so 2 delta bounds their total variation.

    >>> pair = Pair("two rounds", not_filed=[[0, 1], [0, 0]], filed=[[0, 1], [1, 0]])
    >>> pair.round, pair.target
    (1, 0)
    """

    name: str
    not_filed: IntArray = field(repr=False)
    filed: IntArray = field(repr=False)
    moved: bool = False

    def __post_init__(self) -> None:
        not_filed, filed = check_counts(self.not_filed), check_counts(self.filed)
        if self.moved:
            _check_moved(not_filed, filed)
        else:
            differing_report(not_filed, filed)
            if filed.sum() < not_filed.sum():
                raise DeniableError("filed must be the stream with the report, not_filed the one without it")
        for name, counts in (("not_filed", not_filed), ("filed", filed)):
            counts.setflags(write=False)
            object.__setattr__(self, name, counts)

    @property
    def round(self) -> int:
        """That of the report, from 0; of a moved report, the earlier of the two."""
        return int(np.flatnonzero((self.filed != self.not_filed).any(axis=1))[0])

    @property
    def target(self) -> int:
        """That of the report in `filed`, from 0."""
        return int(np.argwhere(self.filed > self.not_filed)[0, 1])

    @property
    def rounds(self) -> int:
        return len(self.filed)

    @property
    def n_targets(self) -> int:
        return int(self.filed.shape[1])

    def until(self, rounds: int) -> "Pair":
        """The first rounds alone, which must include the report's."""
        last = int(np.flatnonzero((self.filed != self.not_filed).any(axis=1))[-1])
        if not last < check_whole("rounds", rounds, least=1) <= self.rounds:
            raise DeniableError(
                f"a prefix must have {last + 1}..{self.rounds} rounds, up to the report's at least, got {rounds}"
            )
        return Pair(self.name, self.not_filed[:rounds], self.filed[:rounds], self.moved)


def _check_moved(not_filed: IntArray, filed: IntArray) -> None:
    if not_filed.ndim != 2 or not_filed.shape != filed.shape:
        raise DeniableError(
            "streams with a moved report must have the same rounds and targets, "
            f"got the shapes {not_filed.shape} and {filed.shape}"
        )
    change = filed - not_filed
    if np.abs(change).sum() != 2 or change.sum() != 0:
        raise DeniableError("streams with a moved report must each have one report that the other lacks")


def report_at(name: str, stream: ArrayLike, at_round: int, target: int = TARGET) -> Pair:
    """The stream, (T, C), without and with one report more, in this round and about this target, both from 0."""
    return Pair(name, check_counts(stream), add_report(stream, at_round, target))


def moved_report(name: str, stream: ArrayLike, at_round: int, targets: tuple[int, int] = (TARGET, RIVAL)) -> Pair:
    """One report more about the first target (`filed`), or else about the second (`not_filed`), in the same round."""
    one, other = targets
    return Pair(name, add_report(stream, at_round, other), add_report(stream, at_round, one), moved=True)


def moments(rounds: int) -> dict[str, int]:
    """Rounds, from 0, in which a report may come: early, middle, late; fewer where there are few rounds."""
    found = {"early": 0, "middle": rounds // 2, "late": rounds - 1 - rounds // 10}
    return {name: at for name, at in found.items() if list(found.values()).index(at) == list(found).index(name)}


STREAMS = {
    "quiet": "there are no other reports",
    "sparse": "a lone reporter; about other targets a report comes now and then, one in 20 rounds each",
    "tie": "the target and its rivals have one report each when the report comes",
    "runner-up": "when the report comes, the rivals are one report ahead of the target",
    "rival": "a rival has one report in every round",
    "busy rival": "a rival has ten reports in every round",
    "just audited": "the target had 50 reports in the round before, so that it was almost surely audited",
    "steady": "steady reports at random, one a round about a rival and one in five rounds about every other target",
}
"""The streams of `hard_pairs`, in words, for one rival; several rivals are all alike."""


def hard_pairs(
    n_targets: int, horizon: int, seed: int = 0, *, rivals: int = 1, target: int = TARGET
) -> tuple[Pair, ...]:
    """Adjacent streams that leak much with one mechanism or another, each with a report early, midway and late.

    A report tells most while its target waits, and it waits while others are audited: with several audits a round, or a
    cooldown, that takes several rivals, `rivals_needed`. `target` is that of the report; its rivals follow it.

    >>> [pair.name for pair in hard_pairs(n_targets=3, horizon=8)[:3]]
    ['quiet, early', 'quiet, middle', 'quiet, late']
    """
    how = _check(n_targets, horizon, rivals, target) | {"seed": seed}
    return tuple(
        report_at(f"{name}, {when}", _stream(name, at, **how), at, target)
        for name in STREAMS
        for when, at in moments(horizon).items()
        if name != "just audited" or at > 0  # there is no round before the first
    )


def moved_pairs(
    n_targets: int, horizon: int, seed: int = 0, *, rivals: int = 1, target: int = TARGET
) -> tuple[Pair, ...]:
    """The same streams with an early report that is either about the target or about its first rival.

    >>> len(moved_pairs(n_targets=3, horizon=8))
    7
    """
    how = _check(n_targets, horizon, rivals, target) | {"seed": seed}
    either = target, (target + RIVAL) % n_targets
    return tuple(
        moved_report(f"{name}, moved report", _stream(name, 0, **how), 0, either)
        for name in STREAMS
        if name != "just audited"
    )


def rivals_needed(n_targets: int, audits: int = 1, cooldown: int = 0) -> int:
    """So many rivals can take all audits, in every round, where each must rest for `cooldown` rounds; if there are.

    >>> rivals_needed(50, audits=2, cooldown=1), rivals_needed(3, audits=2, cooldown=1)
    (4, 2)
    """
    return min(n_targets - 1, audits * (cooldown + 1))


def _check(n_targets: int, horizon: int, rivals: int, target: int) -> dict[str, int]:
    check_size(check_whole("n_targets", n_targets, least=2), check_whole("horizon", horizon, least=1))
    if check_whole("rivals", rivals, least=1) >= n_targets:
        raise DeniableError(f"rivals must be fewer than the {n_targets} targets, got {rivals}")
    if check_whole("target", target, least=0) >= n_targets:
        raise DeniableError(f"target must be in 0..{n_targets - 1}, got {target}")
    return {"n_targets": n_targets, "horizon": horizon, "rivals": rivals, "target": target}


def _stream(name: str, at: int, *, n_targets: int, horizon: int, rivals: int, target: int, seed: int) -> IntArray:
    counts: IntArray = np.zeros((horizon, n_targets), dtype=np.int64)
    ahead = slice(RIVAL, RIVAL + rivals)
    match name:
        case "sparse":
            rates = np.full(n_targets, 0.05)
            rates[TARGET] = 0
            counts = poisson(rates, horizon, 1, seed)[0]
        case "tie":
            counts[at, TARGET] = counts[at, ahead] = 1
        case "runner-up":
            counts[at, ahead] = 1
        case "rival":
            counts[:, ahead] = 1
        case "busy rival":
            counts[:, ahead] = 10
        case "just audited":
            counts[at - 1, TARGET] = 50
        case "steady":
            # The busy target is a rival, not the report's own.
            counts = poisson(np.roll(lead_rates(n_targets), RIVAL), horizon, 1, seed)[0]
    return np.roll(counts, target, axis=1)


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
