"""`deniable programme`: the commands of an audit office. They need the extra `programme`."""

from typing import ClassVar

import typer

from deniable.cli.groups import LazyGroup, Listed


class Commands(LazyGroup):
    """In the order in which they are listed."""

    package = "deniable.cli.programme"
    listed: ClassVar = {
        "init": Listed("init", "Set up a programme in a new database, with a new key."),
        "report": Listed("reports", "Count reports about a target, or those of a file."),
        "withdraw": Listed("reports", "Take back reports that were entered by mistake."),
        "import": Listed("imports", "Count what is new in the export of a hotline."),
        "close-round": Listed("rounds", "Close a round that is due, and draw whom to audit."),
        "draw-round": Listed("draw_round", "Draw the frozen round with its public value."),
        "skip": Listed("rounds", "Close the oldest round that is due without an audit."),
        "override": Listed("decisions", "Record audits ordered by hand, outside the draw."),
        "visit": Listed("decisions", "Record the visit to which a report of an emergency class leads."),
        "visits": Listed("decisions", "Name the targets that must be visited because of a report."),
        "targets": Listed("decisions", "Let targets join or leave, rename or list them."),
        "details": Listed("decisions", "Tell the public how to reach the office and its hotline."),
        "work-list": Listed("work_list", "List the audits that are not recorded as carried out or not."),
        "carried-out": Listed("work_list", "Record that an audit took place."),
        "not-carried-out": Listed("decisions", "Record that an audit did not take place."),
        "publish": Listed("public", "Write the public folder, or bring it up to date."),
        "status": Listed("public", "Show where the programme stands."),
        "verify": Listed("verify", "Check a public folder, as anyone can."),
        "certificate": Listed(
            "certificate", "Write a page that shows how one round was drawn, for a court or an audited organisation."
        ),
        "run": Listed("run", "Close and publish every round when it is due."),
        "backup": Listed("maintenance", "Write everything in the database into one file."),
        "restore": Listed("maintenance", "Fill a new database with a backup."),
        "recover": Listed("maintenance", "Go on from a backup, in public."),
        "resume-imports": Listed("maintenance", "Let imported reports count again after a recovery."),
        "rekey": Listed("maintenance", "Lock the programme with a new key."),
        "upgrade": Listed("maintenance", "Bring the database to the layout of this version."),
        "end": Listed("maintenance", "End the programme for good, and destroy its secrets."),
        "oversight": Listed("oversight", "Let an oversight body check that the office followed the mechanism."),
    }


commands = typer.Typer(rich_markup_mode=None)
programme = typer.Typer(name="programme", cls=Commands, rich_markup_mode=None)
commands.add_typer(programme)


@programme.callback(invoke_without_command=True)
def _(context: typer.Context) -> None:
    """Run an audit programme, from the first report to the last round.

    Reports come in over months, rounds are closed on a public calendar, and every draw is published, signed, for anyone
    to check.

    A programme is one database (a SQLite file, or PostgreSQL) and one key, which is kept outside it. Reports are
    counted, encrypted, until their target is audited, and then deleted; backups, and the sealed copies for an oversight
    body where there is one, keep them for longer. Nothing that these commands print depends
    on reports, except the audits that were drawn and where --show-counts asks for it.

    \b
    A programme in six commands, with its rules published before the first report
      deniable programme init targets.txt --name "Site visits" --delta 0.1
      deniable programme publish --public public
      deniable programme report "Ash Mill"
      deniable programme close-round
      deniable programme publish
      deniable programme verify public
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
