"""People: who may use the console, and in which role."""

from dataclasses import dataclass
from typing import Annotated

import sqlalchemy as sa
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts import activity, hotlines, invitations, people
from deniable.console.accounts.people import ROLES, Person, PersonRow
from deniable.console.console import Console
from deniable.console.pages.common import redirect, refusal
from deniable.console.rendering import origin_of, render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, require, text
from deniable.errors import DeniableError

router = Router(prefix="/people")
Administrator = Annotated[Person, require("people")]


@dataclass(frozen=True)
class NewLink:
    """Shown once: who gets it, and the address."""

    name: str
    address: str
    invited: bool
    """Or new codes."""


@dataclass(frozen=True)
class Done:
    """What was done just now, and to whom."""

    what: str
    name: str
    """Empty for an account that is gone."""


@dataclass(frozen=True)
class DisablePage:
    """The question before an account is disabled."""

    id: str
    name: str
    role: str
    is_self: bool
    is_last: bool
    """Whether there is no other person of this role who can sign in."""


@dataclass(frozen=True)
class PeoplePage:
    people: tuple[PersonRow, ...]
    self_id: str
    """Of the person who looks at it."""
    lacks_auditor: bool
    """Whether there is no programme, and nobody who could begin one."""
    lacks_hotline: bool
    """Whether there is a programme, and no hotline whose exports a person could bring."""
    roles: tuple[str, ...]
    link: NewLink | None
    done: Done | None
    typed_name: str
    typed_role: str
    error: str | None


@router.get("")
def people_page(request: Request, person: Administrator) -> Response:
    return _page(request, person)


@router.post("/invite")
def invite(request: Request, person: Administrator, fields: Fields) -> Response:
    console, name, role = console_of(request), text(fields, "name"), text(fields, "role")
    try:
        with console.store.writing() as connection:
            token = invitations.invite(connection, console.key, name, role, console.clock())
            _record(console, connection, person, f"invited {' '.join(name.split())} as {role}")
    except DeniableError as error:
        return _page(request, person, status=422, typed=(name, role), error=refusal(error))
    link = NewLink(name, f"{origin_of(request)}/invitation/{token}", invited=True)
    return _page(request, person, link=link)


@router.post("/{id_}/reset")
def reset(request: Request, person: Administrator, id_: str, _: Fields) -> Response:
    console = console_of(request)
    with console.store.writing() as connection:
        token = invitations.reset_codes(connection, console.key, id_, console.clock())
        name = people.known(connection, console.key, id_).person.name
        _record(console, connection, person, f"reset the one-time codes of {name}")
    link = NewLink(name, f"{origin_of(request)}/invitation/{token}", invited=False)
    return _page(request, person, link=link)


@router.get("/{id_}/disable")
def ask_before_disabling(request: Request, person: Administrator, id_: str) -> Response:
    console = console_of(request)
    with console.store.reading() as connection:
        known = people.by_id(connection, console.key, id_)
        if known is None or known.disabled:
            return redirect("/people")
        other = known.person
        alike = people.having(connection, console.key, [other.role])
    page = DisablePage(id_, other.name, other.role, is_self=other == person, is_last=alike == [other])
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
        _record(console, connection, person, f"withdrew the link of {name}")
    return redirect("/people", "withdrawn")


@router.post("/{id_}/remove")
def remove(request: Request, person: Administrator, id_: str, _: Fields) -> Response:
    """Somebody who is disabled is forgotten, and the name is free; the log keeps what they did."""
    console = console_of(request)
    try:
        with console.store.writing() as connection:
            name = people.remove(connection, console.key, id_)
            _record(console, connection, person, f"removed {name}")
    except DeniableError as error:
        return _page(request, person, status=422, error=refusal(error))
    return redirect("/people", "removed")


def _set_disabled(request: Request, person: Person, id_: str, disabled: bool) -> Response:
    console = console_of(request)
    try:
        with console.store.writing() as connection:
            people.set_disabled(connection, console.key, id_, disabled)
            name = people.known(connection, console.key, id_).person.name
            done = "disabled" if disabled else "enabled"
            _record(console, connection, person, f"{done} {name}")
    except DeniableError as error:
        return _page(request, person, status=422, error=refusal(error))
    return redirect("/people", f"{done}&person={id_}")


def _record(console: Console, connection: sa.Connection, person: Person, action: str) -> None:
    activity.record(connection, console.clock(), person.name, action, "people")


def _page(
    request: Request,
    person: Person,
    *,
    status: int = 200,
    link: NewLink | None = None,
    typed: tuple[str, str] = ("", "importer"),
    error: str | None = None,
) -> Response:
    console = console_of(request)
    with console.store.reading() as connection:
        rows = tuple(people.listed(connection, console.key))
        has_hotline = bool(hotlines.listed(connection, console.key))
    is_planned = console.programme() is not None
    page = PeoplePage(
        people=rows,
        self_id=person.id,
        lacks_auditor=not is_planned and not any(one.person.role == "auditor" for one in rows),
        lacks_hotline=is_planned and not has_hotline,
        roles=ROLES,
        link=link,
        done=None if error or link else _done(request, rows),
        typed_name=typed[0],
        typed_role=typed[1],
        error=error,
    )
    return render(request, "people.html", page, status)


def _done(request: Request, rows: tuple[PersonRow, ...]) -> Done | None:
    """Only what can be true of the people as they are now, whatever the address says."""
    what, id_ = (request.query_params.get(name, "") for name in ("done", "person"))
    if what in ("removed", "withdrawn"):
        return Done(what, "")
    named = [row.person.name for row in rows if row.person.id == id_ and row.disabled == (what == "disabled")]
    return Done(what, named[0]) if what in ("disabled", "enabled") and named else None
