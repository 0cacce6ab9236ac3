"""A witness reads a public folder, verifies all of it, and countersigns what continues the transcript it saw last."""

import os
from dataclasses import dataclass
from pathlib import Path

from deniable.errors import DeniableError, cannot_write
from deniable.programme.calendar import Clock, system_clock
from deniable.programme.public.cosignatures import MOST_BYTES, put_note, read_countersignatures
from deniable.programme.public.folder import holds
from deniable.programme.public.verify import VerificationResult, verify
from deniable.programme.witness.notes import Note, VerifierKey
from deniable.programme.witness.witness import Countersigned, Transcript, at_work
from deniable.storage.files import replace_file, sync_folder


@dataclass(frozen=True)
class Countersigning:
    """What came of it."""

    verified: VerificationResult
    key: VerifierKey
    """The witness's public key, to hand out."""
    countersigned: Countersigned
    file: Path


def countersign(
    folder: Path, key: Path, *, name: str | None = None, out: Path | None = None, clock: Clock = system_clock
) -> Countersigning:
    """Countersign the transcript in this folder with the key in this file; one of this name is made if there is none.

    The note goes into the folder, or into the file `out`. The clock is read after the folder: what a countersignature
    says is that the entries existed by then.
    """
    folder = Path(folder)
    if holds(folder, key):
        raise DeniableError(f"the key file {key} must not be in the public folder {folder}; keep it elsewhere")
    verified = verify(folder, now=clock())
    with at_work(key, name) as witness:
        shown = Transcript(verified.parameters, verified.lines, verified.head_line)
        witness.check(shown)
        # Its own notes show what an older memory forgot; they need not be there.
        read_countersignatures(folder, shown.parameters, shown.lines, [witness.key.public])
        done = witness.countersign(shown, clock())
        note = done.seen.note
        file = put_note(folder, witness.key.name, note) if out is None else _written(out, note)
        return Countersigning(verified, witness.key.public, done, file)


def _written(path: Path, note: Note) -> Path:
    """In place of an earlier note, and of nothing else."""
    try:
        if os.path.lexists(path):
            with path.open("rb") as file:
                Note.parse(file.read(MOST_BYTES))
        replace_file(path, note.to_bytes())
        sync_folder(path.absolute().parent)
    except DeniableError:
        raise DeniableError(f"cannot write {path}: it exists already and is no countersignature") from None
    except OSError as error:
        raise cannot_write(path, error) from None
    return path
