"""What each mechanism would promise an office, and how well its audits would follow the reports."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from deniable.calibration import delta_for_person, gaussian_delta_for_person, race_delta_for_person
from deniable.errors import DeniableError, check_whole
from deniable.guarantee import Guarantee
from deniable.mechanisms import Mechanism, calibrate
from deniable.planning.requirements import Office
from deniable.planning.waits import Wait, simulated_waits
from deniable.promptness import REPORTS, QuietWait, lead_needed, quiet_waits
from deniable.rounding import float_above

PLANNED = ("greedy", "race", "tca", "rr", "uniform")
OTHER_COUNTERS = ("counter:blt", "counter:tree", "counter:input_perturbation", "counter:output_perturbation")


@dataclass(frozen=True)
class Option:
    """A mechanism that the office may choose."""

    mechanism_id: str
    mechanism: Mechanism[Any]
    person: Guarantee
    """The guarantee for `Office.reports_per_person` reports."""
    lead_needed: int | None
    """`deniable.promptness.lead_needed`."""
    quiet_waits: tuple[QuietWait, ...] | None
    """While no other target has reports, for the numbers of `deniable.promptness.REPORTS`; None for counters without a
    max_gap.
    """
    waits: tuple[Wait, ...]
    """With the usual reports."""

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one report."""
        return self.mechanism.guarantee()

    @property
    def worst_case(self) -> float:
        """The most an observer's suspicion of one report can grow to, from 50 %.

        That is after the most revealing course of the audits; `Guarantee.advantage` is the average over all courses.
        """
        cap = self.guarantee.likelihood_cap
        return 1.0 if math.isinf(cap) else float_above(1 - 1 / (1 + Fraction(cap)))

    def wait(self, extra_reports: int) -> Wait:
        return next(wait for wait in self.waits if wait.extra_reports == extra_reports)


@dataclass(frozen=True)
class NotCovered:
    """A mechanism that cannot promise what the office asks for."""

    mechanism_id: str
    reason: str


def assess(
    office: Office, mechanism_id: str, extra_reports: Sequence[int] = REPORTS, runs: int = 200, seed: int = 0
) -> Option | NotCovered:
    """What this mechanism offers the office. The same seed gives the same reports to every mechanism.

    >>> race = assess(Office(n_targets=50, delta=0.1), "race", extra_reports=[10], runs=20)
    >>> race.lead_needed, round(race.person.advantage, 4)
    (26, 0.1464)
    >>> assess(Office(n_targets=50, delta=0.1, audits=2), "rr").reason
    'its promise is proven for one audit a round'
    """
    check_whole("runs", runs, least=2)
    try:
        mechanism = _calibrated(office, mechanism_id)
    except DeniableError as error:
        return NotCovered(mechanism_id, str(error))
    if office.audits > 1 and not mechanism.several_audits:
        return NotCovered(mechanism_id, "its promise is proven for one audit a round")
    option = Option(
        mechanism_id,
        mechanism,
        mechanism.guarantee().for_reports(office.reports_per_person),
        lead_needed(mechanism, office.audits),
        quiet_waits(mechanism, office.audits),
        waits=(),
    )
    waits = simulated_waits(simulated_mechanism(office, option), office, extra_reports, runs, seed)
    return replace(option, waits=waits)


def simulated_mechanism(office: Office, option: Option) -> Mechanism[Any]:
    """The BLT counter stands in for the Toeplitz one: its noise is the same within 0.05 %, and needs no history."""
    stands_in = option.mechanism_id in ("tca", "counter:toeplitz")
    return _calibrated(office, "counter:blt") if stands_in else option.mechanism


def _calibrated(office: Office, mechanism_id: str) -> Mechanism[Any]:
    delta = office.delta
    if delta is None:
        for_person = delta_for_person
        if mechanism_id == "race":
            for_person = race_delta_for_person
        elif mechanism_id.startswith(("tca", "counter:")):
            for_person = gaussian_delta_for_person
        assert office.advantage is not None
        delta = for_person(office.advantage, office.reports_per_person)
    return calibrate(mechanism_id, office.n_targets, delta, office.horizon, rules=office.rules)
