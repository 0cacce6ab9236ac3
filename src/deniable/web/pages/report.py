"""Reports: entering them by hand, and taking back what was entered by mistake."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import FormData

from deniable.errors import DeniableError
from deniable.programme.ledger import Programme
from deniable.programme.page import Day, due_in_words
from deniable.web.accounts.people import Person
from deniable.web.pages.common import Running, go, refusal, told
from deniable.web.rendering import render
from deniable.web.security import Fields, may, require, text

router = APIRouter()

MOST = 10_000
"""At once: far above what anybody counts by hand."""

DONE = {"counted": "Counted.", "withdrawn": "Taken back."}


@dataclass(frozen=True)
class ReportPage:
    """The same whatever was reported. An importer sees this page."""

    round: int
    due: Day
    ended: bool
    targets: tuple[str, ...]
    most: int
    may_correct: bool
    done: str | None
    error: str | None
    error_at: str
    """The form that did not work: `report` or `withdraw`."""


@router.get("/report")
def report_page(request: Request, person: Annotated[Person, require("report")], programme: Running) -> Response:
    return _page(request, person, programme)


@router.post("/report")
def enter(
    request: Request, person: Annotated[Person, require("report")], programme: Running, fields: Fields
) -> Response:
    try:
        target, number = _entered(programme, fields)
        programme.report({target: number})
    except DeniableError as error:
        return _page(request, person, programme, refusal(error), "report")
    return go("/report", "counted")


@router.post("/report/withdraw")
def withdraw(
    request: Request, person: Annotated[Person, require("correct")], programme: Running, fields: Fields
) -> Response:
    try:
        target, number = _entered(programme, fields)
        programme.withdraw({target: number})
    except DeniableError as error:
        return _page(request, person, programme, refusal(error), "withdraw")
    return go("/report", "withdrawn")


def _entered(programme: Programme, fields: FormData) -> tuple[str, int]:
    target, number = text(fields, "target"), text(fields, "number")
    if target not in programme.status().targets:
        raise DeniableError("Choose one of the targets in the list.")
    # The number is not shown again: it is confidential.
    if not (number.isascii() and number.isdigit() and len(number) <= 9 and 1 <= int(number) <= MOST):
        raise DeniableError(f"The number of reports must be a whole number from 1 to {MOST:,}.")
    return target, int(number)


def _page(
    request: Request, person: Person, programme: Programme, error: str | None = None, error_at: str = ""
) -> Response:
    status = programme.status()
    page = ReportPage(
        round=status.open_round,
        due=due_in_words(status.parameters.calendar, status.open_round),
        ended=status.ended,
        targets=status.targets,
        most=MOST,
        may_correct=may(person, "correct"),
        done=None if error else told(request, DONE),
        error=error,
        error_at=error_at,
    )
    return render(request, "report.html", page, 422 if error else 200)
