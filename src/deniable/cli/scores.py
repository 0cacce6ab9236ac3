"""What `simulate` and `evaluate` share: progress, and scores as a table, as CSV and as JSON."""

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from deniable.cli.new_files import create
from deniable.errors import cannot_write
from deniable.simulation.evaluation import MeanOverRuns, Score

CONFIDENTIAL = "confidential: computed from real reports; do not publish"
CHOICE = (
    "note: to choose a mechanism or a delta by what these reports show is itself a use of confidential reports, and "
    "no guarantee covers it; choose on simulated reports (deniable plan, deniable simulate) or on public ones."
)


@contextmanager
def progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, moved by a function of the number of finished tasks and of all."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Simulating", total=None)
        yield lambda finished, total: bar.update(task, completed=finished, total=total)


def as_json(score: Score) -> dict[str, Any]:
    return {
        "mechanism": score.mechanism_id,
        "delta": score.delta,
        **{
            metric: {"mean": _known(value.mean), "standard_error": _known(value.standard_error)}
            for metric, value in score.metrics.items()
        },
    }


def write_csv(path: Path, scores: Sequence[tuple[Mapping[str, str], Score]], *, confidential: bool) -> None:
    """A row for each score, with public labels in front, and two columns for each metric: `x` and `x_se`."""
    rows = []
    for labels, score in scores:
        row: dict[str, Any] = {**labels, "mechanism": score.mechanism_id, "delta": score.delta}
        for metric, value in score.metrics.items():
            row |= {metric: _known(value.mean), f"{metric}_se": _known(value.standard_error)}
        rows.append(row)
    create(path, confidential=confidential)
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise cannot_write(path, error) from None


def print_table(scores: Sequence[Score]) -> None:
    """A row for each score: within 80 columns, or wider rather than cut off where names are long."""
    shown = [column for column in COLUMNS if column[0] in scores[0].metrics]
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    grid.add_column("mechanism", no_wrap=True)
    for heading in ("delta", *(heading for _, heading, _ in shown)):
        grid.add_column(heading, justify="right", no_wrap=True)
    for score in scores:
        delta = "-" if score.delta is None else f"{score.delta:g}"
        cells = {metric: show(score.metrics[metric]) for metric, _, show in shown}
        if score.metrics["resolved"].mean < 0.95:  # too many had not yet waited to their audit
            cells["wait_p95"] = f">{cells['wait_p95']}"
        grid.add_row(score.mechanism_id, delta, *cells.values())
    Console(markup=False, emoji=False, highlight=False, width=max(120, Console().width)).print(grid)


def legend(scores: Sequence[Score], runs: int) -> str:
    meanings = [MEANINGS[metric] for metric, _, _ in COLUMNS if metric in scores[0].metrics]
    return f"Means over {runs:,} simulated runs, ± one standard error. {' '.join(meanings)}"


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _with_error(value: MeanOverRuns) -> str:
    if math.isnan(value.mean):
        return "-"
    error = value.standard_error
    if math.isnan(error) or error == 0:
        return f"{value.mean:,.1f}"
    places = 0 if error >= 9.5 else 1 if error >= 0.095 else 2
    return f"{value.mean:,.{places}f} ± {error:.{places}f}"


def _plain(value: MeanOverRuns) -> str:
    return "-" if math.isnan(value.mean) else f"{value.mean:,.1f}"


def _two_places(value: MeanOverRuns) -> str:
    return "-" if math.isnan(value.mean) else f"{value.mean:.2f}"


def _percent(value: MeanOverRuns) -> str:
    return "-" if math.isnan(value.mean) else f"{100 * value.mean:.1f}%"


COLUMNS: tuple[tuple[str, str, Callable[[MeanOverRuns], str]], ...] = (
    ("deficit", "deficit", _with_error),
    ("normalized_deficit", "norm.", _two_places),
    ("missed", "missed", _percent),
    ("resolved", "resolved", _percent),
    ("wait", "wait", _plain),
    ("wait_p95", "95%", _plain),
    ("first_audit", "found", _with_error),
    ("assessed_per_audit", "upheld", _two_places),
)

MEANINGS = {
    "deficit": "deficit: how many reports fewer the audited target has than the one with the most.",
    "normalized_deficit": "norm.: the same over the most, plus one.",
    "missed": "missed: rounds that audited no target with the most reports; the others audited a leader.",
    "resolved": "resolved: reports whose target was audited before the end.",
    "wait": "wait: rounds from a report to the audit of its target, or to the end, so a lower bound where fewer are "
    "resolved.",
    "wait_p95": "95%: rounds that 95 reports of 100 waited at most, the mean of each run's; > where fewer than 95% are "
    "resolved.",
    "first_audit": "found: rounds until the target that turned bad was audited.",
    "assessed_per_audit": "upheld: reports resolved by an audit, each weighted by its target's share of "
    "substantiated reports (a noisy ground truth).",
}
