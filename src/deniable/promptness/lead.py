"""How far ahead a target must be to be audited at once, and what a few reports do to its chance at the next draw."""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from deniable.arrays import FloatArray, IntArray
from deniable.counters import DenseCounter, GaussianCounter
from deniable.errors import DeniableError
from deniable.mechanisms import CounterAuditing, Greedy, Mechanism, Race, RandomizedResponse
from deniable.normal import ndtr
from deniable.rounding import float_above
from deniable.rules import Rules

ERROR = 0.05
"""A lead is large enough where the leader is passed over in one round of twenty."""
MOST_LEAD = 2**40
SHARES = 500
_ROUNDING = 1e-12  # 1 - 19/20 is a little above 0.05


def passed_over(mechanism: Mechanism[Any], lead: int, audits: int = 1, others: int | None = None) -> float:
    """P[a target that `lead` reports have come in about is not audited in their round], given that the rules leave it
    free: it is not resting, and the longest gap claims no audit of the round. No other target has any reports.

    Exact for mechanisms that look at the counts alone and weigh all targets alike. For counter auditing it is an upper
    bound, in every round of a programme after the first `cooldown`, for a target about which nothing was reported
    before; that of drawing lots, whatever the lead, unless `bounds_lead`. If too few targets are left to keep the rest
    after an audit, it is an upper bound for all.

    `others` is how many others are not resting in this round, where that is known of a mechanism that looks at the
    counts alone; otherwise as many as once `cooldown` rounds are closed.

    >>> [round(passed_over(Race.calibrate(50, 0.1), 10, audits), 3) for audits in (1, 3)]
    [0.762, 0.436]
    """
    C = mechanism.n_targets
    if audits == C:
        return 0.0
    if isinstance(mechanism, CounterAuditing):
        return _passed_over_by_counters(mechanism, lead, audits, eligible_others(C, audits, mechanism.rules))
    if others is None:
        others = eligible_others(C, audits, mechanism.rules)
    return float(np.prod(_losing(others, audits, weight(mechanism, lead, others))))


def lead_needed(mechanism: Mechanism[Any], audits: int = 1, error: float = ERROR) -> int | None:
    """The fewest reports with which `passed_over` is at most `error`; None where no number is enough, or, unless
    `bounds_lead`, none is known to be.

    >>> [lead_needed(mechanism) for mechanism in (Greedy(50), Race.calibrate(50, 0.1))]
    [1, 26]
    >>> lead_needed(RandomizedResponse.calibrate(50, 0.1)) is None
    True
    """

    def enough(lead: int) -> bool:
        return passed_over(mechanism, lead, audits) <= error + _ROUNDING

    high = 1
    while not enough(high):
        high *= 2
        if high > MOST_LEAD:
            return None
    low = high // 2  # not enough, or 0
    if high == 1:
        return 0 if enough(0) else 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def is_bound(mechanism: Mechanism[Any], audits: int = 1) -> bool:
    """Whether `passed_over` and `lead_needed` are upper bounds, and not exact."""
    return isinstance(mechanism, CounterAuditing) or not keeps_rest(mechanism.n_targets, audits, mechanism.rules)


def bounds_lead(mechanism: Mechanism[Any], audits: int = 1) -> bool:
    """Whether `passed_over` falls as the lead grows, as far as the mechanism lets it. Nothing is proven about a lead in
    counter auditing with a longest gap, or where the rest may be cut short: in how many rounds the rules leave a target
    free is not known then.
    """
    C, rules = mechanism.n_targets, mechanism.rules
    is_free = rules.max_gap is None and keeps_rest(C, audits, rules)
    return is_free or audits == C or not isinstance(mechanism, CounterAuditing)


def decided_by_gap(n_targets: int, audits: int, rules: Rules) -> float:
    """The share of all audits, in the long run and at most, of targets in the last round of their longest gap.

    Whatever was reported, and whatever the mechanism: a run lasts C / k rounds on average, such a run max_gap, and any
    other cooldown + 1 at least.

    >>> round(decided_by_gap(50, 1, Rules(max_gap=60)), 2)
    0.83
    """
    if rules.max_gap is None:
        return 0.0
    shortest = rules.cooldown + 1 if keeps_rest(n_targets, audits, rules) else 1
    if rules.max_gap == shortest:
        return 1.0
    return min(1.0, (n_targets / audits - shortest) / (rules.max_gap - shortest))


def keeps_rest(n_targets: int, audits: int, rules: Rules) -> bool:
    """Whether there are enough targets for the rest after an audit never to be cut short."""
    return n_targets >= audits * (rules.cooldown + 1)


def eligible_others(n_targets: int, audits: int, rules: Rules) -> int:
    """How many others are not resting while the target is not, once `cooldown` rounds are closed.

    The audits of the last `cooldown` rounds were of different targets, and not of this one; without enough targets for
    that, there are at most the number given.
    """
    return n_targets - 1 - (audits * rules.cooldown if keeps_rest(n_targets, audits, rules) else 0)


def odds(mechanism: Mechanism[Any], reports: int, others: int) -> Fraction | None:
    """The chance of the target in a free draw as odds against one of the `others`, which have no reports; exact, and
    None where the target is certain to be drawn.

    Public weights are left aside: this is for equal ones.
    """
    match mechanism:
        case Greedy() if reports:
            return None
        case Race():
            first, grown = mechanism.growth.exact(np.array([0, reports])).tolist()
            return Fraction(grown, first)
        case RandomizedResponse() if reports:
            # The leader wins with 1 - p, or by lot: v / (v + others) is the same for this v.
            p = Fraction(mechanism.p_rand)
            return (1 - p) * (others + 1) / p + 1
    return Fraction(1)


def weight(mechanism: Mechanism[Any], reports: int, others: int) -> float:
    """`odds` as a float; inf where the target is certain to be drawn, or nearly."""
    exact = odds(mechanism, reports, others)
    return math.inf if exact is None else float_above(exact)


def _losing(others: int, draws: int, v: float) -> FloatArray:
    """P[the target loses] in each of these draws without replacement, given that it lost those before."""
    left = np.maximum(others - np.arange(draws, dtype=np.float64), 0)
    return left / (left + v) if math.isfinite(v) else np.zeros(draws)


def missed_with_claims(others: int, audits: int, v: float, most: int | None = None) -> FloatArray:
    """(k + 1,): P[the target is missed in a round] in which 0, 1, ..., k of the others must be audited; or at `most` so
    many.

    With d claims the target is missed if and only if k - d of the others - d without a claim are drawn before it.
    """
    claims = audits if most is None else most
    return np.array([np.prod(_losing(others - d, audits - d, v)) for d in range(claims + 1)])


def _passed_over_by_counters(mechanism: CounterAuditing[Any], lead: int, audits: int, others: int) -> float:
    """F (M / k) (q_H + (k / C) sum of q_a over g < a < H), q_a = Phi(-lead / sqrt(s_H**2 + s_a**2)), at most
    1 - k / (M + 1).

    s_a is the standard deviation of a noisy count in round a of a run, H the longest run, g the rest. The target's run
    is in round a with probability k / C, or since the beginning; what the target's own losses tell about its noise is
    left out, and those of the others make their noise smaller, since it is positively correlated. The target is not
    resting with probability 1 / F = (M + 1) / C.
    """
    if not isinstance(mechanism.counter, GaussianCounter) or _is_negatively_correlated(mechanism.counter):
        raise DeniableError(f"the lead is not known for your own counter, {type(mechanism.counter).__name__}")
    C = mechanism.n_targets
    by_lot = 1 - audits / (others + 1)
    if not bounds_lead(mechanism, audits):
        return by_lot
    std, last = _noise(mechanism.counter)
    above = ndtr(-lead / np.hypot(std[-1], std))
    rounds = np.diff(np.maximum(last - mechanism.rules.cooldown, 0), prepend=0)  # those of least noise left out
    later = max(0.0, float(rounds @ above - above[-1]))
    at_most = C / (others + 1) * others / audits * (float(above[-1]) + audits / C * later)
    return min(by_lot, at_most)


@lru_cache(maxsize=16)
def _is_negatively_correlated(counter: GaussianCounter) -> bool:
    """Whether the noise of two rounds of a run is, for which nothing is proven; that of other counters never is."""
    if not isinstance(counter, DenseCounter):
        return False
    decoder = counter.factorization.grid_decoder
    return bool((decoder @ decoder.T).min() < 0)


@lru_cache(maxsize=16)
def _noise(counter: GaussianCounter) -> tuple[FloatArray, IntArray]:
    """The standard deviations of a noisy count in the rounds of a run, increasing, and in how many rounds it is that or
    less.

    Of long runs some hundred, each standing for those a little below it.
    """
    std = np.sort(counter.error_std())
    last = np.arange(1, len(std) + 1)
    if len(std) > SHARES:
        last = np.unique(np.rint(np.geomspace(1, len(std), SHARES)).astype(np.int64))
    return std[last - 1], last


FEW_REPORTS = (0, 1, 2, 3, 5, 10)
"""The numbers of reports for which it is told, none first."""
_ROUNDED_OFF = 1e-9
"""Of a percentage: more than floating point comes to."""
LIKE_LOTS = 2
"""A plan is close to drawing lots where the last of them does not multiply the odds of a visit by this."""


def chance_of_visit(mechanism: Mechanism[Any], reports: int, audits: int = 1) -> float:
    """In the round in which the reports come in, if the rules leave the target and the audit free, and while no other
    target has any reports; a lower bound where `is_bound`, and that of drawing lots unless `bounds_lead`.
    """
    return 1 - passed_over(mechanism, reports, audits)


def is_like_lots(mechanism: Mechanism[Any], audits: int = 1, most: int = FEW_REPORTS[-1]) -> bool:
    """Whether so few reports, `most` of which count, hardly change the odds of a visit, as far as is proven.

    >>> from deniable.mechanisms import Race
    >>> [is_like_lots(Race.calibrate(50, delta)) for delta in (0.01, 0.1)]
    [True, False]
    """
    without, many = (chance_of_visit(mechanism, n, audits) for n in (0, most))
    return many < 1 and many / (1 - many) < LIKE_LOTS * without / (1 - without)


def in_per_cent(chance: float) -> str:
    """Rounded down, to two digits at least.

    >>> [in_per_cent(chance) for chance in (0.4718, 0.0262, 0.02, 0.000_193, 1.0)]
    ['47.1 %', '2.6 %', '2 %', '0.019 %', '100 %']
    """
    if chance >= 1:
        return "100 %"
    hundredths = 100 * chance + _ROUNDED_OFF
    places = max(1, min(9, 1 - math.floor(math.log10(hundredths))))
    shown = f"{math.floor(hundredths * 10**places) / 10**places:.{places}f}"
    return f"{shown.rstrip('0').rstrip('.')} %"
