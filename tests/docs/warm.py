"""The command `deniable` without its imports: one process imports them and forks for every command.

The pages have two hundred commands. Each is run by `deniable.cli.main.main` in a process of its own, with the caller's
folder, environment and open files, as the installed command would be.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from importlib import import_module
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

_CALLER = """#!{python} -IS
import json, os, socket, sys
caller = socket.socket(socket.AF_UNIX)
caller.connect({address!r})
socket.send_fds(caller, [json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()], [0, 1, 2])
caller.shutdown(socket.SHUT_WR)
sys.exit((caller.recv(1) or b"\\x7f")[0])
"""


@contextmanager
def warm_command() -> Iterator[Path]:
    """A folder with a program `deniable` in it, which works until the end."""
    with TemporaryDirectory() as name:  # not pytest's: a socket's path must be short
        folder = Path(name)
        address = str(folder / "socket")
        caller = folder / "deniable"
        caller.write_text(_CALLER.format(python=sys.executable, address=address), encoding="utf-8")
        caller.chmod(0o755)
        with subprocess.Popen(
            [sys.executable, "-m", "tests.docs.warm", address],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            start_new_session=True,
        ) as server:
            try:
                assert server.stdout is not None
                assert server.stdout.readline() == b"ready\n"
                yield folder
            finally:
                os.killpg(server.pid, signal.SIGTERM)  # and commands that are still running


def _serve(address: str) -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen()
    listening.settimeout(5)
    main = import_module("deniable.cli.main").main
    for home in ("deniable.cli.main", "deniable.cli.programme"):
        group = import_module(home).Commands
        for module in {listed.module for listed in group.listed.values()}:
            import_module(f"{group.package}.{module}")
    import_module("scipy.special")
    with redirect_stderr(StringIO()):  # refused, both; they import what is imported late
        main(["plan", "--targets", "none"])
        main(["programme", "status", "--database", address + ".none"])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    print("ready", flush=True)
    parent = os.getppid()
    while os.getppid() == parent:
        try:
            called, _ = listening.accept()
        except TimeoutError:
            continue
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listening.close()
            called.setblocking(True)
            message, files, _, _ = socket.recv_fds(called, 1 << 20, 3)
            while more := called.recv(1 << 20):
                message += more
            arguments, folder, environment = json.loads(message)
            for number, file in enumerate(files):
                os.dup2(file, number)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            code = main(arguments)
            sys.stdout.flush()
            called.send(bytes([code]))
            os._exit(0)
        called.close()


if __name__ == "__main__":
    _serve(sys.argv[1])
