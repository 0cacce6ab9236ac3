"""Signing in and out."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from deniable.web import accounts, sessions
from deniable.web.console import Console
from deniable.web.rendering import render
from deniable.web.security import Fields, SignInFirst, Visitor, console_of, may, text, visitor

router = APIRouter()

WRONG = "The name, the password or the code is not right, or the code was used before."
TOO_OFTEN = "There were too many tries. Wait a quarter of an hour, or use a browser in which you signed in before."
HOME: Mapping[accounts.Role, str] = {
    "administrator": "/people",
    "operator": "/round",
    "importer": "/report",
    "auditor": "/round",
}
A_YEAR = 365 * 24 * 3600


@dataclass(frozen=True)
class DemoEntry:
    name: str
    role: str
    password: str
    code: str


@dataclass(frozen=True)
class LoginPage:
    error: str | None
    demo: tuple[DemoEntry, ...]
    """In a demonstration, whom one can sign in as."""


@router.get("/")
def home(request: Request, who: Annotated[Visitor, Depends(visitor)]) -> Response:
    """Where somebody of this role begins."""
    if who.person is None:
        raise SignInFirst
    if may(who.person, "plan") and console_of(request).programme() is None:
        return RedirectResponse("/plan", 303)
    return RedirectResponse(HOME[who.person.role], 303)


@router.get("/login")
def login_page(request: Request, who: Annotated[Visitor, Depends(visitor)]) -> Response:
    if who.person is not None:
        return RedirectResponse("/", 303)
    return _page(request, None, 200)


@router.post("/login")
async def login(request: Request, fields: Fields) -> Response:
    """The answer and the work are the same whether the name, the password or the code is wrong."""
    console = console_of(request)
    name, code = text(fields, "name"), text(fields, "code")
    password = fields.get("password")
    known, device = await to_thread.run_sync(_known, console, name, request.cookies.get(console.cookie("device")))
    account = f"person {known.person.id}" if known is not None else f"nobody {accounts.same_name(name)}"
    if not console.throttle.take(account, device):
        return _page(request, TOO_OFTEN, 429)
    before = request.cookies.get(console.cookie("session"))
    checked = partial(_signed_in, console, known, password if isinstance(password, str) else "", code, before)
    session = await console.lanes.run(checked, stranger=device is None)
    if known is None or session is None:
        return _page(request, WRONG, 403)
    console.throttle.forgive(account, device)
    response = RedirectResponse("/", 303)
    keep = partial(response.set_cookie, secure=console.secure, httponly=True, samesite="strict", path="/")
    keep(console.cookie("session"), session)
    if device is None:
        keep(console.cookie("device"), sessions.device(console.key, known.person.id), max_age=A_YEAR)
    return response


@router.post("/logout")
def logout(request: Request, who: Annotated[Visitor, Depends(visitor)], _: Fields) -> Response:
    console = console_of(request)
    if who.person is not None:
        with console.store.writing() as connection:
            sessions.end(connection, who.cookie)
    response = RedirectResponse("/login", 303)
    response.delete_cookie(console.cookie("session"), path="/", secure=console.secure, httponly=True, samesite="strict")
    return response


def _known(console: Console, name: str, cookie: str | None) -> tuple[accounts.Account | None, str | None]:
    with console.store.reading() as connection:
        known = accounts.account(connection, name)
    return known, sessions.known_device(console.key, known.person.id if known else None, cookie)


def _signed_in(
    console: Console, known: accounts.Account | None, password: str, code: str, before: str | None
) -> str | None:
    """The cookie of a new session, if all is right."""
    now = console.clock()
    fits = console.passwords.fits(password, known.password if known else None)
    person, generation = (known.person.id, known.generation) if known else ("", 0)
    step = accounts.matching_step(accounts.codes(console.key, person, generation), code, now)
    if known is None or known.disabled or not fits or step is None:
        return None
    with console.store.writing() as connection:
        if accounts.account_of(connection, person) != known or not accounts.use_code(connection, person, step):
            return None  # changed, or used, in the meantime
        return sessions.begin(connection, person, now, before)


def _page(request: Request, error: str | None, status: int) -> Response:
    console, now = console_of(request), console_of(request).clock()
    demo = tuple(
        DemoEntry(one.person.name, one.person.role, one.password,
                  accounts.codes(console.key, one.person.id, one.generation).at(now))
        for one in console.demo
    )  # fmt: skip
    return render(request, "login.html", LoginPage(error, demo), status)
