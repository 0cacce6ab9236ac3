"""`deniable programme oversight`: the office hands over the sealed rounds, and the oversight body replays them."""

import csv
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli import programme_options as options
from deniable.cli.options import AsJson, Command
from deniable.cli.programme_words import answer, count
from deniable.errors import DeniableError
from deniable.programme.oversight import Replayed, read_identity, read_seals, write_seals
from deniable.programme.oversight import counts as counted
from deniable.programme.oversight import replay as replayed
from deniable.programme.transcript import parse
from deniable.programme.verification import verify

commands = typer.Typer(rich_markup_mode=None)
oversight = typer.Typer(name="oversight", rich_markup_mode=None)
commands.add_typer(oversight)


@oversight.callback(invoke_without_command=True)
def _(context: typer.Context) -> None:
    """Let an oversight body check that the office followed the mechanism.

    With --oversight at init, every round's reports and seed are sealed to the oversight body's age key, and the
    public transcript holds the hash of each seal. Whoever has the private key can read the counts of every round.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@oversight.command(cls=Command)
def seals(
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", show_default=False, help="The file to write.")],
    database: options.Database = options.DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Write the sealed rounds into one file for the oversight body.

    Only the oversight body can read what is in it, so it may travel by any way. Its length depends on the number of
    rounds and targets alone. Hand it over often: rounds whose seals are lost with the database cannot be checked.
    """
    with options.opened(database) as programme:
        if programme.parameters.oversight is None:
            raise DeniableError("this programme has no oversight body, so nothing was sealed; one is named at init")
        sealed = programme.seals()
    write_seals(sealed, out)
    answer(as_json, {"file": str(out), "rounds": len(sealed)}, f"{count(len(sealed), 'sealed round')} in", f"  {out}")


@oversight.command(cls=Command)
def replay(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", show_default=False, help="The public folder.")],
    sealed: Annotated[Path, typer.Argument(metavar="SEALS", show_default=False, help="The file of sealed rounds.")],
    *,
    identity: Annotated[
        Path, typer.Option(metavar="FILE", show_default=False, help="The age private key, as age-keygen writes it.")
    ],
    counts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Write round,target,reports into this new CSV file, to compare with the hotline's own records. "
            "Confidential.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run every round again, as the oversight body.

    The public folder is verified first. Then each round is drawn again from its sealed reports and seed: the seed must
    be the one that was committed to before the round, and the audits must come out as published. Exit code 0: every
    round follows, except those that are named because the office lost their inputs. 2: one does not, and one line
    names the first.

    It shows that the audits follow from the reports which the office says it had. It cannot show that those are the
    reports that came in: compare them with the hotline's own records.
    """
    checked = verify(folder)
    inputs = checked.parameters, [parse(line) for line in checked.lines], read_seals(sealed), read_identity(identity)
    verdict = replayed(*inputs)
    if verdict.failed is not None:
        raise DeniableError(f"round {verdict.failed} does not follow from its inputs: {verdict.why}")
    if counts is not None:
        _write_counts(counts, counted(*inputs))
    answer(as_json, _document(verdict), *_lines(verdict))


def _write_counts(path: Path, rows: Iterable[tuple[int, str, int]]) -> None:
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            csv.writer(file).writerows([("round", "target", "reports"), *rows])
    except OSError as error:
        raise DeniableError(f"cannot write {path}: {error.strerror}") from None


def _document(verdict: Replayed) -> dict[str, object]:
    return {"confirmed": verdict.confirmed, "rounds": verdict.rounds, "unchecked": list(verdict.unchecked)}


def _lines(verdict: Replayed) -> list[str]:
    lost = ", ".join(map(str, verdict.unchecked))
    return [
        f"{count(verdict.rounds, 'round')} drawn again: the audits of every one follow from its reports and its seed.",
        *(
            [f"NOT CONFIRMED, since the office lost their inputs before it handed them over: rounds {lost}."]
            if lost
            else []
        ),
    ]
