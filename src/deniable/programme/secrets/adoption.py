"""Entries adopted from a copy of the transcript: what a run is after draws whose records are lost."""

from collections.abc import Callable, Sequence

from deniable.arrays import IntArray
from deniable.programme.secrets.frozen import Frozen
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.frozen import Drawn, DrawnHidden, Freeze, FrozenDraw
from deniable.programme.transcript.recoveries import Recovery
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript.unannounced import Selection
from deniable.run import AuditRun

HiddenTargets = Callable[[Selection | DrawnHidden], Sequence[int]]
"""The numbers of the targets that such a draw selected."""


class Adoption:
    """One run on its way through entries; `frozen` is what the round that waits is drawn from, where it is known."""

    def __init__(self, run: AuditRun, frozen: Frozen | None) -> None:
        self.run = run
        self.frozen = frozen
        self._at_freeze = b""
        """The run when the round that waits was frozen, where what it is drawn from is lost."""

    def adopt(self, entry: Entry, tally: IntArray, state: PublicState, hidden: HiddenTargets) -> IntArray:
        """Returns the open round's reports after the entry; `state` is that before it."""
        if isinstance(entry, Freeze):
            self._at_freeze = self.run.save()
        elif isinstance(entry, Recovery) and entry.inputs_lost:
            self.frozen = None
        elif isinstance(entry, FrozenDraw):
            return self._draw(entry, tally, state, hidden)
        elif isinstance(entry, Selection):
            return entry.adopt(self.run, tally, state, hidden(entry))
        return entry.change_run(self.run, tally, state)

    def _draw(self, entry: FrozenDraw, tally: IntArray, state: PublicState, hidden: HiddenTargets) -> IntArray:
        """As it was drawn, where what it was drawn from is known: no report is lost then."""
        if self.frozen is not None:
            public_value, orders = entry.mixed_in(state.parameters), state.hidden.orders_since_freeze
            self.run, _ = self.frozen.drawn(state.parameters, public_value, orders)
            self.frozen = None
            return tally
        assert isinstance(entry, Drawn | DrawnHidden)
        drawn = [state.numbers[name] for name in entry.audits] if isinstance(entry, Drawn) else hidden(entry)
        self.run = AuditRun.restore(self.run.mechanism, self._at_freeze)
        return entry.adopt(self.run, tally, state, drawn)
