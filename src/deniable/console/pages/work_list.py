"""Work list: selected targets, until it is recorded whether the audit took place."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.pages.common import (
    CurrentProgramme,
    copied_record,
    number_in,
    recorded,
    redirect,
    refusal,
)
from deniable.console.public_record import SelectedBy, Unrecorded, unpublished_audits
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, require, text
from deniable.console.target_search import Found
from deniable.console.voices import voice_of
from deniable.errors import DeniableError
from deniable.message import Message, noted
from deniable.programme.calendar import Day, day_in_words
from deniable.programme.names import LONGEST_NAME, caseless
from deniable.programme.programme import Programme
from deniable.programme.public.page import Event
from deniable.programme.work_list import OpenAudit
from deniable.streams import day_number

router = Router()

MOST = 25
"""Audits a page."""


@dataclass(frozen=True)
class Waiting:
    key: str
    """The round and the target, for the forms."""
    target: str
    round: int
    due: Day
    secret_until: int | None
    """The round with whose closing the public learns the name; None where it knows it."""
    first: str
    """The first day on which it can have taken place, as the browser's calendar wants it."""
    is_published: bool
    """Whether the public can read of it by now; not where only the office's own record has it."""
    is_emergency: bool
    selected_by: SelectedBy
    """In this round."""
    emergency_before: tuple[int, ...]
    """Earlier rounds in which it was to be visited at once, where it is selected in another way now."""
    also_in: tuple[int, ...]
    """Other earlier rounds in which it was selected, of which nothing can be recorded any more."""


@dataclass(frozen=True)
class WorkListPage:
    """Confidential: it has the names that the public does not know yet, for those who may close a round."""

    audits: tuple[Waiting, ...]
    """Emergencies first, then the oldest."""
    total: int
    recordable: int
    """Those whose names are public, so that it can be recorded what became of them."""
    all_published: bool
    """Whether the public can read of every audit on the list."""
    had_any: bool
    """Whether any target was ever selected, as far as the person may know."""
    found: Found
    today: str
    ended: bool
    """Whether the programme is over, and nothing can be recorded."""
    done: str | None
    """The entry that was recorded just now, in the record's words."""
    error: Message | None
    error_at: str
    """The key of the audit whose form did not work; empty where it is not on the list."""


@dataclass(frozen=True)
class VisitPage:
    """A visit, before it is recorded."""

    key: str
    target: str
    round: int
    day: Day


@router.get("/work-list")
def work_list_page(request: Request, _: Annotated[Person, require("decide")], programme: CurrentProgramme) -> Response:
    return _page(request, programme, start=number_in(request.query_params.get("start", "")) or 0)


@router.post("/work-list/find", writes=False)
def find(
    request: Request, _: Annotated[Person, require("decide")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """Audits of targets with this in their names."""
    query = " ".join(text(fields, "find").split())[:LONGEST_NAME]
    return _page(request, programme, start=number_in(text(fields, "start")) or 0, query=query)


@router.post("/work-list")
def record(
    request: Request, person: Annotated[Person, require("decide")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """That an audit took place. First it asks; sent from there, it is recorded."""
    round_, _, target = text(fields, "audit").partition(" ")
    of, typed = number_in(round_) or 0, day_number(text(fields, "day"))
    try:
        day = _day(request, programme, of, target, typed)
        if text(fields, "confirmed") != "yes":
            page = VisitPage(f"{of} {target}", target, of, day_in_words(day, voice_of(request)))
            return render(request, "work_list_confirm.html", page)
        entry = recorded(lambda: programme.carried_out(of, target, day).number)
    except DeniableError as error:
        return _page(request, programme, error=refusal(error), error_at=f"{of} {target}")
    console_of(request).record(person, noted("recorded that {an_audit} took place (entry {entry})", entry=entry))
    return redirect("/work-list", "recorded")


def _day(request: Request, programme: Programme, of: int, target: str, typed: int | None) -> date:
    """Of a visit that can be recorded; refused otherwise."""
    calendar, terms, say = programme.parameters.calendar, programme.parameters.terms, voice_of(request)
    if not any((one.round, one.target) == (of, target) for one in programme.work_list()):
        raise DeniableError(
            "This {audit_word} cannot be recorded: its name is not public yet, or the "
            "{target_word} was selected again, or it is recorded already.",
            audit_word=terms.audit,
            target_word=terms.target,
        )
    first, today = calendar.first_day(of), calendar.today(console_of(request).clock())
    if typed is None or not first <= date.fromordinal(typed) <= today:
        raise DeniableError(
            "Give the day of the visit to {name}: from {first} to {last}.",
            name=target,
            first=say.day(first),
            last=say.day(today),
        )
    return date.fromordinal(typed)


def _latest(events: Sequence[Event]) -> str | None:
    """The visit that was recorded last."""
    return next((event.heading for event in events if event.kind == "carried-out"), None)


def key_of(audit: OpenAudit) -> str:
    """By which forms name an audit."""
    return f"{audit.round} {audit.target}"


def open_audits(programme: Programme) -> tuple[OpenAudit, ...]:
    """At the end all names are public, and no key is left that could open them."""
    return programme.work_list() if programme.status().ended else programme.whole_work_list()


def _page(
    request: Request,
    programme: Programme,
    *,
    start: int = 0,
    query: str = "",
    error: Message | None = None,
    error_at: str = "",
) -> Response:
    status = programme.status()
    record = copied_record(request, programme, status.folder)
    unrecorded, say = Unrecorded(record), voice_of(request)
    calendar, every = programme.parameters.calendar, unrecorded.emergencies_first(open_audits(programme))
    unpublished = unpublished_audits(record, status.published)
    wanted = caseless(query)
    audits = [audit for audit in every if wanted in caseless(audit.target)] if query else every
    start = start if start < len(audits) else 0
    shown = tuple(
        Waiting(
            key=key_of(one),
            target=one.target,
            round=one.round,
            due=day_in_words(one.day, say),
            secret_until=one.secret_until,
            first=calendar.first_day(one.round).isoformat(),
            is_published=one.secret_until is None and (one.round, one.target) not in unpublished,
            is_emergency=unrecorded.is_emergency(one),
            selected_by=unrecorded.selected_by(one),
            emergency_before=unrecorded.emergency_before(one),
            also_in=unrecorded.also_in(one),
        )
        for one in audits[start : start + MOST]
    )
    page = WorkListPage(
        audits=shown,
        total=len(every),
        recordable=sum(one.secret_until is None for one in every),
        all_published=not any(one.secret_until or (one.round, one.target) in unpublished for one in every),
        found=Found.place(query, start, MOST, len(audits)),
        today=calendar.today(console_of(request).clock()).isoformat(),
        ended=status.ended,
        had_any=bool(every) or any(event.audited for event in record.events),
        done=None if error or request.query_params.get("done") != "recorded" else _latest(record.events),
        error=error,
        error_at=error_at,
    )
    return render(request, "work_list.html", page, 422 if error else 200)
