"""The command `deniable`: one file a command, and here what they share, how errors are shown and the exit code."""

import io
import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.main import get_command

from deniable.cli.groups import LazyGroup, Listed
from deniable.errors import DeniableError, why

# Typer names only this subclass of Click's usage errors, and depending on its version brings Click along or not.
UsageError: Any = typer.BadParameter.__base__


class Commands(LazyGroup):
    """In the order in which they are listed."""

    package = "deniable.cli"
    listed: ClassVar = {
        "audit": Listed("audit", "Draw the audits of a whole report stream, one a round or several."),
        "plan": Listed("plan", "Compare what each mechanism promises, and how well its audits follow the reports."),
        "simulate": Listed(
            "simulate", "Measure how well mechanisms follow the reports, on generated or replayed streams."
        ),
        "evaluate": Listed(
            "evaluate", "Compare all mechanisms on a recorded report stream: one audit a round, with simulated noise."
        ),
        "reproduce": Listed(
            "reproduce", "Reproduce the paper's experiments, with its claims one by one and what was found."
        ),
        "attack": Listed(
            "attack", "Let a strong adversary guess whether a report was filed, and measure how often it is right."
        ),
        "serve": Listed("serve", "The console: plan a programme, enter reports, close rounds, publish, in a browser."),
        "witness": Listed("witness", "Countersign a programme's public record, as a witness."),
        "programme": Listed("programme", "Run an audit programme, from the first report to the last round."),
    }


app = typer.Typer(cls=Commands, add_completion=False, rich_markup_mode=None)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"deniable {version('deniable')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def deniable(
    context: typer.Context,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Choose whom to audit next from confidential report counts, with a stated, proven limit on what
    the audits reveal about any one report.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(args: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (by default the program's own) and return the exit code.

    0: done. 2: the input or the usage was wrong, and one line on stderr says how. 130: interrupted. 1: the
    reader of the output went away, or a bug in deniable.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal without Unicode must not cost a transcript
    try:
        code: int | None = get_command(app).main(
            args=None if args is None else list(args), prog_name="deniable", standalone_mode=False
        )
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a failure can still be told
    except DeniableError as error:
        return _fail(str(error))
    except UsageError as error:
        return _fail(_usage(error))
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except OSError as error:
        _abandon_stdout()
        # Standard output has no file name.
        cannot = "write the output" if error.filename is None else f"use {error.filename}"
        return 1 if isinstance(error, BrokenPipeError) else _fail(f"cannot {cannot}: {why(error)}")
    except Exception as error:
        return _fail(_bug(error), code=1)
    return code or 0


def _usage(error: Any) -> str:
    number = re.search(r"valid (integer|number|float)\b", error.message)
    if number:
        wanted = "a whole number in digits, such as 30" if number[1] == "integer" else "a number such as 0.1"
        how = "" if number[1] == "integer" else ": write it with a point and without %"
        return f"{error.param.opts[-1]} must be {wanted}{_got(error)}{how}"
    if meant := _meant(error):
        return f"no such option: {error.option_name} (did you mean {meant}?); see {error.ctx.command_path} --help"
    message = re.sub(r"\. Did you mean (.*)\?$", r" (did you mean \1?)", error.format_message()).rstrip(".")
    message = message.replace(": Value error, ", ": ")  # of Pydantic, which newer versions of Typer ask
    if message.startswith("Got unexpected extra argument"):
        message += ": a name with spaces stands in quotes"
    help_at = error.ctx.command_path if error.ctx else "deniable"
    return f"{message[:1].lower()}{message[1:]}; see {help_at} --help"


OTHER_WORDS = {
    "--deltas": "--delta",
    "--figure": "--chart",
    "--file": "--out",
    "--from": "--start",
    "--horizon": "--rounds",
    "--n-targets": "--targets",
    "--output": "--out",
    "--programme": "--database",
    "--reports": "--stream",
    "--rounds": "--horizon",
    "--to": "--end",
}
"""What is typed for an option -> what it is called here."""


def _meant(error: Any) -> str | None:
    """The option of the command that an unknown one stands for; its spelling is not near, its meaning is."""
    meant = OTHER_WORDS.get(getattr(error, "option_name", ""))
    known = {name for option in error.ctx.command.params for name in option.opts} if meant and error.ctx else set()
    return meant if meant in known else None


def _got(error: Any) -> str:
    """Newer versions of Typer keep what was typed in the error's cause, older ones quote it in the message."""
    if quoted := re.match(r"('.*'|\".*\") is not", error.message):
        return f", got {quoted[1]}"
    return f", got {error.__cause__.errors()[0]['input']!r}" if hasattr(error.__cause__, "errors") else ""


def _bug(error: Exception) -> str:
    """Neither the exception's own text nor a traceback, since either may quote a count."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__} in {Path(at.filename).name}, line {at.lineno}"
    return f"this is a bug in deniable ({where}); please report it"


def _fail(message: str, code: int = 2) -> int:
    with suppress(OSError):
        shown = _COMMANDS_A_TERMINAL.sub(lambda found: ascii(found[0])[1:-1], " ".join(message.split("\n")))
        print("error:", shown, file=sys.stderr)
    return code


# What an error quotes may come from a file of others: it must not clear the screen, or turn round what stands there.
_COMMANDS_A_TERMINAL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _abandon_stdout() -> None:
    """Python flushes stdout once more when it ends, and would complain again."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
