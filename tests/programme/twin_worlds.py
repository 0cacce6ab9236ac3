"""Two programmes side by side, and what must be equal in them: everything, but for one row.

The worlds share all that chance decides: keys, seeds, receipts and the noise of a draw. A round is closed with noise on
which both draw the same audits, so that their transcripts agree for good, and whatever else differs is told by the row.
"""

import contextlib
import functools
import hashlib
import io
import json
import logging
import math
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import sqlalchemy as sa
import typer.main
from hypothesis.internal.conjecture import providers
from tests.programme.offices import Clock, make_tables_at_once

from deniable.cli import main as command_line
from deniable.cli.programme import options
from deniable.errors import DeniableError
from deniable.noise import ReplayNoise
from deniable.programme import buffer, counting, receipt, rounds
from deniable.programme.access import Vouched
from deniable.programme.buffer import Slots
from deniable.programme.imports import imported_reports
from deniable.programme.imports.imported_reports import Hashes
from deniable.programme.programme import Programme
from deniable.programme.secrets import frozen, nonces, sealed_rows, vault
from deniable.programme.secrets.capsules import Selected
from deniable.programme.secrets.frozen import Frozen
from deniable.programme.secrets.keys import KeyFile
from deniable.programme.secrets.lock import CHECK
from deniable.programme.secrets.sealed_inputs import Inputs
from deniable.programme.secrets.sealed_rows import MANIFEST, SealedRows
from deniable.programme.status import Status
from deniable.programme.ticker import Count, Ticker, Write
from deniable.programme.transaction import SEED, Transaction
from deniable.run import AuditRun
from deniable.state import _arrays
from deniable.storage import tables
from deniable.yearly_figures import YearlyFigures

ROOM, DUMMIES, LOOKED_FOR = 8, 3, 8
"""Of known reports: places of a block, those taken by nothing, and a multiple of how many hashes is looked for."""
MOST_COUNTED = 15
"""Of a target in a round; where more come, they are not counted."""
MOST_PAGES = 4
"""Before they are counted."""
PROGRAMME_TABLES = (*tables.metadata.sorted_tables,)
"""The others are the console's."""
KNOWN = "known/"
_FEW_FATES, _MOST_FATES = 8, 200


class Hand(Ticker):
    """A ticker whose next tick comes as soon as something came in, or when the test says so; and whose pages are
    counted when the test says so.
    """

    def __init__(self, write: Write, count: Count) -> None:
        super().__init__(write, count, counted_every=math.inf)
        self.is_held = False
        self.ticks = 0

    def submit(self, brought: Slots, owner: str = "") -> "Future[None]":
        written = super().submit(brought, owner)
        while not (written.done() or self.is_held):
            self.tick()
        return written

    def tick(self, *, do_count: bool = False) -> None:
        self.ticks += 1
        if do_count:
            self._counted = -1.0
        self._tick()

    def stop(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        """The thread has nothing to do."""


class Outcome(NamedTuple):
    """What came of a step, as the one who took it sees it."""

    refused: str | None
    answer: Any
    printed: str


@dataclass
class World:
    """A programme with all that surrounds it."""

    folder: Path
    database: str
    wipe: Callable[["World"], None]
    """Lose the database."""
    clock: Clock = field(default_factory=Clock)
    hashed: dict[str, bytes] = field(default_factory=dict)
    """The hash of every id that was ever hashed, as JSON."""
    keys: int = 0
    drawn: int = 0
    """Random bytes were asked for so many times."""
    salts: list[bytes] = field(default_factory=list)
    """Of draws."""
    answers: dict[bytes, bytes] = field(default_factory=dict)
    """What a salted text hashes to."""
    programme: Programme = field(init=False)
    ticker: Hand = field(init=False)

    @property
    def key(self) -> KeyFile:
        return KeyFile(self.folder / f"{self.keys}.key")

    @property
    def key_path(self) -> str:
        return str(self.key.path)

    def backup(self, number: int) -> Path:
        return self.folder / f"{number}.backup"

    @property
    def public(self) -> Path:
        return self.folder / "public"

    def entropy(self, size: int) -> bytes:
        self.drawn += 1
        return hashlib.shake_256(f"entropy {self.drawn}".encode()).digest(size)

    def open(self) -> None:
        self.programme = Programme.open(self.database, self.key, clock=self.clock, entropy=self.entropy)
        intake = self.programme._intake
        self.ticker = intake._ticker = Hand(intake._write_page, intake._count)

    def command(self, *arguments: str) -> int:
        """Run `deniable programme`; a bug is none of the answers that an operator may get."""
        code = command_line.main(["programme", *arguments, "--database", self.database])
        assert code in {0, 2}, arguments
        return code

    def nameless(self, text: str) -> str:
        """The text as it would be in any other world."""
        return text.replace(self.database, "DATABASE").replace(str(self.folder), "FOLDER")


@dataclass
class Stage:
    """What both worlds share."""

    acting: World | None = None
    fate: bytes = bytes(32)
    """The seed of the noise with which a round is drawn."""
    logged: list[str] = field(default_factory=list)

    def take(self, world: World, step: Callable[[World], Any]) -> Outcome:
        """One step in one world."""
        self.acting, printed = world, io.StringIO()
        refused = answer = None
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                answer = step(world)
        except DeniableError as error:
            refused = world.nameless(f"{type(error).__name__}: {error}")
        finally:
            self.acting = None
        logged = "\n".join(self.logged)
        self.logged.clear()
        return Outcome(refused, answer, world.nameless(printed.getvalue() + logged))

    @contextlib.contextmanager
    def looking(self, world: World) -> Iterator[sa.Connection]:
        """Into the world, from outside."""
        self.acting = world
        try:
            with world.programme._access.store.reading() as connection:
                yield connection
        finally:
            self.acting = None

    def same_clock(self, worlds: Sequence[World]) -> None:
        """The ticks that one of them lived through come in the others, too, whether anything came in or not."""
        most = max(world.ticker.ticks for world in worlds)
        for world in worlds:
            while world.ticker.ticks < most:
                self.take(world, lambda world: world.ticker.tick())


def coupled(monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Let two worlds share what chance decides, for as long as the test lasts; and make their programmes small."""
    stage = Stage()

    def entropy(size: int) -> bytes:
        assert stage.acting is not None
        return stage.acting.entropy(size)

    def entropy_or_chance(size: int) -> bytes:
        """Programmes that no world has yet are copied into both."""
        return secrets.token_bytes(size) if stage.acting is None else stage.acting.entropy(size)

    def now() -> Any:
        assert stage.acting is not None
        return stage.acting.clock()

    # Constants of whatever modules happen to be imported would make a seed mean something else in every run.
    monkeypatch.setattr(providers.HypothesisProvider, "_maybe_draw_constant", lambda *_, **__: None)
    monkeypatch.setattr(imported_reports, "ROOM", ROOM)
    monkeypatch.setattr(imported_reports, "LOOKED_FOR", LOOKED_FOR)
    fixed = SimpleNamespace(randbelow=lambda _: DUMMIES, token_bytes=secrets.token_bytes)
    monkeypatch.setattr(imported_reports, "secrets", fixed)
    monkeypatch.setattr(receipt, "secrets", SimpleNamespace(token_bytes=entropy))
    monkeypatch.setattr(nonces, "secrets", SimpleNamespace(token_bytes=entropy_or_chance))
    monkeypatch.setattr(counting, "MAX_REPORTS", MOST_COUNTED)
    monkeypatch.setattr(buffer, "PAGES", MOST_PAGES)
    monkeypatch.setattr(frozen, "noise_of_draw", lambda *_: ReplayNoise(stage.fate))
    monkeypatch.setattr(YearlyFigures, "drawn", lambda _, __, received: (0,) * len(received))
    monkeypatch.setattr(options, "now", now)
    monkeypatch.setattr(os, "fsync", lambda _: None)  # no test cuts the power
    make_tables_at_once(monkeypatch)
    # To build it anew for every command takes long.
    monkeypatch.setattr(command_line, "get_command", functools.cache(typer.main.get_command))
    _share_entropy(monkeypatch, entropy)
    _share_salts(monkeypatch, stage)
    _hide_seals(monkeypatch)
    _remember_hashes(monkeypatch, stage)
    _listen(monkeypatch, stage)
    return stage


def _share_entropy(monkeypatch: pytest.MonkeyPatch, entropy: Callable[[int], bytes]) -> None:
    """Also for programmes that a command opens."""
    opened = Programme.open.__func__  # type: ignore[attr-defined]

    def open_(cls: type[Programme], *arguments: Any, **settings: Any) -> Programme:
        programme: Programme = opened(cls, *arguments, **({"entropy": entropy} | settings))
        return programme

    monkeypatch.setattr(Programme, "open", classmethod(open_))


def _share_salts(monkeypatch: pytest.MonkeyPatch, stage: Stage) -> None:
    """A hash is ideal where its text has a salt that was drawn for it and that the office keeps: the answer is a random
    one, whatever else is in the text, and both worlds share it. Of any other text it is what it is.
    """

    def salt(size: int) -> bytes:
        assert stage.acting is not None
        stage.acting.salts.append(stage.acting.entropy(size))
        return stage.acting.salts[-1]

    def sha256(text: bytes) -> Any:
        world = stage.acting
        assert world is not None
        own = next((salt for salt in world.salts if salt in text), None)
        if own is None:
            return hashlib.sha256(text)
        asked = sum(own in other for other in world.answers)
        answer = world.answers.setdefault(text, hashlib.sha256(b"answer %d %b" % (asked, own)).digest())
        return SimpleNamespace(digest=lambda: answer, hexdigest=answer.hex)

    monkeypatch.setattr(rounds, "secrets", SimpleNamespace(token_bytes=salt))
    monkeypatch.setattr(frozen, "hashlib", SimpleNamespace(sha256=sha256, shake_256=hashlib.shake_256))


def _hide_seals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A seal tells nothing but its length to anybody without its key, and its hash is published."""
    sealed = Inputs.sealed

    def ideal(self: Inputs, recipient: str) -> bytes:
        return hashlib.shake_256(f"seal {self.round}".encode()).digest(len(sealed(self, recipient)))

    monkeypatch.setattr(Inputs, "sealed", ideal)
    capsule = Selected.sealed

    def same_chance(self: Selected, key: bytes, programme: str) -> str:
        with pytest.MonkeyPatch.context() as shared:
            shared.setattr(vault, "secrets", SimpleNamespace(token_bytes=bytes))
            return capsule(self, key, programme)

    monkeypatch.setattr(Selected, "sealed", same_chance)


def _remember_hashes(monkeypatch: pytest.MonkeyPatch, stage: Stage) -> None:
    def remembered(hashes: Callable[[Any, list[Sequence[object]]], Hashes]) -> Callable[..., Hashes]:
        def found(self: Any, ids: Iterable[Sequence[object]]) -> Hashes:
            all_ids = list(ids)
            rows = hashes(self, all_ids)
            assert stage.acting is not None
            stage.acting.hashed |= {json.dumps(id_): row.tobytes() for id_, row in zip(all_ids, rows, strict=True)}
            return rows

        return found

    def with_numbers(plain: Hashes, numbers: Iterable[int]) -> Hashes:
        hidden = imported_reports.with_numbers(plain, numbers)
        assert stage.acting is not None
        ids = {hash_: id_ for id_, hash_ in stage.acting.hashed.items()}
        for row, stored in zip(plain, hidden, strict=True):
            stage.acting.hashed[json.dumps([*json.loads(ids[row.tobytes()]), "with its number"])] = stored.tobytes()
        return hidden

    for seen_by in (Transaction, Vouched):
        monkeypatch.setattr(seen_by, "hashes", remembered(seen_by.hashes))
    monkeypatch.setattr(counting, "with_numbers", with_numbers)


def _listen(monkeypatch: pytest.MonkeyPatch, stage: Stage) -> None:
    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            stage.logged.append(record.getMessage())

    monkeypatch.setattr(logging.getLogger(), "handlers", [Ear()])


@dataclass(frozen=True)
class Secrets:
    """What the key opens."""

    seed: bytes | None
    """None in a database that was restored and not recovered."""
    audits: list[int]
    """By target: how many of its runs have ended with an audit."""
    nonces: list[bytes]
    tally: list[list[int]]
    """With what came in and is not counted yet."""
    counted: list[list[int]]
    """Without that."""
    active: list[int]
    """By target: the reports of its run, the open round included."""
    runs: list[Any]
    """What the saved run holds of every target."""
    frozen: list[Any]
    """What the round that waits holds of every target; nothing where none waits."""
    frozen_audits: list[int]
    """As `audits`, when it was frozen."""
    known: dict[str, set[str]]
    """By source: the ids that are known, as JSON."""
    received: list[int]
    """By class: since the last yearly figures."""


@dataclass(frozen=True)
class Sight:
    """All there is to see of a world after a step."""

    status: Status
    stored: dict[str, list[tuple[Any, ...]]]
    """By table: its rows."""
    pages: list[tuple[int, int]]
    """Place and bytes of each."""
    sizes: dict[str, int]
    """Bytes of every secret, but for the manifest and known reports."""
    overhead: tuple[int, int]
    """Bytes of the manifest beyond its list of secrets, and those of its ciphertext beyond it all."""
    blocks: list[tuple[str, int]]
    """Whose they are and their bytes, for all blocks of known reports."""
    public: dict[str, bytes]
    secrets: Secrets | None
    """None once the programme has ended."""


def seen(stage: Stage, world: World) -> Sight:
    status = world.programme.status()
    with stage.looking(world) as connection:
        stored = {table.name: [*map(tuple, connection.execute(sa.select(table)))] for table in PROGRAMME_TABLES}
        blobs: dict[str, bytes] = dict(stored.pop(tables.secrets.name))
        transaction = None if status.ended else _transaction(world.programme, connection, blobs)
        opened = None if transaction is None else _opened(transaction, SEED in blobs, world.hashed)
    return Sight(
        status=replace(status, folder=None),
        pages=sorted((place, len(blob)) for place, blob in stored.pop(tables.pages.name)),
        stored={name: [_nameless(world, row) for row in rows] for name, rows in stored.items()},
        sizes={name: len(blob) for name, blob in blobs.items() if name != MANIFEST and not name.startswith(KNOWN)},
        overhead=(0, 0) if transaction is None else _overhead(transaction, blobs),
        blocks=sorted((name.rpartition("/")[0], len(blob)) for name, blob in blobs.items() if name.startswith(KNOWN)),
        public={path.name: path.read_bytes() for path in world.public.glob("*")},
        secrets=opened,
    )


def _overhead(transaction: Transaction, blobs: Mapping[str, bytes]) -> tuple[int, int]:
    listed = len(json.dumps(dict.fromkeys(["public", *blobs.keys() - {CHECK, MANIFEST}], "0" * 64)))
    content = transaction._rows._vault.open(MANIFEST, blobs[MANIFEST]).rstrip()
    room = sealed_rows._ROOM
    return len(content) - listed, len(blobs[MANIFEST]) - -(-len(content) // room) * room


def _transaction(programme: Programme, connection: sa.Connection, blobs: Mapping[str, bytes]) -> Transaction:
    """It reads the secrets that were read already."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(SealedRows, "_blob", lambda _, name: blobs[name])
        transaction = programme._access.transaction(connection)
    transaction._rows._blob = blobs.__getitem__  # type: ignore[method-assign, assignment]
    return transaction


def _nameless(world: World, row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(world.nameless(value) if isinstance(value, str) else value for value in row)


def _opened(transaction: Transaction, has_seed: bool, hashed: Mapping[str, bytes]) -> Secrets:
    run, counted = transaction.read_counts()
    parameters = transaction.state.parameters
    settled = counting.settle(transaction)
    active = np.array(run.active_counts()) + parameters.weighed(settled.tally[parameters.in_draw])
    tally, by_hash = settled.tally.T.tolist(), {hash_: id_ for id_, hash_ in hashed.items()}
    frozen, frozen_audits = list[Any](), list[int]()
    if transaction.has_frozen:
        waits, ordered = transaction.frozen(), [*chain(*transaction.state.hidden.orders_since_freeze)]
        then, in_draw = AuditRun.restore(run.mechanism, waits.run), parameters.weighed(waits.inputs.reports)
        in_draw[ordered] = 0
        active += in_draw
        frozen = [*zip(waits.inputs.reports.T.tolist(), _by_target(then), strict=True)]
        frozen_audits = then.history.audits[0].tolist()
    known = {}
    for source in transaction.sources():
        stored = {row.tobytes() for row in settled.known[source].hashes}
        known[source] = {_with_receipt(by_hash[hash_], by_hash) for hash_ in stored & by_hash.keys()}
    return Secrets(
        seed=transaction._read(SEED) if has_seed else None,
        audits=run.history.audits[0].tolist(),
        nonces=[nonce.tobytes() for nonce in transaction.nonces()],
        tally=tally,
        counted=counted.T.tolist(),
        active=active.tolist(),
        runs=_by_target(run),
        frozen=frozen,
        frozen_audits=frozen_audits,
        known=known,
        received=settled.received.tolist(),
    )


def _by_target(run: AuditRun) -> list[list[Any]]:
    private = [*_arrays(run._state.private)]
    return [[array[..., number].tolist() for array in private] for number in range(run.history.present.shape[1])]


def _with_receipt(id_: str, by_hash: Mapping[bytes, str]) -> str:
    """The id of what was entered or withdrawn, with its receipt in place of the receipt's hash."""
    what, own, *others = json.loads(id_)
    if what not in {"entered", "withdrawn"}:
        return id_
    receipt = json.loads(by_hash[np.frombuffer(bytes.fromhex(own), ">u8").astype("<u8").tobytes()])[1]
    return json.dumps([what, receipt, *others])


def differing_targets(
    one: Sight, other: Sight, is_of_the_row: Callable[[list[Any]], bool], has_repeated_id: bool = False
) -> dict[int, int]:
    """By target: how far the two counts are apart, where anything about its reports differs.

    Everything else must be equal, but for what is known of the row itself. Where its id is that of another row too, it
    may have become known earlier in one world, and have filled a block there.
    """
    assert one.status == other.status
    assert one.stored == other.stored
    assert one.pages == other.pages
    assert one.sizes == other.sizes
    assert one.overhead == other.overhead
    assert one.public == other.public
    if one.secrets is None or other.secrets is None:
        assert one.secrets == other.secrets
        assert one.blocks == other.blocks == []
        return {}
    first, second = one.secrets, other.secrets
    assert (first.seed, first.audits, first.nonces) == (second.seed, second.audits, second.nonces)
    assert (len(first.frozen), first.frozen_audits) == (len(second.frozen), second.frozen_audits)
    assert first.known.keys() == second.known.keys()
    apart = sum(abs(here - there) for here, there in zip(first.received, second.received, strict=True))
    assert apart <= 1 + has_repeated_id, "the row counts in one year, and once"
    assert len({size for _, size in one.blocks + other.blocks}) == 1
    for place, (source, known) in enumerate(first.known.items()):
        of_the_row = known ^ second.known[source]
        assert all(is_of_the_row(json.loads(id_)) for id_ in of_the_row), "of another row"
        blocks, blocks_there = (sum(name == f"{KNOWN}{place}" for name, _ in sight.blocks) for sight in (one, other))
        assert abs(blocks - blocks_there) <= (bool(of_the_row) or has_repeated_id), "one more than the row needs"
    return {
        target: first.active[target] - second.active[target]
        for target in range(len(first.tally))
        if differing_parts(one, other, target)
    }


def differing_parts(one: Sight, other: Sight, target: int) -> set[str]:
    """Where reports about it are counted that one of the worlds has not: in the open round, in a round that was drawn,
    or in that which waits.
    """
    first, second = one.secrets, other.secrets
    assert first is not None
    assert second is not None
    pairs = {
        "open": (first.tally[target], second.tally[target]),
        "drawn": (first.runs[target], second.runs[target]),
        "frozen": (first.frozen[target], second.frozen[target]) if first.frozen else (0, 0),
    }
    return {part for part, (here, there) in pairs.items() if here != there}


def differing_before(one: Sight, other: Sight) -> set[int]:
    """The targets whose counts differ before what came in is counted."""
    if one.secrets is None or other.secrets is None:
        return set()
    pairs = zip(one.secrets.counted, other.secrets.counted, strict=True)
    return {target for target, (first, second) in enumerate(pairs) if first != second}


def backup_sizes(path: Path) -> list[int]:
    """The lengths of a backup's lines, but for those of known reports and of the manifest that lists them."""
    lines = path.read_text().splitlines()
    return [len(line) for line in lines if '"known/' not in line and f'"name": "{MANIFEST}"' not in line]


def fate_of_both(stage: Stage, worlds: Sequence[World], wanted: int, rounds: int) -> bytes:
    """A seed of the noise with which all worlds draw the same audits, if possible with the wanted target."""
    first = None
    for attempt in range(_MOST_FATES):
        fate = hashlib.sha256(f"fate {rounds} {attempt}".encode()).digest()
        drawn, *others = (_drawn(stage, world, fate) for world in worlds)
        if all(other == drawn for other in others):
            first = first or fate
            if wanted in drawn:
                return fate
        if first is not None and attempt >= _FEW_FATES:
            return first
    raise AssertionError("the two worlds must draw the same audits most of the time")


def _drawn(stage: Stage, world: World, fate: bytes) -> tuple[int, ...]:
    parameters, stage.fate = world.programme.parameters, fate
    with stage.looking(world) as connection:
        transaction = world.programme._access.transaction(connection)
        if transaction.has_frozen:
            return transaction.frozen().drawn(parameters, "")[1]
        reports = counting.settle(transaction).tally[parameters.in_draw]
        return Frozen(Inputs(0, reports, bytes(32)), transaction.read_counts()[0].save()).drawn(parameters, "")[1]
