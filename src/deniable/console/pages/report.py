"""Reports: entering them by hand, and taking back what was entered by mistake.

A form that is sent twice, because its answer got lost or was reloaded, counts once. Its receipt is a keyed hash of the
person, of this very form and of what was entered: no person can make the receipt of another, and a form that the
browser's Back button brings back counts again if something else is entered into it.
"""

import hmac
import json
import re
import secrets
from asyncio import wrap_future
from collections.abc import Awaitable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Annotated

from markupsafe import escape
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.pages.common import (
    CurrentProgramme,
    Foreseen,
    auditors_of,
    foreseen,
    number_in,
    refusal,
    search,
)
from deniable.console.pages.notices import Notices, notices_of
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, may, require, text
from deniable.console.target_search import FEW, Found
from deniable.console.voices import voice_of
from deniable.errors import DeniableError
from deniable.message import Message, noted
from deniable.programme.calendar import Day, due_in_words
from deniable.programme.names import LONGEST_NAME
from deniable.programme.programme import Programme
from deniable.programme.receipt import receipt_from
from deniable.programme.status import Status

router = Router()

MOST = 10_000
"""At once: far above what a person counts by hand."""
MANY = 20
"""Where the programme has no limit of its own: a larger number may be mistyped, and is asked about once."""
MOST_BYTES = 6_000 + 10 * LONGEST_NAME
"""That what is said of a form takes, with a target's name twice in it: a character has at most five."""
MOST_KEPT = 100 + 5 * LONGEST_NAME
"""Bytes that what was typed takes in the form where it is kept."""

ASKED_BACK = noted("asked to take back reports")
"""In the activity log, for those who may see counts: neither how often, nor how many, nor about which target."""


@dataclass(frozen=True)
class Entered:
    """What the person who sees the page has just typed. Confidential."""

    number: int
    target: str
    report_class: str
    """Empty where there is only one."""
    leads_to_visit: bool
    """Whether a report of this class leads to a visit at once."""
    form_id: str
    is_large: bool
    """Whether the number is so large that it may be mistyped."""
    receipt: str
    """Empty where nothing is entered yet, because the number or the class is asked about."""
    room: int
    """Bytes of the answer about it, whatever it is: an observer of the network sees its length."""


@dataclass(frozen=True)
class TakenBack:
    """Whose reports were just taken back, by the person who sees the page. Confidential."""

    target: str
    room: int
    """As above."""


@dataclass(frozen=True)
class Typed:
    """What the form to enter reports has in its boxes. Confidential, but for a new one."""

    target: str = ""
    number: str = "1"
    report_class: str = ""
    room: int = 0
    """Bytes of spaces beside it, which make the form as long as any other."""


@dataclass(frozen=True)
class ClassChoice:
    """A class of reports, for the person who chooses it."""

    name: str
    weight: int | None
    """How often a report counts; None where it leads to a visit at once."""


@dataclass(frozen=True)
class ReportPage:
    """The same whatever was reported. An importer sees this page."""

    round: int
    due: Day
    has_open_round: bool
    """Not after the last round, or the end of the programme."""
    is_overdue: bool
    """Whether the open round is due and not closed."""
    ended: bool
    notices: Notices
    was_stopped_at_last_tick: bool
    """Whether the programme could not go on with its database then."""
    targets: tuple[str, ...]
    """Those to choose from: all of them, where they are few."""
    found: Found | None
    """Where they are many, what was looked for; None before."""
    is_long: bool
    """Whether they are many."""
    most: int
    most_counted: int | None
    """Reports of each class about a target in a round; the same whatever was entered."""
    classes: tuple[ClassChoice, ...]
    """None where there is only one."""
    visits: tuple[Foreseen, ...]
    """For each class that leads to a visit, what the record will show."""
    may_withdraw: bool
    auditors: tuple[str, ...]
    """Who can take reports back, by name."""
    form_id: str
    """Of the form that enters reports; every page has another."""
    typed: Typed
    """What is kept of a form that was refused or is asked about, so that it need not be typed again."""
    entered: Entered | None
    """What was entered just now, or is asked about."""
    taken_back: TakenBack | None
    error: Message | None
    receipt: str
    """As it was typed to take reports back, where that did not work."""
    target: str
    """The same."""
    error_at: str
    """The form that did not work: `report` or `withdraw`."""


@router.get("/report")
def report_page(
    request: Request, person: Annotated[Person, require("report")], programme: CurrentProgramme
) -> Response:
    return render(request, "report.html", _page(request, person, programme))


@router.post("/report", writes=False)
def enter(
    request: Request, person: Annotated[Person, require("report")], programme: CurrentProgramme, fields: Fields
) -> Response | Awaitable[Response]:
    """Answered when the reports are on the disk, with the receipt: no address may hold it, and reloading counts
    nothing. No thread waits for that. The database is asked what the page to look at asks it, and all of it before: its
    statistics do not tell that reports were entered.
    """
    page = _page(request, person, programme)
    try:
        entered, written = _bring(request, person, programme, fields)
    except DeniableError as error:
        return _refused(request, _keeping(page, fields), error, "report")
    entered = replace(entered, room=_room(page))
    if written is None:
        return render(request, "report.html", replace(_keeping(page, fields), entered=entered))
    return _entered(request, page, entered, written)


async def _entered(request: Request, page: ReportPage, entered: Entered, written: "Future[None]") -> Response:
    try:
        await wrap_future(written)
    except DeniableError as error:
        return _refused(request, page, error, "report")
    return render(request, "report.html", replace(page, entered=entered))


def _bring(
    request: Request, person: Person, programme: Programme, fields: FormData
) -> "tuple[Entered, Future[None] | None]":
    """What was typed, and when it is on the disk; or None where it must be confirmed first, because the number is so
    large or the class leads to a visit. What else was reported changes nothing about that.
    """
    target, number, name = _target(request, programme, fields), _number(fields), _class(programme, fields)
    form_id, parameters = text(fields, "form_id"), programme.parameters
    receipt = _receipt(console_of(request).key, person, form_id, [target, number, name])
    typed = Entered(
        number=number,
        target=target,
        report_class=name if len(parameters.classes) > 1 else "",
        leads_to_visit=name in parameters.visit_classes,
        form_id=form_id,
        is_large=number > (parameters.most_counted or MANY),
        receipt="",
        room=0,
    )
    if (typed.is_large or typed.leads_to_visit) and text(fields, "confirmed") != str(number):
        return typed, None
    return replace(typed, receipt=receipt), programme.bring_reports({target: number}, receipt, name, person.id)


def _room(page: ReportPage) -> int:
    """For any answer that the page can give to this person."""
    names = sum(len(escape(name).encode()) for name in page.auditors)
    return MOST_BYTES + 4 * names + 2 * max((len(one.name) for one in page.classes), default=0)


def _keeping(page: ReportPage, fields: FormData) -> ReportPage:
    """With what was typed in the form. A number that is none is confidential all the same, and must be typed again."""
    number = text(fields, "number")
    typed = Typed(
        target=text(fields, "target").strip()[:LONGEST_NAME],
        number=number if _is_number(number) else "",
        report_class=text(fields, "class"),
    )
    return replace(page, typed=replace(typed, room=_room_beside(typed, page)))


def _room_beside(typed: Typed, page: ReportPage) -> int:
    marked = len(" selected") * (typed.target in page.targets)
    shown = escape(typed.target) if page.is_long else ""
    chosen = len(" checked") * (typed.report_class in {one.name for one in page.classes})
    return MOST_KEPT - len(f"{shown}{typed.number}".encode()) - marked - chosen


@router.post("/report/find", writes=False)
def find(
    request: Request, person: Annotated[Person, require("report")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """Targets with this in their name. Posted, so that no address tells what a report is about."""
    status = programme.status()
    found = search(request, status.targets, fields, "target")
    page = _page(request, person, programme, status)
    page = _keeping(page, fields) if "number" in fields else page
    return render(request, "report.html", replace(page, found=found, targets=found.names))


@router.post("/report/withdraw")
def withdraw(
    request: Request, person: Annotated[Person, require("withdraw")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """The log says on which day it was asked for, before anything is looked up: whether there were reports changes
    nothing. The answer names the target, which no address may hold.
    """
    console_of(request).record(person, ASKED_BACK, "reports", once_a_day=True)
    try:
        found = _target(request, programme, fields)
        programme.withdraw([found], text(fields, "receipt"))
    except DeniableError as error:
        receipt, target = (text(fields, name)[:LONGEST_NAME] for name in ("receipt", "target"))
        page = replace(_page(request, person, programme), receipt=receipt, target=target)
        return _refused(request, page, error, "withdraw")
    page = _page(request, person, programme)
    return render(request, "report.html", replace(page, taken_back=TakenBack(found, _room(page))))


def _receipt(key: bytes, person: Person, form_id: str, what: list[str | int]) -> str:
    """`what` was entered: about which target, how many, of which class."""
    if not re.fullmatch(r"[\w-]{22}", form_id, re.ASCII):
        raise DeniableError("The form cannot be read. Reload the page and enter the reports again.")
    entered = json.dumps([person.id, form_id, *what])
    return receipt_from(hmac.digest(key, f"receipt:{entered}".encode(), "sha256")[:10])


def _target(request: Request, programme: Programme, fields: FormData) -> str:
    target = (
        console_of(request)
        .target_search.of(programme.targets())
        .exact(programme.naming()(text(fields, "target").strip()))
    )
    if target is None:
        terms = programme.parameters.terms
        if len(programme.targets()) > FEW:  # what was typed is confidential, and stands in the form
            raise DeniableError(
                "No {target_word} has exactly this name. Search for it under Enter reports, or type the whole name.",
                target_word=terms.target,
            )
        raise DeniableError("Choose one of the {targets_word}.", targets_word=terms.targets)
    return target


def _class(programme: Programme, fields: FormData) -> str:
    """The name of the report's class; the only one where there are no others."""
    names = [one.name for one in programme.parameters.classes]
    chosen = names[0] if len(names) == 1 else text(fields, "class")
    if chosen not in names:
        raise DeniableError("Choose the class of the report.")
    return chosen


def _number(fields: FormData) -> int:
    """A wrong one is not shown again: it is confidential."""
    number = text(fields, "number")
    if not _is_number(number):
        raise DeniableError("The number of reports must be a whole number from 1 to {most}.", most=MOST)
    return int(number)


def _is_number(number: str) -> bool:
    return 1 <= (number_in(number) or 0) <= MOST


def _refused(request: Request, page: ReportPage, error: DeniableError, at: str) -> Response:
    return render(request, "report.html", replace(page, error=refusal(error), error_at=at), 422)


def _page(request: Request, person: Person, programme: Programme, known: Status | None = None) -> ReportPage:
    console, status = console_of(request), programme.status() if known is None else known
    is_long, classes, say = len(status.targets) > FEW, status.parameters.classes, voice_of(request)
    notices = notices_of(console, programme, status, say)
    was_stopped = not status.ended and programme.was_stopped_at_last_tick()
    page = ReportPage(
        round=status.open_round,
        due=due_in_words(status.parameters.calendar, status.open_round, say),
        has_open_round=status.has_open_round,
        is_overdue=status.overdue > 0,
        ended=status.ended,
        notices=replace(notices, damage="") if was_stopped else notices,
        was_stopped_at_last_tick=was_stopped,
        targets=() if is_long else status.targets,
        found=None,
        is_long=is_long,
        most=MOST,
        most_counted=status.parameters.most_counted,
        classes=tuple(ClassChoice(one.name, one.weight) for one in classes) if len(classes) > 1 else (),
        visits=tuple(foreseen(programme, None, name, say) for name in status.parameters.visit_classes),
        may_withdraw=may(person, "withdraw"),
        auditors=auditors_of(request),
        form_id=secrets.token_urlsafe(16),
        typed=Typed(),
        entered=None,
        taken_back=None,
        error=None,
        receipt="",
        target="",
        error_at="",
    )
    return replace(page, typed=Typed(room=_room_beside(page.typed, page)))
