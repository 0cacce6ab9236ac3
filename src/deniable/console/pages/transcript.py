"""Transcript: what the world sees, whether it checks out, publishing and downloading it."""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from deniable.console.accounts.people import Person
from deniable.console.pages.common import (
    CurrentProgramme,
    copied_record,
    done_message,
    read_record,
    redirect,
    refusal,
    sentence,
    why_hidden,
)
from deniable.console.rendering import render
from deniable.console.security import Fields, console_of, may, require
from deniable.errors import DeniableError
from deniable.programme.programme import Programme
from deniable.programme.public.folder import INSTRUCTIONS, PAGE, PROGRAMME, PUBLIC_KEY, TRANSCRIPT, read_public
from deniable.programme.public.page import Event, events_of
from deniable.programme.public.publish import contents
from deniable.programme.public.verify import verify
from deniable.programme.transcript.chain import parse_head
from deniable.storage.store import Store

router = APIRouter()

NEWEST = 100
"""Entries that are shown; all are in the files."""

ZIP = "public.zip"

DONE = {
    "published": "Published.",
    "decided": "The decision is recorded. Publish it, so that the world sees it.",
}


@dataclass(frozen=True)
class Verified:
    ok: bool
    remarks: tuple[str, ...]
    """Sentences: warnings, or why it does not check out."""


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
    verified: Verified | None
    """None before anything was published."""
    hidden: str | None
    """Why the record is not shown yet."""
    events: tuple[Event, ...]
    left_out: int
    head: str
    may_publish: bool
    done: str | None
    error: str | None


@router.get("/transcript")
def transcript_page(
    request: Request, person: Annotated[Person, require("transcript")], programme: CurrentProgramme
) -> Response:
    return _page(request, person, programme)


@router.post("/transcript/publish")
def publish(
    request: Request, person: Annotated[Person, require("publish")], programme: CurrentProgramme, _: Fields
) -> Response:
    console = console_of(request)
    try:
        programme.publish(None if programme.status().folder else proposed_folder(console.store))
    except DeniableError as error:
        return _page(request, person, programme, refusal(error))
    console.record(person, "published the transcript")
    return redirect("/transcript", "published")


@router.get("/transcript/{name}")
def download(
    request: Request, name: str, _: Annotated[Person, require("transcript")], programme: CurrentProgramme
) -> Response:
    record = copied_record(request, programme)
    files = contents(programme.parameters, record.lines, record.head)
    if name == ZIP:
        content = _zipped(files)
    elif name in files:
        content = files[name]
    else:
        raise HTTPException(404, "There is no such page.")
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=disposition, media_type="application/octet-stream")


def verified(folder: Path, request: Request) -> Verified:
    """What anybody would find who checks the published files now."""
    console = console_of(request)
    programme, now = console.programme(), console.clock()
    if programme is not None:
        calendar = programme.parameters.calendar
        due = calendar.rounds_due(now)
        now = calendar.due(due) if due else calendar.opens(1)
    return _verified(folder, _fingerprint(folder), now)


@lru_cache(maxsize=4)
def _verified(folder: Path, _: str, now: datetime) -> Verified:
    """The same files check out in the same way until another round is due. Remembered, since for some hundred rounds it
    takes a tenth of a second, in which nobody else is served.
    """
    try:
        warnings = verify(folder, now=now).warnings
    except DeniableError as error:
        return Verified(False, (sentence(refusal(error)),))
    return Verified(True, tuple(map(sentence, warnings)))


def _fingerprint(folder: Path) -> str:
    """Of every byte that the check looks at."""
    found = hashlib.sha256()
    for name in (TRANSCRIPT, PROGRAMME, PUBLIC_KEY, INSTRUCTIONS, PAGE):
        try:
            content = read_public(folder / name)
        except (OSError, DeniableError) as error:
            found.update(f"{name}: {error}\n".encode())
        else:
            found.update(f"{name} {len(content)}\n".encode() + content)
    return found.hexdigest()


def proposed_folder(store: Store) -> Path | None:
    """Beside the database. People do not choose a path of the server in a browser."""
    if not store.is_sqlite:
        return None
    database = Path(str(store.url.database))
    return database.with_name(f"{database.stem}-public")


def _page(request: Request, person: Person, programme: Programme, error: str | None = None) -> Response:
    store, status = console_of(request).store, programme.status()
    record = read_record(store)
    hidden = why_hidden(request, programme, record)
    events = events_of(status.parameters.calendar, record.entries) if hidden is None else ()
    proposed = proposed_folder(store)
    page = TranscriptPage(
        entries=status.entries,
        published=status.published,
        folder=None if status.folder is None else str(status.folder),
        proposed=None if proposed is None else str(proposed),
        holds_from=status.coverage.holds_from,
        verified=None if status.folder is None else verified(status.folder, request),
        hidden=hidden,
        events=events[:NEWEST],
        left_out=len(events[NEWEST:]),
        head=parse_head(record.head).head,
        may_publish=may(person, "publish"),
        done=None if error else done_message(request, DONE),
        error=error,
    )
    return render(request, "transcript.html", page, 422 if error else 200)


def _zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(f"public/{name}"), content)  # its date says nothing: 1980
    return out.getvalue()
