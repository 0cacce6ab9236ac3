"""The choices of a plan side by side: what each of them promises, and what reports then do."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from deniable.console.pages.plan_doubts import counted_reports, doubts, visit_in_per_cent
from deniable.console.pages.plan_form import PlanForm, decimal_of
from deniable.console.pages.plan_reading import read_form, settings_of
from deniable.errors import DeniableError
from deniable.guarantee import points_above_half
from deniable.languages.voice import Voice
from deniable.mechanisms import Mechanism
from deniable.programme.calendar import Calendar, rounds_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.guarantee_wording import LITTLE, level
from deniable.programme.public.suspicion import heaviest_class, per_cent, sure_at_most
from deniable.programme.public.visit_chances import wait_in_words
from deniable.promptness import (
    FEW_REPORTS,
    audits_needed,
    is_bound,
    is_too_large,
    quick_waits,
)
from deniable.rounding import rounded_up

FEW = 3
_DAYS = {"D": 1.0, "W": 7.0, "M": 365.2425 / 12}


@dataclass(frozen=True)
class Visit:
    """What so many reports about a target do, while no other target has any."""

    chance: str
    """Of a visit at the next draw: '2.6 %', 'at least 2 %'."""
    wait: str
    """Until the visit, on average, in the words of the promise: 'about 38 weeks'; empty where it cannot be calculated.
    """


@dataclass(frozen=True)
class Measures:
    """How much one promise gives away, in the measure that people read, and in those of experts."""

    sure: str
    """How sure a boss can become, at most, who was 50 % sure of all reports of one person that the promise is about:
    '57 %'; empty where there is no limit.
    """
    sure_of_one: str
    """The same about one report, of the heaviest class."""
    filed: str
    """The reports that the promise is about: '3 reports'."""
    is_several: bool
    """Whether these are more than one report, or of one class among others."""
    points: str
    """What watching adds to 50 right guesses of 100, at most and on average: '5'."""
    right: str
    """How many are right then: '55'."""
    delta: str
    """Of all these reports."""
    delta_of_one: str


def measures_of(parameters: Parameters, say: Voice) -> Measures:
    guarantee, most = parameters.guarantee(), heaviest_class(parameters)
    one, right = parameters.guarantee_of(most), points_above_half(guarantee.delta)
    return Measures(
        sure=per_cent(sure_at_most(guarantee), say) if guarantee.has_cap else "",
        sure_of_one="" if one is None or not one.has_cap else per_cent(sure_at_most(one), say),
        filed=_filed(parameters, say),
        is_several=parameters.reports_per_person > 1 or len(parameters.classes) > 1,
        points=say.figure(_written(float(right) - 50)),
        right=say.figure(right),
        delta=say.figure(rounded_up(guarantee.delta, digits=4)),
        delta_of_one=level(parameters, say),
    )


def _filed(parameters: Parameters, say: Voice) -> str:
    """All reports of one person that the promise is about."""
    number = parameters.reports_per_person
    if len(parameters.classes) == 1:
        return say.counted("{number} report", "{number} reports", number)
    name = heaviest_class(parameters).name
    return say.counted("{number} report of class {name}", "{number} reports of class {name}", number, name=name)


@dataclass(frozen=True)
class Choice:
    """A plan as one row of the table."""

    key: str
    """By which the form asks for it; empty for the plan that was entered."""
    title: str
    differs: str
    """In what it differs from the plan that was entered."""
    sure: str
    """As in `Measures`."""
    right: str
    every: str
    """'60 rounds (420 days)'; empty where a target may go without an audit for long."""
    a_year: str
    """Audits a year."""
    visits: tuple[Visit, ...]
    """For the numbers of FEW_REPORTS."""
    notes: tuple[str, ...]
    """What to beware of, in a few words."""

    @property
    def with_few(self) -> Visit:
        return self.visits[FEW_REPORTS.index(FEW)]

    @property
    def with_none(self) -> Visit:
        """Without which no reader could tell what the reports do, and what the plan does without any."""
        return self.visits[FEW_REPORTS.index(0)]


@dataclass(frozen=True)
class Comparison:
    mine: Choice
    """The plan that was entered, or begun."""
    others: tuple[Choice, ...]
    """Plans that differ from it in one choice."""
    reports: tuple[int, ...] = FEW_REPORTS
    few: int = FEW


def compared(form: PlanForm, parameters: Parameters, say: Voice) -> Comparison:
    """The plan on the form beside its neighbours."""
    others = []
    for key, neighbour in _neighbours(form, parameters).items():
        try:
            changed = planned(settings_of(neighbour))
        except DeniableError:
            continue  # no such plan
        if key == "weaker" and changed.guarantee().delta > LITTLE:
            continue  # it would not be worth telling reporters
        differs = _difference(key, form, neighbour, parameters.calendar, say)
        others.append(_choice(key, _title(key, neighbour, say), differs, changed, say))
    total = say.counted("{number} {target}", "{number} {targets}", len(parameters.targets))
    summary = say.counted(
        "{number} {audit} a round, {total}", "{number} {audits} a round, {total}", parameters.audits, total=total
    )
    return Comparison(_choice("", say("Your plan"), summary, parameters, say), tuple(others))


def alone(parameters: Parameters, say: Voice) -> Comparison:
    """The plan that was begun."""
    return Comparison(_choice("", say("This programme"), "", parameters, say), ())


def taken(form: PlanForm, key: str) -> PlanForm:
    """The form with the neighbour in the place of the plan; as it is, where there is no such neighbour."""
    try:
        return _neighbours(form, planned(settings_of(form)))[key]
    except (DeniableError, KeyError):
        return form


def planned(settings: Mapping[str, Any]) -> Parameters:
    """What is drawn afresh when it begins does not matter to what the plan means."""
    return Parameters(programme="0" * 32, public_key="0" * 64, commitment="0" * 64, **settings)


def _neighbours(form: PlanForm, parameters: Parameters) -> dict[str, PlanForm]:
    """The plans that differ from this one in one choice, by the keys."""
    C, audits, points = len(parameters.targets), parameters.audits, decimal_of(form.points)
    gap, rest = "" if parameters.max_gap else str(2 * -(-C // audits)), min(4, C // (4 * audits))
    found = {
        "audits": replace(form, audits=str(audits + 1)),
        "stronger": replace(form, points=_written(points / 2)),
        "weaker": replace(form, points=_written(points * 2)),
        "gap": replace(form, max_gap=gap),
    }
    if parameters.cooldown or rest:
        found["rest"] = replace(form, cooldown="0" if parameters.cooldown else str(rest))
    needed = _audits_for_deadline(form, parameters)
    if needed is not None and needed > audits + 1:
        found["deadline"] = replace(form, audits=str(needed))
    return found


def _audits_for_deadline(form: PlanForm, parameters: Parameters) -> int | None:
    """So many a round; None where no deadline was typed, where the longest gap keeps it, or where it is not known."""
    deadline, gap = read_form(form).deadline, parameters.max_gap
    if deadline is None or (gap is not None and gap <= deadline.rounds):
        return None
    if gap is not None and is_too_large(len(parameters.targets), 1, gap):
        return None
    return audits_needed(parameters.built(), deadline)


def _title(key: str, changed: PlanForm, say: Voice) -> str:
    """Of a neighbour."""
    match key:
        case "audits":
            return say("One more {audit} a round")
        case "deadline":
            return say("Enough {audits} for your deadline")
        case "stronger":
            return say("A stronger promise")
        case "weaker":
            return say("A weaker promise")
        case "gap":
            return say("With a longest gap") if changed.max_gap else say("Without a longest gap")
        case _:
            return say("Without a rest") if changed.cooldown == "0" else say("With a rest after {an_audit}")


def _difference(key: str, form: PlanForm, changed: PlanForm, calendar: Calendar, say: Voice) -> str:
    """In what a neighbour differs from the plan on the form."""
    match key:
        case "audits" | "deadline":
            return say.counted(
                "{number} {audit} a round instead of {before}",
                "{number} {audits} a round instead of {before}",
                int(changed.audits),
                before=int(form.audits),
            )
        case "stronger" | "weaker":
            points, before = (say.figure(_written(decimal_of(one.points))) for one in (changed, form))
            return say("{points} points instead of {before}", points=points, before=before)
        case "gap" if changed.max_gap:
            rounds = rounds_in_words(calendar, int(changed.max_gap), say)
            return say("every {target} is {audited} at least once in {rounds}", rounds=rounds)
        case "gap":
            return say("{a_target} may go without {an_audit} for a long time")
        case _ if changed.cooldown == "0":
            return say("{a_target} may be {audited} twice in a row")
        case _:
            rounds = rounds_in_words(calendar, int(changed.cooldown), say)
            return say("{a_target} is not {audited} again for {rounds}", rounds=rounds)


def _written(points: float) -> str:
    """As the form takes them: '2.5'."""
    return f"{points:.6f}".rstrip("0").rstrip(".")


def _choice(key: str, title: str, differs: str, parameters: Parameters, say: Voice) -> Choice:
    calendar, measures = parameters.calendar, measures_of(parameters, say)
    return Choice(
        key,
        title,
        differs,
        sure=measures.sure,
        right=measures.right,
        every=rounds_in_words(calendar, parameters.max_gap, say) if parameters.max_gap else "",
        a_year=say.figure(_number(parameters.audits * 365.2425 / _days(calendar))),
        visits=_visits(parameters, say),
        notes=tuple(doubt.short for doubt in doubts(parameters, say)),
    )


def _visits(parameters: Parameters, say: Voice) -> tuple[Visit, ...]:
    built, audits = parameters.built(), parameters.audits
    counted = tuple(counted_reports(parameters, n) for n in FEW_REPORTS)
    waits = quick_waits(built, audits, counted)
    return tuple(
        Visit(
            _chance(built, n, audits, say),
            "" if waits is None else wait_in_words(parameters.calendar, waits[i], say),
        )
        for i, n in enumerate(counted)
    )


def _chance(built: Mechanism[Any], reports: int, audits: int, say: Voice) -> str:
    """Of a visit at the next draw."""
    chance = visit_in_per_cent(built, reports, audits, say)
    return say("at least {chance}", chance=chance) if is_bound(built, audits) else chance


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _days(calendar: Calendar) -> float:
    return calendar.units * _DAYS[calendar.unit]
