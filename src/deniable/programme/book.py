"""One transaction on a programme: its public state, and its secrets opened for as long as the transaction lasts.

Every secret is sealed under a name that says what it is and, where it changes from round to round, of which round. A
row put back from an earlier round, or in another row's place, does not open. A sealed manifest holds the hash of each
of these rows, of the parameters and of the public state: whoever can write to the database but has no key can put back
all of it together, and nothing less.
"""

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from deniable.errors import MAX_REPORTS, DeniableError
from deniable.mechanisms import Mechanism
from deniable.noise import ReplayNoise
from deniable.programme import tables
from deniable.programme.locking import CHECK, check_key
from deniable.programme.parameters import Parameters
from deniable.programme.public_files import folder_error
from deniable.programme.public_state import PublicState
from deniable.programme.publishing import read_head
from deniable.programme.receipts import Receipts
from deniable.programme.seals import Inputs
from deniable.programme.transcript import Entry, check_head, commitment, digest, line, parse, parse_head, signed_head
from deniable.programme.vault import Vault
from deniable.run import AuditRun
from deniable.state import pack

SIGNING_KEY, HASHING_KEY, MANIFEST = "signing key", "hashing key", "manifest"
_OF_THE_ROUND = ("tally", "run", "seed", "receipts")
_PUBLIC = "public"
_MISFIT = "the stored {} does not fit the transcript; restore the last backup"


class Book:
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
        self._connection = connection
        self._parameters = parameters
        self._mechanism = mechanism
        self._vault = vault
        self.state = state
        self._has_changed = False
        self._manifest: dict[str, str] = {} if is_new else self._read_manifest()

    def finish(self) -> None:
        """Seal what the manifest must say from now on; last in every transaction."""
        if not self._has_changed:
            return
        self._manifest[_PUBLIC] = self._public()
        stored = json.dumps(self._manifest, sort_keys=True).encode()
        self._store(MANIFEST, self._vault.seal(MANIFEST, stored))

    def tally(self) -> list[int]:
        """The open round's reports, for every target there ever was."""
        counts = [count for (count,) in struct.iter_unpack(">Q", self._read("tally"))]
        if len(counts) != self.state.n_targets:
            raise DeniableError(_MISFIT.format("tally"))
        return counts

    def add(self, reports: Mapping[int, int]) -> None:
        """Count these reports, by target number, in the open round; negative ones take back."""
        counts = self.tally()
        for target, number in reports.items():
            if number > MAX_REPORTS:
                raise DeniableError(f"at most {MAX_REPORTS} reports about a target can be added at once")
            # Held there without a word: whoever may add reports must not find out how many there are.
            counts[target] = min(counts[target] + number, MAX_REPORTS)
            if counts[target] < 0:
                raise DeniableError("only reports of the open round can be withdrawn, and no more than were entered")
        self.write_tally(counts)

    def write_tally(self, counts: Sequence[int]) -> None:
        self._write("tally", struct.pack(f">{len(counts)}Q", *counts))

    def receipts(self) -> Receipts:
        return Receipts.unpack(self._read("receipts"))

    def write_receipts(self, receipts: Receipts) -> None:
        self._write("receipts", receipts.pack(self.state.n_targets))

    def read_round(self) -> tuple[AuditRun, list[int], bytes]:
        """The run, ready to draw the open round with the seed that was committed to; the tally; that seed."""
        seed = self._read("seed")
        if commitment(self._parameters.programme, self.state.open_round, seed) != self.state.commitment:
            raise DeniableError("the stored seed is not the one that was committed to; restore the last backup")
        blob = self._read("run")
        run = AuditRun.restore(self._mechanism, blob, ReplayNoise(seed), rounds=self.state.history.rounds)
        self._check_fits(run)
        return run, self.tally(), seed

    def write_round(self, run: AuditRun, tally: Sequence[int], seed: bytes, receipts: Receipts) -> None:
        """All secrets of the open round, in place of those of the round before."""
        self._check_fits(run)
        self._write("run", run.save())
        self.write_tally(tally)
        self._write("seed", seed)
        self.write_receipts(receipts)

    def hashing_key(self) -> bytes:
        """Hashes the outside ids of reports; it outlives a change of the master key, as the hashes do."""
        return self._read(HASHING_KEY)

    def write_keys(self, signing_key: bytes, hashing_key: bytes) -> None:
        self._write(SIGNING_KEY, signing_key)
        self._write(HASHING_KEY, hashing_key)

    def change_vault(self, vault: Vault, kdf: str | None) -> None:
        """Seal every secret anew."""
        names = self._connection.execute(sa.select(tables.secrets.c.name)).scalars().all()
        opened = {name: self._read(name) for name in names if name not in {CHECK, MANIFEST}}
        self._vault = vault
        self._store(CHECK, vault.check())
        for name, secret in opened.items():
            self._write(name, secret)
        self._connection.execute(sa.update(tables.lock), {"kdf": kdf})

    def destroy(self) -> None:
        """Delete every secret of the programme; the lock of the database stays."""
        gone = (*_OF_THE_ROUND, SIGNING_KEY, HASHING_KEY, MANIFEST)
        self._has_changed = False  # nothing is left that a manifest could speak of
        self._connection.execute(sa.delete(tables.secrets).where(tables.secrets.c.name.in_(gone)))

    def append(self, entry: Entry, seal: bytes | None = None) -> None:
        """Add an entry and sign the new head. Where it closes a round, the secrets of the new one must follow."""
        signing_key = self._read(SIGNING_KEY)
        text = line(entry)
        self.state = self.state.after(entry)
        self._has_changed = True
        added = {"number": entry.number, "round": entry.round, "line": text, "digest": digest(text)}
        self._connection.execute(sa.insert(tables.entries), added)
        if seal is not None:
            self._connection.execute(sa.insert(tables.seals), {"entry": entry.number, "blob": seal})
        head = signed_head(signing_key, self._parameters.digest, entry.number, digest(text))
        self._connection.execute(sa.update(tables.programme), {"state": self.state.to_json(), "head": head})

    def seal(self, inputs: Inputs) -> tuple[bytes | None, str | None]:
        """The round's inputs for the oversight body, and their public hash; nothing where there is no such body."""
        if self._parameters.oversight is None:
            return None, None
        sealed = inputs.sealed(self._parameters.oversight)
        return sealed, hashlib.sha256(sealed).hexdigest()

    def entries(self, round_: int) -> list[Entry]:
        """Those of one round."""
        found = sa.select(tables.entries.c.line).where(tables.entries.c.round == round_)
        return [parse(text) for text in self._connection.execute(found.order_by(tables.entries.c.number)).scalars()]

    def check_not_behind(self, must_read: bool = True) -> None:
        check_not_behind(self._connection, self._parameters, must_read)

    def _check_fits(self, run: AuditRun) -> None:
        """Both follow the transcript, each in its own way."""
        if pack(run.history) != pack(self.state.history):
            raise DeniableError(_MISFIT.format("run"))

    def _read(self, name: str) -> bytes:
        blob = self._blob(name)
        secret = self._vault.open(self._bound(name), blob)
        if name in self._manifest and self._manifest[name] != hashlib.sha256(blob).hexdigest():
            raise DeniableError(f"the stored {name} is an older one that was put back; restore the last backup")
        return secret

    def _write(self, name: str, secret: bytes) -> None:
        blob = self._vault.seal(self._bound(name), secret)
        self._manifest[name] = hashlib.sha256(blob).hexdigest()
        self._store(name, blob)

    def _read_manifest(self) -> dict[str, str]:
        check_key(self._connection, self._vault)
        manifest: dict[str, str] = json.loads(self._vault.open(MANIFEST, self._blob(MANIFEST)))
        if manifest[_PUBLIC] != self._public():
            raise DeniableError("the stored parameters or public state were changed; restore the last backup")
        return manifest

    def _public(self) -> str:
        return hashlib.sha256(f"{self._parameters.digest}\n{self.state.to_json()}".encode()).hexdigest()

    def _blob(self, name: str) -> bytes:
        found = sa.select(tables.secrets.c.blob).where(tables.secrets.c.name == name)
        blob = self._connection.execute(found).scalar()
        if blob is None:
            raise DeniableError(f"the stored {name} is missing; restore the last backup")
        return bytes(blob)

    def _store(self, name: str, blob: bytes) -> None:
        self._has_changed = True
        row = sa.update(tables.secrets).where(tables.secrets.c.name == name)
        if not self._connection.execute(row, {"blob": blob}).rowcount:
            self._connection.execute(sa.insert(tables.secrets), {"name": name, "blob": blob})

    def _bound(self, name: str) -> str:
        return f"{name}/round {self.state.open_round}" if name in _OF_THE_ROUND else name


def all_lines(connection: sa.Connection) -> Sequence[str]:
    """Every entry as it is published, in order."""
    return connection.execute(sa.select(tables.entries.c.line).order_by(tables.entries.c.number)).scalars().all()


def check_not_behind(connection: sa.Connection, parameters: Parameters, must_read: bool = True) -> None:
    """Refuse to go on from a database that is older than what was published, or that differs from it."""
    row = connection.execute(sa.select(tables.programme)).one()
    if row.folder is None:
        return
    try:
        there = read_head(Path(row.folder))
    except DeniableError:
        if must_read:
            raise
        return
    try:
        check_head(bytes.fromhex(parameters.public_key), parameters.digest, there)
    except DeniableError as error:
        raise folder_error(
            f"what stands in {row.folder} was altered: {error}; put back a copy of it", row.folder
        ) from None
    here = parse_head(row.head).entries
    if there.entries > here:
        raise folder_error(
            f"the database is behind what was published in {row.folder}: {there.entries} entries there, {here} here; "
            "restore a newer backup, or see: deniable programme recover --help",
            row.folder,
        )
    found = sa.select(tables.entries.c.digest).where(tables.entries.c.number == there.entries)
    digest_here = connection.execute(found).scalar() if there.entries else parameters.digest
    if there.head != digest_here:
        raise folder_error(
            f"the database and what was published in {row.folder} tell different stories; do not go on", row.folder
        )
