"""Transcript: the public record, whether it checks out, publishing and downloading it."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.pages.common import (
    CurrentProgramme,
    copied_record,
    done_message,
    is_loss_hidden,
    lost_before,
    names_to_publish,
    number_in,
    redirect,
    refusal,
    search,
    shown_record,
)
from deniable.console.pages.published import Helpers, Verified, helpers_of, is_stopped, verified
from deniable.console.public_record import Record
from deniable.console.remembered import Remembered, takes_long
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, Refused, console_of, may, require, text
from deniable.console.target_search import Found
from deniable.console.voices import voice_of
from deniable.errors import DeniableError
from deniable.message import Message, noted
from deniable.programme.calendar import Day
from deniable.programme.names import LONGEST_NAME, caseless
from deniable.programme.parameters import Parameters
from deniable.programme.programme import Programme
from deniable.programme.public.page import MOST_NAMES, Event
from deniable.programme.public.publish import contents
from deniable.programme.transcript.chain import digest
from deniable.storage.store import Store

router = Router()

MOST = 25
"""Entries a page."""

ZIP = "public.zip"

PUT_RIGHT_FIRST = noted(
    "Nothing was published. The files in the public folder must be put right first: see below what to do."
)

DONE = {
    "visit": noted("The visit is recorded. Publish when your people are there."),
    "decided": noted("The decision is recorded. The public sees it when you press Publish."),
}


PublicPage = Literal["published", "foreseen", ""]
"""The page in the public folder; where nothing there is in order, the one that would be published now; or none."""


@dataclass(frozen=True)
class TranscriptPage:
    """All of it is public, or about to be."""

    entries: int
    published: int
    folder: str | None
    """Where it was published."""
    proposed: str | None
    """Where it would be published the first time; None where that has to be said at the terminal."""
    lost_before: Day | None
    """The promise is lost for reports filed before; None where it holds for all."""
    is_stopped: bool
    """Whether the programme cannot go on with its database: a copy of the record is newer, or differs."""
    ended: bool
    is_loss_hidden: bool
    """Whether the published page still promises what a decision took."""
    has_emergencies: bool
    """Whether reports of a class lead to a visit, and are covered by no guarantee."""
    visits_to_publish: tuple[str, ...]
    """Targets of visits in an emergency that the next publication has, and that are not recorded as made."""
    names_to_publish: tuple[tuple[int, tuple[str, ...]], ...]
    """Rounds whose names the next publication has, with those that are not recorded as visited."""
    sends_first: bool
    """Whether the office sends its people somewhere before it publishes."""
    revealed: Mapping[int, int]
    """The rounds whose names entries make public that are not published, by the numbers of these."""
    verified: Verified | None
    """None before anything was published."""
    public_page: PublicPage
    """What the link to the public page opens."""
    hidden: Message | None
    """Why the record is not shown yet."""
    events: tuple[Event, ...]
    places: tuple[int, int] | None
    """The lowest and the highest number of the entries that are shown; None where there are none."""
    unpublished: frozenset[int]
    """The numbers of rows that the public does not see, or not all of, where something else is published in order."""
    helpers: Helpers
    """Who puts the public files right."""
    found: Found
    """What was looked for, and the pages beside this one."""
    unselected: tuple[str, ...]
    """Targets with what was looked for in their names that no public entry says were selected."""
    has_more_targets: bool
    """Whether more targets have it in their names than were looked at."""
    hides_names: bool
    """Whether the names of a draw become public later than the draw."""
    head: str
    may_publish: bool
    is_new: bool
    """Whether the person who sees the page has just published it."""
    done: Message | None
    error: Message | None


@router.get("/transcript")
def transcript_page(
    request: Request, person: Annotated[Person, require("transcript")], programme: CurrentProgramme
) -> Response:
    return _page(request, person, programme, start=number_in(request.query_params.get("start", "")) or 0)


@router.post("/transcript/find", writes=False)
def find(
    request: Request, person: Annotated[Person, require("transcript")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """Entries that name a target, or of a round."""
    start = number_in(text(fields, "start")) or 0
    return _page(request, person, programme, start=start, query=" ".join(text(fields, "find").split())[:LONGEST_NAME])


@router.post("/transcript/publish")
def publish(
    request: Request, person: Annotated[Person, require("publish")], programme: CurrentProgramme, _: Fields
) -> Response:
    console, folder = console_of(request), programme.status().folder
    if folder is not None and verified(console, programme, folder).damage:
        return _page(request, person, programme, error=PUT_RIGHT_FIRST)
    try:
        programme.publish(None if folder else proposed_folder(console.store))
    except DeniableError as error:
        return _page(request, person, programme, error=refusal(error))
    console.record(person, noted("published the public record"))
    return redirect("/transcript", "published")


@router.get("/transcript/{name}")
def download(
    request: Request, name: str, _: Annotated[Person, require("transcript")], programme: CurrentProgramme
) -> Response:
    takes_long()
    record = copied_record(request, programme, programme.status().folder)
    content = files_of(programme.parameters, record).get(name)
    if content is None:
        raise Refused(404, noted("There is no such page."))
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=disposition, media_type="application/octet-stream")


def proposed_folder(store: Store) -> Path | None:
    """Beside the database. People do not choose a path of the server in a browser."""
    if not store.is_sqlite:
        return None
    database = Path(str(store.url.database))
    return database.with_name(f"{database.stem}-public")


def _page(
    request: Request,
    person: Person,
    programme: Programme,
    *,
    start: int = 0,
    query: str = "",
    error: Message | None = None,
) -> Response:
    console, status = console_of(request), programme.status()
    hidden, head, events, found = None, "", tuple[Event, ...](), Found(query, (), None, None)
    named, unselected, record = found, tuple[str, ...](), None
    try:
        record = shown_record(request, programme, status.folder)
    except DeniableError as refused:
        hidden = refusal(refused)
    else:
        head = digest(record.lines[-1]) if record.lines else programme.parameters.digest
        events, found = _searched(record, query, start)
        if query and not start:
            named = search(request, status.targets, FormData({"find": query}))
            unselected = _unselected(record, named.names)
    proposed = proposed_folder(console.store)
    found_there = None if status.folder is None else verified(console, programme, status.folder)
    visits_to_publish = () if record is None else _visits(record, status.published)
    names = () if record is None else names_to_publish(record, status)
    page = TranscriptPage(
        entries=status.entries,
        published=status.published,
        folder=None if status.folder is None else str(status.folder),
        proposed=None if proposed is None else str(proposed),
        lost_before=lost_before(status, voice_of(request)),
        is_stopped=found_there is not None and is_stopped(programme, found_there.damage),
        ended=status.ended,
        is_loss_hidden=is_loss_hidden(status) and (found_there is None or not found_there.damage),
        has_emergencies=bool(status.coverage.visit_classes),
        visits_to_publish=visits_to_publish,
        names_to_publish=names,
        sends_first=bool(visits_to_publish or names),
        revealed={}
        if record is None
        else {one.number: one.of for one in record.revealed if one.number > status.published},
        verified=found_there,
        public_page="published" if found_there is not None and found_there.ok else "" if hidden else "foreseen",
        hidden=hidden,
        events=events,
        places=_places(events),
        unpublished=frozenset(
            event.number
            for event in events
            if found_there is not None and not found_there.damage and event.last_entry > status.published
        ),
        helpers=helpers_of(console),
        found=found,
        unselected=unselected,
        has_more_targets=named.later is not None,
        hides_names=bool(programme.parameters.reveal_after),
        head=head,
        may_publish=may(person, "publish"),
        is_new=not error and status.folder is not None and request.query_params.get("done") == "published",
        done=None if error else done_message(request, DONE),
        error=error,
    )
    return render(request, "transcript.html", page, 422 if error else 200)


def _visits(record: Record, published: int) -> tuple[str, ...]:
    """Targets of visits in an emergency that are in the record, and neither published nor recorded as made."""
    late = (event for event in record.events if event.kind == "emergency" and event.number > published)
    named = {one.name for event in late for one in event.audited if one.carried_out and one.visited is None}
    return tuple(sorted(named))


def _places(events: Sequence[Event]) -> tuple[int, int] | None:
    return (min(one.number for one in events), max(one.last_entry for one in events)) if events else None


def _searched(record: Record, query: str, start: int) -> tuple[tuple[Event, ...], Found]:
    """A page of the entries that name a target so, or are of the round of this number."""
    wanted, round_ = caseless(query), number_in(query)
    events: Sequence[Event] = record.events
    if query:
        pairs = zip(record.events, record.texts, strict=True)
        events = [event for event, names in pairs if wanted in names or event.round == round_]
    start = start if start < len(events) else 0
    shown = tuple(_matching_first(event, wanted) for event in events[start : start + MOST])
    return shown, Found.place(query, start, MOST, len(events))


def _unselected(record: Record, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of these targets that no entry says were selected, under this name or one that they had before."""
    selected = {audited.name for event in record.events for audited in event.audited}
    renamed = [before for event, before in zip(record.events, record.texts, strict=True) if event.kind == "renamed"]
    return tuple(
        name for name in names if name not in selected and not any(caseless(name) in before for before in renamed)
    )


def _matching_first(event: Event, wanted: str) -> Event:
    """Of many names, the page shows the first ones."""
    if not wanted or max(map(len, (event.audited, event.added, event.removed))) <= MOST_NAMES:
        return event
    return replace(
        event,
        audited=tuple(sorted(event.audited, key=lambda audited: wanted not in caseless(audited.name))),
        added=tuple(sorted(event.added, key=lambda name: wanted not in caseless(name))),
        removed=tuple(sorted(event.removed, key=lambda name: wanted not in caseless(name))),
    )


_files = Remembered[Mapping[str, bytes]]()


def files_of(parameters: Parameters, record: Record) -> Mapping[str, bytes]:
    """What can be downloaded, by name: the files as they would be published now, and all of them in one."""
    return _files.get(record.head, lambda: _made(parameters, record))


def _made(parameters: Parameters, record: Record) -> Mapping[str, bytes]:
    files = contents(parameters, record.lines, record.head)
    return {**files, ZIP: _zipped(files)}


def _zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(f"public/{name}"), content)  # its date says nothing: 1980
    return out.getvalue()
