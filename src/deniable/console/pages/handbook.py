"""The handbook as pages of the console: for people who are signed in, and how to sign in for all."""

from dataclasses import dataclass
from typing import Annotated

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from deniable.console.accounts.people import Person
from deniable.console.help_pages import FIRST, PLACE, SIGNING_IN, HelpText, help_texts
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import AnyVisitor, Refused, require
from deniable.message import noted

router = Router()

MANY = 6
"""From so many sections on, a page has a folded list of them."""


@dataclass(frozen=True)
class HelpPage:
    """The same for all people, whatever the programme is."""

    title: str
    parts: tuple[tuple[str, str], ...]
    """Anchors and headings of its sections, where they are many."""
    html: Markup
    others: tuple[tuple[str, str], ...]
    """Addresses and titles of all pages; none for a person who is not signed in."""


@router.get("/help")
def contents(_: Annotated[Person, require("account")]) -> Response:
    return RedirectResponse(PLACE + FIRST, 303)


@router.get(PLACE + SIGNING_IN)
def signing_in(request: Request, who: AnyVisitor) -> Response:
    return _page(request, help_texts()[SIGNING_IN], is_stranger=who.person is None)


@router.get("/help/{topic}")
def help_page(request: Request, topic: str, _: Annotated[Person, require("account")]) -> Response:
    text = help_texts().get(topic)
    if text is None:
        raise Refused(404, noted("There is no help page of this name. Choose Help to see which there are."))
    return _page(request, text)


def _page(request: Request, text: HelpText, *, is_stranger: bool = False) -> Response:
    others = () if is_stranger else tuple((one.address, one.title) for one in help_texts().values())
    parts = text.parts if len(text.parts) >= MANY else ()
    return render(request, "help.html", HelpPage(text.title, parts, text.html, others))
