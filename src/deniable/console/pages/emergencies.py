"""Emergencies: visits to which a report of a class leads at once. One person asks for a visit, another confirms it. A
person who is alone in the office confirms their own request, and the activity log says so.

Which visits wait is for those who see counts. What was asked for is seen by all who may confirm it. Nothing here
depends on ordinary reports.
"""

from dataclasses import dataclass, replace
from typing import Annotated

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts import people
from deniable.console.accounts.people import Person
from deniable.console.console import Console
from deniable.console.pages.common import (
    GIVEN_UP,
    CurrentProgramme,
    Foreseen,
    copied_record,
    counting,
    done_message,
    foreseen,
    others,
    recorded,
    redirect,
    refusal,
)
from deniable.console.pending_visits import KEPT_FOR, PendingVisit
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, may, require, text
from deniable.console.voices import voice_of
from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.message import Message, noted
from deniable.programme.calendar import Day, due_in_words
from deniable.programme.programme import Programme

router = Router()

HOURS = int(KEPT_FOR.total_seconds()) // 3600

DONE = {"asked": noted("You asked for the visit. Nothing is recorded before it is confirmed."), **GIVEN_UP}
NOT_WAITING = noted("No report waits for this visit. Enter the report first.")
ASKED_BEFORE = noted("This visit was asked for before. Another person must confirm it.")
OWN = noted("You asked for this visit yourself, so another person must confirm it.")
GONE = noted(
    "This request is no longer there: it was confirmed, refused or withdrawn, or it is too old. If the visit is still "
    "needed, an auditor asks for it again."
)


@dataclass(frozen=True)
class Visit:
    """Confidential until it is published."""

    target: str
    report_class: str
    asked_by: str | None
    """None where it was not asked for yet."""
    is_own: bool
    """Whether the person who sees the page asked for it."""
    also: tuple[str, ...]
    """Who may confirm it besides the person who sees the page, by name."""
    refused_by: str | None
    """Who refused the request of the person who sees the page, by name; None where they may not know of one."""
    shown: Foreseen


@dataclass(frozen=True)
class EmergenciesPage:
    """The same whatever ordinary reports there are. An operator sees this page."""

    classes: tuple[Foreseen, ...]
    """For each class that leads to a visit, what the record will show."""
    asked: tuple[Visit, ...]
    others: tuple[str, ...]
    """Who else may confirm, by name."""
    away: tuple[str, ...]
    """Who might, and cannot sign in at present."""
    hours: int
    round: int
    due: Day
    """When the open round is due: then every visit that waits is recorded."""
    has_open_round: bool
    """Not after the last round, or the end of the programme."""
    is_overdue: bool
    ended: bool
    done: Message | None
    error: Message | None


@dataclass(frozen=True)
class WaitingEmergenciesPage(EmergenciesPage):
    """For auditors."""

    waiting: tuple[Visit, ...]


@router.get("/emergencies")
def emergencies_page(
    request: Request, person: Annotated[Person, require("decide")], programme: CurrentProgramme
) -> Response:
    return _page(request, person, programme)


@router.post("/emergencies/ask")
def ask(
    request: Request, person: Annotated[Person, require("counts")], programme: CurrentProgramme, fields: Fields
) -> Response:
    console, wanted = console_of(request), (text(fields, "target"), text(fields, "class"))
    if wanted not in programme.waiting_visits():
        return _page(request, person, programme, NOT_WAITING)
    before = console.pending_visits.find(*wanted)
    if before is not None and _name(console, before) is None:
        console.pending_visits.forget(*wanted)
    if not console.pending_visits.ask(*wanted, person.id):
        return _page(request, person, programme, ASKED_BEFORE)
    console.record(person, noted("asked for a visit in an emergency"))
    return redirect("/emergencies", "asked")


@router.post("/emergencies/confirm")
def confirm(
    request: Request, person: Annotated[Person, require("decide")], programme: CurrentProgramme, fields: Fields
) -> Response:
    console, asked = _asked(request, fields)
    if asked is None:
        return _page(request, person, programme, GONE)
    is_alone = asked.person == person.id
    if is_alone and others(console, person).here:
        return _page(request, person, programme, OWN)
    try:
        number = recorded(lambda: programme.visit(asked.target, asked.report_class).number)
    except DeniableError as error:
        return _page(request, person, programme, refusal(error))
    console.pending_visits.forget(asked.target, asked.report_class)
    alone = noted("confirmed a visit in an emergency, alone, since no other person could (entry {entry})")
    together = noted("confirmed a visit in an emergency, which {by} had asked for (entry {entry})")
    action = alone.filled(entry=number) if is_alone else together.filled(by=_name(console, asked), entry=number)
    console.record(person, action)
    return redirect("/transcript", "visit")


@router.post("/emergencies/withdraw")
def withdraw(
    request: Request, person: Annotated[Person, require("decide")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """By the person who asked. A second person refuses it so: the report may have been entered by mistake."""
    console, asked = _asked(request, fields)
    if asked is None:
        return _page(request, person, programme, GONE)
    is_own, by = asked.person == person.id, _name(console, asked)
    if is_own:
        console.pending_visits.forget(asked.target, asked.report_class)
    else:
        console.pending_visits.refuse(asked, person.name)
    withdrew = noted("withdrew their own request for a visit in an emergency")
    refused = noted("refused the request of {by} for a visit in an emergency", by=by)
    console.record(person, withdrew if is_own else refused)
    return redirect("/emergencies", "withdrawn" if is_own else "refused")


def asked_visits(console: Console) -> list[tuple[PendingVisit, str]]:
    """All that wait to be confirmed, with the names of those who asked and still see counts."""
    return [(one, name) for one in console.pending_visits.all() if (name := _name(console, one)) is not None]


def _asked(request: Request, fields: FormData) -> tuple[Console, PendingVisit | None]:
    """The request that a form names; None where the person who made it may no longer do so."""
    console = console_of(request)
    asked = console.pending_visits.find(text(fields, "target"), text(fields, "class"))
    return console, None if asked is None or _name(console, asked) is None else asked


def _name(console: Console, asked: PendingVisit) -> str | None:
    """Of the person who asked; None where they no longer see counts."""
    with console.store.reading() as connection:
        known = people.by_id(connection, console.key, asked.person)
    return known.person.name if known is not None and not known.disabled and may(known.person, "counts") else None


def _page(request: Request, person: Person, programme: Programme, error: Message | None = None) -> Response:
    console, status = console_of(request), programme.status()
    if not status.parameters.visit_classes:
        return redirect("/round")
    copied_record(request, programme, status.folder)  # what no longer waits was recorded
    second, say = others(console, person), voice_of(request)
    asked = (
        replace(
            _visit(programme, one.target, one.report_class, say),
            asked_by=name,
            is_own=one.person == person.id,
            also=tuple(other for other in second.here if other != name),
        )
        for one, name in asked_visits(console)
    )
    page = EmergenciesPage(
        classes=tuple(foreseen(programme, None, name, say) for name in status.parameters.visit_classes),
        asked=tuple(asked),
        others=second.here,
        away=second.away,
        hours=HOURS,
        round=status.open_round,
        due=due_in_words(status.parameters.calendar, status.open_round, say),
        has_open_round=status.has_open_round,
        is_overdue=bool(status.overdue),
        ended=status.ended,
        done=done_message(request, DONE),
        error=error,
    )
    code = 422 if error else 200
    if status.ended or not may(person, "counts"):
        return render(request, "emergencies.html", page, code)
    known = {(one.target, one.report_class) for one in page.asked}
    refused = console.pending_visits.refused(person.id)
    waiting = tuple(
        replace(_visit(programme, *key, say), refused_by=refused.get(key))
        for key in counting(programme.waiting_visits)
        if key not in known
    )
    return render(request, "emergencies_waiting.html", WaitingEmergenciesPage(**vars(page), waiting=waiting), code)


def _visit(programme: Programme, target: str, report_class: str, say: Voice) -> Visit:
    """One that was not asked for."""
    shown = foreseen(programme, target, report_class, say)
    return Visit(target, report_class, asked_by=None, is_own=False, also=(), refused_by=None, shown=shown)
