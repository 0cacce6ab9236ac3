"""A round that was just closed: whom it selected, or that it is frozen, and what to do next."""

from dataclasses import dataclass
from itertools import dropwhile, islice, takewhile

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.pages.common import names_to_publish
from deniable.console.public_record import Record, Unrecorded
from deniable.console.rendering import render
from deniable.console.security import console_of
from deniable.console.voices import voice_of
from deniable.languages.voice import Voice
from deniable.programme.calendar import Day, due_in_words
from deniable.programme.programme import Programme
from deniable.programme.public.frozen_rounds import FrozenRound
from deniable.programme.status import Closed, Status


@dataclass(frozen=True)
class NotPublic:
    """A draw whose names the public does not know yet. Confidential."""

    round: int
    names: tuple[str, ...]
    until: int
    """The round with whose closing they become public."""
    due: Day
    """Of that round."""
    is_overdue: bool
    """Whether that round is due already."""


@dataclass(frozen=True)
class ClosedPage:
    round: int
    audits: tuple[str, ...]
    visits: tuple[str, ...]
    """Targets of emergencies whose visits closing the round recorded. Public, as those that follow."""
    earlier_visits: tuple[str, ...]
    """Those that were in the record before, and are not recorded as visited."""
    other_visits: tuple[str, ...]
    """Those of which the record does not tell whether closing the round recorded them."""
    visits_are_public: bool
    """Whether all of them are published."""
    to_publish: tuple[tuple[int, tuple[str, ...]], ...]
    """Earlier rounds whose names the next publication has, with those that are not recorded as visited."""
    already: bool
    next_round: int
    next_due: Day
    has_open_round: bool
    """Not after the last round, or the end of the programme."""
    overdue: int
    secret: NotPublic | None
    """Where the names are not public yet."""
    waiting: FrozenRound | None
    """Where it is frozen and not drawn yet."""
    value_is_out: bool
    """Whether its public value is out by then, or people can have thrown the numbers."""
    has_values: bool
    """Whether the programme draws with public values."""


def not_public(draw: Closed, until: int, status: Status, say: Voice) -> NotPublic:
    due = due_in_words(status.parameters.calendar, until, say)
    return NotPublic(draw.round, draw.audits, until, due, until < status.open_round + status.overdue)


def _maybe_recorded_by_closing(record: Record, round_: int) -> frozenset[str]:
    """Targets, by their present names, of the emergencies directly before the entry that closes the round. Those that
    closing recorded are among them.
    """
    before = islice(dropwhile(lambda one: one.round != round_ or one.due is None, record.events), 1, None)
    emergencies = takewhile(lambda one: one.kind == "emergency" and one.round == round_, before)
    return frozenset(record.present.get(audited.name, audited.name) for one in emergencies for audited in one.audited)


def shown(request: Request, programme: Programme, closed: Closed, *, is_closed_now: bool = False) -> Response:
    """What was drawn, or that the round is frozen. Where it `is_closed_now`, `closed` has all visits that closing it
    recorded.
    """
    console, status, say = console_of(request), programme.status(), voice_of(request)
    record = console.public_records.current(programme.parameters, say)
    visits = Unrecorded(record).visits_of(closed.round)
    unclear = frozenset[str]() if is_closed_now else _maybe_recorded_by_closing(record, closed.round)
    entries = [one.number for one in record.events if one.kind == "emergency" and one.round == closed.round]
    page = ClosedPage(
        round=closed.round,
        audits=tuple(record.present.get(name, name) for name in closed.audits),
        visits=tuple(name for name in visits if name in closed.visits),
        earlier_visits=tuple(name for name in visits if name not in unclear.union(closed.visits)),
        other_visits=tuple(name for name in visits if name in unclear.difference(closed.visits)),
        visits_are_public=max(entries, default=0) <= status.published,
        to_publish=names_to_publish(record, status),
        already=closed.already,
        next_round=status.open_round,
        next_due=due_in_words(status.parameters.calendar, status.open_round, say),
        has_open_round=status.has_open_round,
        overdue=status.overdue,
        secret=None if closed.secret_until is None else not_public(closed, closed.secret_until, status, say),
        waiting=None if closed.waiting is None else record.waiting,
        value_is_out=closed.waiting is not None and console.clock() >= closed.waiting.expected,
        has_values=status.parameters.randomness is not None,
    )
    return render(request, "closed.html", page)
