"""The console as an ASGI application: what every request must pass, what every response carries, and its pages."""

import gc
import secrets
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from anyio import current_time, fail_after, sleep, to_thread
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deniable.console import api
from deniable.console.allowed_hosts import is_ours
from deniable.console.console import Console
from deniable.console.help_pages import PLACE as HELP
from deniable.console.help_pages import SIGNING_IN, help_texts
from deniable.console.limits import QUICK
from deniable.console.pages import (
    account,
    activity,
    api_guide,
    channels,
    decisions,
    emergencies,
    exports,
    frozen_round,
    guarantee,
    handbook,
    health,
    hotlines,
    imports,
    invitations,
    language,
    login,
    office_details,
    open_round,
    pending_decisions,
    people,
    plan,
    public_page,
    report,
    round_counts,
    tokens,
    transcript,
    work_list,
)
from deniable.console.pages.common import counting
from deniable.console.pages.published import verified
from deniable.console.refusals import API, FIRST_RUN, NOT_SET_UP, problem, refused, tell
from deniable.console.rendering import compile_templates, origin_of
from deniable.console.routing import Pages
from deniable.console.security import UPLOAD, Refused, SignInFirst, Visitor, most_bytes, quickly
from deniable.console.static_files import CACHED, PLACE, static_files
from deniable.errors import DeniableError
from deniable.message import noted

PAGES = Pages(
    page.router
    for page in (
        login,
        invitations,
        open_round,
        round_counts,
        frozen_round,
        report,
        imports,
        channels,
        decisions,
        office_details,
        pending_decisions,
        emergencies,
        work_list,
        plan,
        transcript,
        public_page,
        guarantee,
        language,
        health,
        people,
        hotlines,
        tokens,
        api_guide,
        activity,
        account,
        handbook,
        exports,
    )
)

LONGEST_PAUSE = 30
"""Seconds between two parts of a request: a client that sends nothing must not keep others waiting."""

STRANGERS_WAIT = 100
"""Milliseconds at most, at random, before a person who is not signed in is answered: how long an answer takes must not
tell what others do in the console at that moment. It is less than a person notices.
"""

LONGEST = {UPLOAD: 300}
LONGEST_ELSEWHERE = 10
"""Seconds for the whole body of a request, by its path."""

POLICY = "Content-Security-Policy"
HEADERS = {
    POLICY: "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "Cache-Control": "no-store",
}
_BEFORE_FIRST_RUN = ("/first-run/", "/language", PLACE, f"{HELP}{SIGNING_IN}")


# By default the framework would tell whoever listens about errors, in their own words, and about addresses.
_NO_TELEMETRY: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)


def create_app(console: Console, origin: str | None = None) -> FastAPI:
    """The whole console. origin: where browsers reach it, as `allowed_hosts.checked` gives it; without one the console
    answers to the names and addresses of this computer alone.
    """
    app = FastAPI(
        title="deniable",
        version="1",
        description="Send reports to an audit programme and read its status.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
        telemetry=_NO_TELEMETRY,
    )
    app.state.console = console
    app.state.pages = PAGES
    app.state.origin = origin
    app.include_router(api.router)
    app.mount(PLACE.rstrip("/"), static_files)
    compile_templates()
    help_texts()
    for error in (HTTPException, RequestValidationError, DeniableError):
        app.add_exception_handler(error, refused)
    app.add_middleware(Guard, console=console, origin=origin)
    return app


def prepare(console: Console) -> None:
    """Make what pages remember, before the first is asked for. The garbage collector need not look at it again."""
    programme = console.programme()
    if programme is not None:
        plan.explained(programme.parameters, programme.parameters.voice())
        guarantee.promise_now(programme, programme.parameters.voice())
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
        scope["headers"] = [_plain_cookies(*pair) for pair in scope["headers"]]
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
                if "policy" in scope["state"]:  # of a page that does not have our style
                    ours = ours | _raw({POLICY: scope["state"]["policy"]})
                message["headers"] = [pair for pair in message["headers"] if pair[0] not in ours] + [*ours.items()]
                self._renew_session(scope, message)
            await send(message)

        try:
            answer = await self._answer(request)
            await answer(scope, bounded, guarded)
        except ClientDisconnect:
            pass  # nobody is left to be answered, and a line in a journal would tell when somebody came
        except Exception as error:
            tell(error)
            if not has_begun:  # otherwise the server breaks the connection off
                await PlainTextResponse(_BUG, 500)(scope, receive, guarded)

    async def _answer(self, request: Request) -> ASGIApp:
        """What answers the request: the framework, for machines and files, or the response of a page."""
        answer = self._refused(request)
        if answer is not None:
            return answer
        if request.scope["path"].startswith((API, PLACE)):
            return self._app
        try:
            return await PAGES.answer(request)
        except SignInFirst:
            return await login.sign_in_first(request)
        except (HTTPException, DeniableError) as error:
            return await quickly(request, partial(refused, request, error))

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
            return problem(request, 421)
        if _declared(request.headers) > most_bytes(request.scope):
            return problem(request, 413)
        if request.method not in {"GET", "HEAD", "OPTIONS"} and not _same_site(request):
            return problem(request, 403, noted("The request came from another site."))
        if not self._console.has_people() and not request.scope["path"].startswith(_BEFORE_FIRST_RUN):
            return problem(request, 503, FIRST_RUN, heading=NOT_SET_UP, home=False)
        return None


def _raw(headers: Mapping[str, str]) -> dict[bytes, bytes]:
    """As they are sent."""
    return {name.lower().encode(): value.encode() for name, value in headers.items()}


def _plain_cookies(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """A header as it is, but without cookies that have a backslash in them. None of ours has one, and with thousands of
    them in a cookie some versions of Python are busy for seconds.
    """
    if name != b"cookie" or b"\\" not in value:
        return name, value
    return name, b";".join(cookie for cookie in value.split(b";") if b"\\" not in cookie)


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
            raise Refused(408, noted("What was sent came too slowly; try again.")) from None
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
