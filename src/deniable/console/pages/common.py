"""What several pages share: the programme, its public record, bars, and where to go next."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import sqlalchemy as sa
from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException

from deniable.console.console import Console
from deniable.console.security import console_of
from deniable.errors import DeniableError, elsewhere
from deniable.programme.programme import Programme
from deniable.programme.secrets.lock import KeyChangedError
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript_copies import StoredTranscript, all_lines
from deniable.storage import tables
from deniable.storage.store import Store, StoreError


def current_programme(request: Request) -> Programme:
    """The programme; refused before one was planned."""
    programme = console_of(request).programme()
    if programme is None:
        raise HTTPException(404, "There is no programme yet; somebody who is an auditor begins one under Plan.")
    return programme


CurrentProgramme = Annotated[Programme, Depends(current_programme)]
"""Named after the person in a route's signature, so that only who may see the page learns this."""


def why_hidden(request: Request, programme: Programme, record: "Record") -> str | None:
    """Why this record, which was read before, must not be shown yet: it is not what the office signed, or no copy
    outside the database has all of it and none can be made.
    """
    copy = console_of(request).copy
    try:
        transcript = StoredTranscript(programme.parameters, record.lines, record.head, programme.status().folder)
        if not transcript.is_kept([] if copy is None else [copy]):
            programme.keep_copy()
    except DeniableError as error:
        return refusal(error)
    return None


def copied_programme(request: Request) -> Programme:
    """The programme, for pages that may show what was drawn."""
    programme = current_programme(request)
    copied_record(request, programme)
    return programme


def copied_record(request: Request, programme: Programme) -> "Record":
    """The public transcript; refused where it must not be shown yet."""
    record = read_record(console_of(request).store)
    hidden = why_hidden(request, programme, record)
    if hidden is not None:
        raise HTTPException(503, hidden)
    return record


CopiedProgramme = Annotated[Programme, Depends(copied_programme)]
"""Named after the person, too."""


_parsed = lru_cache(maxsize=10_000)(parse)  # public, never changed, and asked for with every page of the transcript


@dataclass(frozen=True)
class Record:
    """The public transcript as the database has it."""

    lines: tuple[str, ...]
    head: str
    """The line of the signed head."""

    @property
    def entries(self) -> list[Entry]:
        return [_parsed(line) for line in self.lines]


def read_record(store: Store) -> Record:
    """All of it at one moment."""
    with store.reading() as connection:
        lines = all_lines(connection)
        head = connection.execute(sa.select(tables.programme.c.head)).scalar_one()
    return Record(tuple(lines), head)


@dataclass(frozen=True)
class Bar:
    """Confidential."""

    name: str
    reports: int
    share: str
    """Of the longest bar, in per cent."""


def bars(counts: Mapping[str, int]) -> tuple[Bar, ...]:
    """The most reports first."""
    longest = max(counts.values(), default=0) or 1
    ordered = sorted(counts.items(), key=lambda pair: -pair[1])
    return tuple(Bar(name, count, f"{100 * count / longest:.1f}%") for name, count in ordered)


def redirect(path: str, done: str | None = None) -> RedirectResponse:
    """After a form: the browser fetches the page anew, so that reloading it repeats nothing."""
    return RedirectResponse(path if done is None else f"{path}?done={done}", 303)


def done_message(request: Request, sentences: Mapping[str, str]) -> str | None:
    """What the page says was done; only our own sentences, whatever the address says."""
    return sentences.get(request.query_params.get("done", ""))


def refusal(error: DeniableError) -> str:
    """What the form says of it. Where the database or its key is in trouble, that is not the form's fault."""
    if isinstance(error, StoreError | KeyChangedError):
        raise error
    return elsewhere(error)


def sentence(words: str) -> str:
    """With a capital and a full stop, where words of the programme stand alone."""
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "?", "!")) else ".")


def signed_out(console: Console) -> Response:
    """Where a person goes whose session has ended."""
    response = RedirectResponse("/login", 303)
    response.delete_cookie(
        console.cookie_name("session"), path="/", secure=console.secure, httponly=True, samesite="strict"
    )
    return response
