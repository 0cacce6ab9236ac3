"""Pages: a template, exactly one dataclass of what it shows, and the frame around it."""

from dataclasses import dataclass, is_dataclass
from functools import cache
from typing import Any, Literal

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from deniable.console import sessions
from deniable.console.accounts.people import ROLE_NAMES, Role
from deniable.console.help_pages import PLACE, SIGNING_IN, help_for
from deniable.console.security import Permission, Visitor, console_of, may
from deniable.console.static_files import static_address
from deniable.console.voices import sentence, voice_of
from deniable.languages.language import Terms, console_languages, language
from deniable.languages.voice import breakable, kept_together
from deniable.message import Message, noted
from deniable.programme.calendar import Day, day_in_words
from deniable.programme.public.page import MOST_NAMES

NAVIGATION: tuple[tuple[Permission, str, Message], ...] = (
    ("round", "/round", noted("Round")),
    ("decide", "/work-list", noted("Work list")),
    ("report", "/report", noted("Reports")),
    ("report", "/import", noted("Import")),
    ("decide", "/emergencies", noted("Emergencies")),
    ("plan", "/plan", noted("Plan")),
    ("transcript", "/transcript", noted("Public record")),
    ("guarantee", "/guarantee", noted("Promise")),
    ("health", "/health", noted("Health")),
    ("people", "/people", noted("People")),
    ("people", "/hotlines", noted("Hotlines")),
    ("people", "/tokens", noted("Tokens")),
    ("activity", "/activity", noted("Activity")),
)
"""What the pages are called, in the order in which they are listed; each person sees those of their role."""
LISTED_UNDER = {"/round/decisions/not-carried-out": "/work-list", "/api": "/tokens"}
"""Pages that people open from another page of the menu than the one above them, which stays marked."""
BEFORE_A_PROGRAMME = {"/plan", "/health", "/people", "/tokens", "/activity"}
"""Those that there are before one was planned."""


Again = Literal["filled", "gone"]


@dataclass(frozen=True)
class Link:
    href: str
    label: Message
    current: bool


@dataclass(frozen=True)
class Frame:
    """What is around every page."""

    who: str | None
    role: Role | None
    navigation: tuple[Link, ...]
    """Empty before signing in."""
    programme: str | None
    """Its public name, if there is one."""
    today: Day | None
    """By the programme's calendar, for what is printed; None where there is no programme."""
    csrf: str
    """Every form that is posted carries it in a hidden field of that name."""
    demo: bool
    help: str
    """Address of the help page about this page."""
    again: Again | None
    """After signing in again: whether the form that was being filled in is on this page."""
    languages: tuple[tuple[str, str], ...]
    """The codes and names of those that the console speaks."""


def render(
    request: Request, template_name: str, page: Any, status: int = 200, terms: Terms | None = None
) -> HTMLResponse:
    """The page as HTML. The template sees `page`, a frozen dataclass; `frame`; and `say`, `counted`, `html` and
    `counted_html` of the person's voice, with the programme's words for audits and targets, if not with those given
    here.
    """
    if not is_dataclass(page):
        raise TypeError("a template is given a dataclass, so that it cannot show what was not declared")
    console = console_of(request)
    who: Visitor = getattr(request.state, "visitor", None) or Visitor(None, "", is_new=False)
    person = who.person
    programme = console.programme() if person else None
    path: str = request.scope["path"]
    listed = LISTED_UNDER.get(path, path)
    links = tuple(
        Link(href, label, current=listed == href or listed.startswith(f"{href}/"))
        for permission, href, label in NAVIGATION
        if may(person, permission)
        and (programme is not None or href in BEFORE_A_PROGRAMME)
        and (href != "/emergencies" or (programme and programme.parameters.visit_classes))
    )
    say = voice_of(request, terms)
    frame = Frame(
        who=person.name if person else None,
        role=person.role if person else None,
        navigation=links,
        programme=programme.parameters.name if programme else None,
        today=day_in_words(programme.parameters.calendar.today(console.clock()), say) if programme else None,
        csrf=sessions.form_token(console.key, who.name) if who.name else "",
        demo=bool(console.demo),
        help=help_for(path) if person else PLACE + SIGNING_IN,
        again=getattr(request.state, "again", None),
        languages=tuple((code, language(code).locale.name) for code in console_languages()),
    )
    shown = _templates().get_template(template_name)
    text = shown.render(
        page=page,
        frame=frame,
        say=say,
        counted=say.counted,
        counted_html=say.counted_html,
        html=say.html,
    )
    response = HTMLResponse(text, status)
    if who.is_new:
        response.set_cookie(
            console.cookie_name("visit"), who.name, secure=console.secure, httponly=True, samesite="strict", path="/"
        )
    return response


def origin_of(request: Request) -> str:
    """Where browsers reach this console; without a name of its own, on this computer, as the one that asks knows it."""
    fixed: str | None = request.app.state.origin
    return fixed or f"{'https' if console_of(request).secure else 'http'}://{request.headers.get('host', '')}"


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=ChoiceLoader(
            [
                PackageLoader("deniable.console"),
                PrefixLoader({"public": PackageLoader("deniable.programme.public")}),
            ]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        cache_size=-1,
    )
    templates.filters.update(kept_together=kept_together, breakable=breakable)
    templates.globals |= {
        "sentence": sentence,
        "static": static_address,
        "MOST_NAMES": MOST_NAMES,
        "ROLE_NAMES": ROLE_NAMES,
    }
    return templates


def compile_templates() -> None:
    """All of them, at the start, so that no request waits for it."""
    for name in _templates().list_templates():
        _templates().get_template(name)
