"""The chart of `deniable plan`: error against lead, wait against extra reports, and what watching gives away."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deniable.planning import Office, Option
from deniable.promptness import passed_over
from deniable.simulation.figures import MECHANISM_COLOURS, label_lines, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHART_REPORTS = (0, 1, 2, 3, 5, 7, 10, 15, 20, 30)
STYLES = {"rr": (0, (4, 1.5)), "tca": (0, (6, 1, 1, 1))}
"""Besides the colours: lines that may lie on one another show through."""


def draw_chart(office: Office, options: Sequence[Option], path: Path) -> None:
    figure = new_figure(10, 3.3)
    errors, waits, curves = figure.subplots(1, 3)
    _errors(errors, office, options)
    _waits(waits, options)
    _curves(curves, options)
    for axes in (errors, waits, curves):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
        axes.xaxis.label.set_size(9)
        axes.set_title(axes.get_title(loc="left"), loc="left", fontsize=10)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    save_figure(figure, path)


def _errors(axes: "Axes", office: Office, options: Sequence[Option]) -> None:
    leads = [option.lead_needed for option in options if option.lead_needed is not None]
    furthest = max(10.0, *(1.2 * lead for lead in leads))
    gaps = np.unique(np.linspace(0, furthest, 200).astype(np.int64))
    ends = {}
    for option in options:
        error = [100 * passed_over(option.mechanism, int(gap), office.audits) for gap in gaps]
        _line(axes, option, gaps, error)
        ends[option.mechanism_id] = error[-1]
        if option.mechanism_id == "tca":
            axes.annotate("at most", (gaps[np.argmax(np.array(error) < 50)], 50), (4, 0), textcoords="offset points",
                          fontsize=8, color=MECHANISM_COLOURS["tca"])  # fmt: skip
    axes.set(xlim=(0, furthest), ylim=(0, 102), xlabel="lead over all others, in reports")
    axes.set_title("Rounds in 100 that miss the leader", loc="left")
    label_lines(axes, ends)


def _waits(axes: "Axes", options: Sequence[Option]) -> None:
    ends = {}
    for option in options:
        extra = np.array([wait.extra_reports for wait in option.waits])
        mean = np.array([wait.rounds for wait in option.waits])
        spread = 2 * np.array([wait.standard_error for wait in option.waits])
        _line(axes, option, extra, mean)
        axes.fill_between(
            extra, mean - spread, mean + spread, color=MECHANISM_COLOURS[option.mechanism_id], alpha=0.15, linewidth=0
        )
        ends[option.mechanism_id] = float(mean[-1])
    axes.set(xlim=(0, CHART_REPORTS[-1]), xlabel="reports more than usual")
    axes.set_ylim(bottom=0)
    cut_short = any(wait.cut_short for option in options for wait in option.waits)
    axes.set_title(f"Rounds until audited{', at least' if cut_short else ''}", loc="left")
    label_lines(axes, ends)


def _curves(axes: "Axes", options: Sequence[Option]) -> None:
    """TPR - FPR: the trade-off curve above the diagonal, which would hide it at a small delta."""
    fpr = np.linspace(0, 1, 401)
    protected = [option for option in options if option.mechanism_id != "greedy"]
    highest = 100 * max(option.guarantee.delta for option in protected)
    peaks = {}
    for option in protected:
        gain = 100 * (option.guarantee.tradeoff(fpr) - fpr)
        _line(axes, option, 100 * fpr, gain)
        peaks[option.mechanism_id] = float(gain[320])
    axes.set(xlim=(0, 80), ylim=(0, 1.15 * highest), xlabel="wrongly suspected, of 100")
    axes.set_title("Rightly minus wrongly suspected, at most", loc="left")
    label_lines(axes, peaks)
    axes.text(0.03, 0.97, "greedy: no limit", transform=axes.transAxes, va="top", fontsize=8,
              color=MECHANISM_COLOURS["greedy"])  # fmt: skip


def _line(axes: "Axes", option: Option, x: "np.typing.ArrayLike", y: "np.typing.ArrayLike") -> None:
    name = option.mechanism_id
    axes.plot(x, y, color=MECHANISM_COLOURS[name], linestyle=STYLES.get(name, "-"), linewidth=1.8)
