"""The figure of `deniable attack`: each mechanism's measured ROC under its proven curve and the line FPR + delta."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deniable.attack import Result
from deniable.simulation.figures import MECHANISM_COLOURS, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_chart(results: Mapping[str, Result], path: Path) -> None:
    figure = new_figure(3.0 * len(results) + 0.4, 5.6)
    rates, gains = figure.subplots(2, len(results), squeeze=False, sharex=True, height_ratios=(3, 2))
    for i, (name, result) in enumerate(results.items()):
        _rates(rates[i], name, result)
        _gains(gains[i], name, result)
        for axes in (rates[i], gains[i]):
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(labelsize=8)
            axes.grid(color="#e5e5e5", linewidth=0.6)
            axes.set_axisbelow(True)
        gains[i].set_xlabel("FPR: said “filed”, wrongly", fontsize=8)
    rates[0].set_ylabel("TPR: said “filed”, rightly", fontsize=8)
    gains[0].set_ylabel("TPR − FPR", fontsize=8)
    save_figure(figure, path)


def _rates(axes: "Axes", name: str, result: Result) -> None:
    grid = np.linspace(0, 1, 401)
    delta = result.guarantee.delta
    axes.plot(grid, grid, color="#999999", linewidth=0.8)
    axes.plot(grid, np.minimum(1, grid + delta), color="#444444", linewidth=1, linestyle=":", label="FPR + delta")
    axes.plot(grid, result.guarantee.tradeoff(grid), color="#444444", linewidth=1, linestyle="--", label="proven")
    axes.plot(*result.roc, color=_colour(name), linewidth=1.8, label="measured")
    axes.plot(result.event.fpr_at_most, result.event.tpr_at_least, "o", color=_colour(name), markersize=4,
              label="at least")  # fmt: skip
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.set_title(f"{name}: {result.pair.name}", loc="left", fontsize=9)
    axes.legend(loc="lower right", fontsize=7, frameon=False)


def _gains(axes: "Axes", name: str, result: Result) -> None:
    """The same above the diagonal, where a small delta shows."""
    grid = np.linspace(0, 1, 401)
    delta = result.guarantee.delta
    fpr, tpr = result.roc
    axes.plot(grid, np.minimum(1, grid + delta) - grid, color="#444444", linewidth=1, linestyle=":")
    axes.plot(grid, result.guarantee.tradeoff(grid) - grid, color="#444444", linewidth=1, linestyle="--")
    axes.plot(fpr, tpr - fpr, color=_colour(name), linewidth=1.8)
    axes.set_ylim(min(0.0, 1.1 * float((tpr - fpr).min())), 1.25 * max(0.02, delta, float((tpr - fpr).max())))


def _colour(name: str) -> str:
    return MECHANISM_COLOURS[name]
