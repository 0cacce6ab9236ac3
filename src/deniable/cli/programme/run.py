"""`deniable programme run`: run the scheduler, and print what it does."""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Annotated, Any

import typer

from deniable.cli.groups import Command
from deniable.cli.new_files import check_folder
from deniable.cli.options import DEFAULT_DATABASE, AskPassphrase, Database, KeyPath, shared
from deniable.cli.programme import options
from deniable.cli.programme.rounds import without_audits
from deniable.programme.public.values import waiting_dict
from deniable.programme.scheduler import MOST_OVERDUE, Ended, Published, Scheduler, SchedulerEvent, Trouble, Wait
from deniable.programme.status import Closed

commands = typer.Typer(rich_markup_mode=None)


@commands.command(cls=Command)
def run(
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Close and publish what is due now, and end; for a timer, such as cron's.")
    ] = False,
    public: Annotated[
        Path | None, shared("--public", "It is brought up to date; by default none is.", show_default=False)
    ] = None,
    mirror: options.Mirrors = None,
    catch_up: Annotated[
        bool,
        typer.Option(
            "--catch-up",
            help=f"Close the rounds that are overdue now even if they are more than {MOST_OVERDUE}. Check the clock "
            "first: a round that is closed stays closed. With --public it takes a minute for each of them.",
        ),
    ] = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: Annotated[bool, shared("--json", "One for each event, a line each.")] = False,
) -> None:
    """Close and publish every round when it is due.

    In a programme that draws with drand, it freezes each round, publishes, and draws the round when the beacon is out.
    Numbers that people throw must be entered with deniable programme draw-round.

    It runs until it is stopped. One or two rounds that came due while it was not running are closed at once, the oldest
    first; where more are overdue it closes none without --catch-up, since the clock may be wrong. If the clock goes
    forward by more than an hour while it runs, it closes a round only when it is due by the time that passed, too. What
    is new, overrides and other decisions included, is published at the next full minute, so that the time of
    publication does not tell how long a draw took, and before the next draw, so that the commitment to its seed is
    public by then. It wakes at least once a minute; where the database or the folder cannot be used it says so once and
    tries again every minute. SIGTERM and SIGINT end it between two steps, never within one. While it runs, it writes a
    page to the database every second, whether reports came in or not, and takes those that commands at a terminal
    bring.

    Two of them at once do no harm: a round is drawn once.
    """
    chosen = options.key_of(database, key, passphrase)
    folder = None if public is None else public.absolute()
    if folder is not None:
        check_folder(folder, ())
    with _stopped_by_signals() as wait:
        tell = _as_json if as_json else _in_words
        mirrors = options.chosen_mirrors(mirror)
        scheduler = Scheduler(database, chosen, folder, options.now, wait, tell, catch_up, mirrors)
        scheduler.once() if once else scheduler.forever()


@contextmanager
def _stopped_by_signals() -> Iterator[Wait]:
    """A way to wait that SIGTERM and SIGINT cut short."""
    stop = Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield lambda time: stop.wait(time.total_seconds())
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_words(event: SchedulerEvent) -> None:
    match event:
        case Closed():
            print(f"Round {event.round}: {_drawn(event)}.", flush=True)
        case Published():
            print(f"Published in {event.folder}.", flush=True)
        case Ended():
            print("The programme has ended.", flush=True)
        case Trouble():
            _complain(event)


def _drawn(closed: Closed) -> str:
    """What this prints goes into logs, which have no names that are not public yet."""
    if closed.secret_until is not None:
        return f"drawn, see deniable programme close-round --round {closed.round}"
    if closed.waiting is not None:
        out = "" if closed.waiting.beacon is None else f", out at {closed.waiting.expected:%Y-%m-%d %H:%M} UTC"
        return f"frozen, and waits for {closed.waiting.awaited}{out}"
    return ", ".join(closed.audits) or without_audits(closed)


def _as_json(event: SchedulerEvent) -> None:
    match event:
        case Closed():
            audits = None if event.secret_until is not None else event.audits
            document: dict[str, Any] = {"round": event.round, "audits": audits}
            if event.waiting is not None and event.source is not None:
                document["waiting"] = waiting_dict(event.waiting, event.source)
            print(json.dumps(document), flush=True)
        case Published():
            print(json.dumps({"published": event.entries, "folder": str(event.folder)}), flush=True)
        case Ended():
            print(json.dumps({"ended": True}), flush=True)
        case Trouble():
            _complain(event)


def _complain(trouble: Trouble) -> None:
    print(f"{trouble.sentence}; trying again every minute", file=sys.stderr, flush=True)
