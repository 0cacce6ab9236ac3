"""How long a target with reports waits for its audit while no other target has any."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from deniable.arrays import FloatArray
from deniable.mechanisms import CounterAuditing, Mechanism
from deniable.promptness.gap import chain_size, estimate_size, estimated_rounds, exact_rounds, is_out_of_reach
from deniable.promptness.lead import eligible_others, keeps_rest, missed_with_claims, weight

REPORTS = (1, 3, 5, 10, 30)
"""The numbers of reports for which waits are shown."""
LARGEST_CHAIN = 10**7
"""Beyond it the exact calculation for a page would take seconds."""
LARGEST_ESTIMATE = 2 * 10**6
"""Beyond it, in rounds of the longest gap times audits a round times targets, an estimate would take a second."""
SLOWEST_ESTIMATE = 10**8
"""Beyond it, in what `estimate_size` counts, there is none."""

OFF, OFF_AT_WORST = 5, 15
"""How far an estimate may be off, in per cent: usually, and where max_gap is below 1.2 C / k, the least being C / k.

Measured: the largest difference from the exact figures where both can be calculated.
"""

Kind = Literal["exact", "at most", "about"]


@dataclass(frozen=True)
class QuietWait:
    """Rounds until a target with so many reports is audited, on average over the moments when they may all come in, in
    the long run and while no other target has any; 1 is the round they come in.
    """

    reports: int
    rounds: float
    kind: Kind
    """`about` may be off by OFF, or OFF_AT_WORST."""

    @property
    def figure(self) -> str:
        """Rounded for readers: '38', '4.2'."""
        places = 1 if self.rounds < 9.95 else 0
        scaled = self.rounds * 10**places
        shown = (math.ceil(scaled - 1e-9) if self.kind == "at most" else round(scaled)) / 10**places
        return f"{shown:,.{places}f}".removesuffix(".0")

    def __str__(self) -> str:
        """As it is printed: '38', '4.2', '≤ 17', '~ 3.1'.

        >>> str(QuietWait(3, 22.62, "exact")), str(QuietWait(3, 4.04, "at most")), str(QuietWait(3, 1.0, "about"))
        ('23', '≤ 4.1', '~ 1')
        """
        return {"exact": "", "at most": "≤ ", "about": "~ "}[self.kind] + self.figure


@lru_cache(maxsize=64)
def quiet_waits(
    mechanism: Mechanism[Any], audits: int = 1, reports: tuple[int, ...] = REPORTS
) -> tuple[QuietWait, ...] | None:
    """One for each number of reports; None for counter auditing without a longest gap, which has no formula.

    Public weights are left aside: the waits are those with equal ones.

    >>> from deniable.mechanisms import Race
    >>> from deniable.rules import Rules
    >>> [str(wait) for wait in quiet_waits(Race.calibrate(50, 0.1))]
    ['38', '23', '14', '4.2', '1']
    >>> [str(wait) for wait in quiet_waits(Race.calibrate(50, 0.1, rules=Rules(max_gap=60)))]
    ['28', '25', '21', '11', '3']
    """
    C, rules = mechanism.n_targets, mechanism.rules
    if audits == C:
        return tuple(QuietWait(n, 1.0, "exact") for n in reports)
    is_counter = isinstance(mechanism, CounterAuditing)
    if rules.max_gap is not None and (is_counter or not keeps_rest(C, audits, rules)):
        return tuple(QuietWait(n, _left_of_gap(C, audits, rules.max_gap), "at most") for n in reports)
    if is_counter:
        return None
    others, claims = eligible_others(C, audits, rules), 0
    if rules.max_gap is not None and not is_out_of_reach(C, audits, rules.max_gap, rules.cooldown):
        if is_too_large(C, audits, rules.max_gap):
            return tuple(QuietWait(n, _left_of_gap(C, audits, rules.max_gap), "at most") for n in reports)
        claims = audits
    weights = [weight(mechanism, n, others) for n in reports]
    missed = np.stack([missed_with_claims(others, audits, v, claims) for v in weights], axis=1)
    kind, rounds = _rounds(C, audits, rules.max_gap, rules.cooldown, missed)
    return tuple(QuietWait(n, float(mean), kind) for n, mean in zip(reports, rounds, strict=True))


def is_too_large(n_targets: int, audits: int, max_gap: int) -> bool:
    """Whether what a longest gap does to the wait can be neither calculated nor estimated while a person waits."""
    return estimate_size(n_targets, audits, max_gap) > SLOWEST_ESTIMATE


def quick_waits(
    mechanism: Mechanism[Any], audits: int = 1, reports: tuple[int, ...] = REPORTS
) -> tuple[QuietWait, ...] | None:
    """The same, at once: an upper bound where an estimate would take long.

    >>> from deniable.mechanisms import Race
    >>> from deniable.rules import Rules
    >>> [str(wait) for wait in quick_waits(Race.calibrate(10**6, 0.1, rules=Rules(max_gap=1500)), 1000)][:2]
    ['≤ 1,001', '≤ 1,001']
    """
    C, rules = mechanism.n_targets, mechanism.rules
    L = rules.max_gap
    if L is None or L * audits * C <= LARGEST_ESTIMATE or not keeps_rest(C, audits, rules):
        return quiet_waits(mechanism, audits, reports)
    if not isinstance(mechanism, CounterAuditing) and is_out_of_reach(C, audits, L, rules.cooldown):
        return quiet_waits(mechanism, audits, reports)
    return tuple(QuietWait(n, _left_of_gap(C, audits, L), "at most") for n in reports)


def _left_of_gap(C: int, k: int, max_gap: int) -> float:
    """The rounds that are left of a target's longest gap at any moment, on average and at most, whatever the mechanism.

    Runs last C / k rounds on average, so at a moment drawn by lot (C / k - 1) / 2 or more of one have passed.
    """
    return max_gap - (C / k - 1) / 2


def _rounds(C: int, k: int, max_gap: int | None, cooldown: int, missed: FloatArray) -> tuple[Kind, FloatArray]:
    """`missed` is (k + 1, N), by `missed_with_claims`, or its first row where no claims can be."""
    free = 1 / (1 - missed[0])
    if k * (cooldown + 1) > C:
        # It rests `cooldown` rounds at most, and every draw after that is no worse than with all others in it.
        return "at most", cooldown + free
    # k targets begin to rest in every round, so one in C / k is in each round of its rest.
    resting = k / C * cooldown
    rest = resting * (cooldown + 1) / 2
    if max_gap is None or is_out_of_reach(C, k, max_gap, cooldown):
        return "exact", rest + free
    if chain_size(C, k, max_gap) > LARGEST_CHAIN:
        return "about", estimated_rounds(C, k, max_gap, cooldown, missed)
    awake, just_awake = exact_rounds(C, k, max_gap, cooldown, missed)
    return "exact", rest + resting * just_awake + (1 - resting) * awake
