"""One audit programme's run: a mechanism, its secret state and its noise, one round at a time."""

import dataclasses
import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from deniable.arrays import BoolArray
from deniable.errors import DeniableError, check_whole
from deniable.mechanisms.base import Mechanism, State
from deniable.mechanisms.sparse_race import SparseRace, sparse
from deniable.noise import ExactNoise, Noise, SystemNoise
from deniable.rules import History
from deniable.state import DAMAGED, dump, load, with_more_targets
from deniable.streams import check_round, sparse_round

FORMAT = "deniable-run/2"


class AuditRun:
    """Draws the audits of one programme, round by round.

    Targets are numbered from 0 and keep their numbers for good: a new one gets the next number, that of a removed
    one is not given again.

    >>> import deniable as dn
    >>> run = dn.AuditRun(dn.Race.calibrate(n_targets=3, delta=0.1))
    >>> run.step([4, 0, 1]) in {0, 1, 2}
    True
    >>> len(run.select({1: 2}, audits=2))  # two reports about target 1; two audits
    2
    """

    def __init__(self, mechanism: Mechanism[Any], noise: Noise | None = None, state: State[Any] | None = None) -> None:
        if not isinstance(mechanism, Mechanism):
            raise DeniableError(
                f"mechanism must be one such as dn.Race.calibrate(n_targets, delta), got {type(mechanism).__name__}"
            )
        self.mechanism = mechanism
        self._noise = SystemNoise() if noise is None else noise
        self._state = mechanism.init() if state is None else state

    def __repr__(self) -> str:
        return f"AuditRun({self.mechanism!r}, rounds={self.rounds})"

    @property
    def _state(self) -> State[Any]:
        return self._kept.state if isinstance(self._kept, SparseRace) else self._kept

    @_state.setter
    def _state(self, state: State[Any]) -> None:
        present = state.history.present[0]
        self.mechanism.check_targets(int(present.sum()), len(present))
        self._present, self._n_present = present, int(present.sum())
        self._kept: SparseRace | State[Any] = state
        if sparse(self.mechanism) and isinstance(self._noise, ExactNoise):
            self._kept = SparseRace(self.mechanism, state, self._noise)

    @property
    def rounds(self) -> int:
        """Rounds closed so far."""
        return self._kept.rounds if isinstance(self._kept, SparseRace) else self._kept.history.rounds

    @property
    def targets(self) -> tuple[int, ...]:
        """The numbers of the targets that take part."""
        return tuple(np.flatnonzero(self._present).tolist())

    @property
    def history(self) -> History:
        """What the transcript so far says about the targets. Public."""
        return self._state.history

    def active_counts(self) -> tuple[int, ...]:
        """The reports of every target's run, up to the last round closed. Secret."""
        counts = self.mechanism.active_counts(self._state.private)
        if counts is None:
            raise DeniableError(f"the active counts of {type(self.mechanism).__name__} cannot be read off its state")
        return tuple(counts[0].tolist())

    def step(self, reports: ArrayLike | Mapping[int, int]) -> int:
        """Close a round with one audit; returns the audited target. See `select`."""
        return self.select(reports)[0]

    def select(self, reports: ArrayLike | Mapping[int, int], audits: int = 1) -> tuple[int, ...]:
        """Close a round: this round's new reports in, the audited targets in the order drawn out.

        Reports are one count for every target there ever was, or a mapping {target: count}. Those about removed
        targets are not counted, without a word: whether a round can be closed must not depend on what was reported.
        If anything is refused, the run is as it was before.
        """
        if isinstance(self._kept, SparseRace):
            every = sparse_round(reports, len(self._present))
            self.mechanism.check_round(self.rounds, self._n_present, audits)
            return self._kept.select({c: count for c, count in every.items() if self._present[c]}, audits)
        counts = np.where(self._present, check_round(reports, len(self._present)), 0)
        drawn, self._kept = self.mechanism.step(self._kept, counts[None], self._noise, audits)
        return tuple(drawn[0].tolist())

    def add_targets(self, n: int) -> tuple[int, ...]:
        """Let n more targets take part from the next round on; returns their numbers.

        The guarantee covers targets that join at times which do not depend on reports; one that is added *because*
        of a report is not covered.
        """
        check_whole("n", n, least=1)
        state, ever = self._state, len(self._present)
        self._state = State(state.history.after_join(n), with_more_targets(state.private, n))
        return tuple(range(ever, ever + n))

    def remove_targets(self, targets: Iterable[int]) -> None:
        """Take these targets out for good; what was known about them is deleted. At least two must be left.

        As with `add_targets`, the time must not depend on reports.
        """
        gone = self._mask(targets)
        if self._n_present - gone.sum() < 2:
            raise DeniableError(
                f"at least two targets must be left, but {self._n_present} take part and {gone.sum()} would go"
            )
        state = self._state
        self._state = State(state.history.after_leave(gone), self.mechanism.forget(state.private, gone))

    def order(self, targets: Iterable[int]) -> None:
        """Audit these targets by hand, outside the draw: their runs end here, and no round is closed.

        For the rules they were audited just now. The guarantee covers the order where it does not depend on reports.
        """
        ordered = self._mask(targets)
        state = self._state
        self._state = State(state.history.after_order(ordered), self.mechanism.forget(state.private, ordered))

    def adopt(self, audits: Iterable[int]) -> list[int]:
        """Close a round with audits that were published, but whose draw was lost together with the state after it.

        Returns the targets whose runs ended.

        No reports are taken in. Noise that is stored between rounds was lost too, and with it the protection of the
        reports under it, so everything is forgotten then; a mechanism that keeps nothing but counts forgets
        the audited ones.
        """
        audited = self._mask(audits)
        state = self._state
        forgotten = np.ones_like(audited) if self.mechanism.keeps_noise else audited
        self._state = State(state.history.after(audited), self.mechanism.forget(state.private, forgotten))
        return np.flatnonzero(forgotten).tolist()

    def _mask(self, targets: Iterable[int]) -> BoolArray:
        """(1, C): these targets, which must take part."""
        named = dict.fromkeys(targets, 1)
        check_round(named, len(self._present))
        for target in named:
            if not self._present[target]:
                raise DeniableError(f"target {target} was removed before")
        mask = np.zeros((1, len(self._present)), dtype=np.bool_)
        mask[0, list(named)] = True
        return mask

    def save(self) -> bytes:
        """Everything needed to go on later, except the noise. Secret: it holds active counts; encrypt it.

        Save before a round's audits are published, and never go back to an older copy: reports that were audited
        would count again, and the guarantee would not cover them. The length is a function of public facts.
        """
        about = {"format": FORMAT, "mechanism": identity(self.mechanism)}
        body = json.dumps(about, separators=(",", ":")).encode() + b"\n" + dump(self._state)
        return hashlib.sha256(body).hexdigest().encode() + b"\n" + body

    @classmethod
    def restore(
        cls, mechanism: Mechanism[Any], blob: bytes, noise: Noise | None = None, *, rounds: int | None = None
    ) -> Self:
        """The run that `save` wrote, going on as the saved one would have.

        `noise` is the generator of the saved run, or one with a seed never used before: a replayed seed would
        repeat draws. `rounds` is the number of rounds published so far, if known; a copy from another time is
        refused.
        """
        if not isinstance(blob, bytes):
            raise DeniableError(f"the saved run must be bytes, got {type(blob).__name__}")
        digest, _, body = blob.partition(b"\n")
        if digest != hashlib.sha256(body).hexdigest().encode():
            raise DeniableError(DAMAGED)
        header, _, dumped = body.partition(b"\n")
        try:
            saved = json.loads(header)
        except (ValueError, RecursionError):
            raise DeniableError(DAMAGED) from None  # the cause holds the whole header
        if not isinstance(saved, dict) or saved.get("format") != FORMAT:
            raise DeniableError(f"the saved run must have format {FORMAT}; it was written by another version")
        if saved.get("mechanism") != identity(mechanism):
            raise DeniableError(
                f"the saved run belongs to {saved.get('mechanism')}, not to {mechanism!r}; "
                "restore it with its own mechanism"
            )
        state = load(mechanism.init(), dumped)
        if (state.history.last > state.history.rounds).any():
            raise DeniableError(DAMAGED)
        if rounds is not None and state.history.rounds != rounds:
            raise DeniableError(
                f"the saved run has closed {state.history.rounds} rounds, but {rounds} are published; "
                "restore the copy saved after the last of them"
            )
        return cls(mechanism, noise, state)


def identity(mechanism: Mechanism[Any]) -> str:
    """The mechanism and its public parameters in words; a function among them by its name."""
    parameters = {field.name: getattr(mechanism, field.name) for field in dataclasses.fields(mechanism)}
    shown = ", ".join(f"{name}={_shown(name, value)}" for name, value in parameters.items())
    return f"{type(mechanism).__name__}({shown})"


def _shown(name: str, value: object) -> str:
    if not callable(value):
        return repr(value)
    if not inspect.isfunction(value) or value.__name__ == "<lambda>":
        raise DeniableError(f"{name} must be a function with a name of its own for the run to be saved")
    return f"{value.__module__}.{value.__qualname__}"
