"""Work list: audits that were drawn or ordered, until it is recorded whether they took place."""

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
    done_message,
    number_in,
    redirect,
    refusal,
)
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, require, text
from deniable.console.target_search import Found
from deniable.errors import DeniableError
from deniable.programme.calendar import Day, day_in_words
from deniable.programme.names import LONGEST_NAME, caseless
from deniable.programme.programme import Programme
from deniable.programme.public.page import Event
from deniable.programme.transcript_copies import NotKeptError
from deniable.programme.work_list import OpenAudit
from deniable.streams import day_number

router = Router()

MOST = 25
"""Audits a page."""
DONE = {"recorded": "The visit is recorded. Publish it, so that the world sees it."}


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
    is_emergency: bool


@dataclass(frozen=True)
class WorkListPage:
    """Confidential: it has the names that the public does not know yet, for those who may close a round."""

    audits: tuple[Waiting, ...]
    """The oldest first."""
    total: int
    found: Found
    today: str
    done: str | None
    error: str | None


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
    """That an audit took place."""
    round_, _, target = text(fields, "audit").partition(" ")
    of, day = number_in(round_), day_number(text(fields, "day"))
    if of is None or day is None:
        return _page(request, programme, error="Say on which day the audit took place, written YYYY-MM-DD.")
    try:
        entry = programme.carried_out(of, target, date.fromordinal(day)).number
    except NotKeptError:  # the transcript's page says so
        entry = programme.status().entries
    except DeniableError as error:
        return _page(request, programme, error=refusal(error))
    console_of(request).record(person, f"recorded that an audit took place (entry {entry})")
    return redirect("/work-list", "recorded")


def key_of(audit: OpenAudit) -> str:
    """By which forms name an audit."""
    return f"{audit.round} {audit.target}"


def _every(programme: Programme) -> tuple[OpenAudit, ...]:
    """At the end all names are public, and no key is left that could open them."""
    return programme.work_list() if programme.status().ended else programme.whole_work_list()


def _emergencies(events: Sequence[Event]) -> set[tuple[int, str]]:
    """Round and target of those of which nothing is recorded yet."""
    return {
        (event.round, audited.name)
        for event in events
        if event.kind == "emergency"
        for audited in event.audited
        if audited.carried_out and audited.visited is None
    }


def _page(
    request: Request, programme: Programme, *, start: int = 0, query: str = "", error: str | None = None
) -> Response:
    record = copied_record(request, programme, programme.status().folder)
    calendar, every = programme.parameters.calendar, _every(programme)
    wanted, emergencies = caseless(query), _emergencies(record.events)
    audits = [audit for audit in every if wanted in caseless(audit.target)] if query else every
    start = start if start < len(audits) else 0
    shown = tuple(
        Waiting(
            key=key_of(one),
            target=one.target,
            round=one.round,
            due=day_in_words(one.day),
            secret_until=one.secret_until,
            first=calendar.first_day(one.round).isoformat(),
            is_emergency=one.secret_until is None and (one.round, one.target) in emergencies,
        )
        for one in audits[start : start + MOST]
    )
    page = WorkListPage(
        audits=shown,
        total=len(every),
        found=Found.place(query, start, MOST, len(audits)),
        today=calendar.today(console_of(request).clock()).isoformat(),
        done=None if error else done_message(request, DONE),
        error=error,
    )
    return render(request, "work_list.html", page, 422 if error else 200)
