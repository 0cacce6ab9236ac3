"""The entries of the transcript, one class a kind: its fields, what it does to the public state and to the targets'
runs, what it means for the guarantee, and how it reads.

The office appends an entry only if `after` accepts it, and a verifier goes through the same steps, so the two cannot
disagree. A new kind is a class here, a command and a form.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from deniable.arrays import IntArray
from deniable.errors import DeniableError
from deniable.programme.calendar import Calendar, due_in_words
from deniable.programme.names import caseless
from deniable.programme.transcript.coverage import Lapse
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import (
    AnyNames,
    Days,
    Flag,
    Hash,
    MaybeHash,
    Name,
    Number,
    Reason,
    SomeNames,
)
from deniable.programme.transcript.state import PublicState
from deniable.run import AuditRun
from deniable.wording import count

NOT_THE_TIME = "The guarantee covers which targets were drawn, not the time at which it happened."
"""What there is to say of every round that was closed late."""


@dataclass(frozen=True, kw_only=True)
class Round(Entry):
    """Closes the open round with a draw; `audits` are in the order drawn."""

    kind = "round"
    closes_round = True

    audits: SomeNames
    commitment: Hash
    """To the next round's seed."""
    late: Days
    sealed: MaybeHash
    """Hash of the inputs, sealed for the oversight body."""

    @property
    def audited(self) -> tuple[str, ...]:
        return self.audits

    @property
    def new_commitment(self) -> str:
        return self.commitment

    @property
    def is_usual(self) -> bool:
        return not self.late

    def _change(self, state: PublicState) -> PublicState:
        parameters = state.parameters
        if len(self.audits) != parameters.audits:
            raise DeniableError(f"a round has {parameters.audits} audits, got {len(self.audits)}")
        if (self.sealed is None) != (parameters.oversight is None):
            needed = "needs" if parameters.oversight is not None else "has no oversight body and cannot have"
            raise DeniableError(f"the programme {needed} a sealed record of the round")
        if self.late and self.reason is None:
            raise DeniableError("a round that is closed late needs a reason")
        return state.after_draw(self.audits)

    def change_run(self, run: AuditRun, tally: IntArray, state: PublicState) -> IntArray:
        return _without(tally, run.adopt(map(state.number_of, self.audits)))

    @property
    def deed(self) -> str:
        return f"audit of {', '.join(self.audits)}"

    @property
    def heading(self) -> str:
        return ""

    def effect(self, calendar: Calendar) -> str:
        if self.late:
            return f"The round was closed {count(self.late, 'day')} late. {NOT_THE_TIME}"
        return "The guarantee covers it."


@dataclass(frozen=True, kw_only=True)
class Decision(Entry):
    """What the office decides by itself, and declares to be independent of the reports or not."""

    lapses_because: ClassVar[str]
    """What the office did, to stand after "the office"."""

    reason: Reason
    independent: Flag
    during: Number
    """The round of the calendar at that time: later than the open one while rounds are overdue."""

    @property
    def lapse(self) -> Lapse | None:
        if self.independent:
            return None
        return Lapse(self.number, self.during, f"{self.lapses_because} (entry {self.number}) and did not declare that "
                     "this had nothing to do with any report")  # fmt: skip

    def _check_place(self, state: PublicState) -> None:
        super()._check_place(state)
        _check_during(self.during, self.round)

    def effect(self, calendar: Calendar) -> str:
        if self.independent:
            return "The office says this had nothing to do with any report; the guarantee covers it."
        return _not_covered(calendar, self.during)


@dataclass(frozen=True, kw_only=True)
class Skip(Decision):
    """Closes the open round without a draw; its reports go on into the next."""

    kind = "skip"
    closes_round = True
    lapses_because = "closed a round without a draw"

    commitment: Hash
    late: Days

    @property
    def new_commitment(self) -> str:
        return self.commitment

    @property
    def heading(self) -> str:
        late = f", {count(self.late, 'day')} late" if self.late else ""
        return f"The round was skipped{late}"

    @property
    def deed(self) -> str:
        return "skipped"

    def effect(self, calendar: Calendar) -> str:
        return f"The reports of this round count in the next draw. {super().effect(calendar)}"


@dataclass(frozen=True, kw_only=True)
class Override(Decision):
    """Audits ordered by hand in the open round, outside the draw."""

    kind = "override"
    lapses_because = "ordered audits by hand"

    audits: SomeNames

    @property
    def audited(self) -> tuple[str, ...]:
        return self.audits

    def _change(self, state: PublicState) -> PublicState:
        return state.after_order(self.audits)

    def change_run(self, run: AuditRun, tally: IntArray, state: PublicState) -> IntArray:
        ended = [state.number_of(target) for target in self.audits]
        run.order(ended)
        return _without(tally, ended)

    @property
    def heading(self) -> str:
        return "Ordered by hand, outside the draw"

    @property
    def deed(self) -> str:
        return f"audit of {', '.join(self.audits)}, ordered by hand"


@dataclass(frozen=True, kw_only=True)
class Targets(Decision):
    """Targets that join or leave in the open round, before its draw."""

    kind = "targets"
    lapses_because = "changed the list of targets"

    added: AnyNames
    removed: AnyNames

    @property
    def joined(self) -> tuple[str, ...]:
        return self.added

    @property
    def left(self) -> tuple[str, ...]:
        return self.removed

    def _change(self, state: PublicState) -> PublicState:
        if not self.added and not self.removed:
            raise DeniableError("the change must add or remove a target")
        used = {caseless(name): name for name in state.targets} if self.added else {}
        for target in self.added:
            if (other := used.setdefault(caseless(target), target)) != target:
                raise DeniableError(f"the names {other} and {target} differ in case alone; choose another name")
            if target in state.numbers:
                raise DeniableError(f"the name {target} was used before; choose another name")
        if self.added and isinstance(state.parameters.weights, tuple):
            raise DeniableError("the programme has fixed weights for its first targets, so that none can join")
        return state.after_change(self.added, self.removed)

    def change_run(self, run: AuditRun, tally: IntArray, state: PublicState) -> IntArray:
        ended = [state.number_of(target) for target in self.removed]
        if self.added:
            run.add_targets(len(self.added))
        run.remove_targets(ended)  # after the others joined: how many are left counts at the end
        return _without(np.pad(tally, (0, len(self.added))), ended)

    @property
    def heading(self) -> str:
        return "The list of targets changed"

    @property
    def deed(self) -> str:
        changes = {"joined": self.added, "left": self.removed}
        return "; ".join(f"{', '.join(names)} {deed}" for deed, names in changes.items() if names)


@dataclass(frozen=True, kw_only=True)
class NotCarriedOut(Decision):
    """The target's audit of round `of`, its latest, did not take place."""

    kind = "not-carried-out"
    lapses_because = "said that an audit was not carried out"

    of: Number
    target: Name

    @property
    def struck(self) -> str:
        return self.target

    def _change(self, state: PublicState) -> PublicState:
        return state.without_audit(self.target, self.of)

    @property
    def deed(self) -> str:
        return f"the audit of {self.target} in round {self.of} was not carried out"


@dataclass(frozen=True, kw_only=True)
class Recovery(Entry):
    """The office's records from round `lost` on were lost, and it goes on from a backup with a new seed."""

    kind = "recovery"

    reason: Reason
    lost: Number
    commitment: Hash
    paused: Flag
    """Whether reports that hotlines bring do not count from now on."""
    complete: Flag
    """Whether copies of the transcript show everything that was drawn. If not, a draw may have been seen and lost."""
    during: Number
    """The round of the calendar at that time."""

    @property
    def new_commitment(self) -> str:
        return self.commitment

    @property
    def lapse(self) -> Lapse | None:
        if self.complete:
            return None
        because = "lost its records, and no copy shows whether audits were drawn that this record does not have"
        return Lapse(self.number, self.during, f"{because} (entry {self.number})")

    def _check_place(self, state: PublicState) -> None:
        super()._check_place(state)
        _check_during(self.during, self.round)

    def _change(self, state: PublicState) -> PublicState:
        if self.lost > state.open_round:
            raise DeniableError(f"records of round {self.lost} cannot be lost before it opened")
        return replace(state, is_paused=self.paused)

    @property
    def deed(self) -> str:
        return "the office restored its records from a backup"

    def effect(self, calendar: Calendar) -> str:
        covered = "The guarantee covers this."
        if not self.complete:
            unseen = (
                "No copy shows everything that was drawn: people may have seen an audit that is not in this record."
            )
            covered = f"{unseen} {_not_covered(calendar, self.during)}"
        waits = "Reports that its hotlines bring do not count until another entry says so. " if self.paused else ""
        return (
            f"The office lost its records from round {self.lost} on; the audits published since then stand, and "
            f"reports it had counted since then may be lost. {waits}{covered} The random number of round {self.round} "
            "was replaced when reports of the round could be known already; that the office did not choose the new one "
            "with them in mind rests on its word alone."
        )


@dataclass(frozen=True, kw_only=True)
class Resumption(Entry):
    """Reports that hotlines bring count again after a recovery, but for those brought since."""

    kind = "resumption"

    reason: Reason

    def _change(self, state: PublicState) -> PublicState:
        if not state.is_paused:
            raise DeniableError("imports are not paused: what is imported counts already, so do nothing")
        return replace(state, is_paused=False)

    @property
    def deed(self) -> str:
        return "reports from hotlines count again"

    def effect(self, calendar: Calendar) -> str:
        return (
            "From here on, reports that hotlines bring count again. Those that the office received from its hotlines "
            "between the recovery and this entry do not count. The guarantee covers this."
        )


@dataclass(frozen=True, kw_only=True)
class End(Entry):
    """No more audits are drawn."""

    kind = "end"

    reason: Reason

    def _change(self, state: PublicState) -> PublicState:
        return replace(state, ended=True)

    @property
    def deed(self) -> str:
        return "the programme ended"

    def effect(self, calendar: Calendar) -> str:
        return (
            "No more audits are drawn. The guarantee covers the audits drawn so far, not the time at which the "
            "programme ended."
        )


KINDS: dict[str, type[Entry]] = {
    kind.kind: kind for kind in (Round, Skip, Override, Targets, NotCarriedOut, Recovery, Resumption, End)
}
"""By their names in the transcript."""


def _check_during(during: int, round_: int) -> None:
    if during < round_:
        raise DeniableError(f"it was made during round {round_} or later, not during round {during}")


def _not_covered(calendar: Calendar, during: int) -> str:
    return (
        f"The guarantee does not cover reports filed in round {during} or earlier, that is, before "
        f"{due_in_words(calendar, during).words}."
    )


def _without(tally: IntArray, targets: Collection[int]) -> IntArray:
    left = tally.copy()
    left[[*targets]] = 0
    return left
