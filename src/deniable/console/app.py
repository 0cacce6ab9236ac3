"""The console as an ASGI application: what every request must pass, what every response carries, and its pages."""

import gc
import secrets
import sys
import traceback
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from anyio import current_time, fail_after, sleep, to_thread
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deniable.console import api
from deniable.console.allowed_hosts import is_ours
from deniable.console.console import Console
from deniable.console.limits import QUICK
from deniable.console.pages import (
    account,
    activity,
    api_guide,
    decisions,
    emergencies,
    frozen_round,
    guarantee,
    health,
    hotlines,
    imports,
    invitations,
    login,
    open_round,
    people,
    plan,
    report,
    tokens,
    transcript,
    work_list,
)
from deniable.console.pages.common import counting
from deniable.console.pages.published import verified
from deniable.console.rendering import compile_templates, origin_of, render
from deniable.console.routing import Pages
from deniable.console.security import UPLOAD, SignInFirst, Visitor, most_bytes, quickly
from deniable.console.static_files import CACHED, PLACE, static_files
from deniable.errors import DeniableError, elsewhere
from deniable.programme.secrets.lock import KeyChangedError
from deniable.storage.store import StoreError

PAGES = Pages(
    page.router
    for page in (
        login,
        invitations,
        open_round,
        frozen_round,
        report,
        imports,
        decisions,
        emergencies,
        work_list,
        plan,
        transcript,
        guarantee,
        health,
        people,
        hotlines,
        tokens,
        api_guide,
        activity,
        account,
    )
)

LONGEST_PAUSE = 30
"""Seconds between two parts of a request: whoever sends nothing must not keep others waiting."""

STRANGERS_WAIT = 100
"""Milliseconds at most, at random, before a person who is not signed in is answered: how long an answer takes must not
tell what others do in the console at that moment. It is less than a person notices.
"""

LONGEST = {UPLOAD: 300}
LONGEST_ELSEWHERE = 10
"""Seconds for the whole body of a request, by its path."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "Cache-Control": "no-store",
}
API = "/api/v1/"
_BEFORE_FIRST_RUN = ("/first-run/", PLACE)


# By default the framework would tell whoever listens about errors, in their own words, and about addresses.
_NO_TELEMETRY: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)


@dataclass(frozen=True)
class ErrorPage:
    status: int
    heading: str
    sentence: str


def create_app(console: Console, origin: str | None = None) -> FastAPI:
    """The whole console. origin: where browsers reach it, as `allowed_hosts.checked` gives it; without one the console
    answers to the names and addresses of this computer alone.
    """
    app = FastAPI(
        title="deniable",
        version="1",
        description="Push counts of reports and read the status of an audit programme.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
        telemetry=_NO_TELEMETRY,
    )
    app.state.console = console
    app.state.origin = origin
    app.include_router(api.router)
    app.mount(PLACE.rstrip("/"), static_files)
    compile_templates()
    for error in (HTTPException, RequestValidationError, DeniableError):
        app.add_exception_handler(error, _told)
    app.add_middleware(Guard, console=console, origin=origin)
    return app


def prepare(console: Console) -> None:
    """Make what pages remember, before the first is asked for. The garbage collector need not look at it again."""
    programme = console.programme()
    if programme is not None:
        plan.explained(programme.parameters)
        guarantee.waits_of(programme.parameters)
        with suppress(DeniableError):  # the pages say what is wrong
            console.target_search.of(programme.targets())
            counting(programme.active_counts)
            folder = programme.status().folder
            console.public_records.current(programme.parameters)
            if folder is not None:
                verified(console, programme, folder)
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    to_thread.current_default_thread_limiter().total_tokens = QUICK
    await to_thread.run_sync(app.state.console.start)
    yield


class Guard:
    """Around everything else: headers on every response, bounded bodies, no requests from other sites or under other
    names, nothing but the first run before there are people, and errors that say nothing.
    """

    def __init__(self, app: ASGIApp, console: Console, origin: str | None) -> None:
        self._app = app
        self._console = console
        self._origin = origin
        secure = {"Strict-Transport-Security": "max-age=31536000"} if console.secure else {}
        self._headers = _raw(HEADERS | secure)
        self._headers_of_files = _raw(HEADERS | secure | {"Cache-Control": CACHED})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})
        bounded, has_begun = _bounded(scope, receive), False
        request = Request(scope, bounded)

        async def guarded(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                if _is_stranger(scope):
                    await sleep(secrets.randbelow(STRANGERS_WAIT + 1) / 1000)
                is_file = message["status"] == 200 and scope["path"].startswith(PLACE)
                ours = self._headers_of_files if is_file else self._headers
                message["headers"] = [pair for pair in message["headers"] if pair[0] not in ours] + [*ours.items()]
                self._renew_session(scope, message)
            await send(message)

        try:
            answer = await self._answer(request)
            await answer(scope, bounded, guarded)
        except ClientDisconnect:
            pass  # nobody is left to be answered, and a line in a journal would tell when somebody came
        except Exception as error:
            _tell(error)
            if not has_begun:  # otherwise the server breaks the connection off
                await PlainTextResponse(_BUG, 500)(scope, receive, guarded)

    async def _answer(self, request: Request) -> ASGIApp:
        """What answers the request: the framework, for machines and files, or the response of a page."""
        refused = self._refused(request)
        if refused is not None:
            return refused
        if request.scope["path"].startswith((API, PLACE)):
            return self._app
        try:
            return await PAGES.answer(request)
        except (HTTPException, SignInFirst, DeniableError) as error:
            return await quickly(request, partial(_told, request, error))

    def _renew_session(self, scope: Scope, message: Message) -> None:
        """Tell the browser that its session was used now, unless the page gave it another cookie, or took it away."""
        who: Visitor | None = scope["state"].get("visitor")
        if who is None or who.renewed is None:
            return
        headers, begins = MutableHeaders(scope=message), f"{self._console.cookie_name('session')}="
        if not any(given.startswith(begins) for given in headers.getlist("set-cookie")):
            carrier = Response()
            self._console.set_cookie(carrier, "session", who.renewed)
            headers.append("set-cookie", carrier.headers["set-cookie"])

    def _refused(self, request: Request) -> Response | None:
        """What is answered without looking further, if anything is."""
        if not is_ours(request.headers.get("host", ""), self._origin):
            return _problem(request, 421)
        if _declared(request.headers) > most_bytes(request.scope):
            return _problem(request, 413)
        if request.method not in {"GET", "HEAD", "OPTIONS"} and not _same_site(request):
            return _problem(request, 403, "The request came from another site.")
        if not self._console.has_people() and not request.scope["path"].startswith(_BEFORE_FIRST_RUN):
            return _problem(
                request, 503, "Nobody can sign in yet. Open the link that was printed in the terminal to begin."
            )
        return None


def _raw(headers: Mapping[str, str]) -> dict[bytes, bytes]:
    """As they are sent."""
    return {name.lower().encode(): value.encode() for name, value in headers.items()}


def _is_stranger(scope: Scope) -> bool:
    """Whether what is answered is for a browser that is not signed in, or a machine without a token."""
    who = scope["state"].get("visitor")
    return "token" not in scope["state"] and (who is None or who.person is None)


def _declared(headers: Headers) -> int:
    length = headers.get("content-length", "0")
    return int(length) if length.isascii() and length.isdigit() and len(length) < 19 else sys.maxsize


def _bounded(scope: Scope, receive: Receive) -> Receive:
    """Stops a body that is longer than it may be, also where it does not say how long it is, and one that trickles."""
    received, is_complete, until = 0, False, 0.0

    async def counted() -> Message:
        nonlocal received, is_complete, until
        if is_complete:  # whoever waits now waits for the browser to go away
            return await receive()
        until = until or current_time() + LONGEST.get(scope["path"], LONGEST_ELSEWHERE)
        try:
            with fail_after(min(LONGEST_PAUSE, until - current_time())):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, "What was sent came too slowly; try again.") from None
        is_complete = not message.get("more_body", False)
        if message["type"] == "http.request":
            received += len(message.get("body", b""))
            if received > most_bytes(scope):
                raise HTTPException(413)
        return message

    return counted


def _same_site(request: Request) -> bool:
    """Whether the browser says that one of our own pages sent this. Programs that are no browsers say nothing.

    Our pages send no referrer, so that a browser gives their origin as "null"; it then tells in Sec-Fetch-Site.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    return request.headers.get("origin") in {None, "null", origin_of(request)}


# In plain text: whatever renders pages may be what failed.
_BUG = "This is a bug in deniable. The terminal in which it runs says where; please report it.\n"
_KEY_CHANGED = "The key was changed. Nothing was written; whoever runs the console must start it again."
_HEADINGS = {
    400: "That cannot be read",
    401: "Sign in first",
    403: "Not allowed",
    404: "Nothing here",
    405: "Not in this way",
    408: "Too slow",
    409: "One at a time",
    413: "Too large",
    415: "That cannot be read",
    421: "Another name",
    422: "That did not work",
    429: "Too many tries",
    503: "Not now",
}
_SENTENCES = {
    400: "The request cannot be read.",
    401: "Sign in first.",
    404: "There is no such page.",
    405: "The page cannot be used in this way.",
    413: "What was sent is larger than it may be.",
    421: "The console is not to be used under this name. Open it at the address that it was started with.",
    503: "The database cannot be used at the moment. Nothing was changed; try again.",
}


def _problem(
    request: Request, status: int, sentence: str | None = None, headers: dict[str, str] | None = None
) -> Response:
    heading = _HEADINGS.get(status, HTTPStatus(status).phrase)
    told = sentence or _SENTENCES.get(status, heading)
    told = told.encode("utf-8", "replace").decode()  # it may quote what was sent, which need not be text
    if request.scope["path"].startswith(API):
        return JSONResponse({"error": told}, status, headers)
    response = render(request, "error.html", ErrorPage(status, heading, told), status)
    response.headers.update(headers or {})
    return response


def _told(request: Request, error: Exception) -> Response:
    """What is answered where a request is refused."""
    match error:
        case SignInFirst():
            request.state.visitor = None  # also where the session ended in the course of the request
            return RedirectResponse("/login", 303)
        case HTTPException():
            told = None if error.detail == HTTPStatus(error.status_code).phrase else error.detail
            return _problem(request, error.status_code, told, dict(error.headers or {}))
        case StoreError() | KeyChangedError():
            _tell(error)
            return _problem(request, 503, _KEY_CHANGED if isinstance(error, KeyChangedError) else None)
        case DeniableError():  # without the names of our files, and for people who are signed in alone
            who = getattr(request.state, "visitor", None)
            return _problem(request, 422, elsewhere(error) if who is not None and who.person is not None else None)
        case _:  # the framework's own answer would quote what was sent
            return _problem(request, 400)


def _tell(error: Exception) -> None:
    """Where it happened, in the terminal; neither text nor traceback, since either may quote a count."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    told = f": {error}" if isinstance(error, StoreError | KeyChangedError) else ""
    print(f"error: {type(error).__name__} in {Path(at.filename).name}, line {at.lineno}{told}", file=sys.stderr)
