"""Guarantee: one page to print for anyone considering a report: the text of the public page, and how soon a visit may
follow.
"""

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
from deniable.programme.calendar import rounds_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.public.page import Promise, promise_of
from deniable.promptness import quiet_waits
from deniable.wording import count

router = Router()

REPORTS = (1, 3, 10)
"""The numbers of reports for which the waits are told, where there is one class."""


@dataclass(frozen=True)
class GuaranteePage:
    name: str
    promise: Promise
    coverage: str
    lapsed: bool
    waits: tuple[tuple[str, str], ...]
    """From a report to a visit: of how many reports, and how long."""


@router.get("/guarantee")
def guarantee_page(
    request: Request, _: Annotated[Person, require("guarantee")], programme: CurrentProgramme
) -> Response:
    status = programme.status()
    page = GuaranteePage(
        name=status.parameters.name,
        promise=promise_of(status.parameters),
        coverage=status.coverage.in_words(),
        lapsed=bool(status.coverage.lapses),
        waits=waits_of(status.parameters),
    )
    return render(request, "guarantee.html", page)


def _filed(parameters: Parameters) -> dict[str, int]:
    """What the waits are told for, and what it comes to in the draw: one report of each class, or some reports that
    count in one round.
    """
    if len(parameters.classes) > 1:
        return {f"1 report of class {one.name}": one.weight for one in parameters.classes if one.weight is not None}
    most = parameters.most_counted or max(REPORTS)
    return {count(number, "report"): number for number in REPORTS if number <= most}


_waits = Remembered[tuple[tuple[str, str], ...]]()


def waits_of(parameters: Parameters) -> tuple[tuple[str, str], ...]:
    """By the public rules alone: on average, and at the latest where a longest gap says so. Made once."""
    return _waits.get(parameters.digest, lambda: _waits_of(parameters))


def _waits_of(parameters: Parameters) -> tuple[tuple[str, str], ...]:
    calendar, filed = parameters.calendar, _filed(parameters)
    come_to = tuple(filed.values())
    waits = quiet_waits(parameters.built(), parameters.audits, come_to) if parameters.weights is None else None
    average = [
        (name, f"{wait} {'round' if str(wait) == '1' else 'rounds'} on average ({calendar.length(wait.rounds)})")
        for name, wait in zip(filed, waits or (), strict=False)
    ]
    if parameters.max_gap is None:
        return tuple(average)
    return (*average, ("At the latest", f"{rounds_in_words(calendar, parameters.max_gap)}, also without any report"))
