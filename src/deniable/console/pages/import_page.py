"""What the page Import shows: the form, what was imported just now, and what can be taken back."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.pages.channels import assigned
from deniable.console.pages.common import auditors_of, done_message
from deniable.console.pages.published import helpers_of
from deniable.console.pages.recent_imports import RecentImport, recent_imports
from deniable.console.rendering import render
from deniable.console.security import MOST_MEGABYTES, console_of, may, text
from deniable.console.voices import voice_of
from deniable.languages.voice import Voice
from deniable.message import Message, noted
from deniable.programme.calendar import Calendar
from deniable.programme.imports import EXPORTS
from deniable.programme.imports.which_rows_count import MOST_DISTINCT
from deniable.programme.programme import Programme
from deniable.programme.status import PAUSED
from deniable.programme.ticker import COUNTED_EVERY

UNDER_WAY = "under-way"
DONE = {
    "counted": noted("The file is imported. What was counted before is not counted again."),
    "noted": noted("The file is noted. Nothing in it is counted, now or later."),
    "paused": noted("The file is noted. Imports are paused, so nothing in it counts, now or later."),
    UNDER_WAY: noted(
        "The file is being imported: it is a large one, and that goes on while you do other things. If the console is "
        "stopped within the next hour, import the file again; nothing counts twice."
    ),
    "choose-again": noted(
        "The channels are saved. More than {most} in this file were new, so choose it again.", most=MOST_DISTINCT
    ),
    "dropped": noted(
        "The console has forgotten the file, and nothing was counted. Your own copy of the file is still there."
    ),
    "taken-back": noted("The import was taken back. None of its reports counts, and you can import the file again."),
    "resumed": noted("Imports count again from now on. Publish under Public record, so that the public sees it, too."),
}
EXAMPLE = (("id", "channel"), ("1041", "north plant"), ("1042", "south plant"), ("1043", "north plant"))


class Imported(NamedTuple):
    outcome: str
    """A key of `DONE`."""
    file: str
    """Its name, as the person's computer has it."""
    is_whole: bool
    """Whether the file is not needed again."""
    is_open: bool
    """Whether the import can still be taken back."""


class FinalAt(NamedTuple):
    """When what came in up to now can no longer be taken back, by the office's clocks."""

    time: str
    zone: str


@dataclass(frozen=True)
class ImportPage:
    """The same whatever was reported."""

    ended: bool
    was_stopped_at_last_tick: bool
    """Whether the programme could not go on with its database then."""
    kinds: tuple[tuple[str, str], ...]
    kind: str
    sources: tuple[tuple[str, str], ...]
    """The hotlines that this person brings, each twice: as it is and as it is shown."""
    source: str
    has_classes: bool
    megabytes: int
    """The most that a file may have."""
    recent: tuple[RecentImport, ...]
    """What this person can take back, or what was asked to be taken back."""
    final_at: FinalAt
    paused: Message | None
    """That imports are paused, if they are."""
    may_resume: bool
    """Whether this person can end that."""
    reason: str
    auditors: tuple[str, ...]
    """Who can help, by name."""
    administrators: tuple[str, ...]
    """Who can add or assign a hotline, by name, where this person can bring none; none otherwise."""
    brings_all: bool
    """Whether this person can bring every hotline that there is."""
    example: tuple[tuple[str, str], ...]
    """A table that can be imported."""
    shows_files: bool
    """Whether a file was refused, so that the page says which file it needs."""
    expected_columns: tuple[str, ...]
    other_columns: tuple[str, ...]
    """Of a file that was refused because of them."""
    done: Message | None
    imported: Imported | None
    """What was imported just now, where the name of its file is known; `done` says it otherwise."""
    error: Message | None


def page(
    request: Request,
    person: Person,
    programme: Programme,
    fields: FormData | None = None,
    error: Message | None = None,
) -> Response:
    shown = page_of(request, person, programme, fields, error)
    return render(request, "import.html", shown, 422 if error else 200)


def page_of(
    request: Request, person: Person, programme: Programme, fields: FormData | None, error: Message | None
) -> ImportPage:
    filled, status, say = fields or FormData(), programme.status(), voice_of(request)
    sources, recent = assigned(request, person), recent_imports(request, person, programme)
    return ImportPage(
        ended=status.ended,
        was_stopped_at_last_tick=not status.ended and programme.was_stopped_at_last_tick(),
        kinds=tuple((name, say(export.label)) for name, export in EXPORTS.items()),
        kind=text(filled, "kind"),
        sources=tuple((name, name) for name in sources),
        source=text(filled, "source"),
        has_classes=len(programme.parameters.classes) > 1,
        megabytes=MOST_MEGABYTES,
        recent=recent,
        final_at=_final_at(console_of(request).clock(), programme.parameters.calendar, say),
        paused=PAUSED if status.is_paused else None,
        may_resume=status.is_paused and may(person, "resume"),
        reason=text(filled, "reason"),
        auditors=auditors_of(request),
        administrators=helpers_of(console_of(request)).administrators if not sources else (),
        brings_all=may(person, "counts"),
        example=EXAMPLE,
        shows_files=False,
        expected_columns=(),
        other_columns=(),
        done=None if error else done_message(request, DONE),
        imported=None if error else _imported(request, person, recent),
        error=error,
    )


def _final_at(now: datetime, calendar: Calendar, say: Voice) -> FinalAt:
    """The next full five minutes."""
    counted = datetime.fromtimestamp((now.timestamp() // COUNTED_EVERY + 1) * COUNTED_EVERY, ZoneInfo(calendar.zone))
    return FinalAt(say.digits(f"{counted:%H:%M}"), calendar.zone)


def _imported(request: Request, person: Person, recent: tuple[RecentImport, ...]) -> Imported | None:
    """The newest import of this person; the address has no name of a file."""
    outcome, accepted = request.query_params.get("done", ""), console_of(request).pending_imports.accepted_by(person.id)
    newest = (one for one in accepted[-1:] if one.file and outcome in (one.outcome, UNDER_WAY))
    open_ = {one.name for one in recent if one.state == "open"}
    return next((Imported(outcome, one.file, one.is_whole, one.name in open_) for one in newest), None)
