"""deploy/nginx.conf with a real nginx in front of a real console: slow, silent, many and large clients keep nobody out.

Each limit has a control: without it, the same client is let through.
"""

import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from tests.console.serving import link, port_of, reserved, served
from tests.deploy.proxies import Proxy, proxied

from deniable.console.static_files import static_address

pytestmark = pytest.mark.long

SOON = 3.0
"""Seconds: more than the shortened times, and enough to see that a client is not cut off."""
SHORT = {"client_header_timeout 10s": "client_header_timeout 1s", "client_body_timeout 10s": "client_body_timeout 1s"}
PATIENT = {"client_header_timeout 10s": "client_header_timeout 1h", "client_body_timeout 10s": "client_body_timeout 1h"}

HEAD = b"GET /login HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 1000
POST = b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n"
MOST = 20


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a demonstration."""
    with served(tmp_path_factory.mktemp("console"), "--demo") as (_, printed):
        yield port_of(printed)


def is_cut_off(client: socket.socket, trickled: bytes = b"") -> bool:
    """Whether the server ends the connection soon, while this is sent one byte at a time."""
    client.settimeout(0.05)
    coming, until = iter(trickled), time.monotonic() + SOON
    try:
        while time.monotonic() < until:
            if (byte := next(coming, None)) is not None:
                client.sendall(bytes([byte]))
            try:
                if not client.recv(65536):
                    return True
            except TimeoutError:
                continue
    except OSError:
        return True
    return False


@pytest.mark.parametrize(("times", "cut_off"), [(SHORT, True), (PATIENT, False)], ids=["limited", "control"])
def test_slow_and_silent_clients_are_cut_off(
    console: int, tmp_path: Path, times: dict[str, str], cut_off: bool
) -> None:
    with proxied(tmp_path, console, times) as proxy:
        with proxy.tls() as slow_head:
            assert is_cut_off(slow_head, HEAD) == cut_off
        with proxy.tls() as silent:
            assert is_cut_off(silent) == cut_off
        with proxy.connect() as without_tls:
            assert is_cut_off(without_tls) == cut_off
        with proxy.tls() as half_a_request:
            half_a_request.sendall(POST + b"x" * 500)
            assert is_cut_off(half_a_request) == cut_off
        assert proxy.answers()


def begun(proxy: Proxy, stack: ExitStack) -> ssl.SSLSocket:
    """A request that nginx has begun to take, and whose body is missing."""
    client = stack.enter_context(proxy.tls())
    client.sendall(POST)
    assert client.recv(65536)
    return client


@pytest.mark.parametrize(
    ("changes", "status"),
    [({}, 429), ({f"limit_conn deniable_connections {MOST}": "limit_conn deniable_connections 1000"}, 200)],
    ids=["limited", "control"],
)
def test_one_address_has_so_many_connections(
    console: int, tmp_path: Path, changes: dict[str, str], status: int
) -> None:
    with proxied(tmp_path, console, changes) as proxy, proxy.browser() as browser:
        with ExitStack() as stack:
            clients = [begun(proxy, stack) for _ in range(MOST)]
            assert browser.get("/login").status_code == status
            for client in clients:
                client.sendall(b"x" * 1000)
                assert client.recv(65536).startswith(b"HTTP/1.1 403 ")  # the console's answer to such a form
        assert proxy.answers()


@pytest.mark.parametrize(
    ("changes", "refused"), [({}, True), ({" burst=40": " burst=1000"}, False)], ids=["limited", "control"]
)
def test_one_address_has_so_many_requests(console: int, tmp_path: Path, changes: dict[str, str], refused: bool) -> None:
    with proxied(tmp_path, console, changes) as proxy, proxy.browser() as browser:
        # 100 are too many at once; a slow machine must ask longer.
        asked = (browser.get(static_address("style.css")).status_code for _ in range(2000 if refused else 100))
        answer = next((status for status in asked if status != 200), 200)
    assert answer == (429 if refused else 200)


@pytest.mark.parametrize(
    ("path", "size", "by_nginx"), [("/plan", 2**20 + 1, True), ("/import", 2**26 + 1, True), ("/login", 2**17, False)]
)
def test_a_large_body_is_refused(console: int, tmp_path: Path, path: str, size: int, by_nginx: bool) -> None:
    """By nginx, and what it lets through by the console, which answers in its own words."""
    with proxied(tmp_path, console, {}) as proxy:
        with proxy.tls() as client:
            client.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\n" % path.encode())
            client.sendall(b"Content-Length: %d\r\n\r\n" % size + (b"" if by_nginx else b"x" * size))
            answer = client.recv(65536)
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert (b"<center>nginx" in answer) == by_nginx
        assert proxy.answers()


def test_a_large_body_that_does_not_say_so_is_refused(console: int, tmp_path: Path) -> None:
    with proxied(tmp_path, console, {}) as proxy, proxy.browser() as browser:
        answer = browser.post("/login", content=iter([b"x" * 2**17]))
        assert answer.status_code == 413
        assert proxy.answers()


@pytest.mark.parametrize(
    ("changes", "status"),
    [({}, 303), ({"client_body_buffer_size 1m": "client_body_buffer_size 8k"}, 500)],
    ids=["shipped", "control"],
)
def test_nothing_is_written_to_the_disk(console: int, tmp_path: Path, changes: dict[str, str], status: int) -> None:
    """The temporary folders cannot be written to."""
    with proxied(tmp_path, console, changes) as proxy, proxy.browser() as browser:
        assert browser.post("/plan", content=b"x" * (2**20 - 1)).status_code == status
        assert browser.post("/import", content=b"x" * 2**16).status_code == 303
        assert proxy.answers()


@pytest.mark.parametrize(
    ("changes", "told"), [({}, False), ({"access_log off;": ""}, True)], ids=["shipped", "control"]
)
def test_nothing_is_logged(console: int, tmp_path: Path, changes: dict[str, str], told: bool) -> None:
    with proxied(tmp_path, console, changes) as proxy:
        assert proxy.answers()
        with proxy.browser() as browser:
            browser.post("/report", data={"count": "1"})
            with ThreadPoolExecutor(50) as people:  # at once: one after the other, slow answers would spread them
                assert 429 in {page.status_code for page in people.map(lambda _: browser.get("/login"), range(100))}
    assert ("POST /report" in proxy.logged()) == told
    assert told or proxy.logged() == ""


def test_a_browser_sees_what_the_console_sends(tmp_path: Path) -> None:
    """The first run, with HSTS once and cookies for TLS alone; under another name there is no answer."""
    (tmp_path / "console").mkdir()
    (tmp_path / "proxy").mkdir()
    with reserved() as port, proxied(tmp_path / "proxy", port, {}) as proxy, proxy.browser() as browser:
        options = ("--port", str(port), "--behind-proxy", "--origin", f"https://localhost:{proxy.port}")
        with served(tmp_path / "console", *options) as (_, printed):
            page = browser.get(link(printed, "first-run"))
        assert page.url.port == proxy.port
        assert page.status_code == 200
        assert page.headers.get_list("strict-transport-security") == ["max-age=31536000"]
        assert page.headers["set-cookie"].startswith("__Host-visit=")
        assert "content-encoding" not in page.headers
        redirected = httpx.get(f"http://127.0.0.1:{proxy.plain_port}/login", headers={"Host": "localhost"})
        assert (redirected.status_code, redirected.headers["location"]) == (301, "https://localhost/login")
        with pytest.raises(ssl.SSLError):
            proxy.tls("other.example")
