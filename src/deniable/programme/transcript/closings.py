"""What entries share that close a round for a draw, in time or late: its form, its checks, and how it reads."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from deniable.arrays import BoolArray, IntArray
from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.message import noted
from deniable.programme.calendar import Calendar, due_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import Days, Hash, MaybeHash
from deniable.programme.transcript.hidden import capsule_digits
from deniable.programme.transcript.state import PublicState

NOT_THE_TIME = noted(
    "The promise covers which {targets} were drawn, if no report was the reason for the delay. It does not cover the "
    "time of the draw."
)
"""What there is to say of every round that was closed late: the time decides which other reports are in the draw."""
NO_REASON = "no reason was given"
"""What stands for a reason in the transcript where the office gave none for a late round."""


@dataclass(frozen=True, kw_only=True)
class Closing(Entry):
    """Closes the open round; its reports are final."""

    closes_round = True
    is_drawn = True
    fixes_reports = True

    commitment: Hash
    """To the next round's seed."""
    late: Days
    sealed: MaybeHash
    """Hash of the inputs, sealed for the oversight body."""

    @property
    def new_commitment(self) -> str:
        return self.commitment

    @property
    def is_usual(self) -> bool:
        return not self.late

    def _change(self, state: PublicState) -> PublicState:
        check_sealed(state.parameters, self.sealed, "the round")
        if self.late and self.reason is None:
            raise DeniableError("a round that is closed late needs a reason")
        return state

    @staticmethod
    def late_effect(late: int, say: Voice) -> str:
        """Of a round that is closed so many days late."""
        told = say.counted("The round was closed {number} day late.", "The round was closed {number} days late.", late)
        return f"{told} {say(NOT_THE_TIME)}"

    def effect(self, calendar: Calendar, say: Voice) -> str:
        return self.late_effect(self.late, say) if self.late else say("The promise covers it.")


def names_follow(calendar: Calendar, public_after: int, say: Voice) -> str:
    """Of a draw whose names are public when that round is closed."""
    return say(
        "Selected. The names follow when round {round} is closed, due {due}.",
        round=public_after,
        due=due_in_words(calendar, public_after, say).words,
    )


def check_sealed(parameters: Parameters, sealed: str | None, what: str) -> None:
    """Refuse a record for the oversight body that is missing, or that there is without such a body."""
    if (sealed is None) != (parameters.oversight is None):
        raise DeniableError("a sealed record of {what} must be there just if there is an oversight body", what=what)


def check_draws_at_once(parameters: Parameters) -> None:
    """Refuse to draw a round that must be frozen first."""
    if parameters.randomness is not None:
        raise DeniableError("the programme draws with public values: a round is frozen, and drawn later")


def check_shown_names(parameters: Parameters, audits: Sequence[str]) -> None:
    """Refuse a draw that shows its names where the programme hides them, or that has not as many as all others."""
    if parameters.reveal_after:
        raise DeniableError("the programme does not publish at once whom it draws, and this draw does")
    if len(audits) != parameters.audits:
        raise DeniableError(
            "a round has {audits_number} audits, got {audits_number_2}",
            audits_number=parameters.audits,
            audits_number_2=len(audits),
        )


def check_hidden_names(parameters: Parameters, round_: int, public_after: int, capsule: str) -> None:
    """Refuse a draw with hidden names where the programme has none, or that is not as long as all others."""
    after = parameters.reveal_after
    if not after:
        raise DeniableError("the programme publishes at once whom it draws, and cannot hide it")
    if public_after != round_ + after:
        raise DeniableError(
            "the names of round {round} are public when round {closed} is closed, not round {public_after}",
            round=round_,
            closed=round_ + after,
            public_after=public_after,
        )
    if len(capsule) != (digits := capsule_digits(parameters.audits)):
        raise DeniableError("a capsule has {digits} digits, got {capsule}", digits=digits, capsule=len(capsule))


def without_reports(tally: IntArray, targets: Collection[int], classes: BoolArray | None = None) -> IntArray:
    """Without the reports about these targets, of these classes or of all."""
    left = tally.copy()
    gone = np.zeros_like(tally, np.bool_)
    gone[:, [*targets]] = True
    left[gone if classes is None else gone & classes[:, None]] = 0
    return left
