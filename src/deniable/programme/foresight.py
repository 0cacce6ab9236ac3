"""What the public would read of a decision if it were recorded now. People read it before they confirm."""

from typing import Any

from deniable.languages.voice import Voice
from deniable.programme import rounds
from deniable.programme.access import Access
from deniable.programme.calendar import Clock
from deniable.programme.transcript.decision import Consequence, Decision, consequence, decided_now
from deniable.programme.transcript.entries import Emergency
from deniable.programme.transcript.entry import Entry


class Foresight:
    """Of one programme. It changes nothing, and follows from public facts alone."""

    def __init__(self, access: Access, clock: Clock) -> None:
        self._access = access
        self._clock = clock

    def consequence(self, say: Voice) -> Consequence:
        """What a decision does to the promise, unless it is declared independent of the reports."""
        state = self._access.current_state()
        return consequence(state, state.calendar_round(self._clock()), say)

    def decision(self, kind: type[Decision], reason: str, *, independent: bool, **own: Any) -> Decision:
        """The entry of a decision; refused where it cannot stand."""
        state = self._access.current_state()
        entry = kind.following(state, **decided_now(state, self._clock(), reason, independent=independent), **own)
        entry.after(state)
        return entry

    def visit(self, target: str, report_class: str) -> Entry:
        """The entry of a visit, whether or not a report waits."""
        state = self._access.current_state()
        return Emergency.following(state, audits=[target], report_class=report_class, reason=None)

    def details(self, contact: str | None, hotline: str | None) -> Entry:
        """The entry that tells how to reach the office and its hotline; refused where it cannot stand."""
        return rounds.details(self._access.current_state(), contact, hotline, self._clock())
