"""`deniable serve`: where it listens, what it prints, and a console of its own process."""

import collections
import datetime
import os
import re
import secrets
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.console.offices import Office
from tests.programme.offices import TARGETS

from deniable.cli.main import main
from deniable.cli.serve import Address, _greeting
from deniable.errors import DeniableError
from deniable.programme.calendar import Calendar


def address(host: str, *, tls: bool = False, behind_proxy: bool = False, origin: str | None = None) -> Address:
    file = Path("file.pem") if tls else None
    return Address(host, 0, file, file, behind_proxy, origin)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_this_computer_alone_needs_no_tls(host: str) -> None:
    assert not address(host).secure


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org", "localhost.example.org", ""])
def test_other_addresses_need_tls_or_a_proxy(host: str) -> None:
    with pytest.raises(DeniableError, match="others could read what is sent: give --tls-cert and --tls-key, or"):
        address(host)
    assert address(host, tls=True, origin="https://console.example.org").secure
    assert address(host, behind_proxy=True, origin="https://console.example.org").secure


@pytest.mark.parametrize(
    ("host", "tls", "behind_proxy"),
    [("0.0.0.0", True, False), ("0.0.0.0", False, True), ("127.0.0.1", False, True), ("example.org", True, False)],
)
def test_others_must_be_told_under_which_name(host: str, tls: bool, behind_proxy: bool) -> None:
    with pytest.raises(DeniableError, match=r"say where browsers reach the console, .*: give --origin, such as https"):
        address(host, tls=tls, behind_proxy=behind_proxy)
    with pytest.raises(DeniableError, match="--origin must be what browsers show, such as https://"):
        address(host, tls=tls, behind_proxy=behind_proxy, origin="http://console.example.org")
    where = address(host, tls=tls, behind_proxy=behind_proxy, origin="https://Console.example.org:443/")
    assert where.origin == "https://console.example.org"


def test_on_this_computer_a_name_may_be_given() -> None:
    assert address("127.0.0.1", origin="http://console.test:8470").origin == "http://console.test:8470"
    assert address("localhost", tls=True).origin is None


def said(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """The one line on stderr."""
    assert main(["serve", *args]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err.count("\n") == 1
    return out.err


def test_options_that_do_not_go_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = str(tmp_path / "programme.db")
    file = str(tmp_path / "file")
    assert "must be given together" in said(capsys, "--programme", database, "--tls-cert", file)
    both = ("--tls-cert", file, "--tls-key", file, "--behind-proxy")
    assert "got both" in said(capsys, "--programme", database, *both)
    assert "others could read" in said(capsys, "--programme", database, "--host", "0.0.0.0")
    everywhere = ("--host", "0.0.0.0", "--behind-proxy")
    assert "give --origin" in said(capsys, "--programme", database, *everywhere)
    assert "must be what browsers show" in said(capsys, "--programme", database, *everywhere, "--origin", "a.example")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options",
    [
        ("--host", "0.0.0.0"),
        ("--host", "192.0.2.1", "--behind-proxy", "--origin", "https://a.example"),
        ("--behind-proxy", "--origin", "https://a.example"),
        ("--behind-proxy",),
        ("--origin", "http://a.example"),
        ("--tls-cert", "file", "--tls-key", "file"),
        ("--tls-key", "file"),
    ],
)
def test_a_demonstration_is_for_this_computer_alone(
    options: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable.cli.serve._run", lambda *_: pytest.fail("it is served"))
    assert "--demo shows its passwords to everybody and is for this computer alone: leave out" in said(
        capsys, "--demo", "--port", "0", *options
    )


def test_certificates_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = ("--programme", str(tmp_path / "programme.db"), "--port", "0")
    for name, content in (("empty", b""), ("text", b"not a certificate")):
        (tmp_path / name).write_bytes(content)
        told = said(capsys, *at, "--tls-cert", str(tmp_path / name), "--tls-key", str(tmp_path / name))
        assert "must be PEM files that belong together" in told
    told = said(capsys, *at, "--tls-cert", "/nowhere", "--tls-key", "/nowhere")
    assert "cannot read the TLS certificate or its key: No such file" in told
    assert not (tmp_path / "programme.db").exists()


def test_a_port_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = str(tmp_path / "programme.db")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "is it running already?" in said(capsys, "--programme", database, "--port", port)
    assert "--port must be from 0 to 65535" in said(capsys, "--programme", database, "--port", "99999")


def test_answers_are_sent_at_once() -> None:
    """A connection inherits this; without it every answer takes 40 ms longer."""
    with Address("127.0.0.1", 0, None, None, False).listening() as listening:
        assert listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        with socket.create_connection(listening.getsockname()):
            accepted, _ = listening.accept()
            with accepted:
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_another_key_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from deniable.console.console import Console  # noqa: PLC0415
    from deniable.programme.secrets.keys import KeyFile  # noqa: PLC0415
    from deniable.programme.secrets.vault import new_key_file  # noqa: PLC0415

    database = str(tmp_path / "programme.db")
    Console.open(database, KeyFile(tmp_path / "programme.key")).close()
    new_key_file(tmp_path / "other.key")
    assert "this is not the key" in said(capsys, "--programme", database, "--key", str(tmp_path / "other.key"))


@contextmanager
def served(folder: Path, *args: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A console of its own process, and what it printed until it was ready."""
    command = [sys.executable, "-m", "deniable", "serve", "--port", "0", *args]
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        printed = ""
        for line in process.stdout:
            printed += line
            if "Ctrl-C" in line:
                break
        else:
            assert process.stderr is not None
            pytest.fail(process.stderr.read())
        yield process, printed
    finally:
        process.kill()
        process.communicate()


def link(printed: str, kind: str) -> str:
    found = re.search(rf"https?://\S+/{kind}/[\w-]{{43}}", printed)
    assert found is not None
    return found[0]


NOT_HTTP = (
    b"\x16\x03\x01 no HTTP\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1e9\r\n\r\n",
    b"POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
)


def test_the_first_start(tmp_path: Path) -> None:
    """It makes the database and its key, prints a link, serves it, logs nothing, is not upset by what is not HTTP,
    and ends when it is told to.
    """
    with served(tmp_path) as (process, printed):
        assert f"  {tmp_path / 'programme.key'}\n" in printed
        address = link(printed, "first-run")
        page = httpx.get(address)
        assert page.status_code == 200
        assert "server" not in page.headers
        assert page.headers["cache-control"] == "no-store"
        here = address.partition("/first-run")[0]
        rebound = httpx.get(address, headers={"Host": "rebound.example"})
        assert (rebound.status_code, "set-cookie" in rebound.headers) == (421, False)
        for sent in NOT_HTTP:
            with socket.create_connection(("127.0.0.1", int(here.rpartition(":")[2])), timeout=30) as client:
                client.sendall(sent)
                assert re.match(rb"HTTP/1.1 4\d\d ", client.recv(4096))
        assert httpx.get(here).status_code == 503
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 130
    assert (out, err) == ("", "")
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("programme.*")}
    assert files == {"programme.db": 0o600, "programme.key": 0o600}


def certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "certificate.key"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = serialization.PrivateFormat.PKCS8
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption()))
    return paths


@pytest.mark.long
def test_with_tls(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    options = ("--host", "localhost", "--tls-cert", str(cert), "--tls-key", str(key))
    with served(tmp_path, *options) as (_, printed):
        page = httpx.get(link(printed, "first-run"), verify=ssl.create_default_context(cafile=str(cert)))
    assert page.url.scheme == "https"
    assert page.headers["set-cookie"].startswith("__Host-visit=")
    assert "Secure" in page.headers["set-cookie"]
    assert "strict-transport-security" in page.headers


def test_another_administrator(office: Office) -> None:
    """Where the only one has lost the telephone: whoever has the database and its key can let another one in."""
    printed = "\n".join(_greeting(office.console, "http://testserver", "Berta"))
    assert "first-run" not in printed
    assert "Berta" in office.browser().get(link(printed, "invitation")).text
    assert "invited Berta as administrator" in office.browser("Ada").get("/activity").text


@pytest.mark.long
def test_the_demonstration_leaves_nothing_behind(tmp_path: Path) -> None:
    with served(tmp_path, "--demo") as (process, printed):
        assert re.findall(r"(administrator|operator|importer|auditor) +password \S+ +code now \d{6}", printed) == [
            "administrator",
            "operator",
            "importer",
            "auditor",
        ]
        found = re.search(r"http://127\.0\.0\.1:\d+", printed)
        assert found is not None
        assert "Demonstration" in httpx.get(f"{found[0]}/login").text
        assert list(tmp_path.glob("deniable-demo-*")) != []
        process.terminate()
        process.communicate(timeout=30)
    assert list(tmp_path.glob("deniable-demo-*")) == []


@pytest.mark.long
def test_killed_under_load_nothing_is_lost(database: str, tmp_path: Path) -> None:
    """On both databases, with kill -9, while eight machines push reports, three times: what was acknowledged is
    counted, and nothing that was never sent.
    """
    from deniable.console.accounts import people, tokens  # noqa: PLC0415
    from deniable.console.accounts.people import Person  # noqa: PLC0415
    from deniable.console.console import Console  # noqa: PLC0415
    from deniable.programme.programme import Programme  # noqa: PLC0415
    from deniable.programme.secrets.keys import KeyFile  # noqa: PLC0415

    key = KeyFile(tmp_path / "programme.key")
    console = Console.open(database, key)
    with console.store.writing() as connection:
        secret = tokens.make(connection, console.key, "hotline", ["reports"])
        person = Person("id-Ada", "Ada", "administrator")
        people.add(connection, console.key, person, password="", codes="")
    Programme.begin(
        console.store, console.vault, console.copy, name="Killed", targets=TARGETS, mechanism="race", delta=0.1,
        calendar=Calendar(datetime.datetime.now(datetime.UTC).date(), "1D", "UTC"),
    )  # fmt: skip
    console.close()
    sent, acknowledged = collections.Counter[str](), collections.Counter[str]()
    for _ in range(3):
        with served(tmp_path, "--programme", database, "--key", str(key.path)) as (process, printed):
            found = re.search(r"http://127\.0\.0\.1:\d+", printed)
            assert found is not None
            before = sum(acknowledged.values())
            machines = [
                threading.Thread(target=push_until_killed, args=(found[0], secret, target, sent, acknowledged))
                for target in TARGETS * 2
            ]
            for machine in machines:
                machine.start()
            while sum(acknowledged.values()) < before + 60:
                assert process.poll() is None
                time.sleep(0.01)
            process.kill()
            for machine in machines:
                machine.join()
        console = Console.open(database, key)
        programme = console.programme()
        assert programme is not None
        counted = programme.active_counts()
        console.close()
        for target in TARGETS:
            assert acknowledged[target] <= counted[target] <= sent[target]
        assert sum(sent.values()) > sum(acknowledged.values()), "nothing was under way when it was killed"


_tally = threading.Lock()


def push_until_killed(
    address: str, secret: str, target: str, sent: "collections.Counter[str]", acknowledged: "collections.Counter[str]"
) -> None:
    headers = {"Authorization": f"Bearer {secret}"}
    with httpx.Client(base_url=address, headers=headers, timeout=30) as machine:
        while True:
            with _tally:
                sent[target] += 1
            try:
                body = {"id": secrets.token_hex(8), "reports": {target: 1}}
                answer = machine.post("/api/v1/reports", json=body)
            except httpx.HTTPError:
                return
            assert answer.status_code == 200
            with _tally:
                acknowledged[target] += 1
