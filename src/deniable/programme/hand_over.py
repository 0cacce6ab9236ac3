"""How a command at a terminal hands its reports to a running process of the same programme, which writes them at its
next tick.

The two meet at a name that Linux keeps in memory: it is gone with the process, and no file is left behind. Any user of
the computer can call there, so each side proves that it has the programme's key: what goes over is sealed with it.
Elsewhere than on Linux none is found, and a command writes a page by itself.
"""

import contextlib
import hashlib
import secrets
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Thread

import numpy as np

from deniable.errors import DeniableError
from deniable.programme.buffer import SLOT, Slots
from deniable.programme.secrets.vault import SEALING, Vault

_LENGTH = struct.Struct(">I")
_MOST_BYTES = 2**30
_ASKED = 16
"""Bytes of the question whether a process has the key: as no number of slots has."""
_ASKING = _ASKED + SEALING
_PATIENCE = 10.0
"""Seconds for a message that has begun."""

Submit = Callable[[Slots], "Future[None]"]


def address(programme: str, database: str) -> str:
    """Where the process calls that counts the reports of this programme in this database."""
    return "\0deniable/" + hashlib.sha256(f"{programme}\n{database}".encode()).hexdigest()


class Listener:
    """Takes what is handed over, until it is stopped. If another process listens, it takes nothing."""

    def __init__(self, where: str, vault: Vault, submit: Submit) -> None:
        self._vault = vault
        self._submit = submit
        self._socket = _open(where)
        if self._socket is not None:
            Thread(target=self._listen, args=(self._socket,), name="hand-over", daemon=True).start()

    def stop(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
            self._socket.close()

    def _listen(self, listening: socket.socket) -> None:
        while True:
            try:
                caller, _ = listening.accept()
            except OSError:
                return
            Thread(target=self._answer, args=(caller,), daemon=True).start()

    def _answer(self, caller: socket.socket) -> None:
        with caller, contextlib.suppress(OSError, DeniableError, EOFError, ValueError):
            caller.settimeout(_PATIENCE)
            challenge = secrets.token_hex(16)
            _send(caller, challenge.encode())
            message = _receive(caller)
            if len(message) == _ASKING:
                asked = self._vault.open(f"asked/{challenge}", message)
                _send(caller, self._vault.seal(f"here/{challenge}", asked))
                return
            brought = np.frombuffer(self._vault.open(f"handed over/{challenge}", message), SLOT)
            try:
                self._submit(brought).result()
                told = ""
            except DeniableError as error:
                told = str(error)
            _send(caller, self._vault.seal(f"taken in/{challenge}", told.encode()))


def call(where: str) -> socket.socket | None:
    """A connection to the process that listens there; None where there is none."""
    if sys.platform != "linux":
        return None
    called = socket.socket(socket.AF_UNIX)
    try:
        called.connect(where)
    except OSError:
        called.close()
        return None
    return called


def is_listening(where: str, vault: Vault) -> bool:
    """Whether a process with the programme's key listens there. One without it, in its place, keeps nothing from being
    written.
    """
    asked = secrets.token_bytes(_ASKED)
    try:
        with _challenged(where) as (called, challenge):
            _send(called, vault.seal(f"asked/{challenge}", asked))
            return vault.open(f"here/{challenge}", _receive(called)) == asked
    except (OSError, EOFError, ValueError, DeniableError):
        return False


def hand_over(where: str, vault: Vault, brought: Slots) -> None:
    """Give these slots to the process that listens there, and wait until they are on the disk."""
    try:
        with _challenged(where) as (called, challenge):
            _send(called, vault.seal(f"handed over/{challenge}", brought.tobytes()))
            called.settimeout(None)  # an import may take many ticks
            told = vault.open(f"taken in/{challenge}", _receive(called)).decode()
    except (OSError, EOFError, ValueError, DeniableError):
        raise DeniableError(
            "the running console or scheduler did not say that the reports are on the disk; look whether it runs, "
            "and enter them again with the same receipt, or import the file again: nothing counts twice"
        ) from None
    if told:
        raise DeniableError("{told}", told=told)


@contextlib.contextmanager
def _challenged(where: str) -> Iterator[tuple[socket.socket, str]]:
    """A connection, and what the process that listens wants to see sealed with what is said."""
    called = call(where)
    if called is None:
        raise ConnectionRefusedError
    with called:
        called.settimeout(_PATIENCE)
        yield called, _receive(called, 64).decode("ascii")


def _open(where: str) -> socket.socket | None:
    if sys.platform != "linux":
        return None
    opened = socket.socket(socket.AF_UNIX)
    try:
        opened.bind(where)
        opened.listen()
    except OSError:  # another process of this programme has it
        opened.close()
        return None
    return opened


def _send(to: socket.socket, message: bytes) -> None:
    to.sendall(_LENGTH.pack(len(message)) + message)


def _receive(sender: socket.socket, most: int = _MOST_BYTES) -> bytes:
    (length,) = _LENGTH.unpack(_exactly(sender, _LENGTH.size))
    if length > most:
        raise ValueError
    return _exactly(sender, length)


def _exactly(sender: socket.socket, length: int) -> bytes:
    received = bytearray()
    while len(received) < length:
        part = sender.recv(min(length - len(received), 2**16))
        if not part:
            raise EOFError
        received += part
    return bytes(received)
