"""What is public about an audit programme before its mechanism is chosen."""

from dataclasses import dataclass

from deniable.errors import DeniableError, check_delta, check_whole
from deniable.promptness import least_lead
from deniable.rounding import written_above
from deniable.rules import NO_RULES, Rules

LONGEST_WAIT = 10_000
MOST_REPORTS = 1_000_000_000
MOST_TARGETS = 1_000_000_000


@dataclass(frozen=True)
class Office:
    """What is public about an audit programme before its mechanism is chosen.

    Either `delta`, the promise about one report, or `advantage`, the promise about all the reports of a person who
    files at most `reports_per_person`. `reports_per_round` are spread evenly over the targets, in the mean.
    """

    n_targets: int
    delta: float | None = None
    advantage: float | None = None
    horizon: int | None = None
    rules: Rules = NO_RULES
    audits: int = 1
    reports_per_round: float = 0.0
    reports_per_person: int = 3

    def __post_init__(self) -> None:
        C = check_whole("targets", self.n_targets, least=2)
        if C > MOST_TARGETS:
            raise DeniableError(f"targets must be at most {MOST_TARGETS:,}, got {C:,}")
        if (self.delta is None) == (self.advantage is None):
            raise DeniableError("give either delta, a promise about one report, or advantage, one about a person")
        if self.delta is not None:
            check_delta(self.delta)
        if self.advantage is not None and not 0 < self.advantage < 0.5:
            raise DeniableError(
                f"advantage must be more than 0 and less than 0.5, got {self.advantage}; 5 points in 100 is 0.05"
            )
        check_whole("reports_per_person", self.reports_per_person, least=1)
        if self.horizon is not None:
            check_whole("horizon", self.horizon, least=1)
        if check_whole("audits", self.audits, least=1) > C:
            raise DeniableError(f"audits must be at most the number of targets, {C}, got {self.audits}")
        self.rules.check_reach(C, self.audits)
        if not 0 <= self.reports_per_round <= MOST_REPORTS:
            raise DeniableError(
                f"reports_per_round must be between 0 and {MOST_REPORTS:,}, got {self.reports_per_round}"
            )

    @property
    def least_lead(self) -> int | None:
        """`deniable.promptness.least_lead` at the promise asked for; None with rules, for which it is not proven."""
        if self.rules != NO_RULES:
            return None
        if self.delta is not None:
            return least_lead(self.n_targets, self.delta, audits=self.audits, horizon=self.horizon)
        assert self.advantage is not None
        of_person, k = 2 * written_above(self.advantage), self.reports_per_person
        return least_lead(self.n_targets, of_person, audits=self.audits, reports=k, horizon=self.horizon)

    @property
    def warm_up(self) -> int:
        """Rounds simulated before the extra reports: two turns of all targets, at most half of the horizon."""
        turns = -(-2 * self.n_targets // self.audits)
        return turns if self.horizon is None else min(turns, self.horizon // 2)

    @property
    def longest_wait(self) -> int:
        """Rounds for which a simulated wait is followed."""
        return LONGEST_WAIT if self.horizon is None else min(LONGEST_WAIT, self.horizon - self.warm_up)
