"""The chart of `deniable evaluate`: mean deficit against delta, one panel for each version of the stream."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.cli.scores import CONFIDENTIAL, create
from deniable.simulation.evaluation import Score
from deniable.simulation.figures import MECHANISM_COLOURS, label_lines, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_chart(versions: Sequence[tuple[str, Sequence[Score]]], path: Path) -> None:
    figure = new_figure(4.2 * len(versions) + 0.6, 3.4)
    figure.suptitle(CONFIDENTIAL, fontsize=9, color="#b00000")
    panels = figure.subplots(1, len(versions), squeeze=False, sharey=True)[0]
    deltas = sorted({score.delta for _, scores in versions for score in scores if score.delta is not None})
    for axes, (title, scores) in zip(panels, versions, strict=True):
        _deficits(axes, scores, deltas)
        axes.set_title(title, loc="left", fontsize=9, wrap=True)
    panels[0].set_ylabel("mean deficit, in reports", fontsize=9)
    for axes, (_, scores) in zip(panels, versions, strict=True):  # when the shared height is known
        label_lines(axes, {score.mechanism_id: _height(score) for score in scores if score.delta in (None, deltas[-1])})
    create(path, confidential=True)
    save_figure(figure, path)


def _deficits(axes: "Axes", scores: Sequence[Score], deltas: Sequence[float]) -> None:
    for name in dict.fromkeys(score.mechanism_id for score in scores):
        own = [score for score in scores if score.mechanism_id == name]
        colour = MECHANISM_COLOURS[name]
        if own[0].delta is None:  # does not depend on delta
            axes.axhline(_height(own[0]), color=colour, linestyle=(0, (4, 2)), linewidth=1.4)
            continue
        own.sort(key=lambda score: score.delta or 0)
        # Two standard errors.
        axes.errorbar(
            [deltas.index(score.delta) for score in own if score.delta is not None],
            [_height(score) for score in own],
            [2 * score.metrics["deficit"].standard_error for score in own],
            color=colour, marker="o", markersize=4, linewidth=1.6, capsize=3,
        )  # fmt: skip
    axes.set_yscale("symlog", linthresh=1)  # greedy is at 0, uniform may be in the thousands
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_ylim(bottom=-0.1)
    axes.margins(y=0.1)
    axes.set_xticks(range(len(deltas)), [f"{delta:g}" for delta in deltas])
    axes.set_xlim(-0.3, len(deltas) - 0.7)
    axes.set_xlabel("delta", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def _height(score: Score) -> float:
    return score.metrics["deficit"].mean
