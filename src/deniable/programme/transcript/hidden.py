"""Draws whose names are not public yet, or which wait for a public value, and what happened to the targets since."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from deniable.arrays import BoolArray
from deniable.programme.transcript.chain import canonical
from deniable.rules import History, record_audits

SALT_BYTES = 32
"""Without so many random bytes a reader could hash one target after the other until the commitment comes out."""
NUMBER_BYTES = 4
"""Of a target's number in a capsule, whatever the number."""
_SEALING = 28
"""Bytes by which a ciphertext is longer."""


def names_commitment(programme: str, round_: int, salt: bytes, targets: Sequence[int]) -> str:
    """What is published of a draw at once: SHA-256 over the numbers of the targets, in the order drawn, and a salt.

    Numbers, counted from 0 in the order in which targets were listed and joined, stay when a name does not.
    """
    about = {"format": "deniable-names/1", "programme": programme, "round": round_}
    drawn = {"salt": salt.hex(), "targets": [int(number) for number in targets]}
    return hashlib.sha256(canonical({**about, **drawn}).encode("ascii")).hexdigest()


def capsule_digits(audits: int) -> int:
    """The length of a capsule in hexadecimal digits: a function of the number of audits a round."""
    return 2 * (_SEALING + SALT_BYTES + NUMBER_BYTES * audits)


class Step(NamedTuple):
    """A draw with hidden names, or one that waits, where it has a round; or else what was decided since."""

    round: int = 0
    names: str = ""
    """The commitment to them."""
    capsule: str = ""
    """The numbers of the targets and the salt, which the office alone can open."""
    ordered: tuple[int, ...] = ()
    left: tuple[int, ...] = ()
    joined: int = 0
    waits: bool = False
    """Whether the round is frozen, and not drawn yet."""

    def applied(self, history: History, drawn: Sequence[int] = ()) -> History:
        """After this step. A draw is recorded in place, since there may be many."""
        if self.waits:
            return history
        if self.round:
            after = replace(history, rounds=history.rounds + 1)
            for number in drawn:
                record_audits(after, (0, number))
            return after
        decided = history.after_order(_mask(history, self.ordered)).after_leave(_mask(history, self.left))
        return decided.after_join(self.joined)


@dataclass(frozen=True, eq=False)
class Hidden:
    """All that is needed to check names when they are revealed, oldest first. Public."""

    before: History | None = None
    """Before the first of these draws; the names of all earlier ones are public."""
    steps: tuple[Step, ...] = ()
    """From that draw on."""
    is_ending: bool = False
    """Whether names were revealed before they were due, which only the end of the programme calls for."""

    @property
    def draws(self) -> tuple[Step, ...]:
        """Those with hidden names."""
        return tuple(step for step in self.steps if step.round and not step.waits)

    @property
    def orders_since_freeze(self) -> tuple[tuple[int, ...], ...]:
        """The targets of each order since the round that waits was frozen. A target can be in several."""
        at = next(place for place, step in enumerate(self.steps) if step.waits)
        return tuple(step.ordered for step in self.steps[at + 1 :])

    def drawn(self, names: str = "", capsule: str = "") -> "Hidden":
        """With the draw for which the frozen round waited."""
        made = (step._replace(names=names, capsule=capsule, waits=False) if step.waits else step for step in self.steps)
        return replace(self, steps=tuple(made))

    def without_waiting(self) -> "Hidden":
        """Where the round that waits is never drawn."""
        steps = tuple(step for step in self.steps if not step.waits)
        return replace(self, steps=steps) if self.draws else Hidden(is_ending=self.is_ending)

    def after(self, step: Step, history: History) -> "Hidden":
        """`history` is the public one before the step, which does not matter where no names are hidden."""
        if not self.steps and not step.round:
            return self
        return replace(self, before=self.before if self.steps else history, steps=(*self.steps, step))

    def history(self, public: History, drawn: Callable[[Step], Sequence[int]]) -> History:
        """The public history with the audits of these draws, of which `drawn` tells the targets' numbers."""
        if self.before is None:
            return public
        history = self.before.copied()
        for step in self.steps:
            history = step.applied(history, drawn(step) if step.round and not step.waits else ())
        return history

    def revealed(self, drawn: Sequence[int]) -> tuple["Hidden", History]:
        """Without the first of these draws, which drew these targets; and what the public history is then."""
        assert self.before is not None
        before, others = self.steps[0].applied(self.before.copied(), drawn), list(self.steps[1:])
        while others and not others[0].round:
            before = others.pop(0).applied(before)
        left = replace(self, before=before if others else None, steps=tuple(others))
        return left, left.history(before, lambda _: ())

    def to_bytes(self) -> bytes:
        """A line of JSON and, where names are hidden, an array for each fact of the history before them."""
        before, rounds = self.before, 0 if self.before is None else self.before.rounds
        small = json.dumps({"steps": self.steps, "is_ending": self.is_ending, "rounds": rounds}).encode() + b"\n"
        return small if before is None else small + before.to_bytes()

    @classmethod
    def from_bytes(cls, stored: bytes) -> Self:
        """What `to_bytes` wrote."""
        line, _, facts = stored.partition(b"\n")
        small = json.loads(line)
        steps = tuple(Step(*map(_hashable, step)) for step in small["steps"])
        if not steps:
            return cls(is_ending=small["is_ending"])
        return cls(History.from_bytes(small["rounds"], facts), steps, small["is_ending"])


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _mask(history: History, targets: Sequence[int]) -> BoolArray:
    mask = np.zeros_like(history.present)
    mask[0, list(targets)] = True
    return mask
