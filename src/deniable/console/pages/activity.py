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
from deniable.console.voices import voice_of
from deniable.languages.voice import Voice
from deniable.message import Message
from deniable.programme.calendar import Day, day_in_words

router = Router()

MOST = 100
"""Entries a page."""


@dataclass(frozen=True)
class Action:
    who: str
    what: Message


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
    names: tuple[tuple[str, str], ...]
    """Of those who are in the log: as forms name them, and as people read them."""
    who: str
    """Whose actions these are, as people read it; empty where they are those of all."""
    found: Found
    """The same as forms name it, and the pages beside this one."""


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
    console, may_count, say = console_of(request), may(person, "counts"), voice_of(request)
    about: activity.About | None = "people" if only_people else None
    with console.store.reading() as connection:
        log = activity.read(connection, MOST, start, about=about, who=who or None, with_reports=may_count)
        auditors = tuple(people.auditors(connection, console.key))
        names = tuple((name, called(name, say)) for name in activity.names(connection))
    days = tuple(
        ActiveDay(
            day_in_words(date.fromisoformat(day), say),
            tuple(Action(called(one.who, say), one.action) for one in entries),
        )
        for day, entries in groupby(log.entries, key=lambda one: one.day)
    )
    found = Found(who, (), log.newer, log.older)
    page = ActivityPage(auditors, may_count, days, only_people, names, called(who, say), found)
    return render(request, "activity.html", page)


def called(who: str, say: Voice) -> str:
    """A name of the log, for people to read."""
    return say("The terminal") if who == activity.TERMINAL else who
