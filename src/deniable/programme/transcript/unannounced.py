"""Entries of a programme whose visits are unannounced: a draw without names, and the names some rounds later."""

from collections.abc import Sequence
from dataclasses import dataclass

from deniable.arrays import IntArray
from deniable.languages.voice import Voice
from deniable.programme.calendar import Calendar
from deniable.programme.transcript.closings import (
    Closing,
    check_draws_at_once,
    check_hidden_names,
    names_follow,
    without_reports,
)
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import Hash, Hexadecimal, Number, SomeNames
from deniable.programme.transcript.state import PublicState
from deniable.run import AuditRun


@dataclass(frozen=True, kw_only=True)
class Selection(Closing):
    """Closes the open round with a draw whose names follow when round `public_after` is closed."""

    kind = "selection"

    names: Hash
    """The commitment to them (`names_commitment`)."""
    capsule: Hexadecimal
    """The same names, and the salt, for the office itself: it can reveal them even after it lost its records."""
    public_after: Number

    def _change(self, state: PublicState) -> PublicState:
        check_draws_at_once(state.parameters)
        check_hidden_names(state.parameters, self.round, self.public_after, self.capsule)
        return super()._change(state).after_selection(self.names, self.capsule)

    def adopt(self, run: AuditRun, tally: IntArray, state: PublicState, drawn: Sequence[int]) -> IntArray:
        """What `change_run` does where the names are public; `drawn` are the targets' numbers."""
        return without_reports(tally, run.adopt(drawn), state.parameters.in_draw)

    def deed(self, say: Voice) -> str:
        return say(
            "{targets} were selected, and the names follow when round {round} is closed", round=self.public_after
        )

    def heading(self, say: Voice) -> str:
        return ""

    def follow(self, calendar: Calendar, say: Voice) -> str:
        """When the names follow."""
        return names_follow(calendar, self.public_after, say)


@dataclass(frozen=True, kw_only=True)
class Reveal(Entry):
    """The names that were drawn in round `of`, in the order drawn: they must be those committed to."""

    kind = "reveal"
    is_drawn = True

    of: Number
    audits: SomeNames
    salt: Hash

    @property
    def audited(self) -> tuple[str, ...]:
        return self.audits

    @property
    def audited_in(self) -> int:
        return self.of

    @property
    def is_usual(self) -> bool:
        return True

    def _check_revealed(self, state: PublicState) -> None:
        """It is what the others wait for."""

    def _check_figures(self, state: PublicState) -> None:
        """Figures wait for it, too."""

    def _change(self, state: PublicState) -> PublicState:
        return state.after_reveal(self.of, self.audits, bytes.fromhex(self.salt))

    def deed(self, say: Voice) -> str:
        return say("in round {round} the draw selected {names}", round=self.of, names=say.all_of(self.audits))

    def heading(self, say: Voice) -> str:
        return say("The names of round {round} are public", round=self.of)

    def effect(self, calendar: Calendar, say: Voice) -> str:
        return say("The promise covers it: these names were drawn and fixed then.")
