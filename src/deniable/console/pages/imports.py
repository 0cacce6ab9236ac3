"""Import: a hotline's export is read, looked at, and then counted or forgotten."""

import io
from asyncio import shield, wait_for, wrap_future
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts import hotlines
from deniable.console.accounts.people import Person
from deniable.console.accounts.row_authentication import digest
from deniable.console.pages.common import Bar, CurrentProgramme, bars, counting, done_message, redirect, refusal
from deniable.console.pending_imports import KEPT_FOR, PendingImport
from deniable.console.remembered import takes_long
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import (
    MOST_UPLOADED,
    SMALL,
    Fields,
    console_of,
    in_slow_thread,
    may,
    require,
    text,
    uploaded,
)
from deniable.errors import DeniableError
from deniable.programme.imports import EXPORTS, Mapping, read, read_mapping
from deniable.programme.imports.classes import chosen_field, visit_classes
from deniable.programme.programme import Programme
from deniable.programme.status import PAUSED, Status
from deniable.report_classes import ReportClass

router = Router()

DONE = {
    "counted": "The file is imported. What was counted before was not counted again.",
    "noted": "The file is noted. Nothing in it is counted, now or later.",
    "paused": "The file is noted. Imports are paused, so nothing in it counts, now or later.",
    "under-way": "The file is being imported: it is a large one, and that goes on while you do other things. If the "
    "console is stopped within the next hour, import the file again; nothing counts twice.",
    "dropped": "The file was discarded; nothing was counted.",
    "resumed": "Imports count again from now on. Publish, so that the public sees it, too.",
}
LONGEST_WAIT = 20
"""Seconds until the page says that an import goes on: browsers and proxies do not wait for ever."""
MANY = 10_000
"""Targets."""
GONE = "The file is not kept any more; choose it again."
NOT_YOURS = "Choose a hotline that you bring; an administrator says who brings which."


@dataclass(frozen=True)
class ImportPage:
    """The same whatever was reported."""

    kinds: tuple[tuple[str, str], ...]
    kind: str
    sources: tuple[tuple[str, str], ...]
    """The hotlines that this person brings, each twice: as it is and as it is shown."""
    source: str
    mapped: str
    """`names` where channels are called like targets, `file` where a mapping says which is which."""
    classes: tuple[str, ...]
    """The classes of reports; none where there is only one."""
    class_column: str
    megabytes: int
    """The most that a file may have."""
    paused: str | None
    """That imports are paused, if they are."""
    may_resume: bool
    """Whether this person can end that."""
    reason: str
    done: str | None
    error: str | None


@dataclass(frozen=True)
class PreviewPage:
    """Public facts, and what in the file cannot count yet: for the person who brought it. The same whatever was
    reported before, and whatever else is in the file.
    """

    pending: str
    """The name by which the file is confirmed."""
    kind: str
    source: str
    round: int
    minutes: int
    megabytes: int
    paused: str | None
    is_large: bool
    """Whether the file has more than half of the bytes that a file may have."""
    set_aside: tuple[str, ...]
    visits: tuple[str, ...]
    """The classes that lead to a visit, of those that the mappings name: whether the file has such a report or not."""


@dataclass(frozen=True)
class CountedPreviewPage(PreviewPage):
    """Confidential: for auditors."""

    new: int
    others: int
    """Reports that were known before, or, while imports are paused, all that could count otherwise."""
    n_set_aside: int
    left_out: int
    by_class: tuple[tuple[str, int], ...]
    """Of the file, those that were known before included; none where there is only one class."""
    counts: tuple[Bar, ...]
    """Of the file."""


@router.get("/import")
def import_page(
    request: Request, person: Annotated[Person, require("report")], programme: CurrentProgramme
) -> Response:
    return _page(request, person, programme)


@router.post("/import", writes=False)
def preview(
    request: Request, person: Annotated[Person, require("report")], programme: CurrentProgramme, fields: Fields
) -> Response:
    console, status = console_of(request), programme.status()
    kind, source = text(fields, "kind"), text(fields, "source")
    file, mapping, class_mapping = (uploaded(fields, name) for name in ("file", "mapping", "class_mapping"))
    if len(file) + len(mapping) + len(class_mapping) > SMALL or len(status.targets) > MANY:
        takes_long()
    try:
        _check_assigned(request, person, source)
        _check_file(kind, file, status)
        is_mapped, classes = text(fields, "mapped") == "file", programme.parameters.classes
        channels = _channels(mapping if is_mapped else None, status, classes, programme.naming())
        values = io.BytesIO(class_mapping) if class_mapping else None
        column, usual = text(fields, "class_column") or None, EXPORTS[kind].class_column
        class_field = chosen_field(classes, channels, column, values, usual_column=usual)
        batch = read(kind, io.BytesIO(file), channels, class_field)
        looked = partial(programme.import_reports, source, batch, dry_run=True)
        new = counting(looked) if may(person, "counts") else 0
        pending = console.pending_imports.add(person.id, _session(request), source, batch)
    except DeniableError as error:
        return _page(request, person, programme, fields, error=refusal(error))
    public = PreviewPage(
        pending=pending,
        kind=EXPORTS[kind].label,
        source=source,
        round=status.open_round,
        minutes=int(KEPT_FOR.total_seconds()) // 60,
        megabytes=_megabytes(),
        paused=PAUSED if status.is_paused else None,
        is_large=len(file) + len(mapping) + len(class_mapping) > MOST_UPLOADED // 2,
        set_aside=batch.set_aside.in_words(counts=not status.is_paused),
        visits=() if status.is_paused else visit_classes(classes, channels, class_field),
    )
    if not may(person, "counts"):
        return render(request, "import_preview.html", public)
    page = CountedPreviewPage(
        **vars(public),
        new=new,
        others=batch.with_target - new,
        n_set_aside=batch.set_aside.reports,
        left_out=batch.left_out,
        by_class=tuple(batch.by_class().items()),
        counts=bars(Counter(target for _, target, _ in batch if target is not None)),
    )
    return render(request, "import_preview_counts.html", page)


@router.post("/import/confirm")
async def confirm(
    request: Request, person: Annotated[Person, require("report")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """Answered when the reports are on the disk, or after a while if they are many: they then go on coming in."""
    if text(fields, "step") != "count":
        await in_slow_thread(request, partial(_take, request, fields))
        return redirect("/import", "dropped")
    try:
        done, written = await in_slow_thread(request, partial(_bring, request, person, programme, fields))
        await wait_for(shield(wrap_future(written)), LONGEST_WAIT)
    except TimeoutError:
        done = "under-way"
    except DeniableError as error:
        return _page(request, person, programme, error=refusal(error))
    return redirect("/import", done)


def _bring(request: Request, person: Person, programme: Programme, fields: FormData) -> "tuple[str, Future[None]]":
    """What the page says afterwards, and when the reports are on the disk."""
    pending = _take(request, fields)
    if pending is None:
        raise DeniableError(GONE)
    _check_assigned(request, person, pending.source)
    do_not_count = text(fields, "do_not_count") == "yes"
    _, written = programme.bring_import(pending.source, pending.batch, count=not do_not_count)
    if programme.status().is_paused:
        return "paused", written
    return "noted" if do_not_count else "counted", written


def _take(request: Request, fields: FormData) -> PendingImport | None:
    return console_of(request).pending_imports.take(_session(request), text(fields, "pending"))


@router.post("/import/resume")
def resume(
    request: Request, person: Annotated[Person, require("resume")], programme: CurrentProgramme, fields: Fields
) -> Response:
    try:
        entry = programme.resume_imports(text(fields, "reason"))
    except DeniableError as error:
        return _page(request, person, programme, fields, error=refusal(error))
    console_of(request).record(person, f"let imports count again (entry {entry.number})")
    return redirect("/import", "resumed")


def _check_file(kind: str, file: bytes, status: Status) -> None:
    if status.ended:
        raise DeniableError("the programme has ended; no more reports are counted")
    if kind not in EXPORTS:
        raise DeniableError("Choose what made the file.")
    if not file and kind != "globaleaks":  # which writes an empty file where it has no reports
        raise DeniableError("Choose a file that is not empty.")


def _channels(
    mapping: bytes | None, status: Status, classes: Sequence[ReportClass], named: Callable[[str], str]
) -> Mapping:
    """mapping: None where channels are called like targets."""
    if mapping is None:
        return Mapping({name: name for name in status.targets})
    return read_mapping(io.BytesIO(mapping), status.targets, classes, named)


def _megabytes() -> int:
    return MOST_UPLOADED // 2**20


def _sources(request: Request, person: Person) -> tuple[str, ...]:
    console = console_of(request)
    with console.store.reading() as connection:
        return hotlines.assigned_to(connection, console.key, person)


def _check_assigned(request: Request, person: Person, source: str) -> None:
    if source not in _sources(request, person):
        raise DeniableError(NOT_YOURS)


def _session(request: Request) -> str:
    cookie: str = request.state.visitor.name
    return digest(console_of(request).key, "session", cookie)


def _page(
    request: Request,
    person: Person,
    programme: Programme,
    fields: FormData | None = None,
    error: str | None = None,
) -> Response:
    filled, status, classes = fields or FormData(), programme.status(), programme.parameters.classes
    page = ImportPage(
        kinds=tuple((name, export.label) for name, export in EXPORTS.items()),
        kind=text(filled, "kind"),
        sources=tuple((name, name) for name in _sources(request, person)),
        source=text(filled, "source"),
        mapped=text(filled, "mapped") or "names",
        classes=tuple(one.name for one in classes) if len(classes) > 1 else (),
        class_column=text(filled, "class_column"),
        megabytes=_megabytes(),
        paused=PAUSED if status.is_paused else None,
        may_resume=status.is_paused and may(person, "resume"),
        reason=text(filled, "reason"),
        done=None if error else done_message(request, DONE),
        error=error,
    )
    return render(request, "import.html", page, 422 if error else 200)
