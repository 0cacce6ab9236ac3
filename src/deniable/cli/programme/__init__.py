"""`deniable programme`: the commands of an audit office.

What they need (a database, cryptography) comes with the extra `programme` and takes a while to import, so a command's
module is imported when the command is called, or listed by `deniable programme --help`.
"""

from importlib import import_module
from types import ModuleType
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from deniable.errors import DeniableError

MODULES = {
    "init": "init",
    "report": "reports",
    "withdraw": "reports",
    "import": "reports",
    "close-round": "rounds",
    "skip": "rounds",
    "override": "decisions",
    "targets": "decisions",
    "not-carried-out": "decisions",
    "publish": "public",
    "status": "public",
    "verify": "verify",
    "run": "run",
    "backup": "maintenance",
    "restore": "maintenance",
    "recover": "maintenance",
    "resume-imports": "maintenance",
    "rekey": "maintenance",
    "upgrade": "maintenance",
    "end": "maintenance",
    "oversight": "oversight",
}
"""Where each command is, in the order in which they are listed."""


def imported(name: str) -> ModuleType:
    """A module that needs the extra `programme`; refused in a sentence where that is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("deniable"):
            raise
        raise DeniableError(
            f"an audit programme needs {error.name}, which is not installed: pip install 'deniable[programme]', "
            "or '.[programme]' in a copy of the project"
        ) from None


class Commands(TyperGroup):
    """A group that imports a command when it is needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in MODULES:
            names: Any = dict.fromkeys(MODULES)  # for the suggestion of what was meant
            self.commands = names
            return None
        module = imported(f"deniable.cli.programme.{MODULES[cmd_name]}")
        return get_group(module.commands).commands[cmd_name]


programme = typer.Typer(name="programme", cls=Commands, rich_markup_mode=None)


@programme.callback(invoke_without_command=True)
def _(context: typer.Context) -> None:
    """Run an audit programme, from the first report to the last round.

    Reports come in over months, rounds are closed on a public calendar, and what was drawn is published, signed, for
    everybody to check.

    A programme is one database (a SQLite file, or PostgreSQL) and one key, which is kept outside it. Reports are
    counted, encrypted, until their target is audited, and then deleted; backups, and the sealed copies for an oversight
    body where there is one, keep them for longer. Nothing that these commands print depends
    on reports, except the audits that were drawn and where --counts or --show-counts asks for it.

    \b
    A programme in six commands, with its rules published before the first report
      deniable programme init targets.txt --name "Site visits" --delta 0.1
      deniable programme publish --out public
      deniable programme report "Ash Mill"
      deniable programme close-round
      deniable programme publish
      deniable programme verify public
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
