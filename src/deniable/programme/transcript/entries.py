"""The entries of the transcript, one class a kind: its fields, what it does to the public state and to the targets'
runs, what it means for the promise, and how it reads.

The office appends an entry only if `after` accepts it, and a verifier goes through the same steps, so the two cannot
disagree. A new kind is a class here or beside this file, a command and a form.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from deniable.arrays import IntArray
from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.message import Message, noted, why_not
from deniable.programme.calendar import Calendar
from deniable.programme.names import check_not_reports
from deniable.programme.transcript.closings import Closing, check_draws_at_once, check_shown_names, without_reports
from deniable.programme.transcript.decision import Decision
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import (
    AnyNames,
    ClassName,
    Days,
    Hash,
    Name,
    Reason,
    SomeNames,
)
from deniable.programme.transcript.frozen import Drawn, DrawnHidden, Freeze
from deniable.programme.transcript.office_details import Details
from deniable.programme.transcript.outcomes import CarriedOut, NotCarriedOut
from deniable.programme.transcript.recoveries import Recovery, Resumption
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript.unannounced import Reveal, Selection
from deniable.programme.transcript.yearly_figures import Figures
from deniable.report_classes import named
from deniable.run import AuditRun


@dataclass(frozen=True, kw_only=True)
class Round(Closing):
    """Closes the open round with a draw; `audits` are in the order drawn."""

    kind = "round"

    audits: SomeNames

    @property
    def audited(self) -> tuple[str, ...]:
        return self.audits

    def _change(self, state: PublicState) -> PublicState:
        check_draws_at_once(state.parameters)
        check_shown_names(state.parameters, self.audits)
        return super()._change(state).after_draw(self.audits)

    def change_run(self, run: AuditRun, tally: IntArray, state: PublicState) -> IntArray:
        return without_reports(tally, run.adopt(map(state.number_of, self.audits)), state.parameters.in_draw)

    def deed(self, say: Voice) -> str:
        # For translators: here and in all such phrases, {names} is one name or several.
        return say("{names} selected for {an_audit}", names=say.all_of(self.audits))

    def heading(self, say: Voice) -> str:
        return ""


@dataclass(frozen=True, kw_only=True)
class Skip(Decision):
    """Closes the open round without a draw; its reports go on into the next."""

    kind = "skip"
    closes_round = True
    lapses_because = noted(
        "The office closed a round without a draw (entry {entry}). It did not declare that no report was the reason."
    )

    commitment: Hash
    late: Days

    @property
    def new_commitment(self) -> str:
        return self.commitment

    def _change(self, state: PublicState) -> PublicState:
        state.check_nothing_waits(why_not("another round is skipped"))
        return state

    def heading(self, say: Voice) -> str:
        if not self.late:
            return say("The round was skipped")
        return say.counted(
            "The round was skipped, {number} day late", "The round was skipped, {number} days late", self.late
        )

    def deed(self, say: Voice) -> str:
        return say("skipped")

    def effect(self, calendar: Calendar, say: Voice) -> str:
        count = say("The reports of this round count in the next draw, if there is one.")
        return f"{count} {super().effect(calendar, say)}"


@dataclass(frozen=True, kw_only=True)
class Override(Decision):
    """Audits ordered by hand in the open round, outside the draw."""

    kind = "override"
    lapses_because = noted(
        "The office ordered {audits} by hand (entry {entry}). It did not declare that no report was the reason."
    )
    lapses_because_of_one = noted(
        "The office ordered {an_audit} by hand (entry {entry}). It did not declare that no report was the reason."
    )

    audits: SomeNames

    @property
    def _because(self) -> Message:
        return self.lapses_because_of_one if len(self.audits) == 1 else self.lapses_because

    @property
    def audited(self) -> tuple[str, ...]:
        return self.audits

    def _change(self, state: PublicState) -> PublicState:
        return state.after_order(self.audits)

    def change_run(self, run: AuditRun, tally: IntArray, state: PublicState) -> IntArray:
        ended = [state.number_of(target) for target in self.audits]
        run.order(ended)
        return without_reports(tally, ended, state.parameters.in_draw)

    def heading(self, say: Voice) -> str:
        return say("Ordered by hand, outside the draw")

    def deed(self, say: Voice) -> str:
        return say("{audit_of} {names}, ordered by hand", names=say.all_of(self.audits))


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
            raise DeniableError(
                "a report of class {report_class} leads to no visit, but counts in the draw",
                report_class=self.report_class,
            )
        return state.after_order(self.audits)

    def change_run(self, run: AuditRun, tally: IntArray, state: PublicState) -> IntArray:
        ended = [state.number_of(target) for target in self.audits]
        run.order(ended)
        its_class = np.array([one.name == self.report_class for one in state.parameters.classes])
        return without_reports(tally, ended, its_class | state.parameters.in_draw)

    def heading(self, say: Voice) -> str:
        return say("Emergency, outside the draw")

    def deed(self, say: Voice) -> str:
        return say(
            "visit to {names} because of a report of class {report_class}",
            names=say.all_of(self.audits),
            report_class=self.report_class,
        )

    def effect(self, calendar: Calendar, say: Voice) -> str:
        return say(
            "Every report of class {report_class} leads to a visit at once, and the promise does not cover reports of "
            "this class. The visit does not weaken the promise for all other reports.",
            report_class=self.report_class,
        )


@dataclass(frozen=True, kw_only=True)
class Targets(Decision):
    """Targets that join or leave in the open round, before its draw."""

    kind = "targets"
    lapses_because = noted(
        "The office changed the list of {targets} (entry {entry}). It did not declare that no report was the reason."
    )

    added: AnyNames
    removed: AnyNames

    @classmethod
    def following(cls, state: PublicState, **values: Any) -> Self:
        """The next entry after this state; refused where rows of reports would join."""
        made = super().following(state, **values)
        check_not_reports(made.added)
        return made

    @property
    def joined(self) -> tuple[str, ...]:
        return self.added

    @property
    def left(self) -> tuple[str, ...]:
        return self.removed

    def _change(self, state: PublicState) -> PublicState:
        terms = state.parameters.terms
        if not self.added and not self.removed:
            raise DeniableError("the change must add or remove {a_target_word}", a_target_word=terms.a_target)
        state.check_nothing_waits(why_not("{targets_word} join or leave", targets_word=terms.targets))
        if self.added:
            state.check_new_names(self.added)
        if self.added and isinstance(state.parameters.weights, tuple):
            raise DeniableError(
                "the programme has fixed weights for its first {targets_word}, so no {target_word} can join",
                targets_word=terms.targets,
                target_word=terms.target,
            )
        return state.after_change(self.added, self.removed)

    def change_run(self, run: AuditRun, tally: IntArray, state: PublicState) -> IntArray:
        ended = [state.number_of(target) for target in self.removed]
        if self.added:
            run.add_targets(len(self.added))
        run.remove_targets(ended)  # after the others joined: how many are left counts at the end
        return without_reports(np.pad(tally, ((0, 0), (0, len(self.added)))), ended)

    def heading(self, say: Voice) -> str:
        return say("The list of {targets} changed")

    def deed(self, say: Voice) -> str:
        joined, left = say.all_of(self.added), say.all_of(self.removed)
        if not self.removed:
            return say("{names} joined", names=joined)
        if self.added:
            return say("{joined} joined; {left} left", joined=joined, left=left)
        return say("{names} left", names=left)


@dataclass(frozen=True, kw_only=True)
class Renamed(Decision):
    """A target that takes part has another name from the open round on; its number and its reports stay."""

    kind = "renamed"
    lapses_because = noted(
        "The office renamed {a_target} (entry {entry}). It did not declare that no report was the reason."
    )

    target: Name
    name: Name

    @property
    def new_name(self) -> tuple[str, str]:
        return self.target, self.name

    def _change(self, state: PublicState) -> PublicState:
        return state.after_renaming(self.target, self.name)

    def deed(self, say: Voice) -> str:
        return say("{former} is called {name} from now on", former=say.apart(self.target), name=say.apart(self.name))

    def heading(self, say: Voice) -> str:
        return self.deed(say)


@dataclass(frozen=True, kw_only=True)
class End(Entry):
    """No more audits are drawn."""

    kind = "end"

    reason: Reason

    def _check_revealed(self, state: PublicState) -> None:
        state.check_revealed(ending=True)

    def _change(self, state: PublicState) -> PublicState:
        return replace(state, ended=True, coverage=replace(state.coverage, ended_in=state.open_round))

    def deed(self, say: Voice) -> str:
        return say("the programme ended")

    def heading(self, say: Voice) -> str:
        return say("The programme ended")

    def effect(self, calendar: Calendar, say: Voice) -> str:
        return say(
            "No more {audits} are drawn. The promise covers the {audits} drawn so far, not the time at which the "
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
