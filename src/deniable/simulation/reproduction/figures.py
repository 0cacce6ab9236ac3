"""The figures of a reproduction, drawn from its tables; 8 inches wide, to be read at about 800 pixels."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.simulation.experiments import MECHANISMS
from deniable.simulation.experiments.dynamic import COUNTER_IDS, METRICS
from deniable.simulation.figures import MECHANISM_COLOURS, SUFFIXES, label_lines, new_figure, save_figure
from deniable.simulation.reproduction.tables import Tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 8.0
STYLES: dict[str, Any] = {"rr": (0, (4, 1.5)), "rr:paper": (0, (1, 1)), "counter:blt": (0, (3, 2))}
"""Besides the colours: lines that lie on one another show through."""
TITLES = {
    "deficit": "Mean deficit so far",
    "normalized_deficit": "Mean normalized deficit so far",
    "resolved": "Mean reports resolved by an audit so far",
}
VARIED = {
    "n_targets": "targets",
    "rounds": "rounds",
    "delta": "delta",
    "lead": "reports a round, busy target",
    "other": "reports a round, other targets",
}


def figure_names(tables: Tables) -> list[str]:
    """All the files that `draw_all` makes."""
    return [name + suffix for name in _drawings(tables) for suffix in SUFFIXES]


def draw_all(tables: Tables, folder: Path, progress: Callable[[int, int], None]) -> None:
    drawings = _drawings(tables)
    for done, (name, draw) in enumerate(drawings.items(), start=1):
        figure = draw()
        for suffix in SUFFIXES:
            save_figure(figure, folder / f"{name}{suffix}")
            figure.set_layout_engine("none")  # the places just found are kept, instead of being sought again
        progress(done, len(drawings))


def _drawings(tables: Tables) -> "dict[str, Callable[[], Figure]]":
    static = {f"static_C{C}": (lambda C=C: _static(tables, C)) for C in tables.settings.static.n_targets}
    return {
        "figure_1": lambda: _figure_1(tables),
        **static,
        "dynamic": lambda: _dynamic(tables),
        "sensitivity": lambda: _sensitivity(tables),
        "growth": lambda: _growth(tables),
    }


def _figure_1(tables: Tables) -> "Figure":
    """The paper's Figure 1, a panel each for Experiment 1 and 2."""
    sweep, base = tables.settings.static, tables.settings.dynamic
    figure = new_figure(WIDTH, 3.5)
    static, dynamic = figure.subplots(1, 2)
    C, L, delta = min(sweep.n_targets), max(sweep.run_lengths), base.delta
    _label_errors(static, _errors(static, tables, C, L, delta))
    _finish(static, f"Audits that miss the leader, {C} targets", "reports the leader is ahead")
    label_lines(dynamic, _running(dynamic, tables, "deficit", MECHANISMS))
    _finish(dynamic, f"Mean deficit so far, {base.n_targets} targets", "round")
    return figure


def _static(tables: Tables, n_targets: int) -> "Figure":
    sweep = tables.settings.static
    figure = new_figure(WIDTH, 0.5 + 2.3 * len(sweep.run_lengths))
    panels = figure.subplots(len(sweep.run_lengths), len(sweep.deltas), sharex=True, sharey=True, squeeze=False)
    for row, L in zip(panels, sweep.run_lengths, strict=True):
        for axes, delta in zip(row, sweep.deltas, strict=True):
            ends = _errors(axes, tables, n_targets, L, delta)
            last_row, last_column = axes in panels[-1], axes is row[-1]
            _finish(axes, f"delta = {delta:g}, {L:,} rounds", "reports the leader is ahead" if last_row else "")
            if last_column:
                _label_errors(axes, ends)
    figure.suptitle(f"Audits that miss the leader, {n_targets} targets", x=0.01, ha="left", fontsize=11)
    return figure


def _errors(axes: "Axes", tables: Tables, C: int, L: int, delta: float) -> dict[str, float]:
    """Lines: exact. Dots: measured. Returns where the lines end."""
    ends = {}
    for name in MECHANISMS:
        line = [p for p in tables.curves if (p.mechanism, p.n_targets, p.run_length, p.delta) == (name, C, L, delta)]
        dots = [p for p in tables.static if (p.mechanism, p.n_targets, p.run_length, p.delta) == (name, C, L, delta)]
        _line(axes, name, [p.gap for p in line], [100 * p.exact for p in line])
        axes.plot(
            [p.gap for p in dots],
            [100 * p.estimate for p in dots],
            ".",
            color=MECHANISM_COLOURS[name],
            markersize=5,
            zorder=4,
            clip_on=False,
        )
        ends[name] = 100 * line[-1].exact
    axes.set_xscale("symlog", base=2, linthresh=1, linscale=0.7)
    gaps = tables.settings.static.gaps
    axes.set_xticks(gaps, [str(gap) for gap in gaps])
    axes.set_xticks([], minor=True)
    axes.set(xlim=(0, max(gaps) * 1.1), ylim=(-2, 103))
    axes.yaxis.set_major_formatter("{x:.0f} %")
    return ends


def _label_errors(axes: "Axes", ends: dict[str, float]) -> None:
    """Lines that fall with the gap all end at 0, so they are named halfway down."""
    falling = ("race", "tca")
    label_lines(axes, {name: end for name, end in ends.items() if name not in falling})
    for line in axes.get_lines():
        if (name := line.get_label()) in falling:
            x, y = (np.asarray(values) for values in line.get_data())
            middle = int(np.argmax(y < y[0] / 2))
            side = -1 if name == "race" else 1
            axes.annotate(name, (x[middle], y[middle]), (6 * side, 4), textcoords="offset points", fontsize=8,
                          ha="right" if side < 0 else "left", color=MECHANISM_COLOURS[name])  # fmt: skip


def _running(axes: "Axes", tables: Tables, metric: str, names: Sequence[str]) -> dict[str, float]:
    ends = {}
    for name in names:
        rows = [row for row in tables.running if row.mechanism == name]
        rows = [*rows[:: max(1, len(rows) // 250)], rows[-1]]  # more points than pixels make the files large
        rounds, mean, low, high = (
            np.array([attrgetter(column)(row) for row in rows])
            for column in ("round", metric, f"{metric}_low", f"{metric}_high")
        )
        _line(axes, name, rounds, mean)
        axes.fill_between(rounds, low, high, color=MECHANISM_COLOURS[name], alpha=0.15, linewidth=0)
        ends[name] = float(mean[-1])
    axes.set(xlim=(0, rounds[-1]), ylim=(0, 1.12 * max(ends.values())))
    return ends


def _dynamic(tables: Tables) -> "Figure":
    figure = new_figure(WIDTH, 6.2)
    panels = figure.subplots(2, 2).ravel()
    for axes, metric in zip(panels, METRICS, strict=False):
        label_lines(axes, _running(axes, tables, metric, MECHANISMS))
        _finish(axes, TITLES[metric], "round")
    label_lines(panels[3], _running(panels[3], tables, "deficit", ("tca", *COUNTER_IDS, "uniform")))
    _finish(panels[3], "Mean deficit so far, by counter", "round")
    return figure


def _sensitivity(tables: Tables) -> "Figure":
    sensitivity = tables.settings.sensitivity
    figure = new_figure(WIDTH, 4.8)
    panels = figure.subplots(2, 3, sharey=True).ravel()
    labels = []
    for axes, (varied, words) in zip(panels, VARIED.items(), strict=False):
        ends = {}
        for name in sensitivity.base.mechanisms:
            rows = [row for row in tables.sensitivity if (row.varied, row.mechanism) == (varied, name)]
            x = [attrgetter(varied)(row) for row in rows]
            mean = np.array([row.deficit for row in rows])
            _line(axes, name, x, mean, marker=".")
            axes.errorbar(
                x, mean, [2 * row.deficit_error for row in rows], color=MECHANISM_COLOURS[name], linestyle="none"
            )
            ends[name] = float(mean[-1])
        axes.set(xscale="log", yscale="log")
        values = getattr(sensitivity, varied)
        axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.set_xticks([], minor=True)
        axes.axvline(getattr(sensitivity.base, varied), color="#bbbbbb", linewidth=0.8, linestyle=":", zorder=0)
        _finish(axes, "", words)
        labels.append((axes, ends))
    panels[0].set_ylim(top=1.5 * max(row.deficit for row in tables.sensitivity))
    for axes, ends in labels:  # only now, because a label's place depends on the limits, which the panels share
        axes.yaxis.set_major_formatter("{x:g}")
        label_lines(axes, ends)
    panels[5].axis("off")
    base = sensitivity.base
    note = (
        f"Log scales. Dotted: the other settings,\n{base.n_targets} targets, {base.rounds:,} rounds,\n"
        f"delta = {base.delta:g}, {base.lead:g} and {base.other:g} reports\na round. Bars: two standard errors\n"
        f"of {base.runs} runs. Greedy's deficit is 0."
    )
    panels[5].text(0.05, 0.95, note, transform=panels[5].transAxes, va="top", fontsize=8.5, color="#444444")
    figure.suptitle("Mean deficit over a run, one setting varied at a time", x=0.01, ha="left", fontsize=11)
    return figure


def _growth(tables: Tables) -> "Figure":
    figure = new_figure(WIDTH, 3.6)
    noise, gaps = figure.subplots(1, 2)
    ends = {}
    for counter in dict.fromkeys(row.counter for row in tables.noise):
        rows = [row for row in tables.noise if row.counter == counter]
        name = "tca" if counter == "toeplitz" else f"counter:{counter}"
        _line(noise, name, [row.horizon for row in rows], [row.noise_std for row in rows])
        ends[name] = rows[-1].noise_std
        if counter == "toeplitz":
            colour = MECHANISM_COLOURS[name]
            noise.plot([row.horizon for row in rows], [row.sigma for row in rows], color=colour, linewidth=1)
            noise.annotate("tca, fresh noise of a round", (rows[-1].horizon, rows[-1].sigma), (-4, -14),
                           textcoords="offset points", ha="right", fontsize=8, color=colour)  # fmt: skip
    noise.set(xscale="log", yscale="log", xlim=(rows[0].horizon, rows[-1].horizon))
    noise.yaxis.set_major_formatter("{x:g}")
    _finish(noise, "Noise on a count, at most, in reports", "horizon, in rounds")
    label_lines(noise, ends)

    sizes = [row.n_targets for row in tables.gaps]
    _line(gaps, "tca", sizes, [row.tca for row in tables.gaps])
    _line(gaps, "race", sizes, [row.race for row in tables.gaps])
    for values, words, place in (
        ([row.tca_bound for row in tables.gaps], "union bound", (0.3, 0.8)),
        ([row.tca_rule for row in tables.gaps], "σ √(2 ln C)", (0.63, 0.46)),
    ):
        gaps.plot(sizes, values, color=MECHANISM_COLOURS["tca"], linewidth=1, linestyle=":")
        gaps.text(*place, words, transform=gaps.transAxes, fontsize=8, color=MECHANISM_COLOURS["tca"])
    gaps.plot(sizes, [row.least for row in tables.gaps], color="#444444", linewidth=1, linestyle="--")
    gaps.text(0.03, 0.03, "dashed: at least, without memory", transform=gaps.transAxes, fontsize=8, color="#444444")
    gaps.set(xscale="log", xlim=(sizes[0], sizes[-1]))
    gaps.set_ylim(bottom=0)
    gaps.xaxis.set_major_formatter("{x:g}")
    _finish(gaps, "Lead needed to miss at most 5 %, in reports", "targets")
    label_lines(gaps, {"tca": tables.gaps[-1].tca, "race": tables.gaps[-1].race})
    return figure


def _line(axes: "Axes", name: str, x: "np.typing.ArrayLike", y: "np.typing.ArrayLike", marker: str = "") -> None:
    style = {"color": MECHANISM_COLOURS[name], "linestyle": STYLES.get(name, "-"), "linewidth": 1.8, "marker": marker}
    axes.plot(x, y, label=name, zorder=3, clip_on=False, **style)


def _finish(axes: "Axes", title: str, x_label: str) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel(x_label, fontsize=9)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
