"""A round that was just closed: whom it selected, or that it is frozen, and what to do next."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.console import Console
from deniable.console.pages.common import names_to_publish
from deniable.console.public_record import Unrecorded
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
    visits_are_public: bool
    """Whether all of them are published."""
    to_publish: tuple[tuple[int, tuple[str, ...]], ...]
    """Earlier rounds whose names the next publication has, with those that are not recorded as visited."""
    already: bool
    next_round: int
    next_due: Day
    overdue: int
    secret: NotPublic | None
    """Where the names are not public yet."""
    waiting: FrozenRound | None
    """Where it is frozen and not drawn yet."""
    has_values: bool
    """Whether the programme draws with public values."""


def not_public(draw: Closed, until: int, status: Status, say: Voice) -> NotPublic:
    due = due_in_words(status.parameters.calendar, until, say)
    return NotPublic(draw.round, draw.audits, until, due, until < status.open_round + status.overdue)


def visits_of(console: Console, programme: Programme, round_: int) -> tuple[str, ...]:
    """Targets of this round's emergencies in the record that are not recorded as visited."""
    return Unrecorded(console.public_records.current(programme.parameters).events).visits_of(round_)


def shown(
    request: Request, programme: Programme, closed: Closed, earlier_visits: tuple[str, ...] | None = None
) -> Response:
    """What was drawn, or that the round is frozen. `earlier_visits` were in the record before; without it, all were."""
    console, status, say = console_of(request), programme.status(), voice_of(request)
    record = console.public_records.current(programme.parameters, say)
    visits = visits_of(console, programme, closed.round)
    earlier = visits if earlier_visits is None else earlier_visits
    entries = [one.number for one in record.events if one.kind == "emergency" and one.round == closed.round]
    page = ClosedPage(
        round=closed.round,
        audits=closed.audits,
        visits=tuple(name for name in visits if name not in earlier),
        earlier_visits=tuple(name for name in visits if name in earlier),
        visits_are_public=max(entries, default=0) <= status.published,
        to_publish=names_to_publish(record, status),
        already=closed.already,
        next_round=status.open_round,
        next_due=due_in_words(status.parameters.calendar, status.open_round, say),
        overdue=status.overdue,
        secret=None if closed.secret_until is None else not_public(closed, closed.secret_until, status, say),
        waiting=None if closed.waiting is None else record.waiting,
        has_values=status.parameters.randomness is not None,
    )
    return render(request, "closed.html", page)
