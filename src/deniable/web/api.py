"""The JSON API: machines push counts and read the status, with a token that the administrator made.

What it answers says nothing about the counts: neither its status nor its size depends on them.
"""

import json
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException

from deniable.errors import DeniableError, elsewhere
from deniable.programme.ledger import Programme
from deniable.programme.locking import KeyChangedError
from deniable.programme.store import StoreError
from deniable.web.accounts import tokens
from deniable.web.accounts.tokens import Scope, Token
from deniable.web.console import Console
from deniable.web.security import console_of

MOST_AT_ONCE = 10_000
"""Reports about one target in one push."""

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
        422: "A target or a count is wrong. Nothing was counted.",
        503: "Not now: the database cannot be used, or nobody has set up the console.",
    }
    return {status: {"description": told[status], "content": _json(error={"type": "string"})} for status in statuses}


_COUNTS = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {"type": "integer", "minimum": 1, "maximum": MOST_AT_ONCE},
    "description": "How many new reports there are, by the target's name.",
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
    "ended": {"type": "boolean", "description": "Whether the programme is over."},
}


@router.post(
    "/reports",
    summary="Push counts",
    description="Counts new reports in the open round: all of them, or none where one cannot be counted. "
    "A push that is sent twice counts twice. The answer is the same however many there are.",
    openapi_extra={"requestBody": {"required": True, "content": _json(reports=_COUNTS)}},
    responses={
        200: {
            "description": "The reports are counted and on the disk.",
            "content": _json(counted={"const": True, "description": "True."}),
        },
        **_answers(400, 401, 403, 409, 413, 422, 503),
    },
)
async def push(request: Request, _: Annotated[Token, needs("reports")]) -> JSONResponse:
    body, given, console = await request.body(), await _bearer(request), console_of(request)
    await to_thread.run_sync(_token, console, given, "reports")  # it may have been revoked while the body came
    reports = _reports(body)
    await to_thread.run_sync(_on_the_programme, console, lambda programme: programme.report(reports))
    return JSONResponse({"counted": True})


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
    except DeniableError as error:
        raise HTTPException(422, elsewhere(error)) from None


def _reports(body: bytes) -> dict[str, int]:
    """What was pushed. What is wrong with it is told without quoting it."""
    try:
        sent = json.loads(body, object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise HTTPException(400, "The body must be one JSON object, each name in it once.") from None
    if not isinstance(sent, dict) or sent.keys() != {"reports"} or not isinstance(sent["reports"], dict):
        raise HTTPException(422, 'The body must be {"reports": {"target": number}}.')
    reports = sent["reports"]
    if not reports or not all(type(count) is int and 1 <= count <= MOST_AT_ONCE for count in reports.values()):
        raise HTTPException(422, f"Reports must be whole numbers from 1 to {MOST_AT_ONCE}, for one target or more.")
    return reports


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _no_number(_: str) -> NoReturn:
    raise ValueError
