"""The least lead with which any memoryless mechanism can keep a promise (proof: docs/explanation/least-lead.md).

A mechanism is *memoryless* if the chances of a round depend on the active counts alone, and *symmetric* if they do not
depend on the targets' names. Race with equal weights and randomized response are both; counter auditing is not
memoryless.

All that is returned here limits what is possible, so it is rounded towards "possible": chances up, leads down.
"""

import math
from decimal import Decimal
from fractions import Fraction

from deniable.calibration import race_rho
from deniable.errors import DeniableError, check_delta, check_whole
from deniable.promptness.lead import ERROR
from deniable.rounding import DOWN, UP, decimal, float_above, power, written_above

_ROOT_ROOM = Decimal("1e-30")
"""Relative room for the rounding of a root, which is checked afterwards."""
_BLOCK = 0.01
"""Small steps are taken together while the chance grows by no more than this share of itself."""


def most_chance(chance: float, delta: float, horizon: int | None = None) -> float:
    """q*(p), rounded up: the largest q with (1 - p)**t - (1 - q)**t <= delta for every whole t >= 1.

    One report more cannot raise a target's chance p in a round above this, if a memoryless mechanism keeps delta at
    every horizon; with a `horizon` only t up to that count.

    >>> round(most_chance(0.02, 0.1), 6), most_chance(0.95, 0.1)
    (0.026187, 1.0)
    """
    if not 0 < chance <= 1:
        raise DeniableError(f"chance must be above 0 and at most 1, got {chance}")
    climb = _Climb(written_above(check_delta(delta)), horizon)
    return min(1.0, float_above(1 - Fraction(climb.survival_after(decimal(DOWN, 1 - written_above(chance)), 1))))


def least_lead(
    n_targets: int,
    delta: float | Fraction,
    error: float = ERROR,
    *,
    audits: int = 1,
    reports: int = 1,
    horizon: int | None = None,
) -> int:
    """How far ahead a leader must be, at least, for any memoryless symmetric mechanism that keeps this delta and passes
    over the leader, or both of two leaders, in at most the share `error` of the rounds.

    Delta is about `reports` reports of one person, at every horizon or up to this one. Public rules are left aside.

    >>> least_lead(50, 0.1, 0.1), least_lead(50, 0.1, 0.01)
    (21, 30)
    """
    C, k = check_whole("n_targets", n_targets, least=2), check_whole("audits", audits, least=1)
    if k > C:
        raise DeniableError(f"audits must be at most the number of targets, {C}, got {k}")
    check_delta(float(delta))
    if not 0 < error < 1:
        raise DeniableError(f"error must be in (0, 1), got {error}")
    climb, e = _Climb(written_above(delta), horizon), written_above(error)
    steps = max(
        climb.steps(Fraction(k, C), 1 - e),  # the leader, from a tie of all
        climb.steps((k - 1 + e) / (C - 1), (1 - e) / 2),  # a loser, until there are two leaders
    )
    return check_whole("reports", reports, least=1) * (steps - 1) + 1 if steps else 0


class _Climb:
    """How fast a chance can grow, report by report. Instead of a chance p this works with the survival s = 1 - p."""

    def __init__(self, delta: Fraction, horizon: int | None) -> None:
        self._delta = decimal(UP, delta)
        rho = race_rho(min(max(float(delta), 1e-15), math.nextafter(1, 0)))  # any number would be safe
        self._best = math.log(rho) / (rho - 1)
        """-t ln s at the best t, if t need not be whole."""
        self._horizon = math.inf if horizon is None else check_whole("horizon", horizon, least=1)

    def steps(self, start: Fraction, goal: Fraction) -> int:
        """The reports after which a chance of `start` can have become `goal`, at least: the steps of q*, or fewer."""
        survival, end, steps = decimal(DOWN, 1 - start), decimal(UP, 1 - goal), 0
        while survival > end:
            together = self._together(survival)
            after = self.survival_after(survival, together)
            while after <= end and together > 1:
                together //= 2
                after = self.survival_after(survival, together)
            survival, steps = after, steps + together
        return steps

    def survival_after(self, survival: Decimal, steps: int) -> Decimal:
        """A lower bound after so many reports: s'**t >= s**t - steps * delta for every t, so any t gives one."""
        lost = UP.multiply(self._delta, Decimal(steps))
        return max(_root(DOWN.subtract(power(DOWN, survival, t), lost), t) for t in self._rounds(survival))

    def _rounds(self, survival: Decimal) -> tuple[int, ...]:
        """The whole t on both sides of the best one."""
        t = max(1, math.floor(min(self._best / _hazard(survival), self._horizon)))
        return (t,) if t >= self._horizon else (t, t + 1)

    def _together(self, survival: Decimal) -> int:
        """How many steps grow the hazard by the share _BLOCK, about; 1 where a step is larger."""
        x = _hazard(survival) * self._rounds(survival)[0]
        return max(1, math.floor(Fraction(math.exp(-x) * -math.expm1(-_BLOCK * x)) / Fraction(self._delta)))


def _hazard(survival: Decimal) -> float:
    """-ln s, to nearest."""
    return -math.log1p(float(DOWN.subtract(survival, Decimal(1)))) if survival else math.inf


def _root(value: Decimal, t: int) -> Decimal:
    """A number whose t-th power is not above the value, and nearly is the value; 0 for a value of 0 or less."""
    if value <= 0:
        return Decimal(0)
    root, room = DOWN.exp(DOWN.divide(DOWN.ln(value), Decimal(t))), _ROOT_ROOM
    while True:
        below = DOWN.multiply(root, DOWN.subtract(Decimal(1), room))
        if power(UP, below, t) <= value:
            return below
        room *= 2
