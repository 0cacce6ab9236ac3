"""One transaction on a programme: its public state, and its secrets opened for as long as the transaction lasts.

Its manifest (`SealedRows`) also vouches for what came in and is not counted yet (`buffer`), the parameters, the public
state and where it is published: an attacker who can write to the database but has no key can put back all of it
together, and nothing less; the copies of the transcript outside the database show that.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import sqlalchemy as sa

from deniable.arrays import IntArray
from deniable.errors import DeniableError
from deniable.mechanisms.base import Mechanism
from deniable.programme.buffer import Arrived, Buffer, Slots
from deniable.programme.imports.hotline_settings import Kept
from deniable.programme.imports.imported_reports import ENTERED, Hashes, KnownReports, keyed_hashes, pack_sources
from deniable.programme.parameters import Parameters
from deniable.programme.secrets import nonces
from deniable.programme.secrets.capsules import Selected
from deniable.programme.secrets.frozen import Frozen
from deniable.programme.secrets.nonces import Nonces
from deniable.programme.secrets.sealed_inputs import Inputs
from deniable.programme.secrets.sealed_rows import SealedRows
from deniable.programme.secrets.vault import Vault
from deniable.programme.transcript.chain import Head, commitment, digest, parse_head, signed_head
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.replay import parse
from deniable.programme.transcript.state import PublicState
from deniable.rules import History
from deniable.run import AuditRun
from deniable.storage import tables

Entropy = Callable[[int], bytes]
"""So many random bytes."""
NewSeed = Callable[[int], tuple[bytes, str]]
"""The seed of a round, drawn afresh, and the commitment to it: `new_seed` of one programme."""

SIGNING_KEY, HASHING_KEY, REVEAL_KEY, SEED = "signing key", "hashing key", "reveal key", "seed"
_NONCES = "nonces"
_FROZEN = "frozen round"
_RECEIVED = "received"
_OF_THE_ROUND = ("tally", "run", SEED, _NONCES, _FROZEN)
_SOURCES = "sources"
_PUBLIC = "public"
_BUFFER = "buffer"
_BESIDE_KEY = "copy beside the key"


def new_seed(programme: str, entropy: Entropy, round_: int) -> tuple[bytes, str]:
    seed = entropy(32)
    return seed, commitment(programme, round_, seed)


class Transaction:
    """What a transaction reads and writes. Nothing is kept after it."""

    def __init__(
        self,
        connection: sa.Connection,
        parameters: Parameters,
        mechanism: Mechanism[Any],
        state: PublicState,
        vault: Vault,
        *,
        is_new: bool = False,
    ) -> None:
        self.connection = connection
        self._parameters = parameters
        self._mechanism = mechanism
        self._rows = SealedRows(connection, vault)
        self.state = state
        head_line, self._folder = connection.execute(tables.HEAD_AND_FOLDER).one()
        self._sources: list[str] | None = None
        self._nonces: Nonces | None = None
        self._buffer = Buffer.empty(connection, parameters.programme)
        if not is_new:
            self._read_manifest(parse_head(head_line))

    @classmethod
    def read(cls, connection: sa.Connection, vault: Vault) -> Self:
        """A transaction on the programme in this database."""
        stored = connection.execute(sa.select(tables.programme.c.parameters)).scalar_one()
        parameters = Parameters.from_bytes(stored.encode("ascii"))
        return cls(connection, parameters, parameters.built(), stored_state(connection, parameters), vault)

    def finish(self) -> None:
        """Seal what the manifest must say from now on; last in every transaction."""
        if self._rows.has_changed:
            self._rows.note(_PUBLIC, self._public())
            self._rows.note(_BUFFER, self._buffer.to_dict())
            self._rows.seal_manifest()

    def take_in(self, brought: Slots) -> None:
        """Write a page with what came in, perhaps nothing."""
        self._buffer.write(self.state.open_round, brought)
        self._rows.has_changed = True

    @property
    def has_room(self) -> bool:
        """Whether one more page can be written before they are counted."""
        return not self._buffer.is_full

    def arrived(self) -> Arrived:
        """What came in and is not counted yet."""
        return self._buffer.read(self.state.open_round)

    def empty_buffer(self) -> None:
        """What came in is counted."""
        self._buffer = Buffer.empty(self.connection, self._parameters.programme)
        self._rows.has_changed = True

    def tally(self) -> IntArray:
        """The reports of the open round that are counted, (classes, C), for every target there ever was.

        Of a class that leads to a visit, those whose visit is not ordered yet.
        """
        counts = np.frombuffer(self._read("tally"), ">u4").astype(np.int64)
        if len(counts) != self.state.n_targets * len(self._parameters.classes):
            raise _misfit("tally")
        return counts.reshape(len(self._parameters.classes), -1)

    def write_tally(self, counts: IntArray) -> None:
        self._write("tally", counts.astype(">u4").tobytes())

    def received(self) -> IntArray:
        """The reports counted since the last yearly figures, (classes,); none where there are no such figures."""
        none = bytes(4 * len(self._parameters.classes))
        return np.frombuffer(self._read(_RECEIVED) if self._parameters.figures else none, ">u4").astype(np.int64)

    def write_received(self, numbers: IntArray) -> None:
        if self._parameters.figures is not None:
            self._write(_RECEIVED, numbers.astype(">u4").tobytes())

    def nonces(self) -> Nonces:
        """What goes into the hashes of what is entered, by target; `append` destroys those of runs that end."""
        if self._nonces is None:
            self._nonces = nonces.cut(self._read(_NONCES))
        if len(self._nonces) != self.state.n_targets:
            raise _misfit(_NONCES)
        return self._nonces

    def write_nonces(self, values: Nonces) -> None:
        self._write(_NONCES, values.tobytes())
        self._nonces = values

    def sources(self) -> list[str]:
        """The names of all hotlines that were ever imported, after the source of what is entered."""
        if self._sources is None:
            self._sources = json.loads(self._read(_SOURCES)) if _SOURCES in self._rows else []
        return self._sources

    def add_source(self, name: str) -> None:
        """Make room for a source that is not known yet."""
        names = self.sources()
        if name not in names:
            self._sources = [*names, name]
            self._write(_SOURCES, pack_sources(self._sources))
            self.write_known(name, KnownReports.none(), 0)
            if name != ENTERED:
                self.write_kept(name, Kept())

    def kept(self, source: str) -> Kept:
        """What is kept of a hotline besides its reports."""
        name = f"kept/{self.sources().index(source)}"
        return Kept.from_bytes(self._read(name)) if name in self._rows else Kept()

    def write_kept(self, source: str, kept: Kept) -> None:
        self._write(f"kept/{self.sources().index(source)}", kept.to_bytes())

    def hashes(self, ids: Iterable[Sequence[object]]) -> Hashes:
        """What reports with these ids are known by."""
        return keyed_hashes(self.hashing_key, ids)

    @cached_property
    def hashing_key(self) -> bytes:
        return self._read(HASHING_KEY)

    def known(self, source: str) -> KnownReports:
        """The reports of a source that were there before."""
        return KnownReports.unpack([self._read(name) for name in self._blocks(source)])

    def write_known(self, source: str, known: KnownReports, first: int) -> None:
        """What is known of a source from now on, from its first block that changed."""
        place = self.sources().index(source)
        for block in range(first, known.blocks):
            self._write(f"known/{place}/{block}", known.pack(block))

    def _blocks(self, source: str) -> list[str]:
        """The names under which a source's blocks are kept, in their order."""
        begins = f"known/{self.sources().index(source)}/"
        numbers = sorted(int(name.removeprefix(begins)) for name in self._rows if name.startswith(begins))
        return [f"{begins}{number}" for number in numbers]

    def seed(self) -> bytes:
        """That of the open round, to which the transcript commits."""
        seed = self._read(SEED)
        if commitment(self._parameters.programme, self.state.open_round, seed) != self.state.commitment:
            raise DeniableError("the stored seed is not the one that was committed to; restore the last backup")
        return seed

    def read_counts(self) -> tuple[AuditRun, IntArray]:
        """The run and the tally."""
        run = AuditRun.restore(self._mechanism, self._read("run"), rounds=self.state.history.rounds)
        self._check_fits(run)
        return run, self.tally()

    @property
    def has_frozen(self) -> bool:
        return _FROZEN in self._rows

    def frozen(self) -> Frozen:
        """What the round that waits is drawn from, if the transcript has its hash."""
        frozen, waiting = Frozen.from_bytes(self._read(_FROZEN)), self.state.waiting
        if waiting is None or frozen.hash(self._parameters.programme) != waiting.inputs:
            raise _misfit("frozen round")
        return frozen

    def write_frozen(self, frozen: Frozen) -> None:
        self._write(_FROZEN, frozen.to_bytes())

    def forget_frozen(self) -> None:
        self._rows.delete(_FROZEN)

    def write_round(self, run: AuditRun, tally: IntArray, seed: bytes) -> None:
        """All secrets of the open round, in place of those of the round before."""
        self.write_counts(run, tally)
        self._write(SEED, seed)

    def write_counts(self, run: AuditRun, tally: IntArray) -> None:
        self._check_fits(run)
        self._write("run", run.save())
        self.write_tally(tally)

    def write_keys(self, signing_key: bytes, hashing_key: bytes, reveal_key: bytes) -> None:
        """The second hashes ids of reports, the third seals names that are not public; both outlive the master key."""
        self._write(SIGNING_KEY, signing_key)
        self._write(HASHING_KEY, hashing_key)
        self._write(REVEAL_KEY, reveal_key)

    def capsule(self, selected: Selected) -> str:
        """For the public transcript: what a draw selected, which this programme's office alone can open."""
        return selected.sealed(self._read(REVEAL_KEY), self._parameters.programme)

    def selected(self, round_: int, capsule: str) -> Selected:
        """What the draw of that round selected. Secret until it is revealed."""
        return Selected.opened(self._read(REVEAL_KEY), self._parameters.programme, round_, capsule)

    def _history(self) -> History:
        """The public history with what is not public yet."""
        of = self.selected
        return self.state.hidden.history(self.state.history, lambda draw: of(draw.round, draw.capsule).targets)

    def change_vault(self, vault: Vault, kdf: str | None) -> None:
        """Seal every secret anew."""
        self._rows.change_vault(vault, self._bound)
        self.connection.execute(sa.update(tables.lock), {"kdf": kdf})

    def destroy(self) -> None:
        """Delete every secret of the programme; the lock of the database stays."""
        self._rows.destroy()
        self.connection.execute(sa.delete(tables.pages))

    def append(self, entry: Entry, seal: bytes | None = None) -> None:
        """Add an entry and sign the new head. If it closes a round, the secrets of the new one must follow."""
        signing_key, held, before = self._read(SIGNING_KEY), self.nonces(), self._history()
        self.state = entry.after(self.state)
        if not entry.keeps_entered:
            self.write_nonces(nonces.renewed(held, before, self._history()))
        if entry.fixes_reports or entry.publishes_figures:  # what figures count would be missing in another year
            self.write_nonces(nonces.new_nonces(self.state.n_targets))
        if entry.publishes_figures:
            self.write_received(np.zeros(len(self._parameters.classes), np.int64))
        self._rows.has_changed = True
        root = self.state.tree.root
        added = {"number": entry.number, "round": entry.round, "line": entry.line(), "root": root.hex()}
        self.connection.execute(sa.insert(tables.entries), added)
        if seal is not None:
            self.connection.execute(sa.insert(tables.seals), {"entry": entry.number, "blob": seal})
        head = signed_head(signing_key, self._parameters.digest, entry.number, root)
        self.connection.execute(sa.update(tables.standing), {"head": head})
        self.connection.execute(sa.update(tables.public_state), {"blob": self.state.to_bytes()})

    def seal(self, inputs: Inputs) -> tuple[bytes | None, str | None]:
        """The round's inputs for the oversight body, and their public hash; nothing where there is no such body."""
        if self._parameters.oversight is None:
            return None, None
        sealed = inputs.sealed(self._parameters.oversight)
        return sealed, hashlib.sha256(sealed).hexdigest()

    def entries(self, round_: int) -> list[Entry]:
        """Those of this round and of all later ones, if they lead to the state's head."""
        rounds = sa.select(tables.entries.c.line).where(tables.entries.c.round >= round_)
        lines = self.connection.execute(rounds.order_by(tables.entries.c.number)).scalars().all()
        entries = [parse(text) for text in lines]
        heads = [*(entry.previous for entry in entries[1:]), self.state.head]
        if [digest(text) for text in lines] != heads[: len(lines)]:
            raise DeniableError("the stored entries were changed; restore the last backup")
        return entries

    @property
    def is_kept_beside_key(self) -> bool:
        """Whether a copy of the transcript is kept beside the key: where it is missing, it was lost.

        Otherwise the key is a passphrase, or lies in a folder that could not be written to, and only what is published
        is shown.
        """
        return bool(self._rows.noted(_BESIDE_KEY) != "no")

    @property
    def is_kept_in_folder(self) -> bool:
        """Whether only what is published is shown, beside the key or not.

        It stays so once it was: files of the database from that time compare themselves with the public folder alone.
        """
        return bool(self._rows.noted(_BESIDE_KEY) != "yes")

    def note_kept_beside_key(self, is_kept: bool) -> None:
        was_kept_in_folder = _BESIDE_KEY in self._rows and self.is_kept_in_folder
        self._rows.note(_BESIDE_KEY, ("and in the folder" if was_kept_in_folder else "yes") if is_kept else "no")

    @property
    def has_seed(self) -> bool:
        """Whether the open round can be drawn."""
        return self.connection.execute(tables.SECRET, {"name": SEED}).scalar() is not None

    def write_folder(self, folder: str) -> None:
        """Where the programme is published from now on."""
        self._folder, self._rows.has_changed = folder, True
        self.connection.execute(sa.update(tables.standing), {"folder": folder})

    def _check_fits(self, run: AuditRun) -> None:
        """Both follow the transcript, each in its own way."""
        if not run.history.equals(self._history()):
            raise _misfit("run")

    def _read(self, name: str) -> bytes:
        return self._rows.read(name, self._bound(name))

    def _write(self, name: str, secret: bytes) -> None:
        self._rows.write(name, self._bound(name), secret)

    def _read_manifest(self, head: Head) -> None:
        self._rows.open_manifest()
        self._buffer = Buffer(self.connection, self._parameters.programme, **self._rows.noted(_BUFFER))
        signed = self.state.entries, self.state.tree.root.hex()
        if self._rows.noted(_PUBLIC) != self._public() or (head.entries, head.root) != signed:
            raise DeniableError("the stored parameters, state or public folder were changed; restore the last backup")

    def _public(self) -> str:
        read = [self._parameters.digest, self.state.digest, self._folder]
        return hashlib.sha256(json.dumps(read).encode()).hexdigest()

    def _bound(self, name: str) -> str:
        return f"{name}/round {self.state.open_round}" if name in _OF_THE_ROUND else name


def stored_state(connection: sa.Connection, parameters: Parameters) -> PublicState:
    """The public state as the database has it; the manifest tells whether it is the programme's."""
    blob = connection.execute(sa.select(tables.public_state.c.blob)).scalar_one()
    return PublicState.from_bytes(parameters, bytes(blob))


def _misfit(name: str) -> DeniableError:
    return DeniableError("the stored {name} and the transcript do not fit together; restore the last backup", name=name)
