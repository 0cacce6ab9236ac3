"""From the advantage that a person's reports may give to the delta of one report."""

from decimal import ROUND_FLOOR

from deniable.calibration import gaussian_delta_for_person, race_delta_for_person
from deniable.errors import DeniableError
from deniable.mechanisms.counter_auditing import CounterAuditing
from deniable.mechanisms.race import Race
from deniable.rounding import as_written, nine_digits


def delta_for(advantage: float, reports_per_person: int, mechanism: str, horizon: int | None = None) -> float:
    """The largest delta of one report, to nine digits, with which all reports of one person taken together give at
    most this advantage (`rem:per-whistleblower`).

    `horizon` is for tca: its horizon, or its max_gap. That the mechanism's own guarantee keeps the advantage holds
    in floating point as well.

    >>> delta_for(0.05, 1, "race"), round(delta_for(0.05, 3, "race"), 4)
    (0.1, 0.0334)
    """
    if mechanism not in ("race", "tca"):
        raise DeniableError("mechanism must be race or tca, got {mechanism}", mechanism=mechanism)
    of_person = race_delta_for_person if mechanism == "race" else gaussian_delta_for_person
    delta = nine_digits(of_person(advantage, reports_per_person), ROUND_FLOOR)
    if reports_per_person == 1:
        delta = 2.0 * advantage  # exact, and a number that people recognise

    def reached(delta: float) -> float:
        built = Race.calibrate(2, delta) if mechanism == "race" else CounterAuditing.calibrate(2, delta, horizon)
        return built.guarantee().for_reports(reports_per_person).advantage

    while reached(delta) > as_written(advantage):
        delta *= 1 - 1e-12
    return delta
