"""What one person entered, or asked for, so that a frozen round is drawn, until another does the same: in memory.

A restart forgets it, and the people enter it again. Nothing is written but lines of the activity log, which do not have
the numbers.
"""

from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True)
class EnteredNumbers:
    """The numbers that people threw, as one person read them."""

    person: str
    """The id of who entered them."""
    numbers: str
    """In the form in which they are published, so that two people's can be compared."""
    time: str
    """YYYY-MM-DDTHH:MM:SSZ."""


@dataclass(frozen=True)
class AskedWithout:
    """One person wants the round to be drawn without its public value."""

    person: str
    """The id of who asked."""
    reason: str


class PendingDraws:
    """Of one frozen round, which is known by the number of the entry that froze it: what belongs to another round is
    forgotten.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._freeze = 0
        self._entered: dict[str, EnteredNumbers] = {}
        self._asked: AskedWithout | None = None

    def enter(self, freeze: int, entered: EnteredNumbers) -> list[EnteredNumbers]:
        """In place of what this person entered before. Returns what others entered: of two people who enter at the same
        moment, one sees the other's.
        """
        with self._lock:
            self._keep_only(freeze)
            self._entered[entered.person] = entered
            return [one for one in self._entered.values() if one.person != entered.person]

    def entered(self, freeze: int) -> list[EnteredNumbers]:
        """By all people, the first one first."""
        with self._lock:
            self._keep_only(freeze)
            return list(self._entered.values())

    def ask_without(self, freeze: int, asked: AskedWithout) -> bool:
        """Returns False where it was asked for before."""
        with self._lock:
            self._keep_only(freeze)
            if self._asked is not None:
                return False
            self._asked = asked
            return True

    def asked_without(self, freeze: int) -> AskedWithout | None:
        with self._lock:
            self._keep_only(freeze)
            return self._asked

    def withdraw(self, freeze: int) -> None:
        """The request, not the numbers."""
        with self._lock:
            self._keep_only(freeze)
            self._asked = None

    def _keep_only(self, freeze: int) -> None:
        if freeze != self._freeze:
            self._freeze, self._entered, self._asked = freeze, {}, None
