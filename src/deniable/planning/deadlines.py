"""What a deadline on visits takes with each mechanism: calculated where there is a formula, and simulated."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deniable.planning.assessment import NotCovered, Option, simulated_mechanism
from deniable.planning.requirements import Office
from deniable.planning.waits import VisitedShare, simulated_share
from deniable.promptness import Cost, Deadline, audits_needed, cost


@dataclass(frozen=True)
class DeadlineOption:
    """A mechanism under a deadline."""

    mechanism_id: str
    audits_needed: int | None
    """None where there is no formula, or the guarantee covers too few audits."""
    cost: Cost | None
    """With `DeadlineOptions.audits` a round; None where there is no formula."""
    alone: VisitedShare | None
    """Simulated with one report, and none about other targets, at a moment that has nothing to do with the audits."""
    anyway: VisitedShare | None
    """The same without any report."""
    usual: VisitedShare | None
    """The same with one report more than usual, while all targets get their usual reports."""


@dataclass(frozen=True)
class DeadlineOptions:
    deadline: Deadline
    audits: int
    """A round, with which the mechanisms are compared: those that race needs, or the office's where none are enough."""
    options: tuple[DeadlineOption, ...]


def assess_deadline(
    office: Office, deadline: Deadline, options: Sequence[Option | NotCovered], runs: int, seed: int = 0
) -> DeadlineOptions:
    """For every mechanism that covers the audits a round with which they are compared."""
    deadline.check_rules(office.rules, office.horizon)
    covered = [option for option in options if isinstance(option, Option)]
    needed = {option.mechanism_id: audits_needed(option.mechanism, deadline) for option in covered}
    audits = needed["race"] or office.audits
    quiet, usual = replace(office, audits=audits, reports_per_round=0.0), replace(office, audits=audits)

    def compared(option: Option) -> DeadlineOption:
        simulated, rounds = simulated_mechanism(office, option), deadline.rounds
        calculated = cost(option.mechanism, deadline, audits)
        without = calculated is not None
        return DeadlineOption(
            option.mechanism_id,
            needed[option.mechanism_id],
            calculated,
            None if without else simulated_share(simulated, quiet, rounds, 1, runs=runs, seed=seed),
            None if without else simulated_share(simulated, quiet, rounds, 0, runs=runs, seed=seed),
            simulated_share(simulated, usual, rounds, 1, runs=runs, seed=seed),
        )

    several = [option for option in covered if audits == 1 or option.mechanism.several_audits]
    return DeadlineOptions(deadline, audits, tuple(compared(option) for option in several))
