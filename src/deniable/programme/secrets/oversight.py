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

from deniable.arrays import IntArray
from deniable.errors import DeniableError, why
from deniable.programme.parameters import Parameters
from deniable.programme.secrets.sealed_inputs import Inputs, noise_of_figures, noise_of_round
from deniable.programme.transcript.chain import commitment
from deniable.programme.transcript.draws import Draw
from deniable.programme.transcript.entries import Recovery
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.figures import Figures
from deniable.programme.transcript.hidden import names_commitment
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript.unannounced import Reveal, Selection
from deniable.run import AuditRun

Seals = Mapping[int, bytes]
"""Entry number -> the sealed inputs of the round that the entry closed, or of the yearly figures that it has."""


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
    """The first round that does not follow from its inputs, or whose yearly figures do not; None if there is none. None
    after it is drawn again.
    """
    why: str | None = None
    figures: tuple[int, ...] = ()
    """Years whose figures follow."""
    missing_figures: tuple[int, ...] = ()
    """Years whose sealed figures are not in the file."""
    not_public: tuple[int, ...] = ()
    """Numbers of entries whose sealed inputs are in the file, but which are no round of the public folder."""

    @property
    def verdict(self) -> str:
        if self.contradicted is not None:
            return "contradicted"
        missing = self.missing or self.lost or self.waiting or self.missing_figures
        return "missing inputs" if missing else "confirmed"


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
    known = {entry.sealed for entry in entries if isinstance(entry, Draw | Figures)}
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
    selected = _revealed(parameters, entries)
    confirmed, missing, lost, waiting = list[int](), list[int](), list[int](), list[int]()
    years, missing_years = list[int](), list[int]()
    contradicted, why, committed = None, None, parameters.commitment
    state = PublicState.start(parameters)
    run: AuditRun | None = AuditRun(parameters.built())
    for entry in entries:
        if state.open_round in recoveries and state.open_round not in kept and run is not None:
            kept[state.open_round] = run.save(), state
        after = entry.after(state)  # refuses what does not follow on the entry before
        if isinstance(entry, Recovery):
            run = _recovered(kept.get(entry.lost), entries[: entry.number], selected)
        elif isinstance(entry, Figures):
            (years if entry.number in seals else missing_years).append(entry.year)
            why = _different_figures(state, entry, seals, identity, committed) if entry.number in seals else None
            if why is not None:
                contradicted = state.closed
                years.pop()
                break
        elif not isinstance(entry, Draw):
            if run is not None:
                entry.change_run(run, _no_reports(state), state)
        elif entry.number not in seals:
            (lost if _is_lost(entry, entries) else missing).append(entry.round)
            run = None
        elif run is None:
            waiting.append(entry.round)
        else:
            why, run, selected[entry.round] = _redrawn(run, state, entry, seals, identity)
            if why is not None:
                contradicted = entry.round
                break
            confirmed.append(entry.round)
        committed = state.commitment if entry.closes_round else committed
        state = after
    drawn = {entry.number for entry in entries if isinstance(entry, Draw | Figures)}
    return Replayed(
        confirmed=tuple(confirmed),
        missing=tuple(missing),
        lost=tuple(lost),
        waiting=tuple(waiting),
        contradicted=contradicted,
        why=why,
        figures=tuple(years),
        missing_figures=tuple(missing_years),
        not_public=tuple(sorted(seals.keys() - drawn)),
    )


def _is_lost(entry: Entry, entries: Sequence[Entry]) -> bool:
    """Whether the office says later that it lost this round's records."""
    return any(isinstance(later, Recovery) and later.lost <= entry.round for later in entries[entry.number :])


def _revealed(parameters: Parameters, entries: Sequence[Entry]) -> dict[int, Sequence[int]]:
    """The numbers of the targets that unannounced draws selected, by round, as far as they are public."""
    state, found = PublicState.start(parameters), dict[int, Sequence[int]]()
    for entry in entries if parameters.reveal_after else ():
        state = entry.after(state)
        if isinstance(entry, Reveal):
            found[entry.of] = [state.numbers[name] for name in entry.audits]
    return found


def _recovered(
    kept: tuple[bytes, PublicState] | None, before: Sequence[Entry], selected: Mapping[int, Sequence[int]]
) -> AuditRun | None:
    """The run with which the office went on: that of its backup, and what was published since. None where that is not
    known, as with names that are neither public yet nor in the sealed rounds.
    """
    if kept is None:
        return None
    saved, state = kept
    run = AuditRun.restore(state.parameters.built(), saved)
    for entry in before[state.entries :]:
        if isinstance(entry, Selection):
            if entry.round not in selected:
                return None
            entry.adopt(run, _no_reports(state), state, selected[entry.round])
        else:
            entry.change_run(run, _no_reports(state), state)
        state = entry.after(state)
    return run


def _redrawn(
    run: AuditRun, state: PublicState, entry: Draw, seals: Seals, identity: pyrage.x25519.Identity
) -> tuple[str | None, AuditRun, Sequence[int]]:
    """Why the round does not follow from its inputs, None if it does; the run after it; and the targets drawn."""
    try:
        inputs = _inputs(state, entry, seals, identity)
    except DeniableError as error:
        return str(error), run, ()
    saved = run.save()
    noise = noise_of_round(state.parameters.programme, entry.round, inputs.seed, saved, inputs.reports)
    again = AuditRun.restore(run.mechanism, saved, noise)
    drawn = again.select(state.parameters.weighed(inputs.reports), audits=state.parameters.audits)
    if not _is_published(state, entry, drawn, inputs.salt):
        return "its audits do not follow from its reports and its seed", run, ()
    return None, again, drawn


def _different_figures(
    state: PublicState, entry: Figures, seals: Seals, identity: pyrage.x25519.Identity, committed: str
) -> str | None:
    """Why the yearly figures do not follow from their inputs, None if they do; `committed` is the commitment to the
    seed of the round before them.
    """
    parameters = state.parameters
    assert parameters.figures is not None
    shape = (len(parameters.classes), 1)
    try:
        inputs = _unsealed(state, seals[entry.number], entry.sealed, identity, (state.closed, shape, committed))
    except DeniableError as error:
        return f"of its yearly figures, {error}"
    received = inputs.reports[:, 0]
    noise = noise_of_figures(parameters.programme, state.closed, inputs.seed, received)
    if parameters.figures.drawn(noise, received) != tuple(number for _, number in entry.reports):
        return "its yearly figures do not follow from the year's reports and its seed"
    return None


def _is_published(state: PublicState, entry: Draw, drawn: Sequence[int], salt: bytes) -> bool:
    """Whether the entry has these targets, or commits to them."""
    if isinstance(entry, Selection):
        return entry.names == names_commitment(state.parameters.programme, entry.round, salt, drawn)
    return entry.audited == tuple(state.targets[number] for number in drawn)


def _inputs(state: PublicState, entry: Draw, seals: Seals, identity: pyrage.x25519.Identity) -> Inputs:
    """The round's inputs, if they are those that the transcript speaks of."""
    shape = _no_reports(state)[state.parameters.in_draw].shape
    return _unsealed(state, seals[entry.number], entry.sealed, identity, (entry.round, shape, state.commitment))


def _unsealed(
    state: PublicState,
    seal: bytes,
    sealed: str | None,
    identity: pyrage.x25519.Identity,
    expected: tuple[int, tuple[int, ...], str],
) -> Inputs:
    """What is in a seal with this hash, if it is of this round, has this shape and the seed of this commitment."""
    round_, shape, committed = expected
    if hashlib.sha256(seal).hexdigest() != sealed:
        raise DeniableError("its sealed inputs are not those whose hash is in the transcript")
    inputs = Inputs.unsealed(seal, identity)
    if inputs.round != round_ or inputs.reports.shape != shape:
        raise DeniableError("its sealed inputs are those of another round")
    if commitment(state.parameters.programme, round_, inputs.seed) != committed:
        raise DeniableError("its seed is not the one that was committed to")
    return inputs


def _no_reports(state: PublicState) -> IntArray:
    return np.zeros((len(state.parameters.classes), state.n_targets), np.int64)


def counts(
    parameters: Parameters, entries: Sequence[Entry], seals: Seals, identity: pyrage.x25519.Identity
) -> Iterator[tuple[int, str, str, int]]:
    """(round, target, class, reports) of every report count above 0: what to compare with the hotline's own records."""
    state = PublicState.start(parameters)
    classes = [one.name for one in parameters.classes if not one.leads_to_visit]
    for entry in entries:
        if isinstance(entry, Draw) and entry.number in seals:
            reports = _inputs(state, entry, seals, identity).reports
            for target, place in zip(*np.nonzero(reports.T), strict=True):
                yield entry.round, state.targets[target], classes[place], int(reports[place, target])
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
