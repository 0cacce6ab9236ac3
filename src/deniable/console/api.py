"""The JSON API: machines push counts and read the status, with a token that the administrator made.

What it answers says nothing about the counts: neither its status nor its size depends on them.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NoReturn

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException

from deniable.console.accounts import tokens
from deniable.console.accounts.tokens import Scope, Token
from deniable.console.console import Console
from deniable.console.security import console_of
from deniable.errors import MAX_REPORTS, DeniableError, PlaceError, elsewhere
from deniable.programme.programme import Programme
from deniable.programme.secrets.lock import KeyChangedError
from deniable.storage.store import StoreError

LONGEST_ID = 100

router = APIRouter(prefix="/api/v1")
_bearer = HTTPBearer(auto_error=False, description="A token that the administrator made in the console.")


def needs(scope: Scope) -> Any:
    """A dependency: the request carries a token for this."""

    def check(request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> Token:
        return _token(console_of(request), given, scope)

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


def _json(**properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"application/json": {"schema": schema}}


def _answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    told = {
        400: "The request cannot be read.",
        401: "No token, or one that was revoked.",
        403: "The token is for something else.",
        409: "There is no programme, or it has ended.",
        413: "The request is too large.",
        422: "The id, a target's name or a count is not valid. Nothing was counted.",
        503: "The database cannot be used or is an old one, or the console is not set up yet. Try later.",
    }
    return {status: {"description": told[status], "content": _json(error={"type": "string"})} for status in statuses}


_ID = {
    "type": "string",
    "minLength": 1,
    "maxLength": LONGEST_ID,
    "pattern": "^[ -~]+$",
    "description": "Your own name for this push, in printable ASCII characters. Choose another for every push, and the "
    "same when you send one again.",
    "example": "2026-03-02/17",
}
_COUNTS = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {"type": "integer", "minimum": 1, "maximum": MAX_REPORTS},
    "description": "How many new reports there are, by the target's name in printable characters.",
    "example": {"Ash Mill": 2},
}
_STATUS = {
    "programme": {"type": "string", "description": "Its name."},
    "round": {"type": "integer", "description": "The open round."},
    "due": {"type": "string", "format": "date-time", "description": "When it is due."},
    "overdue": {"type": "integer", "description": "Rounds that are due and not closed."},
    "entries": {"type": "integer", "description": "Entries of the transcript."},
    "published": {"type": "integer", "description": "Entries that are published."},
    "targets": {"type": "array", "items": {"type": "string"}, "description": "Those that take part."},
    "paused": {
        "type": "boolean",
        "description": "Whether pushes do not count at present, since the office recovered its database.",
    },
    "ended": {"type": "boolean", "description": "Whether the programme is over."},
}


@router.post(
    "/reports",
    summary="Push counts",
    description="Counts new reports in the open round. Those about targets that do not take part are left out. "
    "If no answer comes, send the push again with the same id and the same token: it counts once, however often it "
    "comes. The answer is the same however many reports there are.",
    openapi_extra={"requestBody": {"required": True, "content": _json(id=_ID, reports=_COUNTS)}},
    responses={
        200: {
            "description": "The push is known and on the disk.",
            "content": _json(
                counted={
                    "type": "boolean",
                    "description": "True. False while pushes are paused since the office recovered its database: these "
                    "reports may have been counted before, and do not count, later either.",
                },
                left_out={
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "The targets of this push that do not take part. Their reports do not count.",
                },
            ),
        },
        **_answers(400, 401, 403, 409, 413, 422, 503),
    },
)
async def push(request: Request, _: Annotated[Token, needs("reports")]) -> JSONResponse:
    body, given, console = await request.body(), await _bearer(request), console_of(request)
    token = await to_thread.run_sync(_token, console, given, "reports")  # may have been revoked while the body came
    id_, reports = _pushed(body)
    answer = await to_thread.run_sync(
        _on_the_programme, console, lambda programme: _push(programme, token, id_, reports)
    )
    return JSONResponse(answer)


def _push(programme: Programme, token: Token, id_: str, reports: Mapping[str, int]) -> dict[str, Any]:
    """No report decides whether others count: those about targets that do not take part hold nothing back."""
    counted, present = programme.push(token.id, id_, reports), programme.status().targets
    return {"counted": counted, "left_out": [name for name in reports if name not in present]}


@router.get(
    "/status",
    summary="Read the status",
    description="Where the programme stands: public facts only.",
    responses={
        200: {"description": "The status.", "content": _json(**_STATUS)},
        **_answers(401, 403, 409, 503),
    },
)
def status(request: Request, _: Annotated[Token, needs("status")]) -> JSONResponse:
    now = _on_the_programme(console_of(request), Programme.status)
    return JSONResponse(
        {
            "programme": now.parameters.name,
            "round": now.open_round,
            "due": now.due.isoformat(),
            "overdue": now.overdue,
            "entries": now.entries,
            "published": now.published,
            "targets": list(now.targets),
            "paused": now.is_paused,
            "ended": now.ended,
        }
    )


def _on_the_programme(console: Console, work: Callable[[Programme], Any]) -> Any:
    programme = console.programme()
    if programme is None:
        raise HTTPException(409, "There is no programme yet.")
    if programme.status().ended and work is not Programme.status:
        raise HTTPException(409, "The programme has ended.")
    try:
        return work(programme)
    except (StoreError, KeyChangedError):
        raise
    except PlaceError as error:  # a copy of the transcript is in trouble: not the sender's fault
        raise HTTPException(503, elsewhere(error)) from None
    except DeniableError as error:
        raise HTTPException(422, elsewhere(error)) from None


def _pushed(body: bytes) -> tuple[str, dict[str, int]]:
    """The sender's id of the push, and its reports. What is wrong with it is told without quoting it."""
    try:
        sent = json.loads(body, object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise HTTPException(400, "The body must be one JSON object, each name in it once.") from None
    if not isinstance(sent, dict) or sent.keys() != {"id", "reports"} or not isinstance(sent["reports"], dict):
        raise HTTPException(422, 'The body must be {"id": "your name for this push", "reports": {"target": number}}.')
    id_, reports = sent["id"], sent["reports"]
    if not isinstance(id_, str) or not re.fullmatch(f"[ -~]{{1,{LONGEST_ID}}}", id_):
        raise HTTPException(422, f"The id must have 1 to {LONGEST_ID} printable ASCII characters.")
    if not reports or not all(type(count) is int and 1 <= count <= MAX_REPORTS for count in reports.values()):
        raise HTTPException(422, f"Reports must be whole numbers from 1 to {MAX_REPORTS:,}, for one target or more.")
    if not all(name.isprintable() for name in reports):
        raise HTTPException(422, "The names of targets must have printable characters only.")
    return id_, reports


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _no_number(_: str) -> NoReturn:
    raise ValueError
