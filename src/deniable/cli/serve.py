"""`deniable serve`: the console, in a browser."""

import ipaddress
import signal
import socket
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from deniable.errors import DeniableError

if TYPE_CHECKING:
    from deniable.web.console import Console

DEFAULT_PORT = 8470


@dataclass(frozen=True)
class Address:
    """Where the console listens, and whether browsers reach it through TLS."""

    host: str
    port: int
    certificate: Path | None
    certificate_key: Path | None
    behind_proxy: bool

    def __post_init__(self) -> None:
        has_tls = self.certificate is not None
        if has_tls != (self.certificate_key is not None):
            raise DeniableError("--tls-cert and --tls-key must be given together")
        if has_tls and self.behind_proxy:
            raise DeniableError("give either --tls-cert and --tls-key or --behind-proxy, got both")
        if not 0 <= self.port <= 65535:
            raise DeniableError(f"--port must be from 0 to 65535, got {self.port}")
        if not (self.is_loopback or has_tls or self.behind_proxy):
            raise DeniableError(
                f"on {self.host} others could read what is sent: give --tls-cert and --tls-key, or, where a server "
                "with TLS stands before this one and nobody can go round it, --behind-proxy"
            )

    @property
    def secure(self) -> bool:
        return self.certificate is not None or self.behind_proxy

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:  # a name, which may stand for any address
            return False

    def check_certificate(self) -> None:
        """Before anything is made or printed."""
        if self.certificate is None:
            return
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.certificate_key)
        except ssl.SSLError:
            raise DeniableError("the TLS certificate and its key must be PEM files that belong together") from None
        except OSError as error:
            raise DeniableError(f"cannot read the TLS certificate or its key: {error.strerror}") from None

    def listening(self) -> socket.socket:
        try:
            made = socket.create_server(
                (self.host, self.port), family=socket.AF_INET6 if ":" in self.host else socket.AF_INET
            )
        except OSError as error:
            raise DeniableError(
                f"cannot listen on {self.host}, port {self.port}: {error.strerror}; is it running already?"
            ) from None
        # Otherwise the end of every answer waits 40 ms until the browser has acknowledged its beginning.
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made


def serve(
    *,
    database: Annotated[
        str,
        typer.Option(
            "--programme",
            metavar="DB",
            envvar="DENIABLE_DATABASE",
            help="The programme's database: an SQLite file, or a URL such as postgresql://user@host/name. It is made, "
            "with its key, if it is not there.",
        ),
    ] = "programme.db",
    key: Annotated[
        Path | None,
        typer.Option(
            "--key",
            metavar="FILE",
            show_default=False,
            help="The key file, by default what DENIABLE_KEY names, or else the file beside the database that is "
            "named like it and ends in .key; with PostgreSQL it must be named.",
        ),
    ] = None,
    passphrase: Annotated[
        bool,
        typer.Option("--passphrase", help="The key is a passphrase: ask for it, or take it from DENIABLE_PASSPHRASE."),
    ] = False,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="Port to listen on; 0 for any that is free.")] = DEFAULT_PORT,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default=False, help="TLS certificate, with its chain, in PEM.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default=False, help="The certificate's private key, in PEM.")
    ] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="A server with TLS stands before this one, passes the Host header on, and nobody can go round it.",
        ),
    ] = False,
    new_administrator: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="Print a link by which somebody becomes another administrator, where all others have lost theirs.",
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo", help="Show an invented programme with four people to sign in as. Nothing is kept when it ends."
        ),
    ] = False,
) -> None:
    """The console: plan a programme, enter reports, close rounds, publish, in a browser.

    At the first start it prints a link by which the administrator is set up; nothing else can be reached before. It
    listens on this computer alone, unless --host names another address, which needs TLS. No address, no exact time and
    no request is logged.
    """
    where = Address(host, port, tls_cert, tls_key, behind_proxy)
    _check_installed()
    where.check_certificate()
    with (
        where.listening() as listening,
        _demonstration(where) if demo else _console(where, database, key, passphrase) as console,
    ):
        shown = f"[{host}]" if ":" in host else host
        here = f"{'https' if tls_cert else 'http'}://{shown}:{listening.getsockname()[1]}"
        for line in _greeting(console, here, new_administrator):
            print(line, flush=True)
        _run(console, where, listening)


def _check_installed() -> None:
    try:
        import deniable.web.app  # noqa: F401, PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("deniable"):
            raise
        raise DeniableError(
            f"the console needs {error.name}, which is not installed: pip install 'deniable[web]'"
        ) from None


@contextmanager
def _console(where: Address, database: str, key: Path | None, passphrase: bool) -> Iterator["Console"]:
    from deniable.cli.programme_options import key_of  # noqa: PLC0415
    from deniable.web.console import Console, is_new  # noqa: PLC0415

    chosen = key_of(database, key, passphrase, new=is_new(database))
    console = Console.open(database, chosen, secure=where.secure)
    try:
        yield console
    finally:
        console.close()


@contextmanager
def _demonstration(where: Address) -> Iterator["Console"]:
    from deniable.web.demo import demonstration  # noqa: PLC0415

    if not where.is_loopback:
        raise DeniableError("--demo shows its passwords to everybody, so it can only be used on this computer alone")
    with tempfile.TemporaryDirectory(prefix="deniable-demo-") as folder:
        console = demonstration(Path(folder))
        console.secure = where.secure
        try:
            yield console
        finally:
            console.close()


def _greeting(console: "Console", here: str, new_administrator: str | None) -> Iterator[str]:
    """What the terminal says before the first request."""
    from deniable.web import accounts  # noqa: PLC0415

    now = console.clock()
    with console.store.writing() as connection:
        first = invited = accounts.invite_first(connection, now)
        if first is None and new_administrator is not None:
            invited = accounts.invite(connection, new_administrator, "administrator", now)
            accounts.record(connection, now, "the terminal", f"invited {new_administrator} as administrator")
    yield f"The console is at {here}"
    if first is not None:
        yield "Open this link to set up the administrator. It works once, and until this command is started again."
        yield f"  {here}/first-run/{first}"
    elif invited is not None:
        yield f"{new_administrator} becomes an administrator with this link, once, within three days:"
        yield f"  {here}/invitation/{invited}"
    if console.demo:
        yield "Everything in it is made up, and gone when it ends. Sign in as:"
        for one in console.demo:
            code = accounts.codes(console.key, one.person.id, one.generation).at(console.clock())
            yield f"  {one.person.name:<16} {one.person.role:<14} password {one.password}   code now {code}"
        yield "A code lasts half a minute; the sign-in page shows the next ones."
    yield "Stop it with Ctrl-C."


def _run(console: "Console", where: Address, listening: socket.socket) -> None:
    import uvicorn  # noqa: PLC0415

    from deniable.web.app import create_app  # noqa: PLC0415

    config = uvicorn.Config(
        create_app(console),
        access_log=False,
        log_config=None,
        log_level="critical",
        server_header=False,
        proxy_headers=False,
        http="h11",
        ws="none",
        limit_concurrency=200,
        timeout_graceful_shutdown=10,
        ssl_certfile=where.certificate,
        ssl_keyfile=where.certificate_key,
    )
    before = signal.signal(signal.SIGTERM, _stop)  # which the server calls when it has ended
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(*_: Any) -> NoReturn:
    raise KeyboardInterrupt
