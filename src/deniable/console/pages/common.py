"""What several pages share: the programme, its public record, and where to go next.

How a page is declared, and what it is given, stands in `console/routing.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from deniable.console.accounts import activity, people
from deniable.console.accounts.people import Person
from deniable.console.console import Console
from deniable.console.public_record import Record
from deniable.console.remembered import Paced, takes_long
from deniable.console.security import ALLOWED, Given, NotSetUp, Permission, Refused, console_of, text
from deniable.console.target_search import Found
from deniable.console.voices import voice_of
from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.message import Message, noted
from deniable.programme.calendar import Day, day_in_words, due_in_words
from deniable.programme.names import LONGEST_NAME
from deniable.programme.programme import Programme
from deniable.programme.secrets.lock import KeyChangedError
from deniable.programme.status import Status
from deniable.programme.transcript.decision import Decision
from deniable.programme.transcript_copies import NotKeptError, is_kept
from deniable.storage.store import StoreError

counting = Paced()
"""What reads the counts of all targets."""

GIVEN_UP = {
    "withdrawn": noted("The request is withdrawn. Nothing was recorded."),
    "refused": noted("The request is refused. Nothing was recorded. Tell the person who asked why."),
}
"""What is said of a request that leads to nothing, whatever was asked for."""
LOOKED = noted("looked at the counts")
"""In the activity log."""


def _current_programme(request: Request) -> Programme:
    programme = console_of(request).programme()
    if programme is None:
        raise NotSetUp(404, noted("There is no programme yet. An auditor of your office plans and begins it."))
    return programme


CurrentProgramme = Annotated[Programme, Given(_current_programme)]
"""The programme; refused before one was planned. Named after the person in a page's signature, so that only who may see
the page learns this.
"""


def auditors_of(request: Request) -> tuple[str, ...]:
    """Who may see counts, by name."""
    console = console_of(request)
    with console.store.reading() as connection:
        return tuple(people.auditors(connection, console.key))


def shown_record(request: Request, programme: Programme, folder: Path | None) -> Record:
    """The public transcript; refused where it must not be shown yet: it is not what the office signed, or no copy
    outside the database has all of it and none can be made. `folder` is where it is published.
    """
    console = console_of(request)
    record = console.public_records.current(programme.parameters, voice_of(request))
    if not has_copy(console, record, folder):
        takes_long()
        programme.keep_copy()
    return record


def has_copy(console: Console, record: Record, folder: Path | None) -> bool:
    """Whether a copy outside the database has all of the record, so that people may see it."""
    return is_kept(record.head, folder, [] if console.copy is None else [console.copy])


def copied_record(request: Request, programme: Programme, folder: Path | None) -> Record:
    """The same, for pages that cannot do without it."""
    try:
        return shown_record(request, programme, folder)
    except DeniableError as error:
        raise Refused(503, refusal(error)) from None


@dataclass(frozen=True)
class Foreseen:
    """What the record will show of a visit: the words of the entry itself."""

    report_class: str
    round: int
    heading: str
    deed: str
    effect: str


def foreseen(programme: Programme, target: str | None, report_class: str, say: Voice) -> Foreseen:
    """Without a name, where none is chosen yet."""
    entry = programme.foresight.visit(target or programme.parameters.terms.target, report_class)
    deed = (
        entry.deed(say)
        if target
        else say("visit to the {target} because of a report of class {report_class}", report_class=report_class)
    )
    effect = entry.effect(programme.parameters.calendar, say)
    return Foreseen(report_class, entry.round, entry.heading(say), deed, effect)


def recorded(make: Callable[[], int]) -> int:
    """The number of the entry that this makes and returns; also where it cannot be shown yet, since it stands, and the
    transcript's page says why.
    """
    try:
        return make()
    except NotKeptError as error:
        return error.entry


@dataclass(frozen=True)
class Consequences:
    """What a decision does, for people to read before it is recorded. Public facts and what the office typed."""

    kind: str
    round: int
    """In which it is made."""
    next_due: Day
    """When the round after that is due."""
    is_next_overdue: bool
    is_last: bool
    """Whether it is made in the last round of the programme."""
    revealed: tuple[tuple[int, tuple[str, ...]], ...]
    """What closing the round makes public: rounds, and whom they selected. Confidential until then."""
    heading: str
    """The words of the entry itself, as those that follow."""
    deed: str
    effect: str
    audits: tuple[str, ...]
    joined: tuple[str, ...]
    left: tuple[str, ...]
    renamed: tuple[str, str] | None
    """The old name and the new one."""
    not_carried_out: tuple[int, str] | None
    """The round and the target."""
    reason: str
    independent: bool
    during: int
    """The round of the calendar now."""
    lapses_from: Day | None
    """The first day on which reports were filed that lose the promise; None where they all lost it before."""
    holds_from: Day
    """From when on reports are filed that keep it."""
    lost_until: Day | None
    """Until when the promise is lost already."""
    n_targets: int

    @property
    def rounds(self) -> str:
        """The open round and the calendar's, as a form sends them back: what a person confirms is for these."""
        return f"{self.round}-{self.during}"


def consequences_of(programme: Programme, entry: Decision, say: Voice) -> Consequences:
    """Of this decision, made now."""
    status = programme.status()
    calendar, first = status.parameters.calendar, status.coverage.holds_from
    outcome, (heading, deed) = entry.outcome, _words(entry, say)
    return Consequences(
        kind=entry.kind,
        round=entry.round,
        next_due=due_in_words(calendar, entry.round + 1, say),
        is_next_overdue=status.overdue > 1,
        is_last=entry.round == status.parameters.horizon,
        revealed=revealed_by_closing(programme, status) if entry.kind == "skip" else (),
        heading=heading,
        deed=deed,
        effect=entry.effect(calendar, say),
        audits=entry.audited,
        joined=entry.joined,
        left=entry.left,
        renamed=entry.new_name,
        not_carried_out=None if outcome is None else (outcome.round, outcome.target),
        reason=entry.reason,
        independent=entry.independent,
        during=entry.during,
        lapses_from=None if entry.during < first else day_in_words(calendar.first_day(first), say),
        holds_from=due_in_words(calendar, entry.during, say),
        lost_until=due_in_words(calendar, first - 1, say) if entry.during < first else None,
        n_targets=len(status.targets),
    )


def revealed_by_closing(programme: Programme, status: Status) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """The earlier rounds whose names become public when the open round is closed, and the names. Confidential."""
    if not status.parameters.reveal_after:
        return ()
    hidden = programme.not_public_yet()
    return tuple((one.round, one.audits) for one in hidden if (one.secret_until or 0) <= status.open_round)


def names_to_publish(record: Record, status: Status) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Rounds whose names stand in the record and not in the public folder, with those whose visit is not recorded."""
    late = {one.of for one in record.revealed if one.number > status.published}
    return tuple(
        (event.round, names)
        for event in record.events
        if event.due is not None and event.round in late
        if (names := tuple(one.name for one in event.audited if one.carried_out and one.visited is None))
    )


def _words(entry: Decision, say: Voice) -> tuple[str, str]:
    """The heading and the deed, without what one of them says already."""
    if entry.kind == "skip":
        return entry.heading(say), ""
    if entry.kind == "override":
        return entry.heading(say), say.all_of(entry.audited)
    return entry.heading(say) if entry.kind == "targets" else "", entry.deed(say)


def lost_before(status: Status, say: Voice) -> Day | None:
    """Reports filed before that are not covered, for good; None where all are."""
    last = status.coverage.holds_from - 1
    return due_in_words(status.parameters.calendar, last, say) if last else None


def is_loss_hidden(status: Status) -> bool:
    """Whether the published page still promises what a decision took."""
    told = max((lapse.round for lapse in status.coverage.lapses if lapse.entry <= status.published), default=0)
    return status.folder is not None and status.coverage.holds_from - 1 > told


def search(request: Request, targets: tuple[str, ...], fields: FormData, name: str = "find") -> Found:
    """The page of targets that a form asks for: `start` says where it begins. The address holds no name."""
    console, query = console_of(request), text(fields, name)[:LONGEST_NAME]
    programme = console.programme()
    by_number = query if programme is None else programme.naming()(query.strip())
    index = console.target_search.of(targets)
    if by_number != query.strip() and index.exact(by_number) == by_number:
        return Found(query, (by_number,), None, None)
    return index.search(query, number_in(text(fields, "start")) or 0)


def last_looked(console: Console, name: str, say: Voice) -> Day | None:
    """The day on which the person of this name last looked at counts; None where they never did."""
    with console.store.reading() as connection:
        day = activity.last_day(connection, LOOKED, name)
    return None if day is None else day_in_words(day, say)


def number_in(given: str) -> int | None:
    """What is no number stands for none."""
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else None


def redirect(path: str, done: str | None = None) -> RedirectResponse:
    """After a form: the browser fetches the page anew, so that reloading it repeats nothing."""
    return RedirectResponse(path if done is None else f"{path}?done={done}", 303)


def done_message(request: Request, sentences: Mapping[str, Message]) -> Message | None:
    """What the page says was done; only our own sentences, whatever the address says."""
    return sentences.get(request.query_params.get("done", ""))


def refusal(error: DeniableError) -> Message:
    """What the form says of it. Where the database or its key is in trouble, that is not the form's fault."""
    if isinstance(error, StoreError | KeyChangedError):
        raise error
    return error.elsewhere


def signed_out(console: Console, done: str) -> Response:
    """Where a person goes who has signed out."""
    response = redirect("/login", done)
    response.delete_cookie(
        console.cookie_name("session"), path="/", secure=console.secure, httponly=True, samesite="strict"
    )
    return response


def names_by_id(console: Console, permission: Permission) -> dict[str, str]:
    """Of all who may do this."""
    with console.store.reading() as connection:
        return {one.id: one.name for one in people.having(connection, console.key, ALLOWED[permission])}


class Others(NamedTuple):
    """Who else may confirm a decision, by name."""

    here: tuple[str, ...]
    away: tuple[str, ...]
    """Those who cannot sign in at present."""


def others(console: Console, person: Person) -> Others:
    with console.store.reading() as connection:
        away = people.locked_out(connection, console.key)
        able = people.having(connection, console.key, ALLOWED["decide"])
    here, gone = (
        tuple(one.name for one in able if one.id != person.id and (one.id in away) == is_away)
        for is_away in (False, True)
    )
    return Others(here, gone)
