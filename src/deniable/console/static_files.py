"""The files of the pages' frame: kept in memory, and named after their content, so that browsers keep them for good."""

import hashlib
import mimetypes
from functools import cache
from importlib.resources import files

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

PLACE = "/static/"
CACHED = "public, max-age=31536000, immutable"


@cache
def _files() -> dict[str, tuple[str, bytes]]:
    """Addresses and contents by the files' names."""
    found = {}
    for file in files("deniable.console").joinpath("static").iterdir():
        content, (name, _, suffix) = file.read_bytes(), file.name.rpartition(".")
        found[file.name] = (f"{PLACE}{name}.{hashlib.sha256(content).hexdigest()[:16]}.{suffix}", content)
    return found


def static_address(name: str) -> str:
    """Where browsers find this file."""
    return _files()[name][0]


async def static_files(scope: Scope, receive: Receive, send: Send) -> None:
    """An ASGI application that serves them."""
    if scope["method"] not in {"GET", "HEAD"}:
        raise HTTPException(405, headers={"Allow": "GET, HEAD"})
    for name, (address, content) in _files().items():
        if address == scope["path"]:
            await Response(content, media_type=mimetypes.guess_type(name)[0])(scope, receive, send)
            return
    raise HTTPException(404)
