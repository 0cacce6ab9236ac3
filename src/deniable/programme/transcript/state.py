"""What the world knows of a programme after some entries of its transcript."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

import numpy as np

from deniable.arrays import BoolArray, IntArray
from deniable.errors import DeniableError
from deniable.mechanisms.base import Mechanism
from deniable.programme.parameters import Parameters
from deniable.programme.transcript.chain import digest
from deniable.programme.transcript.coverage import Coverage, Lapse
from deniable.rules import History, no_history

FORMAT = "deniable-public-state/3"


@dataclass(frozen=True, eq=False)
class PublicState:
    """The programme after some entries. Targets, C of them ever, keep their numbers and names for good."""

    parameters: Parameters
    mechanism: Mechanism[Any] = field(repr=False)
    entries: int
    head: str
    """Hash of the last entry's line, or of programme.json before the first."""
    closed: int
    """Rounds closed so far, with a draw or without."""
    commitment: str
    """Of the seed of the open round."""
    targets: tuple[str, ...] = field(repr=False)
    """Names of all targets there ever were, by number."""
    numbers: Mapping[str, int] = field(repr=False)
    """And back."""
    history: History = field(repr=False)
    """For the public rules: B = 1, and its rounds are those with a draw."""
    latest_audit: IntArray = field(repr=False)
    """(C,) the round of each target's latest audit, 0 where there is none or it was not carried out."""
    coverage: Coverage
    is_paused: bool
    """Whether reports that hotlines bring do not count, since a recovery lost what is known of them."""
    ended: bool

    @classmethod
    def start(cls, parameters: Parameters) -> Self:
        """Before the first entry."""
        return cls(
            parameters=parameters,
            mechanism=parameters.built(),
            entries=0,
            head=parameters.digest,
            closed=0,
            commitment=parameters.commitment,
            targets=parameters.targets,
            numbers=_numbered(parameters.targets),
            history=no_history(1, len(parameters.targets)),
            latest_audit=np.zeros(len(parameters.targets), dtype=np.int64),
            coverage=Coverage(parameters.calendar),
            is_paused=False,
            ended=False,
        )

    @property
    def open_round(self) -> int:
        return self.closed + 1

    def calendar_round(self, now: datetime) -> int:
        """The calendar's round now, by which reporters count: a later one than the open one while it is overdue."""
        return max(self.open_round, self.parameters.calendar.rounds_due(now) + 1)

    @property
    def n_targets(self) -> int:
        """C: how many targets there ever were."""
        return len(self.targets)

    @property
    def present(self) -> tuple[str, ...]:
        """Names of the targets that take part, in the order of their numbers."""
        return tuple(self.targets[number] for number in np.flatnonzero(self.history.present[0]))

    @property
    def numbers_of_present(self) -> Mapping[str, int]:
        """The numbers of the targets that take part, by name."""
        return {self.targets[number]: int(number) for number in np.flatnonzero(self.history.present[0])}

    def number_of(self, target: str) -> int:
        """The number of a target that takes part."""
        number = self._number(target)
        if not self.history.present[0, number]:
            raise DeniableError(f"{target} was removed before, and takes part no longer")
        return number

    def after_draw(self, audits: Sequence[str]) -> "PublicState":
        """With these audits, in the order drawn; refuses what the public rules did not allow."""
        history, chosen = self.history, np.zeros_like(self.history.present)
        self.mechanism.check_round(history.rounds, int(history.present.sum()), len(audits))
        for target in audits:
            number = self.number_of(target)
            if not self.mechanism.rules.eligible(history, chosen, len(audits))[0, number]:
                raise DeniableError(f"the public rules did not allow an audit of {target} at this point")
            chosen[0, number] = True
        return replace(self, history=history.after(chosen), latest_audit=self._latest_audit_with(chosen))

    def after_order(self, audits: Sequence[str]) -> "PublicState":
        """With audits outside the draw."""
        chosen = self._mask(audits)
        history, latest_audit = self.history.after_order(chosen), self._latest_audit_with(chosen)
        return replace(self, history=history, latest_audit=latest_audit)

    def after_change(self, added: tuple[str, ...], removed: Sequence[str]) -> "PublicState":
        """With targets that joined, under new names, or left."""
        targets = self.targets + added
        history = self.history.after_leave(self._mask(removed)).after_join(len(added))
        left, least = int(history.present.sum()), max(2, self.parameters.audits)
        if left < least:
            raise DeniableError(f"at least {least} targets must be left, got {left}")
        self.mechanism.check_targets(left, len(targets))
        self.mechanism.rules.eligible(history, np.zeros_like(history.present), self.parameters.audits)
        latest_audit = np.concatenate([self.latest_audit, np.zeros(len(added), dtype=np.int64)])
        numbers = _numbered(targets) if added else self.numbers
        return replace(self, targets=targets, numbers=numbers, history=history, latest_audit=latest_audit)

    def without_audit(self, target: str, round_: int) -> "PublicState":
        """With the target's audit of that round, its latest, taken off the record of what was carried out."""
        number = self._number(target)
        if self.latest_audit[number] != round_:
            raise DeniableError(f"the latest audit of {target} still on record is not one of round {round_}")
        latest_audit = self.latest_audit.copy()
        latest_audit[number] = 0
        return replace(self, latest_audit=latest_audit)

    def _number(self, target: str) -> int:
        if target not in self.numbers:
            raise DeniableError(f"there is no target named {target}")
        return self.numbers[target]

    def _mask(self, targets: Sequence[str]) -> BoolArray:
        mask = np.zeros_like(self.history.present)
        mask[0, [self.number_of(target) for target in targets]] = True
        return mask

    def _latest_audit_with(self, chosen: BoolArray) -> IntArray:
        return np.where(chosen[0], self.open_round, self.latest_audit)

    def to_json(self) -> str:
        """The state as one line, so that the office need not go through all entries again; all of it is public."""
        history = self.history
        stored = {
            "format": FORMAT,
            "parameters": self.parameters.digest,
            "entries": self.entries,
            "head": self.head,
            "closed": self.closed,
            "commitment": self.commitment,
            "joined": self.targets[len(self.parameters.targets) :],
            "drawn": history.rounds,
            "last": history.last[0].tolist(),
            "audits": history.audits[0].tolist(),
            "present": history.present[0].tolist(),
            "latest_audit": self.latest_audit.tolist(),
            "lapses": self.coverage.lapses,
            "is_paused": self.is_paused,
            "ended": self.ended,
        }
        return _with_check(stored)

    @classmethod
    def from_json(cls, parameters: Parameters, text: str) -> Self:
        """The state that `to_json` wrote for these parameters."""
        try:
            stored = json.loads(text)
            del stored["check"]
            whole = _with_check(stored) == text
        except (ValueError, LookupError, TypeError, RecursionError):
            whole = False
        if not whole:
            raise DeniableError("the stored public state is damaged; restore the last backup")
        if stored["format"] != FORMAT or stored["parameters"] != parameters.digest:
            raise DeniableError("the stored public state belongs to another programme or version")
        targets = (*parameters.targets, *stored["joined"])
        history = History(
            stored["drawn"],
            np.array([stored["last"]], dtype=np.int64),
            np.array([stored["audits"]], dtype=np.int64),
            np.array([stored["present"]], dtype=np.bool_),
        )
        return replace(
            cls.start(parameters),
            **{name: stored[name] for name in ("entries", "head", "closed", "commitment", "is_paused", "ended")},
            targets=targets,
            numbers=_numbered(targets),
            history=history,
            latest_audit=np.array(stored["latest_audit"], dtype=np.int64),
            coverage=Coverage(parameters.calendar, tuple(Lapse(*lapse) for lapse in stored["lapses"])),
        )


def _with_check(stored: dict[str, Any]) -> str:
    """As JSON, with a hash by which damage shows."""
    check = digest(json.dumps(stored, sort_keys=True))
    return json.dumps(stored | {"check": check}, sort_keys=True, separators=(",", ":"))


def _numbered(targets: Sequence[str]) -> Mapping[str, int]:
    return {name: number for number, name in enumerate(targets)}
