"""An office whose computer is switched off again and again, and a check of what is left each time.

A worker process reports, imports, closes rounds, publishes and makes backups as fast as it can, while its ticker writes
pages and counts them, and writes down what it is about to do and what was acknowledged. The parent kills it at a random
instant, compares, and brings again what was not acknowledged.
"""

import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event
from typing import Any

import pyrage
import sqlalchemy as sa
from tests.programme.insight import lines_of, unsealed
from tests.programme.offices import TARGETS, new_office
from tests.programme.processes import CONTEXT, Log
from tests.programme.public.published import lines_in

from deniable.noise import SystemNoise
from deniable.programme import backup, counting, intake
from deniable.programme.access import Access
from deniable.programme.intake import Intake
from deniable.programme.programme import Programme
from deniable.programme.public.folder import TRANSCRIPT
from deniable.programme.public.verify import verify
from deniable.programme.randomness.source import Dice
from deniable.programme.receipt import new_receipt
from deniable.programme.secrets import frozen
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.secrets.oversight import replay
from deniable.programme.status import Closed
from deniable.programme.ticker import Ticker
from deniable.programme.transaction import Transaction
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.frozen import PublicValue
from deniable.programme.transcript.replay import parse

ALL_WORK = ("report", "report", "report", "import", "close", "close", "publish", "backup")


def in_ten_years() -> datetime:
    """So that there is always a round to close."""
    return datetime(2036, 1, 5, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Task:
    """What a worker needs to know."""

    database: str
    folder: Path
    number: int
    """Of the worker."""
    imported: int
    """Reports that were imported so far."""
    work: Sequence[str]
    planted: str | None

    @property
    def log(self) -> Path:
        return self.folder / f"log {self.number}"

    @property
    def key(self) -> KeyFile:
        return KeyFile(self.folder / "programme.key")


class HalfWritten(Programme):
    """A planted bug: a report about two targets is two transactions."""

    def bring_reports(
        self, reports: Mapping[str, int], receipt: str, report_class: str | None = None, owner: str = ""
    ) -> "Future[None]":
        *others, last = reports.items()
        for target, count in others:
            super().bring_reports({target: count}, new_receipt()).result()
        return super().bring_reports(dict([last]), receipt)


class Redrawing(Transaction):
    """A planted bug: audits are announced before they are committed, and drawn with fresh noise every time."""

    announce: Callable[[Entry], None]

    def append(self, entry: Entry, seal: bytes | None = None) -> None:
        super().append(entry, seal)
        if entry.audited:
            self.announce(entry)
            until_we_are_killed()


class Hasty(Ticker):
    """A planted bug: who waits is told before the page is written."""

    def _write_page(self) -> None:
        self._next_page()
        told = self._drop_written()
        for waiting in told:
            waiting.is_written.set_result(None)
        if told:
            until_we_are_killed()


def emptied_first(self: Intake) -> None:
    """A planted bug: the pages are emptied in one transaction, and what they held is counted in the next."""
    with self._access.counting() as transaction:
        settled = counting.settle(transaction)
        transaction.empty_buffer()
        has_changed = (settled.tally != transaction.tally()).any()
    if has_changed:
        until_we_are_killed()


def emptied_last(self: Intake) -> None:
    """A planted bug: what the pages held is counted in one transaction, and they are emptied in the next."""
    with self._access.counting() as transaction:
        settled = counting.settle(transaction)
        has_changed = (settled.tally != transaction.tally()).any()
        transaction.write_tally(settled.tally)
    if has_changed:
        until_we_are_killed()


def until_we_are_killed() -> None:
    """The disk is slow today."""
    Event().wait()


def opened(task: Task, log: Log) -> tuple[Programme, Programme]:
    """One whose ticker runs, in two of three workers, and one that hands over what it brings, or writes it at once."""
    planted = task.planted or ""
    fast: dict[str, Any] = {"every": 0.01, "counted_every": 0.05}
    vars(intake)["Ticker"] = partial(Hasty if planted == "hasty" else Ticker, **fast)
    if planted.startswith("emptied"):
        Intake._count = emptied_first if planted == "emptied first" else emptied_last  # type: ignore[method-assign]
    if planted == "redrawing":
        _plant_redrawing(lambda entry: _say(log, "drawn", audits=entry.audited, round=entry.audited_in))
    kind = HalfWritten if planted == "half-written" else Programme
    ticking, other = (kind.open(task.database, task.key, clock=in_ten_years) for _ in range(2))
    if task.number % 3:
        ticking.start_ticking()
    return ticking, other


def _plant_redrawing(announce: Callable[[Entry], None]) -> None:
    honest = Access.transaction

    def planted(self: Access, connection: sa.Connection) -> Transaction:
        transaction = honest(self, connection)
        transaction.__class__ = Redrawing
        vars(transaction)["announce"] = announce
        return transaction

    Access.transaction = planted  # type: ignore[method-assign]
    vars(frozen)["noise_of_draw"] = lambda *_: SystemNoise()


def work(task: Task, started: Connection) -> None:
    """Until somebody kills us."""
    log, dice, imported = Log(task.log), random.Random(task.number), task.imported
    programme, other = opened(task, log)
    started.send_bytes(b"started")
    for number in itertools.count():
        kind = dice.choice(task.work)
        if kind == "report":
            _report([programme, other], task, log, dice)
            continue
        counts: Counter[str] = Counter()
        if kind == "import":
            more = range(imported, imported + dice.randint(1, 3))
            counts.update(_target(one) for one in more)
        _say(log, "try", kind=kind, counts=counts, id=number)
        closed = None
        match kind:
            case "import":
                imported += counts.total()
                brings = dice.choice([programme, other])
                assert brings.import_reports("hotline", exported(imported)) == counts.total()
            case "close":
                closed = advance(programme)
            case "publish":
                programme.publish(task.folder / "public")
            case "backup":
                programme.backup(task.folder / f"backup {task.number} {dice.getrandbits(64):016x}")
        if closed is None or closed.waiting is not None:
            _say(log, "done", id=number)
        elif task.planted != "redrawing":
            _say(log, "done", id=number, audits=closed.audits, round=closed.round)


def _report(programmes: Sequence[Programme], task: Task, log: Log, dice: random.Random) -> None:
    """Several reports at once, or one that is handed over to the ticker, if it runs."""
    how = dice.choice(["one", "several", "handed over"])
    counts = [
        Counter({name: dice.randint(1, 3) for name in dice.sample(TARGETS, 2)})
        for _ in range(3 if how == "several" else 1)
    ]
    receipts = [new_receipt() for _ in counts]
    for one, receipt in zip(counts, receipts, strict=True):
        _say(log, "try", kind="report", how=how, counts=one, id=receipt)
        if task.planted == "early":
            _say(log, "done", id=receipt)
            until_we_are_killed()
    if how == "several":
        waiting = [programmes[0].bring_reports(one, receipt) for one, receipt in zip(counts, receipts, strict=True)]
        for written, receipt in zip(waiting, receipts, strict=True):
            written.result()
            _say(log, "done", id=receipt)
        return
    programmes[how == "handed over"].report(counts[0], receipts[0])
    _say(log, "done", id=receipts[0])


def advance(programme: Programme) -> Closed:
    """Close the open round, which freezes it where the programme draws with numbers that people throw; or draw the
    frozen one, always with the same numbers, at the time that was announced.
    """
    source, waiting = programme.parameters.randomness, programme.status().waiting
    if waiting is None:
        return programme.close_round()
    assert isinstance(source, Dice)
    throws = random.Random(waiting.round).choices(range(1, 7), k=source.throws.times)
    programme._clock = lambda: waiting.expected
    try:
        return programme.draw_round(PublicValue(source.throws.read(" ".join(map(str, throws))), waiting.value_at))
    finally:
        programme._clock = in_ten_years


def exported(reports: int) -> list[tuple[str, str]]:
    """All that the hotline ever got."""
    return [(f"report {number}", _target(number)) for number in range(reports)]


def counted_in_the_open_round(programme: Programme) -> Counter[str]:
    with programme._access.writing() as transaction:  # what a dead process left is over now
        return Counter(dict(zip(TARGETS, counting.settle(transaction).tally[0].tolist(), strict=True)))


def _target(number: int) -> str:
    return TARGETS[number % len(TARGETS)]


def _say(log: Log, what: str, **details: Any) -> None:
    log.say(json.dumps({"what": what, **details}))


@dataclass
class Followed:
    """What must be true of the programme for good, after what was acknowledged so far."""

    database: str
    folder: Path
    identity: pyrage.x25519.Identity
    counted: Counter[str] = field(default_factory=Counter)
    active: Counter[str] = field(default_factory=Counter)
    """Up to the last round closed, since the last audit."""
    imported: int = 0
    lines: list[str] = field(default_factory=list)
    sealed: Counter[str] = field(default_factory=Counter)
    head: str | None = None
    interrupted: Counter[str] = field(default_factory=Counter)
    """What was under way when the worker was killed, and how often."""

    def check(self, task: Task) -> None:
        """The database, after its worker was killed, holds what was acknowledged and goes on."""
        programme = Programme.open(self.database, task.key, clock=in_ten_years)
        try:
            tally = counted_in_the_open_round(programme)
            acknowledged, pending, audits = self._read(task.log)
            self._check_lines(audits)
            self._check_counts(tally, acknowledged, pending)
            self._bring_again(programme, pending)
            assert +Counter(programme.active_counts()) == self.active + counted_in_the_open_round(programme)
            self._check_backups(task)
            self._go_on(programme)
        finally:
            programme.close()

    def _read(self, log: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[int, list[str]]]:
        """What was acknowledged, what was not, and the audits that were announced."""
        acknowledged: list[dict[str, Any]] = []
        pending: dict[object, dict[str, Any]] = {}
        audits: dict[int, list[str]] = {}
        for text in log.read_text().splitlines() if log.exists() else []:
            said = json.loads(text)
            if said["what"] == "try":
                pending[said["id"]] = said
            elif said["what"] == "done":
                acknowledged.append(pending.pop(said["id"]))
            if "round" in said:
                audits[said["round"]] = said["audits"]
        for one in pending.values():
            self.interrupted[one["kind"]] += 1
            self.interrupted[one.get("how", "no report")] += 1
        return acknowledged, [*pending.values()], audits

    def _check_lines(self, audits: dict[int, list[str]]) -> None:
        lines = lines_of(self.database)
        assert lines[: len(self.lines)] == self.lines, "an entry was changed or lost"
        entries = [*map(parse, lines)]
        recorded = {entry.audited_in: [*entry.audited] for entry in entries if entry.audited}
        assert len(recorded) == sum(map(bool, (entry.audited for entry in entries))), "a round was drawn twice"
        for round_, announced in audits.items():
            assert recorded.get(round_) == announced, "announced audits are not the recorded ones"
        sealed = unsealed(self.database, self.identity, after=len(self.lines))
        for entry in entries[len(self.lines) :]:
            if entry.number in sealed:
                filed = Counter(dict(zip(TARGETS, sealed[entry.number].reports[0].tolist(), strict=True)))
                self.sealed += filed
                self.active += filed
            for target in entry.audited:
                del self.active[target]
        self.lines = lines

    def _check_counts(
        self, tally: Counter[str], acknowledged: Sequence[dict[str, Any]], pending: Sequence[dict[str, Any]]
    ) -> None:
        """Exactly the acknowledged reports are counted, and perhaps those that were under way: each or not at all."""
        for done in acknowledged:
            self.counted.update(done["counts"])
        possible = [self.counted]
        for one in pending:
            possible += [before + Counter(one["counts"]) for before in possible]
        assert self.sealed + tally in possible, "reports were lost, or counted twice or in part"
        self.imported += sum(sum(done["counts"].values()) for done in acknowledged if done["kind"] == "import")

    def _bring_again(self, programme: Programme, pending: Sequence[dict[str, Any]]) -> None:
        """What was not acknowledged, as who brought it is told to: then it counts, once."""
        for one in pending:
            self.counted.update(one["counts"])
            if one["kind"] == "report":
                programme.report(one["counts"], one["id"])
            elif one["kind"] == "import":
                self.imported += sum(one["counts"].values())
                programme.import_reports("hotline", exported(self.imported))
        assert self.sealed + counted_in_the_open_round(programme) == self.counted, "what came again counts twice"

    def _check_backups(self, task: Task) -> None:
        """What is there under a backup's name is whole, and of this programme."""
        whole = [path for path in self.folder.glob("backup *") if path.suffix != ".partial"]
        for number, path in enumerate(whole):
            restored = self.folder / f"restored {task.number} {number}.db"
            backup.restore(path, str(restored), never_published=True)
            old = Programme.open(str(restored), task.key, clock=in_ten_years)
            with old._access.looking() as transaction:  # an old one itself refuses to tell its counts
                assert counting.active(transaction).keys() == set(TARGETS)
            old.close()
            known = lines_of(str(restored))
            assert known == self.lines[: len(known)], "a backup tells another story"
            restored.unlink()
            path.unlink()

    def _go_on(self, programme: Programme) -> None:
        public = self.folder / "public"
        if (public / TRANSCRIPT).exists():  # as the dead process left it
            known = lines_in(public)
            assert known == self.lines[: len(known)], "an entry was published that is not in the database"
        programme.publish(public)
        assert verify(public, against=self.head, now=in_ten_years()).pages == {"index.html": "matches"}
        closings = sum(parse(line).closes_round for line in self.lines)
        waited = programme.status().waiting
        closed = advance(programme)
        assert not closed.already
        assert closed.round == (closings + 1 if waited is None else closings)
        programme.publish(public)
        self.head = verify(public, against=self.head, now=in_ten_years()).head

    def check_draws(self) -> None:
        """Every audit follows from its round's reports and the seed that was committed to before."""
        programme = Programme.open(self.database)
        result = replay(
            programme.parameters, [parse(line) for line in lines_of(self.database)], programme.seals(), self.identity
        )
        programme.close()
        assert result.confirmed, result.why


def endure(
    database: str,
    folder: Path,
    kills: int,
    *,
    work_: Sequence[str] = ALL_WORK,
    planted: str | None = None,
    seed: int = 0,
    longest: float = 0.2,
    randomness: Dice | None = None,
) -> Followed:
    """Kill as many workers, each within `longest` seconds of its start, and check what each of them left."""
    identity = pyrage.x25519.Identity.generate()
    office = new_office(database, folder, oversight=str(identity.to_public()), randomness=randomness)
    office.programme.close()
    followed, dice = Followed(database, folder, identity), random.Random(seed)
    for number in range(kills):
        task = Task(database, folder, number, followed.imported, work_, planted)
        listening, speaking = CONTEXT.Pipe(duplex=False)
        worker = CONTEXT.Process(target=work, args=(task, speaking))
        worker.start()
        speaking.close()
        if dice.random() < 0.9:
            listening.recv_bytes()
        worker.join(dice.uniform(0, longest))
        alive = worker.is_alive()
        worker.kill()
        worker.join()
        assert alive, "the worker ended by itself"
        worker.close()
        listening.close()
        followed.check(task)
    followed.check_draws()
    return followed
