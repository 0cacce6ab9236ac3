"""Tables to take away: the record, the targets, the work list, the activity log and the people, as CSV files.

Each has what its page shows to the same role, and no more. There is none of counts: a file is copied, sent and kept
where no one sees who reads it.
"""

from collections.abc import Iterator
from typing import Annotated

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts import activity, people
from deniable.console.accounts.people import Person, PersonRow
from deniable.console.csv_download import csv_response
from deniable.console.pages.common import CurrentProgramme, copied_record
from deniable.console.pages.work_list import Unrecorded, open_audits
from deniable.console.public_record import Record
from deniable.console.remembered import takes_long
from deniable.console.routing import Router
from deniable.console.security import console_of, may, require
from deniable.programme.parameters import Parameters
from deniable.programme.public.page import Audited, Event
from deniable.programme.transcript.outcomes import present_names
from deniable.programme.transcript.replay import parse, replay

router = Router()

RECORD = ("entry", "round", "due", "kind", "selected", "heading", "joined", "left", "reason", "effect on the promise")
TARGETS = ("target", "register number", "takes part", "last audit in round", "round was due", "visited on")
WORK_LIST = ("target", "register number", "round", "due", "name is public", "emergency")
ACTIVITY = ("day", "who", "what")
PEOPLE = ("name", "role", "state")


@router.get("/transcript/record.csv")
def record(request: Request, _: Annotated[Person, require("transcript")], programme: CurrentProgramme) -> Response:
    takes_long()
    shown = copied_record(request, programme, programme.status().folder)
    return csv_response("record.csv", RECORD, map(_entry, shown.events))


@router.get("/transcript/targets.csv")
def targets(request: Request, _: Annotated[Person, require("transcript")], programme: CurrentProgramme) -> Response:
    takes_long()
    shown = copied_record(request, programme, programme.status().folder)
    return csv_response("targets.csv", TARGETS, _targets(programme.parameters, shown))


@router.get("/work-list/work-list.csv")
def work_list(request: Request, _: Annotated[Person, require("decide")], programme: CurrentProgramme) -> Response:
    """Confidential where names in it are not public yet, as the page is."""
    takes_long()
    shown = copied_record(request, programme, programme.status().folder)
    numbers = {name: number for name, number, *_ in _targets(programme.parameters, shown)}
    unrecorded = Unrecorded(shown.events)
    rows = (
        (
            audit.target,
            numbers.get(audit.target),
            audit.round,
            audit.day.isoformat(),
            _is_public(audit.secret_until),
            "visit at once" if unrecorded.is_emergency(audit) else "no",
        )
        for audit in unrecorded.emergencies_first(open_audits(programme))
    )
    return csv_response("work-list.csv", WORK_LIST, rows)


@router.get("/activity/activity.csv")
def whole_log(request: Request, person: Annotated[Person, require("activity")]) -> Response:
    """All of it that the person may read, the newest first."""
    takes_long()
    with console_of(request).store.reading() as connection:
        log = activity.read(connection, with_reports=may(person, "counts"))
    return csv_response("activity.csv", ACTIVITY, ((one.day, one.who, one.action) for one in log.entries))


@router.get("/people/people.csv")
def all_people(request: Request, _: Annotated[Person, require("people")]) -> Response:
    console = console_of(request)
    with console.store.reading() as connection:
        rows = people.listed(connection, console.key)
    return csv_response("people.csv", PEOPLE, ((row.person.name, row.person.role, _state(row)) for row in rows))


def _state(row: PersonRow) -> str:
    if row.altered:
        return "altered outside the console"
    if row.disabled:
        return "disabled"
    if not row.has_joined:
        return "invited"
    return "needs new codes" if row.waiting else "active"


def _is_public(secret_until: int | None) -> str:
    return "yes" if secret_until is None else f"after round {secret_until} is closed"


def _entry(event: Event) -> tuple[object, ...]:
    return (
        event.number,
        event.round,
        event.due.iso if event.due else None,
        event.kind,
        "; ".join(map(_audited, event.audited)),
        event.heading,
        "; ".join(event.added),
        "; ".join(event.removed),
        event.reason,
        event.effect,
    )


def _audited(audited: Audited) -> str:
    if not audited.carried_out:
        return f"{audited.name} (not carried out)"
    return f"{audited.name} (visited on {audited.visited.iso})" if audited.visited else audited.name


def _targets(
    parameters: Parameters, record: Record
) -> Iterator[tuple[str, str, str, int | None, str | None, str | None]]:
    """All there ever were, by their present names, each with its last audit that the office does not say was not
    carried out.
    """
    entries = [parse(line, number) for number, line in enumerate(record.lines, start=1)]
    state, present = replay(parameters, entries), present_names(entries)
    last: dict[str, tuple[int, str, str | None]] = {}
    for event in reversed(record.events):
        for audited in event.audited:
            if audited.carried_out:
                visited = audited.visited.iso if audited.visited else None
                day = parameters.calendar.day(event.round).isoformat()
                last[present.get(audited.name, audited.name)] = (event.round, day, visited)
    for number, name in enumerate(state.targets):
        takes_part = "yes" if state.takes_part(name) else "no"
        yield name, state.registered_as(number), takes_part, *last.get(name, (None, None, None))
