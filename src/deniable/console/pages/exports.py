"""Tables to take away: the record, the targets, the work list, the activity log and the people, as CSV files.

Each has what its page shows to the same role, and no more. There is none of counts: a file is copied, sent and kept
where no one sees who reads it.
"""

from collections.abc import Iterator
from typing import Annotated

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts import activity, people
from deniable.console.accounts.people import ROLE_NAMES, Person, PersonRow
from deniable.console.csv_download import csv_response
from deniable.console.pages.activity import called
from deniable.console.pages.common import CurrentProgramme, copied_record
from deniable.console.pages.work_list import open_audits
from deniable.console.public_record import Record, SelectedBy, Unrecorded, unpublished_audits
from deniable.console.remembered import takes_long
from deniable.console.routing import Router
from deniable.console.security import console_of, may, require
from deniable.console.voices import voice_of
from deniable.languages.voice import Voice
from deniable.message import Message, noted
from deniable.programme.parameters import Parameters
from deniable.programme.public.page import Audited, Event
from deniable.programme.transcript.outcomes import present_names
from deniable.programme.transcript.replay import parsed, replay
from deniable.programme.work_list import OpenAudit

router = Router()

RECORD = (
    noted("entry"),
    noted("round"),
    noted("due"),
    noted("kind"),
    noted("selected"),
    noted("heading"),
    noted("joined"),
    noted("left"),
    noted("reason"),
    noted("effect on the promise"),
)
TARGETS = (
    noted("{target}"),
    noted("register number"),
    noted("takes part"),
    noted("last {audit} in round"),
    noted("round was due"),
    noted("visited on"),
)
WORK_LIST = (
    noted("{target}"),
    noted("register number"),
    noted("round"),
    noted("round was due"),
    noted("selected by"),
    noted("rounds of earlier emergencies not recorded yet"),
    noted("name is public"),
)
SELECTED_BY: dict[SelectedBy, Message] = {
    "emergency": noted("visit at once"),
    "order": noted("ordered by hand"),
    "draw": noted("draw"),
}
ACTIVITY = (noted("day"), noted("who"), noted("what"))
PEOPLE = (noted("name"), noted("role"), noted("state"))


@router.get("/transcript/record.csv")
def record(request: Request, _: Annotated[Person, require("transcript")], programme: CurrentProgramme) -> Response:
    takes_long()
    shown = copied_record(request, programme, programme.status().folder)
    say = voice_of(request)
    return csv_response("record.csv", map(say, RECORD), (_entry(event, say) for event in shown.events))


@router.get("/transcript/targets.csv")
def targets(request: Request, _: Annotated[Person, require("transcript")], programme: CurrentProgramme) -> Response:
    takes_long()
    shown = copied_record(request, programme, programme.status().folder)
    say = voice_of(request)
    return csv_response("targets.csv", map(say, TARGETS), _targets(programme.parameters, shown, say))


@router.get("/work-list/work-list.csv")
def work_list(request: Request, _: Annotated[Person, require("decide")], programme: CurrentProgramme) -> Response:
    """Confidential where names in it are not public yet, as the page is."""
    takes_long()
    status = programme.status()
    shown = copied_record(request, programme, status.folder)
    say, unpublished = voice_of(request), unpublished_audits(shown, status.published)
    numbers = {name: number for name, number, *_ in _targets(programme.parameters, shown, say)}
    unrecorded = Unrecorded(shown)
    rows = (
        (
            audit.target,
            numbers.get(audit.target),
            audit.round,
            audit.day.isoformat(),
            say(SELECTED_BY[unrecorded.selected_by(audit)]),
            say.all_of([str(of) for of in unrecorded.emergency_before(audit)]),
            _is_public(audit, unpublished, say),
        )
        for audit in unrecorded.emergencies_first(open_audits(programme))
    )
    return csv_response("work-list.csv", map(say, WORK_LIST), rows)


@router.get("/activity/activity.csv")
def whole_log(request: Request, person: Annotated[Person, require("activity")]) -> Response:
    """All of it that the person may read, the newest first."""
    takes_long()
    with console_of(request).store.reading() as connection:
        log = activity.read(connection, with_reports=may(person, "counts"))
    say = voice_of(request)
    rows = ((one.day, called(one.who, say), say(one.action)) for one in log.entries)
    return csv_response("activity.csv", map(say, ACTIVITY), rows)


@router.get("/people/people.csv")
def all_people(request: Request, _: Annotated[Person, require("people")]) -> Response:
    console = console_of(request)
    with console.store.reading() as connection:
        listed = people.listed(connection, console.key)
    say = voice_of(request)
    rows = ((row.person.name, say(ROLE_NAMES[row.person.role]), _state(row, say)) for row in listed)
    return csv_response("people.csv", map(say, PEOPLE), rows)


def _state(row: PersonRow, say: Voice) -> str:
    if row.altered:
        return say("altered outside the console")
    if row.disabled:
        return say("disabled")
    if not row.has_joined:
        return say("invited")
    return say("needs new codes") if row.waiting else say("active")


def _is_public(audit: OpenAudit, unpublished: frozenset[tuple[int, str]], say: Voice) -> str:
    if audit.secret_until is not None:
        return say("after round {round} is closed", round=audit.secret_until)
    return say("not published yet") if (audit.round, audit.target) in unpublished else say("yes")


def _entry(event: Event, say: Voice) -> tuple[object, ...]:
    return (
        event.number,
        event.round,
        event.due.iso if event.due else None,
        event.kind,
        "; ".join(_audited(one, say) for one in event.audited),
        event.heading,
        "; ".join(event.added),
        "; ".join(event.removed),
        event.reason,
        event.effect,
    )


def _audited(audited: Audited, say: Voice) -> str:
    if not audited.carried_out:
        return say("{name} (not carried out)", name=audited.name)
    if audited.visited:
        return say("{name} (visited on {day})", name=audited.name, day=audited.visited.iso)
    return audited.name


def _targets(
    parameters: Parameters, record: Record, say: Voice
) -> Iterator[tuple[str, str, str, int | None, str | None, str | None]]:
    """All there ever were, by their present names, each with its last audit that the office does not say was not
    carried out.
    """
    entries = parsed(record.lines)
    state, present = replay(parameters, entries), present_names(entries)
    last: dict[str, tuple[int, str, str | None]] = {}
    for event in reversed(record.events):
        for audited in event.audited:
            if audited.carried_out:
                visited = audited.visited.iso if audited.visited else None
                day = parameters.calendar.day(event.round).isoformat()
                last[present.get(audited.name, audited.name)] = (event.round, day, visited)
    for number, name in enumerate(state.targets):
        takes_part = say("yes") if state.takes_part(name) else say("no")
        yield name, state.registered_as(number), takes_part, *last.get(name, (None, None, None))
