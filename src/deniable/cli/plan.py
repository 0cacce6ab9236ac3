"""`deniable plan`: what each mechanism would promise an audit office, and what it would cost."""

import json
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

from deniable.cli.groups import Command
from deniable.cli.options import AsJson, Audits, Chart, Cooldown, MaxGap, as_options, delta_or_advantage, shared
from deniable.cli.plan_output import CHART_REPORTS, draw_chart, show, to_json
from deniable.cli.plan_sections import (
    check_yearly_delta,
    deadline_json,
    show_deadline,
    show_yearly,
    yearly_json,
)
from deniable.errors import DeniableError
from deniable.planning import (
    OTHER_COUNTERS,
    PLANNED,
    NotCovered,
    Office,
    Option,
    assess,
    assess_deadline,
)
from deniable.promptness import REPORTS, Deadline
from deniable.rules import Rules
from deniable.simulation.figures import check_chart

commands = typer.Typer(rich_markup_mode=None)

DEFAULT_HORIZON = 1000
REPORTS_PER_TARGET = 0.2
PROBABILITY = 0.9


@commands.command(cls=Command)
def plan(
    *,
    targets: Annotated[int, shared("--targets")],
    delta: Annotated[list[str] | None, shared("--delta", "Give this or --advantage.")] = None,
    advantage: Annotated[float | None, shared("--advantage")] = None,
    reports_per_person: Annotated[
        int,
        shared(
            "--reports-per-person",
            "The default shows what several reports give away, beside one; that of programme init is 1.",
        ),
    ] = 3,
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
    deadline: Annotated[
        int | None,
        typer.Option(
            metavar="ROUNDS",
            show_default=False,
            help="Say what it takes for one report to lead to a visit within so many rounds, the one it comes in "
            "included.",
        ),
    ] = None,
    probability: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            show_default=False,
            help=f"How probable that visit must be; {PROBABILITY:g} if not given. Only with --deadline.",
        ),
    ] = None,
    yearly_figures_delta: Annotated[
        float | None,
        shared("--yearly-figures-delta", "Say what it costs.", show_default=False),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Compare the other counters as well.")] = False,
    runs: Annotated[int | None, shared("--runs", show_default=False)] = None,
    as_json: AsJson = False,
    chart: Chart = None,
) -> None:
    """Compare what each mechanism promises, and how well its audits follow the reports.

    Nothing here is confidential, and nothing is drawn for a programme: waits are calculated, or simulated where other
    targets have reports too. Beside the lead that each mechanism needs it shows a proven limit: the least lead of any
    mechanism that goes by the reports since the last audits alone.

    \b
    Example: 50 targets, one audit a round
      deniable plan --targets 50 --delta 0.1
    Example: people file up to 3 reports, every target's turn comes within 26 rounds
      deniable plan --targets 50 --advantage 0.05 --reports-per-person 3 \\
          --max-gap 26 --audits 2
    Example: one report is to lead to a visit within 13 rounds, 9 times in 10
      deniable plan --targets 50 --delta 0.1 --deadline 13 --probability 0.9
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    level = delta_or_advantage(delta, advantage)
    if probability is not None and deadline is None:
        raise DeniableError("--probability is about a deadline; give --deadline, in rounds, as well")
    try:
        due = None if deadline is None else Deadline(deadline, PROBABILITY if probability is None else probability)
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
        if due is not None:
            due.check_rules(office.rules, office.horizon)
        if yearly_figures_delta is not None:
            check_yearly_delta(yearly_figures_delta, office)
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
    if due is not None or yearly_figures_delta is not None:
        _check_race(options)
    if chart is not None:
        draw_chart(office, [option for option in options if isinstance(option, Option)], chart)
    deadlines = None if due is None else assess_deadline(office, due, options, runs)
    if as_json:
        document = to_json(office, options, runs) | {
            "deadline": None if deadlines is None else deadline_json(office, options, deadlines),
            "yearly_figures": None if yearly_figures_delta is None else yearly_json(options, yearly_figures_delta),
        }
        print(json.dumps(document, indent=1, allow_nan=False))
        return
    show(office, options, runs)
    if deadlines is not None:
        show_deadline(office, options, deadlines)
    if yearly_figures_delta is not None:
        show_yearly(office, options, yearly_figures_delta)


def _check_race(options: Sequence[Option | NotCovered]) -> None:
    for option in options:
        if option.mechanism_id == "race" and isinstance(option, NotCovered):
            raise DeniableError(
                "--deadline and --yearly-figures-delta are calculated for race, which is not covered here: "
                f"{as_options(option.reason)}"
            )
