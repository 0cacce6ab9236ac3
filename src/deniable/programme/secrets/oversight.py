"""What the oversight body does with its key: run every round again and see whether its audits follow.

It shows that each audit follows from the reports the office says it had and from a seed fixed beforehand. It does not
show that those reports are the ones that came in: compare them with the hotline's own records. Nor does it show how the
seed was chosen on the day it was fixed.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyrage

from deniable.errors import DeniableError, why
from deniable.programme.parameters import Parameters
from deniable.programme.secrets.sealed_inputs import Inputs, noise_of_round
from deniable.programme.transcript.chain import commitment
from deniable.programme.transcript.entries import Recovery, Round
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.state import PublicState
from deniable.run import AuditRun

Seals = Mapping[int, bytes]
"""Entry number -> the sealed inputs of the round that the entry closed."""


@dataclass(frozen=True)
class Replayed:
    """How far the transcript follows from the sealed inputs; rounds that were skipped had no draw, and are nowhere."""

    confirmed: tuple[int, ...]
    """Rounds whose audits follow."""
    missing: tuple[int, ...] = ()
    """Rounds whose sealed inputs are not in the file."""
    lost: tuple[int, ...] = ()
    """The same, where the office said in public that it lost its records: only an earlier file may have them."""
    waiting: tuple[int, ...] = ()
    """Rounds that cannot be drawn again without those: reports that waited then may still have waited."""
    contradicted: int | None = None
    """The first round that does not follow from its inputs; None if there is none. None after it is drawn again."""
    why: str | None = None
    not_public: tuple[int, ...] = ()
    """Numbers of entries whose sealed inputs are in the file, but which are no round of the public folder."""

    @property
    def verdict(self) -> str:
        if self.contradicted is not None:
            return "contradicted"
        return "missing inputs" if self.missing or self.lost or self.waiting else "confirmed"


def check_belongs(
    parameters: Parameters, entries: Sequence[Entry], seals: Seals, identity: pyrage.x25519.Identity
) -> None:
    """Refuse a key or a file of sealed rounds that has nothing to do with this programme."""
    if parameters.oversight is None:
        raise DeniableError("this programme names no oversight body, so nothing was sealed and nothing can be replayed")
    if str(identity.to_public()) != parameters.oversight:
        raise DeniableError(
            "the private key is not that of the oversight body which the programme names, so take another key or "
            "another folder"
        )
    known = {entry.sealed for entry in entries if isinstance(entry, Round)}
    if seals and known and known.isdisjoint(hashlib.sha256(seal).hexdigest() for seal in seals.values()):
        raise DeniableError(
            "not one of the sealed rounds is of this programme: the file is another programme's, or all of it was "
            "replaced; ask the office for the right one"
        )


def replay(
    parameters: Parameters, entries: Sequence[Entry], seals: Seals, identity: pyrage.x25519.Identity
) -> Replayed:
    """Run every round again, up to the first that does not follow. The entries must have been verified before.

    Rounds whose records the office says it lost are checked as well where their seals were handed over in time.
    """
    check_belongs(parameters, entries, seals, identity)
    recoveries = {entry.lost for entry in entries if isinstance(entry, Recovery)}
    kept: dict[int, tuple[bytes, PublicState]] = {}  # the run when these rounds opened: what a backup had
    confirmed, missing, lost, waiting = list[int](), list[int](), list[int](), list[int]()
    contradicted, why = None, None
    state = PublicState.start(parameters)
    run: AuditRun | None = AuditRun(parameters.built())
    for entry in entries:
        if state.open_round in recoveries and state.open_round not in kept and run is not None:
            kept[state.open_round] = run.save(), state
        after = entry.after(state)  # refuses what does not follow on the entry before
        if isinstance(entry, Recovery):
            run = _recovered(kept.get(entry.lost), entries[: entry.number])
        elif not isinstance(entry, Round):
            if run is not None:
                entry.change_run(run, np.zeros(len(state.targets), np.int64), state)
        elif entry.number not in seals:
            (lost if _is_lost(entry, entries) else missing).append(entry.round)
            run = None
        elif run is None:
            waiting.append(entry.round)
        else:
            why, run = _redrawn(run, state, entry, seals, identity)
            if why is not None:
                contradicted = entry.round
                break
            confirmed.append(entry.round)
        state = after
    drawn = {entry.number for entry in entries if isinstance(entry, Round)}
    return Replayed(
        confirmed=tuple(confirmed),
        missing=tuple(missing),
        lost=tuple(lost),
        waiting=tuple(waiting),
        contradicted=contradicted,
        why=why,
        not_public=tuple(sorted(seals.keys() - drawn)),
    )


def _is_lost(entry: Entry, entries: Sequence[Entry]) -> bool:
    """Whether the office says later that it lost this round's records."""
    return any(isinstance(later, Recovery) and later.lost <= entry.round for later in entries[entry.number :])


def _recovered(kept: tuple[bytes, PublicState] | None, before: Sequence[Entry]) -> AuditRun | None:
    """The run with which the office went on: that of its backup, and what was published since."""
    if kept is None:
        return None
    saved, state = kept
    run = AuditRun.restore(state.parameters.built(), saved)
    for entry in before[state.entries :]:
        entry.change_run(run, np.zeros(len(state.targets), np.int64), state)
        state = entry.after(state)
    return run


def _redrawn(
    run: AuditRun, state: PublicState, entry: Round, seals: Seals, identity: pyrage.x25519.Identity
) -> tuple[str | None, AuditRun]:
    """Why the round does not follow from its inputs, None if it does; and the run after it."""
    try:
        inputs = _inputs(state, entry, seals, identity)
    except DeniableError as error:
        return str(error), run
    saved = run.save()
    noise = noise_of_round(state.parameters.programme, entry.round, inputs.seed, saved, inputs.reports)
    again = AuditRun.restore(run.mechanism, saved, noise)
    drawn = again.select(inputs.reports, audits=state.parameters.audits)
    if tuple(state.targets[number] for number in drawn) != entry.audits:
        return "its audits do not follow from its reports and its seed", run
    return None, again


def _inputs(state: PublicState, entry: Round, seals: Seals, identity: pyrage.x25519.Identity) -> Inputs:
    """The round's inputs, if they are those that the transcript speaks of."""
    seal = seals[entry.number]
    if hashlib.sha256(seal).hexdigest() != entry.sealed:
        raise DeniableError("its sealed inputs are not those whose hash is in the transcript")
    inputs = Inputs.unsealed(seal, identity)
    if inputs.round != entry.round or len(inputs.reports) != len(state.targets):
        raise DeniableError("its sealed inputs are those of another round")
    if commitment(state.parameters.programme, entry.round, inputs.seed) != state.commitment:
        raise DeniableError("its seed is not the one that was committed to")
    return inputs


def counts(
    parameters: Parameters, entries: Sequence[Entry], seals: Seals, identity: pyrage.x25519.Identity
) -> Iterator[tuple[int, str, int]]:
    """(round, target, reports) of every report count above 0: what to compare with the hotline's own records."""
    state = PublicState.start(parameters)
    for entry in entries:
        if isinstance(entry, Round) and entry.number in seals:
            for target, number in zip(state.targets, _inputs(state, entry, seals, identity).reports, strict=True):
                if number:
                    yield entry.round, target, number
        state = entry.after(state)


def write_seals(seals: Seals, path: Path) -> None:
    """One new file for the oversight body; who does not have its key can read nothing in it."""
    lines = [json.dumps({"entry": number, "sealed": base64.b64encode(seal).decode()}) for number, seal in seals.items()]
    try:
        with path.open("x", encoding="ascii") as file:
            file.writelines(f"{line}\n" for line in lines)
    except FileExistsError:
        raise DeniableError(f"cannot write {path}: it exists already, so take a new name") from None
    except OSError as error:
        raise DeniableError(f"cannot write {path}: {why(error)}") from None


def read_seals(path: Path) -> Seals:
    """What `write_seals` wrote."""
    try:
        stored = [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
        return {line["entry"]: base64.b64decode(line["sealed"], validate=True) for line in stored}
    except OSError as error:
        raise DeniableError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise DeniableError(f"{path} is not a file of sealed rounds that deniable wrote") from None


def read_identity(path: Path) -> pyrage.x25519.Identity:
    """The oversight body's private key, as `age-keygen` writes it."""
    try:
        found = re.search("^AGE-SECRET-KEY-1[0-9A-Z]+$", path.read_text(encoding="ascii"), re.MULTILINE)
        if found is not None:
            return pyrage.x25519.Identity.from_str(found[0])
    except OSError as error:
        raise DeniableError(f"cannot read the key file {path}: {error.strerror}") from None
    except (ValueError, pyrage.IdentityError):
        pass
    raise DeniableError(f"{path} holds no age private key, a line that begins with AGE-SECRET-KEY-1")
