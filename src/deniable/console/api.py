"""The JSON API: machines send reports and read the status, with a token that the administrator made.

What it answers says nothing about the counts: neither its status nor its size depends on them.
"""

import json
import re
from asyncio import wrap_future
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from deniable.console.accounts import tokens
from deniable.console.accounts.tokens import Scope, Token
from deniable.console.console import Console
from deniable.console.remembered import takes_long
from deniable.console.security import console_of, quickly
from deniable.errors import MAX_REPORTS, DeniableError, PlaceError
from deniable.programme import counting
from deniable.programme.access import EndedError
from deniable.programme.programme import Programme
from deniable.programme.secrets.lock import KeyChangedError
from deniable.programme.ticker import StillWaitingError
from deniable.storage.store import StoreError

LONGEST_ID = 100
FEW = 100
"""Targets of a push that are counted at once; more of them in a thread."""

router = APIRouter(prefix="/api/v1")
_bearer = HTTPBearer(auto_error=False, description="A token that the administrator made in the console.")


def needs(scope: Scope) -> Any:
    """A dependency: the request carries a token for this."""

    async def check(request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> Token:
        token = await quickly(request, partial(_token, console_of(request), given, scope))
        request.state.token = token
        return token

    return Depends(check)


def _token(console: Console, given: HTTPAuthorizationCredentials | None, scope: Scope) -> Token:
    found = None
    if given is not None:
        with console.store.reading() as connection:
            found = tokens.find(connection, console.key, given.credentials)
    if found is None:
        raise HTTPException(401, "This needs a token: Authorization: Bearer …", {"WWW-Authenticate": "Bearer"})
    if scope not in found.scopes:
        raise HTTPException(403, f"This token is not for {scope}.")
    return found


class _Document(BaseModel, extra="forbid", strict=True):
    """What comes in or goes out: the fields that it names, of exactly these types."""


class Push(_Document):
    id: Annotated[
        str,
        Field(
            min_length=1,
            max_length=LONGEST_ID,
            pattern="^[ -~]+$",
            description="Your own name for this push, in printable ASCII characters. Choose another for every push, "
            "and the same when you send one again.",
            examples=["2026-03-02/17"],
        ),
    ]
    reports: Annotated[
        dict[str, Annotated[int, Field(ge=1, le=MAX_REPORTS)]],
        Field(
            description="How many new reports there are, by the target's name. A number above the maximum counts as "
            "the maximum; a name that comes twice counts with both numbers.",
            examples=[{"Ash Mill": 2}],
        ),
    ]
    class_: Annotated[
        str | None,
        Field(
            alias="class",
            description="The class of all these reports: one of those that the status names. It may be left out where "
            "there is only one. Choose it from what a report says, and never from what else was reported.",
            examples=["minor"],
        ),
    ] = None


class Pushed(_Document):
    counted: Annotated[
        bool,
        Field(
            description="Whether these reports count. False while pushes are paused, after the office recovered "
            "its database: these reports may have been counted before, and never count. Also false after the last "
            "round is closed, when no draw follows; reports of a class that leads to a visit still count then."
        ),
    ]
    left_out: Annotated[
        list[str],
        Field(
            description="The names that do not count: no target of this name takes part, or the number is not valid. "
            "Characters that cannot be printed are escaped."
        ),
    ]


class ProgrammeStatus(_Document):
    programme: Annotated[str, Field(description="The name of the programme.")]
    round: Annotated[
        int | None, Field(description="The open round. Null after the last round, or the end of the programme.")
    ]
    due: Annotated[
        str | None,
        Field(description="When it is due. Null where no round is open.", json_schema_extra={"format": "date-time"}),
    ]
    overdue: Annotated[int, Field(description="Rounds that are due and not closed.")]
    entries: Annotated[int, Field(description="Entries of the transcript.")]
    published: Annotated[int, Field(description="Entries that are published.")]
    targets: Annotated[list[str], Field(description="The names of the targets that take part.")]
    classes: Annotated[
        dict[str, int | Literal["visit"]],
        Field(
            description="The classes of reports, and how often a report of each counts; visit where it leads to a "
            "visit at once, and the guarantee does not cover it."
        ),
    ]
    paused: Annotated[
        bool, Field(description="Whether pushes are paused and do not count, after the office recovered its database.")
    ]
    ended: Annotated[bool, Field(description="Whether the programme is over.")]


class Refusal(_Document):
    error: Annotated[str, Field(description="What is wrong, in a sentence.")]


_REFUSALS = {
    400: "The request cannot be read.",
    401: "There is no token, or it was revoked.",
    403: "The token does not allow this.",
    409: "There is no programme, or it has ended.",
    413: "The request is too large.",
    422: "The id is not valid, the body is not of this form, or there is no such class. Nothing was counted.",
    429: "Too much that this token sent before waits to be counted. Send it again in a minute, with the same id.",
    503: "The database cannot be used or is an old one, or the console is not set up yet. Try later.",
}


def _refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"description": _REFUSALS[status], "model": Refusal} for status in statuses}


@router.post(
    "/reports",
    summary="Send reports",
    response_description="The push was received and is on the disk.",
    responses=_refusals(400, 401, 403, 409, 413, 422, 429, 503),
    # Not as a parameter: the framework would read the body before it looks at the token.
    openapi_extra={
        "requestBody": {"required": True, "content": {"application/json": {"schema": Push.model_json_schema()}}}
    },
)
async def push(request: Request, _: Annotated[Token, needs("reports")]) -> Pushed:
    """Counts new reports in the open round. Push at fixed times, and not because a report came: the promise does not
    cover that. It leaves out reports about targets that do not take part, and numbers that are not whole numbers from
    1; all others count. If no answer comes, send the push again with the same id and the same token: it counts once,
    however often it comes. The answer is the same however many reports there are. A second takes in what a token sends
    about 256 targets.
    """
    body, given, console = await request.body(), await _bearer(request), console_of(request)
    sent = _pushed(body)
    with _told():
        pushed, written = await quickly(request, partial(_bring, console, given, sent))
        await wrap_future(written)
    left_out = map(_printable, dict.fromkeys([*pushed.left_out, *sent.invalid]))
    return Pushed(counted=pushed.is_counted, left_out=[*left_out])


def _bring(
    console: Console, given: HTTPAuthorizationCredentials | None, sent: "_Sent"
) -> "tuple[counting.Pushed, Future[None]]":
    """No report decides whether others count: what does not take part, or is not valid, holds nothing back."""
    if len(sent.reports) > FEW:
        takes_long()
    token = _token(console, given, "reports")  # it may have been revoked while the body came
    programme = _programme(console)
    names = [one.name for one in programme.parameters.classes]
    if sent.report_class not in (names if len(names) > 1 else [*names, None]):
        raise HTTPException(422, f"The class must be one of: {', '.join(names)}.")
    return programme.bring_push(token.id, sent.id, sent.reports, sent.report_class)


def _printable(name: str) -> str:
    return name if name.isprintable() else name.encode("unicode_escape").decode("ascii")


@router.get(
    "/status",
    summary="Read the status",
    response_description="The status.",
    responses=_refusals(401, 403, 409, 503),
)
def status(request: Request, _: Annotated[Token, needs("status")]) -> ProgrammeStatus:
    """Where the programme stands: public facts only."""
    with _told():
        now = _programme(console_of(request)).status()
    return ProgrammeStatus(
        programme=now.parameters.name,
        round=now.open_round if now.has_open_round else None,
        due=now.due.isoformat() if now.has_open_round else None,
        overdue=now.overdue,
        entries=now.entries,
        published=now.published,
        targets=list(now.targets),
        classes={one.name: one.weight or "visit" for one in now.parameters.classes},
        paused=now.is_paused,
        ended=now.ended,
    )


def _programme(console: Console) -> Programme:
    programme = console.programme()
    if programme is None:
        raise HTTPException(409, "There is no programme yet.")
    return programme


@contextmanager
def _told() -> Iterator[None]:
    """What a sender is told of what is refused."""
    try:
        yield
    except (StoreError, KeyChangedError):
        raise
    except StillWaitingError:
        later = "Too much that this token sent before is not counted yet. Send this again in a minute."
        raise HTTPException(429, later, {"Retry-After": "60"}) from None
    except EndedError:
        raise HTTPException(409, "The programme has ended.") from None
    except PlaceError as error:  # a copy of the transcript is in trouble: not the sender's fault
        raise HTTPException(503, str(error.elsewhere)) from None
    except DeniableError as error:
        raise HTTPException(422, str(error.elsewhere)) from None


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as it was sent, a name that comes twice included."""


@dataclass(frozen=True, repr=False)
class _Sent:
    id: str
    """The sender's own name of the push."""
    report_class: str | None
    reports: Mapping[str, int]
    invalid: Sequence[str]
    """Names whose number is not valid."""


def _pushed(body: bytes) -> _Sent:
    """What is wrong with a push as a whole is told without quoting it."""
    try:
        sent = json.loads(body, object_pairs_hook=_Pairs, parse_int=_whole, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        raise HTTPException(400, "The body must be one JSON object.") from None
    fields = dict(sent) if isinstance(sent, _Pairs) else {}
    if (
        fields.keys() - {"class"} != {"id", "reports"}
        or len(fields) != len(sent)
        or not isinstance(fields["reports"], _Pairs)
        or not isinstance(fields.get("class", ""), str | None)
    ):
        raise HTTPException(
            422,
            'The body must be {"id": "your name for this push", "reports": {"target": number}}, with "class": "its '
            'name" beside them where there are several classes of reports.',
        )
    id_ = fields["id"]
    if not isinstance(id_, str) or not re.fullmatch(f"[ -~]{{1,{LONGEST_ID}}}", id_):
        raise HTTPException(422, f"The id must have 1 to {LONGEST_ID} printable ASCII characters.")
    reports, invalid = dict[str, int](), list[str]()
    for name, number in fields["reports"]:
        if type(number) is int and number >= 1:
            reports[name] = min(reports.get(name, 0) + number, MAX_REPORTS)
        else:
            invalid.append(name)
    return _Sent(id_, fields.get("class"), reports, invalid)


def _whole(digits: str) -> int:
    """However many there are: of a number that long the rest does not matter."""
    return int(digits[:20])
