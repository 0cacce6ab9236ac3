"""How a command at a terminal hands its reports to a running process of the same programme, which writes them at its
next tick.

The two meet at a name that Linux keeps in memory: it is gone with the process, and no file is left behind. A file
needs a folder, which a programme with a passphrase on PostgreSQL does not have, and a killed process would leave it.
Any user of the computer can call at the name, or take it while it is free. So each side first proves that it has the
programme's key, in a few bytes and within seconds. Until they have, callers of other users are let in a few at a time.
What goes over is sealed with the key, and as long as whole pages: Linux tells every user how many bytes wait in a
socket. Elsewhere than on Linux none is found, and a command writes a page by itself.
"""

import contextlib
import hashlib
import logging
import os
import secrets
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import BoundedSemaphore, Event, Lock, Thread

import numpy as np

from deniable.errors import DeniableError
from deniable.programme.buffer import ROOM, SLOT, Slots
from deniable.programme.secrets.vault import SEALING, Vault

_LENGTH = struct.Struct(">I")
_CREDENTIALS = struct.Struct("3i")
_TIMEVAL = struct.Struct("@ll")
_MOST_BYTES = 2**30
_CHALLENGE = 32
_ASKED = 16
_ASKING = _ASKED + SEALING
"""Bytes of the question whether a process has the key, which proves that the caller has it, and of the answer."""
_PATIENCE = 10.0
"""Seconds until both sides have shown that they have the key; then, for each part of a message that has begun."""
_MOST_STRANGERS = 16
"""Callers of other users, at the same time, who have not shown that they have the key."""
_PAUSE = 0.1
"""Seconds after a call that could not be taken: no descriptor was free, say."""
_AGAIN = 60.0
"""Seconds until a process tries again to get the name that another has."""

Submit = Callable[[Slots], "Future[None]"]


def address(programme: str, database: str) -> str:
    """Where the process calls that counts the reports of this programme in this database."""
    return "\0deniable/" + hashlib.sha256(f"{programme}\n{database}".encode()).hexdigest()


class Listener:
    """Takes what is handed over, until it is stopped; while another process has the name, it waits for that to end."""

    def __init__(self, where: str, vault: Vault, submit: Submit) -> None:
        self._where = where
        self._vault = vault
        self._submit = submit
        self._places = BoundedSemaphore(_MOST_STRANGERS)
        self._lock = Lock()
        self._stopped = Event()
        self._socket: socket.socket | None = None
        self.is_kept_out = False
        """Whether a program without the programme's key has the name: then commands find no process that runs."""
        if sys.platform == "linux":
            self._bind()
            Thread(target=self._run, name="hand-over", daemon=True).start()

    def stop(self) -> None:
        with self._lock:
            self._stopped.set()
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
                self._socket.close()

    def _run(self) -> None:
        while self._socket is None:
            if self._stopped.wait(_AGAIN):
                return
            self._bind()
        self._listen(self._socket)

    def _bind(self) -> None:
        opened, is_kept_out = _open(self._where), False
        if opened is None and not is_listening(self._where, self._vault):
            opened = _open(self._where)  # the process that had it may have ended this moment
            is_kept_out = opened is None
        if is_kept_out and not self.is_kept_out:
            logging.getLogger(__name__).warning(_KEPT_OUT)
        self.is_kept_out = is_kept_out
        with self._lock:
            self._socket = opened
            if opened is not None and self._stopped.is_set():
                opened.close()

    def _listen(self, listening: socket.socket) -> None:
        while True:
            try:
                caller, _ = listening.accept()
            except OSError:  # where we are not stopped, no descriptor is free, or the caller has gone
                if self._stopped.wait(_PAUSE):
                    return
                continue
            self._let_in(caller)

    def _let_in(self, caller: socket.socket) -> None:
        is_stranger = _is_stranger(caller)
        if is_stranger and not self._places.acquire(blocking=False):
            caller.close()
            return
        try:
            Thread(target=self._answer, args=(caller, is_stranger), daemon=True).start()
        except RuntimeError:  # there are too many threads
            if is_stranger:
                self._places.release()
            caller.close()

    def _answer(self, caller: socket.socket, is_stranger: bool) -> None:
        with caller, contextlib.suppress(OSError, DeniableError, EOFError, ValueError):
            challenge = secrets.token_hex(_CHALLENGE // 2)
            try:
                asked = self._asked(caller, challenge)
            finally:
                if is_stranger:
                    self._places.release()
            caller.settimeout(_PATIENCE)
            _send(caller, self._vault.seal(f"here/{challenge}", asked))
            pages = np.frombuffer(self._vault.open(f"handed over/{challenge}", _receive(caller)), SLOT)
            try:
                self._submit(pages[pages["kind"] > 0]).result()
                told = ""
            except DeniableError as error:
                told = str(error)
            _send(caller, self._vault.seal(f"taken in/{challenge}", told.encode()))

    def _asked(self, caller: socket.socket, challenge: str) -> bytes:
        """What a caller asks who has the key."""
        until = time.monotonic() + _PATIENCE
        caller.settimeout(_PATIENCE)
        _send(caller, challenge.encode())
        return self._vault.open(f"asked/{challenge}", _receive(caller, _ASKING, until))


_KEPT_OUT = (
    "A program without this programme's key has the name at which commands hand over their reports. Until it ends, "
    "they write a page at once, and an observer of the disk sees when. Look for it with: ss -xlp | grep @deniable/"
)


def call(where: str) -> socket.socket | None:
    """A connection to the process that listens there; None where there is none, or it lets too many others wait."""
    if sys.platform != "linux":
        return None
    called = socket.socket(socket.AF_UNIX)
    try:
        # A timeout of Python's would not let us wait in the queue at all.
        waiting = _TIMEVAL.pack(int(_PATIENCE), int(_PATIENCE % 1 * 1_000_000))
        called.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, waiting)
        called.connect(where)
    except OSError:
        called.close()
        return None
    called.settimeout(_PATIENCE)
    return called


def is_listening(where: str, vault: Vault) -> bool:
    """Whether a process with the programme's key listens there. One without it, in its place, keeps nothing from being
    written.
    """
    try:
        with _proven(where, vault):
            return True
    except (OSError, EOFError, ValueError, DeniableError):
        return False


def hand_over(where: str, vault: Vault, brought: Slots) -> None:
    """Give these slots to the process that listens there, and wait until they are on the disk."""
    try:
        with _proven(where, vault) as (called, challenge):
            _send(called, vault.seal(f"handed over/{challenge}", _whole_pages(brought).tobytes()))
            called.settimeout(None)  # an import may take many ticks
            told = vault.open(f"taken in/{challenge}", _receive(called)).decode()
    except (OSError, EOFError, ValueError, DeniableError):
        raise DeniableError(
            "the running console or scheduler did not say that the reports are on the disk; look whether it runs, "
            "and enter them again with the same receipt, or import the file again: nothing counts twice"
        ) from None
    if told:
        raise DeniableError("{told}", told=told)


def _whole_pages(brought: Slots) -> Slots:
    """With empty slots after them, and one page at least: the length of what is sealed tells no more than that."""
    filled = np.zeros(max(1, -(-len(brought) // ROOM)) * ROOM, SLOT)
    filled[: len(brought)] = brought
    return filled


@contextlib.contextmanager
def _proven(where: str, vault: Vault) -> Iterator[tuple[socket.socket, str]]:
    """A connection to a process that has the key, and what it wants to see sealed with what is said."""
    until = time.monotonic() + _PATIENCE
    called = call(where)
    if called is None:
        raise ConnectionRefusedError
    with called:
        challenge = _receive(called, _CHALLENGE, until).decode("ascii")
        asked = secrets.token_bytes(_ASKED)
        _send(called, vault.seal(f"asked/{challenge}", asked))
        if vault.open(f"here/{challenge}", _receive(called, _ASKING, until)) != asked:
            raise ValueError
        called.settimeout(_PATIENCE)
        yield called, challenge


def _is_stranger(caller: socket.socket) -> bool:
    """Whether this is a process of another user, who is not the administrator of the computer."""
    _, user, _ = _CREDENTIALS.unpack(caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return user not in (0, os.geteuid())


def _open(where: str) -> socket.socket | None:
    opened = socket.socket(socket.AF_UNIX)
    try:
        opened.bind(where)
        opened.listen()
    except OSError:  # another process has it
        opened.close()
        return None
    return opened


def _send(to: socket.socket, message: bytes) -> None:
    to.sendall(_LENGTH.pack(len(message)) + message)


def _receive(sender: socket.socket, most: int = _MOST_BYTES, until: float | None = None) -> bytes:
    """A message of at most so many bytes, all of which come until then."""
    (length,) = _LENGTH.unpack(_exactly(sender, _LENGTH.size, until))
    if length > most:
        raise ValueError
    return _exactly(sender, length, until)


def _exactly(sender: socket.socket, length: int, until: float | None) -> bytes:
    received = bytearray()
    while len(received) < length:
        if until is not None:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            sender.settimeout(left)
        part = sender.recv(min(length - len(received), 2**16))
        if not part:
            raise EOFError
        received += part
    return bytes(received)
