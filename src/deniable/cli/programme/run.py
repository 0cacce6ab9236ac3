"""`deniable programme run`: closes every round when it is due and publishes it, for as long as it runs."""

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Annotated, Any

import typer

from deniable.cli.options import Command
from deniable.cli.programme import options
from deniable.errors import DeniableError
from deniable.programme.calendar import Clock
from deniable.programme.public.folder import check_apart
from deniable.programme.secrets.keys import Key, KeyFile
from deniable.programme.status import Status
from deniable.storage.store import Store, StoreError

commands = typer.Typer(rich_markup_mode=None)

MINUTE = timedelta(minutes=1)
MOST_OVERDUE = 2
"""Rounds that are closed unasked: more of them come of a clock that is wrong, more often than of an outage."""
LATE = "the round is closed automatically, and the office's computer could not do so in time"

Wait = Callable[[timedelta], bool]
"""Waits that long; returns whether to stop, perhaps sooner."""


@commands.command(cls=Command)
def run(
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Close and publish what is due now, and end; for a timer, such as cron's.")
    ] = False,
    publish: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", show_default=False, help="Publish into this folder; by default nowhere."),
    ] = None,
    catch_up: Annotated[
        bool,
        typer.Option(
            "--catch-up",
            help=f"Close the rounds that are overdue now even if they are more than {MOST_OVERDUE}. Check the clock "
            "first: a round that is closed stays closed.",
        ),
    ] = False,
    database: options.Database = options.DEFAULT,
    key: options.KeyPath = None,
    passphrase: options.AskPassphrase = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document a line instead of text.")] = False,
) -> None:
    """Close and publish every round when it is due.

    It runs until it is stopped. One or two rounds that came due while it was not running are closed at once, the oldest
    first; where more are overdue it closes none without --catch-up, since the clock may be wrong. What is new,
    overrides and other decisions included, is published at the next full minute, so that the time of publication does
    not tell how long a draw took, and before the next draw, so that the commitment to its seed is public by then. It
    wakes at least once a minute; where the database or the folder cannot be used it says so once and tries again every
    minute. SIGTERM and SIGINT end it between two steps, never within one.

    Two of them at once do no harm: a round is drawn once.
    """
    chosen = options.key_of(database, key, passphrase)

    def say(words: str, document: dict[str, Any]) -> None:
        print(json.dumps(document) if as_json else words, flush=True)

    folder = None if publish is None else publish.absolute()
    if folder is not None:
        check_apart(folder, Store(database).file, _files(chosen))  # now, and not at the next full minute
    with _stopped_by_signals() as wait:
        service = Service(database, chosen, folder, options.now, wait, say, catch_up)
        service.once() if once else service.forever()


def _files(key: Key) -> list[Path]:
    return [key.path] if isinstance(key, KeyFile) else []


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


@dataclass
class Service:
    """Closes and publishes what is due. `now`, `wait` and `say` are its clock, its pauses and its voice.

    The database is opened anew each time: a file that was put in its place meanwhile is the one to go on with.
    """

    database: str
    key: Key
    folder: Path | None
    now: Clock
    wait: Wait
    say: Callable[[str, dict[str, Any]], None]
    catch_up: bool = False
    """Whether to close more than `MOST_OVERDUE` rounds, until none is overdue."""

    def forever(self) -> None:
        """Until the programme ends, or `wait` says to stop. Refuses only where it cannot begin."""
        begun, trouble = False, None
        pause: timedelta | None = timedelta()
        while pause is not None and not self.wait(pause):
            try:
                if not begun:
                    with options.opened(self.database, self.key):
                        begun = True
                pause = self.once()
                trouble = None
            except DeniableError as error:
                if not begun and not isinstance(error, StoreError):
                    raise
                if str(error) != trouble:
                    print(f"{error}; trying again every minute", file=sys.stderr, flush=True)
                pause, trouble = MINUTE, str(error)

    def once(self) -> timedelta | None:
        """Close and publish what is due; returns how long to wait, at most a minute, and None where nothing follows."""
        with options.opened(self.database) as programme:
            # Publishing comes first: what a draw's seed is must be settled in public before the draw.
            while (news := self._has_news(status := programme.status())) or status.overdue:
                if self.wait(_next_minute(self.now()) - self.now() if news else timedelta()):
                    return None
                if news:
                    self._publish()
                else:
                    self._close_round(status)
            self.catch_up = False
        if status.ended:
            self.say("The programme has ended.", {"ended": True})
            return None
        return min(MINUTE, max(timedelta(), status.due - self.now()))

    def _has_news(self, status: Status) -> bool:
        return self.folder is not None and (status.folder != self.folder or status.published < status.entries)

    def _publish(self) -> None:
        with options.opened(self.database, self.key) as programme:
            folder = programme.publish(self.folder, keys=_files(self.key))
            published = programme.status().published
        self.say(f"Published in {folder}.", {"published": published, "folder": str(folder)})

    def _close_round(self, status: Status) -> None:
        if status.overdue > MOST_OVERDUE and not self.catch_up:
            raise DeniableError(
                f"{status.overdue} rounds are overdue, and run closes no more than {MOST_OVERDUE} unasked: check this "
                "computer's clock, then use run --catch-up, or close-round for each"
            )
        with options.opened(self.database, self.key) as programme:
            closed = programme.close_round(status.open_round, LATE)
        document = {"round": closed.round, "audits": closed.audits}
        self.say(f"Round {closed.round}: {', '.join(closed.audits) or 'skipped'}.", document)


def _next_minute(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0) + MINUTE
