"""`deniable reproduce`: every table and figure of the paper, and ours beside them."""

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from deniable.cli.groups import Command
from deniable.cli.options import AsJson, Cluster, Seed, Workers, shared
from deniable.errors import check_whole
from deniable.simulation.reproduction import Reproduction, Settings
from deniable.simulation.reproduction import reproduce as run

commands = typer.Typer(rich_markup_mode=None)


@commands.command(cls=Command)
def reproduce(
    *,
    out: Annotated[Path, shared("--out", "a folder, for the tables, the figures and REPORT.md.")],
    quick: Annotated[bool, typer.Option("--quick", help="A look in seconds: fewer runs and settings.")] = False,
    seed: Seed = 0,
    cluster: Cluster = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce the paper's experiments, with its claims one by one and what was found.

    Parts that the folder already holds, made with the same settings, are kept; so an interrupted reproduction goes on
    where it stopped. A full reproduction is not replaced by --quick. The same seed gives the same tables, whatever the
    number of workers; on processors of different kinds the last digits may differ.

    \b
    Example
      deniable reproduce --out results
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    settings = Settings.make(seed, quick=quick)
    if workers is not None:
        check_whole("workers", workers, least=1)
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:
        shown = {}

        def tell(part: str, done: int, total: int) -> None:
            if part not in shown:
                shown[part] = bars.add_task(part, total=total)
            bars.update(shown[part], completed=done)

        found = run(out, settings, cluster=cluster, workers=workers, progress=tell)
    if as_json:
        print(json.dumps(_document(found), indent=1, allow_nan=False))
    else:
        _show(found)


def _document(found: Reproduction) -> dict[str, object]:
    return {
        "folder": str(found.folder),
        "made": found.made,
        "claims": [asdict(claim) for claim in found.claims],
        "means": [asdict(row) for row in found.tables.means],
    }


def _show(found: Reproduction) -> None:
    console = Console(markup=False, emoji=False, highlight=False)
    base = found.tables.settings.dynamic
    console.print(
        f"Experiment 2: {base.n_targets} targets, {base.rounds:,} rounds, delta = {base.delta:g}, {base.runs} runs",
        style="bold",
    )
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("mechanism", no_wrap=True)
    for name in ("mean deficit", "misses the leader"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in sorted(found.tables.means, key=lambda row: row.deficit):
        table.add_row(row.mechanism, f"{row.deficit:.2f} ± {row.deficit_error:.2f}", f"{100 * row.missed:.1f} %")
    console.print(table)
    verdicts = Counter(claim.verdict for claim in found.claims)
    counted = ", ".join(
        f"{count} {verdict.replace('holds', 'hold', 1).replace('differs', 'differ')}"
        for verdict, count in verdicts.items()
    )
    console.print(f"\n{len(found.claims)} claims of the paper: {counted}.")
    kept = "" if found.made else " Everything was there already."
    console.print(f"Tables, figures and the report are in {found.folder}; start with REPORT.md there.{kept}")
