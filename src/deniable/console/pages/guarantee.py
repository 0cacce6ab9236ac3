"""Guarantee: the promise to anyone considering a report, as on the public page, on one page to print."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.pages.common import CurrentProgramme
from deniable.console.pages.published import verified
from deniable.console.remembered import Remembered, takes_long
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import console_of, require
from deniable.console.voices import voice_of
from deniable.languages.language import CONSOLE
from deniable.languages.voice import Voice
from deniable.programme.calendar import Day, due_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.programme import Programme
from deniable.programme.public.page import shortened
from deniable.programme.public.promise import Promise, promise_of
from deniable.programme.public.situation import Situation
from deniable.programme.status import Status
from deniable.programme.transcript.closings import NO_REASON
from deniable.programme.transcript.replay import parsed, replay

router = Router()


@dataclass(frozen=True)
class GuaranteePage:
    name: str
    promise: Promise
    lapse_reason: str | None
    """Why the office did what cost the promise, in its own words; None where it has not lapsed."""
    no_reason: str
    """What the record has where the office gave none."""
    was_due: Day | None
    """When the next draw was due, where it has not taken place yet."""
    ended: bool
    waiting: int | None
    """The round that is frozen and not drawn yet; None where there is none."""
    open_round: int
    is_outdated: bool
    """Whether the database is older than what is published, so that this page may promise what was lost."""
    is_damaged: bool
    """Whether the public files are not as the office wrote them."""
    is_behind: bool
    """Whether the public page does not say the same: it is not published, or what changes the promise is not."""


@router.get("/guarantee")
def guarantee_page(
    request: Request, _: Annotated[Person, require("guarantee")], programme: CurrentProgramme
) -> Response:
    status, say = programme.status(), voice_of(request)
    was_due = due_in_words(status.parameters.calendar, status.open_round, say) if status.overdue else None
    found = None if status.folder is None else verified(console_of(request), programme, status.folder)
    page = GuaranteePage(
        programme.parameters.name,
        promise_now(programme, say),
        _lapse_reason(request, programme, status),
        NO_REASON,
        was_due,
        ended=status.ended,
        waiting=None if status.waiting is None else status.waiting.round,
        open_round=status.open_round,
        is_outdated=status.published > status.entries,
        is_damaged=found is not None and found.damage != "",
        is_behind=found is None or not found.ok or _is_behind(request, programme, status),
    )
    return render(request, "guarantee.html", page)


def _is_behind(request: Request, programme: Programme, status: Status) -> bool:
    """Whether an entry that is not published changes what the promise says."""
    if status.published >= status.entries:
        return False
    parameters = programme.parameters
    lines = console_of(request).public_records.current(parameters).lines[: status.published]
    key = parameters.digest, lines[-1:]
    return _published.get(key, lambda: _situation(parameters, lines)) != programme.situation()


_published = Remembered[Situation]()


def _situation(parameters: Parameters, lines: Sequence[str]) -> Situation:
    takes_long()
    return Situation.after(replay(parameters, parsed(lines)))


def _lapse_reason(request: Request, programme: Programme, status: Status) -> str | None:
    last = status.coverage.last
    if last is None:
        return None
    record = console_of(request).public_records.current(programme.parameters, voice_of(request))
    return shortened(next((event.reason for event in record.events if event.number == last.entry), None))


_promises = Remembered[Promise](most=len(CONSOLE))


def promise_now(programme: Programme, say: Voice) -> Promise:
    """In the situation of this moment."""
    return promise_in(programme.parameters, programme.situation(), say)


def promise_in(parameters: Parameters, situation: Situation, say: Voice) -> Promise:
    """Made once for each situation and language."""
    key = parameters.digest, situation, say.language.code
    return _promises.get(key, lambda: promise_of(parameters, situation, say))
