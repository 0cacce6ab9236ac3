"""A command hands its reports to the process that runs: on the disk when it is told so, and by the key alone."""

import errno
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.programme.insight import rows
from tests.programme.offices import TARGETS, Office, new_office
from tests.programme.processes import CONTEXT

from deniable.errors import DeniableError
from deniable.programme import hand_over as module
from deniable.programme import intake
from deniable.programme.buffer import NOTHING, ROOM, SLOT, Kind, Slots, slots
from deniable.programme.hand_over import Listener, address, call, hand_over, is_listening
from deniable.programme.programme import Programme
from deniable.programme.receipt import new_receipt
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.secrets.vault import SEALING, Vault
from deniable.programme.ticker import Ticker
from deniable.storage import tables

ASH, BIRCH, *_ = TARGETS
LONG = 60
"""Seconds, of which a test that passes takes none."""
WHAT_TO_DO = "look whether it runs, and enter them again with the same receipt, or import the file again"
BROUGHT = slots(Kind.ENTERED, np.full((3, 2), 7, np.uint64), [1, 2, 3], 1)


@pytest.fixture
def where() -> str:
    return address(secrets.token_hex(16), "database")


@pytest.fixture
def vault() -> Vault:
    return Vault(bytes(32), "0" * 32)


@pytest.fixture
def stranger() -> Vault:
    return Vault(bytes(31) + b"1", "0" * 32)


class Desk:
    """Where slots are brought, and who is told what by the test."""

    def __init__(self) -> None:
        self.brought: Queue[tuple[Slots, Future[None]]] = Queue()

    def submit(self, brought: Slots) -> "Future[None]":
        written = Future[None]()
        self.brought.put((brought, written))
        return written

    def take(self, brought: Slots) -> "Future[None]":
        """The same, and they are told at once that it is on the disk."""
        written = self.submit(brought)
        written.set_result(None)
        return written


@pytest.fixture
def desk() -> Desk:
    return Desk()


@contextmanager
def listening(where: str, vault: Vault, submit: Callable[[Slots], "Future[None]"]) -> Iterator[Listener]:
    listener = Listener(where, vault, submit)
    try:
        yield listener
    finally:
        listener.stop()


def test_what_is_handed_over_is_acknowledged_when_it_is_on_the_disk(where: str, vault: Vault, desk: Desk) -> None:
    with listening(where, vault, desk.submit), ThreadPoolExecutor(1) as thread:
        handed = thread.submit(hand_over, where, vault, BROUGHT)
        brought, written = desk.brought.get(timeout=LONG)
        assert brought.tobytes() == BROUGHT.tobytes()
        assert not handed.done()
        written.set_result(None)
        handed.result(LONG)


def test_what_is_refused_there_is_refused_here_in_the_same_words(where: str, vault: Vault, desk: Desk) -> None:
    with listening(where, vault, desk.submit), ThreadPoolExecutor(1) as thread:
        handed = thread.submit(hand_over, where, vault, BROUGHT)
        desk.brought.get(timeout=LONG)[1].set_exception(DeniableError("the disk is full, é"))
        with pytest.raises(DeniableError, match=r"^the disk is full, é$"):
            handed.result(LONG)
        stopped = thread.submit(hand_over, where, vault, NOTHING)
        desk.brought.get(timeout=LONG)[1].set_result(None)
        stopped.result(LONG)


def test_several_hand_over_at_once(where: str, vault: Vault, desk: Desk) -> None:
    with listening(where, vault, desk.submit), ThreadPoolExecutor(4) as threads:
        handed = [threads.submit(hand_over, where, vault, BROUGHT[:size]) for size in range(4)]
        came = [desk.brought.get(timeout=LONG) for _ in range(4)]
        assert sorted(len(brought) for brought, _ in came) == [0, 1, 2, 3]
        for _, written in came:
            written.set_result(None)
        for one in handed:
            one.result(LONG)


def test_a_stranger_who_calls_is_refused(where: str, vault: Vault, stranger: Vault, desk: Desk) -> None:
    with listening(where, vault, desk.take):
        with pytest.raises(DeniableError, match=WHAT_TO_DO):
            hand_over(where, stranger, BROUGHT)
        for proof in (b"", bytes(module._ASKING), vault.seal("asked/0", bytes(module._ASKED))):
            for message in (b"", BROUGHT.tobytes(), vault.seal("handed over/0", BROUGHT.tobytes())):
                assert answer_to(where, proof, message) == b""
    assert desk.brought.empty()


def answer_to(where: str, *messages: bytes) -> bytes:
    """What is said to a caller who waits for the challenge and sends these."""
    with called(where) as caller:
        module._receive(caller)
        with suppress(ConnectionError):  # it hung up after the first
            for message in messages:
                module._send(caller, message)
            return caller.recv(1)
        return b""


@contextmanager
def called(where: str) -> Iterator[socket.socket]:
    caller = call(where)
    assert caller is not None
    with caller:
        caller.settimeout(LONG)
        yield caller


@pytest.mark.parametrize(("number", "pages"), [(0, 1), (1, 1), (ROOM, 1), (ROOM + 1, 2)])
def test_the_length_of_what_goes_over_tells_whole_pages_alone(
    where: str, vault: Vault, desk: Desk, number: int, pages: int
) -> None:
    """Linux tells every user how many bytes wait in a socket, and a stranger who passes it on reads the length."""
    kept: list[bytes] = []
    hidden = f"{where}/hidden"
    brought = slots(Kind.IMPORTED, np.full((number, 2), 7, np.uint64), 1, 1)
    with listening(hidden, vault, desk.take):
        with impostor(where, partial(passes_on, hidden, kept)):
            hand_over(where, vault, brought)
        assert desk.brought.get(timeout=LONG)[0].tobytes() == brought.tobytes()
    assert len(kept[1]) == pages * ROOM * SLOT.itemsize + SEALING


def passes_on(hidden: str, kept: list[bytes], caller: socket.socket) -> None:
    """What is said to the process, and what it answers."""
    with called(hidden) as process:
        module._send(caller, module._receive(process))
        for _ in range(2):
            kept.append(module._receive(caller))
            module._send(process, kept[-1])
            module._send(caller, module._receive(process))


def test_what_was_handed_over_cannot_be_handed_over_again(where: str, vault: Vault, desk: Desk) -> None:
    """A stranger takes the place of the process, passes on and keeps what is said, and says it to the process again."""
    kept: list[bytes] = []
    hidden = f"{where}/hidden"
    with listening(hidden, vault, desk.take):
        with impostor(where, partial(passes_on, hidden, kept)):
            hand_over(where, vault, BROUGHT)
        assert desk.brought.get(timeout=LONG)[0].tobytes() == BROUGHT.tobytes()
        assert answer_to(hidden, *kept) == b""
        with module._proven(hidden, vault) as (caller, _):
            module._send(caller, kept[1])
            assert caller.recv(1) == b""
    assert desk.brought.empty()


@contextmanager
def impostor(where: str, answer: Callable[[socket.socket], None]) -> Iterator[None]:
    """A process that listens there without the key."""
    opened = module._open(where)
    assert opened is not None

    def listen() -> None:
        caller, _ = opened.accept()
        with caller:
            answer(caller)

    thread = Thread(target=listen)
    thread.start()
    try:
        yield
    finally:
        thread.join(LONG)
        opened.close()


def says_nothing(_: socket.socket) -> None:
    pass


def says_yes(caller: socket.socket) -> None:
    module._send(caller, b"0" * 32)
    module._receive(caller)
    module._send(caller, b"")


def says_what_it_was_told(caller: socket.socket) -> None:
    module._send(caller, b"0" * 32)
    module._send(caller, module._receive(caller))


def says_it_with_its_own_key(caller: socket.socket) -> None:
    module._send(caller, b"0" * 32)
    module._receive(caller)
    module._send(caller, Vault(bytes(31) + b"1", "0" * 32).seal(f"taken in/{'0' * 32}", b""))


def says_too_much(caller: socket.socket) -> None:
    module._send(caller, b"0" * 33)


def says_half(caller: socket.socket) -> None:
    caller.sendall(module._LENGTH.pack(32) + b"0" * 31)


def says_no_ascii(caller: socket.socket) -> None:
    module._send(caller, "é".encode())


IMPOSTORS = [
    says_nothing, says_yes, says_what_it_was_told, says_it_with_its_own_key, says_too_much, says_half, says_no_ascii
]  # fmt: skip


@pytest.mark.parametrize("answer", IMPOSTORS)
def test_a_stranger_who_listens_is_not_believed(
    where: str, vault: Vault, answer: Callable[[socket.socket], None]
) -> None:
    with impostor(where, answer), pytest.raises(DeniableError, match=WHAT_TO_DO):
        hand_over(where, vault, BROUGHT)


@pytest.mark.parametrize("answer", IMPOSTORS)
def test_a_stranger_who_listens_is_told_from_a_process_with_the_key(
    where: str, vault: Vault, desk: Desk, answer: Callable[[socket.socket], None]
) -> None:
    assert not is_listening(where, vault)
    with impostor(where, answer):
        assert not is_listening(where, vault)
    with listening(where, vault, desk.submit):
        assert is_listening(where, vault)
    assert desk.brought.empty()


def test_a_stranger_in_the_place_of_the_process_keeps_no_report_from_the_disk(office: Office) -> None:
    office.programme.close()
    with closing(office.again()) as second:
        with impostor(second._intake._where, says_what_it_was_told):
            second.report({ASH: 1})
        assert second.active_counts()[ASH] == 1


def test_where_no_process_listens(where: str, vault: Vault, desk: Desk) -> None:
    assert call(where) is None
    with pytest.raises(DeniableError, match=WHAT_TO_DO):
        hand_over(where, vault, BROUGHT)
    with listening(where, vault, desk.submit), called(where):
        pass
    assert call(where) is None


def test_a_second_process_takes_nothing_and_goes_on(where: str, vault: Vault, desk: Desk) -> None:
    other = Desk()
    with listening(where, vault, desk.submit), ThreadPoolExecutor(1) as thread:
        with listening(where, vault, other.submit):
            pass
        handed = thread.submit(hand_over, where, vault, BROUGHT)
        desk.brought.get(timeout=LONG)[1].set_result(None)
        handed.result(LONG)
    assert other.brought.empty()


def test_elsewhere_than_on_linux_none_is_found(
    where: str, vault: Vault, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening(where, vault, desk.submit), monkeypatch.context() as elsewhere:
        elsewhere.setattr(sys, "platform", "darwin")
        assert call(where) is None
        with listening(where, vault, desk.submit):
            pass


def test_the_address_is_that_of_one_programme_in_one_database() -> None:
    addresses = {address(programme, database) for programme in ("0", "1") for database in ("0", "1")}
    assert len(addresses) == 4
    assert all(one.startswith("\0") for one in addresses)


# Strangers who exhaust, hang or keep out


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no test passes because a process has waited long enough."""
    monkeypatch.setattr(module, "_PATIENCE", 10 * LONG)


@pytest.mark.usefixtures("patient")
def test_a_caller_who_has_not_shown_the_key_says_little(where: str, vault: Vault, desk: Desk) -> None:
    with listening(where, vault, desk.take), called(where) as caller:
        module._receive(caller)
        caller.sendall(module._LENGTH.pack(module._ASKING + 1))
        assert caller.recv(1) == b""


@pytest.mark.usefixtures("patient")
def test_a_caller_has_one_deadline_however_slowly_they_speak(
    where: str, vault: Vault, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = time.monotonic() + 20 * LONG
    with listening(where, vault, desk.take), called(where) as caller:
        module._receive(caller)
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: over))
        with suppress(ConnectionError):  # it hung up before
            caller.sendall(b"\0")
            assert caller.recv(1) == b""


def has_answered(monkeypatch: pytest.MonkeyPatch) -> Event:
    answered, answer = Event(), Listener._answer

    def noted(self: Listener, caller: socket.socket, is_stranger: bool) -> None:
        answer(self, caller, is_stranger)
        answered.set()

    monkeypatch.setattr(Listener, "_answer", noted)
    return answered


@pytest.mark.usefixtures("patient")
def test_few_strangers_at_a_time(where: str, vault: Vault, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_let_in(caller: socket.socket) -> bool:
        return caller.recv(1) != b""

    monkeypatch.setattr(module, "_is_stranger", lambda _: True)
    answered = has_answered(monkeypatch)
    with listening(where, vault, desk.take), ExitStack() as held:
        strangers = [held.enter_context(called(where)) for _ in range(module._MOST_STRANGERS)]
        assert all(map(is_let_in, strangers))
        with called(where) as one_more:
            assert not is_let_in(one_more)
        assert not is_listening(where, vault)
        with monkeypatch.context() as own:
            own.setattr(module, "_is_stranger", lambda _: False)
            hand_over(where, vault, BROUGHT)
            assert answered.wait(LONG)
        answered.clear()
        strangers[0].close()
        assert answered.wait(LONG)
        for _ in range(2):
            held.enter_context(module._proven(where, vault))  # who has shown the key takes no place


@pytest.mark.parametrize(("user", "is_stranger"), [(0, False), (1000, False), (1001, True)])
def test_who_is_a_stranger(user: int, is_stranger: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    caller = SimpleNamespace(getsockopt=lambda *_: module._CREDENTIALS.pack(1, user, 1))
    assert module._is_stranger(caller) is is_stranger  # type: ignore[arg-type]


def test_the_own_user_is_no_stranger() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert not module._is_stranger(one)


class Troubled(socket.socket):
    """Accepts no call at first."""

    trouble: ClassVar = [errno.EMFILE, errno.ENFILE, errno.ECONNABORTED]

    def accept(self) -> tuple[socket.socket, Any]:
        if self.trouble:
            raise OSError(self.trouble.pop(), "trouble")
        return super().accept()


def test_a_lack_of_descriptors_passes(where: str, vault: Vault, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0)
    monkeypatch.setattr(socket, "socket", Troubled)
    with listening(where, vault, desk.take):
        assert is_listening(where, vault)
    assert Troubled.trouble == []


def test_a_lack_of_threads_passes(where: str, vault: Vault, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_STRANGERS", 1)
    monkeypatch.setattr(module, "_is_stranger", lambda _: True)

    def refused(**_: Any) -> Thread:
        raise RuntimeError("can't start new thread")

    with listening(where, vault, desk.take):
        with monkeypatch.context() as full:
            full.setattr(module, "Thread", refused)
            assert not is_listening(where, vault)
        assert is_listening(where, vault)


def test_a_queue_that_is_full_ends_the_call(where: str, vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.01)
    with ThreadPoolExecutor(1) as thread, ExitStack() as held:
        queue = held.enter_context(socket.socket(socket.AF_UNIX))
        queue.bind(where)
        queue.listen(0)
        with suppress(BlockingIOError):
            while True:
                waiting = held.enter_context(socket.socket(socket.AF_UNIX))
                waiting.setblocking(False)
                waiting.connect(where)
        assert not thread.submit(is_listening, where, vault).result(LONG)


def begun_to_listen(monkeypatch: pytest.MonkeyPatch) -> Event:
    begun, listen = Event(), Listener._listen

    def noted(self: Listener, opened: socket.socket) -> None:
        begun.set()
        listen(self, opened)

    monkeypatch.setattr(Listener, "_listen", noted)
    return begun


def test_a_process_that_is_kept_out_says_so_and_takes_its_place_later(
    where: str, vault: Vault, desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_AGAIN", 0.001)
    begun = begun_to_listen(monkeypatch)
    with ExitStack() as held:
        with socket.socket(socket.AF_UNIX) as squatter:
            squatter.bind(where)
            listener = held.enter_context(listening(where, vault, desk.take))
            assert listener.is_kept_out
        assert begun.wait(LONG)
        assert is_listening(where, vault)
        assert not listener.is_kept_out
    assert [record.getMessage() for record in caplog.records] == [module._KEPT_OUT]


def test_a_second_process_is_not_kept_out_and_takes_the_place_of_the_first(
    where: str, vault: Vault, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_AGAIN", 0.001)
    first = Listener(where, vault, desk.submit)
    assert is_listening(where, vault)
    begun = begun_to_listen(monkeypatch)
    with listening(where, vault, desk.take) as second:
        assert not second.is_kept_out
        first.stop()
        assert begun.wait(LONG)
        hand_over(where, vault, BROUGHT)
    assert desk.brought.get(timeout=LONG)[0].tobytes() == BROUGHT.tobytes()


# Two programmes on one database


@pytest.fixture
def office(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    """Whose process runs, and ticks fast."""
    monkeypatch.setattr(intake, "Ticker", partial(Ticker, every=0.005))
    office = new_office(database, tmp_path)
    office.programme.start_ticking()
    yield office
    office.programme.close()


def test_a_second_programme_hands_over(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(office.again()) as second:
        monkeypatch.setattr(second._access, "counting", None)  # it writes nothing by itself
        receipt = second.report({ASH: 2, BIRCH: 1})
        assert second.push("token", "one", {ASH: 1})
        assert second.import_reports("hotline", [("1", ASH), ("2", BIRCH)]) == 2
        assert second.import_reports("hotline", [("1", ASH), ("2", BIRCH)]) == 0
        assert (
            second.active_counts() == office.programme.active_counts() == dict.fromkeys(TARGETS, 0) | {ASH: 4, BIRCH: 2}
        )
        assert second.withdraw([BIRCH], receipt) == ()
        second.report({ASH: 2, BIRCH: 1}, receipt)
        assert office.programme.active_counts()[BIRCH] == 1
        assert office.programme.active_counts()[ASH] == 4


def test_what_cannot_be_counted_there_is_refused_here(office: Office) -> None:
    """Here because the transcript beside the key is gone."""
    office.close()
    with closing(office.again()) as second:
        second.report({ASH: 1})
        office.key.transcript.unlink()
        before = rows(office.database, tables.secrets)
        with pytest.raises(DeniableError, match="transcript"):
            second.report({ASH: 1})
        assert rows(office.database, tables.secrets) == before


def test_a_programme_without_the_key_hands_nothing_over(office: Office) -> None:
    with (
        closing(Programme.open(office.database)) as public,
        pytest.raises(DeniableError, match="needs the programme's key"),
    ):
        public.report({ASH: 1})


def test_an_import_that_takes_long_to_read_is_handed_over(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that runs does not wait for what is not yet there to hand over."""
    monkeypatch.setattr(module, "_PATIENCE", 0.01)
    answered = has_answered(monkeypatch)

    def rows_of_a_long_file() -> Iterator[tuple[str, str]]:
        yield "1", ASH
        assert answered.wait(LONG)  # it waits no longer
        monkeypatch.setattr(module, "_PATIENCE", LONG)
        yield "2", BIRCH

    with closing(office.again()) as second:
        second.hotlines.add("hotline")
        assert second.import_reports("hotline", rows_of_a_long_file()) == 2
    assert sum(office.programme.active_counts().values()) == 2


def test_without_a_process_that_runs_it_is_written_at_once(office: Office) -> None:
    office.programme.close()
    with closing(office.again()) as second:
        second.report({ASH: 1})
        assert second.active_counts()[ASH] == 1


def runs_and_dies(database: str, key: KeyFile, is_written: bool, started: Connection) -> None:
    """As soon as something is brought: before it is on the disk, or after, but before it answers."""

    class Dying(Ticker):
        def submit(self, brought: Slots, owner: str = "") -> "Future[None]":
            if is_written:
                super().submit(brought, owner).result()
            os.kill(os.getpid(), signal.SIGKILL)
            raise AssertionError

    intake.Ticker = partial(Dying, every=0.005)  # type: ignore[assignment, attr-defined]
    Programme.open(database, key).start_ticking()
    started.send_bytes(b"started")
    signal.pause()


@pytest.mark.parametrize("is_written", [False, True])
def test_a_process_that_dies_before_it_answers(database: str, tmp_path: Path, is_written: bool) -> None:
    """The error says what to do, and who does so has it counted once."""
    office, receipt = new_office(database, tmp_path), new_receipt()
    started, speaking = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=runs_and_dies, args=(database, office.key, is_written, speaking))
    process.start()
    speaking.close()
    started.recv_bytes()
    with pytest.raises(DeniableError, match=WHAT_TO_DO):
        office.programme.report({ASH: 1}, receipt)
    process.join(LONG)
    assert process.exitcode == -signal.SIGKILL
    process.close()
    started.close()
    assert office.programme.active_counts()[ASH] == is_written
    office.programme.report({ASH: 1}, receipt)
    assert office.programme.active_counts()[ASH] == 1


def reports(database: str, key: KeyFile, receipt: str) -> None:
    with closing(Programme.open(database, key)) as programme:
        programme._access.counting = None  # type: ignore[assignment, method-assign]  # it writes nothing by itself
        programme.report({ASH: 1}, receipt)


def test_another_process_hands_over(office: Office) -> None:
    receipt = new_receipt()
    for _ in range(2):
        process = CONTEXT.Process(target=reports, args=(office.database, office.key, receipt))
        process.start()
        process.join(LONG)
        assert process.exitcode == 0
        process.close()
    assert office.programme.active_counts()[ASH] == 1


def test_a_message_has_a_length_that_is_allowed() -> None:
    one, other = socket.socketpair()
    with one, other:
        module._send(one, b"0" * 64)
        assert module._receive(other, 64) == b"0" * 64
        module._send(one, b"0" * 65)
        with pytest.raises(ValueError, match=r"^$"):
            module._receive(other, 64)
