"""Guarantee: the promise to anyone considering a report, as on the public page, on one page to print."""

from dataclasses import dataclass
from typing import Annotated

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.pages.common import CurrentProgramme
from deniable.console.remembered import Remembered
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import require
from deniable.programme.calendar import Day, due_in_words
from deniable.programme.programme import Programme
from deniable.programme.public.promise import Promise, promise_of
from deniable.programme.public.situation import Situation

router = Router()


@dataclass(frozen=True)
class GuaranteePage:
    name: str
    promise: Promise
    was_due: Day | None
    """When the next draw was due, where it has not taken place yet."""


@router.get("/guarantee")
def guarantee_page(
    request: Request, _: Annotated[Person, require("guarantee")], programme: CurrentProgramme
) -> Response:
    status = programme.status()
    was_due = due_in_words(status.parameters.calendar, status.open_round) if status.overdue else None
    page = GuaranteePage(programme.parameters.name, promise_now(programme), was_due)
    return render(request, "guarantee.html", page)


_promises = Remembered[Promise]()


def promise_now(programme: Programme) -> Promise:
    """By what is public at this moment; made once for each situation."""
    status = programme.status()
    situation = Situation(
        coverage=status.coverage,
        open_round=status.open_round,
        n_targets=len(status.targets),
        is_paused=status.is_paused,
        ended=status.ended,
        details=status.details,
    )
    key = status.parameters.digest, situation
    return _promises.get(key, lambda: promise_of(status.parameters, situation, status.parameters.voice()))
