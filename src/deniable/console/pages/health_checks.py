"""What Health looks at: rounds, database, public folder, key, clock and backup; how each is, and what to do about it.

Nothing here depends on reports: administrators and operators read it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

import sqlalchemy as sa

from deniable.console import tables
from deniable.console.accounts import activity
from deniable.console.console import Console
from deniable.console.pages.common import refusal
from deniable.console.pages.published import Verified, behind, verified
from deniable.console.voices import sentence
from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.message import Message, noted
from deniable.programme.calendar import due_in_words, moment_in_words, office_time_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.programme import Programme
from deniable.programme.scheduler import MOST_OVERDUE
from deniable.programme.secrets.lock import CHECK
from deniable.programme.status import Status
from deniable.programme.transcript.waiting import Waiting
from deniable.storage.tables import lock, secrets

BACKED_UP = noted("downloaded a backup")
"""What the activity log says of it, by which this page knows when the last one was made."""
BACKUP_LASTS = timedelta(days=31)

State = Literal["good", "warn", "wrong"]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    what: Message
    """In English, a heading of the handbook's page about health, which explains it."""
    state: State
    result: str
    """What was found, in sentences."""
    to_do: str = ""
    """What to do about it, in sentences; empty where nothing is to do."""
    command: str = ""
    """That does it at the terminal."""
    where: str = ""
    """Address of the page on which it is done, for those who may use that page."""
    mend: Verified | None = None
    """What is wrong with the public files, where several people put them right step by step."""

    @property
    def anchor(self) -> str:
        return self.what.text.lower().replace(" ", "-")

    @property
    def help(self) -> str:
        return f"/help/health#{self.anchor}"


def checks_of(console: Console, programme: Programme | None, say: Voice) -> tuple[Check, ...]:
    """In the order in which they are shown."""
    if programme is not None and programme.status().ended:
        return (*_programme(console, programme, say), _ended(programme.status(), say), _clock(console, programme, say))
    of_programme = [_no_programme(say)] if programme is None else _programme(console, programme, say)
    return (*of_programme, _key(console, say), _clock(console, programme, say), _backup(console, say))


def _no_programme(say: Voice) -> Check:
    return Check(
        noted("Programme"),
        "warn",
        say("There is no programme yet."),
        say(
            "An auditor plans and begins it, under Plan. If there is no auditor yet, an administrator invites one, "
            "under People."
        ),
        where="/plan",
    )


def _ended(status: Status, say: Voice) -> Check:
    publish = say("An operator or auditor publishes the end.")
    destroy = say("An administrator destroys the key, all its copies, and all backups. Make no more backups.")
    return Check(
        noted("When the programme is over"),
        "warn",
        say(
            "The programme has ended. Its counts and keys in the database are destroyed. With the programme's key, an "
            "old backup still shows the counts of its day."
        ),
        destroy if status.published == status.entries else f"{publish} {destroy}",
    )


def _programme(console: Console, programme: Programme, say: Voice) -> Iterator[Check]:
    status = programme.status()
    found = None if status.folder is None else verified(console, programme, status.folder)
    is_damaged, stopped = found is not None and found.damage != "", behind(programme)
    may_go_on = stopped is None or is_damaged
    if may_go_on or status.ended:
        yield _rounds(status, say, is_damaged=is_damaged)
    if may_go_on and status.waiting is not None and not status.ended:
        yield from _frozen(console, programme.parameters, status.waiting, say, is_damaged=is_damaged)
    if not is_damaged:
        yield _database(stopped, say)
    if status.is_paused and not status.ended:
        yield _paused(say)
    if programme.counting_fails() and stopped is None and not status.ended and _has_key(console):
        yield _counting_fails(say)
    if programme.is_kept_out() and not status.ended:
        yield _kept_out(say)
    yield _public_folder(found, status, say, is_stopped=stopped is not None)
    if may_go_on and not status.ended:
        yield _second_copy(console, status, say)


def _paused(say: Voice) -> Check:
    return Check(
        noted("Imports"),
        "warn",
        say(
            "Imports are paused since the database was recovered. Reports that hotlines bring and machines push do not "
            "count, because they may have been counted before."
        ),
        say(
            "Import the newest export of every hotline once. Then an auditor lets new reports count again, under "
            "Import."
        ),
        "deniable programme resume-imports --reason REASON",
        "/import",
    )


def _counting_fails(say: Voice) -> Check:
    return Check(
        noted("Counting"),
        "wrong",
        say(
            "Reports that came in could not be counted yet. They are kept, and the console tries again every second. "
            "Until it succeeds, new reports may be refused, and rounds may not close."
        ),
        say(
            "The person who runs the server checks that the disk has room and that the database can be written, and "
            "reads the kind of the error in the console's log."
        ),
    )


def _kept_out(say: Voice) -> Check:
    return Check(
        noted("Commands at a terminal"),
        "warn",
        say(
            "Another program on the server has taken the address at which commands hand their reports to the console. "
            "It has no key and learns nothing from them. But each command now writes to the disk by itself, and other "
            "users of the server can see when."
        ),
        say(
            "Enter and import reports here, not at a terminal. The person who runs the server finds the program and "
            "ends it."
        ),
        "ss -xlp | grep @deniable/",
    )


def _rounds(status: Status, say: Voice, *, is_damaged: bool) -> Check:
    what, due = noted("Rounds"), due_in_words(status.parameters.calendar, status.open_round, say).words
    if status.ended:
        return Check(what, "good", say("The programme has ended. No round is open."))
    if not status.has_open_round:
        return Check(what, "good", say("The last round is closed. End the programme when nothing waits."))
    if not status.overdue:
        return Check(what, "good", say("Round {round} is open and closes on {due}.", round=status.open_round, due=due))
    waiting = status.waiting
    first = [say("Put the public files right first.")] if is_damaged else []
    first += [] if waiting is None else [say("Round {round} must be drawn first.", round=waiting.round)]
    if status.overdue == 1:
        late = say("Round {round} was due on {due} and is not closed.", round=status.open_round, due=due)
        now = say("An operator or auditor closes it now, under Round.")
        then = say("Then an operator or auditor closes it, under Round.")
        to_do = " ".join([*first, then if first else now])
        command = "deniable programme close-round" + (' --reason "TEXT"' if status.late else "")
        return Check(what, "warn", late, to_do, command, "/round")
    last = status.open_round + status.overdue - 1
    late = say("Rounds {first} to {last} are due and not closed.", first=status.open_round, last=last)
    then = say("Check that this computer's clock is right. Then an operator or auditor closes them, under Round.")
    return Check(what, "wrong", late, " ".join([*first, then]), "deniable programme run --once --catch-up", "/round")


def _frozen(
    console: Console, parameters: Parameters, waiting: Waiting, say: Voice, *, is_damaged: bool
) -> Iterator[Check]:
    """The round that waits, since when, and what to do."""
    frozen, source = console.public_records.current(parameters, say).waiting, parameters.randomness
    now = console.clock()
    if frozen is None or source is None:  # it was drawn this moment
        return
    what = noted("Frozen round")
    if now < waiting.expected:
        by_people = say("Then two of you enter the numbers, under Round.")
        by_beacon = say("Then draw it under Round, unless deniable programme run does so first.")
        yield Check(what, "good", f"{frozen.now} {by_people if frozen.is_thrown else by_beacon}")
        return
    is_late = now >= waiting.without_from(source.days)
    by_people, by_beacon = say("Two of you enter the numbers, under Round."), say("Fetch the value, under Round.")
    late = say.counted(
        "It has waited for more than {number} day. You may also decide, under Round, to draw it without the value; the "
        "record then says so for good.",
        "It has waited for more than {number} days. You may also decide, under Round, to draw it without the value; "
        "the record then says so for good.",
        source.days,
    )
    bring = by_people if frozen.is_thrown else by_beacon
    command = "" if frozen.is_thrown else "deniable programme draw-round"
    mend = [say("Put the public files right first.")] if is_damaged else []
    to_do = " ".join([*mend, bring, *([late] if is_late else [])])
    yield Check(what, "wrong" if is_late else "warn", frozen.now, to_do, command, "/round/draw")


def _database(why: Message | None, say: Voice) -> Check:
    what = noted("Database")
    if why is None:
        return Check(what, "good", say("The database can be read, and is as new as the copies of the public record."))
    stopped = say("The programme cannot go on with this database.")
    return Check(
        what,
        "wrong",
        f"{stopped} {sentence(say(why))}",
        say(
            "Count no report and close no round until this is settled. Put back what is missing, or restore the newest "
            "backup and go on from it in public. The help page shows each step."
        ),
        "deniable programme restore FILE --public FOLDER",
    )


def _public_folder(found: Verified | None, status: Status, say: Voice, *, is_stopped: bool) -> Check:
    what, publish = noted("Public folder"), "deniable programme publish"
    if found is None or status.folder is None:
        before = say("An operator or auditor publishes it, under Public record, before the first report is counted.")
        return Check(
            what,
            "warn",
            say("The programme is not published yet. The public does not even know its rules."),
            say("An operator or auditor publishes the end.") if status.ended else before,
            f"{publish} --public FOLDER",
            "/transcript",
        )
    remarks = [sentence(say(remark)) for remark in found.remarks]
    if not found.ok:
        command = "" if found.damage else publish
        return Check(what, "wrong", " ".join(remarks), command=command, where="/transcript", mend=found)
    waiting = status.entries - status.published
    if waiting and not is_stopped:
        lacks = say.counted(
            "The public folder lacks {number} entry of the record.",
            "The public folder lacks {number} entries of the record.",
            waiting,
        )
        to_do = say.counted(
            "An operator or auditor publishes it, under Public record.",
            "An operator or auditor publishes them, under Public record.",
            waiting,
        )
        return Check(what, "warn", lacks, to_do, publish, "/transcript")
    told = [say("Readers who check it are told:"), *remarks] if remarks else []
    if is_stopped:
        has = say("The files are complete, unaltered and signed in {folder}.", folder=str(status.folder))
    else:
        has = say("All that is recorded is published in {folder}.", folder=str(status.folder))
    return Check(what, "good", " ".join([has, *told]))


def _second_copy(console: Console, status: Status, say: Voice) -> Check:
    """Where the transcript is kept besides the database."""
    what, copy = noted("Second copy"), console.copy
    if copy is not None and copy.is_writable():
        try:
            head = copy.head()
        except DeniableError as error:
            to_do = say("Put back the newest copy of this file. The help page says what to do if there is none.")
            return Check(what, "wrong", sentence(say(refusal(error))), to_do)
        if head is not None and head.entries == status.entries:
            return Check(what, "good", say("A copy of the public record, beside the key file, has every entry."))
        lacks = say("The copy of the public record beside the key file lacks entries.")
        return Check(what, "warn", lacks, say("Nothing: the next entry completes it."))
    why = (
        say("The programme is locked with a passphrase, so no copy of the public record is kept beside a key file.")
        if copy is None
        else say(
            "The copy of the public record beside the key file cannot be written: its folder is missing or read-only."
        )
    )
    if status.folder is None:
        none = " ".join([why, say("No round can be closed before the programme is published.")])
        to_do, command = say("Publish it, under Public record."), "deniable programme publish --public FOLDER"
        return Check(what, "wrong", none, to_do, command, "/transcript")
    instead = " ".join([why, say("Instead, each draw is published at once.")])
    if copy is None:
        return Check(what, "good", instead)
    return Check(what, "warn", instead, say("Let the console write to the folder of the key file again."))


def _key(console: Console, say: Voice) -> Check:
    what = noted("Key")
    if not _has_key(console):
        return Check(
            what,
            "wrong",
            say("The key was changed since the console started. The console counts no report and closes no round."),
            say("Stop the console and start it again, with the new key."),
            "deniable serve --key FILE",
        )
    with console.store.reading() as connection:
        kdf = connection.execute(sa.select(lock.c.kdf)).scalar_one()
    keep = say("Without it the programme cannot go on. Keep a copy of it apart from the database and its backups.")
    if kdf is not None:
        return Check(what, "good", " ".join([say("The database opens with its passphrase."), keep]))
    where = say("The terminal said where the file is when the programme was set up.")
    return Check(what, "good", " ".join([say("The database opens with its key file."), keep, where]))


def _has_key(console: Console) -> bool:
    with console.store.reading() as connection:
        sealed = connection.execute(sa.select(secrets.c.blob).where(secrets.c.name == CHECK)).scalar()
    return sealed is not None and console.vault.matches(bytes(sealed))


def _clock(console: Console, programme: Programme | None, say: Voice) -> Check:
    """What is recorded tells that the clock was set back, or that it runs ahead; no one else is asked for the time."""
    what, now = noted("Clock"), console.clock()
    time = moment_in_words(now.astimezone(UTC), say)
    if programme is not None:
        time = office_time_in_words(programme.parameters.calendar, now, say)
    shows = say("This computer's clock shows {time}.", time=time.words)
    to_do = say("Compare it with another clock and set it right. Close no round before.")
    if _is_set_back(console, programme, now):
        back = say("Something was recorded at a later time, so the clock is slow now or was fast before.")
        return Check(what, "wrong", f"{shows} {back}", to_do, "timedatectl")
    if programme is not None and programme.status().overdue > MOST_OVERDUE:
        many = say("Several rounds are overdue, which may come of a clock that is fast.")
        return Check(what, "warn", f"{shows} {many}", to_do, "timedatectl")
    return Check(what, "good", " ".join([shows, say("Nothing was recorded at a later time.")]))


def _is_set_back(console: Console, programme: Programme | None, now: datetime) -> bool:
    """Whether the activity log or the record has a later day."""
    with console.store.reading() as connection:
        last = connection.execute(sa.select(sa.func.max(tables.activity.c.day))).scalar()
    if last is not None and date.fromisoformat(last) > now.astimezone(UTC).date():
        return True
    if programme is None:
        return False
    status = programme.status()
    return not status.ended and status.open_round - 1 > status.parameters.calendar.rounds_due(now)


def _backup(console: Console, say: Voice) -> Check:
    with console.store.reading() as connection:
        day = activity.last_day(connection, BACKED_UP)
    what, elsewhere = noted("Backup"), say("Backups made at the terminal are not known here.")
    to_do, command = say("An administrator downloads one, on this page."), "deniable programme backup FILE"
    if day is None:
        return Check(what, "warn", " ".join([say("No backup was downloaded yet."), elsewhere]), to_do, command)
    words = say("The last backup was downloaded on {day}.", day=say.day(day))
    if console.clock().astimezone(UTC).date() - day > BACKUP_LASTS:
        ago = say("That is more than a month ago.")
        return Check(what, "warn", f"{words} {ago} {elsewhere}", to_do, command)
    return Check(what, "good", f"{words} {elsewhere}")
