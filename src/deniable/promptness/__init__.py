"""How promptly audits follow reports, by calculation: nothing here is simulated, and nothing is drawn.

All figures are about one target with reports while no other target has any, in a programme with its audits a round and
its rules. docs/explanation/promptness.md has the proofs.
"""

from deniable.promptness.deadline_words import deadline_in_words
from deniable.promptness.deadlines import (
    Cost,
    Deadline,
    VisitChance,
    audits_for_certainty,
    audits_needed,
    cost,
    least_audits,
    least_visited_anyway,
    visit_chance,
)
from deniable.promptness.lead import (
    FEW_REPORTS,
    bounds_lead,
    chance_of_visit,
    decided_by_gap,
    in_per_cent,
    is_bound,
    is_like_lots,
    keeps_rest,
    lead_needed,
    passed_over,
)
from deniable.promptness.least_lead import least_lead, most_chance
from deniable.promptness.waits import OFF, OFF_AT_WORST, REPORTS, QuietWait, is_too_large, quick_waits, quiet_waits

__all__ = [
    "FEW_REPORTS",
    "OFF",
    "OFF_AT_WORST",
    "REPORTS",
    "Cost",
    "Deadline",
    "QuietWait",
    "VisitChance",
    "audits_for_certainty",
    "audits_needed",
    "bounds_lead",
    "chance_of_visit",
    "cost",
    "deadline_in_words",
    "decided_by_gap",
    "in_per_cent",
    "is_bound",
    "is_like_lots",
    "is_too_large",
    "keeps_rest",
    "lead_needed",
    "least_audits",
    "least_lead",
    "least_visited_anyway",
    "most_chance",
    "passed_over",
    "quick_waits",
    "quiet_waits",
    "visit_chance",
]
