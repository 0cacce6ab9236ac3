"""Your account: everybody's own name, role and password."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console import sessions
from deniable.console.accounts import activity, people, totp, wrong_codes
from deniable.console.accounts.people import Person
from deniable.console.console import Console
from deniable.console.pages.common import done_message, redirect, refusal, signed_out
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, Refused, SignInFirst, console_of, quickly, require, text
from deniable.errors import DeniableError
from deniable.message import Message, noted

router = Router(prefix="/account")
Anybody = Annotated[Person, require("account")]

WRONG = noted(
    "The old password or the code is wrong, or the code was used before. Fill in all four fields again, with a new "
    "code. If too many wrong codes were typed today, wait until tomorrow, or ask an administrator for new codes. If "
    "too many were typed this month, wait until next month."
)
DONE = {"password": noted("Your password is changed. You are signed out everywhere else.")}


@dataclass(frozen=True)
class AccountPage:
    name: str
    role: str
    done: Message | None
    error: Message | None
    is_code_left: bool
    """Whether the code was not looked at, because something else was wrong."""


@router.get("")
def account_page(request: Request, person: Anybody) -> Response:
    return _page(request, person)


@router.post("/password")
async def change_password(request: Request, person: Anybody, fields: Fields) -> Response:
    """The old password and a code are asked for: whoever found an open session cannot make it their own."""
    console = console_of(request)
    console.password_queues.check(stranger=False)
    if not console.throttle.take(f"account {person.id}", None):
        raise Refused(429, noted("There were too many tries. Wait a quarter of an hour."))
    cookie = request.cookies.get(console.cookie_name("session"), "")
    try:
        session = await console.password_queues.run(partial(_changed, console, person, cookie, fields), stranger=False)
    except DeniableError as error:
        return await quickly(request, partial(_page, request, person, refusal(error)))
    console.throttle.forgive(f"account {person.id}", None)
    response = redirect("/account", "password")
    console.set_cookie(response, "session", session)
    return response


@router.post("/sign-out")
def sign_out(request: Request, person: Anybody, _: Fields) -> Response:
    """In every browser."""
    console = console_of(request)
    with console.store.writing() as connection:
        people.sign_out(connection, person.id)
    return signed_out(console, "signed-out-everywhere")


def _changed(console: Console, person: Person, cookie: str, fields: FormData) -> str:
    """The cookie of a new session; all others of this person have ended, also the one in which this was asked for."""
    asked, key = console.clock(), console.key
    old, password, again = (str(fields.get(name, "")) for name in ("old", "password", "again"))
    stored = console.passwords.new(password, again)  # first: what is wrong with it must not tell that the old one fits
    with console.store.reading() as connection:
        known = people.known(connection, key, person.id)
    step = totp.matching_step(totp.totp(key, person.id, known.totp_salt), text(fields, "code"), asked)
    fits = console.passwords.matches(old, known.password)
    with console.store.writing() as connection:
        now = console.clock()  # only now: this may have waited over midnight
        if sessions.find(connection, key, cookie, now) is None:  # it ended while this waited for its turn
            raise SignInFirst
        may_guess = not wrong_codes.of(connection, person.id, "known", now).are_too_many
        is_same = people.by_id(connection, key, person.id) == known
        if fits and is_same and may_guess and totp.use(connection, key, person.id, step):
            people.set_password(connection, key, person.id, stored)
            activity.record(connection, now, person.name, noted("changed their password"), "people")
            return sessions.begin(connection, key, person.id, now)
        is_guess = fits and step is None
        wrong_codes.note(connection, person.id, person.name, "known", now, is_guess=is_guess)
    raise DeniableError(WRONG)


def _page(request: Request, person: Person, error: Message | None = None) -> Response:
    page = AccountPage(person.name, person.role, None if error else done_message(request, DONE), error, error != WRONG)
    return render(request, "account.html", page, 422 if error else 200)
