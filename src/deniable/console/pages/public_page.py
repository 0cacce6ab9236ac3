"""The public page and the files beside it, as the public sees them, for people who are signed in.

To look at them publishes and writes nothing. Only the files of the public folder's own list are served.
"""

import base64
import hashlib
import re
from pathlib import PurePath
from typing import Annotated

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.pages.common import CurrentProgramme, has_copy
from deniable.console.pages.published import published_file
from deniable.console.pages.transcript import files_of
from deniable.console.remembered import takes_long
from deniable.console.routing import Router
from deniable.console.security import Refused, console_of, require
from deniable.message import noted
from deniable.programme.parameters import Parameters
from deniable.programme.programme import Programme
from deniable.programme.public.folder import published_names

router = Router()

_PAGE = "text/html; charset=utf-8"
_KINDS = {".html": _PAGE, ".ics": "text/calendar; charset=utf-8", ".json": "application/json"}
_PLAIN = "text/plain; charset=utf-8"

NOT_YET = noted("The public page cannot be shown yet. Public record says why, and what to do.")


@router.get("/public/{name}")
def public_file(
    request: Request, _: Annotated[Person, require("transcript")], name: str, programme: CurrentProgramme
) -> Response:
    """The published file, where what is published is in order; otherwise as it would be published now."""
    kinds = kinds_of(programme.parameters)
    known = next((one for one in kinds if one == name), None)
    if known is None:
        raise Refused(404, noted("There is no such page."))
    takes_long()
    folder = programme.status().folder
    content = None if folder is None else published_file(console_of(request), programme, folder, known)
    if content is None:
        content = _foreseen(request, programme, known)
    if kinds[known] == _PAGE:
        request.scope["state"]["policy"] = policy_for(content)
    return Response(content, headers={"Content-Type": kinds[known]})


def kinds_of(parameters: Parameters) -> dict[str, str]:
    """Of the files that are served, by name."""
    return {name: _KINDS.get(PurePath(name).suffix, _PLAIN) for name in published_names(parameters)}


def _foreseen(request: Request, programme: Programme, name: str) -> bytes:
    """As it would be published now. A draw that no copy outside the database has is not shown, and no copy is made."""
    console = console_of(request)
    record = console.public_records.current(programme.parameters)
    if not has_copy(console, record, programme.status().folder):
        raise Refused(503, NOT_YET)
    return files_of(programme.parameters, record)[name]


def policy_for(page: bytes) -> str:
    """What browsers let the public page do: show its own style and nothing else."""
    styles = re.findall(rb"<style>(.*?)</style>", page, re.DOTALL)
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(one).digest()).decode()}'" for one in styles)
    return (
        f"default-src 'none'; style-src {hashes}; img-src data:; form-action 'none'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
