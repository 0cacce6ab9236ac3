"""Deadlines: how probable a visit is within some rounds of a report, and what it takes (docs/explanation/deadlines.md).

All figures are about one target that gets a report while no other target has any. They count from the round in which
the report comes in, and the target was audited in the round before: its rest, if there is one, has just begun, and its
longest gap is of no help. What is meant to be enough is rounded down, what it costs is rounded up.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import islice
from typing import Any, Literal

import numpy as np

from deniable.errors import DeniableError, check_whole
from deniable.mechanisms import CounterAuditing, Mechanism
from deniable.promptness.gap import chain_size, is_out_of_reach, law_of_claims, still_waiting
from deniable.promptness.lead import eligible_others, keeps_rest, missed_with_claims, odds, weight
from deniable.promptness.waits import LARGEST_CHAIN
from deniable.rounding import DOWN, UP, decimal, float_above, float_below, power, written_above
from deniable.rules import Rules

_CHAIN_ERROR = 1e-9
"""More than the rounding of the floating-point chain comes to."""


@dataclass(frozen=True)
class Deadline:
    """One report is to lead to a visit within `rounds` rounds, the one it comes in included, with this probability."""

    rounds: int
    probability: float = 0.9

    def __post_init__(self) -> None:
        object.__setattr__(self, "rounds", check_whole("deadline", self.rounds, least=1))
        object.__setattr__(self, "probability", float(self.probability))
        if not 0 < self.probability < 1:
            raise DeniableError(
                f"probability must be more than 0 and less than 1, got {self.probability:g}; for a visit that is "
                "certain, give max_gap in place of a deadline"
            )

    def check_rules(self, rules: Rules, horizon: int | None) -> None:
        """Refuse a deadline that the rules or the horizon leave no room for."""
        if self.rounds <= rules.cooldown and (rules.max_gap is None or rules.max_gap > self.rounds):
            raise DeniableError(
                f"deadline must be longer than the rest after an audit, {rules.cooldown} rounds, got {self.rounds}: a "
                "target that was audited just before a report would still rest when the deadline is over"
            )
        if horizon is not None and self.rounds > horizon:
            raise DeniableError(f"deadline must be within the horizon of {horizon:,} rounds, got {self.rounds}")


Kind = Literal["exact", "at least", "about"]


@dataclass(frozen=True)
class VisitChance:
    """The probability of a visit by the deadline: at least `low` and at most `high`, which differ by rounding alone
    where it is exact.
    """

    low: float
    high: float
    kind: Kind = "exact"
    """`at least` where a rest may be cut short; `about` where a longest gap is above the deadline, and there are too
    many targets to follow them exactly.
    """


CERTAIN = VisitChance(1.0, 1.0)


@dataclass(frozen=True)
class Cost:
    """What a deadline costs with so many audits a round."""

    audits: int
    visited: VisitChance
    """With one report."""
    anyway: VisitChance
    """Without any report."""

    @property
    def forced_delta(self) -> float:
        """The delta of a promise under which a report could make the visit certain, at least: 1 - P[visited anyway].
        An estimate where `anyway` is one, and 0 where it is a lower limit.
        """
        return float_below(1 - Fraction(self.anyway.high))


def visit_chance(mechanism: Mechanism[Any], rounds: int, audits: int = 1, reports: int = 1) -> VisitChance | None:
    """The probability of a visit within so many rounds; None for counter auditing, which has no formula.

    Public weights are left aside: the probability is that with equal ones.

    >>> from deniable.mechanisms import Race
    >>> race = Race.calibrate(50, 0.1)
    >>> [round(visit_chance(race, 13, audits, reports).low, 4) for audits in (1, 8) for reports in (1, 0)]
    [0.291, 0.231, 0.9485, 0.8963]
    """
    C, rules = mechanism.n_targets, mechanism.rules
    if audits == C or (rules.max_gap is not None and rules.max_gap <= rounds):
        return CERTAIN
    if isinstance(mechanism, CounterAuditing):
        return None
    draws = rounds - rules.cooldown
    if draws <= 0:
        return VisitChance(0.0, 0.0) if keeps_rest(C, audits, rules) else VisitChance(0.0, 1.0, "at least")
    if rules.max_gap is not None:
        return _with_claims(mechanism, draws, audits, reports)
    return _free(mechanism, draws, audits, reports)


def audits_needed(mechanism: Mechanism[Any], deadline: Deadline) -> int | None:
    """The fewest audits a round with which one report meets the deadline; an estimate where `visit_chance` is one.

    None where there is no formula, or where the guarantee covers one audit a round and that is not enough.

    >>> from deniable.mechanisms import Race
    >>> audits_needed(Race.calibrate(50, 0.1), Deadline(13))
    7
    """
    asked, C, rules = written_above(deadline.probability), mechanism.n_targets, mechanism.rules

    def enough(audits: int) -> bool:
        chance = visit_chance(mechanism, deadline.rounds, audits)
        return chance is not None and Fraction(chance.low) >= asked

    least = 1 if rules.max_gap is None else -(-C // rules.max_gap)
    if not mechanism.several_audits:
        return 1 if least == 1 and enough(1) else None
    if isinstance(mechanism, CounterAuditing) and not enough(least):
        return None
    # Chances grow with the audits, up to where a rest may be cut short, and from there on again.
    kept = C // (rules.cooldown + 1)
    for numbers in (range(least, kept + 1), range(max(least, kept + 1), C + 1)):
        if numbers and enough(numbers[-1]):
            return _first(numbers, enough)
    return None


def cost(mechanism: Mechanism[Any], deadline: Deadline, audits: int) -> Cost | None:
    """What the deadline costs with so many audits a round; None for counter auditing, which has no formula."""
    visited = visit_chance(mechanism, deadline.rounds, audits)
    anyway = visit_chance(mechanism, deadline.rounds, audits, reports=0)
    return None if visited is None or anyway is None else Cost(audits, visited, anyway)


def least_visited_anyway(deadline: Deadline, delta: float) -> Fraction:
    """P - delta, at least 0: the share of the targets without a report that any mechanism with this delta visits within
    the deadline, at least, if it is to keep it for every target.
    """
    return max(Fraction(0), Fraction(repr(deadline.probability)) - Fraction(delta))


def least_audits(n_targets: int, deadline: Deadline, delta: float) -> int:
    """The audits a round that any mechanism with this delta needs, at least: C (P - delta) / D.

    >>> least_audits(50, Deadline(13), 0.1)
    4
    """
    return max(1, math.ceil(n_targets * least_visited_anyway(deadline, delta) / deadline.rounds))


def audits_for_certainty(n_targets: int, deadline: Deadline) -> int:
    """C / D, rounded up: the audits a round that a longest gap of the deadline needs."""
    return -(-n_targets // deadline.rounds)


def _first(numbers: range, enough: Callable[[int], bool]) -> int:
    """The first that is enough; the last one is, and so are all after the first."""
    low, high = -1, len(numbers) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(numbers[middle]) else (middle, high)
    return numbers[high]


@lru_cache(maxsize=256)
def _free(mechanism: Mechanism[Any], draws: int, audits: int, reports: int) -> VisitChance:
    """Rounds alike and independent: 1 - missed**draws."""
    others = eligible_others(mechanism.n_targets, audits, mechanism.rules)
    v = odds(mechanism, reports, others)
    if v is None:
        return CERTAIN
    losing = [Fraction(others - j) / (others - j + v) for j in range(audits)]
    most = power(UP, _product(UP, (decimal(UP, p) for p in losing)), draws)
    least = power(DOWN, _product(DOWN, (decimal(DOWN, p) for p in losing)), draws)
    low, high = float_below(1 - Fraction(most)), float_above(1 - Fraction(least))
    exact = keeps_rest(mechanism.n_targets, audits, mechanism.rules)
    return VisitChance(low, high) if exact else VisitChance(low, 1.0, "at least")


@lru_cache(maxsize=256)
def _with_claims(mechanism: Mechanism[Any], draws: int, audits: int, reports: int) -> VisitChance:
    """With a longest gap beyond the deadline, which claims audits for other targets: in the long run."""
    C, rules = mechanism.n_targets, mechanism.rules
    L, g = rules.max_gap, rules.cooldown
    assert L is not None
    if not keeps_rest(C, audits, rules):
        return VisitChance(0.0, 1.0, "at least")
    others = eligible_others(C, audits, rules)
    missed = missed_with_claims(others, audits, weight(mechanism, reports, others))
    if is_out_of_reach(C, audits, L, g):
        estimate = 1 - float(missed[0]) ** draws
    elif chain_size(C, audits, L) > LARGEST_CHAIN:
        estimate = 1 - float(law_of_claims(C, audits, L, g) @ missed) ** draws
    else:
        waiting = still_waiting(C, audits, L, g, missed[:, np.newaxis], starts=2)
        chance = 1 - float(next(islice(waiting, draws, None))[-1, 0])
        return VisitChance(max(0.0, chance - _CHAIN_ERROR), min(1.0, chance + _CHAIN_ERROR))
    return VisitChance(estimate, estimate, "about")


def _product(context: Any, factors: Iterable[Decimal]) -> Decimal:
    return reduce(context.multiply, factors, Decimal(1))
