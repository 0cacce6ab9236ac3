"""How the open round is closed, with a draw or without one, and what is decided while it is open."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import numpy as np

from deniable.errors import DeniableError
from deniable.programme.counting import waiting_visits
from deniable.programme.secrets.capsules import Selected
from deniable.programme.secrets.sealed_inputs import Inputs, noise_of_figures
from deniable.programme.status import Closed
from deniable.programme.transaction import NewSeed, Transaction
from deniable.programme.transcript.chain import commitment
from deniable.programme.transcript.draws import Draw
from deniable.programme.transcript.entries import Emergency, End, Round, Skip
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.figures import Figures
from deniable.programme.transcript.outcomes import CarriedOut
from deniable.programme.transcript.unannounced import Reveal, Selection

_NO_REASON = "no reason was given"


def new_seed(programme: str, entropy: Callable[[int], bytes], round_: int) -> tuple[bytes, str]:
    """`NewSeed`, once the others are given."""
    seed = entropy(32)
    return seed, commitment(programme, round_, seed)


def draw(transaction: Transaction, new_seed: NewSeed, late: int, reason: str | None) -> Closed:
    """Count, draw, record, forget and open the next round. `reason` tells the public why it is late, if it is."""
    visits = record_waiting_visits(transaction)
    run, tally, seed = transaction.read_round()
    state = transaction.state
    parameters, reports = state.parameters, tally[state.parameters.in_draw]
    drawn = run.select(parameters.weighed(reports), audits=parameters.audits)
    selected = Selected.now(state.open_round, drawn, is_hidden=parameters.reveal_after > 0)
    seal, sealed = transaction.seal(Inputs(selected.round, reports, seed, selected.salt))
    next_seed, commitment = new_seed(transaction.state.open_round + 1)
    entry = _closing(
        transaction,
        selected,
        commitment=commitment,
        late=late,
        reason=(reason or _NO_REASON) if late else None,
        sealed=sealed,
    )
    transaction.append(entry, seal)
    tally[parameters.in_draw] = 0
    transaction.write_round(run, tally, next_seed)
    reveal(transaction)
    figures = _publish_figures(transaction, seed)
    return replace(_closed(transaction, entry, already=False), figures=figures, visits=visits)


def _closing(transaction: Transaction, selected: Selected, **values: Any) -> Draw:
    """The entry of a draw: with the names, or with what fixes them until they follow."""
    state = transaction.state
    if not state.parameters.reveal_after:
        return Round.following(state, audits=_names(transaction, selected), **values)
    return Selection.following(
        state,
        names=selected.committed(state.parameters.programme),
        capsule=transaction.capsule(selected),
        public_after=state.open_round + state.parameters.reveal_after,
        **values,
    )


def reveal(transaction: Transaction, *, ending: bool = False) -> None:
    """Append the names that are due: those of the round that lies `reveal_after` back, all of them before the end."""
    for draw in transaction.state.hidden.draws:
        if ending or transaction.state.is_due(draw):
            selected = transaction.selected(draw)
            audits, salt = _names(transaction, selected), selected.salt.hex()
            entry = Reveal.following(transaction.state, of=draw.round, audits=audits, salt=salt, reason=None)
            transaction.append(entry)


def _names(transaction: Transaction, selected: Selected) -> tuple[str, ...]:
    return tuple(transaction.state.targets[number] for number in selected.targets)


def skip(transaction: Transaction, new_seed: NewSeed, late: int, decided: Mapping[str, Any]) -> Closed:
    """Record that nothing is drawn, and open the next round, into which the reports go on."""
    visits = record_waiting_visits(transaction)
    run, tally = transaction.read_counts()
    seed = transaction.seed()
    next_seed, commitment = new_seed(transaction.state.open_round + 1)
    entry = Skip.following(transaction.state, commitment=commitment, late=late, **decided)
    transaction.append(entry)
    transaction.write_round(run, tally, next_seed)
    reveal(transaction)
    return Closed(entry.round, (), already=False, figures=_publish_figures(transaction, seed), visits=visits)


def _publish_figures(transaction: Transaction, seed: bytes) -> Figures | None:
    """Record the yearly figures, where the round that was closed is the last of a calendar year; `seed` is that of
    this round, which commits to their noise whether anything was drawn or not.
    """
    state, noise = transaction.state, transaction.state.parameters.figures
    if noise is None or not state.owes_figures:
        return None
    received = transaction.received()
    numbers = noise.drawn(noise_of_figures(state.parameters.programme, state.closed, seed, received), received)
    seal, sealed = transaction.seal(Inputs(state.closed, received[:, None], seed))
    entry = Figures.due(state, numbers, sealed)
    transaction.append(entry, seal)
    return entry


def apply(transaction: Transaction, entry: Entry) -> Entry:
    """Append an entry made in the open round, with what it means for the targets' runs."""
    entry.after(transaction.state)  # refuses what cannot stand, in words about the entry
    run, tally = transaction.read_counts()
    tally = entry.change_run(run, tally, transaction.state)
    if transaction.state.hidden.steps and (entry.joined or entry.left):  # the public state cannot tell
        none = np.zeros_like(run.history.present)
        run.mechanism.rules.eligible(run.history, none, transaction.state.parameters.audits)
    transaction.append(entry)
    transaction.write_counts(run, tally)
    return entry


def visit(transaction: Transaction, target: str, report_class: str) -> Entry:
    """Record the visit to which a report that waits leads."""
    entry = _emergency(transaction, target, report_class)
    entry.after(transaction.state)
    if (target, report_class) not in waiting_visits(transaction):
        raise DeniableError(
            f"no report of class {report_class} about {target} waits for a visit; enter the report first"
        )
    return apply(transaction, entry)


def _emergency(transaction: Transaction, target: str, report_class: str) -> Emergency:
    return Emergency.following(transaction.state, audits=[target], report_class=report_class, reason=None)


def record_waiting_visits(transaction: Transaction) -> tuple[str, ...]:
    """Record every visit that a report leads to and that is not recorded yet; returns the targets.

    Before a round is closed: otherwise a person who sees counts could choose when a visit ends a target's run.
    """
    if transaction.state.parameters.in_draw.all():
        return ()
    waiting = waiting_visits(transaction)
    for target, name in waiting:
        apply(transaction, _emergency(transaction, target, name))
    return tuple(dict.fromkeys(target for target, _ in waiting))


def carried_out(transaction: Transaction, round_: int, target: str, day: date, now: datetime) -> Entry:
    """Record that the audit took place on this day."""
    state = transaction.state
    if day > (today := state.parameters.calendar.today(now)):
        raise DeniableError(f"the day of an audit that took place cannot be after today, {today}, got {day}")
    said = {"of": round_, "target": target, "day": day.isoformat(), "reason": None}
    return apply(transaction, CarriedOut.following(state, **said, during=state.calendar_round(now)))


def end(transaction: Transaction, reason: str) -> Entry:
    """Record the end, after all names that are not public yet, and destroy every secret."""
    reveal(transaction, ending=True)
    entry = End.following(transaction.state, reason=reason)
    transaction.append(entry)
    transaction.destroy()
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
    entries = transaction.entries(round_)
    closing = next(entry for entry in entries if entry.round == round_ and entry.closes_round)
    later = (entry for entry in entries if entry.number > closing.number and not isinstance(entry, Reveal))
    following = next(later, None)
    figures = following if isinstance(following, Figures) else None
    return replace(_closed(transaction, closing, already=True), figures=figures)


def _closed(transaction: Transaction, closing: Entry, *, already: bool) -> Closed:
    if not isinstance(closing, Selection):
        return Closed(closing.round, closing.audited, already)
    is_secret = any(draw.round == closing.round for draw in transaction.state.hidden.draws)
    audits = _names(transaction, transaction.selected(closing))
    return Closed(closing.round, audits, already, closing.public_after if is_secret else None)


def not_public_yet(transaction: Transaction) -> tuple[Closed, ...]:
    """The draws whose names are secret, oldest first."""
    after = transaction.state.parameters.reveal_after
    return tuple(
        Closed(draw.round, _names(transaction, transaction.selected(draw)), True, draw.round + after)
        for draw in transaction.state.hidden.draws
    )
