"""Plan: what a programme could promise and cost, and beginning it. Afterwards, the rules that were fixed."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any
from zoneinfo import available_timezones

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.charts import Chart, plan_charts
from deniable.console.pages.common import redirect, refusal, sentence
from deniable.console.pages.plan_form import PlanForm, deadline_of, settings_of
from deniable.console.remembered import Remembered
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, require, text
from deniable.errors import DeniableError
from deniable.mechanisms import CounterAuditing, Mechanism, Race
from deniable.programme.advantage import delta_for
from deniable.programme.calendar import rounds_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.programme import Programme
from deniable.programme.public.frozen_rounds import randomness_rule
from deniable.programme.public.guarantee_wording import level
from deniable.programme.public.page import Day, Promise, due_in_words, every_period, facts_of, promise_of
from deniable.promptness import (
    Deadline,
    decided_by_gap,
    in_words,
    is_bound,
    keeps_rest,
    lead_needed,
    least_lead,
    quiet_waits,
)
from deniable.report_classes import heaviest
from deniable.rules import NO_RULES
from deniable.wording import count

router = Router()

COMPARED = 1000
"""Rounds that counter auditing is compared for where nothing bounds them."""

_explained = Remembered[tuple[tuple[Chart, ...], tuple[str, ...]]]()

CHANGED = "You changed the plan after you looked at what it means; look again, then begin."


@dataclass(frozen=True)
class Preview:
    promise: Promise
    delta: str
    every: str
    first: Day
    second: Day
    overdue: int
    """Rounds that would be due, and not closed, when it begins now."""
    lead: str | None
    least: str | None
    """The lead that any mechanism would need that goes by the counts alone; not known with rules or weights."""
    latest: str | None
    """After so many rounds every target is audited, whatever was reported."""
    decided: str
    """So many audits of 100, at most, are of targets whose longest gap is over."""
    deadline: tuple[str, ...]
    """What a visit within the deadline takes; empty where none was asked for."""
    charts: tuple[Chart, ...]
    notes: tuple[str, ...]
    randomness: str
    """Where the random numbers come from, and what that leaves open."""


@dataclass(frozen=True)
class PlanPage:
    form: PlanForm
    zones: tuple[str, ...]
    preview: Preview | None
    shown: str
    """Fingerprint of the plan that the preview is about."""
    error: str | None


@dataclass(frozen=True)
class PlannedPage:
    name: str
    begun: bool
    """Whether that was just now."""
    promise: Promise
    first: Day
    first_is_past: bool
    facts: tuple[tuple[str, str], ...]
    charts: tuple[Chart, ...]
    notes: tuple[str, ...]


@router.get("/plan")
def plan_page(request: Request, _: Annotated[Person, require("plan")]) -> Response:
    programme = console_of(request).programme()
    if programme is None:
        today = console_of(request).clock().astimezone(UTC).date().isoformat()
        return _page(request, PlanForm(start=today))
    parameters = programme.parameters
    charts, notes = explained(parameters)
    page = PlannedPage(
        name=parameters.name,
        begun=request.query_params.get("done") == "begun",
        promise=promise_of(parameters),
        first=due_in_words(parameters.calendar, 1),
        first_is_past=parameters.calendar.rounds_due(console_of(request).clock()) > 0,
        facts=facts_of(parameters),
        charts=charts,
        notes=notes,
    )
    return render(request, "planned.html", page)


def explained(parameters: Parameters) -> tuple[tuple[Chart, ...], tuple[str, ...]]:
    """The charts, and what they cannot say; made once."""

    def make() -> tuple[tuple[Chart, ...], tuple[str, ...]]:
        return plan_charts(parameters.built(), parameters.guarantee(), parameters.audits), _notes(parameters)

    return _explained.get(parameters.digest, make)


@router.post("/plan")
def plan(request: Request, person: Annotated[Person, require("plan")], fields: Fields) -> Response:
    console = console_of(request)
    if console.programme() is not None:
        return redirect("/plan")
    form = _typed(fields)
    try:
        settings = settings_of(form)
        preview = _preview(settings, deadline_of(form), console.clock())
        if text(fields, "step") == "begin":
            if text(fields, "shown") != form.fingerprint:
                return _page(request, form, preview, CHANGED)
            Programme.begin(console.store, console.vault, console.copy, clock=console.clock, **settings)
            console.record(person, "began the programme")
            return redirect("/plan", "begun")
    except DeniableError as error:
        return _page(request, form, None, _labelled(refusal(error)))
    return _page(request, form, preview)


def _preview(settings: Mapping[str, Any], deadline: Deadline | None, now: datetime) -> Preview:
    # What is drawn afresh when it begins does not matter to what the plan means.
    parameters = Parameters(programme="0" * 32, public_key="0" * 64, commitment="0" * 64, **settings)
    built, guarantee, calendar = parameters.built(), parameters.guarantee(), parameters.calendar
    lead, rules = lead_needed(built, parameters.audits), parameters.rules
    at_most = "at most " if is_bound(built, parameters.audits) else ""
    return Preview(
        promise=promise_of(parameters),
        delta=level(parameters),
        every=every_period(calendar.period),
        first=due_in_words(calendar, 1),
        second=due_in_words(calendar, 2),
        overdue=calendar.rounds_due(now),
        lead=None if lead is None else f"{at_most}{count(lead, 'report')}",
        least=_least(parameters),
        latest=None if rules.max_gap is None else rounds_in_words(calendar, rules.max_gap),
        decided=f"{math.ceil(100 * decided_by_gap(len(parameters.targets), parameters.audits, rules))}",
        deadline=() if deadline is None else _by_deadline(parameters, deadline),
        charts=plan_charts(built, guarantee, parameters.audits, _other(parameters)),
        notes=_notes(parameters),
        randomness=sentence(randomness_rule(parameters)),
    )


def _by_deadline(parameters: Parameters, deadline: Deadline) -> tuple[str, ...]:
    deadline.check_rules(parameters.rules, parameters.horizon)
    days = parameters.calendar.length(deadline.rounds)
    name = {"race": "race", "tca": "counter auditing"}[parameters.mechanism]
    words = in_words(parameters.built(), name, deadline, parameters.audits, days)
    if parameters.weights is None:
        return words
    return (*words, "The figures are for targets that are all equally likely before any report.")


def _least(parameters: Parameters) -> str | None:
    if parameters.rules != NO_RULES or parameters.weights is not None:
        return None
    promised = parameters.guarantee()
    lead = least_lead(
        len(parameters.targets),
        promised.delta,
        audits=parameters.audits,
        reports=_weight(parameters),
        horizon=promised.horizon,
    )
    return f"{lead:,}" if lead else None


def _notes(parameters: Parameters) -> tuple[str, ...]:
    """What the charts cannot say."""
    C, audits, rules = len(parameters.targets), parameters.audits, parameters.rules
    notes = [
        "The charts are about one target with reports while no other has any. The more is reported about others, the "
        "harder it is for one target to stand out."
    ]
    if len(parameters.classes) > 1:
        notes.append("In the charts and in the lead, a report is one that counts once.")
    if not keeps_rest(C, audits, rules):
        notes.append(
            f"A rest of {count(rules.cooldown, 'round')} is too long for {C:,} targets with "
            f"{count(audits, 'audit')} a round: it ends early where no other target is left to audit."
        )
    if parameters.weights is not None:
        notes.append(
            "Some targets are more likely than others before any report. The charts leave that out: they are right for "
            "targets that are all equally likely."
        )
    if quiet_waits(parameters.built(), audits) is None:
        given = [f"--targets {C}", f"--delta {parameters.delta:.9g}", f"--horizon {parameters.horizon}"]
        given += [f"--audits {audits}"] * (audits > 1) + [f"--cooldown {rules.cooldown}"] * (rules.cooldown > 0)
        notes.append(
            "How long a target waits cannot be calculated for counter auditing without a longest gap. This command "
            f"simulates it: deniable plan {' '.join(given)}"
        )
    return tuple(notes)


def _weight(parameters: Parameters) -> int:
    """How often all reports count together that the promise to a person speaks of."""
    return parameters.reports_per_person * heaviest(parameters.classes)


def _other(parameters: Parameters) -> Mechanism[Any] | None:
    """The mechanism that was not chosen, at the same promise about a person."""
    C, promised = len(parameters.targets), parameters.guarantee()
    people, advantage = _weight(parameters), promised.advantage
    if parameters.mechanism == "tca":
        return Race.calibrate(C, delta_for(advantage, people, "race"), rules=parameters.rules)
    horizon = parameters.max_gap or COMPARED
    delta = delta_for(advantage, people, "tca", horizon)
    return CounterAuditing.calibrate(C, delta, horizon, rules=parameters.rules)


def _typed(given: FormData) -> PlanForm:
    return PlanForm(**{field.name: text(given, field.name) for field in fields(PlanForm)})


_LABELS = {
    "max_gap": "longest gap",
    "cooldown": "rest after an audit",
    "reveal_after": "rounds until names are public",
    "tca": "counter auditing",
    "zone must": "time zone must",
    "oversight must": "key of an oversight body must",
}


def _labelled(sentence: str) -> str:
    """In the words of the form."""
    for name, label in _LABELS.items():
        sentence = re.sub(rf"\b{name}\b", label, sentence)
    return sentence


@cache
def _zones() -> tuple[str, ...]:
    return tuple(sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith("Etc/")))


def _page(request: Request, form: PlanForm, preview: Preview | None = None, error: str | None = None) -> Response:
    page = PlanPage(form, _zones(), preview, form.fingerprint if preview else "", error)
    return render(request, "plan.html", page, 422 if error else 200)
