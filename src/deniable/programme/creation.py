"""What a new programme starts with: its list of targets, fresh keys and the first seed, and the secrets of round 1."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import sqlalchemy as sa

from deniable.csv_files import FilePath, read_columns, reading
from deniable.programme.imports.imported_reports import ENTERED
from deniable.programme.names import check_not_reports
from deniable.programme.parameters import Parameters
from deniable.programme.secrets.nonces import new_nonces
from deniable.programme.secrets.sealed_inputs import check_recipient
from deniable.programme.secrets.vault import Vault
from deniable.programme.transaction import Entropy, Transaction, new_seed
from deniable.programme.transcript.chain import signed_head
from deniable.programme.transcript.signatures import new_key, public_key
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript_copies import KeyCopy, StoredTranscript
from deniable.report_files import read_targets
from deniable.run import AuditRun
from deniable.storage import tables


class Beginning:
    """Drawn when it is made; `write` puts it into the database, and the transcript beside the key (`copy`)."""

    def __init__(self, programme: str, settings: Mapping[str, Any], copy: KeyCopy | None, entropy: Entropy) -> None:
        self._copy = copy
        self._signing_key = new_key()
        self._seed, committed = new_seed(programme, entropy, 1)
        self._hashing_key, self._reveal_key = entropy(32), entropy(32)
        self.parameters = Parameters(
            programme=programme,
            public_key=public_key(self._signing_key).hex(),
            commitment=committed,
            **settings,
        )
        check_not_reports(self.parameters.targets)
        if self.parameters.oversight is not None:
            check_recipient(self.parameters.oversight)

    def write(self, connection: sa.Connection, vault: Vault) -> None:
        parameters, mechanism = self.parameters, self.parameters.built()
        state = PublicState.start(parameters)
        head = signed_head(self._signing_key, parameters.digest, 0, state.tree.root)
        rules = parameters.to_bytes().decode("ascii")
        connection.execute(sa.insert(tables.programme), {"id": 1, "parameters": rules})
        connection.execute(sa.insert(tables.standing), {"id": 1, "head": head})
        connection.execute(sa.insert(tables.public_state), {"id": 1, "blob": state.to_bytes()})
        transaction = Transaction(connection, parameters, mechanism, state, vault, is_new=True)
        transaction.write_keys(self._signing_key, self._hashing_key, self._reveal_key)
        nothing = np.zeros((len(parameters.classes), len(parameters.targets)), np.int64)
        transaction.write_round(AuditRun(mechanism), nothing, self._seed)
        transaction.write_received(np.zeros(len(parameters.classes), np.int64))
        transaction.write_nonces(new_nonces(len(parameters.targets)))
        transaction.add_source(ENTERED)
        # Before the programme is there: where this copy is missing later, it was lost.
        transaction.note_kept_beside_key(self._copy is not None and self._copy.begin(StoredTranscript.of(transaction)))
        transaction.finish()


_COLUMNS = ["target", "number"]


def read_register(path: FilePath) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """The names, and the numbers where the file is a CSV with the columns target and number."""
    with reading(path) as file:
        header = file.readline()
    if [cell.strip() for cell in header.split(",")] != _COLUMNS:
        return read_targets(path), None
    cells = [row for _, row in read_columns(path, *_COLUMNS)]
    return tuple(name for name, _ in cells), tuple(number for _, number in cells)
