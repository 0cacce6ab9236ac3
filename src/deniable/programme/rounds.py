"""How the open round is closed, with a draw or without one, and what is decided while it is open."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import numpy as np

from deniable.errors import DeniableError
from deniable.programme.secrets.sealed_inputs import Inputs
from deniable.programme.status import Closed
from deniable.programme.transaction import NewSeed, Transaction
from deniable.programme.transcript.chain import commitment
from deniable.programme.transcript.entries import Round, Skip
from deniable.programme.transcript.entry import Entry

_NO_REASON = "no reason was given"


def new_seed(programme: str, entropy: Callable[[int], bytes], round_: int) -> tuple[bytes, str]:
    """`NewSeed`, once the others are given."""
    seed = entropy(32)
    return seed, commitment(programme, round_, seed)


def draw(transaction: Transaction, new_seed: NewSeed, late: int, reason: str | None) -> Closed:
    """Count, draw, record, forget and open the next round. `reason` tells the public why it is late, if it is."""
    run, tally, seed = transaction.read_round()
    drawn = run.select(tally, audits=transaction.state.parameters.audits)
    seal, sealed = transaction.seal(Inputs(transaction.state.open_round, tuple(tally.tolist()), seed))
    next_seed, commitment = new_seed(transaction.state.open_round + 1)
    entry = Round.following(
        transaction.state,
        audits=[transaction.state.targets[number] for number in drawn],
        commitment=commitment,
        late=late,
        reason=(reason or _NO_REASON) if late else None,
        sealed=sealed,
    )
    transaction.append(entry, seal)
    transaction.write_round(run, np.zeros_like(tally), next_seed)
    return Closed(entry.round, entry.audits, already=False)


def skip(transaction: Transaction, new_seed: NewSeed, late: int, decided: Mapping[str, Any]) -> Closed:
    """Record that nothing is drawn, and open the next round, into which the reports go on."""
    run, tally = transaction.read_counts()
    next_seed, commitment = new_seed(transaction.state.open_round + 1)
    entry = Skip.following(transaction.state, commitment=commitment, late=late, **decided)
    transaction.append(entry)
    transaction.write_round(run, tally, next_seed)
    return Closed(entry.round, (), already=False)


def apply(transaction: Transaction, entry: Entry) -> Entry:
    """Append an entry made in the open round, with what it means for the targets' runs."""
    entry.after(transaction.state)  # refuses what cannot stand, in words about the entry
    run, tally = transaction.read_counts()
    tally = entry.change_run(run, tally, transaction.state)
    transaction.append(entry)
    transaction.write_counts(run, tally)
    return entry


def days_late(transaction: Transaction, round_: int, now: datetime) -> int:
    """Refuses a round that may not be closed now; public facts alone decide."""
    if round_ > transaction.state.open_round:
        raise DeniableError(f"round {transaction.state.open_round} must be closed before round {round_}")
    calendar = transaction.state.parameters.calendar
    if now < (due := calendar.due(round_)):
        raise DeniableError(f"round {round_} is due at {due:%Y-%m-%d %H:%M} UTC and must not be closed before")
    return calendar.days_late(round_, now)


def recorded(transaction: Transaction, round_: int) -> Closed:
    """A round that was closed before."""
    closing = next(entry for entry in transaction.entries(round_) if entry.round == round_ and entry.closes_round)
    return Closed(round_, closing.audited, already=True)
