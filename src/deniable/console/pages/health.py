"""Health: rounds, publication, key and backup; and a backup to take away."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import sqlalchemy as sa
from starlette.requests import Request
from starlette.responses import Response

from deniable.console import tables
from deniable.console.accounts.people import Person
from deniable.console.console import Console
from deniable.console.pages.common import refusal, sentence
from deniable.console.pages.published import verified
from deniable.console.remembered import Paced
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, may, require
from deniable.errors import DeniableError
from deniable.programme import backup
from deniable.programme.parameters import Parameters
from deniable.programme.programme import Programme
from deniable.programme.public.page import day_in_words, due_in_words
from deniable.programme.secrets.lock import CHECK, KeyChangedError
from deniable.programme.status import Status
from deniable.programme.transcript.waiting import Waiting
from deniable.storage.tables import lock, secrets
from deniable.wording import count

router = Router()

_looking = Paced()

BACKED_UP = "downloaded a backup"
"""What the activity log says of it, by which this page knows when the last one was made."""
BACKUP_LASTS = timedelta(days=31)


State = Literal["good", "warn", "wrong"]


@dataclass(frozen=True)
class Check:
    what: str
    state: State
    word: str
    details: str


@dataclass(frozen=True)
class HealthPage:
    """The same whatever was reported."""

    checks: tuple[Check, ...]
    wrong: int
    """How many are not good."""
    may_back_up: bool
    error: str | None


@router.get("/health")
def health_page(request: Request, person: Annotated[Person, require("health")]) -> Response:
    return _looking(partial(_page, request, person))


@router.post("/health/backup")
def back_up(request: Request, person: Annotated[Person, require("people")], _: Fields) -> Response:
    console = console_of(request)
    name = f"deniable-{console.clock().astimezone(UTC):%Y-%m-%d}.backup"
    try:
        programme = console.programme()
        if programme is not None and not programme.status().ended:
            programme.renew()  # or else two backups would tell the administrator whether reports came in between
        with tempfile.TemporaryDirectory() as folder:  # what is secret in it is encrypted
            path = Path(folder) / name
            backup.write(console.store, path) if programme is None else programme.backup(path)
            content = path.read_bytes()
    except DeniableError as error:
        return _page(request, person, refusal(error))
    console.record(person, BACKED_UP)
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=disposition, media_type="application/octet-stream")


def _page(request: Request, person: Person, error: str | None = None) -> Response:
    console = console_of(request)
    programme = console.programme()
    checks = (*([_NO_PROGRAMME] if programme is None else _programme(request, programme)), *_office(console))
    wrong = sum(check.state != "good" for check in checks)
    page = HealthPage(checks, wrong, may(person, "people"), error)
    return render(request, "health.html", page, 422 if error else 200)


_NO_PROGRAMME = Check("Programme", "warn", "none yet", "Somebody who is an auditor begins one under Plan.")


def _programme(request: Request, programme: Programme) -> Iterator[Check]:
    status = programme.status()
    yield _rounds(status)
    if status.waiting is not None and not status.ended:
        yield from _frozen(console_of(request), programme.parameters, status.waiting)
    behind = _behind(programme)
    if behind is not None:
        yield Check("Database", "wrong", "cannot go on", behind)
    elif not status.ended:
        yield _second_place(console_of(request), status)
    if status.is_paused and not status.ended:
        yield Check("Imports", "warn", "paused", _PAUSED)
    if status.folder is None:
        yield Check("Publication", "warn", "not published", "Nothing was published yet, not even the rules.")
        return
    waiting = status.entries - status.published
    if behind is None and waiting:
        yield Check("Publication", "warn", "behind", f"Entries that are not published yet: {waiting}.")
    elif behind is None:
        yield Check("Publication", "good", "up to date", f"Everything is published in {status.folder}.")
    found = verified(console_of(request), programme, status.folder)
    remarks = " ".join(found.remarks)
    if not found.ok:
        yield Check("Public files", "wrong", "do not check out", remarks)
    else:
        yield Check("Public files", "good", "in order", f"Complete, unaltered and signed. {remarks}".strip())


_PAUSED = (
    "Since the database was recovered, reports that hotlines bring and machines push do not count: they may have been "
    "counted before. Import every hotline's newest export once. Then an auditor lets new reports count again, under "
    "Import or at the terminal with deniable programme resume-imports."
)


def _rounds(status: Status) -> Check:
    due = due_in_words(status.parameters.calendar, status.open_round).words
    waiting = status.waiting
    first = "" if waiting is None else f" Round {waiting.round} must be drawn first."
    if status.ended:
        return Check("Rounds", "good", "ended", "The programme has ended.")
    if status.overdue > 1:
        late = f"Rounds {status.open_round} to {status.open_round + status.overdue - 1} are due and not closed."
        return Check("Rounds", "wrong", "overdue", f"{late}{first}")
    if status.overdue:
        late = f"Round {status.open_round} was due on {due} and is not closed."
        return Check("Rounds", "warn", "due", f"{late}{first}")
    return Check("Rounds", "good", "in time", f"Round {status.open_round} closes on {due}.")


def _frozen(console: Console, parameters: Parameters, waiting: Waiting) -> Iterator[Check]:
    """The round that waits, since when, and what to do."""
    frozen, source, now = console.public_records.current(parameters).waiting, parameters.randomness, console.clock()
    if frozen is None or source is None:  # it was drawn this moment
        return
    what = "Frozen round"
    if now < waiting.expected:
        later = "two of you enter the numbers" if frozen.is_thrown else "draw it, unless deniable programme run does"
        yield Check(what, "good", "waits", f"{frozen.now} Then {later}, under Round.")
    elif now < waiting.without_from(source.days):
        first = "two of you enter the numbers" if frozen.is_thrown else "fetch the value"
        yield Check(what, "warn", "to be drawn", f"{frozen.now} Under Round, {first}, and it is drawn.")
    else:
        days = count(source.days, "day")
        late = f"It has waited for more than {days}: bring the value, or decide under Round to draw without it."
        yield Check(what, "wrong", "not drawn", f"{frozen.now} {late}")


def _behind(programme: Programme) -> str | None:
    """Why the database must not go on: a copy of the transcript is newer, differs or is away. None if it may."""
    try:
        programme.check_current()
    except KeyChangedError:  # which this page says in its own words
        return None
    except DeniableError as error:
        return sentence(refusal(error))
    return None


def _second_place(console: Console, status: Status) -> Check:
    """Where the transcript is kept besides the database."""
    what, copy = "Second copy", console.copy
    if copy is not None and copy.is_writable():
        try:
            head = copy.head()
        except DeniableError as error:
            return Check(what, "wrong", "unreadable", sentence(refusal(error)))
        if head is not None and head.entries == status.entries:
            return Check(what, "good", "up to date", "The transcript is kept beside the key file, too.")
        return Check(what, "warn", "behind", "The copy of the transcript beside the key file lacks entries. The next "
            "entry completes it.")  # fmt: skip
    why = (
        "The programme is locked with a passphrase, so there is no key file beside which the transcript is kept."
        if copy is None
        else "The copy of the transcript beside the key file cannot be written: its folder is away or is read-only."
    )
    if status.folder is None:
        return Check(what, "wrong", "none", f"{why} No round can be closed before the programme is published: what is "
            "drawn must be kept outside the database, too.")  # fmt: skip
    state: State = "good" if copy is None else "warn"
    return Check(what, state, "public folder", f"{why} What is drawn is published at once instead.")


def _office(console: Console) -> Iterator[Check]:
    with console.store.reading() as connection:
        kdf = connection.execute(sa.select(lock.c.kdf)).scalar_one()
        sealed = connection.execute(sa.select(secrets.c.blob).where(secrets.c.name == CHECK)).scalar()
        made = sa.select(sa.func.max(tables.activity.c.day)).where(tables.activity.c.action == BACKED_UP)
        last = connection.execute(made).scalar()
    if sealed is None or not console.vault.matches(bytes(sealed)):
        yield Check("Key", "wrong", "changed", "The key was changed since the console started; start it again.")
    else:
        is_file = kdf is None
        kind = "its key file" if is_file else "its passphrase"
        where = " The terminal said where the file is when the programme was set up." if is_file else ""
        yield Check(
            "Key", "good", "fits",
            f"The database is unlocked with {kind}. Keep a copy in a safe place, apart from the database and its "
            f"backups: without it the programme cannot go on.{where}",
        )  # fmt: skip
    elsewhere = "Backups made at the terminal are not listed here."
    if last is None:
        yield Check("Backup", "warn", "none", f"No backup was downloaded yet. {elsewhere}")
        return
    day = date.fromisoformat(last)
    words = f"The last one was downloaded on {day_in_words(day).words}. {elsewhere}"
    fresh = console.clock().astimezone(UTC).date() - day <= BACKUP_LASTS
    yield Check("Backup", "good", "made", words) if fresh else Check("Backup", "warn", "old", words)
