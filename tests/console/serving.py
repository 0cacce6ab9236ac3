"""A console of its own process, for tests that speak to it over the network."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def served(folder: Path, *args: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A console of its own process, and what it printed until it was ready."""
    command = [sys.executable, "-m", "deniable", "serve", "--port", "0", *args]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}  # TMPDIR is short: a socket's name has 108 bytes at most
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


def port_of(printed: str) -> int:
    """The one at which it listens, where it was given no origin."""
    found = re.search(r"http://127\.0\.0\.1:(\d+)", printed)
    assert found is not None
    return int(found[1])


@contextmanager
def reserved() -> Iterator[int]:
    """A port that no other program is given, and at which a console can listen."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
