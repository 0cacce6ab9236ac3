"""The entries of the transcript, one class a kind: its fields, what it does to the public state and to the targets'
runs, what it means for the guarantee, and how it reads.

The office appends an entry only if `after` accepts it, and a verifier goes through the same steps, so the two cannot
disagree. A new kind is a class here or beside this file, a command and a form.
"""

from dataclasses import dataclass, replace

import numpy as np

from deniable.arrays import IntArray
from deniable.errors import DeniableError
from deniable.programme.calendar import Calendar
from deniable.programme.transcript.coverage import Lapse
from deniable.programme.transcript.decision import Decision, check_during, not_covered
from deniable.programme.transcript.details import Details
from deniable.programme.transcript.draws import Draw, check_draws_at_once, without_reports
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import (
    AnyNames,
    ClassName,
    Days,
    Flag,
    Hash,
    Name,
    Number,
    Reason,
    SomeNames,
)
from deniable.programme.transcript.figures import Figures
from deniable.programme.transcript.frozen import Drawn, DrawnHidden, Freeze
from deniable.programme.transcript.outcomes import CarriedOut, NotCarriedOut
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript.unannounced import Reveal, Selection
from deniable.report_classes import named
from deniable.run import AuditRun
from deniable.wording import count


@dataclass(frozen=True, kw_only=True)
class Round(Draw):
    """Closes the open round with a draw; `audits` are in the order drawn."""

    kind = "round"

    audits: SomeNames

    @property
    def audited(self) -> tuple[str, ...]:
        return self.audits

    def _change(self, state: PublicState) -> PublicState:
        parameters = state.parameters
        check_draws_at_once(parameters)
        if parameters.reveal_after:
            raise DeniableError("the programme does not publish at once whom it draws, and this round does")
        if len(self.audits) != parameters.audits:
            raise DeniableError(f"a round has {parameters.audits} audits, got {len(self.audits)}")
        return super()._change(state).after_draw(self.audits)

    def change_run(self, run: AuditRun, tally: IntArray, state: PublicState) -> IntArray:
        return without_reports(tally, run.adopt(map(state.number_of, self.audits)), state.parameters.in_draw)

    @property
    def deed(self) -> str:
        return f"{', '.join(self.audits)} selected for an audit"

    @property
    def heading(self) -> str:
        return ""


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

    def _change(self, state: PublicState) -> PublicState:
        state.check_nothing_waits("another round is skipped")
        return state

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
    def _did(self) -> str:
        return "ordered an audit by hand" if len(self.audits) == 1 else self.lapses_because

    @property
    def audited(self) -> tuple[str, ...]:
        return self.audits

    def _change(self, state: PublicState) -> PublicState:
        return state.after_order(self.audits)

    def change_run(self, run: AuditRun, tally: IntArray, state: PublicState) -> IntArray:
        ended = [state.number_of(target) for target in self.audits]
        run.order(ended)
        return without_reports(tally, ended, state.parameters.in_draw)

    @property
    def heading(self) -> str:
        return "Ordered by hand, outside the draw"

    @property
    def deed(self) -> str:
        return f"audit of {', '.join(self.audits)}, ordered by hand"


@dataclass(frozen=True, kw_only=True)
class Emergency(Entry):
    """Visits at once, outside the draw, by the public rule that every report of this class leads to one."""

    kind = "emergency"

    audits: SomeNames
    report_class: ClassName

    @property
    def audited(self) -> tuple[str, ...]:
        return self.audits

    def _change(self, state: PublicState) -> PublicState:
        if not named(state.parameters.classes, self.report_class).leads_to_visit:
            raise DeniableError(f"a report of class {self.report_class} leads to no visit, but counts in the draw")
        return state.after_order(self.audits)

    def change_run(self, run: AuditRun, tally: IntArray, state: PublicState) -> IntArray:
        ended = [state.number_of(target) for target in self.audits]
        run.order(ended)
        its_class = np.array([one.name == self.report_class for one in state.parameters.classes])
        return without_reports(tally, ended, its_class | state.parameters.in_draw)

    @property
    def heading(self) -> str:
        return "Emergency, outside the draw"

    @property
    def deed(self) -> str:
        return f"visit to {', '.join(self.audits)} because of a report of class {self.report_class}"

    def effect(self, calendar: Calendar) -> str:
        return (
            f"Every report of class {self.report_class} leads to a visit at once, and the guarantee does not cover "
            "reports of this class. The visit takes nothing from the guarantee for all other reports."
        )


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
        terms = state.parameters.terms
        if not self.added and not self.removed:
            raise DeniableError(f"the change must add or remove {terms.a_target}")
        state.check_nothing_waits(f"{terms.targets} join or leave")
        state.check_new_names(self.added)
        if self.added and isinstance(state.parameters.weights, tuple):
            raise DeniableError(
                f"the programme has fixed weights for its first {terms.targets}, so no {terms.target} can join"
            )
        return state.after_change(self.added, self.removed)

    def change_run(self, run: AuditRun, tally: IntArray, state: PublicState) -> IntArray:
        ended = [state.number_of(target) for target in self.removed]
        if self.added:
            run.add_targets(len(self.added))
        run.remove_targets(ended)  # after the others joined: how many are left counts at the end
        return without_reports(np.pad(tally, ((0, 0), (0, len(self.added)))), ended)

    @property
    def heading(self) -> str:
        return "The list of targets changed"

    @property
    def deed(self) -> str:
        changes = {"joined": self.added, "left": self.removed}
        return "; ".join(f"{', '.join(names)} {deed}" for deed, names in changes.items() if names)


@dataclass(frozen=True, kw_only=True)
class Renamed(Decision):
    """A target that takes part has another name from the open round on; its number and its reports stay."""

    kind = "renamed"
    lapses_because = "renamed a target"

    target: Name
    name: Name

    @property
    def new_name(self) -> tuple[str, str]:
        return self.target, self.name

    def _change(self, state: PublicState) -> PublicState:
        return state.after_renaming(self.target, self.name)

    @property
    def deed(self) -> str:
        return f"{self.target} is called {self.name} from now on"


@dataclass(frozen=True, kw_only=True)
class Recovery(Entry):
    """The office's records from round `lost` on were lost, and it goes on from a backup with a new seed."""

    kind = "recovery"

    reason: Reason
    lost: Number
    commitment: Hash
    paused: Flag
    """Whether reports that hotlines bring do not count from now on."""
    inputs_lost: Flag
    """Whether a frozen round is never drawn, since what it was to be drawn from is lost."""
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
        check_during(self.during, self.round)

    def _change(self, state: PublicState) -> PublicState:
        if self.lost > state.open_round:
            raise DeniableError(f"records of round {self.lost} cannot be lost before it opened")
        if self.inputs_lost != (state.waiting is not None and self.lost <= state.waiting.round):
            raise DeniableError(
                "the inputs of a frozen round are lost with the records of that round, and only with them"
            )
        if self.inputs_lost:
            state = replace(state, hidden=state.hidden.without_waiting(), waiting=None)
        return replace(state, is_paused=self.paused, misses_reports=True)

    @property
    def deed(self) -> str:
        return "the office restored its records from a backup"

    def effect(self, calendar: Calendar) -> str:
        covered = "The guarantee covers this."
        if not self.complete:
            unseen = (
                "No copy shows everything that was drawn: people may have seen an audit that is not in this record."
            )
            covered = f"{unseen} {not_covered(calendar, self.during)}"
        undrawn = (
            "What the frozen round was to be drawn from is lost, and the round is never drawn: this rests on the "
            "office's word. Reports of that round that the backup has count in the next draw. "
            if self.inputs_lost
            else ""
        )
        waits = "Reports that its hotlines bring do not count until another entry says so. " if self.paused else ""
        return (
            f"The office lost its records from round {self.lost} on; the audits published since then stand, and "
            f"reports it had counted since then may be lost. {undrawn}{waits}{covered} The random number of round "
            f"{self.round} was replaced when reports of the round could be known already; that the office did not "
            "choose the new one with them in mind rests on its word alone."
        )


@dataclass(frozen=True, kw_only=True)
class Resumption(Entry):
    """Reports that hotlines bring count again after a recovery, but for those brought since."""

    kind = "resumption"

    reason: Reason

    def _change(self, state: PublicState) -> PublicState:
        if not state.is_paused:
            raise DeniableError("imports are not paused, so there is nothing to resume")
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

    def _check_revealed(self, state: PublicState) -> None:
        state.check_revealed(ending=True)

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
    kind.kind: kind
    for kind in (
        *(Round, Selection, Reveal, Skip, Override, Emergency, Targets, Renamed, CarriedOut, NotCarriedOut),
        *(Freeze, Drawn, DrawnHidden, Recovery, Resumption, Figures, Details, End),
    )
}
"""By their names in the transcript."""
