"""`deniable programme work-list` and `carried-out`: the audits still to take place, and those that took place."""

from datetime import date
from typing import Annotated, Any

import typer

from deniable.cli.groups import Command
from deniable.cli.options import DEFAULT_DATABASE, AsJson, AskPassphrase, Database, KeyPath, shared
from deniable.cli.programme import options
from deniable.cli.programme.decisions import tell
from deniable.cli.programme.output import answer
from deniable.errors import DeniableError
from deniable.programme.work_list import OpenAudit
from deniable.streams import day_number

commands = typer.Typer(rich_markup_mode=None)


@commands.command("work-list", cls=Command)
def work_list(
    *,
    not_public_yet: Annotated[
        bool,
        typer.Option(
            "--not-public-yet",
            help="Also the draws whose names the public does not know yet. Confidential; needs the key.",
        ),
    ] = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """List the audits that are not recorded as carried out or not.

    They were drawn, ordered by hand, or are visits in an emergency. Each line has the round, the day on which it was
    due, and the target. Record what became of an audit with carried-out or not-carried-out. Public, and needs no key,
    but for --not-public-yet.
    """
    with options.opened(database, options.key_of(database, key, passphrase) if not_public_yet else None) as programme:
        waiting = programme.whole_work_list() if not_public_yet else programme.work_list(options.key_files(database))
    answer(
        as_json,
        {"audits": [_described(one) for one in waiting]},
        *(map(_line, waiting) if waiting else ["No audit waits: all are recorded as carried out or not."]),
    )


def _described(audit: OpenAudit) -> dict[str, Any]:
    due = audit.day.isoformat()
    return {"round": audit.round, "due": due, "target": audit.target, "secret_until": audit.secret_until}


def _line(audit: OpenAudit) -> str:
    secret = audit.secret_until
    told = "" if secret is None else f" (not public yet: record it when round {secret} is closed, and not before)"
    return f"  round {audit.round}, due {audit.day}: {audit.target}{told}"


@commands.command("carried-out", cls=Command)
def carried_out(
    target: Annotated[str, typer.Argument(metavar="TARGET", show_default=False, help="The target's name.")],
    *,
    round_: Annotated[int, shared("--round", "the one in which the target was selected.", show_default=False)],
    day: Annotated[
        str, typer.Option("--day", metavar="YYYY-MM-DD", show_default=False, help="The day on which it took place.")
    ],
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Record that an audit took place.

    It was drawn, ordered by hand, or a visit in an emergency. The public sees the target and the day; before that it
    sees that the target was selected. If names follow later, record it once the name is public. The promise covers
    which targets were drawn, not the day on which you went there: choose that day without regard to reports.
    """
    number = day_number(day)
    if number is None:
        raise DeniableError(f"--day must be a calendar day written YYYY-MM-DD, got {day}")
    with options.unlocked(database, key, passphrase) as programme:
        tell(programme, programme.carried_out(round_, programme.naming()(target), date.fromordinal(number)), as_json)
