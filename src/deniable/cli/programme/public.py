"""`deniable programme publish` and `status`: write the public folder, and show where the programme stands."""

from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli.groups import Command
from deniable.cli.new_files import check_folder
from deniable.cli.options import DEFAULT_DATABASE, AsJson, AskPassphrase, Database, KeyPath, shared
from deniable.cli.programme import options
from deniable.cli.programme.output import answer, local, no_open_round, to_draw, waiting_document, waits, why_late
from deniable.programme.public.folder import TRANSCRIPT, check_apart
from deniable.programme.status import PAUSED, Status
from deniable.storage.store import Store
from deniable.wording import count

commands = typer.Typer(rich_markup_mode=None)


@commands.command(cls=Command)
def publish(
    *,
    public: Annotated[
        Path | None, shared("--public", "By default where it was last published.", show_default=False)
    ] = None,
    lost: Annotated[
        bool,
        typer.Option(
            "--last-folder-is-lost",
            help="The folder of the last publication is gone for good. First make sure, with a reader's copy of it, "
            "that this database is not an old one: it would draw published rounds again.",
        ),
    ] = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Write the public folder, or bring it up to date.

    It holds the transcript, the rules, a page to read and how to check them all. Everything in it follows from what is
    public, byte for byte; no count and no time of day is in it. Any web server can serve it as it is. Needs the key
    only where --public names another folder than before: what it writes was signed when it was recorded.
    From the first time on, a database that is older than this folder refuses to go on. A folder that holds the
    database or the key is refused.
    """
    if public is not None:
        check_apart(public.absolute(), Store(database).file, options.key_files(database))
        check_folder(public.absolute(), ())
    with options.opened(database) as programme:
        before = programme.status()
    moves = public is not None and public.absolute() != before.folder and not before.ended
    with options.opened(database, options.key_of(database, key, passphrase) if moves else None) as programme:
        folder = programme.publish(public, lost=lost, keys=options.key_files(database))
        status = programme.status()
    document = {"folder": str(folder), "entries": status.published}
    left = before.folder if before.folder not in (None, folder) else None
    answer(
        as_json,
        document,
        f"Published, with {count(status.published, 'entry', 'entries')}, in",
        f"  {folder}",
        *([] if left is None else ["The folder published so far is no longer brought up to date:", f"  {left}"]),
    )


@commands.command(cls=Command)
def status(
    *,
    show_counts: Annotated[
        bool, shared("--show-counts", "those that wait for an audit, by target. Needs the key.")
    ] = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Show where the programme stands.

    It shows which round is open and when it is due, which one is frozen and what it waits for, what is not yet
    published, and what the promise covers. Without --show-counts it needs no key, and nothing that it prints depends
    on reports.
    """
    with options.opened(database, options.key_of(database, key, passphrase) if show_counts else None) as programme:
        shown = programme.status()
        active = programme.active_counts() if show_counts else {}
    document = _document(shown) | ({"confidential": {"active_counts": active}} if show_counts else {})
    answer(as_json, document, *_lines(shown), *(_confidential(active) if show_counts else []))


def _document(status: Status) -> dict[str, Any]:
    return {
        "name": status.parameters.name,
        "programme": status.parameters.programme,
        "open_round": status.open_round if status.has_open_round else None,
        "due": status.due.isoformat() if status.has_open_round else None,
        "overdue": status.overdue,
        "waiting": waiting_document(status),
        "targets": len(status.targets),
        "entries": status.entries,
        "unpublished": status.entries - status.published,
        "folder": None if status.folder is None else str(status.folder),
        "holds_from": None if status.coverage.is_lost else status.coverage.holds_from,
        "coverage": status.coverage.in_words(status.parameters.voice()),
        "guarantee": status.parameters.guarantee().to_dict(),
        "next_figures": _next_figures(status),
        "imports_paused": status.is_paused,
        "ended": status.ended,
    }


def _lines(status: Status) -> list[str]:
    parameters = status.parameters
    return [
        f"{parameters.name}: {count(len(status.targets), 'target')}, {count(parameters.audits, 'audit')} a round.",
        *_frozen(status),
        _round(status),
        f"The transcript has {count(status.entries, 'entry', 'entries')}; {_published(status)}.",
        status.coverage.in_words(parameters.voice()),
        *_figures(status),
        *([str(PAUSED)] if status.is_paused and not status.ended else []),
    ]


def _next_figures(status: Status) -> int | None:
    """The round on which the next yearly figures follow."""
    parameters = status.parameters
    if parameters.figures is None or not status.has_open_round:
        return None
    round_ = parameters.calendar.last_of_year(status.open_round)
    return None if parameters.horizon is not None and round_ > parameters.horizon else round_


def _figures(status: Status) -> list[str]:
    round_, calendar = _next_figures(status), status.parameters.calendar
    if round_ is None:
        return []
    return [
        f"The next yearly figures follow on round {round_}, which is due at {local(calendar, calendar.due(round_))}."
    ]


def _frozen(status: Status) -> list[str]:
    waiting, calendar = status.waiting, status.parameters.calendar
    if waiting is None or status.ended:
        return []
    when = local(calendar, calendar.due(waiting.round))
    return [f"Round {waiting.round}, due at {when}, is frozen and {waits(status)} {to_draw(status)}"]


def _round(status: Status) -> str:
    if not status.has_open_round:
        return no_open_round(status)
    when = local(status.parameters.calendar, status.due)
    if not status.overdue:
        return f"Round {status.open_round} is open, and due at {when}."
    more = f", and {count(status.overdue - 1, 'round')} after it" if status.overdue > 1 else ""
    if status.waiting is not None:
        return f"Round {status.open_round} was due at {when}{more}: draw round {status.waiting.round} first."
    overdue = f"Round {status.open_round} was due at {when}{more}: run deniable programme close-round."
    return f"{overdue} {why_late(status)}".strip()


def _published(status: Status) -> str:
    if status.folder is None:
        return "nothing was ever published: run deniable programme publish --public FOLDER"
    if not (status.folder / TRANSCRIPT).exists():
        return f"the public folder {status.folder} is away: put it back, from a copy if need be"
    if status.published > status.entries:
        return f"the public folder {status.folder} has more, so see deniable programme recover --help"
    waiting = status.entries - status.published
    return f"{waiting:,} not yet published in {status.folder}" if waiting else f"all is published in {status.folder}"


def _confidential(active: dict[str, int]) -> list[str]:
    width = max(map(len, active), default=0)
    return [
        "\nReports that wait for an audit (confidential: do not publish)",
        *(f"  {name:<{width}}  {number:,}" for name, number in active.items()),
    ]
