"""What Health looks at: rounds, database, public folder, key, clock and backup; how each is, and what to do about it.

Nothing here depends on reports: administrators and operators read it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal

import sqlalchemy as sa

from deniable.console import tables
from deniable.console.console import Console
from deniable.console.pages.common import refusal, sentence
from deniable.console.pages.published import Verified, verified
from deniable.errors import DeniableError
from deniable.programme.calendar import moment_in_words
from deniable.programme.parameters import Parameters
from deniable.programme.programme import Programme
from deniable.programme.public.page import day_in_words, due_in_words
from deniable.programme.scheduler import MOST_OVERDUE
from deniable.programme.secrets.lock import CHECK, KeyChangedError
from deniable.programme.status import Status
from deniable.programme.transcript.waiting import Waiting
from deniable.storage.tables import lock, secrets
from deniable.wording import count

BACKED_UP = "downloaded a backup"
"""What the activity log says of it, by which this page knows when the last one was made."""
BACKUP_LASTS = timedelta(days=31)

State = Literal["good", "warn", "wrong"]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    what: str
    """A heading of the handbook's page about health, which explains it."""
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
    def help(self) -> str:
        return f"/help/health#{self.what.lower().replace(' ', '-')}"


NO_PROGRAMME = Check(
    "Programme",
    "warn",
    "There is no programme yet.",
    "An auditor plans and begins it, under Plan. If there is no auditor yet, an administrator invites one, under "
    "People.",
    where="/plan",
)


def checks_of(console: Console, programme: Programme | None) -> tuple[Check, ...]:
    """In the order in which they are shown."""
    if programme is not None and programme.status().ended:
        return (*_programme(console, programme), _ENDED, _clock(console, programme))
    of_programme = [NO_PROGRAMME] if programme is None else _programme(console, programme)
    return (*of_programme, _key(console), _clock(console, programme), _backup(console))


_ENDED = Check(
    "When the programme is over",
    "warn",
    "The programme has ended. Its counts and keys in the database are destroyed. With the programme's key, an old "
    "backup still shows the counts of its day.",
    "An operator or auditor publishes the end. Then an administrator destroys the key, all its copies, and all "
    "backups. Make no more backups.",
)


def _programme(console: Console, programme: Programme) -> Iterator[Check]:
    status = programme.status()
    yield _rounds(status)
    if status.waiting is not None and not status.ended:
        yield from _frozen(console, programme.parameters, status.waiting)
    found = None if status.folder is None else verified(console, programme, status.folder)
    is_damaged, behind = found is not None and found.damage != "", _behind(programme)
    if not is_damaged:
        yield _database(behind)
    if status.is_paused and not status.ended:
        yield _PAUSED
    yield _public_folder(found, status, is_behind=behind is not None)
    if (behind is None or is_damaged) and not status.ended:
        yield _second_copy(console, status)


_PAUSED = Check(
    "Imports",
    "warn",
    "Imports are paused since the database was recovered. Reports that hotlines bring and machines push do not count, "
    "because they may have been counted before.",
    "Import the newest export of every hotline once. Then an auditor lets new reports count again, under Import.",
    "deniable programme resume-imports --reason REASON",
    "/import",
)


def _rounds(status: Status) -> Check:
    what, due = "Rounds", due_in_words(status.parameters.calendar, status.open_round).words
    if status.ended:
        return Check(what, "good", "The programme has ended. No round is open.")
    if not status.overdue:
        return Check(what, "good", f"Round {status.open_round} is open and closes on {due}.")
    waiting = status.waiting
    first = "" if waiting is None else f"Round {waiting.round} must be drawn first. "
    if status.overdue == 1:
        late = f"Round {status.open_round} was due on {due} and is not closed."
        return Check(
            what,
            "warn",
            late,
            f"{first}An operator or auditor closes it now, under Round.",
            "deniable programme close-round",
            "/round",
        )
    last = status.open_round + status.overdue - 1
    late = f"Rounds {status.open_round} to {last} are due and not closed."
    to_do = f"{first}Check that this computer's clock is right. Then an operator or auditor closes them, under Round."
    return Check(what, "wrong", late, to_do, "deniable programme run --once --catch-up", "/round")


def _frozen(console: Console, parameters: Parameters, waiting: Waiting) -> Iterator[Check]:
    """The round that waits, since when, and what to do."""
    frozen, source, now = console.public_records.current(parameters).waiting, parameters.randomness, console.clock()
    if frozen is None or source is None:  # it was drawn this moment
        return
    what = "Frozen round"
    if now < waiting.expected:
        by_people = "Then two of you enter the numbers, under Round."
        by_beacon = "Then draw it under Round, unless deniable programme run does so first."
        yield Check(what, "good", f"{frozen.now} {by_people if frozen.is_thrown else by_beacon}")
        return
    is_late = now >= waiting.without_from(source.days)
    bring = "Two of you enter the numbers, under Round." if frozen.is_thrown else "Fetch the value, under Round."
    late = f" It has waited for more than {count(source.days, 'day')}. You may also decide, under Round, to draw it "
    to_do = f"{bring}{late}without the value; the record then says so for good." if is_late else bring
    command = "" if frozen.is_thrown else "deniable programme draw-round"
    yield Check(what, "wrong" if is_late else "warn", frozen.now, to_do, command, "/round/draw")


def _behind(programme: Programme) -> str | None:
    """Why the database must not go on: a copy of the transcript is newer, differs or is away. None if it may."""
    try:
        programme.check_current()
    except KeyChangedError:  # which the check of the key says in its own words
        return None
    except DeniableError as error:
        return sentence(refusal(error))
    return None


def _database(behind: str | None) -> Check:
    what = "Database"
    if behind is None:
        return Check(what, "good", "The database can be read, and is as new as the copies of the public record.")
    return Check(
        what,
        "wrong",
        f"The programme cannot go on with this database. {behind}",
        "Count no report and close no round until this is settled. Put back what is missing, or restore the newest "
        "backup and go on from it in public. The help page shows each step.",
        "deniable programme restore FILE --public FOLDER",
    )


def _public_folder(found: Verified | None, status: Status, *, is_behind: bool) -> Check:
    what, publish = "Public folder", "deniable programme publish"
    if found is None or status.folder is None:
        return Check(
            what,
            "warn",
            "The programme is not published yet. The public does not even know its rules.",
            "An operator or auditor publishes it, under Public record, before the first report is counted.",
            f"{publish} --public FOLDER",
            "/transcript",
        )
    remarks = " ".join(found.remarks)
    if not found.ok:
        command = "" if found.damage else publish
        return Check(what, "wrong", remarks, command=command, where="/transcript", mend=found)
    waiting = status.entries - status.published
    if waiting and not is_behind:
        lacks = f"The public folder lacks {count(waiting, 'entry', 'entries')} of the record."
        return Check(
            what, "warn", lacks, "An operator or auditor publishes them, under Public record.", publish, "/transcript"
        )
    told = f" Readers who check it are told: {remarks}" if remarks else ""
    has = "The files are complete, unaltered and signed" if is_behind else "All that is recorded is published"
    return Check(what, "good", f"{has} in {status.folder}.{told}")


def _second_copy(console: Console, status: Status) -> Check:
    """Where the transcript is kept besides the database."""
    what, copy = "Second copy", console.copy
    if copy is not None and copy.is_writable():
        try:
            head = copy.head()
        except DeniableError as error:
            to_do = "Put back the newest copy of this file. The help page says what to do if there is none."
            return Check(what, "wrong", sentence(refusal(error)), to_do)
        if head is not None and head.entries == status.entries:
            return Check(what, "good", "A copy of the public record, beside the key file, has every entry.")
        lacks = "The copy of the public record beside the key file lacks entries."
        return Check(what, "warn", lacks, "Nothing: the next entry completes it.")
    why = (
        "The programme is locked with a passphrase, so no copy of the public record is kept beside a key file."
        if copy is None
        else "The copy of the public record beside the key file cannot be written: its folder is missing or read-only."
    )
    if status.folder is None:
        none = f"{why} No round can be closed before the programme is published."
        to_do, command = "Publish it, under Public record.", "deniable programme publish --public FOLDER"
        return Check(what, "wrong", none, to_do, command, "/transcript")
    instead = f"{why} Instead, each draw is published at once."
    if copy is None:
        return Check(what, "good", instead)
    return Check(what, "warn", instead, "Let the console write to the folder of the key file again.")


def _key(console: Console) -> Check:
    with console.store.reading() as connection:
        kdf = connection.execute(sa.select(lock.c.kdf)).scalar_one()
        sealed = connection.execute(sa.select(secrets.c.blob).where(secrets.c.name == CHECK)).scalar()
    if sealed is None or not console.vault.matches(bytes(sealed)):
        return Check(
            "Key",
            "wrong",
            "The key was changed since the console started. The console counts no report and closes no round.",
            "Stop the console and start it again, with the new key.",
            "deniable serve --key FILE",
        )
    is_file = kdf is None
    opened = f"The database opens with its {'key file' if is_file else 'passphrase'}."
    keep = "Without it the programme cannot go on. Keep a copy of it apart from the database and its backups."
    where = " The terminal said where the file is when the programme was set up." if is_file else ""
    return Check("Key", "good", f"{opened} {keep}{where}")


def _clock(console: Console, programme: Programme | None) -> Check:
    """What is recorded tells that the clock was set back, or that it runs ahead; no one else is asked for the time."""
    now = console.clock()
    shows = f"This computer's clock shows {moment_in_words(now.astimezone(UTC)).words}."
    to_do, command = "Compare it with another clock and set it right.", "timedatectl"
    if _is_set_back(console, programme, now):
        back = "Something was recorded at a later time, so the clock is slow now or was fast before."
        return Check("Clock", "wrong", f"{shows} {back}", f"{to_do} Close no round before.", command)
    if programme is not None and programme.status().overdue > MOST_OVERDUE:
        many = "Several rounds are overdue, which may come of a clock that is fast."
        return Check("Clock", "warn", f"{shows} {many}", f"{to_do} Close no round before.", command)
    return Check("Clock", "good", f"{shows} Nothing was recorded at a later time.")


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


def _backup(console: Console) -> Check:
    with console.store.reading() as connection:
        made = sa.select(sa.func.max(tables.activity.c.day)).where(tables.activity.c.action == BACKED_UP)
        last = connection.execute(made).scalar()
    what, elsewhere = "Backup", "Backups made at the terminal are not known here."
    to_do, command = "An administrator downloads one, on this page.", "deniable programme backup FILE"
    if last is None:
        return Check(what, "warn", f"No backup was downloaded yet. {elsewhere}", to_do, command)
    day = date.fromisoformat(last)
    words = f"The last backup was downloaded on {day_in_words(day).words}."
    if console.clock().astimezone(UTC).date() - day > BACKUP_LASTS:
        return Check(what, "warn", f"{words} That is more than a month ago. {elsewhere}", to_do, command)
    return Check(what, "good", f"{words} {elsewhere}")
