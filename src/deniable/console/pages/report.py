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
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.pages.common import (
    ANY_TARGET,
    CurrentProgramme,
    Foreseen,
    done_message,
    foreseen,
    redirect,
    refusal,
    search,
)
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, may, quickly, require, text
from deniable.console.target_search import FEW, Found
from deniable.errors import DeniableError
from deniable.programme.programme import Programme
from deniable.programme.public.guarantee_wording import class_in_words
from deniable.programme.public.page import Day, due_in_words
from deniable.programme.receipt import receipt_from
from deniable.programme.status import Status

router = Router()

MOST = 10_000
"""At once: far above what a person counts by hand."""

DONE = {"withdrawn": "Taken back."}


@dataclass(frozen=True)
class ReportPage:
    """The same whatever was reported. An importer sees this page."""

    round: int
    due: Day
    ended: bool
    targets: tuple[str, ...]
    """Those to choose from: all of them, where they are few."""
    found: Found | None
    """Where they are many, what was looked for; None before."""
    is_long: bool
    """Whether they are many."""
    most: int
    classes: tuple[tuple[str, str], ...]
    """Name and words of each; none where there is only one."""
    visits: tuple[Foreseen, ...]
    """For each class that leads to a visit, what the record will show."""
    may_withdraw: bool
    form_id: str
    """Of the form that enters reports; every page has another."""
    receipt: str | None
    """Of what was counted just now."""
    done: str | None
    error: str | None
    error_at: str
    """The form that did not work: `report` or `withdraw`."""


@router.get("/report")
def report_page(
    request: Request, person: Annotated[Person, require("report")], programme: CurrentProgramme
) -> Response:
    return render(request, "report.html", replace(_page(person, programme), done=done_message(request, DONE)))


@router.post("/report")
async def enter(
    request: Request, person: Annotated[Person, require("report")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """Answered when the reports are on the disk, with the receipt: no address may hold it, and reloading counts
    nothing. No thread waits for that.
    """
    try:
        receipt, written = await quickly(request, partial(_bring, request, person, programme, fields))
        await wrap_future(written)
    except DeniableError as error:
        return _refused(request, person, programme, error, "report")
    return render(request, "report.html", replace(_page(person, programme), receipt=receipt))


def _bring(request: Request, person: Person, programme: Programme, fields: FormData) -> "tuple[str, Future[None]]":
    target, number = _target(request, programme, fields), _number(fields)
    name = _class(programme, fields)
    receipt = _receipt(console_of(request).key, person, text(fields, "form_id"), [target, number, name])
    return receipt, programme.bring_reports({target: number}, receipt, name)


@router.post("/report/find", writes=False)
def find(
    request: Request, person: Annotated[Person, require("report")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """Targets with this in their name. Posted, so that no address tells what a report is about."""
    status = programme.status()
    found = search(request, status.targets, fields, "target")
    page = _page(person, programme, status)
    return render(request, "report.html", replace(page, found=found, targets=found.names))


@router.post("/report/withdraw")
def withdraw(
    request: Request, person: Annotated[Person, require("withdraw")], programme: CurrentProgramme, fields: Fields
) -> Response:
    try:
        programme.withdraw([_target(request, programme, fields)], text(fields, "receipt"))
    except DeniableError as error:
        return _refused(request, person, programme, error, "withdraw")
    return redirect("/report", "withdrawn")


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
        raise DeniableError("Choose one of the targets, or type its whole name.")
    return target


def _class(programme: Programme, fields: FormData) -> str:
    """The name of the report's class; the only one where there are no others."""
    names = [one.name for one in programme.parameters.classes]
    chosen = names[0] if len(names) == 1 else text(fields, "class")
    if chosen not in names:
        raise DeniableError("Choose the class of the report.")
    return chosen


def _number(fields: FormData) -> int:
    """It is not shown again: it is confidential."""
    number = text(fields, "number")
    if not (number.isascii() and number.isdigit() and len(number) <= 9 and 1 <= int(number) <= MOST):
        raise DeniableError(f"The number of reports must be a whole number from 1 to {MOST:,}.")
    return int(number)


def _refused(request: Request, person: Person, programme: Programme, error: DeniableError, at: str) -> Response:
    page = replace(_page(person, programme), error=refusal(error), error_at=at)
    return render(request, "report.html", page, 422)


def _page(person: Person, programme: Programme, known: Status | None = None) -> ReportPage:
    status = programme.status() if known is None else known
    is_long, classes = len(status.targets) > FEW, status.parameters.classes
    return ReportPage(
        round=status.open_round,
        due=due_in_words(status.parameters.calendar, status.open_round),
        ended=status.ended,
        targets=() if is_long else status.targets,
        found=None,
        is_long=is_long,
        most=MOST,
        classes=tuple((one.name, class_in_words(one)) for one in classes) if len(classes) > 1 else (),
        visits=tuple(foreseen(programme, ANY_TARGET, name) for name in status.parameters.visit_classes),
        may_withdraw=may(person, "withdraw"),
        form_id=secrets.token_urlsafe(16),
        receipt=None,
        done=None,
        error=None,
        error_at="",
    )
