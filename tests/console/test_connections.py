"""Connections that send nothing, or take nothing, keep nobody out."""

import asyncio
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from tests.console.offices import Office
from tests.console.test_serve import certificate

from deniable.console import connections
from deniable.console.app import create_app
from deniable.console.connections import Loop, _network, configured

PATIENCE = 0.4
MOST = 10


@contextmanager
def served(app: Any, config: uvicorn.Config | None = None, **limits: Any) -> Iterator[int]:
    """The port of a server, with little patience."""
    config = config or configured(app, **{"most": MOST, "patience": PATIENCE} | limits)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32 * 1024)  # or the system takes all of an answer

        def run() -> None:
            with asyncio.Runner(loop_factory=Loop) as runner:
                runner.run(server.serve(sockets=[listening]))

        thread = threading.Thread(target=run)
        thread.start()
        try:
            while not server.started:
                thread.join(0.02)
                assert thread.is_alive()
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def opened(stack: ExitStack, port: int) -> socket.socket:
    return stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))


def is_closed(client: socket.socket) -> bool:
    """Whether the server ends it, within some seconds."""
    try:
        while client.recv(65536):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def get(port: int) -> int:
    return httpx.get(f"http://127.0.0.1:{port}/login").status_code


def test_silent_connections_keep_nobody_out_and_are_closed(office: Office) -> None:
    """Three times as many as there is room for."""
    with ExitStack() as stack, served(create_app(office.console)) as port:
        silent = [opened(stack, port) for _ in range(3 * MOST)]
        assert {get(port) for _ in range(5)} == {200}
        assert all(is_closed(client) for client in silent)


def test_the_servers_own_way_would_keep_everybody_out(office: Office) -> None:
    """The planted fault: the same without deadlines and without making room."""
    plain = uvicorn.Config(create_app(office.console), http="h11", limit_concurrency=MOST, log_level="critical")
    with ExitStack() as stack, served(None, plain) as port:
        silent = [opened(stack, port) for _ in range(MOST)]
        assert get(port) == 503
        for client in silent:
            client.settimeout(2 * PATIENCE)
        assert not is_closed(silent[0])


HEAD = b"GET /login HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    ("first", "trickled"),
    [
        (b"", b"GET /login HTTP/1.1\r\nX-Long: " + b"x" * 500),
        (HEAD + b"\r\n", b"GET /login HTTP/1.1\r\nX-Long: " + b"x" * 500),
        (b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n", b"x" * 500),
    ],
    ids=["a head", "the head of a second request", "a body that nobody waits for"],
)
def test_one_that_trickles_is_closed(office: Office, first: bytes, trickled: bytes) -> None:
    with ExitStack() as stack, served(create_app(office.console)) as port:
        client = opened(stack, port)
        client.sendall(first)
        began, ended = time.monotonic(), False
        for byte in trickled:
            try:
                client.sendall(bytes([byte]))
            except OSError:
                ended = True
                break
            time.sleep(0.02)
        assert ended, f"still open after {time.monotonic() - began:.1f} s"


def test_a_browser_that_goes_on_asking_is_not_cut_off(office: Office) -> None:
    with served(create_app(office.console)) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        for _ in range(6):
            assert client.get("/login").status_code == 200
            time.sleep(PATIENCE / 4)


async def _slow(_: Any, receive: Any, send: Any) -> None:
    """Thinks for longer than a client may."""
    await receive()
    await asyncio.sleep(2 * PATIENCE)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})


def test_an_answer_may_take_longer() -> None:
    """It is the client's time that is short, and whoever has asked is not sent away to make room."""
    with ExitStack() as stack, served(_slow) as port:
        asked = opened(stack, port)
        asked.sendall(HEAD + b"\r\n")
        time.sleep(0.05)
        for _ in range(2 * MOST):
            opened(stack, port)
        assert b"200 OK" in asked.recv(4096)


async def _large(_: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _number in range(64):
        await send({"type": "http.response.body", "body": b"x" * 2**20, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def test_an_answer_that_nobody_takes_is_given_up() -> None:
    with ExitStack() as stack, served(_large, stalled=0.3) as port:
        client = opened(stack, port)
        client.sendall(HEAD + b"\r\n")
        time.sleep(1)
        taken = 0
        try:
            while piece := client.recv(2**20):
                taken += len(piece)
        except ConnectionError:
            pass
        assert taken < 2**26
        assert len(httpx.get(f"http://127.0.0.1:{port}").content) == 2**26  # who takes it gets all of it


POST = b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\na"
FILE = POST.replace(b"/login", b"/import")


async def _patient(_: Any, receive: Any, send: Any) -> None:
    """Takes all of a body, however long that takes; then answers."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize("first", [POST, HEAD + b"\r\n" + POST], ids=["alone", "after another one"])
def test_bodies_that_trickle_keep_nobody_out(office: Office, first: bytes) -> None:
    """Within the time that the application gives them."""
    with served(create_app(office.console), patience=30) as port, ExitStack() as stack:
        slow = [opened(stack, port) for _ in range(MOST - 1)]
        for client in slow:
            client.sendall(first)
            time.sleep(0.05)  # one after the other, or the server has too much to do and turns some away
        for _ in range(3):
            assert get(port) == 200
            for client in slow:
                try:
                    client.sendall(b"a")
                except OSError:  # it had to go
                    continue
            time.sleep(0.1)


def test_a_file_is_not_sent_away_to_make_room() -> None:
    """Nor is a body that is complete; one that is not is."""
    with served(_patient, patience=30) as port, ExitStack() as stack:
        file, other = opened(stack, port), opened(stack, port)
        file.sendall(FILE)
        other.sendall(POST)
        time.sleep(0.1)
        for _ in range(2 * MOST):
            opened(stack, port)
        assert is_closed(other)
        file.sendall(b"a" * 59_999)
        assert b"200 OK" in file.recv(4096)


def test_the_one_whose_body_is_the_oldest_goes_first() -> None:
    """Whoever sends a byte now and then is no younger for it."""
    with served(_patient, patience=30) as port, ExitStack() as stack:
        clients = [opened(stack, port) for _ in range(MOST - 1)]
        for client in clients:
            client.sendall(POST)
            time.sleep(0.02)
        clients[0].sendall(b"a")
        time.sleep(0.05)
        opened(stack, port)
        assert is_closed(clients[0])
        clients[1].sendall(b"a" * 59_999)
        assert b"200 OK" in clients[1].recv(4096)


SIZE = 4 * 2**20


async def _whole(_: Any, receive: Any, send: Any) -> None:
    """A large answer, as pages send theirs: in one."""
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % SIZE)]})
    await send({"type": "http.response.body", "body": b"x" * SIZE})


def asked(stack: ExitStack, port: int, certificate: Path | None) -> socket.socket:
    """A client that asked and has little room for the answer."""
    client = stack.enter_context(socket.socket())
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 * 1024)
    client.settimeout(5)
    client.connect(("127.0.0.1", port))
    if certificate is not None:
        client = stack.enter_context(
            ssl.create_default_context(cafile=certificate).wrap_socket(client, server_hostname="localhost")
        )
    client.sendall(HEAD + b"\r\n")
    return client


def taken(client: socket.socket, pause: float) -> int:
    """How much of the answer is got in small pieces, with a pause after each 64 KB."""
    got = since = 0
    try:
        while piece := client.recv(16 * 1024):
            got, since = got + len(piece), since + len(piece)
            if got >= SIZE:
                break
            if since >= 64 * 1024:
                time.sleep(pause)
                since = 0
    except OSError:
        pass
    return got


@pytest.mark.parametrize("tls", [False, True])
def test_an_answer_that_is_taken_slowly_is_not_cut(tmp_path: Path, tls: bool) -> None:
    """It takes three times as long as a client may keep us waiting, and others want its place."""
    cert, key = certificate(tmp_path) if tls else (None, None)
    config = configured(_whole, certificate=cert, certificate_key=key, most=MOST, patience=PATIENCE)
    with served(None, config) as port, ExitStack() as stack:
        client = asked(stack, port, cert)
        assert client.recv(1) == b"H"
        for _ in range(2 * MOST):
            opened(stack, port)
        assert taken(client, 3 * PATIENCE * 64 * 1024 / SIZE) >= SIZE
        if not tls:  # then it waits for the next request, and not for ever
            assert is_closed(client)


@pytest.mark.parametrize("tls", [False, True])
def test_an_answer_that_is_complete_and_that_nobody_takes_is_given_up(tmp_path: Path, tls: bool) -> None:
    cert, key = certificate(tmp_path) if tls else (None, None)
    config = configured(_whole, certificate=cert, certificate_key=key, most=MOST, patience=30, stalled=0.3)
    with served(None, config) as port, ExitStack() as stack:
        client = asked(stack, port, cert)
        time.sleep(1)
        assert taken(client, 0) < SIZE


def test_one_address_takes_no_more_than_its_share(office: Office) -> None:
    with ExitStack() as stack, served(create_app(office.console), most_each=3, patience=5) as port:
        within = [opened(stack, port) for _ in range(3)]
        beyond = opened(stack, port)
        assert is_closed(beyond)
        within[0].sendall(HEAD + b"Connection: close\r\n\r\n")
        assert b"200 OK" in within[0].recv(4096)
        assert is_closed(within[0])
        assert get(port) == 200  # its place is free again


def test_nothing_is_kept_of_who_came(office: Office) -> None:
    config = configured(create_app(office.console), most=MOST, patience=PATIENCE)
    with served(None, config) as port:
        get(port)
    kept: Any = config.http_protocol_class
    assert (kept.each, kept.idle) == (Counter(), {})


@pytest.mark.parametrize(
    ("client", "network"),
    [
        (("192.0.2.7", 1), "192.0.2.7"),
        (("2001:db8:0:1:2::3", 1), "2001:db8:0:1::/64"),
        (("fe80::1%eth0", 1), "fe80::/64"),
        (None, ""),
    ],
)
def test_with_ipv6_a_network_is_one_client(client: tuple[str, int] | None, network: str) -> None:
    assert _network(client) == network


def test_tls_must_be_agreed_on_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    async def create_server(_: Any, *__: Any, **options: Any) -> None:
        asked.update(options)

    monkeypatch.setattr(asyncio.SelectorEventLoop, "create_server", create_server)
    loop = Loop()
    loop.run_until_complete(loop.create_server(ssl=None))
    assert "ssl_handshake_timeout" not in asked
    loop.run_until_complete(loop.create_server(ssl=object()))
    loop.close()
    assert asked["ssl_handshake_timeout"] == connections.PATIENCE
