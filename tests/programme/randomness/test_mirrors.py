"""Mirrors that answer, fail, lie, lag, hang and send too much, as real servers on this machine."""

import ipaddress
import json
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.programme.randomness.own_chain import GENUINE, OwnChain

from deniable.errors import DeniableError
from deniable.programme.randomness.drand import QUICKNET, Beacon
from deniable.programme.randomness.mirrors import (
    LARGEST,
    MIRRORS,
    NoBeaconError,
    check_mirrors,
    fetch,
    read_beacon,
    read_chain,
)

BEACON = GENUINE[0]
PATH = f"/{QUICKNET.hash}/public/{BEACON.round}"
SHORT, LONG = 0.3, 60.0
"""Seconds: less than a dripping server needs, and more."""
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")

Answer = Callable[[BaseHTTPRequestHandler], None]


def as_json(beacon: Beacon, **others: Any) -> dict[str, Any]:
    return {"round": beacon.round, "randomness": beacon.randomness, "signature": beacon.signature} | others


GOOD = json.dumps(as_json(BEACON)).encode()


def says(body: bytes, status: int = 200, **headers: str) -> Answer:
    def answer(asked: BaseHTTPRequestHandler) -> None:
        asked.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(body))}).items():
            asked.send_header(name, value)
        asked.end_headers()
        asked.wfile.write(body)

    return answer


class Mirror(ThreadingHTTPServer):
    """Answers every request in the same way, and keeps what was asked for."""

    daemon_threads = True

    def __init__(self, answer: Answer, certificate: Path | None = None) -> None:
        self.asked: list[tuple[str, str | None]] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append((self.path, self.headers.get("Proxy-Authorization")))
                answer(self)

            def do_CONNECT(self) -> None:
                self.do_GET()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (http.server's name)
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
            self.scheme = "https"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no news."""

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"


@contextmanager
def mirror(answer: Answer, certificate: Path | None = None) -> Iterator[Mirror]:
    with Mirror(answer, certificate) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_the_usual_mirrors() -> None:
    assert all(url.startswith("https://") for url in MIRRORS)
    assert len(set(MIRRORS)) == 4


def test_a_mirror_that_answers() -> None:
    with mirror(says(GOOD)) as good:
        assert fetch(QUICKNET, BEACON.round, [good.url]) == BEACON
        assert fetch(QUICKNET, BEACON.round, [f"{good.url}/drand/"]) == BEACON
        assert [path for path, _ in good.asked] == [PATH, f"/drand{PATH}"]


def test_a_chain_of_ones_own() -> None:
    own = OwnChain()
    with mirror(says(json.dumps(as_json(own.sign(7), previous_signature="")).encode())) as good:
        assert fetch(own.chain, 7, [good.url]) == own.sign(7)


WRONG = {
    "another round": as_json(GENUINE[1]),
    "the round of another signature": as_json(Beacon(1000, GENUINE[1].signature)),
    "other randomness": as_json(BEACON, randomness=GENUINE[1].randomness),
    "no signature": {"round": 1000},
    "a signature in capitals": {"round": 1000, "signature": BEACON.signature.upper()},
    "a round in quotes": as_json(BEACON, round="1000"),
    "a list": [as_json(BEACON)],
    "text": "1000",
}
WRONG_BYTES = {
    "nothing": b"",
    "not JSON": GOOD[:-1],
    "not Unicode": b"\xff" + GOOD,
    "brackets": b"[" * LARGEST,
    "a huge number": GOOD.replace(b"1000", b"1" * 5000),
} | {name: json.dumps(value).encode() for name, value in WRONG.items()}


@pytest.mark.parametrize("name", WRONG_BYTES)
def test_a_wrong_answer_is_refused_and_the_next_mirror_asked(name: str) -> None:
    with mirror(says(WRONG_BYTES[name])) as bad, mirror(says(GOOD)) as good:
        assert fetch(QUICKNET, BEACON.round, [bad.url, good.url]) == BEACON
        assert [path for path, _ in bad.asked] == [PATH]
        with pytest.raises(NoBeaconError, match="wrong answer"):
            fetch(QUICKNET, BEACON.round, [bad.url])


def test_the_first_that_is_genuine_wins() -> None:
    with mirror(says(GOOD)) as first, mirror(says(GOOD)) as second:
        fetch(QUICKNET, BEACON.round, [first.url, second.url])
        assert (len(first.asked), len(second.asked)) == (1, 0)


@pytest.mark.parametrize(
    ("status", "reason"),
    [(404, "yet"), (425, "yet"), (429, "busy"), (503, "busy"), (500, "wrong"), (204, "wrong"), (403, "wrong")],
)
def test_a_mirror_that_does_not_have_it(status: int, reason: str) -> None:
    with mirror(says(b"" if status == 204 else GOOD, status)) as late, pytest.raises(NoBeaconError, match=reason):
        fetch(QUICKNET, BEACON.round, [late.url])


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirections_are_not_followed(status: int, tmp_path: Path) -> None:
    (tmp_path / "beacon").write_bytes(GOOD)
    with mirror(says(GOOD)) as elsewhere:
        for target in (elsewhere.url + PATH, (tmp_path / "beacon").as_uri(), "ftp://127.0.0.1/beacon"):
            away = mirror(says(b"", status, Location=target))
            with away as sends_away, pytest.raises(NoBeaconError, match="wrong answer"):
                fetch(QUICKNET, BEACON.round, [sends_away.url])
        assert elsewhere.asked == []


def test_ten_megabytes() -> None:
    """Spaces after a genuine beacon, which would be JSON."""
    large = GOOD + b" " * 10**7
    assert json.loads(large) == as_json(BEACON)
    left = Event()

    def answer(asked: BaseHTTPRequestHandler) -> None:
        try:
            says(large)(asked)
        except OSError:
            left.set()

    with mirror(answer) as floods, pytest.raises(NoBeaconError, match="wrong answer"):
        fetch(QUICKNET, BEACON.round, [floods.url], LONG)
    assert left.wait(LONG)


def drip(text: bytes, left: Event) -> Answer:
    """A byte at a time, far faster than any single read would time out."""

    def answer(asked: BaseHTTPRequestHandler) -> None:
        pause = Event()
        try:
            for byte in text:
                asked.wfile.write(bytes([byte]))
                asked.wfile.flush()
                pause.wait(0.005)
        except OSError:
            left.set()

    return answer


BODY = GOOD + b" " * 300
DRIPPING = {
    "the head": b"HTTP/1.0 200 OK\r\nServer: " + b"s" * 400 + b"\r\n\r\n" + GOOD,
    "the body": b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
    "a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x;%b\r\n%b\r\n0\r\n\r\n"
    % (len(GOOD), b"x" * 400, GOOD),
}


@pytest.mark.parametrize("name", DRIPPING)
def test_a_server_that_drips(name: str) -> None:
    """It is cut off in the middle, and notices. Control: with time enough, the same server is heard to the end."""
    left = Event()
    with mirror(drip(DRIPPING[name], left)) as slow:
        with pytest.raises(NoBeaconError, match="did not answer"):
            fetch(QUICKNET, BEACON.round, [slow.url], SHORT)
        assert left.wait(LONG)
        assert fetch(QUICKNET, BEACON.round, [slow.url], LONG) == BEACON


def test_a_server_that_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(NoBeaconError, match="did not answer"):
            fetch(QUICKNET, BEACON.round, [url], SHORT)


def test_no_server_and_no_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with mirror(lambda asked: asked.connection.sendall(b"220 smtp\r\n")) as smtp:
        with pytest.raises(NoBeaconError, match=r"127\.0\.0\.1 did not answer and localhost did not answer"):
            fetch(QUICKNET, BEACON.round, [f"http://127.0.0.1:{port}", f"http://localhost:{port}"])
        with pytest.raises(NoBeaconError, match="did not answer"):
            fetch(QUICKNET, BEACON.round, [smtp.url])


def test_every_mirror_has_its_reason() -> None:
    with mirror(says(b"", 404)) as late, mirror(says(b"{}")) as lies, pytest.raises(NoBeaconError) as refused:
        fetch(QUICKNET, BEACON.round, [late.url, lies.url])
    assert "beacon 1000 (127.0.0.1 does not have it yet and 127.0.0.1 gave a wrong answer)" in str(refused.value)
    with pytest.raises(NoBeaconError, match="none was named"):
        fetch(QUICKNET, BEACON.round, [])


@pytest.mark.parametrize(
    "url",
    [
        "http://api.drand.sh",
        "http://127.0.0.1.example.org",
        "http://localhost.example.org",
        "http://[::2]",
        "http://[::1",
        "https://",
        "https://me:secret@api.drand.sh",
        "https://api.drand.sh?round=1",
        "https://api.drand.sh:99999",
        "ftp://localhost",
        "file:///etc/hostname",
        "api.drand.sh",
    ],
)
def test_addresses_that_no_mirror_has(url: str) -> None:
    """Before any other mirror is asked."""
    with mirror(says(GOOD)) as good:
        with pytest.raises(DeniableError, match="address such as https"):
            fetch(QUICKNET, BEACON.round, [good.url, url])
        assert good.asked == []


def test_a_name_that_no_machine_can_have() -> None:
    with pytest.raises(NoBeaconError, match="did not answer"):
        fetch(QUICKNET, BEACON.round, [f"https://{'a' * 64}.example"])


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 127.0.0.1, signed by itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mirror")])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    path = tmp_path_factory.mktemp("mirror") / "certificate.pem"
    path.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain) + signed.public_bytes(pem))
    return path


def test_a_mirror_with_tls(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its certificate must be one that this machine trusts."""
    left = Event()
    with mirror(says(GOOD), certificate) as good, mirror(drip(DRIPPING["the body"], left), certificate) as slow:
        with pytest.raises(NoBeaconError, match="did not answer"):
            fetch(QUICKNET, BEACON.round, [good.url])
        assert good.asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert fetch(QUICKNET, BEACON.round, [good.url], LONG) == BEACON
        with pytest.raises(NoBeaconError, match="did not answer"):
            fetch(QUICKNET, BEACON.round, [slow.url], SHORT)
        assert left.wait(LONG)


def test_a_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is asked for a tunnel to mirrors elsewhere; mirrors of this machine are asked without it."""
    with mirror(says(b"", 403)) as proxy, mirror(says(GOOD)) as good:
        monkeypatch.setenv("http_proxy", proxy.url)
        assert fetch(QUICKNET, BEACON.round, [good.url]) == BEACON
        monkeypatch.setenv("https_proxy", proxy.url.replace("//", "//me:p%40ss@"))
        with pytest.raises(NoBeaconError, match="did not answer"):
            fetch(QUICKNET, BEACON.round, ["https://mirror.invalid"])
        assert proxy.asked == [("mirror.invalid:443", "Basic bWU6cEBzcw==")]
        monkeypatch.setenv("no_proxy", "mirror.invalid")
        monkeypatch.setenv("https_proxy", proxy.url.removeprefix("http://"))
        with pytest.raises(NoBeaconError, match="did not answer"):
            fetch(QUICKNET, BEACON.round, ["https://mirror.invalid", "https://other.invalid"])
        assert proxy.asked[1:] == [("other.invalid:443", None)]


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_no_time_at_all(timeout: float) -> None:
    with pytest.raises(DeniableError, match="seconds"):
        fetch(QUICKNET, BEACON.round, [], timeout)


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "beacon.json"
    for text in (GOOD, GOOD + b"\n", json.dumps({"round": 1000, "signature": BEACON.signature}).encode()):
        path.write_bytes(text)
        assert read_beacon(path) == BEACON


@pytest.mark.parametrize("name", sorted(WRONG_BYTES.keys() - {"another round", "the round of another signature"}))
def test_a_file_with_something_else(tmp_path: Path, name: str) -> None:
    path = tmp_path / "beacon.json"
    path.write_bytes(WRONG_BYTES[name])
    with pytest.raises(DeniableError, match="no beacon"):
        read_beacon(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(DeniableError, match="cannot read"):
        read_beacon(tmp_path / "beacon.json")
    (tmp_path / "large.json").write_bytes(GOOD + b" " * 10**6)
    with pytest.raises(DeniableError, match="no beacon"):
        read_beacon(tmp_path / "large.json")


# Chains

INFO = {
    "public_key": QUICKNET.public_key,
    "period": 3,
    "genesis_time": 1692803367,
    "hash": QUICKNET.hash,
    "groupHash": "f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e",
    "schemeID": "bls-unchained-g1-rfc9380",
    "metadata": {"beaconID": "quicknet"},
}


def test_a_chain_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "info.json"
    path.write_text(json.dumps(INFO), encoding="ascii")
    assert read_chain(path) == QUICKNET


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"schemeID": "pedersen-bls-chained"}, "scheme"),
        ({"schemeID": None}, "scheme"),
        ({"period": "3"}, "period"),
        ({"period": 0}, "period"),
        ({"genesis_time": -1}, "genesis"),
        ({"hash": "52"}, "hash"),
        ({"public_key": "83"}, "public key"),
    ],
)
def test_a_file_with_another_chain(tmp_path: Path, changed: dict[str, Any], word: str) -> None:
    path = tmp_path / "info.json"
    path.write_text(json.dumps(INFO | changed), encoding="ascii")
    with pytest.raises(DeniableError, match=word):
        read_chain(path)


@pytest.mark.parametrize("text", [b"", b"[]", b'"hash"', b"{}", b"\xff", b"[" * LARGEST, b"{" + b" " * LARGEST + b"}"])
def test_a_file_without_a_chain(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "info.json"
    path.write_bytes(text)
    with pytest.raises(DeniableError, match="describes no chain"):
        read_chain(path)
    with pytest.raises(DeniableError, match="cannot read"):
        read_chain(tmp_path / "nowhere")


def test_addresses_are_checked_beforehand() -> None:
    assert check_mirrors(MIRRORS) == MIRRORS
    with pytest.raises(DeniableError, match="address such as https"):
        check_mirrors([*MIRRORS, "http://api.drand.sh"])
