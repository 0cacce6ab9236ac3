"""Signing in and out."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode

from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from deniable.console import kept_forms, sessions
from deniable.console.accounts import people, totp, wrong_codes
from deniable.console.accounts.people import Account, Person, Role, same_name
from deniable.console.console import Console
from deniable.console.form_filling import fill
from deniable.console.kept_forms import KeptForm
from deniable.console.pages.common import done_message, signed_out
from deniable.console.rendering import Again, render
from deniable.console.routing import Pages, Router
from deniable.console.security import (
    AnyVisitor,
    Fields,
    SignInFirst,
    Visitor,
    console_of,
    may,
    quickly,
    text,
    typed_before,
    visitor,
)
from deniable.console.sessions import Over
from deniable.console.voices import COOKIE, language_of
from deniable.errors import DeniableError
from deniable.message import Message, noted
from deniable.programme.names import LONGEST_NAME

router = Router()

WRONG = noted(
    "The name, the password or the code is wrong, or the code was used before. Check the name, and type the password "
    "again, with a new code."
)
TOO_OFTEN = noted(
    "There were too many tries. Wait a quarter of an hour, or use a browser in which you have signed in before."
)
DONE = {
    "joined": noted("Your account is ready. Now sign in, with the next code that the app shows."),
    "signed-out": noted("You are signed out."),
    "signed-out-everywhere": noted("You are signed out in all browsers."),
    "codes": noted("Your new codes are ready. Now sign in, with the next code that the app shows."),
}
LOST = "lost"
"""In the address of the sign-in page: a form was sent after its session had ended, and could not be kept."""
HOME: Mapping[Role, str] = {
    "administrator": "/people",
    "operator": "/round",
    "importer": "/report",
    "auditor": "/round",
}


@dataclass(frozen=True)
class DemoEntry:
    name: str
    role: Role
    password: str
    code: str


@dataclass(frozen=True)
class LoginPage:
    done: Message | None
    error: Message | None
    demo: tuple[DemoEntry, ...]
    """In a demonstration, whom one can sign in as."""
    kept: str | None
    """The form that was being filled in when the session ended, sealed."""
    over: Over | None
    """Why the person was signed out, where that is known."""
    is_lost: bool
    """Whether a form was sent that is not kept."""
    name: str
    """As it was typed before, where signing in did not work."""
    to: str
    """The page that the person wanted to see; empty for their first page."""


@dataclass(frozen=True)
class WrongCodesPage:
    """For a person who has signed in: others may know their password."""

    wrong_codes: int
    to: str
    """Where they go on."""


@dataclass(frozen=True, repr=False)
class Typed:
    """What a person typed to sign in, and where."""

    password: str
    code: str
    browser: wrong_codes.Browser


@dataclass(frozen=True, repr=False)
class SignedIn:
    session: str
    """Its cookie."""
    wrong_codes: int
    """That followed the person's password, and that they do not know of."""


@dataclass(frozen=True)
class WaitingPage:
    """For a person who can do nothing yet."""

    may_report: bool
    """Or else closes rounds."""


@router.get("/")
def home(request: Request, who: AnyVisitor) -> Response:
    """Where a person of this role begins."""
    if who.person is None:
        raise SignInFirst
    if console_of(request).programme() is None and who.person.role != "administrator":
        if may(who.person, "plan"):
            return RedirectResponse("/plan", 303)
        return render(request, "waiting.html", WaitingPage(may(who.person, "report")))
    return RedirectResponse(HOME[who.person.role], 303)


@router.get("/login")
async def login_page(request: Request, who: AnyVisitor) -> Response:
    if who.person is not None:
        return RedirectResponse("/", 303)
    console, to = console_of(request), request.query_params.get("to", "")
    over = sessions.why_over(console.key, request.cookies.get(console.cookie_name("session"), ""), console.clock())
    return _page(request, None, 200, to=to, over=over, is_lost=LOST in request.query_params)


@router.post("/login")
async def login(request: Request, fields: Fields) -> Response:
    """The answer and the work are the same whether the name, the password or the code is wrong."""
    console = console_of(request)
    name, code = text(fields, "name"), text(fields, "code")
    password = fields.get("password")
    known, device = await to_thread.run_sync(_known, console, name, request.cookies.get(console.cookie_name("device")))
    account = f"person {known.person.id}" if known is not None else f"nobody {same_name(name)}"
    console.password_queues.check(stranger=device is None)
    kept, to = text(fields, "kept"), text(fields, "to")
    if not await to_thread.run_sync(console.throttle.take, account, device):
        return _page(request, TOO_OFTEN, 429, kept, to, name=name)
    before = request.cookies.get(console.cookie_name("session"))
    form = None if known is None else kept_forms.opened(console.key, known.person.id, kept, console.clock())
    typed = Typed(password if isinstance(password, str) else "", code, "new" if device is None else "known")
    checked = partial(_signed_in, console, known, typed, before, is_told=form is None)
    signed_in = await console.password_queues.run(checked, stranger=device is None)
    if known is None or signed_in is None:
        return _page(request, WRONG, 403, kept, to, name=name)
    await to_thread.run_sync(console.throttle.forgive, account, device)
    session = signed_in.session
    response = await (_went_on(request, to, signed_in) if form is None else _form_again(request, form, session))
    console.set_cookie(response, "session", session)
    if device is None:
        console.set_cookie(response, "device", sessions.new_device_cookie(console.key, known.person.id))
    return response


async def sign_in_first(request: Request) -> Response:
    """What is answered where a page is for people who are signed in. A form that was sent after its session had ended
    comes back when the same person signs in again; until then their browser keeps it, sealed.
    """
    who: Visitor | None = getattr(request.state, "visitor", None)
    kept = None
    if request.method == "POST" and who is not None and who.person is None:
        with suppress(HTTPException):
            kept = await _kept(request)
    request.state.visitor = None  # also where the session ended in the course of the request
    if kept is None:
        return _to_sign_in(request)
    return await quickly(request, partial(_kept_page, request, kept))


def _to_sign_in(request: Request) -> Response:
    """The address says where the person wanted to go: the page itself, or the one above it that has the form."""
    pages: Pages = request.app.state.pages
    to = pages.page_above(request.scope["path"])
    asked = {LOST: "yes"} if request.method == "POST" else {}
    asked |= {"to": to} if to else {}
    return RedirectResponse(f"/login?{urlencode(asked, safe='/')}" if asked else "/login", 303)


async def _went_on(request: Request, to: str, signed_in: SignedIn) -> Response:
    """Where the person wanted to go, if it is a page of ours and for them; or else their first page. Before that, how
    many wrong codes were typed after their password, if any were.
    """
    pages: Pages = request.app.state.pages
    is_theirs = pages.has(to) and await pages.admits(_asked(request, to, signed_in.session))
    if signed_in.wrong_codes:
        return render(request, "wrong_codes.html", WrongCodesPage(signed_in.wrong_codes, to if is_theirs else "/"))
    return RedirectResponse(to if is_theirs else "/", 303)


async def _kept(request: Request) -> str | None:
    console = console_of(request)
    cookie = request.cookies.get(console.cookie_name("session"), "")
    person = await quickly(request, partial(_person_before, console, cookie))
    form = None if person is None else await typed_before(request)
    return None if person is None or form is None else kept_forms.seal(console.key, person.id, form, console.clock())


def _person_before(console: Console, cookie: str) -> Person | None:
    """The database is not asked about a cookie that strangers made."""
    if not sessions.is_ours(console.key, cookie):
        return None
    with console.store.reading() as connection:
        return sessions.person_before(connection, console.key, cookie)


def _kept_page(request: Request, kept: str) -> Response:
    visitor(request)
    return _page(request, None, 403, kept)


async def _form_again(request: Request, form: KeptForm, session: str) -> Response:
    """The page that the form is on, filled in; or the one above it, which says that the form is gone."""
    path = form.path
    while path:
        page = await _page_at(request, path, session, "filled")
        if page is not None:
            filled = fill(bytes(page.body).decode(), form)
            gone = None if filled is not None else await _page_at(request, path, session, "gone")
            return gone or HTMLResponse(filled or page.body)
        path = path.rpartition("/")[0]
    return RedirectResponse("/", 303)


async def _page_at(request: Request, path: str, session: str, again: Again) -> Response | None:
    """As the person sees it who has signed in with this request."""
    pages: Pages = request.app.state.pages
    try:
        page = await pages.answer(_asked(request, path, session, again))
    except (HTTPException, DeniableError, SignInFirst):
        return None
    return page if isinstance(page, HTMLResponse) and page.status_code == 200 else None


def _asked(request: Request, path: str, session: str, again: Again | None = None) -> Request:
    """For this page, by the person who has signed in with this request."""
    name, chosen = console_of(request).cookie_name, language_of(request)
    cookies = f"{name('session')}={session}; {name(COOKIE)}={chosen}"
    kept = [(header, value) for header, value in request.scope["headers"] if header == b"host"]
    scope = {**request.scope, "method": "GET", "path": path, "query_string": b"", "state": {"again": again}}
    return Request({**scope, "headers": [*kept, (b"cookie", cookies.encode())]}, request.receive)


@router.post("/logout")
def logout(request: Request, who: AnyVisitor, _: Fields) -> Response:
    console = console_of(request)
    if who.person is not None:
        with console.store.writing() as connection:
            sessions.end(connection, console.key, who.name)
    return signed_out(console, "signed-out")


def _known(console: Console, name: str, cookie: str | None) -> tuple[Account | None, str | None]:
    with console.store.reading() as connection:
        known = people.by_name(connection, console.key, name)
    return known, sessions.known_device(console.key, known.person.id if known else None, cookie)


def _signed_in(
    console: Console, known: Account | None, typed: Typed, before: str | None, *, is_told: bool
) -> SignedIn | None:
    """A new session, if all is right. Whatever is wrong, the same is written."""
    asked = console.clock()
    fits = console.passwords.matches(typed.password, known.password if known else None)
    person, salt = (known.person.id, known.totp_salt) if known else ("", "")
    step = totp.matching_step(totp.totp(console.key, person, salt), typed.code, asked)
    with console.store.writing() as connection:
        now = console.clock()  # only now: this may have waited over midnight
        may_guess = not wrong_codes.of(connection, person, typed.browser, now).are_too_many
        is_right = known is not None and not known.disabled and fits and step is not None and may_guess
        if (
            is_right
            and people.by_id(connection, console.key, person) == known  # not changed, nor used, in the meantime
            and totp.use(connection, console.key, person, step)
        ):
            if typed.browser == "known":
                wrong_codes.forgive(connection, person)
            untold = wrong_codes.tell(connection, person, typed.browser) if is_told else 0
            return SignedIn(sessions.begin(connection, console.key, person, now, before), untold)
        is_guess = known is not None and fits and step is None
        name = known.person.name if known else ""
        wrong_codes.note(connection, person, name, typed.browser, now, is_guess=is_guess)
        return None


def _page(
    request: Request,
    error: Message | None,
    status: int,
    kept: str = "",
    to: str = "",
    *,
    name: str = "",
    over: Over | None = None,
    is_lost: bool = False,
) -> Response:
    console, now = console_of(request), console_of(request).clock()
    pages: Pages = request.app.state.pages
    demo = tuple(
        DemoEntry(one.person.name, one.person.role, one.password, one.code(console.key, now)) for one in console.demo
    )
    done = None if error else done_message(request, DONE)
    page = LoginPage(
        done=done,
        error=error,
        demo=demo,
        kept=kept if kept_forms.is_sealed(kept) else None,
        over=over,
        is_lost=is_lost,
        name=name[:LONGEST_NAME],
        to=to if pages.has(to) else "",
    )
    return render(request, "login.html", page, status)
