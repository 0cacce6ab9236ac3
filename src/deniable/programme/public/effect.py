"""What a report achieves: the chance that the next draw selects its target, and the wait until it is selected.

Calculated from the public rules for a quiet time, in which nothing is reported about any other target.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from deniable.mechanisms.race import Race
from deniable.programme.calendar import Calendar
from deniable.programme.parameters import Parameters
from deniable.programme.public.suspicion import filed_in, sure_at_most
from deniable.promptness import QuietWait, passed_over, quick_waits
from deniable.report_classes import ReportClass

REPORTS = (1, 3, 10)
"""The numbers of reports for which it is told, where there is one class."""


@dataclass(frozen=True)
class Effect:
    """Of so many reports about one target."""

    reports: str
    chance: str
    """In one draw, at least: '26 in 1,000'."""
    wait: str
    """On average, from the reports to the draw that selects their target: 'about 266 days (38 rounds)'."""
    risk: str
    """How sure a boss who was 50 % sure can become at most, if one person filed these reports: '57 %'; empty without
    reports.
    """


def effects(parameters: Parameters, n_targets: int) -> tuple[Effect, ...]:
    """First without any report, then with some; nothing where there is no formula: for counter auditing, and for draws
    with weights.
    """
    if parameters.mechanism != "race" or parameters.weights is not None:
        return ()
    race, audits, filed = replace(parameters.built(), n_targets=n_targets), parameters.audits, _filed(parameters)
    assert isinstance(race, Race)
    waits = quick_waits(race, audits, tuple(one.weight for one in filed))
    assert waits is not None
    chances = chances_in_words([1 - passed_over(race, wait.reports, audits) for wait in waits])
    return tuple(
        Effect(one.label, chance, _wait(parameters.calendar, wait), one.risk)
        for one, chance, wait in zip(filed, chances, waits, strict=True)
    )


def chances_in_words(chances: Sequence[float]) -> list[str]:
    """Rounded down, and all of them out of the same number, with two digits at least.

    >>> chances_in_words([0.02, 0.0262, 0.2381]), chances_in_words([0.5, 1.0])
    (['20 in 1,000', '26 in 1,000', '238 in 1,000'], ['50 in 100', '100 in 100'])
    """
    of = 100
    while min(chances) * of < 20 - _ROUNDING:
        of *= 10
    return [f"{math.floor(chance * of + _ROUNDING):,} in {of:,}" for chance in chances]


_ROUNDING = 1e-9
"""More than floating point comes to."""


class _Counted(NamedTuple):
    label: str
    weight: int
    """What it comes to in the draw."""
    risk: str


def _filed(parameters: Parameters) -> list[_Counted]:
    """What is told: one report of each class, or some reports in one round."""
    told = [_Counted("no report", 0, "")]
    if len(parameters.classes) > 1:
        return told + [_counted(parameters, one, 1) for one in parameters.classes if one.weight is not None]
    most = parameters.most_counted or max(REPORTS)
    return told + [_counted(parameters, parameters.classes[0], number) for number in REPORTS if number <= most]


def _counted(parameters: Parameters, one: ReportClass, number: int) -> _Counted:
    filed = filed_in(parameters, one, number)
    return _Counted(
        filed.label, number * (one.weight or 1), sure_at_most(filed.audits) if filed.audits is not None else ""
    )


def _wait(calendar: Calendar, wait: QuietWait) -> str:
    days = calendar.length(wait.rounds).removeprefix("about ")
    rounds = str(wait).lstrip("≤~ ")
    about = "at most" if wait.kind == "at most" else "about"
    return f"{about} {days} ({rounds} {'round' if rounds == '1' else 'rounds'})"
