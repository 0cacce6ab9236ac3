"""How far ahead a target must be to be audited, by formulas."""

from typing import Any

from deniable.counters import GaussianCounter
from deniable.mechanisms import CounterAuditing, Greedy, Mechanism, Race, RandomizedResponse
from deniable.utility import (
    operational_error_bound,
    operational_gap_needed,
    race_gap_needed,
    race_static_error,
    rr_error,
    uniform_error,
)

ERROR = 0.05
"""A lead is large enough where the leader is passed over in one round of twenty."""


def error_bound(mechanism: Mechanism[Any], gap: float, audits: int = 1) -> float:
    """P[the leader is not audited] where it is ahead of all other targets by `gap` reports, the counts held fixed.

    Rules are left aside: the leader is one that may be audited. Exact for one audit a round with count mechanisms,
    an upper bound for several. For counters it bounds a comparison of fixed runs, as long as they may become; the
    noise of a target that has long been passed over is not like that of a fixed run, so it is a guide there.
    """
    C = mechanism.n_targets
    if audits == C:
        return 0.0
    match mechanism:
        case Race():
            error = race_static_error(min(gap, mechanism.growth.longest), C, mechanism.rho)
        case CounterAuditing():
            return min(1.0, operational_error_bound(gap, C, _noise_std(mechanism)))
        case RandomizedResponse() if gap > 0:
            error = rr_error(mechanism.p_rand, C)
        case Greedy() if gap > 0:
            error = 0.0
        case _:
            error = 1.0
    # These prefer no smaller count, so a leader is chosen at least as often as by lot.
    return min(error, uniform_error(C, audits))


def lead_needed(mechanism: Mechanism[Any], audits: int = 1, error: float = ERROR) -> float | None:
    """The smallest gap with `error_bound` at most `error`, in reports; None where there is none.

    >>> lead_needed(Greedy(50)), lead_needed(RandomizedResponse.calibrate(50, 0.1))
    (1.0, None)
    """
    if error_bound(mechanism, 0, audits) <= error + 1e-12:  # 1 - 19/20 is a little above 0.05
        return 0.0
    match mechanism:
        case Race():
            gap = race_gap_needed(error, mechanism.n_targets, mechanism.rho)
            return gap if gap <= mechanism.growth.longest else None
        case CounterAuditing():
            return operational_gap_needed(error, mechanism.n_targets, _noise_std(mechanism))
    return 1.0 if error_bound(mechanism, 1, audits) <= error else None


def _noise_std(mechanism: CounterAuditing[Any]) -> float:
    """The standard deviation of a noisy count in the round of a run where it is largest, in reports."""
    assert isinstance(mechanism.counter, GaussianCounter)  # as all are that have an id
    return mechanism.counter.max_error
