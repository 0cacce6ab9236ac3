"""What a result says: when what is proven is refuted."""

from dataclasses import replace

import deniable as dn
from deniable.attack import LeakEstimate, Result, hard_pairs, play
from deniable.attack.bounds import Event

RACE = dn.Race.calibrate(2, 0.1)


def test_each_reason_alone_is_enough_to_be_flagged() -> None:
    right = play(RACE, hard_pairs(2, 8)[0], 40)
    assert right.exact
    below = replace(right, exact=False)
    reasons: dict[str, Result] = {
        "exact": replace(right, leak=LeakEstimate(0.101, 0.0)),
        "curve, exactly": replace(below, above_curve=True),
        "cap": replace(below, largest_ratio=RACE.rho * (1 + 2e-9)),
        "event": replace(below, event=Event(0.7, 0.3, 0.55, 0.44)),
        "ratios": replace(below, ratio_bound=0.101),
        "curve": replace(below, telling=Event(0.03, 0.01, 0.028, 0.02)),  # 0.02 * 1.31 is less
    }
    assert not right.flagged
    assert not below.flagged
    assert not replace(below, leak=LeakEstimate(0.2, 0.1), largest_ratio=RACE.rho).flagged  # an estimate is no proof
    assert not replace(below, largest_ratio=None).flagged
    assert {name for name, result in reasons.items() if result.flagged} == set(reasons)
