"""Activity: who may see counts, and who did what on which day."""

from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Annotated

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts import activity, people
from deniable.console.accounts.people import Person
from deniable.console.pages.common import number_in
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, may, require, text
from deniable.console.target_search import Found
from deniable.programme.public.page import Day, day_in_words

router = Router()

MOST = 100
"""Entries a page."""


@dataclass(frozen=True)
class Action:
    who: str
    what: str


@dataclass(frozen=True)
class ActiveDay:
    day: Day
    actions: tuple[Action, ...]


@dataclass(frozen=True)
class ActivityPage:
    auditors: tuple[str, ...]
    """All who may see counts."""
    may_count: bool
    """Whether the person who sees the page is one of them."""
    days: tuple[ActiveDay, ...]
    """The newest first."""
    only_people: bool
    """Or else everything."""
    names: tuple[str, ...]
    """Of those who are in the log."""
    found: Found
    """Whose actions these are, and the pages beside this one."""


@router.get("/activity")
def activity_page(request: Request, person: Annotated[Person, require("activity")]) -> Response:
    only_people = request.query_params.get("about") == "people"
    start = number_in(request.query_params.get("start", "")) or 0
    return _page(request, person, start, only_people=only_people)


@router.post("/activity/find", writes=False)
def find(request: Request, person: Annotated[Person, require("activity")], fields: Fields) -> Response:
    """What one person did. Posted, so that no address names people."""
    return _page(request, person, number_in(text(fields, "start")) or 0, who=text(fields, "who"))


def _page(request: Request, person: Person, start: int, *, only_people: bool = False, who: str = "") -> Response:
    console, may_count = console_of(request), may(person, "counts")
    about: activity.About | None = "people" if only_people else None
    with console.store.reading() as connection:
        log = activity.read(connection, MOST, start, about=about, who=who or None, with_reports=may_count)
        auditors = tuple(people.auditors(connection, console.key))
        names = tuple(activity.names(connection))
    days = tuple(
        ActiveDay(day_in_words(date.fromisoformat(day)), tuple(Action(one.who, one.action) for one in entries))
        for day, entries in groupby(log.entries, key=lambda one: one.day)
    )
    found = Found(who, (), log.newer, log.older)
    return render(request, "activity.html", ActivityPage(auditors, may_count, days, only_people, names, found))
