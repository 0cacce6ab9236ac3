"""The choices of a plan side by side: what each of them promises, what reports then do, and what to beware of."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deniable.console.pages.plan_form import PlanForm, decimal_of
from deniable.console.pages.plan_reading import settings_of
from deniable.errors import DeniableError
from deniable.guarantee import points_above_half
from deniable.languages.terms import Terms
from deniable.mechanisms import Mechanism
from deniable.programme.calendar import Calendar, rounds_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.effect import wait_in_words
from deniable.programme.public.guarantee_wording import LITTLE, coin, level
from deniable.programme.public.suspicion import filed_in, filed_in_words, heaviest_class, per_cent, sure_at_most
from deniable.promptness import (
    FEW_REPORTS,
    chance_of_visit,
    decided_by_gap,
    in_per_cent,
    is_bound,
    is_like_lots,
    keeps_rest,
    quick_waits,
)
from deniable.rounding import rounded_up
from deniable.rules import Rules
from deniable.wording import count

FEW, MANY = 3, FEW_REPORTS[-1]
MOSTLY = 0.5
"""Where rules decide this share of the audits, or keep this share of the targets out, they leave little freedom."""
_DAYS = {"D": 1.0, "W": 7.0, "M": 365.2425 / 12}


@dataclass(frozen=True)
class Visit:
    """What so many reports about a target do, while no other target has any."""

    chance: str
    """Of a visit at the next draw: '2.6 %', 'at least 2 %'."""
    wait: str
    """Until the visit, on average, in the words of the promise: 'about 266 days (38 rounds)'; empty where it cannot be
    calculated.
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
    """The reports that the promise is about: 'three reports'."""
    is_several: bool
    """Whether these are more than one report, or of one class among others."""
    points: str
    """What watching adds to 50 right guesses of 100, at most and on average: '5'."""
    right: str
    """How many are right then: '55'."""
    delta: str
    """Of all these reports."""
    delta_of_one: str


def measures_of(parameters: Parameters) -> Measures:
    guarantee, most, say = parameters.guarantee(), heaviest_class(parameters), parameters.voice()
    filed = filed_in_words(parameters, filed_in(parameters, most, parameters.reports_per_person), say)
    one, right = parameters.guarantee_of(most), points_above_half(guarantee.delta)
    return Measures(
        sure=per_cent(sure_at_most(guarantee), say) if guarantee.has_cap else "",
        sure_of_one="" if one is None or not one.has_cap else per_cent(sure_at_most(one), say),
        filed=filed[0].lower() + filed[1:],
        is_several=parameters.reports_per_person > 1 or len(parameters.classes) > 1,
        points=f"{float(right) - 50:.6g}",
        right=right,
        delta=rounded_up(guarantee.delta, digits=4),
        delta_of_one=level(parameters, say),
    )


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


@dataclass(frozen=True)
class Comparison:
    mine: Choice
    """The plan that was entered, or begun."""
    others: tuple[Choice, ...]
    """Plans that differ from it in one choice."""
    reports: tuple[int, ...] = FEW_REPORTS
    few: int = FEW


def compared(form: PlanForm, parameters: Parameters) -> Comparison:
    """The plan on the form beside its neighbours."""
    others = []
    for key, (title, differs, changes) in _neighbours(form, parameters).items():
        try:
            changed = planned(settings_of(replace(form, **changes)))
        except DeniableError:
            continue  # no such plan
        if key == "weaker" and changed.guarantee().delta > LITTLE:
            continue  # it would not be worth telling reporters
        others.append(_choice(key, title, differs, changed))
    return Comparison(_choice("", "Your plan", _summary(parameters), parameters), tuple(others))


def alone(parameters: Parameters) -> Comparison:
    """The plan that was begun."""
    return Comparison(_choice("", "This programme", "", parameters), ())


def taken(form: PlanForm, key: str) -> PlanForm:
    """The form with the neighbour in the place of the plan; as it is, where there is no such neighbour."""
    try:
        _, _, changes = _neighbours(form, planned(settings_of(form)))[key]
    except (DeniableError, KeyError):
        return form
    return replace(form, **changes)


def planned(settings: Mapping[str, Any]) -> Parameters:
    """What is drawn afresh when it begins does not matter to what the plan means."""
    return Parameters(programme="0" * 32, public_key="0" * 64, commitment="0" * 64, **settings)


def _neighbours(form: PlanForm, parameters: Parameters) -> dict[str, tuple[str, str, dict[str, str]]]:
    """Title, difference and changes of the form, by the keys."""
    C, audits, points = len(parameters.targets), parameters.audits, decimal_of(form.points)
    t, calendar = parameters.terms, parameters.calendar
    stricter, weaker = f"{points / 2:.6g}", f"{points * 2:.6g}"
    found = {
        "audits": (
            f"One more {t.audit} a round",
            f"{count(audits + 1, t.audit, t.audits)} a round instead of {audits:,}",
            {"audits": str(audits + 1)},
        ),
        "stronger": ("A stronger promise", f"{stricter} points instead of {points:g}", {"points": stricter}),
        "weaker": ("A weaker promise", f"{weaker} points instead of {points:g}", {"points": weaker}),
    }
    gap, rest = 2 * -(-C // audits), min(4, C // (4 * audits))
    if parameters.max_gap is None:
        often = f"every {t.target} is {t.audited} at least once in {rounds_in_words(calendar, gap)}"
        found["gap"] = ("With a longest gap", often, {"max_gap": str(gap)})
    else:
        found["gap"] = ("Without a longest gap", f"{t.a_target} may go without {t.an_audit} for long", {"max_gap": ""})
    if parameters.cooldown:
        found["rest"] = ("Without a rest", f"{t.a_target} may be {t.audited} twice in a row", {"cooldown": "0"})
    elif rest:
        again = f"{t.a_target} is not {t.audited} again for {rounds_in_words(calendar, rest)}"
        found["rest"] = (f"With a rest after {t.an_audit}", again, {"cooldown": str(rest)})
    return found


def _summary(parameters: Parameters) -> str:
    t = parameters.terms
    return f"{count(parameters.audits, t.audit, t.audits)} a round, {len(parameters.targets):,} {t.targets}"


def _choice(key: str, title: str, differs: str, parameters: Parameters) -> Choice:
    calendar, measures = parameters.calendar, measures_of(parameters)
    return Choice(
        key,
        title,
        differs,
        sure=measures.sure,
        right=measures.right,
        every=rounds_in_words(calendar, parameters.max_gap) if parameters.max_gap else "",
        a_year=_number(parameters.audits * 365.2425 / _days(calendar)),
        visits=_visits(parameters),
        notes=tuple(doubt.short for doubt in doubts(parameters)),
    )


def _visits(parameters: Parameters) -> tuple[Visit, ...]:
    built, audits = parameters.built(), parameters.audits
    at_least = "at least " if is_bound(built, audits) else ""
    counted = tuple(_counted(parameters, n) for n in FEW_REPORTS)
    waits = quick_waits(built, audits, counted)
    return tuple(
        Visit(
            f"{at_least}{in_per_cent(chance_of_visit(built, n, audits))}",
            "" if waits is None else wait_in_words(parameters.calendar, waits[i], parameters.voice()),
        )
        for i, n in enumerate(counted)
    )


def _counted(parameters: Parameters, reports: int) -> int:
    """What so many reports in one round come to in the draw; of several classes, of one that counts once."""
    weight = (parameters.classes[0].weight or 1) if len(parameters.classes) == 1 else 1
    return weight * min(reports, parameters.most_counted or reports)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _days(calendar: Calendar) -> float:
    return int(calendar.period[:-1]) * _DAYS[calendar.period[-1]]


@dataclass(frozen=True)
class Doubt:
    """Why to think a plan over."""

    short: str
    warning: str
    """With what to do about it."""
    fields: tuple[str, ...]
    """Of the form, where to do it."""


def doubts(parameters: Parameters) -> tuple[Doubt, ...]:
    """What to think over before the plan is begun."""
    return tuple(_doubts(parameters))


_PROMISE = ("points", "reports_per_person")


def _doubts(parameters: Parameters) -> Iterator[Doubt]:
    t, guarantee, say = parameters.terms, parameters.guarantee(), parameters.voice()
    if guarantee.delta > LITTLE:
        limit = coin(parameters, say)
        if guarantee.has_cap:
            sure = per_cent(sure_at_most(guarantee), say)
            limit = f"A boss who was 50 % sure that a person reported can become {sure} sure."
        yield Doubt(
            "weak promise",
            f"This promise is weak: the {t.audits} hide little. {limit} "
            "Allow fewer points, or fewer reports by one person.",
            _PROMISE,
        )
    if parameters.audits == len(parameters.targets):
        yield Doubt(
            "reports change nothing",
            f"Every {t.target} is {t.audited} in every round, so reports change nothing. Choose fewer {t.audits} a "
            "round.",
            ("audits",),
        )
        return
    yield from _like_lots(parameters.built(), parameters.audits, _counted(parameters, MANY), t)
    yield from _little_freedom(len(parameters.targets), parameters.audits, parameters.rules, t)


def _like_lots(mechanism: Mechanism[Any], audits: int, most: int, t: Terms) -> Iterator[Doubt]:
    if not is_like_lots(mechanism, audits, most):
        return
    without, many = (in_per_cent(chance_of_visit(mechanism, n, audits)) for n in (0, most))
    if is_bound(mechanism, audits):
        yield Doubt(
            "may be close to drawing lots",
            f"This plan may be close to drawing lots: nothing proves that {MANY} reports about one {t.target} make a "
            "visit at the next draw much more likely. To let reports count more, allow more points or fewer reports by "
            "one person.",
            _PROMISE,
        )
        return
    yield Doubt(
        "close to drawing lots",
        f"This plan is close to drawing lots: reports hardly change who is {t.audited}. {MANY} reports about one "
        f"{t.target} raise its chance at the next draw from {without} only to {many}. To let reports count more, allow "
        "more points or fewer reports by one person.",
        _PROMISE,
    )


def _little_freedom(C: int, audits: int, rules: Rules, t: Terms) -> Iterator[Doubt]:
    share, resting = decided_by_gap(C, audits, rules), rules.cooldown * audits
    if share >= MOSTLY:
        yield Doubt(
            f"the longest gap decides most {t.audits}",
            f"The longest gap leaves the draw little freedom. Up to {math.ceil(100 * share - 1e-9)} of 100 {t.audits} "
            f"go to {t.targets} whose longest gap is over, whatever was reported. Choose a longer gap or "
            f"more {t.audits} a round.",
            ("max_gap", "audits"),
        )
    if not keeps_rest(C, audits, rules):
        yield Doubt(
            "the rest ends early at times",
            f"A rest of {count(rules.cooldown, 'round')} is too long for {C:,} {t.targets} with "
            f"{count(audits, t.audit, t.audits)} a round: it ends early where no other {t.target} is left. Choose a "
            "shorter rest.",
            ("cooldown",),
        )
    elif resting >= MOSTLY * C:
        yield Doubt(
            f"most {t.targets} rest",
            f"The rest leaves the draw little freedom. At any time {resting:,} of {C:,} {t.targets} rest, and the "
            f"draw chooses among the other {C - resting:,}. Choose a shorter rest.",
            ("cooldown",),
        )
