"""Health: rounds, publication, key and backup; and a backup to take away."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from pathlib import Path
from typing import Annotated, Literal

import sqlalchemy as sa
from fastapi import APIRouter, Request
from fastapi.responses import Response

from deniable.errors import DeniableError
from deniable.programme import backup, tables
from deniable.programme.ledger import Programme
from deniable.programme.locking import CHECK
from deniable.programme.page import day_in_words, due_in_words
from deniable.web.accounts.people import Person
from deniable.web.console import Console
from deniable.web.pages.common import refusal
from deniable.web.pages.transcript import verified
from deniable.web.rendering import render
from deniable.web.security import Fields, console_of, may, require

router = APIRouter()

BACKED_UP = "downloaded a backup"
"""What the activity log says of it, by which this page knows when the last one was made."""
BACKUP_LASTS = timedelta(days=31)


@dataclass(frozen=True)
class Check:
    what: str
    state: Literal["good", "warn", "wrong"]
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
    return _page(request, person)


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
            backup.write(console.store, path)
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
    due = due_in_words(status.parameters.calendar, status.open_round).words
    if status.ended:
        yield Check("Rounds", "good", "ended", "The programme has ended.")
    elif status.overdue > 1:
        late = f"Rounds {status.open_round} to {status.open_round + status.overdue - 1} are due and not closed."
        yield Check("Rounds", "wrong", "overdue", late)
    elif status.overdue:
        yield Check("Rounds", "warn", "due", f"Round {status.open_round} was due on {due} and is not closed.")
    else:
        yield Check("Rounds", "good", "in time", f"Round {status.open_round} closes on {due}.")
    waiting = status.entries - status.published
    if status.folder is None:
        yield Check("Publication", "warn", "not published", "Nothing was published yet, not even the rules.")
        return
    if waiting:
        yield Check("Publication", "warn", "behind", f"Entries that are not published yet: {waiting}.")
    else:
        yield Check("Publication", "good", "up to date", f"Everything is published in {status.folder}.")
    found = verified(status.folder, request)
    remarks = " ".join(found.remarks)
    if not found.ok:
        yield Check("Public files", "wrong", "do not check out", remarks)
    else:
        yield Check("Public files", "good", "in order", "Complete, unaltered and signed. " + remarks)


def _office(console: Console) -> Iterator[Check]:
    with console.store.reading() as connection:
        kdf = connection.execute(sa.select(tables.lock.c.kdf)).scalar_one()
        sealed = connection.execute(sa.select(tables.secrets.c.blob).where(tables.secrets.c.name == CHECK)).scalar()
        made = sa.select(sa.func.max(tables.activity.c.day)).where(tables.activity.c.deed == BACKED_UP)
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
