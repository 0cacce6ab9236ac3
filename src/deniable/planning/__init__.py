"""What each mechanism would promise an audit office, how well its audits would follow the reports, and which to choose.

The promises and the lead needed are formulas; the waits are simulated.
"""

from deniable.planning.advice import advice, figure, rounded_up
from deniable.planning.assessment import EXTRA_REPORTS, OTHER_COUNTERS, PLANNED, NotCovered, Option, assess
from deniable.planning.lead import error_bound, lead_needed
from deniable.planning.office import Office
from deniable.planning.waits import Wait

__all__ = [
    "EXTRA_REPORTS",
    "OTHER_COUNTERS",
    "PLANNED",
    "NotCovered",
    "Office",
    "Option",
    "Wait",
    "advice",
    "assess",
    "error_bound",
    "figure",
    "lead_needed",
    "rounded_up",
]
