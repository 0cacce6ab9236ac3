"""The work list: audits that were drawn or ordered, until the office records what became of them."""

import datetime
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deniable.programme.status import Closed
from deniable.programme.transcript.state import PublicState


class OpenAudit(NamedTuple):
    """An audit of which no entry says yet whether it took place. Public, unless it has a `secret_until`."""

    round: int
    day: datetime.date
    """On which the round was due."""
    target: str
    """By its present name."""
    secret_until: int | None = None
    """The round with whose closing the public learns the name; None where it knows it. It is recorded only then."""


def work_list(state: PublicState, not_public_yet: Sequence[Closed] = ()) -> tuple[OpenAudit, ...]:
    """The oldest first. A target that was selected again since, by a draw, an emergency or an order by hand, is there
    once, with its latest audit that is public, and with each of these draws whose names are not. What is recorded of
    the latest audit settles the earlier ones, too.
    """
    calendar, rounds = state.parameters.calendar, state.latest_audit
    numbers = np.flatnonzero(rounds)
    public = [
        OpenAudit(round_, calendar.day(round_), state.targets[number])
        for round_, number in zip(rounds[numbers].tolist(), numbers.tolist(), strict=True)
    ]
    secret = [
        OpenAudit(draw.round, calendar.day(draw.round), target, draw.secret_until)
        for draw in not_public_yet
        for target in draw.audits
    ]
    return tuple(sorted([*public, *secret], key=lambda audit: audit.round))
