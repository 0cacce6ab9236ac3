"""`deniable serve`: the console, in a browser."""

import signal
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from deniable.cli.groups import Command
from deniable.cli.options import DATABASE, DEFAULT_DATABASE, AskPassphrase, KeyPath, shared
from deniable.console import allowed_hosts
from deniable.errors import DeniableError, pip_install
from deniable.message import noted

commands = typer.Typer(rich_markup_mode=None)

if TYPE_CHECKING:
    import uvicorn

    from deniable.console.console import Console

DEFAULT_PORT = 8470
MOST_CONNECTIONS = 400
"""More than a proxy as in deploy/ opens."""


@dataclass(frozen=True)
class Address:
    """Where the console listens, and where browsers reach it, through a proxy with TLS or not."""

    host: str
    port: int
    behind_proxy: bool
    origin: str | None = None
    """What browsers show, such as https://console.example.org; None on this computer alone."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise DeniableError(f"--port must be from 0 to 65535, got {self.port}")
        if not (self.behind_proxy or allowed_hosts.is_loopback(self.host)):
            raise DeniableError(
                f"on {self.host} others could read what is sent, or keep the console busy: leave out --host, and put a "
                "web server with TLS in front of the console (deploy/ in the project has configurations for nginx and "
                "Caddy); where the two must speak over a network that only they can reach, give --behind-proxy too"
            )
        if self.origin is not None:
            object.__setattr__(self, "origin", allowed_hosts.checked(self.origin, secure=self.behind_proxy))
        elif self.behind_proxy:
            raise DeniableError(
                "say where browsers reach the console, so that it answers to no other name: give --origin, such as "
                "https://console.example.org"
            )

    def listening(self) -> socket.socket:
        try:
            made = socket.create_server(
                (self.host, self.port), family=socket.AF_INET6 if ":" in self.host else socket.AF_INET
            )
        except OSError as error:
            why = (error.strerror or str(error)).partition(" (")[0]  # in brackets stands the address once more
            raise DeniableError(
                f"cannot listen on {self.host}, port {self.port}: {why}; is it running already? Otherwise give another "
                "--port"
            ) from None
        # Otherwise the end of every answer waits 40 ms until the browser has acknowledged its beginning.
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made


@commands.command(cls=Command)
def serve(
    *,
    database: Annotated[
        str, shared("--database", "It is made, with its key, if it is not there.", envvar=DATABASE)
    ] = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", help="Port to listen on; 0 for any that is free.")] = DEFAULT_PORT,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="A web server with TLS stands in front of the console, passes the Host header on, and is the only way "
            "to reach it. Needs --origin.",
        ),
    ] = False,
    origin: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            show_default=False,
            help="Where browsers reach the console, such as https://console.example.org. The console answers to no "
            "other name; without this option, only to the names of this computer.",
        ),
    ] = None,
    new_administrator: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="Print a link that makes this person an administrator, if all others have lost their access.",
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            show_default=False,
            help="Processes that serve. By default one for each core, up to four, where the database is PostgreSQL; "
            "otherwise one.",
        ),
    ] = None,
    mirror: Annotated[list[str] | None, shared("--mirror", show_default=False)] = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo", help="Show an invented programme with four people to sign in as. Nothing is kept when it ends."
        ),
    ] = False,
) -> None:
    """The console: plan a programme, enter reports, close rounds, publish, in a browser.

    At the first start it prints a link by which the administrator is set up; nothing else can be reached before. It
    listens on this computer alone. For others to reach it, put a web server with TLS in front of it, and give
    --behind-proxy and --origin. No address, no exact time and no request is logged.
    """
    if demo and (behind_proxy or origin or not allowed_hosts.is_loopback(host)):
        raise DeniableError(
            "--demo shows its passwords to every visitor and is for this computer alone: leave out --host, --origin "
            "and --behind-proxy"
        )
    where = Address(host, port, behind_proxy, origin)
    _check_installed()
    workers = _workers("" if demo else database, processes)
    with (
        where.listening() as listening,
        _demonstration() if demo else _console(where, database, key, passphrase, mirror) as console,
    ):
        server = _server(console, where.origin)
        shown = f"[{host}]" if ":" in host else host
        here = where.origin or f"http://{shown}:{listening.getsockname()[1]}"
        greet = partial(print, *_greeting(console, here, new_administrator), sep="\n", flush=True)
        if workers == 1:
            greet()
            _serve(server, listening)
        else:
            _serve_with(workers, console, partial(_serve, server, listening), greet)


def _workers(database: str, processes: int | None) -> int:
    from deniable.console.workers import workers_for  # noqa: PLC0415

    return workers_for(database, processes)


def _check_installed() -> None:
    try:
        import deniable.console.app  # noqa: F401, PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("deniable"):
            raise
        raise DeniableError(
            f"the console needs {error.name}, which is not installed: "
            f"run {pip_install('console')} in a copy of the project"
        ) from None


@contextmanager
def _console(
    where: Address, database: str, key: Path | None, passphrase: bool, mirror: Sequence[str] | None
) -> Iterator["Console"]:
    from deniable.cli.programme.options import chosen_mirrors, key_of  # noqa: PLC0415
    from deniable.console.console import Console, is_new  # noqa: PLC0415
    from deniable.programme.secrets.keys import KeyFile  # noqa: PLC0415

    mirrors = chosen_mirrors(mirror)
    new = is_new(database)
    chosen = key_of(database, key, passphrase, new=new)
    console = Console.open(database, chosen, secure=where.behind_proxy, mirrors=mirrors)
    if new and isinstance(chosen, KeyFile):  # here alone: a browser is no place to say where a key is
        print("The key of this new database is the file below. Copy it now to a safe place apart from the database:")
        print(f"  {chosen.path.absolute()}", flush=True)
    try:
        yield console
    finally:
        console.close()


@contextmanager
def _demonstration() -> Iterator["Console"]:
    from deniable.console.demo import demonstration  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="deniable-demo-") as folder:
        console = demonstration(Path(folder))
        try:
            yield console
        finally:
            console.close()


def _greeting(console: "Console", here: str, new_administrator: str | None) -> Iterator[str]:
    """What the terminal says before the first request."""
    from deniable.console.accounts import activity, invitations, people  # noqa: PLC0415

    now = console.clock()
    with console.store.writing() as connection:
        first = invited = invitations.invite_first(connection, console.key, now)
        if first is None and new_administrator is not None:
            invited = invitations.invite(connection, console.key, new_administrator, "administrator", now)
            deed = noted("invited {name} as {role}", name=new_administrator, role=people.ROLE_NAMES["administrator"])
            activity.record(connection, now, activity.TERMINAL, deed, "people")
    yield f"The console is at {here}"
    if first is not None:
        yield (
            "Open this link to set up the administrator. It works once, until the end of the third day from now (UTC), "
            "or until this command is started again."
        )
        yield f"  {here}/first-run/{first}"
    elif invited is not None:
        yield f"{new_administrator} becomes an administrator with this link, once, within three days:"
        yield f"  {here}/invitation/{invited}"
    if console.demo:
        yield "Everything in it is made up, and gone when it ends."
        yield f"Sign in as one of these people; begin with {console.demo[0].person.name}, who sees most."
        for one in console.demo:
            code = one.code(console.key, console.clock())
            yield f"  {one.person.name:<16} {one.person.role:<14} password {one.password}   code now {code}"
        yield "A code lasts half a minute; the sign-in page shows the next ones."
    yield "Stop it with Ctrl-C."


def _server(console: "Console", origin: str | None) -> "uvicorn.Server":
    """All that takes a while, so that the first people do not wait for it."""
    import uvicorn  # noqa: PLC0415

    from deniable.console.app import create_app, prepare  # noqa: PLC0415

    config = uvicorn.Config(
        create_app(console, origin),
        loop="asyncio",
        http="h11",
        ws="none",
        access_log=False,
        log_config=None,
        log_level="critical",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=10,
    )
    config.load()
    prepare(console)
    return uvicorn.Server(config)


def _serve_with(workers: int, console: "Console", serve_here: Callable[[], None], greet: Callable[[], None]) -> None:
    from deniable.console.workers import serve_with  # noqa: PLC0415

    serve_with(workers, console, serve_here, greet)


def _serve(server: "uvicorn.Server", listening: socket.socket) -> None:
    """In this process."""
    before = signal.signal(signal.SIGTERM, _stop)  # which the server calls when it has ended
    try:
        server.run(sockets=[listening])
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(*_: Any) -> NoReturn:
    raise KeyboardInterrupt
