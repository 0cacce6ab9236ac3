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
from deniable.console.routing import Pages
from deniable.console.security import FormTooOld, LinkGone, NotSetUp, Refused, visitor
from deniable.console.voices import voice_of
from deniable.errors import DeniableError
from deniable.message import Message, noted
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
    form: str
    """Address of the page with the form that is to be sent again; empty where there is none."""


_KEY_CHANGED = noted("The key was changed. Nothing was written. Ask the person who runs the console to start it again.")
NOT_SET_UP = noted("Set-up is not finished")
FIRST_RUN = noted(
    "The console has no administrator yet. To become the administrator, open the link that the server showed when it "
    "was started. If another person runs the server, ask that person for the link."
)
HEADINGS = {
    400: noted("This request cannot be read"),
    401: noted("Sign in first"),
    403: noted("This is not allowed"),
    404: noted("There is no such page"),
    405: noted("This page does not take forms"),
    408: noted("The connection is too slow"),
    409: noted("Please wait a moment"),
    413: noted("This is too large"),
    415: noted("This form cannot be read"),
    421: noted("Wrong address"),
    422: noted("This did not work"),
    429: noted("Too many tries"),
    503: noted("The console cannot do this now"),
}
_OWN_HEADINGS = {
    NotSetUp: NOT_SET_UP,
    LinkGone: noted("This link does not work any more"),
    FormTooOld: noted("Please send the form again"),
}
_SENTENCES = {
    400: noted("Go back, reload the page and try again."),
    401: noted("Sign in first."),
    404: noted("Check the address."),
    405: noted("Go to your first page instead."),
    413: noted("What you sent is larger than the console takes."),
    421: noted("The console does not answer under this name. Open it at the address that it was started with."),
    503: noted("The database cannot be used at the moment. Nothing was changed. Try again in a minute."),
}
_HELP_WITH_DATABASE = f"{HELP}health#database"
_HELP_WITH_KEY = f"{HELP}health#key"


def problem(
    request: Request,
    status: int,
    sentence: Message | None = None,
    headers: dict[str, str] | None = None,
    *,
    heading: Message | None = None,
    help_page: str | None = None,
    home: bool = True,
    form: str = "",
) -> Response:
    heading = heading or HEADINGS.get(status) or noted("{phrase}", phrase=HTTPStatus(status).phrase)
    sentence = sentence or _SENTENCES.get(status, heading)
    if request.scope["path"].startswith(API):
        return JSONResponse({"error": _as_text(str(sentence))}, status, headers)
    say = voice_of(request)
    page = ErrorPage(status, say(heading), _as_text(say(sentence)), help_page, home, form)
    response = render(request, "error.html", page, status)
    response.headers.update(headers or {})
    return response


def _as_text(told: str) -> str:
    """It may quote what was sent, which need not be text."""
    return told.encode("utf-8", "replace").decode()


def refused(request: Request, error: Exception) -> Response:
    """What is answered where a request is refused."""
    match error:
        case HTTPException():
            _look_who_it_is(request)
            told = error.message if isinstance(error, Refused) else _detail(error)
            heading = next((words for kind, words in _OWN_HEADINGS.items() if isinstance(error, kind)), None)
            form = _with_form(request) if isinstance(error, FormTooOld) else ""
            return problem(request, error.status_code, told, dict(error.headers or {}), heading=heading, form=form)
        case KeyChangedError():
            tell(error)
            return problem(request, 503, _KEY_CHANGED, help_page=_HELP_WITH_KEY)
        case StoreError():
            tell(error)
            return problem(request, 503, help_page=_HELP_WITH_DATABASE)
        case DeniableError():  # without the names of our files, and for people who are signed in alone
            who = getattr(request.state, "visitor", None)
            return problem(request, 422, error.elsewhere if who is not None and who.person is not None else None)
        case _:  # the framework's own answer would quote what was sent
            return problem(request, 400)


def _with_form(request: Request) -> str:
    """The address of the page that has the form which was sent."""
    pages: Pages = request.app.state.pages
    return pages.page_above(request.scope["path"])


def _detail(error: HTTPException) -> Message | None:
    """What is said to machines; None where the framework says no more than the status."""
    return None if error.detail == HTTPStatus(error.status_code).phrase else noted("{told}", told=error.detail)


def _look_who_it_is(request: Request) -> None:
    """Where no page has done so: a person who is signed in keeps the menu."""
    if not request.scope["path"].startswith(API) and not hasattr(request.state, "visitor"):
        with suppress(StoreError):
            visitor(request)


def tell(error: Exception) -> None:
    """Where it happened, in the terminal; neither text nor traceback, since either may quote a count."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    file = "/".join(Path(at.filename).parts[-3:])  # such as console/pages/people.py: several files have one name
    told = f": {error}" if isinstance(error, StoreError | KeyChangedError) else ""
    print(f"error: {type(error).__name__} in {file}, line {at.lineno}{told}", file=sys.stderr)
