"""The open round: when it closes, what is waiting (for auditors alone), and closing it."""

from dataclasses import dataclass, replace
from typing import Annotated

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.pages.common import (
    MOST_BARS,
    Bar,
    CurrentProgramme,
    bars,
    bars_of,
    copied_record,
    counting,
    number_in,
    redirect,
    refusal,
    search,
)
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, may, require, text
from deniable.console.target_search import Found
from deniable.errors import DeniableError
from deniable.programme.programme import Programme
from deniable.programme.public.frozen_rounds import FrozenRound, value_in_words
from deniable.programme.public.page import Day, due_in_words
from deniable.programme.status import Closed, Status
from deniable.programme.transcript_copies import NotKeptError

router = Router()


@dataclass(frozen=True)
class NotPublic:
    """A draw whose names the public does not know yet. Confidential."""

    round: int
    names: tuple[str, ...]
    until: int
    """The round with whose closing they become public."""
    due: Day
    """Of that round."""


@dataclass(frozen=True)
class RoundPage:
    """The same whatever was reported. An operator sees this page."""

    round: int
    due: Day
    overdue: int
    """Rounds that are due and not closed."""
    ended: bool
    targets: int
    may_close: bool
    may_decide: bool
    may_report: bool
    waiting: FrozenRound | None
    """The round that is frozen and not drawn yet."""
    value_is_out: bool
    """Whether its public value is there for who looks, or people can throw the numbers."""
    not_public: tuple[NotPublic, ...]
    """For those who may close a round, and have seen the names."""


@dataclass(frozen=True)
class CountedRoundPage(RoundPage):
    """Confidential: for auditors."""

    counts: tuple[Bar, ...]
    found: Found
    """What was looked for, and the pages beside this one."""
    has_classes: bool
    """Whether there are several classes of reports."""
    most_counted: int | None
    visit_waits: bool
    """Whether a report leads to a visit that is not recorded yet."""


@dataclass(frozen=True)
class ClosePage:
    round: int
    is_drawn: bool
    """Whether the round is closed already, and what was drawn cannot be shown yet."""
    audits: int
    public_value: str
    """With which it is drawn after it is frozen; empty where it is drawn at once."""
    late: int
    """In days; a reason is asked for where it is not 0."""
    reason: str
    error: str | None


@dataclass(frozen=True)
class ClosedPage:
    round: int
    audits: tuple[str, ...]
    already: bool
    next_round: int
    next_due: Day
    overdue: int
    secret: NotPublic | None
    """Where the names are not public yet."""
    waiting: FrozenRound | None
    """Where it is frozen and not drawn yet."""
    has_values: bool
    """Whether the programme draws with public values."""


@router.get("/round")
def round_page(request: Request, person: Annotated[Person, require("round")], programme: CurrentProgramme) -> Response:
    return _page(request, person, programme, start=number_in(request.query_params.get("start", "")) or 0)


@router.post("/round/find", writes=False)
def find(
    request: Request, person: Annotated[Person, require("counts")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """The counts of some targets. Posted, so that no address tells which."""
    return _page(request, person, programme, fields=fields)


def _page(
    request: Request, person: Person, programme: Programme, *, start: int = 0, fields: FormData | None = None
) -> Response:
    status = programme.status()
    record = copied_record(request, programme, status.folder)  # what is gone from the counts was drawn
    waits = None if status.ended else status.waiting
    public = RoundPage(
        round=status.open_round,
        due=due_in_words(status.parameters.calendar, status.open_round),
        overdue=status.overdue,
        ended=status.ended,
        targets=len(status.targets),
        may_close=may(person, "close"),
        may_decide=may(person, "decide"),
        may_report=may(person, "report"),
        waiting=None if waits is None else record.waiting,
        value_is_out=waits is not None and console_of(request).clock() >= waits.expected,
        not_public=_not_public(programme, status) if may(person, "close") else (),
    )
    if status.ended or not may(person, "counts"):
        return render(request, "round.html", public)
    counts = counting(programme.active_counts)
    if fields is not None and text(fields, "find"):
        found = search(request, status.targets, fields)
        shown = bars_of(found.names, counts)
    else:
        start = start if start < len(counts) else 0
        found = Found.place("", start, MOST_BARS, len(counts))
        shown = bars(counts, start)
    parameters = status.parameters
    has_classes = len(parameters.classes) > 1
    if has_classes:
        shown = _with_classes(programme, shown)
    page = CountedRoundPage(
        **vars(public),
        counts=shown,
        found=found,
        has_classes=has_classes,
        most_counted=parameters.most_counted,
        visit_waits=bool(parameters.visit_classes and programme.waiting_visits()),
    )
    return render(request, "round_counts.html", page)


def _with_classes(programme: Programme, shown: tuple[Bar, ...]) -> tuple[Bar, ...]:
    names = [one.name for one in programme.parameters.classes]
    numbers = programme.reports_by_class([bar.name for bar in shown])
    return tuple(
        replace(bar, by_class=tuple((name, number) for name, number in zip(names, own, strict=True) if number))
        for bar, own in zip(shown, numbers, strict=True)
    )


@router.get("/round/close")
def ask(request: Request, _: Annotated[Person, require("close")], programme: CurrentProgramme) -> Response:
    status = programme.status()
    if not status.overdue or status.waiting is not None:
        return redirect("/round")
    return render(request, "close.html", asked(request, status))


@router.post("/round/close")
def close(
    request: Request, person: Annotated[Person, require("close")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """Sent twice, by two people or by reloading, it shows what was drawn the first time."""
    console, reason, wanted = console_of(request), text(fields, "reason"), 0
    try:
        wanted = round_in(fields)
        closed = programme.close_round(wanted, reason or None)
    except DeniableError as error:
        if isinstance(error, NotKeptError):
            console.record(person, f"closed round {wanted}")
        page = asked(request, programme.status(), reason, refusal(error))
        if 0 < wanted < page.round:
            page = replace(page, round=wanted, is_drawn=True)
        return render(request, "close.html", page, 422)
    if not closed.already:
        console.record(person, f"closed round {closed.round}")
    return shown(request, programme, closed)


def round_in(fields: FormData) -> int:
    """The round that a form speaks of."""
    wanted = text(fields, "round")
    if not (wanted.isascii() and wanted.isdigit() and len(wanted) <= 9):
        raise DeniableError("The round must be a whole number.")
    return int(wanted)


def asked(request: Request, status: Status, reason: str = "", error: str | None = None) -> ClosePage:
    """The form that closes the open round."""
    parameters = status.parameters
    late = parameters.calendar.days_late(status.open_round, console_of(request).clock())
    value = "" if parameters.randomness is None else value_in_words(parameters.randomness)
    return ClosePage(status.open_round, False, parameters.audits, value, late, reason, error)


def _not_public(programme: Programme, status: Status) -> tuple[NotPublic, ...]:
    if status.ended or not status.parameters.reveal_after:
        return ()
    draws = programme.not_public_yet()
    return tuple(_until(draw, draw.secret_until, status) for draw in draws if draw.secret_until is not None)


def _until(draw: Closed, until: int, status: Status) -> NotPublic:
    return NotPublic(draw.round, draw.audits, until, due_in_words(status.parameters.calendar, until))


def shown(request: Request, programme: Programme, closed: Closed) -> Response:
    """What was drawn, or that the round is frozen."""
    status = programme.status()
    record = console_of(request).public_records.current(programme.parameters)
    page = ClosedPage(
        round=closed.round,
        audits=closed.audits,
        already=closed.already,
        next_round=status.open_round,
        next_due=due_in_words(status.parameters.calendar, status.open_round),
        overdue=status.overdue,
        secret=None if closed.secret_until is None else _until(closed, closed.secret_until, status),
        waiting=None if closed.waiting is None else record.waiting,
        has_values=status.parameters.randomness is not None,
    )
    return render(request, "closed.html", page)
