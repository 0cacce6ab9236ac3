"""What the world knows of a programme after some entries of its transcript."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Self

import numpy as np

from deniable.arrays import BoolArray, IntArray
from deniable.errors import DeniableError
from deniable.mechanisms.base import Mechanism
from deniable.programme.parameters import Parameters
from deniable.programme.transcript.coverage import Coverage, Lapse
from deniable.rules import History, no_history

FORMAT = "deniable-public-state/4"
_DIGEST = 32


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
            numbers=parameters.numbers,
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

    @cached_property
    def present(self) -> tuple[str, ...]:
        """Names of the targets that take part, in the order of their numbers."""
        there = self.history.present[0]
        return self.targets if there.all() else tuple(self.targets[number] for number in np.flatnonzero(there))

    def takes_part(self, target: str) -> bool:
        number = self.numbers.get(target)
        return number is not None and bool(self.history.present[0, number])

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

    @cached_property
    def digest(self) -> str:
        """By which a stored state is known."""
        return self.to_bytes()[:_DIGEST].hex()

    def to_bytes(self) -> bytes:
        """The state as it is stored, so that the office need not go through all entries again; all of it is public.

        A hash by which damage shows, a line of JSON, the names of the targets that joined, and an array for each of the
        facts about every target.
        """
        joined = "\n".join(self.targets[len(self.parameters.targets) :]).encode()
        small = {
            "format": FORMAT,
            "parameters": self.parameters.digest,
            "entries": self.entries,
            "head": self.head,
            "closed": self.closed,
            "commitment": self.commitment,
            "joined": len(joined),
            "drawn": self.history.rounds,
            "lapses": self.coverage.lapses,
            "is_paused": self.is_paused,
            "ended": self.ended,
        }
        history = self.history
        facts = (history.last[0], history.audits[0], self.latest_audit)
        arrays = [*(fact.astype("<i4").tobytes() for fact in facts), history.present[0].tobytes()]
        body = b"".join([json.dumps(small, sort_keys=True).encode(), b"\n", joined, *arrays])
        return hashlib.sha256(body).digest() + body

    @classmethod
    def from_bytes(cls, parameters: Parameters, stored: bytes) -> Self:
        """The state that `to_bytes` wrote for these parameters."""
        body = memoryview(stored)[_DIGEST:]
        if hashlib.sha256(body).digest() != stored[:_DIGEST]:
            raise DeniableError("the stored public state is damaged; restore the last backup")
        end = stored.index(b"\n", _DIGEST)
        small = json.loads(stored[_DIGEST:end])
        if small["format"] != FORMAT or small["parameters"] != parameters.digest:
            raise DeniableError("the stored public state belongs to another programme or version")
        start, facts = cls.start(parameters), end + 1 + small["joined"]
        joined = stored[end + 1 : facts].decode()
        targets = (*parameters.targets, *joined.split("\n")) if joined else start.targets
        last, audits, latest_audit = (
            np.frombuffer(stored, "<i4", len(targets), facts + 4 * len(targets) * place).astype(np.int64)
            for place in range(3)
        )
        present = np.frombuffer(stored, np.bool_, len(targets), facts + 12 * len(targets)).copy()
        return replace(
            start,
            **{name: small[name] for name in ("entries", "head", "closed", "commitment", "is_paused", "ended")},
            targets=targets,
            numbers=_numbered(targets) if joined else start.numbers,
            history=History(small["drawn"], last[None], audits[None], present[None]),
            latest_audit=latest_audit,
            coverage=Coverage(parameters.calendar, tuple(Lapse(*lapse) for lapse in small["lapses"])),
        )


def _numbered(targets: Sequence[str]) -> Mapping[str, int]:
    return {name: number for number, name in enumerate(targets)}
