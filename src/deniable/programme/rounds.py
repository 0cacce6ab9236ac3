"""How the open round is closed, with a draw or without one, and what is decided while it is open."""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import numpy as np

from deniable.arrays import IntArray
from deniable.errors import DeniableError
from deniable.message import why_not
from deniable.programme.counting import waiting_visits
from deniable.programme.randomness.source import WITHOUT
from deniable.programme.secrets.capsules import Selected
from deniable.programme.secrets.frozen import Frozen
from deniable.programme.secrets.sealed_inputs import Inputs, noise_of_figures
from deniable.programme.status import Closed, NewEntry
from deniable.programme.transaction import NewSeed, Transaction
from deniable.programme.transcript.closings import NO_REASON, Closing
from deniable.programme.transcript.decision import Decision
from deniable.programme.transcript.entries import Emergency, End, Round, Skip
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.frozen import (
    Drawn,
    DrawnHidden,
    Freeze,
    FrozenDraw,
    PublicValue,
    check_may_draw,
    mixed_in,
)
from deniable.programme.transcript.hidden import SALT_BYTES
from deniable.programme.transcript.office_details import Details
from deniable.programme.transcript.outcomes import CarriedOut
from deniable.programme.transcript.state import PublicState
from deniable.programme.transcript.unannounced import Reveal, Selection
from deniable.programme.transcript.waiting import written_instant
from deniable.programme.transcript.yearly_figures import Figures
from deniable.run import AuditRun

NEW_ROUND = why_not("A new round has begun since you opened this page. Read the dates again, then confirm.")


def close(transaction: Transaction, new_seed: NewSeed, round_: int, reason: str | None, now: datetime) -> Closed:
    """Draw the round, or freeze it where a public value is to come; one that was closed before is as recorded."""
    if round_ < transaction.state.open_round:
        return recorded(transaction, round_)
    late = days_late(transaction, round_, now)
    if transaction.state.parameters.randomness is None:
        return draw(transaction, new_seed, late, reason)
    return freeze(transaction, new_seed, late, reason, now)


def draw(transaction: Transaction, new_seed: NewSeed, late: int, reason: str | None) -> Closed:
    """Count, draw, record, forget and open the next round. `reason` tells the public why it is late, if it is."""
    visits = record_waiting_visits(transaction)
    parameters, (frozen, _, tally) = transaction.state.parameters, _fixed(transaction)
    run, drawn = frozen.drawn(parameters, WITHOUT)
    seal, values, next_seed = _closing(transaction, frozen, new_seed, late, reason)
    if parameters.reveal_after:
        hidden = _hidden(transaction, Selected(frozen.inputs.round, drawn, frozen.inputs.names_salt))
        entry: Closing = Selection.following(transaction.state, **hidden, **values)
    else:
        entry = Round.following(transaction.state, audits=_names(transaction, drawn), **values)
    transaction.append(entry, seal)
    return _opened_next(transaction, run, tally, (frozen.inputs.seed, next_seed), visits)


def freeze(transaction: Transaction, new_seed: NewSeed, late: int, reason: str | None, now: datetime) -> Closed:
    """Count, fix what the round is drawn from, record its hash and open the next round. The draw follows when the
    public value is out (`draw_frozen`).
    """
    state = transaction.state
    state.check_nothing_waits(why_not("another round is frozen"))
    visits = record_waiting_visits(transaction)
    (frozen, run, tally), source = _fixed(transaction), state.parameters.randomness
    assert source is not None
    value_at = source.value_at(state.parameters.calendar.due(state.open_round), now)
    seal, values, next_seed = _closing(transaction, frozen, new_seed, late, reason)
    entry = Freeze.following(
        transaction.state,
        inputs=frozen.hash(state.parameters.programme),
        value_at=written_instant(value_at),
        beacon=source.beacon(value_at),
        **values,
    )
    transaction.append(entry, seal)
    transaction.write_frozen(frozen)
    return _opened_next(transaction, run, tally, (frozen.inputs.seed, next_seed), visits)


def _fixed(transaction: Transaction) -> tuple[Frozen, AuditRun, IntArray]:
    """What the open round is drawn from, with the seed that was committed to; the run before it; and the tally.

    The salts hide what is published of it, where anything is. The draw follows from neither.
    """
    parameters, (run, tally) = transaction.state.parameters, transaction.read_counts()
    salt, names_salt = (
        secrets.token_bytes(SALT_BYTES) if is_needed else bytes(SALT_BYTES)
        for is_needed in (parameters.randomness is not None, parameters.reveal_after > 0)
    )
    inputs = Inputs(transaction.state.open_round, tally[parameters.in_draw], transaction.seed(), salt, names_salt)
    return Frozen(inputs, run.save()), run, tally


def _closing(
    transaction: Transaction, frozen: Frozen, new_seed: NewSeed, late: int, reason: str | None
) -> tuple[bytes | None, dict[str, Any], bytes]:
    """The seal for the oversight body, the fields of every entry that closes a round to draw it, and the next seed."""
    seal, sealed = transaction.seal(frozen.inputs)
    next_seed, committed = new_seed(transaction.state.open_round + 1)
    said = (reason or NO_REASON) if late else None
    return seal, {"commitment": committed, "late": late, "sealed": sealed, "reason": said}, next_seed


def _opened_next(
    transaction: Transaction, run: AuditRun, tally: IntArray, seeds: tuple[bytes, bytes], visits: tuple[str, ...]
) -> Closed:
    """The next round is open, with none of the reports that were in the draw; `seeds` are the last and the next one."""
    tally[transaction.state.parameters.in_draw] = 0
    seed, next_seed = seeds
    transaction.write_round(run, tally, next_seed)
    reveal(transaction)
    figures = _publish_figures(transaction, seed)
    closed = recorded(transaction, transaction.state.closed)
    return replace(closed, already=False, figures=figures, visits=visits)


def draw_frozen(
    transaction: Transaction, value: PublicValue, reason: str | None, now: datetime, of: int | None
) -> Closed:
    """Draw the round that waits, with its public value, or without where that is allowed by now; a round `of` this
    number that does not wait any more is as recorded.
    """
    state = transaction.state
    waits = state.waiting is not None and of in (None, state.waiting.round)
    if of is not None and not waits and 0 < of <= state.closed:
        return recorded(transaction, of)
    if state.waiting is None or not waits:
        raise DeniableError("no round waits for a public value; close the open round when it is due")
    check_may_draw(state.parameters, state.waiting, value, now)
    frozen = transaction.frozen()
    public_value = mixed_in(state.parameters, value.text)
    run, drawn = frozen.drawn(state.parameters, public_value, state.hidden.orders_since_freeze)
    said = {"of": state.waiting.round, "value": value.text, "time": value.time, "reason": reason}
    if state.parameters.reveal_after:
        hidden = _hidden(transaction, Selected(frozen.inputs.round, drawn, frozen.inputs.names_salt))
        entry: FrozenDraw = DrawnHidden.following(state, **hidden, **said)
    else:
        entry = Drawn.following(state, audits=_names(transaction, drawn), **said)
    transaction.append(entry)
    transaction.write_counts(run, transaction.tally())
    transaction.forget_frozen()
    return replace(recorded(transaction, entry.of), already=False)


def _hidden(transaction: Transaction, selected: Selected) -> dict[str, Any]:
    """What fixes the names in public until they follow."""
    parameters = transaction.state.parameters
    return {
        "names": selected.committed(parameters.programme),
        "capsule": transaction.capsule(selected),
        "public_after": selected.round + parameters.reveal_after,
    }


def reveal(transaction: Transaction, *, ending: bool = False) -> None:
    """Append the names that are due: those of the round that lies `reveal_after` back, all of them before the end."""
    for hidden in transaction.state.hidden.draws:
        if ending or transaction.state.is_due(hidden):
            selected = transaction.selected(hidden.round, hidden.capsule)
            audits, salt = _names(transaction, selected.targets), selected.salt.hex()
            entry = Reveal.following(transaction.state, of=hidden.round, audits=audits, salt=salt, reason=None)
            transaction.append(entry)


def _names(transaction: Transaction, drawn: Sequence[int]) -> tuple[str, ...]:
    return tuple(transaction.state.targets[number] for number in drawn)


def skip(
    transaction: Transaction, new_seed: NewSeed, late: int, decided: Mapping[str, Any], wanted: int | None = None
) -> Closed:
    """Record that nothing is drawn, and open the next round, into which the reports go on. Refused where the round is
    not the `wanted` one: of two requests at once, as from a double click, one goes on.
    """
    if wanted not in (None, transaction.state.open_round):
        raise DeniableError("This round is closed already; nothing was changed.")
    visits = record_waiting_visits(transaction)
    run, tally = transaction.read_counts()
    seed = transaction.seed()
    next_seed, committed = new_seed(transaction.state.open_round + 1)
    entry = Skip.following(transaction.state, commitment=committed, late=late, **decided)
    transaction.append(entry)
    transaction.write_round(run, tally, next_seed)
    reveal(transaction)
    figures = _publish_figures(transaction, seed)
    return Closed(entry.round, (), already=False, figures=figures, entry=entry.number, visits=visits)


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
    return apply_with_visits(transaction, entry).entry


def apply_with_visits(transaction: Transaction, entry: Entry) -> NewEntry:
    """The same, and which visits were recorded first, to targets that leave."""
    entry.after(transaction.state)  # refuses an entry that breaks the rules, in words about it
    visits = record_waiting_visits(transaction, entry.left) if entry.left else ()
    if visits:
        entry = type(entry).following(transaction.state, **entry.own())
    run, tally = transaction.read_counts()
    tally = entry.change_run(run, tally, transaction.state)
    if transaction.state.hidden.steps and (entry.joined or entry.left):  # the public state cannot tell
        none = np.zeros_like(run.history.present)
        run.mechanism.rules.eligible(run.history, none, transaction.state.parameters.audits)
    transaction.append(entry)
    transaction.write_counts(run, tally)
    return NewEntry(entry, visits)


def decide(transaction: Transaction, foreseen: Decision, now: datetime) -> Entry:
    """Record this decision, which a person read before. Its rounds must be the same now; entries since then may be
    others.
    """
    state = transaction.state
    if (foreseen.round, foreseen.during) != (state.open_round, state.calendar_round(now)):
        raise DeniableError(NEW_ROUND)
    return apply(transaction, type(foreseen).following(state, **foreseen.own()))


def visit(transaction: Transaction, target: str, report_class: str) -> Entry:
    """Record the visit to which a report that waits leads."""
    entry = _emergency(transaction, target, report_class)
    entry.after(transaction.state)
    if (target, report_class) not in waiting_visits(transaction):
        raise DeniableError(
            "no report of class {report_class} about {name} waits for a visit; enter the report first",
            report_class=report_class,
            name=target,
        )
    return apply(transaction, entry)


def _emergency(transaction: Transaction, target: str, report_class: str) -> Emergency:
    return Emergency.following(transaction.state, audits=[target], report_class=report_class, reason=None)


def record_waiting_visits(transaction: Transaction, targets: Collection[str] | None = None) -> tuple[str, ...]:
    """Record every visit that a report leads to and that is not recorded yet, to these targets or to all; returns the
    targets.

    Before a round is closed: otherwise a person who sees counts could choose when a visit ends a target's run. Before
    targets leave, and before the end, with which the report would be deleted: every such report leads to a visit.
    """
    if transaction.state.parameters.in_draw.all():
        return ()
    waiting = [one for one in waiting_visits(transaction) if targets is None or one[0] in targets]
    for target, name in waiting:
        apply(transaction, _emergency(transaction, target, name))
    return tuple(dict.fromkeys(target for target, _ in waiting))


def carried_out(transaction: Transaction, round_: int, target: str, day: date, now: datetime) -> Entry:
    """Record that the audit took place on this day."""
    state = transaction.state
    if day > (today := state.parameters.calendar.today(now)):
        an_audit = state.parameters.terms.an_audit
        raise DeniableError(
            "the day of {an_audit_word} that took place cannot be after today, {today}, got {day}",
            an_audit_word=an_audit,
            today=today,
            day=day,
        )
    said = {"of": round_, "target": target, "day": day.isoformat(), "reason": None}
    return apply(transaction, CarriedOut.following(state, **said, during=state.calendar_round(now)))


def tell_details(transaction: Transaction, contact: str | None, hotline: str | None, now: datetime) -> Entry:
    """Record how to reach the office and its hotline from today on."""
    return apply(transaction, details(transaction.state, contact, hotline, now))


def details(state: PublicState, contact: str | None, hotline: str | None, now: datetime) -> Details:
    """The entry that says so; refused where it cannot stand."""
    day = state.parameters.calendar.today(now).isoformat()
    entry = Details.following(state, contact=contact, hotline=hotline, day=day, reason=None)
    entry.after(state)
    return entry


def end(transaction: Transaction, reason: str) -> NewEntry:
    """Record the end, after visits that wait and all names that are not public yet, and destroy every secret."""
    visits = record_waiting_visits(transaction)
    reveal(transaction, ending=True)
    entry = End.following(transaction.state, reason=reason)
    transaction.append(entry)
    transaction.destroy()
    return NewEntry(entry, visits)


def days_late(transaction: Transaction, round_: int, now: datetime) -> int:
    """Refuses a round that may not be closed now; public facts alone decide."""
    transaction.state.check_has_open_round()
    if round_ > transaction.state.open_round:
        raise DeniableError(
            "round {open_round} must be closed before round {round}",
            open_round=transaction.state.open_round,
            round=round_,
        )
    calendar = transaction.state.parameters.calendar
    if now < (due := calendar.due(round_)):
        raise DeniableError("round {round} is due at {due} UTC and must not be closed before", round=round_, due=due)
    return calendar.days_late(round_, now)


def recorded(transaction: Transaction, round_: int) -> Closed:
    """A round that was closed before."""
    entries = transaction.entries(round_)
    closing = next(entry for entry in entries if entry.round == round_ and entry.closes_round)
    later = (entry for entry in entries if entry.number > closing.number and not isinstance(entry, Reveal))
    following = next(later, None)
    figures = following if isinstance(following, Figures) else None
    drawn = next((entry for entry in entries if isinstance(entry, FrozenDraw) and entry.of == round_), closing)
    if isinstance(drawn, Selection | DrawnHidden):
        is_secret = any(hidden.round == round_ for hidden in transaction.state.hidden.draws)
        audits = _names(transaction, transaction.selected(round_, drawn.capsule).targets)
        return Closed(round_, audits, True, drawn.public_after if is_secret else None, figures, entry=drawn.number)
    is_frozen, waiting = isinstance(drawn, Freeze), transaction.state.waiting
    waits = waiting if is_frozen and waiting is not None and waiting.round == round_ else None
    return Closed(
        round_,
        drawn.audited,
        True,
        figures=figures,
        waiting=waits,
        source=None if waits is None else transaction.state.parameters.randomness,
        is_frozen=is_frozen,
        entry=drawn.number,
    )


def not_public_yet(transaction: Transaction) -> tuple[Closed, ...]:
    """The draws whose names are secret, oldest first."""
    after = transaction.state.parameters.reveal_after
    return tuple(
        Closed(
            hidden.round,
            _names(transaction, transaction.selected(hidden.round, hidden.capsule).targets),
            True,
            hidden.round + after,
        )
        for hidden in transaction.state.hidden.draws
    )
