"""Import: a hotline's export is read, looked at, and then counted or forgotten."""

import io
from collections import Counter
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import FormData

from deniable.errors import DeniableError
from deniable.programme.importers import Batch, Mapping, read, read_mapping
from deniable.programme.status import Status
from deniable.web.accounts import hotlines
from deniable.web.accounts.marks import digest
from deniable.web.accounts.people import Person
from deniable.web.pages.common import Bar, Running, bars, go, refusal, told
from deniable.web.previews import KEPT_FOR
from deniable.web.rendering import render
from deniable.web.security import Fields, console_of, may, require, text, uploaded

router = APIRouter()

KINDS = (("plain", "a table of your own (CSV)"), ("globaleaks", "GlobaLeaks"), ("hushline", "Hush Line"))

DONE = {
    "counted": "The file is imported. What was counted before was not counted again.",
    "marked": "The file is noted. Nothing in it is counted, now or later.",
    "dropped": "The file was discarded; nothing was counted.",
}
MOST_REPORTS = 100_000
"""In one file, so that counting it takes seconds."""
GONE = "The file is not kept any more; choose it again."
NOT_YOURS = "Choose a hotline that you bring; an administrator says who brings which."


@dataclass(frozen=True)
class ImportPage:
    kinds: tuple[tuple[str, str], ...]
    kind: str
    sources: tuple[tuple[str, str], ...]
    """The hotlines that this person brings, each twice: as it is and as it is shown."""
    source: str
    mapped: str
    """`names` where channels are called like targets, `file` where a mapping says which is which."""
    done: str | None
    error: str | None


@dataclass(frozen=True)
class PreviewPage:
    """The same whatever was reported, in the file or before. An importer sees this page."""

    held: str
    kind: str
    source: str
    round: int
    minutes: int


@dataclass(frozen=True)
class CountedPreviewPage(PreviewPage):
    """Confidential: for auditors."""

    in_file: int
    new: int
    counts: tuple[Bar, ...]
    """Of the file."""


@router.get("/import")
def import_page(request: Request, person: Annotated[Person, require("report")], _: Running) -> Response:
    return _page(request, person)


@router.post("/import")
def preview(
    request: Request, person: Annotated[Person, require("report")], programme: Running, fields: Fields
) -> Response:
    console = console_of(request)
    kind, source = text(fields, "kind"), text(fields, "source")
    try:
        _check_brings(request, person, source)
        status = programme.status()
        batch = _read(fields, status)
        new = programme.import_reports(source, batch, dry_run=True) if may(person, "counts") else 0
        held = console.previews.hold(person.id, _session(request), source, batch)
    except DeniableError as error:
        return _page(request, person, fields, refusal(error))
    public = PreviewPage(
        held=held,
        kind=dict(KINDS)[kind],
        source=source,
        round=status.open_round,
        minutes=int(KEPT_FOR.total_seconds()) // 60,
    )
    if not may(person, "counts"):
        return render(request, "import_preview.html", public)
    counts = bars(Counter(target for _, _, target in batch))
    page = CountedPreviewPage(**vars(public), in_file=len(batch), new=new, counts=counts)
    return render(request, "import_preview_counts.html", page)


@router.post("/import/confirm")
def confirm(
    request: Request, person: Annotated[Person, require("report")], programme: Running, fields: Fields
) -> Response:
    held = console_of(request).previews.take(_session(request), text(fields, "held"))
    if text(fields, "step") != "count":
        return go("/import", "dropped")
    if held is None:
        return _page(request, person, error=GONE)
    try:
        _check_brings(request, person, held.source)
        mark_only = text(fields, "mark_only") == "yes"
        programme.import_reports(held.source, held.batch, mark_only=mark_only)
    except DeniableError as error:
        return _page(request, person, error=refusal(error))
    return go("/import", "marked" if mark_only else "counted")


def _read(fields: FormData, status: Status) -> Batch:
    if status.ended:
        raise DeniableError("the programme has ended; no more reports are counted")
    file, kind = uploaded(fields, "file"), text(fields, "kind")
    if kind not in dict(KINDS):
        raise DeniableError("Choose what made the file.")
    if not file:
        raise DeniableError("Choose a file that is not empty.")
    if text(fields, "mapped") == "file":
        mapping = read_mapping(io.BytesIO(uploaded(fields, "mapping")), status.targets)
    else:
        mapping = Mapping({name: name for name in status.targets})
    batch = read(kind, io.BytesIO(file), mapping)
    if len(batch) > MOST_REPORTS:
        raise DeniableError(f"A file can have at most {MOST_REPORTS:,} reports here; a larger one needs the terminal.")
    return batch


def _sources(request: Request, person: Person) -> tuple[str, ...]:
    console = console_of(request)
    with console.store.reading() as connection:
        return hotlines.brought_by(connection, console.key, person)


def _check_brings(request: Request, person: Person, source: str) -> None:
    if source not in _sources(request, person):
        raise DeniableError(NOT_YOURS)


def _session(request: Request) -> str:
    cookie: str = request.state.visitor.cookie
    return digest(console_of(request).key, "session", cookie)


def _page(request: Request, person: Person, fields: FormData | None = None, error: str | None = None) -> Response:
    filled = fields or FormData()
    page = ImportPage(
        kinds=KINDS,
        kind=text(filled, "kind"),
        sources=tuple((name, name) for name in _sources(request, person)),
        source=text(filled, "source"),
        mapped=text(filled, "mapped") or "names",
        done=None if error else told(request, DONE),
        error=error,
    )
    return render(request, "import.html", page, 422 if error else 200)
