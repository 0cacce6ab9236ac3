"""`deniable serve`: where it listens, what it prints, and a console of its own process."""

import collections
import datetime
import re
import secrets
import signal
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.console.offices import Office, new_office
from tests.console.serving import link, port_of, served
from tests.programme.offices import TARGETS

from deniable.cli.main import main
from deniable.cli.serve import Address, _greeting
from deniable.console.accounts import invitations
from deniable.errors import DeniableError
from deniable.programme.calendar import Calendar

HERE = "https://console.example.org"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_this_computer_alone_needs_no_proxy(host: str) -> None:
    assert Address(host, 0, behind_proxy=False).origin is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org", "localhost.example.org", ""])
def test_other_addresses_need_a_proxy(host: str) -> None:
    for origin in (None, HERE, "http://console.example.org"):
        with pytest.raises(DeniableError, match=r"others could read .* web server with TLS in front of the console"):
            Address(host, 0, behind_proxy=False, origin=origin)
    assert Address(host, 0, behind_proxy=True, origin=HERE).origin == HERE


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
def test_behind_a_proxy_it_must_be_told_its_name(host: str) -> None:
    with pytest.raises(DeniableError, match=r"say where browsers reach the console, .*: give --origin, such as https"):
        Address(host, 0, behind_proxy=True)
    with pytest.raises(DeniableError, match="--origin must be what browsers show, such as https://"):
        Address(host, 0, behind_proxy=True, origin="http://console.example.org")
    assert Address(host, 0, behind_proxy=True, origin="https://Console.example.org:443/").origin == HERE


def test_on_this_computer_a_name_may_be_given() -> None:
    where = Address("127.0.0.1", 0, behind_proxy=False, origin="http://console.test:8470")
    assert where.origin == "http://console.test:8470"


def said(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """The one line on stderr."""
    assert main(["serve", *args]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err.count("\n") == 1
    return out.err


def test_options_that_do_not_go_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = str(tmp_path / "programme.db")
    assert "others could read" in said(capsys, "--database", database, "--host", "0.0.0.0")
    everywhere = ("--host", "0.0.0.0", "--behind-proxy")
    assert "give --origin" in said(capsys, "--database", database, *everywhere)
    assert "must be what browsers show" in said(capsys, "--database", database, *everywhere, "--origin", "a.example")
    plain = ("--port", "0", "--mirror", "http://drand.example.org")
    assert "mirror of drand" in said(capsys, "--database", database, *plain)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options",
    [
        ("--host", "0.0.0.0"),
        ("--host", "192.0.2.1", "--behind-proxy", "--origin", "https://a.example"),
        ("--behind-proxy", "--origin", "https://a.example"),
        ("--behind-proxy",),
        ("--origin", "http://a.example"),
    ],
)
def test_a_demonstration_is_for_this_computer_alone(
    options: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable.cli.serve._serve", lambda *_: pytest.fail("it is served"))
    assert "--demo shows its passwords to every visitor and is for this computer alone: leave out" in said(
        capsys, "--demo", "--port", "0", *options
    )


def test_a_port_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = str(tmp_path / "programme.db")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = said(capsys, "--database", database, "--port", port)
    assert "Address already in use; is it running already? Otherwise give another --port" in told
    assert "--port must be from 0 to 65535" in said(capsys, "--database", database, "--port", "99999")


def test_answers_are_sent_at_once() -> None:
    """A connection inherits this; without it every answer takes 40 ms longer."""
    with Address("127.0.0.1", 0, behind_proxy=False).listening() as listening:
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
    other = ("--key", str(tmp_path / "other.key"))
    assert "this is not the key" in said(capsys, "--database", database, *other, "--port", "0")


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


def test_the_first_link_says_how_long_it_works(tmp_path: Path) -> None:
    office = new_office(tmp_path, people=False)
    printed = "\n".join(_greeting(office.console, "http://testserver", None))
    assert "It works once, until the end of the third day from now (UTC), or until this command is started" in printed
    token = link(printed, "first-run").rpartition("/")[2]
    last = (office.clock() + datetime.timedelta(days=3)).replace(hour=23, minute=59)
    with office.console.store.reading() as connection:
        for time, works in ((last, True), (last + datetime.timedelta(minutes=1), False)):
            assert (invitations.find(connection, office.console.key, token, time) is not None) == works
    office.console.close()


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    made = new_office(tmp_path)
    yield made
    made.console.close()


def test_another_administrator(office: Office) -> None:
    """Where the only one has lost the telephone: whoever has the database and its key can let another one in."""
    printed = "\n".join(_greeting(office.console, "http://testserver", "Berta"))
    assert "first-run" not in printed
    assert "Berta" in office.browser().get(link(printed, "invitation")).text
    assert "invited Berta as administrator" in office.browser("Ada").get("/activity").text


@pytest.mark.long
def test_the_demonstration_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "t"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with served(tmp_path, "--demo") as (process, printed):
        assert re.findall(r"(administrator|operator|importer|auditor) +password \S+ +code now \d{6}", printed) == [
            "auditor",
            "administrator",
            "operator",
            "importer",
        ]
        assert "Demonstration" in httpx.get(f"http://127.0.0.1:{port_of(printed)}/login").text
        assert list(temporary.glob("deniable-demo-*")) != []
        process.terminate()
        process.communicate(timeout=30)
    assert list(temporary.glob("deniable-demo-*")) == []


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
        people.add(connection, console.key, person, password="", totp_salt="")
    Programme.begin(
        console.store, console.vault, console.copy, name="Killed", targets=TARGETS, mechanism="race", delta=0.1,
        calendar=Calendar(datetime.datetime.now(datetime.UTC).date(), "1D", "UTC"),
    )  # fmt: skip
    console.close()
    sent, acknowledged = collections.Counter[str](), collections.Counter[str]()
    for _ in range(3):
        with served(tmp_path, "--database", database, "--key", str(key.path)) as (process, printed):
            here, enough = f"http://127.0.0.1:{port_of(printed)}", sum(acknowledged.values()) + 60
            machines = [
                threading.Thread(target=push_until_killed, args=(here, secret, target, sent, acknowledged))
                for target in TARGETS * 2
            ]
            for machine in machines:
                machine.start()
            with _tally:
                assert _tally.wait_for(lambda: sum(acknowledged.values()) >= enough, timeout=120)  # noqa: B023
            assert process.poll() is None
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


_tally = threading.Condition()


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
                _tally.notify_all()
