"""Channels: which channel of a hotline is about which target, for the person who brings the hotline, and for auditors.

What is kept is written when a person saves it, and not when a file with a new channel is looked at.
"""

import base64
import hashlib
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated

from starlette.datastructures import URL, FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts import hotlines
from deniable.console.accounts.people import Person
from deniable.console.csv_download import csv_response
from deniable.console.pages.common import CurrentProgramme, done_message, number_in, redirect, refusal
from deniable.console.remembered import takes_long
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, Refused, check_chosen, console_of, require, text, uploaded
from deniable.console.target_search import FEW
from deniable.errors import DeniableError
from deniable.message import Message, all_of, noted, why_not
from deniable.programme.imports import read_mapping
from deniable.programme.imports.channels import Mapping
from deniable.programme.imports.hotline_settings import Assigned, Kept, from_mapping
from deniable.programme.imports.reading import is_name
from deniable.programme.programme import Programme

router = Router(prefix="/import/channels")
Importer = Annotated[Person, require("report")]

MANY = 10_000
"""Targets."""
AT_ONCE = 50
"""Channels on a page."""
EMPTY_LINES = 5
"""For new channels, and for new entries of the class column."""
MOST_CHANGES = 500
"""Of a file, shown before it replaces the channels."""
MOST_CONTENT = 750_000
"""Bytes of such a file, which comes again in base64, in a field of at most a megabyte."""
MOST_LISTED = 2000
"""Names of targets that a browser proposes."""
DONE = {
    "saved": noted("The channels are saved. They apply from the next preview on."),
    "filled": noted("The channels of the file are saved, in place of those before."),
}
THE_FILE = why_not("the file")
NOT_YOURS = noted("Choose a hotline that is assigned to you; an administrator assigns them under Hotlines.")


@dataclass(frozen=True)
class ChannelRow:
    """A channel, or an entry of the class column, and what is chosen for it."""

    name: str
    choice: str = ""
    """The target's name or the class after `is:`, `out` where it is left out, and nothing before it is decided."""
    report_class: str = ""
    left: str = ""
    """The name of its target, where that left the programme."""


@dataclass(frozen=True)
class Choices:
    """What can be chosen for channels and entries of the class column. Public."""

    targets: tuple[str, ...]
    lists_all: bool
    """Whether a menu has all targets; otherwise a name is typed, and the browser proposes some."""
    classes: tuple[str, ...]
    """None where all reports have one class."""
    column: str
    """The one of the export from which a report's class follows; empty where it follows from its channel."""

    @property
    def by_column(self) -> bool:
        return bool(self.column)

    @property
    def asks_class(self) -> bool:
        return bool(self.classes) and not self.by_column


@dataclass(frozen=True)
class ChannelsPage:
    source: str
    choices: Choices
    rows: tuple[ChannelRow, ...]
    values: tuple[ChannelRow, ...]
    empty_lines: range
    """The places of the lines for what is new, after all others."""
    start: int
    """How many channels, and how many entries of the class column, are on the pages before."""
    earlier: int | None
    later: int | None
    without_class: int
    """Channels whose class is not chosen yet, where one is needed."""
    done: Message | None
    error: Message | None
    file_error: Message | None
    """Of the form with a file."""


@dataclass(frozen=True)
class ReplacePage:
    """What a file would change, before it does."""

    source: str
    content: str
    """Of the file, to be sent again."""
    changes: tuple[tuple[str, ChannelRow | None, ChannelRow | None], ...]
    """Channels with what is kept of them now, and with the file; None without a line."""
    more: int
    """Changes that are not shown."""
    seen: str
    """The fingerprint of the channels that are replaced, as this page shows them."""
    is_changed: bool
    """Whether they changed after the person saw what the file replaces."""


@router.get("")
def channels_page(request: Request, person: Importer, programme: CurrentProgramme) -> Response:
    source = _asked(request, person)
    return _page(request, programme, source, number_in(request.query_params.get("start", "")) or 0)


@router.get("/file.csv")
def download(request: Request, person: Importer, programme: CurrentProgramme) -> Response:
    kept = programme.hotlines.kept(_asked(request, person))
    columns, rows = kept.table(programme.all_targets(), has_classes=choices_of(programme, kept).asks_class)
    return csv_response("channels.csv", columns, rows)


@router.post("")
def save(request: Request, person: Importer, programme: CurrentProgramme, fields: Fields) -> Response:
    source, start = _source(request, person, text(fields, "hotline")), number_in(text(fields, "start")) or 0
    try:
        keep(request, programme, source, fields)
    except DeniableError as error:
        return _page(request, programme, source, start, typed=fields, error=refusal(error))
    return _saved(source, "saved", start)


@router.post("/file")
def fill(request: Request, person: Importer, programme: CurrentProgramme, fields: Fields) -> Response:
    """Replace all channels by those of a file, once the person has seen what that changes, and nothing else changed."""
    source, confirmed = _source(request, person, text(fields, "hotline")), text(fields, "content")
    classes, numbers = programme.parameters.classes, programme.numbers()
    try:
        content = _content(fields)
        mapping = read_mapping(io.BytesIO(content), programme.status().targets, classes, programme.naming(), THE_FILE)
        if not confirmed or not _replaced(programme, source, text(fields, "seen"), mapping):
            before = programme.hotlines.kept(source)
            after = from_mapping(mapping, numbers, before)
            after.to_bytes()  # refuses what is too much to keep
            page = _replace_page(programme, source, content, before, after, is_changed=bool(confirmed))
            return render(request, "channels_confirm.html", page)
    except DeniableError as error:
        return _page(request, programme, source, file_error=refusal(error))
    return _saved(source, "filled")


def _replaced(programme: Programme, source: str, seen: str, mapping: Mapping) -> bool:
    """Replace the channels if they are those that the person saw; returns whether they are those of the file now."""
    numbers = programme.numbers()

    def after(kept: Kept) -> Kept:
        return from_mapping(mapping, numbers, kept)

    kept = programme.hotlines.keep(source, lambda kept: after(kept) if _fingerprint(kept) == seen else kept)
    return kept == after(kept)


def _fingerprint(kept: Kept) -> str:
    return hashlib.sha256(kept.to_bytes()).hexdigest()


def _content(fields: FormData) -> bytes:
    """Of the file that is chosen, or of the one that is confirmed."""
    confirmed = text(fields, "content")
    if not confirmed:
        check_chosen(fields, "file")
    content = _decoded(confirmed) if confirmed else uploaded(fields, "file")
    if len(content) > MOST_CONTENT:
        raise DeniableError("the file is too large for the console; import at the terminal, with a mapping file")
    return content


def _decoded(content: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except ValueError:
        return b""  # which is refused as a file without channels


def _replace_page(
    programme: Programme, source: str, content: bytes, before: Kept, after: Kept, *, is_changed: bool
) -> ReplacePage:
    names, present = programme.all_targets(), {*programme.targets()}

    def row(kept: Kept, channel: str) -> ChannelRow | None:
        one = kept.channels.get(channel)
        return None if one is None else row_of(channel, one, names, present)

    changed = [
        channel
        for channel in sorted({*before.channels, *after.channels})
        if before.channels.get(channel) != after.channels.get(channel)
    ]
    return ReplacePage(
        source=source,
        content=base64.b64encode(content).decode("ascii"),
        changes=tuple((channel, row(before, channel), row(after, channel)) for channel in changed[:MOST_CHANGES]),
        more=max(0, len(changed) - MOST_CHANGES),
        seen=_fingerprint(before),
        is_changed=is_changed,
    )


def assigned(request: Request, person: Person) -> tuple[str, ...]:
    console = console_of(request)
    with console.store.reading() as connection:
        return hotlines.assigned_to(connection, console.key, person)


def choices_of(programme: Programme, kept: Kept) -> Choices:
    targets, classes = programme.targets(), programme.parameters.classes
    return Choices(
        targets=targets[:MOST_LISTED],
        lists_all=len(targets) <= FEW,
        classes=tuple(one.name for one in classes) if len(classes) > 1 else (),
        column=kept.class_column or "",
    )


def keep(request: Request, programme: Programme, source: str, fields: FormData) -> Kept:
    """Keep what a form with channels says."""
    asks_class = len(programme.parameters.classes) > 1
    by_column = text(fields, "class_from") == "column" if "class_from" in fields else None
    if by_column is None:
        by_column = programme.hotlines.kept(source).class_column is not None
    channels = _chosen_channels(request, programme, fields, asks_class=asks_class and not by_column)
    values = _chosen_values(programme, fields)
    column = text(fields, "class_column")
    if asks_class and "class_from" in fields and by_column and not is_name(column):
        raise DeniableError("Name the column of the export that says of which class a report is.")

    def changed(kept: Kept) -> Kept:
        made = kept.with_channels(channels).with_values(values)
        return replace(made, class_column=column if by_column else None) if "class_from" in fields else made

    return programme.hotlines.keep(source, changed)


def _chosen_channels(
    request: Request, programme: Programme, fields: FormData, *, asks_class: bool
) -> dict[str, Assigned | None]:
    numbers = programme.numbers()
    classes = {one.name for one in programme.parameters.classes}
    chosen: dict[str, Assigned | None] = {}
    lacking: dict[str, bool] = {}  # channels without a class, and whether they were only proposed
    for row in typed_rows(fields, "channel"):
        if not is_name(row.name):
            raise DeniableError("A channel's name has 1 to 200 printable characters.")
        target = _target(request, programme, row) if row.choice not in {"out", "remove"} else None
        if row.choice == "out":
            chosen[row.name] = Assigned(None)
        elif row.choice == "remove":
            chosen[row.name] = None
        elif target is not None and asks_class and row.report_class not in classes:
            lacking[row.name] = target == row.name and not row.report_class
        elif target is not None:
            chosen[row.name] = Assigned(numbers[target], row.report_class if asks_class else None)
    if not all(lacking.values()):
        raise DeniableError.of(
            len(lacking),
            "Choose a class for the channel {names}.",
            "Choose a class for these {number} channels: {names}.",
            names=all_of(lacking),
        )
    return chosen


def _target(request: Request, programme: Programme, row: ChannelRow) -> str | None:
    """The target that is chosen or typed; None where none is."""
    typed = row.choice.removeprefix("is:")
    if not typed:
        return None
    found = console_of(request).target_search.of(programme.targets()).exact(programme.naming()(typed))
    if found is None:
        a_target = programme.parameters.terms.a_target
        raise DeniableError(
            "For the channel {name}, choose {a_target_word} that takes part in the programme.",
            name=row.name,
            a_target_word=a_target,
        )
    return found


def _chosen_values(programme: Programme, fields: FormData) -> dict[str, str | None]:
    names = {one.name for one in programme.parameters.classes}
    rows = [row for row in typed_rows(fields, "value", may_be_empty=True) if row.choice]
    if any(row.choice != "out" and row.choice.removeprefix("is:") not in names for row in rows):
        raise DeniableError("Choose one of the classes for each entry of the class column.")
    return {row.name: None if row.choice == "out" else row.choice.removeprefix("is:") for row in rows}


def typed_rows(fields: FormData, what: str, *, may_be_empty: bool = False) -> Iterable[ChannelRow]:
    """The rows of a form, as they were filled in; those without a name are left out."""
    for place in [found[1] for found in (re.fullmatch(rf"{what}-(\d+)", name) for name in fields) if found]:
        name, typed = text(fields, f"{what}-{place}"), text(fields, f"{what}-target-{place}")
        choice = text(fields, f"{what}-choice-{place}") or (f"is:{typed}" if typed else "")
        if name or (may_be_empty and choice):
            yield ChannelRow(name, choice, text(fields, f"{what}-class-{place}"))


def _saved(source: str, done: str, start: int = 0) -> Response:
    place = {"start": start} if start else {}
    return redirect(str(URL("/import/channels").include_query_params(hotline=source, done=done, **place)))


def _asked(request: Request, person: Person) -> str:
    """The hotline that the address names, or else the first one."""
    first = next(iter(assigned(request, person)), "")
    return _source(request, person, request.query_params.get("hotline", first))


def _source(request: Request, person: Person, given: str) -> str:
    if given not in assigned(request, person):
        raise Refused(404, NOT_YOURS)
    return given


def _page(
    request: Request,
    programme: Programme,
    source: str,
    start: int = 0,
    *,
    typed: FormData | None = None,
    error: Message | None = None,
    file_error: Message | None = None,
) -> Response:
    names = programme.all_targets()
    if len(names) > MANY:
        takes_long()
    kept, present = programme.hotlines.kept(source), {*programme.targets()}
    rows = [row_of(channel, one, names, present) for channel, one in kept.channels.items()]
    values = [ChannelRow(value, "out" if name is None else f"is:{name}") for value, name in kept.values.items()]
    choices, filled, shown = choices_of(programme, kept), typed or FormData(), slice(start, start + AT_ONCE)
    shown_rows = _with_typed(rows[shown], typed_rows(filled, "channel"))
    shown_values = _with_typed(values[shown], typed_rows(filled, "value", may_be_empty=True))
    last = max(len(shown_rows), len(shown_values))
    page = ChannelsPage(
        source=source,
        choices=choices,
        rows=shown_rows,
        values=shown_values,
        empty_lines=range(last, last + EMPTY_LINES),
        start=start,
        earlier=max(0, start - AT_ONCE) if start else None,
        later=start + AT_ONCE if start + AT_ONCE < max(len(rows), len(values)) else None,
        without_class=sum(one.target is not None and one.report_class is None for one in kept.channels.values())
        if choices.asks_class
        else 0,
        done=None if error or file_error else done_message(request, DONE),
        error=error,
        file_error=file_error,
    )
    return render(request, "channels.html", page, 422 if error or file_error else 200)


def _with_typed(rows: list[ChannelRow], typed: Iterable[ChannelRow]) -> tuple[ChannelRow, ...]:
    """As they were filled in, and those that are new after them."""
    filled = {row.name: row for row in typed}
    return tuple([filled.pop(row.name, row) for row in rows] + [*filled.values()])


def row_of(channel: str, one: Assigned, names: tuple[str, ...], present: set[str]) -> ChannelRow:
    """What is kept of a channel. names: of all targets, by number; present: of those that take part."""
    if one.target is None:
        return ChannelRow(channel, "out")
    if names[one.target] not in present:
        return ChannelRow(channel, "", one.report_class or "", left=names[one.target])
    return ChannelRow(channel, f"is:{names[one.target]}", one.report_class or "")
