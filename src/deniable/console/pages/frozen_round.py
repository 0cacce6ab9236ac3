"""The frozen round: its public value is fetched, brought as a file or entered by two people, and then it is drawn.

Nothing here depends on reports. No person sees the numbers that another entered before the round is drawn.
"""

from dataclasses import dataclass, replace
from typing import Annotated
from zoneinfo import ZoneInfo

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.console import Console
from deniable.console.pages.brought_values import entered_numbers, fetched_value, value_in_file
from deniable.console.pages.closed_round import shown
from deniable.console.pages.common import (
    CurrentProgramme,
    copied_record,
    done_message,
    names_by_id,
    number_in,
    redirect,
    refusal,
)
from deniable.console.pages.field_errors import field_of
from deniable.console.pages.open_round import asked, round_in
from deniable.console.pages.published import check_undamaged
from deniable.console.pending_draws import AskedWithout
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, require, text, uploaded
from deniable.console.voices import sentence, voice_of
from deniable.errors import DeniableError
from deniable.message import Message, all_of, noted, why_not
from deniable.programme.programme import Programme
from deniable.programme.public.frozen_rounds import FrozenRound
from deniable.programme.randomness.mirrors import MIRRORS
from deniable.programme.randomness.source import Dice, Drand
from deniable.programme.transcript.fields import one_line
from deniable.programme.transcript.frozen import WITHOUT_VALUE, PublicValue, check_may_draw
from deniable.programme.transcript.waiting import Waiting, read_instant
from deniable.programme.transcript_copies import NotKeptError

router = Router()

DONE = {
    "asked": noted("Your request is noted. Another person must confirm it now."),
    "withdrawn": noted("The request is withdrawn. Nothing was drawn."),
    "refused": noted("The request is refused. Nothing was drawn. Tell the person who asked why."),
}
OWN = noted("You asked for this yourself, so another person must confirm it.")
GONE = noted(
    "This request is no longer there: it was withdrawn or refused, or the console was started again. Ask for it again."
)


@dataclass(frozen=True)
class FrozenPage:
    """The same whatever was reported. An operator sees this page."""

    waiting: FrozenRound
    source: str
    """`drand`, `dice` or `lottery`."""
    is_published: bool
    """Whether the public can see that the round is frozen."""
    is_drands_own: bool
    """Whether the beacons are those of the network that everyone knows."""
    is_out: bool
    """Whether drand's beacon is out by now."""
    address: str
    """Where a person finds the beacon by hand; empty with dice, and for a chain of which the office named no mirror."""
    throws: str
    """What is thrown, in words; empty with drand."""
    differ: bool
    """Whether two people entered different numbers."""
    times_differ: bool
    """Whether two people entered the same numbers and different times."""
    has_entered: bool
    """Whether the person who sees the page did."""
    entered_by: tuple[str, ...]
    """Who else did, by name."""
    numbers: str
    """What the person who sees the page typed."""
    wrong_numbers: str
    """What is wrong with them; empty where nothing is."""
    place: str
    """Of the throw, as announced; empty with drand."""
    time: str
    zone: str
    may_without: bool
    """Whether it may be drawn without its value by now."""
    asked_by: str | None
    """Who asked for that; None where no person did."""
    asked_by_self: bool
    asked_reason: str
    reason: str
    others: tuple[str, ...]
    """Who else may confirm, by name."""
    next_step: int
    """1 to publish, 2 to draw with the value, 3 to draw without it."""
    done: Message | None
    error: Message | None


@dataclass(frozen=True)
class _Sent:
    """A form, and who sent it."""

    request: Request
    person: Person
    programme: Programme
    fields: FormData

    @property
    def console(self) -> Console:
        return console_of(self.request)

    @property
    def waiting(self) -> Waiting:
        """The frozen round of which the form speaks."""
        waiting = self.programme.status().waiting
        if waiting is None or waiting.round != round_in(self.fields):
            raise DeniableError("this round is not frozen; close it when it is due")
        return waiting


@router.get("/round/draw")
def frozen_page(request: Request, person: Annotated[Person, require("close")], programme: CurrentProgramme) -> Response:
    return _page(_Sent(request, person, programme, FormData()))


@router.post("/round/draw/fetch")
def fetch_value(
    request: Request, person: Annotated[Person, require("close")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """Sent twice, or after `programme run` has drawn the round, it shows what was drawn the first time."""
    sent = _Sent(request, person, programme, fields)
    try:
        value = fetched_value(sent.waiting, programme, sent.console)
    except DeniableError as error:
        return _refused(sent, error)
    return _drawn(sent, value, DREW)


@router.post("/round/draw/file")
def bring_value(
    request: Request, person: Annotated[Person, require("close")], programme: CurrentProgramme, fields: Fields
) -> Response:
    sent = _Sent(request, person, programme, fields)
    try:
        value = value_in_file(sent.waiting, programme, uploaded(fields, "file"))
    except DeniableError as error:
        return _refused(sent, error)
    return _drawn(sent, value, DREW)


@router.post("/round/draw/numbers")
def enter_numbers(
    request: Request, person: Annotated[Person, require("close")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """The round is drawn when a second person has entered the same numbers and the same time as the first."""
    sent = _Sent(request, person, programme, fields)
    console = sent.console
    try:
        check_undamaged(console, programme)
        waiting, own = sent.waiting, entered_numbers(programme, person, fields)
        value = PublicValue(own.numbers, own.time)
        check_may_draw(programme.parameters, waiting, value, console.clock())
    except DeniableError as error:
        return _refused(sent, error)
    names = names_by_id(console, "close")
    others = {names[one.person]: one for one in console.pending_draws.enter(waiting.entry, own) if one.person in names}
    agreeing = [name for name, other in others.items() if other.numbers == own.numbers]
    for name in agreeing:
        if others[name].time == own.time:
            return _drawn(sent, value, DREW_TOGETHER, name)
    if not others:
        console.record(person, noted("entered the numbers thrown for round {round}", round=waiting.round))
    elif agreeing:
        another_time = noted("entered another time of the throwing for round {round} than {others}")
        console.record(person, another_time.filled(round=waiting.round, others=all_of(agreeing)))
    else:
        differ = noted("entered other numbers for round {round} than {others}")
        console.record(person, differ.filled(round=waiting.round, others=all_of(others)))
    return redirect("/round/draw")


@router.post("/round/draw/without")
def ask_without(
    request: Request, person: Annotated[Person, require("close")], programme: CurrentProgramme, fields: Fields
) -> Response:
    sent = _Sent(request, person, programme, fields)
    try:
        waiting = sent.waiting
        _ask_without(sent, waiting)
    except DeniableError as error:
        return _refused(sent, error)
    sent.console.record(person, noted("asked to draw round {round} without its public value", round=waiting.round))
    return redirect("/round/draw", "asked")


@router.post("/round/draw/confirm")
def confirm_without(
    request: Request, person: Annotated[Person, require("close")], programme: CurrentProgramme, fields: Fields
) -> Response:
    sent = _Sent(request, person, programme, fields)
    try:
        by, before = _asked(sent.console, sent.waiting)
    except DeniableError as error:
        return _refused(sent, error)
    if before.person == person.id:
        return _page(sent, OWN)
    return _drawn(sent, WITHOUT_VALUE, DREW_WITHOUT, by, before.reason)


@router.post("/round/draw/withdraw")
def withdraw_request(
    request: Request, person: Annotated[Person, require("close")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """By either of the two: the value may have come."""
    sent = _Sent(request, person, programme, fields)
    try:
        waiting = sent.waiting
        by, before = _asked(sent.console, waiting)
    except DeniableError as error:
        return _refused(sent, error)
    sent.console.pending_draws.withdraw(waiting.entry)
    is_own = before.person == person.id
    withdrew = noted("withdrew their own request to draw round {round} without its public value")
    refused = noted("refused the request of {by} to draw round {round} without its public value")
    sent.console.record(person, (withdrew if is_own else refused).filled(by=by, round=waiting.round))
    return redirect("/round/draw", "withdrawn" if is_own else "refused")


DREW = (
    noted("drew round {round} with its public value"),
    noted("drew round {round} with its public value (entry {entry})"),
)
"""In the activity log, as those that follow: without its entry where that is not kept elsewhere yet, and with it."""
DREW_TOGETHER = (
    noted("drew round {round} with its public value, which {by} had entered too"),
    noted("drew round {round} with its public value, which {by} had entered too (entry {entry})"),
)
DREW_WITHOUT = (
    noted("drew round {round} without its public value, as {by} had asked"),
    noted("drew round {round} without its public value, as {by} had asked (entry {entry})"),
)


def _drawn(
    sent: _Sent, value: PublicValue, drew: tuple[Message, Message], by: str = "", reason: str | None = None
) -> Response:
    """Draw the round, and show whom it selected; one that was drawn in the meantime is not drawn again."""
    wanted = round_in(sent.fields)
    try:
        check_undamaged(sent.console, sent.programme)
        closed = sent.programme.draw_round(value, reason, wanted)
    except NotKeptError as error:
        sent.console.record(sent.person, drew[0].filled(round=wanted, by=by))
        page = asked(sent.request, sent.person, sent.programme, error=refusal(error))
        return render(sent.request, "close.html", replace(page, round=wanted, is_drawn=True), 422)
    except DeniableError as error:
        return _refused(sent, error)
    if not closed.already:
        sent.console.record(sent.person, drew[1].filled(round=wanted, by=by, entry=closed.entry))
    return shown(sent.request, sent.programme, closed)


def _refused(sent: _Sent, error: DeniableError) -> Response:
    """What was drawn, where the round is drawn by now; otherwise the page with what is wrong."""
    status, wanted = sent.programme.status(), number_in(text(sent.fields, "round")) or 0
    if 0 < wanted < status.open_round and (status.waiting is None or status.waiting.round != wanted):
        return shown(sent.request, sent.programme, sent.programme.closed_round(wanted))
    return _page(sent, refusal(error), field_of(error))


def _ask_without(sent: _Sent, waiting: Waiting) -> None:
    """Note the request; a person who may not close rounds any more has asked for nothing."""
    pending = sent.console.pending_draws
    check_may_draw(sent.programme.parameters, waiting, WITHOUT_VALUE, sent.console.clock())
    wanted = AskedWithout(sent.person.id, one_line(why_not("the reason"), text(sent.fields, "reason")))
    before = pending.asked_without(waiting.entry)
    if before is not None and before.person not in names_by_id(sent.console, "close"):
        pending.withdraw(waiting.entry)
    if not pending.ask_without(waiting.entry, wanted):
        raise DeniableError("this was asked for before; another person must confirm it")


def _asked(console: Console, waiting: Waiting) -> tuple[str, AskedWithout]:
    """Who asked to draw without the value, if they may still do so, and what they asked."""
    before, names = console.pending_draws.asked_without(waiting.entry), names_by_id(console, "close")
    if before is None or before.person not in names:
        raise DeniableError(GONE)
    return names[before.person], before


def _address(source: Drand | Dice, waiting: Waiting, console: Console) -> str:
    """Of the beacon, for a person: drand's mirrors have all of its own, whichever this console asks, and no others."""
    if isinstance(source, Dice):
        return ""
    places = (mirror.rstrip("/") for mirror in (MIRRORS if source.is_known else console.mirrors))
    found = next((place for place in places if source.is_known or place not in MIRRORS), None)
    return "" if found is None else f"{found}/{source.chain.hash}/public/{waiting.beacon}"


def _lines(source: Drand | Dice, numbers: str) -> list[str]:
    """In lines that can be compared with a record."""
    return source.throws.grouped(numbers) if isinstance(source, Dice) else []


def _next_step(sent: _Sent, source: Drand | Dice, before: AskedWithout | None, error: Message | None) -> int:
    """Once it is published. The second person tries to fetch a beacon before they confirm that it is drawn without."""
    if before is None:
        return 2
    return 2 if isinstance(source, Drand) and before.person != sent.person.id and error is None else 3


def _page(sent: _Sent, error: Message | None = None, field: str = "") -> Response:
    """With what was typed, and otherwise with what is known."""
    console, status, fields, person = sent.console, sent.programme.status(), sent.fields, sent.person
    record = copied_record(sent.request, sent.programme, status.folder)
    say, waiting, source = voice_of(sent.request), status.waiting, status.parameters.randomness
    frozen = record.waiting
    if status.ended or waiting is None or frozen is None or source is None:
        return redirect("/round")
    names = names_by_id(console, "close")
    entered = [one for one in console.pending_draws.entered(waiting.entry) if one.person in names]
    own = next((one for one in entered if one.person == person.id), None)
    at = read_instant((own or entered[-1]).time) if entered else waiting.expected
    zone = status.parameters.calendar.zone
    before = console.pending_draws.asked_without(waiting.entry)
    differ = len({one.numbers for one in entered}) > 1
    may_without = console.clock() >= waiting.without_from(source.days)
    asks = before if may_without and before is not None and before.person in names else None
    is_published = status.published >= waiting.entry
    times_differ = not differ and len({one.time for one in entered}) > 1
    page = FrozenPage(
        waiting=frozen,
        source="lottery" if isinstance(source, Dice) and source.throws.numbers > 1 else source.name,
        is_published=is_published,
        is_drands_own=isinstance(source, Drand) and source.is_known,
        is_out=console.clock() >= waiting.expected,
        address=_address(source, waiting, console),
        throws=source.throws.in_words(say) if isinstance(source, Dice) else "",
        differ=differ,
        times_differ=times_differ,
        has_entered=own is not None,
        entered_by=tuple(names[one.person] for one in entered if one.person != person.id),
        numbers=text(fields, "numbers")
        or ("\n".join(_lines(source, own.numbers)) if own and (differ or times_differ) else ""),
        wrong_numbers=sentence(say(error)) if error and field == "numbers" else "",
        place=source.place if isinstance(source, Dice) else "",
        time=text(fields, "time") or f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%dT%H:%M}",
        zone=zone,
        may_without=may_without,
        asked_by=None if before is None else names.get(before.person),
        asked_by_self=before is not None and before.person == person.id,
        asked_reason="" if before is None else before.reason,
        reason=text(fields, "reason"),
        others=tuple(name for id_, name in names.items() if id_ != person.id),
        next_step=_next_step(sent, source, asks, error) if is_published else 1,
        done=done_message(sent.request, DONE) if error is None else None,
        error=error,
    )
    return render(sent.request, "frozen.html", page, 422 if error else 200)
