"""Memoryless mechanisms of every kind, and streams that hold their counts: what one report gives away, exactly."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

import deniable as dn
from deniable.arrays import BoolArray, IntArray
from deniable.attack.exact import Audits, Round, law_of_run, total_variation
from deniable.curves import TotalVariation
from deniable.guarantee import Guarantee
from deniable.mechanisms import Mechanism
from deniable.mechanisms.base import CountMechanism
from deniable.mechanisms.race import GeometricGrowth
from deniable.noise import ExactNoise, Noise
from deniable.promptness import most_chance
from deniable.rules import History

Counts = tuple[int, ...]
Weigh = Callable[[int, Counts], int]
"""The weight of a target in the draw, from its count and from those of the others in ascending order."""


@dataclass(frozen=True)
class Memoryless(CountMechanism):
    """Whatever depends on the counts alone, and not on the names of the targets; it promises nothing."""

    weigh: Weigh

    def guarantee(self) -> Guarantee:
        return Guarantee(TotalVariation(1.0))

    def draw(self, tallied: IntArray, eligible: BoolArray, history: History, noise: Noise) -> IntArray:
        weights = [
            [self.weigh(own, tuple(sorted(row[:c] + row[c + 1 :]))) for c, own in enumerate(row)]
            for row in tallied.tolist()
        ]
        return noise.race(GeometricGrowth(2.0), np.zeros_like(tallied), np.array(weights))


def with_lead(n_targets: int, lead: int, error: Fraction, otherwise: Weigh) -> Memoryless:
    """Who leads by `lead` or more, alone or with others, is missed in just the share `error` of the rounds."""

    def weigh(own: int, rest: Counts) -> int:
        counts = (own, *rest)
        top = max(counts)
        leaders = counts.count(top)
        if leaders == n_targets or any(top - lead < n < top for n in counts):
            return otherwise(own, rest)
        missed, of = error.as_integer_ratio()
        return (of - missed) * (n_targets - leaders) if own == top else missed * leaders

    return Memoryless(n_targets, weigh)


def scattered(seed: int) -> Weigh:
    """Without any order."""

    @cache
    def weigh(own: int, rest: Counts) -> int:
        return random.Random(f"{seed} {own} {rest}").randint(1, 2**12)

    return weigh


def climbing(n_targets: int, delta: float) -> Weigh:
    """A target that alone has reports is as likely as q* allows, less one part in 2**40; all else is by lot."""
    chances = [1 / n_targets]

    def weigh(own: int, rest: Counts) -> int:
        counts = (own, *rest)
        if counts.count(0) != n_targets - 1:
            return 1
        while len(chances) <= max(counts):
            chances.append(most_chance(chances[-1], delta))
        leader = int(chances[max(counts)] * 2**40)
        return leader * (n_targets - 1) if own else 2**40 - leader

    return weigh


def climbs(n_targets: int, lead: int) -> Iterator[Counts]:
    """The counts before every report of the two climbs; target 0 climbs."""
    for n in range(lead):
        yield n, *[0] * (n_targets - 1)
    for n in range(lead):
        yield n, lead, *[0] * (n_targets - 2)


def one_more(held: Counts) -> Counts:
    return held[0] + 1, *held[1:]


@cache
def chance(mechanism: Mechanism[Any], held: Counts) -> Fraction:
    """Of target 0 in a round with these counts, by enumeration."""
    return law_of_run(partial(dn.AuditRun, mechanism), [holding(held)]).get(((0,),), Fraction(0))


def holding(held: Counts) -> Round:
    """The round in which what the last audit took away is reported again, except about target 0, which waits."""

    def one_round(run: dn.AuditRun, _: ExactNoise) -> tuple[dn.AuditRun, Audits]:
        active = run.active_counts()
        own = 0 if run.rounds else held[0]
        return run, run.select([own, *(n - m for n, m in zip(held[1:], active[1:], strict=True))])

    return one_round


def given_away(mechanism: Mechanism[Any], held: Counts, rounds: int) -> Fraction:
    """The total variation between all the transcripts of so many rounds, with a report more about target 0 and
    without.
    """
    laws = (
        law_of_run(partial(dn.AuditRun, mechanism), [holding(counts)] * rounds) for counts in (one_more(held), held)
    )
    return total_variation(*laws)


def quickest(mechanism: Mechanism[Any], delta: Fraction, lead: int, longest: int) -> tuple[Counts, int] | None:
    """Where on the climbs "audited within t rounds" gives away more than delta, with the least t."""
    for t in range(1, longest + 1):
        for held in climbs(mechanism.n_targets, lead):
            without, filed = chance(mechanism, held), chance(mechanism, one_more(held))
            if (1 - without) ** t - (1 - filed) ** t > delta:
                return held, t
    return None
