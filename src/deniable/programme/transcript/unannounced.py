"""Entries of a programme whose visits are unannounced: a draw without names, and the names some rounds later."""

from collections.abc import Sequence
from dataclasses import dataclass

from deniable.arrays import IntArray
from deniable.programme.calendar import Calendar, due_in_words
from deniable.programme.transcript.draws import Draw, check_draws_at_once, check_hidden_names, without_reports
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import Hash, Hexadecimal, Number, SomeNames
from deniable.programme.transcript.state import PublicState
from deniable.run import AuditRun


@dataclass(frozen=True, kw_only=True)
class Selection(Draw):
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

    @property
    def deed(self) -> str:
        return f"targets were selected, and the names follow when round {self.public_after} is closed"

    @property
    def heading(self) -> str:
        return ""

    def follow(self, calendar: Calendar) -> str:
        """When the names follow."""
        due = due_in_words(calendar, self.public_after).words
        return f"Selected. The names follow when round {self.public_after} is closed, due {due}."


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

    @property
    def deed(self) -> str:
        return f"in round {self.of} the draw selected {', '.join(self.audits)}"

    @property
    def heading(self) -> str:
        return f"The names of round {self.of} are public"

    def effect(self, calendar: Calendar) -> str:
        return "The guarantee covers it: these names were drawn and fixed then."
