"""Hotlines: who brings the exports of each."""

from dataclasses import dataclass
from typing import Annotated

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts import activity, hotlines
from deniable.console.accounts.people import Person
from deniable.console.pages.common import CurrentProgramme, done_message, redirect, refusal
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, require, text
from deniable.errors import DeniableError

router = Router(prefix="/hotlines")
Administrator = Annotated[Person, require("people")]

DONE = {"assigned": "The hotline is assigned. Only this person, and auditors, can import its exports."}


@dataclass(frozen=True)
class HotlineRow:
    name: str
    by: str | None
    """None where nobody can bring it: whoever did is gone."""
    altered: bool


@dataclass(frozen=True)
class HotlinesPage:
    hotlines: tuple[HotlineRow, ...]
    people: tuple[tuple[str, str], ...]
    """Who may bring one: id and name."""
    typed_name: str
    done: str | None
    error: str | None


@router.get("")
def hotlines_page(request: Request, _: Administrator, __: CurrentProgramme) -> Response:
    return _page(request)


@router.post("")
def assign(request: Request, administrator: Administrator, programme: CurrentProgramme, fields: Fields) -> Response:
    console = console_of(request)
    try:
        with console.store.writing() as connection:
            name, by = hotlines.assign(connection, console.key, text(fields, "name"), text(fields, "person"))
            action = f"let {by} bring the hotline {name}"
            activity.record(connection, console.clock(), administrator.name, action, "people")
        programme.hotlines.add(name)
    except DeniableError as error:
        return _page(request, typed_name=text(fields, "name"), error=refusal(error))
    return redirect("/hotlines", "assigned")


def _page(request: Request, typed_name: str = "", error: str | None = None) -> Response:
    console = console_of(request)
    with console.store.reading() as connection:
        known = hotlines.listed(connection, console.key)
        may_bring = hotlines.assignable_people(connection, console.key)
    names = {person.id: person.name for person in may_bring}
    page = HotlinesPage(
        hotlines=tuple(HotlineRow(one.name, names.get(one.person), one.altered) for one in known),
        people=tuple((person.id, f"{person.name}, {person.role}") for person in may_bring),
        typed_name=typed_name,
        done=None if error else done_message(request, DONE),
        error=error,
    )
    return render(request, "hotlines.html", page, 422 if error else 200)
