"""`deniable programme override`, `visit`, `targets`, `details` and `not-carried-out`: what the office does outside the
draw, in public.
"""

from collections.abc import Sequence
from typing import Annotated

import typer

from deniable.cli.groups import Command
from deniable.cli.options import DEFAULT_DATABASE, AsJson, AskPassphrase, Database, KeyPath, shared
from deniable.cli.programme import options
from deniable.cli.programme.output import answer, at_once, described, told
from deniable.errors import DeniableError
from deniable.programme.programme import Programme
from deniable.programme.transcript import office_details
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
    yes: options.Yes = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Record audits ordered by hand, outside the draw.

    The reports about these targets are deleted, as after a draw, and the round stays open. The public sees the
    targets, the reason, and whether you declare that the decision had nothing to do with any report: say so with one
    of the two options below, which decides what the promise still covers.
    """
    declaration = options.declared(independent, because)
    with options.unlocked(database, key, passphrase) as programme:
        options.confirm(programme, because=because, yes=yes)
        tell(programme, programme.override([*map(programme.naming(), names)], reason, independent=declaration), as_json)


@commands.command(cls=Command)
def visit(
    target: Annotated[str, typer.Argument(metavar="TARGET", show_default=False, help="The target's name.")],
    *,
    report_class: Annotated[
        str, shared("--class", "an emergency class, whose reports lead to a visit.", show_default=False)
    ],
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Record the visit to which a report of an emergency class leads.

    Every report of such a class leads to a visit, by the public rules of the programme. The report must have been
    entered before. From the next publication on, the public sees the target and the class of the report, and may
    suspect the person who filed it: the public rules say so before anyone files. Send your people first if the visit
    must come unannounced. The promise covers all other reports as before. Those about this target are deleted, as
    after a draw.

    \b
    Example
      deniable programme visit "Ash Mill" --class danger
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    with options.unlocked(database, key, passphrase) as programme:
        tell(programme, programme.visit(programme.naming()(target), report_class), as_json)


@commands.command(cls=Command)
def visits(
    *,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Name the targets that must be visited because of a report.

    Those for which no visit is recorded yet. Confidential.
    """
    with options.unlocked(database, key, passphrase) as programme:
        waiting = programme.waiting_visits()
    lines = [f"{target} (a report of class {name})" for target, name in waiting]
    document = {"waiting": [{"target": target, "class": name} for target, name in waiting]}
    answer(as_json, document, *(lines or ["No visit waits."]), wrap=False)


@targets.callback(invoke_without_command=True)
def _(context: typer.Context) -> None:
    """Let targets join or leave, rename or list them.

    A change is published with its reason. What it does to the promise depends on whether it had to do with reports.
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
    yes: options.Yes = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Let new targets join from the open round on.

    A name that was used before cannot be used again. The public sees the names, the reason, and whether you declare
    that the decision had nothing to do with any report: say so with one of the two options below, which decides what
    the promise still covers.
    """
    declaration = options.declared(independent, because)
    with options.unlocked(database, key, passphrase) as programme:
        options.confirm(programme, because=because, yes=yes)
        tell(programme, programme.change_targets(reason, independent=declaration, add=names).entry, as_json)


@targets.command(cls=Command)
def remove(
    names: Names,
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
    """Let targets leave from the open round on, for good. The reports about them are deleted.

    Where a report of an emergency class is among them, the visit to which it leads is recorded first, and named.

    The public sees the names, the reason, and whether you declare that the decision had nothing to do with any report:
    say so with one of the two options below, which decides what the promise still covers.
    """
    declaration = options.declared(independent, because)
    with options.unlocked(database, key, passphrase) as programme:
        options.confirm(programme, because=because, yes=yes)
        left = [*map(programme.naming(), names)]
        new = programme.change_targets(reason, independent=declaration, remove=left)
        tell(programme, new.entry, as_json, visits=new.visits)


@targets.command(cls=Command)
def rename(
    old: Annotated[str, typer.Argument(metavar="OLD", show_default=False, help="The target's name until now.")],
    new: Annotated[str, typer.Argument(metavar="NEW", show_default=False, help="Its name from now on.")],
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
    """Give a target another name from the open round on. The reports about it stay counted.

    A name that was used before cannot be used again. From now on reports that come in under the old name are treated
    like those about an unknown target: change the mapping of your hotlines' channels. The public sees both names, the
    reason, and whether you declare that the decision had nothing to do with any report: say so with one of the two
    options below, which decides what the promise still covers.
    """
    declaration = options.declared(independent, because)
    with options.unlocked(database, key, passphrase) as programme:
        options.confirm(programme, because=because, yes=yes)
        tell(programme, programme.rename_target(programme.naming()(old), new, reason, independent=declaration), as_json)


@targets.command("list", cls=Command)
def list_(*, database: Database = DEFAULT_DATABASE, as_json: AsJson = False) -> None:
    """Name the targets that take part, one a line. Public; needs no key."""
    with options.opened(database) as programme:
        present = programme.status().targets
    answer(as_json, {"targets": present}, *present, wrap=False)


@commands.command(cls=Command)
def details(
    *,
    contact: Annotated[
        str | None, shared("--contact", 'Empty (""): the office gives none.', show_default=False)
    ] = None,
    hotline: Annotated[
        str | None, shared("--hotline", 'Empty (""): the office gives none.', show_default=False)
    ] = None,
    independent: options.Independent = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Tell the public how to reach the office and its hotline.

    The public page shows both with today's date, and the record shows when they changed. What you do not give stays as
    it is. The office must declare in public, with --independent-of-reports, that they have nothing to do with any
    report: a contact that changes because of a report would give that report away. The promise stays as it is.

    \b
    Example
      deniable programme details --contact "Labour inspectorate, 1 High Street, Newtown" \\
          --hotline https://hotline.example.org --independent-of-reports
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    if contact is None and hotline is None:
        raise DeniableError("give --contact, --hotline or both, got neither")
    if not independent:
        raise DeniableError(
            "give --independent-of-reports: the office must declare that this has nothing to do with any report; if it "
            "has, change nothing"
        )
    with options.unlocked(database, key, passphrase) as programme:
        known = programme.status().details
        given = office_details.typed(
            (known and known.contact) or "" if contact is None else contact,
            (known and known.hotline) or "" if hotline is None else hotline,
        )
        tell(programme, programme.tell_details(*given), as_json)


@commands.command("not-carried-out", cls=Command)
def not_carried_out(
    target: Annotated[str, typer.Argument(metavar="TARGET", show_default=False, help="The target's name.")],
    *,
    round_: Annotated[int, shared("--round", "the one in which the target was selected.", show_default=False)],
    reason: options.Reason,
    independent: options.Independent = False,
    because: options.Because = False,
    yes: options.Yes = False,
    database: Database = DEFAULT_DATABASE,
    key: KeyPath = None,
    passphrase: AskPassphrase = False,
    as_json: AsJson = False,
) -> None:
    """Record that an audit did not take place.

    It was drawn, or ordered by hand. The choice of the target stays valid, and the reports about it stay deleted. The
    public sees the target, the reason, and whether you declare that this had nothing to do with any report: say so with
    one of the two options below, which decides what the promise still covers.
    """
    declaration = options.declared(independent, because)
    with options.unlocked(database, key, passphrase) as programme:
        options.confirm(programme, because=because, yes=yes)
        named = programme.naming()(target)
        tell(programme, programme.not_carried_out(round_, named, reason, independent=declaration), as_json)


def tell(programme: Programme, entry: Entry, as_json: bool, visits: Sequence[str] | None = None) -> None:
    """visits: those that were recorded with it; None where none can be."""
    parameters = programme.parameters
    coverage = programme.status().coverage.in_words(parameters.voice())
    document = {**described(entry, parameters), "coverage": coverage}
    answer(
        as_json,
        document if visits is None else {**document, "visits": visits},
        *([at_once(visits)] if visits else []),
        told(entry, parameters),
        coverage,
        "It becomes public with the next deniable programme publish.",
    )
