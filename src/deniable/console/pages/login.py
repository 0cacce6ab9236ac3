"""Signing in and out."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from deniable.console import sessions
from deniable.console.accounts import people, totp
from deniable.console.accounts.people import Account, Role, same_name
from deniable.console.console import Console
from deniable.console.pages.common import done_message, signed_out
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import AnyVisitor, Fields, SignInFirst, console_of, may, text

router = Router()

WRONG = "The name, the password or the code is not right, or the code was used before."
TOO_OFTEN = "There were too many tries. Wait a quarter of an hour, or use a browser in which you signed in before."
DONE = {
    "joined": "You have joined. Sign in with the next code that the app shows.",
    "codes": "Your new codes are set up. Sign in with the next one that the app shows.",
}
HOME: Mapping[Role, str] = {
    "administrator": "/people",
    "operator": "/round",
    "importer": "/report",
    "auditor": "/round",
}


@dataclass(frozen=True)
class DemoEntry:
    name: str
    role: str
    password: str
    code: str


@dataclass(frozen=True)
class LoginPage:
    done: str | None
    error: str | None
    demo: tuple[DemoEntry, ...]
    """In a demonstration, whom one can sign in as."""


@router.get("/")
def home(request: Request, who: AnyVisitor) -> Response:
    """Where somebody of this role begins."""
    if who.person is None:
        raise SignInFirst
    if may(who.person, "plan") and console_of(request).programme() is None:
        return RedirectResponse("/plan", 303)
    return RedirectResponse(HOME[who.person.role], 303)


@router.get("/login")
async def login_page(request: Request, who: AnyVisitor) -> Response:
    if who.person is not None:
        return RedirectResponse("/", 303)
    return _page(request, None, 200)


@router.post("/login")
async def login(request: Request, fields: Fields) -> Response:
    """The answer and the work are the same whether the name, the password or the code is wrong."""
    console = console_of(request)
    name, code = text(fields, "name"), text(fields, "code")
    password = fields.get("password")
    known, device = await to_thread.run_sync(_known, console, name, request.cookies.get(console.cookie_name("device")))
    account = f"person {known.person.id}" if known is not None else f"nobody {same_name(name)}"
    console.password_queues.check(stranger=device is None)
    if not await to_thread.run_sync(console.throttle.take, account, device):
        return _page(request, TOO_OFTEN, 429)
    before = request.cookies.get(console.cookie_name("session"))
    checked = partial(_signed_in, console, known, password if isinstance(password, str) else "", code, before)
    session = await console.password_queues.run(checked, stranger=device is None)
    if known is None or session is None:
        return _page(request, WRONG, 403)
    await to_thread.run_sync(console.throttle.forgive, account, device)
    response = RedirectResponse("/", 303)
    console.set_cookie(response, "session", session)
    if device is None:
        console.set_cookie(response, "device", sessions.new_device_cookie(console.key, known.person.id))
    return response


@router.post("/logout")
def logout(request: Request, who: AnyVisitor, _: Fields) -> Response:
    console = console_of(request)
    if who.person is not None:
        with console.store.writing() as connection:
            sessions.end(connection, console.key, who.name)
    return signed_out(console)


def _known(console: Console, name: str, cookie: str | None) -> tuple[Account | None, str | None]:
    with console.store.reading() as connection:
        known = people.by_name(connection, console.key, name)
    return known, sessions.known_device(console.key, known.person.id if known else None, cookie)


def _signed_in(console: Console, known: Account | None, password: str, code: str, before: str | None) -> str | None:
    """The cookie of a new session, if all is right."""
    now = console.clock()
    fits = console.passwords.matches(password, known.password if known else None)
    person, salt = (known.person.id, known.totp_salt) if known else ("", "")
    step = totp.matching_step(totp.totp(console.key, person, salt), code, now)
    if known is None or known.disabled or not fits or step is None:
        return None
    with console.store.writing() as connection:
        if people.by_id(connection, console.key, person) != known or not totp.use(
            connection, console.key, person, step
        ):
            return None  # changed, or used, in the meantime
        return sessions.begin(connection, console.key, person, now, before)


def _page(request: Request, error: str | None, status: int) -> Response:
    console, now = console_of(request), console_of(request).clock()
    demo = tuple(
        DemoEntry(one.person.name, one.person.role, one.password, one.code(console.key, now)) for one in console.demo
    )
    page = LoginPage(None if error else done_message(request, DONE), error, demo)
    return render(request, "login.html", page, status)
