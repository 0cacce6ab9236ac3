"""What is answered where a request is refused: a page for people, a sentence for machines, nothing of the inside."""

import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from deniable.console.help_pages import PLACE as HELP
from deniable.console.rendering import render
from deniable.console.security import LinkGone, NotSetUp, visitor
from deniable.errors import DeniableError, elsewhere
from deniable.programme.secrets.lock import KeyChangedError
from deniable.storage.store import StoreError

API = "/api/v1/"


@dataclass(frozen=True)
class ErrorPage:
    status: int
    heading: str
    sentence: str
    help: str | None
    """Address of the help page about what went wrong."""
    home: bool
    """Whether there is a page to go on from."""


_KEY_CHANGED = "The key was changed. Nothing was written. Ask the person who runs the console to start it again."
NOT_SET_UP = "Set-up is not finished"
FIRST_RUN = (
    "The console has no administrator yet. To become the administrator, open the link that deniable serve printed in "
    "the terminal."
)
HEADINGS = {
    400: "This request cannot be read",
    401: "Sign in first",
    403: "This is not allowed",
    404: "There is no such page",
    405: "This page does not take forms",
    408: "The connection is too slow",
    409: "Please wait a moment",
    413: "This is too large",
    415: "This form cannot be read",
    421: "Wrong address",
    422: "This did not work",
    429: "Too many tries",
    503: "The console cannot do this now",
}
_OWN_HEADINGS = {NotSetUp: NOT_SET_UP, LinkGone: "This link does not work any more"}
_SENTENCES = {
    400: "Go back, reload the page and try again.",
    401: "Sign in first.",
    404: "Check the address.",
    405: "Go to your first page instead.",
    413: "What you sent is larger than the console takes.",
    421: "The console does not answer under this name. Open it at the address that it was started with.",
    503: "The database cannot be used at the moment. Nothing was changed. Try again in a minute.",
}
_HELP_WITH_DATABASE = f"{HELP}health#database"
_HELP_WITH_KEY = f"{HELP}health#key"


def problem(
    request: Request,
    status: int,
    sentence: str | None = None,
    headers: dict[str, str] | None = None,
    *,
    heading: str | None = None,
    help_page: str | None = None,
    home: bool = True,
) -> Response:
    heading = heading or HEADINGS.get(status, HTTPStatus(status).phrase)
    told = sentence or _SENTENCES.get(status, heading)
    told = told.encode("utf-8", "replace").decode()  # it may quote what was sent, which need not be text
    if request.scope["path"].startswith(API):
        return JSONResponse({"error": told}, status, headers)
    response = render(request, "error.html", ErrorPage(status, heading, told, help_page, home), status)
    response.headers.update(headers or {})
    return response


def refused(request: Request, error: Exception) -> Response:
    """What is answered where a request is refused."""
    match error:
        case HTTPException():
            _look_who_it_is(request)
            told = None if error.detail == HTTPStatus(error.status_code).phrase else error.detail
            heading = next((words for kind, words in _OWN_HEADINGS.items() if isinstance(error, kind)), None)
            return problem(request, error.status_code, told, dict(error.headers or {}), heading=heading)
        case KeyChangedError():
            tell(error)
            return problem(request, 503, _KEY_CHANGED, help_page=_HELP_WITH_KEY)
        case StoreError():
            tell(error)
            return problem(request, 503, help_page=_HELP_WITH_DATABASE)
        case DeniableError():  # without the names of our files, and for people who are signed in alone
            who = getattr(request.state, "visitor", None)
            return problem(request, 422, elsewhere(error) if who is not None and who.person is not None else None)
        case _:  # the framework's own answer would quote what was sent
            return problem(request, 400)


def _look_who_it_is(request: Request) -> None:
    """Where no page has done so: a person who is signed in keeps the menu."""
    if not request.scope["path"].startswith(API) and not hasattr(request.state, "visitor"):
        with suppress(StoreError):
            visitor(request)


def tell(error: Exception) -> None:
    """Where it happened, in the terminal; neither text nor traceback, since either may quote a count."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    told = f": {error}" if isinstance(error, StoreError | KeyChangedError) else ""
    print(f"error: {type(error).__name__} in {Path(at.filename).name}, line {at.lineno}{told}", file=sys.stderr)
