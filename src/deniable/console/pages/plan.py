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

from deniable.console.accounts.people import Person
from deniable.console.charts import Chart, plan_charts
from deniable.console.pages.common import redirect, refusal
from deniable.console.remembered import Remembered
from deniable.console.rendering import render
from deniable.console.security import Fields, console_of, require, text
from deniable.errors import MAX_REPORTS, DeniableError
from deniable.mechanisms import CounterAuditing, Mechanism, Race
from deniable.mechanisms.forecasts import FORECASTS
from deniable.programme.calendar import Calendar
from deniable.programme.parameters import Parameters, delta_for
from deniable.programme.programme import Programme
from deniable.programme.public.guarantee_wording import level
from deniable.programme.public.page import Day, Promise, due_in_words, every_period, facts_of, promise_in
from deniable.promptness import decided_by_gap, is_bound, keeps_rest, lead_needed, least_lead, quiet_waits
from deniable.rules import MAX_GAP, NO_RULES
from deniable.wording import count

router = APIRouter()

COMPARED = 1000
"""Rounds that counter auditing is compared for where nothing bounds them."""

LONGEST_ROUND = 9999

_charts = Remembered[tuple[Chart, ...]]()

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
    least: str | None
    """The lead that any mechanism would need that goes by the counts alone; not known with rules or weights."""
    latest: str | None
    """After so many rounds every target is audited, whatever was reported."""
    decided: str
    """So many audits of 100, at most, are of targets whose longest gap is over."""
    charts: tuple[Chart, ...]
    notes: tuple[str, ...]


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
    charts = _charts.get(
        parameters.digest, lambda: plan_charts(parameters.built(), parameters.guarantee(), parameters.audits)
    )
    page = PlannedPage(
        name=parameters.name,
        begun=request.query_params.get("done") == "begun",
        promise=promise_in(parameters.guarantee().in_words()),
        first=due_in_words(parameters.calendar, 1),
        first_is_past=parameters.calendar.rounds_due(console_of(request).clock()) > 0,
        facts=facts_of(parameters),
        charts=charts,
        notes=_notes(parameters),
    )
    return render(request, "planned.html", page)


@router.post("/plan")
def plan(request: Request, person: Annotated[Person, require("plan")], fields: Fields) -> Response:
    console = console_of(request)
    if console.programme() is not None:
        return redirect("/plan")
    form = _typed(fields)
    try:
        settings = settings_of(form)
        preview = _preview(settings, console.clock())
        if text(fields, "step") == "begin":
            if text(fields, "shown") != form.fingerprint:
                return _page(request, form, preview, CHANGED)
            Programme.begin(console.store, console.vault, console.copy, clock=console.clock, **settings)
            console.record(person, "began the programme")
            return redirect("/plan", "begun")
    except DeniableError as error:
        return _page(request, form, None, _labelled(refusal(error)))
    return _page(request, form, preview)


def settings_of(form: PlanForm) -> dict[str, Any]:
    """The choices as `Parameters` takes them."""
    targets = tuple(name.strip() for name in form.targets.splitlines() if name.strip())
    if not form.name.strip():
        raise DeniableError("give the programme a name")
    if len(targets) < 2:
        raise DeniableError("name at least two targets, one a line")
    if form.mechanism not in ("race", "tca"):
        raise DeniableError("choose race or counter auditing")
    horizon, max_gap = _optional("horizon", form.horizon), _optional("longest gap", form.max_gap)
    audits, people = _whole("audits a round", form.audits), _whole("reports by one person", form.reports_per_person)
    if audits > len(targets):
        raise DeniableError(f"audits a round must be at most the number of targets, {len(targets):,}")
    if max_gap is not None and max_gap * audits < len(targets):
        raise DeniableError(
            f"the longest gap must be at least {count(-(-len(targets) // audits), 'round')}: in fewer, "
            f"{count(audits, 'audit')} a round cannot reach all {len(targets):,} targets"
        )
    return {
        "name": form.name.strip(),
        "targets": targets,
        "mechanism": form.mechanism,
        "delta": _delta(form, people, _bound(form.mechanism, horizon, max_gap)),
        "horizon": horizon,
        "reports_per_person": people,
        "audits": audits,
        "max_gap": max_gap,
        "cooldown": _whole("rest after an audit", form.cooldown, least=0),
        "weights": form.weights if form.weights in FORECASTS else None,
        "calendar": _calendar(form),
        "oversight": form.oversight or None,
    }


def _bound(mechanism: str, horizon: int | None, max_gap: int | None) -> int | None:
    """The rounds that the noise of counter auditing must cover."""
    if mechanism == "race":
        if horizon is not None:
            raise DeniableError("leave the horizon empty: race holds however long the programme runs")
        return None
    if horizon is not None and max_gap is not None:
        raise DeniableError("give either a horizon or a longest gap, not both: with a longest gap there is no horizon")
    if horizon is None and max_gap is None:
        raise DeniableError("counter auditing needs a horizon or a longest gap")
    return max_gap if horizon is None else horizon


def _delta(form: PlanForm, people: int, bound: int | None) -> float:
    advantage = _advantage(form.points)
    if people > MAX_REPORTS:
        raise DeniableError(f"reports by one person must be at most {MAX_REPORTS:,}")
    try:
        return delta_for(advantage, people, form.mechanism, bound)
    except DeniableError:
        raise DeniableError(
            "this promise is too strict to be kept; allow more points, or fewer reports by one person"
        ) from None


def _preview(settings: Mapping[str, Any], now: datetime) -> Preview:
    # What is drawn afresh when it begins does not matter to what the plan means.
    parameters = Parameters(programme="0" * 32, public_key="0" * 64, commitment="0" * 64, **settings)
    built, guarantee, calendar = parameters.built(), parameters.guarantee(), parameters.calendar
    lead, rules = lead_needed(built, parameters.audits), parameters.rules
    at_most = "at most " if is_bound(built, parameters.audits) else ""
    return Preview(
        promise=promise_in(guarantee.in_words()),
        delta=level(parameters),
        every=every_period(calendar.period),
        first=due_in_words(calendar, 1),
        second=due_in_words(calendar, 2),
        overdue=calendar.rounds_due(now),
        lead=None if lead is None else f"{at_most}{count(lead, 'report')}",
        least=_least(parameters),
        latest=None if rules.max_gap is None else count(rules.max_gap, "round"),
        decided=f"{math.ceil(100 * decided_by_gap(len(parameters.targets), parameters.audits, rules))}",
        charts=plan_charts(built, guarantee, parameters.audits, _other(parameters)),
        notes=_notes(parameters),
    )


def _least(parameters: Parameters) -> str | None:
    if parameters.rules != NO_RULES or parameters.weights is not None:
        return None
    promised = parameters.guarantee()
    lead = least_lead(
        len(parameters.targets),
        promised.delta,
        audits=parameters.audits,
        reports=promised.reports,
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


def _other(parameters: Parameters) -> Mechanism[Any] | None:
    """The mechanism that was not chosen, at the same promise about a person."""
    C, people, advantage = len(parameters.targets), parameters.reports_per_person, parameters.guarantee().advantage
    if parameters.mechanism == "tca":
        return Race.calibrate(C, delta_for(advantage, people, "race"), rules=parameters.rules)
    horizon = parameters.max_gap or COMPARED
    delta = delta_for(advantage, people, "tca", horizon)
    return CounterAuditing.calibrate(C, delta, horizon, rules=parameters.rules)


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
    """In rounds."""
    value = _whole(label, typed) if typed else None
    if value is not None and value > MAX_GAP:
        raise DeniableError(f"{label} must be at most {MAX_GAP:,} rounds")
    return value


def _calendar(form: PlanForm) -> Calendar:
    try:
        start, at = date.fromisoformat(form.start), time.fromisoformat(form.time)
    except ValueError:
        raise DeniableError("the first day and the time of day must be given") from None
    length = _whole("how long a round lasts", form.length)
    if length > LONGEST_ROUND or form.unit not in ("D", "W", "M"):
        raise DeniableError(f"a round lasts 1 to {LONGEST_ROUND:,} days, weeks or months")
    return Calendar(start, f"{length}{form.unit}", form.zone, at)


_LABELS = {
    "max_gap": "longest gap",
    "cooldown": "rest after an audit",
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
