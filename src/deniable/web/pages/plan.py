"""Plan: what a programme could promise and cost, and beginning it. Afterwards, the rules that were fixed."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, date, datetime, time
from functools import cache
from typing import Annotated, Any
from zoneinfo import available_timezones

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import FormData

from deniable.errors import DeniableError
from deniable.mechanisms import CounterAuditing, Mechanism, Race
from deniable.programme.calendar import Calendar
from deniable.programme.ledger import Programme
from deniable.programme.page import Day, Promise, due_in_words, every_period, facts_of, promise_in
from deniable.programme.parameters import Parameters, delta_for
from deniable.web.accounts.people import Person
from deniable.web.charts import Chart, lead_needed, plan_charts
from deniable.web.pages.common import go, refusal
from deniable.web.rendering import render
from deniable.web.security import Fields, console_of, require, text

router = APIRouter()

COMPARED = 1000
"""Rounds that counter auditing is compared for where nothing bounds them."""

CHANGED = "You changed the plan after you looked at what it means; look again, then begin."


@dataclass(frozen=True)
class PlanForm:
    """The choices as they were typed."""

    name: str = ""
    targets: str = ""
    points: str = "5"
    reports_per_person: str = "3"
    mechanism: str = "race"
    audits: str = "1"
    horizon: str = ""
    max_gap: str = ""
    cooldown: str = "0"
    weights: str = "equal"
    start: str = ""
    time: str = "09:00"
    length: str = "1"
    unit: str = "W"
    zone: str = "UTC"
    oversight: str = ""

    @property
    def fingerprint(self) -> str:
        """By which the plan that is begun is known to be the one that was looked at."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()


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
    charts: tuple[Chart, ...]


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


@router.get("/plan")
def plan_page(request: Request, _: Annotated[Person, require("plan")]) -> Response:
    programme = console_of(request).programme()
    if programme is None:
        today = console_of(request).clock().astimezone(UTC).date().isoformat()
        return _page(request, PlanForm(start=today))
    parameters = programme.parameters
    page = PlannedPage(
        name=parameters.name,
        begun=request.query_params.get("done") == "begun",
        promise=promise_in(parameters.guarantee().in_words()),
        first=due_in_words(parameters.calendar, 1),
        first_is_past=parameters.calendar.rounds_due(console_of(request).clock()) > 0,
        facts=facts_of(parameters),
        charts=plan_charts(parameters.built(), parameters.guarantee(), parameters.audits),
    )
    return render(request, "planned.html", page)


@router.post("/plan")
def plan(request: Request, person: Annotated[Person, require("plan")], fields: Fields) -> Response:
    console = console_of(request)
    if console.programme() is not None:
        return go("/plan")
    form = _typed(fields)
    try:
        settings = settings_of(form)
        preview = _preview(settings, console.clock())
        if text(fields, "step") == "begin":
            if text(fields, "shown") != form.fingerprint:
                return _page(request, form, preview, CHANGED)
            Programme.begin(console.store, console.vault, clock=console.clock, **settings)
            console.record(person, "began the programme")
            return go("/plan", "begun")
    except DeniableError as error:
        return _page(request, form, None, _labelled(refusal(error)))
    return _page(request, form, preview)


def settings_of(form: PlanForm) -> dict[str, Any]:
    """The choices as `Parameters` takes them."""
    horizon, max_gap = _optional("horizon", form.horizon), _optional("longest gap", form.max_gap)
    people = _whole("reports by one person", form.reports_per_person)
    bounds = [bound for bound in (horizon, max_gap) if bound is not None]
    if form.mechanism == "tca" and not bounds:
        raise DeniableError("counter auditing needs a horizon or a longest gap")
    return {
        "name": form.name,
        "targets": tuple(name.strip() for name in form.targets.splitlines() if name.strip()),
        "mechanism": form.mechanism,
        "delta": delta_for(_advantage(form.points), people, form.mechanism, min(bounds, default=None)),
        "horizon": horizon,
        "reports_per_person": people,
        "audits": _whole("audits a round", form.audits),
        "max_gap": max_gap,
        "cooldown": _whole("rest after an audit", form.cooldown, least=0),
        "weights": "forecast" if form.weights == "forecast" else None,
        "calendar": _calendar(form),
        "oversight": form.oversight or None,
    }


def _preview(settings: Mapping[str, Any], now: datetime) -> Preview:
    # What is drawn afresh when it begins does not matter to what the plan means.
    parameters = Parameters(programme="0" * 32, public_key="0" * 64, commitment="0" * 64, **settings)
    built, guarantee, calendar = parameters.built(), parameters.guarantee(), parameters.calendar
    lead = lead_needed(built)
    return Preview(
        promise=promise_in(guarantee.in_words()),
        delta=f"{parameters.delta:.4g}",
        every=every_period(calendar.period),
        first=due_in_words(calendar, 1),
        second=due_in_words(calendar, 2),
        overdue=calendar.rounds_due(now),
        lead=None if lead is None else f"{math.ceil(lead):,}",
        charts=plan_charts(built, guarantee, parameters.audits, _other(parameters)),
    )


def _other(parameters: Parameters) -> Mechanism[Any] | None:
    """The mechanism that was not chosen, at the same promise about a person."""
    C, people, advantage = len(parameters.targets), parameters.reports_per_person, parameters.guarantee().advantage
    if parameters.mechanism == "tca":
        return Race.calibrate(C, delta_for(advantage, people, "race"))
    horizon = parameters.max_gap or COMPARED
    return CounterAuditing.calibrate(C, delta_for(advantage, people, "tca", horizon), horizon)


def _typed(given: FormData) -> PlanForm:
    return PlanForm(**{field.name: text(given, field.name) for field in fields(PlanForm)})


def _advantage(points: str) -> float:
    if not re.fullmatch(r"[0-9]{1,2}([.,][0-9]{1,6})?", points) or not 0 < (value := _decimal(points)) < 50:
        raise DeniableError("the points must be a number above 0 and below 50, such as 5")
    return value / 100


def _decimal(typed: str) -> float:
    return float(typed.replace(",", "."))


def _whole(label: str, typed: str, least: int = 1) -> int:
    if not re.fullmatch("[0-9]{1,9}", typed) or int(typed) < least:
        raise DeniableError(f"{label} must be a whole number of at least {least}")
    return int(typed)


def _optional(label: str, typed: str) -> int | None:
    return _whole(label, typed) if typed else None


def _calendar(form: PlanForm) -> Calendar:
    try:
        start, at = date.fromisoformat(form.start), time.fromisoformat(form.time)
    except ValueError:
        raise DeniableError("the first day and the time of day must be given") from None
    return Calendar(start, f"{_whole('how long a round lasts', form.length)}{form.unit}", form.zone, at)


_LABELS = {
    "max_gap": "longest gap",
    "cooldown": "rest after an audit",
    "reports_per_person": "reports by one person",
    "audits must": "audits a round must",
    "zone must": "time zone must",
    "oversight must": "key of an oversight body must",
    "name must": "name of the programme must",
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
