"""Health: whether all is in order, what to do where it is not, and a backup to take away."""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from deniable.console.accounts.people import Person
from deniable.console.console import Console
from deniable.console.pages.common import refusal
from deniable.console.pages.health_checks import BACKED_UP, Check, checks_of
from deniable.console.pages.notices import Notices, notices_of
from deniable.console.pages.published import Helpers, helpers_of
from deniable.console.remembered import Paced
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import Fields, console_of, may, require
from deniable.console.voices import voice_of
from deniable.errors import DeniableError
from deniable.message import Message
from deniable.programme import backup

router = Router()

_looking = Paced()


@dataclass(frozen=True)
class HealthPage:
    """The same whatever was reported."""

    attention: tuple[Check, ...]
    """What is not in order, the worst first."""
    good: tuple[Check, ...]
    notices: Notices
    may_back_up: bool
    deciders: tuple[str, ...]
    """Whom an administrator tells, who may not do it."""
    administrators: tuple[str, ...]
    """Whom to tell of what the reader cannot do; empty where the reader is one of them."""
    helpers: Helpers
    """Who puts the public files right."""
    ended: bool
    """Whether the programme is over, and key and backups are to be destroyed."""
    error: Message | None


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
        check = (lambda: None) if programme is None else programme.check_kept
        file = backup.nameless(console.store, room_for_backups(console), check)
    except DeniableError as error:
        return _page(request, person, refusal(error))
    console.record(person, BACKED_UP)
    size = os.fstat(file.fileno()).st_size
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Content-Length": str(size)}
    return StreamingResponse(_pieces(file), headers=headers, media_type="application/octet-stream")


def room_for_backups(console: Console) -> Path:
    """The folder of the database, or that of the key where the database is on a server: the folder for temporary files
    may be a small part of the memory. What is secret in a backup is encrypted.
    """
    beside = console.store.file or (None if console.copy is None else console.copy.path)
    return Path(tempfile.gettempdir()) if beside is None else beside.parent


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(2**18):
            yield piece


def _page(request: Request, person: Person, error: Message | None = None) -> Response:
    console = console_of(request)
    programme = console.programme()
    checks = checks_of(console, programme, voice_of(request))
    attention = sorted((check for check in checks if check.state != "good"), key=lambda check: check.state != "wrong")
    good = tuple(check for check in checks if check.state == "good")
    helpers, is_one = helpers_of(console), may(person, "people")
    status = None if programme is None else programme.status()
    told = (
        Notices() if programme is None or status is None else notices_of(console, programme, status, voice_of(request))
    )
    page = HealthPage(
        attention=tuple(attention),
        good=good,
        notices=Notices(told.lost_until),
        may_back_up=is_one,
        deciders=helpers.publishers if is_one else (),
        administrators=() if is_one else helpers.administrators,
        helpers=helpers,
        ended=status is not None and status.ended,
        error=error,
    )
    return render(request, "health.html", page, 422 if error else 200)
