"""`deniable programme backup`, `restore`, `recover`, `resume-imports`, `rekey`, `upgrade` and `end`: how a programme is
kept, and how it ends.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.groups import Command
from deniable.cli.options import DEFAULT_DATABASE, AsJson, AskPassphrase, Database, KeyPath, shared
from deniable.cli.programme import options
from deniable.cli.programme.output import answer, at_once, described, due, told
from deniable.errors import DeniableError
from deniable.programme import backup as backups
from deniable.programme.programme import Programme
from deniable.programme.secrets.keys import Key, KeyFile, Passphrase
from deniable.storage.store import Store
from deniable.wording import count

commands = typer.Typer(rich_markup_mode=None)


@commands.command(cls=Command)
def backup(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", show_default=False, help="The new file; it is never overwritten.")
    ],
    *,
    database: Database = DEFAULT_DATABASE,
    as_json: AsJson = False,
) -> None:
    """Write everything in the database into one file.

    The counts in it are encrypted, as in the database. The key is not in it, and must be kept elsewhere. A backup holds
    counts that are deleted later: destroy old backups, or make them unreadable with rekey. Other commands may run
    meanwhile. Needs no key, but a copy of the transcript that has every entry: the public folder, or the file beside
    the key.
    """
    with options.opened(database) as programme:
        programme.backup(file, options.key_files(database))
    answer(as_json, {"backup": str(file.absolute())}, "Written; keep it apart from the key:", f"  {file.absolute()}")


@commands.command(cls=Command)
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="A backup.")],
    *,
    public: Annotated[
        Path | None,
        shared(
            "--public",
            "Name it if the backup does not know it: the backup was made before the first publication, or the folder "
            "was moved since. Needs the key.",
            show_default=False,
        ),
    ] = None,
    never_published: Annotated[
        bool,
        typer.Option(
            "--never-published",
            help="Nothing of the programme was ever published, before the backup or since. A backup that knows of no "
            "public folder needs this or --public.",
        ),
    ] = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Fill a new database with a backup.

    A backup of SQLite or PostgreSQL fits either. Needs no key, but for --public; a key that you give is
    tried, and a wrong one is refused before anything is restored. What was counted since the backup is
    not in it, nor is the seed of the open round: a draw that was made with it since must not be made again. So the
    restored programme neither counts nor draws, until deniable programme recover lets it go on in public.
    """
    if public is not None and never_published:
        raise DeniableError("give either --public or --never-published, got both")
    needs_key = public is not None or key is not None or passphrase
    opens = options.key_of(database, key, passphrase) if needs_key else None
    backups.restore(file, database, public, opens, never_published=never_published)
    with options.opened(database) as programme:
        status = programme.status()
    open_round = status.open_round if status.has_open_round else None
    closed = "when it had ended" if status.ended else f"when round {status.open_round - 1}, the last one, was closed"
    answer(
        as_json,
        {"name": status.parameters.name, "entries": status.entries, "open_round": open_round},
        f"The programme {status.parameters.name} is restored as it was "
        f"{closed if open_round is None else f'when round {open_round} was open'}.",
        "Make sure that the old database is not used any more. Then go on, in public:",
        "  deniable programme recover --public FOLDER --reason TEXT",
        "It opens with the same key as before; where that is not beside the new database, name it with --key.",
        "People of the console, if there are any, are as they were at the backup: disable again those who were "
        "disabled or removed since. Tokens and who brings which hotline are not in a backup: make and name them anew.",
    )


@commands.command(cls=Command)
def recover(
    *,
    public: Annotated[
        Path | None,
        shared("--public", "The newest there is; by default where it was last published.", show_default=False),
    ] = None,
    reason: options.Reason,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Go on from a backup, in public.

    The published entries are adopted, those that only the copy beside the key has included, and the seed of the open
    round, which is lost, is replaced. Reports counted since the backup are lost, as are those of targets audited since
    then (with tca those of all targets). Imports are paused: what hotlines bring does not count, since it may have been
    counted before. Import the newest export of every hotline, and then end this with deniable programme resume-imports.

    Imports go on only if nothing can have been drawn or ordered since the backup: the copy beside the key (with a
    passphrase the public folder) is there and has no more than the backup, and no round was due since. If that copy
    is missing, or is older than what is known, or a round was due that it does not have, a draw may have been shown
    that no copy has. The entry says so to the public. Refused where a copy and the backup have different entries of the
    same number: two databases were used.

    With race, only reports about targets that were not audited since they were filed may be entered again by hand; with
    tca none that was filed before the recovery. Their noise was published once already, and counting them again costs
    more than is promised.

    The public sees that and why the office recovered, and whether copies show everything that was drawn. That the new
    seed was not chosen with a result in mind rests on the office's word.
    """
    with options.unlocked(database, key, passphrase) as programme:
        entry = programme.recover(public, reason)
        status = programme.status()
    following = f"{due(status)} Now run deniable programme publish."
    paused = (
        "Imports are paused: nothing that is imported counts. Import the newest export of every hotline, then run "
        "deniable programme resume-imports --reason TEXT."
    )
    document, words = described(entry, status.parameters), told(entry, status.parameters)
    answer(as_json, document, words, following, *([paused] * status.is_paused))


@commands.command("resume-imports", cls=Command)
def resume_imports(
    *,
    reason: options.Reason,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Let imported reports count again after a recovery.

    Since deniable programme recover, imports are paused: reports that hotlines bring become known, and count neither
    now nor later. Import the newest export of every hotline first. What a hotline brings for the first time after this
    command counts, even if it was counted before the records were lost, and a report that counts twice is more than the
    promise covers.

    The public sees that imports were resumed, and the reason.

    \b
    Example
      deniable programme resume-imports --reason "The newest export of every hotline was imported."
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    with options.unlocked(database, key, passphrase) as programme:
        entry = programme.resume_imports(reason)
    parameters = programme.parameters
    answer(as_json, described(entry, parameters), told(entry, parameters), "Now run deniable programme publish.")


@commands.command(cls=Command)
def rekey(
    *,
    new_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Make a new key file, and use it from now on."),
    ] = None,
    new_passphrase: Annotated[
        bool,
        typer.Option(
            "--new-passphrase",
            help=f"Use a passphrase from now on: ask for it twice, or take it from {options.NEW_PASSPHRASE}.",
        ),
    ] = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Lock the programme with a new key.

    Every secret is encrypted anew. Old backups still open with the old key. Once you destroy the old key they cannot be
    opened any more, and the counts in them that were deleted since are gone too. The key that signs the transcript and
    the seed of the open round stay the same: an attacker who had the old key and a copy of the database still has both,
    and can sign in your name. The public sees nothing of it. A new copy of the transcript is beside the new key. In the
    place of the one beside the old key there is a note, so that an old database does not go on with it; where the note
    cannot be written, the key is not changed. If this is interrupted, run it again. After a passphrase, every entry
    goes on being published before it is shown.
    """
    if (new_key is None) != new_passphrase:
        raise DeniableError(f"give either --new-key or --new-passphrase, got {'both' if new_passphrase else 'neither'}")
    old = options.key_of(database, key, passphrase)
    with options.opened(database, old) as programme:
        new: Key = (
            KeyFile(new_key)
            if new_key is not None
            else Passphrase(options.passphrase_of(options.NEW_PASSPHRASE, "New passphrase", new=True))
        )
        programme.rekey(new)
    opens = "--passphrase" if new_key is None else f"--key {new_key.absolute()}"
    with_it = "" if new_key is None else f" and of {new_key.name}.transcript beside it"
    destroy = f" Then destroy {old.path.absolute()}." if isinstance(old, KeyFile) else ""
    answer(
        as_json,
        {"key": None if new_key is None else str(new_key.absolute())},
        "The programme is locked with its new key. From now on it opens with:",
        f"  {opens}",
        f"Keep a copy of the key{with_it} in a safe place, and make a backup.{destroy} Backups from before today open "
        "with the old key only.",
    )


@commands.command(cls=Command)
def upgrade(*, database: Database = DEFAULT_DATABASE, as_json: AsJson = False) -> None:
    """Bring the database to the layout of this version.

    Make a backup first, with the version used until now. Nothing is lost. If the database has this layout already,
    nothing is done. Needs no key.
    """
    store = Store.found(database)
    store.upgrade()
    store.dispose()
    answer(as_json, {"upgraded": True}, "The database has the layout of this version.")


@commands.command(cls=Command)
def end(
    *,
    reason: options.Reason,
    yes: options.Yes = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """End the programme for good, and destroy its secrets.

    Its counts, seeds and keys in the database are gone then. The public sees that it ended, and the reason; the
    transcript stays valid. It cannot be undone, and reports that still wait are never followed up, but for those of an
    emergency class: the visits to which they lead are recorded first, and named. To destroy the counts in backups too,
    destroy the key. What was sealed for an oversight body stays in the database, for that body's key alone: hand it
    over, then delete the database.

    Before it asks for the programme's name, it says that waiting reports are lost, and what is still open: entries
    that are not published, audits that are not recorded, a round that is not drawn.
    """
    with options.unlocked(database, key, passphrase) as programme:
        name = programme.parameters.name
        if not yes:
            for line in _still_open(programme):
                typer.echo(line, err=True)
        if not yes and options.typed(f"To end the programme for good, type its name ({name}): ") != name:
            raise DeniableError(f"that is not the programme's name, {name}; nothing was changed")
        ended = programme.end(reason)
    entry, visits = ended.entry, ended.visits
    following = "Publish it, then destroy the key: deniable programme publish"
    document, words = described(entry, programme.parameters), told(entry, programme.parameters)
    answer(as_json, {**document, "visits": visits}, *([at_once(visits)] if visits else []), words, following)


def _still_open(programme: Programme) -> Iterator[str]:
    """What can no longer be done after the end, or is easily forgotten. Public facts."""
    yield "Reports that wait for the draw are deleted at the end, and never followed up."
    status, terms = programme.status(), programme.parameters.terms
    unpublished, unrecorded = max(0, status.entries - status.published), len(programme.whole_work_list())
    if unpublished:
        entries = count(unpublished, "entry", "entries")
        yield f"Not published yet: {entries} of the record. Publish first: deniable programme publish"
    if unrecorded:
        audits = count(unrecorded, terms.audit, terms.audits)
        yield (
            f"Not recorded yet: {audits}. After the end the record can never say whether they took place: deniable "
            "programme work-list"
        )
    if status.waiting is not None:
        yield (
            f"Not drawn yet: round {status.waiting.round}. After the end it can never be drawn: deniable programme "
            "draw-round"
        )
