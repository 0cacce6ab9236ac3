"""Contact and hotline: what the public is told about how to reach the office."""

import re
from dataclasses import dataclass
from typing import Annotated

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.pages.common import CurrentProgramme, copied_record, recorded, redirect, refusal
from deniable.console.pages.published import check_undamaged
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, require, text
from deniable.console.voices import voice_of
from deniable.errors import DeniableError
from deniable.message import Message, noted
from deniable.programme.calendar import Day, day_in_words
from deniable.programme.programme import Programme
from deniable.programme.transcript import office_details

router = Router()

_LIKE_A_LINK = re.compile(r"[^\W_][\w-]*\.[^\W\d]{2,}", re.IGNORECASE)
"""Such as www.hotline, or hotline.example.org."""


@dataclass(frozen=True)
class OfficeDetailsPage:
    """All of it is public, or about to be."""

    today: Day
    """The date that the public will see beside it."""
    contact: str
    hotline: str
    is_independent: bool
    """Whether the person declared that it has nothing to do with any report."""
    error: Message | None


@dataclass(frozen=True)
class ConfirmDetailsPage:
    """What the public will read, before it is recorded."""

    contact: str
    hotline: str
    round: int
    deed: str
    """The words of the entry itself, as the effect."""
    effect: str


@router.get("/round/decisions/details")
def details_page(request: Request, _: Annotated[Person, require("decide")], programme: CurrentProgramme) -> Response:
    status = programme.status()
    copied_record(request, programme, status.folder)
    known = status.details
    return _page(request, programme, (known and known.contact) or "", (known and known.hotline) or "")


@router.post("/round/decisions/details")
def tell(
    request: Request, person: Annotated[Person, require("decide")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """First it shows what the public will read. Sent from there, it is recorded."""
    contact, hotline, is_independent = text(fields, "contact"), text(fields, "hotline"), "independent" in fields
    copied_record(request, programme, programme.status().folder)
    if "change" in fields:
        return _page(request, programme, contact, hotline, is_independent=is_independent)
    try:
        check_undamaged(console_of(request), programme)
        _check_declared(is_independent)
        _check_hotline(hotline)
        if "confirmed" not in fields:
            return _preview(request, programme, contact, hotline)
        entry = recorded(lambda: programme.tell_details(*office_details.typed(contact, hotline)).number)
    except DeniableError as error:
        return _page(request, programme, contact, hotline, is_independent=is_independent, error=refusal(error))
    console_of(request).record(person, noted("changed the office's contact and hotline (entry {entry})", entry=entry))
    return redirect("/transcript", "decided")


def _preview(request: Request, programme: Programme, contact: str, hotline: str) -> Response:
    entry = programme.foresight.details(*office_details.typed(contact, hotline))
    say = voice_of(request)
    effect = entry.effect(programme.parameters.calendar, say)
    page = ConfirmDetailsPage(contact, hotline, entry.round, entry.deed(say), effect)
    return render(request, "office_details_confirm.html", page)


def _check_hotline(hotline: str) -> None:
    """Refuse words that no reader could call, and a link that would be none: what is published stays."""
    is_number = any(sign.isdigit() for sign in hotline) and not _LIKE_A_LINK.search(hotline)
    if hotline and not is_number and "://" not in hotline:
        raise DeniableError("Begin the link with https://, or give a phone number.")


def _check_declared(is_independent: bool) -> None:
    if not is_independent:
        raise DeniableError("Declare that this has nothing to do with any report. If it has, change nothing.")


def _page(
    request: Request,
    programme: CurrentProgramme,
    contact: str,
    hotline: str,
    *,
    is_independent: bool = False,
    error: Message | None = None,
) -> Response:
    today = day_in_words(programme.parameters.calendar.today(console_of(request).clock()), voice_of(request))
    page = OfficeDetailsPage(today, contact, hotline, is_independent, error)
    return render(request, "office_details.html", page, 422 if error else 200)
