"""Audits ordered by hand: one person asks, another confirms. A person who is alone in the office decides alone, and the
activity log says so.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts import people
from deniable.console.accounts.people import Person
from deniable.console.console import Console
from deniable.console.pages.common import (
    Consequences,
    CurrentProgramme,
    consequences_of,
    copied_record,
    done_message,
    redirect,
    refusal,
)
from deniable.console.pending_orders import KEPT_FOR, PendingOrder
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import ALLOWED, Fields, console_of, require, text
from deniable.errors import DeniableError
from deniable.programme.programme import Programme
from deniable.programme.transcript.entries import Override
from deniable.programme.transcript_copies import NotKeptError

router = Router()

HOURS = int(KEPT_FOR.total_seconds()) // 3600

DONE = {
    "asked": "You asked for the order. Nothing is recorded before another person confirms it.",
    "withdrawn": "The request is withdrawn. Nothing was recorded.",
}
OWN = "You asked for this order yourself, so another person must confirm it."
GONE = "This request is no longer there: it was confirmed or withdrawn, or it is too old. Ask for the order again."
NEW_ROUND = "A new round has begun since you opened this page. Read the dates again, then confirm."


@dataclass(frozen=True)
class Order:
    """Confidential until it is published."""

    key: str
    asked_by: str
    is_own: bool
    """Whether the person who sees the page asked for it."""
    moved_from: int | None
    """The round in which it was asked for, where that is closed by now."""
    would: Consequences | None
    """None where it can no longer be recorded."""
    error: str | None
    """Why it cannot."""


@dataclass(frozen=True)
class OrdersPage:
    orders: tuple[Order, ...]
    others: tuple[str, ...]
    """Who else may confirm, by name."""
    away: tuple[str, ...]
    """Who might, and cannot sign in at present."""
    hours: int
    done: str | None
    error: str | None


@router.get("/round/orders")
def orders_page(
    request: Request, person: Annotated[Person, require("decide")], programme: CurrentProgramme
) -> Response:
    return _page(request, person, programme)


@router.post("/round/orders/confirm")
def confirm(
    request: Request, person: Annotated[Person, require("decide")], programme: CurrentProgramme, fields: Fields
) -> Response:
    console = console_of(request)
    try:
        asked, by = _asked(console, fields)
        if asked.person == person.id:
            return _page(request, person, programme, OWN)
        if not asked.independent and text(fields, "confirmed") != str(programme.consequence().during):
            return _page(request, person, programme, NEW_ROUND)
        _take(console, asked)
        try:
            number = ordered(programme, asked.targets, asked.reason, asked.independent)
        except DeniableError:
            console.pending_orders.put_back(asked)
            raise
    except DeniableError as error:
        return _page(request, person, programme, refusal(error))
    an_audit = programme.parameters.terms.an_audit
    console.record(person, f"confirmed {an_audit} ordered by hand, which {by} had asked for (entry {number})")
    return redirect("/transcript", "decided")


@router.post("/round/orders/withdraw")
def withdraw(
    request: Request, person: Annotated[Person, require("decide")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """By either of the two."""
    console = console_of(request)
    try:
        asked, by = _asked(console, fields)
        _take(console, asked)
    except DeniableError as error:
        return _page(request, person, programme, refusal(error))
    console.record(person, f"withdrew the request of {by} to order {programme.parameters.terms.an_audit} by hand")
    return redirect("/round/orders", "withdrawn")


def ordered(programme: Programme, targets: tuple[str, ...], reason: str, independent: bool) -> int:
    """Record the order; returns the number of its entry."""
    try:
        return programme.override(targets, reason, independent=independent).number
    except NotKeptError:  # the transcript's page says so
        return programme.status().entries


class Others(NamedTuple):
    """Who else may confirm a decision, by name."""

    here: tuple[str, ...]
    away: tuple[str, ...]
    """Those who cannot sign in at present."""


def others(console: Console, person: Person) -> Others:
    with console.store.reading() as connection:
        away = people.locked_out(connection, console.key)
        able = people.having(connection, console.key, ALLOWED["decide"])
    here, gone = (
        tuple(one.name for one in able if one.id != person.id and (one.id in away) == is_away)
        for is_away in (False, True)
    )
    return Others(here, gone)


def waiting_orders(console: Console) -> list[tuple[PendingOrder, str]]:
    """All that wait, with the names of those who asked; a person who may not decide any more has asked for nothing."""
    pending = console.pending_orders.all()
    names = _able(console) if pending else {}
    return [(order, names[order.person]) for order in pending if order.person in names]


def _able(console: Console) -> dict[str, str]:
    """The names of all who may decide, by their ids."""
    with console.store.reading() as connection:
        return {one.id: one.name for one in people.having(connection, console.key, ALLOWED["decide"])}


def _asked(console: Console, fields: FormData) -> tuple[PendingOrder, str]:
    """The request, and the name of the person who made it, if they may still do so."""
    key = text(fields, "pending")
    found = next(((order, name) for order, name in waiting_orders(console) if order.key == key), None)
    if found is None:
        raise DeniableError(GONE)
    return found


def _take(console: Console, asked: PendingOrder) -> None:
    """Of two requests at once, as from a double click, one goes on."""
    if console.pending_orders.take(asked.key) is None:
        raise DeniableError(GONE)


def _page(request: Request, person: Person, programme: Programme, error: str | None = None) -> Response:
    console, status = console_of(request), programme.status()
    copied_record(request, programme, status.folder)
    second = others(console, person)
    page = OrdersPage(
        orders=tuple(_order(programme, order, name, person) for order, name in waiting_orders(console)),
        others=second.here,
        away=second.away,
        hours=HOURS,
        done=None if error else done_message(request, DONE),
        error=error,
    )
    return render(request, "orders.html", page, 422 if error else 200)


def _order(programme: Programme, order: PendingOrder, name: str, person: Person) -> Order:
    would, error = None, None
    try:
        entry = programme.foreseen_decision(Override, order.reason, independent=order.independent, audits=order.targets)
        would = consequences_of(programme, entry)
    except DeniableError as refused:
        error = refusal(refused)
    moved_from = order.round if order.round < programme.status().open_round else None
    return Order(order.key, name, order.person == person.id, moved_from, would, error)
