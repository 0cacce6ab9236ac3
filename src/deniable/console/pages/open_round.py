"""The open round: what to do now, and closing it."""

from dataclasses import dataclass, replace
from typing import Annotated

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.console import Console
from deniable.console.pages.closed_round import NotPublic, not_public, shown
from deniable.console.pages.common import (
    CurrentProgramme,
    copied_record,
    counting,
    is_loss_hidden,
    names_by_id,
    number_in,
    others,
    redirect,
    refusal,
    revealed_by_closing,
)
from deniable.console.pages.emergencies import asked_visits
from deniable.console.pages.notices import Notices, notices_of
from deniable.console.pages.pending_decisions import waiting_decisions
from deniable.console.pages.published import check_undamaged, damage_of, is_stopped
from deniable.console.pending_visits import PendingVisit
from deniable.console.public_record import Record, SelectedBy, Unrecorded
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, may, require, text
from deniable.console.voices import voice_of
from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.message import Message, noted
from deniable.programme.calendar import Day, day_in_words, due_in_words, office_time_in_words
from deniable.programme.programme import Programme
from deniable.programme.public.frozen_rounds import FrozenRound, awaited_in_words
from deniable.programme.randomness.source import Dice, Source, is_foreseeable, value_in_words
from deniable.programme.status import Status
from deniable.programme.transcript.closings import Closing
from deniable.programme.transcript.waiting import Waiting
from deniable.programme.transcript_copies import NotKeptError

router = Router()

SAY_WHY = noted("Say why the round is closed late. Nothing is closed yet.")
MOST_TO_VISIT = 5
"""Selected targets on the page; the work list has all."""


@dataclass(frozen=True)
class ToVisit:
    """A selected target whose visit is not recorded yet. Public."""

    target: str
    round: int
    first_round: int
    """It was selected then already, and not visited since, as far as is recorded."""
    due: Day
    is_emergency: bool
    selected_by: SelectedBy
    """In this round; an emergency of an earlier one may wait as well."""


@dataclass(frozen=True)
class LastDraw:
    """Public."""

    round: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class RoundPage:
    """What to do now. The same whatever was reported. An operator sees this page."""

    round: int
    due: Day
    has_open_round: bool
    """Not after the last round, or the end of the programme."""
    overdue: int
    """Rounds that are due and not closed."""
    is_late: bool
    """Whether the first of them is so late that closing it needs a reason."""
    ended: bool
    notices: Notices
    is_stopped: bool
    """Whether the programme cannot go on with its database: a copy of the record is newer, or differs."""
    targets: int
    may_report: bool
    has_values: bool
    """Whether the programme draws with public values."""
    waiting: FrozenRound | None
    """The round that is frozen and not drawn yet."""
    value_is_out: bool
    """Whether its public value is there for who looks, or people can throw the numbers."""
    publish_first: bool
    """Whether that it is frozen must be published now, before its value is out."""
    entered_by: tuple[str, ...]
    """Who else entered the numbers, where the person who sees the page did not, by name."""
    not_public: tuple[NotPublic, ...]
    """For those who may close a round, and have seen the names."""
    drawn_last: LastDraw | None
    """None where nothing was drawn yet, or the names of a draw become public later than the draw."""
    to_visit: tuple[ToVisit, ...]
    """Emergencies, then the oldest; not all of them."""
    n_to_visit: int
    visits: tuple[str, ...]
    """Who asked for visits in an emergency that the person who sees the page can confirm, by name."""
    visit_first: bool
    """Whether a visit in an emergency, as far as the person may know of it, comes before the round that is due."""
    has_own_visit: bool
    """Whether they asked for one that another person must confirm."""
    decisions: tuple[str, ...]
    """Who else asked for a decision and waits for a second person, by name."""
    has_own_decision: bool
    refused_by: str | None
    """Who refused the last decision that this person asked for."""
    unpublished: int
    """Entries that the public does not see yet."""
    is_published: bool
    """Whether anything was published, the rules at least."""
    is_loss_hidden: bool
    """Whether the published page still promises what a decision took."""


@dataclass(frozen=True)
class AuditorRoundPage(RoundPage):
    """The same with a button that shows counts. It depends on no report that the guarantee covers."""

    visit_waits: bool
    """Whether a report leads to a visit for which no request waits."""
    visit_refused_by: tuple[str, ...]
    """Who refused a request for one of them, which the person who sees the page made, by name."""


@dataclass(frozen=True)
class ClosePage:
    round: int
    is_drawn: bool
    """Whether the round is closed already, and what was drawn cannot be shown yet."""
    audits: int
    public_value: str
    """With which it is drawn after it is frozen; empty where it is drawn at once."""
    is_foreseeable: bool
    """Whether one person may know that value in advance."""
    value_at: Day | None
    """When that is out, where it is not as long after the due time as the rules say."""
    revealed: tuple[tuple[int, tuple[str, ...]], ...]
    """What closing the round makes public: rounds, and whom they selected. Confidential until then."""
    has_visits: bool
    """Whether reports of a class lead to a visit at once."""
    visits: tuple[str, ...]
    """Targets of visits that wait: all, for those who see counts; for others, those that were asked for."""
    decisions: tuple[str, ...]
    """Who asked for a decision and waits for a second person, by name."""
    late: int
    """In days; a reason is asked for where it is not 0."""
    effect: str
    """What the public reads of that; empty where it is not late."""
    reason: str
    wrong: Message | None
    """What is wrong with the reason."""
    error: Message | None


@router.get("/round")
def round_page(request: Request, person: Annotated[Person, require("round")], programme: CurrentProgramme) -> Response:
    status = programme.status()
    record = copied_record(request, programme, status.folder)
    console, say, waits = console_of(request), voice_of(request), None if status.ended else status.waiting
    unrecorded = Unrecorded(record)
    to_visit = unrecorded.emergencies_first(programme.work_list())
    decisions, visits = waiting_decisions(console), asked_visits(console)
    own_visits = [name for visit, name in visits if visit.person == person.id]
    is_alone = bool(own_visits) and not others(console, person).here
    to_confirm = tuple(dict.fromkeys(name for visit, name in visits if is_alone or visit.person != person.id))
    sees_counts = may(person, "counts") and not status.ended
    not_asked = _not_asked(programme, visits) if sees_counts else set()
    notices = notices_of(console, programme, status, say)
    page = RoundPage(
        round=status.open_round,
        due=due_in_words(status.parameters.calendar, status.open_round, say),
        has_open_round=status.has_open_round,
        overdue=status.overdue,
        is_late=status.late > 0,
        ended=status.ended,
        notices=notices,
        is_stopped=not status.ended and is_stopped(programme, notices.damage),
        targets=len(status.targets),
        may_report=may(person, "report"),
        has_values=status.parameters.randomness is not None,
        waiting=None if waits is None else record.waiting,
        publish_first=waits is not None
        and status.folder is not None
        and not notices.damage
        and status.published < waits.entry
        and console.clock() < waits.expected,
        entered_by=() if waits is None else _entered_by(console, person, waits),
        value_is_out=waits is not None and console.clock() >= waits.expected,
        not_public=_not_public(programme, status, say) if may(person, "close") else (),
        drawn_last=None if status.parameters.reveal_after else _drawn_last(record),
        to_visit=tuple(
            ToVisit(
                target=one.target,
                round=one.round,
                first_round=unrecorded.first_round(one),
                due=day_in_words(one.day, say),
                is_emergency=unrecorded.is_emergency(one),
                selected_by=unrecorded.selected_by(one),
            )
            for one in to_visit[:MOST_TO_VISIT]
        ),
        n_to_visit=len(to_visit),
        visits=to_confirm,
        visit_first=bool(status.overdue or waits) and (bool(visits) or bool(not_asked)),
        has_own_visit=bool(own_visits) and not is_alone,
        decisions=tuple(name for pending, name in decisions if pending.person != person.id),
        has_own_decision=any(pending.person == person.id for pending, _ in decisions),
        refused_by=console.pending_decisions.refused_by(person.id),
        unpublished=max(0, status.entries - status.published),
        is_published=status.folder is not None,
        is_loss_hidden=is_loss_hidden(status),
    )
    if not sees_counts:
        return render(request, "round.html", page)
    refused = console.pending_visits.refused(person.id)
    refused_by = tuple(sorted({by for key, by in refused.items() if key in not_asked}))
    for_auditor = AuditorRoundPage(**vars(page), visit_waits=bool(not_asked), visit_refused_by=refused_by)
    return render(request, "round_auditor.html", for_auditor)


def _not_asked(programme: Programme, visits: list[tuple[PendingVisit, str]]) -> set[tuple[str, str]]:
    """The targets and classes of visits to which a report leads, and for which no request waits. Confidential."""
    known = {(visit.target, visit.report_class) for visit, _ in visits}
    return set(counting(programme.waiting_visits)) - known if programme.parameters.visit_classes else set()


def _entered_by(console: Console, person: Person, waits: Waiting) -> tuple[str, ...]:
    """Who entered the numbers for the frozen round and waits for this person to do so, by name."""
    entered = [one.person for one in console.pending_draws.entered(waits.entry)]
    if not entered or person.id in entered:
        return ()
    return tuple(name for id_, name in names_by_id(console, "close").items() if id_ in entered)


def _drawn_last(record: Record) -> LastDraw | None:
    draws = (event for event in record.events if event.due is not None and event.audited)
    return next((LastDraw(draw.round, tuple(one.name for one in draw.audited)) for draw in draws), None)


@router.get("/round/close")
def ask(request: Request, person: Annotated[Person, require("close")], programme: CurrentProgramme) -> Response:
    status = programme.status()
    damage = damage_of(console_of(request), programme)
    if not status.overdue or status.waiting is not None or damage or is_stopped(programme, damage):
        return redirect("/round")
    return render(request, "close.html", asked(request, person, programme))


@router.post("/round/close")
def close(
    request: Request, person: Annotated[Person, require("close")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """Sent twice, by two people or by reloading, it shows what was drawn the first time."""
    console, reason, wanted = console_of(request), text(fields, "reason"), 0
    try:
        wanted = round_in(fields)
        if wanted == programme.status().open_round:
            check_undamaged(console, programme)
        if not reason and programme.status().is_closed_late(wanted):
            return render(request, "close.html", replace(asked(request, person, programme), wrong=SAY_WHY), 422)
        closed = programme.close_round(wanted, reason or None)
    except DeniableError as error:
        if isinstance(error, NotKeptError):
            console.record(person, noted("closed round {round}", round=wanted))
        page = asked(request, person, programme, reason, refusal(error))
        if 0 < wanted < page.round:
            page = replace(page, round=wanted, is_drawn=True)
        return render(request, "close.html", page, 422)
    if not closed.already:
        with_visits = noted(
            "closed round {round} (entry {entry}), which recorded a visit in an emergency with no second person"
        )
        plain = noted("closed round {round} (entry {entry})")
        done = with_visits if closed.visits else plain
        console.record(person, done.filled(round=closed.round, entry=closed.entry))
    return shown(request, programme, closed, is_closed_now=not closed.already)


def round_in(fields: FormData) -> int:
    """The round that a form speaks of."""
    wanted = number_in(text(fields, "round"))
    if wanted is None:
        raise DeniableError("The round must be a whole number.")
    return wanted


def asked(
    request: Request, person: Person, programme: Programme, reason: str = "", error: Message | None = None
) -> ClosePage:
    """The form that closes the open round."""
    console, status = console_of(request), programme.status()
    parameters, late, say = status.parameters, status.late, voice_of(request)
    source = parameters.randomness
    value_at = None if source is None or not late else source.value_at(status.due, console.clock())
    return ClosePage(
        round=status.open_round,
        is_drawn=False,
        audits=parameters.audits,
        public_value="" if source is None else _value(source, say, is_late=late > 0),
        is_foreseeable=is_foreseeable(source),
        value_at=None if value_at is None else office_time_in_words(parameters.calendar, value_at, say),
        revealed=() if error or status.ended else revealed_by_closing(programme, status),
        has_visits=bool(parameters.visit_classes),
        visits=() if error else _visits_that_wait(console, person, programme),
        decisions=tuple(name for _, name in waiting_decisions(console)),
        late=late,
        effect=Closing.late_effect(late, say) if late else "",
        reason=reason,
        wrong=None,
        error=error,
    )


def _value(source: Source, say: Voice, *, is_late: bool) -> str:
    """With which the round is drawn, as the rules say; where it is late, without their minutes."""
    if not is_late:
        return value_in_words(source, say)
    return awaited_in_words(source, None, say) if isinstance(source, Dice) else say("a beacon that is not out yet")


def _visits_that_wait(console: Console, person: Person, programme: Programme) -> tuple[str, ...]:
    """A visit that was not asked for yet is known to those alone who see counts."""
    asked_for = {visit.target for visit, _ in asked_visits(console)}
    if programme.parameters.visit_classes and may(person, "counts"):
        asked_for |= {target for target, _ in counting(programme.waiting_visits)}
    return tuple(sorted(asked_for))


def _not_public(programme: Programme, status: Status, say: Voice) -> tuple[NotPublic, ...]:
    if status.ended or not status.parameters.reveal_after:
        return ()
    draws = programme.not_public_yet()
    return tuple(not_public(draw, draw.secret_until, status, say) for draw in draws if draw.secret_until is not None)
