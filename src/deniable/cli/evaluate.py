"""`deniable evaluate`: all mechanisms at several deltas on a recorded report stream."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from deniable.cli import scores as shown
from deniable.cli.groups import Command
from deniable.cli.new_files import check_new_file, create
from deniable.cli.options import SEVERAL, AsJson, Seed, StreamFile, Workers, deltas, several, shared
from deniable.errors import DeniableError
from deniable.mechanisms import NEEDS
from deniable.planning import PLANNED
from deniable.report_files import read_csv, read_targets
from deniable.simulation.evaluation import Replay, Score, Study, score
from deniable.simulation.figures import MECHANISM_COLOURS, check_chart, label_lines, new_figure, save_figure
from deniable.simulation.recorded import read_outcomes, window, without_days
from deniable.streams import ReportStream

if TYPE_CHECKING:
    from matplotlib.axes import Axes

commands = typer.Typer(rich_markup_mode=None)


@dataclass(frozen=True)
class Evaluated:
    """The scores on one version of the stream."""

    left_out: tuple[str, ...]
    """Days whose reports do not count."""
    scores: Sequence[Score]

    @property
    def title(self) -> str:
        return f"without {', '.join(self.left_out)}" if self.left_out else "all reports"


@commands.command(cls=Command)
def evaluate(
    stream: StreamFile,
    *,
    outcomes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV file with the columns target,reports,assessed_gt0: how many of a target's reports were "
            "substantiated.",
        ),
    ] = None,
    target_list: Annotated[
        Path | None, shared("--target-list", "By default the targets with a report in the days evaluated.")
    ] = None,
    period: Annotated[str, shared("--period", "Only if STREAM has dates.")] = "1D",
    start: Annotated[str | None, shared("--start", "By default the first day in STREAM.")] = None,
    end: Annotated[str | None, shared("--end", "By default the last day in STREAM.")] = None,
    delta: Annotated[list[str], shared("--delta", SEVERAL)] = ["0.05,0.1,0.2"],  # noqa: B006  (Typer copies it)
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="YYYY-MM-DD",
            help=f"Evaluate a second time without the reports of this day, such as that of a mass filing. {SEVERAL}",
        ),
    ] = None,
    runs: Annotated[int, shared("--runs")] = 20,
    seed: Seed = 0,
    workers: Workers = None,
    chart: Annotated[Path | None, shared("--chart", "The file must be new.")] = None,
    out: Annotated[Path | None, shared("--out", "a new CSV file, for the table.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare all mechanisms on a recorded report stream: one audit a round, with simulated noise.

    A day without a row is a round without reports. Every target takes part from the first round on, even where its
    first report comes later. Counter auditing is calibrated for as many rounds as there are.

    All of the output is computed from the reports, and as confidential as they are.

    \b
    Example: weekly rounds, with and without the day of a mass filing
      deniable evaluate reports.csv --period 7D --delta 0.1,0.2 \\
          --without 2020-05-22
    """  # noqa: D301  (the help needs the backspace, which keeps the example's lines)
    levels = deltas(delta)
    if out is not None:
        check_new_file("--out", out)
    if chart is not None:
        check_chart(chart)
        check_new_file("--chart", chart)
    targets = None if target_list is None else read_targets(target_list)
    whole = read_csv(stream, targets)
    left_out = tuple(several(without))
    versions = [(), left_out] if left_out else [()]
    rounds = {days: _rounds(whole, start, end, period, days, listed=targets is not None) for days in versions}
    assessed = None if outcomes is None else read_outcomes(outcomes, rounds[()].targets)

    wanted = [(name, delta) for name in PLANNED for delta in (levels if NEEDS[name] else [None])]
    evaluated = []
    with shown.progress() as done:
        for number, (days, part) in enumerate(rounds.items()):
            study = Study(Replay(part.counts), part.n_targets, part.n_rounds, assessed=assessed)

            def tell(finished: int, total: int, before: int = number) -> None:
                done(before * total + finished, len(rounds) * total)

            evaluated.append(Evaluated(days, score(study, wanted, runs, seed, workers=workers, done=tell)))

    if out is not None:
        shown.write_csv(
            out,
            [({"left_out": " ".join(version.left_out)}, each) for version in evaluated for each in version.scores],
            confidential=True,
        )
    if chart is not None:
        _draw_chart([(version.title, version.scores) for version in evaluated], chart)
    about = _about(stream.name, rounds[()], period)
    if as_json:
        document = {
            "notes": [shown.CONFIDENTIAL, shown.CHOICE],
            **about,
            "runs": runs,
            "seed": seed,
            "versions": [
                {"left_out": version.left_out, "scores": [shown.as_json(each) for each in version.scores]}
                for version in evaluated
            ],
        }
        print(json.dumps(document, indent=1, allow_nan=False))
    else:
        _show(about, evaluated, runs)


def _rounds(
    whole: ReportStream,
    start: str | None,
    end: str | None,
    period: str,
    left_out: tuple[str, ...],
    *,
    listed: bool,
) -> ReportStream:
    if not whole.is_dated:
        for option, given in (("--start", start), ("--end", end), ("--without", left_out)):
            if given:
                raise DeniableError(f"{option} is for files with dates, but the rounds of this one are numbered")
        if period.upper() != "1D":
            raise DeniableError("--period is for files with dates, but the rounds of this one are numbered")
        return whole
    days = window(whole, start, end, keep_targets=listed)
    # The list of targets is that of all days, so that both evaluations have the same.
    return window(without_days(days, left_out), period=period, keep_targets=True)


def _about(name: str, stream: ReportStream, period: str) -> dict[str, Any]:
    return {
        "stream": name,
        "targets": stream.n_targets,
        "rounds": stream.n_rounds,
        "period": period.upper() if stream.is_dated else None,
        "first_round": stream.rounds[0],
        "last_round": stream.rounds[-1],
        "reports": int(stream.counts.sum()),
    }


def _show(about: dict[str, Any], evaluated: Sequence[Evaluated], runs: int) -> None:
    console = Console(markup=False, emoji=False, highlight=False)
    console.print(f"{shown.CONFIDENTIAL}\n", style="bold red")
    console.print(f"{shown.CHOICE}\n", style="yellow")
    dates = (
        f" of {about['period']}, the first from {about['first_round']}, the last from {about['last_round']}"
        if about["period"]
        else ""
    )
    console.print(
        f"{about['stream']}: {about['reports']:,} reports about {about['targets']:,} targets, all of them taking part "
        f"from the first round; {about['rounds']:,} rounds{dates}, one audit each."
    )
    for version in evaluated:
        console.print(f"\n{version.title[:1].upper()}{version.title[1:]}", style="bold")
        shown.print_table(version.scores)
    console.print(f"\n{shown.legend(evaluated[0].scores, runs)}")
    console.print(f"\n{shown.CONFIDENTIAL}", style="bold red")


# Chart


def _draw_chart(versions: Sequence[tuple[str, Sequence[Score]]], path: Path) -> None:
    """Mean deficit against delta, one panel for each version of the stream."""
    figure = new_figure(4.2 * len(versions) + 0.6, 3.4)
    figure.suptitle(shown.CONFIDENTIAL, fontsize=9, color="#b00000")
    panels = figure.subplots(1, len(versions), squeeze=False, sharey=True)[0]
    levels = sorted({each.delta for _, scores in versions for each in scores if each.delta is not None})
    for axes, (title, scores) in zip(panels, versions, strict=True):
        _deficits(axes, scores, levels)
        axes.set_title(title, loc="left", fontsize=9, wrap=True)
    panels[0].set_ylabel("mean deficit, in reports", fontsize=9)
    for axes, (_, scores) in zip(panels, versions, strict=True):  # when the shared height is known
        label_lines(axes, {each.mechanism_id: _height(each) for each in scores if each.delta in (None, levels[-1])})
    create(path, confidential=True)
    save_figure(figure, path)


def _deficits(axes: "Axes", scores: Sequence[Score], levels: Sequence[float]) -> None:
    for name in dict.fromkeys(each.mechanism_id for each in scores):
        own = [each for each in scores if each.mechanism_id == name]
        colour = MECHANISM_COLOURS[name]
        if own[0].delta is None:  # does not depend on delta
            axes.axhline(_height(own[0]), color=colour, linestyle=(0, (4, 2)), linewidth=1.4)
            continue
        own.sort(key=lambda each: each.delta or 0)
        # Two standard errors.
        axes.errorbar(
            [levels.index(each.delta) for each in own if each.delta is not None],
            [_height(each) for each in own],
            [2 * each.metrics["deficit"].standard_error for each in own],
            color=colour, marker="o", markersize=4, linewidth=1.6, capsize=3,
        )  # fmt: skip
    axes.set_yscale("symlog", linthresh=1)  # greedy is at 0, uniform may be in the thousands
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_ylim(bottom=-0.1)
    axes.margins(y=0.1)
    axes.set_xticks(range(len(levels)), [f"{delta:g}" for delta in levels])
    axes.set_xlim(-0.3, len(levels) - 0.7)
    axes.set_xlabel("delta", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def _height(each: Score) -> float:
    return each.metrics["deficit"].mean
