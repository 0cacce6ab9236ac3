"""Entries after the office lost its records: it goes on from a backup, and later counts what hotlines bring again."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.message import noted
from deniable.programme.calendar import Calendar
from deniable.programme.transcript.coverage import Lapse
from deniable.programme.transcript.decision import MadeDuring, not_covered
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import Flag, Hash, Number, Reason
from deniable.programme.transcript.state import PublicState


@dataclass(frozen=True, kw_only=True)
class Recovery(MadeDuring):
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

    @property
    def new_commitment(self) -> str:
        return self.commitment

    @property
    def lapse(self) -> Lapse | None:
        if self.complete:
            return None
        because = noted(
            "The office lost its records, and no copy shows whether {audits} were drawn that this record does not have "
            "(entry {entry}).",
            entry=self.number,
        )
        return Lapse(self.number, self.during, because)

    def _change(self, state: PublicState) -> PublicState:
        if self.lost > state.open_round:
            raise DeniableError("records of round {lost} cannot be lost before it opened", lost=self.lost)
        if self.inputs_lost != (state.waiting is not None and self.lost <= state.waiting.round):
            raise DeniableError(
                "the inputs of a frozen round are lost with the records of that round, and only with them"
            )
        if self.inputs_lost:
            state = replace(state, hidden=state.hidden.without_waiting(), waiting=None)
        return replace(state, is_paused=self.paused, misses_reports=True)

    def deed(self, say: Voice) -> str:
        return say("the office restored its records from a backup")

    def heading(self, say: Voice) -> str:
        return say("The office restored its records from a backup")

    def effect(self, calendar: Calendar, say: Voice) -> str:
        return " ".join(self._effects(calendar, say))

    def _effects(self, calendar: Calendar, say: Voice) -> Iterator[str]:
        yield say(
            "The office lost its records from round {round} on; the {audits} published since then stand, and reports "
            "it had counted since then may be lost.",
            round=self.lost,
        )
        if self.inputs_lost:
            yield say(
                "What the frozen round was to be drawn from is lost, and the round is never drawn: this rests on the "
                "office's word. Reports of that round that the backup has count in the next draw."
            )
        if self.paused:
            yield say("Reports that its hotlines bring do not count until another entry says so.")
        if self.complete:
            yield say(
                "The promise covers this, unless the office made a decision by hand after the backup, and no copy "
                "shows it."
            )
        else:
            yield say(
                "No copy shows everything that was drawn: people may have seen {an_audit} that is not in this record."
            )
            yield not_covered(calendar, self.during, say)
        yield say(
            "The random number of round {round} was replaced when reports of the round could be known already; that "
            "the office did not choose the new one with them in mind rests on its word alone.",
            round=self.round,
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

    def deed(self, say: Voice) -> str:
        return say("reports from hotlines count again")

    def heading(self, say: Voice) -> str:
        return say("Reports from hotlines count again")

    def effect(self, calendar: Calendar, say: Voice) -> str:
        return say(
            "From here on, reports that hotlines bring count again. Those that the office received from its hotlines "
            "between the recovery and this entry do not count. The promise covers this if no report was the reason for "
            "the time of this entry. But a report that was counted before and that the office did not receive again in "
            "that time may count twice, and then show as much as two reports."
        )
