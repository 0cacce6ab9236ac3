"""Hotlines: who brings the exports of each."""

from dataclasses import dataclass
from typing import Annotated

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts import activity, hotlines, people
from deniable.console.accounts.people import ROLE_NAMES, Person
from deniable.console.pages.common import CurrentProgramme, redirect, refusal
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, require, text
from deniable.console.voices import voice_of
from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.message import Message, noted

router = Router(prefix="/hotlines")
Administrator = Annotated[Person, require("people")]

LET = noted("assigned the hotline {hotline} to {person}")
"""What the activity log says, from where the page takes both names."""


@dataclass(frozen=True)
class HotlineRow:
    name: str
    by: str | None
    """None where no person can bring it: the one who did is gone."""
    altered: bool


@dataclass(frozen=True)
class Assigned:
    """What was done just now."""

    hotline: str
    person: str


@dataclass(frozen=True)
class HotlinesPage:
    hotlines: tuple[HotlineRow, ...]
    people: tuple[tuple[str, str], ...]
    """Who may bring one: id and name; first that one is to be chosen, where no one is."""
    invited: tuple[str, ...]
    """Who may bring one as soon as they have joined, by name."""
    person: str
    """The id of who is chosen already; empty where several importers may be meant."""
    typed_name: str
    done: Assigned | None
    add_error: Message | None
    hand_over_error: Message | None


@dataclass(frozen=True)
class NewHotlinePage:
    """The question before a hotline is added."""

    name: str
    person: str
    """The id of who brings it."""
    by: str


@router.get("")
def hotlines_page(request: Request, administrator: Administrator, _: CurrentProgramme) -> Response:
    return _page(request, administrator)


@router.post("/hand-over")
def hand_over(request: Request, administrator: Administrator, programme: CurrentProgramme, fields: Fields) -> Response:
    """A hotline that there is, to another person."""
    console, name = console_of(request), text(fields, "hotline")
    try:
        with console.store.reading() as connection:
            hotlines.check_known(connection, console.key, name)
        return _assigned(request, administrator, programme, name, text(fields, "person"))
    except DeniableError as error:
        return _page(request, administrator, hand_over_error=refusal(error))


@router.post("/new")
def add(request: Request, administrator: Administrator, programme: CurrentProgramme, fields: Fields) -> Response:
    """First it asks, since the name is kept for good. Sent from there, the hotline is added."""
    console, typed, person = console_of(request), text(fields, "name"), text(fields, "person")
    if "change" in fields:
        return _page(request, administrator, typed=(typed, person))
    try:
        with console.store.reading() as connection:
            name = hotlines.new_name(connection, console.key, typed)
            by = hotlines.bringer(connection, console.key, person).name
        if text(fields, "confirmed") != "yes":
            return render(request, "hotline_confirm.html", NewHotlinePage(name, person, by))
        return _assigned(request, administrator, programme, name, person)
    except DeniableError as error:
        return _page(request, administrator, typed=(typed, person), add_error=refusal(error))


def _assigned(request: Request, administrator: Person, programme: CurrentProgramme, name: str, person: str) -> Response:
    console = console_of(request)
    with console.store.writing() as connection:
        called, by = hotlines.assign(connection, console.key, name, person)
        action = LET.filled(person=by, hotline=called)
        activity.record(connection, console.clock(), administrator.name, action, "people")
    programme.hotlines.add(called)
    return redirect("/hotlines", "assigned")


def _page(
    request: Request,
    administrator: Person,
    *,
    typed: tuple[str, str] = ("", ""),
    add_error: Message | None = None,
    hand_over_error: Message | None = None,
) -> Response:
    console, error = console_of(request), add_error or hand_over_error
    with console.store.reading() as connection:
        known = hotlines.listed(connection, console.key)
        may_bring = hotlines.assignable_people(connection, console.key)
        listed = people.listed(connection, console.key)
        last = activity.newest(connection, administrator.name)
    names, say = {person.id: person.name for person in may_bring}, voice_of(request)
    chosen = typed[1] or _only(may_bring)
    choices = [(person.id, _called(person, say)) for person in may_bring]
    if choices and not chosen:
        choices.insert(0, ("", say("Choose a person")))
    is_done = not error and request.query_params.get("done") == "assigned"
    page = HotlinesPage(
        hotlines=tuple(HotlineRow(one.name, names.get(one.person), one.altered) for one in known),
        people=tuple(choices),
        invited=tuple(
            one.person.name for one in listed if not one.has_joined and one.person.role in hotlines.ASSIGNABLE_ROLES
        ),
        person=chosen,
        typed_name=typed[0],
        done=_assigned_last(last) if is_done else None,
        add_error=add_error,
        hand_over_error=hand_over_error,
    )
    return render(request, "hotlines.html", page, 422 if error else 200)


def _called(person: Person, say: Voice) -> str:
    return say("{name}, {role}", name=person.name, role=ROLE_NAMES[person.role])


def _only(may_bring: list[Person]) -> str:
    """The id of the only importer, or of the only person; empty where there are several."""
    likely = [one.id for one in may_bring if one.role == "importer"] or [one.id for one in may_bring]
    return likely[0] if len(likely) == 1 else ""


def _assigned_last(last: Message | None) -> Assigned | None:
    if last is None or last.text != LET.text:
        return None
    values = dict(last.values)
    return Assigned(values["hotline"], values["person"])
