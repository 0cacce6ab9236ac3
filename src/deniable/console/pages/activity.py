"""Activity: who may see counts, and who did what on which day."""

from dataclasses import dataclass
from datetime import date
from typing import Annotated

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts import activity, people
from deniable.console.accounts.people import Person
from deniable.console.pages.common import number_in
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import console_of, require
from deniable.programme.public.page import Day, day_in_words

router = Router()

MOST = 100
"""Entries a page."""


@dataclass(frozen=True)
class ActivityRow:
    day: Day
    who: str
    action: str


@dataclass(frozen=True)
class ActivityPage:
    auditors: tuple[str, ...]
    """Everybody who may see counts."""
    rows: tuple[ActivityRow, ...]
    only_people: bool
    """Or else everything."""
    older: str | None
    """Addresses of the pages beside this one."""
    newer: str | None


@router.get("/activity")
def activity_page(request: Request, _: Annotated[Person, require("activity")]) -> Response:
    console, only_people = console_of(request), request.query_params.get("about") == "people"
    before = number_in(request.query_params.get("before", ""))
    with console.store.reading() as connection:
        log = activity.read(connection, MOST, before, "people" if only_people else None)
        auditors = tuple(people.auditors(connection, console.key))
    rows = tuple(
        ActivityRow(day_in_words(date.fromisoformat(entry.day)), entry.who, entry.action) for entry in log.entries
    )
    older, newer = (_address(only_people, number) for number in (log.older, log.newer))
    return render(request, "activity.html", ActivityPage(auditors, rows, only_people, older, newer))


def _address(only_people: bool, before: int | None) -> str | None:
    return None if before is None else f"/activity?{'about=people&' if only_people else ''}before={before}"
