"""The language of the console, as each person chooses it."""

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.pages.common import redirect
from deniable.console.routing import Pages, Router
from deniable.console.security import AnyVisitor, Fields, console_of, text
from deniable.console.voices import COOKIE
from deniable.languages.language import console_languages

router = Router()


@router.post("/language", writes=False)
def choose_language(request: Request, who: AnyVisitor, fields: Fields) -> Response:
    """Before signing in, or under Your account. The page that comes next is the one that it was chosen on."""
    pages: Pages = request.app.state.pages
    to, default = text(fields, "to"), "/login" if who.person is None else "/account"
    response = redirect(to if pages.has(to.partition("?")[0]) else default)
    if text(fields, "language") in console_languages():
        console_of(request).set_cookie(response, COOKIE, text(fields, "language"))
    return response
