"""Plan: the choices and what they mean, a last check, and the start. Afterwards, the rules that were fixed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC
from functools import cache
from typing import Annotated, Any
from zoneinfo import available_timezones

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts import people
from deniable.console.accounts.people import ROLES, Person, Role
from deniable.console.charts import Chart, plan_charts
from deniable.console.pages.common import lost_before, redirect, refusal
from deniable.console.pages.field_errors import field_of
from deniable.console.pages.guarantee import promise_in
from deniable.console.pages.notices import Notices, notices_of
from deniable.console.pages.plan_check import Facts, check_page, facts_of_begun
from deniable.console.pages.plan_choices import (
    Comparison,
    Measures,
    alone,
    compared,
    measures_of,
    planned,
    taken,
)
from deniable.console.pages.plan_doubts import Doubt, doubts
from deniable.console.pages.plan_form import MORE, PlanForm
from deniable.console.pages.plan_reading import read_form
from deniable.console.remembered import Remembered
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, require, text, texts
from deniable.console.voices import sentence, voice_of
from deniable.errors import DeniableError
from deniable.languages.language import AUDIT_TERMS, CONSOLE, DEFAULT_TERMS, TARGET_TERMS, Terms, available, language
from deniable.languages.voice import Voice
from deniable.mechanisms import CounterAuditing, Mechanism, Race
from deniable.message import noted
from deniable.programme.advantage import delta_for
from deniable.programme.calendar import Day, due_in_words, rounds_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.programme import Programme
from deniable.programme.public.promise import Promise, promise_of
from deniable.programme.public.rules_in_words import every_period
from deniable.promptness import (
    Deadline,
    bounds_lead,
    deadline_in_words,
    decided_by_gap,
    is_bound,
    is_too_large,
    lead_needed,
    least_lead,
    quiet_waits,
)
from deniable.report_classes import heaviest
from deniable.rules import NO_RULES

router = Router()

COMPARED = 1000
"""Rounds that counter auditing is compared for where nothing bounds them."""

_explained = Remembered["Explained"](most=len(CONSOLE))

CHANGED = noted("This is another plan than the one you checked. Check it again, then start it.")


@dataclass(frozen=True)
class Preview:
    comparison: Comparison
    measures: Measures
    warnings: tuple[Doubt, ...]
    every: str
    first: Day
    second: Day
    overdue: int
    """Rounds that would be due, and not closed, when it starts now."""
    lead: int | None
    """With which a target is audited almost at once; None where no lead is enough, or none is known to be."""
    is_lead_known: bool
    is_lead_limit: bool
    """Whether a smaller lead may do."""
    least: int | None
    """The lead that any mechanism would need that goes by the counts alone; not known with rules or weights."""
    latest: str | None
    """After so many rounds every target is audited, whatever was reported."""
    decided: int
    """So many audits of 100, at most, are of targets whose longest gap is over."""
    deadline: tuple[str, ...]
    """What a visit within the deadline takes; empty where none was asked for."""
    deadline_for_experts: tuple[str, ...]
    """What delta has to do with it."""
    charts: tuple[Chart, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class PlanPage:
    form: PlanForm
    zones: tuple[str, ...]
    preview: Preview | None
    wrong: Mapping[str, str]
    """All that is wrong, by the fields; of what is about no field, the name is empty."""
    more: bool
    """Whether the choices are unfolded that most offices leave as they are."""
    audit_terms: tuple[tuple[str, str], ...]
    """Each with how the person's language says it."""
    target_terms: tuple[tuple[str, str], ...]
    languages: tuple[tuple[str, str], ...]
    """Those there are, by their codes."""


@dataclass(frozen=True)
class Explained:
    """What a programme's rules mean, calculated once."""

    comparison: Comparison
    measures: Measures
    charts: tuple[Chart, ...]
    notes: tuple[str, ...]
    """What the figures cannot say."""


@dataclass(frozen=True)
class PlannedPage:
    name: str
    begun: bool
    """Whether that was just now."""
    notices: Notices
    promise: Promise
    lost_before: Day | None
    """The promise is lost for reports filed before; None where it holds for all."""
    lost_because: str
    first: Day
    first_is_past: bool
    facts: Facts
    expert_facts: Facts
    explained: Explained
    is_published: bool
    """Whether the public can read the rules."""
    ended: bool
    administrators: tuple[str, ...]
    missing: tuple[Role, ...]
    """Those that no person has yet."""
    has_key_file: bool
    """Or else a passphrase."""
    began_with: int | None
    """Targets, where there are more or fewer now."""


@router.get("/plan")
def plan_page(request: Request, _: Annotated[Person, require("plan")]) -> Response:
    programme = console_of(request).programme()
    if programme is None:
        today = console_of(request).clock().astimezone(UTC).date().isoformat()
        return _page(request, PlanForm(start=today))
    console, parameters, say = console_of(request), programme.parameters, voice_of(request)
    status = programme.status()
    facts, expert_facts = facts_of_begun(parameters, say)
    with console.store.reading() as connection:
        administrators = people.having(connection, console.key, ["administrator"])
        filled = {one.role for one in people.having(connection, console.key, ROLES)}
    page = PlannedPage(
        name=parameters.name,
        begun=request.query_params.get("done") == "begun",
        notices=notices_of(console, programme, status, say),
        promise=promise_of(parameters, None, say) if status.ended else _promise(programme, say),
        lost_before=lost_before(status, say),
        lost_because="" if status.coverage.last is None else say(status.coverage.last.because),
        first=due_in_words(parameters.calendar, 1, say),
        first_is_past=parameters.calendar.rounds_due(console.clock()) > 0,
        facts=facts,
        expert_facts=expert_facts,
        explained=explained(parameters, say),
        is_published=status.folder is not None,
        ended=status.ended,
        administrators=tuple(one.name for one in administrators),
        missing=tuple(role for role in ROLES if role not in filled),
        has_key_file=console.copy is not None,
        began_with=None if len(status.targets) == len(parameters.targets) else len(parameters.targets),
    )
    return render(request, "planned.html", page)


def _promise(programme: Programme, say: Voice) -> Promise:
    """Without what a reporter reads while imports are paused: the office must not be told to ask itself."""
    return promise_in(programme.parameters, replace(programme.situation(), is_paused=False), say)


def explained(parameters: Parameters, say: Voice) -> Explained:
    """Made once in each language."""

    def make() -> Explained:
        charts = plan_charts(parameters.built(), parameters.guarantee(), parameters.audits, None, say)
        return Explained(alone(parameters, say), measures_of(parameters, say), charts, _notes(parameters, say))

    return _explained.get((parameters.digest, say.language.code), make)


@router.post("/plan")
def plan(request: Request, person: Annotated[Person, require("plan")], fields: Fields) -> Response:
    console = console_of(request)
    if console.programme() is not None:
        return redirect("/plan")
    form, step = taken(_typed(fields), text(fields, "take")), text(fields, "step")
    reading = read_form(form)
    if reading.mistakes:
        return _page(request, form, mistakes=reading.mistakes)
    try:
        parameters = planned(reading.settings)
        overdue = parameters.calendar.rounds_due(console.clock())
        if step == "begin" and text(fields, "shown") == form.fingerprint:
            Programme.begin(console.store, console.vault, console.copy, clock=console.clock, **reading.settings)
            console.record(person, noted("began the programme"))
            return redirect("/plan", "begun")
        if step in ("begin", "check"):
            error = CHANGED if step == "begin" else None
            page = check_page(form, parameters, overdue, error, voice_of(request, parameters.terms))
            return render(request, "plan_check.html", page, 422 if error else 200, parameters.terms)
        say = voice_of(request, parameters.terms)
        preview = _preview(form, parameters, reading.deadline, overdue, say)
    except DeniableError as error:
        return _page(request, form, mistakes=(error,))
    return _page(request, form, preview, terms=parameters.terms)


def _preview(form: PlanForm, parameters: Parameters, deadline: Deadline | None, overdue: int, say: Voice) -> Preview:
    built, guarantee, calendar = parameters.built(), parameters.guarantee(), parameters.calendar
    rules, audits = parameters.rules, parameters.audits
    in_time, in_full = (
        () if deadline is None else _by_deadline(parameters, deadline, say, with_delta=with_delta)
        for with_delta in (False, True)
    )
    return Preview(
        comparison=compared(form, parameters, say),
        measures=measures_of(parameters, say),
        warnings=doubts(parameters, say),
        every=every_period(calendar, say),
        first=due_in_words(calendar, 1, say),
        second=due_in_words(calendar, 2, say),
        overdue=overdue,
        lead=lead_needed(built, audits),
        is_lead_known=bounds_lead(built, audits),
        is_lead_limit=is_bound(built, audits),
        least=_least(parameters),
        latest=None if rules.max_gap is None else rounds_in_words(calendar, rules.max_gap, say),
        decided=math.ceil(100 * decided_by_gap(len(parameters.targets), audits, rules)),
        deadline=in_time,
        deadline_for_experts=tuple(one for one in in_full if one not in in_time),
        charts=plan_charts(built, guarantee, audits, _other(parameters), say),
        notes=_notes(parameters, say),
    )


def _by_deadline(parameters: Parameters, deadline: Deadline, say: Voice, *, with_delta: bool) -> tuple[str, ...]:
    days, gap = parameters.calendar.length(deadline.rounds, say), parameters.max_gap
    if gap is not None and gap > deadline.rounds and is_too_large(len(parameters.targets), 1, gap):
        return (say("How probable a visit in time is cannot be calculated for so many {targets} with a longest gap."),)
    name = say("a draw weighted by reports (race)") if parameters.mechanism == "race" else say("counter auditing")
    words = deadline_in_words(
        parameters.built(), name, deadline, parameters.audits, say, days=days, with_delta=with_delta
    )
    if parameters.weights is None:
        return words
    return (*words, say("The figures are for {targets} that are all equally likely before any report."))


def _least(parameters: Parameters) -> int | None:
    if parameters.rules != NO_RULES or parameters.weights is not None:
        return None
    promised = parameters.guarantee()
    return (
        least_lead(
            len(parameters.targets),
            promised.delta,
            audits=parameters.audits,
            reports=_weight(parameters),
            horizon=promised.horizon,
        )
        or None
    )


def _notes(parameters: Parameters, say: Voice) -> tuple[str, ...]:
    """What the charts cannot say."""
    audits, rules = parameters.audits, parameters.rules
    notes = [
        say(
            "The figures are about one {target} with reports while no other has any. The more is reported about "
            "others, the harder it is for one {target} to stand out."
        )
    ]
    if rules.max_gap is not None and rules.cooldown:
        notes.append(
            say(
                "The chance is that of {a_target} which is not resting, in a round in which the longest gap claims no "
                "{audit}."
            )
        )
    elif rules.max_gap is not None:
        notes.append(say("The chance is that in a round in which the longest gap claims no {audit}."))
    elif rules.cooldown:
        notes.append(say("The chance is that of {a_target} which is not resting."))
    if len(parameters.classes) > 1:
        notes.append(say("In these figures, a report is one that counts once."))
    if parameters.weights is not None:
        notes.append(
            say(
                "Some {targets} are more likely than others before any report. The figures leave that out: they are "
                "right for {targets} that are all equally likely."
            )
        )
    if quiet_waits(parameters.built(), audits) is None:
        given = [f"--targets {len(parameters.targets)}", f"--delta {parameters.delta:.9g}"]
        given += [f"--horizon {parameters.horizon}", *[f"--audits {audits}"] * (audits > 1)]
        given += [f"--cooldown {rules.cooldown}"] * (rules.cooldown > 0)
        notes.append(
            say(
                "How long {a_target} waits cannot be calculated for counter auditing with a horizon. This command "
                "simulates it: {command}",
                command=f"deniable plan {' '.join(given)}",
            )
        )
    return tuple(notes)


def _weight(parameters: Parameters) -> int:
    """How often all reports count together that the promise to a person speaks of."""
    return parameters.reports_per_person * heaviest(parameters.classes)


def _other(parameters: Parameters) -> Mechanism[Any] | None:
    """The mechanism that was not chosen, at the same promise about a person."""
    C, promised = len(parameters.targets), parameters.guarantee()
    reports, advantage = _weight(parameters), promised.advantage
    if parameters.mechanism == "tca":
        return Race.calibrate(C, delta_for(advantage, reports, "race"), rules=parameters.rules)
    horizon = parameters.max_gap or COMPARED
    delta = delta_for(advantage, reports, "tca", horizon)
    return CounterAuditing.calibrate(C, delta, horizon, rules=parameters.rules)


def _typed(given: FormData) -> PlanForm:
    ticked = " ".join(texts(given, "languages"))
    return PlanForm(**{field.name: text(given, field.name) for field in fields(PlanForm)} | {"languages": ticked})


@cache
def _zones() -> tuple[str, ...]:
    return ("UTC", *sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith("Etc/")))


def _page(
    request: Request,
    form: PlanForm,
    preview: Preview | None = None,
    *,
    mistakes: Sequence[DeniableError] = (),
    terms: Terms = DEFAULT_TERMS,
) -> Response:
    say = voice_of(request, terms)
    told = {field_of(error): refusal(error) for error in mistakes}
    wrong = {field: sentence(say(message)) for field, message in told.items()}
    page = PlanPage(
        form=form,
        zones=_zones(),
        preview=preview,
        wrong=wrong,
        more=form.has_more or not wrong.keys().isdisjoint(MORE),
        audit_terms=tuple((term, say.language.forms["audit"][term]["audit"]) for term in AUDIT_TERMS),
        target_terms=tuple((term, say.language.forms["target"][term]["target"]) for term in TARGET_TERMS),
        languages=tuple((code, language(code).locale.name) for code in available()),
    )
    return render(request, "plan.html", page, 422 if mistakes else 200, terms)
