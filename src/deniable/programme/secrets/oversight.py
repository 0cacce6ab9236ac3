"""What the oversight body does with its key: run every round again and see whether its audits follow.

It shows that each audit follows from the reports the office says it had, from a seed fixed beforehand and, where the
programme draws with public values, from the value. It does not show that those reports are the ones that came in:
compare them with the hotline's own records. Without public values it does not show either how the seed was chosen on
the day it was fixed.
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
from deniable.errors import DeniableError, cannot_write
from deniable.programme.parameters import Parameters
from deniable.programme.randomness.source import WITHOUT
from deniable.programme.secrets.adoption import Adoption
from deniable.programme.secrets.frozen import Frozen
from deniable.programme.secrets.sealed_inputs import Inputs, noise_of_figures
from deniable.programme.transcript.chain import commitment
from deniable.programme.transcript.closings import Closing
from deniable.programme.transcript.entries import End
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import whole
from deniable.programme.transcript.frozen import DrawnHidden, Freeze, FrozenDraw
from deniable.programme.transcript.hidden import names_commitment
from deniable.programme.transcript.recoveries import Recovery
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript.unannounced import Reveal, Selection
from deniable.programme.transcript.yearly_figures import Figures
from deniable.run import AuditRun

Seals = Mapping[int, bytes]
"""Entry number -> the sealed inputs of the round that the entry closed, or of the yearly figures that it has."""


@dataclass(frozen=True)
class Replayed:
    """How far the transcript follows from the sealed inputs; a skipped round has no draw and does not appear."""

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
    undrawn: tuple[int, ...] = ()
    """Rounds that were frozen and never drawn: the office lost what they were to be drawn from, or ended the programme,
    or says so. If their sealed inputs are here, nothing was lost.
    """
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
            "this private key does not belong to the oversight body that the programme names; take the right key, or "
            "the right folder"
        )
    known = {entry.sealed for entry in entries if isinstance(entry, Closing | Figures)}
    if seals and known and known.isdisjoint(hashlib.sha256(seal).hexdigest() for seal in seals.values()):
        raise DeniableError(
            "none of the sealed rounds belongs to this programme: the file is another programme's, or all of it was "
            "replaced; ask the office for the right one"
        )


def replay(
    parameters: Parameters, entries: Sequence[Entry], seals: Seals, identity: pyrage.x25519.Identity
) -> Replayed:
    """Run every round again, up to the first that does not follow. The entries must have been verified before.

    Rounds whose records the office says it lost are checked as well where their seals were handed over in time.
    """
    check_belongs(parameters, entries, seals, identity)
    return _Replay(parameters, entries, seals, identity).replayed()


class _ContradictedError(Exception):
    """Of a round, with the reason."""

    def __init__(self, round_: int, contradiction: str) -> None:
        super().__init__(contradiction)
        self.round = round_


@dataclass(frozen=True)
class _Kept:
    """What a backup had: the run when a round opened, and the round that was frozen then."""

    run: bytes
    frozen: Frozen | None
    state: PublicState


class _Replay:
    """One pass through the entries."""

    def __init__(
        self, parameters: Parameters, entries: Sequence[Entry], seals: Seals, identity: pyrage.x25519.Identity
    ) -> None:
        self.entries, self.seals, self.identity = entries, seals, identity
        self.recoveries = {entry.lost for entry in entries if isinstance(entry, Recovery)}
        self.kept: dict[int, _Kept] = {}
        self.selected = _revealed(parameters, entries)
        self.confirmed, self.missing, self.lost, self.waiting = list[int](), list[int](), list[int](), list[int]()
        self.years, self.missing_years, self.undrawn = list[int](), list[int](), list[int]()
        self.state, self.committed = PublicState.start(parameters), parameters.commitment
        self.run: AuditRun | None = AuditRun(parameters.built())
        self.frozen: Frozen | None = None

    def replayed(self) -> Replayed:
        contradicted, contradiction = None, None
        try:
            for entry in self.entries:
                self._keep()
                after = entry.after(self.state)  # refuses what does not follow on the entry before
                self._step(entry)
                self.committed = self.state.commitment if entry.closes_round else self.committed
                self.state = after
        except _ContradictedError as error:
            contradicted, contradiction = error.round, str(error)
        drawn = {entry.number for entry in self.entries if isinstance(entry, Closing | Figures)}
        return Replayed(
            confirmed=tuple(self.confirmed),
            missing=tuple(self.missing),
            lost=tuple(self.lost),
            waiting=tuple(self.waiting),
            contradicted=contradicted,
            why=contradiction,
            undrawn=tuple(self.undrawn),
            figures=tuple(self.years),
            missing_figures=tuple(self.missing_years),
            not_public=tuple(sorted(self.seals.keys() - drawn)),
        )

    def _keep(self) -> None:
        opened = self.state.open_round
        if opened in self.recoveries and opened not in self.kept and self.run is not None:
            self.kept[opened] = _Kept(self.run.save(), self.frozen, self.state)

    def _step(self, entry: Entry) -> None:
        gives_up = isinstance(entry, End) or (isinstance(entry, Recovery) and entry.inputs_lost)
        if gives_up and self.state.waiting is not None:
            self.undrawn.append(self.state.waiting.round)
        if isinstance(entry, Recovery):
            kept = self.kept.get(entry.lost)
            self.run, self.frozen = _recovered(kept, self.entries[: entry.number], self.selected)
        elif isinstance(entry, Figures):
            self._check_figures(entry)
        elif isinstance(entry, FrozenDraw):
            self._draw_frozen(entry)
        elif isinstance(entry, Closing):
            self._fix(entry)
            if not isinstance(entry, Freeze):
                self._draw(entry)
        elif self.run is not None:
            entry.change_run(self.run, _no_reports(self.state), self.state)

    def _check_figures(self, entry: Figures) -> None:
        if entry.number not in self.seals:
            self.missing_years.append(entry.year)
            return
        contradiction = _different_figures(self.state, entry, self.seals, self.identity, self.committed)
        if contradiction is not None:
            raise _ContradictedError(self.state.closed, contradiction)
        self.years.append(entry.year)

    def _fix(self, entry: Closing) -> None:
        """What the round is drawn from, if its record is there and is the one that the transcript speaks of."""
        self.frozen = None
        if entry.number not in self.seals:
            (self.lost if _is_lost(entry, self.entries) else self.missing).append(entry.round)
            self.run = None
        elif self.run is not None:
            try:
                inputs = _inputs(self.state, entry, self.seals, self.identity)
            except DeniableError as error:
                raise _ContradictedError(entry.round, str(error)) from None
            self.frozen = Frozen(inputs, self.run.save())
            if isinstance(entry, Freeze) and self.frozen.hash(self.state.parameters.programme) != entry.inputs:
                raise _ContradictedError(
                    entry.round, "its reports, its state or its seed are not those that were frozen"
                )

    def _draw(self, entry: Closing) -> None:
        if self.frozen is not None:
            self._compare(self.frozen, entry, WITHOUT)
        elif entry.number in self.seals:
            self.waiting.append(entry.round)
        self.frozen = None

    def _draw_frozen(self, entry: FrozenDraw) -> None:
        if self.frozen is not None:
            self._compare(self.frozen, entry, entry.mixed_in(self.state.parameters))
        elif entry.of not in {*self.missing, *self.lost}:
            self.waiting.append(entry.of)
        self.frozen = None

    def _compare(self, frozen: Frozen, entry: Closing | FrozenDraw, public_value: str) -> None:
        """Draw it again; the run goes on from there."""
        orders = self.state.hidden.orders_since_freeze if isinstance(entry, FrozenDraw) else ()
        self.run, drawn = frozen.drawn(self.state.parameters, public_value, orders)
        if not _is_published(self.state, entry, drawn, frozen.inputs.names_salt):
            value = ", its seed and its public value" if isinstance(entry, FrozenDraw) else " and its seed"
            raise _ContradictedError(entry.audited_in, f"its audits do not follow from its reports{value}")
        self.selected[entry.audited_in] = drawn
        self.confirmed.append(entry.audited_in)


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
    kept: _Kept | None, before: Sequence[Entry], selected: Mapping[int, Sequence[int]]
) -> tuple[AuditRun | None, Frozen | None]:
    """The run with which the office went on, that of its backup and what was published since, and the round that its
    backup had frozen. No run where that is not known, as with names that are neither public yet nor in the sealed
    rounds.
    """
    if kept is None:
        return None, None
    state = kept.state
    adoption = Adoption(AuditRun.restore(state.parameters.built(), kept.run), kept.frozen)
    for entry in before[state.entries :]:
        if isinstance(entry, Selection | DrawnHidden) and entry.audited_in not in selected and not adoption.frozen:
            return None, None
        adoption.adopt(entry, _no_reports(state), state, lambda one: selected[one.audited_in])
        state = entry.after(state)
    return adoption.run, adoption.frozen


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


def _is_published(state: PublicState, entry: Closing | FrozenDraw, drawn: Sequence[int], salt: bytes) -> bool:
    """Whether the entry has these targets, or commits to them."""
    if isinstance(entry, Selection | DrawnHidden):
        return entry.names == names_commitment(state.parameters.programme, entry.audited_in, salt, drawn)
    return entry.audited == tuple(state.targets[number] for number in drawn)


def _inputs(state: PublicState, entry: Closing, seals: Seals, identity: pyrage.x25519.Identity) -> Inputs:
    """The round's inputs, if they are those that the transcript speaks of."""
    shape = _no_reports(state)[state.parameters.in_draw].shape
    inputs = _unsealed(state, seals[entry.number], entry.sealed, identity, (entry.round, shape, state.commitment))
    if inputs.reports[:, ~state.history.present[0]].any():  # they do not count, but would change the draw
        raise DeniableError("it has reports about targets that do not take part")
    return inputs


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
        if isinstance(entry, Closing) and entry.number in seals:
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
        raise cannot_write(path, error) from None


def read_seals(path: Path) -> Seals:
    """What `write_seals` wrote."""
    try:
        stored = [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
        numbers = [whole(1)("entry", line["entry"]) for line in stored]
        if len({*numbers}) == len(numbers):
            seals = (base64.b64decode(line["sealed"], validate=True) for line in stored)
            return dict(zip(numbers, seals, strict=True))
    except OSError as error:
        raise DeniableError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise DeniableError(f"{path} is not a file of sealed rounds that deniable wrote")


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
