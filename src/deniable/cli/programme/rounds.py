"""`deniable programme close-round` and `skip`: close a round that is due, with a draw or without one."""

from typing import Annotated, Any

import typer

from deniable.cli.groups import Command
from deniable.cli.options import DEFAULT_DATABASE, AsJson, AskPassphrase, Database, KeyPath, shared
from deniable.cli.programme import options
from deniable.cli.programme.output import (
    answer,
    at_once,
    due,
    local,
    no_open_round,
    to_draw,
    waiting_document,
    waits,
    why_late,
)
from deniable.errors import DeniableError
from deniable.programme.programme import Programme
from deniable.programme.status import Closed, Status
from deniable.programme.transcript.waiting import Waiting
from deniable.wording import count

commands = typer.Typer(rich_markup_mode=None)


@commands.command("close-round", cls=Command)
def close_round(
    *,
    round_: Annotated[
        int | None,
        shared("--round", "by default the oldest that is due and open.", show_default=False),
    ] = None,
    reason: Annotated[
        str | None, shared("--reason", "Needed for a round that is closed late.", show_default=False)
    ] = None,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Close a round that is due, and draw whom to audit.

    In one step the reports are counted, the audits drawn with the seed that was committed to, the transcript extended
    and the counts of the audited targets deleted. A round is never drawn twice: closing it again prints what was
    drawn, and where no round is due the command says so, prints the last one and changes nothing. The public sees the
    audits, and by how many days the round was closed late and why; the promise covers which targets were drawn,
    if no report was the reason for the delay.

    A programme that draws with public values (--randomness at init) freezes the round instead: what it is drawn from is
    fixed, and the public sees the hash of it. Publish at once, before the value is out. Then deniable programme
    draw-round draws it.
    """
    with options.unlocked(database, key, passphrase) as programme:
        status = programme.status()
        if round_ is None and not status.overdue and status.open_round > 1:
            closed: Closed | None = programme.closed_round(status.open_round - 1)
        elif round_ is None and not status.overdue and not status.ended:
            closed = None  # round 1 is not due
        else:
            wanted = status.open_round if round_ is None else round_
            _check_says_why(status, wanted, reason)
            closed = programme.close_round(wanted, reason)
        tell(programme, closed, as_json)


def _check_says_why(status: Status, round_: int, reason: str | None) -> None:
    """Where the round would be closed late now."""
    if status.is_closed_late(round_) and not (reason or "").strip():
        raise DeniableError(
            f"round {round_} is {count(status.late, 'day')} late: say why with --reason TEXT, which is published word "
            "for word; nothing was closed"
        )


@commands.command(cls=Command)
def skip(
    *,
    reason: options.Reason,
    independent: options.Independent = False,
    because: options.Because = False,
    yes: options.Yes = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Close the oldest round that is due without an audit.

    Its reports stay counted and go on into the next round. The public sees that the round was skipped, the reason,
    and whether you declare that it had nothing to do with any report: say so with one of the two options below, which
    decides what the promise still covers.
    """
    declaration = options.declared(independent, because)
    with options.unlocked(database, key, passphrase) as programme:
        options.confirm(programme, because=because, yes=yes)
        closed = programme.skip(reason, independent=declaration)
        coverage = programme.status().coverage.in_words(programme.parameters.voice())
        tell(programme, closed, as_json, coverage, coverage=coverage)


def tell(programme: Programme, closed: Closed | None, as_json: bool, *lines: str, **others: Any) -> None:
    """Print what became of a round, and these lines; `others` are for the document."""
    status = programme.status()
    document = {
        "round": None if closed is None else closed.round,
        "audits": [] if closed is None else closed.audits,
        "already": closed is not None and closed.already,
        "secret_until": None if closed is None else closed.secret_until,
        "visits": [] if closed is None else closed.visits,
        "figures": None if closed is None or closed.figures is None else closed.figures.own(),
        "waiting": waiting_document(status),
        **others,
        "next_round": status.open_round if status.has_open_round else None,
        "next_due": status.due.isoformat() if status.has_open_round else None,
        "overdue": status.overdue,
    }
    answer(as_json, document, *_told(closed, status), *lines)


def _told(closed: Closed | None, status: Status) -> list[str]:
    """That nothing was drawn comes first, or else an old audit passes for a new one."""
    nothing = f"Nothing was drawn: {_why_nothing(status)}"
    if closed is None:
        return [nothing]
    is_last = closed.already and not status.overdue and not status.ended and closed.round == status.open_round - 1
    if closed.waiting is not None:
        return [*([nothing] if is_last else []), *_frozen(closed, closed.waiting, status)]
    if is_last:
        end = "" if status.has_open_round else f" {no_open_round(status)}"
        return [nothing, _drawn(closed, status) + end + _unpublished(status)]
    return [_drawn(closed, status), _next(status)]


def _why_nothing(status: Status) -> str:
    if status.has_open_round:
        return f"round {status.open_round} is not due until {local(status.parameters.calendar, status.due)}."
    return f"round {status.open_round - 1} was the last one."


def _frozen(closed: Closed, waiting: Waiting, status: Status) -> list[str]:
    before = ", as it was closed before," if closed.already else ""
    return [
        f"Round {closed.round}{before} is frozen: what it is drawn from is fixed. Its hash, which becomes public:",
        f"  {waiting.inputs}",
        f"It {waits(status)}{_besides(closed, status)}",
        to_draw(status),
    ]


def _drawn(closed: Closed, status: Status) -> str:
    before = ", as it was closed before" if closed.already else ""
    what = "audit " + ", ".join(closed.audits) if closed.audits else without_audits(closed)
    told = f"Round {closed.round}{before}: {what}.{_besides(closed, status)}"
    if closed.secret_until is None:
        return told
    calendar = status.parameters.calendar
    return (
        f"{told} Do not show this before round {closed.secret_until} is closed, due at "
        f"{local(calendar, calendar.due(closed.secret_until))}: until then the visit is unannounced."
    )


def without_audits(closed: Closed) -> str:
    """Why a round that waits for nothing has no audits."""
    return "frozen, and never drawn" if closed.is_frozen else "skipped"


def _besides(closed: Closed, status: Status) -> str:
    """What else was recorded when the round was closed."""
    told = ""
    if closed.visits:
        told += f" {at_once(closed.visits)}"
    if closed.figures is not None:
        told += f" Also recorded: {closed.figures.deed(status.parameters.voice())}."
    return told


def _next(status: Status) -> str:
    if status.overdue:
        more = f"{count(status.overdue, 'more round')} can be closed: run deniable programme close-round."
        return f"{more} {why_late(status)}".strip()
    return due(status) + _unpublished(status)


def _unpublished(status: Status) -> str:
    return " What is new can be published: deniable programme publish." * (status.entries > status.published)
