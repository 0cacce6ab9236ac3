"""What each mechanism would promise an audit office, how well its audits would follow the reports, and which to choose.

The promises are formulas, and how promptly audits follow reports is calculated in `deniable.promptness` where no other
target has any; with the usual reports it is simulated here.
"""

from deniable.planning.advice import advice, figure
from deniable.planning.assessment import OTHER_COUNTERS, PLANNED, NotCovered, Option, assess
from deniable.planning.deadlines import DeadlineOption, DeadlineOptions, assess_deadline
from deniable.planning.requirements import Office
from deniable.planning.waits import VisitedShare, Wait

__all__ = [
    "OTHER_COUNTERS",
    "PLANNED",
    "DeadlineOption",
    "DeadlineOptions",
    "NotCovered",
    "Office",
    "Option",
    "VisitedShare",
    "Wait",
    "advice",
    "assess",
    "assess_deadline",
    "figure",
]
