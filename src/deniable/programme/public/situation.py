"""Where a programme stands, as far as the promise speaks of it."""

from dataclasses import dataclass
from typing import Literal, Self

from deniable.languages.voice import Voice
from deniable.programme.calendar import due_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.transcript.coverage import Coverage
from deniable.programme.transcript.fields import OfficeDetails
from deniable.programme.transcript.state import PublicState

Standing = Literal["holds", "lapsed", "lost"]
"""Of the promise: it covers reports of now, or those from a later day on, or there are no draws for which it could hold
again.
"""


@dataclass(frozen=True)
class Situation:
    """Public."""

    coverage: Coverage
    open_round: int
    n_targets: int
    """That take part."""
    resting: int = 0
    """How many of them the next draw leaves out, since they were audited just before."""
    is_paused: bool = False
    """Whether reports that hotlines bring do not count, since a recovery."""
    ended: bool = False
    waits: bool = False
    """Whether a round is frozen and not drawn yet."""
    details: OfficeDetails | None = None
    """How to reach the office and its hotline, as far as it told."""

    @classmethod
    def at_start(cls, parameters: Parameters) -> Self:
        coverage = Coverage(parameters.calendar, visit_classes=parameters.visit_classes, last_round=parameters.horizon)
        return cls(coverage, open_round=1, n_targets=len(parameters.targets))

    @classmethod
    def after(cls, state: PublicState) -> Self:
        return cls(
            coverage=state.coverage,
            open_round=state.open_round,
            n_targets=int(state.history.present.sum()),
            resting=_resting(state),
            is_paused=state.is_paused,
            ended=state.ended,
            waits=state.waiting is not None and not state.ended,
            details=state.details,
        )

    @property
    def is_past(self) -> bool:
        """Whether a new report leads to nothing: the programme has ended, or there are no more draws, and no class of
        reports leads to a visit.
        """
        last = self.coverage.last_round
        is_drawn = last is not None and self.open_round > last and not self.waits
        return self.ended or (is_drawn and not self.coverage.visit_classes)

    def is_over(self, parameters: Parameters) -> bool:
        """Whether there are no more draws."""
        return self.takes_no_more(parameters) and not self.waits

    def takes_no_more(self, parameters: Parameters) -> bool:
        """Whether no draw counts a report that comes in now; the last round may be frozen and still to be drawn."""
        return self.ended or (parameters.horizon is not None and self.open_round > parameters.horizon)

    def standing(self, parameters: Parameters) -> Standing:
        """Of the promise to a person who reports in the open round."""
        first = self.coverage.holds_from
        if parameters.horizon is not None and first > parameters.horizon:
            return "lost"
        if first <= self.open_round:
            return "holds"
        return "lost" if self.takes_no_more(parameters) else "lapsed"

    def since(self, say: Voice) -> str:
        """The day and the hour from which on the promise covers reports, after a lapse."""
        return due_in_words(self.coverage.calendar, self.coverage.holds_from - 1, say).words

    def reached(self, say: Voice) -> tuple[str, ...]:
        """How to reach the office, where it told: the last of some sentences, since a contact may have no full stop."""
        contact = None if self.details is None else self.details.contact
        if contact is None:
            return ()
        return (say("You can reach the office here: {contact}", contact=say.apart(contact)),)


def _resting(state: PublicState) -> int:
    """Those of the last draws are different targets, also where their names are not public yet."""
    rules, audits = state.parameters.rules, state.parameters.audits
    named = int((state.history.present & rules.resting(state.history)).sum())
    hidden = audits * min(len(state.hidden.draws), rules.cooldown)
    return max(named, min(named + hidden, audits * rules.cooldown))
