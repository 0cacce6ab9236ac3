"""`deniable programme override`, `targets` and `not-carried-out`: what the office decides by itself, in public."""

from typing import Annotated

import typer

from deniable.cli.groups import Command
from deniable.cli.options import DEFAULT_DATABASE, AsJson, AskPassphrase, Database, KeyPath
from deniable.cli.programme import options
from deniable.cli.programme.output import answer, told
from deniable.programme.programme import Programme
from deniable.programme.transcript.entry import Entry

commands = typer.Typer(rich_markup_mode=None)
targets = typer.Typer(name="targets", rich_markup_mode=None)
commands.add_typer(targets)

Names = Annotated[list[str], typer.Argument(metavar="TARGET", show_default=False, help="Their names.")]


@commands.command(cls=Command)
def override(
    names: Names,
    *,
    reason: options.Reason,
    independent: options.Independent = False,
    because: options.Because = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Record audits ordered by hand, outside the draw.

    The reports about these targets are deleted, as after a draw, and the round stays open. The public sees the
    targets, the reason, and whether you declare that the decision had nothing to do with any report: say so with one
    of the two options below, which decides what the guarantee still covers.
    """
    declaration = options.declared(independent, because)
    with options.opened(database, options.key_of(database, key, passphrase)) as programme:
        _tell(programme, programme.override(names, reason, independent=declaration), as_json)


@targets.callback(invoke_without_command=True)
def _(context: typer.Context) -> None:
    """Let targets join or leave, or list them.

    A change is published with its reason. What it does to the guarantee depends on whether it had to do with reports.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@targets.command(cls=Command)
def add(
    names: Names,
    *,
    reason: options.Reason,
    independent: options.Independent = False,
    because: options.Because = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Let new targets join from the open round on.

    A name that was used before cannot be used again. The public sees the names, the reason, and whether you declare
    that the decision had nothing to do with any report: say so with one of the two options below, which decides what
    the guarantee still covers.
    """
    declaration = options.declared(independent, because)
    with options.opened(database, options.key_of(database, key, passphrase)) as programme:
        _tell(programme, programme.change_targets(reason, independent=declaration, add=names), as_json)


@targets.command(cls=Command)
def remove(
    names: Names,
    *,
    reason: options.Reason,
    independent: options.Independent = False,
    because: options.Because = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Let targets leave from the open round on, for good. The reports about them are deleted.

    The public sees the names, the reason, and whether you declare that the decision had nothing to do with any report:
    say so with one of the two options below, which decides what the guarantee still covers.
    """
    declaration = options.declared(independent, because)
    with options.opened(database, options.key_of(database, key, passphrase)) as programme:
        _tell(programme, programme.change_targets(reason, independent=declaration, remove=names), as_json)


@targets.command("list", cls=Command)
def list_(*, database: Database = DEFAULT_DATABASE, as_json: AsJson = False) -> None:
    """Name the targets that take part, one a line. Public; needs no key."""
    with options.opened(database) as programme:
        present = programme.status().targets
    answer(as_json, {"targets": present}, *present, wrap=False)


@commands.command("not-carried-out", cls=Command)
def not_carried_out(
    round_: Annotated[int, typer.Argument(metavar="ROUND", show_default=False, help="The round of the audit.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", show_default=False, help="The target's name.")],
    *,
    reason: options.Reason,
    independent: options.Independent = False,
    because: options.Because = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Record that an audit did not take place.

    It was drawn, or ordered by hand; that the target was chosen stands, and its reports stay deleted. The public sees
    the target, the reason, and whether you declare that this had nothing to do with any report: say so with one of the
    two options below, which decides what the guarantee still covers.
    """
    declaration = options.declared(independent, because)
    with options.opened(database, options.key_of(database, key, passphrase)) as programme:
        _tell(programme, programme.not_carried_out(round_, target, reason, independent=declaration), as_json)


def _tell(programme: Programme, entry: Entry, as_json: bool) -> None:
    coverage, calendar = programme.status().coverage.in_words(), programme.parameters.calendar
    answer(
        as_json,
        {**entry.described(calendar), "coverage": coverage},
        told(entry, calendar),
        coverage,
        "It becomes public with the next deniable programme publish.",
    )
