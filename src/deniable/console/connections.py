"""Connections: how many there may be, and how long one may keep the console waiting.

A browser that opens a connection sends its request at once. A connection without one is closed after some seconds, and
sooner where its place is needed, so that whoever opens many and sends nothing keeps nobody out. So is one whose request
has begun and does not go on; how long the rest may take is the application's to say.
"""

import asyncio
import ipaddress
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from deniable.console.security import UPLOAD

MOST = 200
MOST_EACH = 100
"""From one address, so that no one address takes all."""
PATIENCE = 10.0
"""Seconds in which TLS is agreed on, and in which the head of a request comes, once it may."""
STALLED = 30.0
"""Seconds in which a browser must take a piece of its answer."""
PIECE = 16 * 1024
"""Bytes."""


class _Bounded(H11Protocol):
    """One connection. The class variables belong to one server."""

    patience: ClassVar[float]
    stalled: ClassVar[float]
    most_each: ClassVar[int | None]
    idle: ClassVar[dict["_Bounded", None]]
    """Those that owe us a request or the rest of one, the one that has owed it for the longest first."""
    each: ClassVar[Counter[str]]
    """Connections by address; in memory, for as long as they last."""

    _address = ""
    _deadline: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=1, low=0)  # so that we hear when everything is taken
        self._address = _network(self.client)
        self.each[self._address] += 1
        if self.most_each is not None and self.each[self._address] > self.most_each:
            self._give_up()
            return
        while self.limit_concurrency and len(self.connections) >= self.limit_concurrency and self.idle:
            next(iter(self.idle))._give_up()
        self._wait()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        super().data_received(data)
        if self._has_request():
            self._wait_for_rest(is_new=self.cycle is not before)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._has_request():  # the next one, which came together with the last
            self._wait_for_rest(is_new=True)
        elif self.flow.write_paused:  # the answer is still being taken, for as long as that goes on
            self._stop_waiting()
            self._unset_keepalive_if_required()
        else:
            self._wait()  # for the next request, or the rest of this one's body

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_watching()
        if not self._has_request():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_waiting()
        self._stop_watching()
        self.each[self._address] -= 1
        if not self.each[self._address]:
            del self.each[self._address]

    def _has_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _owes_body(self) -> bool:
        """Whether we wait for the rest of a request that is no file, and not it for us."""
        return self.cycle.more_body and not self.flow.read_paused and self.scope["path"] != UPLOAD

    def _wait_for_rest(self, *, is_new: bool) -> None:
        if not self._owes_body():
            self._stop_waiting()
        elif is_new or self not in self.idle:  # a byte more does not make it younger
            self._stop_waiting()
            self.idle[self] = None

    def _wait(self) -> None:
        self._stop_waiting()
        self.idle[self] = None
        self._deadline = self.loop.call_later(self.patience, self._give_up)

    def _stop_waiting(self) -> None:
        self.idle.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _watch(self) -> None:
        self._stop_watching()
        self._stall = self.loop.call_later(self.stalled, self._give_up)

    def _stop_watching(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _give_up(self) -> None:
        self._stop_waiting()
        self._stop_watching()
        self.connections.discard(self)  # at once: the server counts them before this one hears that it is lost
        self.transport.abort()


class Loop(asyncio.SelectorEventLoop):
    """Does not wait for a minute until TLS is agreed on."""

    async def create_server(self, *args: Any, **options: Any) -> asyncio.Server:
        if options.get("ssl") is not None:
            options["ssl_handshake_timeout"] = PATIENCE
        return await super().create_server(*args, **options)  # type: ignore[no-any-return, unused-ignore]


def configured(
    app: Any,
    *,
    certificate: Path | None = None,
    certificate_key: Path | None = None,
    most: int = MOST,
    most_each: int | None = None,
    patience: float = PATIENCE,
    stalled: float = STALLED,
) -> uvicorn.Config:
    """A server of this application that logs nothing; run it on a `Loop`. most_each: connections from one address, or
    None where all come from the same one, that of a proxy or of this computer.
    """
    limits: dict[str, Any] = {
        "patience": patience,
        "stalled": stalled,
        "most_each": most_each,
        "idle": {},
        "each": Counter(),
    }
    return uvicorn.Config(
        _in_pieces(app),
        access_log=False,
        log_config=None,
        log_level="critical",
        server_header=False,
        proxy_headers=False,
        http=type("Bounded", (_Bounded,), limits),
        ws="none",
        limit_concurrency=most,
        timeout_graceful_shutdown=10,
        ssl_certfile=certificate,
        ssl_keyfile=certificate_key,
    )


def _in_pieces(app: ASGIApp) -> ASGIApp:
    """The same application, whose answers are sent piece by piece, each when those before it are taken.

    A transport with TLS takes any number of bytes and says at once that none are left: nobody could tell for how long
    they are on their way.
    """

    async def cut(scope: Scope, receive: Receive, send: Send) -> None:
        async def in_pieces(message: Message) -> None:
            body = message.get("body", b"")
            last = max(0, len(body) - 1) // PIECE * PIECE
            for at in range(0, last, PIECE):
                await send({"type": message["type"], "body": body[at : at + PIECE], "more_body": True})
            await send({**message, "body": body[last:]} if last else message)

        await app(scope, receive, in_pieces)

    return cut


def _network(client: tuple[str, int] | None) -> str:
    """By which clients are told apart: with IPv6 a network, since whoever has one address has them all."""
    if client is None:
        return ""
    address = ipaddress.ip_address(client[0].partition("%")[0])
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else str(address)
