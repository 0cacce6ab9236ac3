"""Tokens: what machines may do."""

from dataclasses import dataclass
from typing import Annotated

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts import activity, tokens
from deniable.console.accounts.people import Person
from deniable.console.accounts.tokens import Token
from deniable.console.pages.common import redirect, refusal
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, require, text, texts
from deniable.errors import DeniableError
from deniable.message import Message, noted

router = Router(prefix="/tokens")
Administrator = Annotated[Person, require("people")]

MADE = {
    ("reports",): noted("made the token {token} for reports"),
    ("status",): noted("made the token {token} for status"),
    ("reports", "status"): noted("made the token {token} for reports and status"),
}
"""What the activity log says, by what the token is for."""
REVOKED = noted("revoked the token {token}")


@dataclass(frozen=True)
class TokensPage:
    tokens: tuple[Token, ...]
    new: str | None
    """Shown once."""
    typed_name: str
    revoked: str | None
    """The name of the token that was revoked just now."""
    error: Message | None


@dataclass(frozen=True)
class RevokePage:
    """The question before a token is revoked."""

    id: str
    name: str


@router.get("")
def tokens_page(request: Request, person: Administrator) -> Response:
    return _page(request, person)


@router.post("/new")
def make(request: Request, person: Administrator, fields: Fields) -> Response:
    console, name, scopes = console_of(request), text(fields, "name"), texts(fields, "scope")
    try:
        with console.store.writing() as connection:
            secret = tokens.make(connection, console.key, name, scopes)
            action = MADE[tuple(sorted(set(scopes)))].filled(token=" ".join(name.split()))
            activity.record(connection, console.clock(), person.name, action, "people")
    except DeniableError as error:
        return _page(request, person, status=422, typed_name=name, error=refusal(error))
    return _page(request, person, new=secret)


@router.get("/{id_}/revoke")
def ask_before_revoking(request: Request, _: Administrator, id_: str) -> Response:
    console = console_of(request)
    with console.store.reading() as connection:
        named = [one.name for one in tokens.listed(connection, console.key) if one.id == id_]
    return render(request, "revoke.html", RevokePage(id_, named[0])) if named else redirect("/tokens")


@router.post("/{id_}/revoke")
def revoke(request: Request, person: Administrator, id_: str, _: Fields) -> Response:
    console = console_of(request)
    with console.store.writing() as connection:
        name = tokens.revoke(connection, id_)
        activity.record(connection, console.clock(), person.name, REVOKED.filled(token=name), "people")
    return redirect("/tokens", "revoked")


def _page(
    request: Request,
    person: Person,
    *,
    status: int = 200,
    new: str | None = None,
    typed_name: str = "",
    error: Message | None = None,
) -> Response:
    console, is_done = console_of(request), not error and request.query_params.get("done") == "revoked"
    with console.store.reading() as connection:
        known = tuple(tokens.listed(connection, console.key))
        last = activity.newest(connection, person.name) if is_done else None
    revoked = dict(last.values)["token"] if last is not None and last.text == REVOKED.text else None
    return render(request, "tokens.html", TokensPage(known, new, typed_name, revoked, error), status)
