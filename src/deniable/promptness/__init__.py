"""How promptly audits follow reports, by calculation: nothing here is simulated, and nothing is drawn.

All figures are about one target with reports while no other target has any, in a programme with its audits a round and
its rules. docs/explanation/promptness.md has the proofs.
"""

from deniable.promptness.deadlines import (
    Cost,
    Deadline,
    VisitChance,
    audits_for_certainty,
    audits_needed,
    cost,
    in_words,
    least_audits,
    least_visited_anyway,
    visit_chance,
)
from deniable.promptness.lead import decided_by_gap, is_bound, keeps_rest, lead_needed, passed_over
from deniable.promptness.least_lead import least_lead, most_chance
from deniable.promptness.waits import OFF, OFF_AT_WORST, REPORTS, QuietWait, quiet_waits

__all__ = [
    "OFF",
    "OFF_AT_WORST",
    "REPORTS",
    "Cost",
    "Deadline",
    "QuietWait",
    "VisitChance",
    "audits_for_certainty",
    "audits_needed",
    "cost",
    "decided_by_gap",
    "in_words",
    "is_bound",
    "keeps_rest",
    "lead_needed",
    "least_audits",
    "least_lead",
    "least_visited_anyway",
    "most_chance",
    "passed_over",
    "quiet_waits",
    "visit_chance",
]
