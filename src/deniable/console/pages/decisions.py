"""What the office decides by itself, outside the draw: published with its reason, and with what it does to the
guarantee.
"""

from dataclasses import dataclass, replace
from typing import Annotated

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.console import Console
from deniable.console.pages.common import (
    Consequences,
    CurrentProgramme,
    consequences_of,
    copied_record,
    last_looked,
    number_in,
    others,
    redirect,
    refusal,
    search,
)
from deniable.console.pages.decision_kinds import KINDS, asked_in
from deniable.console.pages.decision_log import DECISION_LOG
from deniable.console.pages.pending_decisions import unaware
from deniable.console.pages.published import Damage, check_undamaged, damage_of
from deniable.console.pages.work_list import key_of
from deniable.console.pending_decisions import Typed
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, Refused, console_of, require, text, texts
from deniable.console.target_search import FEW, MOST_FOUND, Found
from deniable.console.voices import voice_of
from deniable.errors import DeniableError
from deniable.message import Message, noted
from deniable.programme.calendar import Day, due_in_words
from deniable.programme.names import caseless
from deniable.programme.programme import Programme
from deniable.programme.status import Status

router = Router()


@dataclass(frozen=True)
class PastAudit:
    key: str
    target: str
    round: int


@dataclass(frozen=True)
class DecisionPage:
    kind: str
    title: Message
    lead: Message
    round: int
    due: Day
    """When the open round is due."""
    until: Day
    """When the calendar's round ends: reports filed before lose the promise if the decision is connected with any."""
    looked: Day | None
    """When the person who sees the page last looked at counts."""
    unaware: tuple[str, ...]
    """Where they did: who else may decide and never looked, by name."""
    targets: tuple[str, ...]
    """Those to choose from: all of them, where they are few."""
    audits: tuple[PastAudit, ...]
    """Those that can be said not to have been carried out, newest first."""
    had_any: bool
    """Whether any target was ever selected, where it is asked which audit did not take place. Public."""
    is_long: bool
    """Whether there are so many of either that one looks for them."""
    found: Found | None = None
    """What was looked for; None before."""
    chosen: tuple[str, ...] = ()
    added: str = ""
    new_name: str = ""
    reason: str = ""
    independent: str = ""
    damage: Damage = ""
    """Of the public files, for which nothing can be recorded."""
    error: Message | None = None
    has_own: bool = False
    """Whether another decision of this person waits for a second one."""


@dataclass(frozen=True)
class ConfirmPage:
    """What the decision does, before it is recorded."""

    kind: str
    would: Consequences
    typed: Typed
    """The fields of the form, to be sent again."""
    needs_two: bool
    """Whether a second person must confirm it, if there is one who can."""
    others: tuple[str, ...]
    """Who they are, by name."""
    looked: Day | None
    """When the person who sees the page last looked at counts."""
    is_changed: bool
    """Whether a new round began since the person saw the consequences."""


TYPED = ("target", "audit", "added", "new_name", "round", "reason", "independent")


@router.get("/round/decisions/{kind}")
def ask(
    request: Request, kind: str, person: Annotated[Person, require("decide")], programme: CurrentProgramme
) -> Response:
    page, status = _asked(request, person, programme, kind)
    if kind == "skip" and not status.overdue:
        return redirect("/round")
    return render(request, "decision.html", page)


@router.post("/round/decisions/{kind}")
def decide(
    request: Request,
    kind: str,
    person: Annotated[Person, require("decide")],
    programme: CurrentProgramme,
    fields: Fields,
) -> Response:
    """First it shows what the decision does. Sent from there, it is recorded, or it waits for a second person."""
    page, _ = _asked(request, person, programme, kind, fields)
    if "start" in fields or "change" in fields:
        return render(request, "decision.html", page)
    console = console_of(request)
    typed = tuple((name, value) for name in TYPED for value in texts(fields, name))
    try:
        check_undamaged(console, programme)
        wanted = asked_in(programme, kind, fields)
        entry, seen = wanted.foreseen(programme), text(fields, "confirmed")
        able = others(console, person).here if wanted.needs_two else ()
        would = consequences_of(programme, entry, voice_of(request))
        if seen != would.rounds:
            asks = ConfirmPage(kind, would, typed, wanted.needs_two, able, page.looked, bool(seen))
            return render(request, "decision_confirm.html", asks)
        if able:
            return _ask_for(console, person, page, typed)
        number = wanted.record(programme, entry)
    except DeniableError as error:
        return render(request, "decision.html", replace(page, error=refusal(error)), 422)
    log = DECISION_LOG[kind]
    console.record(person, (log.alone if wanted.needs_two else log.done).filled(round=entry.round, entry=number))
    return redirect("/transcript", "decided")


def _ask_for(console: Console, person: Person, page: DecisionPage, typed: Typed) -> Response:
    if not console.pending_decisions.ask(person.id, page.kind, typed, page.round):
        raise DeniableError(
            "Another decision that you asked for still waits. When it is confirmed or withdrawn, you can ask for this "
            "one."
        )
    console.record(person, DECISION_LOG[page.kind].asked.filled(round=page.round))
    return redirect("/round/pending", "asked")


def _asked(
    request: Request, person: Person, programme: Programme, kind: str, fields: FormData | None = None
) -> tuple[DecisionPage, Status]:
    """The form, filled with what was typed."""
    if kind not in KINDS:
        raise Refused(404, noted("There is no such page."))
    decision, status, filled = KINDS[kind], programme.status(), fields or FormData()
    record = copied_record(request, programme, status.folder)
    calendar, say = programme.parameters.calendar, voice_of(request)
    looked = last_looked(console_of(request), person.name, say)
    audits = _past_audits(programme, filled) if kind == "not-carried-out" else ()
    page = DecisionPage(
        kind=kind,
        title=decision.title,
        lead=decision.lead,
        round=status.open_round,
        due=due_in_words(calendar, status.open_round, say),
        until=due_in_words(calendar, programme.foresight.consequence(say).during, say),
        looked=looked,
        unaware=unaware(console_of(request), person) if looked else (),
        targets=status.targets,
        audits=audits,
        had_any=bool(audits) or any(event.audited for event in record.events),
        is_long=len(audits) > MOST_FOUND if kind == "not-carried-out" else len(status.targets) > FEW,
        chosen=(*texts(filled, "target"), *texts(filled, "audit")),
        added=text(filled, "added"),
        new_name=text(filled, "new_name"),
        reason=text(filled, "reason"),
        damage=damage_of(console_of(request), programme),
        independent=text(filled, "independent"),
        has_own=any(pending.person == person.id for pending in console_of(request).pending_decisions.all()),
    )
    return (_searched(request, page, status.targets, filled) if page.is_long else page), status


def _past_audits(programme: Programme, fields: FormData) -> tuple[PastAudit, ...]:
    """Of a person who comes from the work list, the one that they chose there; all where one is looked for."""
    audits = [PastAudit(key_of(audit), audit.target, audit.round) for audit in reversed(programme.work_list())]
    chosen = [audit for audit in audits if audit.key in texts(fields, "audit")]
    return tuple(chosen if chosen and "find" not in fields else audits)


def _searched(request: Request, page: DecisionPage, targets: tuple[str, ...], fields: FormData) -> DecisionPage:
    """The same with a page of what was looked for, and what was chosen before."""
    if page.kind == "not-carried-out":
        wanted, first = caseless(text(fields, "find")), number_in(text(fields, "start")) or 0
        audits = [audit for audit in page.audits if wanted in caseless(audit.target)] if wanted else page.audits
        found = Found.place(text(fields, "find"), first, MOST_FOUND, len(audits))
        chosen = [audit for audit in page.audits if audit.key in page.chosen]
        shown = (*chosen, *(audit for audit in audits[first : first + MOST_FOUND] if audit not in chosen))
        return replace(page, targets=(), audits=shown, found=found)
    index = console_of(request).target_search.of(targets)
    chosen_names = tuple(name for name in dict.fromkeys(page.chosen) if index.exact(name) == name)
    if "start" not in fields:
        return replace(page, targets=(), audits=(), chosen=chosen_names)
    found = search(request, targets, fields)
    others = tuple(name for name in found.names if name not in chosen_names)
    return replace(page, targets=others, audits=(), chosen=chosen_names, found=found)
