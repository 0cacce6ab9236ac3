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

router = Router(prefix="/tokens")
Administrator = Annotated[Person, require("people")]


@dataclass(frozen=True)
class TokensPage:
    tokens: tuple[Token, ...]
    new: str | None
    """Shown once."""
    typed_name: str
    error: str | None


@router.get("")
def tokens_page(request: Request, _: Administrator) -> Response:
    return _page(request)


@router.post("/new")
def make(request: Request, person: Administrator, fields: Fields) -> Response:
    console, name, scopes = console_of(request), text(fields, "name"), texts(fields, "scope")
    try:
        with console.store.writing() as connection:
            secret = tokens.make(connection, console.key, name, scopes)
            action = f"made the token {' '.join(name.split())} for {' and '.join(scopes)}"
            activity.record(connection, console.clock(), person.name, action, "people")
    except DeniableError as error:
        return _page(request, status=422, typed_name=name, error=refusal(error))
    return _page(request, new=secret)


@router.post("/{id_}/revoke")
def revoke(request: Request, person: Administrator, id_: str, _: Fields) -> Response:
    console = console_of(request)
    with console.store.writing() as connection:
        name = tokens.revoke(connection, id_)
        activity.record(connection, console.clock(), person.name, f"revoked the token {name}", "people")
    return redirect("/tokens")


def _page(
    request: Request, *, status: int = 200, new: str | None = None, typed_name: str = "", error: str | None = None
) -> Response:
    console = console_of(request)
    with console.store.reading() as connection:
        known = tuple(tokens.listed(connection, console.key))
    return render(request, "tokens.html", TokensPage(known, new, typed_name, error), status)
