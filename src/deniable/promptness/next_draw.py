"""What a few reports do to a target's chance at the next draw."""

import math
from typing import Any

from deniable.mechanisms import Mechanism
from deniable.promptness.lead import passed_over

FEW_REPORTS = (0, 1, 2, 3, 5, 10)
"""The numbers of reports for which it is told, none first."""
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
    hundredths = 100 * chance + _ROUNDING
    places = max(1, min(9, 1 - math.floor(math.log10(hundredths))))
    shown = f"{math.floor(hundredths * 10**places) / 10**places:.{places}f}"
    return f"{shown.rstrip('0').rstrip('.')} %"


_ROUNDING = 1e-9
"""More than floating point comes to."""
