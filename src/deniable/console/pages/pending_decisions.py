"""Decisions that need two people: one asks, another confirms. They are orders by hand, and all decisions by which the
promise is lost. A person who is alone in the office decides alone, and the activity log says so.
"""

from dataclasses import dataclass, replace
from typing import Annotated

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts import activity
from deniable.console.accounts.people import Person
from deniable.console.console import Console
from deniable.console.pages.common import (
    GIVEN_UP,
    LOOKED,
    Consequences,
    CurrentProgramme,
    consequences_of,
    copied_record,
    done_message,
    last_looked,
    names_by_id,
    others,
    redirect,
    refusal,
)
from deniable.console.pages.decision_kinds import asked_in
from deniable.console.pages.decision_log import DECISION_LOG
from deniable.console.pages.published import check_undamaged
from deniable.console.pending_decisions import KEPT_FOR, PendingDecision
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, require, text
from deniable.console.voices import voice_of
from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.message import Message, noted
from deniable.programme.calendar import Day
from deniable.programme.programme import Programme
from deniable.programme.rounds import NEW_ROUND

router = Router()

HOURS = int(KEPT_FOR.total_seconds()) // 3600

DONE = {
    "asked": noted("You asked for the decision. Nothing is recorded before another person confirms it."),
    **GIVEN_UP,
}
OWN = noted("You asked for this decision yourself, so another person must confirm it.")
GONE = noted(
    "This request is no longer there: it was confirmed, refused or withdrawn, or it is too old. Ask for the decision "
    "again."
)


@dataclass(frozen=True)
class PendingRequest:
    """Confidential until it is published."""

    key: str
    kind: str
    asked_by: str
    is_own: bool
    """Whether the person who sees the page asked for it."""
    moved_from: int | None
    """The round in which it was asked for, where that is closed by now."""
    would: Consequences | None
    """None where it can no longer be recorded."""
    error: Message | None
    """Why it cannot."""
    instead: tuple[str, ...]
    """Who else may confirm it and never looked at counts, by name; where the person who sees the page has looked."""
    asker_looked: Day | None
    """When the person who asked last looked at counts."""


@dataclass(frozen=True)
class PendingPage:
    requests: tuple[PendingRequest, ...]
    others: tuple[str, ...]
    """Who else may confirm, by name."""
    away: tuple[str, ...]
    """Who might, and cannot sign in at present."""
    looked: Day | None
    """When the person who sees the page last looked at counts."""
    hours: int
    shows_names: bool
    """Whether it has names that are not public yet."""
    done: Message | None
    error: Message | None


@router.get("/round/pending")
def pending_page(
    request: Request, person: Annotated[Person, require("decide")], programme: CurrentProgramme
) -> Response:
    return _page(request, person, programme)


@router.post("/round/pending/confirm")
def confirm(
    request: Request, person: Annotated[Person, require("decide")], programme: CurrentProgramme, fields: Fields
) -> Response:
    console = console_of(request)
    try:
        check_undamaged(console, programme)
        pending, by = _asked(console, fields)
        if pending.person == person.id:
            return _page(request, person, programme, OWN)
        wanted = asked_in(programme, pending.kind, FormData([*pending.typed]))
        foreseen = wanted.foreseen(programme)
        if text(fields, "confirmed") != consequences_of(programme, foreseen, voice_of(request)).rounds:
            return _page(request, person, programme, NEW_ROUND)
        _take(console, pending)
        try:
            number = wanted.record(programme, foreseen)
        except DeniableError:
            console.pending_decisions.put_back(pending)
            raise
    except DeniableError as error:
        return _page(request, person, programme, refusal(error))
    console.record(person, DECISION_LOG[pending.kind].confirmed.filled(by=by, round=pending.round, entry=number))
    return redirect("/transcript", "decided")


@router.post("/round/pending/withdraw")
def withdraw(
    request: Request, person: Annotated[Person, require("decide")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """By the person who asked; a second person refuses it so."""
    console = console_of(request)
    try:
        pending, by = _asked(console, fields)
        _take(console, pending)
    except DeniableError as error:
        return _page(request, person, programme, refusal(error))
    log, is_own = DECISION_LOG[pending.kind], pending.person == person.id
    console.record(person, (log.withdrew if is_own else log.refused).filled(by=by, round=pending.round))
    if not is_own:
        console.pending_decisions.refuse(pending, person.name)
    return redirect("/round/pending", "withdrawn" if is_own else "refused")


def unaware(console: Console, person: Person) -> tuple[str, ...]:
    """Who else may decide and never looked at counts, by name."""
    able = others(console, person).here
    with console.store.reading() as connection:
        return tuple(name for name in able if activity.last_day(connection, LOOKED, name) is None)


def waiting_decisions(console: Console) -> list[tuple[PendingDecision, str]]:
    """All that wait, with the names of those who asked; a person who may not decide any more has asked for nothing."""
    waiting = console.pending_decisions.all()
    names = names_by_id(console, "decide") if waiting else {}
    return [(pending, names[pending.person]) for pending in waiting if pending.person in names]


def _asked(console: Console, fields: FormData) -> tuple[PendingDecision, str]:
    """The request, and the name of the person who made it, if they may still do so."""
    key = text(fields, "pending")
    found = next(((pending, name) for pending, name in waiting_decisions(console) if pending.key == key), None)
    if found is None:
        raise DeniableError(GONE)
    return found


def _take(console: Console, pending: PendingDecision) -> None:
    """Of two requests at once, as from a double click, one goes on."""
    if console.pending_decisions.take(pending.key) is None:
        raise DeniableError(GONE)


def _page(request: Request, person: Person, programme: Programme, error: Message | None = None) -> Response:
    console, status = console_of(request), programme.status()
    copied_record(request, programme, status.folder)
    second, say = others(console, person), voice_of(request)
    looked = last_looked(console, person.name, say)
    instead = unaware(console, person) if looked else ()
    requests = tuple(
        replace(
            _shown(programme, pending, name, person.id == pending.person, say),
            instead=tuple(one for one in instead if one != name),
            asker_looked=last_looked(console, name, say),
        )
        for pending, name in waiting_decisions(console)
    )
    page = PendingPage(
        requests=requests,
        others=second.here,
        away=second.away,
        looked=looked,
        hours=HOURS,
        shows_names=any(one.would is not None and one.would.revealed for one in requests),
        done=None if error else done_message(request, DONE),
        error=error,
    )
    return render(request, "pending_decisions.html", page, 422 if error else 200)


def _shown(programme: Programme, pending: PendingDecision, name: str, is_own: bool, say: Voice) -> PendingRequest:
    would, error = None, None
    try:
        entry = asked_in(programme, pending.kind, FormData([*pending.typed])).foreseen(programme)
        would = consequences_of(programme, entry, say)
    except DeniableError as refused:
        error = refusal(refused)
    moved_from = pending.round if pending.round < programme.status().open_round else None
    return PendingRequest(
        pending.key, pending.kind, name, is_own, moved_from, would, error, instead=(), asker_looked=None
    )
