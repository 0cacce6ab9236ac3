"""People: who may use the console, and in which role."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlsplit

import sqlalchemy as sa
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts import activity, hotlines, invitations, people
from deniable.console.accounts.people import ROLE_NAMES, ROLES, Person, PersonRow, Role
from deniable.console.allowed_hosts import is_loopback
from deniable.console.console import Console
from deniable.console.pages.common import redirect, refusal
from deniable.console.rendering import origin_of, render
from deniable.console.routing import Router
from deniable.console.security import ALLOWED, Fields, console_of, require, text
from deniable.console.voices import voice_of
from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.message import Message, noted
from deniable.programme.calendar import Day, day_in_words

router = Router(prefix="/people")
Administrator = Annotated[Person, require("people")]

DEEDS = {"removed": noted("removed {name}"), "withdrawn": noted("withdrew the link of {name}")}
"""What the activity log says, from where the page takes the person's name: the row may be gone."""


@dataclass(frozen=True)
class NewLink:
    """Shown once: who gets it, and the address."""

    name: str
    address: str
    invited: bool
    """Or new codes."""
    until: Day
    """The last on which it works."""
    is_local: bool
    """Whether it works on this computer only."""


@dataclass(frozen=True)
class LinkState:
    """Of a link that was made and not used yet."""

    until: Day
    works: bool
    """Otherwise it has expired."""


@dataclass(frozen=True)
class Done:
    """What was done just now, and to whom."""

    what: str
    name: str


@dataclass(frozen=True)
class DisablePage:
    """The question before an account is disabled."""

    id: str
    name: str
    role: Role
    is_self: bool
    is_last: bool
    """Whether there is no other person of this role who can sign in."""
    decides_alone: str
    """The only person who can decide afterwards, where two can now; empty otherwise."""
    hotlines: tuple[str, ...]
    """That this person brings."""


@dataclass(frozen=True)
class ResetPage:
    """The question before a person needs new one-time codes."""

    id: str
    name: str
    role: Role
    is_self: bool


@dataclass(frozen=True)
class RemovePage:
    """The question before an account is removed."""

    id: str
    name: str
    role: Role
    altered: bool
    """Whether it was changed by other means than the console."""
    hotlines: tuple[str, ...]
    """That this person brings."""


@dataclass(frozen=True)
class PeoplePage:
    people: tuple[PersonRow, ...]
    links: tuple[LinkState | None, ...]
    """Of each of them; None for those who have none."""
    self_id: str
    """Of the person who looks at it."""
    lacks_auditor: bool
    """Whether there is no programme, and nobody who could begin one."""
    lacks_people: bool
    """Whether there is a programme, and nobody who could bring a hotline's exports, not even one who is invited."""
    lacks_hotline: bool
    """Whether there is a programme, and no hotline whose exports a person could bring."""
    roles: tuple[str, ...]
    link: NewLink | None
    done: Done | None
    typed_name: str
    typed_role: str
    error: Message | None


@router.get("")
def people_page(request: Request, person: Administrator) -> Response:
    return _page(request, person)


@router.post("/invite")
def invite(request: Request, person: Administrator, fields: Fields) -> Response:
    console, name, role = console_of(request), text(fields, "name"), text(fields, "role")
    try:
        with console.store.writing() as connection:
            token = invitations.invite(connection, console.key, name, role, console.clock())
            called, as_role = " ".join(name.split()), ROLE_NAMES[people.checked_role(role)]
            _record(console, connection, person, noted("invited {name} as {role}", name=called, role=as_role))
    except DeniableError as error:
        return _page(request, person, status=422, typed=(name, role), error=refusal(error))
    return _page_with_link(request, person, name, token, invited=True)


@router.get("/{id_}/reset")
def ask_before_resetting(request: Request, person: Administrator, id_: str) -> Response:
    console = console_of(request)
    with console.store.reading() as connection:
        known = people.by_id(connection, console.key, id_)
    if known is None or known.disabled:
        return redirect("/people")
    page = ResetPage(id_, known.person.name, known.person.role, is_self=known.person == person)
    return render(request, "reset.html", page)


@router.post("/{id_}/reset")
def reset(request: Request, person: Administrator, id_: str, _: Fields) -> Response:
    console = console_of(request)
    with console.store.writing() as connection:
        token = invitations.reset_codes(connection, console.key, id_, console.clock())
        name = people.known(connection, console.key, id_).person.name
        _record(console, connection, person, noted("reset the one-time codes of {name}", name=name))
    return _page_with_link(request, person, name, token, invited=False)


@router.get("/{id_}/disable")
def ask_before_disabling(request: Request, person: Administrator, id_: str) -> Response:
    console = console_of(request)
    with console.store.reading() as connection:
        known = people.by_id(connection, console.key, id_)
        if known is None or known.disabled:
            return redirect("/people")
        other = known.person
        alike = people.having(connection, console.key, [other.role])
        deciding = people.having(connection, console.key, ALLOWED["decide"])
        theirs = _hotlines_of(connection, console, id_)
    left = [one.name for one in deciding if one != other]
    page = DisablePage(
        id_,
        other.name,
        other.role,
        is_self=other == person,
        is_last=alike == [other],
        decides_alone=left[0] if other in deciding and len(left) == 1 else "",
        hotlines=theirs,
    )
    return render(request, "disable.html", page)


@router.post("/{id_}/disable")
def disable(request: Request, person: Administrator, id_: str, _: Fields) -> Response:
    return _set_disabled(request, person, id_, True)


@router.post("/{id_}/enable")
def enable(request: Request, person: Administrator, id_: str, _: Fields) -> Response:
    return _set_disabled(request, person, id_, False)


@router.post("/{id_}/withdraw")
def withdraw(request: Request, person: Administrator, id_: str, _: Fields) -> Response:
    """A link that was sent to the wrong place leads nowhere any more."""
    console = console_of(request)
    with console.store.writing() as connection:
        name = invitations.withdraw(connection, id_)
        _record(console, connection, person, _deed("withdrawn", name))
    return redirect("/people", "withdrawn")


@router.get("/{id_}/remove")
def ask_before_removing(request: Request, _: Administrator, id_: str) -> Response:
    console = console_of(request)
    with console.store.reading() as connection:
        rows = {row.person.id: row for row in people.listed(connection, console.key) if row.has_joined}
        theirs = _hotlines_of(connection, console, id_)
    row = rows.get(id_)
    if row is None or not (row.disabled or row.altered):
        return redirect("/people")
    return render(request, "remove.html", RemovePage(id_, row.person.name, row.person.role, row.altered, theirs))


@router.post("/{id_}/remove")
def remove(request: Request, person: Administrator, id_: str, _: Fields) -> Response:
    """A person who is disabled is forgotten, and the name is free; the log keeps what they did."""
    console = console_of(request)
    try:
        with console.store.writing() as connection:
            name = people.remove(connection, console.key, id_)
            _record(console, connection, person, _deed("removed", name))
    except DeniableError as error:
        return _page(request, person, status=422, error=refusal(error))
    return redirect("/people", "removed")


def _hotlines_of(connection: sa.Connection, console: Console, id_: str) -> tuple[str, ...]:
    return tuple(one.name for one in hotlines.listed(connection, console.key) if one.person == id_)


def _set_disabled(request: Request, person: Person, id_: str, disabled: bool) -> Response:
    console = console_of(request)
    try:
        with console.store.writing() as connection:
            people.set_disabled(connection, console.key, id_, disabled)
            name = people.known(connection, console.key, id_).person.name
            action = noted("disabled {name}", name=name) if disabled else noted("enabled {name}", name=name)
            _record(console, connection, person, action)
    except DeniableError as error:
        return _page(request, person, status=422, error=refusal(error))
    return redirect("/people", f"{'disabled' if disabled else 'enabled'}&person={id_}")


def _record(console: Console, connection: sa.Connection, person: Person, action: Message) -> None:
    activity.record(connection, console.clock(), person.name, action, "people")


def _deed(what: str, name: str) -> Message:
    return DEEDS[what].filled(name=name)


def _page_with_link(request: Request, person: Person, name: str, token: str, *, invited: bool) -> Response:
    until = day_in_words(invitations.last_day(console_of(request).clock()), voice_of(request))
    origin = origin_of(request)
    is_local = is_loopback(urlsplit(origin).hostname or "")
    link = NewLink(name, f"{origin}/invitation/{token}", invited, until, is_local)
    return _page(request, person, link=link)


def _page(
    request: Request,
    person: Person,
    *,
    status: int = 200,
    link: NewLink | None = None,
    typed: tuple[str, str] | None = None,
    error: Message | None = None,
) -> Response:
    console = console_of(request)
    with console.store.reading() as connection:
        rows = tuple(people.listed(connection, console.key))
        done = None if error or link else _done(request, connection, person, rows)
        has_hotline = bool(hotlines.listed(connection, console.key))
    is_planned, roles = console.programme() is not None, {row.person.role for row in rows}
    lacks_auditor = not is_planned and "auditor" not in roles
    typed_name, typed_role = typed or ("", "")
    page = PeoplePage(
        people=rows,
        links=tuple(_link(row, console.clock(), voice_of(request)) for row in rows),
        self_id=person.id,
        lacks_auditor=lacks_auditor,
        lacks_people=is_planned and roles.isdisjoint(hotlines.ASSIGNABLE_ROLES),
        lacks_hotline=is_planned and not has_hotline,
        roles=ROLES,
        link=link,
        done=done,
        typed_name=typed_name,
        typed_role=typed_role,
        error=error,
    )
    return render(request, "people.html", page, status)


def _link(row: PersonRow, now: datetime, say: Voice) -> LinkState | None:
    if row.link_until is None:
        return None
    works = now.astimezone(UTC).date() <= row.link_until <= invitations.last_day(now)
    return LinkState(day_in_words(row.link_until, say), works)


def _done(request: Request, connection: sa.Connection, person: Person, rows: tuple[PersonRow, ...]) -> Done | None:
    """Only what can be true of the people as they are now, whatever the address says."""
    what, id_ = (request.query_params.get(name, "") for name in ("done", "person"))
    if what in DEEDS:
        action = activity.newest(connection, person.name)
        if action is None or action.text != DEEDS[what].text:
            return None
        name = dict(action.values)["name"]
        is_back = any(row.person.name == name and (what == "removed" or row.waiting) for row in rows)
        return None if is_back else Done(what, name)
    named = [row.person.name for row in rows if row.person.id == id_ and row.disabled == (what == "disabled")]
    return Done(what, named[0]) if what in ("disabled", "enabled") and named else None
