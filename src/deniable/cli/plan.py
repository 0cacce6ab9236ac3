"""`deniable plan`: what each mechanism would promise an audit office, and what it would cost."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

from deniable.cli.groups import Command
from deniable.cli.options import AsJson, Audits, Chart, Cooldown, MaxGap, as_options, one_delta, shared
from deniable.cli.plan_output import CHART_REPORTS, draw_chart, show, to_json
from deniable.errors import DeniableError
from deniable.planning import (
    OTHER_COUNTERS,
    PLANNED,
    Office,
    Option,
    assess,
)
from deniable.promptness import REPORTS
from deniable.rules import Rules
from deniable.simulation.figures import check_chart

commands = typer.Typer(rich_markup_mode=None)

DEFAULT_HORIZON = 1000
REPORTS_PER_TARGET = 0.2


@commands.command(cls=Command)
def plan(
    *,
    targets: Annotated[int, shared("--targets")],
    delta: Annotated[list[str] | None, shared("--delta", "Give this or --advantage.")] = None,
    advantage: Annotated[float | None, shared("--advantage")] = None,
    reports_per_person: Annotated[int, shared("--reports-per-person")] = 3,
    horizon: Annotated[
        int | None,
        shared("--horizon", f"Default {DEFAULT_HORIZON}, or without end if --max-gap is given.", show_default=False),
    ] = None,
    max_gap: MaxGap = None,
    cooldown: Cooldown = 0,
    audits: Audits = 1,
    reports_per_round: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            show_default=False,
            help="Reports that usually arrive in a round, about all targets together; one for every five targets "
            "if not given.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Compare the other counters as well.")] = False,
    runs: Annotated[int | None, shared("--runs", show_default=False)] = None,
    as_json: AsJson = False,
    chart: Chart = None,
) -> None:
    """Compare what each mechanism promises, and how well its audits follow the reports.

    Nothing here is confidential, and nothing is drawn for a programme: waits are calculated, or simulated where other
    targets have reports too. Beside the leads that the mechanisms need stands a proven limit: the least lead of any
    mechanism that goes by the reports since the last audits alone.

    \b
    Example: 50 targets, one audit a round
      deniable plan --targets 50 --delta 0.1
    Example: people file up to 3 reports, every target's turn comes within 26 rounds
      deniable plan --targets 50 --advantage 0.05 --reports-per-person 3 \\
          --max-gap 26 --audits 2
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    level = one_delta(delta)
    if (level is None) == (advantage is None):
        raise DeniableError(
            "give either --delta, the promise about one report, or --advantage, the promise about a person, "
            f"got {'neither' if level is None else 'both'}; for example --delta 0.1"
        )
    try:
        office = Office(
            targets,
            level,
            advantage,
            horizon=DEFAULT_HORIZON if horizon is None and max_gap is None else horizon,
            rules=Rules(max_gap, cooldown),
            audits=audits,
            reports_per_round=REPORTS_PER_TARGET * targets if reports_per_round is None else reports_per_round,
            reports_per_person=reports_per_person,
        )
    except DeniableError as error:
        raise DeniableError(as_options(str(error))) from None
    if chart is not None:
        check_chart(chart)
    if runs is None:
        runs = min(500, max(50, 25_000 // targets))

    extra = REPORTS if chart is None else CHART_REPORTS
    console = Console(stderr=True)
    ids = track(
        (*PLANNED, *(OTHER_COUNTERS if every else ())),
        "Simulating",
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    options = [assess(office, mechanism_id, extra, runs) for mechanism_id in ids]
    if chart is not None:
        draw_chart(office, [option for option in options if isinstance(option, Option)], chart)
    if as_json:
        print(json.dumps(to_json(office, options, runs), indent=1, allow_nan=False))
    else:
        show(office, options, runs)
