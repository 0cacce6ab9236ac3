"""An office whose computer is switched off again and again, and a check of what is left each time.

A worker process reports, imports, closes rounds, publishes and makes backups as fast as it can, and writes down
what it is about to do and what was acknowledged. The parent kills it at a random instant and compares.
"""

import json
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyrage
from tests.programme.insight import lines_of, unsealed
from tests.programme.offices import TARGETS, new_office
from tests.programme.processes import CONTEXT, Log
from tests.programme.public.published import lines_in

from deniable.noise import SystemNoise
from deniable.programme import backup
from deniable.programme.programme import Programme
from deniable.programme.public.folder import TRANSCRIPT
from deniable.programme.public.verify import verify
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.secrets.oversight import replay
from deniable.programme.transaction import Transaction
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.replay import parse
from deniable.run import AuditRun

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

    def report(self, reports: Any, receipt: str | None = None) -> str:
        for target, count in reports.items():
            receipt = super().report({target: count})
        return str(receipt)


class Redrawing(Programme):
    """A planted bug: audits are announced before they are committed, and drawn with fresh noise every time."""

    announce: Callable[[Entry], None]

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        with super()._writing() as transaction:
            redrawing = _RedrawingTransaction(
                transaction.connection,
                transaction._parameters,
                transaction._mechanism,
                transaction.state,
                transaction._vault,
            )
            redrawing.announce = self.announce
            yield redrawing
            redrawing.finish()


class _RedrawingTransaction(Transaction):
    announce: Callable[[Entry], None]

    def run(self) -> AuditRun:
        return AuditRun.restore(self._mechanism, self._read("run"), SystemNoise())

    def append(self, entry: Entry, seal: bytes | None = None) -> None:
        super().append(entry, seal)
        self.announce(entry)
        signal.pause()  # until we are killed: the commit is slow today


def work(task: Task, started: Connection) -> None:
    """Until somebody kills us."""
    planted = {"half-written": HalfWritten, "redrawing": Redrawing}
    log, dice, imported = Log(task.log), random.Random(task.number), task.imported
    programme = planted.get(task.planted or "", Programme).open(task.database, task.key, clock=in_ten_years)
    if isinstance(programme, Redrawing):
        programme.announce = lambda entry: _say(log, "done", audits=entry.own()["audits"], round=entry.round)
    started.send_bytes(b"started")
    while True:
        kind = dice.choice(task.work)
        counts: Counter[str] = Counter()
        match kind:
            case "report":
                counts.update({name: dice.randint(1, 3) for name in dice.sample(TARGETS, 2)})
            case "import":
                more = range(imported, imported + dice.randint(1, 3))
                counts.update(_target(number) for number in more)
        _say(log, "try", kind=kind, counts=counts)
        if task.planted == "early":
            _say(log, "done")
            signal.pause()  # until we are killed: the commit is slow today
        closed = None
        match kind:
            case "report":
                programme.report(counts)
            case "import":
                imported += counts.total()
                export = [(f"report {number}", _target(number)) for number in range(imported)]
                assert programme.import_reports("hotline", export) == counts.total()
            case "close":
                closed = programme.close_round()
            case "publish":
                programme.publish(task.folder / "public")
            case "backup":
                programme.backup(task.folder / f"backup {task.number} {dice.getrandbits(64):016x}")
        if closed is None:
            _say(log, "done")
        elif not isinstance(programme, Redrawing):
            _say(log, "done", audits=closed.audits, round=closed.round)


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
            with programme._writing() as transaction:  # what a dead process left is over now
                tally = Counter(dict(zip(TARGETS, transaction.tally(), strict=True)))
            acknowledged, pending, audits = self._read(task.log)
            self._check_lines(audits)
            self._check_counts(programme, tally, acknowledged, pending)
            self._check_backups(task)
            self._go_on(programme)
        finally:
            programme.close()

    def _read(self, log: Path) -> tuple[list[dict[str, Any]], dict[str, Any] | None, dict[int, list[str]]]:
        """What was acknowledged, what was not, and the audits that were announced."""
        acknowledged: list[dict[str, Any]] = []
        pending: dict[str, Any] | None = None
        audits: dict[int, list[str]] = {}
        for text in log.read_text().splitlines() if log.exists() else []:
            said = json.loads(text)
            if said["what"] == "try":
                pending = said
            else:
                if pending is not None:
                    acknowledged.append(pending)
                pending = None
                if "round" in said:
                    audits[said["round"]] = said["audits"]
        self.interrupted[pending["kind"] if pending else "nothing"] += 1
        return acknowledged, pending, audits

    def _check_lines(self, audits: dict[int, list[str]]) -> None:
        lines = lines_of(self.database)
        assert lines[: len(self.lines)] == self.lines, "an entry was changed or lost"
        recorded = {entry.round: list(entry.own()["audits"]) for entry in map(parse, lines)}
        for round_, announced in audits.items():
            assert recorded.get(round_) == announced, "announced audits are not the recorded ones"
        for number, inputs in unsealed(self.database, self.identity, after=len(self.lines)).items():
            filed = Counter(dict(zip(TARGETS, inputs.reports, strict=True)))
            self.sealed += filed
            self.active += filed
            for target in parse(lines[number - 1]).own()["audits"]:
                del self.active[target]
        self.lines = lines

    def _check_counts(
        self,
        programme: Programme,
        tally: Counter[str],
        acknowledged: Sequence[dict[str, Any]],
        pending: dict[str, Any] | None,
    ) -> None:
        """Exactly the acknowledged reports are counted, and perhaps those that were under way: all or none."""
        total, expected = self.sealed + tally, self.counted.copy()
        for done in acknowledged:
            expected.update(done["counts"])
        with_pending = expected + Counter(pending["counts"] if pending else {})
        assert total in (expected, with_pending), "reports were lost, or counted twice or in part"
        self.counted = total
        self.imported += sum(sum(done["counts"].values()) for done in acknowledged if done["kind"] == "import")
        if pending and pending["kind"] == "import" and total == with_pending:
            self.imported += sum(pending["counts"].values())
        assert +Counter(programme.active_counts()) == self.active + tally, "an active count is wrong"

    def _check_backups(self, task: Task) -> None:
        """What is there under a backup's name is whole, and of this programme."""
        whole = [path for path in self.folder.glob("backup *") if path.suffix != ".partial"]
        for number, path in enumerate(whole):
            restored = self.folder / f"restored {task.number} {number}.db"
            backup.restore(path, str(restored), never_published=True)
            old = Programme.open(str(restored), task.key, clock=in_ten_years)
            assert old.active_counts().keys() == set(TARGETS)
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
        assert verify(public, against=self.head, now=in_ten_years()).page == "matches"
        closed = programme.close_round()
        assert not closed.already
        assert closed.round == len(self.lines) + 1
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
    longest: float = 0.08,
) -> Followed:
    """Kill as many workers, each within `longest` seconds of its start, and check what each of them left."""
    identity = pyrage.x25519.Identity.generate()
    office = new_office(database, folder, oversight=str(identity.to_public()))
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
