"""People: who may use the console, and in which role."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from deniable.errors import DeniableError
from deniable.web import accounts
from deniable.web.accounts import ROLES, Person
from deniable.web.pages.common import refusal
from deniable.web.rendering import origin, render
from deniable.web.security import Fields, console_of, require, text

router = APIRouter(prefix="/people")
Administrator = Annotated[Person, require("people")]


@dataclass(frozen=True)
class Row:
    id: str
    name: str
    role: str
    disabled: bool
    has_joined: bool
    waiting: bool
    """Whether a link was made for them that they did not use yet."""
    is_self: bool


@dataclass(frozen=True)
class NewLink:
    """Shown once: who gets it, and the address."""

    name: str
    address: str
    invited: bool
    """Or new codes."""


@dataclass(frozen=True)
class PeoplePage:
    people: tuple[Row, ...]
    roles: tuple[str, ...]
    link: NewLink | None
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
            token = accounts.invite(connection, name, role, console.clock())
            accounts.record(connection, console.clock(), person.name, f"invited {' '.join(name.split())} as {role}")
    except DeniableError as error:
        return _page(request, person, status=422, typed=(name, role), error=refusal(error))
    link = NewLink(name, f"{origin(request)}/invitation/{token}", invited=True)
    return _page(request, person, link=link)


@router.post("/{id_}/reset")
def reset(request: Request, person: Administrator, id_: str, _: Fields) -> Response:
    console = console_of(request)
    with console.store.writing() as connection:
        token = accounts.reset_codes(connection, id_, console.clock())
        name = accounts.account_of(connection, id_).person.name
        accounts.record(connection, console.clock(), person.name, f"reset the one-time codes of {name}")
    link = NewLink(name, f"{origin(request)}/invitation/{token}", invited=False)
    return _page(request, person, link=link)


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
        name = accounts.withdraw_invitation(connection, id_)
        accounts.record(connection, console.clock(), person.name, f"withdrew the link of {name}")
    return RedirectResponse("/people", 303)


def _set_disabled(request: Request, person: Person, id_: str, disabled: bool) -> Response:
    console = console_of(request)
    try:
        with console.store.writing() as connection:
            accounts.set_disabled(connection, id_, disabled)
            name = accounts.account_of(connection, id_).person.name
            accounts.record(connection, console.clock(), person.name, f"{'disabled' if disabled else 'enabled'} {name}")
    except DeniableError as error:
        return _page(request, person, status=422, error=refusal(error))
    return RedirectResponse("/people", 303)


def _page(
    request: Request,
    person: Person,
    *,
    status: int = 200,
    link: NewLink | None = None,
    typed: tuple[str, str] = ("", "importer"),
    error: str | None = None,
) -> Response:
    with console_of(request).store.reading() as connection:
        everybody = accounts.listed(connection)
    rows = tuple(
        Row(
            id=one.person.id,
            name=one.person.name,
            role=one.person.role,
            disabled=one.disabled,
            has_joined=one.has_joined,
            waiting=one.waiting,
            is_self=one.person.id == person.id,
        )
        for one in everybody
    )
    return render(request, "people.html", PeoplePage(rows, ROLES, link, *typed, error), status)
