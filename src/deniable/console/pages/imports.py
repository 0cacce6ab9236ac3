"""Import: a hotline's export is read, looked at, counted or forgotten, and taken back while it can be."""

import io
from asyncio import shield, wait_for, wrap_future
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Annotated

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.accounts.row_authentication import digest
from deniable.console.console import Console
from deniable.console.csv_download import csv_response
from deniable.console.pages.channels import NOT_YOURS, ChannelRow, assigned, keep, typed_rows
from deniable.console.pages.common import CurrentProgramme, redirect, refusal
from deniable.console.pages.import_page import EXAMPLE, UNDER_WAY, page, page_of
from deniable.console.pages.import_preview import Preview, preview_page
from deniable.console.pages.recent_imports import accepted_for
from deniable.console.pending_imports import (
    AcceptedImport,
    Held,
    PendingImport,
    PendingImports,
    TakeBack,
    Unassigned,
)
from deniable.console.remembered import takes_long
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import (
    MOST_UPLOADED,
    Fields,
    check_chosen,
    console_of,
    file_name,
    in_slow_thread,
    require,
    text,
    uploaded,
)
from deniable.errors import DeniableError
from deniable.message import Message, noted
from deniable.programme.hotlines import PauseEndedError
from deniable.programme.imports import EXPORTS, Batch, read
from deniable.programme.imports.csv import OtherColumnsError
from deniable.programme.imports.which_rows_count import EMPTY
from deniable.programme.programme import Programme
from deniable.programme.status import Status
from deniable.programme.ticker import StillWaitingError

router = Router()

LONGEST_WAIT = 20
"""Seconds until the page says that an import goes on: browsers and proxies do not wait for ever."""
MOST_REPORTS = 1_000_000
"""Of one file. They come in within an hour."""
GONE = noted("The file is not kept any more; choose it again.")
FINAL = noted(
    "It was too late: its reports are counted, and no one can take them back now. They count until their {targets} are "
    "{audited}."
)
TOO_MANY = noted(
    "The file has more than {most} reports. Cut it into several files, or ask the person who runs the server to import "
    "it.",
    most=MOST_REPORTS,
)
STILL_COMING_IN = noted(
    "The file that you imported before is still coming in. Wait until it has come in, then import this one."
)
TAKES_BACK = noted("asked to take back an import of {name} from {source}")
NOT_KNOWN = noted(
    "This import cannot be taken back any more: it is final, it was taken back before, or the console was restarted "
    "since. You can do nothing more about it here."
)
OTHER_COLUMN = noted("The class column of this hotline was changed in the meantime; choose the file again.")


@router.get("/import/example.csv")
def example(_: Annotated[Person, require("report")]) -> Response:
    columns, *rows = EXAMPLE
    return csv_response("example.csv", columns, rows)


@router.get("/import")
def import_page(
    request: Request, person: Annotated[Person, require("report")], programme: CurrentProgramme
) -> Response:
    return page(request, person, programme)


@router.post("/import", writes=False)
def preview(
    request: Request, person: Annotated[Person, require("report")], programme: CurrentProgramme, fields: Fields
) -> Response:
    takes_long()  # whatever its size: a small file has thousands of rows, too
    console, status = console_of(request), programme.status()
    kind, source, file = text(fields, "kind"), text(fields, "source"), uploaded(fields, "file")
    try:
        _check_assigned(request, person, source)
        _check_file(kind, fields, status)
        mapping, class_field = programme.hotlines.mappings(programme.hotlines.kept(source))
        batch = read(kind, io.BytesIO(file), mapping, class_field, most=MOST_REPORTS + 1)
        _check_number(batch)
        held = Held(kind, source, batch, is_large=len(file) > MOST_UPLOADED // 2, file=file_name(fields, "file"))
        pending = console.pending_imports.add(person.id, _session(request), held)
    except DeniableError as error:
        refused = replace(
            page_of(request, person, programme, fields, refusal(error)),
            shows_files=bool(file or file_name(fields, "file")),
        )
        if isinstance(error, OtherColumnsError):
            refused = replace(refused, expected_columns=error.expected, other_columns=error.others)
        return render(request, "import.html", refused, 422)
    return preview_page(request, programme, Preview(pending, held, person))


@router.post("/import/assign")
def assign(
    request: Request, person: Annotated[Person, require("report")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """Keep what was chosen for the new channels of a file, and look at the file again; or have it chosen again, where
    it has so many that not all are told apart.
    """
    pending = _take(request, fields)
    if pending is None:
        return page(request, person, programme, error=GONE)
    held = _with_choices(request, person, programme, pending.held, fields)
    return held if isinstance(held, Response) else _preview_again(request, person, programme, held, fields)


def _with_choices(
    request: Request, person: Person, programme: Programme, held: Held, fields: FormData
) -> Held | Response:
    """The file with what was chosen for its new channels, which is kept; or what is answered where that cannot be."""
    source, batch, read_before = held.source, held.batch, held.batch.class_field
    try:
        _check_assigned(request, person, source)
        before = programme.hotlines.kept(source)
        after = keep(request, programme, source, fields)
        mapping, class_field = programme.hotlines.mappings(after)
    except DeniableError as error:
        return _preview_again(request, person, programme, held, fields, error=refusal(error))
    if (None if class_field is None else class_field.column) != (None if read_before is None else read_before.column):
        return page(request, person, programme, error=OTHER_COLUMN)
    if batch.has_too_many:
        return held if after == before else redirect("/import", "choose-again")
    return replace(held, batch=batch.mapped(mapping, class_field))


def _preview_again(
    request: Request,
    person: Person,
    programme: Programme,
    held: Held,
    fields: FormData,
    *,
    error: Message | None = None,
) -> Response:
    name = console_of(request).pending_imports.add(person.id, _session(request), held)
    typed, values = ({row.name: row for row in _typed(fields, what)} for what in ("channel", "value"))
    return preview_page(request, programme, Preview(name, held, person, error, typed, values, pressed_save=True))


def _typed(fields: FormData, what: str) -> list[ChannelRow]:
    return list(typed_rows(fields, what, may_be_empty=what == "value"))


@router.post("/import/confirm")
async def confirm(
    request: Request, person: Annotated[Person, require("report")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """Keeps what was chosen for new channels, and imports. Answered when the reports are on the disk, or after a while
    if they are many: they then go on coming in.
    """
    if text(fields, "step") not in {"count", "note", "paused"}:
        await in_slow_thread(request, partial(_take, request, fields))
        return redirect("/import", "dropped")
    try:
        brought = await in_slow_thread(request, partial(_bring, request, person, programme, fields))
    except DeniableError as error:
        return page(request, person, programme, error=refusal(error))
    if isinstance(brought, Response):
        return brought
    done, written = brought
    try:
        await wait_for(shield(wrap_future(written)), LONGEST_WAIT)
    except TimeoutError:
        done = UNDER_WAY
    except DeniableError as error:
        return page(request, person, programme, error=refusal(error))
    return redirect("/import", done)


def _bring(
    request: Request, person: Person, programme: Programme, fields: FormData
) -> "tuple[str, Future[None]] | Response":
    """What the page says afterwards, and when the reports are on the disk; or what is answered where the choices for
    new channels cannot be kept, an import of the same person is still coming in, or the file would count although the
    person noted it for the pause.
    """
    pending, name = _take(request, fields), text(fields, "pending")
    if pending is None:
        raise DeniableError(GONE)
    held: Held | Response = pending.held
    if programme.hotlines.is_importing(person.id):
        return _preview_again(request, person, programme, pending.held, fields, error=STILL_COMING_IN)
    if _typed(fields, "channel") or _typed(fields, "value"):
        held = _with_choices(request, person, programme, pending.held, fields)
    if isinstance(held, Response):
        return held
    _check_assigned(request, person, held.source)
    console, step = console_of(request), text(fields, "step")
    day, aside = programme.parameters.calendar.today(console.clock()), _unassigned(held)
    try:
        is_paused, written = programme.hotlines.bring(
            held.source,
            held.batch,
            count=step != "note",
            only_paused=step == "paused",
            name=name,
            owner=person.id,
        )
    except PauseEndedError as error:
        return _preview_again(request, person, programme, held, fields, error=refusal(error))
    except StillWaitingError:  # two requests at once
        return _preview_again(request, person, programme, held, fields, error=STILL_COMING_IN)
    # The reports count from here on: nothing may fail before it is known that they can be taken back.
    outcome = "paused" if is_paused else "noted" if step == "note" else "counted"
    unassigned = aside if outcome == "counted" else Unassigned()
    console.pending_imports.accept(person, held, name, day, unassigned, outcome=outcome)
    return outcome, written


def _unassigned(held: Held) -> Unassigned:
    aside = held.batch.set_aside
    entries = tuple("" if shown == EMPTY else shown for shown in aside.values)
    return Unassigned(aside.channels, entries, aside.more_channels + aside.more_values)


@router.post("/import/take-back")
async def take_back(
    request: Request, person: Annotated[Person, require("report")], programme: CurrentProgramme, fields: Fields
) -> Response:
    """Answered when it is on the disk that the import does not count, or that it was counted before; or after a while
    if the import is still coming in. What becomes of it is then on the page (`recent_imports`).
    """
    imports, name = console_of(request).pending_imports, text(fields, "import")
    accepted = next((one for one in accepted_for(request, person) if one.name == name), None)
    if accepted is None:
        return page(request, person, programme, error=NOT_KNOWN)
    source, owner = accepted.source, accepted.person
    if not imports.ask(owner, name):
        return redirect("/import")
    try:
        if owner != person.id:
            await in_slow_thread(request, partial(_record_taking_back, console_of(request), person, accepted))
        written = await in_slow_thread(request, partial(programme.hotlines.take_back, source, name))
        written.add_done_callback(partial(_note_end, imports, owner, name))
        await wait_for(shield(wrap_future(written)), LONGEST_WAIT)
    except TimeoutError:
        return redirect("/import")
    except DeniableError as error:
        imports.note(owner, name, TakeBack.FAILED)
        return page(request, person, programme, error=refusal(error))
    if owner == person.id:  # others find on the page what became of theirs
        imports.forget(owner, name)
    if await in_slow_thread(request, partial(programme.hotlines.is_final, source, name)):
        return page(request, person, programme, error=FINAL)
    return redirect("/import", "taken-back")


def _record_taking_back(console: Console, person: Person, accepted: AcceptedImport) -> None:
    """Before anything is taken back. Only those read it who may see counts: it tells that there was an import."""
    console.record(person, TAKES_BACK.filled(name=accepted.by, source=accepted.source), "reports")


def _note_end(imports: PendingImports, person: str, name: str, written: "Future[None]") -> None:
    imports.note(person, name, TakeBack.WRITTEN if written.exception() is None else TakeBack.FAILED)


def _take(request: Request, fields: FormData) -> PendingImport | None:
    return console_of(request).pending_imports.take(_session(request), text(fields, "pending"))


@router.post("/import/resume")
def resume(
    request: Request, person: Annotated[Person, require("resume")], programme: CurrentProgramme, fields: Fields
) -> Response:
    try:
        entry = programme.resume_imports(text(fields, "reason"))
    except DeniableError as error:
        return page(request, person, programme, fields, error=refusal(error))
    console_of(request).record(person, noted("let imports count again (entry {entry})", entry=entry.number))
    return redirect("/import", "resumed")


def _check_file(kind: str, fields: FormData, status: Status) -> None:
    if status.ended:
        raise DeniableError("the programme has ended; no more reports are counted")
    if kind not in EXPORTS:
        raise DeniableError("Choose what made the file.")
    check_chosen(fields, "file", may_be_empty=True)
    if kind != "globaleaks" and not uploaded(fields, "file"):  # GlobaLeaks writes an empty one without reports
        raise DeniableError("The file is empty. If no report came in, there is nothing to import.")


def _check_number(batch: Batch) -> None:
    if batch.n_reports + batch.n_malformed > MOST_REPORTS:  # also where none can be read: that takes as long
        raise DeniableError(TOO_MANY)


def _check_assigned(request: Request, person: Person, source: str) -> None:
    if source not in assigned(request, person):
        raise DeniableError(NOT_YOURS)


def _session(request: Request) -> str:
    cookie: str = request.state.visitor.name
    return digest(console_of(request).key, "session", cookie)
