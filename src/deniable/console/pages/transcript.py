"""Transcript: the public record, whether it checks out, publishing and downloading it."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.pages.common import (
    CurrentProgramme,
    copied_record,
    done_message,
    number_in,
    redirect,
    refusal,
    shown_record,
)
from deniable.console.pages.published import Verified, verified
from deniable.console.public_record import Record
from deniable.console.remembered import Remembered, takes_long
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, may, require, text
from deniable.console.target_search import Found
from deniable.errors import DeniableError
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

PUT_RIGHT_FIRST = "Nothing was published. The files in the public folder must be put right first: see above what to do."

DONE = {
    "visit": "The visit is recorded. Publish when your people are there.",
    "decided": "The decision is recorded. The public sees it when you press Publish.",
}


@dataclass(frozen=True)
class TranscriptPage:
    """All of it is public, or about to be."""

    entries: int
    published: int
    folder: str | None
    """Where it was published."""
    proposed: str | None
    """Where it would be published the first time; None where that has to be said at the terminal."""
    holds_from: int
    has_emergencies: bool
    """Whether reports of a class lead to a visit, and are covered by no guarantee."""
    verified: Verified | None
    """None before anything was published."""
    hidden: str | None
    """Why the record is not shown yet."""
    events: tuple[Event, ...]
    found: Found
    """What was looked for, and the pages beside this one."""
    head: str
    may_publish: bool
    is_new: bool
    """Whether the person who sees the page has just published it."""
    done: str | None
    error: str | None


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
    console.record(person, "published the transcript")
    return redirect("/transcript", "published")


@router.get("/transcript/{name}")
def download(
    request: Request, name: str, _: Annotated[Person, require("transcript")], programme: CurrentProgramme
) -> Response:
    takes_long()
    record = copied_record(request, programme, programme.status().folder)
    files = _files.get(record.head, lambda: _published(programme.parameters, record))
    if name in files:
        content = files[name]
    else:
        raise HTTPException(404, "There is no such page.")
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
    error: str | None = None,
) -> Response:
    console, status = console_of(request), programme.status()
    hidden, head, events, found = None, "", tuple[Event, ...](), Found(query, (), None, None)
    try:
        record = shown_record(request, programme, status.folder)
    except DeniableError as refused:
        hidden = refusal(refused)
    else:
        head = digest(record.lines[-1]) if record.lines else programme.parameters.digest
        events, found = _searched(record, query, start)
    proposed = proposed_folder(console.store)
    page = TranscriptPage(
        entries=status.entries,
        published=status.published,
        folder=None if status.folder is None else str(status.folder),
        proposed=None if proposed is None else str(proposed),
        holds_from=status.coverage.holds_from,
        has_emergencies=bool(status.coverage.visit_classes),
        verified=None if status.folder is None else verified(console, programme, status.folder),
        hidden=hidden,
        events=events,
        found=found,
        head=head,
        may_publish=may(person, "publish"),
        is_new=not error and status.folder is not None and request.query_params.get("done") == "published",
        done=None if error else done_message(request, DONE),
        error=error,
    )
    return render(request, "transcript.html", page, 422 if error else 200)


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


def _published(parameters: Parameters, record: Record) -> Mapping[str, bytes]:
    """What can be downloaded, by name: the files as they would be published now, and all of them in one."""
    files = contents(parameters, record.lines, record.head)
    return {**files, ZIP: _zipped(files)}


def _zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(f"public/{name}"), content)  # its date says nothing: 1980
    return out.getvalue()
