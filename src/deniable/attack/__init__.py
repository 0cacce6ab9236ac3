"""What a transcript really leaks: the distinguishing game, exact for small cases and played for others."""

from deniable.attack.adversaries import Adversary, BlackBox, ClosedForm, Enumeration, Particles, Score, strongest
from deniable.attack.exact import likelihood_ratio, total_variation, transcript_distribution
from deniable.attack.game import find_worst, play, search
from deniable.attack.pairs import (
    EVERYTHING,
    OWN_TARGET,
    Pair,
    View,
    hard_pairs,
    moved_pairs,
    moved_report,
    report_at,
    rivals_needed,
)
from deniable.attack.result import LeakEstimate, Result
from deniable.errors import UnsuitableError

__all__ = [
    "EVERYTHING",
    "OWN_TARGET",
    "Adversary",
    "BlackBox",
    "ClosedForm",
    "Enumeration",
    "LeakEstimate",
    "Pair",
    "Particles",
    "Result",
    "Score",
    "UnsuitableError",
    "View",
    "find_worst",
    "hard_pairs",
    "likelihood_ratio",
    "moved_pairs",
    "moved_report",
    "play",
    "report_at",
    "rivals_needed",
    "search",
    "strongest",
    "total_variation",
    "transcript_distribution",
]
